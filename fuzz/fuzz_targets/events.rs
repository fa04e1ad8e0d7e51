//! Whatever bytes may come where the kernel's events do.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let names = |generation, scope| match (generation, scope) {
        (0, 0) => Some(vec!["kk_cubic".to_owned(); 8]),
        (7, _) => Some(Vec::new()),
        _ => None,
    };
    if let Some(switch) = kirikae_agent::decode(bytes, names) {
        // What is told of it is one line, and JSON that reads as the same.
        assert!(!switch.to_string().contains('\n'));
        let json = serde_json::to_string(&switch).unwrap();
        assert_eq!(serde_json::from_str::<kirikae_agent::Switch>(&json).unwrap().to, switch.to);
    }
});

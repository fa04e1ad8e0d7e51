//! Whatever bytes may come where the kernel's events do.

use kirikae_agent::decode;
use kirikae_vocabulary::Switch;

pub(crate) fn play(bytes: &[u8]) {
    let names = |generation, scope| match (generation, scope) {
        (0, 0) => Some(vec!["kk_cubic".to_owned(); 8]),
        (7, _) => Some(Vec::new()),
        _ => None,
    };
    if let Some(switch) = decode(bytes, names) {
        // What is told of it is one line, and JSON that reads as the same.
        assert!(!switch.to_string().contains('\n'));
        let json = serde_json::to_string(&switch).expect("a switch has a form in JSON");
        let read: Switch = serde_json::from_str(&json).expect("and is read from it");
        assert_eq!(read.to, switch.to);
    }
}

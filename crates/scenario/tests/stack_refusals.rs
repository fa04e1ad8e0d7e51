//! Tests `[stack]` if it is wrong, or if only the simulator can play it.

use kirikae_testing::{GOOD, TIMES, assert_refused, refusal};

#[test]
fn stacks() {
    let with = |stack: &str| format!("seed = 1\n[stack]\n{stack}");
    let refused = |stack: &str, message: &str| assert_refused("seed = 1", &with(stack), message);
    refused(
        "profile = \"linux-5\"",
        "x.toml:4: stack.profile: found \"linux-5\"; allowed: linux-6, linux-2.6.33, ns-3, \
         ns-2 (did you mean linux-6?)",
    );
    refused("sack = 1", "x.toml:4: stack.sack: found 1; allowed: true or false");
    refused(
        "initial-window = 0",
        "x.toml:4: stack.initial-window: found 0; allowed: a whole number from 1 to 1000",
    );
    refused(
        "rto-min = \"200\"",
        &format!("x.toml:4: stack.rto-min: found \"200\"; allowed: {TIMES}"),
    );
    refused(
        "rto-min = \"2 s\"\nrto-max = \"1 s\"",
        "x.toml:4: stack.rto-min: found \"2 s\"; allowed: at most rto-max, 1.000000000 s",
    );
    refused(
        "delayed-ack-max = \"30 ms\"",
        "x.toml:4: stack.delayed-ack-max: found \"30 ms\"; allowed: at least delayed-ack-min, \
         0.040000000 s",
    );
    refused(
        "mtu = \"575 B\"",
        "x.toml:4: stack.mtu: found \"575 B\"; allowed: a size from 576 B to 9216 B",
    );
    for key in ["receive-buffer", "receive-window-max", "send-buffer-max"] {
        refused(
            &format!("{key} = \"1499 B\""),
            &format!(
                "x.toml:4: stack.{key}: found \"1499 B\"; allowed: at least 1500 B: a full packet"
            ),
        );
    }
    let without_sack = |profile: &str, message: &str| {
        let stack = format!("profile = \"{profile}\"\nsack = false");
        refused(&stack, message);
        let duplicates = with(&format!("{stack}\nloss-detection = \"duplicates\""));
        assert!(kirikae_testing::load(&GOOD.replace("seed = 1", &duplicates), &[]).is_ok());
    };
    let allowed = "true where loss-detection is rack or fack; the others go without";
    let message = format!("x.toml:5: stack.sack: found false; allowed: {allowed}");
    without_sack("linux-6", &message);
    without_sack("linux-2.6.33", &message);
    refused(
        "loss-detection = \"fack\"\nrack-shortcut = false",
        "x.toml:5: stack.rack-shortcut: found false; allowed: none where loss-detection is not rack",
    );
    refused(
        "freeze-ahead = \"1 s\"",
        "x.toml:4: stack.freeze-ahead: found \"1 s\"; allowed: none where handover is not freeze",
    );
    refused(
        "handover = \"freeze\"",
        "x.toml:4: stack.handover: nobody's link changes; allowed: none where no flow has a mobile end",
    );
    assert!(
        refusal(GOOD, "seed = 1", &with("rack = true"), &[])
            .starts_with("x.toml:4: stack.rack: unknown key; allowed: profile, mtu, sack, ")
    );
}

#[test]
fn what_only_the_real_kernel_has_is_not_simulated() {
    let recovery = |value: &str| {
        let text = GOOD.replace("[bench]", &format!("[bench]\ntcp-recovery = {value}"));
        kirikae_testing::load(&text, &[]).map(|mut all| all.remove(0))
    };
    let scenario = recovery("5").unwrap();
    assert_eq!((scenario.tcp_recovery, scenario.on_real_kernel()), (Some(5), Ok(())));
    let refusal = scenario.in_simulator().unwrap_err();
    assert_eq!(refusal.key.as_deref(), Some("bench.tcp-recovery"));
    assert!(refusal.allowed.contains("stack.rack-shortcut"), "{refusal}");
    assert_eq!(recovery("8").unwrap_err().key.as_deref(), Some("bench.tcp-recovery"));
}

#[test]
fn stacks_that_only_the_simulator_has() {
    let of = |stack: &str| {
        let text = GOOD.replace("[bench]", &format!("[stack]\n{stack}\n[bench]"));
        kirikae_testing::load(&text, &[]).unwrap().remove(0).on_real_kernel()
    };
    let refusal = of("reordering = 4").unwrap_err().to_string();
    assert_eq!(
        refusal.split_once("x.toml").unwrap().1,
        ":17: stack: found [stack]; allowed: none but receive-buffer, receive-window-max, \
         send-buffer-max, notsent-lowat, initial-window, rack-shortcut and mtu-probing on the real kernel, whose \
         TCP is as it is; kirikae-lab \
         sim has the profiles"
    );
    assert_eq!(of("rack-shortcut = false\nnotsent-lowat = \"16 KiB\""), Ok(()));
    assert_eq!(of("initial-window = 3"), Ok(()));
    assert_eq!(of("mtu-probing = true"), Ok(()));
    assert_eq!(of("send-buffer-max = \"64 MiB\""), Ok(()));
    assert_eq!(of("profile = \"linux-6\"\nreceive-window-max = \"64 MiB\""), Ok(()));
}

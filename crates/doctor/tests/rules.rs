//! Compares the findings for a host with figures that were computed by hand.

use std::collections::BTreeSet;

use kirikae_doctor::{
    Connection, Finding, Host, Interface, Kernel, Limit, Offloads, Path, Report, Route, Sysctls,
    Verdict, examine,
};

/// A host with Linux's own values, except these.
fn host(changed: &[(&'static str, &'static str)]) -> Host {
    let usual = [
        ("net.core.rmem_max", "212992"),
        ("net.core.wmem_max", "212992"),
        ("net.ipv4.tcp_adv_win_scale", "1"),
        ("net.ipv4.tcp_available_congestion_control", "reno cubic"),
        ("net.ipv4.tcp_congestion_control", "cubic"),
        ("net.ipv4.tcp_early_retrans", "3"),
        ("net.ipv4.tcp_ecn", "2"),
        ("net.ipv4.tcp_fastopen", "1"),
        ("net.ipv4.tcp_mem", "100000 200000 300000"),
        ("net.ipv4.tcp_moderate_rcvbuf", "1"),
        ("net.ipv4.tcp_mtu_probing", "0"),
        ("net.ipv4.tcp_no_metrics_save", "0"),
        ("net.ipv4.tcp_no_ssthresh_metrics_save", "1"),
        ("net.ipv4.tcp_notsent_lowat", "4294967295"),
        ("net.ipv4.tcp_recovery", "1"),
        ("net.ipv4.tcp_rmem", "4096 131072 6291456"),
        ("net.ipv4.tcp_rto_min_us", "200000"),
        ("net.ipv4.tcp_sack", "1"),
        ("net.ipv4.tcp_slow_start_after_idle", "1"),
        ("net.ipv4.tcp_timestamps", "1"),
        ("net.ipv4.tcp_window_scaling", "1"),
        ("net.ipv4.tcp_wmem", "4096 16384 4194304"),
    ];
    let kept = usual.into_iter().filter(|(name, _)| changed.iter().all(|(other, _)| name != other));
    let interface = Interface {
        name: "eth0".into(),
        mtu: Some(1500),
        queue_length: Some(1000),
        qdiscs: Some(BTreeSet::from(["fq_codel".to_owned()])),
        offloads: Some(Offloads { tso: true, gso: true, gro: true }),
    };
    Host {
        kernel: Some(Kernel { major: 6, minor: 18 }),
        sysctls: Sysctls::of(kept.chain(changed.iter().copied())),
        route: Ok(Route { interface, ..Route::default() }),
    }
}

/// The report for a path of 100 Mbit/s, 200 ms and 1 % of loss.
fn examined(host: Host) -> Report {
    examine(host, Path::new(Some(100e6), Some(0.2), Some(0.01), 65_536, &[]), Vec::new())
}

#[track_caller]
fn finding(report: &Report, name: &str) -> Finding {
    let found = report.findings.iter().find(|finding| finding.name == name);
    found.unwrap_or_else(|| panic!("no {name} in {:?}", report.findings)).clone()
}

#[track_caller]
fn throughput(finding: &Finding, mbit: f64) {
    let Some(Limit::Throughput(found)) = finding.limit else { panic!("{finding:?}") };
    assert!((found / 1e6 - mbit).abs() < 0.01 * mbit, "{found}, not {mbit} Mbit/s: {finding:?}");
}

#[test]
fn buffers_limit_by_their_window() {
    // The bound is 4 MiB * 8 / 0.2 s.
    let report = examined(host(&[]));
    let send = finding(&report, "send-buffer");
    throughput(&send, 167.8);
    assert_eq!((send.verdict, send.change.len()), (Verdict::Fine, 0));
    // The bound follows from 6 MiB, with 1448 B of data in 2048 + 256 B.
    throughput(&finding(&report, "receive-buffer"), 158.2);

    let report = examined(host(&[("net.ipv4.tcp_wmem", "4096 16384 1048576")]));
    let send = finding(&report, "send-buffer");
    throughput(&send, 41.94);
    assert_eq!(send.verdict, Verdict::Limits);
    assert_eq!(
        send.effect,
        "at most 41.9 Mbit/s at 200 ms, about 36.5 Mbit/s with a writer that is woken when a third of it is \
         free: less than the 100 Mbit/s asked for"
    );
    // The size is twice 2.5 MB, rounded up to a power of two.
    assert_eq!(send.change, ["sysctl -w net.ipv4.tcp_wmem=\"4096 16384 8388608\""]);

    let unscaled = examined(host(&[("net.ipv4.tcp_window_scaling", "0")]));
    throughput(&finding(&unscaled, "window-scaling"), 2.62);
    let fixed = examined(host(&[("net.ipv4.tcp_moderate_rcvbuf", "0")]));
    let fixed = finding(&fixed, "receive-buffer");
    throughput(&fixed, 3.295);
    assert_eq!(fixed.change, ["sysctl -w net.ipv4.tcp_moderate_rcvbuf=1"]);
    // For programs that set the sizes themselves, wmem_max doubled is 3.3 times the window of rmem_max.
    throughput(&finding(&report, "fixed-buffers"), 10.71);
}

#[test]
fn kernels_before_6_6_go_by_tcp_adv_win_scale() {
    for (scale, mbit) in [("1", 125.8), ("2", 188.7), ("-2", 62.9)] {
        let mut older = host(&[("net.ipv4.tcp_adv_win_scale", scale)]);
        older.kernel = Some(Kernel { major: 6, minor: 1 });
        throughput(&finding(&examined(older), "receive-buffer"), mbit);
    }
}

#[test]
fn losses_limit_by_the_congestion_control() {
    // W = max(1.054 (0.2 / 0.01)^0.75, sqrt(150)) = max(9.97, 12.2) segments of 1448 B.
    let report = examined(host(&[]));
    let cubic = finding(&report, "congestion-control");
    throughput(&cubic, 0.7094);
    assert_eq!(cubic.verdict, Verdict::Limits);
    assert_eq!(cubic.change[1], "modprobe tcp_bbr; sysctl -w net.ipv4.tcp_congestion_control=bbr");
    let asked = Path::new(Some(100e6), Some(0.2), Some(1e-6), 65_536, &[]);
    // 1.054 (0.2 / 1e-6)^0.75 = 9968.
    let rare = examine(host(&[]), asked, Vec::new());
    throughput(&finding(&rare, "congestion-control"), 577.4);
    let bbr = examined(host(&[("net.ipv4.tcp_congestion_control", "bbr")]));
    assert_eq!(finding(&bbr, "congestion-control").verdict, Verdict::Fine);
    // It keeps its window over idle time, too.
    assert_eq!(finding(&bbr, "idle-restart").verdict, Verdict::Fine);
    let unknown = examined(host(&[("net.ipv4.tcp_congestion_control", "illinois")]));
    let unknown = finding(&unknown, "congestion-control");
    assert_eq!((unknown.verdict, unknown.limit), (Verdict::Note, None));
}

#[test]
fn idle_restart_costs_the_round_trips_of_slow_start() {
    // 46 segments from a window of 10 are 10 + 20 + 16, so three round trips instead of one.
    let report = examined(host(&[]));
    let idle = finding(&report, "idle-restart");
    assert_eq!((idle.verdict, idle.limit), (Verdict::Limits, Some(Limit::Latency(0.4))));
    let off = examined(host(&[("net.ipv4.tcp_slow_start_after_idle", "0")]));
    assert_eq!(finding(&off, "idle-restart").verdict, Verdict::Fine);
    let mut wide = host(&[]);
    if let Ok(route) = &mut wide.route {
        route.initcwnd = Some(46);
    }
    let wide = examined(wide);
    assert_eq!(finding(&wide, "idle-restart").verdict, Verdict::Fine);
    assert_eq!(finding(&wide, "initial-window").limit, Some(Limit::Latency(0.0)));
}

#[test]
fn tails_wait_for_the_timeout_without_probes() {
    let report = examined(host(&[("net.ipv4.tcp_early_retrans", "0")]));
    // 0.2 + 0.2 s are as long as two round trips here; at 50 ms they are longer.
    assert_eq!(finding(&report, "tail-loss").verdict, Verdict::Note);
    let asked = Path::new(None, Some(0.05), None, 65_536, &[]);
    let near = examine(host(&[("net.ipv4.tcp_early_retrans", "0")]), asked, Vec::new());
    let Some(Limit::Latency(later)) = finding(&near, "tail-loss").limit else { panic!() };
    assert!((later - 0.15).abs() < 1e-9, "{later}");
    assert_eq!(finding(&examined(host(&[])), "tail-loss").verdict, Verdict::Fine);
}

#[test]
fn what_was_not_read_is_unknown() {
    let mut blind = host(&[]);
    blind.sysctls = Sysctls::of([]);
    blind.route = Err("there is no default route".into());
    let report = examined(blind);
    assert!(!report.limits());
    assert!(report.findings.iter().all(|finding| finding.verdict == Verdict::Unknown));
    assert!(finding(&report, "mtu").effect.contains("no default route"));
    assert!(finding(&report, "send-buffer").effect.contains("net.ipv4.tcp_wmem is not to be read"));
}

#[test]
fn connections_tell_of_the_peer_and_of_queues() {
    let end = |port| format!("192.0.2.1:{port}").parse().unwrap();
    let connection = Connection {
        local: end(40_000),
        peer: end(443),
        congestion_control: Some("cubic".into()),
        rtt_s: 0.3,
        min_rtt_s: 0.1,
        rto_s: 0.5,
        cwnd: 100,
        ssthresh: None,
        mss: 1448,
        path_mtu: 1500,
        sack: true,
        timestamps: true,
        window_scales: Some([2, 7]),
        peer_window: Some(65_536),
        retransmitted: 20,
        data_segments_sent: Some(2000),
        acknowledged: 1,
        delivery_rate: None,
        busy: None,
    };
    let path = Path::new(Some(100e6), None, None, 65_536, std::slice::from_ref(&connection));
    assert_eq!((path.rtt.value, path.loss.unwrap().value), (0.1, 0.01));
    let report = examine(host(&[]), path, vec![connection]);
    // The bound is 65535 * 4 * 8 / 0.1 s.
    let peer = finding(&report, "peer-window");
    throughput(&peer, 20.97);
    assert_eq!(peer.verdict, Verdict::Limits);
    let Some(Limit::Latency(queue)) = finding(&report, "connection").limit else { panic!() };
    assert!((queue - 0.2).abs() < 1e-9);
}

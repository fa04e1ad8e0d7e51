//! Tests the web page in headless Chromium, against an agent that answers as this test wants.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use axum::extract::{Query, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Json, Response};
use axum::routing::get;
use axum::serve;
use kirikae_agent::{Connection, Cost, LatestSwitch, PathCounts, Treatment};
use kirikae_checks::{Need, can_run};
use kirikae_daemon::page_routes;
use kirikae_daemon::status::{
    Bursts, Connections, GroupGuarding, Guarding, Numbered, PathMemoryStatus, PolicyStatus,
    ScopeStatus, Status, Switches,
};
use kirikae_vocabulary::{KnownPath, Reason, Switch};

const HOSTILE: &str = "<img src=x onerror=\"document.title='run'\"><script>alert(1)</script>";
const PAGE: &str = include_str!("../src/page/page.html");
const PROBE: &str = include_str!("page/probe.js");
/// The agent's policy, except that the page may be framed; the frame makes it narrow.
const CSP: &str = "default-src 'self'; base-uri 'none'";

/// Nanoseconds of the kernel's clock at the first look.
const BEGIN_NS: u64 = 10_000_000_000_000;
const SECOND_NS: u64 = 1_000_000_000;

/// How often connections were looked at; it is STOPPED when the agent is to fail.
type Looks = Arc<AtomicU64>;
const STOPPED: u64 = 1 << 32;

fn connection(port: u16, treatment: Treatment, look: u64) -> Connection {
    let algorithm = if port == 1001 && look > 2 { "kk_hybla" } else { "kk_cubic" };
    let latest_switch = LatestSwitch {
        at_ns: BEGIN_NS - u64::from(port) * SECOND_NS,
        reason: Reason::PredictedLatency,
    };
    Connection {
        local: "192.0.2.1:443".parse().unwrap(),
        remote: SocketAddr::new("2001:db8::2".parse().unwrap(), port),
        namespace: 4_026_531_840,
        scope: Some(HOSTILE.into()),
        treatment,
        algorithm: algorithm.into(),
        original: HOSTILE.into(),
        chosen: algorithm.into(),
        switches: 1,
        latest_switch: Some(latest_switch),
        rtt_s: 0.2,
        srtt_s: 0.2034,
        cwnd: 123,
        ssthresh: 100,
        mss: 1448,
        pacing_rate_bit_s: None,
        isolated_loss: 0.01,
        burst_loss: 0.0,
        rate_bit_s: Some(9_600_000),
        burst_bytes: Some(65_536),
        burst_latency_s: Some(0.233),
        stream: None,
        predicted_s: Some(0.22),
        predicted_original_s: None,
        bytes_sent: 1_000_000,
        bytes_retransmitted: 10_000,
    }
}

fn all(look: u64) -> Vec<Connection> {
    let switched = (1001..1004).map(|port| connection(port, Treatment::Switched, look));
    switched.chain([connection(1004, Treatment::HeldBack, look)]).collect()
}

fn cgroup(name: &str, suspended_since: Option<u64>) -> GroupGuarding {
    GroupGuarding {
        cgroup: name.into(),
        verdict: "hurts".into(),
        says: "latency is 2.87 of stock's".into(),
        ratio: Some([2.3, 2.87, 3.57]),
        bursts: 315,
        suspended_since,
    }
}

async fn status(State(looks): State<Looks>) -> Response {
    let look = looks.load(Ordering::Relaxed);
    if look >= STOPPED {
        return (StatusCode::SERVICE_UNAVAILABLE, HOSTILE).into_response();
    }
    let scope = ScopeStatus {
        name: HOSTILE.into(),
        matches: "local port 443".into(),
        algorithms: vec!["kk_cubic".into(), HOSTILE.into()],
        settings: vec!["5 % held back".into()],
        guard: Some(Guarding {
            verdict: "hurts".into(),
            says: format!("switching hurts: latency is 1.15 of stock's {HOSTILE}"),
            ratio: Some([1.1, 1.15, 1.2]),
            bursts: 12_300,
            suspended: true,
            suspended_since: None,
            cgroups: vec![
                cgroup(HOSTILE, Some(1_800_000_000)),
                cgroup("cgroup user.slice/user-1000.slice", Some(1_800_000_000)),
                cgroup("cgroup system.slice/calm.service", None),
            ],
        }),
    };
    let bursts = Bursts {
        scope: HOSTILE.into(),
        switched: true,
        below_bytes: Some(65_536),
        count: 1234,
        mean_s: 0.2,
        p50_s: 0.2,
        p95_s: 0.4,
    };
    Json(Status {
        version: "1.2.3".into(),
        up_s: look as f64,
        policy: PolicyStatus { file: Some(HOSTILE.into()), generation: 3, scopes: vec![scope] },
        warnings: Vec::new(),
        connections: 4,
        by_algorithm: BTreeMap::from([("kk_cubic".into(), 3), (HOSTILE.into(), 1)]),
        by_treatment: BTreeMap::from([("switched".into(), 3), ("held-back".into(), 1)]),
        switches: BTreeMap::from([("predicted-latency".into(), 17)]),
        observed: 0,
        events_lost: 2,
        lines_lost: 0,
        page: None,
        asked_again: 0,
        unheard: 0,
        refused: Default::default(),
        revived: 0,
        stranded: 0,
        destroyed: 0,
        network: Default::default(),
        paths: PathMemoryStatus {
            known: 321,
            room: 1024,
            counts: PathCounts { hits: 77, jumps: 55, first_flights: 44, retreats: 33 },
        },
        bursts: vec![bursts],
        cost: Cost { runs: 1000, time: Duration::from_millis(1) },
    })
    .into_response()
}

async fn connections(
    State(looks): State<Looks>,
    Query(query): Query<BTreeMap<String, String>>,
) -> Json<Connections> {
    let look = looks.fetch_add(1, Ordering::Relaxed);
    let is_told =
        |it: &Connection| query["match"].is_empty() || it.treatment == Treatment::HeldBack;
    let connections: Vec<Connection> = all(look).into_iter().filter(is_told).collect();
    let name = |it: &Connection| format!("{}/{}/{}", it.namespace, it.local, it.remote);
    let also =
        query.get("also").and_then(|also| all(look).into_iter().find(|it| name(it) == *also));
    let now_ns = BEGIN_NS + look * SECOND_NS;
    Json(Connections { now_ns, matching: connections.len(), connections, also })
}

async fn switches(Query(query): Query<BTreeMap<String, u64>>) -> Json<Switches> {
    let one = connection(1001, Treatment::Switched, 0);
    let switch = Switch {
        at_ns: BEGIN_NS + 5 * SECOND_NS / 2,
        local: one.local,
        remote: one.remote,
        namespace: one.namespace,
        from: "kk_cubic".into(),
        to: "kk_hybla".into(),
        reason: Reason::PredictedLatency,
        observed: false,
        rtt_s: 0.2,
        rate_bit_s: None,
        burst_bytes: None,
        stream_share: None,
        isolated_loss: 0.01,
        burst_loss: 0.0,
        predicted_s: vec![("kk_hybla".into(), 0.22), (HOSTILE.into(), 0.9)],
        known: None,
    };
    let start = KnownPath {
        age_s: 12,
        rtt_s: 0.2,
        rate_bit_s: Some(9_600_000),
        window_bytes: 240_000,
        jump_bytes: 120_000,
        is_first_flight: false,
    };
    let warm = Switch {
        remote: connection(1002, Treatment::Switched, 0).remote,
        to: "kk_resume".into(),
        reason: Reason::WarmStart,
        known: Some(start),
        ..switch.clone()
    };
    let known = [switch, warm];
    let known = (1..).zip(known).map(|(number, switch)| Numbered { number, switch });
    let switches = known.filter(|it| it.number > query["after"]).collect();
    Json(Switches { now_ns: BEGIN_NS, switches })
}

/// Serves until the process ends.
fn served() -> SocketAddr {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let address = listener.local_addr().unwrap();
    let file = |kind: &'static str, text: String| {
        get(move || async move {
            ([(header::CONTENT_TYPE, kind), (header::CONTENT_SECURITY_POLICY, CSP)], text)
        })
    };
    let probed = PAGE.replace("</head>", "<script type=module src=probe.js></script></head>");
    let narrow = "<!doctype html><iframe src=probed width=360 height=800></iframe>";
    let stop = |State(looks): State<Looks>| async move {
        looks.fetch_add(STOPPED, Ordering::Relaxed);
    };
    let routes = page_routes::<Looks>()
        .route("/probed", file("text/html", probed))
        .route("/probe.js", file("text/javascript", PROBE.into()))
        .route("/narrow", file("text/html", narrow.into()))
        .route("/status", get(status))
        .route("/connections", get(connections))
        .route("/switches", get(switches))
        .route("/stop", get(stop))
        .with_state(Looks::default());
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            serve(tokio::net::TcpListener::from_std(listener).unwrap(), routes).await.unwrap();
        });
    });
    address
}

/// The page as it is after 30 seconds of its own time. None if there is no Chromium.
fn dump(path: &str) -> Option<String> {
    if !can_run(&[Need::Chromium]) {
        return None;
    }
    let profile = tempfile::tempdir().unwrap();
    let output = Command::new("chromium")
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--dump-dom"])
        .arg("--virtual-time-budget=30000")
        .arg(format!("--user-data-dir={}", profile.path().display()))
        .arg(format!("http://{}/{path}", served()))
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(String::from_utf8(output.stdout).unwrap())
}

#[test]
fn what_the_agent_tells_is_shown_and_never_as_markup() {
    let Some(page) = dump("") else { return };
    for shown in [
        "version 1.2.3",
        "[2001:db8::2]:1001",
        "from 192.0.2.1:443",
        "203 ms",
        "9.6 Mbit/s",
        "1 % + 0 %",
        "switched",
        "held back",
        "made, and not reported",
        "below 64 KiB",
        "local port 443",
        "5 % held back",
        "cgroup user.slice/user-1000.slice: latency is 2.87 of stock's; only observed",
        "read again 2 ×",
        " kk_cubic → <b>kk_hybla</b>, predicted latency",
        " kk_cubic → <b>kk_resume</b>, warm start",
        "careful jump of 120 kB, known for 12 s, RTT 200 ms, 9.6 Mbit/s, 240 kB a round trip",
        "<p class=\"figure\">321</p>",
        "began by a jump</span><b>55</b>",
    ] {
        assert!(page.contains(shown), "{shown} is not on the page:\n{page}");
    }
    // The name is in the counts, the list, the timeline, the switches, the bursts and the policy.
    let escaped = "&lt;img src=x onerror=\"document.title='run'\"&gt;&lt;script&gt;";
    assert!(page.matches(escaped).count() >= 9, "{page}");
    assert!(page.contains("&lt;/script&gt;: latency is 2.87"), "a cgroup has any name: {page}");
    assert!(!page.contains("calm.service"), "it is switched: {page}");
    assert!(!page.contains("<img") && !page.contains("<script>"), "{page}");
    assert!(page.contains("<title>Kirikae</title>"), "{page}");
}

#[test]
fn it_is_of_use_on_a_telephone() {
    let Some(page) = dump("narrow") else { return };
    let notes =
        page.split("<pre id=\"notes\">").nth(1).expect(&page).split("</pre>").next().unwrap();
    let noted: BTreeMap<&str, &str> =
        notes.lines().filter_map(|line| line.split_once('=')).collect();
    let expect = |name: &str, value: &str| {
        assert_eq!(noted.get(name), Some(&value), "{name} of:\n{notes}");
    };
    assert!(!noted.contains_key("fault"), "{notes}");
    expect("width", "360");
    expect("beyond", "0");
    expect("images", "0");
    expect("charts", "3");
    expect("chart", "Round trip over time; smoothed 203 ms, lowest of late 200 ms");
    expect("algorithms", "kk_cubic,kk_hybla");
    expect("first", "[2001:db8::2]:1001");
    expect("chosen", "192.0.2.1:443 to [2001:db8::2]:1002");
    expect("focused", "[2001:db8::2]:1002");
    expect("filtered", "1 that match");
    expect("still-chosen", "192.0.2.1:443 to [2001:db8::2]:1002");
    expect("state", "no answer");
    assert!(noted["trouble"].starts_with("The agent has no answer (503): &lt;img"), "{notes}");
    expect("done", "");
}

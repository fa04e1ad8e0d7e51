//! The two versions of BBR over a path of one bottleneck; what only version 3 has is in bbr3.rs.
//! Numbers are the drafts'.

mod bottleneck;

use std::thread;

use bottleneck::{
    BDP, MSS, Path, RATE, RTT_US, SECOND, Seen, close, cut_to, gains, most_in_flight,
};
use kirikae_algorithms::{Algorithm, CaEvent};

fn pacing_at_first(algorithm: &str) -> f64 {
    let path = Path::new(algorithm, 1000);
    path.socket.pacing().unwrap() as f64 / (10.0 * f64::from(MSS) / 0.1) / 0.99
}

/// "BBRHighGain = 2/ln(2) ~= 2.89" and "4 * ln(2) ~= 2.77"
#[test]
fn startup_paces_the_window_at_the_gain_of_the_draft() {
    assert!(close(pacing_at_first("kk_bbr"), 2.0 / 2f64.ln(), 0.002));
    assert!(close(pacing_at_first("kk_bbr3"), 4.0 * 2f64.ln(), 0.002));
}

/// The rate doubles in each round trip, up to the bottleneck's; then the queue is drained.
#[test]
fn startup_finds_the_bottleneck_and_drain_empties_the_queue() {
    for (algorithm, drain, window) in [("kk_bbr", 1.0 / 2.89, 2.89), ("kk_bbr3", 0.5, 2.0)] {
        let mut path = Path::new(algorithm, 1000);
        let startup = path.run_for(SECOND).to_vec();
        // BDP 10, 20, 40, 80, 160: five round trips, three to see the plateau, and the queue's.
        let full = *startup.iter().find(|seen| seen.pacing > 2.5).expect("finds the bottleneck");
        assert!(full.us < SECOND + 8 * RTT_US, "{algorithm}: {full:?}");
        let most = f64::from(most_in_flight(&startup));
        assert!((1.5 * 100.0..1.1 * window * 100.0).contains(&most), "{algorithm}: {most}");

        let rest = path.run_for(SECOND).to_vec();
        let all = [startup, rest].concat();
        let drains = |seen: &Seen| seen.us > full.us && close(seen.pacing / 0.99, drain, 0.03);
        let at = all.iter().position(drains);
        let at = at.unwrap_or_else(|| panic!("{algorithm} does not drain"));
        assert!(all[at].us - full.us > 5 * RTT_US, "{algorithm}: {} us", all[at].us - full.us);
        let drained = all[at..].iter().find(|seen| seen.in_flight <= BDP + 7).expect("drained");
        assert!(drained.us - all[at].us < 3 * RTT_US, "{algorithm}: {drained:?}");
        let after = &all[all.iter().position(|seen| seen.us > drained.us + RTT_US).unwrap()..];
        let queue = most_in_flight(after);
        assert!(queue < BDP * 3 / 2, "{algorithm} keeps {queue} in flight");
    }
}

#[test]
fn the_bottleneck_is_kept_busy_with_a_short_queue() {
    for algorithm in ["kk_bbr", "kk_bbr3"] {
        let mut path = Path::new(algorithm, 1000);
        path.run_for(2 * SECOND);
        let before = path.delivered();
        let seen = path.run_for(2 * SECOND).to_vec();
        let carried = f64::from(path.delivered() - before) / 2000.0;
        assert!(carried > 0.97, "{algorithm} carries {carried} of the bottleneck's rate");
        let mean =
            seen.iter().map(|seen| f64::from(seen.in_flight)).sum::<f64>() / seen.len() as f64;
        assert!((95.0..125.0).contains(&mean), "{algorithm}: {mean} in flight");
    }
}

/// "pacing_gain_cycle = [5/4, 3/4, 1, 1, 1, 1, 1, 1]", each for a round trip.
#[test]
fn version_1_cycles_its_gains() {
    let mut path = Path::new("kk_bbr", 1000);
    path.run_for(2 * SECOND);
    let seen = path.run_for(3 * SECOND).to_vec();
    let gains = gains(&seen);
    assert!(gains.len() >= 9, "{gains:?}");
    let known = [1.25, 0.75, 1.0];
    let start = gains.iter().position(|gain| close(*gain, 1.25, 0.02)).unwrap();
    for (i, gain) in gains[start..].iter().enumerate() {
        assert!(close(*gain, known[i % 3], 0.02), "{gains:?}");
    }
    let probes = (1..seen.len())
        .filter(|&i| seen[i].pacing > 1.2 && seen[i - 1].pacing < 1.2)
        .map(|i| seen[i].us)
        .collect::<Vec<_>>();
    for pair in probes.windows(2) {
        let rounds = (pair[1] - pair[0]) as f64 / RTT_US as f64;
        assert!((7.0..9.0).contains(&rounds), "a cycle of {rounds} round trips");
    }
}

/// "ProbeRTTInterval = 10 seconds", "BBRMinPipeCwnd (four packets)", "ProbeRTTDuration (200 ms)"
#[test]
fn version_1_probes_the_round_trip_every_ten_seconds() {
    let mut path = Path::new("kk_bbr", 1000);
    let seen = path.run_for(23 * SECOND).to_vec();
    let (from, to) = cut_to(&seen, 4);
    assert!(seen.iter().all(|seen| seen.cwnd >= 4));
    assert!((10 * SECOND..11_500_000).contains(&(from - SECOND)), "after {} us", from - SECOND);
    let low = seen.iter().find(|seen| seen.us >= from && seen.in_flight <= 4).unwrap().us;
    assert!((200_000..200_000 + 2 * RTT_US).contains(&(to - low)), "for {} us", to - low);
    let before = seen.iter().rfind(|seen| seen.us < from).unwrap();
    let after = seen.iter().find(|seen| seen.us >= to).unwrap();
    assert!(after.cwnd >= before.cwnd, "{before:?} {after:?}");
    let rest = &seen[seen.iter().position(|seen| seen.us == to).unwrap()..];
    let (again, _) = cut_to(rest, 4);
    assert!((10 * SECOND..11 * SECOND).contains(&(again - to)), "again after {} us", again - to);
}

/// Of one loss in a recovery: "cwnd = packets_in_flight + max(packets_delivered, 1)", and back.
#[test]
fn version_1_conserves_packets_and_restores_the_window() {
    let mut path = Path::new("kk_bbr", 1000);
    path.run_for(3 * SECOND);
    let cwnd = path.socket.fields.snd_cwnd;
    path.lose_every = path.next_number + 50;
    let seen = path.run_for(SECOND).to_vec();
    let entered = seen.iter().find(|seen| seen.cwnd < cwnd - 20).expect("enters recovery");
    assert!(entered.cwnd <= entered.in_flight + 2, "{entered:?}");
    let first_round =
        seen.iter().filter(|seen| (0..RTT_US / 2).contains(&(seen.us.wrapping_sub(entered.us))));
    assert!(first_round.map(|seen| seen.cwnd).max().unwrap() <= entered.cwnd + 2);
    assert_eq!(seen.last().unwrap().cwnd, cwnd);
}

/// "paces packets at exactly BBR.BtlBw", with the window as it was.
#[test]
fn after_idle_the_rate_is_the_bottlenecks_and_the_window_stays() {
    for algorithm in ["kk_bbr", "kk_bbr3"] {
        let mut path = Path::new(algorithm, 1000);
        path.run_for(3 * SECOND);
        path.idle(11 * SECOND);
        let cwnd = path.socket.fields.snd_cwnd;
        path.socket.cwnd_event(CaEvent::TxStart);
        let pacing = path.socket.pacing().unwrap() as f64 / RATE;
        assert!(close(pacing, 0.99, 0.01), "{algorithm}: {pacing}");
        assert!((150..250).contains(&cwnd), "{algorithm}: {cwnd}");
        let seen = path.run_for(SECOND);
        assert!(seen.iter().all(|seen| seen.cwnd > 150), "{algorithm} leaves out ProbeRTT");
    }
}

/// A quarter of all segments lost, at a steady rate: that rate is used, without cycling.
#[test]
fn version_1_recognises_a_policer() {
    let mut path = Path::new("kk_bbr", 1000);
    path.run_for(2 * SECOND);
    path.lose_every = 4;
    path.run_for(2 * SECOND);
    let policed = gains(path.run_for(2 * SECOND));
    assert_eq!(policed.len(), 1, "{policed:?}");
    path.lose_every = 0;
    let free = gains(path.run_for(8 * SECOND));
    assert!(free.len() >= 3, "48 round trips later it probes again: {free:?}");
}

/// 1 % of losses, one at a time, say nothing about the path's capacity.
#[test]
fn one_percent_of_loss_is_borne() {
    for algorithm in ["kk_bbr", "kk_bbr3"] {
        let mut path = Path::new(algorithm, 1000);
        path.lose_every = 100;
        path.run_for(5 * SECOND);
        let before = path.delivered();
        path.run_for(20 * SECOND);
        let carried = f64::from(path.delivered() - before) / 20_000.0;
        assert!(carried > 0.85, "{algorithm} carries {carried}");
    }
}

/// ssthresh is out of the way meanwhile, and pacing is the algorithm's only as long as it lasts.
#[test]
fn the_successor_finds_ssthresh_and_no_pacing() {
    for algorithm in ["kk_bbr", "kk_bbr3"] {
        let cubic = Algorithm::named("kk_cubic").unwrap();
        let mut path = Path::new(algorithm, 1000);
        assert_eq!(path.socket.fields.snd_ssthresh, 0x7fff_ffff);
        path.socket.switch_to(cubic);
        assert_eq!(path.socket.fields.snd_ssthresh, 0x7fff_ffff, "{algorithm}: slow start goes on");
        assert_eq!(path.socket.pacing(), None, "{algorithm}");

        let mut path = Path::new(algorithm, 1000);
        path.run_for(2 * SECOND);
        path.socket.switch_to(cubic);
        let (cwnd, ssthresh) = (path.socket.fields.snd_cwnd, path.socket.fields.snd_ssthresh);
        assert_eq!(ssthresh, cwnd, "{algorithm} has filled the pipe");

        path.socket.fields.snd_ssthresh = 33;
        path.socket.switch_to(Algorithm::named(algorithm).unwrap());
        assert_eq!(path.socket.fields.snd_ssthresh, 0x7fff_ffff);
        path.socket.switch_to(cubic);
        assert_eq!(path.socket.fields.snd_ssthresh, 33, "{algorithm}");
    }
}

/// Left while ProbeRTT holds the window down: slow start takes the successor back to what fills the
/// pipe.
#[test]
fn the_successor_is_not_held_to_the_window_of_probe_rtt() {
    for (algorithm, low) in [("kk_bbr", 4), ("kk_bbr3", BDP / 2 + 2)] {
        let mut path = Path::new(algorithm, 1000);
        path.run_for(2 * SECOND);
        while path.socket.fields.snd_cwnd > low {
            path.run_for(RTT_US / 10);
            assert!(path.now_us < 20 * SECOND, "{algorithm} never probes the round trip");
        }
        path.socket.switch_to(Algorithm::named("kk_cubic").unwrap());
        let (cwnd, ssthresh) = (path.socket.fields.snd_cwnd, path.socket.fields.snd_ssthresh);
        assert!(cwnd <= low && ssthresh >= BDP, "{algorithm}: {cwnd}, {ssthresh}");
    }
}

/// Switched to in mid-flight, at a full pipe: the window is not cut, the rate not below before.
#[test]
fn taken_up_in_mid_flight_the_window_stays() {
    for algorithm in ["kk_bbr", "kk_bbr3"] {
        let mut path = Path::new("kk_bbr", 1000);
        path.run_for(3 * SECOND);
        path.socket.switch_to(Algorithm::named("kk_cubic").unwrap());
        path.socket.fields.snd_cwnd = 120;
        path.socket.switch_to(Algorithm::named(algorithm).unwrap());
        let seen = path.run_for(2 * RTT_US);
        assert!(seen.iter().all(|seen| seen.cwnd >= 120 && seen.pacing > 2.0), "{algorithm}");
        let before = path.delivered();
        path.run_for(2 * SECOND);
        assert!(path.delivered() - before > 1900, "{algorithm}");
    }
}

/// No state is shared between sockets, and the same seed gives the same run.
#[test]
fn the_same_run_on_another_thread() {
    for algorithm in ["kk_bbr", "kk_bbr3"] {
        let run = move |seed| {
            let mut path = Path::new(algorithm, 20);
            path.socket.fields.random = seed;
            path.run_for(12 * SECOND).to_vec()
        };
        let threads = [7, 7, 8].map(|seed| thread::spawn(move || run(seed)));
        let [a, b, c] = threads.map(|thread| thread.join().unwrap());
        assert!(a == b, "{algorithm}");
        assert!(a != c, "{algorithm}: the seed tells");
    }
}

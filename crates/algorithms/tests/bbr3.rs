//! BBR version 3 over a path of one bottleneck. Numbers are the draft's.

mod bottleneck;

use bottleneck::{BDP, Path, RTT_US, SECOND, close, cut_to, gains, most_in_flight};
use kirikae_algorithms::Algorithm;

/// 0.90 (down), 1 (cruise and refill), 1.25 (up), with 2 to 3 s before an up, and ProbeRTT in between
/// to begin the wait anew.
#[test]
fn cycles_its_states() {
    let mut path = Path::new("kk_bbr3", 1000);
    path.run_for(2 * SECOND);
    let seen = path.run_for(20 * SECOND).to_vec();
    for gain in gains(&seen) {
        let known = [1.25, 0.9, 1.0].into_iter().any(|known| close(gain, known, 0.02));
        assert!(known, "a gain of {gain}");
    }
    let ups = (1..seen.len())
        .filter(|&i| seen[i].pacing > 1.2 && seen[i - 1].pacing < 1.2)
        .collect::<Vec<_>>();
    assert!(ups.len() >= 4, "{} probes in 20 s", ups.len());
    for pair in ups.windows(2) {
        let seconds = (seen[pair[1]].us - seen[pair[0]].us) as f64 / 1e6;
        assert!((2.0..6.0).contains(&seconds), "{seconds} s between two probes");
        let down = seen[pair[0]..pair[1]].iter().find(|seen| seen.pacing < 1.2).unwrap();
        assert!(close(down.pacing / 0.99, 0.9, 0.02), "down follows up: {down:?}");
    }
}

/// "BBR.ProbeRTTInterval ... 5 secs", "BBR.ProbeRTTCwndGain ... 0.5"
#[test]
fn probes_the_round_trip_every_five_seconds_with_half_the_bdp() {
    let mut path = Path::new("kk_bbr3", 1000);
    let seen = path.run_for(13 * SECOND).to_vec();
    let at_first = seen.iter().position(|seen| seen.us > 2 * SECOND).unwrap();
    let (from, to) = cut_to(&seen[at_first..], BDP / 2 + 2);
    let lowest = seen[at_first..].iter().map(|seen| seen.cwnd).min().unwrap();
    assert!((BDP / 2 - 2..=BDP / 2 + 2).contains(&lowest), "{lowest}");
    assert!((5 * SECOND..6_500_000).contains(&(from - SECOND)), "after {} us", from - SECOND);
    assert!((200_000..200_000 + 4 * RTT_US).contains(&(to - from)), "for {} us", to - from);
}

/// A buffer of a tenth of the BDP: version 3 stays below what overflows it, version 1 does not.
#[test]
fn reacts_to_more_than_two_percent_of_loss() {
    let lost = |algorithm| {
        let mut path = Path::new(algorithm, u64::from(BDP) / 10);
        path.run_for(5 * SECOND);
        let (lost, delivered) = (path.socket.fields.lost, path.delivered());
        let seen = path.run_for(20 * SECOND).to_vec();
        let most = seen.iter().map(|seen| seen.cwnd).max().unwrap();
        let delivered = path.delivered() - delivered;
        let carried = f64::from(delivered) / 20_000.0;
        (most, f64::from(path.socket.fields.lost - lost) / f64::from(delivered), carried)
    };
    let (cwnd_1, lost_1, _) = lost("kk_bbr");
    let (cwnd_3, lost_3, carried_3) = lost("kk_bbr3");
    assert!(cwnd_1 >= 2 * BDP, "{cwnd_1}");
    assert!(cwnd_3 <= BDP * 3 / 2, "inflight_longterm bounds the window: {cwnd_3}");
    assert!(lost_3 < lost_1 / 2.0 && lost_3 < 0.02, "lost {lost_1} and {lost_3}");
    assert!(carried_3 > 0.8, "{carried_3}");
}

/// Six ACKs with losses, more than 2 % in a round trip: Startup ends before the pipe is full.
#[test]
fn leaves_startup_on_loss() {
    let most = |lose_every| {
        let mut path = Path::with_rtt("kk_bbr3", 4000, 8 * RTT_US);
        path.lose_every = lose_every;
        most_in_flight(path.run_for(10 * SECOND))
    };
    let (lossy, clean) = (most(10), most(0));
    assert!(clean > 12 * BDP, "{clean}");
    assert!((60..8 * BDP / 2).contains(&lossy), "{lossy} with losses, {clean} without");
}

/// Losses of one round trip prove to be none: the bounds and the window are taken back.
#[test]
fn undoes_a_spurious_recovery() {
    let mut path = Path::new("kk_bbr3", 1000);
    path.run_for(3 * SECOND);
    let cwnd = path.socket.fields.snd_cwnd;
    path.lose_every = 8;
    path.run_for(RTT_US / 2);
    path.lose_every = 0;
    path.run_for(2 * RTT_US);
    let bounded = path.socket.fields.snd_cwnd;
    assert!(bounded < cwnd * 3 / 4, "{bounded} after {cwnd}");
    assert_eq!(path.socket.undo_cwnd(), cwnd);
    path.socket.fields.snd_cwnd = cwnd;
    let seen = path.run_for(RTT_US);
    assert!(seen.iter().all(|seen| seen.cwnd >= cwnd), "the bound is gone");
}

#[test]
fn without_memory_keeps_still() {
    let mut path = Path::new("kk_bbr3", 1000);
    path.socket.switch_to(Algorithm::named("kk_cubic").unwrap());
    path.socket.fields.snd_cwnd = 50;
    path.socket.switch_to(Algorithm::named("kk_bbr3").unwrap());
    let memory = path.socket.large_state.take();
    assert!(path.run_for(SECOND).iter().all(|seen| seen.cwnd == 50));
    path.lose_every = 20;
    let seen = path.run_for(SECOND).to_vec();
    assert!(seen.iter().all(|seen| (4..=50).contains(&seen.cwnd)));
    path.lose_every = 0;
    path.socket.large_state = memory;
    path.run_for(2 * SECOND);
    assert!(path.socket.fields.snd_cwnd > BDP, "goes on when there is memory again");
}

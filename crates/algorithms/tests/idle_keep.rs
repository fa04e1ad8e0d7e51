//! Idle keep: what is kept over idle time and a switch, how it is paced, and bursts that overflow the path.

mod common;

use common::{
    MSS, ack, avoiding, burst, burst_of, idle, idle_before, is_always_paced, window_algorithms,
};
use kirikae_algorithms::{Algorithm, CaState, Socket};

/// A transfer that goes on is given to a successor with no more than Reno's slow start would have by now.
#[test]
fn what_slow_start_sent_ahead_is_not_left_to_a_successor() {
    let left = |sent: u64, ssthresh: u32, in_flight: u32| {
        let mut socket = Socket::new(Algorithm::named("kk_hybla").unwrap(), MSS);
        let fields = &mut socket.fields;
        (fields.snd_cwnd, fields.snd_ssthresh, fields.packets_out) = (157, ssthresh, in_flight);
        (fields.data_segs_out, fields.bytes_sent) = (157 + 12, sent);
        socket.switch_to(Algorithm::named("kk_cubic").unwrap());
        socket.fields.snd_cwnd
    };
    let infinite = 0x7fff_ffff;
    assert_eq!(left(100 << 10, infinite, 157), 10 + 12, "12 segments are ACKed");
    assert_eq!(left(64 << 10, infinite, 157), 157, "a burst");
    assert_eq!(left(100 << 10, 200, 157), 157, "not the first slow start");
    let split = left(100 << 10, infinite, 157 + 12 + 5);
    assert_eq!(split, 10, "a smaller path MTU has split what is in flight: nothing is ACKed");
}

/// Without a rate there is nothing to pace by, and an unpaced window may overflow a queue.
#[test]
fn without_a_rate_the_cut_stays() {
    for algorithm in window_algorithms() {
        let mut socket = avoiding(algorithm.name(), 100_000, 60);
        idle(&mut socket, 2_000_000);
        assert_eq!(socket.fields.snd_cwnd, 10, "{algorithm:?}");
        assert_eq!(socket.pacing().is_some(), is_always_paced(algorithm), "{algorithm:?}");
    }
}

/// Whatever else came in between: a request does not make the path's news any newer.
#[test]
fn a_window_is_kept_for_five_minutes_at_most() {
    for algorithm in window_algorithms() {
        for (gap_s, kept) in [(290, true), (310, false)] {
            let mut socket = avoiding(algorithm.name(), 100_000, 60);
            burst(&mut socket, 10);
            socket.fields.tcp_mstamp += gap_s * 1_000_000;
            idle(&mut socket, 1000);
            assert_eq!(socket.fields.snd_cwnd > 10, kept, "{algorithm:?} after {gap_s} s");
        }
    }
}

/// A burst of 46 segments, of which so many are lost, the first of them at this place, counted from 1.
fn lossy_burst(socket: &mut Socket, first: u32, lost: u32) {
    burst(socket, 10);
    socket.fields.packets_out = 46 - (first - 1);
    socket.ssthresh();
    socket.fields.packets_out = 0;
    socket.fields.lost += lost;
    socket.fields.data_segs_out += lost;
}

/// Whether the next bursts are paced at the rate itself and get no more than the window of 20 that
/// congestion control left, and not at 5/4 of it.
fn careful(socket: &mut Socket, bursts: usize) -> Vec<bool> {
    let next = |_| {
        socket.fields.snd_cwnd = 20;
        idle(socket, 2_000_000);
        let rate = socket.pacing().expect("paced") as f64 * 8.0 / 10e6;
        let is_careful = (rate - 1.0).abs() < 0.01;
        assert!(is_careful || (rate / 1.25 - 1.0).abs() < 0.01, "{rate}");
        assert_eq!(socket.fields.snd_cwnd, if is_careful { 20 } else { 92 });
        is_careful
    };
    (0..bursts).map(next).collect()
}

#[test]
fn bursts_after_one_that_overflows_are_careful() {
    for algorithm in window_algorithms() {
        let mut socket = avoiding(algorithm.name(), 100_000, 60);
        burst(&mut socket, 10);
        lossy_burst(&mut socket, 41, 6);
        assert_eq!(careful(&mut socket, 3), [true, false, false], "{algorithm:?}");
    }
}

/// As long as each trial overflows: 1, 3, 7 and then 15 to the next.
#[test]
fn trials_that_overflow_become_seldom() {
    let mut socket = avoiding("kk_cubic", 100_000, 60);
    burst(&mut socket, 10);
    for after in [1, 3, 7, 15, 15] {
        lossy_burst(&mut socket, 41, 6);
        // The burst with which the next trial begins is the first that is not careful.
        let expected: Vec<bool> = std::iter::repeat_n(true, after).collect();
        assert_eq!(careful(&mut socket, after), expected);
    }
}

/// A channel loses a few percent, also behind the first loss.
#[test]
fn what_a_channel_loses_is_no_overflow() {
    let mut socket = avoiding("kk_cubic", 100_000, 60);
    burst(&mut socket, 10);
    for (first, lost) in [(20, 1), (3, 2), (46, 1), (10, 4), (10, 0)] {
        lossy_burst(&mut socket, first, lost);
        assert_eq!(careful(&mut socket, 1), [false], "{lost} from {first}");
    }
}

#[test]
fn what_was_not_lost_after_all_is_no_overflow() {
    for algorithm in window_algorithms() {
        let mut socket = avoiding(algorithm.name(), 100_000, 60);
        burst(&mut socket, 10);
        lossy_burst(&mut socket, 41, 6);
        socket.undo_cwnd();
        assert_eq!(careful(&mut socket, 1), [false], "{algorithm:?}");
    }
}

/// As CoDel does: one segment of each burst, always the same.
#[test]
fn what_is_lost_at_the_same_place_each_time_is_overflow() {
    let mut socket = avoiding("kk_cubic", 100_000, 60);
    burst(&mut socket, 10);
    for _ in 0..3 {
        lossy_burst(&mut socket, 20, 1);
    }
    lossy_burst(&mut socket, 20, 1);
    assert_eq!(careful(&mut socket, 2), [true, false]);
}

/// 30 segments ACKed in a microsecond, as behind a radio link: not the rate of the path, and no
/// reason for a window that nothing has shown to be carried.
#[test]
fn acks_that_come_in_one_go_do_not_blow_the_window_up() {
    for algorithm in window_algorithms() {
        let mut socket = avoiding(algorithm.name(), 100_000, 30);
        idle(&mut socket, 2_000_000);
        socket.fields.bytes_sent += 30 * u64::from(MSS);
        socket.fields.data_segs_out += 30;
        socket.fields.tcp_mstamp += 100_000;
        for acked in 1..=30 {
            socket.fields.tcp_mstamp += u64::from(acked == 30);
            socket.fields.delivered += 1;
            socket.pkts_acked(1, Some(100_000), acked);
        }
        socket.fields.snd_cwnd = 30;
        idle(&mut socket, 2_000_000);
        assert_eq!(socket.fields.snd_cwnd, 60, "{algorithm:?}: twice what was delivered");
        let rate = socket.pacing().expect("paced");
        let most = u64::from(30 * MSS) * 10 * 16 * 5 / 4;
        assert!(rate <= most, "{algorithm:?}: {rate} byte/s for 30 segments in 6.25 ms");
    }
}

#[test]
fn restored_window_is_paced_at_five_quarters_of_the_delivery_rate() {
    for algorithm in window_algorithms() {
        let mut socket = avoiding(algorithm.name(), 100_000, 60);
        burst(&mut socket, 10);
        idle(&mut socket, 2_000_000);
        let rate = socket.pacing().expect("paced") as f64 * 8.0;
        assert!((rate / 12.5e6 - 1.0).abs() < 0.01, "{algorithm:?}: {rate} bit/s");

        socket.switch_to(algorithm);
        assert!(socket.pacing().is_some(), "{algorithm:?}: what is being sent stays paced");

        socket.connection = None;
        socket.switch_to(algorithm);
        let is_paced = socket.pacing().is_some();
        assert_eq!(
            is_paced,
            is_always_paced(algorithm),
            "{algorithm:?}: release leaves none behind"
        );
    }
}

/// 12.5 Mbit/s over a round trip of 100 ms are 107 segments; 46 were delivered in one, so that 92
/// are validated where the old window was smaller than that.
#[test]
fn restored_window_is_what_is_paced_out_and_validated() {
    for algorithm in window_algorithms() {
        let mut socket = avoiding(algorithm.name(), 100_000, 60);
        burst(&mut socket, 10);
        for (before, after) in [(20, 92), (100, 100), (400, 107)] {
            socket.fields.snd_cwnd = before;
            idle(&mut socket, 2_000_000);
            assert_eq!(socket.fields.snd_cwnd, after, "{algorithm:?} from {before}");
        }
    }
}

/// As on a new connection; the rate of before the gap would hold it back.
#[test]
fn what_fits_into_an_initial_window_leaves_at_once() {
    for algorithm in window_algorithms() {
        for (segments, paced) in [(10, false), (11, true)] {
            let mut socket = avoiding(algorithm.name(), 100_000, 60);
            burst(&mut socket, 10);
            idle_before(&mut socket, 2_000_000, segments);
            let unlimited = socket.pacing().is_none_or(|rate| rate == u64::MAX);
            assert_eq!(unlimited, !paced, "{algorithm:?}, {segments} segments");
        }
    }
}

/// 100 bytes in a segment and 10 Mbit/s are 15 times as many segments in a second.
#[test]
fn short_segments_are_no_measure() {
    for algorithm in window_algorithms() {
        let mut socket = avoiding(algorithm.name(), 100_000, 60);
        burst(&mut socket, 10);
        burst_of(&mut socket, 100, 10);
        socket.fields.snd_cwnd = 20;
        idle(&mut socket, 2_000_000);
        assert_eq!(socket.fields.snd_cwnd, 92, "{algorithm:?}");
        let rate = socket.pacing().expect("paced") as f64 * 8.0;
        assert!((rate / 12.5e6 - 1.0).abs() < 0.01, "{algorithm:?}: {rate} bit/s");
    }
}

/// A keystroke every 125 ms, echoed by segments of full size: that is not what the path carries,
/// and what is written after a pause must not be held back to it.
#[test]
fn the_speed_of_a_typist_is_not_paced_by() {
    for algorithm in window_algorithms() {
        let mut socket = avoiding(algorithm.name(), 200_000, 60);
        idle(&mut socket, 2_000_000);
        for _ in 0..100 {
            socket.fields.bytes_sent += u64::from(MSS);
            socket.fields.data_segs_out += 1;
            socket.fields.bytes_sent += u64::from(MSS);
            socket.fields.tcp_mstamp += 125_000;
            socket.fields.delivered += 1;
            socket.pkts_acked(1, Some(200_000), 2);
        }
        idle(&mut socket, 2_000_000);
        assert_eq!(socket.fields.snd_cwnd, 10, "{algorithm:?}: as the kernel cuts it");
        let is_paced = socket.pacing().is_some();
        assert_eq!(is_paced, is_always_paced(algorithm), "{algorithm:?}: as by the kernel's own");
    }
}

/// cubic on its plateau counts thousands of ACKs towards the next segment.
#[test]
fn what_a_predecessor_counted_is_not_spent() {
    for algorithm in window_algorithms() {
        let window_after_an_ack = |counted| {
            let mut socket = avoiding("kk_cubic", 100_000, 1000);
            socket.fields.snd_cwnd_cnt = counted;
            socket.switch_to(algorithm);
            ack(&mut socket, 1, 100_000);
            socket.fields.snd_cwnd
        };
        assert_eq!(window_after_an_ack(10_000), window_after_an_ack(0), "{algorithm:?}");
    }
}

/// What one algorithm learned of the path is there for the next.
#[test]
fn idle_keep_survives_a_switch() {
    for to in window_algorithms() {
        let mut socket = avoiding("kk_cubic", 100_000, 60);
        burst(&mut socket, 10);
        socket.switch_to(to);
        socket.fields.snd_cwnd = 60;
        idle(&mut socket, 2_000_000);
        assert_eq!(socket.fields.snd_cwnd, 92, "{to:?}");
        assert!(socket.pacing().is_some(), "{to:?}");
    }
}

/// RFC 5681, section 4.1, as the kernel has it: the window is cut, and nothing is paced.
#[test]
fn without_idle_keep_the_cut_stays() {
    for algorithm in window_algorithms() {
        let without = algorithm.with("idle_keep", 0).unwrap();
        let mut socket = avoiding("kk_cubic", 100_000, 60);
        burst(&mut socket, 10);
        idle(&mut socket, 2_000_000);
        assert!(socket.pacing().is_some());

        socket.switch_to(without);
        assert_eq!(socket.pacing(), None, "{without:?}: paces what a predecessor paced");
        for _ in 0..3 {
            burst(&mut socket, 10);
            socket.fields.snd_cwnd = 60;
        }
        idle(&mut socket, 2_000_000);
        assert_eq!(socket.fields.snd_cwnd, 10, "{without:?}");
        assert_eq!(socket.pacing(), None, "{without:?}");

        socket.fields.snd_cwnd = 60;
        socket.switch_to(algorithm);
        idle(&mut socket, 2_000_000);
        assert_eq!(socket.fields.snd_cwnd, 92, "{algorithm:?}: knows what was known before");
    }
}

#[test]
fn a_rate_that_the_path_no_longer_has_is_forgotten() {
    let mut socket = avoiding("kk_hybla", 100_000, 60);
    burst(&mut socket, 10);
    for _ in 0..9 {
        burst(&mut socket, 2);
    }
    idle(&mut socket, 2_000_000);
    let rate = socket.pacing().unwrap() as f64 * 8.0;
    assert!((rate / 2.5e6 - 1.0).abs() < 0.01, "{rate} bit/s");
}

/// A path of RTT 100 ms that carried 10 Mbit/s is gone, as the switcher notes it. When a path is back, its round
/// trips take `rtt_us`, and in that of 16 segments an ACK of one comes every `spacing_us`. In slow start they were sent
/// twice as fast.
fn back_after_outage(algorithm: Algorithm, rtt_us: u32, spacing_us: u64) -> Socket {
    back_after_outage_sent(algorithm, rtt_us, spacing_us, spacing_us / 2)
}

/// The same with segments that were sent every `sent_us`.
fn back_after_outage_sent(
    algorithm: Algorithm,
    rtt_us: u32,
    spacing_us: u64,
    sent_us: u64,
) -> Socket {
    let mut socket = avoiding(algorithm.name(), 100_000, 60);
    for _ in 0..2 {
        burst(&mut socket, 10);
    }
    let connection = socket.connection.as_mut().unwrap();
    connection.outage.rtt_us = 100_000;
    connection.outage.rounds = 8;
    (socket.fields.snd_cwnd, socket.fields.snd_ssthresh) = (1, 30);
    socket.set_state(CaState::Loss);
    for round in [1, 2, 4, 8, 16] {
        socket.fields.first_tx_mstamp = socket.fields.tcp_mstamp;
        socket.fields.tcp_mstamp += u64::from(rtt_us);
        for _ in 0..round {
            socket.fields.tcp_mstamp += spacing_us;
            socket.fields.first_tx_mstamp += sent_us;
            socket.fields.delivered += 1;
            socket.fields.data_segs_out += 1;
            socket.fields.bytes_sent += u64::from(MSS);
            socket.pkts_acked(1, Some(rtt_us), round);
        }
    }
    socket.connection.as_mut().unwrap().outage.rounds = 3;
    socket.set_state(CaState::Open);
    socket
}

/// Those that know a path by their idle keep, and have no rule of their own for what they begin with.
fn algorithms_with_idle_keep() -> impl Iterator<Item = Algorithm> {
    window_algorithms().filter(|algorithm| algorithm.name() != "kk_resume")
}

/// "ssthresh = bandwidth-delay product / packet size", by the first ACKs over the path that is there now.
#[test]
fn after_an_outage_ssthresh_is_what_the_path_carries_in_a_round_trip() {
    for algorithm in algorithms_with_idle_keep() {
        for (rtt_us, spacing_us) in
            [(100_000, 1_000), (100_000, 4_000), (400_000, 4_000), (400_000, 30_000)]
        {
            let socket = back_after_outage(algorithm, rtt_us, spacing_us);
            let carried = rtt_us / spacing_us as u32;
            let ssthresh = socket.fields.snd_ssthresh;
            assert!(
                (carried - 1..=carried).contains(&ssthresh),
                "{algorithm:?}, {carried}: {ssthresh}"
            );
        }
    }
}

/// Segments that were sent here and there in a round trip come back so, however fast the path is. What it carries is
/// for slow start to find.
#[test]
fn what_was_sent_as_slowly_as_it_was_acked_is_no_measure() {
    for algorithm in algorithms_with_idle_keep() {
        for sent_us in [3_000, 4_000] {
            let socket = back_after_outage_sent(algorithm, 400_000, 4_000, sent_us);
            assert_eq!(socket.finite_ssthresh(), None, "{algorithm:?}, every {sent_us} us");
        }
        // What pacing would make of a smoothed round trip as long as the outage is none, either.
        let socket = back_after_outage(algorithm, 400_000, 4_000);
        assert_eq!(socket.pacing(), None, "{algorithm:?}");
    }
}

/// The window and the rate that idle keep goes on with, after a burst has followed the outage.
fn kept_after(mut socket: Socket, gap_us: u64) -> Option<(u32, u64)> {
    idle(&mut socket, gap_us);
    (socket.fields.snd_cwnd > 10).then(|| (socket.fields.snd_cwnd, socket.pacing().unwrap()))
}

#[test]
fn after_an_outage_slow_start_goes_as_far_as_an_initial_window() {
    for algorithm in algorithms_with_idle_keep() {
        let socket = back_after_outage(algorithm, 60_000, 10_000);
        assert_eq!(socket.fields.snd_ssthresh, 10, "{algorithm:?}");
    }
}

#[test]
fn the_same_round_trips_are_those_of_the_same_path() {
    for algorithm in algorithms_with_idle_keep() {
        let socket = back_after_outage(algorithm, 104_000, 1_158);
        let (_, rate) = kept_after(socket, 2_000_000).expect("what was known goes on being so");
        let mbps = rate as f64 * 8e-6;
        assert!((mbps / 12.5 - 1.0).abs() < 0.1, "{algorithm:?}: {mbps}");
    }
}

#[test]
fn after_an_outage_a_slower_rate_takes_the_place_of_what_was_known() {
    for algorithm in algorithms_with_idle_keep() {
        let socket = back_after_outage(algorithm, 100_000, 4_000);
        let (_, rate) = kept_after(socket, 2_000_000).expect("25 segments in a round trip");
        let mbps = rate as f64 * 8e-6;
        assert!((mbps / 3.6 - 1.0).abs() < 0.1, "{algorithm:?}: {mbps}");
    }
}

#[test]
fn of_another_path_nothing_is_known_but_what_it_has_shown() {
    for algorithm in algorithms_with_idle_keep() {
        for rtt_us in [50_000, 160_000] {
            let socket = back_after_outage(algorithm, rtt_us, 20_000);
            assert_eq!(kept_after(socket, 2_000_000).map(|(cwnd, _)| cwnd), None, "{algorithm:?}");
        }
    }
}

/// Where recovery was a mistake, ssthresh is what it was before; where the path is known, too.
#[test]
fn slow_start_is_for_what_was_lost_and_not_measured() {
    for algorithm in algorithms_with_idle_keep() {
        for (rounds, unacked, expected) in [(8, 0, None), (8, MSS, Some(30)), (0, 0, Some(30))] {
            let mut socket = avoiding(algorithm.name(), 100_000, 60);
            burst(&mut socket, 10);
            socket.connection.as_mut().unwrap().outage.rounds = rounds;
            (socket.fields.snd_cwnd, socket.fields.snd_ssthresh) = (1, 30);
            socket.set_state(CaState::Loss);
            socket.fields.high_seq = socket.fields.snd_una + unacked;
            socket.set_state(CaState::Open);
            let told = format!("{algorithm:?}, {rounds} round trips in doubt, {unacked} bytes");
            assert_eq!(socket.finite_ssthresh(), expected, "{told}");
        }
    }
}

#[test]
fn while_the_path_is_in_doubt_a_loss_leaves_an_initial_window() {
    for algorithm in algorithms_with_idle_keep() {
        let after_loss = |rounds| {
            let mut socket = avoiding(algorithm.name(), 100_000, 6);
            socket.connection.as_mut().unwrap().outage.rounds = rounds;
            socket.ssthresh()
        };
        assert!(after_loss(0) < 10, "{algorithm:?}");
        assert_eq!(after_loss(1), 10, "{algorithm:?}");
    }
}

/// What is lost when the switcher has long found out what the path is was lost on that path.
#[test]
fn doubt_ends_with_the_switchers() {
    for algorithm in algorithms_with_idle_keep() {
        let mut socket = avoiding(algorithm.name(), 100_000, 60);
        burst(&mut socket, 10);
        socket.connection.as_mut().unwrap().outage.rounds = 8;
        socket.fields.snd_ssthresh = 30;
        socket.set_state(CaState::Loss);
        socket.connection.as_mut().unwrap().outage.rounds = 0;
        for _ in 0..20 {
            socket.fields.tcp_mstamp += 1_000;
            socket.fields.delivered += 1;
            socket.fields.data_segs_out += 1;
            socket.fields.bytes_sent += u64::from(MSS);
            socket.pkts_acked(1, Some(100_000), 20);
        }
        assert_eq!(socket.fields.snd_ssthresh, 30, "{algorithm:?}");
    }
}

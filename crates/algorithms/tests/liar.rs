//! A peer that does not tell the truth: it ACKs what has not arrived, or late, so that the path looks like
//! another. (What was never sent it cannot ACK: the kernel drops that, crates/cli/tests/liar.rs.)

use kirikae_algorithms::drive::{Beginning, Connection, Operation, RTT_MAX_US};
use kirikae_algorithms::{Algorithm, Socket, Switcher};
use kirikae_interface::{policy, scope};

const MSS: u32 = 1448;
const SSTHRESH_INFINITE: u32 = 0x7fff_ffff;

/// All that is in flight, at once.
fn ack(rtt_us: u32) -> Operation {
    let (segments, sacked) = (u32::MAX, 0);
    Operation::Ack { segments, sacked, rtt_us: Some(rtt_us), after_us: rtt_us, limited: true }
}

/// Whatever it tells of round trips: no window or rate out of bounds (`drive` looks after each ACK), and none
/// beyond what the ACKs of a faster path would have made of it, which is at most twice the window for each
/// flight and a few segments, or Hybla's leap.
#[test]
fn windows_stay_within_bounds_whatever_is_acked_and_when() {
    let lies: [fn(u32) -> u32; 4] = [
        |_| 1,
        |_| RTT_MAX_US,
        |number| if number % 2 == 0 { 1 } else { RTT_MAX_US },
        |number| 1 + number.wrapping_mul(2_654_435_761) % RTT_MAX_US,
    ];
    for algorithm in Algorithm::all() {
        for lie in lies {
            let (mss, cwnd, ssthresh) = (MSS, 10, SSTHRESH_INFINITE);
            let clamp = 1 << 20;
            let beginning = Beginning { algorithm, mss, cwnd, ssthresh, clamp };
            let mut connection = Connection::begin(&beginning).unwrap();
            for number in 0..2_000 {
                let played = connection.play(&ack(lie(number)));
                played.unwrap_or_else(|what| panic!("{algorithm:?}, ACK {number}: {what}"));
                assert!(connection.cwnd() <= clamp, "{algorithm:?}: {}", connection.cwnd());
            }
        }
    }
}

/// A connection of 1 ms, of which the peer holds every other ACK back for up to 400 ms.
#[test]
fn what_is_held_back_makes_no_other_path_and_switches_stay_rare() {
    let table = kirikae_table::shipped().kernel_table();
    let candidates: Vec<Algorithm> = Algorithm::all().collect();
    let policy = policy::one(scope::usual());
    let mut switcher = Switcher::new(policy, vec![table.into()], &candidates).unwrap();
    let mut socket = Socket::new(Algorithm::stock("cubic").unwrap(), MSS);
    socket.fields.tcp_mstamp = 1_000_000;
    socket.fields.rto_min_us = 200_000;
    switcher.met(&mut socket);
    let (begin, mut switches) = (socket.fields.tcp_mstamp, 0);
    for number in 0..5_000 {
        let rtt_us = if number % 2 == 0 { 2_000 } else { 1_000 * (1 + number % 400) };
        let fields = &mut socket.fields;
        fields.tcp_mstamp += u64::from(rtt_us);
        fields.data_segs_out += 10;
        fields.srtt_us = rtt_us << 3;
        fields.rtt_min.s[0].v = 2_000;
        switches += u64::from(switcher.rtt_sample(&mut socket, rtt_us).is_some());
        assert!((50_000..=200_000).contains(&socket.fields.rto_min_us));
        let measured = socket.connection.as_ref().unwrap().decision.measured;
        assert!(measured.rtt_us <= 2_000, "{} us", measured.rtt_us);
    }
    let periods = (socket.fields.tcp_mstamp - begin) / 50_000;
    assert!((1..=20).contains(&switches), "{switches} switches in {periods} periods");
}

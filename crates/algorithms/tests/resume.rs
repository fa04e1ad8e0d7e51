//! Careful Resume (RFC 9959): each phase, and each way out of it.

use kirikae_algorithms::{Algorithm, CaEvent, CaState, RateSample, Socket};
use kirikae_interface::{
    RESUME_NONE, RESUME_NORMAL, RESUME_RECONNAISSANCE, RESUME_RETREATED, RESUME_SAFE_RETREAT,
    RESUME_UNVALIDATED, RESUME_VALIDATING,
};

const MSS: u32 = 1448;
const RTT_US: u32 = 100_000;
/// What was saved of the path, segments; the jump is half of it.
const SAVED: u32 = 100;
const JUMP: u32 = SAVED / 2;
/// What a first flight is paced at, bytes per millisecond.
const RATE: u32 = 1500;

/// A connection that sends whatever is written as its window allows, all of it full segments.
struct Flow {
    socket: Socket,
}

impl Flow {
    /// A new connection with a window of `initial` segments begins with what is known of its path.
    fn begun_with(initial: u32, prepare: impl FnOnce(&mut Socket)) -> Flow {
        let mut socket = Socket::new(Algorithm::named("kk_reno").unwrap(), MSS);
        let fields = &mut socket.fields;
        fields.snd_cwnd = initial;
        fields.srtt_us = RTT_US << 3;
        fields.rtt_min.s[0].v = RTT_US;
        fields.tcp_mstamp = 1_000_000;
        fields.set_is_cwnd_limited(1);
        let mut connection = socket.connection.take().unwrap_or_default();
        let start = &mut connection.path.start;
        start.phase = RESUME_RECONNAISSANCE;
        start.saved_rtt_us = RTT_US;
        (start.saved_cwnd, start.jump_cwnd, start.rate) = (SAVED * MSS, JUMP * MSS, RATE);
        socket.connection = Some(connection);
        prepare(&mut socket);
        socket.switch_to(Algorithm::named("kk_resume").unwrap());
        Flow { socket }
    }

    fn begun() -> Flow {
        Flow::begun_with(10, |_| ())
    }

    fn first_flight() -> Flow {
        Flow::begun_with(10, |socket| {
            socket.connection.as_mut().unwrap().path.start.is_first_flight = 1;
        })
    }

    /// The initial data is ACKed, and there is plenty more: the jump begins with the tenth ACK, which
    /// leaves 18 in flight.
    fn jumping() -> Flow {
        let mut flow = Flow::begun();
        flow.write(1000);
        flow.acks(10);
        assert_eq!(flow.phase(), RESUME_UNVALIDATED);
        flow
    }

    /// What was in flight at the jump is ACKed, and then the first segment that was sent after it.
    fn validating() -> Flow {
        let mut flow = Flow::jumping();
        flow.acks(19);
        assert_eq!(flow.phase(), RESUME_VALIDATING);
        flow
    }

    /// The phase, as the switcher sees it.
    fn phase(&self) -> u32 {
        self.socket.connection.as_ref().unwrap().path.start.phase
    }

    fn write(&mut self, segments: u32) {
        self.socket.fields.write_seq += segments * MSS;
        self.send();
    }

    fn in_flight(&self) -> u32 {
        let fields = &self.socket.fields;
        fields.packets_out - fields.sacked_out - fields.lost_out + fields.retrans_out
    }

    fn send(&mut self) {
        while self.in_flight() < self.socket.fields.snd_cwnd
            && self.socket.fields.snd_nxt != self.socket.fields.write_seq
        {
            if self.in_flight() == 0 {
                self.socket.cwnd_event(CaEvent::TxStart);
            }
            let fields = &mut self.socket.fields;
            fields.snd_nxt += MSS;
            fields.packets_out += 1;
            fields.data_segs_out += 1;
            fields.bytes_sent += u64::from(MSS);
        }
    }

    /// The end of an ACK that delivers so many segments.
    fn control(&mut self, delivered: u32) {
        self.socket.fields.delivered += delivered;
        let sample = RateSample { acked_sacked: delivered, ..RateSample::default() };
        self.socket.cong_control(&sample);
    }

    /// An ACK of so many segments, upon which nothing is sent yet.
    fn acked(&mut self, segments: u32) {
        let fields = &mut self.socket.fields;
        fields.snd_una += segments * MSS;
        fields.packets_out -= segments;
        fields.bytes_acked += u64::from(segments * MSS);
        self.control(segments);
    }

    /// As many ACKs of a segment each.
    fn acks(&mut self, count: u32) {
        for _ in 0..count {
            self.acked(1);
            self.send();
        }
    }

    /// What the kernel does before it sets the state in which the window is reduced.
    fn begin_reduction(&mut self) {
        self.socket.fields.prior_cwnd = self.socket.fields.snd_cwnd;
        self.socket.fields.snd_ssthresh = self.socket.ssthresh();
    }

    /// The third SACK behind the first segment in flight, which is lost.
    fn lose_the_first(&mut self) {
        self.socket.fields.sacked_out = 3;
        self.socket.fields.lost_out = 1;
        self.begin_reduction();
        self.socket.set_state(CaState::Recovery);
        self.control(1);
    }

    /// All that is in flight is ACKed, and ends recovery.
    fn recover(&mut self) {
        let fields = &mut self.socket.fields;
        (fields.sacked_out, fields.lost_out, fields.retrans_out) = (0, 0, 0);
        let in_flight = fields.packets_out;
        self.socket.set_state(CaState::Open);
        self.acked(in_flight);
    }

    /// The retransmission timer expires: all that is in flight is lost.
    fn timeout(&mut self) {
        self.begin_reduction();
        self.socket.fields.lost_out = self.socket.fields.packets_out;
        self.socket.fields.snd_cwnd = 1;
        self.socket.set_state(CaState::Loss);
    }

    #[track_caller]
    fn expect(&self, phase: u32, cwnd: u32) {
        assert_eq!((self.phase(), self.socket.fields.snd_cwnd), (phase, cwnd));
    }
}

/// The rate that sends so many segments in a round trip, as `Socket::pacing` gives it.
fn paced(segments: u32) -> Option<u64> {
    Some(u64::from(segments * MSS) * 1_000_000 / u64::from(RTT_US))
}

#[test]
fn a_jump_waits_for_all_of_the_initial_data() {
    let mut flow = Flow::begun();
    flow.expect(RESUME_RECONNAISSANCE, 10);
    flow.write(1000);
    flow.acks(9);
    flow.expect(RESUME_RECONNAISSANCE, 19);
    assert_eq!(flow.socket.pacing(), None, "as the kernel sends an initial window");
    flow.acked(1);
    flow.expect(RESUME_UNVALIDATED, JUMP);
    assert_eq!(flow.socket.pacing(), paced(JUMP));
    assert_eq!(flow.socket.fields.snd_ssthresh, SAVED);

    let mut wide = Flow::begun_with(20, |_| ());
    wide.write(1000);
    wide.acks(19);
    wide.expect(RESUME_RECONNAISSANCE, 39);
    wide.acks(1);
    // Slow start is at twice that window a round trip later, which is beyond the jump.
    wide.expect(RESUME_NORMAL, 39);
}

#[test]
fn a_jump_waits_for_more_to_send_than_the_window_takes() {
    let mut flow = Flow::begun();
    flow.write(10);
    flow.acks(10);
    flow.write(20);
    flow.acks(5);
    flow.expect(RESUME_RECONNAISSANCE, 25);
    flow.write(100);
    flow.acks(1);
    flow.expect(RESUME_UNVALIDATED, JUMP);
}

#[test]
fn a_window_that_has_grown_as_far_needs_no_jump() {
    let mut flow = Flow::begun_with(10, |socket| {
        socket.connection.as_mut().unwrap().path.start.jump_cwnd = 19 * MSS;
    });
    flow.write(1000);
    flow.acks(10);
    flow.expect(RESUME_NORMAL, 19);
}

/// The first data may meet what the handshake has not met.
#[test]
fn a_jump_needs_the_round_trip_time_that_was_saved() {
    for (rtt_ms, phase) in [
        (50, RESUME_NORMAL),
        (51, RESUME_UNVALIDATED),
        (1000, RESUME_UNVALIDATED),
        (1001, RESUME_NORMAL),
    ] {
        let mut flow = Flow::begun();
        flow.write(1000);
        flow.socket.fields.srtt_us = (rtt_ms * 1000) << 3;
        flow.acks(10);
        assert_eq!(flow.phase(), phase, "{rtt_ms} ms");
    }
}

/// The path memory gives the entry to another connection after 60 s.
#[test]
fn what_was_saved_is_used_within_a_minute() {
    for (after_s, phase) in [(59, RESUME_UNVALIDATED), (61, RESUME_NORMAL)] {
        let mut flow = Flow::begun();
        flow.write(10);
        flow.socket.fields.tcp_mstamp += after_s * 1_000_000;
        flow.acks(10);
        flow.write(100);
        flow.acks(1);
        assert_eq!(flow.phase(), phase, "after {after_s} s");
    }
    let mut little = Flow::begun();
    little.write(2);
    little.socket.fields.tcp_mstamp += 61_000_000;
    little.acks(1);
    little.expect(RESUME_NORMAL, 10);
}

#[test]
fn congestion_ends_reconnaissance() {
    let mut lossy = Flow::begun();
    lossy.write(1000);
    lossy.lose_the_first();
    assert_eq!(lossy.phase(), RESUME_NORMAL);
    assert_eq!(lossy.socket.fields.snd_ssthresh, 7);

    let mut smaller = Flow::begun();
    smaller.write(1000);
    smaller.socket.set_state(CaState::Loss);
    smaller.expect(RESUME_NORMAL, 10);
}

#[test]
fn a_jump_ends_once_the_window_is_full() {
    let mut flow = Flow::jumping();
    assert_eq!(flow.in_flight(), JUMP);
    // A stale ACK tells nothing new.
    flow.control(0);
    flow.expect(RESUME_VALIDATING, JUMP);
}

#[test]
fn a_jump_ends_with_the_first_ack_of_what_it_sent() {
    let mut flow = Flow::begun();
    flow.write(10);
    flow.acks(10);
    flow.expect(RESUME_RECONNAISSANCE, 20);
    // 24 more than the window of 20 takes; the jump has room for 6 that nobody writes.
    flow.write(20 + 24);
    flow.acks(1);
    flow.expect(RESUME_UNVALIDATED, JUMP);
    flow.acks(19);
    flow.expect(RESUME_UNVALIDATED, JUMP);
    flow.acked(1);
    // 19 were in flight at the jump, and 20 have been ACKed since: the jump was not needed.
    flow.expect(RESUME_NORMAL, 19 + 20);

    let mut full = Flow::jumping();
    full.acks(18);
    full.expect(RESUME_UNVALIDATED, JUMP);
    full.acks(1);
    full.expect(RESUME_VALIDATING, JUMP - 1);
}

#[test]
fn a_window_that_nobody_used_is_no_larger_than_what_was_delivered() {
    let mut flow = Flow::begun();
    flow.write(10);
    flow.acks(9);
    // One in flight, and the jump would be for 20 more, which the receiver's window holds back.
    flow.socket.fields.write_seq += 20 * MSS;
    flow.acked(1);
    flow.expect(RESUME_UNVALIDATED, JUMP);
    flow.socket.fields.tcp_mstamp += u64::from(RTT_US) + 1;
    flow.control(0);
    flow.expect(RESUME_NORMAL, 10);

    let mut clamped = Flow::jumping();
    clamped.socket.fields.packets_out = 5;
    clamped.socket.fields.snd_cwnd_clamp = 8;
    clamped.socket.fields.tcp_mstamp += u64::from(RTT_US) + 1;
    clamped.control(0);
    clamped.expect(RESUME_NORMAL, 8);
}

#[test]
fn a_jump_lasts_for_a_round_trip() {
    let mut flow = Flow::begun();
    flow.write(1000);
    flow.acks(9);
    flow.acked(1);
    flow.expect(RESUME_UNVALIDATED, JUMP);
    // Pacing has let 6 segments go so far.
    flow.socket.fields.snd_nxt += 6 * MSS;
    flow.socket.fields.packets_out += 6;
    flow.socket.fields.tcp_mstamp += u64::from(RTT_US);
    flow.acked(1);
    flow.expect(RESUME_UNVALIDATED, JUMP);
    flow.socket.fields.tcp_mstamp += 1;
    flow.acked(1);
    // 18 in flight at the jump and 6 more, of which 2 are ACKed.
    flow.expect(RESUME_VALIDATING, 18 + 6 - 2);
}

#[test]
fn what_was_sent_unvalidated_is_validated_by_its_acks() {
    let mut flow = Flow::validating();
    let before = flow.socket.fields.snd_cwnd;
    let last = flow.in_flight();
    flow.acks(last - 1);
    assert_eq!(flow.phase(), RESUME_VALIDATING);
    assert_eq!(flow.socket.fields.snd_cwnd, before + last - 1, "slow start, as ever");
    flow.acks(1);
    assert_eq!(flow.phase(), RESUME_NORMAL);
}

/// 18 were in flight at the jump, and then one is SACKed.
#[test]
fn a_loss_of_the_jump_leaves_half_of_what_was_delivered() {
    let mut flow = Flow::jumping();
    flow.socket.fields.snd_nxt -= 10 * MSS; // the window is not full
    flow.socket.fields.packets_out -= 10;
    flow.lose_the_first();
    let pipe = 19;
    assert_eq!(flow.phase(), RESUME_SAFE_RETREAT);
    assert_eq!(flow.socket.fields.snd_ssthresh, pipe / 2);
    assert_eq!(flow.socket.fields.snd_cwnd, flow.in_flight() + 1, "room for the retransmission");
    flow.socket.fields.retrans_out = 1;
    flow.control(1);
    flow.expect(RESUME_SAFE_RETREAT, pipe / 2);

    let acked = flow.socket.fields.packets_out;
    flow.recover();
    flow.expect(RESUME_RETREATED, pipe / 2);
    assert_eq!(flow.socket.fields.snd_ssthresh, (pipe + 2 + acked) / 2, "PipeSize has grown");
    flow.acked(0);
    flow.control(3);
    flow.expect(RESUME_RETREATED, pipe / 2 + 3);
}

#[test]
fn a_loss_while_validating_leaves_no_more_than_half() {
    let mut flow = Flow::validating();
    // 18 were in flight at the jump, and 19 have been ACKed since.
    assert!(flow.socket.fields.snd_cwnd > 18 + 19);
    flow.lose_the_first();
    assert_eq!(flow.socket.fields.snd_ssthresh, (18 + 19) / 2);
    assert_eq!(flow.phase(), RESUME_SAFE_RETREAT);
}

#[test]
fn a_congestion_mark_is_answered_as_a_loss() {
    let mut flow = Flow::jumping();
    flow.begin_reduction();
    flow.socket.set_state(CaState::Cwr);
    flow.acked(1);
    flow.expect(RESUME_SAFE_RETREAT, 9);
    flow.acks(20);
    flow.expect(RESUME_SAFE_RETREAT, 9);
    flow.recover();
    assert_eq!(flow.phase(), RESUME_RETREATED);
}

/// As the kernel goes through it: the state is CWR for a moment only.
#[test]
fn a_loss_that_a_probe_has_repaired_is_one() {
    let mut flow = Flow::jumping();
    flow.begin_reduction();
    flow.socket.set_state(CaState::Cwr);
    flow.socket.set_state(CaState::Open);
    flow.acked(1);
    flow.expect(RESUME_SAFE_RETREAT, 9);

    let mut validated = Flow::validating();
    validated.acks(validated.in_flight());
    let cwnd = validated.socket.fields.snd_cwnd;
    assert_eq!(validated.phase(), RESUME_NORMAL);
    validated.begin_reduction();
    validated.socket.set_state(CaState::Cwr);
    validated.socket.set_state(CaState::Open);
    assert_eq!(validated.socket.fields.snd_cwnd, cwnd * 7 / 10);
}

/// Pacing may let it go after other ACKs have come.
#[test]
fn a_retransmission_that_is_held_back_still_has_room() {
    let mut flow = Flow::jumping();
    flow.lose_the_first();
    flow.control(1);
    assert!(flow.socket.fields.snd_cwnd > flow.in_flight());
    assert!(
        flow.socket.pacing() >= paced(flow.socket.fields.packets_out),
        "and is not slowed down"
    );
    flow.socket.fields.retrans_out = 1;
    flow.control(1);
    assert!(flow.socket.fields.snd_cwnd < flow.in_flight());
}

/// The next one comes before all of the jump is ACKed.
#[test]
fn a_second_loss_does_not_widen_the_window() {
    let mut flow = Flow::jumping();
    flow.begin_reduction();
    flow.socket.set_state(CaState::Cwr);
    flow.socket.set_state(CaState::Open);
    flow.control(30);
    flow.expect(RESUME_SAFE_RETREAT, 9);
    flow.begin_reduction();
    assert_eq!(flow.socket.fields.snd_ssthresh, 4);
}

/// The kernel puts back the window and the threshold that were before.
#[test]
fn a_loss_that_was_none_takes_the_retreat_back() {
    let mut flow = Flow::jumping();
    flow.socket.fields.packets_out -= 10; // the window is not full
    let before = flow.socket.fields.snd_ssthresh;
    flow.lose_the_first();
    let fields = &mut flow.socket.fields;
    (fields.sacked_out, fields.lost_out) = (0, 0);
    let undone = flow.socket.undo_cwnd();
    flow.socket.fields.snd_cwnd = undone;
    assert_eq!(flow.socket.fields.snd_cwnd, JUMP);
    flow.socket.fields.snd_ssthresh = before;
    flow.socket.set_state(CaState::Open);
    flow.control(0);
    flow.expect(RESUME_VALIDATING, JUMP - 10);
    let in_flight = flow.in_flight();
    flow.socket.fields.packets_out += 10;
    flow.acked(in_flight + 10);
    assert_eq!(flow.phase(), RESUME_NORMAL);
    assert_eq!(flow.socket.fields.snd_ssthresh, before);
}

#[test]
fn a_timeout_ends_it() {
    let mut flow = Flow::jumping();
    flow.timeout();
    flow.expect(RESUME_RETREATED, 1);
    assert_eq!(flow.socket.fields.snd_ssthresh, 18 / 2);
    flow.socket.fields.lost_out -= 1;
    flow.acked(1);
    flow.expect(RESUME_RETREATED, 2);
}

#[test]
fn a_first_flight_is_the_jump_at_the_rate_that_was_measured() {
    let mut flow = Flow::first_flight();
    flow.expect(RESUME_UNVALIDATED, JUMP);
    let paced = JUMP - 10;
    assert_eq!(
        flow.socket.pacing(),
        Some(u64::from(RATE) * 1000 * u64::from(paced) / u64::from(JUMP))
    );
    flow.write(40);
    flow.acked(1);
    flow.expect(RESUME_VALIDATING, 39);
    flow.acks(39);
    assert_eq!(flow.phase(), RESUME_NORMAL);
}

/// The program may write long after the handshake, up to when another connection may begin likewise.
#[test]
fn the_round_trip_of_a_first_flight_begins_with_what_is_sent_first() {
    let mut flow = Flow::first_flight();
    flow.socket.fields.tcp_mstamp += 59_000_000;
    flow.write(1);
    flow.socket.fields.tcp_mstamp += u64::from(RTT_US);
    flow.write(60);
    flow.control(0);
    flow.expect(RESUME_VALIDATING, JUMP);

    let mut late = Flow::first_flight();
    late.socket.fields.tcp_mstamp += 61_000_000;
    late.write(60);
    late.expect(RESUME_NORMAL, 10);
    assert_eq!(late.in_flight(), 10);
}

/// The answer comes after a few small writes.
#[test]
fn a_first_flight_of_little_proves_nothing() {
    let mut flow = Flow::first_flight();
    flow.write(3);
    flow.acks(1);
    flow.expect(RESUME_NORMAL, 11);
}

/// With nothing known there would have been a window of 10, and half of it would be left.
#[test]
fn a_first_flight_that_is_lost_costs_no_more_than_an_initial_window() {
    let mut flow = Flow::first_flight();
    flow.write(1000);
    flow.timeout();
    flow.expect(RESUME_RETREATED, 1);
    assert_eq!(flow.socket.fields.snd_ssthresh, 5);
}

#[test]
fn without_anything_known_it_grows_as_reno_and_falls_as_cubic() {
    let mut flow = Flow::begun_with(10, |socket| {
        socket.connection.as_mut().unwrap().path.start = Default::default();
        socket.fields.snd_ssthresh = 5;
    });
    flow.write(1000);
    flow.acks(10);
    assert_eq!((flow.phase(), flow.socket.fields.snd_cwnd), (RESUME_NONE, 11));
    flow.lose_the_first();
    assert_eq!(flow.socket.fields.snd_ssthresh, 7);
    flow.socket.fields.retrans_out = 1;
    flow.control(1);
    assert_eq!(flow.socket.fields.snd_cwnd, 7);
}

//! Round-trip time and retransmission timeout (RFC 6298, with Linux's floor and its slower fall).

use kirikae_algorithms::Socket;
use kirikae_path::Span;

use super::Sender;
use crate::{Profile, timer_wheel};

/// The lowest RTT is remembered for so long, microseconds (sysctl tcp_min_rtt_wlen).
const MIN_RTT_MEMORY_US: u64 = 300_000_000;

/// What is known of the round trip beside the socket's srtt and lowest RTT. Microseconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct RoundTrip {
    /// Mean deviation << 2.
    mdev: u32,
    /// Its largest in the present round trip.
    mdev_max: u32,
    /// Where the present round trip ends.
    round_end: u64,
    /// The retransmission timeout, back-off included.
    rto_us: u64,
}

impl RoundTrip {
    pub fn new(profile: &Profile) -> RoundTrip {
        RoundTrip {
            mdev: 0,
            mdev_max: 0,
            round_end: 0,
            rto_us: profile.rto_initial.as_nanos() / 1000,
        }
    }
}

impl Sender {
    /// The present retransmission timeout, microseconds, back-off included.
    pub fn rto_us(&self) -> u64 {
        self.round_trip.rto_us
    }

    /// Lowest variation that a timeout allows for, microseconds, in whole ticks.
    pub fn rto_min_us(&self) -> u32 {
        let set = Span::from_nanos(u64::from(self.socket.fields.rto_min_us) * 1000);
        let ticks = timer_wheel::in_ticks(set, self.profile.hz);
        (timer_wheel::of_ticks(ticks, self.profile.hz).as_nanos() / 1000) as u32
    }

    /// Longest timeout, microseconds.
    pub(super) fn rto_max_us(&self) -> u64 {
        u64::from(self.socket.fields.rto_max_ms) * 1000
    }

    /// The next timeout is twice as long.
    pub(super) fn back_off(&mut self) {
        self.round_trip.rto_us = (2 * self.round_trip.rto_us).min(self.rto_max_us());
    }

    /// The next timeout is as long as the round trip asks for.
    pub(super) fn reset_back_off(&mut self) {
        let fields = &self.socket.fields;
        if fields.srtt_us > 0 {
            let rto_us = u64::from(fields.srtt_us >> 3) + u64::from(fields.rttvar_us);
            self.round_trip.rto_us = rto_us.min(self.rto_max_us());
        }
    }

    /// A sample: of the first segment ACKed for the timeout, of the last one for the lowest RTT.
    pub(super) fn rtt_sample(&mut self, first_us: u32, last_us: u32) {
        let now_us = self.now_us();
        lowest_rtt(&mut self.socket, now_us, last_us.max(1));
        let (una, nxt, rto_min_us) = (self.una, self.nxt, self.rto_min_us());
        let trip = &mut self.round_trip;
        let rttvar = &mut self.socket.fields.rttvar_us;
        let mut srtt = self.socket.fields.srtt_us;
        let round_over = srtt == 0 || una > trip.round_end;
        if srtt == 0 {
            srtt = first_us << 3;
            trip.mdev = first_us << 1;
            *rttvar = trip.mdev.max(rto_min_us);
            trip.mdev_max = *rttvar;
            trip.round_end = nxt;
        } else {
            let error = i64::from(first_us) - i64::from(srtt >> 3);
            srtt = (i64::from(srtt) + error) as u32;
            let mut deviation = error.abs() - i64::from(trip.mdev >> 2);
            if error < 0 && deviation > 0 {
                // A sudden fall of the RTT must not make the timeout rise.
                deviation >>= 3;
            }
            trip.mdev = (i64::from(trip.mdev) + deviation) as u32;
            // Only a deviation raises it: an rto_min that was raised by itself does not.
            if trip.mdev > trip.mdev_max {
                trip.mdev_max = trip.mdev;
                *rttvar = trip.mdev_max.max(*rttvar);
            }
            if round_over {
                if trip.mdev_max < *rttvar {
                    *rttvar -= (*rttvar - trip.mdev_max) >> 2;
                }
                trip.round_end = nxt;
                trip.mdev_max = rto_min_us;
            }
        }
        if round_over {
            self.tell_rtt(first_us); // once in a round trip, with the srtt before this sample
        }
        self.socket.fields.srtt_us = srtt.max(1);
        self.reset_back_off();
    }

    /// Smoothed round-trip time, microseconds; 0 before the first sample.
    pub fn srtt_us(&self) -> u64 {
        u64::from(self.socket.fields.srtt_us >> 3)
    }

    /// Lowest RTT of the last minutes, microseconds; none before the first sample.
    pub(super) fn min_rtt_us(&self) -> Option<u64> {
        Some(self.socket.fields.rtt_min.s[0].v).filter(|rtt| *rtt != u32::MAX).map(u64::from)
    }
}

/// A windowed minimum from three samples, each the lowest since the one before it, so that when the
/// best leaves the window the next is at hand (K. Nichols' estimator). Times are milliseconds.
fn lowest_rtt(socket: &mut Socket, now_us: u64, rtt_us: u32) {
    const MEMORY: u32 = (MIN_RTT_MEMORY_US / 1000) as u32;
    let samples = &mut socket.fields.rtt_min.s;
    let t = (now_us / 1000) as u32;
    let mut new = samples[0];
    new.t = t;
    new.v = rtt_us;
    let age = |since: u32| t.wrapping_sub(since);
    if rtt_us <= samples[0].v || age(samples[2].t) > MEMORY {
        *samples = [new; 3];
        return;
    }
    // What is not lower than the new one will never be needed.
    if let Some(place) = (1..3).find(|place| rtt_us <= samples[*place].v) {
        samples[place..].fill(new);
    }
    if age(samples[0].t) > MEMORY {
        while age(samples[0].t) > MEMORY {
            samples.rotate_left(1);
            samples[2] = new;
        }
        return;
    }
    // A sample that still stands for the one before it gives way after a quarter of the memory each.
    let stands_in = |place: &usize| {
        samples[*place].t == samples[*place - 1].t && age(samples[0].t) > *place as u32 * MEMORY / 4
    };
    if let Some(place) = (1..3).find(stands_in) {
        samples[place..].fill(new);
    }
}

//! Probing a closed window: an old sequence number makes the receiver announce its window (RFC 9293,
//! section 3.8.6.1).

use kirikae_path::Time;

use super::Sender;
use super::timer::Purpose;
use crate::Segment;

impl Sender {
    /// Nothing is in flight, and the receiver's window lets nothing go.
    pub(super) fn await_window(&mut self) {
        let rto_min_us = self.profile.rto_min.as_nanos() / 1000; // whatever the socket has
        let wait_us = self.rto_us().max(rto_min_us) << self.window_probes.min(32);
        self.set_timer(Purpose::Window, wait_us.min(self.rto_max_us()));
    }

    /// The window has opened.
    pub(super) fn window_opened(&mut self) {
        if self.timers.purpose() == Some(Purpose::Window) {
            self.clear_timer();
            self.window_probes = 0;
        }
    }

    /// The probe timer goes off; the next wait is twice as long.
    pub(super) fn send_window_probe(&mut self, now: Time, out: &mut Vec<Segment>) {
        self.clear_timer();
        if self.packets_out() > 0 || self.nxt == self.written {
            return;
        }
        self.transmit_new(now, out);
        if self.packets_out() > 0 {
            return;
        }
        // What fits is sent when the timer goes off, however little it is.
        let room = self.window_end().saturating_sub(self.nxt);
        let fits = room.min(self.mss.into()).min(self.written - self.nxt);
        if fits > 0 {
            self.send(now, fits, out);
        } else {
            out.push(Segment { seq: self.una - 1, ..Segment::default() });
            self.window_probes += 1;
            self.await_window();
        }
    }
}

//! The send buffer: how much of what the application wrote the kernel has taken, and how the buffer grows
//! (Linux: tcp_sndbuf_expand, tcp_check_space; measured by docs/kernel/send_buffer.py).
//!
//! Data for which there is no room waits with the program, and is not sent: so no more is in flight than
//! fits.

use kirikae_path::Time;

use super::Sender;
use crate::{Profile, Segment};

/// How many windows the buffer has room for after it has grown, if each segment takes as much memory as it
/// can at worst.
const WINDOWS: u64 = 2;
/// The least window that is assumed, segments (TCP_INIT_CWND).
const LEAST_WINDOW: u32 = 10;
/// Memory of a segment besides its data and headers: the kernel allocates powers of two (with MAX_TCP_HEADER
/// and `struct skb_shared_info`), and memory for their description.
const HEADERS_MEMORY: u32 = 384;
const DESCRIPTION_MEMORY: u32 = 256;
/// Data takes more memory than its bytes by 1/12, for the description of the pieces that it is written and sent in.
/// (Measured: 1/24 to 1/9, the more the smaller the trains are that it was sent in.)
const DESCRIBED_PART: u64 = 12;
/// The writer goes on when the data that waits or is in flight has fallen to 2/3 of the buffer.
const RESUME_NUMERATOR: u64 = 2;
const RESUME_DENOMINATOR: u64 = 3;

/// The send buffer of a connection, and what its program would write if there were room.
#[derive(Clone, Copy, Debug)]
pub(super) struct SendBuffer {
    /// Its size in bytes, which never falls.
    size: u64,
    /// Sequence number at the end of the data that the program has to write.
    offered: u64,
    /// No more is taken while this much has not been sent, bytes.
    notsent_lowat: u64,
}

impl SendBuffer {
    /// The buffer of a connection whose first byte is `seq`.
    pub fn new(profile: &Profile, seq: u64) -> SendBuffer {
        let mut buffer =
            SendBuffer { size: 0, offered: seq, notsent_lowat: profile.notsent_lowat.into() };
        buffer.expand(profile, profile.initial_window);
        buffer
    }

    /// Makes room for a window of so many segments.
    pub(super) fn expand(&mut self, profile: &Profile, segments: u32) {
        let window = WINDOWS * u64::from(segments.max(LEAST_WINDOW));
        let wanted = window * u64::from(segment_memory(profile.mtu));
        self.size = self.size.max(wanted.min(profile.send_buffer_max.into()));
    }

    /// How many bytes of the offered data the buffer takes next, while it holds the data from `una` to `written`,
    /// of which `nxt` is the first byte that was not sent: what fits into the last piece, whatever the memory; or
    /// another piece if there is memory left, which this one may exceed, and not too much unsent.
    fn takes(&self, una: u64, nxt: u64, written: u64, piece: u64) -> u64 {
        let unsent = written - nxt;
        let next = match unsent.next_multiple_of(piece) - unsent {
            0 if memory(written - una) < self.size && unsent < self.notsent_lowat => piece,
            room => room,
        };
        next.min(self.offered - written)
    }

    /// Whether there is enough room after `written` for the writer to be woken.
    fn has_space(&self, una: u64, nxt: u64, written: u64) -> bool {
        memory(written - una) * RESUME_DENOMINATOR <= self.size * RESUME_NUMERATOR
            && (written - nxt) * 2 < self.notsent_lowat
    }
}

/// Memory of so many bytes of data.
fn memory(data: u64) -> u64 {
    data + data / DESCRIBED_PART
}

/// Memory that the kernel reckons for a segment, bytes: 2,304 over Ethernet.
fn segment_memory(mtu: u32) -> u32 {
    (mtu + HEADERS_MEMORY).next_power_of_two() + DESCRIPTION_MEMORY
}

impl Sender {
    /// Offers more data of the program, which waits if it waited before.
    pub(super) fn offer(&mut self, now: Time, bytes: u64, out: &mut Vec<Segment>) {
        let waits = self.writer_waits();
        self.buffer.offered += bytes;
        if !waits {
            self.fill_buffer(now, out);
        }
        self.show_written();
    }

    /// After an ACK, grows the buffer with the window if the program waits, and wakes the program if there is
    /// space.
    pub(super) fn check_space(&mut self, now: Time, out: &mut Vec<Segment>) {
        if !self.writer_waits() {
            return;
        }
        // A full window would not be fuller with more (tcp_should_expand_sndbuf).
        if self.packets_in_flight() < self.cwnd() {
            self.buffer.expand(&self.profile, self.cwnd().max(self.reordering.segments() + 1));
        }
        if self.buffer.has_space(self.una, self.nxt, self.written) {
            self.fill_buffer(now, out);
        }
        self.show_written();
    }

    /// The program writes as much as there is room for. Each piece is sent as soon as it is full, as far as it may,
    /// and what was sent of the last one makes room in it (tcp_push_one in tcp_sendmsg).
    fn fill_buffer(&mut self, now: Time, out: &mut Vec<Segment>) {
        self.check_app_limited();
        self.socket.fields.inet_conn.icsk_inet.sk.is_writer_waiting = false;
        loop {
            let piece = self.write_unit();
            let bytes = self.buffer.takes(self.una, self.nxt, self.written, piece);
            if bytes == 0 {
                break;
            }
            self.written += bytes;
            self.socket.fields.write_seq = self.written as u32;
            self.transmit_new(now, out);
        }
    }

    /// Before more is written: if nothing is left to send and the window is not full, samples of what is in
    /// flight are limited by the application.
    fn check_app_limited(&mut self) {
        let in_flight = self.packets_in_flight();
        let fields = &mut self.socket.fields;
        if self.written - self.nxt < u64::from(self.mss)
            && in_flight < fields.snd_cwnd
            && fields.lost_out <= fields.retrans_out
        {
            fields.app_limited = fields.delivered.wrapping_add(in_flight).max(1);
        }
    }

    /// Whether there was no room for all the data that was offered.
    pub(crate) fn writer_waits(&self) -> bool {
        self.written < self.buffer.offered
    }

    /// Shows the algorithm and the switcher how much is written.
    fn show_written(&mut self) {
        let waits = self.writer_waits();
        let fields = &mut self.socket.fields;
        fields.write_seq = self.written as u32;
        fields.inet_conn.icsk_inet.sk.is_writer_waiting = waits;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn profile() -> Profile {
        Profile { send_buffer_max: 100_000, ..Profile::linux_6() }
    }

    #[test]
    fn the_writer_waits_until_two_fifths_are_free() {
        let mut buffer = SendBuffer::new(&profile(), 1);
        buffer.offered = 80_001;
        let piece = 22 * 1448;
        assert_eq!(buffer.takes(1, 1, 1, piece), piece);
        assert_eq!(buffer.takes(1, 1 + 10 * 1448, 1 + piece, piece), 10 * 1448, "what was sent");
        let written = 1 + 32 * 1448;
        assert_eq!(buffer.takes(1, written - piece, written, piece), 0, "the memory is full");
        // Two thirds of 46,080 bytes are 28,357 of data.
        assert!(!buffer.has_space(written - 28_358, written, written));
        assert!(buffer.has_space(written - 28_357, written, written));
        let una = written - 20 * 1448;
        assert_eq!(buffer.takes(una, written, written, piece), piece, "a new piece");
        assert_eq!(buffer.takes(una, written - 1448, written, piece), 21 * 1448, "the last one");
        assert_eq!(buffer.takes(60_001, 60_001, 60_001, piece), 20_000, "no more was offered");
    }

    #[test]
    fn little_is_taken_that_cannot_be_sent() {
        let mut buffer = SendBuffer::new(&Profile { notsent_lowat: 10_000, ..profile() }, 1);
        buffer.offered = 80_001;
        assert_eq!(buffer.takes(1, 1, 10_000, 1000), 1, "the rest of a piece");
        assert_eq!(buffer.takes(1, 1, 9_001, 1000), 1000, "another piece");
        assert_eq!(buffer.takes(1, 1, 10_001, 1000), 0);
        assert!(!buffer.has_space(1, 1, 5_001));
        assert!(buffer.has_space(1, 1, 5_000));
    }

    #[test]
    fn it_grows_with_the_window_up_to_a_limit_and_never_shrinks() {
        let mut buffer = SendBuffer::new(&profile(), 1);
        for (segments, size) in [(2, 46_080), (20, 92_160), (3, 92_160), (100, 100_000)] {
            buffer.expand(&profile(), segments);
            assert_eq!(buffer.size, size);
        }
    }

    #[test]
    fn larger_segments_are_reckoned_to_take_more() {
        let size = |mtu| SendBuffer::new(&Profile { mtu, ..Profile::linux_6() }, 1).size;
        assert_eq!([size(1500), size(9000)], [20 * 2_304, 20 * 16_640]);
    }
}

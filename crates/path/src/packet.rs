/// A packet on its way through one direction of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet<P> {
    /// How many packets entered this direction before it: the first has number 0.
    pub number: u64,
    /// Length of the IP packet in bytes.
    pub bytes: u32,
    /// Whether it may be marked instead of dropped, and was.
    pub ecn: Ecn,
    /// The driver's data: a buffer of the emulator, a segment of the simulator.
    pub payload: P,
}

impl<P> Packet<P> {
    /// Marks the packet, to tell the receiver of congestion. Returns whether it is ECN-capable.
    pub(crate) fn mark(&mut self) -> bool {
        let capable = self.ecn != Ecn::NotEct;
        if capable {
            self.ecn = Ecn::Ce;
        }
        capable
    }

    /// The same packet with another payload.
    pub(crate) fn map<Q>(self, payload: impl FnOnce(P) -> Q) -> Packet<Q> {
        let Packet { number, bytes, ecn, payload: old } = self;
        Packet { number, bytes, ecn, payload: payload(old) }
    }
}

/// The ECN field of the IP header (RFC 3168, section 5). A path turns ECT into CE and does nothing
/// else to it, so ECT(0) and ECT(1) need not be told apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
// A byte would leave a gap in each packet, and copies that cross it stall the processor.
#[repr(u32)]
pub enum Ecn {
    /// The transport does not understand marks: such a packet is dropped where others are marked.
    #[default]
    NotEct,
    /// The transport understands marks.
    Ect,
    /// Marked: the packet met congestion.
    Ce,
}

#[cfg(test)]
impl Packet<()> {
    /// A packet that carries nothing and cannot be marked.
    pub(crate) fn test(number: u64, bytes: u32) -> Packet<()> {
        Packet { number, bytes, ecn: Ecn::NotEct, payload: () }
    }
}

/// A packet on its way through one direction of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet<P> {
    /// How many packets entered this direction before it: the first has number 0.
    pub number: u64,
    /// Length of the IP packet in bytes.
    pub bytes: u32,
    /// What the driver carries along: the emulator a buffer, the simulator a segment.
    pub payload: P,
}

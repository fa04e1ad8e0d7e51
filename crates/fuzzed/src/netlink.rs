//! Whatever bytes may come where the kernel tells of interfaces, addresses and routes of a network namespace.

use kirikae_agent::Network;

/// So few are known that inputs reach it.
const ROOM: usize = 8;
/// The fewest bytes that tell of a change: a next hop of a route.
const LEAST: usize = 8;

pub(crate) fn play(bytes: &[u8]) {
    let mut network = Network::with_room(ROOM);
    for _ in 0..2 {
        let changes = network.hear(bytes).count();
        assert!(changes <= bytes.len() / LEAST, "{changes} changes by {} bytes", bytes.len());
        let (interfaces, addresses, removed) = network.known();
        assert!(interfaces.max(addresses).max(removed) <= ROOM);
    }
    // What is told in parts is told as well: no message has to do with those before it in the buffer.
    if !network.is_full() {
        let (mut whole, mut again) = (Network::with_room(ROOM), Network::with_room(ROOM));
        let told: Vec<_> = whole.hear(bytes).collect();
        let heard: Vec<_> = each(bytes).flat_map(|it| again.hear(it).collect::<Vec<_>>()).collect();
        assert_eq!(told, heard);
        assert_eq!(whole.known(), again.known());
    }
}

/// The messages one by one, each with its padding, by their lengths alone.
fn each(mut bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    std::iter::from_fn(move || {
        let length = u32::from_ne_bytes(*bytes.first_chunk()?) as usize;
        let whole = length.next_multiple_of(4).max(1).min(bytes.len());
        let (message, rest) = bytes.split_at(if length < 16 { bytes.len() } else { whole });
        bytes = rest;
        Some(message)
    })
}

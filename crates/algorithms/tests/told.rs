//! How often the agent is told that connections wait, `bpf/switcher/core/told.h`.

use kirikae_algorithms::Told;

/// Nanoseconds within which nothing is told twice.
const WITHIN: u64 = 100_000_000;
/// So many interfaces of a namespace are told within that time at most.
const INTERFACES: usize = 32;

#[test]
fn an_interface_is_told_once_within_a_tenth_of_a_second() {
    let mut told = Told::default();
    let begin = 5 * WITHIN;
    assert!(told.is_to_be_told(2, begin));
    assert!(!told.is_to_be_told(2, begin));
    assert!(told.is_to_be_told(3, begin + WITHIN / 2));
    assert!(!told.is_to_be_told(2, begin + WITHIN - 1));
    assert!(told.is_to_be_told(2, begin + WITHIN));
}

#[test]
fn a_namespace_has_bounded_room_and_no_interface_waits_for_ever() {
    let mut told = Told::default();
    let times = || (1..=100).map(|turn| turn * (WITHIN + 12_345));
    for now in times() {
        let of_turn = (1..1000).filter(|it| told.is_to_be_told(*it, now)).count();
        assert!((INTERFACES / 2..=INTERFACES).contains(&of_turn), "{of_turn} at once");
    }
    for other in 2..1000 {
        let mut told = Told::default();
        let is_told = |now| told.is_to_be_told(1, now) && told.is_to_be_told(other, now);
        assert!(times().any(is_told), "{other} is never told beside 1");
    }
}

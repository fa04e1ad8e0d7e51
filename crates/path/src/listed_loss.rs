use crate::{DropCause, Dropped, Element, Outcome, Packet, Time};

/// Loses exactly the packets whose numbers are listed. For tests, and to replay a known loss.
#[derive(Debug)]
pub struct ListedLoss {
    /// The numbers of the packets to lose, ascending.
    numbers: Vec<u64>,
}

impl ListedLoss {
    /// Loses the packets with these numbers (see [`Packet::number`]), given in any order.
    pub fn new(mut numbers: Vec<u64>) -> ListedLoss {
        numbers.sort_unstable();
        ListedLoss { numbers }
    }
}

impl<P> Element<P> for ListedLoss {
    fn enqueue(&mut self, _now: Time, packet: Packet<P>) -> Outcome<P> {
        if self.numbers.binary_search(&packet.number).is_ok() {
            Outcome::Dropped(Dropped { packet, cause: DropCause::Listed })
        } else {
            Outcome::Passed(packet)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_listed_packets_are_lost_and_no_others() {
        let mut loss = ListedLoss::new(vec![7, 0, 3, 3]);
        let lost: Vec<u64> = (0..10)
            .filter(|&number| {
                let packet = Packet::test(number, 40);
                match loss.enqueue(Time::ZERO, packet) {
                    Outcome::Passed(passed) => {
                        assert_eq!(passed, packet);
                        false
                    }
                    outcome => {
                        let cause = DropCause::Listed;
                        assert_eq!(outcome, Outcome::Dropped(Dropped { packet, cause }));
                        true
                    }
                }
            })
            .collect();
        assert_eq!(lost, [0, 3, 7]);
    }
}

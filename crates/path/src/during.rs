use crate::{Element, Intervals, Outcome, Packet, Time};

/// A channel whose losses come and go: outside of the intervals, packets pass that it would lose.
///
/// The channel takes as many random numbers for a packet that cannot be lost as for any other, and
/// its state moves on. So with the same seed the n-th packet meets the same fate, if it arrives in an
/// interval.
pub struct During<P> {
    channel: Box<dyn Element<P> + Send>,
    when: Intervals,
}

impl<P> During<P> {
    /// The losses of `channel` in the given intervals. The channel has to pass or drop each packet at once;
    /// an element that answers [`Outcome::Held`] is not allowed.
    pub fn new(channel: Box<dyn Element<P> + Send>, when: Intervals) -> During<P> {
        During { channel, when }
    }
}

impl<P> Element<P> for During<P> {
    fn enqueue(&mut self, now: Time, packet: Packet<P>) -> Outcome<P> {
        match self.channel.enqueue(now, packet) {
            Outcome::Dropped(dropped) if self.when.left(now).is_none() => {
                Outcome::Passed(dropped.packet)
            }
            outcome => outcome,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{GilbertElliott, GilbertElliottSpec, Span};

    fn channel() -> Box<dyn Element<()> + Send> {
        Box::new(GilbertElliott::new(GilbertElliottSpec { p: 0.2, r: 0.3, k: 1.0, h: 0.1 }, 1))
    }

    /// Sends a packet each millisecond, and returns which are lost.
    fn lost(mut channel: Box<dyn Element<()> + Send>) -> Vec<u64> {
        let lost = |ms: &u64| {
            let now = Time::ZERO + Span::from_millis(*ms);
            matches!(channel.enqueue(now, Packet::test(*ms, 1500)), Outcome::Dropped(_))
        };
        (0..2000).filter(lost).collect()
    }

    #[test]
    fn what_is_lost_in_the_intervals_would_be_lost_anyway() {
        let ms = |ms| Time::ZERO + Span::from_millis(ms);
        let intervals = vec![(ms(100), ms(200)), (ms(300), ms(500))];
        let when = Intervals { intervals, every: Some(Span::from_secs(1)) };
        let within = |n: &u64| (100..200).contains(&(n % 1000)) || (300..500).contains(&(n % 1000));
        let always = lost(channel());
        let expected: Vec<u64> = always.into_iter().filter(within).collect();
        assert!(expected.len() > 100);
        assert_eq!(lost(Box::new(During::new(channel(), when))), expected);
    }
}

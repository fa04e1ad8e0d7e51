//! Draws the conclusions from the comparison: a verdict on a scope, and the share of it to hold back.

use std::fmt;

use crate::confidence::radius;
use crate::spans::{Difference, Strata};

/// Ratio from which on switching hurts. Nobody notices less than that, and it would take long to be sure of
/// it.
pub const HARM: f64 = 1.02;
/// Spans of each treatment that are needed for a verdict.
pub const LEAST_SPANS: u64 = 8;
/// Share of the spans that is held back while harm is suspected. Two means are compared soonest with as many
/// spans of each; and half of the harm ends at once.
pub const HELD_WHILE_SUSPECTED: f64 = 0.5;

/// Spans of each treatment that are needed to suspect harm at all.
const HINT_SPANS: u64 = 2;
/// Spans of an epoch, of both treatments, before the share is changed again.
const EPOCH_SPANS: u64 = 16;
/// Harm is suspected if the estimate plus so many standard errors is beyond [`HARM`]. If switching does
/// nothing, to hold back half costs nothing; if it helps much, the first few spans rule harm out.
const SUSPECTED_WITHIN: f64 = 1.0;
/// Harm is no longer suspected if the estimate plus so many standard errors is not beyond [`HARM`].
const CLEARED_BEYOND: f64 = 2.0;

/// The guard of some connections: those of one cgroup in a scope.
///
/// Time is cut into *epochs*, in each of which the same share is held back. The kernel's sums begin anew with
/// each epoch, and spans that are under way when one begins are not counted.
#[derive(Clone, Debug)]
pub struct Guard {
    holdback: f64,
    is_suspected: bool,
    epoch: u32,
    /// The epochs that are over, since everything was counted anew.
    over: Vec<Strata>,
    difference: Option<Difference>,
    verdict: Verdict,
}

/// A request of the guard.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Ask {
    /// This share of the spans (0 to 1) is to be held back, by lot.
    HoldBack(f64),
    /// Nothing is to be switched any more: the scope is only observed.
    Observe,
}

/// The time that switched bursts take over the time of those held back: a ratio of geometric means, with an
/// interval of which each end holds at all times with 99 %.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The ratio; below 1 if switching helps.
    pub ratio: f64,
    /// The lower end of the interval.
    pub least: f64,
    /// The upper end of the interval.
    pub most: f64,
    /// Bursts of both treatments that were counted.
    pub bursts: u64,
}

/// What switching does to the bursts of a scope.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Verdict {
    /// Nothing can be said.
    CannotJudge(Reason),
    /// The upper end is below 1.
    Helps(Estimate),
    /// The interval lies between 1/[`HARM`] and [`HARM`].
    NoDifference(Estimate),
    /// None of the other verdicts: more spans are needed.
    NotKnownYet(Estimate),
    /// The lower end is above [`HARM`].
    Hurts(Estimate),
}

/// Why nothing can be said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// The operator's share is 0, so that nothing is held back.
    NothingHeldBack,
    /// Fewer than [`LEAST_SPANS`] of a treatment can be compared.
    TooFewSpans {
        /// Spans that were switched.
        switched: u64,
        /// Spans that were held back.
        held_back: u64,
    },
    /// Each cgroup is judged for itself, and there are too few to say something of all of them.
    FewGroups(usize),
}

impl Guard {
    /// Makes a guard for a scope whose operator holds back this share of the spans (0 to 1). With 0 nothing
    /// is ever compared.
    ///
    /// # Panics
    /// Panics if the share is not within 0 to 1.
    pub fn new(holdback: f64) -> Guard {
        assert!((0.0..=1.0).contains(&holdback), "a share of {holdback}");
        Guard {
            holdback,
            is_suspected: false,
            epoch: 0,
            over: Vec::new(),
            difference: None,
            verdict: nothing_known(holdback),
        }
    }

    /// Makes a guard that has found out before that switching hurts.
    ///
    /// # Panics
    /// Panics if the share is not within 0 to 1.
    pub fn suspended(holdback: f64, found: Estimate) -> Guard {
        Guard { verdict: Verdict::Hurts(found), ..Guard::new(holdback) }
    }

    /// Takes the sums of an epoch since it began; it may be called as often as one likes. Sums of any epoch
    /// but the [present one](Guard::epoch) are ignored. `error` is the probability that the truth is ever beyond one
    /// given end of the intervals.
    pub fn look(&mut self, epoch: u32, sums: &Strata, error: f64) {
        if epoch != self.epoch || self.holdback == 0.0 || self.hurts() {
            return;
        }
        self.over.push(*sums);
        let difference = Difference::of(&self.over);
        self.difference = difference;
        self.verdict = Verdict::of(difference, error);
        let is_suspected = difference.map_or(self.is_suspected, |it| self.suspects(&it));
        let can_change = self.holdback < HELD_WHILE_SUSPECTED
            && sums.spans().iter().sum::<u64>() >= EPOCH_SPANS
            && !self.hurts();
        if can_change && is_suspected != self.is_suspected {
            self.is_suspected = is_suspected;
            self.epoch += 1;
        } else {
            self.over.pop();
        }
    }

    /// What is found over all epochs; None if there is nothing to compare.
    pub fn difference(&self) -> Option<Difference> {
        self.difference
    }

    fn suspects(&self, difference: &Difference) -> bool {
        if difference.least_spans() < HINT_SPANS {
            return self.is_suspected;
        }
        let errors = if self.is_suspected { CLEARED_BEYOND } else { SUSPECTED_WITHIN };
        difference.octaves + errors / difference.information.sqrt() > HARM.log2()
    }

    /// What the guard asks for from the beginning of the [present epoch](Guard::epoch) on.
    pub fn asks(&self) -> Ask {
        match self.verdict {
            Verdict::Hurts(_) => Ask::Observe,
            _ if self.is_suspected => Ask::HoldBack(HELD_WHILE_SUSPECTED),
            _ => Ask::HoldBack(self.holdback),
        }
    }

    /// The number of the present epoch, from 0. When a [look](Guard::look) changes it, the guard asks for
    /// another share.
    pub fn epoch(&self) -> u32 {
        self.epoch
    }

    /// The verdict of the latest look.
    pub fn verdict(&self) -> Verdict {
        self.verdict
    }

    /// Switches again, after a verdict or at any time, and counts everything anew.
    pub fn resume(&mut self) {
        self.is_suspected = false;
        self.epoch += 1;
        self.over.clear();
        self.difference = None;
        self.verdict = nothing_known(self.holdback);
    }

    /// Whether switching hurts, so that nothing is switched.
    pub fn hurts(&self) -> bool {
        matches!(self.verdict, Verdict::Hurts(_))
    }
}

pub(crate) fn nothing_known(holdback: f64) -> Verdict {
    Verdict::CannotJudge(match holdback {
        0.0 => Reason::NothingHeldBack,
        _ => Reason::TooFewSpans { switched: 0, held_back: 0 },
    })
}

impl Estimate {
    fn of(difference: &Difference, error: f64) -> Estimate {
        let radius = radius(difference.information, error);
        Estimate {
            ratio: difference.octaves.exp2(),
            least: (difference.octaves - radius).exp2(),
            most: (difference.octaves + radius).exp2(),
            bursts: difference.bursts,
        }
    }
}

impl Verdict {
    pub(crate) fn of(difference: Option<Difference>, error: f64) -> Verdict {
        let Some(difference) = difference.filter(|it| it.least_spans() >= LEAST_SPANS) else {
            let [switched, held_back] = difference.map_or([0; 2], |difference| difference.spans);
            return Verdict::CannotJudge(Reason::TooFewSpans { switched, held_back });
        };
        let estimate = Estimate::of(&difference, error);
        let Estimate { least, most, .. } = estimate;
        if least > HARM {
            Verdict::Hurts(estimate)
        } else if most < 1.0 {
            Verdict::Helps(estimate)
        } else if least > 1.0 / HARM && most < HARM {
            Verdict::NoDifference(estimate)
        } else {
            Verdict::NotKnownYet(estimate)
        }
    }

    /// The verdict in a word, as programs read it.
    pub fn name(&self) -> &'static str {
        match self {
            Verdict::CannotJudge(_) => "cannot-judge",
            Verdict::Helps(_) => "helps",
            Verdict::NoDifference(_) => "no-difference",
            Verdict::NotKnownYet(_) => "not-known-yet",
            Verdict::Hurts(_) => "hurts",
        }
    }

    /// The estimate that the verdict is based on, if there is one.
    pub fn estimate(&self) -> Option<Estimate> {
        match *self {
            Verdict::CannotJudge(_) => None,
            Verdict::Helps(estimate)
            | Verdict::NoDifference(estimate)
            | Verdict::NotKnownYet(estimate)
            | Verdict::Hurts(estimate) => Some(estimate),
        }
    }
}

/// Writes for instance "0.41 of stock's (0.38 to 0.44, n = 12,300)".
impl fmt::Display for Estimate {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let Estimate { ratio, least, most, bursts } = self;
        write!(f, "{ratio:.2} of stock's ({least:.2} to {most:.2}, n = {})", grouped(*bursts))
    }
}

/// Writes a line with the verdict and its estimate.
impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let said = match self {
            Verdict::CannotJudge(reason) => return write!(f, "cannot judge: {reason}"),
            Verdict::Helps(_) => "switching helps",
            Verdict::NoDifference(_) => "switching makes no difference",
            Verdict::NotKnownYet(_) => "not known yet whether switching helps",
            Verdict::Hurts(_) => "switching hurts",
        };
        let estimate = self.estimate().expect("all others have one");
        write!(f, "{said}: latency is {estimate}")
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Reason::NothingHeldBack => f.write_str("the policy holds nothing back"),
            Reason::TooFewSpans { switched, held_back } => write!(
                f,
                "{} spans switched and {} held back can be compared, {LEAST_SPANS} of each are needed",
                grouped(*switched),
                grouped(*held_back),
            ),
            Reason::FewGroups(groups) => {
                write!(f, "each of {groups} cgroups is judged for itself")
            }
        }
    }
}

/// The number with commas between thousands.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Arms;
    use crate::ERROR;

    /// Sums of so many spans; half of the residuals are half an octave above the mean, the others as much
    /// below.
    fn sums(switched: (u64, f64), stock: (u64, f64)) -> Strata {
        let mut strata = Strata::default();
        let Arms { switched: of_switched, stock: of_stock } = &mut strata.0[2];
        for (spans, (count, mean)) in [(of_switched, switched), (of_stock, stock)] {
            for place in 0..count {
                spans.add(if place % 2 == 0 { mean + 0.25 } else { mean - 0.25 });
            }
        }
        strata
    }

    fn verdict(holdback: f64, sums: Strata) -> Verdict {
        let mut guard = Guard::new(holdback);
        guard.look(guard.epoch(), &sums, ERROR);
        guard.verdict()
    }

    #[test]
    fn verdicts_say_what_they_rest_on() {
        let said = |holdback, sums| verdict(holdback, sums).to_string();
        assert_eq!(
            said(0.0, sums((900, 0.0), (900, 1.0))),
            "cannot judge: the policy holds nothing back"
        );
        assert_eq!(
            said(0.02, sums((1900, 0.0), (6, 1.0))),
            "cannot judge: 1,900 spans switched and 6 held back can be compared, 8 of each are needed"
        );
        assert_eq!(
            said(0.02, sums((4900, 0.0), (100, 1.0))),
            "switching helps: latency is 0.50 of stock's (0.47 to 0.53, n = 25,000)"
        );
        assert!(said(0.02, sums((490, 0.0), (10, 0.0))).starts_with("not known yet"));
        assert!(
            said(0.02, sums((9000, 0.0), (9000, 0.0))).starts_with("switching makes no difference")
        );
        assert!(
            said(0.02, sums((900, 0.2), (900, 0.0)))
                .starts_with("switching hurts: latency is 1.15 of")
        );
        assert_eq!([0, 999, 1000, 1_234_567].map(grouped), ["0", "999", "1,000", "1,234,567"]);
    }

    #[test]
    fn half_is_held_back_while_harm_is_suspected() {
        let mut guard = Guard::new(0.02);
        assert_eq!(guard.asks(), Ask::HoldBack(0.02));
        // A single span that is held back tells nothing.
        guard.look(guard.epoch(), &sums((99, 0.1), (1, 0.25)), ERROR);
        assert_eq!((guard.epoch(), guard.asks()), (0, Ask::HoldBack(0.02)));
        guard.look(guard.epoch(), &sums((198, 0.0), (2, 0.0)), ERROR);
        assert_eq!((guard.epoch(), guard.asks()), (1, Ask::HoldBack(0.5)));
        // Sums of the past epoch may still come.
        guard.look(0, &sums((900, 0.9), (900, 0.0)), ERROR);
        assert_eq!(guard.verdict().estimate(), None);
        // The sums of the next one begin anew; before there are enough, nothing is changed again.
        guard.look(guard.epoch(), &sums((5, -1.0), (5, 0.0)), ERROR);
        assert_eq!((guard.epoch(), guard.asks()), (1, Ask::HoldBack(0.5)));
        guard.look(guard.epoch(), &sums((500, -0.1), (500, 0.0)), ERROR);
        assert_eq!((guard.epoch(), guard.asks()), (2, Ask::HoldBack(0.02)));
        // What was found before the change still counts.
        guard.look(guard.epoch(), &Strata::default(), ERROR);
        assert_eq!(guard.verdict().estimate().unwrap().bursts, 6000);
    }

    #[test]
    fn help_is_not_suspected_of_harm() {
        let mut guard = Guard::new(0.02);
        guard.look(guard.epoch(), &sums((196, 0.0), (4, 0.5)), ERROR);
        assert_eq!((guard.epoch(), guard.asks()), (0, Ask::HoldBack(0.02)));
    }

    #[test]
    fn an_operator_who_holds_back_more_is_left_his_share() {
        let mut guard = Guard::new(0.6);
        guard.look(guard.epoch(), &sums((40, 0.05), (60, 0.0)), ERROR);
        assert_eq!((guard.epoch(), guard.asks()), (0, Ask::HoldBack(0.6)));
    }

    #[test]
    fn harm_lasts_until_somebody_resumes() {
        let mut guard = Guard::new(0.02);
        guard.look(guard.epoch(), &sums((900, 0.2), (900, 0.0)), ERROR);
        let hurts = guard.verdict();
        assert!(matches!(hurts, Verdict::Hurts(_)), "{hurts}");
        assert_eq!(guard.asks(), Ask::Observe);
        guard.look(guard.epoch(), &sums((9000, -1.0), (9000, 0.0)), ERROR);
        assert_eq!((guard.verdict(), guard.asks()), (hurts, Ask::Observe));
        let before = guard.epoch();
        guard.resume();
        assert_eq!((guard.epoch(), guard.asks()), (before + 1, Ask::HoldBack(0.02)));
        assert_eq!(guard.verdict().estimate(), None);
        guard.look(guard.epoch(), &sums((4900, 0.0), (100, 1.0)), ERROR);
        assert!(matches!(guard.verdict(), Verdict::Helps(_)), "{}", guard.verdict());
    }
}

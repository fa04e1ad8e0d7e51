//! The channel that most likely made the losses, by maximum likelihood, with intervals.

use serde::Serialize;
use statrs::function::erf::erfc;

use super::channel::Channel;
use super::fates::Fates;
use super::maximum::{Maximum, maximum};

/// With fewer runs of losses than this nothing is fitted.
const FEWEST_RUNS: usize = 10;
/// The quantile of the normal distribution for 95 %.
const QUANTILE: f64 = 1.959_964;
/// The probability, if losses were independent, below which there is evidence of bursts.
const EVIDENT: f64 = 1e-3;
/// The beginnings of the search for the two models with a hidden state: the probability of passing in the bad
/// state, and the share of losses that are in the good state.
const BEGINNINGS: [(f64, f64); 4] = [(0.1, 0.05), (0.5, 0.05), (0.8, 0.05), (0.5, 0.5)];

/// A model. Parameters that are not free mean no losses in the good state, and nothing else in the bad.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Model {
    /// Independent losses (Bernoulli): one probability.
    Independent,
    /// p and r: the bad state loses everything (k = 1, h = 0).
    SimpleGilbert,
    /// p, r and h: the good state loses nothing (k = 1; Gilbert, 1960).
    Gilbert,
    /// All four (Elliott, 1963).
    GilbertElliott,
}

/// An estimate with its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Interval {
    /// The estimate.
    pub value: f64,
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

/// A model with its fitted parameters.
#[derive(Clone, Debug, Serialize)]
pub struct Fitted {
    /// The model.
    pub model: Model,
    /// Its free parameters by name.
    pub parameters: Vec<(&'static str, Interval)>,
    /// Logarithm of the likelihood.
    pub log_likelihood: f64,
    /// Bayesian information criterion (Schwarz, 1978); the lowest is chosen.
    pub bic: f64,
    #[serde(skip)]
    pub(super) channel: Channel,
}

/// Whether losses come in bursts.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Bursts {
    /// The number of packets behind a lost one that were lost.
    pub lost_behind_lost: u64,
    /// How many packets were behind a lost one.
    pub behind_lost: u64,
    /// Twice the logarithm of the ratio of likelihoods, simple Gilbert to independent.
    pub likelihood_ratio: f64,
    /// Probability of at least that if losses were independent (chi-squared, 1 degree of freedom).
    pub p_value: f64,
    /// Whether that is below 0.001, and losses rather follow losses.
    pub evident: bool,
}

/// The results for the fates.
#[derive(Clone, Debug, Serialize)]
pub struct Fit {
    /// Number of packets.
    pub packets: u64,
    /// Number of packets that were lost.
    pub lost: u64,
    /// Number of runs of lost packets.
    pub runs: usize,
    /// The model with the lowest BIC.
    pub chosen: Fitted,
    /// The other models that could be fitted, the simplest first.
    pub others: Vec<Fitted>,
    /// Whether losses come in bursts.
    pub bursts: Bursts,
    /// Loss rate in the long run, by the chosen model.
    pub loss_rate: Interval,
}

/// Fits the models.
///
/// # Errors
/// Fails if there is too little loss, and says the counts.
pub fn fit(fates: &Fates) -> Result<Fit, String> {
    let (packets, lost, runs) = (fates.packets(), fates.lost(), fates.losses().count());
    if runs < FEWEST_RUNS {
        return Err(format!(
            "too little loss to fit: {packets} packets, {lost} lost in {runs} runs; at least {FEWEST_RUNS} \
             runs are needed, so a longer capture"
        ));
    }
    let counts = Counts::of(fates);
    let independent =
        fitted(Model::Independent, fates, &[vec![logit(lost as f64 / packets as f64)]])
            .ok_or_else(|| format!("{lost} of {packets} packets lost: nothing passes"))?;
    let simple_start = vec![logit(counts.p()), logit(counts.r())];
    let simple = fitted(Model::SimpleGilbert, fates, &[simple_start]);
    let (p, r) = (counts.p(), counts.r());
    let hidden = |model: Model| {
        let start = |(h, share): &(f64, f64)| {
            // A bad state that lets some pass lasts longer than its runs of losses.
            let mut start = vec![logit(p), logit((r * (1.0 - h)).min(0.9))];
            if model == Model::GilbertElliott {
                start.push(logit(1.0 - share * lost as f64 / packets as f64));
            }
            start.push(logit(*h));
            start
        };
        fitted(model, fates, &BEGINNINGS.iter().map(start).collect::<Vec<_>>())
    };
    let gilbert = hidden(Model::Gilbert);
    let elliott = hidden(Model::GilbertElliott);

    let ratio = simple
        .as_ref()
        .map_or(0.0, |(simple, _)| 2.0 * (simple.log_likelihood - independent.0.log_likelihood));
    let p_value = erfc((ratio.max(0.0) / 2.0).sqrt());
    let bursts = Bursts {
        lost_behind_lost: counts.lost_lost,
        behind_lost: counts.lost_lost + counts.lost_passed,
        likelihood_ratio: ratio,
        p_value,
        evident: p_value < EVIDENT && 1.0 - r > lost as f64 / packets as f64,
    };
    let mut all: Vec<(Fitted, Maximum)> =
        [Some(independent), simple, gilbert, elliott].into_iter().flatten().collect();
    let best = (0..all.len()).min_by(|a, b| all[*a].0.bic.total_cmp(&all[*b].0.bic)).unwrap_or(0);
    let (chosen, at) = all.remove(best);
    let loss_rate = loss_rate(chosen.model, &at);
    let others = all.into_iter().map(|(fitted, _)| fitted).collect();
    Ok(Fit { packets, lost, runs, chosen, others, bursts, loss_rate })
}

/// How often a packet follows another.
struct Counts {
    passed_lost: u64,
    passed_passed: u64,
    lost_lost: u64,
    lost_passed: u64,
}

impl Counts {
    fn of(fates: &Fates) -> Counts {
        let mut counts = Counts { passed_lost: 0, passed_passed: 0, lost_lost: 0, lost_passed: 0 };
        for (place, run) in fates.runs().iter().enumerate() {
            counts.lost_passed += u64::from(place > 0 && run.passed > 0);
            counts.passed_passed += run.passed.saturating_sub(1);
            counts.passed_lost += u64::from(run.passed > 0 && run.lost > 0);
            counts.lost_lost += run.lost.saturating_sub(1);
        }
        counts
    }

    /// The share of losses among packets behind one that passed.
    fn p(&self) -> f64 {
        share(self.passed_lost, self.passed_passed)
    }

    /// The share of passing packets among those behind a loss.
    fn r(&self) -> f64 {
        share(self.lost_passed, self.lost_lost)
    }
}

/// A share between 0 and 1, and equal to neither, as a beginning.
fn share(those: u64, others: u64) -> f64 {
    (those as f64 + 0.5) / (those as f64 + others as f64 + 1.0)
}

fn logit(probability: f64) -> f64 {
    let inside = probability.clamp(1e-6, 1.0 - 1e-6);
    (inside / (1.0 - inside)).ln()
}

fn probability(logit: f64) -> f64 {
    1.0 / (1.0 + (-logit).exp())
}

impl Model {
    /// The model's name in words.
    pub fn name(self) -> &'static str {
        match self {
            Model::Independent => "independent",
            Model::SimpleGilbert => "simple Gilbert (k = 1, h = 0)",
            Model::Gilbert => "Gilbert (k = 1)",
            Model::GilbertElliott => "Gilbert-Elliott",
        }
    }

    fn names(self) -> &'static [&'static str] {
        match self {
            Model::Independent => &["loss"],
            Model::SimpleGilbert => &["p", "r"],
            Model::Gilbert => &["p", "r", "h"],
            Model::GilbertElliott => &["p", "r", "k", "h"],
        }
    }

    fn channel(self, logits: &[f64]) -> Channel {
        match (self, logits) {
            (Model::Independent, [loss]) => Channel::independent(probability(*loss)),
            (Model::SimpleGilbert, [p, r]) => {
                Channel { p: probability(*p), r: probability(*r), k: 1.0, h: 0.0 }
            }
            (Model::Gilbert, [p, r, h]) => {
                Channel { p: probability(*p), r: probability(*r), k: 1.0, h: probability(*h) }
            }
            (Model::GilbertElliott, [p, r, k, h]) => {
                let [p, r, k, h] = [p, r, k, h].map(|it| probability(*it));
                Channel { p, r, k, h }
            }
            _ => unreachable!("as many logits as names"),
        }
    }
}

/// The best maximum that is found from these beginnings. None if it is at a bound, so that a simpler model
/// does as well.
fn fitted(model: Model, fates: &Fates, starts: &[Vec<f64>]) -> Option<(Fitted, Maximum)> {
    let likelihood = |logits: &[f64]| model.channel(logits).log_likelihood(fates);
    let found = starts.iter().filter_map(|start| maximum(&likelihood, start));
    // Fewer packets pass in the bad state than in the good one; exchanging the states gives the same channel
    // again.
    let found = found.filter(|at| {
        let Channel { k, h, .. } = model.channel(&at.at);
        model == Model::Independent || h < k
    });
    let best = found.max_by(|a, b| a.value.total_cmp(&b.value))?;
    let interval = |place: usize| {
        let half = QUANTILE * best.covariance[place][place].sqrt();
        let at = best.at[place];
        let [value, low, high] = [at, at - half, at + half].map(probability);
        Interval { value, low, high }
    };
    let parameters =
        model.names().iter().enumerate().map(|(place, name)| (*name, interval(place))).collect();
    let bic = best.at.len() as f64 * (fates.packets() as f64).ln() - 2.0 * best.value;
    let channel = model.channel(&best.at);
    Some((Fitted { model, parameters, log_likelihood: best.value, bic, channel }, best))
}

/// The loss rate with an interval by the delta method, on logits.
fn loss_rate(model: Model, best: &Maximum) -> Interval {
    let rate = |at: &[f64]| logit(model.channel(at).loss_rate());
    const STEP: f64 = 1e-4;
    let slope = |place: usize| {
        let moved = |by: f64| {
            let mut there = best.at.clone();
            there[place] += by;
            rate(&there)
        };
        (moved(STEP) - moved(-STEP)) / (2.0 * STEP)
    };
    let slopes: Vec<f64> = (0..best.at.len()).map(slope).collect();
    let rows = slopes.iter().zip(&best.covariance);
    let variance: f64 = rows
        .map(|(slope, row)| {
            slope * row.iter().zip(&slopes).map(|(it, other)| it * other).sum::<f64>()
        })
        .sum();
    let (at, half) = (rate(&best.at), QUANTILE * variance.sqrt());
    let [value, low, high] = [at, at - half, at + half].map(probability);
    Interval { value, low, high }
}

//! Compares one contender of one scenario on both sides: how near the simulator is to the kernel.

use kirikae_results::statistics::{Estimate, mean, quantile, ratio_of_means};
use serde::Serialize;

/// How far the simulated mean may be from the kernel's, relative to it.
pub const MEAN_WITHIN: f64 = 0.05;
/// How far the simulated 95th percentile may be from the kernel's, relative to it.
pub const P95_WITHIN: f64 = 0.10;
/// How far the simulated share of a link may be from the kernel's (0 to 1).
pub const SHARE_WITHIN: f64 = 0.05;

/// Fewest writes on both sides that are compared.
const FEWEST: usize = 2;

/// One contender of one scenario on both sides; if the scenario is compared flow by flow, one group of its
/// flows.
#[derive(Clone, Debug, Serialize)]
pub struct Cell {
    /// The scenario's title.
    pub scenario: String,
    /// The contender's name.
    pub contender: String,
    /// The group of flows; None if it is compared write by write.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flow: Option<String>,
    /// Writes that arrived on both sides.
    pub n: usize,
    /// Writes that should have arrived on the kernel and did not, or that were not measured.
    pub kernel_missing: usize,
    /// The same of the simulator.
    pub simulated_missing: usize,
    /// Whether the emulated network behaved as described; otherwise the cell is not judged.
    pub held: bool,
    /// Whether it has writes whose latency counts.
    pub has_latencies: bool,
    /// The latencies; None if no write arrived on both sides.
    #[serde(flatten)]
    pub latencies: Option<Latencies>,
    /// Whether it takes all the rate that it gets, so that its share of the link counts.
    pub has_share: bool,
    /// The goodput; None if it is compared write by write, or was not measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub goodput: Option<Goodput>,
}

/// The latencies of writes that arrived on both sides.
#[derive(Clone, Debug, Serialize)]
pub struct Latencies {
    /// Mean latency on the kernel, in seconds.
    pub kernel_mean_s: Estimate,
    /// Mean latency in the simulator, in seconds.
    pub simulated_mean_s: Estimate,
    /// Simulated mean over the kernel's, paired by write.
    pub mean_ratio: Estimate,
    /// Simulated median over the kernel's; a busy machine distorts it least.
    pub p50_ratio: f64,
    /// 95th percentile on the kernel, in seconds.
    pub kernel_p95_s: f64,
    /// 95th percentile in the simulator, in seconds.
    pub simulated_p95_s: f64,
}

/// The goodput of a group of flows together, mean over the repetitions.
#[derive(Clone, Debug, Serialize)]
pub struct Goodput {
    /// On the kernel, in Mbit/s.
    pub kernel_mbit: Estimate,
    /// In the simulator, in Mbit/s.
    pub simulated_mbit: Estimate,
    /// Share of the narrowest rate on the way (0 to 1), on the kernel; None without a rate.
    pub kernel_share: Option<Estimate>,
    /// The same in the simulator.
    pub simulated_share: Option<Estimate>,
}

impl Latencies {
    /// Compares latencies, given as pairs of the simulator's and the kernel's for each write.
    pub fn new(pairs: &[(f64, f64)]) -> Option<Latencies> {
        let (of_simulator, of_kernel): (Vec<f64>, Vec<f64>) = pairs.iter().copied().unzip();
        let (simulated_mean_s, kernel_mean_s) = (mean(&of_simulator)?, mean(&of_kernel)?);
        let quantiles = |mut latencies: Vec<f64>| {
            latencies.sort_by(f64::total_cmp);
            Some((quantile(&latencies, 0.50)?, quantile(&latencies, 0.95)?))
        };
        let (simulated_p50_s, simulated_p95_s) = quantiles(of_simulator)?;
        let (kernel_p50_s, kernel_p95_s) = quantiles(of_kernel)?;
        Some(Latencies {
            kernel_mean_s,
            simulated_mean_s,
            mean_ratio: ratio_of_means(pairs)?,
            p50_ratio: simulated_p50_s / kernel_p50_s,
            kernel_p95_s,
            simulated_p95_s,
        })
    }

    /// Whether the mean is within [`MEAN_WITHIN`] of the kernel's.
    pub fn mean_agrees(&self) -> bool {
        (self.mean_ratio.value - 1.0).abs() <= MEAN_WITHIN
    }

    /// Whether the 95th percentile is within [`P95_WITHIN`] of the kernel's.
    pub fn p95_agrees(&self) -> bool {
        (self.p95_ratio() - 1.0).abs() <= P95_WITHIN
    }

    /// Simulated 95th percentile over the kernel's.
    pub fn p95_ratio(&self) -> f64 {
        self.simulated_p95_s / self.kernel_p95_s
    }
}

impl Goodput {
    /// Both shares, the kernel's and the simulator's.
    pub fn shares(&self) -> Option<[f64; 2]> {
        Some([self.kernel_share?.value, self.simulated_share?.value])
    }

    /// Whether the shares are within [`SHARE_WITHIN`] of each other.
    pub fn shares_agree(&self) -> bool {
        self.shares().is_none_or(|[kernel, simulated]| (kernel - simulated).abs() <= SHARE_WITHIN)
    }
}

impl Cell {
    /// Whether mean and 95th percentile of the latencies agree, and there is no reservation.
    pub fn latencies_agree(&self) -> bool {
        let within = |it: &Latencies| it.mean_agrees() && it.p95_agrees();
        let all_there = self.kernel_missing == 0 && self.simulated_missing == 0;
        self.held && all_there && self.n >= FEWEST && self.latencies.as_ref().is_some_and(within)
    }

    /// Whether the share of the link agrees, and there is no reservation.
    pub fn share_agrees(&self) -> bool {
        self.held && self.goodput.as_ref().is_some_and(Goodput::shares_agree)
    }

    /// The reasons why it is not said to agree, in a few words each.
    pub fn reservations(&self) -> Vec<String> {
        let mut reservations = Vec::new();
        let mut unless = |good: bool, what: &str| {
            if !good {
                reservations.push(what.to_owned());
            }
        };
        if let Some(latencies) = &self.latencies {
            unless(latencies.mean_agrees(), "mean");
            unless(latencies.p95_agrees(), "p95");
        }
        if let Some(goodput) = self.goodput.as_ref().filter(|_| self.has_share) {
            unless(goodput.shares_agree(), "share");
        }
        if self.latencies.is_some() || self.goodput.is_some() {
            unless(self.held, "path not held");
        }
        if self.has_latencies {
            unless(self.n >= FEWEST, "too few");
        }
        for (missing, side) in
            [(self.kernel_missing, "kernel"), (self.simulated_missing, "simulator")]
        {
            unless(missing == 0, &format!("{missing} missing from the {side}"));
        }
        reservations
    }
}

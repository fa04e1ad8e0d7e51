//! R-TCP as published, in the kernel: the program that has its choice, and what its switches were predicted to
//! bring.

use kirikae_agent::Program;
use kirikae_algorithms::{ThesisMeasured, thesis_choose};
use kirikae_interface::name_from_bytes;
use kirikae_table::thesis::{self, Table};
use kirikae_vocabulary::Switch;

use crate::error::Error;
use crate::switched::Switched;

/// The switcher with the thesis' choice beside its own (`bpf/thesis/switcher.bpf.c`).
const OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/switcher.bpf.o"));

const PPB: f64 = 1e9;
const US: f64 = 1e6;

/// The thesis' tables.
pub fn table() -> Box<Table> {
    thesis::published().expect("the thesis' tables are good")
}

/// The program that switches these, each in the scope of its place: what servers run, unless one of them asks for
/// the thesis' choice.
pub fn program(all: &[Switched]) -> Program {
    let bit = |(place, switched): (usize, &Switched)| u32::from(switched.is_r_tcp) << place;
    let scopes: u32 = all.iter().enumerate().map(bit).sum();
    if scopes == 0 {
        return Program::shipped();
    }
    Program::of(OBJECT).with("published_table", &*table()).with("published_scopes", &scopes)
}

/// Adds to a switch what the thesis' tables predict for each candidate: an event of the kernel's has no room for
/// all of them, but has what they follow from.
///
/// # Errors
/// Fails if the choice in the kernel is not the one that the same code makes here.
pub fn with_predictions(mut switch: Switch, table: &Table) -> Result<Switch, Error> {
    let names = table.names();
    let describes = |column: &usize| {
        names[*column] == switch.from || name_from_bytes(&table.also[*column]) == switch.from
    };
    let measured = ThesisMeasured {
        rtt_us: (switch.rtt_s * US).round() as u32,
        isolated_ppb: (switch.isolated_loss * PPB).round() as u32,
        burst_ppb: (switch.burst_loss * PPB).round() as u32,
        algorithm: (0..names.len()).find(describes).unwrap_or_default() as u32,
    };
    let (column, predicted_us) = thesis_choose(table, &measured);
    if names[column] != switch.to {
        return Err(kirikae_results::Error::Failed(format!(
            "r-tcp chose {} in the kernel where the native build chooses {}: {switch:?}",
            switch.to, names[column],
        ))
        .into());
    }
    let seconds = predicted_us.iter().map(|us| f64::from(*us) / US);
    switch.predicted_s = names.into_iter().zip(seconds).collect();
    switch.predicted_s.sort_by(|a, b| a.1.total_cmp(&b.1));
    Ok(switch)
}

#[cfg(test)]
mod tests {
    use kirikae_vocabulary::Reason;

    use super::*;

    /// At 200 ms and 1 % of isolated losses.
    fn switch_to(to: &str) -> Switch {
        Switch {
            at_ns: 0,
            local: "10.0.0.1:1".parse().unwrap(),
            remote: "10.0.0.2:2".parse().unwrap(),
            namespace: 0,
            from: "cubic".into(),
            to: to.into(),
            reason: Reason::PredictedLatency,
            observed: false,
            rtt_s: 0.2,
            rate_bit_s: None,
            burst_bytes: None,
            stream_share: None,
            isolated_loss: 0.01,
            burst_loss: 0.0,
            predicted_s: Vec::new(),
            known: None,
        }
    }

    #[test]
    fn a_switch_has_nine_predictions_and_is_to_the_smallest() {
        let switch = with_predictions(switch_to("kk_hybla"), &table()).unwrap();
        assert_eq!(switch.predicted_s.len(), 9);
        assert_eq!(switch.predicted_s[0].0, "kk_hybla");
    }

    #[test]
    fn another_choice_than_the_native_one_is_an_error() {
        let error = with_predictions(switch_to("kk_vegas"), &table()).unwrap_err().to_string();
        assert!(error.contains("the native build chooses kk_hybla"), "{error}");
    }
}

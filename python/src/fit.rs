//! Fits a loss element to a capture, as `kirikae-lab fit` does.

use std::fs;
use std::path::PathBuf;
use std::str::FromStr;

use kirikae_fit::losses::{self, Asked, Numbering, Report, Side};
use pyo3::prelude::*;
use serde::Serialize;

use crate::columns::Columns;
use crate::errors::Error;
use crate::html::preformatted;
use crate::plan::within;
use crate::simulate::until_signal;
use crate::table::Table;

/// Fits a loss element to a capture: the Gilbert-Elliott channel that most likely lost what was lost.
///
/// >>> fit = kirikae.fit("capture.pcapng", port=5201)
/// >>> print(fit.element)
///
/// `capture` is a file as tcpdump or Wireshark writes it, of which the flow with the most packets that carry data is
/// taken. `port` (0 to 65535) takes only flows with this port at either end. `at` says at which end of a TCP connection
/// it was made, "sender" or "receiver"; without it its segments tell. `number` is where datagrams have their number,
/// big-endian: "rtp", "iperf2", "iperf3", "iperf3-64", or "OFFSET:BITS"; without it the first of these that goes on
/// counting.
///
/// Ctrl-C ends it. Raises Error where the file is no capture, has no usable flow, or too little loss: it says which,
/// with the counts.
#[pyfunction]
#[pyo3(signature = (capture, *, port = None, at = None, number = None))]
pub fn fit(
    capture: PathBuf,
    port: Option<i128>,
    at: Option<&str>,
    number: Option<&str>,
    py: Python,
) -> PyResult<Fit> {
    let port = port.map(|port| within("port", port, 0..=u16::MAX.into())).transpose()?;
    let numbering = number.map(|text| {
        Numbering::from_str(text)
            .map_err(|allowed| Error::new_err(format!("number: found {text:?}; {allowed}")))
    });
    let asked = Asked {
        port: port.map(|port| port as u16),
        side: at.map(side).transpose()?,
        numbering: numbering.transpose()?,
    };
    let report = until_signal(py, 1, move |_| Report::of(&capture, &asked), |_| Ok(()))?;
    report.map(Fit).map_err(|error| Error::new_err(error.to_string()))
}

fn side(at: &str) -> PyResult<Side> {
    match at {
        "sender" => Ok(Side::Sender),
        "receiver" => Ok(Side::Receiver),
        _ => Err(Error::new_err(format!("at: found {at:?}; allowed: sender, receiver"))),
    }
}

/// A capture, what it shows, and the channel that fits. `print` shows what `kirikae-lab fit` prints.
#[pyclass(frozen, module = "kirikae")]
pub struct Fit(Report);

/// What is told as JSON.
#[derive(Serialize)]
struct Told<'a> {
    #[serde(flatten)]
    report: &'a Report,
    element: &'a str,
}

#[pymethods]
impl Fit {
    /// The element to paste into a scenario, in TOML.
    #[getter]
    fn element(&self) -> String {
        losses::element(&self.0.fit)
    }

    /// The parameters of all models that could be fitted, the chosen one first, with their 95 % intervals.
    #[getter]
    fn parameters(&self) -> Table {
        let fit = &self.0.fit;
        let models =
            std::iter::once((&fit.chosen, true)).chain(fit.others.iter().map(|it| (it, false)));
        let rows = models.flat_map(|(fitted, chosen)| {
            fitted.parameters.iter().map(move |(name, interval)| (fitted, chosen, *name, interval))
        });
        let columns = Columns::of(rows)
            .text("model", |(fitted, ..)| fitted.model.name())
            .truth("chosen", |(_, chosen, ..)| chosen)
            .text("parameter", |(_, _, name, _)| name)
            .number("value", |(.., interval)| interval.value)
            .number("low", |(.., interval)| interval.low)
            .number("high", |(.., interval)| interval.high)
            .number("log_likelihood", |(fitted, ..)| fitted.log_likelihood)
            .number("bic", |(fitted, ..)| fitted.bic);
        Table::made(columns.table())
    }

    /// The lengths of the runs of lost packets, in order, as captured.
    #[getter]
    fn runs(&self) -> Table {
        let lengths: Vec<u64> = self.0.fates.losses().collect();
        Table::made(Columns::of(lengths.iter()).whole("lost", |lost| *lost).table())
    }

    /// Everything as JSON, byte for byte what `kirikae-lab fit --json` prints.
    fn to_json(&self) -> String {
        let told = Told { report: &self.0, element: &self.element() };
        serde_json::to_string_pretty(&told).expect("a fit is JSON") + "\n"
    }

    /// Draws the lengths of runs and gaps, captured and fitted, into a file, an SVG: the one of `kirikae-lab fit
    /// --plot`. One that is there is replaced. Raises Error where it cannot be written.
    fn write(&self, file: PathBuf, py: Python) -> PyResult<()> {
        let written = py.detach(|| fs::write(&file, self.0.plot()));
        written.map_err(|error| Error::new_err(format!("writing {}: {error}", file.display())))
    }

    fn __str__(&self) -> String {
        losses::render(&self.0, false)
    }

    fn __repr__(&self) -> String {
        let Report { flow, fit, .. } = &self.0;
        let model = fit.chosen.model.name();
        format!("<kirikae.Fit of {flow}, {} of {} packets lost: {model}>", fit.lost, fit.packets)
    }

    fn _repr_html_(&self) -> String {
        preformatted(&self.__str__())
    }
}

//! What the switcher would choose on a path, as `kirikae explain` tells it.

use kirikae_command::units;
use kirikae_explanation::{Asked, Load};
use pyo3::prelude::*;

use crate::columns::Columns;
use crate::errors::Error;
use crate::html::preformatted;
use crate::latency_table::{LatencyTable, candidates};
use crate::plan::within;
use crate::table::Table;

/// A quantity as a text, as on the command line, or as the number that this would be.
#[derive(FromPyObject)]
pub enum Quantity {
    Text(String),
    Number(f64),
}

impl Quantity {
    fn parsed<T>(&self, name: &str, parse: fn(&str) -> Result<T, String>) -> PyResult<T> {
        let text = match self {
            Quantity::Text(text) => text.clone(),
            Quantity::Number(number) => number.to_string(),
        };
        // It tells what is allowed.
        parse(&text).map_err(|allowed| Error::new_err(format!("{name}: found {text}; {allowed}")))
    }
}

/// Tells what would be chosen on a path, and what latency is expected of each candidate.
///
/// It is read from the latency table, between whose points it is interpolated. What the switcher infers from losses,
/// loss rates and queue, is given here.
///
/// `rtt` is the round-trip time without waiting, such as "200ms" (1us to 4s). `loss` is the share of segments that are
/// lost alone and `burst_loss` how many runs of at least 3 lost segments begin per segment: 0 to 1, or a text such as
/// "1%"; without them 0. `rate` is that of the bottleneck in Mbit/s (0.01 to 100000; without it 10), `queue` how many
/// packets its queue holds (1 or more; 100), `burst` how many bytes the application writes at once (1 or more; 65536).
/// `stream` is in its place what a program writes on and on without idle time, in Mbit/s, below `rate`.
///
/// `table` is the LatencyTable to choose by, and `friendliness` says which of its candidates may be chosen ("friendly",
/// "balanced" or "fast"). Without them it is the table that ships and "balanced", and all candidates of a table that
/// is given.
///
/// Raises Error for anything that is not allowed.
#[pyfunction]
#[pyo3(signature = (
    rtt, loss = Quantity::Number(0.0), *, burst_loss = Quantity::Number(0.0), rate = Quantity::Number(10.0),
    queue = 100, burst = None, stream = None, table = None, friendliness = None,
))]
#[expect(clippy::too_many_arguments, reason = "they are the options of the command line")]
pub fn explain(
    rtt: Quantity,
    loss: Quantity,
    burst_loss: Quantity,
    rate: Quantity,
    queue: i128,
    burst: Option<i128>,
    stream: Option<Quantity>,
    table: Option<&LatencyTable>,
    friendliness: Option<&str>,
    py: Python,
) -> PyResult<Explanation> {
    let load = match (burst, stream) {
        (Some(_), Some(_)) => {
            return Err(Error::new_err("burst: found stream beside it; allowed: one of the two"));
        }
        (_, Some(stream)) => Load::Stream { stream_mbit: stream.parsed("stream", units::rate)? },
        (burst, None) => Load::Burst { burst_bytes: whole("burst", burst.unwrap_or(BURST))? },
    };
    let asked = Asked {
        rtt_s: rtt.parsed("rtt", units::rtt)?.as_secs_f64(),
        rate_mbit: rate.parsed("rate", units::rate)?,
        load,
        loss: loss.parsed("loss", units::probability)?,
        burst_loss: burst_loss.parsed("burst_loss", units::probability)?,
        queue: whole("queue", queue)?,
    };
    let table = candidates(table, friendliness)?;
    // Options are called as arguments are.
    let told = |error: kirikae_explanation::Unanswerable| error.to_string().replace("--", "");
    let explained = py.detach(|| kirikae_explanation::explain(&table, asked));
    explained.map(Explanation).map_err(|error| Error::new_err(told(error)))
}

/// What `kirikae explain` takes if nothing else is asked for.
const BURST: i128 = 65536;

fn whole(name: &str, found: i128) -> PyResult<u32> {
    within(name, found, 1..=u32::MAX.into()).map(|it| it as u32)
}

/// What would be chosen on a path, and why. `print` shows what `kirikae explain` prints.
#[pyclass(frozen, module = "kirikae")]
pub struct Explanation(kirikae_explanation::Explanation);

#[pymethods]
impl Explanation {
    /// The name of the candidate that is expected to be fastest.
    #[getter]
    fn chosen(&self) -> &str {
        &self.0.candidates[0].name
    }

    /// The candidates, the one expected to be fastest first.
    #[getter]
    fn candidates(&self) -> Table {
        let columns = Columns::of(self.0.candidates.iter())
            .text("name", |it| &it.name)
            .number("latency_s", |it| it.latency_s)
            .number("over_best", |it| it.over_best);
        Table::made(columns.table())
    }

    /// The fastest candidate at each loss rate of the table; everything else is as asked.
    #[getter]
    fn by_loss(&self) -> Table {
        let columns = Columns::of(self.0.by_loss.iter())
            .number("loss", |it| it.loss)
            .text("name", |it| &it.name)
            .number("latency_s", |it| it.latency_s);
        Table::made(columns.table())
    }

    /// Everything as JSON, byte for byte what `kirikae explain --json` prints.
    fn to_json(&self) -> String {
        serde_json::to_string_pretty(&self.0).expect("an explanation is JSON") + "\n"
    }

    fn __str__(&self) -> String {
        kirikae_explanation::render(&self.0)
    }

    fn __repr__(&self) -> String {
        let count = self.0.candidates.len();
        format!("<kirikae.Explanation: {} of {count} candidates>", self.chosen())
    }

    fn _repr_html_(&self) -> String {
        preformatted(&self.__str__())
    }
}

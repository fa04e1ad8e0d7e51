//! Gilbert-Elliott parameters from a capture: which packets of its main flow were lost ([`Fates`]), and
//! the channel that most likely did it ([`Fit`]). docs/fit.md tells how, and how exact it is.

mod capture;
mod channel;
mod estimate;
mod fates;
mod flows;
mod headers;
mod maximum;
mod numbered;
mod plot;
mod report;
mod tcp;

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use serde::Serialize;

use capture::read;
pub use estimate::{Fit, Interval, Model, fit};
pub use fates::Fates;
pub use flows::Flow;
pub use numbered::Numbering;
pub use report::{element, render};
pub use tcp::Side;

/// The options for reading a capture.
#[derive(Clone, Copy, Debug, Default)]
pub struct Asked {
    /// Only flows with this port at either end.
    pub port: Option<u16>,
    /// The end of a TCP connection at which it was made; None: the segments decide.
    pub side: Option<Side>,
    /// The place of the number in datagrams; None: it is looked for.
    pub numbering: Option<Numbering>,
}

/// The reason why there is nothing to fit: the file, and the counts.
#[derive(Debug, thiserror::Error)]
#[error("{}: {why}", file.display())]
pub struct Unusable {
    file: PathBuf,
    why: String,
}

/// A capture, what it shows, and the fit.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// The capture.
    pub file: PathBuf,
    /// The flow that was looked at.
    pub flow: Flow,
    /// How losses were recognised, and what was left out.
    pub evidence: Vec<String>,
    /// What happened to its packets.
    #[serde(skip)]
    pub fates: Fates,
    /// The fitted models.
    pub fit: Fit,
}

impl Report {
    /// Reads a capture and fits the models.
    ///
    /// # Errors
    /// Fails if the file is no capture, has no flow that can be used, or has too little loss.
    pub fn of(file: &Path, asked: &Asked) -> Result<Report, Unusable> {
        let unusable = |why: String| Unusable { file: file.to_owned(), why };
        let bytes = File::open(file).map_err(|error| unusable(error.to_string()))?;
        Report::read(file, bytes, asked)
    }

    /// The same with the content of a file of this name.
    ///
    /// # Errors
    /// Fails as [`of`](Report::of) does.
    pub fn read(file: &Path, bytes: impl Read + Send, asked: &Asked) -> Result<Report, Unusable> {
        let report = || {
            let flows = read(bytes)?;
            let (flow, Evidence { fates, mut notes }) = flows.main(asked)?;
            notes.extend(flows.notes());
            let fit = fit(&fates)?;
            Ok(Report { file: file.to_owned(), flow, evidence: notes, fates, fit })
        };
        report().map_err(|why| Unusable { file: file.to_owned(), why })
    }

    /// The data and what fits, as SVG.
    pub fn plot(&self) -> String {
        plot::svg(&self.fates, &self.fit)
    }
}

/// What a flow shows of its packets.
struct Evidence {
    fates: Fates,
    /// How it was found out, and what was left out, with counts.
    notes: Vec<String>,
}

//! Whatever stands in a capture: it is fitted or refused. Captures to begin with are made by
//! `kirikae sim --pcapng`.

use std::path::Path;

use kirikae_lab::fit::losses::{Asked, Report};

pub(crate) fn play(bytes: &[u8]) {
    let _ = Report::read(Path::new("capture"), bytes, &Asked::default());
}

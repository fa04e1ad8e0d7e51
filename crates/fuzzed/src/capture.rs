//! Whatever stands in a capture: it is fitted or refused. Captures to begin with are made by
//! `kirikae-lab sim --pcapng`.

use std::path::Path;

use kirikae_fit::losses::{Asked, Report};

pub(crate) fn play(bytes: &[u8]) {
    let _ = Report::read(Path::new("capture"), bytes, &Asked::default());
}

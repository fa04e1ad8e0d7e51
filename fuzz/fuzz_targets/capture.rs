//! Whatever stands in a capture: it is fitted or refused. `cargo +nightly fuzz run --sanitizer none capture`;
//! captures to begin with are made by `kirikae sim --pcapng`.
#![no_main]

use std::path::Path;

use kirikae_lab::fit::losses::{Asked, Report};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let _ = Report::read(Path::new("capture"), bytes, &Asked::default());
});

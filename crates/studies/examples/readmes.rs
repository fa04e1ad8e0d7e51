//! Writes what has to hold into each study's README: `cargo run -p kirikae-studies --example readmes`.

use std::path::Path;

use kirikae_studies::{STUDIES, readme};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let studies = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../studies");
    for study in STUDIES {
        let file = studies.join(study.name).join("README.md");
        let now = readme(&std::fs::read_to_string(&file)?, &study.definition(&studies)?);
        std::fs::write(&file, now.ok_or_else(|| format!("{}: no block", file.display()))?)?;
    }
    Ok(())
}

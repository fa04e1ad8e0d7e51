//! Writes `docs/algorithms/`: `cargo run -p kirikae-algorithms --example pages`.

mod generate;

fn main() -> std::io::Result<()> {
    std::fs::create_dir_all(generate::directory())?;
    for (name, content) in generate::files() {
        std::fs::write(generate::directory().join(name), content)?;
    }
    Ok(())
}

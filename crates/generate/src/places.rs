//! Seeded places of something generated, made again.

use kirikae_path::{RandomStream, stream_seed};

/// A place as it is in the repository, and as it comes out now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remade {
    /// Which place it is.
    pub of: String,
    /// As it is written.
    pub written: String,
    /// As it comes out now.
    pub now: String,
}

/// Makes seeded places again. The seed says which; the text is what is written, without its header.
pub type Remake = fn(seed: u64, text: &str) -> anyhow::Result<Vec<Remade>>;

/// So many different ones of several, by a seed: all of them where there are no more.
pub fn seeded<T>(mut from: Vec<T>, count: usize, seed: u64) -> Vec<T> {
    let mut stream = RandomStream::new(stream_seed(seed, &[1]));
    let mut chosen = Vec::new();
    while chosen.len() < count && !from.is_empty() {
        let place = (stream.uniform() * from.len() as f64) as usize;
        chosen.push(from.swap_remove(place));
    }
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_place_is_chosen_by_some_seed() {
        let all: Vec<u32> = (0..100).collect();
        let mut met: Vec<u32> = (0..100).flat_map(|seed| seeded(all.clone(), 20, seed)).collect();
        met.sort_unstable();
        met.dedup();
        assert_eq!(met, all);
        assert_eq!(seeded(all.clone(), 20, 7), seeded(all.clone(), 20, 7));
        assert_eq!(seeded(all, 200, 7).len(), 100);
    }
}

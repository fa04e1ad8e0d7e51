//! A drawn path as the numbers that it was drawn with, each under a name of its own: so one of them can
//! be changed, or a part of the path left out, and the rest stays as it is.

use std::collections::{BTreeMap, BTreeSet};

use kirikae_path::{RandomStream, stream_seed};
use serde::{Deserialize, Serialize};

/// Label of the streams of drawn numbers, under the search's seed.
const NUMBERS: u64 = 1;
/// How far a number is usually moved, as a share of its range.
const STEP: f64 = 0.15;

/// A path among all that may be drawn: it follows from seed and index, and from what was changed since.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Draw {
    seed: u64,
    /// Its place among those that were drawn.
    pub index: u64,
    /// Numbers that are not as drawn any more, by name, each from 0 to 1.
    changed: BTreeMap<String, f64>,
    /// Quantities that are written with one digit instead of two.
    coarse: BTreeSet<String>,
}

impl Draw {
    /// The one with this index of a search with this seed.
    pub fn new(seed: u64, index: u64) -> Draw {
        Draw { seed, index, changed: BTreeMap::new(), coarse: BTreeSet::new() }
    }

    /// Whether it was changed since it was drawn.
    pub fn is_changed(&self) -> bool {
        !self.changed.is_empty() || !self.coarse.is_empty()
    }

    /// The same with one of its numbers changed, or with two: moved a little, or drawn anew.
    pub fn mutant(&self, genes: &[Gene], random: &mut RandomStream) -> Draw {
        let mut mutant = self.clone();
        let numbers = if random.chance(0.3) { 2 } else { 1 };
        for _ in 0..numbers {
            let gene = &genes[(random.uniform() * genes.len() as f64) as usize];
            let [far, near] = [random.uniform(), random.exponential(STEP)];
            let (anew, down) = (random.chance(0.3), random.chance(0.5));
            let value = self.number(gene.name);
            let moved = if down { value - near } else { value + near };
            let is_moved = gene.kind == Kind::Quantity && !anew;
            let value = if is_moved { moved.clamp(0.0, 1.0) } else { far };
            mutant.changed.insert(gene.name.into(), value);
        }
        mutant
    }

    /// The same, simpler by one of its numbers; nothing where that is as simple as can be.
    pub fn simpler(&self, gene: &Gene) -> Option<Draw> {
        let mut simpler = self.clone();
        let differs = match gene.kind {
            Kind::Choice(None) => false,
            Kind::Choice(Some(_)) => simpler.changed.insert(gene.name.into(), 0.0) != Some(0.0),
            Kind::Quantity => simpler.coarse.insert(gene.name.into()),
        };
        differs.then_some(simpler)
    }

    /// From 0 to 1.
    fn number(&self, name: &'static str) -> f64 {
        self.changed.get(name).copied().unwrap_or_else(|| {
            let mut labels = vec![NUMBERS, self.index];
            labels.extend(name.bytes().map(u64::from));
            RandomStream::new(stream_seed(self.seed, &labels)).uniform()
        })
    }
}

/// A number that a path was drawn with.
#[derive(Clone, Debug, PartialEq)]
pub struct Gene {
    name: &'static str,
    kind: Kind,
}

impl Gene {
    /// What was chosen, where that is not the simplest.
    pub fn special(&self) -> Option<&'static str> {
        match self.kind {
            Kind::Choice(special) => special,
            Kind::Quantity => None,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    /// One of several; without a name the simplest.
    Choice(Option<&'static str>),
    Quantity,
}

/// Hands out the numbers of a draw, and notes which were taken.
pub struct Tape<'a> {
    draw: &'a Draw,
    genes: Vec<Gene>,
}

impl<'a> Tape<'a> {
    /// With none taken.
    pub fn new(draw: &'a Draw) -> Tape<'a> {
        Tape { draw, genes: Vec::new() }
    }

    /// Those that were taken, in order.
    pub fn into_genes(self) -> Vec<Gene> {
        self.genes
    }

    /// One of several, each with its weight; the first is the simplest.
    pub fn choice(&mut self, name: &'static str, options: &[(&'static str, f64)]) -> &'static str {
        let mut left = self.draw.number(name) * options.iter().map(|option| option.1).sum::<f64>();
        let beyond = |option: &&(&str, f64)| {
            left -= option.1;
            left >= 0.0
        };
        let taken = options.iter().take_while(beyond).count().min(options.len() - 1);
        let special = (taken > 0).then_some(options[taken].0);
        self.genes.push(Gene { name, kind: Kind::Choice(special) });
        options[taken].0
    }

    /// A quantity above 0 whose logarithm is uniform, of two digits.
    pub fn quantity(&mut self, name: &'static str, least: f64, most: f64) -> f64 {
        let value = least * (most / least).powf(self.draw.number(name));
        self.genes.push(Gene { name, kind: Kind::Quantity });
        rounded(value, if self.draw.coarse.contains(name) { 1 } else { 2 })
    }
}

/// With so many digits that count, as it is then written in decimals.
pub fn rounded(value: f64, digits: usize) -> f64 {
    format!("{value:.*e}", digits - 1).parse().expect("a number was written")
}

#[cfg(test)]
mod tests {
    use super::*;

    const OPTIONS: [(&str, f64); 3] = [("none", 1.0), ("some", 1.0), ("all", 1.0)];

    fn taken(draw: &Draw) -> (&'static str, f64, Vec<Gene>) {
        let mut tape = Tape::new(draw);
        let choice = tape.choice("choice", &OPTIONS);
        let quantity = tape.quantity("quantity", 0.5, 500.0);
        (choice, quantity, tape.into_genes())
    }

    #[test]
    fn a_number_depends_on_its_name_alone() {
        let draw = Draw::new(1, 7);
        let (_, quantity, _) = taken(&draw);
        let mut alone = Tape::new(&draw);
        assert_eq!(alone.quantity("quantity", 0.5, 500.0), quantity);
        assert_ne!(taken(&Draw::new(1, 8)).1, quantity);
        assert_ne!(taken(&Draw::new(2, 7)).1, quantity);
    }

    #[test]
    fn choices_come_by_their_weights() {
        let weighted = [("a", 1.0), ("b", 0.0), ("c", 3.0)];
        let choice = |index| Tape::new(&Draw::new(3, index)).choice("choice", &weighted);
        let count = |wanted| (0..10_000).filter(|index| choice(*index) == wanted).count();
        // Of 10,000 with probability 1/4: standard deviation 43.
        assert!((2330..2670).contains(&count("a")), "{}", count("a"));
        assert_eq!((count("b"), count("a") + count("c")), (0, 10_000));
    }

    #[test]
    fn what_is_simpler_differs_in_one_number() {
        let draw = (0..).map(|index| Draw::new(1, index)).find(|it| taken(it).0 != "none").unwrap();
        let (choice, quantity, genes) = taken(&draw);
        let simple = draw.simpler(&genes[0]).unwrap();
        assert!(genes[0].special() == Some(choice) && !draw.is_changed() && simple.is_changed());
        assert_eq!((taken(&simple).0, taken(&simple).1), ("none", quantity));
        assert_eq!(simple.simpler(&taken(&simple).2[0]), None);
        let coarse = draw.simpler(&genes[1]).unwrap();
        assert_eq!((taken(&coarse).0, taken(&coarse).1), (choice, rounded(quantity, 1)));
        assert_eq!(coarse.simpler(&genes[1]), None);
    }

    #[test]
    fn mutants_stay_within_their_ranges_and_differ() {
        let draw = Draw::new(1, 7);
        let genes = taken(&draw).2;
        let mut random = RandomStream::new(5);
        let mutants: Vec<_> = (0..200).map(|_| taken(&draw.mutant(&genes, &mut random))).collect();
        assert!(mutants.iter().all(|(_, quantity, _)| (0.5..=500.0).contains(quantity)));
        let changed = mutants.iter().filter(|mutant| **mutant != taken(&draw)).count();
        assert!(changed > 120, "{changed} of 200");
    }

    #[test]
    fn digits_that_count_are_kept() {
        assert_eq!([rounded(0.012_34, 2), rounded(987.0, 2)], [0.012, 990.0]);
    }
}

//! Links and routes in the usual shapes.

use kirikae_path::{PathSpec, RandomStream, Span, Time, stream_seed};

use crate::simulation::Routes;

/// Label of the stream of start times, under the simulation's seed.
const STARTS: u64 = 3;

/// Flows that share one link, each with an access link of its own before it: link 0 is the shared
/// one, link `n + 1` that of flow `n`. Gives the links, and the routes of each flow.
pub fn dumbbell(
    shared: PathSpec,
    access: impl IntoIterator<Item = PathSpec>,
) -> (Vec<PathSpec>, Vec<Routes>) {
    let links: Vec<PathSpec> = [shared].into_iter().chain(access).collect();
    let routes = (1..links.len()).map(|own| Routes::through(&[own, 0])).collect();
    (links, routes)
}

/// Links in a row. Gives the routes over all of them, and those over each one.
pub fn parking_lot(links: usize) -> (Routes, Vec<Routes>) {
    let all: Vec<usize> = (0..links).collect();
    (Routes::through(&all), all.iter().map(|link| Routes::through(&[*link])).collect())
}

/// So many start times, each drawn evenly from the first `within` of the simulation.
pub fn staggered(flows: usize, within: Span, seed: u64) -> Vec<Time> {
    let mut random = RandomStream::new(stream_seed(seed, &[STARTS]));
    let start = |_| Time::from_nanos((random.uniform() * within.as_nanos() as f64) as u64);
    (0..flows).map(start).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use kirikae_path::Hop;

    #[test]
    fn a_dumbbells_flows_meet_in_the_shared_link() {
        let (links, routes) = dumbbell(PathSpec::default(), vec![PathSpec::default(); 3]);
        assert_eq!((links.len(), routes.len()), (4, 3));
        let links = |hops: &[Hop]| hops.iter().map(|hop| hop.link).collect::<Vec<_>>();
        assert_eq!(links(&routes[2].forward), [3, 0]);
        assert_eq!(links(&routes[2].backward), [0, 3]);
    }

    #[test]
    fn starts_spread_over_the_time_and_depend_on_the_seed() {
        let within = Span::from_secs(10);
        let starts = staggered(1000, within, 1);
        assert_eq!(starts, staggered(1000, within, 1));
        assert_ne!(starts, staggered(1000, within, 2));
        assert!(starts.iter().all(|start| *start < Time::ZERO + within));
        // Mean of n = 1000 on [0, 10): standard deviation 10 / sqrt(12 n) = 0.091; 4 of them.
        let sum: u64 = starts.iter().map(|start| start.as_nanos()).sum();
        assert!((sum as f64 / 1e12 - 5.0).abs() < 0.37, "{sum}");
    }
}

//! Random waypoint: a model of how a mobile moves (Johnson, Maltz, Dynamic source routing in ad hoc wireless
//! networks, 1996).

use serde::Serialize;

use crate::check::{Unfit, check};
use crate::{RandomStream, Span, Time};

/// Where and how fast a mobile moves.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Movement {
    /// The largest distance from the base station in km; above 0, at most 20.
    pub radius_km: f64,
    /// Its least speed in km/h; above 0, since otherwise it would all but stand still in the end (Yoon, Liu,
    /// Noble, Random waypoint considered harmful, 2003).
    pub slowest_kmh: f64,
    /// Its greatest speed in km/h; not below the least, at most 1000.
    pub fastest_kmh: f64,
}

impl Movement {
    pub(crate) fn check(&self) -> Result<(), Unfit> {
        let Movement { radius_km, slowest_kmh, fastest_kmh } = *self;
        check(radius_km > 0.0 && radius_km <= 20.0, "radius", radius_km, "above 0 to 20 km")?;
        check(slowest_kmh >= 0.1, "slowest", slowest_kmh, "at least 0.1 km/h")?;
        let fits = (slowest_kmh..=1000.0).contains(&fastest_kmh);
        check(fits, "fastest", fastest_kmh, "from the slowest speed to 1000 km/h")
    }
}

/// The mobile goes in straight lines, each at a speed of its own, from point to point. The points are uniform
/// over the disk around the base station.
#[derive(Clone, Debug)]
pub(crate) struct Waypoints {
    movement: Movement,
    from: [f64; 2],
    to: [f64; 2],
    began: Time,
    arrives: Time,
    random: RandomStream,
}

impl Waypoints {
    pub fn new(movement: Movement, seed: u64) -> Waypoints {
        let mut random = RandomStream::new(seed);
        let start = point(movement.radius_km, &mut random);
        let (began, arrives) = (Time::ZERO, Time::ZERO);
        Waypoints { movement, from: start, to: start, began, arrives, random }
    }

    /// The distance from the base station in km. Times must not go back.
    pub fn distance_km(&mut self, now: Time) -> f64 {
        while self.arrives <= now {
            self.next_leg();
        }
        let whole = (self.arrives - self.began).as_secs_f64();
        let gone = (now - self.began).as_secs_f64() / whole;
        let along = |axis: usize| self.from[axis] + gone * (self.to[axis] - self.from[axis]);
        along(0).hypot(along(1))
    }

    fn next_leg(&mut self) {
        let Movement { radius_km, slowest_kmh, fastest_kmh } = self.movement;
        self.from = self.to;
        self.to = point(radius_km, &mut self.random);
        let speed = slowest_kmh + self.random.uniform() * (fastest_kmh - slowest_kmh);
        let distance = (self.to[0] - self.from[0]).hypot(self.to[1] - self.from[1]);
        self.began = self.arrives;
        // It is at least 1 ns, so that time goes on.
        let nanos = (distance / speed * 3600.0 * 1e9) as u64;
        self.arrives += Span::from_nanos(nanos.max(1));
    }
}

/// Draws a point uniform over a disk.
fn point(radius: f64, random: &mut RandomStream) -> [f64; 2] {
    let distance = radius * random.uniform().sqrt();
    let (sine, cosine) = (random.uniform() * std::f64::consts::TAU).sin_cos();
    [distance * cosine, distance * sine]
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOVEMENT: Movement = Movement { radius_km: 5.0, slowest_kmh: 10.0, fastest_kmh: 20.0 };

    #[test]
    fn points_are_uniform_over_the_disk() {
        // n = 10^5: within half the radius lies a quarter, standard deviation 0.00137; the mean of
        // a coordinate is 0, standard deviation radius/2/sqrt(n) = 0.0079; 4 of them either way.
        let mut random = RandomStream::new(1);
        let points: Vec<[f64; 2]> = (0..100_000).map(|_| point(5.0, &mut random)).collect();
        let inner = points.iter().filter(|[x, y]| x.hypot(*y) < 2.5).count() as f64 / 1e5;
        assert!((inner - 0.25).abs() < 0.005_5, "{inner}");
        for axis in [0, 1] {
            let mean = points.iter().map(|point| point[axis]).sum::<f64>() / 1e5;
            assert!(mean.abs() < 0.032, "{mean}");
        }
        assert!(points.iter().all(|[x, y]| x.hypot(*y) <= 5.0));
    }

    #[test]
    fn it_keeps_to_its_speeds_and_its_disk() {
        let mut walk = Waypoints::new(MOVEMENT, 1);
        let mut moved: f64 = 0.0;
        let mut last = walk.distance_km(Time::ZERO);
        for second in 1..100_000 {
            let distance = walk.distance_km(Time::ZERO + Span::from_secs(second));
            assert!(distance <= 5.0);
            // The distance changes no faster than the mobile moves.
            assert!((distance - last).abs() <= 20.0 / 3600.0 + 1e-9);
            moved = moved.max((distance - last).abs());
            last = distance;
        }
        // It changes about as fast when the mobile moves straight to or from the base station.
        assert!(moved > 18.0 / 3600.0, "{moved}");
    }

    #[test]
    fn how_often_it_is_asked_changes_nothing() {
        let (mut often, mut rarely) = (Waypoints::new(MOVEMENT, 2), Waypoints::new(MOVEMENT, 2));
        for second in 0..10_000 {
            let now = Time::ZERO + Span::from_secs(second);
            let distance = often.distance_km(now);
            if second % 700 == 0 {
                assert_eq!(rarely.distance_km(now), distance);
            }
        }
    }
}

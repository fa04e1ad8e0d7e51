//! What is remembered of a connection, and what its spans give.
//!
//! A connection's own past is the control variate: what differs between paths drops out of the
//! comparison. And how far its spans usually are from that past is its stratum, so that connections whose
//! latency hardly varies are not drowned by those whose latency does. Both are known before a span's lot
//! is drawn: whatever they are, they favour neither treatment.

/// Bursts at the beginning of a span that are not counted: the window is the other treatment's at first.
pub const SETTLING: u32 = 3;
/// Bursts of a span that are counted, behind those.
pub const COUNTED: u32 = 5;
/// Octaves by which a burst is at most told from the usual: one that took 2.8 times as long, or longer,
/// counts as 2.8 times. Single timeouts would outweigh hundreds of bursts.
pub const CLIP: f64 = 1.5;

/// A new span counts as much in what is usual: a path that changes is followed within a few.
const USUAL_GAIN: f64 = 0.5;
/// And as much in the spread, which needs more of them to be known.
const SPREAD_GAIN: f64 = 0.25;
/// Octaves: the spread of a connection of which nothing is known.
const SPREAD_AT_FIRST: f64 = 0.25;

/// What is remembered of a connection, with the span under way.
#[derive(Clone, Debug)]
pub struct Connection {
    /// Moving average of the means of its spans, of both treatments, octaves; none before the first one has ended.
    usual: Option<f64>,
    /// Moving average of how far spans are from the usual, octaves.
    spread: f64,
    /// Bursts of the present span, settling ones too.
    bursts: u32,
    /// Octaves of its counted bursts, from the usual where that is known.
    sum: f64,
}

/// What a span gives: how far it was from the connection's past.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Residual {
    /// 0 to [`STRATA`](crate::STRATA) - 1, by the connection's spread before the span.
    pub stratum: usize,
    /// Mean over its counted bursts of log2(latency) less the usual, each within [`CLIP`] of 0.
    pub octaves: f64,
}

impl Connection {
    /// A new one, at the beginning of a span.
    pub fn new() -> Connection {
        Connection { usual: None, spread: SPREAD_AT_FIRST, bursts: 0, sum: 0.0 }
    }

    /// A burst took so long (seconds, above 0). Whether the span is over with it.
    pub fn burst(&mut self, latency_s: f64) -> bool {
        self.bursts += 1;
        if self.bursts > SETTLING {
            let octaves = latency_s.log2();
            self.sum += self.usual.map_or(octaves, |usual| (octaves - usual).clamp(-CLIP, CLIP));
        }
        self.bursts == SETTLING + COUNTED
    }

    /// What the span that is over gives, and begins the next one. The first of a connection only tells what is usual.
    pub fn end_span(&mut self) -> Option<Residual> {
        let octaves = self.sum / f64::from(COUNTED);
        self.drop_span();
        let Some(usual) = &mut self.usual else {
            self.usual = Some(octaves);
            return None;
        };
        let residual = Residual { stratum: stratum(self.spread), octaves };
        *usual += octaves * USUAL_GAIN;
        self.spread += (octaves.abs() - self.spread) * SPREAD_GAIN;
        Some(residual)
    }

    /// Begins a span anew: what there was of it counts for nothing.
    pub fn drop_span(&mut self) {
        self.bursts = 0;
        self.sum = 0.0;
    }
}

impl Default for Connection {
    fn default() -> Connection {
        Connection::new()
    }
}

/// Spread, octaves, from which on each stratum but the first begins.
const BOUNDS: [f64; crate::STRATA - 1] = [0.0625, 0.125, 0.25, 0.5];

/// Where a connection with this spread belongs.
fn stratum(spread: f64) -> usize {
    BOUNDS.iter().take_while(|bound| spread >= **bound).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A span whose settling bursts take very long.
    fn span(connection: &mut Connection, latencies_s: [f64; COUNTED as usize]) -> Option<Residual> {
        let settling = [1000.0; SETTLING as usize];
        let all: Vec<f64> = settling.into_iter().chain(latencies_s).collect();
        let (last, before) = all.split_last().unwrap();
        assert!(before.iter().all(|latency_s| !connection.burst(*latency_s)));
        assert!(connection.burst(*last));
        connection.end_span()
    }

    #[test]
    fn spans_are_told_against_the_connections_past() {
        let mut connection = Connection::new();
        assert_eq!(span(&mut connection, [1.0, 4.0, 2.0, 1.0, 4.0]), None);
        // Usual is 1 octave; a spread that nobody knows is 1/4.
        let residual = span(&mut connection, [4.0; 5]).unwrap();
        assert_eq!(residual, Residual { stratum: 3, octaves: 1.0 });
        // Usual 1.5; spread 1/4 + 3/4 * 1/4.
        let residual = span(&mut connection, [2.0; 5]).unwrap();
        assert_eq!(residual, Residual { stratum: 3, octaves: -0.5 });
        let mut strata = Vec::new();
        for _ in 0..60 {
            strata.push(span(&mut connection, [2.0; 5]).unwrap().stratum);
        }
        assert!(strata.is_sorted_by(|a, b| a >= b), "{strata:?}");
        assert_eq!((strata[0], strata[59]), (3, 0));
    }

    #[test]
    fn a_single_timeout_counts_as_little_as_is_said() {
        let mut connection = Connection::new();
        span(&mut connection, [1.0; 5]);
        assert_eq!(span(&mut connection, [1.0, 1.0, 64.0, 1.0, 1.0]).unwrap().octaves, CLIP / 5.0);
        let mut connection = Connection::new();
        span(&mut connection, [1.0; 5]);
        assert_eq!(span(&mut connection, [1.0 / 64.0; 5]).unwrap().octaves, -CLIP);
    }

    #[test]
    fn what_is_dropped_counts_for_nothing() {
        let mut connection = Connection::new();
        span(&mut connection, [1.0; 5]);
        for _ in 0..6 {
            connection.burst(30.0);
        }
        connection.drop_span();
        assert_eq!(span(&mut connection, [2.0; 5]).unwrap().octaves, 1.0);
    }

    #[test]
    fn strata_begin_where_they_should() {
        let spreads = [0.0, 0.0624, 0.0625, 0.124, 0.125, 0.25, 0.49, 0.5, 9.0];
        assert_eq!(spreads.map(stratum), [0, 0, 1, 1, 2, 3, 3, 4, 4]);
    }
}

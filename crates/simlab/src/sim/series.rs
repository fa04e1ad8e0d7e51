//! A quantity over time, thinned as it grows so that no extreme is lost.

/// Columns of time that a plot is wide; it may have fewer.
pub(super) const COLUMNS: u64 = 2000;
/// Columns at most, while it is not known how long the time is: columns are widened to twice their
/// width when there are more, so that in the end none is wider than a [`COLUMNS`]th of the time.
const COLUMNS_MOST: usize = 2 * COLUMNS as usize;
/// Width of a column at first, nanoseconds.
const NARROWEST: u64 = 1000;

/// A time in nanoseconds, and the value from then on.
pub(super) type Point = (u64, f64);

/// A quantity over time. Of each column of time its first, lowest, highest and last value are kept.
#[derive(Debug)]
pub(super) struct Series {
    /// Nanoseconds.
    width: u64,
    columns: Vec<Column>,
}

#[derive(Clone, Copy, Debug)]
struct Column {
    first: Point,
    lowest: Point,
    highest: Point,
    last: Point,
}

impl Series {
    /// Without a value yet.
    pub fn new() -> Series {
        Series { width: NARROWEST, columns: Vec::new() }
    }

    /// The value now; times do not go back.
    pub fn push(&mut self, at: u64, value: f64) {
        let point = (at, value);
        let now = Column { first: point, lowest: point, highest: point, last: point };
        match self.columns.last_mut() {
            Some(column) if column.first.0 / self.width == at / self.width => column.take(&now),
            _ => self.columns.push(now),
        }
        while self.columns.len() > COLUMNS_MOST {
            self.widen();
        }
    }

    /// What is kept, in order of time, thinned for a plot that ends then.
    pub fn thinned(mut self, end: u64) -> Vec<Point> {
        while self.width * 2 <= end / COLUMNS {
            self.widen();
        }
        let mut points: Vec<Point> = Vec::new();
        for Column { first, lowest, highest, last } in self.columns {
            // At the same time, whichever was not the first came later.
            let up = (lowest.0, lowest != first) <= (highest.0, highest != first);
            let (earlier, later) = if up { (lowest, highest) } else { (highest, lowest) };
            points.extend([first, earlier, later, last]);
        }
        points.dedup();
        points
    }

    fn widen(&mut self) {
        self.width *= 2;
        let width = self.width;
        self.columns.dedup_by(|next, column| {
            let same = next.first.0 / width == column.first.0 / width;
            if same {
                column.take(next);
            }
            same
        });
    }
}

impl Column {
    /// Another that comes after it.
    fn take(&mut self, next: &Column) {
        if next.lowest.1 < self.lowest.1 {
            self.lowest = next.lowest;
        }
        if next.highest.1 > self.highest.1 {
            self.highest = next.highest;
        }
        self.last = next.last;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_values_are_all_kept() {
        let mut series = Series::new();
        let points = [(0, 1.0), (5_000_000, 3.0), (5_000_000, 2.0), (9_000_000, 2.0)];
        points.iter().for_each(|(at, value)| series.push(*at, *value));
        assert_eq!(series.thinned(10_000_000), points);
    }

    #[test]
    fn many_values_are_thinned_and_every_columns_extremes_stay() {
        // A million values in 1000 s, with a peak in every ten thousandth.
        let value = |n: u64| if n % 10_000 == 1234 { 50.0 } else { (n % 7) as f64 };
        let mut series = Series::new();
        (0..1_000_000).for_each(|n| series.push(n * 1_000_000, value(n)));
        assert!(series.columns.len() <= COLUMNS_MOST);
        let end = 1_000_000_000_000;
        let points = series.thinned(end);
        assert!(points.is_sorted_by_key(|(at, _)| *at));
        assert!(points.len() <= 4 * COLUMNS_MOST, "{}", points.len());
        let peaks: Vec<u64> = points
            .iter()
            .filter(|(_, value)| *value == 50.0)
            .map(|(at, _)| at / 1_000_000)
            .collect();
        assert_eq!(peaks, (0..100).map(|n| 10_000 * n + 1234).collect::<Vec<_>>());
        // No column of the plot is without a value.
        let columns: std::collections::BTreeSet<u64> =
            points.iter().map(|(at, _)| at * COLUMNS / end).collect();
        assert_eq!(columns.len() as u64, COLUMNS);
    }
}

//! The channel of section 5.1.1: its parameters from how much throughput varied.

use kirikae_fit::throughput::{Point, Variation, fit};
use kirikae_path::GilbertElliottSpec;
use kirikae_results::Error;
use kirikae_results::statistics::Estimate;

use super::super::{
    Axis, Cell, Column, Figure, Form, Found, Key, Published, Row, Scale, Series, Table,
};

pub(super) const FIT: Key = Key::new("channel-fit");
pub(super) const SHARE_FITTED: Key = Key::new("channel-share-fitted");
pub(super) const SHARE_PRINTED: Key = Key::new("channel-share-printed");
pub(super) const TURNOVER_FITTED: Key = Key::new("channel-turnover-fitted");
pub(super) const TURNOVER_AS_PRINTED: Key = Key::new("channel-turnover-fitted-as-printed");
pub(super) const TURNOVER_PRINTED: Key = Key::new("channel-turnover-printed");

/// What was measured, what was printed of it, and what is fitted here.
pub(super) struct Channel {
    /// The standard deviation over the mean of throughput, as these are printed.
    measured: Vec<Point>,
    /// The coefficients of variation as printed.
    printed: Vec<f64>,
    parameters: GilbertElliottSpec,
    fitted: Variation,
    /// To the coefficients as printed.
    fitted_as_printed: Variation,
}

impl Channel {
    /// From tables 5-1 and 5-2.
    pub fn read(throughput: &Published, parameters: &Published) -> Result<Channel, Error> {
        let mut measured = Vec::new();
        let mut printed = Vec::new();
        for row in throughput.rows() {
            let number = |column| Ok::<_, Error>(row.number(column)?.unwrap_or(f64::NAN));
            let mean_bps = number("mean_throughput_mbps")? * 1e6;
            let coefficient = number("stddev_throughput_bps")? / mean_bps;
            measured.push(Point { packets: number("packets_n")?, coefficient });
            printed.push(number("coefficient_of_variation")?);
        }
        let row = parameters.rows().next();
        let number = |name| match &row {
            Some(row) => Ok::<_, Error>(row.number(name)?.unwrap_or(f64::NAN)),
            None => Ok(f64::NAN),
        };
        let (p, r, k, h) = (number("p")?, number("r")?, number("k")?, number("h")?);
        let parameters = GilbertElliottSpec { p, r, k, h };
        let nearest = |points: &[Point]| fit(points).map_err(|it| Error::Failed(it.to_string()));
        let fitted = nearest(&measured)?;
        let point =
            |(point, coefficient): (&Point, &f64)| Point { coefficient: *coefficient, ..*point };
        let as_printed: Vec<Point> = measured.iter().zip(&printed).map(point).collect();
        let fitted_as_printed = nearest(&as_printed)?;
        Ok(Channel { measured, printed, parameters, fitted, fitted_as_printed })
    }

    /// Of each curve: its name, and its value at so many packets.
    fn curves(&self) -> [(&'static str, Variation); 3] {
        [
            ("printed parameters, losses counted", Variation::of_losses(&self.parameters)),
            ("printed parameters, arrivals counted", Variation::of_receipts(&self.parameters)),
            ("fitted here", self.fitted),
        ]
    }

    pub fn table(&self) -> Table {
        let title =
            "Coefficient of variation of throughput (table 5-1, Fig. 5-4), and curves by (5-1)";
        let names = self.curves().map(|(name, _)| Column::new(name, 4));
        let first =
            [Column::new("as printed", 4), Column::new("printed deviation over printed mean", 4)];
        let mut table = Table::new(title, "packets", first.into_iter().chain(names));
        for (point, printed) in self.measured.iter().zip(&self.printed) {
            let curve = |(_, curve): (_, Variation)| {
                let value = curve.coefficient(point.packets);
                let ours = Estimate { value, half_width: None };
                Cell::compared(point.coefficient, ours, 1)
            };
            let given = [*printed, point.coefficient].map(Cell::published);
            let cells = given.into_iter().chain(self.curves().map(curve)).collect();
            table.rows.push(Row::new(point.packets.to_string(), cells));
        }
        table
    }

    /// The largest difference between the fitted curve and what was measured, and both shares and turnovers.
    pub fn found(&self) -> [Found; 6] {
        let off = |point: &Point| {
            (self.fitted.coefficient(point.packets) / point.coefficient - 1.0).abs()
        };
        let worst = self.measured.iter().map(off).fold(0.0, f64::max);
        let printed = &self.parameters;
        [
            (FIT, worst),
            (SHARE_FITTED, self.fitted.share),
            (SHARE_PRINTED, Variation::of_losses(printed).share),
            (TURNOVER_FITTED, 1e3 * self.fitted.turnover),
            (TURNOVER_AS_PRINTED, 1e3 * self.fitted_as_printed.turnover),
            (TURNOVER_PRINTED, 1e3 * (printed.p + printed.r)),
        ]
        .map(|(key, value)| Found::new(key, value, self.measured.len()))
    }

    pub fn figure(&self) -> Figure {
        let (Some(first), Some(last)) = (self.measured.first(), self.measured.last()) else {
            unreachable!("three points or more are fitted")
        };
        let (from, to) = (first.packets.ln(), last.packets.ln());
        let at = |step: u32| (from + (to - from) * f64::from(step) / 40.0).exp();
        let [losses, arrivals, fitted] = self.curves();
        let printed = |(name, curve): (&str, Variation)| {
            let points = (0..=40).map(at).map(|packets| (packets, curve.coefficient(packets)));
            Series::published(name, Form::Line, points)
        };
        let value = |packets| Estimate { value: fitted.1.coefficient(packets), half_width: None };
        let ours = (0..=40).map(at).map(|packets| (packets, value(packets)));
        let dots = |name: &str, values: Vec<f64>| {
            let packets = self.measured.iter().map(|point| point.packets);
            Series::published(name, Form::Dots, packets.zip(values))
        };
        let measured = self.measured.iter().map(|point| point.coefficient).collect();
        let given = [
            dots("coefficient as printed", self.printed.clone()),
            dots("deviation over mean", measured),
        ];
        Figure::single(
            "Coefficient of variation of throughput (Fig. 5-4)",
            "The printed parameters give neither curve of (5-1); the value printed at 10 packets is not the \
             printed deviation over the printed mean, which is on the fitted curve.",
            [Axis::new("packets", Scale::Log), Axis::new("coefficient of variation", Scale::Log)],
            given
                .into_iter()
                .chain([printed(losses), printed(arrivals)])
                .chain([Series::ours(fitted.0, Form::Line, ours)])
                .collect(),
        )
    }
}

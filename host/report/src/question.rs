//! Questions with their measured answers.

use kinglet_sweep::chart::{Figure, Lines, Series, Style};

/// A question with its measured answer.
pub struct Question {
    /// Text that ends in a question mark.
    pub text: &'static str,
    /// The measured quantity with its unit.
    pub measured: &'static str,
    /// The condition that varies between columns, with its unit.
    pub varied: &'static str,
    /// Values of that condition, and the heads of the columns.
    pub columns: Vec<(f64, String)>,
    /// Rows, Kinglet first.
    pub rows: Vec<Answer>,
    /// The answer in one sentence.
    pub verdict: String,
}

/// One row of an answer.
pub struct Answer {
    /// The stack and its settings, or the source of a published figure.
    pub name: &'static str,
    /// Measured here, published, or a bound.
    pub style: Style,
    /// One value per column with half the width of its 95 % interval; `None` where nothing was
    /// measured or published.
    pub values: Vec<Option<(f64, Option<f64>)>>,
}

impl Question {
    /// The values of a row; `None` unless it was measured for all columns.
    pub fn complete(&self, row: usize) -> Option<Vec<f64>> {
        self.rows.get(row)?.values.iter().map(|value| value.map(|(mean, _)| mean)).collect()
    }

    /// The answer as a plot.
    pub fn figure(&self) -> Figure {
        let series = self.rows.iter().map(|row| {
            let columns = self.columns.iter().zip(&row.values);
            let points = columns.filter_map(|((x, _), value)| value.map(|(y, ci)| (*x, y, ci)));
            Series { name: row.name.to_owned(), style: row.style, points: points.collect() }
        });
        Figure::Lines(Lines {
            title: self.measured.to_owned(),
            x_label: self.varied.to_owned(),
            y_label: self.measured.to_owned(),
            series: series.collect(),
        })
    }
}

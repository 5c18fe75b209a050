//! Axes, legends and bars in SVG.

use super::drawing::{Drawing, Key, NARROW};
use super::escape;
use crate::number::short;
use kinglet_sweep::chart::Bars;
use std::fmt::Write;

/// Colours by CSS class `c0` to `c8`, so that light and dark mode can differ.
pub(super) const COLOURS: usize = 9;

/// A linear axis.
#[derive(Clone, Copy, Debug)]
pub(super) struct Axis {
    pub(super) low: f64,
    pub(super) high: f64,
    /// Pixels of `low` and `high`.
    pub(super) pixels: (f64, f64),
}

impl Axis {
    /// An axis that includes `values` and zero, ending at a round number.
    pub(super) fn from_zero(values: impl Iterator<Item = f64>, pixels: (f64, f64)) -> Self {
        let high = values.filter(|v| v.is_finite()).fold(0.0, f64::max);
        let high = if high > 0.0 { high * 1.05 } else { 1.0 };
        let step = step(high);
        Axis { low: 0.0, high: (high / step).ceil() * step, pixels }
    }

    pub(super) fn at(&self, value: f64) -> f64 {
        let share = (value - self.low) / (self.high - self.low);
        self.pixels.0 + share * (self.pixels.1 - self.pixels.0)
    }

    /// Round positions, at most a dozen, at least `least` apart.
    pub(super) fn ticks(&self, least: f64) -> Vec<f64> {
        let step = step(self.high - self.low).max(least);
        let first = (self.low / step).ceil() * step;
        let ticks = (0..12).map(|i| first + f64::from(i) * step);
        ticks.take_while(|t| *t <= self.high + step * 1e-6).collect()
    }
}

/// A step of 1, 2 or 5 times a power of ten that divides `span` into four to ten parts.
fn step(span: f64) -> f64 {
    let raw = span / 5.0;
    let power = 10f64.powf(raw.log10().floor());
    let digit = match raw / power {
        d if d < 1.5 => 1.0,
        d if d < 3.5 => 2.0,
        d if d < 7.5 => 5.0,
        _ => 10.0,
    };
    digit * power
}

/// Text of a tick.
pub(super) fn tick(value: f64) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    let text = if value.abs() < 0.1 { format!("{value:.4}") } else { format!("{value:.2}") };
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Horizontal grid lines with numbers, and the label of the ordinate.
pub(super) fn ordinate(page: &mut String, axis: &Axis, left: f64, right: f64, label: &str) {
    for t in axis.ticks(0.0) {
        let y = axis.at(t);
        let _ = writeln!(
            page,
            "<line class=\"grid\" x1=\"{left}\" x2=\"{right}\" y1=\"{y:.1}\" y2=\"{y:.1}\"/>\
             <text class=\"tick\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
            left - 6.0,
            y + 4.0,
            tick(t)
        );
    }
    let _ = writeln!(page, "<text class=\"label\" x=\"4\" y=\"14\">{}</text>", escape(label));
}

/// Numbers below, at least `least` apart, and the label of the abscissa.
pub(super) fn abscissa(page: &mut String, axis: &Axis, least: f64, y: f64, label: &str) {
    for t in axis.ticks(least) {
        let x = axis.at(t);
        let _ = writeln!(
            page,
            "<text class=\"tick\" x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
            y + 16.0,
            tick(t)
        );
    }
    let (left, right) = axis.pixels;
    let _ = writeln!(
        page,
        "<line class=\"axis\" x1=\"{left}\" x2=\"{right}\" y1=\"{y}\" y2=\"{y}\"/>\
         <text class=\"label\" x=\"{right}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
        y + 34.0,
        escape(label)
    );
}

/// Stacked horizontal bars, each below its name, because names may be long and pages narrow.
pub(super) fn bars(bars: &Bars) -> Drawing {
    let mut body = String::new();
    let page = &mut body;
    let (left, right, top, row) = (8.0, 480.0, 4.0, 46.0);
    let bottom = top + row * bars.bars.len() as f64 + 8.0;
    let totals = bars.bars.iter().map(|(_, parts)| parts.iter().sum::<f64>());
    let marks = bars.marks.iter().map(|m| m.1);
    let axis = Axis::from_zero(totals.chain(marks), (left, right));
    abscissa(page, &axis, 0.0, bottom, &bars.unit);
    for (index, (name, parts)) in bars.bars.iter().enumerate() {
        let y = top + row * index as f64 + NAME;
        let _ = writeln!(
            page,
            "<text class=\"name\" x=\"{left}\" y=\"{:.1}\">{}</text>",
            y - 5.0,
            escape(name)
        );
        let mut sum = 0.0;
        for (part, value) in parts.iter().enumerate() {
            let (from, to) = (axis.at(sum), axis.at(sum + value));
            sum += value;
            let what = bars.parts.get(part).map_or("", String::as_str);
            let tip = format!("{name}: {what} {} {}", short(*value), bars.unit);
            let _ = writeln!(
                page,
                "<rect class=\"f{}\" x=\"{from:.1}\" y=\"{y:.1}\" width=\"{:.1}\" height=\"{BAR}\" \
                 data-tip=\"{}\"><title>{}</title></rect>",
                part % COLOURS,
                (to - from).max(0.0),
                escape(&tip),
                escape(&tip)
            );
        }
        let _ = writeln!(
            page,
            "<text class=\"value\" x=\"{:.1}\" y=\"{:.1}\">{}</text>",
            axis.at(sum) + 6.0,
            y + 15.0,
            short(sum)
        );
    }
    for (name, value) in &bars.marks {
        let (x, name) = (axis.at(*value), escape(name));
        let _ = writeln!(
            page,
            "<line class=\"mark\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"4\" y2=\"{bottom:.1}\" \
             data-tip=\"{name}: {} {}\"><title>{name}</title></line>",
            short(*value),
            escape(&bars.unit)
        );
    }
    let parts = bars.parts.iter().enumerate();
    let mut legend: Vec<_> =
        parts.map(|(index, part)| (Key::Box(index % COLOURS), part.clone())).collect();
    let mark = |(name, value): &(String, f64)| {
        (Key::Mark, format!("{name}: {} {}", short(*value), bars.unit))
    };
    legend.extend(bars.marks.iter().map(mark));
    Drawing { title: bars.title.clone(), size: (NARROW, bottom + 44.0), body, legend }
}

/// Height of a row in pixels: the name, and the bar below it.
const NAME: f64 = 21.0;
const BAR: f64 = 20.0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_end_at_round_numbers_and_hold_their_values() {
        for high in [0.0133, 0.9, 7.2, 19.5, 95.0, 1848.0] {
            let axis = Axis::from_zero([high].into_iter(), (0.0, 100.0));
            assert!(axis.high >= high && axis.high < high * 1.5, "{high}: {}", axis.high);
            assert!((4..=12).contains(&axis.ticks(0.0).len()), "{high}: {:?}", axis.ticks(0.0));
            assert_eq!(axis.at(0.0), 0.0);
        }
    }

    #[test]
    fn an_axis_without_values_is_still_one() {
        let axis = Axis::from_zero([f64::NAN].into_iter(), (0.0, 10.0));
        assert!(axis.high > 0.0 && !axis.ticks(0.0).is_empty());
    }

    #[test]
    fn ticks_are_written_without_trailing_noise() {
        assert_eq!(tick(20.0), "20");
        assert_eq!(tick(0.5), "0.5");
        assert_eq!(tick(0.005), "0.005");
    }
}

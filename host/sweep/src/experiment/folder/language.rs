//! The language of expressions and templates: MiniJinja's, with functions of lists and of the
//! models.

use super::error::hint;
use crate::experiment::Model;
use crate::stats::rank_correlation;
use kinglet_network::layout::{DEFAULT_MSS, Format, Frame, bound, one_hop_bound};
use kinglet_network::radio;
use kinglet_scenario::{Flow, MAC, NodeId, RadioProfile, Scenario, tcplp};
use minijinja::{Environment, Error, ErrorKind, UndefinedBehavior};

/// The language.
pub(super) fn environment() -> Environment<'static> {
    let mut environment = Environment::new();
    environment.set_debug(true);
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.add_filter("fixed", |value: f64, digits: usize| format!("{value:.digits$}"));
    environment.add_filter("ratios", |values: Vec<f64>| {
        values.windows(2).map(|pair| pair[1] / pair[0]).collect::<Vec<f64>>()
    });
    environment.add_filter("by", |values: Vec<f64>, others: Vec<f64>| {
        values.iter().zip(others).map(|(value, other)| value / other).collect::<Vec<f64>>()
    });
    environment.add_filter("times", |values: Vec<f64>, others: Vec<f64>| {
        values.iter().zip(others).map(|(value, other)| value * other).collect::<Vec<f64>>()
    });
    environment.add_filter("less", |values: Vec<f64>, others: Vec<f64>| {
        values.iter().zip(others).map(|(value, other)| value - other).collect::<Vec<f64>>()
    });
    environment.add_filter("place", |values: Vec<f64>, value: f64| {
        values.iter().position(|it| *it == value)
    });
    environment.add_filter("nearest", |values: Vec<f64>, to: f64| {
        let far = |place: &usize| (values[*place] - to).abs();
        (0..values.len()).min_by(|a, b| far(a).total_cmp(&far(b)))
    });
    environment.add_filter("sqrt", f64::sqrt);
    environment.add_filter("mean", mean);
    environment.add_filter("variance", |values: Vec<f64>| {
        let middle = mean(values.clone());
        mean(values.iter().map(|value| (value - middle).powi(2)).collect())
    });
    environment.add_filter("rank", |values: Vec<f64>| rank_correlation(&by_place(&values)));
    environment.add_filter("slope", |values: Vec<f64>| line(&by_place(&values)).0);
    environment.add_filter("explained", |values: Vec<f64>| line(&by_place(&values)).1);
    environment.add_filter("flat", flat);
    environment.add_filter("ceil", |value: f64| value.ceil() as i64);
    environment.add_filter("title", |model: &str| model_of(model).map(Model::name));
    environment.add_filter("suffix", |model: &str| model_of(model).map(Model::suffix));
    environment.add_function("segment_bound", segment_bound);
    environment.add_function("one_hop_bound", || one_hop_bound().kbps);
    environment.add_function("tcp_header", || between_neighbours(None).tcp);
    environment.add_function("header_mss", |frames, tcp| header_bound(frames, tcp).0);
    environment.add_function("header_bound", |frames, tcp| header_bound(frames, tcp).1);
    environment.add_function("unused_octets", unused_octets);
    environment.add_function("office_hops", office_hops);
    environment.add_function("channel_bound", channel_bound);
    environment.add_function("driver_us", radio::driver_us);
    environment.add_function("sharing", sharing);
    environment
}

/// Number of links of a line that exclude each other under a model of the medium.
fn sharing(model: &str, hops: u32) -> Result<f64, Error> {
    Ok(model_of(model)?.sharing(hops))
}

fn model_of(name: &str) -> Result<Model, Error> {
    let known = Model::ALL.into_iter().find(|model| model.key() == name);
    known.ok_or_else(|| {
        invalid(format!("no model `{name}`; {}", hint(name, &Model::ALL.map(Model::key))))
    })
}

/// Bound of the goodput over one hop, kb/s, with segments of so many frames. A segment is as long
/// as fits on any hop; between neighbours its headers are shorter.
fn segment_bound(frames: usize) -> f64 {
    let mss = Format::of(&tcplp::MAC, true).mss_for_frames(frames);
    let format = Format::between_neighbours(&tcplp::MAC, true);
    bound(RadioProfile::At86rf233, &tcplp::MAC, format, mss, 2).kbps
}

/// Frames between neighbours, with so many octets of a TCP header.
fn between_neighbours(tcp: Option<usize>) -> Format {
    let format = Format::between_neighbours(&tcplp::MAC, true);
    Format { tcp: tcp.unwrap_or(format.tcp), ..format }
}

/// Longest segment of so many frames with a TCP header of `tcp` octets, and the bound of its
/// goodput over one hop, kb/s.
fn header_bound(frames: usize, tcp: usize) -> (usize, f64) {
    let format = between_neighbours(Some(tcp));
    let mss = format.mss_for_frames(frames);
    (mss, bound(RadioProfile::At86rf233, &tcplp::MAC, format, mss, 2).kbps)
}

/// Octets that the paper's segment leaves unused in its frames.
fn unused_octets() -> usize {
    between_neighbours(None).frames(DEFAULT_MSS).iter().map(Frame::unused).sum()
}

/// Hops from a node of the office to its border router.
fn office_hops(node: NodeId) -> usize {
    let root = 0;
    let scenario = Scenario { flows: vec![Flow::bulk(node, root)], ..Scenario::office() };
    let routes = scenario.routes();
    let next = |at: &NodeId| {
        let here = routes.iter().find(|route| (route.node, route.destination) == (*at, root));
        here.map(|route| route.next_hop)
    };
    std::iter::successors(Some(node), next).take_while(|at| *at != root).count()
}

/// Bound of the goodput over one hop without the pauses, in which the channel is free for other
/// nodes; kb/s.
fn channel_bound() -> f64 {
    let parts = radio::parts(RadioProfile::At86rf233, 127, MAC.csma_params.min_be);
    let pauses = parts.backoff + parts.spacing + parts.load + parts.state_change;
    one_hop_bound().kbps_with_extra_us(-(pauses.as_micros() as f64))
}

/// Arithmetic mean; not a number without values.
fn mean(values: Vec<f64>) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Values with their places, which count from 0.
fn by_place(values: &[f64]) -> Vec<(f64, f64)> {
    values.iter().enumerate().map(|(place, value)| (place as f64, *value)).collect()
}

/// Slope of the regression line, and the share of the variance that it explains.
fn line(points: &[(f64, f64)]) -> (f64, f64) {
    let n = points.len() as f64;
    let sum = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>();
    let (x, y) = (sum(|p| p.0), sum(|p| p.1));
    let (xx, yy, xy) = (sum(|p| p.0 * p.0), sum(|p| p.1 * p.1), sum(|p| p.0 * p.1));
    let (of_x, of_y, both) = (n * xx - x * x, n * yy - y * y, n * xy - x * y);
    (both / of_x, both * both / (of_x * of_y))
}

/// Place of the first value after which the next one is at most this factor of it; the last place
/// if there is none.
fn flat(values: Vec<f64>, factor: f64) -> usize {
    let flat = values.windows(2).position(|pair| pair[1] <= pair[0] * factor);
    flat.unwrap_or(values.len().saturating_sub(1))
}

/// An error of an expression.
pub(super) fn invalid(message: String) -> Error {
    Error::new(ErrorKind::InvalidOperation, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The number that an expression yields.
    fn number(expression: &str) -> f64 {
        let environment = environment();
        let compiled = environment.compile_expression(expression).expect("a valid expression");
        f64::try_from(compiled.eval(()).expect("a value")).expect("a number")
    }

    #[test]
    fn leaves_of_the_office_are_three_and_five_hops_away() {
        assert_eq!([11, 12, 13, 14].map(office_hops), [3, 3, 5, 5]);
    }

    #[test]
    fn lists_have_a_mean_a_variance_and_a_trend() {
        for (expression, value) in [
            ("([6, 8]|by([2, 4]))[1]", 2.0),
            ("([6, 8]|times([2, 4]))[1]", 32.0),
            ("([6, 8]|less([2, 4]))[1]", 4.0),
            ("[1, 2, 6]|mean", 3.0),
            ("[1, 2, 6]|variance", 14.0 / 3.0),
            ("[1, 3, 2, 4]|rank", 0.8),
            ("[1, 3, 5]|slope", 2.0),
            ("[1, 3, 5]|explained", 1.0),
            ("[0, 1, 0, 1]|explained", 0.2),
            ("[10, 20, 20.1, 30]|flat(1.01)", 1.0),
            ("[10, 20, 30]|flat(1.01)", 2.0),
        ] {
            assert!((number(expression) - value).abs() < 1e-9, "{expression}");
        }
    }
}

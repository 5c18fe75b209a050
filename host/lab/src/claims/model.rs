//! Tests of the claims about models of goodput.

use super::bounds::Bounds;
use super::{Finding, Table, Test, memory};

/// Test of the claim with this id.
pub(super) fn test_of(id: &str) -> Option<Test> {
    Some(match id {
        "kinglet.model-asleep" => asleep,
        "tcplp.appC.cwnd-dutycycled" => window,
        _ => return memory::test_of(id),
    })
}

/// Required accuracy of the model at each point of its sweep, in per cent.
const MOST_ERROR: f64 = 10.0;

fn asleep(t: &Table<'_>) -> Option<Finding> {
    // The model describes Kinglet's TCP only.
    let sleeps = |label: &str| label.contains("sleep_ms=") && !label.contains("stack=");
    let worst = |metric: &'static str| {
        let rows = t.all(metric).filter(|row| sleeps(&row.label));
        rows.max_by(|a, b| a.mean.abs().total_cmp(&b.mean.abs()))
    };
    let (model, one) = (worst("error_model")?, worst("error_eq1")?);
    let points = t.all("error_model").filter(|row| sleeps(&row.label)).count();
    let planned = t.all("goodput").filter(|row| sleeps(&row.label)).count();
    let compared = format!(
        "largest error of {points} points, at {}; Equation 1 with the measured round-trip time is \
         off by {:.1} % at {}",
        model.label, one.mean, one.label
    );
    Bounds::default()
        .is(points == planned, "an error at every point")
        .at_most("%", model.mean.abs(), MOST_ERROR)
        .found(model.mean, compared)
}

fn window(t: &Table<'_>) -> Option<Finding> {
    let full = |label: &str| t.mean(&format!("{label} stack=freebsd"), "cwnd_full");
    let asleep = full("hops=3 d_ms=40 loss=6 sleep_ms=100")?;
    let awake = full("hops=3 d_ms=40 frames=5 loss=6 awake")?;
    let one = full("hops=1 d_ms=40 loss=6 sleep_ms=100")?;
    let compared = format!(
        "three hops, 6 % lost; awake with five frames {awake:.1} %; over one hop asleep {one:.1} %"
    );
    let bounds = Bounds::default().above("% asleep", asleep, 50.0).below("% asleep", asleep, awake);
    bounds.found(asleep, compared)
}

#[cfg(test)]
mod tests {
    use super::super::sample::{self, row};
    use kinglet_sweep::row::Row;

    fn holds(id: &str, rows: Vec<Row>) -> Option<bool> {
        sample::holds("kinglet-model", id, rows)
    }

    #[test]
    fn one_point_that_is_off_by_more_than_a_tenth_fails_the_model_either_way() {
        let of = |error: f64| {
            let point = |label: &str, error| {
                [("goodput", 9.0), ("error_model", error), ("error_eq1", 50.0)]
                    .map(|(metric, value)| row(label, metric, value))
            };
            let rows = [point("sleep_ms=100", 1.0), point("sleep_ms=500", error)].concat();
            holds("kinglet.model-asleep", rows)
        };
        assert_eq!([9.9, -9.9, 10.1, -10.1].map(of), [true, true, false, false].map(Some));
    }

    #[test]
    fn a_window_that_is_small_most_of_the_time_or_larger_than_awake_fails() {
        let of = |asleep: f64| {
            let rows = vec![
                row("hops=3 d_ms=40 loss=6 sleep_ms=100 stack=freebsd", "cwnd_full", asleep),
                row("hops=1 d_ms=40 loss=6 sleep_ms=100 stack=freebsd", "cwnd_full", 50.0),
                row("hops=3 d_ms=40 frames=5 loss=6 awake stack=freebsd", "cwnd_full", 70.0),
            ];
            holds("tcplp.appC.cwnd-dutycycled", rows)
        };
        assert_eq!([60.0, 45.0, 75.0].map(of), [true, false, false].map(Some));
    }
}

//! Tests of the paper's assumptions.

use super::bounds::Bounds;
use super::{Finding, Table, Test};

/// Test of the claim with this id.
pub(super) fn test_of(id: &str) -> Option<Test> {
    Some(match id {
        "tcplp.table1.large-mss" => large_mss,
        "tcplp.sec6.1.mss-choice" => mss_choice,
        "tcplp.table1.retry-delay" => retry_delay,
        "tcplp.sec4.2.testbed" => testbed,
        "tcplp.sec8.rtts" => round_trips,
        "tcplp.sec8.2.2.loss-envelope" => envelope,
        _ => return None,
    })
}

fn large_mss(t: &Table<'_>) -> Option<Finding> {
    let gain = |change: &str| t.mean(&format!("mss_frames=5{change}"), "gain");
    let plain = gain("")?;
    let compared = format!(
        "no host cost; with 2 ms a frame {:.2}, with 28 octets more of headers {:.2}, with one \
         segment at a time {:.2}",
        gain(" host_cost=2ms")?,
        gain(" octets=28 host_cost=2ms")?,
        gain(" window=1 host_cost=2ms")?
    );
    Bounds::default().at_least("ratio", plain, 3.0).found(plain, compared)
}

/// Best length of a segment, in frames, at increasing rates of lost frames.
fn mss_choice(t: &Table<'_>) -> Option<Finding> {
    let best = |loss: u32| {
        let prefix = format!("choice frame_loss={loss} ");
        let rows = t.all("goodput").filter(|row| row.label.starts_with(&prefix));
        rows.max_by(|a, b| a.mean.total_cmp(&b.mean)).map(|row| row.x)
    };
    let [none, ten, twenty, thirty] = [best(0)?, best(10)?, best(20)?, best(30)?];
    let compared = format!(
        "frames of the best segment at 30 % of frames lost; 20 % {twenty}, 10 % {ten}, none {none}"
    );
    let shrinks = none >= ten && ten >= twenty && twenty >= thirty;
    Bounds::default()
        .is(shrinks, "it does not shrink")
        .at_most("frames at 30 %", thirty, 3.0)
        .at_least("frames without loss", none, 5.0)
        .found(thirty, compared)
}

fn retry_delay(t: &Table<'_>) -> Option<Finding> {
    let loss = |d: u32, model: &str| t.mean(&format!("retry d_ms={d}{model}"), "segment_loss");
    let mut least = f64::INFINITY;
    let mut compared = Vec::new();
    for (name, model) in [("SINR", ""), ("strict overlap", " overlap=strict")] {
        let (none, forty) = (loss(0, model)?, loss(40, model)?);
        // A tenth of a per cent counts as no loss.
        least = least.min(none / forty.max(0.1));
        compared.push(format!("{name}: {none:.1} % at d = 0, {forty:.2} % at 40 ms"));
    }
    Bounds::default().at_least("ratio", least, 3.0).found(least, compared.join("; "))
}

fn testbed(t: &Table<'_>) -> Option<Finding> {
    let hops: Vec<f64> = t.all("hops").map(|row| row.mean).collect();
    let most = hops.iter().copied().reduce(f64::max)?;
    let near = hops.iter().all(|hops| (3.0..=5.0).contains(hops));
    let loss = |hour: u32| t.mean(&format!("loss hour={hour} frames=3"), "segment_loss");
    let (night, work) = (loss(2)?, loss(11)?);
    let compared = format!(
        "hops to the farthest leaf; one-way loss {night:.1} % at 2:00, {work:.1} % at 11:00"
    );
    // Negligible interference would not be the paper's.
    Bounds::default()
        .is(near && hops.len() == 4 && most == 5.0, "four leaves three to five hops away")
        .below("% lost at night", night, 1.0)
        .above("% lost at work", work, 5.0)
        .found(most, compared)
}

fn round_trips(t: &Table<'_>) -> Option<Finding> {
    let at = |point: &str| t.mean(&format!("rtt {point}"), "rtt_in_mesh");
    let (alone, slow) = (at("batch=1")?, at("batch=1 host_cost=2ms")?);
    let batch = at("batch=64")?;
    let range = (100.0, 300.0);
    let compared = format!(
        "single readings, within the mesh; with 2 ms of CPU a frame {slow:.0} ms; in batches, \
         where a window waits for itself, {batch:.0} ms; outside 12 ms"
    );
    Bounds::default()
        .within("ms", alone, range)
        .within("ms with 2 ms a frame", slow, range)
        .found(alone, compared)
}

/// Exceptional loss by TCPlp §8.2.2, in per cent.
const EXCEPTIONAL: f64 = 15.0;

fn envelope(t: &Table<'_>) -> Option<Finding> {
    let worst = |frames: u32| {
        let suffix = format!("frames={frames}");
        let rows = t.all("segment_loss").filter(|row| row.label.ends_with(&suffix));
        rows.max_by(|a, b| a.mean.total_cmp(&b.mean))
    };
    let (one, three) = (worst(1)?, worst(3)?);
    let compared = format!(
        "of packets of three frames, worst at {}; of one frame {:.1} %",
        three.label, one.mean
    );
    Bounds::default().at_most("%", three.mean, EXCEPTIONAL).found(three.mean, compared)
}

#[cfg(test)]
mod tests {
    use super::super::sample::{holds, row};
    use kinglet_sweep::row::Row;

    fn context(id: &str, rows: Vec<Row>) -> Option<bool> {
        holds("tcplp-context", id, rows)
    }

    #[test]
    fn a_gain_of_three_is_large_and_one_of_two_is_not() {
        let of = |gain| {
            let changes =
                ["", " host_cost=2ms", " octets=28 host_cost=2ms", " window=1 host_cost=2ms"];
            let rows = changes.map(|change| row(&format!("mss_frames=5{change}"), "gain", gain));
            context("tcplp.table1.large-mss", rows.into())
        };
        assert_eq!((of(3.5), of(2.0)), (Some(true), Some(false)));
    }

    #[test]
    fn long_segments_that_are_best_under_loss_fail() {
        let of = |best_at_30: f64| {
            let mut rows = Vec::new();
            for (loss, best) in [(0, 8.0), (10, 5.0), (20, 3.0), (30, best_at_30)] {
                for frames in [2.0, 3.0, 5.0, 8.0] {
                    let kbps = if frames == best { 9.0 } else { 5.0 };
                    let label = format!("choice frame_loss={loss} mss_frames={frames}");
                    rows.push(Row { x: frames, ..row(&label, "goodput", kbps) });
                }
            }
            context("tcplp.sec6.1.mss-choice", rows)
        };
        assert_eq!((of(2.0), of(8.0)), (Some(true), Some(false)));
    }

    #[test]
    fn a_delay_that_saves_nothing_under_one_model_fails() {
        let of = |strict| {
            let rows = vec![
                row("retry d_ms=0", "segment_loss", 6.0),
                row("retry d_ms=40", "segment_loss", 1.0),
                row("retry d_ms=0 overlap=strict", "segment_loss", 6.0),
                row("retry d_ms=40 overlap=strict", "segment_loss", strict),
            ];
            context("tcplp.table1.retry-delay", rows)
        };
        assert_eq!((of(1.0), of(4.0)), (Some(true), Some(false)));
    }

    #[test]
    fn a_testbed_without_depth_or_interference_fails() {
        let of = |hops, work| {
            let mut rows: Vec<Row> = [3.0, 3.0, 5.0, hops]
                .into_iter()
                .zip(["leaf=11", "leaf=12", "leaf=13", "leaf=14"])
                .map(|(hops, leaf)| row(leaf, "hops", hops))
                .collect();
            rows.push(row("loss hour=2 frames=3", "segment_loss", 0.0));
            rows.push(row("loss hour=11 frames=3", "segment_loss", work));
            context("tcplp.sec4.2.testbed", rows)
        };
        assert_eq!([of(5.0, 9.0), of(6.0, 9.0), of(5.0, 0.0)], [true, false, false].map(Some));
    }

    #[test]
    fn round_trips_and_losses_beyond_the_papers_fail() {
        let rtt = |ms| {
            let points = ["batch=1", "batch=1 host_cost=2ms", "batch=64"];
            let rows = points.map(|point| row(&format!("rtt {point}"), "rtt_in_mesh", ms));
            context("tcplp.sec8.rtts", rows.into())
        };
        assert_eq!([200.0, 50.0, 400.0].map(rtt), [true, false, false].map(Some));
        let loss = |percent| {
            let rows = vec![
                row("loss hour=11 frames=1", "segment_loss", 3.0),
                row("loss hour=11 frames=3", "segment_loss", percent),
            ];
            context("tcplp.sec8.2.2.loss-envelope", rows)
        };
        assert_eq!((loss(15.0), loss(16.0)), (Some(true), Some(false)));
    }
}

//! Tests of what flows leave to each other, and of sensors under load.

use super::{Finding, Table, Test, found, model};

/// The test of the claim with this id.
pub(super) fn test_of(id: &str) -> Option<Test> {
    Some(match id {
        "kinglet.line-fairness" => line,
        "kinglet.grid-31" => grid,
        "kinglet.load" => load,
        _ => return model::test_of(id),
    })
}

const MODELS: [&str; 2] = ["", " overlap=strict"];
/// Of what a flow had if all had the same time on the air; in per cent.
const LEAST_SHARE: f64 = 100.0 / 3.0;
/// Between the two directions.
const MOST_APART: f64 = 2.0;

fn line(t: &Table<'_>) -> Option<Finding> {
    let mut least = (f64::INFINITY, String::new());
    let mut apart: f64 = 0.0;
    for model in MODELS {
        for sources in ["all", "1,4"] {
            let label = format!("sources={sources}{model}");
            let share = t.mean(&label, "least_share")?;
            if share < least.0 {
                least = (share, label);
            }
        }
        let ways = ["goodput_first", "goodput_second"];
        let [up, down] = ways.map(|way| t.mean(&format!("sources=2 both-ways{model}"), way));
        let ratio = up? / down?;
        apart = apart.max(ratio).max(1.0 / ratio);
    }
    let compared = format!("least at {}; both ways over two hops {apart:.2} : 1", least.1);
    found(least.0, least.0 >= LEAST_SHARE && apart <= MOST_APART, compared)
}

fn grid(t: &Table<'_>) -> Option<Finding> {
    let mine = |label: &str| label.starts_with("grid") && label.ends_with("hops<=3");
    let rows = |metric: &'static str| t.all(metric).filter(move |r| mine(&r.label)).map(|r| r.mean);
    let sum = rows("goodput_sum").reduce(f64::min)?;
    let fairness = rows("fairness").reduce(f64::min)?;
    let starved = rows("starved").reduce(f64::max)?;
    let compared = format!(
        "least sum of the drawings; Jain's index {fairness:.1} % at least, {starved:.1} flows \
         starved at most"
    );
    found(sum, sum >= 300.0 && fairness >= 50.0 && starved == 0.0, compared)
}

fn load(t: &Table<'_>) -> Option<Finding> {
    let mut least = (f64::INFINITY, String::new());
    let mut radio: f64 = 0.0;
    for paper in t.all("reliability_least") {
        let Some(rate) = paper.label.strip_prefix("tcp ") else { continue };
        let on = t.mean(&paper.label, "radio_duty_cycle")?;
        for way in ["kinglet tcp", "kinglet tcp host=linux"] {
            let label = format!("{way} {rate}");
            let ours = t.row(&label, "reliability_least")?;
            // Seeds differ by more than the settings do where both lose next to nothing.
            let noise = ours.ci95.unwrap_or(0.0).min(paper.ci95.unwrap_or(0.0));
            let more = ours.mean + noise - paper.mean;
            radio = radio.max(t.mean(&label, "radio_duty_cycle")? / on);
            if more < least.0 {
                least = (more, label);
            }
        }
    }
    let compared = format!("least at {}; radio on for {radio:.2} times as long", least.1);
    found(least.0, least.0 >= 0.0 && radio <= 1.0, compared)
}

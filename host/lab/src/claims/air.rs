//! Tests of the claims about the simulated medium.

use super::bounds::Bounds;
use super::{Finding, Table, Test};
use kinglet_sweep::row::Row;

/// Test of the claim with this id.
pub(super) fn test_of(id: &str) -> Option<Test> {
    Some(match id {
        "kinglet.air-csma" => csma,
        "kinglet.air-hidden" => hidden,
        "kinglet.air-per" => losses,
        "kinglet.air-energy" => energy,
        "kinglet.air-spacing" => spacing,
        _ => return None,
    })
}

/// Distance of a row from the one with `suffix` after its metric: in per cent of the latter, or in
/// percentage points if both are shares.
fn apart(t: &Table<'_>, row: &Row, suffix: &str) -> Option<f64> {
    let reference = t.mean(&row.label, &format!("{}{suffix}", row.metric))?;
    Some(match row.unit.as_str() {
        "%" => (row.mean - reference).abs(),
        _ => (row.mean / reference - 1.0).abs() * 100.0,
    })
}

/// Greatest distance, number of distances, and label of the greatest.
fn worst<'a>(
    t: &Table<'_>,
    rows: impl Iterator<Item = &'a Row>,
    suffix: &str,
) -> Option<(f64, usize, String)> {
    let (mut most, mut count, mut place) = (0.0, 0, String::new());
    for row in rows {
        count += 1;
        let distance = apart(t, row, suffix)?;
        if distance >= most {
            (most, place) = (distance, format!("{} at {}", row.metric, row.label));
        }
    }
    (count > 0).then_some((most, count, place))
}

fn csma(t: &Table<'_>) -> Option<Finding> {
    let metrics =
        ["frames_acked", "unacknowledged", "access_failures", "attempts_per_frame", "frame_cycle"];
    let rows = metrics.into_iter().flat_map(|metric| t.all(metric));
    let (most, count, place) = worst(t, rows.filter(|row| row.label.contains(" n=")), "_model")?;
    let single = t.mean("radio=standard psdu=60 n=1", "frames_acked")?;
    // 640 + 1120 + 128 + 192 + 2112 + 192 + 352 us.
    let closed = 1e6 / 4_736.0;
    let compared = format!(
        "{count} figures, most in {place}; one sender of 60 octets {single:.1} frames/s, by \
         formula {closed:.1}"
    );
    Bounds::default()
        .at_most("most apart by", most, 2.0)
        .at_most("one sender off the formula by", (single / closed - 1.0).abs(), 0.005)
        .found(most, compared)
}

fn hidden(t: &Table<'_>) -> Option<Finding> {
    let (mut most, mut compared): (f64, Vec<String>) = (0.0, Vec::new());
    for name in ["frames_acked_of_first", "frames_acked_of_second"] {
        for row in t.all(name) {
            let model = t.mean(&row.label, &format!("{name}_model"))?;
            // Two per cent, or two frames per second if that is more.
            most = most.max((row.mean - model).abs() / (model * 0.02).max(2.0));
        }
    }
    for gap_db in [0, 2, 6] {
        let label = format!("radio=standard hidden gap_db={gap_db}");
        let of = |name: &str| t.mean(&label, &format!("frames_acked_of_{name}"));
        compared.push(format!("{gap_db} dB {:.1} and {:.1}", of("first")?, of("second")?));
    }
    let compared =
        format!("of what is allowed at most; ideal receiver, frames/s: {}", compared.join(", "));
    Bounds::default().at_most("most of what is allowed", most, 1.0).found(most * 100.0, compared)
}

fn losses(t: &Table<'_>) -> Option<Finding> {
    let (most, count, place) = worst(t, t.all("frame_loss"), "_by_formula")?;
    Bounds::default()
        .at_most("points", most, 2.0)
        .found(most, format!("{count} ratios, most in {place}"))
}

fn energy(t: &Table<'_>) -> Option<Finding> {
    let rows = ["radio_on_per_poll", "energy_per_poll"].into_iter().flat_map(|m| t.all(m));
    let (most, count, place) = worst(t, rows, "_by_hand")?;
    let on =
        |radio: &str, how: &str| t.mean(&format!("radio={radio} poll {how}"), "radio_on_per_poll");
    let compared = format!(
        "{count} figures, most in {place}; radio time plain and secured: at86rf233 {:.0} and {:.0} \
         us, nrf52840 {:.0} and {:.0} us",
        on("at86rf233", "plain")?,
        on("at86rf233", "secured")?,
        on("nrf52840", "plain")?,
        on("nrf52840", "secured")?
    );
    Bounds::default().at_most("per cent", most, 0.1).found(most, compared)
}

fn spacing(t: &Table<'_>) -> Option<Finding> {
    let sum = |metric: &str| t.all(metric).map(|row| row.mean).sum::<f64>();
    let broken = sum("rules_broken");
    let counts = ["frames_checked", "acks_checked", "assessments_checked", "backoffs_checked"];
    let [frames, acks, assessments, backoffs] = counts.map(sum);
    let silent = t.all("frames_checked").find(|row| row.mean == 0.0);
    let enough = [frames, acks, assessments, backoffs].into_iter().all(|count| count > 10_000.0);
    let mut compared = format!(
        "in {frames:.0} frames, {acks:.0} acknowledgements, {assessments:.0} assessments, \
         {backoffs:.0} backoffs of {} experiments",
        t.all("frames_checked").count()
    );
    if let Some(row) = silent {
        compared.push_str(&format!("; nothing was sent in {}", row.label));
    }
    if let Some(example) = t.all("example").next() {
        compared.push_str(&format!("; {}", example.label));
    }
    Bounds::default()
        .at_most("rules broken", broken, 0.0)
        .is(enough, "ten thousand of each are checked")
        .is(silent.is_none(), "something is sent in every experiment")
        .found(broken, compared)
}

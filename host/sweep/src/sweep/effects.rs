//! Effects of the fields of a sweep on one of its columns: main effects, pairwise interactions, and
//! the best combinations.

use super::plan::Plan;
use super::record::Finished;
use crate::chart::{Bars, Figure};
use crate::effects::{Effects, Run};
use kinglet_network::table::unit;
use kinglet_scenario::nearest;
use serde::Serialize;
use std::collections::BTreeMap;

/// Number of best combinations.
const BEST: usize = 5;

/// Effects of the fields of a sweep.
#[derive(Clone, Debug, Serialize)]
pub struct FieldEffects {
    /// The column that is explained.
    pub column: String,
    /// Its unit; empty for counts.
    pub unit: &'static str,
    /// Effects over all rows, and over the rows of each group, if there are groups.
    pub groups: Vec<Group>,
}

/// Rows that are analysed separately.
#[derive(Clone, Debug, Serialize)]
pub struct Group {
    /// The column that defines the groups, with its rounded value; `None` for all rows.
    pub of: Option<(String, i64)>,
    /// Number of its runs.
    pub runs: usize,
    /// Each field with more than one value, by decreasing share of the variance.
    pub fields: Vec<FieldEffect>,
    /// Pairs of fields with the share of the variance that they explain beyond their main effects,
    /// in per cent, by decreasing share.
    pub pairs: Vec<(String, String, f64)>,
    /// The best combinations: fields with their values, and the column's mean.
    pub best: Vec<(Vec<(String, String)>, f64)>,
}

/// Effect of one field.
#[derive(Clone, Debug, Serialize)]
pub struct FieldEffect {
    /// Its name.
    pub field: String,
    /// Share of the variance of the column's logarithm that it explains alone, in per cent.
    pub share: f64,
    /// Each value, the difference of the column from the overall mean with it, in per cent, and
    /// half of its 95 % interval.
    pub values: Vec<(String, f64, f64)>,
}

impl FieldEffects {
    /// Analyses the finished runs of `plan` for the numbers in `column`; optionally in groups of
    /// rows with the same rounded value in the column `by`. Means are taken over the rows of a run.
    /// Effects are those of the logarithm, so that they are ratios.
    ///
    /// # Errors
    /// A column that does not exist, or that has no positive numbers.
    pub fn of(
        plan: &Plan,
        finished: &Finished,
        column: &str,
        by: Option<&str>,
    ) -> Result<Self, String> {
        for name in [Some(column), by].into_iter().flatten() {
            has_numbers(plan, finished, name)?;
        }
        let mut kinds = vec![None];
        if let Some(by) = by {
            kinds.extend(kinds_of(plan, finished, by).into_iter().map(|kind| Some((by, kind))));
        }
        let groups = kinds.into_iter().filter_map(|kind| group(plan, finished, column, kind));
        let groups: Vec<Group> = groups.collect();
        if groups.is_empty() {
            return Err(format!(
                "`{column}`: too few runs with a value above zero to estimate \
                                effects"
            ));
        }
        Ok(FieldEffects { column: column.to_owned(), unit: unit(column), groups })
    }

    /// The shares of the variance of the column, over all rows.
    pub fn figure(&self) -> Option<Figure> {
        let group = self.groups.first()?;
        let alone = group.fields.iter().map(|it| (it.field.clone(), it.share));
        let both = group.pairs.iter().map(|(a, b, share)| (format!("{a} and {b}"), *share));
        let mut bars: Vec<_> = alone.chain(both).map(|(name, share)| (name, vec![share])).collect();
        bars.sort_by(|a, b| b.1[0].total_cmp(&a.1[0]));
        bars.truncate(12);
        Some(Figure::Bars(Bars {
            title: format!("Variance of {} by field", self.column),
            unit: "% of the variance of its logarithm".to_owned(),
            parts: vec!["share".to_owned()],
            bars,
            marks: Vec::new(),
        }))
    }
}

/// Checks that some row has a number in the column.
fn has_numbers(plan: &Plan, finished: &Finished, column: &str) -> Result<(), String> {
    let mut rows = plan.runs().iter().filter_map(|run| finished.get(&run.key)).flatten();
    if rows.any(|row| row.get(column).is_some_and(serde_json::Value::is_number)) {
        return Ok(());
    }
    let rows = plan.runs().iter().filter_map(|run| finished.get(&run.key)).flatten();
    let mut names: Vec<&str> = rows.flat_map(|row| row.keys().map(String::as_str)).collect();
    names.sort_unstable();
    names.dedup();
    let meant = nearest(column, &names).map(|name| format!("; did you mean `{name}`?"));
    Err(format!("`{column}` is not a column of numbers{}", meant.unwrap_or_default()))
}

/// The rounded values of a column.
fn kinds_of(plan: &Plan, finished: &Finished, column: &str) -> Vec<i64> {
    let rows = plan.runs().iter().filter_map(|run| finished.get(&run.key)).flatten();
    let values = rows.filter_map(|row| row.get(column)?.as_f64());
    let mut kinds: Vec<i64> = values.map(|value| value.round() as i64).collect();
    kinds.sort_unstable();
    kinds.dedup();
    kinds
}

fn group(
    plan: &Plan,
    finished: &Finished,
    column: &str,
    kind: Option<(&str, i64)>,
) -> Option<Group> {
    let runs = runs(plan, finished, column, kind);
    let names = plan.sweep().fields();
    let counts = plan.sweep().counts();
    let effects = Effects::of(&runs, &counts)?;
    let text = |field: usize, level: usize| plan.sweep().value(field, level);
    // A field with one value has no effect.
    let varied: Vec<usize> = (0..names.len()).filter(|field| counts[*field] > 1).collect();
    let mut fields: Vec<FieldEffect> = varied
        .iter()
        .map(|&field| FieldEffect {
            field: names[field].clone(),
            share: effects.share(field),
            values: (0..counts[field])
                .filter(|level| effects.count(field, *level) > 0)
                .map(|level| {
                    let (effect, half) = effects.main(field, level);
                    (text(field, level), effect, half)
                })
                .collect(),
        })
        .collect();
    fields.sort_by(|a, b| b.share.total_cmp(&a.share));
    let mut pairs = Vec::new();
    for (place, &a) in varied.iter().enumerate() {
        for &b in &varied[place + 1..] {
            pairs.push((names[a].clone(), names[b].clone(), effects.shared((a, b))));
        }
    }
    pairs.sort_by(|a, b| b.2.total_cmp(&a.2));
    let best = best(&runs).into_iter().map(|(levels, mean)| {
        let said = varied.iter().map(|&field| (names[field].clone(), text(field, levels[field])));
        (said.collect(), mean)
    });
    let of = kind.map(|(column, kind)| (column.to_owned(), kind));
    Some(Group { of, runs: runs.len(), fields, pairs, best: best.collect() })
}

/// The runs, each with the mean of the column over its rows.
fn runs(plan: &Plan, finished: &Finished, column: &str, kind: Option<(&str, i64)>) -> Vec<Run> {
    let of_run = |run: &super::Run| {
        let rows = finished.get(&run.key)?.iter().filter(|row| {
            kind.is_none_or(|(by, kind)| {
                row.get(by).and_then(|v| v.as_f64()).is_some_and(|v| v.round() as i64 == kind)
            })
        });
        let values: Vec<f64> = rows.filter_map(|row| row.get(column)?.as_f64()).collect();
        let value = values.iter().sum::<f64>() / values.len() as f64;
        (!values.is_empty()).then(|| Run { levels: plan.sweep().levels(run.point), value })
    };
    plan.runs().iter().filter_map(of_run).collect()
}

/// The combinations with the highest means over their runs.
fn best(runs: &[Run]) -> Vec<(Vec<usize>, f64)> {
    let mut sums: BTreeMap<&[usize], (f64, f64)> = BTreeMap::new();
    for run in runs {
        let (sum, count) = sums.entry(&run.levels).or_default();
        *sum += run.value;
        *count += 1.0;
    }
    // A combination with fewer seeds than others may owe its mean to chance.
    let most = sums.values().map(|(_, count)| *count).fold(0.0, f64::max);
    let mut means: Vec<(Vec<usize>, f64)> = sums
        .into_iter()
        .filter(|(_, (_, count))| *count * 2.0 > most)
        .map(|(levels, (sum, count))| (levels.to_vec(), sum / count))
        .collect();
    means.sort_by(|a, b| b.1.total_cmp(&a.1));
    means.truncate(BEST);
    means
}

#[cfg(test)]
mod tests {
    use super::super::Sweep;
    use super::*;
    use kinglet_network::table::Record;
    use serde_json::json;

    fn plan() -> Plan {
        let text = "seeds = [1, 2]\n[fields]\ntcp.nagle = [true, false]\nmac.max_be = [4, 5, 6]\n\
                    [scenario]\ntopology = { line = { hops = 1 } }\n";
        Plan::new(Sweep::from_toml("s.toml".as_ref(), text).expect("a sweep")).expect("a plan")
    }

    /// Without Nagle the value doubles, over two hops it halves; the exponent has no effect.
    fn finished(plan: &Plan) -> Finished {
        let rows = |run: &super::super::Run| -> Vec<Record> {
            let twice = if plan.sweep().levels(run.point)[0] == 1 { 2.0 } else { 1.0 };
            let noise = if run.seed == 1 { 0.98 } else { 1.02 };
            [1.2, 1.9]
                .iter()
                .map(|hops: &f64| {
                    let row = json!({"hops": hops, "kbps": 10.0 * twice * noise / hops.round()});
                    row.as_object().cloned().unwrap_or_default()
                })
                .collect()
        };
        plan.runs().iter().map(|run| (run.key.clone(), rows(run))).collect()
    }

    #[test]
    fn large_effects_come_first_and_groups_stand_by_themselves() {
        let plan = plan();
        let effects =
            FieldEffects::of(&plan, &finished(&plan), "kbps", Some("hops")).expect("effects");
        let groups: Vec<_> =
            effects.groups.iter().map(|it| it.of.as_ref().map(|of| of.1)).collect();
        assert_eq!(groups, [None, Some(1), Some(2)]);
        for (group, mean) in effects.groups.iter().zip([15.0, 20.0, 10.0]) {
            assert_eq!((group.runs, group.fields[0].field.as_str()), (12, "tcp.nagle"));
            assert!(group.fields[0].share > 99.0 && group.fields[1].share < 1.0);
            let [(_, with, _), (name, without, _)] = &group.fields[0].values[..] else { panic!() };
            assert_eq!(name, "false");
            assert!(((1.0 + without / 100.0) / (1.0 + with / 100.0) - 2.0).abs() < 1e-9);
            assert_eq!(group.best[0].0[0].1, "false");
            assert!((group.best[0].1 - mean).abs() < 1e-9, "{:?}", group.best[0]);
        }
        assert!(effects.figure().is_some());
    }

    #[test]
    fn an_unknown_column_is_reported_with_the_nearest_name() {
        let plan = plan();
        let error =
            FieldEffects::of(&plan, &finished(&plan), "kpbs", None).expect_err("no such column");
        assert_eq!(error, "`kpbs` is not a column of numbers; did you mean `kbps`?");
        let error = FieldEffects::of(&plan, &Finished::new(), "kbps", None).expect_err("nothing");
        assert_eq!(error, "`kbps` is not a column of numbers");
    }
}

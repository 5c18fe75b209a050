//! The folders that are part of the program.

use super::{Definition, Folder, Text};
use crate::chart::Figure;
use crate::experiment::{Effort, Experiment, ExperimentResult, Point, Rows};
use kinglet_scenario::ScenarioError;
use std::sync::LazyLock;

/// The definition of an experiment, or the reason why it has none.
pub(super) type Held = LazyLock<Result<Definition, ScenarioError>>;
/// An experiment with its definition.
type Listed = (Experiment, &'static Held);

/// Lists the folders with these names. Each needs `experiment.toml`, `plan.toml` and `README.md`.
macro_rules! folders {
    ($($id:literal)*) => {
        fn listed() -> Vec<Listed> {
            vec![$({
                static HELD: Held = LazyLock::new(|| {
                    Definition::new(Folder {
                        path: concat!("experiments/", $id),
                        experiment: embedded!($id, "experiment.toml"),
                        base: embedded!($id, "plan.toml"),
                        readme: embedded!($id, "README.md"),
                    })
                });
                let experiment = experiment(
                    $id,
                    &HELD,
                    |effort| points(&HELD, effort),
                    |rows| refine(&HELD, rows),
                    |result| figures(&HELD, result),
                );
                (experiment, &HELD)
            }),*]
        }
    };
}

/// Text of a file in the folder of an experiment.
macro_rules! embedded {
    ($id:literal, $file:literal) => {
        include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../experiments/", $id, "/", $file))
    };
}

folders! {
    "bf-burst-length"
    "bf-cross"
    "bf-fragmentation"
    "bf-idle"
    "bf-interference"
    "bf-mechanisms"
    "bf-power"
    "bf-timeline"
    "bf-transports"
    "bf-two-bulks"
    "design-acks"
    "design-backoff"
    "design-bandwidth"
    "design-defaults"
    "design-factorial"
    "design-link-failure"
    "design-metric"
    "design-multiflow"
    "design-retries"
    "design-rto"
    "design-window"
    "kinglet-asleep"
    "kinglet-duty-cycles"
    "kinglet-fair"
    "kinglet-hops"
    "kinglet-load"
    "kinglet-mesh"
    "kinglet-page"
    "kinglet-sleep"
    "rpl-bugs"
    "rpl-control"
    "rpl-etx"
    "rpl-fairness"
    "rpl-queue-loss"
    "rpl-rto"
    "rpl-seven-hops"
    "rpl-tcp-etx"
    "rpl-throughput"
    "rpl-udp-loss"
    "tcplp-batching"
    "tcplp-buffer"
    "tcplp-context"
    "tcplp-cwnd"
    "tcplp-day"
    "tcplp-deaf"
    "tcplp-flows"
    "tcplp-hops"
    "tcplp-latency"
    "tcplp-loss"
    "tcplp-model"
    "tcplp-mss"
    "tcplp-outages"
    "tcplp-queue"
    "tcplp-red"
    "tcplp-response-size"
    "tcplp-retry-delay"
    "tcplp-selfclock"
    "tcplp-timeouts"
}

static LISTED: LazyLock<Vec<Listed>> = LazyLock::new(listed);

/// All experiments that are folders.
pub fn experiments() -> impl Iterator<Item = Experiment> {
    LISTED.iter().map(|(experiment, _)| *experiment)
}

/// Checks the files of all folders, and the scenarios of the experiments with these ids.
///
/// # Errors
/// The first error with file, line and what would be right.
pub fn check(ids: &[&str]) -> Result<(), ScenarioError> {
    for (experiment, held) in LISTED.iter() {
        let definition = held.as_ref().map_err(Clone::clone)?;
        if ids.contains(&experiment.id) {
            definition.points(Effort::Full)?;
            definition.points(Effort::Quick)?;
        }
    }
    Ok(())
}

/// The definition of the experiment with this id, if it is a folder without errors.
pub fn definition(id: &str) -> Option<&'static Definition> {
    let (_, held) = LISTED.iter().find(|(experiment, _)| experiment.id == id)?;
    held.as_ref().ok()
}

fn experiment(
    id: &'static str,
    held: &'static Held,
    plan: fn(Effort) -> Vec<Point>,
    refine: fn(&mut Rows),
    figures: fn(&ExperimentResult) -> Vec<Figure>,
) -> Experiment {
    let Ok(definition) = &**held else {
        let (title, source, question, method, main) = ("", "", "", "", "");
        let threats = &[];
        return Experiment {
            id,
            title,
            source,
            question,
            method,
            threats,
            main,
            plan,
            refine,
            figures,
        };
    };
    let Text { title, question, method, threats } = definition.readme;
    let main = definition.main().map_or("", |point| &point.name);
    let source = &definition.file.source;
    Experiment { id, title, source, question, method, threats, main, plan, refine, figures }
}

/// The points of a folder without errors.
fn points(held: &Held, effort: Effort) -> Vec<Point> {
    let points = held.as_ref().ok().map(|it| it.points(effort));
    points.and_then(Result::ok).unwrap_or_default()
}

fn refine(held: &Held, rows: &mut Rows) {
    if let Ok(definition) = &**held {
        definition.refine(rows);
    }
}

fn figures(held: &Held, result: &ExperimentResult) -> Vec<Figure> {
    held.as_ref().map_or_else(|_| Vec::new(), |it| it.figures(result))
}

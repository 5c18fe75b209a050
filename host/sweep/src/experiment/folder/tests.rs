//! Tests of the folders, and of errors in their files.

use super::*;
use crate::experiment::{Experiment, ExperimentResult, Model};
use crate::row::Row;
use recorded::{ROOT, recorded};
use std::fs;

#[path = "recorded.rs"]
mod recorded;

fn find(id: &str) -> Option<Experiment> {
    experiments().find(|experiment| experiment.id == id)
}

/// Ids of all experiments that are folders.
fn ids() -> Vec<&'static str> {
    experiments().map(|experiment| experiment.id).collect()
}

#[test]
fn every_folder_with_a_definition_is_part_of_the_program() {
    check(&ids()).unwrap_or_else(|error| panic!("{error}"));
    for entry in fs::read_dir(ROOT).expect("the folder of all experiments") {
        let path = entry.expect("a folder").path();
        let name = path.file_name().and_then(|name| name.to_str()).expect("a name");
        assert_eq!(path.join("experiment.toml").exists(), ids().contains(&name), "{name}");
    }
}

#[test]
fn the_points_of_the_short_form_are_points_of_the_complete_one() {
    for id in ids() {
        let definition = definition(id).expect("it has no error");
        for point in definition.planned(Effort::Quick) {
            let same = |full: &&Planned| (&full.at, &full.name) == (&point.at, &point.name);
            assert!(definition.planned(Effort::Full).iter().any(|it| same(&it)), "{}", point.name);
        }
        for (index, point) in definition.full.iter().enumerate() {
            let twice = definition.full[..index].iter().find(|it| it.at == point.at);
            assert!(
                twice.is_none(),
                "{id}: {} has the fields of {}",
                point.name,
                twice.unwrap().name
            );
        }
    }
}

/// The measured part of the recorded results leads to the recorded bounds, computed columns and
/// figures of the paper.
#[test]
fn recorded_results_are_completed_as_recorded() {
    for id in ids() {
        let definition = definition(id).expect("it has no error");
        let computed: Vec<&str> = definition
            .file
            .computed
            .iter()
            .flat_map(|it| it.columns.iter().map(|column| column.name.get_ref().as_str()))
            .collect();
        let recorded = recorded(id).rows;
        let measured = recorded.iter().filter(|row| !computed.contains(&&*row.metric));
        let measured = measured.map(|row| Row { bound: None, paper: None, ..row.clone() });
        let mut rows = Rows { all: measured.collect(), ..Rows::default() };
        definition.refine(&mut rows);
        // The others belong to no point, so that they have no fields.
        rows.all.retain(|row| definition.full.iter().any(|point| point.name == row.label));
        assert_eq!(rows.all.len(), recorded.len(), "{id}");
        for (row, expected) in rows.all.iter().zip(&recorded) {
            let row = Row { x: 0.0, series: "", ..row.clone() };
            assert_eq!(row, *expected, "{id}");
        }
    }
}

/// A bound whose direction is turned around changes what the recorded results lead to.
#[test]
fn every_bound_decides() {
    for id in ids() {
        let definition = definition(id).expect("it has no error");
        let rows = recorded(id).rows;
        for claim in definition.claims().filter(|claim| claim.tested) {
            let judged = match definition.is_for_every_model(claim.id) {
                false => definition.judge(claim.id, &rows, Part::Whole),
                true => definition.judge(claim.id, &rows, Part::Under(Model::Sinr)),
            };
            for (what, value, comparison) in judged.expect("all points are there").bounds {
                let (met, turned) = (comparison.is_met(value), comparison.turned().is_met(value));
                let is_open = match comparison {
                    // A value at its bound meets both, which no result can prevent.
                    Comparison::AtLeast(bound) | Comparison::AtMost(bound) => value == bound,
                    // The text of an unmet range has both of its ends.
                    Comparison::Within(..) => !met,
                    _ => false,
                };
                assert!(met != turned || is_open, "{}: {what}", claim.id);
            }
        }
    }
}

/// The definition of tcplp-mss with `old` replaced by `new`, and the begin of an error at `at`,
/// which is part of `new`.
fn altered(old: &str, new: &str, at: &str) -> (Result<Definition, ScenarioError>, String) {
    let read = |name: &str| fs::read_to_string(Path::new(ROOT).join("tcplp-mss").join(name));
    let [experiment, base, readme] =
        ["experiment.toml", "plan.toml", "README.md"].map(|name| read(name).expect("a file"));
    let start = experiment.find(old).unwrap_or_else(|| panic!("{old}"));
    let experiment = experiment.replacen(old, new, 1);
    let before = &experiment[..start + new.find(at).unwrap_or_else(|| panic!("{at}"))];
    let column = before.rsplit('\n').next().expect("a line").chars().count() + 1;
    let line = before.matches('\n').count() + 1;
    let folder = Folder { path: "mine", experiment: &experiment, base: &base, readme: &readme };
    (Definition::new(folder), format!("mine/experiment.toml:{line}:{column}: "))
}

#[test]
fn an_error_names_file_line_and_what_would_be_right() {
    for (old, new, at, message) in [
        (
            "columns = [\"goodput\"",
            "columns = [\"godput\"",
            "\"godput",
            "columns: no such column; did you mean `goodput`?",
        ),
        ("at = { frames = ", "at = { frame = ", "", "frame: no such field; did you mean `frames`?"),
        (
            "\"tcp.mss_frames\"",
            "\"tcp.mss_frame\"",
            "\"",
            "fields.frames: the base scenario has no value of `tcp.mss_frame`; give it there",
        ),
        (
            "direction = \"down\"",
            "direction = \"left\"",
            "\"left",
            "direction: `left` is no case of this field; valid are down, up",
        ),
        ("(frames)\"", "(frames\"", "", "value: not a valid expression: "),
        (
            "(frames)\"",
            "(framse)\"",
            "framse",
            "value: `framse` is no field, column or value; did you mean `frames`?",
        ),
        (
            "column = \"goodput\"",
            "column = \"godput\"",
            "\"godput",
            "column: no column `godput`; did you mean `goodput`?",
        ),
        (
            "[[claim]]\nid = \"tcplp.fig3a",
            "[[claim]]\nd = \"tcplp.fig3a",
            "d =",
            "unknown field `d`",
        ),
        ("at_least = 3", "at_last = 3", "at_last", "unknown field `at_last`, expected one of"),
        (
            "ours = \"five - three\"",
            "ours = \"five - four\"",
            "four",
            "ours: `four` is no field, column or value",
        ),
        (
            "[fields]\n",
            "[fields]\nsharing = { none = {} }\n",
            "{ none",
            "sharing: a column or function has the same name; give the field another",
        ),
        ("{{ three|fixed(2) }} %", "{{ three three }} %", "", "compared: not a valid expression: "),
    ] {
        let (result, place) = altered(old, new, at);
        let error = result.map(|_| ()).expect_err(new).to_string();
        // Where the text of an expression ends is left to its language.
        let place = if at.is_empty() { "mine/experiment.toml:" } else { &place };
        let said = error.starts_with(place) && error.contains(message);
        assert!(said, "{error}\nnot {place}{message}");
    }
}

#[test]
fn a_claim_needs_a_source_and_one_comparison() {
    let (result, _) = altered("where = \"Fig. 3a, §6.1\"\n", "", "");
    let error = result.map(|_| ()).expect_err("no source").to_string();
    assert!(error.contains(": missing field `where`"), "{error}");
    let (result, _) = altered("ours = \"five - three\"\n", "", "");
    let error = result.map(|_| ()).expect_err("nothing is compared").to_string();
    assert!(error.contains("give `ours`, `compared` and a bound, or `tested = false`"), "{error}");
    let (result, _) = altered("at_least = 3", "at_least = 3\nabove = 2", "");
    let error = result.map(|_| ()).expect_err("two comparisons").to_string();
    let expected = "bound: give a `value` and one of at_least, at_most, above, below, within, or";
    assert!(error.contains(expected), "{error}");
}

#[test]
fn a_folder_without_a_main_point_or_a_question_is_refused() {
    let (error, _) = altered("at = { frames = [1, 2, 3, 4, 5,", "at = { frames = [1, 2, 3, 4,", "");
    let error = error.map(|_| ()).expect_err("no point is the base").to_string();
    assert!(error.contains("no point has the default of each field"), "{error}");
    let error = Readme::new(Path::new("mine/README.md"), "# Mine\n\n## Method\n\nNone.\n");
    let error = error.map(|_| ()).expect_err("no question").to_string();
    assert_eq!(
        error,
        "mine/README.md: Question: no section; give one with the heading `## Question`"
    );
}

#[test]
fn the_text_stands_in_the_readme() {
    let experiment = find("tcplp-mss").expect("listed");
    assert_eq!(experiment.title, "Goodput by segment size");
    assert!(experiment.question.starts_with("How many frames should a TCP segment fill"));
    assert!(experiment.method.starts_with("Bulk transfer over one hop"));
    assert!(experiment.threats[1].starts_with("Added loss is independent"));
}

/// Figures of an experiment each of whose points has the value 1 of a column, and its main point
/// with all defaults as well.
fn drawn(id: &'static str, column: &str) -> Vec<Figure> {
    let (experiment, definition) = (find(id).expect("listed"), definition(id).expect("no error"));
    let mut rows = Rows::default();
    for point in definition.planned(Effort::Quick) {
        rows.compute(&point.name, point.curve, point.x, (column, ""), 1.0);
    }
    rows.compute("defaults", super::super::DEFAULTS, 1.0, (column, ""), 1.0);
    let run = |point: Point| (point, kinglet_network::run::RunResult::default());
    let samples = (experiment.plan)(Effort::Quick).into_iter().map(run).collect();
    (experiment.figures)(&ExperimentResult { id, rows: rows.all, samples, seeds: 1 })
}

#[test]
fn a_figure_has_the_chosen_points() {
    let names = |figure: &Figure| match figure {
        Figure::Lines(lines) => lines.series.iter().map(|series| series.name.clone()).collect(),
        Figure::Bars(bars) => bars.bars.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>(),
        other => vec![other.title().to_owned()],
    };
    let polling = ["fixed", "adaptive", "adaptive, Kinglet's TCP", "predictive"];
    let shown: Vec<&str> = polling.into_iter().chain(["beside the plan"]).collect();
    assert_eq!(names(&drawn("tcplp-selfclock", "goodput")[0]), shown);
    let modes =
        ["software, d = 0", "hardware, d = 0", "software, d = 40 ms", "hardware, d = 40 ms"];
    assert_eq!(names(&drawn("tcplp-deaf", "goodput")[0]), modes);
    let bars = drawn("tcplp-timeouts", "timeouts_repair");
    assert_eq!(names(&bars[0]), [0, 10, 20, 40, 60, 100].map(|d| format!("d_ms={d}")));
    let Figure::Bars(bars) = &bars[0] else { panic!("bars") };
    assert_eq!(
        (bars.parts.len(), bars.bars[0].1.as_slice()),
        (5, [0.0, 1.0, 0.0, 0.0, 0.0].as_slice())
    );
    let windows = drawn("tcplp-cwnd", "timeouts");
    let titles = windows.iter().map(Figure::title).collect::<Vec<_>>();
    let window = ["Congestion window, d = 0 ms", "Congestion window, d = 40 ms"];
    assert_eq!(titles, [window[0], window[1], "Timeouts"]);
    let models = drawn("tcplp-model", "goodput_eq1");
    assert!(models.is_empty(), "an overlay alone is no figure");
}

#[test]
fn an_absent_column_and_an_unknown_one_are_told_apart() {
    let definition = definition("tcplp-mss").expect("it has no error");
    let main = definition.main().expect("checked");
    let of = |text: &str| definition.scope(&[], main).number(text);
    assert_eq!(of("goodput()"), Err(Absent::Missing));
    assert_eq!(of("goodput(frames=[1, 2])[0]"), Err(Absent::Missing));
    assert_eq!(of("goodput(frames=values('goodput', frames=[1, 2]))[0]"), Err(Absent::Missing));
    assert_eq!(of("over('frames', 'goodput')|sum"), Err(Absent::Missing));
    assert_eq!(of("every('goodput')|sum"), Err(Absent::Missing));
    assert_eq!(of("1 if has('goodput') else 0"), Ok(0.0));
    for (text, message) in [
        ("goodput(frame=1)", "no field `frame`; did you mean `frames`?"),
        ("bound('godput')", "no column `godput`; did you mean `goodput`?"),
        ("goodput(frames=[1], host=['free'])", "one field can have a list of values"),
        ("values('goodput')", "give a list of values of one field"),
        ("over('frame', 'goodput')", "no field `frame`; did you mean `frames`?"),
        ("every('goodput', frame=1)", "no field `frame`; did you mean `frames`?"),
        ("has('godput')", "no column `godput`; did you mean `goodput`?"),
        ("sharing('strict-overlap', 3)", "no model `strict-overlap`"),
        ("'text'", "yields no number"),
    ] {
        match of(text) {
            Err(Absent::Fault(fault)) => assert!(fault.contains(message), "{fault}"),
            other => panic!("{text}: {other:?}"),
        }
    }
}

#[test]
fn a_claim_is_judged_at_each_of_its_values_and_a_bound_where_its_condition_is_met() {
    let definition = definition("tcplp-buffer").expect("it has no error");
    let judge = |rows: &[Row]| definition.judge("tcplp.sec6.2.bdp", rows, Part::Whole);
    let mut rows = recorded("tcplp-buffer").rows;
    let judged = judge(&rows).expect("all points are there");
    assert_eq!(judged.bounds.len(), 9, "three for each host");
    // One segment is the least buffer: there is none below it.
    let alone =
        |row: &&mut Row| row.label == "buffer_segments=1 downlink" && row.metric == "goodput";
    rows.iter_mut().find(alone).expect("it is recorded").mean *= 10.0;
    assert_eq!(judge(&rows).expect("all points are there").bounds.len(), 8);
}

#[test]
fn a_column_is_listed_over_a_field_and_over_all_points() {
    let definition = definition("tcplp-hops").expect("it has no error");
    let main = definition.main().expect("checked");
    let rows = recorded("tcplp-hops").rows;
    let of = |text: &str| definition.scope(&rows, main).value(text).expect("it is there");
    let [over, listed] = ["over('hops', 'goodput')", "goodput(hops=[1, 2, 3, 4])"].map(of);
    assert_eq!(over, listed);
    let by_model = of("over('hops', 'goodput', model=['sinr-ber', 'strict'])");
    assert_eq!(by_model.get_item_by_index(0).expect("two lists"), over);
    assert_eq!(of("every('goodput', stack='kinglet', hops=2)|length"), 1.into());
    assert_eq!(of("names('goodput', buffer='one', host='measured')|first").to_string(), {
        "hops=3 buffer_segments=1 ack_every=1 host_cost=measured"
    });
    assert!(of("has('goodput', hops=[1, 4])").is_true());
    assert!(!of("has('links_sharing', buffer='one')").is_true());
}

#[test]
fn a_bound_is_judged_where_its_columns_have_values() {
    let definition = definition("design-retries").expect("it has no error");
    let id = "design.fig4b.retries-rtt";
    let mut rows = recorded("design-retries").rows;
    let count = |rows: &[Row]| definition.judge(id, rows, Part::Whole).map(|it| it.bounds.len());
    assert_eq!(count(&rows), Ok(4), "two with each of two windows");
    rows.retain(|row| !row.label.contains(" cwl=4 "));
    assert_eq!(count(&rows), Ok(2));
    let judge = |rows: &[Row]| definition.judge("design.retries.cwl1", rows, Part::Whole);
    rows.retain(|row| !row.label.contains(" cwl=1 "));
    assert_eq!(judge(&rows).map(|_| ()), Err(Absent::Missing));
}

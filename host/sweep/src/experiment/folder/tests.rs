//! Tests of the folders, and of errors in their files.

use super::*;
use crate::experiment::{Experiment, ExperimentResult, Model};
use crate::row::Row;
use kinglet_network::run::{FlowResult, NodeResult, RunResult};
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
    let error = Text::new(Path::new("mine/README.md"), "# Mine\n\n## Method\n\nNone.\n");
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

/// The figures of an experiment whose points have these values of columns, and the paper's figure 7
/// of each.
fn drawn_of(id: &'static str, columns: &[(&str, f64)]) -> Vec<Figure> {
    let (experiment, definition) = (find(id).expect("listed"), definition(id).expect("no error"));
    let mut rows = Rows::default();
    for point in definition.planned(Effort::Full) {
        for (column, value) in columns {
            rows.compute(&point.name, point.curve, point.x, (column, ""), *value).paper = Some(7.0);
        }
    }
    (experiment.figures)(&ExperimentResult { id, rows: rows.all, samples: vec![], seeds: 1 })
}

#[test]
fn a_column_is_drawn_against_another_one_and_beside_the_papers() {
    let figures = drawn_of("kinglet-sleep", &[("latency_median", 5.0), ("radio_duty_cycle", 2.0)]);
    let Figure::Lines(lines) = &figures[0] else { panic!("curves") };
    assert_eq!((lines.series[0].points[0].0, lines.series[0].points[0].1), (2.0, 5.0));
    let none = drawn_of("kinglet-sleep", &[("latency_median", 5.0)]);
    assert!(none.is_empty(), "points without an abscissa are left out");
    let figures = drawn_of("tcplp-day", &[("radio_duty_cycle", 2.0)]);
    let Figure::Bars(bars) = &figures[0] else { panic!("bars") };
    let first: Vec<_> = bars.bars[..2].iter().map(|(name, parts)| (&**name, parts[0])).collect();
    assert_eq!(first, [("tcp", 2.0), ("tcp, the paper", 7.0)]);
    let Figure::Bars(plain) = &figures[1] else { panic!("bars") };
    assert_eq!(plain.bars[1].0, "coap");
}

#[test]
fn samples_are_drawn_as_latencies_and_radio_time() {
    let sampled = |id: &'static str| {
        let experiment = find(id).expect("listed");
        let run = |point: Point| {
            let latencies_ms = Some(vec![20.0, 10.0]);
            let flows = vec![FlowResult { latencies_ms, ..FlowResult::default() }];
            let nodes = (0..15).map(|id| NodeResult { id, ..NodeResult::default() }).collect();
            (point, RunResult { flows, nodes, sim_seconds: 1.0, ..RunResult::default() })
        };
        let samples = (experiment.plan)(Effort::Quick).into_iter().map(run).collect();
        (experiment.figures)(&ExperimentResult { id, rows: vec![], samples, seeds: 1 })
    };
    let latencies = sampled("tcplp-latency");
    let Figure::Lines(lines) = &latencies[0] else { panic!("curves") };
    let names: Vec<&str> = lines.series.iter().map(|series| &*series.name).collect();
    assert_eq!(names, ["HTTP/TCP", "HTTP/TCP, Fast Open", "CoAP"]);
    assert_eq!(lines.series[0].points[0].0, 10.0);
    assert_eq!(latencies.len(), 4);
    let times = sampled("kinglet-sleep");
    let Figure::Bars(bars) = &times[0] else { panic!("bars") };
    assert_eq!(bars.title, "Radio time by cause, fixed: node 11 responds, 12 sends");
    let nodes: Vec<&str> = bars.bars.iter().map(|(name, _)| &**name).collect();
    assert_eq!((nodes, times.len()), (vec!["node 11", "node 12"], 4));
}

#[test]
fn the_points_of_a_design_are_balanced_and_lead_to_effects() {
    let definition = definition("design-factorial").expect("no error");
    let (full, quick) = (definition.planned(Effort::Full), definition.planned(Effort::Quick));
    assert_eq!((full.len(), quick.len()), (2 * (96 + 2), 64 + 2 * 2));
    let design = |point: &&Planned| point.at["pairs"] == "8".into() && point.curve == "static";
    let design: Vec<&Planned> = full.iter().filter(design).collect();
    let levels = ["backoff", "retries", "metric", "acks", "timeout", "window"];
    for (index, a) in levels.iter().enumerate() {
        for b in &levels[..index] {
            let mut met: BTreeMap<(String, String), f64> = BTreeMap::new();
            for point in &design {
                let at = (point.at[*a].to_string(), point.at[*b].to_string());
                *met.entry(at).or_default() += 1.0;
            }
            let even = 96.0 / met.len() as f64;
            assert!(met.values().all(|count| (count - even).abs() <= 1.0), "{a} {b} {met:?}");
        }
    }
    let mut rows = Rows::default();
    for point in &design {
        let value = if point.at["retries"] == 7.into() { 20.0 } else { 10.0 };
        rows.compute(&point.name, point.curve, 0.0, ("goodput", "kb/s"), value);
    }
    definition.refine(&mut rows);
    let of = |label: &str, metric: &str| rows.mean(label, metric).expect("computed");
    assert!((of("static retries", "goodput_variance") - 100.0).abs() < 1e-6);
    assert_eq!(of("static retries", "goodput_best"), 3.0);
    // Four thirds of the least are the mean of the logarithms.
    let more = of("static retries=7", "goodput_effect");
    assert!((more - 100.0 * (2.0_f64.powf(0.75) - 1.0)).abs() < 1e-6, "{more}");
    assert!(of("static retries and window", "goodput_variance").abs() < 1e-6);
    assert_eq!(rows.mean("live retries", "goodput_variance"), None);
    let result =
        ExperimentResult { id: "design-factorial", rows: rows.all, samples: vec![], seeds: 1 };
    let figures = definition.figures(&result);
    let titles: Vec<&str> = figures.iter().map(Figure::title).collect();
    assert_eq!(titles[0], "Variance of goodput by setting, static");
    let Figure::Bars(bars) = &figures[0] else { panic!("bars") };
    assert_eq!((&*bars.bars[0].0, bars.bars.len(), figures.len()), ("static retries", 12, 4));
}

#[test]
fn a_column_says_which_field_it_needs() {
    for (column, needed) in [
        ("reliability", "it needs the field `carrier`; "),
        ("radio_duty_cycle_in_hour", "it needs the field `carrier`, and `hour` with an hour"),
        ("relay.cpu_during", "it needs the field `node` with a number"),
    ] {
        let (error, _) = altered("columns = [\"goodput\"", &format!("columns = [\"{column}\""), "");
        let error = error.map(|_| ()).expect_err("it is not given").to_string();
        assert!(error.contains(needed), "{error}");
    }
}

#[test]
fn a_setting_may_be_an_expression_of_the_fields() {
    let points = definition("kinglet-page").expect("no error").points(Effort::Quick);
    let points = points.expect("scenarios");
    let ends: Vec<_> = points.iter().map(|it| it.scenario.flows[0].kind.ends().1).collect();
    assert_eq!((ends[0], ends[ends.len() - 1]), (Some(11), Some(13)));
    let points = definition("kinglet-duty-cycles").expect("no error").points(Effort::Full);
    let leaf = points.expect("scenarios").into_iter();
    let leaf = leaf.filter(|it| it.label == "up hops=1 poll ms=250").map(|it| it.scenario);
    let leaf = leaf.last().expect("such a point");
    let base = kinglet::time::Duration::from_millis(250);
    assert_eq!(leaf.polling, kinglet::Polling::Predictive { base });
    assert_eq!(leaf.nodes[1].role, kinglet_scenario::Role::Leaf);
    let (wrong, _) = altered("quick = {", "quick = { name = \"= frame + 1\", ", "");
    let error = wrong.expect("expressions are read with the points").points(Effort::Quick);
    let error = error.map(|_| ()).expect_err("no such field").to_string();
    assert!(error.contains("`frame + 1`: "), "{error}");
}

#[test]
fn an_absent_column_and_an_unknown_one_are_distinguished() {
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

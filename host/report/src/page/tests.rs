use super::*;
use kinglet_network::run::{
    Activity, ActivityKind, CwndSample, FlowResult, NodeResult, RadioSeconds, RunResult,
};
use kinglet_scenario::Scenario;
use kinglet_sweep::experiment::{Rows, folder};

const HEADER: Header<'static> =
    Header { command: "kinglet lab run <b>", version: "0.1.0", interrupted: false };

/// The experiments that are folders.
fn experiments() -> Vec<Experiment> {
    folder::experiments().collect()
}

fn find(id: &str) -> Experiment {
    folder::experiments().find(|it| it.id == id).expect("listed")
}

/// A claim that passes.
fn verdict() -> Verdict {
    Verdict {
        id: "tcplp.a".to_owned(),
        experiment: "tcplp-retry-delay".to_owned(),
        paper: Some(1.0),
        ours: Some(1.1),
        unit: "kb/s".to_owned(),
        holds: Some(true),
        depends_on_model: false,
        failed: Vec::new(),
        reason: String::new(),
        statement: "A statement.".to_owned(),
        place: "§1".to_owned(),
        expected: true,
        known: None,
    }
}

/// A result with the given label everywhere a label can occur.
fn result(label: &str) -> ExperimentResult {
    let experiment = find("tcplp-retry-delay");
    let mut rows = Rows::default();
    for (metric, unit) in [("goodput", "kb/s"), ("segment_loss", "%"), ("rtt", "ms")] {
        for x in [0.0, 40.0] {
            rows.compute(
                label,
                kinglet_sweep::experiment::Model::Sinr.name(),
                x,
                (metric, unit),
                x + 1.0,
            )
            .ci95 = Some(0.5);
        }
    }
    let mut point = (experiment.plan)(kinglet_sweep::experiment::Effort::Quick).remove(0);
    label.clone_into(&mut point.label);
    let activity = Activity {
        node: 1,
        from_us: 20_000_000,
        to_us: 20_004_000,
        kind: ActivityKind::Transmit,
        count: None,
    };
    let sample = CwndSample { flow: 0, at_s: 1.0, cwnd: 924, ssthresh: Some(924) };
    let run = RunResult {
        timeline: vec![activity],
        cwnd: vec![sample],
        flows: vec![FlowResult { mss: Some(462), ..FlowResult::default() }],
        ..RunResult::default()
    };
    ExperimentResult {
        id: "tcplp-retry-delay",
        rows: rows.all,
        samples: vec![(point, run)],
        seeds: 1,
    }
}

/// Asserts that every opened element is closed, in order; enough to catch broken nesting.
fn assert_balanced(page: &str) {
    const VOID: [&str; 3] = ["meta", "input", "!DOCTYPE"];
    let mut open: Vec<&str> = Vec::new();
    let mut rest = page;
    while let Some(start) = rest.find('<') {
        let tag = &rest[start + 1..];
        let end = tag.find('>').expect("every tag ends");
        let (tag, after) = (&tag[..end], &tag[end + 1..]);
        rest = after;
        let name = tag.trim_start_matches('/').split([' ', '\n', '/']).next().expect("a name");
        if let Some(closing) = tag.strip_prefix('/') {
            assert_eq!(open.pop(), Some(closing.trim()), "closing {closing}");
        } else if !tag.ends_with('/') && !VOID.contains(&name) {
            open.push(name);
            if name == "script" || name == "style" {
                rest = &after[after.find(&format!("</{name}")).expect("it is closed")..];
            }
        }
    }
    assert!(open.is_empty(), "left open: {open:?}");
}

#[test]
fn nothing_from_outside_reaches_the_page_unescaped() {
    let page = html(&HEADER, &experiments(), &[], &[result("<script>alert(1)</script>\"'&")], &[]);
    assert!(!page.contains("<script>alert") && !page.contains("<b>kinglet"));
    assert!(page.contains("&lt;script&gt;alert(1)&lt;/script&gt;&quot;&#39;&amp;"));
    assert!(page.contains("kinglet lab run &lt;b&gt;"));
}

#[test]
fn the_page_is_balanced_and_complete() {
    let page = html(&HEADER, &experiments(), &[], &[result("d_ms=0")], &[verdict()]);
    assert_balanced(&page);
    for part in ["<polyline", "class=\"wide timeline\"", "id=\"claims\"", "threats to validity"] {
        assert!(page.contains(part), "{part} is missing");
    }
}

#[test]
fn plots_stand_before_claims_and_each_has_a_sentence() {
    let results = [result("d_ms=0")];
    let page = html(&HEADER, &experiments(), &[], &results, &[verdict()]);
    let claims = page.find("id=\"claims\"").expect("claims");
    assert!(page.find("<figure").expect("a figure") < claims);
    assert_eq!(page.matches("<figure").count(), page.matches("<p class=\"caption\">").count());
    assert!(!page[claims..].contains("<figure"));
}

#[test]
fn the_page_needs_no_network() {
    let page = html(&HEADER, &experiments(), &[], &[result("d_ms=0")], &[]);
    let links = page.matches("http").count();
    // The only address is the name of the SVG namespace, which is not fetched.
    assert_eq!(links, page.matches("http://www.w3.org/2000/svg").count());
    assert!(!page.contains(" src=") && !page.contains("@import") && !page.contains("url("));
}

#[test]
fn the_same_results_give_the_same_bytes() {
    let page = || html(&HEADER, &experiments(), &[], &[result("d_ms=0")], &[]);
    assert_eq!(page(), page());
}

#[test]
fn an_empty_result_is_still_a_page() {
    for experiment in experiments() {
        let empty =
            ExperimentResult { id: experiment.id, rows: Vec::new(), samples: Vec::new(), seeds: 0 };
        assert_balanced(&html(&HEADER, &experiments(), &[], &[empty], &[]));
    }
}

#[test]
fn control_characters_do_not_survive() {
    assert_eq!(escape("a\u{0}b\u{1b}[1m"), "a\u{fffd}b\u{fffd}[1m");
}

/// A 24-hour run of one node that sleeps and one that does not.
fn a_day() -> (Scenario, RunResult) {
    let radio_s = RadioSeconds { poll: 90.0, listen: 10.0, ..RadioSeconds::default() };
    let sleepy = NodeResult {
        id: 1,
        duty_cycle: 0.00116,
        radio_s,
        duty_by_hour: vec![0.001; 24],
        ..NodeResult::default()
    };
    let awake = NodeResult { duty_cycle: 1.0, ..NodeResult::default() };
    let on =
        Activity { node: 1, from_us: 5_000, to_us: 9_000, kind: ActivityKind::On, count: None };
    let sends = Activity { kind: ActivityKind::Transmit, from_us: 6_000, ..on };
    let result = RunResult {
        nodes: vec![awake, sleepy],
        flows: vec![FlowResult { kind: "tcp-bulk", ..FlowResult::default() }],
        timeline: vec![sends, on],
        sim_seconds: 86_400.0,
        ..RunResult::default()
    };
    (Scenario { name: "a <day>".to_owned(), ..Scenario::default() }, result)
}

#[test]
fn the_page_of_a_run_has_timeline_ledgers_and_hours() {
    let (scenario, result) = a_day();
    let page = one_run(&HEADER, &scenario, &result, (0.0, 1.0));
    assert_balanced(&page);
    assert!(page.contains("a &lt;day&gt;") && !page.contains("a <day>"));
    let (sleeping, others) =
        page.split_once("Radio time of the other nodes").expect("both ledgers");
    assert!(sleeping.contains("node 1: poll") && others.contains("node 0: poll"));
    assert!(sleeping.contains("hours since midnight") && sleeping.contains("id=\"t-radios-0\""));
    // Radio activity is drawn over the radio-on interval.
    assert!(page.contains("[[1,5000,9000,\"on\"],[1,6000,9000,\"tx\"]]"));
    assert!(page.contains(">0.104</td>"), "90 s of 86400 are 0.104 %");
    assert!(
        others.contains("Power of sleeping nodes") && others.contains("Power of the other nodes")
    );
    // A node that always listens has no other visible activity.
    assert!(sleeping.contains("node 1: listen") && !others.contains("node 0: listen"));
}

#[test]
fn the_page_of_a_run_has_a_map_if_routes_were_recorded() {
    use kinglet_network::run::{Branch, Tree};
    let (scenario, mut result) = a_day();
    assert!(!one_run(&HEADER, &scenario, &result, (0.0, 1.0)).contains("id=\"ways\""));
    let way = Branch { parent: Some(0), hops: Some(1), frames_per_s: 2.5 };
    let nodes = vec![Branch { hops: Some(0), ..Branch::default() }, way, Branch::default()];
    result.trees = vec![Tree { at_s: 1.5, nodes }];
    let page = one_run(&HEADER, &scenario, &result, (0.0, 1.0));
    assert!(page.contains("\"trees\":[[1.500,[[null,0,0.00],[0,1,2.50],[null,null,0.00]]]]"));
    assert_balanced(&page);
}

#[test]
fn the_page_of_a_running_network_says_how_often_it_is_to_be_loaded_again() {
    let (scenario, _) = a_day();
    let nodes = vec![kinglet_network::run::Branch::default(); scenario.nodes.len()];
    let trees = [kinglet_network::run::Tree { at_s: 2.0, nodes }];
    let running = live(&scenario, &[(0, 1)], &trees, Some(3));
    assert!(running.contains("data-refresh-s=\"3\"") && running.contains("· live"));
    let ended = live(&scenario, &[(0, 1)], &trees, None);
    assert!(!ended.contains("data-refresh-s=") && ended.contains("· ended"));
    for page in [running, ended] {
        assert!(
            page.contains("a &lt;day&gt;")
                && page.contains("\"links\":[[0,1]],\"trees\":[[2.000,[")
        );
        assert_balanced(&page);
    }
}

#[test]
fn lanes_of_nodes_that_sleep_have_rows_for_bursts_and_flash() {
    let (scenario, mut result) = a_day();
    let plain = one_run(&HEADER, &scenario, &result, (0.0, 1.0));
    assert!(!plain.contains("In each lane") && !plain.contains("flash erases"));
    let of = |kind, count| {
        let (from_us, to_us) = (6_000, 8_500);
        Activity { node: 1, from_us, to_us, kind, count }
    };
    result.timeline.extend([
        of(ActivityKind::Strobe, Some(3)),
        of(ActivityKind::Burst, Some(17)),
        of(ActivityKind::FlashErase, None),
    ]);
    let page = one_run(&HEADER, &scenario, &result, (0.0, 1.0));
    assert_balanced(&page);
    assert!(page.contains("In each lane") && page.contains("flash erases"));
    assert!(!page.contains("flash reads"), "none did");
    // Frames are drawn over the strobe that sends them.
    let items = page.split_once("[[1,5000").expect("the data").1;
    let at = |item: &str| items.find(item).unwrap_or_else(|| panic!("{item}"));
    assert!(at("[1,6000,8500,\"str\",3]") < at("[1,6000,9000,\"tx\"]"));
    let title = "lanes".to_owned();
    let (activity, range_us) = (result.timeline, (0, 10_000));
    let lanes =
        kinglet_sweep::chart::Timeline { title, nodes: 2, activity, lanes: Vec::new(), range_us };
    let text = picture(&Figure::Timeline(lanes));
    assert!(text.contains(">17 frames</text>") && text.contains("class=\"k-fe\""), "{text}");
}

#[test]
fn a_timeline_without_room_says_where_it_ends() {
    let (scenario, mut result) = a_day();
    result.timeline_full_at_s = Some(0.25);
    let page = one_run(&HEADER, &scenario, &result, (0.0, 1.0));
    assert!(page.contains("record was full at 0.250 s") && page.contains("data-to=\"250000\""));
    // A run may be over before its timeline begins.
    result.timeline_full_at_s = None;
    result.sim_seconds = 10.0;
    let page = one_run(&HEADER, &scenario, &result, (60.0, 120.0));
    assert!(page.contains("data-from=\"60000000\" data-to=\"60001000\""));
}

#[test]
fn a_short_run_has_no_hours() {
    let (scenario, mut result) = a_day();
    result.nodes.iter_mut().for_each(|node| node.duty_by_hour.truncate(1));
    let page = one_run(&HEADER, &scenario, &result, (0.0, 1.0));
    assert!(!page.contains("hours since midnight"));
}

#[test]
fn every_kind_of_figure_is_also_a_picture_of_its_own() {
    let (_, day) = a_day();
    let timeline = Figure::Timeline(kinglet_sweep::chart::Timeline {
        title: "a <day>".to_owned(),
        nodes: 2,
        lanes: Vec::new(),
        activity: day.timeline.clone(),
        range_us: (0, 10_000),
    });
    let nodes: Vec<&NodeResult> = day.nodes.iter().collect();
    let bars = kinglet_sweep::chart::ledger("bars", &nodes, true, day.sim_seconds).expect("nodes");
    let delays = result("d_ms=0");
    let figures = (find(delays.id).figures)(&delays);
    assert!(figures.iter().any(|figure| matches!(figure, Figure::Lines(_))));
    for figure in figures.iter().chain([&timeline, &bars]) {
        let text = picture(figure);
        assert_balanced(&text);
        let name = "xmlns=\"http://www.w3.org/2000/svg\"";
        assert!(text.starts_with("<svg") && text.matches("http").count() == 1, "{text}");
        assert!(text.contains(name) && !text.contains("<script") && !text.contains("<figure"));
        assert!(text.contains(&escape(figure.title())));
    }
    // Its lanes show the recording, 1 ms to 103 px, and every kind is in the legend.
    let text = picture(&timeline);
    assert!(text.contains("<rect class=\"k-tx\" x=\"670.0\" y=\"30.0\" width=\"303.0\""), "{text}");
    assert!(text.contains("hears a collision") && text.contains("node 1</text>"));
}

//! Page of a single simulation.

use super::{Header, begin, draw_figures, end, escape, map, table};
use crate::number::short;
use crate::tables::{self, Table};
use kinglet_network::run::{NodeResult, RunResult};
use kinglet_scenario::Scenario;
use kinglet_sweep::chart::{Figure, Timeline, duty_by_hour, ledger, power};
use std::fmt::Write;

/// Nodes with a lower radio duty cycle get a separate ledger: next to always-on nodes their bars
/// would be too small to see.
const SLEEPY: f64 = 0.5;

/// Page of one run of `scenario`, with the timeline between the two recorded instants. Same result,
/// same bytes.
pub fn one_run(
    header: &Header<'_>,
    scenario: &Scenario,
    result: &RunResult,
    timeline_s: (f64, f64),
) -> String {
    let mut page = String::with_capacity(256 * 1024);
    begin(&mut page, &scenario.name);
    let _ = writeln!(
        page,
        "<header><div class=\"wrap\">\n<p class=\"eyebrow\">Kinglet simulation</p>\n<h1>{}</h1>\n\
         <p class=\"meta\">Version {} · made by <code>{}</code> · {} simulated seconds of {} \
         nodes</p>",
        escape(&scenario.name),
        escape(header.version),
        escape(header.command),
        short(result.sim_seconds),
        result.nodes.len()
    );
    if header.interrupted {
        page.push_str("<p class=\"warn\">Stopped before the end.</p>\n");
    }
    page.push_str("</div></header>\n<main>\n");
    map::draw(&mut page, scenario, &result.links, &result.trees, None);
    page.push_str("<section id=\"radios\"><h2>Radios</h2>\n");
    draw_figures(&mut page, &figures(scenario, result, timeline_s), "radios");
    let (of_flows, of_nodes): (Vec<Table>, Vec<Table>) = tables::of_run(result)
        .into_iter()
        .partition(|table| ["kind", "flow"].iter().any(|name| table.head.contains(name)));
    page.push_str("<details><summary>All values of the nodes</summary>\n");
    of_nodes.iter().for_each(|table| draw_table(&mut page, table));
    page.push_str("</details>\n</section>\n<section id=\"applications\"><h2>Applications</h2>\n");
    of_flows.iter().for_each(|table| draw_table(&mut page, table));
    page.push_str("</section>\n");
    end(&mut page);
    page
}

fn figures(scenario: &Scenario, result: &RunResult, timeline_s: (f64, f64)) -> Vec<Figure> {
    let all = || result.nodes.iter();
    let sleepy: Vec<&NodeResult> = all().filter(|node| node.duty_cycle < SLEEPY).collect();
    let awake: Vec<&NodeResult> = all().filter(|node| node.duty_cycle >= SLEEPY).collect();
    let us = |seconds: f64| (seconds * 1e6) as u64;
    // A run that was stopped, or is shorter, may end before the timeline begins.
    let last = timeline_s.1.min(result.sim_seconds).max(timeline_s.0 + 1e-3);
    let (title, last) = match result.timeline_full_at_s {
        None => ("Activity of the radios".to_owned(), last),
        Some(full) => {
            (format!("Activity of the radios, until the record was full at {full:.3} s"), full)
        }
    };
    let timeline = Figure::Timeline(Timeline {
        title,
        nodes: result.nodes.len(),
        activity: result.timeline.clone(),
        lanes: result.lanes.clone(),
        range_us: (us(timeline_s.0), us(last)),
    });
    let figures = [
        Some(timeline),
        ledger("Radio time of sleeping nodes by cause", &sleepy, true, result.sim_seconds),
        duty_by_hour("Radio duty cycle of sleeping nodes", &sleepy, scenario.start_hour),
        ledger("Radio time of the other nodes except listening", &awake, false, result.sim_seconds),
        power("Power of sleeping nodes", &sleepy, result.sim_seconds),
        power("Power of the other nodes", &awake, result.sim_seconds),
    ];
    figures.into_iter().flatten().collect()
}

fn draw_table(page: &mut String, drawn: &Table) {
    let _ = writeln!(page, "<h3>{}</h3>", escape(&capitalised(drawn.title)));
    let heads: Vec<_> = drawn.head.iter().map(|word| (*word, *word != "kind")).collect();
    let rows = drawn.rows.iter().map(|row| row.iter().map(|cell| escape(cell)).collect());
    table(page, &heads, rows);
}

fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().into_iter().flat_map(char::to_uppercase).chain(letters).collect()
}

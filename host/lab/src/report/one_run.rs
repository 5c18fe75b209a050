//! The page of a single simulation.

use super::{Header, begin, draw_figures, end, escape};
use crate::chart::{Figure, Timeline, duty_by_hour, ledger};
use crate::output::short;
use crate::run::{NodeResult, RunResult};
use crate::scenario::Scenario;
use std::fmt::Write;

/// Nodes whose radio is on for less of the time than this get a ledger of their own: beside those
/// that always listen nothing could be seen of them.
const SLEEPY: f64 = 0.5;

/// The page of one run of `scenario`, with the timeline between the two instants that were
/// recorded. Same result, same bytes.
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
    page.push_str("</div></header>\n<main>\n<section id=\"radios\"><h2>Radios</h2>\n");
    draw_figures(&mut page, &figures(scenario, result, timeline_s), "radios");
    nodes_table(&mut page, result);
    page.push_str("</section>\n<section id=\"applications\"><h2>Applications</h2>\n");
    flows_table(&mut page, result);
    page.push_str("</section>\n");
    end(&mut page);
    page
}

fn figures(scenario: &Scenario, result: &RunResult, timeline_s: (f64, f64)) -> Vec<Figure> {
    let all = || result.nodes.iter();
    let sleepy: Vec<&NodeResult> = all().filter(|node| node.duty_cycle < SLEEPY).collect();
    let awake: Vec<&NodeResult> = all().filter(|node| node.duty_cycle >= SLEEPY).collect();
    let us = |seconds: f64| (seconds * 1e6) as u64;
    let timeline = Figure::Timeline(Timeline {
        title: "What the radios did".to_owned(),
        nodes: result.nodes.len(),
        activity: result.timeline.clone(),
        range_us: (us(timeline_s.0), us(timeline_s.1.min(result.sim_seconds))),
    });
    let figures = [
        Some(timeline),
        ledger("What sleeping nodes had their radio on for", &sleepy, result.sim_seconds),
        duty_by_hour("Radio duty cycle of sleeping nodes", &sleepy, scenario.start_hour),
        ledger("What the other nodes had their radio on for", &awake, result.sim_seconds),
    ];
    figures.into_iter().flatten().collect()
}

fn heads(page: &mut String, words: &[&str], numbers_from: usize) {
    page.push_str("<div class=\"scroll\"><table>\n<thead><tr>");
    for (index, word) in words.iter().enumerate() {
        let class = if index < numbers_from { "" } else { " class=\"n\"" };
        let _ = write!(page, "<th scope=\"col\"{class}>{}</th>", escape(word));
    }
    page.push_str("</tr></thead>\n<tbody>\n");
}

fn nodes_table(page: &mut String, result: &RunResult) {
    let Some(first) = result.nodes.first() else { return };
    page.push_str("<details><summary>All values, in % of the time</summary>\n");
    let mut words = vec!["Node"];
    words.extend(first.radio_s.parts().map(|(name, _)| name));
    words.extend(["radio on", "CPU", "frames sent"]);
    heads(page, &words, 0);
    for node in &result.nodes {
        let _ = write!(page, "<tr><td class=\"n\">{}</td>", node.id);
        let parts = node.radio_s.parts().map(|(_, seconds)| seconds / result.sim_seconds.max(1e-9));
        for share in parts.into_iter().chain([node.duty_cycle, node.cpu_duty_cycle]) {
            let _ = write!(page, "<td class=\"n\">{}</td>", short(100.0 * share));
        }
        let _ = writeln!(page, "<td class=\"n\">{}</td></tr>", node.frames_sent);
    }
    page.push_str("</tbody></table></div></details>\n");
}

fn flows_table(page: &mut String, result: &RunResult) {
    let words = ["Kind", "From", "To", "Octets", "kb/s", "Retransmissions", "Loss, %", "RTT, ms"];
    heads(page, &words, 1);
    for flow in &result.flows {
        let rtt = flow.rtt_ms.map_or_else(|| "–".to_owned(), short);
        let _ = write!(page, "<tr><td>{}</td>", escape(flow.kind));
        for cell in [
            flow.from.to_string(),
            flow.to.to_string(),
            flow.bytes.to_string(),
            short(flow.goodput_kbps),
            flow.retransmissions.to_string(),
            short(100.0 * flow.segment_loss),
            rtt,
        ] {
            let _ = write!(page, "<td class=\"n\">{cell}</td>");
        }
        page.push_str("</tr>\n");
    }
    page.push_str("</tbody></table></div>\n");
}

//! Results of a single simulation in tables: the same on the terminal and on its page.

use crate::output;
use kinglet_network::run::{
    BorderResult, FlashResult, FlowResult, LossResult, NodeResult, PARTS, RunResult, Spent, State,
    StrobeResult,
};
use kinglet_sweep::stats::quantile;

/// A table of text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    /// Title.
    pub title: &'static str,
    /// One head per column, with unit.
    pub head: Vec<&'static str>,
    /// Rows as long as the head.
    pub rows: Vec<Vec<String>>,
}

/// Tables of flows, the reasons of dead ones, readings and requests if there are any, nodes, the
/// reasons for lost packets, the relations that nodes lost, the queue of a border router for
/// packets from its host, radio-on time, and time and energy by state.
pub fn of_run(result: &RunResult) -> Vec<Table> {
    let of_flows = [flows(result), dead(result), readings(result), requests(result)];
    let tables = of_flows.into_iter().chain([
        nodes(result),
        reasons(result),
        losses(result),
        border_queue(result),
        strobes(result),
        flashes(result),
        radios(result),
        times(result),
        energies(result),
    ]);
    tables.into_iter().filter(|table| !table.rows.is_empty()).collect()
}

/// The same as text, each table after an empty line. Tables of reasons and lost relations appear
/// only with `reasons`; otherwise the first lost relations are listed.
pub fn text(result: &RunResult, reasons: bool) -> String {
    let one = |table: Table| {
        // Kinds of flows and reasons are words; all other columns are aligned like numbers.
        let numbers_from = usize::from([KIND, REASON, LOST].contains(&table.head[0]));
        format!("\n{}\n{}", table.title, output::table(&table.head, table.rows, numbers_from))
    };
    let tables = of_run(result).into_iter();
    let on_request = [REASONS, LOSSES];
    let tables = tables.filter(|table| reasons || !on_request.contains(&table.title));
    let text: String = tables.map(one).collect();
    if reasons { text } else { text + &first_losses(result) }
}

/// The number of lost relations, and the first of them; empty if there are none.
fn first_losses(result: &RunResult) -> String {
    let count = result.losses.len() as u64 + result.losses_omitted.unwrap_or(0);
    if count == 0 {
        return String::new();
    }
    let mut text = format!("\nlost relations to parents, neighbours and others: {count}");
    text.push_str(if count > FIRST as u64 { "; --reasons lists all\n" } else { "\n" });
    for LossResult { at_s, node, loss } in result.losses.iter().take(FIRST) {
        text.push_str(&format!("{at_s:8.0} s  node {node} {loss}\n"));
    }
    text
}

const KIND: &str = "kind";
const REASON: &str = "reason";
const LOST: &str = "lost";
/// The title of the table of reasons.
pub const REASONS: &str = "reasons for lost frames and packets";
/// The title of the table of lost relations.
const LOSSES: &str = "relations that nodes lost, with the reasons counted before";
/// Number of lost relations that are listed by default.
const FIRST: usize = 3;

fn ends(flow: &FlowResult) -> Vec<String> {
    vec![flow.kind.to_owned(), flow.from.to_string(), shown(flow.to)]
}

/// A value, or a dash if it is absent.
fn shown(value: Option<impl ToString>) -> String {
    or_dash(value.map(|value| value.to_string()))
}

fn or_dash(value: Option<String>) -> String {
    value.unwrap_or_else(|| "–".to_owned())
}

fn flows(result: &RunResult) -> Table {
    let row = |flow: &FlowResult| {
        let mut row = ends(flow);
        row.extend([
            shown(flow.state.map(State::name)),
            or_dash(flow.goodput_kbps.map(|kbps| format!("{kbps:.1}"))),
            shown(flow.bytes),
            shown(flow.retransmissions),
            or_dash(flow.segment_loss.map(|share| format!("{:.2}", share * 100.0))),
            or_dash(flow.rtt_ms.map(|ms| format!("{ms:.1}"))),
            shown(flow.intact.map(|intact| if intact { "yes" } else { "NO" })),
        ]);
        row
    };
    let head = [
        KIND,
        "from",
        "to",
        "state",
        "kb/s",
        "octets",
        "sent again",
        "loss, %",
        "RTT, ms",
        "intact",
    ];
    table("flows", head.to_vec(), result.flows.iter().map(row))
}

fn dead(result: &RunResult) -> Table {
    let row = |(index, flow): (usize, &FlowResult)| {
        Some(vec![
            flow.explanation.clone()?,
            index.to_string(),
            flow.from.to_string(),
            shown(flow.to),
        ])
    };
    let rows = result.flows.iter().enumerate().filter_map(row);
    table("dead flows", vec![REASON, "flow", "from", "to"], rows)
}

fn readings(result: &RunResult) -> Table {
    let row = |flow: &FlowResult| {
        let readings = flow.readings.as_ref()?;
        let mut row = ends(flow);
        let counts = [readings.generated, readings.delivered, readings.dropped, readings.lost];
        row.extend(counts.map(|count| count.to_string()));
        row.push(or_dash(readings.reliability().map(|share| format!("{:.2}", share * 100.0))));
        Some(row)
    };
    let head = [KIND, "from", "to", "made", "delivered", "dropped", "lost", "reliability, %"];
    table("readings of sensors", head.to_vec(), result.flows.iter().filter_map(row))
}

/// Returns true if the flow makes requests.
fn asks(flow: &FlowResult) -> bool {
    flow.latencies_ms.is_some()
}

fn requests(result: &RunResult) -> Table {
    let row = |flow: &FlowResult| {
        let latency =
            |share| or_dash(quantile(flow.latencies_ms(), share).map(|ms| format!("{ms:.1}")));
        let mut row = ends(flow);
        row.extend([flow.latencies_ms().len().to_string(), shown(flow.failed)]);
        row.extend([0.5, 0.95].map(latency));
        row
    };
    let head = [KIND, "from", "to", "answered", "failed", "median, ms", "95 % within, ms"];
    let rows = result.flows.iter().filter(|flow| asks(flow)).map(row);
    table("requests", head.to_vec(), rows)
}

fn nodes(result: &RunResult) -> Table {
    let row = |node: &kinglet_network::run::NodeResult| {
        vec![
            node.id.to_string(),
            node.frames_sent.to_string(),
            shown(node.frames_failed),
            shown(node.queue_drops),
            format!("{:.2}", node.duty_cycle * 100.0),
            format!("{:.1}", node.energy_mj),
            or_dash(node.cpu_duty_cycle.map(|share| format!("{:.3}", share * 100.0))),
            or_dash(node.cpu_mj.map(|mj| format!("{mj:.1}"))),
        ]
    };
    let head = [
        "node",
        "frames",
        "failed",
        "queue drops",
        "radio on, %",
        "radio, mJ",
        "CPU, %",
        "CPU, mJ",
    ];
    table("nodes", head.to_vec(), result.nodes.iter().map(row))
}

fn reasons(result: &RunResult) -> Table {
    let row = |node: &NodeResult| {
        let rows = node.reasons.iter().map(|(layer, reason, count)| {
            vec![
                format!("{layer}: {}", reason.replace('_', " ")),
                node.id.to_string(),
                count.to_string(),
            ]
        });
        rows.collect::<Vec<_>>()
    };
    let rows = result.nodes.iter().flat_map(row);
    table(REASONS, vec![REASON, "node", "count"], rows)
}

fn losses(result: &RunResult) -> Table {
    let row = |LossResult { at_s, node, loss }: &LossResult| {
        let lost = loss.to_string();
        let lost = lost.strip_prefix("lost ").unwrap_or(&lost).to_owned();
        vec![lost, node.to_string(), format!("{at_s:.0}")]
    };
    table(LOSSES, vec![LOST, "node", "at, s"], result.losses.iter().map(row))
}

fn border_queue(result: &RunResult) -> Table {
    let row = |node: &kinglet_network::run::NodeResult| {
        let BorderResult { queued, dequeued, dropped, waiting, peak, longest_ms } =
            node.border_queue?;
        let mut row = vec![node.id.to_string()];
        row.extend([queued, dequeued, dropped].map(|count| count.to_string()));
        row.extend([waiting.to_string(), peak.to_string(), format!("{longest_ms:.1}")]);
        Some(row)
    };
    let head = ["node", "queued", "dequeued", "dropped", "waiting", "peak", "longest wait, ms"];
    table("packets from the host", head.to_vec(), result.nodes.iter().filter_map(row))
}

fn strobes(result: &RunResult) -> Table {
    let row = |node: &kinglet_network::run::NodeResult| {
        let StrobeResult { all, in_bursts, acked_at_first, failed, busy, responses } =
            node.strobes?;
        let counts = [all, all - in_bursts, acked_at_first, failed, busy, responses];
        let counts = counts.into_iter().map(|count| count.to_string());
        Some([node.id.to_string()].into_iter().chain(counts).collect())
    };
    let head =
        ["node", "all", "begin bursts", "acked at first", "failed", "channel busy", "responses"];
    table("strobes", head.to_vec(), result.nodes.iter().filter_map(row))
}

fn flashes(result: &RunResult) -> Table {
    let row = |node: &kinglet_network::run::NodeResult| {
        let FlashResult { written, read, erased, peak, reading, writing, mj } = node.flash?;
        let mut row = vec![node.id.to_string()];
        row.extend([written, read, erased].map(|count| count.to_string()));
        row.push(peak.to_string());
        row.extend([100.0 * reading, 100.0 * writing].map(|share| format!("{share:.3}")));
        row.push(format!("{mj:.1}"));
        Some(row)
    };
    let head =
        ["node", "written", "read", "erased", "peak waiting", "reading, %", "writing, %", "mJ"];
    table("frames in flash", head.to_vec(), result.nodes.iter().filter_map(row))
}

fn radios(result: &RunResult) -> Table {
    let row = |node: &kinglet_network::run::NodeResult| {
        let share = |seconds: f64| format!("{:.3}", 100.0 * seconds / result.sim_seconds.max(1e-9));
        let parts = node.radio_s.parts();
        let sum = parts.iter().map(|(_, seconds)| seconds).sum();
        let mut row = vec![node.id.to_string()];
        row.extend(parts.iter().map(|(_, seconds)| share(*seconds)));
        row.push(share(sum));
        row
    };
    let mut head = vec!["node"];
    head.extend(
        result.nodes.first().into_iter().flat_map(|n| n.radio_s.parts()).map(|(name, _)| name),
    );
    head.push("sum");
    table("radio time by state, % of the run", head, result.nodes.iter().map(row))
}

/// The parts of [`Power`](kinglet_network::run::Power) that are above zero on at least one node.
fn parts_with(result: &RunResult, of: fn(&Spent) -> f64) -> Vec<usize> {
    let some = |node: &NodeResult, part: usize| of(&node.power.parts()[part].1) > 0.0;
    (0..PARTS).filter(|part| result.nodes.iter().any(|node| some(node, *part))).collect()
}

fn names_of(parts: &[usize]) -> Vec<&'static str> {
    let names = NodeResult::default().power.parts().map(|(name, _)| name);
    ["node"].into_iter().chain(parts.iter().map(|part| names[*part])).collect()
}

fn times(result: &RunResult) -> Table {
    let parts = parts_with(result, |spent| spent.seconds);
    let row = |node: &NodeResult| {
        let share = |part: &usize| {
            let (_, Spent { seconds, .. }) = node.power.parts()[*part];
            format!("{:.3}", 100.0 * seconds / result.sim_seconds.max(1e-9))
        };
        [node.id.to_string()].into_iter().chain(parts.iter().map(share)).collect()
    };
    let rows = result.nodes.iter().filter(|_| !parts.is_empty()).map(row);
    table("time by activity, % of the run", names_of(&parts), rows)
}

fn energies(result: &RunResult) -> Table {
    let parts = parts_with(result, |spent| spent.mj);
    let row = |node: &NodeResult| {
        let of = |part: &usize| format!("{:.2}", node.power.parts()[*part].1.mj);
        let mut row = vec![node.id.to_string()];
        row.extend(parts.iter().map(of));
        row.push(format!("{:.2}", node.power.mj()));
        row.push(or_dash(node.mj_per_frame.map(|mj| format!("{mj:.3}"))));
        row
    };
    let mut head = names_of(&parts);
    head.extend(["sum", "a frame sent"]);
    let rows = result.nodes.iter().filter(|_| !parts.is_empty()).map(row);
    table("energy by activity, mJ", head, rows)
}

fn table(
    title: &'static str,
    head: Vec<&'static str>,
    rows: impl Iterator<Item = Vec<String>>,
) -> Table {
    Table { title, head, rows: rows.collect() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kinglet_network::run::{NodeResult, RadioSeconds, Readings};

    fn result() -> RunResult {
        let base = FlowResult {
            from: 3,
            to: Some(0),
            state: Some(State::Open),
            intact: Some(true),
            ..FlowResult::default()
        };
        let counts = Readings { generated: 70, delivered: 63, lost: 1, ..Readings::default() };
        let sensor = FlowResult {
            kind: "anemometer",
            segments_sent: Some(9),
            readings: Some(counts),
            ..base.clone()
        };
        let asking = FlowResult {
            kind: "coap-client",
            segments_sent: Some(2),
            latencies_ms: Some(vec![10.0, 30.0]),
            failed: Some(1),
            ..base.clone()
        };
        let bulk = FlowResult { kind: "tcp-bulk", segment_loss: Some(0.025), ..base };
        let radio_s = RadioSeconds { poll: 1.0, listen: 2.0, ..RadioSeconds::default() };
        let node = NodeResult { id: 3, radio_s, duty_cycle: 0.03, ..NodeResult::default() };
        RunResult {
            flows: vec![sensor, asking, bulk],
            nodes: vec![node],
            sim_seconds: 100.0,
            ..RunResult::default()
        }
    }

    #[test]
    fn every_kind_of_flow_has_the_table_it_needs() {
        let tables = of_run(&result());
        let titles: Vec<&str> = tables.iter().map(|table| table.title).collect();
        let radios = "radio time by state, % of the run";
        assert_eq!(titles, ["flows", "readings of sensors", "requests", "nodes", radios]);
        for table in &tables {
            assert!(table.rows.iter().all(|row| row.len() == table.head.len()), "{table:?}");
        }
        // Only a transfer counts its lost segments.
        let losses: Vec<&str> = tables[0].rows.iter().map(|row| row[7].as_str()).collect();
        assert_eq!(losses, ["–", "–", "2.50"]);
        assert_eq!(tables[1].rows, [["anemometer", "3", "0", "70", "63", "0", "1", "98.44"]]);
        assert_eq!(tables[2].rows, [["coap-client", "3", "0", "2", "1", "20.0", "29.0"]]);
        assert_eq!(tables[4].rows[0][1..3], ["1.000", "2.000"]);
        assert_eq!(tables[4].rows[0].last().map(String::as_str), Some("3.000"));
    }

    #[test]
    fn the_queue_of_a_border_router_has_a_table_between_nodes_and_radios() {
        let mut result = result();
        let (queued, dequeued, dropped, peak) = (90, 80, 7, 32);
        let queue =
            BorderResult { queued, dequeued, dropped, waiting: 3, peak, longest_ms: 812.44 };
        result.nodes[0].border_queue = Some(queue);
        let table = &of_run(&result)[4];
        assert_eq!((table.title, table.head.len()), ("packets from the host", 7));
        assert_eq!(table.rows, [["3", "90", "80", "7", "3", "32", "812.4"]]);
    }

    #[test]
    fn lost_relations_are_counted_and_the_first_ones_listed() {
        let address = core::net::Ipv6Addr::LOCALHOST;
        let reasons = [("mac", [("no_ack".to_owned(), 4)].into())].into();
        let lost = |at_s| LossResult {
            at_s,
            node: 3,
            loss: kinglet_sim::trace::Loss {
                relation: "parent",
                address,
                reasons: Clone::clone(&reasons),
            },
        };
        let mut result = result();
        assert!(!text(&result, false).contains("lost parent"));
        result.losses = [61.0, 62.0, 63.0, 64.0].map(lost).to_vec();
        result.losses_omitted = Some(2);
        let (short, long) = (text(&result, false), text(&result, true));
        assert!(short.contains("and others: 6; --reasons lists all\n"), "{short}");
        assert!(short.contains("      63 s  node 3 lost parent ::1; mac no_ack 4\n"), "{short}");
        assert!(!short.contains(LOSSES) && !short.contains("64 s"), "{short}");
        assert!(long.contains(LOSSES) && !long.contains("the like"), "{long}");
        let table = of_run(&result).into_iter().find(|table| table.title == LOSSES);
        assert_eq!(table.expect("one").rows[3], ["parent ::1; mac no_ack 4", "3", "64"]);
    }

    #[test]
    fn a_flash_has_a_table_before_radios() {
        let mut result = result();
        let (reading, writing, mj) = (0.012_34, 0.2, 5.25);
        result.nodes[0].flash =
            Some(FlashResult { written: 9, read: 8, erased: 1, peak: 40, reading, writing, mj });
        let table = &of_run(&result)[4];
        assert_eq!((table.title, table.head.len()), ("frames in flash", 8));
        assert_eq!(table.rows, [["3", "9", "8", "1", "40", "1.234", "20.000", "5.2"]]);
    }

    #[test]
    fn parts_that_took_something_have_columns_and_their_sum() {
        let mut result = result();
        let power = &mut result.nodes[0].power;
        power.receive = Spent { seconds: 2.0, mj: 120.5 };
        power.sleep = Spent { seconds: 98.0, mj: 0.25 };
        result.nodes[0].mj_per_frame = Some(0.5);
        let tables = of_run(&result);
        let [.., time, energy] = &tables[..] else { panic!("two at the end: {tables:?}") };
        assert_eq!(time.head, ["node", "receive", "sleep"]);
        assert_eq!(time.rows, [["3", "2.000", "98.000"]]);
        assert_eq!(energy.head, ["node", "receive", "sleep", "sum", "a frame sent"]);
        assert_eq!(energy.rows, [["3", "120.50", "0.25", "120.75", "0.500"]]);
    }

    #[test]
    fn a_run_without_sensors_and_requests_says_nothing_of_them() {
        let mut result = result();
        result.flows.drain(..2);
        let text = text(&result, false);
        assert!(text.contains("tcp-bulk") && text.contains("\nnodes\n"), "{text}");
        assert!(!text.contains("readings") && !text.contains("requests"), "{text}");
    }
}

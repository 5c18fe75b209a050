//! §6.3, Tables 6 and 9, App. A.4: comparison of the papers' stacks.

use crate::experiment::{InRust, readme};
use crate::probe::FEATURES;
use kinglet::tcp::ConnectionConfig;
use kinglet_network::profile::BUFFER;
use kinglet_peers::{Settings, Stack};
use kinglet_scenario::{Buffer, Mss};
use kinglet_sweep::chart::{Figure, curves};
use kinglet_sweep::experiment::{Effort, ExperimentResult, Point, Rows, line_scenario};
use kinglet_sweep::metric::Metric;
use kinglet_sweep::row::Row;

pub(super) const EXPERIMENT: InRust = InRust {
    id: "tcplp-stacks",
    readme: readme!("tcplp-stacks"),
    source: "TCPlp §6.3, Tables 6 and 9, App. A.4",
    main: "stack=freebsd hops=1",
    plan,
    refine,
    figures,
};

const METRICS: &[Metric] =
    &[Metric::Goodput, Metric::Rtt, Metric::SegmentLoss, Metric::Timeouts, Metric::Mss];

/// Name and stack; `None` is Kinglet's.
const STACKS: [(&str, Option<Stack>); 6] = [
    ("uip", Some(Stack::Uip)),
    ("blip", Some(Stack::Blip)),
    ("gnrc", Some(Stack::Gnrc)),
    ("freebsd", Some(Stack::FreeBsd)),
    ("linux", Some(Stack::Linux)),
    ("kinglet", None),
];
/// Hops and *d* in milliseconds.
const HOPS: [(u32, u32); 2] = [(1, 0), (3, 40)];
/// Additional octets of two 64-bit addresses over two short ones.
const LONG_ADDRESSES: u8 = 12;
/// TCPlp's Table 9 in the order of [`FEATURES`]; `None` is its "N/A".
const TABLE_9: [(&str, [Option<bool>; 8]); 4] = {
    const Y: Option<bool> = Some(true);
    const N: Option<bool> = Some(false);
    [
        ("uip", [Y, None, Y, Y, N, N, N, N]),
        ("blip", [Y, N, N, N, N, N, N, N]),
        ("gnrc", [Y, Y, Y, Y, Y, N, N, N]),
        ("freebsd", [Y, Y, Y, Y, Y, Y, Y, Y]),
    ]
};

fn point(
    label: String,
    series: &'static str,
    hops: u32,
    scenario: kinglet_scenario::Scenario,
) -> Point {
    let x = f64::from(hops);
    Point { label, series, x, scenario, metrics: METRICS, timeline_s: None }
}

/// A line with this stack at both ends and its published buffer sizes.
fn line(effort: Effort, (hops, d): (u32, u32), stack: Option<Stack>) -> kinglet_scenario::Scenario {
    let mut scenario = line_scenario(effort, hops, d);
    scenario.tcp.stack = stack;
    if let Some(stack @ (Stack::Uip | Stack::Blip | Stack::Gnrc | Stack::Linux)) = stack {
        let Settings { mss, send_buffer, receive_buffer, timestamps, .. } =
            Settings::published(stack);
        // The scenario's MSS excludes options.
        let options = if timestamps { 12 } else { 0 };
        scenario.tcp.mss = Mss::Bytes(mss - options);
        scenario.tcp.connection.timestamps = timestamps;
        // Linux's buffers are effectively unlimited; this is the largest buffer of a scenario.
        let most = BUFFER as u32;
        scenario.tcp.send_buffer = Buffer::Bytes(send_buffer.min(most));
        scenario.tcp.receive_buffer = Buffer::Bytes(receive_buffer.min(most));
    }
    scenario
}

fn plan(effort: Effort) -> Vec<Point> {
    let mut points = Vec::new();
    for (name, stack) in STACKS {
        for path in HOPS {
            let scenario = line(effort, path, stack);
            points.push(point(format!("stack={name} hops={}", path.0), name, path.0, scenario));
        }
    }
    for (series, name, stack) in
        [("uip to linux", "uip", Stack::Uip), ("blip to linux", "blip", Stack::Blip)]
    {
        for path in HOPS {
            let mut scenario = line(effort, path, Some(stack));
            scenario.tcp.peer_stack = Some(Some(Stack::Linux));
            // The receive buffer of a computer. A buffer of the sender's size would be full after
            // each segment, and a full buffer is acknowledged at once.
            scenario.tcp.receive_buffer = Buffer::Bytes(BUFFER as u32);
            let label = format!("stack={name} peer=linux hops={}", path.0);
            points.push(point(label, series, path.0, scenario));
        }
    }
    for (name, more) in [("openthread", 0), ("gnrc", LONG_ADDRESSES)] {
        let mut scenario = line(effort, HOPS[0], Some(Stack::FreeBsd));
        scenario.tcp.mss = Mss::Frames(5);
        scenario.mac.reserved_security += more;
        points.push(point(format!("platform={name}"), "platforms", 1, scenario));
    }
    points
}

/// Settings of a stack for a probe. Except for uIP and GNRC, buffers hold four segments, so that
/// the probe shows whether they are all sent at once.
fn asked(stack: Option<Stack>) -> ConnectionConfig {
    let (mss, segments) = match stack {
        Some(Stack::Uip) => (48, 1),
        Some(Stack::Blip) => (200, 4),
        Some(Stack::Gnrc) => (462, 1),
        _ => (474, 4),
    };
    let buffer = usize::from(mss) * segments;
    ConnectionConfig {
        mss,
        send_buffer: buffer,
        receive_buffer: buffer,
        timestamps: true,
        ..ConnectionConfig::DEFAULT
    }
}

fn refine(rows: &mut Rows) {
    for (hops, _) in HOPS {
        let Some(paper) = rows.mean(&format!("stack=freebsd hops={hops}"), "goodput") else {
            continue;
        };
        for prior in ["stack=uip", "stack=blip", "stack=uip peer=linux", "stack=blip peer=linux"] {
            let label = format!("{prior} hops={hops}");
            let Some(rate) = rows.mean(&label, "goodput") else { continue };
            let (series, x) = ("freebsd against it", f64::from(hops));
            rows.compute(&label, series, x, ("times_slower", "x"), paper / rate);
        }
    }
    for (name, stack) in STACKS {
        for (number, (feature, ask)) in FEATURES.iter().enumerate() {
            let Some(has) = ask(stack, asked(stack)) else { continue };
            let row = rows.compute(
                &format!("features of {name}"),
                "features",
                0.0,
                (*feature, "of 1"),
                f64::from(u8::from(has)),
            );
            let said = TABLE_9.iter().find(|(of, _)| *of == name);
            row.paper = said.and_then(|(_, all)| all[number]).map(|has| f64::from(u8::from(has)));
        }
    }
    rows.paper("stack=freebsd hops=1", "goodput", 75.0);
    rows.paper("stack=freebsd hops=3", "goodput", 19.5);
    rows.paper("platform=openthread", "goodput", 75.0);
    rows.paper("platform=gnrc", "goodput", 63.0);
}

fn figures(result: &ExperimentResult) -> Vec<Figure> {
    let mine = |r: &&Row| r.label.starts_with("stack=");
    let rows: Vec<_> = result.rows.iter().filter(mine).cloned().collect();
    curves(&rows, "goodput", "Goodput of each stack", "hops").into_iter().collect()
}

/// Table 9's entry for each stack and feature; `None` for "N/A".
pub(crate) fn table_9() -> impl Iterator<Item = (&'static str, &'static str, Option<bool>)> {
    TABLE_9.iter().flat_map(|(stack, answers)| {
        FEATURES.iter().zip(answers).map(move |((feature, _), answer)| (*stack, *feature, *answer))
    })
}

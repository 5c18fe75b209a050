//! Assumptions and side remarks of the paper: the gains of Table 1, and the testbed with its
//! round-trip times and losses.

use super::requests::stay_awake;
use super::sense::{NON, Settings, TCP, office};
use kinglet_network::layout::{DEFAULT_MSS, Format, Frame, bound};
use kinglet_scenario::{
    Buffer, Flow, FlowKind, HostCost, HostTcp, Mss, NodeId, Overlap, RadioProfile, Role, Scenario,
    Wire, tcplp,
};
use kinglet_sweep::chart::Figure;
use kinglet_sweep::experiment::{Effort, Experiment, ExperimentResult, Point, Rows, line_scenario};
use kinglet_sweep::metric::Metric;

pub(super) const EXPERIMENT: Experiment = Experiment {
    id: "tcplp-context",
    title: "Premises of the paper",
    source: "TCPlp Table 1, §4.2, §8, §8.2.2",
    question: "How much does a large segment gain over one of one frame, and what would have to \
               differ for a factor of four to five? How much does the retry delay save? And are \
               the office's depth, round-trip times and losses those of the paper's testbed?",
    method: "One hop, segments of one and five frames, with no host cost and the 2 ms a frame \
             that the paper's goodput implies, with 12 more octets in each frame (64-bit \
             addresses), with 28 (addresses of IPv6 inline, too), and with a window of one \
             segment. Segments of 1 to 8 frames with 0 to 30 % of frames lost. Three hops, d = 0 \
             and 40 ms, two models of overlap. The office at night with always-on sensors, \
             readings one by one and in batches: TCP's round-trip times. The office by day: \
             datagrams of one and of three frames from each leaf to the host, in one direction, \
             link retries only, at five hours of the day. Hops: static routes of the office. \
             Computed: the bound of one hop with TCP headers compressed by state of the path (8 \
             octets, 12 with timestamps; not implemented), and unused octets of frames.",
    threats: &[
        "The paper does not explain its segments of one frame, nor give the size of its buffers \
         with them.",
        "Interference follows published models and an assumed profile of the day, fitted to the \
         envelope that is asked for here (15 % in the busiest hour): that row is a consistency \
         check, not a prediction.",
        "The office is ours: the paper gives no distances.",
    ],
    main: "retry d_ms=40",
    plan,
    refine,
    figures,
};

/// Frames per segment.
const SEGMENTS: [u8; 2] = [1, 5];
/// Change of a point at which segments are compared.
type Change = fn(&mut Scenario);
const CHANGES: [(&str, Change); 6] = [
    ("", |_| ()),
    (" host_cost=2ms", |scenario| scenario.radio.host_cost = HostCost::FittedTcplp),
    (" octets=12", |scenario| scenario.mac.reserved_security += 12),
    (" octets=28", |scenario| scenario.mac.reserved_security += 28),
    (" octets=28 host_cost=2ms", |scenario| {
        scenario.mac.reserved_security += 28;
        scenario.radio.host_cost = HostCost::FittedTcplp;
    }),
    (" window=1 host_cost=2ms", |scenario| {
        scenario.tcp.send_buffer = Buffer::Segments(1);
        scenario.radio.host_cost = HostCost::FittedTcplp;
    }),
];
/// Frames per segment and lost frames in per cent, for the search for the best length.
const CHOICE: [u8; 5] = [1, 2, 3, 5, 8];
const LOSSES: [u32; 4] = [0, 10, 20, 30];
/// Hours of the day at which losses are measured.
const HOURS: [u32; 5] = [2, 9, 11, 12, 15];
const LEAVES: core::ops::Range<NodeId> = 11..15;
/// Frames of a datagram and its payload in octets.
const DATAGRAMS: [(u32, u16); 2] = [(1, 70), (3, 260)];
/// Interval between two datagrams of a leaf.
const PERIOD_MS: u32 = 2_000;

fn plan(effort: Effort) -> Vec<Point> {
    let mut points = segments(effort);
    points.extend(choice(effort));
    for (suffix, overlap) in [("", Overlap::SinrBer), (" overlap=strict", Overlap::Strict)] {
        for d in [0, 40] {
            let mut scenario = line_scenario(effort, 3, d);
            scenario.medium.overlap = overlap;
            let metrics = &[Metric::SegmentLoss, Metric::Goodput];
            points.push(point(format!("retry d_ms={d}{suffix}"), "retry delay", scenario, metrics));
        }
    }
    for (suffix, cost) in [("", HostCost::Measured), (" host_cost=2ms", HostCost::FittedTcplp)] {
        for batch in [1, 64] {
            let mut scenario = office(Settings::Paper, 3, [TCP; 4], batch);
            LEAVES.for_each(|leaf| stay_awake(&mut scenario, leaf));
            scenario.radio.host_cost = cost;
            scenario.duration_s = 2.0 * effort.seconds();
            let label = format!("rtt batch={batch}{suffix}");
            if let (1, "", Some(wire)) = (batch, suffix, scenario.wire.clone()) {
                let wire = Some(Wire { host: HostTcp::Linux, ..wire });
                let linux = Scenario { wire, ..scenario.clone() };
                let label = format!("{label} host=linux");
                points.push(point(label, "round trips", linux, &[Metric::RttOf(TCP)]));
            }
            points.push(point(label, "round trips", scenario, &[Metric::RttOf(TCP)]));
        }
    }
    for (frames, payload) in DATAGRAMS {
        points.extend(HOURS.map(|hour| {
            let label = format!("loss hour={hour} frames={frames}");
            let metrics = &[Metric::SegmentLossOfAll];
            point(label, "losses", one_way(effort, hour, payload), metrics)
        }));
    }
    points
}

fn point(
    label: String,
    series: &'static str,
    scenario: Scenario,
    metrics: &'static [Metric],
) -> Point {
    Point { label, series, x: 0.0, scenario, metrics, timeline_s: None }
}

fn segments(effort: Effort) -> Vec<Point> {
    let mut points = Vec::new();
    for (suffix, change) in CHANGES {
        for frames in SEGMENTS {
            let mut scenario = line_scenario(effort, 1, 0);
            change(&mut scenario);
            scenario.tcp.mss = Mss::Frames(frames);
            let label = format!("mss_frames={frames}{suffix}");
            points.push(point(label, "segments", scenario, &[Metric::Goodput, Metric::Mss]));
        }
    }
    points
}

/// Segments of several lengths at this rate of lost frames in per cent, with only three retries so
/// that TCP sees some loss.
fn choice(effort: Effort) -> Vec<Point> {
    let mut points = Vec::new();
    for (loss, frames) in LOSSES.into_iter().flat_map(|loss| CHOICE.map(|n| (loss, n))) {
        let mut scenario = line_scenario(effort, 1, 0);
        scenario.tcp.mss = Mss::Frames(frames);
        scenario.medium.frame_loss = f64::from(loss) / 100.0;
        scenario.mac.max_frame_retries = 3;
        let label = format!("choice frame_loss={loss} mss_frames={frames}");
        points.push(Point {
            x: f64::from(frames),
            ..point(label, "choice", scenario, &[Metric::Goodput, Metric::SegmentLoss])
        });
    }
    points
}

/// Datagrams from every leaf of the office to the host.
fn one_way(effort: Effort, hour: u32, payload_bytes: u16) -> Scenario {
    let mut scenario = office(Settings::Paper, 3, [NON; 4], 64).by_day();
    scenario.start_hour = f64::from(hour);
    scenario.duration_s = 4.0 * effort.seconds();
    let to = scenario.host();
    let period_ms = PERIOD_MS;
    let kind = |from| FlowKind::datagrams(from, to, period_ms, payload_bytes);
    scenario.flows =
        (1..).zip(LEAVES).map(|(s, leaf)| Flow::new(f64::from(s), kind(leaf))).collect();
    scenario
}

fn refine(rows: &mut Rows) {
    for (suffix, _) in CHANGES {
        let of = |frames| rows.mean(&format!("mss_frames={frames}{suffix}"), "goodput");
        let (Some(one), Some(five)) = (of(1), of(5)) else { continue };
        let label = format!("mss_frames=5{suffix}");
        rows.compute(&label, "segments", 0.0, ("gain", "of one frame"), five / one);
    }
    rows.paper("retry d_ms=0", "segment_loss", 6.0);
    rows.paper("retry d_ms=40", "segment_loss", 1.0);
    for row in rows.all.clone().into_iter().filter(|row| row.metric == "rtt") {
        let mesh = row.mean - 2.0 * f64::from(Wire::PERFECT.delay_ms);
        rows.compute(&row.label, row.series, 0.0, ("rtt_in_mesh", "ms"), mesh);
    }
    headers(rows);
    for (leaf, hops) in depths(&Scenario::office()) {
        rows.compute(&format!("leaf={leaf}"), "testbed", 0.0, ("hops", "hops"), hops as f64);
    }
}

/// Octets of a TCP header whose constant fields both ends of a path remember: flow and list of
/// fields (2), the lower halves of sequence and acknowledgement number (4), and the checksum (2).
/// Ports, data offset and an unchanged window are omitted. Two octets of each timestamp add 4.
const COMPRESSED: usize = 2 + 4 + 2;

/// Gain of compressed TCP headers over one hop, and unused octets of frames.
fn headers(rows: &mut Rows) {
    let whole = Format::between_neighbours(&tcplp::MAC, true);
    let of_bound = |tcp, frames| {
        let format = Format { tcp, ..whole };
        let mss = format.mss_for_frames(frames);
        (mss, bound(RadioProfile::At86rf233, &tcplp::MAC, format, mss, 2).kbps)
    };
    for frames in [1, 3, 5] {
        let (_, plain) = of_bound(whole.tcp, frames);
        for (name, tcp) in [
            ("whole", whole.tcp),
            ("compressed+timestamps", COMPRESSED + 4),
            ("compressed", COMPRESSED),
        ] {
            let (mss, kbps) = of_bound(tcp, frames);
            let label = format!("frames={frames} tcp_header={name}");
            let mut row = |what, value| {
                rows.compute(&label, "header compression", frames as f64, what, value);
            };
            row(("mss", "B"), mss as f64);
            row(("bound", "kb/s"), kbps);
            row(("bound_gain", "%"), (kbps / plain - 1.0) * 100.0);
        }
    }
    // Unused octets of a segment's frames are counted as time at 32 us per octet.
    let frames = whole.frames(DEFAULT_MSS);
    let unused: usize = frames.iter().map(Frame::unused).sum();
    let best = bound(RadioProfile::At86rf233, &tcplp::MAC, whole, DEFAULT_MSS, 2);
    let segment_us = (DEFAULT_MSS * 8) as f64 * 1e3 / best.kbps;
    let label = format!("frames={} unused", frames.len());
    let series = "6LoWPAN unused";
    rows.compute(&label, series, 5.0, ("octets", "B"), unused as f64);
    let as_if_sent = unused as f64 * 32.0;
    rows.compute(&label, series, 5.0, ("of_bound", "%"), as_if_sent / segment_us * 100.0);
    let longest = whole.mss_for_frames(frames.len());
    let filled = bound(RadioProfile::At86rf233, &tcplp::MAC, whole, longest, 2).kbps;
    let gain = (filled / best.kbps - 1.0) * 100.0;
    rows.compute(&label, series, 5.0, ("gain_if_filled", "%"), gain);
}

/// Each leaf with its number of hops to the border router.
fn depths(office: &Scenario) -> Vec<(NodeId, usize)> {
    let leaves = (0..office.host()).filter(|n| office.nodes[*n as usize].role == Role::Leaf);
    let mut scenario = office.clone();
    let to = 0;
    scenario.flows = leaves.map(|leaf| Flow::bulk(leaf, to)).collect();
    let routes = scenario.routes();
    let next = |at: &NodeId| {
        let here = routes.iter().find(|route| (route.node, route.destination) == (*at, to));
        here.map(|route| route.next_hop)
    };
    let hops = |leaf| std::iter::successors(Some(leaf), next).take_while(|at| *at != to);
    let ends = scenario.flows.iter().map(|flow| flow.kind.ends().0);
    ends.map(|leaf| (leaf, hops(leaf).count())).collect()
}

fn figures(_: &ExperimentResult) -> Vec<Figure> {
    Vec::new()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leaves_of_the_office_are_three_and_five_hops_away() {
        assert_eq!(depths(&Scenario::office()), [(11, 3), (12, 3), (13, 5), (14, 5)]);
    }
}

//! §7.2: goodput by number of hops.

use super::models::against_bound;
use super::{
    Effort, Experiment, ExperimentResult, Host, Metric, Model, Point, Rows, line_scenario,
};
use crate::chart::{Figure, curves};
use crate::layout::one_hop_bound;
use crate::radio;
use crate::scenario::{Buffer, Cca, MAC, Propagation, RadioProfile, Scenario};

pub(super) const EXPERIMENT: Experiment = Experiment {
    id: "tcplp-hops",
    title: "Goodput by number of hops",
    source: "TCPlp §7.2",
    question: "Does goodput follow B/min(h, 3), as it must when any three hops in a row share the \
               channel, and is the same small buffer enough for all of them?",
    method: "Bulk transfer over 1 to 4 hops with d = 40 ms, five-frame segments, buffers of four \
             segments, under four models of the medium: sinr-ber, strict overlap, the hidden node \
             1 dB stronger, interference over twice the range of reception. Bound: our own \
             goodput over one hop under the same model, divided by the number of links of the \
             path that exclude each other there: three, and four where frames disturb over two \
             hops. Control: no node is hidden, so all h hops share the channel. Again over three \
             hops with twice the buffers, and with one segment at a time that is acknowledged at \
             once; with links of -85 dBm, which the radio's carrier sense, by energy from -80 dBm \
             on, does not detect, and with carrier sense that does; and with three costs of the \
             host: none, that of this stack on the Cortex-M0+, and the paper's 2 ms a frame. In \
             addition to the paper's TCP: Kinglet's (stack=kinglet).",
    threats: &[
        "Under three of the models no node is disturbed beyond two hops; in the testbed some \
         were, which the paper gives as the reason for its drop at four hops.",
        "The paper's B is measured on hardware with a processor that takes time for each frame.",
        "B contains pauses (spacing, backoff, retry delays, loading) in which the channel is idle; \
         over several hops other nodes use that time, so that B/min(h, 3) is not a strict bound. B \
         without pauses is.",
        "On a unit disc all signals are equally strong, so capture would be the same as strict, \
         and under sinr-ber none of two overlapping frames survives either, unless little of it is \
         disturbed.",
    ],
    main: "hops=3",
    plan,
    refine,
    figures,
};

/// Hops and the paper's goodput in kb/s.
const PAPER: [(u32, f64); 4] = [(1, 64.1), (2, 28.3), (3, 19.5), (4, 17.5)];
const METRICS: &[Metric] =
    &[Metric::Goodput, Metric::Rtt, Metric::SegmentLoss, Metric::FramesPerKb];
/// Series and label suffix with Kinglet's TCP instead of the paper's.
const OWN: (&str, &str) = ("Kinglet's TCP", " stack=kinglet");
/// Series and label suffix of the control: all nodes sense each other.
const CONTROL: (&str, &str) = ("nobody hidden", " control=no-hidden-terminals");
/// Signal strength of links below the radio's energy threshold but strong enough for everything
/// else, in dBm.
const WEAK_DBM: f64 = -85.0;
/// Points with these links: series, label suffix, and condition for a busy channel.
const WEAK: [(&str, &str, Cca); 2] = [
    ("weak links, energy", " rssi_dbm=-85", Cca::Energy),
    ("weak links, carrier", " rssi_dbm=-85 cca=carrier", Cca::Carrier),
];
/// Twice the buffers, and one segment at a time with immediate acknowledgements.
const WINDOWS: [(&str, u16, u8); 2] = [(TWICE, 8, 2), (STOP_AND_WAIT, 1, 1)];
const TWICE: &str = " buffer_segments=8";
const STOP_AND_WAIT: &str = " buffer_segments=1 ack_every=1";

fn plan(effort: Effort) -> Vec<Point> {
    let mut points = Vec::new();
    let mut add = |name: &str, series, hops: u32, change: &dyn Fn(&mut Scenario)| {
        let mut scenario = line_scenario(effort, hops, 40);
        change(&mut scenario);
        points.push(Point {
            label: format!("hops={hops}{name}"),
            series,
            x: f64::from(hops),
            scenario,
            metrics: METRICS,
            timeline_s: (hops == 4 && name.is_empty()).then_some((20.0, 20.4)),
        });
    };
    let hops = || PAPER.map(|(hops, _)| hops);
    for model in Model::ALL {
        for hops in hops() {
            add(model.suffix(), model.name(), hops, &|scenario| model.apply(scenario));
        }
    }
    for hops in hops() {
        add(CONTROL.1, CONTROL.0, hops, &|scenario| scenario.medium.hidden_terminals = false);
    }
    for (series, suffix, cca) in WEAK {
        for hops in hops() {
            add(suffix, series, hops, &|scenario| {
                scenario.medium.propagation = Propagation::UnitDisc {
                    range_m: 10.0,
                    interference_range_m: 10.0,
                    rssi_dbm: WEAK_DBM,
                };
                scenario.radio.cca = cca;
            });
        }
    }
    for hops in hops() {
        add(OWN.1, OWN.0, hops, &|scenario| scenario.tcp.stack = None);
    }
    for host in Host::SLOW {
        for hops in hops() {
            add(host.suffix(), host.name(), hops, &|scenario| host.apply(scenario));
        }
    }
    for (name, segments, ack_every) in WINDOWS {
        let window = |scenario: &mut Scenario| {
            scenario.tcp.send_buffer = Buffer::Segments(segments);
            scenario.tcp.receive_buffer = Buffer::Segments(segments);
            scenario.tcp.connection.ack_every = ack_every;
        };
        let series = if name == TWICE { "twice the buffer" } else { "one segment at a time" };
        for model in Model::ALL {
            add(&format!("{name}{}", model.suffix()), series, 3, &|scenario| {
                window(scenario);
                model.apply(scenario);
            });
        }
        for host in Host::SLOW {
            add(&format!("{name}{}", host.suffix()), series, 3, &|scenario| {
                window(scenario);
                host.apply(scenario);
            });
        }
    }
    points
}

fn refine(rows: &mut Rows) {
    let whole = one_hop_bound();
    let parts = radio::parts(RadioProfile::At86rf233, 127, MAC.csma_params.min_be);
    // Other nodes can use these times, since the channel is free in them.
    let pauses = parts.backoff + parts.spacing + parts.load + parts.state_change;
    let channel = whole.kbps_with_extra_us(-(pauses.as_micros() as f64));
    rows.compute("hops=1 no-pauses", "channel", 1.0, ("bound", "kb/s"), channel);
    let hops = || PAPER.into_iter().map(|(hops, _)| hops);
    for model in Model::ALL {
        let curve = (model.name(), model.suffix());
        against_bound(rows, curve, hops(), |hops| model.sharing(hops));
    }
    against_bound(rows, CONTROL, hops(), f64::from);
    let weak = WEAK.map(|(series, suffix, _)| (series, suffix));
    let slow = Host::SLOW.map(|host| (host.name(), host.suffix()));
    for curve in weak.into_iter().chain(slow).chain([OWN]) {
        against_bound(rows, curve, hops(), |hops| Model::Sinr.sharing(hops));
    }
    for (hops, kbps) in PAPER {
        let label = format!("hops={hops}");
        rows.paper(&label, "goodput", kbps);
        let share = kbps / (PAPER[0].1 / f64::from(hops.min(3))) * 100.0;
        rows.paper(&label, "share_of_bound", share);
    }
}

fn figures(result: &ExperimentResult) -> Vec<Figure> {
    let mine = |r: &&crate::row::Row| r.series == Model::Sinr.name();
    let main: Vec<_> = result.rows.iter().filter(mine).cloned().collect();
    let x = "hops";
    let title = "Goodput against B/min(h, 3)";
    let goodput = curves(&main, "goodput", title, x);
    let models = curves(&result.rows, "goodput", "The same by model, and with no hidden nodes", x);
    let rtt = curves(&main, "rtt", "Round-trip time of segments", x);
    [goodput, rtt, models].into_iter().flatten().collect()
}

//! UDP and TCP, upward and downward, at 10, 30 and 60 packets per minute and node.

use super::{
    Case, HEAVY, LOADS, OfTree, THREATS, label, ours, point, scenario, with_overlap, with_stack,
};
use crate::chart::{Figure, curves};
use crate::experiment::{Effort, Experiment, ExperimentResult, Metric, Point, Rows};
use crate::scenario::{Building, Overlap};
use kinglet_peers::Stack;

const METHOD: &str = "Thirty nodes and a border router in buildings drawn by the seed, five hops \
                      deep at -22 dBm; CC2420 and its driver, queues of ten packets, a UART of \
                      115,200 baud to the host. Each node sends to the host, or the host to each \
                      node, 10, 30 or 60 packets of 82 octets a minute: by UDP, or by TCP between \
                      BLIP, corrected, and Linux.";

const fn experiment(
    id: &'static str,
    title: &'static str,
    source: &'static str,
    question: &'static str,
) -> Experiment {
    Experiment {
        id,
        title,
        source,
        question,
        method: METHOD,
        threats: &THREATS,
        main: "tcp-up load=60",
        plan: |_| Vec::new(),
        refine: |_: &mut Rows| (),
        figures,
    }
}

pub(in crate::experiment) const ETX: Experiment = Experiment {
    plan: |effort| {
        const METRICS: &[Metric] = &[
            Metric::OfTree(OfTree::LinkEtx),
            Metric::OfTree(OfTree::LinkEtxWorst),
            Metric::OfTree(OfTree::Depth),
        ];
        plan(effort, METRICS)
    },
    ..experiment(
        "rpl-etx",
        "Link ETX under load",
        "Kim et al., Fig. 4a, §V-A",
        "Does RPL find good links for all nodes, whatever transport and load?",
    )
};

pub(in crate::experiment) const QUEUE_LOSS: Experiment = Experiment {
    plan: |effort| {
        const METRICS: &[Metric] = &[
            Metric::OfTree(OfTree::QueueLoss),
            Metric::OfTree(OfTree::QueueLossConcentrated),
            Metric::OfTree(OfTree::BorderLoss),
        ];
        plan(effort, METRICS)
    },
    ..experiment(
        "rpl-queue-loss",
        "Packets lost at the queues of nodes",
        "Kim et al., Fig. 4b, §V-A",
        "How many packets are dropped at full queues of relays?",
    )
};

pub(in crate::experiment) const UDP_LOSS: Experiment = Experiment {
    main: "udp-down load=60",
    plan: |effort| {
        const METRICS: &[Metric] = &[
            Metric::OfTree(OfTree::Loss),
            Metric::OfTree(OfTree::LossSpread),
            Metric::OfTree(OfTree::BorderShare),
            Metric::OfTree(OfTree::BorderLoss),
        ];
        let mut points = plan(effort, METRICS);
        points.retain(|point| point.label.starts_with("udp"));
        // One wire is slower than the tree, the other has no limit.
        for (name, rate_kbps) in [("wire=slow", Some(SLOW_KBPS)), ("wire=fast", None)] {
            let mut scenario = scenario(effort, Building::Middle, Case::UdpDown, HEAVY);
            if let Some(wire) = &mut scenario.wire {
                wire.rate_kbps = rate_kbps;
            }
            points.push(point(
                format!("udp-down load=60 {name}"),
                "other wires",
                HEAVY.into(),
                scenario,
                METRICS,
            ));
        }
        points
    },
    ..experiment(
        "rpl-udp-loss",
        "End-to-end loss of UDP",
        "Kim et al., Fig. 5a, §V-A",
        "At which places are packets lost when the load grows?",
    )
};

/// A tenth of the highest load of thirty nodes: 31 kb/s.
const SLOW_KBPS: f64 = 3.1;

pub(in crate::experiment) const THROUGHPUT: Experiment = Experiment {
    plan: |effort| {
        const METRICS: &[Metric] = &[
            Metric::OfTree(OfTree::Throughput),
            Metric::OfTree(OfTree::ThroughputMin),
            Metric::OfTree(OfTree::Variation),
            Metric::OfTree(OfTree::Delivered),
            Metric::OfTree(OfTree::Depth),
        ];
        let mut points = plan(effort, METRICS);
        for case in Case::TCP {
            let paper = || scenario(effort, Building::Middle, case, HEAVY);
            let mut add = |name: &str, series, scenario| {
                let label = format!("{} {name}", label(case, HEAVY));
                points.push(point(label, series, HEAVY.into(), scenario, METRICS));
            };
            add("stack=uip", "uIP", with_stack(paper(), Stack::Uip));
            add("kinglet", "Kinglet", ours(paper()));
        }
        for overlap in [Overlap::Strict, Overlap::Capture] {
            for case in Case::ALL {
                let paper = scenario(effort, Building::Middle, case, HEAVY);
                let label = format!("{} overlap={}", label(case, HEAVY), overlap.name());
                let scenario = with_overlap(paper, overlap);
                points.push(point(label, "overlap", HEAVY.into(), scenario, METRICS));
            }
        }
        points
    },
    ..experiment(
        "rpl-throughput",
        "Throughput of thirty flows",
        "Kim et al., Fig. 5b, §V-C, VI",
        "Which share of the offered load do UDP and TCP deliver, upward and downward?",
    )
};

pub(in crate::experiment) const TCP_ETX: Experiment = Experiment {
    plan: |effort| {
        const METRICS: &[Metric] =
            &[Metric::OfTree(OfTree::TcpEtx), Metric::OfTree(OfTree::Overhead)];
        let mut points = plan(effort, METRICS);
        points.retain(|point| point.label.starts_with("tcp"));
        points
    },
    ..experiment(
        "rpl-tcp-etx",
        "Segments sent by TCP",
        "Kim et al., Fig. 6, §V-B",
        "How many segments does a packet take end to end?",
    )
};

pub(in crate::experiment) const CONTROL: Experiment = Experiment {
    plan: |effort| {
        const METRICS: &[Metric] =
            &[Metric::OfTree(OfTree::Control), Metric::OfTree(OfTree::ParentChanges)];
        plan(effort, METRICS)
    },
    ..experiment(
        "rpl-control",
        "RPL under TCP",
        "Kim et al., Fig. 9, §V-D",
        "Does TCP's traffic cause more RPL messages, or more changes of parents?",
    )
};

fn plan(effort: Effort, metrics: &'static [Metric]) -> Vec<Point> {
    let loads = LOADS.into_iter().filter(|load| effort == Effort::Full || *load != 30);
    let both = loads.flat_map(|load| Case::ALL.map(|case| (case, load)));
    let point = |(case, load)| {
        let scenario = scenario(effort, Building::Middle, case, load);
        point(label(case, load), case.name(), load.into(), scenario, metrics)
    };
    both.map(point).collect()
}

/// Each metric of the plan over the load.
fn figures(result: &ExperimentResult) -> Vec<Figure> {
    let names = Case::ALL.map(Case::name);
    let rows: Vec<_> =
        result.rows.iter().filter(|row| names.contains(&row.series)).cloned().collect();
    let mut metrics: Vec<&str> = Vec::new();
    for row in &rows {
        if !metrics.contains(&row.metric.as_str()) {
            metrics.push(&row.metric);
        }
    }
    let x = "packets a minute and node";
    let figure = |metric: &&str| curves(&rows, metric, &metric.replace('_', " "), x);
    metrics.iter().filter_map(figure).collect()
}

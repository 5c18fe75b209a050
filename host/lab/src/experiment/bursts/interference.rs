//! Effect of the two levels of retransmission under two kinds of interference (Fig. 6 and 10).

use super::{OfBursts, SETTINGS, bulk, heard_by, measured, point, tmotes, today};
use crate::chart::Figure;
use crate::experiment::{Effort, Experiment, ExperimentResult, Metric, Point, Rows};
use crate::scenario::{Flow, FlowKind, Interferer, Scenario, Source};

pub(in crate::experiment) const EXPERIMENT: Experiment = Experiment {
    id: "bf-interference",
    title: "An oven and a Wi-Fi transfer",
    source: "Duquennoy et al., Fig. 6 and 10, §6.1.2 and §6.4",
    question: "How many frames does an interferer destroy, by its strength? How much does a \
               transfer over four hops still carry if the interferer, regular or in bursts, \
               reaches one node?",
    method: "Loss: full frames over one hop to a radio that is always on, each sent once, by the \
             mean level of the interferer. Transfer: four duty-cycled hops; the second relay \
             receives an oven at -98 dBm or a Wi-Fi transfer at -96 dBm, as in the paper. Further \
             points: the interferer at another relay or at the last node, two and three Wi-Fi \
             transfers, the other direction, and a radio of today; an interferer on only four of \
             the eleven channels, which stays there or moves every half minute. Loss as well by a \
             cell of 25 saturated stations (Garetto), and by three Wi-Fi transfers whose frames \
             are 70, 50 and 30 dB above the idle level, as of stations at 1, 10 and 100 m.",
    threats: &[
        "The interferers are models of their kinds and not the paper's recordings, which are not \
         at hand: they have a busy and an idle level, so loss hardly depends on their strength \
         between the two.",
        "Signals are at -60 dBm; the paper does not say at which level its were.",
    ],
    main: "wifi ours",
    plan,
    refine,
    figures,
};

const LOSS: &[Metric] = &[Metric::SegmentLoss];
const METRICS: &[Metric] = &[
    Metric::OfBursts(OfBursts::OfFrames),
    Metric::OfBursts(OfBursts::HeardAtOnce),
    Metric::OfBursts(OfBursts::NotHeard),
    Metric::OfBursts(OfBursts::EnergyPerKb),
];
const HOPS: u32 = 4;
/// Node in range of the interference: the second relay.
const WHO: u32 = 2;
/// Kinds of interference, with their names in labels and the paper's levels.
const KINDS: [(&str, Source, f64); 2] =
    [("oven", Source::Microwave, -98.0), ("wifi", Source::WifiBursts, -96.0)];
/// Point with a current radio, which the quick plan also contains.
const TODAY: &str = "nrf52840";
/// Mean levels of the sweep, dBm.
const LEVELS: [i32; 7] = [-118, -110, -102, -98, -94, -86, -76];
/// Stations of the paper's cell (6.1.2).
const STATIONS: u32 = 25;
/// Mean levels of that cell, dBm: the paper's, and up to the level of the signal.
const OF_CELL: [i32; 6] = [-98, -86, -76, -72, -70, -68];
/// Differences of the busy from the idle level of several stations in one recording, dB. The first
/// is that of the single one; a tenfold distance takes 20 dB in free space.
const APART_DB: [f64; 3] = [69.8, 49.8, 29.8];

fn plan(effort: Effort) -> Vec<Point> {
    let mut points = Vec::new();
    for (name, source, _) in KINDS {
        for level in LEVELS {
            let label = format!("loss {name} dbm={level}");
            let scenario = one_hop(source, level.into());
            points.push(point(label, name, level.into(), scenario, LOSS));
        }
    }
    for level in OF_CELL {
        let mut scenario = one_hop(Source::WifiSaturated, level.into());
        for cell in &mut scenario.interference {
            cell.stations = STATIONS;
        }
        points.push(point(cell_label(level), "cell", level.into(), scenario, LOSS));
    }
    for level in LEVELS {
        let label = format!("loss stations dbm={level}");
        points.push(point(label, "stations", level.into(), stations(level.into()), LOSS));
    }
    for (name, source, level) in KINDS {
        for (setting, set) in SETTINGS {
            let scenario = set(heard_by(usual(tmotes), WHO, &[(source, level)]));
            points.push(point(format!("{name} {setting}"), setting, 0.0, scenario, METRICS));
        }
        let of_today = format!("{name} {TODAY}");
        let all = beside(name, source, level);
        points.extend(all.filter(|it| effort == Effort::Full || it.label == of_today));
    }
    points
}

/// Full frames without retransmission.
fn one_hop(source: Source, level: f64) -> Scenario {
    let mut scenario = tmotes(1);
    scenario.duration_s = 200.0;
    scenario.wake = None;
    scenario.mac.max_frame_retries = 0;
    scenario.flows = vec![Flow::new(1.0, FlowKind::datagrams(1, 0, 17, 108))];
    heard_by(scenario, 0, &[(source, level)])
}

/// Label of the loss by a saturated cell.
pub(crate) fn cell_label(level: i32) -> String {
    format!("loss cell dbm={level}")
}

/// Full frames near several Wi-Fi transfers of one recording with this mean level.
fn stations(level: f64) -> Scenario {
    let mut scenario = one_hop(Source::WifiBursts, level);
    let one = scenario.interference.clone();
    let of = |range| one.iter().map(move |it| Interferer { range_db: Some(range), ..it.clone() });
    scenario.interference = APART_DB.into_iter().flat_map(of).collect();
    scenario
}

/// A transfer without end over a line.
fn usual(line: fn(u32) -> Scenario) -> Scenario {
    let mut scenario = line(HOPS);
    scenario.duration_s = 300.0;
    scenario.flows = vec![bulk(0, HOPS, 1.0, None)];
    scenario
}

fn beside(name: &str, source: Source, level: f64) -> impl Iterator<Item = Point> {
    let heard = |node| heard_by(usual(tmotes), node, &[(source, level)]);
    let mut down = heard(WHO);
    down.flows = vec![bulk(HOPS, 0, 1.0, None)];
    let several = |count| heard_by(usual(tmotes), WHO, &vec![(source, level); count]);
    let mut scenarios = vec![
        ("at=1", heard(1)),
        ("at=3", heard(3)),
        ("at=4", heard(4)),
        ("back", down),
        ("stays", covering(heard(WHO), &[0])),
        ("moves", covering(heard(WHO), &PLACES)),
        (TODAY, heard_by(usual(today), WHO, &[(source, level)])),
    ];
    if source == Source::WifiBursts {
        scenarios.push(("two", several(2)));
        scenarios.push(("three", several(3)));
    }
    let named =
        scenarios.into_iter().map(move |(label, scenario)| (format!("{name} {label}"), scenario));
    super::beside(named, METRICS)
}

/// Lowest channels that the source covers, counted from the lowest of the band, like Wi-Fi on its
/// channels 1, 6 and 11.
const PLACES: [u8; 3] = [0, 5, 10];
/// Number of channels that it covers.
const COVERED: u8 = 4;
/// Time that it stays at one place, in seconds.
const STAYS_S: u32 = 30;

/// The same sources limited to some channels; they move from one of these places to the next.
fn covering(mut scenario: Scenario, places: &[u8]) -> Scenario {
    let sources = std::mem::take(&mut scenario.interference);
    scenario.radio.channel = Interferer::FIRST_CHANNEL;
    let turns = 0..scenario.duration_s as u32 / STAYS_S;
    let of = |(turn, place): (u32, &u8)| {
        let from_s = f64::from(turn * STAYS_S);
        let lowest_channel = Interferer::FIRST_CHANNEL + place;
        sources.clone().into_iter().map(move |source| Interferer {
            from_s,
            until_s: Some(from_s + f64::from(STAYS_S)),
            lowest_channel,
            highest_channel: lowest_channel + COVERED - 1,
            ..source
        })
    };
    scenario.interference = turns.zip(places.iter().cycle()).flat_map(of).collect();
    scenario
}

fn refine(rows: &mut Rows) {
    for (label, value) in [("loss oven dbm=-98", 52.0), ("loss wifi dbm=-76", 80.0)] {
        rows.paper(label, "segment_loss", value);
    }
    rows.paper(&cell_label(-76), "segment_loss", 80.0);
    rows.paper("loss stations dbm=-76", "segment_loss", 80.0);
    rows.paper("oven paper", "throughput_of_frames", 2.9);
    rows.paper("oven paper", "not_heard", 3.0);
    rows.paper("oven paper", "heard_at_once", 32.0);
    rows.paper("wifi paper", "throughput_of_frames", 1.6);
    rows.paper("wifi paper", "not_heard", 21.0);
    rows.paper("wifi paper", "heard_at_once", 56.0);
}

fn figures(result: &ExperimentResult) -> Vec<Figure> {
    let rows = Rows { all: result.rows.clone(), ..Rows::default() };
    let curve = |(name, ..): (&str, _, _)| {
        let points = LEVELS.map(|level| (level.into(), format!("loss {name} dbm={level}")));
        (name.to_owned(), points.to_vec())
    };
    let title = "Loss of full frames by the strength of interference";
    let labels = (title, "mean level, dBm", "frames lost, %");
    let stations = curve(("stations", Source::WifiBursts, 0.0));
    let cell = OF_CELL.map(|level| (level.into(), cell_label(level)));
    let cell = ("cell".to_owned(), cell.to_vec());
    let curves = KINDS.map(curve).into_iter().chain([stations, cell]);
    vec![measured(&rows, "segment_loss", labels, curves)]
}

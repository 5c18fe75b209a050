//! Breakdown of the time of a frame in a burst, and the capacity of the raw link (5.1, 2.1).

use crate::experiment::{InRust, readme};
use kinglet::flash::{Command, Driver};
use kinglet::store::Record;
use kinglet::time::{Duration, Instant};
use kinglet_network::cpu::host_cost_of;
use kinglet_network::layout::{FRAG1, FRAGN, IPV6, TCP, mac_header};
use kinglet_pip::raw;
use kinglet_radio::{ACK_PSDU, MAX_PSDU, SIFS, TURNAROUND, air_time};
use kinglet_scenario::simulated::profile_of;
use kinglet_scenario::{
    Datagrams, File, Flash, Flow, FlowKind, Fragments, HostCost, Pace, RadioProfile, Scenario,
    Wake, motes,
};
use kinglet_sim::flash::{FlashPart, M25P80};
use kinglet_sweep::chart::{Bars, Figure, Timeline};
use kinglet_sweep::experiment::{Effort, ExperimentResult, Point, Rows};
use kinglet_sweep::metric::{FULL, Metric, OfBursts, OfFrame};

pub(super) const EXPERIMENT: InRust = InRust {
    id: "bf-timing",
    readme: readme!("bf-timing"),
    source: "Duquennoy et al., §5.1, §3.1.3, §2.1, §2.2, §4",
    main: "cc2420 relays",
    plan,
    refine,
    figures,
};

const METRICS: &[Metric] = &[
    Metric::OfBursts(OfBursts::Rate),
    of(OfFrame::Interval),
    of(OfFrame::Transmit),
    of(OfFrame::Receive),
    of(OfFrame::Ready),
    of(OfFrame::Starting),
    of(OfFrame::Asleep),
    of(OfFrame::Cpu),
    of(OfFrame::FlashRead),
    of(OfFrame::FlashWrite),
    of(OfFrame::FlashErase),
    of(OfFrame::RadioEnergy),
    of(OfFrame::FlashEnergy),
    of(OfFrame::EraseEnergy),
];
const OF_PIP: &[Metric] = &[Metric::OfBursts(OfBursts::OfPip)];
const OF_FOUND: &[Metric] = &[Metric::Frames];
/// Number of channels on which nodes listen.
const CHANNELS: [u8; 2] = [1, 11];
/// Interval between datagrams.
const APART_MS: u32 = 60_000;
const OF_IDLE: &[Metric] = &[Metric::OfBursts(OfBursts::Radio)];
/// Wake-ups per second.
const RATE: u32 = 8;
/// Octets that fill a frame together with the compressed headers, which contain no addresses over
/// one hop.
const fn payload(hops: u32) -> u16 {
    if hops == 1 { 108 } else { FULL }
}
/// Octets of a file sent by PIP: about a minute.
const BY_PIP: u32 = 500_000;
/// Octets of the paper's packets.
const SEGMENT: usize = 1_512;
/// The paper's queue (5.2).
const QUEUE: f64 = 256.0;
/// Length of a period of loss (2.2), in seconds.
const LOSS_S: f64 = 0.5;

/// Name of a radio, and the scenarios for it.
type Hardware = (&'static str, fn(u32) -> Scenario);
const HARDWARE: [Hardware; 2] = [("cc2420", tmotes), ("nrf52840", today)];

const fn of(what: OfFrame) -> Metric {
    Metric::OfBursts(OfBursts::OfFrame(what))
}

fn plan(_: Effort) -> Vec<Point> {
    let mut scenarios = Vec::new();
    for (radio, nodes) in HARDWARE {
        scenarios.push((format!("{radio} sends"), bulk(nodes(1), RATE, 20_000)));
        scenarios.push((format!("{radio} relays"), bulk(nodes(2), RATE, 2_000)));
    }
    let mut memory = bulk(tmotes(2), RATE, 2_000);
    memory.flash = Flash::None;
    scenarios.push(("cc2420 relays in memory".to_owned(), memory));
    let mut points: Vec<Point> = beside(scenarios, METRICS).collect();
    // Records a few frames of a burst for the figure.
    for point in points.iter_mut().filter(|point| point.label == EXPERIMENT.main) {
        point.timeline_s = Some((100.0, 100.08));
    }
    let by_pip = HARDWARE.map(|(radio, nodes)| (format!("{radio} pip"), pip(nodes(4))));
    points.extend(beside(by_pip, OF_PIP));
    let mut idle = tmotes(4);
    idle.duration_s = 600.0;
    points.extend(beside([("cc2420 idle".to_owned(), idle)], OF_IDLE));
    points.extend(beside(CHANNELS.into_iter().flat_map(found), OF_FOUND));
    points
}

/// Distance between neighbours in metres: one step is within the disc, two steps are not.
const SPACING_M: f64 = 8.0;
/// A line of sleeping nodes as in the paper: Tmotes with flash and several channels.
fn tmotes(hops: u32) -> Scenario {
    let mut scenario = Scenario::default().on_line(hops, SPACING_M);
    scenario.radio.profile = RadioProfile::Cc2420Contiki;
    scenario.radio.host_cost = motes::TMOTE;
    scenario.flash = Flash::M25p80;
    asleep(scenario)
}

/// The same with a current radio and the queue in memory.
fn today(hops: u32) -> Scenario {
    let mut scenario = Scenario::default().on_line(hops, SPACING_M);
    scenario.radio.profile = RadioProfile::Nrf52840;
    scenario.radio.host_cost = HostCost::Measured;
    asleep(scenario)
}

/// Makes all nodes sleep. Frames are unsecured, as in the paper, and clocks drift as much as
/// crystals may.
fn asleep(mut scenario: Scenario) -> Scenario {
    scenario.radio.drift_ppm = 40;
    scenario.mac.security = None;
    scenario.fragments = Fragments::Forwarded;
    scenario.wake = Some(Wake { border_duty_cycled: true, channels: 11, ..Wake::DEFAULT });
    scenario
}

/// The same with the paper's settings of bursts instead of ours.
fn as_paper(mut scenario: Scenario) -> Scenario {
    if let Some(wake) = &mut scenario.wake {
        wake.settings.burst = Duration::from_secs(2);
        wake.settings.burst_repeats = wake.settings.repeats;
    }
    scenario
}

/// Additional points of an experiment, outside its plan.
fn beside(
    scenarios: impl IntoIterator<Item = (String, Scenario)>,
    metrics: &'static [Metric],
) -> impl Iterator<Item = Point> {
    let of = move |(label, scenario)| point(label, "beside", 1.0, scenario, metrics);
    scenarios.into_iter().map(of)
}

fn point(
    label: String,
    series: &'static str,
    x: f64,
    mut scenario: Scenario,
    metrics: &'static [Metric],
) -> Point {
    scenario.name.clone_from(&label);
    Point { label, series, x, scenario, metrics, timeline_s: None }
}

/// The same route with PIP, which should not be faster.
fn pip(mut scenario: Scenario) -> Scenario {
    scenario.duration_s = 300.0;
    let file = File { from: 0, to: 4, bytes: BY_PIP };
    scenario.flows = vec![Flow::new(0.0, FlowKind::Pip(file))];
    scenario
}

/// Datagrams at full speed from the far end to the near one.
fn bulk(mut scenario: Scenario, rate: u32, burst_ms: u32) -> Scenario {
    // The same length in a quick run: in one minute the neighbours' search would take 3 %.
    scenario.duration_s = 300.0;
    scenario = as_paper(scenario);
    if let Some(wake) = &mut scenario.wake {
        wake.settings.period = Duration::from_micros(1_000_000 / u64::from(rate));
        wake.settings.burst = Duration::from_millis(burst_ms.into());
    }
    scenario.flows = vec![flow(scenario.host() - 1, 0)];
    scenario
}

/// Datagrams from one end to the other.
fn flow(from: u32, to: u32) -> Flow {
    let payload_bytes = payload(from.max(to));
    let pace = Pace::Bulk(None);
    Flow::new(1.0, FlowKind::Udp(Datagrams { from, to, payload_bytes, pace }))
}

/// Sends one datagram to a neighbour, and eleven.
fn found(channels: u8) -> [(String, Scenario); 2] {
    [("first", 1.0), ("eleven", 11.0)].map(|(name, datagrams)| {
        let mut scenario = tmotes(1);
        scenario.wake = scenario.wake.map(|wake| Wake { channels, ..wake });
        scenario.flows = vec![Flow::new(1.0, FlowKind::datagrams(1, 0, APART_MS, 80))];
        scenario.duration_s = f64::from(APART_MS) / 1e3 * datagrams;
        (format!("{name} channels={channels}"), scenario)
    })
}

/// Time of a frame by data sheets and the paper's figures, in milliseconds.
struct Computed {
    on_air: f64,
    acknowledgement: f64,
    copying: f64,
    cpu: f64,
    starting: f64,
    /// Minimum spacing between frames of a burst (IEEE 802.15.4-2015, 6.2.4: SIFS).
    spacing: f64,
}

impl Computed {
    fn of(scenario: &Scenario) -> Computed {
        let radio = profile_of(scenario.radio.profile);
        let ms = |us: u64| us as f64 / 1e3;
        Computed {
            on_air: ms(air_time(MAX_PSDU).as_micros()),
            acknowledgement: ms((TURNAROUND + air_time(ACK_PSDU)).as_micros()),
            copying: ms(radio.load_time(MAX_PSDU).as_micros()),
            cpu: f64::from(host_cost_of(&scenario.radio).frame_sent_ns) / 1e6,
            starting: ms(radio.synthesiser_us + radio.prepare_us + radio.start_us),
            spacing: ms(SIFS.as_micros()),
        }
    }

    fn interval(&self) -> f64 {
        let between = self.copying + self.cpu + self.starting;
        self.on_air + self.acknowledgement + between.max(self.spacing)
    }
}

/// Time for the flash to read a full frame, in milliseconds.
fn flash_read_ms() -> Option<f64> {
    let mut part = FlashPart::new(M25P80, 3_000);
    let command = Command::Read { page: 0, offset: 0, len: MAX_PSDU as u16 };
    part.submit(Instant::ZERO, command, &[]).ok()?;
    Some(part.deadline()?.as_micros() as f64 / 1e3)
}

fn refine(rows: &mut Rows) {
    for (index, (radio, nodes)) in HARDWARE.into_iter().enumerate() {
        computed(rows, radio, index as f64, &nodes(1));
        raw_link(rows, radio, index as f64, &nodes(1));
    }
    let label = "cc2420 computed";
    rows.paper(label, "copying", 1.2);
    rows.paper(label, "on_air_and_acknowledgement", 4.7);
    rows.paper(label, "rate_without_copying", 208.0);
    if let Some(ms) = flash_read_ms() {
        rows.compute(label, "computed", 0.0, ("flash_read", "ms"), ms).paper = Some(1.9);
    }
    rows.paper("cc2420 sends", "rate", 130.0);
    rows.paper("cc2420 sends", "interval", 7.7);
    rows.paper("cc2420 relays", "flash_energy", 0.101);
    rows.paper("cc2420 relays", "radio_energy", 0.523);
    if let Some(rate) = rows.mean("cc2420 sends", "rate") {
        let burst = ("burst_of_256", "s");
        rows.compute("queue", "queue", 0.0, burst, QUEUE / rate).paper = Some(2.25);
        let octets = size_of::<Record>() as f64;
        rows.compute("queue", "queue", 0.0, ("memory_for_a_packet", "B"), octets).paper = Some(8.0);
    }
    if let Some(idle) = rows.mean("cc2420 idle", "radio") {
        let loss = "500 ms of loss";
        let ratio = 100.0 / idle;
        rows.compute(loss, "loss", 0.0, ("always_on_to_idle", "times"), ratio).paper = Some(100.0);
        rows.compute(loss, "loss", 0.0, ("of_idle", "s"), LOSS_S * ratio).paper = Some(60.0);
    }
    for channels in CHANNELS {
        let frames = |what: &str| rows.mean(&format!("{what} channels={channels}"), "frames");
        if let (Some(first), Some(eleven)) = (frames("first"), frames("eleven")) {
            let label = format!("later channels={channels}");
            rows.compute(&label, "found", 0.0, ("frames", "frames"), (eleven - first) / 10.0);
        }
    }
    headers(rows);
}

fn computed(rows: &mut Rows, radio: &str, x: f64, scenario: &Scenario) {
    let label = format!("{radio} computed");
    let of = Computed::of(scenario);
    let both = of.on_air + of.acknowledgement;
    let interval = of.interval();
    let parts = [
        ("on_air", of.on_air),
        ("acknowledgement", of.acknowledgement),
        ("on_air_and_acknowledgement", both),
        ("copying", of.copying),
        ("cpu", of.cpu),
        ("starting", of.starting),
        ("spacing", of.spacing),
        ("interval", interval),
    ];
    for (metric, ms) in parts {
        rows.compute(&label, "computed", x, (metric, "ms"), ms);
    }
    for (metric, ms) in [("rate", interval), ("rate_without_copying", both)] {
        rows.compute(&label, "computed", x, (metric, "frames/s"), 1e3 / ms);
    }
    let sends = format!("{radio} sends");
    rows.bound("interval", |row| (row.label == sends).then_some(interval).or(row.bound));
    rows.bound("rate", |row| (row.label == sends).then_some(1e3 / interval).or(row.bound));
}

/// Capacity of the raw link over many hops.
fn raw_link(rows: &mut Rows, radio: &str, x: f64, scenario: &Scenario) {
    let profile = profile_of(scenario.radio.profile);
    let most = raw::kilobytes_per_second(raw::theoretical_slot(&profile));
    let mut add = |what: &str, kilobytes: f64, paper: Option<f64>| {
        let label = format!("{radio} {what}");
        let throughput = ("throughput_of_frames", "kB/s");
        rows.compute(&label, "raw link", x, throughput, kilobytes).paper = paper;
        rows.compute(&label, "raw link", x, ("of_bound", "%"), 100.0 * kilobytes / most);
    };
    let paper = |figure: f64| (x == 0.0).then_some(figure);
    add("raw theoretical", most, paper(14.0));
    let conditional = raw::kilobytes_per_second(raw::conditional_slot(&profile));
    add("raw conditional", conditional, paper(13.6));
    add("raw copied", raw::kilobytes_per_second(raw::copied_slot(&profile)), None);
    if let Some(by_pip) = rows.mean(&format!("{radio} pip"), "throughput_of_frames") {
        let label = format!("{radio} pip");
        rows.compute(&label, "raw link", x, ("of_bound", "%"), 100.0 * by_pip / most).paper =
            paper(52.0);
    }
}

/// Share of TCP/IP headers in a frame, and fragments per segment (4).
fn headers(rows: &mut Rows) {
    let room = (MAX_PSDU - mac_header(kinglet_scenario::LinkAddresses::Short)) as f64;
    let share = 100.0 * (IPV6 + TCP) as f64 / room;
    rows.compute("headers", "headers", 0.0, ("of_a_frame", "%"), share).paper = Some(50.0);
    // Fragments are multiples of eight octets of the uncompressed packet.
    let in_frame = |header: usize| (room as usize - header) / 8 * 8;
    let (first, later) = (in_frame(FRAG1), in_frame(FRAGN));
    let fragments = 1 + (SEGMENT - first).div_ceil(later);
    let names = [("fragments", fragments), ("frames_for_an_acknowledgement", 2 * fragments)];
    for ((metric, count), paper) in names.into_iter().zip([16.0, 32.0]) {
        let label = format!("segment={SEGMENT}");
        rows.compute(&label, "headers", 0.0, (metric, "frames"), count as f64).paper = Some(paper);
    }
}

/// Parts of the interval between two frames; they exclude each other.
const PARTS: [&str; 5] = ["transmit", "receive", "ready", "starting", "asleep"];

fn figures(result: &ExperimentResult) -> Vec<Figure> {
    let rows = Rows { all: result.rows.clone(), ..Rows::default() };
    if rows.all.is_empty() {
        return Vec::new();
    }
    let points = result.samples.iter().map(|(point, _)| point.label.as_str());
    let of_frames = points.filter(|label| rows.get(label, "interval").is_some());
    let bar = |label: &str| {
        (label.to_owned(), PARTS.map(|part| rows.mean(label, part).unwrap_or(0.0)).into())
    };
    let interval = Figure::Bars(Bars {
        title: "Radio time of node 1 for each frame delivered".to_owned(),
        unit: "ms".to_owned(),
        parts: PARTS.map(str::to_owned).into(),
        bars: of_frames.map(bar).collect(),
        marks: vec![("the paper's frame in a burst".to_owned(), 7.7)],
    });
    let carried = |(radio, _): &Hardware| {
        ["raw theoretical", "raw conditional", "raw copied", "pip"].map(|what| {
            let label = format!("{radio} {what}");
            let value = rows.mean(&label, "throughput_of_frames").unwrap_or(0.0);
            (label, vec![value])
        })
    };
    let link = Figure::Bars(Bars {
        title: "Capacity of the link over several hops".to_owned(),
        unit: "kB/s".to_owned(),
        parts: vec!["octets of frames".to_owned()],
        bars: HARDWARE.iter().flat_map(carried).collect(),
        marks: Vec::new(),
    });
    let seen = result
        .samples
        .iter()
        .find(|(point, run)| point.timeline_s.is_some() && !run.timeline.is_empty());
    let burst = seen.map(|(point, run)| {
        let (from, to) = point.timeline_s.unwrap_or_default();
        Figure::Timeline(Timeline {
            title: "Some frames of a burst over a relay".to_owned(),
            nodes: run.nodes.len(),
            lanes: Vec::new(),
            activity: run.timeline.clone(),
            range_us: ((from * 1e6) as u64, (to * 1e6) as u64),
        })
    });
    [interval, link].into_iter().chain(burst).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_computed_for_a_tmote_are_those_that_the_paper_measured() {
        let of = Computed::of(&tmotes(1));
        let ms = |value: f64, paper: f64| assert!((value / paper - 1.0).abs() < 0.04, "{value}");
        ms(of.on_air + of.acknowledgement, 4.7);
        ms(of.copying, 1.2);
        ms(of.interval(), 7.7);
        ms(flash_read_ms().expect("it reads"), 1.9);
        // The highest number of frames that it can send without copying (5.1).
        ms(1e3 / (of.on_air + of.acknowledgement), 208.0);
    }

    #[test]
    fn fragments_and_headers_are_those_that_can_be_counted() {
        let mut rows = Rows::default();
        headers(&mut rows);
        // 60 of 116 octets; 112 and 13 times 104 are 1464, and 48 are left.
        let share = rows.mean("headers", "of_a_frame").expect("computed");
        assert!((share - 100.0 * 60.0 / 116.0).abs() < 1e-9, "{share}");
        assert_eq!(rows.mean("segment=1512", "fragments"), Some(15.0));
    }
}

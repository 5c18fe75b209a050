//! Radios that sleep, and the MACs that control them: radio time of a leaf by cause, to the
//! microsecond.

use crate::common::*;
use kinglet::mac::Delivery::Delivered;
use kinglet::mac::{
    CcmStar, Class, Csl, DataRequestOutcome, Exponential, Indication, Indirect, Mac, MacConfig,
    Neighbour, PeerCounter, Sampled, Samples, Sizes, Sleeper, Sleepers, Slot, Tabled, Token,
    TxRequest,
};
use kinglet::wire::ieee802154::Address;
use kinglet_radio::{ACK_PSDU, Access, Ack, CCA, Command, Event, LIFS, SIFS, TURNAROUND, air_time};
use kinglet_sim::energy::RadioState;
use kinglet_sim::ledger::Cause;
use kinglet_sim::medium::MediumConfig;
use kinglet_sim::profile::{AT86RF233, NRF52840, RadioProfile};
use kinglet_sim::{Device, NodeConfig, World};
use kinglet_time::{Duration, Instant, earliest};

/// Octets of a data request on the air: 9 of addressing, the command, the FCS.
const REQUEST_PSDU: usize = 12;
/// Octets of a response on the air, and of its payload.
const ANSWER_PSDU: usize = 60;
const ANSWER: usize = ANSWER_PSDU - 11;

/// Time from the start of preparation, with the radio on, to the end of the acknowledgement.
fn exchange_us(radio: &RadioProfile, psdu_len: usize) -> u64 {
    let load = radio.load_time(psdu_len).as_micros();
    let frame = CCA.as_micros() + radio.cca_to_air_us + air_time(psdu_len).as_micros();
    radio.prepare_us + load + radio.start_us + frame + ack_us()
}

/// The same for a frame that a parent prepares while it acknowledges a data request, without
/// backoff: the frame follows the acknowledgement by at least a short interframe spacing.
fn answer_us(radio: &RadioProfile, psdu_len: usize) -> u64 {
    let prepared = exchange_us(radio, psdu_len) - air_time(psdu_len).as_micros() - ack_us();
    prepared.max(SIFS.as_micros()) + air_time(psdu_len).as_micros() + ack_us()
}

/// Time from the end of a frame to the end of its acknowledgement.
fn ack_us() -> u64 {
    (TURNAROUND + air_time(ACK_PSDU)).as_micros()
}

/// Microseconds in which the radio of `node` was neither asleep nor starting.
fn on_us<D: Device>(world: &World<D>, node: usize) -> u64 {
    let times = world.energy(node).radio;
    times.total() - times.of(RadioState::Sleep) - times.starting()
}

#[test]
fn a_transmission_from_sleep_wakes_the_radio_and_returns_it_to_sleep() {
    let sender = Script::silent().send(1_000, transmit(Access::Cca, true), data(1, 0, 7, 60));
    let mut world = line(&disc(), vec![sender, Script::listening()]);
    run(&mut world, 1_000_000);
    let acked = |e: &Event| matches!(e, Event::Transmitted { ack: Ack::Received { .. }, .. });
    assert!(world.device(0).events().iter().all(acked));
    let times = world.energy(0).radio;
    // The oscillator, then the synthesiser, which draws as much current as the receiver.
    assert_eq!((times.of(RadioState::Idle), times.of(RadioState::Settle)), (330, 80));
    assert_eq!(on_us(&world, 0), exchange_us(&AT86RF233, 60));
    assert_eq!(times.total(), 1_000_000);
}

#[test]
fn a_change_of_mode_waits_for_the_frame_that_is_being_received() {
    let sender = Script::listening().send(1_000, transmit(Access::Cca, true), data(1, 0, 7, 127));
    let receiver = Script::listening().at(3_000, Command::Off);
    let mut world = line(&disc(), vec![sender, receiver]);
    run(&mut world, 1_000_000);
    assert_eq!(world.device(1).received(), 1);
    let acked = |e: &Event| matches!(e, Event::Transmitted { ack: Ack::Received { .. }, .. });
    assert!(world.device(0).events().iter().any(acked));
    let asleep = world.energy(1).radio.of(RadioState::Sleep);
    assert!(asleep > 990_000, "{asleep}: and then it sleeps");
}

/// Frame pending bits in the acknowledgements of a receiver with a frame for node 0: for data
/// requests and a data frame from nodes 0 and 2.
fn promises(radio: RadioProfile) -> [Vec<bool>; 2] {
    let asking = |src: u16| {
        let mut request = data(1, src, 7, REQUEST_PSDU);
        (request[0], request[9]) = (0x63, 4);
        let send = transmit(Access::Cca, true);
        let at = 10_000 * (u64::from(src) + 1);
        Script::listening().send(at, send, request).send(at + 50_000, send, data(1, src, 8, 30))
    };
    let pending = Command::Pending { short: 0, pending: true };
    let devices = [asking(0), Script::listening().at(0, pending), asking(2)];
    let place = |(i, device)| (with_radio(node(i, i as f64 * 8.0), radio), device);
    let nodes = devices.into_iter().enumerate().map(place).collect();
    let mut world = World::new(1, &disc(), nodes);
    run(&mut world, 1_000_000);
    [0, 2].map(|n| {
        let bit = |event: &Event| match event {
            Event::Transmitted { ack: Ack::Received { frame_pending }, .. } => Some(*frame_pending),
            _ => None,
        };
        world.device(n).events().iter().filter_map(bit).collect()
    })
}

#[test]
fn only_acknowledgements_of_data_requests_promise_a_frame() {
    assert_eq!(promises(NRF52840), [[true, false], [false, false]]);
    assert_eq!(promises(AT86RF233), [[true, false], [true, false]], "one bit for all");
}

struct Plan;
impl Sizes for Plan {
    type Queue = [Slot; 4];
    type Neighbours = [Neighbour; 4];
    type Listening = Sampled;
    type DeliveryMethod = Sleepers<[Sleeper<Samples>; 2]>;
    type Security = CcmStar<Tabled, [PeerCounter; 2]>;
    type Backoff = Exponential;
}

/// A MAC that polls its parent every `interval`, and responds to data requests.
struct Mote {
    mac: Mac<Plan>,
    interval: Option<Duration>,
    next: Instant,
    outcomes: Vec<DataRequestOutcome>,
    received: usize,
    /// Frames queued for the node whose short address is the index.
    held: [u32; 3],
    lost: u32,
    frame: Vec<u8>,
}

const PARENT: u16 = 0;

impl Mote {
    fn new(
        short: u16,
        radio: &RadioProfile,
        interval: Option<Duration>,
        indirect: Indirect,
    ) -> Mote {
        let rx_on_when_idle = interval.is_none();
        let config = MacConfig { short, rx_on_when_idle, indirect, ..MacConfig::DEFAULT };
        let mac = Mac::new(config, radio.capabilities(), u64::from(short));
        let next = Instant::from_millis(10 + u64::from(short) * 100);
        let (outcomes, frame) = (Vec::new(), Vec::new());
        Mote { mac, interval, next, outcomes, received: 0, held: [0; 3], lost: 0, frame }
    }

    /// Queues `frames` for the node with this address.
    fn hold(&mut self, now: Instant, short: u16, frames: u32) {
        self.held[usize::from(short)] = frames;
        self.mac.set_pending(now, short, frames > 0).unwrap();
    }

    /// Sends to nodes that listen soon, and keeps frames that were not delivered.
    fn settle(&mut self, now: Instant) {
        while let Some(outcome) = self.mac.poll_outcome(now) {
            if let (Address::Short(short), true) = (outcome.dst, outcome.result != Delivered) {
                self.lost += 1;
                let held = self.held[usize::from(short)];
                self.hold(now, short, held + 1);
            }
        }
        while let Some(short) = self.mac.poll_listener(now) {
            self.answer(now, Address::Short(short));
        }
    }

    fn answer(&mut self, now: Instant, src: Address) {
        let Address::Short(short) = src else { return };
        let Some(left) = self.held[usize::from(short)].checked_sub(1) else { return };
        self.held[usize::from(short)] = left;
        self.mac.set_pending(now, short, left > 0).unwrap();
        let (token, class) = (Token(0), Class::Indirect);
        let request = TxRequest { dst: src, ack: true, token, class, frame_pending: left > 0 };
        self.mac.enqueue(now, request, |_| ANSWER).unwrap();
        if left > 0 && self.mac.config().indirect.burst {
            self.answer(now, src);
        }
    }
}

impl Device for Mote {
    fn handle_radio(&mut self, now: Instant, event: Event, frame: &[u8]) {
        match self.mac.handle_radio(now, event, &mut frame.to_vec()) {
            Ok(Some(Indication::DataRequest { src, .. })) => self.answer(now, src),
            Ok(Some(Indication::Data { .. })) => self.received += 1,
            _ => {}
        }
        self.outcomes.extend(self.mac.poll_data_request(now));
        self.settle(now);
    }

    fn poll_radio(&mut self, now: Instant) -> Option<(Command, &[u8])> {
        let submission = self.mac.poll_radio(now)?;
        self.frame = submission.frame.to_vec();
        Some((submission.command, &self.frame))
    }

    fn deadline(&self) -> Option<Instant> {
        earliest(self.mac.deadline(), self.interval.map(|_| self.next))
    }

    fn handle_deadline(&mut self, now: Instant) {
        self.mac.handle_deadline(now);
        self.settle(now);
        self.outcomes.extend(self.mac.poll_data_request(now));
        if let Some(interval) = self.interval.filter(|_| now >= self.next) {
            self.next = now + interval;
            self.mac.request_data(now, Address::Short(PARENT)).unwrap();
        }
    }
}

/// A parent and two leaves that poll it every second.
fn family(radio: RadioProfile, indirect: Indirect) -> World<Mote> {
    let second = Some(Duration::from_secs(1));
    let devices = [None, second, second].into_iter().enumerate().map(|(i, interval)| {
        let mote = Mote::new(i as u16, &radio, interval, indirect);
        let config: NodeConfig = with_radio(node(i, i as f64 * 2.0), radio);
        (config, mote)
    });
    World::new(1, &MediumConfig::unit_disc(10.0), devices.collect())
}

#[test]
fn a_leaf_that_asks_each_second_in_vain_is_on_for_its_data_requests_only() {
    for radio in [AT86RF233, NRF52840] {
        let mut world = family(radio, Indirect::DEFAULT);
        world.run_until(Instant::from_secs(600));
        let asked = world.device(1).outcomes.len() as u64;
        assert!(world.device(1).outcomes.iter().all(|o| *o == DataRequestOutcome::NothingPending));
        assert_eq!((asked, on_us(&world, 1)), (600, 600 * exchange_us(&radio, REQUEST_PSDU)));
    }
    // 1 + 14 + 16 us of preparation, 128 us of assessment, 192 us of turnaround, 576 us of request
    // and 544 us until the acknowledgement's end: 0.15 % of a second.
    assert_eq!(exchange_us(&AT86RF233, REQUEST_PSDU), 1_471);
}

#[test]
fn a_leaf_with_a_frame_at_its_parent_is_on_until_it_has_acknowledged_it() {
    let indirect = Indirect { min_be: 0, ..Indirect::DEFAULT };
    for radio in [AT86RF233, NRF52840] {
        let mut world = family(radio, indirect);
        world.with_device(0, |parent, now| parent.hold(now, 1, 10));
        world.run_until(Instant::from_secs(10));
        let leaf = world.device(1);
        assert_eq!((leaf.received, leaf.outcomes.len()), (10, 10));
        assert_eq!(leaf.outcomes[0], DataRequestOutcome::Received { more: true });
        assert_eq!(leaf.outcomes[9], DataRequestOutcome::Received { more: false });
        let one = exchange_us(&radio, REQUEST_PSDU) + answer_us(&radio, ANSWER_PSDU);
        assert_eq!(on_us(&world, 1), 10 * one, "{}", radio.name);
    }
}

#[test]
fn a_burst_takes_one_data_request() {
    let indirect = Indirect { min_be: 0, burst: true, ..Indirect::DEFAULT };
    let mut world = family(NRF52840, indirect);
    world.with_device(0, |parent, now| parent.hold(now, 1, 3));
    world.run_until(Instant::from_millis(500));
    assert_eq!(world.device(1).outcomes, [DataRequestOutcome::Received { more: false }]);
    assert_eq!(world.device(1).received, 3);
    // The second and third frame follow the previous acknowledgement by a long spacing.
    let exchanges = exchange_us(&NRF52840, REQUEST_PSDU) + answer_us(&NRF52840, ANSWER_PSDU);
    let others = 2 * (LIFS.as_micros() + exchange_us(&NRF52840, ANSWER_PSDU));
    assert_eq!(on_us(&world, 1), exchanges + others);
}

#[test]
fn a_radio_with_one_bit_wakes_the_others_for_an_empty_frame() {
    let indirect = Indirect { min_be: 0, ..Indirect::DEFAULT };
    for (radio, empty) in [(AT86RF233, 1), (NRF52840, 0)] {
        let mut world = family(radio, indirect);
        // Node 2 polls at 210 ms; node 1 fetches its frames at 110 ms and 1110 ms.
        world.with_device(0, |parent, now| parent.hold(now, 1, 2));
        world.run_until(Instant::from_millis(900));
        let (leaf, stats) = (world.device(2), world.device(0).mac.stats());
        assert_eq!((leaf.received, stats.answered_in_vain), (0, empty), "{}", radio.name);
        let outcome = match empty {
            1 => DataRequestOutcome::Received { more: false },
            _ => DataRequestOutcome::NothingPending,
        };
        assert_eq!(leaf.outcomes, [outcome]);
        let answer = u64::from(empty) * answer_us(&radio, 11);
        assert_eq!(on_us(&world, 2), exchange_us(&radio, REQUEST_PSDU) + answer);
    }
}

#[test]
fn a_frame_that_does_not_come_costs_the_whole_window() {
    let mut world = family(NRF52840, Indirect::DEFAULT);
    // The frame pending bit is set, but there is no frame.
    world.with_device(0, |parent, now| parent.mac.set_pending(now, 1, true).unwrap());
    world.run_until(Instant::from_millis(900));
    assert_eq!(world.device(1).outcomes, [DataRequestOutcome::TimedOut]);
    let window = MacConfig::DEFAULT.data_request_timeout.as_micros();
    assert_eq!(on_us(&world, 1), exchange_us(&NRF52840, REQUEST_PSDU) + window);
}

/// A parent and a leaf that samples the channel each second; their clocks drift apart by twice
/// `drift_ppm` parts per million.
fn sampling(csl: Csl, drift_ppm: i32, indirect: Indirect) -> World<Mote> {
    let radio = NRF52840;
    let mut parent = Mote::new(0, &radio, None, indirect);
    parent.mac.set_pending(Instant::ZERO, 1, false).unwrap();
    let config = MacConfig {
        short: 1,
        rx_on_when_idle: false,
        csl: Some(csl),
        indirect,
        ..MacConfig::DEFAULT
    };
    let mut leaf = Mote::new(1, &radio, None, indirect);
    leaf.mac = Mac::new(config, radio.capabilities(), 1);
    let place =
        |i: usize, ppm| NodeConfig { drift_ppm: ppm, ..with_radio(node(i, i as f64 * 2.0), radio) };
    let devices = vec![(place(0, -drift_ppm), parent), (place(1, drift_ppm), leaf)];
    let mut world = World::new(1, &MediumConfig::unit_disc(10.0), devices);
    world.run_until(Instant::from_millis(10));
    let parent = Address::Short(PARENT);
    assert!(world.with_device(1, |leaf, now| leaf.mac.set_parent(now, Some(parent))));
    world
}

const CSL: Csl =
    Csl { period: Duration::from_secs(1), drift_ppm: 0, sync_interval: Duration::from_secs(10) };

#[test]
fn a_leaf_that_samples_is_on_for_its_samples_and_to_announce_the_time() {
    let mut world = sampling(CSL, 0, Indirect::DEFAULT);
    world.run_until(Instant::from_secs(100));
    assert!(world.device(1).mac.is_sampling());
    // 9 octets of addressing, 8 of CSL IE, the FCS.
    let syncs = 10 * exchange_us(&NRF52840, 9 + 8 + 2);
    // The first sample is a second after the first synchronisation. Each lasts 160 us until the end
    // of an SFD, and 32 us of uncertainty before and after.
    let samples = 99 * (160 + 2 * 32);
    assert_eq!(world.counters(1).frames_sent, 10);
    assert_eq!(on_us(&world, 1), syncs + samples);
    assert_eq!(world.energy(1).ledger.of(Cause::Poll), syncs + samples);
}

/// Queues a frame for the leaf every seven seconds for ten minutes. Returns the number of frames
/// received, and of transmissions without acknowledgement.
fn served(csl: Csl, drift_ppm: i32) -> (usize, u32) {
    let mut world = sampling(csl, drift_ppm, Indirect::DEFAULT);
    for second in (7..600).step_by(7) {
        world.run_until(Instant::from_secs(second));
        let held = world.device(0).held[1];
        world.with_device(0, |parent, now| parent.hold(now, 1, held + 1));
    }
    world.run_until(Instant::from_secs(602));
    assert_eq!(world.device(0).mac.stats().data_requests, 0);
    (world.device(1).received, world.device(0).lost)
}

#[test]
fn a_parent_reaches_a_leaf_that_samples_although_clocks_drift() {
    assert_eq!(served(CSL, 0), (85, 0));
    // Crystals of 20 ppm: the leaf listens for the combined error of both.
    assert_eq!(served(Csl { drift_ppm: 40, ..CSL }, 20), (85, 0));
    let seldom = Csl { sync_interval: Duration::from_secs(50), ..CSL };
    assert_eq!(served(Csl { drift_ppm: 40, ..seldom }, 20), (85, 0));
    assert_eq!(served(Csl { drift_ppm: 40, ..seldom }, -20), (85, 0));
    let (_, lost) = served(seldom, 20);
    assert!(lost > 50, "{lost}: without room for drift the frame comes before or after the sample");
}

/// Microseconds of listening per sample of a leaf that announces its times every 50 s, after it has
/// estimated the clock drift. It received `frames` frames, each late after a synchronisation.
fn sample_us(drift_ppm: i32, frames: u32) -> u64 {
    let csl = Csl { drift_ppm: 40, sync_interval: Duration::from_secs(50), ..CSL };
    let mut world = sampling(csl, drift_ppm, Indirect::DEFAULT);
    for second in [208, 255].into_iter().take(frames as usize) {
        world.run_until(Instant::from_secs(second));
        world.with_device(0, |parent, now| parent.hold(now, 1, 1));
    }
    world.run_until(Instant::from_secs(260));
    assert_eq!(world.device(1).received, frames as usize);
    let syncs = |world: &World<Mote>| u64::from(world.device(1).mac.stats().transmissions);
    let (before, sent) = (on_us(&world, 1), syncs(&world));
    world.run_until(Instant::from_secs(320));
    let recorded = (syncs(&world) - sent) * exchange_us(&NRF52840, 9 + 8 + 2);
    assert!(recorded > 0);
    (on_us(&world, 1) - before - recorded) / 60
}

#[test]
fn frames_teach_a_leaf_how_far_the_clocks_drift_apart() {
    for drift_ppm in [-20, 0, 20] {
        // In addition to the 224 us of exact clocks, before and after each sample on average: 40
        // ppm of 5 s, and later 2.6 ppm of 25 s.
        let (unknown, known) = (sample_us(drift_ppm, 0), sample_us(drift_ppm, 2));
        assert!((550..700).contains(&unknown), "{drift_ppm} ppm: {unknown} us");
        assert!((300..400).contains(&known), "{drift_ppm} ppm: {known} us");
    }
}

#[test]
fn a_frame_that_promises_more_keeps_a_leaf_awake_that_samples() {
    let mut world = sampling(CSL, 0, Indirect { burst: true, ..Indirect::DEFAULT });
    world.run_until(Instant::from_millis(5_500));
    let before = on_us(&world, 1);
    world.with_device(0, |parent, now| parent.hold(now, 1, 3));
    // One sample at the end of the sixth second.
    world.run_until(Instant::from_millis(6_500));
    assert_eq!((world.device(1).received, world.device(0).lost), (3, 0));
    // The frames after the first follow at once, each after a backoff of at most 7 * 320 us.
    let exchange = exchange_us(&NRF52840, ANSWER_PSDU);
    let on = on_us(&world, 1) - before;
    assert!(on > 2 * exchange && on < 3 * exchange + 2 * 2_240 + 1_000, "{on} us");
}

//! Optional abilities of a radio in addition to sending and receiving: securing frames in hardware,
//! and assessing the channel without sending.

use crate::common::*;
use kinglet::mac::{
    AlwaysOn, ByRadio, CcmStar, Class, Exponential, Indication, Key, LinkSecurity, Mac, MacConfig,
    Neighbour, PeerCounter, Security, Sizes, Slot, Tabled, Token, TxRequest,
};
use kinglet::wire::ieee802154::Address;
use kinglet_radio::{Access, CCA, Capabilities, Channel, Command, Event, air_time};
use kinglet_sim::energy::RadioState;
use kinglet_sim::pcap::Pcap;
use kinglet_sim::profile::{RadioProfile, STANDARD};
use kinglet_sim::{Device, World};
use kinglet_time::Instant;
use std::io::Write;
use std::marker::PhantomData;
use std::sync::{Arc, Mutex};

const SECURITY: Security =
    Security { key: Key([7; 16]), eui64_prefix: [2, 0, 0, 0, 0, 0], first_counter: 5 };

/// [`STANDARD`] with the abilities to secure frames and to sense.
const ABLE: RadioProfile = RadioProfile {
    name: "able",
    abilities: &[
        Capabilities::AUTO_ACK,
        Capabilities::ACK_WAIT,
        Capabilities::SCHEDULED,
        Capabilities::SOURCE_MATCH,
        Capabilities::SECURES,
        Capabilities::SENSES,
    ],
    ..STANDARD
};

struct Plan<S>(PhantomData<S>);
impl<S: LinkSecurity> Sizes for Plan<S> {
    type Queue = [Slot; 4];
    type Neighbours = [Neighbour; 4];
    type Listening = AlwaysOn;
    type DeliveryMethod = ();
    type Security = S;
    type Backoff = Exponential;
}

/// Operations independent of the kind of a MAC's security.
trait Link: Send {
    fn handle(&mut self, now: Instant, event: Event, frame: &mut [u8]) -> Option<Vec<u8>>;
    fn poll(&mut self, now: Instant) -> Option<(Command, Vec<u8>)>;
    fn send(&mut self, now: Instant, dst: u16, octets: &[u8]);
    fn deadline(&self) -> Option<Instant>;
    fn handle_deadline(&mut self, now: Instant);
}

impl<S: LinkSecurity> Link for Mac<Plan<S>>
where
    Mac<Plan<S>>: Send,
{
    fn handle(&mut self, now: Instant, event: Event, frame: &mut [u8]) -> Option<Vec<u8>> {
        let result = self.handle_radio(now, event, frame);
        while self.poll_outcome(now).is_some() {}
        let Ok(Some(Indication::Data { payload, .. })) = result else { return None };
        Some(frame[payload].to_vec())
    }

    fn poll(&mut self, now: Instant) -> Option<(Command, Vec<u8>)> {
        self.poll_radio(now).map(|submission| (submission.command, submission.frame.to_vec()))
    }

    fn send(&mut self, now: Instant, dst: u16, octets: &[u8]) {
        let (token, class, dst) = (Token(0), Class::Data, Address::Short(dst));
        let request = TxRequest { dst, ack: true, token, class, frame_pending: false };
        let filled = self.enqueue(now, request, |room| {
            room[..octets.len()].copy_from_slice(octets);
            octets.len()
        });
        filled.unwrap();
    }

    fn deadline(&self) -> Option<Instant> {
        Mac::deadline(self)
    }

    fn handle_deadline(&mut self, now: Instant) {
        Mac::handle_deadline(self, now);
    }
}

struct Mote {
    link: Box<dyn Link>,
    heard: Vec<Vec<u8>>,
    frame: Vec<u8>,
}

impl Mote {
    fn new(short: u16, by_radio: bool, key: u8) -> Mote {
        let security = Some(Security { key: Key([key; 16]), ..SECURITY });
        let config = MacConfig { short, security, ..MacConfig::DEFAULT };
        let (radio, seed) = (ABLE.capabilities(), u64::from(short));
        type Software = CcmStar<Tabled, [PeerCounter; 2]>;
        type Hardware = CcmStar<ByRadio, [PeerCounter; 2]>;
        let link: Box<dyn Link> = match by_radio {
            false => Box::new(Mac::<Plan<Software>>::new(config, radio, seed)),
            true => Box::new(Mac::<Plan<Hardware>>::new(config, radio, seed)),
        };
        Mote { link, heard: Vec::new(), frame: Vec::new() }
    }
}

impl Device for Mote {
    fn handle_radio(&mut self, now: Instant, event: Event, frame: &[u8]) {
        self.heard.extend(self.link.handle(now, event, &mut frame.to_vec()));
    }

    fn poll_radio(&mut self, now: Instant) -> Option<(Command, &[u8])> {
        let (command, frame) = self.link.poll(now)?;
        self.frame = frame;
        Some((command, &self.frame))
    }

    fn deadline(&self) -> Option<Instant> {
        self.link.deadline()
    }

    fn handle_deadline(&mut self, now: Instant) {
        self.link.handle_deadline(now);
    }
}

/// A writer whose contents can be read afterwards.
#[derive(Clone, Default)]
struct Shared(Arc<Mutex<Vec<u8>>>);

impl Write for Shared {
    fn write(&mut self, octets: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend(octets);
        Ok(octets.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Two nodes send each other frames of all lengths, each secured by its radio or by its MAC.
/// Returns the capture and the frames that each received.
fn exchange(by_radio: [bool; 2], keys: [u8; 2]) -> (Vec<u8>, [Vec<Vec<u8>>; 2]) {
    let mote = |n: usize| {
        let place = with_radio(node(n, n as f64 * 8.0), ABLE);
        (place, Mote::new(n as u16, by_radio[n], keys[n]))
    };
    let mut world = World::new(1, &disc(), vec![mote(0), mote(1)]);
    let shared = Shared::default();
    world.set_pcap(Some(Pcap::new(Box::new(shared.clone())).unwrap()));
    for len in 1..=100u8 {
        for from in 0..2 {
            let octets: Vec<u8> = (0..len).map(|n| n + from as u8).collect();
            world.with_device(from, |mote, now| mote.link.send(now, 1 - from as u16, &octets));
            world.kick(from);
            let until = world.now().as_micros() + 50_000;
            world.run_until(Instant::from_micros(until));
        }
    }
    world.set_pcap(None);
    let heard = [0usize, 1].map(|n| world.device(n).heard.clone());
    let air: Vec<u8> = Arc::into_inner(shared.0).unwrap().into_inner().unwrap();
    (air, heard)
}

#[test]
fn a_radio_that_secures_frames_puts_the_same_octets_on_the_air_as_software() {
    let (expected, heard) = exchange([false; 2], [7; 2]);
    assert_eq!(heard.each_ref().map(Vec::len), [100, 100]);
    assert!((0..100).all(|n| heard[1][n].len() == n + 1 && heard[1][n][n] == n as u8));
    for by_radio in [[true, false], [false, true], [true, true]] {
        let (air, other) = exchange(by_radio, [7; 2]);
        assert!(air == expected && other == heard, "{by_radio:?}");
    }
}

#[test]
fn a_radio_with_another_key_reports_nothing() {
    let (_, heard) = exchange([true, true], [7, 8]);
    assert!(heard.iter().all(Vec::is_empty));
}

fn sense() -> Command {
    Command::Sense { channel: Channel::default(), times: 1 }
}

fn able(devices: Vec<Script>) -> World<Script> {
    let place = |(i, device)| (with_radio(node(i, i as f64 * 8.0), ABLE), device);
    World::new(1, &disc(), devices.into_iter().enumerate().map(place).collect())
}

#[test]
fn sensing_from_sleep_takes_eight_symbols_and_sends_nothing() {
    let mut world = able(vec![Script::silent().at(1_000, sense())]);
    run(&mut world, 10_000);
    assert_eq!(world.device(0).events(), [Event::Sensed { busy: false }]);
    let ended = 1_000 + ABLE.wake_us() + CCA.as_micros();
    assert_eq!(world.device(0).recorded[0].at, ended);
    let times = world.energy(0).radio;
    assert_eq!(times.of(RadioState::Listen), CCA.as_micros());
    assert_eq!(times.of(RadioState::Sleep), 10_000 - ABLE.wake_us() - CCA.as_micros());
    assert_eq!((world.counters(0).frames_sent, world.counters(0).assessments), (0, 1));
}

#[test]
fn sensing_finds_a_frame_on_the_air_and_only_then() {
    let begin = 1_000 + ABLE.wake_us() + CCA.as_micros() + ABLE.cca_to_air_us;
    let end = begin + air_time(60).as_micros();
    for (at, busy) in [(begin - 200, false), (begin + 10, true), (end - 200, true), (end, false)] {
        let sender =
            Script::silent().send(1_000, transmit(Access::Cca, false), data(0xFFFF, 0, 7, 60));
        let asleep = Script::silent().at(at - ABLE.wake_us(), sense());
        let mut world = able(vec![sender, asleep]);
        run(&mut world, 30_000);
        assert_eq!(world.device(1).events(), [Event::Sensed { busy }], "at {at}");
    }
}

#[test]
fn a_radio_that_listens_loses_nothing_by_sensing() {
    let sender = Script::silent().send(1_000, transmit(Access::Cca, true), data(1, 0, 7, 100));
    let receiver = Script::listening().at(3_000, sense());
    let mut world = able(vec![sender, receiver]);
    run(&mut world, 30_000);
    let [Event::Sensed { busy: true }, Event::Received { acked: true, .. }] =
        world.device(1).events()[..]
    else {
        panic!("{:?}", world.device(1).events())
    };
    assert_eq!(world.device(1).recorded[0].at, 3_000, "of the eight symbols before");
}

#[test]
fn one_command_is_outstanding_and_a_reset_ends_it() {
    let twice = Script::silent().at(1_000, sense()).at(1_010, sense());
    let mut world = able(vec![twice]);
    run(&mut world, 10_000);
    assert_eq!(world.device(0).events(), [Event::Sensed { busy: false }]);
    assert_eq!(world.counters(0).refused, 1);
    let reset = Script::silent().at(1_000, sense()).at(1_010, Command::Reset);
    let mut world = able(vec![reset]);
    run(&mut world, 10_000);
    assert_eq!(world.device(0).events(), []);
}

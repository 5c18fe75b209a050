//! The MAC keeps the contract of a layer, with any radio and any order of calls.

use kinglet_mac::{
    Admission, AlwaysOn, ByRadio, CcmStar, Class, Csl, Csma, Exponential, Indirect, Key, KeyOf,
    Mac, MacConfig, Neighbour, PeerCounter, Polled, RadioUse, Sampled, Samples, Security, Sizes,
    Sleeper, Sleepers, Slot, Strobed, Strobing, Submission, Tabled, TinyOs, Token, TxRequest,
    TxState, Wake, Waking,
};
use kinglet_radio::{Access, Ack, Capabilities, Command, CsmaParams, Event, MAX_FRAME};
use kinglet_testkit::contract::{Subject, check};
use kinglet_time::{Duration, Instant};
use kinglet_wire::ieee802154::{
    Address, COMMAND_DATA_REQUEST, Csl as CslIe, FrameType, PanId, Repr, Version,
};
use rand_core::Rng;
use rand_pcg::Pcg32;

const SLOTS: usize = 5;
const SLEEPERS: usize = 2;

const SECURITY: Option<Security> =
    Some(Security { key: Key([1; 16]), eui64_prefix: [0; 6], first_counter: u32::MAX - 99 });

/// Choices of a memory plan other than its lengths.
trait Choice: Sizes {
    /// Returns the configuration with the key type of the plan.
    fn config(config: MacConfig) -> MacConfig<KeyOf<Self>>;
}

macro_rules! choice {
    ($name:ident, $listening:ty, $delivery_method:ty, $security:ty, $backoff:ty, $config:expr) => {
        struct $name;
        impl Sizes for $name {
            type Queue = [Slot; SLOTS];
            type Neighbours = [Neighbour; 3];
            type Listening = $listening;
            type DeliveryMethod = $delivery_method;
            type Security = $security;
            type Backoff = $backoff;
        }
        impl Choice for $name {
            fn config(config: MacConfig) -> MacConfig<KeyOf<Self>> {
                $config(config)
            }
        }
    };
}

choice!(
    Everything,
    Sampled,
    Sleepers<[Sleeper<Samples>; SLEEPERS]>,
    CcmStar<Tabled, [PeerCounter; 2]>,
    Exponential,
    core::convert::identity
);
choice!(Plain, AlwaysOn, (), (), Exponential, MacConfig::unsecured);
choice!(Patient, AlwaysOn, (), (), TinyOs, MacConfig::unsecured);
choice!(Leaf, Polled, (), CcmStar<ByRadio, [PeerCounter; 2]>, TinyOs, core::convert::identity);
choice!(Parent, AlwaysOn, Sleepers<[Sleeper; SLEEPERS]>, (), Exponential, MacConfig::unsecured);
choice!(
    Asleep,
    Waking<Sampled>,
    Strobing<Sleepers<[Sleeper; SLEEPERS]>, [Strobed; 3]>,
    CcmStar<Tabled, [PeerCounter; 2]>,
    Exponential,
    core::convert::identity
);
choice!(
    Rested,
    Sampled,
    Sleepers<[Sleeper; SLEEPERS]>,
    CcmStar<Tabled, [PeerCounter; 2]>,
    Exponential,
    core::convert::identity
);

/// A MAC; the seed selects its radio, and whether it is duty-cycled.
struct Device<P: Choice> {
    mac: Mac<P>,
    accepted: usize,
    reported: usize,
    /// Number of data requests, and of their outcomes.
    asked: usize,
    answered: usize,
}

impl<P: Choice> Device<P> {
    fn offer(&mut self, now: Instant, request: TxRequest, len: usize) -> bool {
        let accepted = self.mac.enqueue(now, request, |room| len.min(room.len())).is_ok();
        self.accepted += usize::from(accepted && len > 0);
        accepted
    }
}

fn request(dst: u16, class: Class) -> TxRequest {
    let (token, frame_pending) = (Token(u32::from(dst)), dst == 3);
    TxRequest { dst: Address::Short(dst), ack: true, token, class, frame_pending }
}

/// Returns a frame from a device with the same key. Its counter is one of a few, so that it may
/// have been used before.
fn sealed_frame(now: Instant, random: &mut Pcg32) -> Vec<u8> {
    let dice = random.next_u32();
    let first_counter = [dice >> 27, dice >> 5, u32::MAX][(dice & 0xff) as usize % 3];
    let config = MacConfig {
        short: 2 + (dice >> 8 & 3) as u16,
        csma: Csma::Hardware,
        security: SECURITY.map(|security| Security { first_counter, ..security }),
        ..MacConfig::DEFAULT
    };
    let mut peer: Mac<Everything> = Mac::new(config, Capabilities::CSMA, u64::from(dice));
    let filled = peer.enqueue(now, request(1, Class::Data), |room| room.len().min(50));
    assert!(filled.is_ok());
    let mut frame = Vec::new();
    while let Some(submission) = peer.poll_radio(now) {
        frame = submission.frame.to_vec();
    }
    frame
}

/// Returns a frame that is well-formed, damaged or noise.
fn some_frame(random: &mut Pcg32) -> Vec<u8> {
    let [kind, dst, src, sequence] = random.next_u32().to_le_bytes();
    let mut frame = vec![0; MAX_FRAME];
    random.fill_bytes(&mut frame);
    if kind & 3 != 0 {
        let is_command = dst & 0xf0 == 0;
        let csl = CslIe { phase: sequence.into(), period: dst.into() };
        let csl = Some(csl).filter(|_| dst & 0x30 == 0x30);
        let repr = Repr {
            frame_type: if is_command { FrameType::Command } else { FrameType::Data },
            version: if csl.is_some() { Version::V2015 } else { Version::V2006 },
            ack_request: kind & 4 != 0,
            frame_pending: sequence & 8 != 0,
            sequence: sequence & 7,
            pan_id: PanId(0xabcd),
            dst: if dst & 3 == 0 { Address::BROADCAST } else { Address::Short(1) },
            src: Address::Short(u16::from(src & 7)),
            security: None,
            csl,
            filling: 0,
        };
        let repr = if kind & 24 == 24 { Repr::ack(sequence, dst & 1 != 0) } else { repr };
        let len = repr.emit(&mut frame).expect("room");
        if is_command {
            frame[len] = COMMAND_DATA_REQUEST;
        }
        frame.truncate(len + usize::from(dst & 31));
    }
    if kind & 0xe0 == 0 {
        frame.truncate(usize::from(sequence) % MAX_FRAME);
    }
    frame
}

fn some_event(now: Instant, random: &mut Pcg32) -> (Event, Vec<u8>) {
    let dice = random.next_u32();
    let sfd = now - Duration::from_micros(u64::from(random.next_u32() % 5_000));
    match dice % 8 {
        0 if dice & 0x800 == 0 => (Event::Sensed { busy: dice & 0x1000 == 0 }, Vec::new()),
        0 => (Event::ChannelBusy, Vec::new()),
        1 if dice & 0x700 == 0 => (Event::Missed, Vec::new()),
        1..=3 => {
            let ack = match dice >> 16 & 3 {
                0 => Ack::Missing,
                1 => Ack::NotAwaited,
                _ => Ack::Received { frame_pending: dice & 1 << 18 != 0 },
            };
            let times = 1 + (dice >> 20 & 7) as u16;
            let strobed = Event::Strobed { sfd, ack, times };
            let sent = Event::Transmitted { sfd, ack };
            (if dice & 1 << 19 == 0 { sent } else { strobed }, Vec::new())
        }
        _ => {
            let frame = match dice >> 8 & 3 {
                0 => sealed_frame(now, random),
                _ => some_frame(random),
            };
            let len = frame.len() as u8;
            (Event::Received { sfd, len, rssi_dbm: -70, lqi: 100, acked: false }, frame)
        }
    }
}

impl<P: Choice> Subject for Device<P> {
    /// A reset, a key, two modes, pending states, an acknowledgement or a frame for the radio,
    /// listeners, the outcomes of all slots and that of a data request, and a bound of counters.
    const DRAIN_BOUND: usize = 5 + 2 * SLEEPERS + SLOTS + 2;

    fn fresh(seed: u64) -> Self {
        let bit = |n: u64, set| {
            if seed >> n & 1 != 0 { set } else { Capabilities::NONE }
        };
        let capabilities = bit(0, Capabilities::AUTO_ACK)
            | bit(1, Capabilities::ACK_WAIT)
            | bit(2, Capabilities::CSMA)
            | bit(3, Capabilities::SCHEDULED)
            | bit(5, Capabilities::SOURCE_MATCH)
            | bit(7, Capabilities::SECURES)
            | bit(8, Capabilities::SENSES)
            | bit(8, Capabilities::STROBES);
        let config = MacConfig {
            short: 1,
            csma: if seed >> 4 & 1 != 0 { Csma::Hardware } else { Csma::Software },
            csma_params: CsmaParams { min_be: (seed % 4) as u8, ..Default::default() },
            retry_delay_max: Duration::from_millis(seed % 3 * 40),
            adaptive_retry_delay: seed % 7 > 3,
            data_request_timeout: Duration::from_millis(seed % 4 * 30),
            security: SECURITY.filter(|_| seed.is_multiple_of(3)),
            reserved_security: if seed.is_multiple_of(5) { 21 } else { 0 },
            csl: Some(Csl {
                period: Duration::from_millis(seed % 3 * 100),
                drift_ppm: (seed % 5 * 40) as u16,
                sync_interval: Duration::from_secs(seed % 4),
            }),
            rx_on_when_idle: seed >> 6 & 1 != 0,
            indirect: Indirect {
                max_retries: (seed % 5) as u8,
                retry_delay_max: Duration::from_millis(seed % 4 * 5),
                min_be: (seed % 5) as u8,
                preempt: !seed.is_multiple_of(3),
                burst: seed % 7 > 3,
            },
            ..MacConfig::DEFAULT
        };
        let mut mac = Mac::<P>::new(P::config(config), capabilities, seed);
        let wake = Wake {
            period: Duration::from_millis(30 + seed % 7 * 80),
            drift_ppm: (seed % 3 * 100) as u16,
            repeats: (seed % 6) as u8,
            burst_repeats: (seed % 20) as u8,
            burst: Duration::from_millis(seed % 4 * 20),
            sleeps_in_gaps: !seed.is_multiple_of(5),
            max_attempts: [None, Some(1), Some(4)][(seed % 3) as usize],
            sleeps: !seed.is_multiple_of(4),
            channels: if seed.is_multiple_of(3) { 0x8421 } else { 0 },
        };
        // If the radio or the plan does not support it, nothing changes.
        let _ = mac.set_wake(Some(wake));
        Device { mac, accepted: 0, reported: 0, asked: 0, answered: 0 }
    }

    fn operate(&mut self, now: Instant, random: &mut Pcg32) -> String {
        let dice = random.next_u32();
        if dice & 0x1c == 0x1c {
            let short = 2 + (dice >> 8 & 3) as u16;
            if dice & 1 == 0 {
                match dice >> 16 & 15 {
                    0 => {
                        return format!(
                            "{}",
                            self.mac.set_parent(now, Some(Address::Short(short)))
                        );
                    }
                    1 => drop(self.mac.set_parent(now, None)),
                    _ => {}
                }
                let accepted = self.mac.request_data(now, Address::Short(short)).is_ok();
                self.asked += usize::from(accepted);
                return format!("request data {accepted}");
            }
            if dice & 0x60_0000 == 0 {
                let neighbour = match dice >> 24 & 3 {
                    0 => Admission::All,
                    1 => Admission::AllBut(short),
                    2 => Admission::Only(short),
                    _ => Admission::None,
                };
                self.mac.admit(now, neighbour);
                return format!("{neighbour:?}");
            }
            let pending = dice & 2 != 0;
            return format!("{short} {pending} {:?}", self.mac.set_pending(now, short, pending));
        }
        if dice & 3 == 0 {
            let class =
                [Class::Data, Class::Control, Class::Indirect][(dice >> 5 & 0xff) as usize % 3];
            let dst = [2, 3, 4, 0xffff][(dice >> 8 & 3) as usize];
            let accepted = self.offer(now, request(dst, class), (dice >> 16 & 127) as usize);
            return format!("enqueue {accepted}");
        }
        let (event, mut frame) = some_event(now, random);
        format!("{event:?}: {:?}", self.mac.handle_radio(now, event, &mut frame))
    }

    fn poll(&mut self, now: Instant) -> Option<String> {
        if let Some(submission) = self.mac.poll_radio(now) {
            return Some(format!("{submission:?}"));
        }
        if let Some(child) = self.mac.poll_listener(now) {
            return Some(format!("{child} listens"));
        }
        if let Some(outcome) = self.mac.poll_data_request(now) {
            // A device that samples may get more outcomes than it has sent requests.
            self.answered += usize::from(self.answered < self.asked);
            return Some(format!("{outcome:?}"));
        }
        if let Some(bound) = self.mac.poll_counter_bound(now) {
            return Some(format!("counters below {bound}"));
        }
        let outcome = self.mac.poll_outcome(now)?;
        self.reported += 1;
        Some(format!("{outcome:?}"))
    }

    fn deadline(&self) -> Option<Instant> {
        self.mac.deadline()
    }

    fn handle_deadline(&mut self, now: Instant) {
        self.mac.handle_deadline(now);
    }

    fn observe(&self) -> String {
        format!("{:?} {:?}", self.mac.info(), self.mac.stats())
    }

    fn refuse(&mut self, now: Instant) -> bool {
        let refused = match self.mac.poll_radio(now) {
            Some(Submission { command: Command::Transmit { access, .. }, .. }) => access,
            Some(Submission { command: Command::Strobe { .. }, .. }) => Access::Cca,
            _ => return false,
        };
        self.mac.radio_refused(now);
        // A refused acknowledgement is too late, and its frame will be retransmitted.
        refused != Access::Immediate
    }

    fn owed(&self) -> usize {
        self.accepted - self.reported + self.asked - self.answered
    }

    fn occupancy(&self) -> Vec<(usize, usize)> {
        // Every frame that was accepted and not reported holds a slot; all other used slots hold a
        // data request without a response, or empty frames for other devices.
        let info = self.mac.info();
        assert!(info.slots_used >= self.accepted - self.reported);
        assert!(self.asked - self.answered <= 1);
        assert!(info.slots_used > 0 || info.tx == TxState::Idle);
        let waits = matches!(info.tx, TxState::Backoff { .. } | TxState::Ready);
        let deaf = info.tx != TxState::Idle && !(waits && self.mac.strobe_stats().is_some());
        assert!(info.radio != RadioUse::Window || !deaf, "deaf in its window");
        vec![(info.slots_used, SLOTS)]
    }

    fn offer_data(&mut self, now: Instant) -> Option<bool> {
        Some(self.offer(now, request(2, Class::Data), 50))
    }

    fn offer_control(&mut self, now: Instant) -> Option<bool> {
        Some(self.offer(now, request(2, Class::Control), 50))
    }
}

#[test]
fn the_mac_keeps_the_laws() {
    check::<Device<Everything>>(0..128, 300);
}

#[test]
fn a_mac_that_can_do_least_keeps_them() {
    check::<Device<Plain>>(0..64, 300);
}

#[test]
fn a_leaf_whose_radio_secures_frames_keeps_them() {
    check::<Device<Leaf>>(0..64, 300);
}

#[test]
fn a_mac_that_wakes_and_strobes_keeps_them() {
    check::<Device<Asleep>>(256..384, 300);
}

#[test]
fn a_parent_that_is_always_on_keeps_them() {
    check::<Device<Parent>>(0..64, 300);
}

#[test]
fn a_mac_that_backs_off_as_tinyos_keeps_them() {
    check::<Device<Patient>>(0..64, 300);
}

/// Without wake-ups, [`Waking`] and [`Strobing`] pass everything on to what they contain.
#[test]
fn a_mac_that_could_wake_and_does_not_acts_as_one_that_cannot() {
    for seed in 256..384 {
        let mut resting = Device::<Asleep>::fresh(seed);
        let mut rested = Device::<Rested>::fresh(seed);
        let _ = resting.mac.set_wake(None);
        let (mut random, mut same) = (Pcg32::new(seed, 1), Pcg32::new(seed, 1));
        let (mut now, mut times) = (Instant::from_secs(1), Pcg32::new(seed, 2));
        for step in 0..300 {
            let act = rested.operate(now, &mut random);
            assert_eq!(resting.operate(now, &mut same), act, "seed {seed}, step {step}");
            while let Some(out) = rested.poll(now) {
                assert_eq!(resting.poll(now), Some(out), "seed {seed}, step {step}, after {act}");
            }
            assert_eq!(resting.poll(now), None, "seed {seed}, step {step}, after {act}");
            assert_eq!(resting.deadline(), rested.deadline(), "seed {seed}, step {step}");
            // Sometimes long enough for a radio to count as silent, which is then reset.
            let most = if step % 16 == 0 { 3_000_000 } else { 30_000 };
            now += Duration::from_micros((times.next_u32() % most).into());
            resting.handle_deadline(now);
            rested.handle_deadline(now);
        }
        assert_eq!(resting.observe(), rested.observe());
    }
}

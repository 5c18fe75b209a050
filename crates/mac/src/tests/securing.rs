//! Link security between two MACs, and refused frames.

use super::*;
use crate::cipher::{octets, words};
use kinglet_radio::LinkKey;

fn security(first_counter: u32) -> Option<Security> {
    Some(Security { key: Key([7; 16]), eui64_prefix: [2, 0, 0, 0, 0, 0], first_counter })
}

fn with_key(short: u16, first_counter: u32) -> MacConfig {
    let [.., high, low] = u32::from(short).to_be_bytes();
    let extended = [2, 0, 0, 0, 0, 1, high, low];
    MacConfig { short, extended, security: security(first_counter), ..config() }
}

fn secured(short: u16, first_counter: u32) -> TestMac {
    mac(with_key(short, first_counter), all(), u64::from(short))
}

/// Queues four octets for `dst` and returns the submitted frame.
fn sent(mac: &mut TestMac, now: &mut Instant, dst: Address) -> Vec<u8> {
    put(mac, *now, TxRequest { dst, ..request(1) }).unwrap();
    submitted(mac, now).1
}

fn done(mac: &mut TestMac, now: Instant) {
    transmitted(mac, now, Ack::Received { frame_pending: false });
    assert!(mac.poll_outcome(now).is_some());
}

fn counter_of(frame: &[u8]) -> u32 {
    Frame::parse(frame).unwrap().security().unwrap().frame_counter.unwrap()
}

/// Returns the payload that a device with the key receives, or its reason to discard the frame.
fn opened(to: &mut TestMac, now: Instant, frame: &[u8]) -> Result<Vec<u8>, Discard> {
    let mut octets = frame.to_vec();
    let len = octets.len() as u8;
    let event = Event::Received { sfd: now, len, rssi_dbm: -60, lqi: 200, acked: true };
    let indication = to.handle_radio(now, event, &mut octets)?;
    Ok(octets[payload(indication)].to_vec())
}

#[test]
fn a_secured_frame_hides_its_payload_and_is_opened_by_who_has_the_key() {
    let (mut from, mut to, mut now) = (secured(1, 0), secured(2, 0), T0);
    let frame = sent(&mut from, &mut now, PEER);
    // 9 octets of addressing, 6 of security header, 4 of payload, 4 of integrity code.
    assert_eq!(frame.len(), 9 + 6 + 4 + 4);
    assert_eq!(frame[9..15], [0x0d, 0, 0, 0, 0, 1], "level 5, key index 1");
    assert_ne!(&frame[15..19], b"data");
    assert_eq!(opened(&mut to, now, &frame), Ok(b"data".to_vec()));
    assert_eq!(to.stats().received, 1);
    let mut other = MacConfig { short: 2, security: security(0), ..config() };
    other.security.as_mut().unwrap().key = Key([8; 16]);
    let mut stranger = mac(other, all(), 2);
    assert_eq!(opened(&mut stranger, now, &frame), Err(Discard::BadMic));
    assert_eq!(stranger.stats().discarded(Discard::BadMic), 1);
    assert!(stranger.link(Address::Short(1)).is_none(), "nothing is believed of who may not be it");
}

#[test]
fn frames_from_an_extended_address_are_opened_too() {
    let (mut from, mut to, mut now) = (secured(0xffff, 0), secured(2, 0), T0);
    let frame = sent(&mut from, &mut now, PEER);
    assert_eq!(opened(&mut to, now, &frame), Ok(b"data".to_vec()));
}

#[test]
fn no_changed_octet_passes() {
    let (mut from, mut now) = (secured(1, 0), T0);
    let frame = sent(&mut from, &mut now, PEER);
    for octet in 0..frame.len() {
        let mut damaged = frame.clone();
        damaged[octet] ^= 1;
        assert!(opened(&mut secured(2, 0), now, &damaged).is_err(), "octet {octet}");
    }
    for len in 0..frame.len() {
        assert!(opened(&mut secured(2, 0), now, &frame[..len]).is_err(), "cut to {len}");
    }
}

#[test]
fn a_frame_is_as_long_as_it_may_be_and_no_longer() {
    let (mut from, mut to, mut now) = (secured(1, 0), secured(2, 0), T0);
    let most = from.max_payload(PEER);
    assert_eq!(most, MAX_FRAME - 9 - 6 - 4);
    let fill = |room: &mut [u8]| {
        room.fill(0x5a);
        room.len()
    };
    from.enqueue(now, request(1), fill).unwrap();
    let frame = submitted(&mut from, &mut now).1;
    assert_eq!(frame.len(), MAX_FRAME);
    assert_eq!(opened(&mut to, now, &frame), Ok(std::vec![0x5a; most]));
}

#[test]
fn a_repetition_keeps_its_counter_and_is_a_duplicate() {
    let (mut from, mut to, mut now) = (secured(1, 0), secured(2, 0), T0);
    let first = sent(&mut from, &mut now, PEER);
    transmitted(&mut from, now, Ack::Missing);
    let again = submitted(&mut from, &mut now).1;
    assert_eq!(first, again);
    assert!(opened(&mut to, now, &first).is_ok());
    assert_eq!(opened(&mut to, now, &again), Err(Discard::Duplicate));
    // A sequence number counts for two seconds, a frame counter for ever.
    now += Duration::from_secs(100);
    assert_eq!(opened(&mut to, now, &again), Err(Discard::Replay));
    assert_eq!(to.link(Address::Short(1)).unwrap().duplicates, 1);
}

#[test]
fn a_frame_older_than_the_last_one_is_a_replay() {
    let (mut from, mut to, mut now) = (secured(1, 10), secured(2, 0), T0);
    let first = sent(&mut from, &mut now, PEER);
    done(&mut from, now);
    let second = sent(&mut from, &mut now, PEER);
    assert_eq!((counter_of(&first), counter_of(&second)), (10, 11));
    assert!(opened(&mut to, now, &first).is_ok());
    assert!(opened(&mut to, now, &second).is_ok());
    assert_eq!(opened(&mut to, now, &first), Err(Discard::Replay));
    assert_eq!(to.stats().discarded(Discard::Replay), 1);
    // Nor does a forged counter make an old frame new.
    let mut forged = first;
    forged[10..14].copy_from_slice(&99u32.to_le_bytes());
    assert_eq!(opened(&mut to, now, &forged), Err(Discard::BadMic));
    done(&mut from, now);
    let third = sent(&mut from, &mut now, PEER);
    assert!(opened(&mut to, now, &third).is_ok(), "a forgery does not move the counter");
}

#[test]
fn with_a_key_unsecured_frames_are_refused_and_without_one_secured_ones() {
    let (mut with, mut without, mut now) = (secured(1, 0), mac(config(), all(), 1), T0);
    let plain = data_frame(PEER, Address::Short(1), 1, true);
    assert_eq!(opened(&mut with, now, &plain), Err(Discard::Unsecured));
    assert_eq!(with.stats().discarded(Discard::Unsecured), 1);
    let frame = sent(&mut secured(2, 0), &mut now, Address::Short(1));
    assert_eq!(opened(&mut without, now, &frame), Err(Discard::Secured));
    // Another level, another key, no counter: this device has none of these.
    for (at, value) in [(9, 0x0e), (9, 0x15), (14, 2)] {
        let mut other = frame.clone();
        other[at] = value;
        assert_eq!(opened(&mut with, now, &other), Err(Discard::Secured), "{at}: {value}");
    }
    let mut last = frame;
    last[10..14].fill(0xff);
    assert_eq!(opened(&mut with, now, &last), Err(Discard::Secured));
    assert_eq!(with.stats().discarded(Discard::Secured), 4);
}

#[test]
fn a_device_whose_counter_is_used_up_sends_nothing_more() {
    let (mut from, mut now) = (secured(1, u32::MAX - 1), T0);
    let last = sent(&mut from, &mut now, PEER);
    assert_eq!(counter_of(&last), u32::MAX - 1);
    done(&mut from, now);
    for token in 2..4 {
        put(&mut from, now, request(token)).unwrap();
    }
    for token in 2..4 {
        if let Some(at) = from.deadline() {
            now = at;
            from.handle_deadline(at);
        }
        assert!(from.poll_radio(now).is_none());
        let outcome = from.poll_outcome(now).unwrap();
        assert_eq!((outcome.token, outcome.result), (Token(token), Delivery::CounterError));
    }
    assert_eq!((from.stats().counter_errors, from.is_idle()), (2, true));
}

#[test]
fn a_device_that_starts_again_below_its_counter_is_taken_for_a_replay() {
    let (mut to, mut now) = (secured(2, 0), T0);
    for (first_counter, expected) in [(5, true), (3, false), (6, true)] {
        let frame = sent(&mut secured(1, first_counter), &mut now, PEER);
        assert_eq!(opened(&mut to, now, &frame).is_ok(), expected, "{first_counter}");
    }
}

/// Sends until the bound moves; returns the number of frames, and the bound.
fn next_bound(from: &mut TestMac, now: &mut Instant) -> (u32, u32) {
    for frames in 0.. {
        if let Some(bound) = from.poll_counter_bound(*now) {
            return (frames, bound);
        }
        let _ = sent(from, now, PEER);
        done(from, *now);
    }
    unreachable!()
}

#[test]
fn a_device_that_starts_at_the_bound_repeats_no_counter_and_is_accepted() {
    let (mut to, mut now, mut flash, mut highest) = (secured(2, 0), T0, 0, None);
    // Starts after no frame, one, and as many as may be sent before the next bound is in flash.
    for frames in [0, 1, 8191, 2] {
        let mut from = secured(1, flash);
        let (before, bound) = next_bound(&mut from, &mut now);
        assert_eq!((before, bound), (0, flash + 16_384), "before the first frame");
        flash = bound;
        for _ in 0..frames {
            let frame = sent(&mut from, &mut now, PEER);
            assert!(counter_of(&frame) < flash && Some(counter_of(&frame)) > highest);
            highest = Some(counter_of(&frame));
            assert_eq!(opened(&mut to, now, &frame), Ok(b"data".to_vec()));
            done(&mut from, now);
            assert_eq!(from.poll_counter_bound(now), None);
        }
    }
    let mut from = secured(1, 0);
    let bounds = [0; 3].map(|_| next_bound(&mut from, &mut now));
    assert_eq!(bounds, [(0, 16_384), (8192, 24_576), (8192, 32_768)]);
}

#[test]
fn the_bound_ends_where_the_counters_do_and_means_nothing_without_a_key() {
    let (mut from, mut now) = (secured(1, u32::MAX - 3), T0);
    assert_eq!(from.poll_counter_bound(now), Some(u32::MAX));
    for _ in 0..3 {
        let _ = sent(&mut from, &mut now, PEER);
        done(&mut from, now);
        assert_eq!(from.poll_counter_bound(now), None);
    }
    assert_eq!(secured(1, u32::MAX).poll_counter_bound(now), None, "nothing is left");
    assert_eq!(mac(config(), all(), 1).poll_counter_bound(now), None);
}

#[test]
fn an_old_frame_is_a_replay_after_frames_of_any_number_of_devices() {
    let (mut to, mut now) = (secured(9, 0), T0);
    let dst = Address::Short(9);
    let old = sent(&mut secured(1, 0), &mut now, dst);
    assert!(opened(&mut to, now, &sent(&mut secured(1, 1), &mut now, dst)).is_ok());
    // The tables have entries for the statistics of three neighbours and the counters of four.
    for short in 2..=4 {
        let frame = sent(&mut secured(short, 0), &mut now, dst);
        assert!(opened(&mut to, now, &frame).is_ok());
    }
    assert!(to.link(Address::Short(1)).is_none());
    assert_eq!(opened(&mut to, now, &old), Err(Discard::Replay));
    let stranger = sent(&mut secured(5, 0), &mut now, dst);
    assert_eq!(opened(&mut to, now, &stranger), Err(Discard::TooManyPeers));
    assert_eq!(to.stats().discarded(Discard::TooManyPeers), 1);
}

#[test]
fn no_node_without_the_key_takes_a_place_or_a_counter() {
    let (mut to, mut now) = (secured(9, 0), T0);
    let dst = Address::Short(9);
    for short in 1..=8 {
        let mut forged = sent(&mut secured(short, 1_000), &mut now, dst);
        *forged.last_mut().unwrap() ^= 1;
        assert_eq!(opened(&mut to, now, &forged), Err(Discard::BadMic));
    }
    let frame = sent(&mut secured(8, 0), &mut now, dst);
    assert!(opened(&mut to, now, &frame).is_ok());
}

/// A frame with the counter of the last one is a repetition, or claims to be one.
#[test]
fn a_repetition_that_was_changed_does_nothing() {
    let (mut child, mut parent, mut now) = (secured(1, 0), secured(2, 0), T0);
    child.request_data(now, PEER).unwrap();
    let (_, request) = submitted(&mut child, &mut now);
    assert!(receive(&mut parent, now, &request).is_ok());
    let mut forged = request;
    *forged.last_mut().unwrap() ^= 1;
    assert_eq!(receive(&mut parent, now, &forged), Err(Discard::BadMic));
    assert_eq!(parent.stats().data_requests, 1);
}

#[test]
fn a_recorded_data_request_is_a_replay() {
    let (mut child, mut parent, mut now) = (secured(1, 0), secured(2, 0), T0);
    child.request_data(now, PEER).unwrap();
    let (_, request) = submitted(&mut child, &mut now);
    let lifetime = parent.config().duplicate_lifetime;
    for since in [Duration::ZERO, lifetime / 2, lifetime] {
        let again = receive(&mut parent, now + since, &request);
        assert!(matches!(again, Ok(Some(Indication::DataRequest { .. }))));
    }
    let late = now + lifetime + Duration::from_micros(1);
    assert_eq!(receive(&mut parent, late, &request), Err(Discard::Replay));
}

#[test]
fn data_requests_and_empty_frames_are_secured_and_known_again() {
    let (mut child, mut parent, mut now) = (secured(1, 0), secured(2, 0), T0);
    child.request_data(now, PEER).unwrap();
    let (_, request) = submitted(&mut child, &mut now);
    // 9 octets of addressing, 6 of security header, the command and 4 of integrity code.
    assert_eq!((request.len(), counter_of(&request)), (9 + 6 + 1 + 4, 0));
    let hear = |mac: &mut TestMac, frame: &[u8]| {
        let len = frame.len() as u8;
        let event = Event::Received { sfd: now, len, rssi_dbm: -60, lqi: 200, acked: true };
        mac.handle_radio(now, event, &mut frame.to_vec())
    };
    let mut forged = request.clone();
    forged[7] ^= 1;
    assert_eq!(hear(&mut parent, &forged), Err(Discard::BadMic));
    let src = Address::Short(1);
    let asked =
        |repeated| Ok(Some(Indication::DataRequest { src, rssi_dbm: -60, lqi: 200, repeated }));
    for repeated in [false, true] {
        assert_eq!(hear(&mut parent, &request), asked(repeated));
    }
    parent.set_pending(now, 9, true).unwrap();
    assert!(matches!(parent.poll_radio(now).unwrap().command, Command::Pending { .. }));
    // A repetition is answered again.
    assert_eq!(hear(&mut parent, &request), asked(true));
    let mut at = now;
    let (_, empty) = submitted(&mut parent, &mut at);
    transmitted(&mut child, now, Ack::Received { frame_pending: true });
    assert_eq!(empty.len(), 9 + 6 + 4);
    assert_eq!(hear(&mut child, &empty), Ok(None));
    assert_eq!(child.poll_data_request(now), Some(DataRequestOutcome::Received { more: false }));
}

#[test]
fn each_attempt_to_announce_the_time_is_secured_again() {
    let period = Duration::from_secs(1);
    let csl = Some(Csl { period, drift_ppm: 40, sync_interval: Duration::from_secs(10) });
    let config = MacConfig { csl, rx_on_when_idle: false, ..with_key(1, 0) };
    let (mut leaf, mut parent) = (TestMac::new(config, all(), 1), secured(2, 0));
    let mut now = T0;
    assert_eq!(leaf.poll_radio(now).map(|s| s.command), Some(Command::Off));
    assert!(leaf.set_parent(now, Some(PEER)));
    for counter in 0..3 {
        let at = leaf.deadline().unwrap_or(now);
        now = now.max(at);
        leaf.handle_deadline(now);
        let submission = leaf.poll_radio(now).unwrap();
        let frame = submission.frame.to_vec();
        let Command::Transmit { start: Start::At(sfd), .. } = submission.command else {
            panic!("at a certain time")
        };
        assert_eq!(counter_of(&frame), counter);
        let len = frame.len() as u8;
        let event = Event::Received { sfd, len, rssi_dbm: -60, lqi: 200, acked: true };
        assert_eq!(parent.handle_radio(sfd, event, &mut frame.clone()), Ok(None));
        assert!(!leaf.is_sampling());
        let ack = if counter < 2 { Ack::Missing } else { Ack::Received { frame_pending: false } };
        now = sfd;
        transmitted(&mut leaf, now, ack);
    }
    assert!(leaf.is_sampling());
    // The leaf listens, whichever attempt the parent has received.
    let Command::Receive { start: Start::At(from), until: Some(until), .. } =
        leaf.poll_radio(now).unwrap().command
    else {
        panic!("the first sample")
    };
    parent.set_pending(now, 1, true).unwrap();
    let ask_at = parent.deadline().unwrap();
    parent.handle_deadline(ask_at);
    assert_eq!((parent.poll_listener(ask_at), parent.poll_listener(ask_at)), (Some(1), None));
    let request = TxRequest { dst: Address::Short(1), class: Class::Indirect, ..request(1) };
    put(&mut parent, ask_at, request).unwrap();
    let command = core::iter::from_fn(|| parent.poll_radio(ask_at).map(|s| s.command)).last();
    let Some(Command::Transmit { start: Start::At(sfd), access: Access::Cca, .. }) = command else {
        panic!("no backoff: {command:?}")
    };
    let preamble = sfd - Duration::from_micros(160);
    assert!((from..until).contains(&preamble) && sfd < until, "{from:?} {sfd:?} {until:?}");
}

/// The tables of [`Plan`] with another kind of security.
struct With<S>(core::marker::PhantomData<S>);
impl<S: LinkSecurity> Sizes for With<S> {
    type Queue = [Slot; 4];
    type Neighbours = [Neighbour; 3];
    type Listening = crate::Sampled;
    type DeliveryMethod = crate::Sleepers<[crate::Sleeper<crate::Samples>; 2]>;
    type Security = S;
    type Backoff = Exponential;
}

/// Returns the first frame of a device with the key, as its radio gets it, and the commands before
/// it.
fn first_frame<S>(radio: Capabilities) -> (Vec<Command>, Vec<u8>)
where
    S: LinkSecurity<Key = Option<Security>>,
{
    let mut mac: Mac<With<S>> = Mac::new(with_key(1, 5), radio, 1);
    mac.enqueue(T0, request(1), |room| {
        room[..4].copy_from_slice(b"data");
        4
    })
    .unwrap();
    let now = mac.deadline().unwrap_or(T0);
    mac.handle_deadline(now);
    let (mut commands, mut frame) = (Vec::new(), Vec::new());
    while let Some(submission) = mac.poll_radio(now) {
        commands.push(submission.command);
        frame = submission.frame.to_vec();
    }
    (commands, frame)
}

/// A peripheral that encrypts single blocks, with the key and the text in memory.
struct Peripheral {
    key: [u8; 16],
    text: [u8; 16],
}

impl BlockCipher for Peripheral {
    fn new(key: &[u8; 16]) -> Self {
        Peripheral { key: *key, text: [0; 16] }
    }

    fn encrypt<const N: usize>(&mut self, blocks: &mut [Block; N]) {
        for block in blocks {
            self.text = octets(*block);
            let mut inside = [words(&self.text)];
            Sliced::new(&self.key).encrypt(&mut inside);
            *block = inside[0];
        }
    }
}

#[test]
fn hardware_for_single_blocks_secures_frames_as_software_does() {
    let (_, expected) = first_frame::<CcmStar<Sliced, [PeerCounter; 4]>>(all());
    assert_eq!(expected.len(), 9 + 6 + 4 + 4);
    assert_eq!(first_frame::<CcmStar<Tabled, [PeerCounter; 4]>>(all()).1, expected);
    assert_eq!(first_frame::<CcmStar<Peripheral, [PeerCounter; 4]>>(all()).1, expected);
}

#[test]
fn a_radio_that_secures_frames_gets_the_key_and_frames_that_lack_nothing_else() {
    let secures = all() | Capabilities::SECURES;
    let (commands, frame) = first_frame::<CcmStar<ByRadio, [PeerCounter; 4]>>(secures);
    let eui64_prefix = [2, 0, 0, 0, 0, 0];
    let key = LinkKey { key: Key([7; 16]), index: 1, eui64_prefix };
    assert_eq!(commands.iter().filter(|&&c| c == Command::Secure(key)).count(), 1);
    assert_eq!(counter_of(&frame), 5);
    assert_eq!((frame.len(), &frame[15..19]), (9 + 6 + 4 + 4, &b"data"[..]));
    // A frame that the radio has opened is accepted once, and after that no older one.
    let mut to: Mac<With<CcmStar<ByRadio, [PeerCounter; 4]>>> =
        Mac::new(with_key(2, 0), secures, 2);
    let mut hear = |mut frame: Vec<u8>| {
        let len = frame.len() as u8;
        let event = Event::Received { sfd: T0, len, rssi_dbm: -60, lqi: 200, acked: true };
        let range = payload(to.handle_radio(T0, event, &mut frame)?);
        Ok(frame[range].to_vec())
    };
    assert_eq!(hear(frame.clone()), Ok(b"data".to_vec()));
    assert_eq!(hear(frame.clone()), Err(Discard::Duplicate));
    let mut older = frame;
    older[10] = 4;
    assert_eq!(hear(older), Err(Discard::Replay));
}

#[test]
fn a_radio_that_cannot_secure_frames_is_given_none() {
    let mut mac: Mac<With<CcmStar<ByRadio, [PeerCounter; 4]>>> = Mac::new(with_key(1, 0), all(), 1);
    mac.enqueue(T0, request(1), |_| 4).unwrap();
    let now = mac.deadline().unwrap_or(T0);
    mac.handle_deadline(now);
    let is_configuration =
        |command| !matches!(command, Command::Transmit { .. } | Command::Secure(_));
    while let Some(submission) = mac.poll_radio(now) {
        assert!(is_configuration(submission.command));
    }
    assert_eq!(mac.poll_outcome(now).map(|outcome| outcome.result), Some(Delivery::CounterError));
    let (_, mut frame) = first_frame::<CcmStar<Sliced, [PeerCounter; 4]>>(all());
    let event = Event::Received { sfd: T0, len: 23, rssi_dbm: -60, lqi: 200, acked: true };
    let mut mac: Mac<With<CcmStar<ByRadio, [PeerCounter; 4]>>> = Mac::new(with_key(2, 0), all(), 1);
    assert_eq!(mac.handle_radio(T0, event, &mut frame), Err(Discard::Secured));
}

#[test]
fn a_plan_without_security_has_no_place_for_a_key_and_takes_no_secured_frame() {
    let plain = mac(MacConfig { short: 2, ..config() }, all(), 1);
    let mut none: Mac<With<()>> = Mac::new(with_key(2, 0).unsecured(), all(), 1);
    assert_eq!(none.max_payload(PEER), plain.max_payload(PEER));
    let (_, mut frame) = first_frame::<CcmStar<Sliced, [PeerCounter; 4]>>(all());
    let event = Event::Received { sfd: T0, len: 23, rssi_dbm: -60, lqi: 200, acked: true };
    assert_eq!(none.handle_radio(T0, event, &mut frame), Err(Discard::Secured));
    assert_eq!(none.poll_counter_bound(T0), None);
    assert!(size_of::<Mac<With<()>>>() + 96 <= size_of::<TestMac>(), "four peers, round keys");
}

/// The parent has failed to send it, secures it again after the next request, and the child has
/// received it.
#[test]
fn a_sleeping_device_recognises_a_repetition_with_another_counter() {
    for (sleeps, second) in [(true, Err(Discard::Duplicate)), (false, Ok(b"data".to_vec()))] {
        let mut from = secured(1, 0);
        let config = MacConfig { rx_on_when_idle: !sleeps, ..with_key(2, 0) };
        let (mut to, mut now) = (Mac::new(config, all(), 2), T0);
        from.set_pending(now, 2, true).unwrap();
        assert!(from.poll_radio(now).is_some(), "the radio is notified");
        let again = TxRequest { dst: PEER, class: Class::Indirect, ..request(5) };
        let mut frames = Vec::new();
        for _ in 0..2 {
            put(&mut from, now, again).unwrap();
            let frame = loop {
                let frame = submitted(&mut from, &mut now).1;
                transmitted(&mut from, now, Ack::Missing);
                if from.poll_outcome(now).is_some() {
                    break frame;
                }
            };
            frames.push(frame);
        }
        assert_ne!(counter_of(&frames[0]), counter_of(&frames[1]));
        assert_eq!(opened(&mut to, now, &frames[0]), Ok(b"data".to_vec()));
        now += Duration::from_secs(60);
        assert_eq!(opened(&mut to, now, &frames[1]), second, "asleep: {sleeps}");
    }
}

#[test]
fn the_next_frame_is_secured_once_and_after_the_outstanding_one() {
    let csma = Csma::Hardware;
    let mut sender = mac(MacConfig { csma, ..with_key(1, 7) }, all(), 1);
    let mut now = T0;
    for token in 1..=2 {
        put(&mut sender, now, TxRequest { dst: Address::Short(9), ..request(token) }).unwrap();
    }
    let (_, first) = submitted(&mut sender, &mut now);
    let next = sender.poll_next(now).unwrap().frame.to_vec();
    assert_eq!((counter_of(&first), counter_of(&next)), (7, 8));
    assert_eq!(sender.poll_next(now).unwrap().frame, next);
    // The outstanding one is repeated: it stays as it is, and so does the next one.
    transmitted(&mut sender, now, Ack::Missing);
    assert_eq!(submitted(&mut sender, &mut now).1, first);
    assert_eq!(sender.poll_next(now).unwrap().frame, next);
    done(&mut sender, now);
    assert_eq!(submitted(&mut sender, &mut now).1, next);
}

//! A leaf: its radio is off, it polls its parent, and waits for the response.

use super::*;
use DataRequestOutcome::{NoAck, NothingPending, Received, TimedOut};

const ME: Address = Address::Short(1);
const PENDING: Ack = Ack::Received { frame_pending: true };

fn leaf_config() -> MacConfig {
    MacConfig { rx_on_when_idle: false, ..config() }
}

/// Returns a leaf whose radio is off already.
fn leaf(config: MacConfig, capabilities: Capabilities) -> TestMac {
    let mut mac = Mac::new(config, capabilities, 1);
    assert_eq!(commands(&mut mac, T0), [Command::Off]);
    mac
}

/// Returns all commands that the MAC submits at once.
fn commands(mac: &mut TestMac, now: Instant) -> Vec<Command> {
    core::iter::from_fn(|| mac.poll_radio(now).map(|submission| submission.command)).collect()
}

fn is_receive(command: &Command) -> bool {
    matches!(command, Command::Receive { start: Start::Asap, until: None, .. })
}

/// Returns a leaf whose radio has the data request.
fn asking(config: MacConfig, now: &mut Instant) -> TestMac {
    let mut mac = leaf(config, all());
    mac.request_data(*now, PEER).unwrap();
    *now = mac.deadline().unwrap_or(*now);
    mac.handle_deadline(*now);
    let [Command::Transmit { ack: true, .. }, listen] = commands(&mut mac, *now)[..] else {
        panic!("a transmission, and where to return to")
    };
    assert!(is_receive(&listen), "the answer may come before a radio that sleeps has woken");
    mac
}

/// Returns a leaf whose parent has announced a frame.
fn waiting(config: MacConfig, now: &mut Instant) -> TestMac {
    let mut mac = asking(config, now);
    transmitted(&mut mac, *now, PENDING);
    assert_eq!(commands(&mut mac, *now), []);
    assert_eq!(mac.info().radio, RadioUse::Window);
    mac
}

/// Returns a data frame of the parent with this frame-pending bit.
fn answer(sequence: u8, frame_pending: bool) -> Vec<u8> {
    let mut frame = data_frame(PEER, ME, sequence, true);
    frame[0] |= if frame_pending { 0x10 } else { 0 };
    frame
}

#[test]
fn a_data_request_is_a_command_of_one_octet_that_asks_for_an_acknowledgement() {
    let (mut mac, mut now) = (leaf(leaf_config(), all()), T0);
    mac.request_data(now, PEER).unwrap();
    let (_, frame) = submitted(&mut mac, &mut now);
    let frame = Frame::parse(&frame).unwrap();
    assert_eq!((frame.frame_type(), frame.payload()), (FrameType::Command, &[4][..]));
    assert_eq!((frame.src(), frame.dst(), frame.ack_request()), (ME, PEER, true));
}

#[test]
fn the_radio_is_off_in_backoffs_and_after_each_attempt() {
    let config = MacConfig { retry_delay_max: Duration::from_millis(40), ..leaf_config() };
    let (mut mac, mut now) = (leaf(config, all()), T0);
    put(&mut mac, now, request(1)).unwrap();
    for _ in 0..4 {
        assert_eq!(mac.info().radio, RadioUse::Off);
        assert_eq!(mac.poll_radio(now), None, "it stays off");
        now = mac.deadline().unwrap_or(now);
        mac.handle_deadline(now);
        let [Command::Transmit { .. }] = commands(&mut mac, now)[..] else {
            panic!("no listening")
        };
        assert_eq!(mac.info().radio, RadioUse::Sending);
        transmitted(&mut mac, now, Ack::Missing);
    }
    assert_eq!(mac.poll_outcome(now).unwrap().result, Delivery::NoAck);
}

#[test]
fn a_parent_that_has_nothing_lets_the_leaf_sleep_at_once() {
    let mut now = T0;
    let mut mac = asking(leaf_config(), &mut now);
    assert_eq!((mac.info().radio, mac.poll_data_request(now)), (RadioUse::Polling, None));
    transmitted(&mut mac, now, Ack::Received { frame_pending: false });
    assert_eq!(commands(&mut mac, now), [Command::Off]);
    assert_eq!(mac.poll_data_request(now), Some(NothingPending));
    assert_eq!(mac.poll_data_request(now), None);
    assert!(mac.is_idle());
}

#[test]
fn a_parent_that_does_not_answer_is_asked_four_times() {
    let (mut mac, mut now) = (leaf(leaf_config(), all()), T0);
    mac.request_data(now, PEER).unwrap();
    for _ in 0..4 {
        assert_eq!(mac.poll_data_request(now), None);
        submitted(&mut mac, &mut now);
        transmitted(&mut mac, now, Ack::Missing);
    }
    assert_eq!(mac.poll_data_request(now), Some(NoAck));
    assert_eq!(mac.link(PEER).unwrap().lost, 1);
}

#[test]
fn the_window_ends_with_the_frame_and_reports_whether_there_is_more() {
    for more in [false, true] {
        let mut now = T0;
        let mut mac = waiting(leaf_config(), &mut now);
        assert!(receive(&mut mac, now, &answer(1, more)).unwrap().is_some());
        assert_eq!(commands(&mut mac, now), [Command::Off]);
        assert_eq!(mac.poll_data_request(now), Some(Received { more }));
    }
}

#[test]
fn an_empty_frame_and_a_repetition_end_the_window_too() {
    let mut now = T0;
    let mut mac = waiting(leaf_config(), &mut now);
    let empty = &answer(1, false)[..9];
    assert_eq!(receive(&mut mac, now, empty), Ok(None));
    assert_eq!(mac.poll_data_request(now), Some(Received { more: false }));
    assert_eq!((mac.stats().received_empty, mac.stats().received), (1, 0));
    mac.request_data(now, PEER).unwrap();
    submitted_after_off(&mut mac, &mut now);
    transmitted(&mut mac, now, PENDING);
    assert_eq!(receive(&mut mac, now, &answer(1, false)), Err(Discard::Duplicate));
    assert_eq!(mac.poll_data_request(now), Some(Received { more: false }));
}

#[test]
fn frames_of_others_and_to_all_do_not_end_the_window() {
    let mut now = T0;
    let mut mac = waiting(leaf_config(), &mut now);
    receive(&mut mac, now, &data_frame(Address::Short(3), ME, 1, true)).unwrap();
    receive(&mut mac, now, &data_frame(PEER, Address::BROADCAST, 1, false)).unwrap();
    assert_eq!((mac.poll_data_request(now), mac.info().radio), (None, RadioUse::Window));
}

#[test]
fn the_window_closes_when_its_time_is_up() {
    let timeout = Duration::from_millis(7);
    let mut now = T0;
    let mut mac = waiting(MacConfig { data_request_timeout: timeout, ..leaf_config() }, &mut now);
    assert_eq!(mac.deadline(), Some(now + timeout));
    mac.handle_deadline(now + timeout);
    assert_eq!(commands(&mut mac, now + timeout), [Command::Off]);
    assert_eq!(mac.poll_data_request(now + timeout), Some(TimedOut));
}

#[test]
fn in_a_burst_each_frame_that_promises_another_opens_the_window_again() {
    let indirect = Indirect { burst: true, ..Indirect::DEFAULT };
    let config = MacConfig { indirect, ..leaf_config() };
    let mut now = T0;
    let mut mac = waiting(config, &mut now);
    for sequence in 0..3 {
        now += Duration::from_millis(99);
        receive(&mut mac, now, &answer(sequence, true)).unwrap();
        assert_eq!(mac.deadline(), Some(now + config.data_request_timeout));
    }
    let mut other = waiting(config, &mut now);
    receive(&mut mac, now, &answer(3, false)).unwrap();
    assert_eq!(mac.poll_data_request(now), Some(Received { more: false }));
    // A frame that was announced and did not arrive is still pending.
    receive(&mut other, now, &answer(1, true)).unwrap();
    let end = other.deadline().unwrap();
    other.handle_deadline(end);
    assert_eq!(other.poll_data_request(end), Some(Received { more: true }));
}

#[test]
fn nothing_is_sent_while_the_answer_is_awaited() {
    let mut now = T0;
    let mut mac = waiting(leaf_config(), &mut now);
    put(&mut mac, now, request(1)).unwrap();
    assert_eq!((mac.info().tx, mac.poll_radio(now)), (TxState::Idle, None));
    receive(&mut mac, now, &answer(1, false)).unwrap();
    assert_ne!(mac.info().tx, TxState::Idle, "afterwards it is");
    submitted_after_off(&mut mac, &mut now);
}

fn submitted_after_off(mac: &mut TestMac, now: &mut Instant) {
    assert_eq!(mac.poll_radio(*now).map(|s| s.command), Some(Command::Off));
    assert!(matches!(submitted(mac, now).0, Command::Transmit { .. }));
}

#[test]
fn there_is_one_data_request_at_a_time_and_its_outcome_must_be_fetched() {
    let mut now = T0;
    let mut mac = asking(leaf_config(), &mut now);
    assert_eq!(mac.request_data(now, PEER), Err(QueueFull));
    transmitted(&mut mac, now, Ack::Received { frame_pending: false });
    assert_eq!(mac.request_data(now, PEER), Err(QueueFull));
    assert!(mac.poll_data_request(now).is_some());
    assert_eq!(mac.request_data(now, PEER), Ok(()));
}

#[test]
fn a_data_request_takes_the_slot_of_control_frames_and_leaves_no_outcome() {
    let (mut mac, mut now) = (leaf(leaf_config(), all()), T0);
    for token in 0..3 {
        put(&mut mac, now, request(token)).unwrap();
    }
    mac.request_data(now, PEER).unwrap();
    assert!(!mac.can_accept(Class::Control));
    for _ in 0..3 {
        submitted(&mut mac, &mut now);
        transmitted(&mut mac, now, Ack::Received { frame_pending: false });
    }
    submitted(&mut mac, &mut now);
    commands(&mut mac, now);
    transmitted(&mut mac, now, Ack::Received { frame_pending: false });
    let tokens: Vec<u32> =
        core::iter::from_fn(|| mac.poll_outcome(now)).map(|o| o.token.0).collect();
    assert_eq!((tokens, mac.info().slots_used), (Vec::from([0, 1, 2]), 0));
    assert_eq!((mac.stats().enqueued, mac.stats().delivered), (3, 3));
}

#[test]
fn a_leaf_whose_mac_times_acknowledgements_listens_for_them() {
    let capabilities = Capabilities::AUTO_ACK;
    let (mut mac, mut now) = (leaf(leaf_config(), capabilities), T0);
    mac.request_data(now, PEER).unwrap();
    let (_, frame) = submitted(&mut mac, &mut now);
    assert!(matches!(commands(&mut mac, now)[..], [Command::Receive { .. }]));
    transmitted(&mut mac, now, Ack::NotAwaited);
    let later = now + Duration::from_millis(1);
    assert_eq!(receive(&mut mac, later, &ack_frame(sequence_of(&frame), true)), Ok(None));
    assert_eq!(mac.info().radio, RadioUse::Window);
}

#[test]
fn a_leaf_that_looks_for_a_parent_listens() {
    let mut mac = leaf(leaf_config(), all());
    mac.set_rx_on_when_idle(true);
    assert!(matches!(commands(&mut mac, T0)[..], [Command::Receive { .. }]));
    assert_eq!(mac.info().radio, RadioUse::Idle);
    mac.set_rx_on_when_idle(false);
    assert_eq!(commands(&mut mac, T0), [Command::Off]);
}

/// The parent retransmits the frame after a later data request; with a key it has another counter.
#[test]
fn a_frame_that_comes_again_after_a_later_request_is_recognised() {
    let mut now = T0;
    let mut mac = waiting(leaf_config(), &mut now);
    let first = receive(&mut mac, now, &answer(9, false));
    assert!(matches!(first, Ok(Some(Indication::Data { .. }))));
    // Longer than any repetition by the MAC takes.
    now += leaf_config().duplicate_lifetime * 10;
    assert_eq!(receive(&mut mac, now, &answer(9, true)), Err(Discard::Duplicate));
    // Neither an empty frame nor a broadcast hides the repetition of the frame before it.
    let mut empty = answer(20, false);
    empty.truncate(empty.len() - 3);
    assert_eq!(receive(&mut mac, now, &empty), Ok(None));
    assert!(receive(&mut mac, now, &data_frame(PEER, Address::BROADCAST, 21, false)).is_ok());
    assert_eq!(receive(&mut mac, now, &answer(9, true)), Err(Discard::Duplicate));
    let mut other = answer(9, false);
    *other.last_mut().unwrap() ^= 1;
    now += leaf_config().duplicate_lifetime * 10;
    assert!(receive(&mut mac, now, &other).is_ok(), "256 frames later");
    assert!(receive(&mut mac, now, &answer(10, false)).is_ok());
    let mut from_other = data_frame(Address::Short(3), ME, 10, true);
    assert!(receive(&mut mac, now, &from_other).is_ok());
    from_other[2] = 11;
    assert!(receive(&mut mac, now, &from_other).is_ok());
}

//! A radio that never reports the result of a transmission.

use super::*;
use kinglet_radio::{CsmaParams, time_limit};

const ME: Address = Address::Short(1);
const ACKED: Ack = Ack::Received { frame_pending: false };
const LISTEN: Command =
    Command::Receive { start: Start::Asap, until: None, channel: MacConfig::DEFAULT.channel };

/// Returns all commands that the MAC submits at once.
fn commands(mac: &mut TestMac, now: Instant) -> Vec<Command> {
    core::iter::from_fn(|| mac.poll_radio(now).map(|submission| submission.command)).collect()
}

/// Lets the time limit for the radio's event pass. The MAC then submits these commands, before it
/// sends anything.
fn wait_in_vain(mac: &mut TestMac, now: &mut Instant, limit: Duration, expected: &[Command]) {
    let silent = mac.stats().radio_silent;
    let at = *now + limit;
    assert_eq!(mac.deadline(), Some(at));
    mac.handle_deadline(at - Duration::from_micros(1));
    assert_eq!((mac.stats().radio_silent, mac.poll_radio(*now)), (silent, None), "it is early");
    mac.handle_deadline(at);
    assert_eq!(mac.stats().radio_silent, silent + 1);
    *now = at;
    for &command in expected {
        assert_eq!(mac.poll_radio(at).map(|submission| submission.command), Some(command));
    }
}

#[test]
fn a_lost_event_costs_an_attempt_and_resets_the_radio() {
    let (mut mac, mut now) = (mac(config(), all(), 3), T0);
    put(&mut mac, now, request(1)).unwrap();
    let (_, frame) = submitted(&mut mac, &mut now);
    wait_in_vain(&mut mac, &mut now, time_limit(Access::Cca), &[Command::Reset, LISTEN]);
    let (_, again) = submitted(&mut mac, &mut now);
    assert_eq!(again, frame, "whoever has it already knows it again");
    transmitted(&mut mac, now, ACKED);
    let outcome = mac.poll_outcome(now).unwrap();
    assert_eq!((outcome.result, outcome.transmissions), (Delivery::Delivered, 1));
    assert_eq!((mac.stats().retries, mac.stats().unknown), (1, 0));
}

#[test]
fn a_frame_of_which_the_radio_says_nothing_ends_and_the_next_one_is_sent() {
    let (mut mac, mut now) = (mac(config(), all(), 3), T0);
    put(&mut mac, now, request(1)).unwrap();
    put(&mut mac, now, request(2)).unwrap();
    for _ in 0..=config().max_frame_retries {
        assert_eq!(mac.poll_outcome(now), None);
        submitted(&mut mac, &mut now);
        wait_in_vain(&mut mac, &mut now, time_limit(Access::Cca), &[Command::Reset, LISTEN]);
    }
    let (token, result) = (Token(1), Delivery::Unknown);
    let outcome = Outcome { token, dst: PEER, result, transmissions: 0 };
    assert_eq!((mac.poll_outcome(now), mac.stats().unknown), (Some(outcome), 1));
    assert_eq!(mac.link(PEER), None, "the link is not to blame");
    submitted(&mut mac, &mut now);
    transmitted(&mut mac, now, ACKED);
    assert_eq!(mac.poll_outcome(now).unwrap().token, Token(2));
}

#[test]
fn the_event_is_ignored_when_the_transmission_has_been_given_up() {
    let (mut mac, mut now) = (mac(config(), all(), 3), T0);
    put(&mut mac, now, request(1)).unwrap();
    submitted(&mut mac, &mut now);
    mac.handle_deadline(now + time_limit(Access::Cca));
    now += time_limit(Access::Cca);
    for event in [Event::Transmitted { sfd: T0, ack: ACKED }, Event::ChannelBusy, Event::Missed] {
        assert_eq!(mac.handle_radio(now, event, &mut []), Err(Discard::UnexpectedEvent));
    }
    assert_eq!(mac.poll_outcome(now), None);
    assert_eq!(commands(&mut mac, now)[..2], [Command::Reset, LISTEN]);
}

#[test]
fn hardware_csma_has_time_for_its_backoffs() {
    let slow = CsmaParams { min_be: 8, max_be: 8, max_backoffs: 5 };
    let config = MacConfig { csma: Csma::Hardware, csma_params: slow, ..config() };
    let (mut mac, mut now) = (mac(config, all(), 3), T0);
    put(&mut mac, now, request(1)).unwrap();
    submitted(&mut mac, &mut now);
    let limit = time_limit(Access::Csma(slow));
    assert!(limit > time_limit(Access::Cca) + Duration::from_micros(6 * 255 * 320));
    wait_in_vain(&mut mac, &mut now, limit, &[Command::Reset, LISTEN]);
}

#[test]
fn a_lost_event_of_an_acknowledgement_does_not_keep_frames_back() {
    let (mut mac, mut now) = (mac(config(), Capabilities::NONE, 1), T0);
    receive(&mut mac, now, &data_frame(PEER, ME, 3, true)).unwrap();
    assert_eq!(mac.poll_radio(now).unwrap().frame, ack_frame(3, false));
    wait_in_vain(&mut mac, &mut now, time_limit(Access::Immediate), &[Command::Reset, LISTEN]);
    assert_eq!((mac.stats().acks_not_sent, mac.is_idle()), (1, true));
    put(&mut mac, now, request(1)).unwrap();
    let (_, frame) = submitted(&mut mac, &mut now);
    assert!(frame.ends_with(b"data"));
}

#[test]
fn an_acknowledgement_timed_in_software_is_not_awaited_for_ever() {
    let (mut mac, mut now) = (mac(config(), Capabilities::AUTO_ACK, 1), T0);
    put(&mut mac, now, request(1)).unwrap();
    submitted(&mut mac, &mut now);
    transmitted(&mut mac, now, Ack::NotAwaited);
    assert!(matches!(mac.info().tx, TxState::AwaitAck { .. }));
    now = mac.deadline().unwrap();
    mac.handle_deadline(now);
    assert_eq!((mac.stats().ack_missing, mac.stats().radio_silent), (1, 0));
    submitted(&mut mac, &mut now);
    wait_in_vain(&mut mac, &mut now, time_limit(Access::Cca), &[Command::Reset, LISTEN]);
    assert_eq!(mac.stats().retries, 2);
}

#[test]
fn a_scheduled_frame_has_its_time_from_the_instant_that_it_is_for() {
    let csl = Csl { period: T0 - Instant::ZERO, drift_ppm: 40, sync_interval: T0 - Instant::ZERO };
    let config = MacConfig { csl: Some(csl), rx_on_when_idle: false, ..config() };
    let (mut mac, mut now) = (TestMac::new(config, all(), 1), T0);
    assert_eq!(commands(&mut mac, now), [Command::Off]);
    assert!(mac.set_parent(now, Some(PEER)));
    now = mac.deadline().unwrap();
    mac.handle_deadline(now);
    let [Command::Transmit { start: Start::At(mut sfd), .. }] = commands(&mut mac, now)[..] else {
        panic!("a synchronisation")
    };
    assert!(sfd > now);
    wait_in_vain(&mut mac, &mut sfd, time_limit(Access::Cca), &[Command::Reset]);
    assert_eq!(commands(&mut mac, sfd), [], "it stays off");
}

#[test]
fn a_leaf_whose_data_request_is_lost_in_the_radio_sleeps_and_is_notified() {
    let config = MacConfig { rx_on_when_idle: false, max_frame_retries: 0, ..config() };
    let (mut mac, mut now) = (TestMac::new(config, all(), 1), T0);
    mac.request_data(now, PEER).unwrap();
    now = mac.deadline().unwrap_or(now);
    mac.handle_deadline(now);
    assert!(commands(&mut mac, now).contains(&LISTEN), "for the answer");
    wait_in_vain(&mut mac, &mut now, time_limit(Access::Cca), &[Command::Reset]);
    assert_eq!((commands(&mut mac, now), mac.info().radio), (Vec::new(), RadioUse::Off));
    assert_eq!(mac.poll_data_request(now), Some(DataRequestOutcome::NoAck));
}

#[test]
fn a_reset_radio_gets_the_pending_addresses_again() {
    for more in [Capabilities::NONE, Capabilities::SOURCE_MATCH] {
        let (mut mac, mut now) = (mac(config(), all() | more, 1), T0);
        mac.set_pending(now, 7, true).unwrap();
        let received = Command::Pending { short: 7, pending: true };
        assert_eq!(commands(&mut mac, now), [received]);
        put(&mut mac, now, request(1)).unwrap();
        submitted(&mut mac, &mut now);
        let expected = [Command::Reset, LISTEN, received];
        wait_in_vain(&mut mac, &mut now, time_limit(Access::Cca), &expected);
    }
}

/// The maximum: one command for each reason, and one for the pending state of each neighbour.
#[test]
fn a_reset_radio_is_configured_before_and_after_the_next_attempt() {
    let csl = Csl { period: T0 - Instant::ZERO, drift_ppm: 40, sync_interval: Duration::MAX };
    let csma = Csma::Hardware;
    let config = MacConfig { csl: Some(csl), rx_on_when_idle: false, csma, ..config() };
    let (mut mac, now) = (TestMac::new(config, all() | Capabilities::SOURCE_MATCH, 1), T0);
    assert!(mac.set_parent(now, Some(PEER)));
    let Some(Command::Transmit { start: Start::At(now), .. }) = commands(&mut mac, now)
        .into_iter()
        .find(|command| matches!(command, Command::Transmit { .. }))
    else {
        panic!("a synchronisation")
    };
    transmitted(&mut mac, now, ACKED);
    let now = now + Duration::from_millis(10);
    mac.request_data(now, PEER).unwrap();
    mac.handle_deadline(now);
    assert_eq!(commands(&mut mac, now).last(), Some(&LISTEN), "for the answer");
    for short in [7, 8] {
        mac.set_pending(now, short, true).unwrap();
    }
    let now = now + time_limit(Access::Csma(config.csma_params));
    mac.handle_deadline(now);
    assert!(matches!(
        commands(&mut mac, now)[..],
        [
            Command::Reset,
            Command::Receive { start: Start::At(_), until: Some(_), .. },
            Command::Pending { short: 7, pending: true },
            Command::Pending { short: 8, pending: true },
            Command::Transmit { .. },
            LISTEN,
        ]
    ));
    assert_eq!(mac.stats().radio_silent, 1);
}

//! CSMA-CA.

use super::*;
use kinglet_radio::{CsmaParams, UNIT_BACKOFF};

/// Returns the number of unit backoffs that the MAC waits from `now`.
fn backoff_units(mac: &TestMac, now: Instant) -> u64 {
    let wait = mac.deadline().map_or(Duration::ZERO, |at| at - now);
    assert_eq!(wait.as_micros() % UNIT_BACKOFF.as_micros(), 0, "backoffs are whole units");
    wait.as_micros() / UNIT_BACKOFF.as_micros()
}

#[test]
fn the_first_backoff_is_uniform_over_0_to_7_units() {
    let mut counts = [0u32; 8];
    for seed in 0..8_000 {
        let mut mac = mac(config(), all(), seed);
        put(&mut mac, T0, request(0)).unwrap();
        counts[usize::try_from(backoff_units(&mac, T0)).unwrap()] += 1;
    }
    assert_uniform(&counts);
}

#[test]
fn the_sequence_of_backoffs_of_one_device_is_uniform_too() {
    let mut mac = mac(config(), all(), 5);
    let (mut counts, mut now) = ([0u32; 8], T0);
    for token in 0..8_000 {
        put(&mut mac, now, request(token)).unwrap();
        counts[usize::try_from(backoff_units(&mac, now)).unwrap()] += 1;
        submitted(&mut mac, &mut now);
        transmitted(&mut mac, now, Ack::Received { frame_pending: false });
        assert!(mac.poll_outcome(now).is_some());
        // Long after the interframe spacing.
        now += Duration::from_millis(10);
    }
    assert_uniform(&counts);
}

#[test]
fn each_busy_channel_doubles_the_range_up_to_max_be_and_the_fifth_ends_the_attempt() {
    let mut longest = [0; 5];
    for seed in 0..2_000 {
        let once = MacConfig { max_frame_retries: 0, ..config() };
        let (mut mac, mut now) = (mac(once, all(), seed), T0);
        put(&mut mac, now, request(9)).unwrap();
        for nb in 0..5 {
            longest[nb] = backoff_units(&mac, now).max(longest[nb]);
            assert_eq!(mac.poll_outcome(now), None);
            let (command, _) = submitted(&mut mac, &mut now);
            assert!(matches!(command, Command::Transmit { access: Access::Cca, .. }));
            assert_eq!(mac.handle_radio(now, Event::ChannelBusy, &mut []), Ok(None));
        }
        let result = Delivery::ChannelAccessFailure;
        let outcome = Outcome { token: Token(9), dst: PEER, result, transmissions: 0 };
        assert_eq!(mac.poll_outcome(now), Some(outcome));
        assert_eq!((mac.poll_outcome(now), mac.deadline(), mac.is_idle()), (None, None, true));
    }
    assert_eq!(longest, [7, 15, 31, 31, 31], "2^BE - 1 with BE = 3, 4, 5, 5, 5");
}

#[test]
fn configured_csma_parameters_are_used() {
    let csma_params = CsmaParams { min_be: 0, max_be: 3, max_backoffs: 0 };
    let once = MacConfig { csma_params, max_frame_retries: 0, ..config() };
    let (mut mac, mut now) = (mac(once, all(), 1), T0);
    put(&mut mac, now, request(0)).unwrap();
    assert_eq!(mac.deadline(), None, "2^0 - 1 units: no backoff at all");
    submitted(&mut mac, &mut now);
    mac.handle_radio(now, Event::ChannelBusy, &mut []).unwrap();
    let outcome = mac.poll_outcome(now).unwrap();
    assert_eq!(outcome.result, Delivery::ChannelAccessFailure);
}

#[test]
fn a_channel_that_cannot_be_won_costs_an_attempt_but_no_retry_delay() {
    let retry_delay_max = Duration::from_secs(1);
    let (mut mac, mut now) = (mac(MacConfig { retry_delay_max, ..config() }, all(), 4), T0);
    put(&mut mac, now, request(9)).unwrap();
    let attempts = u32::from(config().max_frame_retries) + 1;
    for _ in 0..attempts * 5 {
        assert_eq!(mac.poll_outcome(now), None);
        let wait = mac.deadline().map_or(Duration::ZERO, |at| at - now);
        assert!(wait <= UNIT_BACKOFF * 31, "CSMA backoff alone, not {wait:?}");
        submitted(&mut mac, &mut now);
        mac.handle_radio(now, Event::ChannelBusy, &mut []).unwrap();
    }
    let outcome = mac.poll_outcome(now).unwrap();
    assert_eq!((outcome.result, outcome.transmissions), (Delivery::ChannelAccessFailure, 0));
    assert_eq!(mac.stats().retries, attempts - 1);
}

#[test]
fn the_radio_keeps_listening_during_software_backoff() {
    let mut mac = mac(config(), all(), 3);
    put(&mut mac, T0, request(0)).unwrap();
    assert!(mac.deadline().is_some_and(|at| at > T0), "seed 3 draws a backoff");
    assert_eq!(mac.poll_radio(T0), None, "no command replaces listening");
    let frame = data_frame(PEER, Address::Short(1), 7, true);
    assert!(receive(&mut mac, T0, &frame).unwrap().is_some());
}

#[test]
fn hardware_csma_is_one_command_without_backoff_of_the_mac() {
    let once = MacConfig { csma: Csma::Hardware, max_frame_retries: 0, ..config() };
    let mut mac = mac(once, all(), 3);
    put(&mut mac, T0, request(1)).unwrap();
    assert_eq!(mac.deadline(), None);
    let command = mac.poll_radio(T0).unwrap().command;
    let Command::Transmit { access: Access::Csma(params), ack: true, .. } = command else {
        panic!("{command:?}");
    };
    assert_eq!(params, CsmaParams::default());
    // The radio has tried macMaxCsmaBackoffs + 1 times when it reports a busy channel.
    mac.handle_radio(T0, Event::ChannelBusy, &mut []).unwrap();
    assert_eq!(mac.poll_outcome(T0).unwrap().result, Delivery::ChannelAccessFailure);
}

#[test]
fn hardware_csma_without_the_capability_is_done_in_software() {
    let capabilities = Capabilities::AUTO_ACK | Capabilities::ACK_WAIT;
    let (mut mac, mut now) =
        (mac(MacConfig { csma: Csma::Hardware, ..config() }, capabilities, 3), T0);
    put(&mut mac, now, request(1)).unwrap();
    let (command, _) = submitted(&mut mac, &mut now);
    assert!(matches!(command, Command::Transmit { access: Access::Cca, .. }));
}

#[test]
fn a_refused_command_is_submitted_again_after_a_backoff_and_costs_no_attempt() {
    let (mut mac, mut now) = (mac(config(), all(), 3), T0);
    put(&mut mac, now, request(1)).unwrap();
    for _ in 0..20 {
        let (_, frame) = submitted(&mut mac, &mut now);
        assert!(frame.ends_with(b"data"));
        mac.radio_refused(now);
        assert_eq!(mac.poll_radio(now), None, "a busy driver is not asked again at once");
        assert!(mac.deadline().is_some_and(|at| at >= now + UNIT_BACKOFF));
    }
    submitted(&mut mac, &mut now);
    transmitted(&mut mac, now, Ack::Received { frame_pending: false });
    assert_eq!(mac.poll_outcome(now).unwrap().transmissions, 1);
    assert_eq!(mac.stats().refused, 20);
}

/// As [`Plan`], with the backoff of TinyOS.
struct Patient;
impl Sizes for Patient {
    type Queue = [Slot; 4];
    type Neighbours = [Neighbour; 3];
    type Listening = AlwaysOn;
    type DeliveryMethod = ();
    type Security = ();
    type Backoff = TinyOs;
}

#[test]
fn tinyos_waits_long_first_and_then_shortly_until_its_bound_ends_the_attempt() {
    let symbols = |mac: &Mac<Patient>, now| {
        let wait = mac.deadline().map_or(Duration::ZERO, |at| at - now);
        wait.as_micros() / kinglet_radio::SYMBOL.as_micros()
    };
    let (mut first, mut later) = ((u64::MAX, 0), (u64::MAX, 0));
    let widen = |range: &mut (u64, u64), drawn: u64| {
        *range = (range.0.min(drawn), range.1.max(drawn));
    };
    for seed in 0..2_000 {
        // The radio could only do another backoff by itself, so the MAC does it.
        let csma = Csma::Hardware;
        let config = MacConfig { csma, max_frame_retries: 1, ..config() }.unsecured();
        let (mut mac, mut now) = (Mac::<Patient>::new(config, all(), seed), T0);
        assert!(mac.poll_radio(now).is_some(), "it listens");
        mac.enqueue(now, request(9), |_| 4).unwrap();
        for assessment in 0..2 * u32::from(TinyOs::MOST_BUSY) {
            let fresh = assessment % u32::from(TinyOs::MOST_BUSY) == 0;
            widen(if fresh { &mut first } else { &mut later }, symbols(&mac, now));
            now = mac.deadline().unwrap();
            mac.handle_deadline(now);
            let command = mac.poll_radio(now).unwrap().command;
            assert!(matches!(command, Command::Transmit { access: Access::Cca, .. }));
            assert_eq!(mac.poll_outcome(now), None);
            assert_eq!(mac.handle_radio(now, Event::ChannelBusy, &mut []), Ok(None));
        }
        assert_eq!(mac.poll_outcome(now).unwrap().result, Delivery::ChannelAccessFailure);
    }
    assert_eq!((first, later), ((20, 640), (20, 140)));
}

#[test]
fn retries_are_as_many_as_are_configured() {
    for max_frame_retries in [0, 1, 3, 5, 7, 15] {
        let (mut mac, mut now) = (mac(MacConfig { max_frame_retries, ..config() }, all(), 1), T0);
        put(&mut mac, now, request(9)).unwrap();
        for _ in 0..=max_frame_retries {
            assert_eq!(mac.poll_outcome(now), None);
            submitted(&mut mac, &mut now);
            transmitted(&mut mac, now, Ack::Missing);
        }
        let outcome = mac.poll_outcome(now).unwrap();
        let times = u32::from(outcome.transmissions);
        assert_eq!((outcome.result, times), (Delivery::NoAck, u32::from(max_frame_retries) + 1));
    }
}

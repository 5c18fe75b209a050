//! Missing acknowledgements, retries and the delay between them.

use super::*;
use kinglet_radio::{ACK_WAIT, OCTET, UNIT_BACKOFF};

#[test]
fn a_frame_is_sent_four_times_by_default_and_then_has_one_outcome() {
    let (mut mac, mut now) = (mac(config(), all(), 1), T0);
    put(&mut mac, now, request(5)).unwrap();
    let mut frames = Vec::new();
    for _ in 0..4 {
        assert_eq!(mac.poll_outcome(now), None);
        frames.push(submitted(&mut mac, &mut now).1);
        transmitted(&mut mac, now, Ack::Missing);
    }
    let outcome = Outcome { token: Token(5), dst: PEER, result: Delivery::NoAck, transmissions: 4 };
    assert_eq!(mac.poll_outcome(now), Some(outcome));
    assert_eq!((mac.poll_outcome(now), mac.deadline()), (None, None));
    assert!(frames.windows(2).all(|pair| pair[0] == pair[1]), "retries repeat the same octets");
    assert_eq!((mac.stats().transmissions, mac.stats().retries), (4, 3));
}

#[test]
fn the_retry_delay_is_uniform_from_0_to_d_in_addition_to_csma_backoff() {
    let d = Duration::from_millis(40);
    let csma_params = kinglet_radio::CsmaParams { min_be: 0, ..Default::default() };
    let config = MacConfig { retry_delay_max: d, csma_params, ..config() };
    let mut waits: Vec<u64> = Vec::new();
    for seed in 0..4_000 {
        let (mut mac, mut now) = (mac(config, all(), seed), T0);
        put(&mut mac, now, request(0)).unwrap();
        submitted(&mut mac, &mut now);
        transmitted(&mut mac, now, Ack::Missing);
        waits.push(mac.deadline().map_or(0, |at| (at - now).as_micros()));
    }
    assert!(waits.iter().all(|&wait| wait <= d.as_micros()));
    let mut counts = [0u32; 8];
    waits.iter().for_each(|&wait| counts[(wait * 8 / 40_001) as usize] += 1);
    assert_uniform(&counts);
}

#[test]
fn a_busy_channel_and_a_first_transmission_wait_for_no_retry_delay() {
    let config = MacConfig { retry_delay_max: Duration::from_secs(60), ..config() };
    for seed in 0..50 {
        let (mut mac, mut now) = (mac(config, all(), seed), T0);
        put(&mut mac, now, request(0)).unwrap();
        for _ in 0..4 {
            let wait = mac.deadline().map_or(Duration::ZERO, |at| at - now);
            assert!(wait <= UNIT_BACKOFF * 31, "{wait:?}");
            submitted(&mut mac, &mut now);
            mac.handle_radio(now, Event::ChannelBusy, &mut []).unwrap();
        }
    }
}

#[test]
fn csma_starts_afresh_for_a_retry() {
    let mut longest = Duration::ZERO;
    for seed in 0..500 {
        let (mut mac, mut now) = (mac(config(), all(), seed), T0);
        put(&mut mac, now, request(0)).unwrap();
        for _ in 0..4 {
            submitted(&mut mac, &mut now);
            mac.handle_radio(now, Event::ChannelBusy, &mut []).unwrap();
        }
        submitted(&mut mac, &mut now);
        transmitted(&mut mac, now, Ack::Missing);
        longest = longest.max(mac.deadline().map_or(Duration::ZERO, |at| at - now));
        // And all five assessments are available again.
        for _ in 0..4 {
            submitted(&mut mac, &mut now);
            mac.handle_radio(now, Event::ChannelBusy, &mut []).unwrap();
            assert_eq!(mac.poll_outcome(now), None);
        }
    }
    assert_eq!(longest, UNIT_BACKOFF * 7, "BE is macMinBE again");
}

#[test]
fn the_delay_can_be_changed_while_running() {
    let (mut mac, mut now) = (mac(config(), all(), 1), T0);
    mac.set_retry_delay(Duration::from_secs(1_000));
    put(&mut mac, now, request(0)).unwrap();
    submitted(&mut mac, &mut now);
    transmitted(&mut mac, now, Ack::Missing);
    assert!(mac.deadline().is_some_and(|at| at > now + UNIT_BACKOFF * 7));
}

/// Sends frames whose first transmission arrives, or whose transmissions are all lost.
fn send(mac: &mut TestMac, now: &mut Instant, frames: u32, lost: bool) {
    for token in 0..frames {
        put(mac, *now, request(token)).unwrap();
        while mac.poll_outcome(*now).is_none() {
            submitted(mac, now);
            let ack = if lost { Ack::Missing } else { Ack::Received { frame_pending: false } };
            transmitted(mac, *now, ack);
        }
    }
}

#[test]
fn the_adaptive_delay_grows_from_nothing_while_repetitions_fail() {
    let d = Duration::from_millis(40);
    let adaptive = MacConfig { retry_delay_max: d, adaptive_retry_delay: true, ..config() };
    let (mut mac, mut now) = (mac(adaptive, all(), 1), T0);
    send(&mut mac, &mut now, 100, false);
    assert_eq!(mac.info().retry_delay_max, Duration::ZERO);
    // Two frames with three retransmissions each, among many that are delivered.
    send(&mut mac, &mut now, 2, true);
    let grown = mac.info().retry_delay_max;
    assert!(grown > d / 6 && grown < d / 2, "{grown:?}");
    for frame in 0..60 {
        send(&mut mac, &mut now, 3, false);
        put(&mut mac, now, request(frame)).unwrap();
        submitted(&mut mac, &mut now);
        transmitted(&mut mac, now, Ack::Missing);
        submitted(&mut mac, &mut now);
        transmitted(&mut mac, now, Ack::Received { frame_pending: false });
        assert!(mac.poll_outcome(now).is_some());
    }
    assert_eq!(mac.info().retry_delay_max, Duration::ZERO);
}

#[test]
fn the_adaptive_delay_is_longest_before_a_frame_is_given_up() {
    let d = Duration::from_millis(40);
    let csma_params = kinglet_radio::CsmaParams { min_be: 0, ..Default::default() };
    let indirect = Indirect {
        max_retries: 3,
        retry_delay_max: Duration::ZERO,
        min_be: 0,
        ..Indirect::DEFAULT
    };
    let retry = MacConfig { retry_delay_max: d, adaptive_retry_delay: true, ..config() };
    let config = MacConfig { csma_params, indirect, ..retry };
    // Longest waits before the three retries.
    let waits = |class| {
        let mut longest = [Duration::ZERO; 3];
        for seed in 0..300 {
            let (mut mac, mut now) = (mac(config, all(), seed), T0);
            put(&mut mac, now, TxRequest { class, ..request(0) }).unwrap();
            for longest in &mut longest {
                submitted(&mut mac, &mut now);
                transmitted(&mut mac, now, Ack::Missing);
                *longest = mac.deadline().map_or(Duration::ZERO, |at| at - now).max(*longest);
            }
        }
        longest
    };
    let [first, second, third] = waits(Class::Data);
    assert!(first <= d && first > d * 9 / 10, "{first:?}");
    assert!(second <= d * 2 && second > d * 9 / 5, "{second:?}");
    assert!(third <= d * 4 && third > d * 18 / 5, "{third:?}");
    assert_eq!(waits(Class::Indirect), [Duration::ZERO; 3], "those have a delay of their own");
}

#[test]
fn losses_on_a_weak_link_do_not_increase_the_retry_delay() {
    let d = Duration::from_millis(40);
    for (rssi_dbm, grows) in [(-80, true), (-90, false)] {
        let adaptive = MacConfig { retry_delay_max: d, adaptive_retry_delay: true, ..config() };
        let (mut mac, mut now) = (mac(adaptive, all(), 1), T0);
        let mut frame = data_frame(PEER, Address::Short(1), 9, false);
        let len = frame.len() as u8;
        let event = Event::Received { sfd: now, len, rssi_dbm, lqi: 9, acked: false };
        assert!(mac.handle_radio(now, event, &mut frame).is_ok());
        send(&mut mac, &mut now, 5, true);
        assert_eq!(mac.info().retry_delay_max > Duration::ZERO, grows);
    }
}

#[test]
fn broadcast_is_neither_acknowledged_nor_repeated() {
    for capabilities in [all(), Capabilities::NONE] {
        let (mut mac, mut now) = (mac(config(), capabilities, 1), T0);
        put(&mut mac, now, TxRequest { dst: Address::BROADCAST, ..request(1) }).unwrap();
        let (command, frame) = submitted(&mut mac, &mut now);
        assert!(matches!(command, Command::Transmit { ack: false, .. }));
        assert!(!Frame::parse(&frame).unwrap().ack_request());
        transmitted(&mut mac, now, Ack::NotAwaited);
        let outcome = mac.poll_outcome(now).unwrap();
        assert_eq!((outcome.result, outcome.transmissions), (Delivery::Delivered, 1));
        assert_eq!(mac.link(Address::BROADCAST), None, "nothing is learnt about a link");
    }
}

#[test]
fn without_ack_wait_the_mac_waits_54_symbols_after_the_end_of_the_frame() {
    let (mut mac, mut now) = (mac(config(), Capabilities::AUTO_ACK, 1), T0);
    put(&mut mac, now, request(1)).unwrap();
    let (command, frame) = submitted(&mut mac, &mut now);
    assert!(matches!(command, Command::Transmit { ack: false, .. }), "the radio does not wait");
    transmitted(&mut mac, now, Ack::NotAwaited);
    // PHR, frame and FCS follow the SFD.
    let end = now + OCTET * (u32::try_from(frame.len()).unwrap() + 3);
    assert_eq!(mac.deadline(), Some(end + ACK_WAIT));
    mac.handle_deadline(end + ACK_WAIT);
    assert_eq!(mac.stats().ack_missing, 1);
    assert_eq!(mac.poll_outcome(now), None, "it will be sent again");
}

#[test]
fn without_ack_wait_only_an_acknowledgement_with_the_right_number_counts() {
    let (mut mac, mut now) = (mac(config(), Capabilities::AUTO_ACK, 1), T0);
    put(&mut mac, now, request(1)).unwrap();
    let (_, frame) = submitted(&mut mac, &mut now);
    let sequence = sequence_of(&frame);
    // An acknowledgement for another device, with the same number, before the frame was on the air.
    assert_eq!(
        receive(&mut mac, now - Duration::from_micros(1), &ack_frame(sequence, false)),
        Ok(None)
    );
    transmitted(&mut mac, now, Ack::NotAwaited);
    assert_eq!(mac.poll_outcome(now), None);
    let later = now + Duration::from_millis(1);
    let other = ack_frame(sequence.wrapping_add(1), false);
    assert_eq!(receive(&mut mac, later, &other), Err(Discard::UnawaitedAck));
    assert_eq!(mac.poll_outcome(later), None);
    assert_eq!(receive(&mut mac, later, &ack_frame(sequence, false)), Ok(None));
    assert_eq!(mac.poll_outcome(later).unwrap().result, Delivery::Delivered);
}

#[test]
fn an_acknowledgement_that_is_reported_before_its_transmission_counts() {
    let (mut mac, mut now) = (mac(config(), Capabilities::AUTO_ACK, 1), T0);
    put(&mut mac, now, request(1)).unwrap();
    let (_, frame) = submitted(&mut mac, &mut now);
    let ack_sfd = now + Duration::from_millis(1);
    assert_eq!(receive(&mut mac, ack_sfd, &ack_frame(sequence_of(&frame), false)), Ok(None));
    assert_eq!(mac.poll_outcome(ack_sfd), None, "not before the radio says that it was sent");
    let event = Event::Transmitted { sfd: now, ack: Ack::NotAwaited };
    mac.handle_radio(ack_sfd, event, &mut []).unwrap();
    assert_eq!(mac.poll_outcome(ack_sfd).unwrap().result, Delivery::Delivered);
}

#[test]
fn etx_counts_transmissions_per_delivered_frame() {
    let (mut mac, mut now) = (mac(config(), all(), 1), T0);
    assert_eq!(mac.link(PEER), None);
    for token in 0..100 {
        put(&mut mac, now, request(token)).unwrap();
        submitted(&mut mac, &mut now);
        transmitted(&mut mac, now, Ack::Missing);
        submitted(&mut mac, &mut now);
        transmitted(&mut mac, now, Ack::Received { frame_pending: false });
        assert_eq!(mac.poll_outcome(now).unwrap().transmissions, 2);
    }
    let link = mac.link(PEER).unwrap();
    assert_eq!(link.etx_x128(), Some(2 * 128));
    assert_eq!((link.delivered, link.lost, link.transmissions), (100, 0, 200));
}

#[test]
fn a_lost_frame_counts_twice_its_transmissions_and_after_silence_only_a_delivered_one_counts() {
    let config = MacConfig { max_frame_retries: 15, ..config() };
    let (mut mac, mut now) = (mac(config, all(), 1), T0);
    let etx = |mac: &TestMac| mac.link(PEER).unwrap().etx_x128().unwrap();
    for _ in 0..6 {
        assert_eq!(unanswered(&mut mac, &mut now).0, 16);
        assert_eq!(etx(&mac), 2 * 16 * 128);
    }
    assert!(mac.link(PEER).unwrap().is_silent());
    unanswered(&mut mac, &mut now);
    assert_eq!(etx(&mac), 2 * 16 * 128);
    put(&mut mac, now, request(0)).unwrap();
    submitted(&mut mac, &mut now);
    transmitted(&mut mac, now, Ack::Received { frame_pending: false });
    assert_eq!(mac.poll_outcome(now).unwrap().transmissions, 1);
    assert_eq!(etx(&mac), (2 * 16 * 7 + 1) * 128 / 8, "the average moves by an eighth");
}

/// Sends a frame that is never acknowledged. Returns its transmissions and the longest time before
/// one.
fn unanswered(mac: &mut TestMac, now: &mut Instant) -> (u8, Duration) {
    put(mac, *now, request(0)).unwrap();
    let mut longest = Duration::ZERO;
    loop {
        let before = *now;
        submitted(mac, now);
        longest = longest.max(*now - before);
        transmitted(mac, *now, Ack::Missing);
        if let Some(outcome) = mac.poll_outcome(*now) {
            assert_eq!(outcome.result, Delivery::NoAck);
            return (outcome.transmissions, longest);
        }
    }
}

#[test]
fn a_silent_neighbour_gets_two_attempts_without_delay_until_it_is_heard() {
    let d = Duration::from_millis(40);
    for adaptive_retry_delay in [false, true] {
        let config = MacConfig {
            max_frame_retries: 15,
            retry_delay_max: d,
            adaptive_retry_delay,
            ..config()
        };
        let (mut mac, mut now) = (mac(config, all(), 1), T0);
        for round in 0..2 {
            for _ in 0..6 {
                let (transmissions, longest) = unanswered(&mut mac, &mut now);
                assert_eq!(transmissions, 16);
                assert!(longest > d / 2, "{longest:?}");
            }
            let before = (mac.info().retry_delay_max, mac.link(PEER).unwrap().etx_x128());
            for _ in 0..10 {
                let (transmissions, longest) = unanswered(&mut mac, &mut now);
                assert_eq!(transmissions, 2);
                assert!(longest < UNIT_BACKOFF * 9, "{longest:?}");
            }
            let after = (mac.info().retry_delay_max, mac.link(PEER).unwrap().etx_x128());
            assert_eq!(before, after, "an absent neighbour says nothing about the channel");
            receive(&mut mac, now, &data_frame(PEER, Address::Short(1), round, false)).unwrap();
        }
        (0..6).for_each(|_| assert_eq!(unanswered(&mut mac, &mut now).0, 16));
        send(&mut mac, &mut now, 1, false);
        assert_eq!(unanswered(&mut mac, &mut now).0, 16, "an acknowledgement is a sign of life");
    }
}

#[test]
fn a_silent_neighbour_never_gets_more_attempts_than_others() {
    let config = MacConfig { max_frame_retries: 0, ..config() };
    let (mut mac, mut now) = (mac(config, all(), 1), T0);
    (0..99).for_each(|_| assert_eq!(unanswered(&mut mac, &mut now).0, 1));
    assert_eq!(mac.link(PEER).unwrap().lost, 99);
}

#[test]
fn an_acknowledgement_from_before_the_transmission_is_not_its_own() {
    let (mut mac, mut now) = (mac(config(), Capabilities::AUTO_ACK, 1), T0);
    put(&mut mac, now, request(1)).unwrap();
    let (_, frame) = submitted(&mut mac, &mut now);
    transmitted(&mut mac, now, Ack::NotAwaited);
    let ack = ack_frame(sequence_of(&frame), false);
    assert_eq!(receive(&mut mac, now, &ack), Err(Discard::UnawaitedAck));
    assert_eq!(mac.poll_outcome(now), None);
}

#[test]
fn an_acknowledgement_of_a_frame_that_asked_for_none_is_not_awaited() {
    let (mut mac, mut now) = (mac(config(), Capabilities::NONE, 1), T0);
    put(&mut mac, now, TxRequest { ack: false, ..request(1) }).unwrap();
    let (_, frame) = submitted(&mut mac, &mut now);
    let ack = ack_frame(sequence_of(&frame), false);
    assert_eq!(receive(&mut mac, now, &ack), Err(Discard::UnawaitedAck));
}

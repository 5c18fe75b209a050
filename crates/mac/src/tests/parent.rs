//! A parent: the frame-pending bit of its acknowledgements, and frames for devices that polled.

use super::*;
use kinglet_radio::UNIT_BACKOFF;

const CHILD: Address = Address::Short(7);
const ACKED: Ack = Ack::Received { frame_pending: false };

fn data_request(src: Address, sequence: u8) -> Vec<u8> {
    let repr = Repr {
        frame_type: FrameType::Command,
        version: Version::V2006,
        ack_request: true,
        frame_pending: false,
        sequence,
        pan_id: PanId(0xabcd),
        dst: Address::Short(1),
        src,
        security: None,
        csl: None,
        filling: 0,
    };
    let mut frame = [0; MAX_FRAME];
    let len = repr.emit(&mut frame).unwrap();
    frame[len] = kinglet_wire::ieee802154::COMMAND_DATA_REQUEST;
    frame[..=len].to_vec()
}

fn indirect(token: u32) -> TxRequest {
    TxRequest { dst: CHILD, class: Class::Indirect, ..request(token) }
}

fn with(indirect: Indirect) -> MacConfig {
    MacConfig { indirect, retry_delay_max: Duration::from_secs(1), ..config() }
}

/// Returns the destination of the next frame that is submitted.
fn next_destination(mac: &mut TestMac, now: &mut Instant) -> Address {
    Frame::parse(&submitted(mac, now).1).unwrap().dst()
}

fn command(mac: &mut TestMac) -> Option<Command> {
    mac.poll_radio(T0).map(|submission| submission.command)
}

#[test]
fn a_data_request_comes_up_also_when_it_is_repeated() {
    let mut mac = mac(config(), all(), 1);
    for repeated in [false, true] {
        let indication = receive(&mut mac, T0, &data_request(CHILD, 9)).unwrap();
        let expected = Indication::DataRequest { src: CHILD, rssi_dbm: -60, lqi: 200, repeated };
        assert_eq!(indication, Some(expected));
    }
    assert_eq!((mac.stats().data_requests, mac.stats().received), (2, 0));
    assert_eq!(mac.link(CHILD).unwrap().received, 2);
}

#[test]
fn a_radio_with_a_table_gets_each_child_once() {
    let mut mac = mac(config(), all() | Capabilities::SOURCE_MATCH, 1);
    let pending_command = |short, pending| Some(Command::Pending { short, pending });
    for short in [7, 8] {
        assert_eq!(mac.set_pending(T0, short, true), Ok(()));
        assert_eq!(mac.set_pending(T0, short, true), Ok(()));
    }
    assert_eq!(mac.set_pending(T0, 9, true), Err(TableFull));
    assert_eq!(
        (command(&mut mac), command(&mut mac)),
        (pending_command(7, true), pending_command(8, true))
    );
    assert_eq!(command(&mut mac), None);
    assert_eq!(mac.set_pending(T0, 7, false), Ok(()));
    assert_eq!(mac.set_pending(T0, 9, true), Err(TableFull), "until the radio has forgotten it");
    assert_eq!((command(&mut mac), command(&mut mac)), (pending_command(7, false), None));
    assert_eq!(mac.set_pending(T0, 9, true), Ok(()));
    assert_eq!(command(&mut mac), pending_command(9, true));
    assert_eq!(mac.set_pending(T0, 6, false), Ok(()), "nothing is known of it");
    assert_eq!(command(&mut mac), None);
}

#[test]
fn a_radio_with_one_bit_gets_the_first_and_the_last_change() {
    let mut mac = mac(config(), all(), 1);
    mac.set_pending(T0, 7, true).unwrap();
    assert_eq!(command(&mut mac), Some(Command::Pending { short: 7, pending: true }));
    mac.set_pending(T0, 8, true).unwrap();
    mac.set_pending(T0, 7, false).unwrap();
    assert_eq!(command(&mut mac), None);
    mac.set_pending(T0, 8, false).unwrap();
    assert!(matches!(command(&mut mac), Some(Command::Pending { pending: false, .. })));
    assert_eq!(command(&mut mac), None);
}

#[test]
fn acknowledgements_in_software_have_the_frame_pending_bit_of_their_recipient() {
    let mut mac = mac(config(), Capabilities::NONE, 1);
    mac.set_pending(T0, 7, true).unwrap();
    assert_eq!(command(&mut mac), None, "this radio does not acknowledge");
    let mut answer_to = |frame: &[u8]| {
        receive(&mut mac, T0, frame).unwrap();
        let ack = mac.poll_radio(T0).unwrap().frame.to_vec();
        transmitted(&mut mac, T0, Ack::NotAwaited);
        Frame::parse(&ack).unwrap().frame_pending()
    };
    assert!(answer_to(&data_request(CHILD, 1)));
    assert!(!answer_to(&data_request(Address::Short(8), 1)));
    assert!(!answer_to(&data_frame(CHILD, Address::Short(1), 2, true)), "no data request");
}

#[test]
fn a_child_that_was_promised_another_childs_frame_gets_an_empty_one() {
    let other = Address::Short(8);
    for (source_match, empty) in [(Capabilities::NONE, 1), (Capabilities::SOURCE_MATCH, 0)] {
        let (mut mac, mut now) = (mac(config(), all() | source_match, 1), T0);
        mac.set_pending(T0, 8, true).unwrap();
        assert!(matches!(command(&mut mac), Some(Command::Pending { .. })));
        receive(&mut mac, T0, &data_request(CHILD, 1)).unwrap();
        receive(&mut mac, T0, &data_request(other, 1)).unwrap();
        assert_eq!(mac.stats().answered_in_vain, empty);
        if empty == 1 {
            let (_, frame) = submitted(&mut mac, &mut now);
            let frame = Frame::parse(&frame).unwrap();
            assert_eq!((frame.dst(), frame.payload(), frame.ack_request()), (CHILD, &[][..], true));
            transmitted(&mut mac, now, ACKED);
        }
        assert_eq!((mac.poll_outcome(now), mac.is_idle()), (None, true), "it was nobody's");
    }
}

#[test]
fn an_indirect_frame_goes_before_all_that_wait_and_may_say_that_more_follows() {
    let (mut mac, mut now) = (mac(config(), all(), 1), T0);
    for token in 0..3 {
        put(&mut mac, now, request(token)).unwrap();
    }
    assert!(!mac.can_accept(Class::Data) && mac.can_accept(Class::Indirect));
    put(&mut mac, now, TxRequest { frame_pending: true, ..indirect(9) }).unwrap();
    for _ in 0..4 {
        let (_, frame) = submitted(&mut mac, &mut now);
        let frame = Frame::parse(&frame).unwrap();
        assert_eq!(frame.frame_pending(), frame.dst() == CHILD);
        transmitted(&mut mac, now, ACKED);
    }
    // Outcomes that are fetched late have the order in which the transmissions ended.
    let order: Vec<_> =
        core::iter::from_fn(|| mac.poll_outcome(now)).map(|it| it.token.0).collect();
    assert_eq!(order, [0, 9, 1, 2], "the first had begun");
}

#[test]
fn an_indirect_frame_has_attempts_and_delays_of_its_own() {
    let longest = Duration::from_millis(3);
    for (max_retries, transmissions) in [(0, 1), (4, 5)] {
        let settings =
            Indirect { max_retries, retry_delay_max: longest, min_be: 0, ..Indirect::DEFAULT };
        let (mut mac, mut now) = (mac(with(settings), all(), 1), T0);
        put(&mut mac, now, indirect(1)).unwrap();
        assert_eq!(mac.deadline(), None, "no backoff");
        for _ in 0..transmissions {
            let before = now;
            submitted(&mut mac, &mut now);
            assert!(now - before <= longest);
            transmitted(&mut mac, now, Ack::Missing);
        }
        let outcome = mac.poll_outcome(now).unwrap();
        assert_eq!((outcome.result, outcome.transmissions), (Delivery::NoAck, transmissions));
    }
}

#[test]
fn preemption_ends_a_retry_delay_and_the_interrupted_frame_keeps_its_attempts() {
    let settings = Indirect { preempt: true, min_be: 0, ..Indirect::DEFAULT };
    let (mut mac, mut now) = (mac(with(settings), all(), 1), T0);
    put(&mut mac, now, request(1)).unwrap();
    for _ in 0..2 {
        submitted(&mut mac, &mut now);
        transmitted(&mut mac, now, Ack::Missing);
    }
    assert!(mac.deadline().is_some_and(|at| at > now + UNIT_BACKOFF * 31), "a long delay");
    put(&mut mac, now, indirect(2)).unwrap();
    assert_eq!(mac.info().tx, TxState::Ready, "at once");
    assert_eq!(next_destination(&mut mac, &mut now), CHILD);
    transmitted(&mut mac, now, Ack::Missing);
    let outcome = mac.poll_outcome(now).unwrap();
    assert_eq!((outcome.token, outcome.result), (Token(2), Delivery::NoAck));
    // Two of four attempts remain.
    for _ in 0..2 {
        assert_eq!(mac.poll_outcome(now), None);
        assert_eq!(next_destination(&mut mac, &mut now), PEER);
        transmitted(&mut mac, now, Ack::Missing);
    }
    let outcome = mac.poll_outcome(now).unwrap();
    assert_eq!((outcome.token, outcome.transmissions), (Token(1), 4));
    assert_eq!(mac.stats().preempted, 1);
}

#[test]
fn preemption_waits_for_the_attempt_that_the_radio_has() {
    let settings = Indirect { preempt: true, ..Indirect::DEFAULT };
    for busy in [false, true] {
        let (mut mac, mut now) = (mac(with(settings), all(), 1), T0);
        put(&mut mac, now, request(1)).unwrap();
        submitted(&mut mac, &mut now);
        put(&mut mac, now, indirect(2)).unwrap();
        assert_eq!((mac.info().tx, mac.poll_radio(now)), (TxState::Submitted, None));
        match busy {
            true => drop(mac.handle_radio(now, Event::ChannelBusy, &mut []).unwrap()),
            false => transmitted(&mut mac, now, Ack::Missing),
        }
        assert_eq!(next_destination(&mut mac, &mut now), CHILD);
        transmitted(&mut mac, now, ACKED);
        assert_eq!(next_destination(&mut mac, &mut now), PEER);
    }
}

#[test]
fn without_preemption_the_frame_in_progress_is_finished_first() {
    let (mut mac, mut now) = (mac(with(Indirect::DEFAULT), all(), 1), T0);
    put(&mut mac, now, request(1)).unwrap();
    submitted(&mut mac, &mut now);
    put(&mut mac, now, indirect(2)).unwrap();
    for _ in 0..3 {
        transmitted(&mut mac, now, Ack::Missing);
        assert_eq!(next_destination(&mut mac, &mut now), PEER);
    }
    transmitted(&mut mac, now, Ack::Missing);
    assert_eq!(next_destination(&mut mac, &mut now), CHILD);
    assert_eq!(mac.stats().preempted, 0);
}

#[test]
fn an_indirect_frame_does_not_preempt_another() {
    let settings = Indirect { preempt: true, max_retries: 3, ..Indirect::DEFAULT };
    let (mut mac, mut now) = (mac(with(settings), all(), 1), T0);
    put(&mut mac, now, indirect(1)).unwrap();
    submitted(&mut mac, &mut now);
    put(&mut mac, now, TxRequest { dst: Address::Short(8), ..indirect(2) }).unwrap();
    transmitted(&mut mac, now, Ack::Missing);
    assert_eq!(next_destination(&mut mac, &mut now), CHILD);
}

#[test]
fn every_frame_has_one_outcome_also_when_frames_are_preempted() {
    let settings = Indirect { preempt: true, max_retries: 1, ..Indirect::DEFAULT };
    let config = MacConfig { retry_delay_max: Duration::from_millis(2), ..with(settings) };
    let (mut mac, mut now) = (mac(config, all(), 3), T0);
    let (mut ended, mut token) = (Vec::new(), 0);
    for round in 0..2_000u32 {
        // Any classes and results; the multiplier is Knuth's.
        let dice = round.wrapping_mul(2_654_435_761) >> 16;
        let request = if dice & 1 == 0 { indirect(token) } else { request(token) };
        token += u32::from(dice & 6 != 0 && put(&mut mac, now, request).is_ok());
        if mac.info().slots_used > 0 && mac.info().tx != TxState::Idle {
            submitted(&mut mac, &mut now);
            transmitted(&mut mac, now, if dice & 24 == 0 { ACKED } else { Ack::Missing });
        }
        if dice & 32 == 0 {
            ended.extend(core::iter::from_fn(|| mac.poll_outcome(now)).map(|o| o.token.0));
        }
    }
    ended.extend(core::iter::from_fn(|| mac.poll_outcome(now)).map(|o| o.token.0));
    assert!(token > 300 && mac.stats().preempted > 30, "{token} {}", mac.stats().preempted);
    assert_eq!(mac.info().slots_used, token as usize - ended.len(), "the rest is still there");
    let in_order = ended.windows(2).all(|pair| pair[0] < pair[1]);
    ended.sort_unstable();
    ended.dedup();
    assert!(!in_order && ended.len() + mac.info().slots_used == token as usize);
}

/// The child may have received it, and recognises it only by its sequence number.
#[test]
fn an_indirect_frame_that_failed_keeps_its_number_until_it_is_delivered() {
    let indirect_once = Indirect { max_retries: 0, ..Indirect::DEFAULT };
    let (mut mac, mut now) = (mac(with(indirect_once), all(), 1), T0);
    mac.set_pending(now, 7, true).unwrap();
    assert!(matches!(mac.poll_radio(now).unwrap().command, Command::Pending { .. }));
    let mut send = |token: u32, ack: Ack| {
        put(&mut mac, now, indirect(token)).unwrap();
        let number = sequence_of(&submitted(&mut mac, &mut now).1);
        transmitted(&mut mac, now, ack);
        mac.poll_outcome(now).unwrap();
        // Other frames have sequence numbers of their own meanwhile.
        put(&mut mac, now, TxRequest { dst: PEER, ..request(100) }).unwrap();
        let other = sequence_of(&submitted(&mut mac, &mut now).1);
        transmitted(&mut mac, now, ACKED);
        mac.poll_outcome(now).unwrap();
        assert_ne!(other, number);
        number
    };
    let first = send(1, Ack::Missing);
    assert_eq!(send(1, Ack::Missing), first);
    assert_eq!(send(1, ACKED), first);
    let next = send(1, Ack::Missing);
    assert_ne!(next, first, "the next fragment of the same packet");
    assert_ne!(send(2, ACKED), next, "another packet");
}

//! The queue, outcomes, payload sizes and reserved octets.

use super::*;
use crate::plain::Plain;

#[test]
fn one_slot_is_kept_for_control_frames() {
    let mut mac = mac(config(), all(), 1);
    for token in 0..3 {
        assert!(mac.can_accept(Class::Data));
        put(&mut mac, T0, request(token)).unwrap();
    }
    assert!(!mac.can_accept(Class::Data) && mac.can_accept(Class::Control));
    assert_eq!(put(&mut mac, T0, request(3)), Err(QueueFull));
    put(&mut mac, T0, TxRequest { class: Class::Control, ..request(4) }).unwrap();
    assert!(!mac.can_accept(Class::Control));
    let full = mac.enqueue(T0, TxRequest { class: Class::Control, ..request(5) }, |_| panic!());
    assert_eq!(full, Err(QueueFull));
    assert_eq!((mac.stats().enqueued, mac.stats().queue_full), (4, 2));
}

#[test]
fn every_frame_has_exactly_one_outcome_in_order_even_if_fetched_late() {
    let (mut mac, mut now) = (mac(config(), all(), 1), T0);
    let mut outcomes = Vec::new();
    for round in 0..50 {
        for token in 0..3 {
            put(&mut mac, now, request(round * 3 + token)).unwrap();
        }
        for _ in 0..3 {
            submitted(&mut mac, &mut now);
            transmitted(&mut mac, now, Ack::Received { frame_pending: false });
        }
        assert!(!mac.can_accept(Class::Data), "outcomes hold their slots");
        outcomes.extend(core::iter::from_fn(|| mac.poll_outcome(now)).map(|o| o.token.0));
    }
    assert_eq!(outcomes, (0..150).collect::<Vec<_>>());
    assert!(mac.is_idle());
}

#[test]
fn a_fill_that_writes_nothing_queues_nothing() {
    let mut mac = mac(config(), all(), 1);
    assert_eq!(mac.enqueue(T0, request(1), |_| 0), Ok(()));
    assert!(mac.is_idle() && mac.deadline().is_none() && mac.poll_radio(T0).is_none());
}

#[test]
fn the_frame_has_its_header_and_the_payload_where_fill_wrote_it() {
    let (mut mac, mut now) = (mac(config(), all(), 1), T0);
    let room = mac.max_payload(PEER);
    assert_eq!(room, 116, "125 octets without FCS, 9 of header with two short addresses");
    let fill = |octets: &mut [u8]| {
        assert_eq!(octets.len(), room);
        octets.fill(0xee);
        usize::MAX
    };
    mac.enqueue(now, request(1), fill).unwrap();
    let (_, frame) = submitted(&mut mac, &mut now);
    assert_eq!(frame.len(), MAX_FRAME, "what fill claims beyond the room does not count");
    let view = Frame::parse(&frame).unwrap();
    assert_eq!((view.src(), view.dst()), (Address::Short(1), PEER));
    assert_eq!((view.dst_pan(), view.ack_request()), (Some(PanId(0xabcd)), true));
    assert_eq!(view.payload(), [0xee; 116]);
}

#[test]
fn the_header_that_most_frames_have_is_written_as_any_header_is() {
    let security = Security { key: Key([0; 16]), eui64_prefix: [0; 6], first_counter: 0 };
    for (usual, config) in [
        (true, config()),
        (true, MacConfig { short: 0x1234, pan_id: PanId(0xfedc), ..config() }),
        (false, MacConfig { short: 0xfffe, ..config() }),
        (false, MacConfig { reserved_security: 7, ..config() }),
        (true, MacConfig { security: Some(security), ..config() }),
    ] {
        let mac = mac(config, all(), 7);
        for (dst, is_short) in [
            (PEER, true),
            (Address::Short(0xabcd), true),
            (Address::BROADCAST, true),
            (Address::Extended([7; 8]), false),
            (Address::None, false),
        ] {
            for (ack, pending) in [(false, false), (false, true), (true, false), (true, true)] {
                let plain = mac.plain_header(dst, ack, pending);
                assert_eq!(plain.is_some(), usual && is_short);
                let any = mac.header(FrameType::Data, dst, ack);
                let mut octets = [0; MAX_FRAME];
                let len = Repr { frame_pending: pending, ..any }.emit(&mut octets).unwrap();
                let Some(plain) = plain else { continue };
                let mut written = [0; MAX_FRAME];
                let mut end = Plain::LEN;
                written[..end].copy_from_slice(&plain.octets());
                assert!(!Plain::has_counter(&written));
                if config.security.is_some() {
                    end = Plain::reserve_counter(&mut written).unwrap();
                    assert!(Plain::has_counter(&written));
                    let parsed = Frame::parse(&octets[..len + 4]).unwrap();
                    let at = parsed.security().unwrap().frame_counter_at;
                    assert_eq!((Plain::COUNTER_AT, Plain::SECURED_LEN), (at, len));
                }
                assert_eq!(written[..end], octets[..len], "{dst:?}");
            }
        }
    }
}

#[test]
fn a_device_without_short_address_uses_its_extended_one() {
    let mac = mac(MacConfig { short: 0xffff, ..config() }, all(), 1);
    assert_eq!(mac.max_payload(PEER), 110);
    assert_eq!(mac.max_payload(Address::Extended([1; 8])), 104);
}

#[test]
fn reserved_octets_are_on_the_air_and_do_not_reach_the_receiver() {
    for reserved in 7..=100 {
        let config = MacConfig { reserved_security: reserved, ..config() };
        assert_eq!(config.check(), Ok(()));
        let (mut sender, mut now) = (mac(config, all(), 1), T0);
        assert_eq!(sender.max_payload(PEER), 116 - usize::from(reserved));
        put(&mut sender, now, request(1)).unwrap();
        let (_, frame) = submitted(&mut sender, &mut now);
        assert_eq!(frame.len(), 9 + usize::from(reserved) + 4);
        let mut receiver = mac(MacConfig { short: 2, ..config }, all(), 2);
        let indication = receive(&mut receiver, now, &frame).unwrap();
        assert_eq!(&frame[payload(indication)], b"data");
    }
}

#[test]
fn impossible_configurations_are_named_and_clamped() {
    for reserved in [1, 6, 101] {
        let wrong = MacConfig { reserved_security: reserved, ..config() };
        assert_eq!(wrong.check(), Err(ConfigError::ReservedSecurity));
    }
    let wrong = MacConfig { reserved_security: 3, max_frame_retries: 17, ..config() };
    let mac = mac(wrong, all(), 1);
    assert_eq!((mac.config().reserved_security, mac.config().max_frame_retries), (7, 15));
    assert_eq!(
        MacConfig { max_frame_retries: 16, ..config() }.check(),
        Err(ConfigError::MaxFrameRetries)
    );
    let csma_params = kinglet_radio::CsmaParams { min_be: 6, ..Default::default() };
    assert_eq!(MacConfig { csma_params, ..config() }.check(), Err(ConfigError::CsmaParams));
    assert_eq!(MacConfig::DEFAULT.check(), Ok(()));
}

#[test]
fn events_without_a_command_change_nothing() {
    let mut mac = mac(config(), all(), 1);
    let transmitted = Event::Transmitted { sfd: T0, ack: Ack::Missing };
    for event in [transmitted, Event::ChannelBusy, Event::Missed] {
        assert_eq!(mac.handle_radio(T0, event, &mut []), Err(Discard::UnexpectedEvent));
    }
    assert!(mac.is_idle());
    put(&mut mac, T0, request(1)).unwrap();
    let before = mac.info();
    assert!(mac.handle_radio(T0, transmitted, &mut []).is_err());
    assert_eq!((mac.info(), mac.poll_outcome(T0)), (before, None));
}

#[test]
fn a_missed_start_is_reported() {
    let (mut mac, mut now) = (mac(config(), all(), 1), T0);
    put(&mut mac, now, request(1)).unwrap();
    submitted(&mut mac, &mut now);
    mac.handle_radio(now, Event::Missed, &mut []).unwrap();
    assert_eq!(mac.poll_outcome(now).unwrap().result, Delivery::Missed);
}

#[test]
fn sequence_numbers_advance_by_one_per_frame() {
    let (mut mac, mut now) = (mac(config(), all(), 1), T0);
    let mut numbers = Vec::new();
    for token in 0..300 {
        put(&mut mac, now, request(token)).unwrap();
        numbers.push(sequence_of(&submitted(&mut mac, &mut now).1));
        transmitted(&mut mac, now, Ack::Received { frame_pending: false });
        mac.poll_outcome(now).unwrap();
    }
    assert!(numbers.windows(2).all(|pair| pair[1] == pair[0].wrapping_add(1)));
}

/// Returns the frame that is likely to follow the outstanding one.
fn next_frame(mac: &mut TestMac) -> Option<Vec<u8>> {
    mac.poll_next(T0).map(|submission| submission.frame.to_vec())
}

fn in_hardware() -> MacConfig {
    MacConfig { csma: Csma::Hardware, ..config() }
}

#[test]
fn the_frame_after_the_outstanding_one_is_known_and_is_submitted_next() {
    let (mut mac, mut now) = (mac(in_hardware(), all(), 3), T0);
    (1..=3).for_each(|token| put(&mut mac, now, request(token)).unwrap());
    assert_eq!(next_frame(&mut mac), None, "nothing is outstanding");
    let (first, _) = submitted(&mut mac, &mut now);
    let next = mac.poll_next(now).map(|next| (next.command, next.frame.to_vec())).unwrap();
    assert_eq!(next.0, first, "access, channel and power are the same");
    assert_eq!(next_frame(&mut mac).as_ref(), Some(&next.1), "it can be asked for again");
    transmitted(&mut mac, now, Ack::Received { frame_pending: false });
    assert_eq!(next_frame(&mut mac), None);
    assert_eq!(submitted(&mut mac, &mut now), next);
}

#[test]
fn a_next_frame_that_is_not_certain_is_not_known() {
    // An indirect frame would go first; a broadcast has a counter that all neighbours see.
    for request in [
        TxRequest { class: Class::Indirect, ..request(2) },
        TxRequest { dst: Address::Short(0xffff), ack: false, ..request(2) },
    ] {
        let (mut mac, mut now) = (mac(in_hardware(), all(), 3), T0);
        put(&mut mac, now, super::request(1)).unwrap();
        submitted(&mut mac, &mut now);
        put(&mut mac, now, request).unwrap();
        put(&mut mac, now, super::request(3)).unwrap();
        assert_eq!(next_frame(&mut mac), None, "{request:?}");
    }
    // CSMA-CA in software: the channel access depends on what happens until then.
    let (mut mac, mut now) = (mac(config(), all(), 3), T0);
    (1..=2).for_each(|token| put(&mut mac, now, request(token)).unwrap());
    submitted(&mut mac, &mut now);
    assert_eq!(next_frame(&mut mac), None);
}

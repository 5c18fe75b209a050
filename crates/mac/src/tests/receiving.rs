//! Filtering, duplicates and link statistics of received frames.

use super::*;
use crate::security::LinkSecurity;
use proptest::prelude::*;

const ME: Address = Address::Short(1);

#[test]
fn the_payload_is_shown_where_it_lies() {
    let mut mac = mac(config(), all(), 1);
    let frame = data_frame(PEER, ME, 1, true);
    let payload = 9..12;
    assert_eq!(&frame[payload.clone()], b"abc");
    let indication = Indication::Data { src: PEER, dst: ME, payload, rssi_dbm: -60, lqi: 200 };
    assert_eq!(receive(&mut mac, T0, &frame), Ok(Some(indication)));
}

#[test]
fn frames_for_another_destination_are_dropped_whatever_the_radio_filters() {
    for capabilities in [all(), Capabilities::NONE] {
        let mut mac = mac(config(), capabilities, 1);
        let mut other_pan = data_frame(PEER, ME, 1, true);
        other_pan[3] ^= 1;
        for frame in [
            data_frame(PEER, Address::Short(3), 1, true),
            data_frame(PEER, Address::Extended([7; 8]), 2, true),
            data_frame(PEER, Address::None, 3, false),
            other_pan,
        ] {
            assert_eq!(receive(&mut mac, T0, &frame), Err(Discard::OtherDestination));
        }
        assert_eq!(mac.link(PEER), None, "an overheard frame is no reason to forget a neighbour");
        assert_eq!(mac.stats().discarded(Discard::OtherDestination), 4);
    }
}

#[test]
fn frames_for_the_broadcast_pan_are_taken() {
    for (sequence, dst) in [(1, ME), (2, Address::BROADCAST)] {
        let mut mac = mac(config(), all(), 1);
        let mut frame = data_frame(PEER, dst, sequence, false);
        frame[3..5].fill(0xff);
        assert!(receive(&mut mac, T0, &frame).unwrap().is_some(), "to {dst:?}");
    }
}

#[test]
fn a_device_without_short_address_does_not_answer_to_one() {
    let mut mac = mac(MacConfig { short: 0xfffe, ..config() }, all(), 1);
    let frame = data_frame(PEER, Address::Short(0xfffe), 1, true);
    assert_eq!(receive(&mut mac, T0, &frame), Err(Discard::OtherDestination));
    assert!(receive(&mut mac, T0, &data_frame(PEER, Address::BROADCAST, 2, false)).is_ok());
}

#[test]
fn a_frame_from_this_device_or_from_broadcast_is_refused() {
    let mut mac = mac(config(), all(), 1);
    for src in [ME, Address::BROADCAST, Address::Extended(config().extended)] {
        let frame = data_frame(src, ME, 1, true);
        assert_eq!(receive(&mut mac, T0, &frame), Err(Discard::BadSource));
    }
}

#[test]
fn a_repetition_is_dropped_until_its_number_may_be_in_use_again() {
    let mut mac = mac(config(), all(), 1);
    let frame = data_frame(PEER, ME, 1, true);
    let lifetime = config().duplicate_lifetime;
    assert!(receive(&mut mac, T0, &frame).is_ok());
    assert_eq!(receive(&mut mac, T0 + lifetime, &frame), Err(Discard::Duplicate));
    let late = T0 + lifetime * 2 + Duration::from_micros(1);
    assert!(receive(&mut mac, late, &frame).is_ok());
    assert!(receive(&mut mac, late, &data_frame(PEER, ME, 2, true)).is_ok());
    assert!(receive(&mut mac, late, &data_frame(Address::Short(3), ME, 2, true)).is_ok());
    let link = mac.link(PEER).unwrap();
    assert_eq!((link.received, link.duplicates), (4, 1));
}

#[test]
fn the_least_recently_used_neighbour_is_evicted() {
    let mut mac = mac(config(), all(), 1);
    let at = |ms| T0 + Duration::from_millis(ms);
    for (ms, source) in [(0, 2), (1, 3), (2, 4), (3, 2), (4, 5)] {
        let frame = data_frame(Address::Short(source), ME, ms as u8, true);
        receive(&mut mac, at(ms), &frame).unwrap();
    }
    let known = [2, 3, 4, 5].map(|short| mac.link(Address::Short(short)).is_some());
    assert_eq!(known, [true, false, true, true]);
}

#[test]
fn no_neighbour_is_evicted_while_there_is_room_even_at_time_zero() {
    let mut mac = mac(config(), all(), 1);
    for source in [2, 3, 4] {
        receive(&mut mac, Instant::ZERO, &data_frame(Address::Short(source), ME, 1, true)).unwrap();
    }
    assert!([2, 3, 4].iter().all(|&short| mac.link(Address::Short(short)).is_some()));
}

#[test]
fn signal_strength_and_quality_are_averaged() {
    let mut mac = mac(config(), all(), 1);
    let mut hear = |sequence, rssi_dbm, lqi| {
        let mut frame = data_frame(PEER, ME, sequence, true);
        let len = frame.len() as u8;
        let event = Event::Received { sfd: T0, len, rssi_dbm, lqi, acked: true };
        mac.handle_radio(T0, event, &mut frame).unwrap();
        let link = mac.link(PEER).unwrap();
        (link.rssi_dbm().unwrap(), link.lqi().unwrap())
    };
    assert_eq!(hear(0, -80, 100), (-80, 100));
    assert_eq!(hear(1, -64, 180), (-78, 110), "an eighth of the way");
    let settled = (2..100).map(|sequence| hear(sequence, -64, 180)).last().unwrap();
    assert!((-65..=-64).contains(&settled.0) && (179..=180).contains(&settled.1), "{settled:?}");
}

#[test]
fn secured_frames_beacons_commands_and_noise_are_discarded_by_name() {
    let mut mac = mac(config(), all(), 1);
    let mut secured = data_frame(PEER, ME, 1, true);
    secured[0] |= 8;
    secured.extend([0; 16]);
    assert_eq!(receive(&mut mac, T0, &secured), Err(Discard::Secured));
    let mut command = data_frame(PEER, ME, 2, true);
    command[0] = command[0] & !7 | 3;
    assert_eq!(receive(&mut mac, T0, &command), Err(Discard::NotData));
    assert!(matches!(receive(&mut mac, T0, &[1, 2]), Err(Discard::Malformed(_))));
    assert!(matches!(receive(&mut mac, T0, &[]), Err(Discard::Malformed(_))));
}

#[test]
fn a_length_beyond_the_octets_is_no_danger() {
    let mut mac = mac(config(), all(), 1);
    let mut frame = data_frame(PEER, ME, 1, true);
    let event = Event::Received { sfd: T0, len: 255, rssi_dbm: 0, lqi: 0, acked: true };
    let indication = mac.handle_radio(T0, event, &mut frame).unwrap();
    assert_eq!(&frame[payload(indication)], b"abc");
}

proptest! {
    #[test]
    fn the_plain_path_receives_what_the_whole_one_does(
        low in prop_oneof![Just(0x41u8), Just(0x71), any::<u8>()],
        high in prop_oneof![Just(0x88u8), Just(0x98), any::<u8>()],
        pan in prop_oneof![Just(config().pan_id.0), Just(0xffff), any::<u16>()],
        dst in prop_oneof![Just(1u16), Just(0xffff)],
        src in prop_oneof![Just(1u16), Just(0xffff), Just(0xfffe), any::<u16>()],
        rest in prop::collection::vec(any::<u8>(), 0..20),
    ) {
        let mac = mac(config(), all(), 1);
        let [[a, b], [c, d], [e, f]] = [pan, dst, src].map(u16::to_le_bytes);
        let frame = [&[low, high, 7, a, b, c, d, e, f][..], &rest].concat();
        let plain = mac.plain(&frame, -60, 200);
        let usual = low & !0x30 == 0x41 && high & !0x10 == 0x88 && pan == config().pan_id.0;
        prop_assert_eq!(plain.is_some(), usual && dst == 1 && src != 1 && src < 0xfffe);
        if let Some(heard) = plain {
            let whole = Frame::parse(&frame).unwrap();
            prop_assert_eq!(mac.filter_frame(&whole), Ok(()));
            prop_assert_eq!(mac.security.check(&None, &whole), Ok(None));
            prop_assert_eq!(heard, crate::mac::receive::Heard::of(&whole, -60, 200));
        }
        for frame in [&frame[..8], &[]] {
            prop_assert_eq!(mac.plain(frame, -60, 200), None);
        }
    }
}

proptest! {
    #[test]
    fn the_plain_path_takes_a_secured_frame_for_what_the_whole_one_does(
        low in prop_oneof![Just(0x49u8), Just(0x79), Just(0x41), any::<u8>()],
        high in prop_oneof![Just(0x98u8), Just(0x88), Just(0xa8), any::<u8>()],
        control in prop_oneof![Just(0x0du8), any::<u8>()],
        counter in any::<u32>(),
        index in prop_oneof![Just(1u8), any::<u8>()],
        rest in prop::collection::vec(any::<u8>(), 0..20),
    ) {
        let mac = mac(with_key(), all(), 1);
        let [a, b] = config().pan_id.0.to_le_bytes();
        let [c, d, e, f] = counter.to_le_bytes();
        let header = [low, high, 7, a, b, 1, 0, 2, 0, control, c, d, e, f, index];
        let frame = [&header[..], &rest].concat();
        let plain = mac.plain(&frame, -60, 200);
        let usual = low & !0x30 == 0x49 && high == 0x98 && control == 0x0d && index == 1;
        prop_assert_eq!(plain.is_some(), usual);
        if let Some(heard) = plain {
            let whole = Frame::parse(&frame).unwrap();
            prop_assert_eq!(mac.filter_frame(&whole), Ok(()));
            let sealed = mac.security.check(&with_key().security, &whole);
            prop_assert_eq!(sealed, Ok(crate::plain::Plain::sealed(&frame)));
            prop_assert_eq!(heard, crate::mac::receive::Heard::of(&whole, -60, 200));
        }
        for frame in [&frame[..14], &frame[..8]] {
            prop_assert_eq!(mac.plain(frame, -60, 200), None);
        }
    }
}

#[test]
fn only_what_needs_nothing_else_takes_the_plain_path() {
    let frame = data_frame(PEER, ME, 1, true);
    assert!(mac(config(), all(), 1).plain(&frame, -60, 200).is_some());
    // This device has to acknowledge it, or has a key.
    assert_eq!(mac(config(), Capabilities::NONE, 1).plain(&frame, -60, 200), None);
    assert_eq!(mac(with_key(), all(), 1).plain(&frame, -60, 200), None);
}

fn with_key() -> MacConfig {
    let security = Security { key: Key([0; 16]), eui64_prefix: [0; 6], first_counter: 0 };
    MacConfig { security: Some(security), ..config() }
}

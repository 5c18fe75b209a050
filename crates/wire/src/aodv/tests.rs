use super::*;
use proptest::prelude::*;
use std::vec::Vec;

fn rreqs() -> impl Strategy<Value = Rreq> {
    let fields = (any::<bool>(), any::<[u8; 2]>(), any::<[u32; 2]>(), any::<Option<u32>>());
    (fields, 0..=OUTSIDE, 0..OUTSIDE, any::<Option<u16>>()).prop_map(
        |((destination_only, [ttl, hop_count], numbers, sequence), destination, originator, dr)| {
            Rreq {
                destination_only,
                ttl,
                hop_count,
                id: numbers[0],
                destination,
                destination_sequence: sequence,
                originator,
                originator_sequence: numbers[1],
                path_dr: dr,
            }
        },
    )
}

fn rreps() -> impl Strategy<Value = Rrep> {
    let fields = (any::<u8>(), any::<[u32; 2]>(), any::<Option<u16>>());
    (fields, 0..=OUTSIDE, 0..OUTSIDE).prop_map(
        |((hop_count, numbers, path_dr), destination, originator)| Rrep {
            hop_count,
            destination,
            destination_sequence: numbers[0],
            originator,
            lifetime_ms: numbers[1],
            path_dr,
        },
    )
}

proptest! {
    #[test]
    fn requests_come_back_as_they_were(rreq in rreqs()) {
        let mut out = [0; 24];
        rreq.emit(&mut out).unwrap();
        prop_assert_eq!(Message::parse(&out[..rreq.buffer_len()]), Ok(Message::Rreq(rreq)));
        let short = rreq.buffer_len() - 1;
        prop_assert_eq!(rreq.emit(&mut out[..short]), Err(Error::NoRoom(Field::AodvMessage)));
        prop_assert!(Message::parse(&out[..short]).is_err());
    }

    #[test]
    fn replies_come_back_as_they_were(rrep in rreps()) {
        let mut out = [0; 20];
        rrep.emit(&mut out).unwrap();
        prop_assert_eq!(Message::parse(&out[..rrep.buffer_len()]), Ok(Message::Rrep(rrep)));
        let short = rrep.buffer_len() - 1;
        prop_assert_eq!(rrep.emit(&mut out[..short]), Err(Error::NoRoom(Field::AodvMessage)));
        prop_assert!(Message::parse(&out[..short]).is_err());
    }

    #[test]
    fn errors_come_back_as_they_were(
        entries in proptest::collection::vec((0..=OUTSIDE, any::<u32>()), 1..20)
    ) {
        let entries = entries.into_iter().map(|(destination, sequence)| {
            Unreachable { destination, sequence }
        });
        let entries: Vec<_> = entries.collect();
        let mut out = [0; 80];
        let mut writer = RerrWriter::new(&mut out).unwrap();
        prop_assert!(writer.is_empty());
        let written = entries.iter().take_while(|entry| writer.entry(**entry).is_ok()).count();
        prop_assert_eq!(written, entries.len().min(12));
        let len = writer.len();
        let Ok(Message::Rerr(rerr)) = Message::parse(&out[..len]) else { panic!() };
        prop_assert!(!rerr.no_delete);
        prop_assert_eq!(rerr.entries().collect::<Vec<_>>(), &entries[..written]);
    }

    #[test]
    fn no_octets_panic(octets in proptest::collection::vec(any::<u8>(), 0..90)) {
        let _ = Message::parse(&octets);
    }
}

/// Checks the fields against the figures of RFC 3561, 5, with addresses of two octets.
#[test]
fn fields_stand_where_the_rfc_has_them() {
    let rreq = Rreq {
        destination_only: true,
        ttl: 16,
        hop_count: 3,
        id: 0x0102_0304,
        destination: 0x0506,
        destination_sequence: None,
        originator: 0x0708,
        originator_sequence: 0x090A_0B0C,
        path_dr: Some(0xABCD),
    };
    let mut out = [0; 24];
    rreq.emit(&mut out).unwrap();
    let fixed = [1, 0x18, 16, 3, 1, 2, 3, 4, 5, 6, 0, 0, 0, 0, 7, 8, 9, 10, 11, 12];
    assert_eq!(out, [fixed.as_slice(), &[2, 2, 0xAB, 0xCD]].concat()[..]);
    let rrep = Rrep {
        hop_count: 2,
        destination: 0x0102,
        destination_sequence: 0x0304_0506,
        originator: 0x0708,
        lifetime_ms: 20_000,
        path_dr: None,
    };
    rrep.emit(&mut out).unwrap();
    assert_eq!(out[..16], [2, 0, 0, 2, 1, 2, 3, 4, 5, 6, 7, 8, 0, 0, 0x4E, 0x20]);
}

#[test]
fn extensions_that_may_be_skipped_are() {
    let rrep = [2, 0x40, 0, 0, 0, 1, 0, 0, 0, 9, 0, 2, 0, 0, 0, 0];
    let path_dr = |extensions: &[u8]| match Message::parse(&[&rrep, extensions].concat()) {
        Ok(Message::Rrep(rrep)) => Ok(rrep.path_dr),
        Ok(other) => panic!("{other:?}"),
        Err(error) => Err(error),
    };
    assert_eq!(path_dr(&[]), Ok(None));
    assert_eq!(path_dr(&[1, 4, 0, 0, 0, 9, 2, 2, 0, 7, 127, 0]), Ok(Some(7)));
    let (invalid, truncated) =
        (Error::Invalid(Field::AodvExtension), Error::Truncated(Field::AodvExtension));
    for (extensions, error) in [
        (&[2, 1, 0][..], invalid),
        (&[2, 2, 0, 7, 2, 2, 0, 7], invalid),
        (&[2], truncated),
        (&[2, 2, 0], truncated),
        (&[1, 255, 0], truncated),
        (&[128, 0], Error::Unsupported(Field::AodvExtension)),
    ] {
        assert_eq!(path_dr(extensions), Err(error), "{extensions:?}");
    }
}

#[test]
fn malformed_messages_are_refused_with_the_wrong_field() {
    let rreq = |dst: u16, src: u16| {
        let mut octets = [1; 20];
        octets[8..10].copy_from_slice(&dst.to_be_bytes());
        octets[14..16].copy_from_slice(&src.to_be_bytes());
        octets
    };
    let rrep = |dst: u16, src: u16, prefix: u8| {
        let mut octets = [2; 16];
        octets[2] = prefix;
        octets[4..6].copy_from_slice(&dst.to_be_bytes());
        octets[10..12].copy_from_slice(&src.to_be_bytes());
        octets
    };
    let address = Error::Invalid(Field::AodvAddress);
    let count = Error::Invalid(Field::AodvDestCount);
    for (octets, error) in [
        (&[][..], Error::Truncated(Field::AodvMessage)),
        (&[0, 0, 0, 0], Error::Unsupported(Field::AodvType)),
        (&[5, 0], Error::Unsupported(Field::AodvType)),
        (&[0x11, 0], Error::Unsupported(Field::AodvType)),
        (&[1; 19], Error::Truncated(Field::AodvMessage)),
        (&[2; 15], Error::Truncated(Field::AodvMessage)),
        (&[3, 0, 0], Error::Truncated(Field::AodvMessage)),
        (&rreq(0xFFFF, 1), address),
        (&rreq(1, 0xFFFE), address),
        (&rrep(0xFFFF, 1, 0), address),
        (&rrep(1, 0xFFFE, 0), address),
        (&rrep(1, 2, 9), Error::Unsupported(Field::AodvPrefixSize)),
        (&[3, 0, 0, 0], count),
        (&[3, 0, 0, 1], count),
        (&[3, 0, 0, 1, 0, 1, 0, 0, 0], count),
        (&[3, 0, 0, 1, 0, 1, 0, 0, 0, 1, 0], count),
        (&[3, 0, 0, 2, 0, 1, 0, 0, 0, 1], count),
        (&[3, 0, 0, 1, 0xFF, 0xFF, 0, 0, 0, 1], address),
    ] {
        assert_eq!(Message::parse(octets), Err(error), "{octets:x?}");
    }
    assert!(Message::parse(&rreq(0xFFFE, 1)).is_ok());
    assert!(Message::parse(&rrep(0xFFFE, 1, 0xE0)).is_ok());
    let Ok(Message::Rerr(rerr)) = Message::parse(&[3, 0x80, 7, 1, 0xFF, 0xFE, 0, 0, 0, 1]) else {
        panic!()
    };
    assert!(rerr.no_delete);
}

#[test]
fn a_question_is_two_octets_or_more() {
    assert_eq!(Message::parse(&RREP_ACK_MESSAGE), Ok(Message::RrepAck));
    assert_eq!(Message::parse(&[4, 9, 9]), Ok(Message::RrepAck));
    assert_eq!(Message::parse(&[4]), Err(Error::Truncated(Field::AodvMessage)));
}

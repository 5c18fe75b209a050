//! The message format and its reader and writer.

use crate::common::with;
use kinglet_coap::*;
use proptest::prelude::*;

fn parse(octets: &[u8]) -> Result<Message<'_>, ParseError> {
    Message::parse(octets)
}

fn malformed(octets: &[u8]) -> bool {
    matches!(parse(octets), Err(ParseError::Malformed { .. }))
}

// RFC 7252, Appendix A, figure 16: a confirmable request and its piggybacked response.
#[test]
fn the_example_of_the_rfc_is_read_and_written() {
    let request = b"\x40\x01\x7d\x34\xbbtemperature";
    let written = with(Kind::Confirmable, Code::GET, 0x7d34, b"", |w| w.path("temperature"));
    assert_eq!(written, request);
    let message = parse(request).unwrap();
    assert!(message.is_path("/temperature") && !message.is_path("/") && message.payload.is_empty());
    let response = b"\x60\x45\x7d\x34\xff22.3 C";
    let written = with(Kind::Acknowledgement, Code::CONTENT, 0x7d34, b"", |w| w.payload(b"22.3 C"));
    assert_eq!(written, response);
    assert_eq!(parse(response).unwrap().payload, b"22.3 C");
}

// RFC 7252, §3
#[test]
fn another_version_and_too_few_octets_are_no_message() {
    for octets in [&b""[..], b"\x40\x01\x7d", b"\x00\x01\x7d\x34", b"\x80\x01\x7d\x34"] {
        assert_eq!(parse(octets), Err(ParseError::Unknown));
    }
}

// RFC 7252, §3 and 4.1
#[test]
fn format_errors_are_found() {
    let kind = Kind::Confirmable;
    assert_eq!(
        parse(b"\x49\x01\x7d\x34123456789"),
        Err(ParseError::Malformed { kind, message_id: 0x7d34 }),
        "a token of nine octets"
    );
    assert!(malformed(b"\x42\x01\x00\x01\x01"), "a token that is cut");
    assert!(malformed(b"\x40\x00\x00\x01\xff1"), "an empty message with content");
    assert!(malformed(b"\x41\x00\x00\x011"), "an empty message with a token");
    assert!(malformed(b"\x40\x01\x00\x01\xff"), "a marker without payload");
    assert!(malformed(b"\x40\x01\x00\x01\xb5abc"), "a value that is cut");
    assert!(malformed(b"\x40\x01\x00\x01\xd0"), "a delta that is cut");
    assert!(malformed(b"\x40\x01\x00\x01\xf0"), "the reserved delta");
    assert!(malformed(b"\x40\x01\x00\x01\x0f"), "the reserved length");
    assert!(malformed(b"\x40\x01\x00\x01\xe0\xff\xff"), "a number above 65,535");
    assert!(malformed(b"\x40\x01\x00\x01\xe0\xfe\xf2\x10"), "two numbers that add up to more");
}

// RFC 7252, §3.1 and 3.2
#[test]
fn deltas_lengths_and_numbers_take_as_few_octets_as_they_can() {
    let encoded = |number, len| {
        let value = vec![7; len];
        let all = with(Kind::Confirmable, Code::GET, 1, b"", |w| w.option(number, &value));
        all[4..all.len() - len].to_vec()
    };
    assert_eq!(encoded(12, 12), [0xcc]);
    assert_eq!(encoded(13, 13), [0xdd, 0, 0]);
    assert_eq!(encoded(268, 268), [0xdd, 255, 255]);
    assert_eq!(encoded(269, 269), [0xee, 0, 0, 0, 0]);
    assert_eq!(encoded(65_535, 0), [0xe0, 0xfe, 0xf2]);
    let number = |value| {
        let all = with(Kind::Confirmable, Code::GET, 1, b"", |w| w.uint(option::SIZE1, value));
        assert_eq!(parse(&all).unwrap().uint(option::SIZE1), Some(value));
        all.len() - 6
    };
    assert_eq!([0, 255, 256, 65_536, u32::MAX].map(number), [0, 1, 2, 3, 4]);
}

#[test]
fn a_writer_keeps_the_order_and_its_bounds() {
    let header =
        Header { kind: Kind::Confirmable, code: Code::PUT, message_id: 1, token: Token::EMPTY };
    let mut octets = [0; 12];
    let mut writer = Writer::new(&mut octets, header).unwrap();
    writer.option(option::URI_PATH, b"ab").unwrap();
    assert_eq!(writer.option(option::ETAG, b""), Err(WriteError::Order));
    assert_eq!(writer.option(option::URI_QUERY, b"12345"), Err(WriteError::Full));
    assert_eq!(writer.payload(b"12345"), Err(WriteError::Full));
    writer.payload(b"1234").unwrap();
    assert_eq!(writer.option(option::URI_QUERY, b""), Err(WriteError::Order));
    assert_eq!(writer.payload(b"1"), Err(WriteError::Order));
    assert_eq!(writer.finish(), 12);
    assert_eq!(parse(&octets).unwrap().payload, b"1234");
    assert!(Writer::new(&mut [0; 3], header).is_err());
}

fn kinds() -> impl Strategy<Value = Kind> {
    prop_oneof![
        Just(Kind::Confirmable),
        Just(Kind::NonConfirmable),
        Just(Kind::Acknowledgement),
        Just(Kind::Reset),
    ]
}

type Parts = Vec<(u16, Vec<u8>)>;

fn options() -> impl Strategy<Value = Parts> {
    let number = prop_oneof![0u16..80, any::<u16>()];
    let value = prop_oneof![
        4 => prop::collection::vec(any::<u8>(), 0..20),
        1 => prop::collection::vec(any::<u8>(), 250..300),
    ];
    prop::collection::vec((number, value), 0..6).prop_map(|mut options| {
        options.sort_by_key(|option| option.0);
        options
    })
}

proptest! {
    /// A written message is read again.
    #[test]
    fn round_trip(
        kind in kinds(),
        code in 1u8..,
        message_id: u16,
        token in prop::collection::vec(any::<u8>(), 0..=8),
        options in options(),
        payload in prop::collection::vec(any::<u8>(), 0..100),
    ) {
        let mut octets = [0; 2_500];
        let header = Header { kind, code: Code(code), message_id, token: Token::new(&token) };
        let mut writer = Writer::new(&mut octets, header).unwrap();
        for (number, value) in &options {
            writer.option(*number, value).unwrap();
        }
        writer.payload(&payload).unwrap();
        let len = writer.finish();
        let message = Message::parse(&octets[..len]).unwrap();
        prop_assert_eq!(message.header, header);
        prop_assert_eq!(message.payload, &payload[..]);
        let read: Parts = message.options().map(|(number, it)| (number, it.to_vec())).collect();
        prop_assert_eq!(read, options);
    }

    /// Octets are refused or read; all parts that are read lie inside of them in order.
    #[test]
    fn arbitrary_octets(octets in prop::collection::vec(any::<u8>(), 0..60), plausible: bool) {
        let mut octets = octets;
        if let Some(first) = octets.first_mut().filter(|_| plausible) {
            *first = *first & 0x33 | 0x40;
        }
        if let Ok(message) = Message::parse(&octets) {
            let numbers: Vec<u16> = message.options().map(|option| option.0).collect();
            prop_assert!(numbers.is_sorted());
            let values: usize = message.options().map(|option| option.1.len()).sum();
            prop_assert!(values + message.payload.len() + HEADER_LEN <= octets.len());
        }
    }
}

/// RFC 7252, §5.4.3: an option with an impossible length counts as unrecognised.
#[test]
fn a_value_that_an_option_cannot_have_is_not_its_value() {
    let cases = [
        (option::ETAG, 1, 8),
        (option::OBSERVE, 0, 3),
        (option::CONTENT_FORMAT, 0, 2),
        (option::MAX_AGE, 0, 4),
        (option::SIZE2, 0, 4),
        (option::SIZE1, 0, 4),
        (option::LOCATION_PATH, 0, 255),
        (option::ECHO, 1, 40),
    ];
    for (number, least, most) in cases {
        for len in 0..=256 {
            let value = vec![7; len];
            let octets = with(Kind::Confirmable, Code::GET, 1, b"t", |w| w.option(number, &value));
            let message = Message::parse(&octets).unwrap();
            let is_there = message.values(number).next().is_some();
            assert_eq!(is_there, (least..=most).contains(&len), "{number}: {len} octets");
            assert_eq!(message.uint(number).is_some(), is_there && len <= 4);
        }
    }
}

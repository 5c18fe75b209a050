//! The interfaces of `coap-message`: what other crates read and write by them.

use coap_message::error::RenderableOnMinimal;
use coap_message::{
    MessageOption, MinimalWritableMessage, MutableWritableMessage, ReadableMessage,
};
use kinglet_coap::*;

fn header(code: Code) -> Header {
    let token = Token::new(&[9; 3]);
    Header { kind: Kind::Acknowledgement, code, message_id: 0x7d34, token }
}

/// What `build` writes into a buffer of `SIZE` octets.
fn built<const SIZE: usize>(build: impl FnOnce(&mut Writer<'_>)) -> Vec<u8> {
    let mut octets = [0; SIZE];
    let mut writer = Writer::new(&mut octets, header(Code::CONTENT)).expect("room");
    build(&mut writer);
    let len = writer.finish();
    octets[..len].to_vec()
}

#[test]
fn a_message_is_written_and_read_by_the_interfaces() {
    let octets = built::<64>(|writer| {
        MinimalWritableMessage::set_code(writer, Code::CREATED.0);
        writer.add_option(option::ETAG, &[0; 4]).expect("room");
        writer.add_option_str(option::LOCATION_PATH, "light").expect("room");
        writer.add_option_uint(option::MAX_AGE, 600_u32).expect("room");
        assert_eq!(writer.add_option(option::ETAG, &[1]), Err(WriteError::Order));
        writer.set_payload(b"bright").expect("room");
        writer.mutate_options(|number, value| {
            if number == option::ETAG {
                value.copy_from_slice(b"etag");
            }
        });
    });
    let message = Message::parse(&octets).expect("well formed");
    assert_eq!(ReadableMessage::code(&message), 0x41);
    assert_eq!(ReadableMessage::payload(&message), b"bright");
    let options: Vec<_> = ReadableMessage::options(&message)
        .map(|option| (option.number(), option.value().to_vec()))
        .collect();
    let expected = [(4, b"etag".to_vec()), (8, b"light".to_vec()), (14, vec![2, 88])];
    assert_eq!(options, expected);
}

#[test]
fn a_payload_is_as_long_as_there_is_room_and_can_be_shortened() {
    // Header and token have seven octets, the marker one.
    for (truncated, payload) in [(9, 9), (5, 5), (0, 0)] {
        let octets = built::<16>(|writer| {
            assert_eq!(writer.available_space(), 9);
            let longest = writer.payload_mut_with_len(500).expect("room");
            assert_eq!(longest.len(), 8);
            longest.copy_from_slice(b"12345678");
            assert_eq!(writer.payload_mut_with_len(3).map(|it| it.to_vec()), Ok(b"123".to_vec()));
            assert_eq!(writer.add_option(option::ETAG, &[1]), Err(WriteError::Order));
            MutableWritableMessage::truncate(writer, truncated).expect("a payload");
        });
        let message = Message::parse(&octets).expect("well formed");
        assert_eq!(message.payload, &b"12345678"[..payload.min(8)]);
        let marker = usize::from(payload > 0);
        assert_eq!(octets.len(), 7 + marker + payload.min(8));
    }
}

#[test]
fn a_response_begins_again_with_header_and_token_alone() {
    let octets = built::<64>(|writer| {
        writer.add_option(option::MAX_AGE, &[1]).expect("room");
        writer.set_payload(b"half of it").expect("room");
        writer.restart();
        WriteError::Full.render(writer).expect("a code");
        writer.add_option(option::ETAG, &[1]).expect("the order begins again");
        writer.mutate_options(|number, value| assert_eq!((number, &*value), (4, &[1][..])));
    });
    let message = Message::parse(&octets).expect("well formed");
    assert_eq!(message.header, header(Code::INTERNAL_SERVER_ERROR));
    assert_eq!(message.payload, b"");
    assert_eq!(octets.len(), 9);
}

use super::*;
use crate::{Error, Field};
use byte::BytesExt;
use ieee802154::mac as peer;
use proptest::prelude::*;
use std::vec::Vec;

fn address() -> impl Strategy<Value = Address> {
    prop_oneof![
        Just(Address::None),
        any::<u16>().prop_map(Address::Short),
        any::<[u8; 8]>().prop_map(Address::Extended),
    ]
}

fn version() -> impl Strategy<Value = Version> {
    prop_oneof![Just(Version::V2003), Just(Version::V2006), Just(Version::V2015)]
}

fn frame_type() -> impl Strategy<Value = FrameType> {
    use FrameType::*;
    prop_oneof![Just(Beacon), Just(Data), Just(Ack), Just(Command)]
}

prop_compose! {
    fn repr()(
        frame_type in frame_type(), version in version(), flags in any::<[bool; 2]>(),
        sequence: u8, pan_id: u16, dst in address(), src in address(), filling in 6u8..=100,
        secured: bool, level in 1u8..=7, frame_counter: u32, key_index in 1u8..,
    ) -> Repr {
        let filling = if version == Version::V2015 && filling > 6 { filling } else { 0 };
        let [ack_request, frame_pending] = flags;
        let pan_id = PanId(pan_id);
        let security = Security { level, frame_counter, key_index };
        let security = Some(security).filter(|_| secured && version != Version::V2003);
        Repr {
            frame_type, version, ack_request, frame_pending, sequence, pan_id, dst, src, security,
            csl: None,
            filling,
        }
    }
}

fn emitted(repr: &Repr, payload: &[u8]) -> Vec<u8> {
    let mut frame = std::vec![0xff; repr.header_len()];
    assert_eq!(repr.emit(&mut frame), Ok(repr.header_len()));
    frame.extend(payload);
    frame
}

fn theirs(pan_id: PanId, address: Address) -> Option<peer::Address> {
    let pan_id = peer::PanId(pan_id.0);
    match address {
        Address::None => None,
        Address::Short(short) => Some(peer::Address::Short(pan_id, peer::ShortAddress(short))),
        Address::Extended(octets) => {
            let address = peer::ExtendedAddress(u64::from_be_bytes(octets));
            Some(peer::Address::Extended(pan_id, address))
        }
    }
}

fn their_version(version: Version) -> peer::FrameVersion {
    match version {
        Version::V2003 => peer::FrameVersion::Ieee802154_2003,
        Version::V2006 => peer::FrameVersion::Ieee802154_2006,
        Version::V2015 => peer::FrameVersion::Ieee802154,
    }
}

fn their_type(frame_type: FrameType) -> peer::FrameType {
    match frame_type {
        FrameType::Beacon => peer::FrameType::Beacon,
        FrameType::Data => peer::FrameType::Data,
        FrameType::Ack => peer::FrameType::Acknowledgement,
        FrameType::Command => peer::FrameType::MacCommand,
    }
}

proptest! {
    #[test]
    fn every_header_that_is_written_is_read_back(
        repr in repr(), payload in prop::collection::vec(any::<u8>(), 0..40),
    ) {
        let octets = emitted(&repr, &payload);
        let frame = Frame::parse(&octets).unwrap();
        let pan_id = Some(repr.pan_id);
        prop_assert_eq!(frame.frame_type(), repr.frame_type);
        prop_assert_eq!(frame.version(), repr.version);
        prop_assert_eq!(frame.ack_request(), repr.ack_request);
        prop_assert_eq!(frame.frame_pending(), repr.frame_pending);
        prop_assert_eq!(frame.sequence(), Some(repr.sequence));
        prop_assert_eq!(frame.dst(), repr.dst);
        prop_assert_eq!(frame.src(), repr.src);
        prop_assert_eq!(frame.dst_pan(), pan_id.filter(|_| repr.dst != Address::None));
        prop_assert_eq!(frame.src_pan(), pan_id.filter(|_| repr.src != Address::None));
        prop_assert_eq!(frame.header_ies().len(), usize::from(repr.filling));
        prop_assert_eq!(frame.payload(), &payload[..]);
        prop_assert_eq!(&octets[frame.payload_range()], &payload[..]);
        prop_assert!(frame.payload_ies().is_empty());
        let read = frame.security().map(|read| {
            assert_eq!(read.key_id_mode, 1);
            let counter = read.frame_counter.unwrap();
            let at = read.frame_counter_at;
            assert_eq!(octets[at..at + 4], counter.to_le_bytes());
            let key_index = read.key_identifier[0];
            Security { level: read.level, frame_counter: counter, key_index }
        });
        prop_assert_eq!(read, repr.security);
    }

    #[test]
    fn no_octets_panic_and_the_payload_is_always_the_rest(
        octets in prop::collection::vec(any::<u8>(), 0..140),
    ) {
        if let Ok(frame) = Frame::parse(&octets) {
            prop_assert_eq!(frame.payload(), &octets[frame.payload_range()]);
            prop_assert_eq!(frame.payload_range().end, octets.len());
        }
    }

    /// Nearly valid frames reach more code than noise does.
    #[test]
    fn no_damage_to_a_frame_panics(
        repr in repr(), at in 0usize..30, octet: u8, cut in 0usize..60,
        tail in prop::collection::vec(any::<u8>(), 0..40),
    ) {
        let mut octets = emitted(&repr, &tail);
        if let Some(place) = octets.get_mut(at) {
            *place = octet;
        }
        octets.truncate(octets.len().saturating_sub(cut).max(1));
        if let Ok(frame) = Frame::parse(&octets) {
            prop_assert_eq!(frame.payload_range().end, octets.len());
        }
    }

    #[test]
    fn the_ieee802154_crate_reads_what_we_write(repr in repr()) {
        prop_assume!(repr.version != Version::V2015);
        let octets = emitted(&repr, b"payload");
        let mut offset = 0;
        let header: peer::Header = octets.read(&mut offset).unwrap();
        prop_assert_eq!(offset, repr.header_len());
        prop_assert_eq!(header.frame_type, their_type(repr.frame_type));
        prop_assert_eq!(header.version, their_version(repr.version));
        prop_assert_eq!(header.seq, repr.sequence);
        prop_assert_eq!(header.ack_request, repr.ack_request);
        prop_assert_eq!(header.frame_pending, repr.frame_pending);
        prop_assert_eq!(header.destination, theirs(repr.pan_id, repr.dst));
        prop_assert_eq!(header.source, theirs(repr.pan_id, repr.src));
    }

    /// Includes a PAN identifier for each address, which Kinglet does not write.
    #[test]
    fn we_read_what_the_ieee802154_crate_writes(
        repr in repr(), src_pan: u16, compress: bool,
        payload in prop::collection::vec(any::<u8>(), 0..40),
    ) {
        prop_assume!(repr.version != Version::V2015);
        let both = repr.dst != Address::None && repr.src != Address::None;
        let compress = compress && both;
        let src_pan = if compress { repr.pan_id } else { PanId(src_pan) };
        let header = peer::Header {
            frame_type: peer::FrameType::Data,
            frame_pending: repr.frame_pending,
            ack_request: repr.ack_request,
            pan_id_compress: compress,
            seq_no_suppress: false,
            ie_present: false,
            version: their_version(repr.version),
            seq: repr.sequence,
            destination: theirs(repr.pan_id, repr.dst),
            source: theirs(src_pan, repr.src),
            auxiliary_security_header: None,
        };
        let content = peer::FrameContent::Data;
        let written = peer::Frame { header, content, payload: &payload, footer: [0; 2] };
        let (mut octets, mut len) = ([0; 200], 0);
        let mut context = peer::FrameSerDesContext::no_security(peer::FooterMode::None);
        octets.write_with(&mut len, written, &mut context).unwrap();
        let frame = Frame::parse(&octets[..len]).unwrap();
        prop_assert_eq!((frame.dst(), frame.src()), (repr.dst, repr.src));
        prop_assert_eq!(frame.dst_pan(), Some(repr.pan_id).filter(|_| !repr.dst.is_empty()));
        prop_assert_eq!(frame.src_pan(), Some(src_pan).filter(|_| !repr.src.is_empty()));
        prop_assert_eq!(frame.payload(), &payload[..]);
    }

    #[test]
    fn a_buffer_that_is_too_short_is_left_alone(repr in repr(), missing in 1usize..4) {
        let mut buf = std::vec![0xa5; repr.header_len().saturating_sub(missing)];
        prop_assert_eq!(repr.emit(&mut buf), Err(Error::NoRoom(Field::MacHeader)));
        prop_assert!(buf.iter().all(|&octet| octet == 0xa5));
    }
}

#[test]
fn an_acknowledgement_is_three_octets() {
    assert_eq!(emitted(&Repr::ack(0x56, false), &[]), [0x02, 0x00, 0x56]);
    assert_eq!(emitted(&Repr::ack(0x56, true), &[]), [0x12, 0x00, 0x56]);
}

#[test]
fn a_data_request_has_the_octets_of_the_standard() {
    let repr = Repr {
        frame_type: FrameType::Command,
        version: Version::V2003,
        ack_request: true,
        frame_pending: false,
        sequence: 5,
        pan_id: PanId(0x1234),
        dst: Address::Short(0x0001),
        src: Address::Extended([0x10, 0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17]),
        security: None,
        csl: None,
        filling: 0,
    };
    let octets = emitted(&repr, &[COMMAND_DATA_REQUEST]);
    let expected =
        [0x63, 0xc8, 5, 0x34, 0x12, 0x01, 0x00, 0x17, 0x16, 0x15, 0x14, 0x13, 0x12, 0x11, 0x10, 4];
    assert_eq!(octets, expected);
}

/// Table 7-2 of the 2015 edition, row by row: addressing modes (0 none, 2 short, 3 extended), PAN
/// ID compression, and the PAN identifiers that are present.
#[test]
fn version_2_places_pan_identifiers_by_table_7_2() {
    let table = [
        (0, 0, 0, false, false),
        (0, 0, 1, true, false),
        (2, 0, 0, true, false),
        (3, 0, 0, true, false),
        (2, 0, 1, false, false),
        (3, 0, 1, false, false),
        (0, 2, 0, false, true),
        (0, 3, 0, false, true),
        (0, 2, 1, false, false),
        (0, 3, 1, false, false),
        (3, 3, 0, true, false),
        (3, 3, 1, false, false),
        (2, 2, 0, true, true),
        (2, 3, 0, true, true),
        (3, 2, 0, true, true),
        (2, 3, 1, true, false),
        (3, 2, 1, true, false),
        (2, 2, 1, true, false),
    ];
    for (dst, src, compression, dst_pan, src_pan) in table {
        let control: u16 = 1 | compression << 6 | dst << 10 | 2 << 12 | src << 14;
        let mut octets = control.to_le_bytes().to_vec();
        octets.push(9);
        let address = |octets: &mut Vec<u8>, pan: Option<u8>, mode: u16| {
            octets.extend(pan.into_iter().flat_map(|pan| [pan, 0xaa]));
            let len = [0, 0, 2, 8][usize::from(mode)];
            octets.extend((0..len).map(|octet| octet + 1));
        };
        address(&mut octets, dst_pan.then_some(0x11), dst);
        address(&mut octets, src_pan.then_some(0x22), src);
        octets.extend(b"payload");
        let row = (dst, src, compression);
        let frame = Frame::parse(&octets).unwrap();
        assert_eq!(frame.payload(), b"payload", "{row:?}");
        assert_eq!(frame.dst_pan(), dst_pan.then_some(PanId(0xaa11)), "{row:?}");
        let own = src_pan.then_some(PanId(0xaa22));
        let implied = frame.dst_pan().filter(|_| src != 0);
        assert_eq!(frame.src_pan(), own.or(implied), "{row:?}");
    }
}

#[test]
fn older_versions_refuse_compression_without_two_addresses() {
    let octets = [0x41, 0x08, 1, 0xcd, 0xab, 2, 0];
    assert_eq!(Frame::parse(&octets), Err(Error::Invalid(Field::PanIdCompression)));
}

#[test]
fn a_suppressed_sequence_number_is_not_there() {
    let frame = Frame::parse(&[0x41, 0xa9, 0xcd, 0xab, 2, 0, 1, 0, 7]).unwrap();
    assert_eq!((frame.sequence(), frame.payload()), (None, &[7][..]));
    assert_eq!((frame.dst(), frame.src()), (Address::Short(2), Address::Short(1)));
}

#[test]
fn the_auxiliary_security_header_is_located() {
    // Version 1, level 5 (encryption, 4 octets of MIC), key identifier mode 1.
    let mut octets = std::vec![0x49, 0x98, 1, 0xcd, 0xab, 2, 0, 1, 0];
    octets.extend([0x0d, 0x78, 0x56, 0x34, 0x12, 0x01]);
    octets.extend(b"secret+mic4");
    let frame = Frame::parse(&octets).unwrap();
    let security = frame.security().unwrap();
    assert_eq!((security.level, security.key_id_mode), (5, 1));
    assert_eq!(security.frame_counter, Some(0x1234_5678));
    assert_eq!((security.key_identifier, security.mic_len()), (&[1][..], 4));
    assert!(security.is_encrypted());
    assert_eq!(frame.payload(), b"secret+mic4");
    octets[1] = 0x88;
    assert!(matches!(Frame::parse(&octets), Err(Error::Unsupported(_))), "the 2003 edition's");
}

#[test]
fn the_csl_ie_says_when_the_sender_listens() {
    let repr = Repr {
        frame_type: FrameType::Data,
        version: Version::V2015,
        ack_request: true,
        frame_pending: false,
        sequence: 5,
        pan_id: PanId(0xabcd),
        dst: Address::Short(2),
        src: Address::Short(1),
        security: None,
        csl: Some(Csl { phase: 0x0102, period: 6_250 }),
        filling: 0,
    };
    let octets = emitted(&repr, b"");
    // Element 0x1a with four octets, then Header Termination 2.
    let ies = [0x04, 0x0d, 0x02, 0x01, 0x6a, 0x18, 0x80, 0x3f];
    assert_eq!((&octets[9..], octets.len()), (&ies[..], repr.header_len()));
    let frame = Frame::parse(&octets).unwrap();
    assert_eq!((frame.csl(), frame.payload()), (repr.csl, &[][..]));
    let without = emitted(&Repr { csl: None, ..repr }, b"");
    assert_eq!(Frame::parse(&without).unwrap().csl(), None);
    for wrong in [Repr { version: Version::V2006, ..repr }, Repr { filling: 10, ..repr }] {
        assert_eq!(wrong.emit(&mut [0; 300]), Err(Error::Invalid(Field::CslIe)));
    }
}

#[test]
fn information_elements_are_skipped() {
    let header = [0x41, 0xaa, 1, 0xcd, 0xab, 2, 0, 1, 0];
    let vendor = [0x04, 0x00, 0, 0, 0, 9];
    let termination_1 = [0x00, 0x3f];
    let termination_2 = [0x80, 0x3f];
    // Group 1 with two octets, then Payload Termination (group 15).
    let payload_ies = [0x02, 0x88, 1, 2, 0x00, 0xf8];
    let octets = [&header[..], &vendor, &termination_2, b"data"].concat();
    assert_eq!(Frame::parse(&octets).unwrap().payload(), b"data");
    let octets = [&header[..], &vendor, &termination_1, &payload_ies, b"data"].concat();
    let frame = Frame::parse(&octets).unwrap();
    assert_eq!((frame.payload(), frame.payload_ies()), (&b"data"[..], &payload_ies[..]));
    assert_eq!(frame.header_ies().len(), 8);
    let octets = [&header[..], &vendor[..5]].concat();
    assert_eq!(Frame::parse(&octets), Err(Error::Truncated(Field::MacHeader)));
}

#[test]
fn filling_that_cannot_be_written_is_refused() {
    let repr = Repr { version: Version::V2015, ..Repr::ack(1, false) };
    for filling in [1, 6, 101, 255] {
        let refused = Repr { filling, ..repr }.emit(&mut [0; 300]);
        assert_eq!(refused, Err(Error::Invalid(Field::Filling)));
    }
    let security = Some(Security { level: 5, frame_counter: 1, key_index: 1 });
    let oldest = Repr { security, version: Version::V2003, ..repr }.emit(&mut [0; 300]);
    assert_eq!(oldest, Err(Error::Unsupported(Field::SecurityOfVersion0)));
    let old = Repr { filling: 10, version: Version::V2006, ..repr }.emit(&mut [0; 300]);
    assert_eq!(old, Err(Error::Invalid(Field::Filling)));
}

#[test]
fn reserved_values_are_named() {
    assert_eq!(Frame::parse(&[]), Err(Error::Truncated(Field::MacHeader)));
    assert_eq!(Frame::parse(&[4, 0, 0]), Err(Error::Invalid(Field::FrameType)));
    assert_eq!(Frame::parse(&[5, 0, 0]), Err(Error::Unsupported(Field::FrameType)));
    assert_eq!(Frame::parse(&[1, 0x30, 0]), Err(Error::Invalid(Field::FrameVersion)));
    assert_eq!(Frame::parse(&[1, 0x04, 0, 1, 2]), Err(Error::Invalid(Field::AddressingMode)));
    assert_eq!(Frame::parse(&[2, 0]), Err(Error::Truncated(Field::MacHeader)));
}

#[test]
fn addresses_are_shown_most_significant_octet_first() {
    let extended = Address::Extended([0xaa, 0xbb, 0, 0, 0, 0, 0, 0x12]);
    assert_eq!(std::format!("{extended:?}"), "aa:bb:00:00:00:00:00:12");
    assert_eq!(std::format!("{:?} {:?}", Address::Short(0xab), Address::None), "00ab -");
    assert!(!Address::Short(0xfffe).is_unicast() && !Address::BROADCAST.is_unicast());
}

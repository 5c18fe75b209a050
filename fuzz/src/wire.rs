//! The parsers of `kinglet-wire` and of CoAP. Each must also agree with its writer.

use kinglet_apps::http;
use kinglet_coap::{Message, Writer};
use kinglet_wire::ieee802154::{Address, Frame};
use kinglet_wire::sixlowpan::{
    self, Context, Dispatch, ExtensionHeaders, FragmentHeader, Integrity, NextHeader, UdpHeader,
    routed,
};
use kinglet_wire::{
    aodv as a, checksum, icmpv6 as icmp, ipv6 as ip, mld, nd, rpl as r, tcp as t, udp as u,
};
use std::net::Ipv6Addr;

/// IEEE 802.15.4 frames: every part of an accepted frame lies inside it.
pub fn ieee802154(data: &[u8]) {
    let Ok(frame) = Frame::parse(data) else { return };
    assert_eq!(data.get(frame.payload_range()), Some(frame.payload()));
    let parts = frame.payload().len() + frame.header_ies().len() + frame.payload_ies().len();
    assert!(parts < data.len(), "the frame control field is outside of all parts");
    let addresses = (frame.dst_pan(), frame.dst(), frame.src_pan(), frame.src());
    let header = (frame.frame_type(), frame.version(), frame.sequence(), frame.ack_request());
    let rest = frame.security().map(|security| (security.mic_len(), security.is_encrypted()));
    // Reading these values must not panic.
    std::hint::black_box((addresses, header, rest, frame.frame_pending()));
}

/// Contexts of different lengths, one of them ending within an octet; the third is unknown.
fn contexts() -> [Option<Context>; 4] {
    let prefix = Ipv6Addr::new(0x2001, 0xdb8, 0x1234, 0x5678, 0x9abc, 0xdef0, 1, 2);
    [Some(64), Some(61), None, Some(128)].map(|len| len.map(|len| Context { prefix, len }))
}

/// 6LoWPAN: a decompressed header compresses to octets that decompress to the same header.
pub fn sixlowpan(data: &[u8]) {
    let Some((&[kind, short, size], rest)) = data.split_first_chunk::<3>() else { return };
    std::hint::black_box(Dispatch::of(rest));
    if let Ok((header, tail)) = FragmentHeader::parse(rest) {
        let mut out = [0; FragmentHeader::NEXT_LEN];
        let len = header.emit(&mut out).expect("a parsed header can be written");
        assert_eq!(out[..len], rest[..rest.len() - tail.len()]);
    }
    let address = |bit: u8| match kind >> bit & 3 {
        0 => Address::None,
        1 => Address::Short(u16::from(short)),
        _ => Address::Extended([short; 8]),
    };
    let (src, dst, contexts) = (address(0), address(2), contexts());
    let integrity = if kind & 0x10 == 0 { Integrity::None } else { Integrity::Other };
    let total = (kind & 0x20 != 0).then_some(u16::from(size) * 8);
    let hop = Hop { src, dst, contexts: &contexts };
    there_and_back::<UdpHeader>(rest, hop, total, integrity);
    there_and_back::<ExtensionHeaders>(rest, hop, total, integrity);
    routed_there_and_back(rest, hop, total, kind & 0x40 != 0);
}

/// Expanded routing headers are compressed again, if that is possible, and then have the same
/// expansion.
fn routed_there_and_back(octets: &[u8], hop: Hop<'_>, total: Option<u16>, storing: bool) {
    let Hop { src, dst, contexts } = hop;
    let links = (src, dst);
    let root = Ipv6Addr::new(0x2001, 0xdb8, 0x1234, 0x5678, 0, 0xff, 0xfe00, 1);
    let option = r::PacketInformation::SKIPPED_IF_UNKNOWN;
    let dodag = routed::Dodag { root, instance: 0, option, storing, compresses: true };
    let expand = |frame: &[u8], total, out: &mut [u8]| {
        let integrity = Integrity::None;
        routed::decompress::<ExtensionHeaders>(
            frame, links, contexts, &dodag, total, integrity, out,
        )
    };
    let there_and_back = |packet: &[u8]| {
        let mut frame = [0; sixlowpan::MAX_CHAIN_COMPRESSED];
        let done =
            routed::compress::<ExtensionHeaders>(packet, links, contexts, &dodag, &mut frame);
        let Some(done) = done else { return };
        let total = ip::Header::read(packet).expect("it was compressed").total_len();
        let Ok(total) = u16::try_from(total) else { return };
        let mut header = [0; EXPANDED];
        let expanded = expand(&frame[..done.written], Some(total), &mut header);
        let expanded = expanded.expect("a compressed header can be expanded");
        assert_eq!(expanded.written, done.covered);
        // The traffic class of the packet in a tunnel may have adopted that of the outer header.
        let same = header.iter().zip(packet).take(done.covered).filter(|(a, b)| a == b).count();
        assert!(same + 1 >= done.covered);
    };
    let mut header = [0; EXPANDED];
    if let Ok(expanded) = expand(octets, total, &mut header) {
        assert!(expanded.consumed <= octets.len());
        there_and_back(&header[..expanded.written]);
    }
    there_and_back(octets);
}

/// Ends of a frame, and the contexts that both have.
#[derive(Clone, Copy)]
struct Hop<'a> {
    src: Address,
    dst: Address,
    contexts: &'a [Option<Context>],
}

/// Room for expanded headers.
const EXPANDED: usize = ip::HEADER_LEN + sixlowpan::MAX_CHAIN;

/// Expands and compresses with `N` behind the IPv6 header.
fn there_and_back<N: NextHeader>(
    octets: &[u8],
    hop: Hop<'_>,
    total: Option<u16>,
    integrity: Integrity,
) {
    let Hop { src, dst, contexts } = hop;
    let mut header = [0; EXPANDED];
    let expanded =
        sixlowpan::decompress::<N>(octets, src, dst, contexts, total, integrity, &mut header);
    if let Ok(expanded) = expanded {
        assert!(expanded.consumed <= octets.len());
        round_trip::<N>(&header[..expanded.written], hop);
    }
    round_trip::<N>(octets, hop);
}

/// Compresses the header at the start of `packet`, if there is one, and compares its expansion.
fn round_trip<N: NextHeader>(packet: &[u8], hop: Hop<'_>) {
    let Hop { src, dst, contexts } = hop;
    let mut frame = [0; sixlowpan::MAX_CHAIN_COMPRESSED];
    let Ok(compressed) = sixlowpan::compress::<N>(packet, src, dst, contexts, &mut frame) else {
        return;
    };
    let total = ip::Header::read(packet).expect("it was compressed").total_len();
    let Ok(total) = u16::try_from(total) else { return };
    let mut header = [0; EXPANDED];
    let frame = &frame[..compressed.written];
    let integrity = Integrity::None;
    let expanded =
        sixlowpan::decompress::<N>(frame, src, dst, contexts, Some(total), integrity, &mut header);
    let expanded = expanded.expect("a compressed header can be expanded");
    assert_eq!(expanded.written, compressed.covered);
    assert_eq!(header[..expanded.written], packet[..compressed.covered]);
}

/// IPv6 packets: the walk over extension headers ends in bounded time and inside the packet.
pub fn ipv6(data: &[u8]) {
    let Ok(packet) = ip::Packet::parse(data) else { return };
    let mut header = [0; ip::HEADER_LEN];
    packet.header().emit(&mut header).expect("there is room");
    assert_eq!(header, packet.octets()[..ip::HEADER_LEN]);
    let mut steps = 0;
    for extension in packet.extensions() {
        if let Ok(extension) = extension {
            assert!(extension.options().count() <= packet.octets().len());
            let _ = (extension.segments_left(), extension.is_atomic());
        }
        steps += 1;
    }
    assert!(steps <= usize::from(ip::MAX_EXTENSIONS) + 1);
    if let Ok((_, range)) = packet.upper() {
        assert!(range.end <= packet.octets().len());
    }
}

/// Splits off the pseudo-header's sum.
fn with_sum(data: &[u8]) -> Option<(u16, Vec<u8>)> {
    let (&sum, rest) = data.split_first_chunk::<2>()?;
    Some((u16::from_be_bytes(sum), rest.to_vec()))
}

/// ICMPv6: a message whose checksum was set is accepted, one with a flipped bit is not.
pub fn icmpv6(data: &[u8]) {
    let Some((sum, mut octets)) = with_sum(data) else { return };
    std::hint::black_box(icmp::Message::parse(&octets, sum).is_ok());
    if icmp::fill_checksum(&mut octets, sum).is_ok() {
        // Shorter messages have types that are unknown here.
        assert_eq!(icmp::verify(&octets, sum), Ok(()));
        if octets.len() < icmp::HEADER_LEN {
            return;
        }
        let message = icmp::Message::parse(&octets, sum).expect("its checksum is right");
        assert_eq!(message.body(), &octets[icmp::HEADER_LEN..]);
        let mut header = [0; icmp::HEADER_LEN];
        message.kind().emit(&mut header).expect("there is room");
        assert_eq!(header[0], octets[0]);
        octets[1] ^= 1;
        assert!(icmp::Message::parse(&octets, sum).is_err());
    }
}

/// Neighbour discovery: a parsed message can be written, and parses to the same again.
pub fn nd(data: &[u8]) {
    if let Ok(query) = mld::Query::parse(data) {
        assert!(query.group.is_none_or(|group| group.is_multicast()));
        let mut report = [0; 28];
        let len = mld::write_report(false, query.group.into_iter(), &mut report);
        let reported = query.group.is_some_and(mld::is_reported);
        assert_eq!(len, reported.then_some(28));
    }
    let Ok(message) = nd::Message::parse(data) else { return };
    let mut buffer = vec![0; data.len()];
    let mut builder = nd::Builder::new(&mut buffer, &message.kind()).expect("it was there");
    for option in message.options() {
        builder.option(&option).expect("no option is longer than it came");
    }
    // A context may have used the long form without need.
    let len = builder.len();
    let again = nd::Message::parse(&buffer[..len]).expect("a written message can be read");
    assert_eq!(again.kind(), message.kind());
    assert!(again.options().eq(message.options()));
}

/// UDP: a datagram whose length and checksum were set is accepted, one with a flipped bit is not.
pub fn udp(data: &[u8]) {
    let Some((sum, mut octets)) = with_sum(data) else { return };
    std::hint::black_box(u::Datagram::parse(&octets, sum).is_ok());
    let Ok(length) = u16::try_from(octets.len()) else { return };
    if let Some(field) = octets.get_mut(4..6) {
        field.copy_from_slice(&length.to_be_bytes());
    }
    if u::fill_checksum(&mut octets, sum).is_ok() {
        let datagram = u::Datagram::parse(&octets, sum).expect("length and checksum are right");
        assert_eq!(datagram.payload(), &octets[u::HEADER_LEN..]);
        octets[0] ^= 1;
        assert!(u::Datagram::parse(&octets, sum).is_err());
    }
}

/// TCP: an accepted header is the same after it was written and parsed again; its checksum can be
/// set.
pub fn tcp(data: &[u8]) {
    let Some((sum, octets)) = with_sum(data) else { return };
    std::hint::black_box(t::verify_checksum(&octets, sum));
    let Ok(segment) = t::Segment::parse(&octets) else { return };
    assert!(segment.seq_len() as usize <= octets.len() + 2);
    let mut buffer = [0; t::MAX_HEADER_LEN];
    let len = segment.header.emit(&mut buffer).expect("there is room");
    t::set_checksum(&mut buffer[..len], sum);
    assert!(t::verify_checksum(&buffer[..len], sum));
    let again = t::Segment::parse(&buffer[..len]).expect("a written segment can be read");
    let (mut first, mut second) = (segment.header, again.header);
    // Blocks that do not fit with padded options are left out, from the end.
    let (all, kept) = (first.options.sack, second.options.sack);
    assert!(all.as_slice().starts_with(kept.as_slice()));
    (first.options.sack, second.options.sack) = (t::SackBlocks::EMPTY, t::SackBlocks::EMPTY);
    assert_eq!(first, second);
    std::hint::black_box(checksum::sum(&octets));
}

/// CoAP: an accepted message is the same after it was written and parsed again.
pub fn coap(data: &[u8]) {
    let Ok(message) = Message::parse(data) else { return };
    let mut octets = vec![0; data.len()];
    let mut writer = Writer::new(&mut octets, message.header).expect("it was there");
    for (number, value) in message.options() {
        writer.option(number, value).expect("no form is shorter than the writer's");
    }
    writer.payload(message.payload).expect("as before");
    let len = writer.finish();
    let again = Message::parse(&octets[..len]).expect("a written message can be read");
    assert_eq!((again.header, again.payload), (message.header, message.payload));
    assert!(again.options().eq(message.options()));
}

/// Heads of HTTP requests: their division into pieces makes no difference, and a path stays within
/// its buffer.
pub fn http_request(data: &[u8]) {
    let Some((&first, octets)) = data.split_first() else { return };
    let size = usize::from(first % 64) + 1;
    let (mut whole, mut pieces) = (http::Head::<[u8; 64]>::NEW, http::Head::<[u8; 64]>::NEW);
    let (len, ended) = whole.take(octets);
    assert!(ended || len == octets.len());
    let mut taken = 0;
    for piece in octets.chunks(size) {
        let (count, ended) = pieces.take(piece);
        taken += count;
        if ended {
            break;
        }
        assert_eq!(count, piece.len());
    }
    assert_eq!(taken, len);
    assert_eq!(whole.check(), pieces.check());
    assert_eq!((whole.path(), whole.method()), (pieces.path(), pieces.method()));
    assert_eq!(whole.content_length(), pieces.content_length());
    let path = whole.path();
    assert!(path.len() <= 64 && !path.contains(&b'?') && !path.contains(&b' '));
    // An accepted request has a path.
    assert!(!ended || whole.check().is_err() || !path.is_empty());
}

/// ZEP: a parsed datagram is written unchanged, except for sender and time.
pub fn zep(data: &[u8]) {
    let Ok(frame) = kinglet_zep::datagram::Datagram::parse(data) else { return };
    let octets = frame.octets(0, 0, std::time::SystemTime::UNIX_EPOCH);
    assert_eq!(kinglet_zep::datagram::Datagram::parse(&octets), Ok(frame));
    assert_eq!((octets.get(..5), octets.get(31..)), (data.get(..5), data.get(31..)));
}

/// RPL: a parsed message can be written and parsed again; an advanced source route remains valid.
pub fn rpl(data: &[u8]) {
    let Some((&code, body)) = data.split_first() else { return };
    if code == 4 {
        return source_route(body);
    }
    if let Ok(information) = r::PacketInformation::read(body) {
        let mut out = [0; r::PacketInformation::LEN];
        information.emit(&mut out).expect("there is room");
        assert_eq!(r::PacketInformation::read(&out), Ok(information));
    }
    let Ok((message, options)) = r::Message::parse(code, body) else { return };
    // Zeros after a prefix may be left out by others, but are always written here.
    let mut out = vec![0; data.len() + 16 * options.count()];
    let mut writer = r::Writer::new(&mut out, &message).expect("there is room");
    for option in options {
        if let r::ControlOption::Metrics(metrics) = option {
            std::hint::black_box(metrics.count());
        }
        writer.option(&option).expect("there is room");
    }
    let len = writer.len();
    let (again, read) = r::Message::parse(code, &out[..len]).expect("it was written here");
    assert_eq!(again, message);
    assert!(read.eq(options), "the same options");
}

fn source_route(header: &[u8]) {
    let Ok(route) = r::SourceRoute::parse(header) else { return };
    let mut header = header.to_vec();
    let mut at = Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 1);
    for _ in 0..=route.len() {
        match r::SourceRoute::advance(&mut header, at, |own| own == at) {
            Ok(Some(next)) => at = next,
            Ok(None) | Err(_) => break,
        }
        let now = r::SourceRoute::parse(&header).expect("it is still one");
        assert!(now.segments_left() < route.segments_left());
    }
}

/// AODV: a parsed message can be written and parsed again.
pub fn aodv(data: &[u8]) {
    let Ok(message) = a::Message::parse(data) else { return };
    let mut out = vec![0; data.len() + 1];
    let len = match message {
        a::Message::Rreq(rreq) => rreq.emit(&mut out).map(|()| rreq.buffer_len()),
        a::Message::Rrep(rrep) => rrep.emit(&mut out).map(|()| rrep.buffer_len()),
        a::Message::Rerr(rerr) => {
            let mut writer = a::RerrWriter::new(&mut out).expect("there is room");
            for entry in rerr.entries() {
                writer.entry(entry).expect("there is room");
            }
            Ok(writer.len())
        }
        a::Message::RrepAck => {
            out[..a::RREP_ACK_MESSAGE.len()].copy_from_slice(&a::RREP_ACK_MESSAGE);
            Ok(a::RREP_ACK_MESSAGE.len())
        }
    };
    let len = len.expect("it is no longer than what was read");
    match (message, a::Message::parse(&out[..len]).expect("it was written here")) {
        // There is no local repair here: only the entries are compared.
        (a::Message::Rerr(before), a::Message::Rerr(after)) => {
            assert!(before.entries().eq(after.entries()));
        }
        (before, after) => assert_eq!(before, after),
    }
}

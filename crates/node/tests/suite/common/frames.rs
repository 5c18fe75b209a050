//! Frames that a test makes for a node to receive.

use core::net::Ipv6Addr;
use kinglet::radio::Event;
use kinglet::time::Instant;
use kinglet::wire::ieee802154::{Address, FrameType, PanId, Repr, Version};
use kinglet::wire::ipv6::{HEADER_LEN, Header, protocol};
use kinglet::wire::udp;
use kinglet::{Node, Profile};

/// Returns an uncompressed datagram from a port to the same one.
pub fn datagram(src: Ipv6Addr, dst: Ipv6Addr, hop_limit: u8, port: u16, data: &[u8]) -> Vec<u8> {
    let length = (udp::HEADER_LEN + data.len()) as u16;
    let (traffic_class, flow_label, next_header) = (0, 0, protocol::UDP);
    let payload_len = length;
    let header =
        Header { traffic_class, flow_label, payload_len, next_header, hop_limit, src, dst };
    let mut packet = vec![0; HEADER_LEN + udp::HEADER_LEN];
    header.emit(&mut packet).unwrap();
    let head = udp::Header { src_port: port, dst_port: port, length, checksum: 0 };
    head.emit(&mut packet[HEADER_LEN..]).unwrap();
    packet.extend_from_slice(data);
    let sum = header.pseudo_header_sum(length.into(), protocol::UDP);
    udp::fill_checksum(&mut packet[HEADER_LEN..], sum).unwrap();
    packet
}

/// A frame to receive.
pub struct Heard<'a> {
    pub from: u16,
    pub to: u16,
    pub sequence: u8,
    /// The frame pending bit: another frame follows.
    pub more: bool,
    pub lqi: u8,
    pub payload: &'a [u8],
}

/// Gives a node a data frame that its radio has received and acknowledged.
pub fn hear<P: Profile>(node: &mut Node<P>, now: Instant, heard: &Heard<'_>) {
    let repr = Repr {
        frame_type: FrameType::Data,
        version: Version::V2006,
        ack_request: true,
        frame_pending: heard.more,
        sequence: heard.sequence,
        pan_id: PanId(0xabcd),
        dst: Address::Short(heard.to),
        src: Address::Short(heard.from),
        security: None,
        csl: None,
        filling: 0,
    };
    let mut frame = vec![0; 125];
    let at = repr.emit(&mut frame).unwrap();
    frame.truncate(at);
    frame.extend_from_slice(heard.payload);
    let (len, lqi) = (frame.len() as u8, heard.lqi);
    let event = Event::Received { sfd: now, len, rssi_dbm: -60, lqi, acked: true };
    node.handle_radio(now, event, &mut frame);
}

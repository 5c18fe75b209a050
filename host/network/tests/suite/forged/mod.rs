//! Frames of a device that the simulated network does not have.

use kinglet::wire::ieee802154::{Address, FrameType, Repr, Version};
use kinglet::wire::ipv6::{HEADER_LEN, Header};
use kinglet::wire::sixlowpan::DISPATCH_IPV6;
use kinglet_network::build::Network;
use kinglet_radio::Event;
use kinglet_scenario::{Addressing, NodeId};
use std::net::Ipv6Addr;

/// The link-local address of the device with this short address.
pub(crate) fn near(short: u16) -> Ipv6Addr {
    Ipv6Addr::new(0xFE80, 0, 0, 0, 0, 0xFF, 0xFE00, short)
}

/// Node `to` receives a packet in a frame with the source address of the neighbour `from`. The
/// frame is unicast, or broadcast if the packet is multicast.
pub(crate) fn hear(
    network: &mut Network,
    to: NodeId,
    (from, sequence): (u16, u8),
    header: &Header,
    upper: &[u8],
) {
    let for_all = header.dst.is_multicast();
    let repr = Repr {
        frame_type: FrameType::Data,
        version: Version::V2006,
        ack_request: !for_all,
        frame_pending: false,
        sequence,
        pan_id: network.device(to as usize).node().mac().config().pan_id,
        dst: if for_all {
            Address::BROADCAST
        } else {
            Address::Short(Addressing::DEFAULT.short(to))
        },
        src: Address::Short(from),
        security: None,
        csl: None,
        filling: 0,
    };
    let mut frame = [0; 127];
    let at = repr.emit(&mut frame).expect("room");
    frame[at] = DISPATCH_IPV6;
    header.emit(&mut frame[at + 1..]).expect("room");
    let end = at + 1 + HEADER_LEN + upper.len();
    frame[at + 1 + HEADER_LEN..end].copy_from_slice(upper);
    network.with_device(to as usize, |device, now| {
        let len = end as u8;
        let event = Event::Received { sfd: now, len, rssi_dbm: -50, lqi: 255, acked: false };
        device.node_mut().handle_radio(now, event, &mut frame[..end]);
    });
}

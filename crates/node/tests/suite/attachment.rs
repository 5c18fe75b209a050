//! The attachment state of a node.

use crate::common::*;
use kinglet::net::InterfaceAddress;
use kinglet::radio::{Ack, Capabilities, Command, Event};
use kinglet::time::Instant;
use kinglet::{Attachment, Mote, Node};

/// A leaf that sleeps, without address and parent.
fn leaf() -> Box<Node<Mote>> {
    let mut config = config(1, 1);
    config.mac.rx_on_when_idle = false;
    Box::new(Node::new(config, Capabilities::AUTO_ACK | Capabilities::ACK_WAIT))
}

/// Drives the node to its next deadline; its frames are acknowledged or not.
fn step(node: &mut Node<Mote>, now: &mut Instant, ack: Ack) {
    while let Some(step) = node.poll_radio(*now) {
        if let Command::Transmit { .. } = step.command {
            let sfd = *now;
            node.handle_radio(*now, Event::Transmitted { sfd, ack }, &mut []);
        }
    }
    *now = node.deadline().unwrap_or(*now).max(*now);
    node.handle_deadline(*now);
}

#[test]
fn a_leaf_needs_an_address_a_parent_and_an_answer() {
    let (mut node, mut now) = (leaf(), Instant::from_secs(1));
    assert_eq!(node.attachment(), Attachment::NoAddress);
    let own = InterfaceAddress { address: global(1), prefix_len: 64 };
    node.interface().add_address(own).unwrap();
    assert_eq!(node.attachment(), Attachment::NoRoute);
    node.set_parent(now, Some(2)).unwrap();
    assert_eq!(node.attachment(), Attachment::Attached);
    for _ in 0..10_000 {
        if node.attachment() == Attachment::ParentSilent {
            break;
        }
        step(&mut node, &mut now, Ack::Missing);
    }
    assert_eq!(node.attachment(), Attachment::ParentSilent);
    let failed = node.failed_data_requests();
    assert_eq!(failed, 4);
    for _ in 0..1_000 {
        step(&mut node, &mut now, Ack::Received { frame_pending: false });
    }
    assert_eq!(node.attachment(), Attachment::Attached);
    node.set_parent(now, None).unwrap();
    assert_eq!(node.attachment(), Attachment::NoRoute);
}

//! Random early detection for forwarded packets.

use crate::common;
use crate::common::*;
use kinglet_net::{Discard, Indirect, NetConfig, NextHop, QueueDiscipline, Red};
use kinglet_wire::Ecn;
use kinglet_wire::ieee802154::Address;
use kinglet_wire::ipv6::{Header, protocol};

/// Returns a router that marks or drops all packets as soon as another one waits.
fn relay(red: Red) -> Node {
    let queue = QueueDiscipline::Red(red);
    let indirect = Indirect { limit: 9, ..Indirect::DEFAULT };
    let config = NetConfig { forward: true, queue, indirect, ..NetConfig::new(Address::Short(1)) };
    let mut node = bare(config, 1);
    node.add_route(route(global(0), 64, NextHop::OnLink)).unwrap();
    node
}

/// The average is the last sample, and with it at 1 of 1 to 2 every packet is marked.
const AT_ONCE: Red = Red { min: 0, max: 2, max_p: 255, weight: 0, ..Red::DEFAULT };

fn forward(node: &mut Node, to: u16, ecn: Ecn) -> Result<(), Discard> {
    let mut octets = packet(global(9), global(to), protocol::TCP, &[0; 20]);
    octets[1] |= ecn.traffic_class() << 4;
    hear(node, NOW, 9, Address::Short(1), &plain(&octets)).map(|_| ())
}

/// Returns the ECN field of the next packet.
fn leave(node: &mut Node, to: u16) -> Ecn {
    let mut next = common::node(to);
    let (frame, payload) = poll(node, LIMITS).unwrap();
    let delivery = hear(&mut next, NOW, 1, frame.dst, &payload).unwrap().unwrap();
    Ecn::of(Header::read(next.packet(delivery.packet)).unwrap().traffic_class)
}

//= rfc3168#5-3
#[test]
fn senders_that_understand_marks_are_marked_and_others_lose_the_packet() {
    let mut node = relay(AT_ONCE);
    let mut marked = 0;
    forward(&mut node, 3, Ecn::Ect0).unwrap();
    assert_eq!(node.stats().marked, 0, "nothing waited");
    for _ in 0..40 {
        forward(&mut node, 3, Ecn::Ect0).unwrap();
        marked += u32::from(leave(&mut node, 3) == Ecn::Ce);
    }
    // p_b is a half: gaps of one or two. The last one has not left yet.
    assert!((20..=40).contains(&marked), "{marked} of 40");
    assert!(node.stats().marked - marked <= 1);

    let mut node = relay(AT_ONCE);
    let mut refused = 0;
    forward(&mut node, 3, Ecn::NotEct).unwrap();
    for _ in 0..40 {
        match forward(&mut node, 3, Ecn::NotEct) {
            Ok(()) => assert_eq!(leave(&mut node, 3), Ecn::NotEct),
            Err(reason) => {
                assert_eq!(reason, Discard::Congestion);
                refused += 1;
            }
        }
    }
    assert!((20..=40).contains(&refused), "{refused} of 40");
    assert_eq!((node.stats().marked, node.stats().discarded(Discard::Congestion)), (0, refused));
}

#[test]
fn above_the_upper_threshold_marks_are_not_enough() {
    let mut node = relay(Red { max: 1, ..AT_ONCE });
    forward(&mut node, 3, Ecn::Ect0).unwrap();
    forward(&mut node, 3, Ecn::Ect0).unwrap();
    assert_eq!(forward(&mut node, 3, Ecn::Ect0), Err(Discard::Congestion));
}

#[test]
fn packets_that_wait_for_children_are_neither_measured_nor_dropped() {
    let mut node = relay(Red { max: 1, ..AT_ONCE });
    node.add_child(3).unwrap();
    for _ in 0..4 {
        forward(&mut node, 3, Ecn::NotEct).unwrap();
    }
    assert_eq!(forward(&mut node, 3, Ecn::NotEct), Err(Discard::QueueFull));
    forward(&mut node, 5, Ecn::Ect0).unwrap();
    assert_eq!(leave(&mut node, 5), Ecn::Ect0);
}

//! Signal strength of neighbours, as RPL gets it.

use crate::common::*;
use crate::relay::{ALL, Relay};
use crate::stranger::Link;
use kinglet::rpl::{self, Role};
use kinglet::wire::ieee802154::Address;
use kinglet::wire::rpl::{ControlOption, Dio, Message, Writer};
use kinglet::{Node, Rpled};
use std::net::Ipv6Addr;

/// A neighbour with a short address, and one without, like RIOT's nodes.
const SHORT: (Address, &str) = (Address::Short(9), "fe80::ff:fe00:9");
const EXTENDED: (Address, &str) = (Address::Extended([2, 0, 0, 0, 0, 0, 0, 7]), "fe80::7");

/// A neighbour advertises a DODAG, received with this strength.
fn advertise(line: &mut Link<Relay>, (link, address): (Address, &str), rssi_dbm: i8) {
    let dodag_id = global(100);
    let (instance, version, rank, grounded) = (0, 240, 256, true);
    let (mode, preference, dtsn) = (2, 0, 240);
    let dio = Dio { instance, version, rank, grounded, mode, preference, dtsn, dodag_id };
    let message = Message::Dio(dio);
    let mut body = [0; 60];
    let mut writer = Writer::new(&mut body, &message).unwrap();
    writer.option(&ControlOption::Configuration(rpl::CONFIGURATION)).unwrap();
    let len = writer.len();
    let upper = [&[155, message.code(), 0, 0], &body[..len]].concat();
    (line.link, line.rssi_dbm) = (link, rssi_dbm);
    line.send(address.parse().unwrap(), ALL, 255, upper);
}

/// Returns the ETX of this neighbour, in units of 1/128.
fn expected(line: &Link<Relay>, (_, address): (Address, &str)) -> u16 {
    let address: Ipv6Addr = address.parse().unwrap();
    let mut candidates = line.node.routing().rpl().candidates();
    candidates.find(|it| it.address == address).expect("a candidate").etx
}

#[test]
fn the_expected_transmissions_of_a_link_follow_the_level_of_its_frames() {
    for (first, second) in [(SHORT, EXTENDED), (EXTENDED, SHORT)] {
        let config = config(1, 1);
        let routing = Rpled::new(config.identity(), rpl::RplConfig::new(Role::Router, 0, 0));
        let node = Node::with_layers(config, routing, kinglet::net::Discovery::NONE, usual());
        let mut line = Link::new(Box::new(node), Address::Short(1), first.0, &[]);
        // At 40 dB above the noise one transmission is enough; at 5 dB above it four are needed.
        advertise(&mut line, first, -60);
        advertise(&mut line, second, -95);
        let both = [first, second].map(|peer| expected(&line, peer));
        assert_eq!(both, [128, 4 * 128], "{:?} and {:?}", first.0, second.0);
        // And vice versa.
        advertise(&mut line, second, -60);
        assert_eq!(expected(&line, second), 128, "{:?}", second.0);
    }
}

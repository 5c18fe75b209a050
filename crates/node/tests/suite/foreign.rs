//! A node with RPL whose parent or child is another implementation: RIOT or Contiki-NG, as observed
//! on the wire. Their messages are built from octets here.

use crate::common::*;
use crate::relay::{ALL, Relay};
use crate::stranger::Link;
use kinglet::net::Discovery;
use kinglet::rpl::{self, Mode, NextHop, Role};
use kinglet::time::Duration;
use kinglet::wire::ieee802154::Address;
use kinglet::{Node, Rpled};
use std::net::Ipv6Addr;

/// Both have extended addresses.
const PARENT: Address = Address::Extended([2, 0, 0, 0, 0, 0, 0, 7]);
const CHILD: Address = Address::Extended([2, 0, 0, 0, 0, 0, 0, 8]);
const NEAR: Ipv6Addr = Ipv6Addr::new(0xFE80, 0, 0, 0, 0, 0, 0, 7);
const NEAR_CHILD: Ipv6Addr = Ipv6Addr::new(0xFE80, 0, 0, 0, 0, 0, 0, 8);
const DIS: u8 = 0;
const DIO: u8 = 1;
const DAO: u8 = 2;
const ACK: u8 = 3;
const INFINITE: u16 = 0xFFFF;
/// DODAG Configuration of RIOT: OF0, MinHopRankIncrease 256, MaxRankIncrease 0, 5 minutes.
const RIOT: [u8; 16] = [4, 14, 0, 20, 3, 10, 0, 0, 1, 0, 0, 0, 0, 5, 0, 60];
/// DODAG Configuration of Contiki-NG: MRHOF, 128 and 1024, 30 minutes.
const CONTIKI: [u8; 16] = [4, 14, 0, 8, 12, 0, 4, 0, 0, 128, 0, 1, 0, 30, 0, 60];

/// A parent's advertisement.
#[derive(Clone, Copy)]
struct Parent {
    configuration: [u8; 16],
    /// Flags of its prefix information option, which has no interface identifier.
    prefix: u8,
    instance: u8,
    version: u8,
    rank: u16,
    mode: u8,
    dtsn: u8,
    dodag: Ipv6Addr,
}

/// A RIOT router: storing mode, a prefix from which addresses are formed.
fn riot() -> Parent {
    let (configuration, prefix, dodag) = (RIOT, 0x40, global(100));
    let (instance, version, rank, mode, dtsn) = (0, 240, 512, 2, 0);
    Parent { configuration, prefix, instance, version, rank, mode, dtsn, dodag }
}

/// A Contiki-NG router: non-storing mode, the root's prefix with the R flag and no identifier.
fn contiki() -> Parent {
    let (configuration, prefix, dodag) = (CONTIKI, 0x60, global(100));
    let (instance, version, rank, mode, dtsn) = (0x1E, 240, 256, 1, 240);
    Parent { configuration, prefix, instance, version, rank, mode, dtsn, dodag }
}

/// A router without neighbours.
fn relay() -> Link<Relay> {
    let config = config(1, 1);
    let routing = Rpled::new(config.identity(), rpl::RplConfig::new(Role::Router, 0, 0));
    let node = Node::with_layers(config, routing, Discovery::NONE, usual());
    Link::new(Box::new(node), Address::Short(1), PARENT, &[NEAR, ALL])
}

/// Sends a DIO of the parent with this option.
fn say(line: &mut Link<Relay>, parent: &Parent, to: Ipv6Addr, option: &[u8]) {
    let [high, low] = parent.rank.to_be_bytes();
    let flags = 0x80 | parent.mode << 3;
    let head = [155, DIO, 0, 0, parent.instance, parent.version, high, low, flags, parent.dtsn];
    let upper = [&head[..], &[0, 0], &parent.dodag.octets(), option].concat();
    line.send(NEAR, to, 255, upper);
}

fn say_configuration(line: &mut Link<Relay>, parent: &Parent) {
    say(line, parent, local(1), &parent.configuration);
}

fn say_prefix(line: &mut Link<Relay>, parent: &Parent) {
    let head = [&[8, 30, 64, parent.prefix][..], &[255; 8], &[0; 4]].concat();
    let option = [&head[..], &global(0).octets()[..8], &[0; 8]].concat();
    say(line, parent, ALL, &option);
}

/// Returns the RPL messages of this code that the parent has received, and their destinations.
fn heard(line: &mut Link<Relay>, code: u8) -> Vec<(Ipv6Addr, Vec<u8>)> {
    let of_code = line.heard_of(155).into_iter().filter(|it| it.3[1] == code);
    of_code.map(|(_, _, to, upper)| (to, upper)).collect()
}

/// Runs while the parent acknowledges the DAOs that it receives. Returns their number.
fn acknowledging(line: &mut Link<Relay>, seconds: u64) -> usize {
    let mut count = 0;
    for _ in 0..seconds {
        line.run(Duration::from_secs(1));
        for (_, dao) in heard(line, DAO) {
            line.send(NEAR, local(1), 64, vec![155, ACK, 0, 0, dao[4], 0, dao[7], 0]);
            count += 1;
        }
    }
    count
}

/// Returns a node that has joined below this parent, which knows it.
fn attached(parent: &Parent) -> Link<Relay> {
    let mut line = relay();
    say_configuration(&mut line, parent);
    say_prefix(&mut line, parent);
    if parent.mode == 2 {
        assert!(acknowledging(&mut line, 20) > 0, "a DAO");
    }
    assert_eq!(line.node.routing().rpl().parent(), Some(NEAR));
    assert!(line.node.is_own(global(1)), "by the prefix of the DODAG");
    line
}

/// Returns, for each packet with the RPL option, its instance and the octets behind the Hop-by-Hop
/// header.
fn marked(line: &mut Link<Relay>) -> Vec<(u8, Vec<u8>)> {
    let packets = std::mem::take(&mut line.segments).into_iter();
    let read = |octets: Vec<u8>| match octets[..] {
        [58, 0, 0x23 | 0x63, 4, _, instance, _, _, ..] => (instance, octets[8..].to_vec()),
        _ => panic!("{octets:02x?}"),
    };
    packets.map(read).collect()
}

/// RIOT restarts with DTSN 0 in the same version: only its DIS shows that it has lost its state.
#[test]
fn the_child_of_a_riot_router_that_restarts_announces_itself_again() {
    let parent = riot();
    let mut line = attached(&parent);
    assert_eq!(acknowledging(&mut line, 60), 0, "all is known");
    line.send(NEAR, ALL, 255, vec![155, DIS, 0, 0, 0, 0, 1, 0]);
    say_configuration(&mut line, &parent);
    say_prefix(&mut line, &parent);
    assert!(acknowledging(&mut line, 10) > 0, "a DAO");
    assert_eq!(line.node.routing().rpl().parent(), Some(NEAR));
}

/// RIOT announces all targets that it knows, including the address of the node that it sends to.
#[test]
fn a_dao_that_names_the_receiver_too_makes_the_other_routes_and_is_acknowledged() {
    let mut line = attached(&riot());
    line.heard.clear();
    (line.link, line.addresses) = (CHILD, vec![NEAR_CHILD]);
    let (own, far) = (global(1), "2001:db8::9".parse::<Ipv6Addr>().unwrap());
    let child: Ipv6Addr = "2001:db8::8".parse().unwrap();
    let target = |address: Ipv6Addr| [&[5, 18, 0, 128][..], &address.octets()].concat();
    for (sequence, other) in [(241, child), (242, far)] {
        let head = [155, DAO, 0, 0, 0, 0x80, 0, sequence];
        let transit = [6, 4, 0, 0x80, sequence, 5];
        let upper = [&head[..], &target(own), &target(other), &transit].concat();
        line.send(NEAR_CHILD, local(1), 255, upper);
        line.run(Duration::from_secs(1));
        let acks = heard(&mut line, ACK);
        let [(to, ack)] = &acks[..] else { panic!("{acks:?}") };
        assert_eq!((*to, ack[6], ack[7]), (NEAR_CHILD, sequence, 0));
        assert_eq!(line.node.routing().rpl().route(other), NextHop::Neighbour(NEAR_CHILD));
    }
    let routes = line.node.routing().rpl().routes().map(|route| route.target().prefix);
    assert!(routes.into_iter().all(|target| target != own));
}

#[test]
fn the_transit_of_a_contiki_parent_is_its_own_address_and_not_the_prefix() {
    let mut line = attached(&contiki());
    line.run(Duration::from_secs(20));
    let daos: Vec<_> = marked(&mut line).into_iter().filter(|it| it.1[..2] == [155, DAO]).collect();
    assert!(!daos.is_empty());
    let real: Ipv6Addr = "2001:db8::7".parse().unwrap();
    for (_, dao) in daos {
        assert_eq!(dao[dao.len() - 16..], real.octets(), "{dao:02x?}");
    }
}

#[test]
fn any_instance_of_a_root_is_joined_and_packets_carry_it() {
    for parent in [contiki(), Parent { instance: 7, ..riot() }] {
        let mut line = attached(&parent);
        line.segments.clear();
        let now = line.now;
        line.node.datagrams().ping(now, "2001:db8::77".parse().unwrap(), 1, 1, &[1]).unwrap();
        line.run(Duration::from_secs(1));
        let pings = marked(&mut line).into_iter().filter(|it| it.1[0] == 128);
        assert_eq!(pings.map(|it| it.0).collect::<Vec<_>>(), [parent.instance]);
    }
}

#[test]
fn a_parent_that_changes_its_dodag_is_followed_by_its_next_dio() {
    let before = riot();
    let changed = [
        Parent { version: 241, ..before },
        Parent { mode: 1, ..before },
        Parent { dodag: global(200), ..before },
        Parent { instance: 9, ..before },
    ];
    for (parent, configured) in changed.into_iter().flat_map(|it| [(it, true), (it, false)]) {
        let mut line = attached(&before);
        line.heard.clear();
        if configured {
            say_configuration(&mut line, &parent);
        } else {
            // RIOT sends its configuration only in the first DIO and in response to a unicast DIS.
            say_prefix(&mut line, &parent);
            line.run(Duration::from_secs(1));
            let asked = heard(&mut line, DIS);
            assert!(asked.iter().any(|(to, _)| *to == NEAR), "{asked:?}");
            say_configuration(&mut line, &parent);
        }
        let rpl = line.node.routing().rpl();
        let info = rpl.info();
        assert_eq!((info.parent, info.dodag_id), (Some(NEAR), Some(parent.dodag)));
        let mode = if parent.mode == 1 { Mode::NonStoring } else { Mode::Storing };
        assert_eq!((info.version, rpl.mode()), (parent.version, Some(mode)));
        assert_eq!(rpl.originate(parent.dodag).instance, parent.instance);
    }
}

#[test]
fn a_parent_that_resigns_is_replaced_and_its_children_are_notified() {
    for parent in [riot(), contiki()] {
        let mut line = attached(&parent);
        // It has advertised its rank.
        line.run(Duration::from_secs(20));
        line.heard.clear();
        say_prefix(&mut line, &Parent { rank: INFINITE, ..parent });
        line.run(Duration::from_secs(10));
        assert_eq!(line.node.routing().rpl().parent(), None);
        let dios = heard(&mut line, DIO);
        let poisons = |(to, dio): &(Ipv6Addr, Vec<u8>)| *to == ALL && dio[6..8] == [0xFF; 2];
        assert!(dios.iter().any(poisons), "{dios:02x?}");
    }
}

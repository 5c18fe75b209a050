//! A node as a process together with others that behave as RIOT does: as a host, as the router of
//! hosts, and as a leaf, a router and a root of RPL.

#![allow(missing_docs, reason = "a test program")]

mod riot;

use kinglet_zep::air::Ends;
use kinglet_zep::console::Report;
use kinglet_zep::mote::Mote;
use riot::Air;
use riot::ip::ip;
use riot::lowpan::{Ip, link_local, with_iid};
use riot::node::{OUTSIDE, PREFIX, Part, Riot};
use std::io::{BufReader, Read};
use std::net::{SocketAddr, UdpSocket};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

const EUI: [u8; 8] = [2, 0x12, 0x4b, 0, 0, 0, 0, 0x0a];
const TEXT: &[u8] = b"What a stranger says comes back to him.";

/// A node on a thread, and the devices around it.
struct TestNetwork {
    air: Air,
    says: Receiver<Report>,
    said: Vec<Report>,
    asks: Sender<Vec<u8>>,
}

/// The console's input.
struct Lines(Receiver<Vec<u8>>, Vec<u8>);

impl Read for Lines {
    fn read(&mut self, buf: &mut [u8]) -> std::io::Result<usize> {
        if self.1.is_empty() {
            self.1 = self.0.recv().unwrap_or_default();
        }
        let len = buf.len().min(self.1.len());
        buf[..len].copy_from_slice(&self.1[..len]);
        self.1.drain(..len);
        Ok(len)
    }
}

fn free() -> SocketAddr {
    UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap()
}

impl TestNetwork {
    fn new(more: &str, others: Vec<Riot>) -> TestNetwork {
        let (mine, local) = (free(), free());
        let settings = format!("extended = \"02:12:4b:00:00:00:00:0a\"\nack_wait_ms = 20\n{more}");
        let settings = toml::from_str(&settings).unwrap();
        let air = Air::new(mine, local, others);
        let mut mote = Mote::new(&settings, Ends { local: Some(local), remote: mine }).unwrap();
        let ((asks, lines), (say, says)) = (channel(), channel());
        mote.listen_to(BufReader::new(Lines(lines, Vec::new()))).unwrap();
        thread::spawn(move || mote.run(&mut |report| drop(say.send(report))));
        TestNetwork { air, says, said: Vec::new(), asks }
    }

    fn ask(&self, line: &str) {
        self.asks.send(format!("{line}\n").into_bytes()).unwrap();
    }

    fn until(&mut self, what: &str, mut done: impl FnMut(&[Riot], &[Report]) -> bool) {
        let TestNetwork { air, says, said, .. } = self;
        air.until(what, |nodes| {
            said.extend(says.try_iter());
            done(nodes, said)
        });
    }

    /// Lets the node ping this address, and send a text to the echo server there.
    fn reaches(&mut self, to: &str) {
        self.said.clear();
        self.ask(&format!("ping {to} 5"));
        let from: std::net::Ipv6Addr = to.parse().unwrap();
        let is =
            |it: &Report| matches!(it, Report::EchoReply { from: label, .. } if *label == from);
        self.until("a reply", |_, said| said.iter().any(is));
        self.ask(&format!("tcp {to} 7 {}", "hello ".repeat(300)));
        let closed = |it: &Report| match it {
            Report::Closed { sent, received, error, .. } => {
                assert_eq!((*sent, *received, error), (1_800, 1_800, &None));
                true
            }
            _ => false,
        };
        self.until("a connection", |_, said| said.iter().any(closed));
    }

    /// Lets a device ping this address, and send a text to the echo server there.
    fn is_reached(&mut self, label: usize, to: Ip) {
        for ident in 0.. {
            assert!(ident < 5, "a reply");
            self.air.nodes[label].ping(to, ident);
            let limit = std::time::Instant::now() + std::time::Duration::from_secs(1);
            let late = || std::time::Instant::now() > limit;
            self.until("time", |nodes, _| !nodes[label].replies.is_empty() || late());
            if !self.air.nodes[label].replies.is_empty() {
                break;
            }
        }
        self.air.nodes[label].say(to, 7, TEXT);
        self.until("a connection", |nodes, _| {
            nodes[label].connections.last().is_some_and(|it| it.2.over && it.2.received == TEXT)
        });
    }
}

/// Returns RPL's state, as the console reports it.
fn rpl(network: &mut TestNetwork) -> Report {
    network.said.clear();
    network.ask("rpl");
    let is = |it: &Report| matches!(it, Report::Rpl { .. });
    network.until("an answer", |_, said| said.iter().any(is));
    network.said.iter().find(|it| is(it)).unwrap().clone()
}

#[test]
fn a_host_gets_address_and_context_from_a_border_router_and_is_found_by_its_probes() {
    let mut network = TestNetwork::new("discovery = \"host\"", vec![Riot::new(Part::Border, 3)]);
    let own = with_iid(&ip(PREFIX), EUI);
    network.until("a registration", |nodes, _| nodes[0].routes.contains(&(own, EUI)));
    let has = |it: &Report| match it {
        Report::Addresses { addresses } => addresses.contains(&own.into()),
        _ => false,
    };
    network.until("an address", |_, said| said.iter().any(has));
    network.air.nodes[0].probe(own, EUI);
    network.until("an answer to a probe", |nodes, _| nodes[0].count(136, 0) > 0);
    network.reaches(OUTSIDE);
    network.is_reached(0, own);
}

#[test]
fn hosts_register_with_a_border_router_and_reach_each_other_through_it() {
    let hosts = vec![Riot::new(Part::Host, 3), Riot::new(Part::Host, 4)];
    let settings = "discovery = \"border-router\"\naddresses = [\"fd00:5::1/64\"]\n\
                    context = [{ id = 0, prefix = \"fd00:5::/64\" }]";
    let mut network = TestNetwork::new(settings, hosts);
    network.until("two registrations", |nodes, _| nodes.iter().all(|it| it.is_known));
    let [first, second] = [0, 1].map(|it| network.air.nodes[it].addresses[1]);
    let all = |it: &Report| match it {
        Report::Neighbours { registered, .. } => registered.len() == 2,
        _ => false,
    };
    network.ask("neighbours");
    network.until("both in its table", |_, said| said.iter().any(all));
    network.reaches(&std::net::Ipv6Addr::from(first).to_string());
    network.is_reached(1, ip("fd00:5::1"));
    network.is_reached(0, second);
}

#[test]
fn a_leaf_asks_a_root_for_its_configuration_and_is_reached_from_beyond() {
    let mut network = TestNetwork::new("rpl = { role = \"leaf\" }", vec![Riot::new(Part::Root, 3)]);
    let own = with_iid(&ip(PREFIX), EUI);
    network.until("a target", |nodes, _| nodes[0].routes.contains(&(own, EUI)));
    let Report::Rpl { parent, rank, unacknowledged, .. } = rpl(&mut network) else { panic!() };
    let root = network.air.nodes[0].eui;
    assert_eq!((parent, unacknowledged), (Some(link_local(root).into()), 0));
    // One step of OF0, between 1 and 9 hops of the root's 256 (RFC 6552, 6).
    let rank = rank.expect("a route to the root");
    assert!(rank % 256 == 0 && (512..=2_560).contains(&rank), "{rank}");
    network.air.nodes[0].probe(own, EUI);
    network.until("an answer to a probe", |nodes, _| nodes[0].count(136, 0) > 0);
    network.reaches(OUTSIDE);
    network.is_reached(0, own);
}

#[test]
fn a_router_carries_for_a_member_what_it_and_the_root_say() {
    let others = vec![Riot::new(Part::Root, 3), Riot::new(Part::Member, 4)];
    let mut network = TestNetwork::new("rpl = { role = \"router\" }", others);
    let (own, member) =
        (with_iid(&ip(PREFIX), EUI), with_iid(&ip(PREFIX), network.air.nodes[1].eui));
    network.until("both targets", |nodes, _| {
        nodes[1].is_known && [own, member].iter().all(|it| nodes[0].routes.contains(&(*it, EUI)))
    });
    let Report::Rpl { targets, .. } = rpl(&mut network) else { panic!() };
    assert_eq!(targets.len(), 1, "{targets:?}");
    network.is_reached(1, ip(OUTSIDE));
    network.is_reached(0, member);
    network.reaches(&std::net::Ipv6Addr::from(member).to_string());
}

#[test]
fn members_join_a_root_and_reach_each_other_through_it() {
    let others = vec![Riot::new(Part::Member, 3), Riot::new(Part::Member, 4)];
    let settings = "rpl = { role = \"root\" }\naddresses = [\"fd00:5::12:4b00:0:a/64\"]";
    let mut network = TestNetwork::new(settings, others);
    network.until("two targets", |nodes, _| nodes.iter().all(|it| it.is_known));
    let [first, second] = [0, 1].map(|it| network.air.nodes[it].addresses[1]);
    network.reaches(&std::net::Ipv6Addr::from(first).to_string());
    network.is_reached(1, ip("fd00:5::12:4b00:0:a"));
    network.is_reached(0, second);
}

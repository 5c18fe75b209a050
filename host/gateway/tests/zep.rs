//! An external device that behaves on the wire as RIOT does shares the channel of a simulated
//! network by ZEP: it joins the network, and can be reached from the host behind its border router.

#![allow(missing_docs, reason = "a test program")]

#[path = "../../zep/tests/riot/mod.rs"]
mod riot;

use kinglet_gateway::bridge::{self, BridgeStats, HostLink, Hosts, Observer};
use kinglet_gateway::network::Mesh;
use kinglet_scenario::{Prefix, Scenario};
use kinglet_zep::air::Ends;
use kinglet_zep::mote::Mote;
use riot::Air;
use riot::ip::{ICMPV6, ip, packet, part};
use riot::lowpan::{Ip, link_local, with_iid};
use riot::node::{Part, Riot};
use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};
use tokio::sync::{Mutex, mpsc, oneshot};

/// A border router, two routers, and the position of an external device in range of the last one.
const LINE: &str = r#"
node = [
    { x_m = 0, role = "border-router" }, { x_m = 8 }, { x_m = 16 },
    { x_m = 24, role = "outside" },
]
mac = { pan = 35, security = false }
net = { routing = "rpl", rpl_objective = "of0", rpl_option = false, discovery = true, context = [] }
"#;
const MESH: &str = "fd6b:696e:676c:7400::";
const BORDER: &str = "fd6b:696e:676c:7400:0:ff:fe00:1";

/// Replaces this machine's network.
struct Wire {
    from_host: Mutex<mpsc::UnboundedReceiver<Vec<u8>>>,
    to_host: Sender<Vec<u8>>,
}

impl HostLink for Wire {
    async fn recv(&self, buf: &mut [u8]) -> io::Result<usize> {
        let Some(packet) = self.from_host.lock().await.recv().await else {
            return std::future::pending().await;
        };
        buf[..packet.len()].copy_from_slice(&packet);
        Ok(packet.len())
    }

    async fn send(&self, packet: &[u8]) -> io::Result<()> {
        self.to_host.send(packet.to_vec()).map_err(|_| io::ErrorKind::BrokenPipe.into())
    }
}

struct NoObserver;

impl Observer<Mesh> for NoObserver {
    fn report(&mut self, _: &mut Mesh, _: &BridgeStats) {}
}

fn free() -> SocketAddr {
    UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap()
}

/// The network on a thread, and the host's end of it.
struct Gateway {
    host: mpsc::UnboundedSender<Vec<u8>>,
    heard: Receiver<Vec<u8>>,
    stop: oneshot::Sender<()>,
    thread: thread::JoinHandle<()>,
}

/// Runs the network, each time with the same life, until it is stopped.
fn gateway(ends: Ends) -> Gateway {
    let (host, from_host) = mpsc::unbounded_channel();
    let (to_host, heard) = channel();
    let (stop, stopped) = oneshot::channel();
    let thread = thread::spawn(move || {
        let scenario = Scenario::from_toml("zep.toml", LINE).unwrap();
        let mut mesh = Mesh::with_life(&scenario, 1, &[ends]).unwrap();
        let wire = Wire { from_host: Mutex::new(from_host), to_host };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let second = Duration::from_secs(1);
        let (stop, hosts) = (async { drop(stopped.await) }, Hosts::one(&wire));
        let over = runtime.block_on(bridge::run(&mut mesh, &hosts, second, &mut NoObserver, stop));
        over.unwrap();
    });
    Gateway { host, heard, stop, thread }
}

/// Lets the external device ping `to`, and send data to the echo server there.
fn reaches(air: &mut Air, to: Ip) {
    for ident in 0.. {
        assert!(ident < 5, "a reply (lost {}): {:#?}", air.lost, air.nodes);
        air.nodes[0].ping(to, ident);
        let limit = Instant::now() + Duration::from_secs(1);
        air.until("time", |nodes| !nodes[0].replies.is_empty() || Instant::now() > limit);
        if !air.nodes[0].replies.is_empty() {
            break;
        }
    }
    let text = b"What comes from outside goes back there.";
    air.nodes[0].say(to, 7, text);
    air.until("a connection", |nodes| {
        nodes[0].connections.last().is_some_and(|it| it.2.over && it.2.received == text)
    });
}

#[test]
fn a_node_that_shares_the_air_by_zep_joins_the_network_and_is_reached_across_it() {
    let (mine, local) = (free(), free());
    let mut air = Air::new(mine, local, vec![Riot::new(Part::Member, 3)]);
    let Gateway { host, heard, stop: _stop, .. } =
        gateway(Ends { local: Some(local), remote: mine });
    air.until("a DAO that is acknowledged", |nodes| nodes[0].is_known);
    let own = air.nodes[0].addresses[1];
    assert_eq!(own, with_iid(&ip(MESH), air.nodes[0].eui));
    // Tests if its parent is reachable.
    let parent = [2, 0, 0, 0xff, 0xfe, 0, 0, 3];
    air.nodes[0].probe(link_local(parent), parent);
    air.until("an answer to a probe", |nodes| nodes[0].count(136, 0) > 0);
    reaches(&mut air, ip(BORDER));
    // From the host behind the border router, three hops away.
    let from = Prefix::DEFAULT.host().octets();
    let mut tries = (0..5).map(|seq| {
        let upper = [&[128, 0, 0, 0, 0x12, 0x34, 0, seq], &[0x77; 300][..]].concat();
        host.send(packet(from, own, ICMPV6, 64, upper)).unwrap();
        let (limit, mut answer) = (Instant::now() + Duration::from_secs(1), None);
        air.until("time", |_| {
            answer = answer.take().or_else(|| heard.try_iter().find(|it| it[40] == 129));
            answer.is_some() || Instant::now() > limit
        });
        answer
    });
    let answer = tries.find_map(|answer| answer).expect("an answer");
    assert_eq!((part(&answer, 8), part(&answer, 24)), (own, from));
    // Forwarded by two routers and the border router.
    assert_eq!((answer[7], answer.len()), (61, 348));
}

#[test]
fn there_are_as_many_radios_as_places_and_no_unreadable_frames() {
    let scenario = Scenario::from_toml("zep.toml", LINE).unwrap();
    let ends = || Ends { local: Some(free()), remote: free() };
    let refusal = |scenario: &Scenario, all: &[Ends]| {
        Mesh::with_life(scenario, 1, all).err().expect("it is refused").to_string()
    };
    let error = refusal(&scenario, &[ends(), ends()]);
    assert!(error.contains("has 1 places for external nodes"), "{error}");
    let scenario = LINE.replace("security = false", "security = true");
    let scenario = Scenario::from_toml("zep.toml", &scenario).unwrap();
    let error = refusal(&scenario, &[ends()]);
    assert!(error.contains("security = false"), "{error}");
}

#[test]
fn the_address_of_an_external_node_is_absent_from_the_status() {
    let scenario = Scenario::from_toml("zep.toml", LINE).unwrap();
    let mut mesh = Mesh::new(&scenario).unwrap();
    let addresses: Vec<_> = mesh.status().iter().map(|status| status.address).collect();
    let [border, .., external] = addresses[..] else { panic!("{addresses:?}") };
    assert_eq!((border, external), (Some(BORDER.parse().unwrap()), None));
}

/// All numbers of the second life are those of the first one, so only the messages that a restarted
/// network multicasts distinguish it.
#[test]
fn an_external_node_notices_that_the_network_has_restarted() {
    let (own, other) = (free(), free());
    let settings = "extended = \"02:12:4b:00:00:00:00:0c\"\nack_wait_ms = 40\n\
                    rpl = { role = \"router\" }\n";
    let mut mote =
        Mote::new(&toml::from_str(settings).unwrap(), Ends { local: Some(own), remote: other })
            .unwrap();
    thread::spawn(move || mote.run(&mut |_| {}));
    for life in 0..3 {
        let Gateway { host, heard, stop, thread: running } =
            gateway(Ends { local: Some(other), remote: own });
        let began = Instant::now();
        let reached = (0..30).any(|seq| {
            let upper = [128, 0, 0, 0, 0x12, 0x34, 0, seq].to_vec();
            let to = ip("fd6b:696e:676c:7400:12:4b00:0:c");
            host.send(packet(Prefix::DEFAULT.host().octets(), to, ICMPV6, 64, upper)).unwrap();
            let until = Instant::now() + Duration::from_secs(1);
            let left = || until.saturating_duration_since(Instant::now());
            std::iter::from_fn(|| heard.recv_timeout(left()).ok()).any(|it| it[40] == 129)
        });
        assert!(reached, "in life {life} of the network, {:?}", began.elapsed());
        eprintln!("life {life}: reached after {:?}", began.elapsed());
        stop.send(()).unwrap();
        running.join().unwrap();
        // Its listening thread ends a little later.
        while UdpSocket::bind(other).is_err() {
            thread::sleep(Duration::from_millis(50));
        }
    }
}

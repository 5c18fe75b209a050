//! Full-scale TCP/IPv6 for IEEE 802.15.4 devices: the whole Kinglet stack in one value.
//!
//! A [`Node`] owns a MAC, a network layer and a TCP endpoint, all of them without I/O, clock, heap
//! or callbacks. Its [`Profile`] sets the size of every table: [`Mote`] for 32 KiB of RAM,
//! [`Router`] for a relay, [`BorderRouter`] for a relay with a second interface to a host. The same
//! crate runs in firmware, in the simulator and behind a Linux TUN device.
//!
//! # The canonical loop
//!
//! The stack has no task, no interrupt handler and no clock of its own. Its owner calls it when
//! something has happened, and sleeps otherwise:
//!
//! ```
//! use kinglet::{Config, Mote, Node};
//! use kinglet::radio::{Busy, Capabilities, Command, Driver, Event, Filter, MAX_FRAME};
//! use kinglet::time::{Instant, earliest};
//! # struct Board;
//! # impl Driver for Board {
//! #     fn capabilities(&self) -> Capabilities { Capabilities::AUTO_ACK | Capabilities::ACK_WAIT }
//! #     fn set_filter(&mut self, _: Filter) {}
//! #     fn submit(&mut self, _: Instant, _: Command, _: &[u8]) -> Result<(), Busy> { Ok(()) }
//! #     fn poll_event(&mut self, _: Instant, _: &mut [u8; MAX_FRAME]) -> Option<Event> { None }
//! # }
//!
//! let mut radio = Board; // yours
//! let random = |octets: &mut [u8]| octets.fill(7); // from your chip's generator
//! let config = Config::new(0x0001, [0; 8], random);
//! let mut node: Node<Mote> = Node::new(config, radio.capabilities());
//! radio.set_filter(node.filter());
//!
//! loop {
//!     let now = Instant::ZERO; // from your clock
//!     // … the application reads and writes its sockets here …
//!     let wake_up_at = node.drive(now, &mut radio);
//!     // A border router's host comes after the radio; other nodes leave these lines out.
//!     let mut packet = [0; 1280];
//!     while let Some(len) = node.poll_host_packet(now, &mut packet) {
//!         let _ = &packet[..len]; // to the host
//!     }
//!     let wake_up_at = earliest(wake_up_at, node.deadline()); // of segments to the host
//!     // … sleep until `wake_up_at`, or until the radio has an event …
//!     # let _ = wake_up_at;
//!     # break;
//! }
//! ```
//!
//! [`Node::drive`] makes the calls that every owner of a node makes: [`Node::handle_radio`] for
//! each event, [`Node::handle_deadline`] when that is due, and [`Node::poll_radio`] until it is
//! empty.
//!
//! Three rules: `now` never goes back; `poll_radio` is drained after *every* input, also after an
//! application's write, because nothing is formed before it can be sent; and a transmission that
//! the driver has accepted ends with exactly one event. [`Node::new`] is `const`, so that a node
//! can be a `static` and need not be built on the stack, which is too small for it on a small
//! device.
//!
//! # Addresses and routes
//!
//! A node has the link-local addresses of its link addresses at once. Other addresses, routes and
//! 6LoWPAN contexts are tables that are filled when the node is commissioned:
//!
//! ```
//! # use kinglet::{Config, Mote, Node, radio::Capabilities};
//! use kinglet::net::{InterfaceAddress, NextHop, Route};
//! use kinglet::wire::{ieee802154::Address, sixlowpan::Context};
//! # let config = Config::repeatable(1, [0; 8], 1, [1; 16]);
//! # let mut node: Node<Mote> = Node::new(config, Capabilities::NONE);
//! # let mut fill = || -> Option<()> {
//! let prefix = "2001:db8::".parse().ok()?;
//! // The identifier 0:ff:fe00:1 is that of short address 1, and costs nothing on the air.
//! let address = "2001:db8::ff:fe00:1".parse().ok()?;
//! node.interface().add_address(InterfaceAddress { address, prefix_len: 64 }).ok()?;
//! // A context that all nodes share lets the prefix shrink to four bits.
//! node.interface().set_context(0, Some(Context { prefix, len: 64 })).ok()?;
//! // Neighbours are reached directly, all other nodes through node 2.
//! node.interface().add_route(Route { prefix, prefix_len: 64, via: NextHop::OnLink }).ok()?;
//! let (prefix, via) = ("::".parse().ok()?, NextHop::Link(Address::Short(2)));
//! node.interface().add_route(Route { prefix, prefix_len: 0, via }).ok()?;
//! # Some(())
//! # };
//! # assert!(fill().is_some());
//! ```
//!
//! A node forwards packets for others if `config.net.forward` is set.
//!
//! In a mesh ([`Meshed`]) only the border router is configured. It announces the prefix and the
//! contexts to all other nodes, which form their addresses from the prefix:
//!
//! ```
//! # use kinglet::{Config, Meshed, Node, Router, mesh, radio::Capabilities};
//! # use kinglet::{time::Instant, wire::sixlowpan::Context};
//! # let config = Config::repeatable(1, [0; 8], 1, [1; 16]);
//! # let prefix = "2001:db8::".parse().unwrap();
//! let border = mesh::MeshConfig { role: mesh::Role::BorderRouter, ..mesh::MeshConfig::OFF };
//! let routing = Meshed::new(config.identity(), border, "::".parse().unwrap());
//! let mut node: Node<Router> = Node::with_routing(config, routing, Capabilities::NONE);
//! node.announce(Instant::ZERO, prefix, &[(0, Context { prefix, len: 64 })])?;
//! assert!(node.net().is_own("2001:db8::ff:fe00:1".parse().unwrap()));
//! # Ok::<(), kinglet::mesh::UnfitData>(())
//! ```
//!
//! # Streams and datagrams
//!
//! Two nodes whose radios are joined by a loop:
//!
//! ```
//! use kinglet::mac::Csma;
//! use kinglet::radio::{Ack, Capabilities, Command, Event};
//! use kinglet::tcp::{ConnectionConfig, ListenConfig, RecvError, State};
//! use kinglet::time::{Duration, Instant};
//! use kinglet::{Config, Mote, Node};
//!
//! /// Carries what `from` sends to `to`; both radios acknowledge by themselves.
//! fn carry(now: Instant, from: &mut Node<Mote>, to: &mut Node<Mote>) {
//!     while let Some(submission) = from.poll_radio(now) {
//!         let Command::Transmit { .. } = submission.command else { continue };
//!         let len = submission.frame.len() as u8;
//!         let event = Event::Received { sfd: now, len, rssi_dbm: -60, lqi: 255, acked: true };
//!         to.handle_radio(now, event, &mut submission.frame.to_vec());
//!         let ack = Ack::Received { frame_pending: false };
//!         from.handle_radio(now, Event::Transmitted { sfd: now, ack }, &mut []);
//!     }
//! }
//!
//! let radio = Capabilities::AUTO_ACK | Capabilities::ACK_WAIT | Capabilities::CSMA;
//! let mut nodes = [1, 2].map(|n: u16| {
//!     // A product draws seed and secret from its source of entropy.
//!     let mut config = Config::repeatable(n, [0; 8], n.into(), [n as u8; 16]);
//!     config.mac.csma = Csma::Hardware;
//!     Box::new(Node::<Mote>::new(config, radio))
//! });
//! let [client, server] = &mut nodes;
//! let mut now = Instant::from_secs(1);
//! let peer = "fe80::ff:fe00:2".parse()?;
//!
//! // UDP: a socket is a port; datagrams wait in it, four at the most, until they are read.
//! let from = client.datagrams().bind(0)?;
//! let at = server.datagrams().bind(5683)?;
//! client.datagrams().send(now, from, peer, 5683, b"21.5")?;
//!
//! // TCP: `send` and `recv` move what can be moved now, and never wait.
//! server.streams().listen(80, ListenConfig::default())?;
//! let up = client.streams().connect(now, peer, 80, ConnectionConfig::DEFAULT)?;
//! assert_eq!(client.streams().send(up, b"hello")?, 5); // leaves when the connection stands
//! // Constant data goes by reference: 50 KiB from flash, and not an octet of RAM to buffer them.
//! static PAGE: [u8; 50 * 1024] = [b'.'; 50 * 1024];
//! assert_eq!(client.streams().send_static(up, &PAGE)?, PAGE.len());
//!
//! let (mut down, mut text, mut datagram) = (None, Vec::new(), None);
//! for _ in 0..1000 {
//!     if client.tcp().state(up) == Some(State::Established) {
//!         client.streams().close(up)?; // a FIN after the last octet; reading goes on
//!     }
//!     carry(now, client, server);
//!     carry(now, server, client);
//!     let mut buf = [0; 1280];
//!     if let Some(received) = server.datagrams().recv(at, &mut buf)? {
//!         datagram = Some(buf[..received.len].to_vec());
//!     }
//!     down = down.or_else(|| server.streams().accept(80));
//!     match down.map(|handle| server.streams().recv(handle, &mut buf)) {
//!         None | Some(Err(RecvError::WouldBlock)) => {}
//!         Some(Ok(0)) => break, // the other end has closed
//!         Some(Ok(len)) => text.extend_from_slice(&buf[..len]),
//!         Some(Err(error)) => return Err(error.into()),
//!     }
//!     now += Duration::from_millis(10);
//!     client.handle_deadline(now);
//!     server.handle_deadline(now);
//! }
//! assert_eq!(text, [b"hello", &PAGE[..]].concat());
//! assert_eq!(datagram.as_deref(), Some(&b"21.5"[..]));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A handle stays valid until a new connection needs its slot, so that the reason why a connection
//! ended can be read: `tcp().info(handle)`. An application that waits for something checks again
//! after every wake-up.
//!
//! # A node that sleeps
//!
//! With `mac.rx_on_when_idle = false` the radio is off unless something is sent or awaited. Packets
//! for such a node wait at its parent, which has it as a child, and are fetched by data requests:
//!
//! ```
//! # use kinglet::{Config, Mote, Node, Polling, Router, radio::Capabilities};
//! # use kinglet::time::{Duration, Instant};
//! let mut config = Config::repeatable(2, [0; 8], 2, [2; 16]);
//! config.mac.rx_on_when_idle = false;
//! config.polling = Polling::Predictive { base: Duration::from_secs(60) };
//! let mut leaf: Node<Mote> = Node::new(config, Capabilities::AUTO_ACK | Capabilities::ACK_WAIT);
//! let config = Config::repeatable(1, [0; 8], 1, [1; 16]);
//! let mut parent: Node<Router> = Node::new(config, Capabilities::AUTO_ACK);
//! let now = Instant::from_secs(1);
//! parent.add_child(2)?;
//! leaf.set_parent(now, Some(1))?; // and the default route
//! assert_eq!(leaf.deadline(), Some(now + Duration::from_secs(60))); // nothing is expected
//! // The node knows what TCP expects; an application that waits for a datagram calls `expect`.
//! leaf.expect_response(now, 5683, now, now + Duration::from_secs(2))?;
//! assert!(leaf.deadline() < Some(now + Duration::from_secs(2)));
//! leaf.withdraw_response(now, 5683); // it is here
//! # Ok::<(), kinglet::net::TableFull>(())
//! ```
//!
//! The node learns when to make the first data request after a transmission from the success of
//! earlier ones ([`Polling::Predictive`]), so that few find nothing; [`Polling::TCPLP`] is for
//! comparison. The parent drops a frame that a child does not fetch within
//! `config.net.indirect.lifetime`, or fails to receive at four data requests.
//! `config.mac.indirect`, the same on both sides, decides whether one data request fetches all
//! waiting frames. Multicasts do not reach a node that sleeps.
//!
//! There are other duty cycles, one of them for relays too: [`manual::duty_cycles`] gives the cost
//! of each and says when to choose it.
//!
//! # A memory plan of your own
//!
//! A plan is a type that sets the length of each table. Take a preset, look at what is full
//! ([`Node::info`]) or discarded (the counters of `mac().stats()`, `net().stats()` and
//! `tcp().stats()`), and change that. Cost of one entry on a Cortex-M, in octets:
//!
//! | table | octets | for |
//! |---|---|---|
//! | `mac::Sizes::Queue` | 152 | frames for the radio; 3 keep it busy (1 is for control frames) |
//! | `mac::Sizes::Neighbours` | 72 | link statistics, duplicate rejection |
//! | `mac::Sizes::Security` | 12 | devices received from with link security: frame counters |
//! | `mac::Sizes::DeliveryMethod` | 40 | children for which something is pending at once |
//! | `net::Sizes::Packets` | 1288 | packets received, forwarded, sent; not TCP's own segments |
//! | `net::Sizes::Reassembly` | 88 | datagrams arriving in fragments: one per busy neighbour |
//! | `net::Sizes::Output`, `Host` | 12 | packets that wait for the radio, for the host |
//! | `net::Sizes::Children`, `Indirect` | 4, 40 | children that sleep, packets that wait for them |
//! | `net::Sizes::UdpSockets` | 30 | bound ports, with four datagrams each |
//! | `net::Sizes::Routes` | 28 | static routes |
//! | `mesh::Sizes`' `Neighbours`, `Routes`, `Leaves` | 16, 24, 16 | of a relay in a [`Meshed`] |
//! | `tcp::Sizes::Connections` | 372 | plus buffers, 1/8 of the receive buffer, 8 a segment |
//! | `tcp::Sizes::Listeners`, `HalfOpen` | 40, 72 | listening ports, handshakes in progress |
//!
//! In all [`Mote`] takes 21.0 kB, [`Router`] 33.3 kB and [`BorderRouter`] 92.5 kB. This includes
//! the expanded key of link security: 176 octets with `mac::Tabled`, the AES of the first two, and
//! 352 with `mac::Sliced`, that of the third, which may run where memory has caches. `mac::Tabled`
//! also has a table of 1 KiB in RAM, once for all nodes.
//!
//! Two slots of `Packets` always stay free for acknowledgements, whose arrival empties the queues
//! `Output` and `Host`: have at least two more slots than packets that are to wait there. A
//! connection moves at most one buffer in a round trip; 2 KiB in 250 ms are 65 kb/s, about what one
//! hop carries (TCPlp §6.3). A plan for a sensor with one connection that sends readings; it names
//! only what differs from the smallest node ([`Lengths::SMALL`]):
//!
//! ```
//! use kinglet::{Config, Node, radio::Capabilities};
//!
//! kinglet::profile! {
//!     struct Sensor {
//!         storage: 640, // larger packets are refused
//!         receive_buffer: 256,
//!         listeners: 0,
//!         udp_sockets: 0,
//!     }
//! }
//!
//! // Without link security there is no place for a key.
//! const CONFIG: Config<()> = Config::repeatable(1, [0; 8], 1, [1; 16]).unsecured();
//! static NODE: std::sync::Mutex<Node<Sensor>> = // in firmware: your critical-section cell
//!     std::sync::Mutex::new(Node::new(CONFIG, Capabilities::NONE));
//! assert!(size_of::<Node<Sensor>>() < 8 * 1024); // on a host; less where a pointer has 32 bits
//! ```
//!
//! # The defaults, and why
//!
//! [`mac::MacConfig`]:
//! * channel 26 and PAN 0xABCD at 0 dBm: no 802.11 channel of the usual 1/6/11 plan reaches there;
//! * CSMA-CA with macMinBE 3, macMaxBE 5 and 4 backoffs: IEEE 802.15.4's defaults. In software,
//!   because radios may be deaf while they back off by themselves (TCPlp §4.2);
//! * unlike the standard, 15 retries with a delay between them that adapts up to 60 ms
//!   ([`Config::new`]): hidden terminals share a neighbour wherever packets are relayed (TCPlp
//!   §7.1), and without a delay two ends whose RTOs have grown to the same length can collide until
//!   both give up.
//!
//! [`net::NetConfig`]:
//! * not a router: to forward is a decision (RFC 8200 §2);
//! * hop limit 64 (RFC 1700), which costs no octet on the air (RFC 6282);
//! * reassembly within 5 s, longer than any sender takes, and 10 ICMPv6 errors a second (RFC 4443
//!   §2.4 (f));
//! * the first datagram tag comes from the seed, so that a rebooted node does not continue
//!   datagrams from before.
//!
//! [`tcp::ConnectionConfig`]:
//! * an MSS of five link frames, a good compromise over lossy hops (TCPlp §6.1); that of a listener
//!   leaves room for any peer's address. [`Node::mss_for_frames`] computes others; the maximum is
//!   1220, from IPv6's MTU of 1280;
//! * SACK, Nagle's algorithm, pacing, and acknowledgements of every second segment within 100 ms;
//!   no timestamps, which cost 12 octets a segment;
//! * an initial RTO of 1 s (RFC 6298), then SRTT and at least 200 ms, as in Linux and FreeBSD;
//! * no keep-alive and no user timeout (RFC 9293 §3.8.4): a peer that falls silent while there is
//!   nothing to send keeps its slot until the application closes the connection.
//!
//! # Limits
//!
//! One radio and at most one host interface. A node does not talk to itself. The host interface
//! must be drained, otherwise its packets hold slots; what the application leaves unread holds at
//! most half of them.
//!
//! | file | subject |
//! |---|---|
//! | `node/` | connection of the layers: input and output path of frames and segments |
//! | `node/activity.rs` | record of pending work |
//! | `node/follow.rs` | execution of routing decisions |
//! | `node/segments.rs` | segment size in link frames |
//! | `drive.rs` | the loop around a node and its radio |
//! | `config.rs` | configuration of a node |
//! | `discovery.rs`, `discovered.rs` | neighbour discovery: interface; RFC 4861 |
//! | `streams.rs`, `datagrams.rs`, `ready.rs` | sockets by handle, and their readiness |
//! | `interface.rs` | addresses, routes, contexts |
//! | `polling.rs` | data requests of a node that sleeps |
//! | `profile.rs` | the memory plans |
//! | `manual/` | manual pages for design choices |
//! | `peer.rs` | a peer of TCP: a pair of IPv6 addresses |

#![no_std]
#![forbid(unsafe_code)]
#![deny(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![deny(clippy::arithmetic_side_effects)]
#![cfg_attr(test, allow(clippy::arithmetic_side_effects, reason = "tests compute with constants"))]

#[cfg(test)]
extern crate std;

mod attachment;
mod config;
mod courtesy;
mod datagrams;
mod discovered;
mod discovery;
mod drive;
mod interface;
mod lengths;
pub mod manual;
mod node;
mod peer;
pub mod polling;
mod profile;
mod ready;
mod streams;

pub use attachment::Attachment;
pub use config::Config;
pub use datagrams::Datagrams;
pub use discovered::Discovered;
pub use discovery::{Discovery, Resolved};
pub use interface::Interface;
pub use lengths::Lengths;
pub use node::{Info, Node, Stats};
pub use peer::AddressPair;
pub use polling::Polling;
pub use profile::{BorderRouter, Mote, Profile, Router};
pub use ready::Ready;
pub use streams::{StreamConnectError, Streams};

pub use kinglet_aodv::Aoded;
pub use kinglet_mesh::Meshed;
pub use kinglet_routing::{Each, EachRelation, Routing, routing_choice};
pub use kinglet_rpl::Rpled;

pub use kinglet_aodv as aodv;
pub use kinglet_flash as flash;
pub use kinglet_mac as mac;
pub use kinglet_mem as mem;
pub use kinglet_mesh as mesh;
pub use kinglet_nd as nd;
pub use kinglet_net as net;
pub use kinglet_radio as radio;
pub use kinglet_routing as routing;
pub use kinglet_rpl as rpl;
pub use kinglet_store as store;
pub use kinglet_tcp as tcp;
pub use kinglet_time as time;
pub use kinglet_wire as wire;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

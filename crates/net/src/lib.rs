//! 6LoWPAN adaptation, IPv6, ICMPv6, UDP and forwarding: all layers between the MAC and TCP,
//! without I/O, clock or allocation.
//!
//! | part | state |
//! |---|---|
//! | header compression RFC 6282, fragmentation RFC 4944 | done; extension headers by type |
//! | IPv6 RFC 8200: input, output, extension headers, hop limit | done |
//! | fragments of IPv6, up to 1500 octets: reassembled, and sent | done, by type; else refused |
//! | packets for sleeping neighbours: wait for their data requests | done; no multicasts |
//! | forwarding over static routes, host interface of a border router | done |
//! | random early detection with ECN marking for relayed packets | done |
//! | ICMPv6 RFC 4443: echo, the four errors in both directions, rate limit | done |
//! | UDP sockets, multicast groups of the link | done; MLD by type, no multicast forwarding |
//! | neighbour discovery RFC 4861 | by type, above; else link addresses from IIDs or a table |
//! | packets to oneself | not done: refused with `NoRoute` |
//!
//! # The canonical loop
//!
//! Frames from the MAC go to [`Net::handle_frame`]; a TCP packet for this node comes back as a
//! [`Delivery`]. When the MAC has a free slot, [`Net::pending`] returns the destination of the next
//! frame, and [`Net::poll_frame`] writes it, right into that slot. Upper layers submit a header and
//! a *reference* to their payload ([`Body::External`]); the payload is read through [`BodySource`]
//! when its frame is written, so that frame is its only copy.
//!
//! ```
//! use core::net::Ipv6Addr;
//! use kinglet_net::{FrameIn, FrameLimits, Net, NetConfig, NoBody, Small};
//! use kinglet_time::Instant;
//! use kinglet_wire::ieee802154::Address;
//!
//! let mut alice = Net::<Small, ()>::new(NetConfig::new(Address::Short(1)));
//! let mut bob = Net::<Small, ()>::new(NetConfig::new(Address::Short(2)));
//! let now = Instant::ZERO;
//! let to: Ipv6Addr = "fe80::ff:fe00:2".parse().unwrap();
//! alice.ping(now, to, 7, 1, b"are you there?").unwrap();
//! let (limits, mut buf) = (FrameLimits { max_payload: 104 }, [0; 104]);
//! let request = alice.poll_frame(now, limits, &NoBody, &mut buf).unwrap();
//! let payload = &buf[..request.len];
//! bob.handle_frame(now, FrameIn { src: Address::Short(1), dst: request.dst, payload }).unwrap();
//! let reply = bob.poll_frame(now, limits, &NoBody, &mut buf).unwrap();
//! let payload = &buf[..reply.len];
//! alice.handle_frame(now, FrameIn { src: Address::Short(2), dst: reply.dst, payload }).unwrap();
//! assert_eq!(alice.poll_echo_reply().map(|reply| reply.seq), Some(1));
//! ```
//!
//! # Memory
//!
//! Whole packets are in the slots of one pool, each with one owner at a time: a reassembly, a
//! [`Delivery`], an output queue or a UDP socket. Waiting packets never starve what they wait for:
//! no packet is parked in a queue unless [`RESERVED`] slots stay free, unread datagrams hold at
//! most half of the pool, and a reassembly leaves one slot for input that is not fragmented.
//!
//! | file | subject |
//! |---|---|
//! | `net/` | the engine: [`Net`] and its plan [`Sizes`]; the other modules do not depend on it |
//! | `net/input.rs`, `reassembly.rs` | input of frames, and of packets for this node |
//! | `net/icmp.rs`, `udp.rs`, `forward.rs` | ICMPv6, UDP and forwarding |
//! | `net/header_build.rs`, `submit.rs`, `fragment.rs` | own packets, and output of frames |
//! | `net/relay.rs`, `relay.rs` | forwarding of single fragments |
//! | `fair_share.rs` | fairness between neighbours that send frames to be forwarded |
//! | `net/sharing.rs` | evidence that other nodes need the channel |
//! | `net/ipv6_fragments.rs` | IPv6 fragments, input and output |
//! | `net/congestion.rs` | random early detection at the output queue |
//! | `net/indirect.rs`, `resolve.rs`, `route_discovery.rs` | packets that wait |
//! | `net/strangers.rs`, `allowance.rs` | limit on the cost of unsolicited packets to children |
//! | `net/extension_headers.rs` | routing data in packets: RPL option, source route, tunnel |
//! | `net/interface.rs`, `messages.rs` | addresses and routes; routing and discovery messages |
//! | `frame.rs`, `incoming.rs`, `outgoing.rs` | types of frames and packets |
//! | `child.rs`, `ipv6_partial.rs`, `partial.rs`, `report.rs` | types of table entries |
//! | `socket.rs`, `tables.rs` | types of table entries |
//! | `policy.rs` | rules for packets at the host interface |
//! | `pool.rs`, `queue.rs` | packet slots and queues |
//! | `codec.rs`, `discovery.rs`, `red.rs` | types that a plan selects |
//! | `mss.rs`, `segment.rs` | segment sizes |

#![no_std]
#![forbid(unsafe_code)]
#![deny(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![deny(clippy::arithmetic_side_effects)]
#![cfg_attr(test, allow(clippy::arithmetic_side_effects, reason = "tests compute with constants"))]

#[cfg(test)]
extern crate std;

mod allowance;
mod border;
mod child;
mod codec;
mod config;
mod discovery;
mod fair_share;
mod frame;
mod incoming;
mod ipv6_partial;
mod mss;
mod net;
mod outgoing;
mod partial;
mod policy;
mod pool;
mod queue;
mod red;
mod relay;
mod report;
mod segment;
mod small;
mod socket;
mod stats;
mod tables;

pub use border::{Border, BorderQueue, BorderStats};
pub use child::{Child, Indirect, Parked};
pub use codec::{ExtendedIphc, HeaderCompression, Hop, Iphc};
pub use config::{BorderPolicy, NetConfig};
pub use discovery::{Discovery, Resolution, Unresolved};
pub use frame::{Class, FrameIn, FrameLimits, FrameOut, Pending, Token};
pub use incoming::Delivery;
pub use ipv6_partial::{Ipv6Fragments, Ipv6Partial, Ipv6Reassembly};
pub use kinglet_routing::{Icmpv6In, Icmpv6Out, NextHop};
pub use mss::{mss_for_frames, path_header_len};
pub use net::{AdmissionPolicy, Cut, Datagram, Fragmentation, Info, Net, Rfc4944, Rfc8930, Sizes};
pub use outgoing::{Body, BodySource, FINISHED, NoBody, Outgoing, Queued, SendError, Stale};
pub use partial::Partial;
pub use policy::{FROM_HOST, Rule, TO_HOST};
pub use pool::{PacketHandle, RESERVED, Slot};
pub use red::{QueueDiscipline, Red};
pub use relay::{Relay, RelayStats, Relaying, Virtual};
pub use report::{EchoReply, ErrorReport};
pub use segment::best_frames;
pub use small::Small;
pub use socket::{BindError, Sending, UdpDatagram, UdpError, UdpHandle, UdpSocket};
pub use stats::{Discard, Stats};
pub use tables::{InterfaceAddress, JoinError, Neighbour, Own, Route, TableFull};

macro_rules! display_as_debug {
    ($($error:ty),+) => {$(
        impl core::fmt::Display for $error {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                core::fmt::Debug::fmt(self, f)
            }
        }
        impl core::error::Error for $error {}
    )+};
}

display_as_debug!(BindError, Discard, JoinError, SendError, Stale, TableFull, UdpError);

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

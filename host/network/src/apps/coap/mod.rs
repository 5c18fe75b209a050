//! CoAP for scenarios.

mod client;

pub use client::{CoapClient, Exchange, Requests};

use super::site::MoteSite;
use kinglet_apps::coap::{Observer, Plan, Server, Socket};
use kinglet_apps::udp::MAX_DATAGRAM;
use kinglet_coap::{PeerEstimate, Reset, Sizes, Slot};

/// Memory plan of a simulated node's CoAP.
pub struct CoapPlan;

impl Sizes for CoapPlan {
    type Message = [u8; MAX_DATAGRAM];
    type Requests<K: Copy + Eq> = [Slot<K, Self::Message>; 2];
    type Served<K: Copy + Eq> = [Slot<K, Self::Message>; 4];
    type Peers<K: Copy + Eq> = [Option<PeerEstimate<K>>; 4];
    type Resets<K: Copy + Eq> = [Option<Reset<K>>; 2];
}

impl Plan for CoapPlan {
    type Observers = [Option<Observer>; 4];
    const IS_FOUND: bool = true;
}

/// CoAP endpoint at a UDP port of a node.
pub type CoapSocket = Socket<CoapPlan>;

/// A CoAP server with the resources of the web server.
pub type CoapServer = Server<MoteSite, CoapPlan>;

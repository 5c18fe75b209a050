//! Memory plans of CoAP in the images.

use kinglet_apps::coap::{Observer, Plan};
use kinglet_coap::{CoapConfig, PeerEstimate, Reset, Sizes, Slot};

/// The memory plan of a server: two clients at a time.
pub struct Server;

impl Sizes for Server {
    type Message = [u8; 96];
    type Requests<K: Copy + Eq> = [Slot<K, Self::Message>; 0];
    type Served<K: Copy + Eq> = [Slot<K, Self::Message>; 2];
    type Peers<K: Copy + Eq> = [Option<PeerEstimate<K>>; 0];
    type Resets<K: Copy + Eq> = [Option<Reset<K>>; 1];
}

impl Plan for Server {
    type Observers = [Option<Observer>; 0];
    const IS_FOUND: bool = false;
}

/// The memory plan of a client with one peer.
pub struct Client;

impl Sizes for Client {
    type Message = [u8; 96];
    type Requests<K: Copy + Eq> = [Slot<K, Self::Message>; 1];
    type Served<K: Copy + Eq> = [Slot<K, Self::Message>; 0];
    type Peers<K: Copy + Eq> = [Option<PeerEstimate<K>>; 1];
    type Resets<K: Copy + Eq> = [Option<Reset<K>>; 1];
}

/// The settings of the node with this short address.
pub const fn config(short: u16) -> CoapConfig {
    // A product takes the seed from its source of entropy.
    CoapConfig::new(short as u64 + 1)
}

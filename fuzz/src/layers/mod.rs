//! Whole layers, driven by arbitrary calls with arbitrary bytes.

mod aodv;
mod coap;
mod mac;
mod mesh;
mod nd;
mod net;
mod relay;
mod rpl;
mod store;
mod tcp;

pub use aodv::aodv_messages;
pub use coap::coap_messages;
pub use mac::mac_frames;
pub use mesh::mesh_messages;
pub use nd::nd_messages;
pub use net::net_frames;
pub use relay::relay_fragments;
pub use rpl::rpl_messages;
pub use store::store_flash;
pub use tcp::{tcp_pair, tcp_segments};

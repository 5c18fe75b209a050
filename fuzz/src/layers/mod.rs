//! Whole layers, driven by arbitrary calls with arbitrary bytes.

mod mac;
mod net;

pub use mac::mac_frames;
pub use net::net_frames;

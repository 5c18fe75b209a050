//! The receiving side: ring with in-place reassembly, and when to acknowledge.

pub(crate) mod ack;
pub(crate) mod bitmap;
pub(crate) mod buffer;

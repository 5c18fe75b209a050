//! Sense and send: readings at a fixed period, which wait in a queue of bounded length and are sent
//! in batches, over TCP or CoAP.
//!
//! A new reading is lost if the queue is full. As soon as a batch is complete, readings are sent
//! until the queue is empty, including those that arrive meanwhile. The application of TCPlp does
//! the same (§8.2).

mod message;
mod readings;
mod stream;

pub use message::{AROUND, MessageSensor, PACE};
pub use readings::{Probe, Readings, Sampling, TAG, Waiting, untag};
pub use stream::StreamSensor;

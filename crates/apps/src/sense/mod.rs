//! Sense and send: readings at a fixed period, which wait in a queue of bounded length and leave in
//! batches, by TCP or by CoAP.
//!
//! A new reading that finds the queue full is lost. As soon as a batch waits, readings leave until
//! the queue is empty; those that come meanwhile go along. So does the application of TCPlp (§8.2).

mod message;
mod readings;
mod stream;

pub use message::{AROUND, MessageSensor, PACE};
pub use readings::{Probe, Readings, Sampling, TAG, Waiting, untag};
pub use stream::StreamSensor;

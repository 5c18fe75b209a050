//! Applications of scenarios: those of `kinglet_apps`, with measurements.

pub mod bulk;
pub mod coap;
pub(crate) mod controlled;
pub(crate) mod crowd;
pub mod http_client;
pub mod peer;
pub mod sense;
pub mod services;
pub mod site;
pub mod tcp;
pub mod udp;

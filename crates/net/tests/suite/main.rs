//! The integration tests of this crate, one module per subject.

mod common;
mod contract;
mod extended;
mod forwarding;
mod fragmentation;
mod icmp;
mod indirect;
mod ingress;
mod minimal;
mod originals;
mod red;
mod relay;
mod relaying;
mod resolving;
mod routing;
mod seeking;
mod udp;

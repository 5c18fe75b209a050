//! The integration tests of this crate, one module per subject.

mod common;
mod contract;
mod extension_headers;
mod forwarding;
mod fragmentation;
mod icmp;
mod indirect;
mod ingress;
mod ipv6_fragments;
mod minimal;
mod red;
mod relay;
mod relaying;
mod resolving;
mod route_discovery;
mod routing;
mod udp;

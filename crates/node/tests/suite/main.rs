//! The integration tests of this crate, one module per subject.

mod addresses;
mod aoded;
mod attachment;
mod autoconfiguration;
mod border;
mod common;
mod contract;
mod counted;
mod datagrams;
mod discovery;
mod drive;
mod foreign;
mod hostile;
mod ingress;
mod messages;
mod network_data;
mod payload;
mod ready;
mod reasons;
mod relay;
mod signals;
mod stranger;
mod strangers;
mod strays;
mod streams;
mod waking;

//! The integration tests of this crate, one module per subject.

mod advise;
mod air;
mod aodv;
mod apps;
mod asleep;
mod attacked;
mod captures;
mod coap;
mod discovery;
mod forged;
mod http;
mod mesh;
mod peers;
mod records;
mod restarts;
mod robustness;
mod rpl;
mod rpl_attacks;
mod rpl_faults;
mod rpl_hosts;
mod secured_capture;
mod services;
mod settings;
mod sweep;
mod talk;
mod traces;

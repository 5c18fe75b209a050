//! The integration tests of this crate, one module per subject.

mod abilities;
mod capture_file;
mod carrier_sense;
mod chips;
mod common;
mod deadlines;
mod fifo;
mod interference;
mod ledger;
mod medium;
mod observe;
mod polling;
mod radio;
mod reception;
mod sleeping;
mod strobing;
mod tasks;

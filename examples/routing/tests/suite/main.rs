//! Tests of the example.

mod contract;
mod network;
mod rules;

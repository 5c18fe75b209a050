//! The driver with a modelled coprocessor at the other end of the line.

mod conformance;
mod damage;
mod goodput;
mod port;
mod session;
mod wired;

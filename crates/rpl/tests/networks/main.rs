//! Whole networks: they form, carry packets, heal, and stand those who forge.

mod bursts;
mod common;
mod compliance;
mod forming;
mod hostile;
mod load;
mod neighbours;
mod restarts;
mod stale;

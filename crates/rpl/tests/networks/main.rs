//! Whole networks: they form, carry packets, recover, and withstand forged messages.

mod bursts;
mod common;
mod compliance;
mod forming;
mod hostile;
mod leaves;
mod load;
mod neighbours;
mod restarts;
mod stale;

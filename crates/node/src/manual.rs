//! Pages for whoever has to choose: documentation, and no code.

pub mod duty_cycles;

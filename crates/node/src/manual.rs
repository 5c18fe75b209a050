//! Manual pages for design choices: documentation, and no code.

pub mod duty_cycles;

//! What the fuzz targets do, as plain functions, so that a stable compiler can run them as well.
//!
//! `cargo +nightly fuzz run TARGET` fuzzes for as long as you let it; `cargo test` here feeds every
//! target some thousand random inputs. A target may not panic on any input.

pub mod files;
pub mod input;
pub mod layers;
pub mod wire;

//! Placeholder until the first item lands.

//! See [`kinglet_fuzz::wire::aodv`].

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| kinglet_fuzz::wire::aodv(data));

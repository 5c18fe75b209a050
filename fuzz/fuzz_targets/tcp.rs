//! See [`kinglet_fuzz::wire::tcp`].

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| kinglet_fuzz::wire::tcp(data));

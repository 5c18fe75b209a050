//! See [`kinglet_fuzz::wire::zep`].

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| kinglet_fuzz::wire::zep(data));

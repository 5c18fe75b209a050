//! See [`kinglet_fuzz::wire::sixlowpan`].

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| kinglet_fuzz::wire::sixlowpan(data));

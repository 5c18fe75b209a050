//! See [`kinglet_fuzz::wire::udp`].

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| kinglet_fuzz::wire::udp(data));

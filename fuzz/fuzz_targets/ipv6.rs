//! See [`kinglet_fuzz::wire::ipv6`].

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| kinglet_fuzz::wire::ipv6(data));

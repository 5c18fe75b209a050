//! See [`kinglet_fuzz::wire::rpl`].

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| kinglet_fuzz::wire::rpl(data));

//! See [`kinglet_fuzz::wire::nd`].

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| kinglet_fuzz::wire::nd(data));

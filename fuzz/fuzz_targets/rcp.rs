//! See [`kinglet_fuzz::spinel::rcp`].

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| kinglet_fuzz::spinel::rcp(data));

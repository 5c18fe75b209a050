//! See [`kinglet_fuzz::files::scenario`].

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| kinglet_fuzz::files::scenario(data));

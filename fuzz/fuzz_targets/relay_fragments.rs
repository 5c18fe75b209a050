//! See [`kinglet_fuzz::layers::relay_fragments`].

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| kinglet_fuzz::layers::relay_fragments(data));

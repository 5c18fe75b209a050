//! See [`kinglet_fuzz::layers::net_frames`].

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| kinglet_fuzz::layers::net_frames(data));

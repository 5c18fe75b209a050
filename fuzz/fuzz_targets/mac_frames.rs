//! See [`kinglet_fuzz::layers::mac_frames`].

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| kinglet_fuzz::layers::mac_frames(data));

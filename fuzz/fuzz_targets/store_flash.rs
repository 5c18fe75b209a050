//! See [`kinglet_fuzz::layers::store_flash`].

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| kinglet_fuzz::layers::store_flash(data));

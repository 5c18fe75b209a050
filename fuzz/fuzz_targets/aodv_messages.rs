//! See [`kinglet_fuzz::layers::aodv_messages`].

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| kinglet_fuzz::layers::aodv_messages(data));

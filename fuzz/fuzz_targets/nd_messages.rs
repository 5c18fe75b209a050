//! See [`kinglet_fuzz::layers::nd_messages`].

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| kinglet_fuzz::layers::nd_messages(data));

//! See [`kinglet_fuzz::layers::tcp_pair`].

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| kinglet_fuzz::layers::tcp_pair(data));

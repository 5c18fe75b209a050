//! See [`kinglet_fuzz::wire::http_request`].

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| kinglet_fuzz::wire::http_request(data));

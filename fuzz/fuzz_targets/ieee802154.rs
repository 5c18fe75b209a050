//! See [`kinglet_fuzz::wire::ieee802154`].

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| kinglet_fuzz::wire::ieee802154(data));

//! Instructions of the elliptic curve (P-256) in a handshake of TLS 1.3: a key agreement, and for a
//! certificate the verification of two signatures.

#![no_std]
#![no_main]

use core::hint::black_box;
use cortex_m::peripheral::SYST;
use cortex_m_rt::entry;
use kinglet_firmware::console;
use kinglet_firmware::counting::{per, report_count, start_clock};
use kinglet_firmware::numbers::Numbers;
use p256::ecdh::EphemeralSecret;
use p256::ecdsa::signature::{Signer, Verifier};
use p256::ecdsa::{DerSignature, SigningKey, VerifyingKey};

#[entry]
fn main() -> ! {
    console::end(measure())
}

/// Counts what `work` takes.
fn count<T>(name: &str, work: impl FnOnce() -> T) -> T {
    let before = SYST::get_current();
    let result = black_box(work());
    report_count(name, per(before.wrapping_sub(SYST::get_current()) & 0xFF_FFFF, 1));
    result
}

fn measure() -> Result<(), &'static str> {
    start_clock()?;
    let mut numbers = Numbers::new(1);
    let peer = EphemeralSecret::random(&mut numbers);
    let public = peer.public_key();
    let (own, shared) = count("agreement", || {
        let secret = EphemeralSecret::random(&mut numbers);
        let shared = secret.diffie_hellman(&public);
        (secret.public_key(), shared)
    });
    if peer.diffie_hellman(&own).raw_secret_bytes() != shared.raw_secret_bytes() {
        return Err("the keys differ");
    }
    let key = SigningKey::random(&mut numbers);
    let signature: DerSignature = key.sign(b"a certificate");
    let public = VerifyingKey::from(&key);
    let verified = count("verification", || public.verify(b"a certificate", &signature));
    verified.map_err(|_| "the signature is not valid")
}

//! The reading of `tls` to a server with a certificate, which the leaf verifies.

#![no_std]
#![no_main]

use cortex_m::singleton;
use embassy_executor::task;
use embedded_tls::pki::CertVerifier;
use embedded_tls::{
    Aes128GcmSha256, Certificate, CryptoProvider, CryptoRngCore, TlsClock, TlsConfig, TlsContext,
    TlsError, TlsVerifier,
};
use kinglet::mac::{CcmStar, PeerCounter, Polled, Tabled};
use kinglet_embassy::Stack;
use kinglet_firmware::numbers::Numbers;
use kinglet_firmware::{console, host, reading, run_tasks};

kinglet::profile! {
    struct Leaf {
        listening: Polled,
        security: CcmStar<Tabled, [PeerCounter; 4]>,
        listeners: 0,
        udp_sockets: 0,
        pending_requests: 1,
        applications: 1,
    }
}

/// The name in the server's certificate.
const SERVER: &str = "server.example";
/// Octets of the longest certificate.
const CERTIFICATE: usize = 640;
/// Octets of the longest record, here and there.
const RECORD: usize = 768;

run_tasks!(Leaf, leaf, 2 => sense);

#[task]
async fn sense(stack: Stack<'static, Leaf>) {
    console::end(exchange(stack).await);
}

async fn exchange(stack: Stack<'static, Leaf>) -> Result<(), &'static str> {
    let rooms = singleton!(: [[u8; RECORD]; 2] = [[0; RECORD]; 2]).ok_or("run twice")?;
    // A product has the certificate of its authority in flash.
    let authority = singleton!(: [u8; CERTIFICATE] = [0; CERTIFICATE]).ok_or("run twice")?;
    let authority = host::file(c"authority.der", authority).ok_or("no certificate")?;
    let config = TlsConfig::new().with_server_name(SERVER);
    let verifier = CertVerifier::new(Certificate::X509(authority));
    let context = TlsContext::new(&config, Provider { numbers: Numbers::new(1), verifier });
    let refused = "no TLS: has the certificate expired, another name or another authority?";
    reading::exchange(stack, context, rooms, refused).await
}

/// Verifies the certificate of the server. A client that has none itself signs nothing.
struct Provider<'a> {
    numbers: Numbers,
    verifier: CertVerifier<'a, Aes128GcmSha256, HostClock, CERTIFICATE>,
}

impl CryptoProvider for Provider<'_> {
    type CipherSuite = Aes128GcmSha256;
    type Signature = [u8; 0];

    fn rng(&mut self) -> impl CryptoRngCore {
        &mut self.numbers
    }

    fn verifier(&mut self) -> Result<&mut impl TlsVerifier<Aes128GcmSha256>, TlsError> {
        Ok(&mut self.verifier)
    }
}

/// The clock by which a certificate has expired. Without one `NoClock` accepts any date.
struct HostClock;

impl TlsClock for HostClock {
    fn now() -> Option<u64> {
        Some(host::seconds())
    }
}

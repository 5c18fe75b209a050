//! A reading over TLS 1.3 with a pre-shared key (`embedded-tls`) from a leaf that sleeps. It ends
//! when the server has sent the reading back in reverse, as `openssl s_server -rev` does.

#![no_std]
#![no_main]

use cortex_m::singleton;
use embassy_executor::task;
use embedded_tls::{Aes128GcmSha256, TlsConfig, TlsContext, UnsecureProvider};
use kinglet::mac::{CcmStar, PeerCounter, Polled, Tabled};
use kinglet_embassy::Stack;
use kinglet_firmware::numbers::Numbers;
use kinglet_firmware::{console, reading, run_tasks};

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

/// A public key and its name, for tests. A product has its own.
const KEY: &[u8; 16] = b"kinglet firmware";
const NAME: &[u8] = b"mote";
/// Octets of the longest record, here and there.
const RECORD: usize = 512;

run_tasks!(Leaf, leaf, 2 => sense);

#[task]
async fn sense(stack: Stack<'static, Leaf>) {
    console::end(exchange(stack).await);
}

async fn exchange(stack: Stack<'static, Leaf>) -> Result<(), &'static str> {
    let rooms = singleton!(: [[u8; RECORD]; 2] = [[0; RECORD]; 2]).ok_or("run twice")?;
    // All keys follow from the shared one, so that a server without it is refused: there is no
    // certificate to verify.
    let config = TlsConfig::new().with_psk(KEY, &[NAME]);
    let provider = UnsecureProvider::new::<Aes128GcmSha256>(Numbers::new(1));
    let context = TlsContext::new(&config, provider);
    reading::exchange(stack, context, rooms, "no TLS: is the key right?").await
}

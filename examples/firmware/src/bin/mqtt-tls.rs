//! The sensor of `mqtt` over TLS 1.3 with a pre-shared key (`embedded-tls`).

#![no_std]
#![no_main]

use cortex_m::singleton;
use embassy_executor::task;
use embedded_tls::{Aes128GcmSha256, TlsConfig, TlsConnection, TlsContext, UnsecureProvider};
use kinglet::mac::{CcmStar, PeerCounter, Polled, Tabled};
use kinglet::time;
use kinglet_embassy::{Records, Stack, TcpSocket};
use kinglet_firmware::numbers::Numbers;
use kinglet_firmware::{place, publisher, run_tasks};
use minimq::{Buffers, Session};

kinglet::profile! {
    struct Leaf {
        listening: Polled,
        security: CcmStar<Tabled, [PeerCounter; 4]>,
        send_buffer: 512,
        receive_buffer: 512,
        listeners: 0,
        udp_sockets: 0,
        pending_requests: 1,
        applications: 2,
    }
}

const PORT: u16 = 8883;
/// A public key and its name, for tests. A product has its own.
const KEY: &[u8; 16] = b"kinglet firmware";
const NAME: &[u8] = b"mote";
/// Octets of the longest record, here and there.
const RECORD: usize = 512;
/// Time in which a broker answers.
const RESPONSE_TIME: time::Duration = time::Duration::from_secs(5);

run_tasks!(Leaf, leaf, 2 => sense);

/// Buffers of records: one that arrives, the same while it is decrypted, and one that is written.
type Rooms = [[u8; RECORD]; 3];

#[task]
async fn sense(stack: Stack<'static, Leaf>) {
    let buffers = (singleton!(: [u8; 128] = [0; 128]), singleton!(: [u8; 512] = [0; 512]));
    let (Some(received), Some(sent)) = buffers else { return };
    let Some(rooms) = singleton!(: Rooms = [[0; RECORD]; 3]) else { return };
    let Ok(config) = publisher::settings(Buffers::new(received, sent)) else { return };
    let (mut session, mut numbers) = (Session::new(config), Numbers::new(1));
    publisher::repeat(async || publish(stack, &mut session, rooms, &mut numbers).await).await;
}

/// Publishes for one connection.
async fn publish(
    stack: Stack<'static, Leaf>,
    session: &mut Session<'static>,
    [arriving, received, sent]: &mut Rooms,
    numbers: &mut Numbers,
) -> Result<(), &'static str> {
    let socket = TcpSocket::connect(stack, place::HOST, PORT, Default::default()).await;
    let mut socket = socket.map_err(|_| "no connection")?;
    socket.set_response_time(Some(RESPONSE_TIME));
    // The client of MQTT drops reads.
    let records = Records::new(socket, arriving);
    // All keys follow from the shared one, so that a broker without it is refused.
    let config = TlsConfig::new().with_psk(KEY, &[NAME]);
    let mut tls = TlsConnection::new(records, received, sent);
    let provider = UnsecureProvider::new::<Aes128GcmSha256>(numbers);
    tls.open(TlsContext::new(&config, provider)).await.map_err(|_| "no TLS: is the key right?")?;
    // What is read first may be a ticket of TLS in place of the broker's answer.
    let expected = stack.with(|now, node| node.expect_response(now, 0, now, now + RESPONSE_TIME));
    expected.map_err(|_| "no place for an expectation")?;
    let mut connection = session.connect(tls).await.map_err(|_| "the broker refuses")?;
    stack.with(|now, node| node.withdraw_response(now, 0));
    publisher::publish(&mut connection).await
}

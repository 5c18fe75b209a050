//! A reading over TLS 1.3 with a pre-shared key (`embedded-tls`) from a leaf that sleeps. It ends
//! when the server has sent the reading back in reverse, as `openssl s_server -rev` does.

#![no_std]
#![no_main]

use cortex_m::singleton;
use cortex_m_rt::entry;
use embassy_executor::{Spawner, task};
use embassy_time::{Instant, Timer};
use embedded_tls::{
    Aes128GcmSha256, TlsConfig, TlsConnection, TlsContext, TlsError, UnsecureProvider,
};
use kinglet::mac::{CcmStar, PeerCounter, Polled, Tabled};
use kinglet::radio::Driver;
use kinglet::time;
use kinglet_embassy::{Resources, Runner, Stack, TcpSocket};
use kinglet_firmware::console::{self, Piece::Number, Piece::Text};
use kinglet_firmware::numbers::Numbers;
use kinglet_firmware::tasks::{self, TaskRadio};
use kinglet_firmware::{Place, make, place};

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

const PORT: u16 = 4433;
/// A public key and its name, for tests. A product has its own.
const KEY: &[u8; 16] = b"kinglet firmware";
const NAME: &[u8] = b"mote";
const READING: &[u8] = b"21.5 degrees";
/// Octets of the longest record, here and there.
const RECORD: usize = 512;
/// Time in which the server answers.
const RESPONSE_TIME: time::Duration = time::Duration::from_secs(5);

#[entry]
fn main() -> ! {
    console::end(tasks::run(start))
}

fn start(spawner: Spawner, radio: TaskRadio) -> Result<(), &'static str> {
    let mut config = place::config();
    config.mac.rx_on_when_idle = false;
    let node = singleton!(: Place<Leaf> = Place::uninit()).ok_or("run twice")?;
    let node = make(node, config, radio.capabilities());
    place::commission(node)?;
    let parent = node.set_parent(time::Instant::ZERO, Some(place::ROUTER));
    parent.map_err(|_| "no room for a parent")?;
    let resources = singleton!(: Resources<'static, Leaf, 2> = Resources::new(node));
    let (stack, runner) = resources.ok_or("run twice")?.split();
    spawner.spawn(run(runner, radio).map_err(|_| "run twice")?);
    spawner.spawn(sense(stack).map_err(|_| "run twice")?);
    Ok(())
}

#[task]
async fn run(runner: Runner<'static, Leaf>, mut radio: TaskRadio) {
    runner.run(&mut radio).await
}

#[task]
async fn sense(stack: Stack<'static, Leaf>) {
    console::end(exchange(stack).await);
}

/// Sends a reading and checks what comes back.
async fn exchange(stack: Stack<'static, Leaf>) -> Result<(), &'static str> {
    let buffers =
        (singleton!(: [u8; RECORD] = [0; RECORD]), singleton!(: [u8; RECORD] = [0; RECORD]));
    let (Some(received), Some(sent)) = buffers else { return Err("run twice") };
    let mut socket = loop {
        match TcpSocket::connect(stack, place::HOST, PORT, Default::default()).await {
            Ok(socket) => break socket,
            // The server has not started yet.
            Err(_) => Timer::after_secs(1).await,
        }
    };
    socket.set_response_time(Some(RESPONSE_TIME));
    let begin = Instant::now();
    // All keys follow from the shared one, so that a server without it is refused: there is no
    // certificate to verify.
    let config = TlsConfig::new().with_psk(KEY, &[NAME]);
    let provider = UnsecureProvider::new::<Aes128GcmSha256>(Numbers::new(1));
    let mut tls = TlsConnection::new(socket, received, sent);
    tls.open(TlsContext::new(&config, provider)).await.map_err(|_| "no TLS: is the key right?")?;
    let opened = Instant::now();
    let mut back = [0; READING.len()];
    let result: Result<(), TlsError> = async {
        tls.write(READING).await?;
        tls.write(b"\n").await?;
        tls.flush().await?;
        let mut len = 0;
        while let Some(rest) = back.get_mut(len..).filter(|rest| !rest.is_empty()) {
            len += tls.read(rest).await?;
        }
        Ok(())
    }
    .await;
    result.map_err(|_| "the server has closed")?;
    let (handshake, answer) = (opened - begin, opened.elapsed());
    console::line(&[
        Text("handshake ms "),
        Number(handshake.as_millis() as u32),
        Text(", answer ms "),
        Number(answer.as_millis() as u32),
    ]);
    let is_reverse = back.iter().rev().eq(READING);
    if is_reverse { Ok(()) } else { Err("the answer is not the reading") }
}

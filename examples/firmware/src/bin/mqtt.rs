//! A sensor that sleeps publishes by MQTT 5 (`minimq`), with each quality of service, a will, and a
//! session that outlives its connection: five readings, then a pause without connection.

#![no_std]
#![no_main]

use cortex_m::singleton;
use embassy_executor::task;
use kinglet::mac::{CcmStar, PeerCounter, Polled, Tabled};
use kinglet::time;
use kinglet_embassy::{Stack, TcpSocket};
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
        applications: 1,
    }
}

const PORT: u16 = 1883;
/// Time in which a broker answers.
const RESPONSE_TIME: time::Duration = time::Duration::from_secs(5);

run_tasks!(Leaf, leaf, 2 => sense);

#[task]
async fn sense(stack: Stack<'static, Leaf>) {
    let buffers = (singleton!(: [u8; 128] = [0; 128]), singleton!(: [u8; 512] = [0; 512]));
    let (Some(received), Some(sent)) = buffers else { return };
    let Ok(config) = publisher::settings(Buffers::new(received, sent)) else { return };
    let mut session = Session::new(config);
    publisher::repeat(async || publish(stack, &mut session).await).await;
}

/// Publishes for one connection.
async fn publish(
    stack: Stack<'static, Leaf>,
    session: &mut Session<'static>,
) -> Result<(), &'static str> {
    let socket = TcpSocket::connect(stack, place::HOST, PORT, Default::default()).await;
    let mut socket = socket.map_err(|_| "no connection")?;
    socket.set_response_time(Some(RESPONSE_TIME));
    let mut connection = session.connect(socket).await.map_err(|_| "the broker refuses")?;
    publisher::publish(&mut connection).await
}

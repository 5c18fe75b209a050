//! A sensor that sleeps: it joins the network of its flash page and publishes the temperature of
//! its chip by MQTT 5, once a minute.

#![no_std]
#![no_main]

mod board;

use board::{Leaf, Thermometer};
use core::{fmt::Write, net::Ipv6Addr};
use embassy_executor::Spawner;
use embassy_time::{Duration, Timer, with_timeout};
use kinglet_embassy::{Retry, Stack, TcpSocket};
use minimq::{Buffers, ConfigBuilder, Publication, QoS, Session};
use static_cell::ConstStaticCell;

/// The host with the broker, and how often it gets a value.
const BROKER: Ipv6Addr = Ipv6Addr::new(0xfd6b, 0x696e, 0x676c, 0x7401, 0, 0, 0, 1);
const PORT: u16 = 1883;
const PERIOD: Duration = Duration::from_secs(60);
const NAME: &str = "{{project-name}}";

static RECEIVED: ConstStaticCell<[u8; 128]> = ConstStaticCell::new([0; 128]);
static SENT: ConstStaticCell<[u8; 512]> = ConstStaticCell::new([0; 512]);

#[embassy_executor::main]
async fn main(spawner: Spawner) {
    let (stack, mut thermometer) = board::start(spawner).await;
    let config = ConfigBuilder::new(Buffers::new(RECEIVED.take(), SENT.take()));
    // Until the next value there is nothing to keep alive; the broker keeps the session.
    let config = config.keepalive_interval(0).session_expiry_interval(3600);
    let mut session = Session::new(config.client_id(NAME).expect("a short name"));
    let mut retry = Retry::new();
    loop {
        let attempt = with_timeout(PERIOD, publish(stack, &mut session, &mut thermometer)).await;
        let pause = retry.pause(attempt == Ok(Some(())));
        if pause.is_some() {
            defmt::warn!("no broker at port {} of {}", PORT, defmt::Debug2Format(&BROKER));
        }
        Timer::after(pause.unwrap_or(PERIOD)).await;
    }
}

/// Publishes a value over a connection of its own: `None` if the broker did not acknowledge it.
async fn publish(
    stack: Stack<'static, Leaf>,
    session: &mut Session<'static>,
    thermometer: &mut Thermometer,
) -> Option<()> {
    let mut text = heapless::String::<16>::new();
    write!(text, "{:.2}", thermometer.read().await).ok()?;
    let socket = TcpSocket::connect(stack, BROKER, PORT, Default::default()).await.ok()?;
    let mut connection = session.connect(socket).await.ok()?;
    let value = Publication::text("sensor/temperature", &text).qos(QoS::AtLeastOnce);
    connection.publish(value).await.ok()?;
    while !connection.session().is_publish_quiescent() {
        connection.poll().await.ok()?;
    }
    connection.disconnect().await.ok()
}

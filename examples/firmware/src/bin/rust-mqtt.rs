//! The sensor of `mqtt` by another client of MQTT 5 (`rust-mqtt`). Each connection is a session.

#![no_std]
#![no_main]

use core::num::NonZero;
use cortex_m::singleton;
use embassy_executor::task;
use embassy_time::{Duration, Timer};
use embedded_io_async::{ErrorType, Read, Write};
use kinglet::mac::{CcmStar, PeerCounter, Polled, Tabled};
use kinglet::time;
use kinglet_embassy::{Stack, TcpSocket};
use kinglet_firmware::{place, publisher, run_tasks};
use rust_mqtt::buffer::BumpBuffer;
use rust_mqtt::client::Client;
use rust_mqtt::client::event::Event;
use rust_mqtt::client::options::{
    ConnectOptions, DisconnectOptions, PublicationOptions, TopicReference, WillOptions,
};
use rust_mqtt::config::KeepAlive;
use rust_mqtt::types::{MqttBinary, MqttString, TopicName};

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
const PERIOD: Duration = Duration::from_secs(1);
/// Octets of the longest packet that is sent.
const PACKET: usize = 128;
/// Time in which a broker answers.
const RESPONSE_TIME: time::Duration = time::Duration::from_secs(5);

run_tasks!(Leaf, leaf, 2 => sense);

/// The client for a connection: a message in flight in each direction, no subscriptions.
type Mqtt<'a, T> = Client<'a, 'a, T, BumpBuffer<'a>, 1, 1, 1, 0, 0, 0, 0>;

#[task]
async fn sense(stack: Stack<'static, Leaf>) {
    let Some(received) = singleton!(: [u8; 256] = [0; 256]) else { return };
    publisher::repeat(async || publish(stack, received).await).await;
}

/// Publishes for one connection.
async fn publish(stack: Stack<'static, Leaf>, received: &mut [u8]) -> Result<(), &'static str> {
    const ENDED: &str = "the broker has ended the connection";
    let socket = TcpSocket::connect(stack, place::HOST, PORT, Default::default()).await;
    let mut socket = socket.map_err(|_| "no connection")?;
    socket.set_response_time(Some(RESPONSE_TIME));
    let mut buffer = BumpBuffer::new(received);
    let mut client = Mqtt::new(&mut buffer);
    let will = WillOptions::new(
        topic("mote/status")?,
        MqttBinary::from_slice(b"lost").map_err(|_| ENDED)?,
    );
    let options = ConnectOptions::new()
        .clean_start()
        .will(will.at_least_once())
        .keep_alive(NonZero::new(4).map_or(KeepAlive::Infinite, KeepAlive::Seconds));
    let name = MqttString::from_str("mote").map_err(|_| ENDED)?;
    let transport = Packets { transport: socket, octets: [0; PACKET], len: 0 };
    client.connect(transport, &options, Some(name)).await.map_err(|_| "the broker refuses")?;
    for number in 0..=5 {
        let (name, text) = match number {
            0 => ("mote/status", "here"),
            1 => ("mote/voltage", "21.5"),
            _ => ("mote/temperature", "21.5"),
        };
        let options = PublicationOptions::new(TopicReference::Name(topic(name)?));
        let options = match number {
            0 => options.exactly_once(),
            1 => options,
            _ => options.at_least_once(),
        };
        let sent = client.publish(&options, text.into()).await.map_err(|_| ENDED)?;
        while sent.is_some() {
            if let Event::PublishAcknowledged(_) | Event::PublishComplete(_) =
                client.poll().await.map_err(|_| ENDED)?
            {
                break;
            }
        }
        Timer::after(PERIOD).await;
    }
    client.disconnect(&DisconnectOptions::new()).await.map_err(|_| ENDED)?;
    Ok(())
}

fn topic(name: &str) -> Result<TopicName<'_>, &'static str> {
    let name = MqttString::from_str(name).map_err(|_| "no topic")?;
    TopicName::new(name).ok_or("no topic")
}

/// A transport that sends a packet as a whole: the client writes it in parts, each of which would
/// be a segment.
struct Packets<T> {
    transport: T,
    octets: [u8; PACKET],
    len: usize,
}

impl<T: ErrorType> ErrorType for Packets<T> {
    type Error = T::Error;
}

impl<T: Read> Read for Packets<T> {
    async fn read(&mut self, buf: &mut [u8]) -> Result<usize, T::Error> {
        self.transport.read(buf).await
    }
}

impl<T: Write> Write for Packets<T> {
    async fn write(&mut self, octets: &[u8]) -> Result<usize, T::Error> {
        if self.len == PACKET {
            self.flush().await?;
        }
        let rest = self.octets.get_mut(self.len..).unwrap_or_default();
        let count = rest.iter_mut().zip(octets).map(|(to, from)| *to = *from).count();
        self.len += count;
        Ok(count)
    }

    async fn flush(&mut self) -> Result<(), T::Error> {
        self.transport.write_all(self.octets.get(..self.len).unwrap_or_default()).await?;
        self.len = 0;
        self.transport.flush().await
    }
}

//! The leaf of `mqtt.rs` over TLS 1.3 with a pre-shared key, to Mosquitto.

use super::asleep::{self, radio_on_at_first_and_later, radio_on_until};
use super::cable::{Mosquitto, relay};
use super::mqtt::{self, Cost, RESPONSE_TIME, publish_each_minute, session};
use super::network::{Sockets, network_with_loss, run_until};
use super::retries::MOST_ON;
use embassy_time::Timer;
use embedded_tls::{Aes128GcmSha256, CryptoRng, UnsecureProvider};
use embedded_tls::{TlsConfig, TlsConnection, TlsContext};
use kinglet_embassy::{Records, Retry};
use kinglet_time::Instant;
use minimq::{Connection, Io, Session};
use rand_core_06::{Error, RngCore, impls};
use std::cell::{Cell, RefCell};
use std::net::SocketAddr;
use std::rc::Rc;

const MQTT_OVER_TLS: u16 = 8883;
const NAME: &str = "leaf";
const KEY: &[u8; 16] = b"kinglet firmware";

/// Predictable numbers.
struct Numbers(u64);

impl RngCore for Numbers {
    fn next_u32(&mut self) -> u32 {
        (self.next_u64() >> 32) as u32
    }

    /// Knuth's linear congruential generator.
    fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        self.0
    }

    fn fill_bytes(&mut self, octets: &mut [u8]) {
        impls::fill_bytes_via_next(self, octets);
    }

    fn try_fill_bytes(&mut self, octets: &mut [u8]) -> Result<(), Error> {
        self.fill_bytes(octets);
        Ok(())
    }
}

impl CryptoRng for Numbers {}

/// Buffers of records: one that arrives, the same while it is decrypted, and one that is written.
type Rooms = [[u8; 512]; 3];

/// Opens a connection with the broker. Returns the error of TLS or of MQTT as text.
async fn open<'s, 'b, 'r: 'b>(
    stack: Sockets,
    key: &[u8],
    session: &'s mut Session<'b>,
    [arriving, received, sent]: &'r mut Rooms,
) -> Result<Connection<'s, 'b, impl Io + 'r>, String> {
    let socket = mqtt::connect(stack, MQTT_OVER_TLS).await;
    let records = Records::new(socket, arriving);
    let config = TlsConfig::new().with_psk(key, &[NAME.as_bytes()]);
    let mut tls = TlsConnection::new(records, received, sent);
    let provider = UnsecureProvider::new::<Aes128GcmSha256>(Numbers(1));
    let opened = tls.open(TlsContext::new(&config, provider)).await;
    opened.map_err(|error| format!("{error:?}"))?;
    let expect =
        |now, node: &mut kinglet::Node<_>| node.expect_response(now, 0, now, now + RESPONSE_TIME);
    stack.with(expect).expect("room");
    let connection = session.connect(tls).await;
    stack.with(|now, node| node.withdraw_response(now, 0));
    connection.map_err(|error| error.to_string())
}

async fn publish(stack: Sockets, slowest: Rc<Cell<u64>>) {
    let (mut rx, mut tx, mut rooms) = ([0; 128], [0; 512], [[0; 512]; 3]);
    let mut session = session(&mut rx, &mut tx);
    let connection = open(stack, KEY, &mut session, &mut rooms).await;
    publish_each_minute(connection.expect("a broker"), &slowest).await;
}

/// Opens a connection and publishes until that has succeeded.
async fn publish_once(stack: Sockets, log: Rc<RefCell<Vec<Result<(), String>>>>) {
    let (mut rx, mut tx, mut retry) = ([0; 128], [0; 512], Retry::new());
    loop {
        let mut rooms = [[0; 512]; 3];
        let mut session = session(&mut rx, &mut tx);
        let opened = open(stack, KEY, &mut session, &mut rooms).await.map(|_| ());
        let pause = retry.pause(opened.is_ok());
        log.borrow_mut().push(opened);
        let Some(pause) = pause else { return };
        Timer::after(pause).await;
    }
}

/// The cable gets no answer, and fails, if the broker does not take a message.
fn by_mqtt_over_tls(broker: SocketAddr, seed: u64, loss: f64) -> Cost {
    let (one, mut parent) = asleep::parent_node();
    parent.spawn(relay(one, MQTT_OVER_TLS, Rc::new(Cell::new(broker))));
    let (two, mut leaf) = asleep::leaf_node();
    let slowest = Rc::new(Cell::new(0));
    leaf.spawn(publish(two, Rc::clone(&slowest)));
    let mut world = network_with_loss(seed, vec![parent, leaf], loss);
    let on = radio_on_at_first_and_later(&mut world);
    assert!(slowest.get() > 0, "nothing was acknowledged");
    Cost::of(on, slowest.get())
}

#[test]
fn a_publication_over_tls_costs_the_radio_less_than_twice_a_confirmable_message() {
    let Some(broker) = Mosquitto::start(NAME, KEY) else { return };
    for (loss, most_percent) in [(0.0, 180), (0.1, 145)] {
        let coap = Cost::sum(|seed| mqtt::by_coap(seed, loss));
        let tls = Cost::sum(|seed| by_mqtt_over_tls(broker.address, seed, loss));
        println!("loss {loss}: CoAP {coap:?}, MQTT over TLS {tls:?}");
        // One frame more than CoAP, and 22 octets more of each record than MQTT.
        assert!(tls.later_us * 100 <= coap.later_us * most_percent, "{tls:?}, {coap:?}");
        assert!(tls.slowest_ms < 2_000, "{tls:?}");
    }
}

#[test]
fn a_broker_with_another_key_is_refused_and_tried_rarely() {
    let Some(other) = Mosquitto::start(NAME, b"another 16 octets") else { return };
    let Some(right) = Mosquitto::start(NAME, KEY) else { return };
    let server = Rc::new(Cell::new(other.address));
    let (one, mut parent) = asleep::parent_node();
    parent.spawn(relay(one, MQTT_OVER_TLS, Rc::clone(&server)));
    let (two, mut leaf) = asleep::leaf_node();
    let log = Rc::new(RefCell::new(vec![]));
    leaf.spawn(publish_once(two, Rc::clone(&log)));
    let mut world = network_with_loss(1, vec![parent, leaf], 0.0);
    let on = radio_on_until(&mut world, Instant::from_secs(3_600));
    let attempts = log.borrow().len();
    println!("another key: {attempts} attempts in an hour, radio on for {on:?}");
    assert!((20..=35).contains(&attempts), "{attempts}");
    // The alert of the broker: its key does not verify the binder (RFC 8446, section 4.2.11.2).
    let is_refusal = |it: &Result<(), String>| {
        it.as_ref().is_err_and(|error| error.starts_with("HandshakeAborted(Fatal"))
    };
    assert!(log.borrow().iter().all(is_refusal), "{:?}", log.borrow());
    assert!(on < MOST_ON, "{on:?}");
    server.set(right.address);
    run_until(&mut world, 3_760, || log.borrow().last().is_some_and(|it| it.is_ok()));
    assert_eq!(log.borrow().len(), attempts + 1, "{:?}", log.borrow());
}

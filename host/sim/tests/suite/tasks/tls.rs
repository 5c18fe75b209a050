//! The leaf of `mqtt.rs` over TLS 1.3 with a pre-shared key, to Mosquitto.

use super::asleep::{self, radio_on, radio_on_until};
use super::cable::{Mosquitto, relay};
use super::mqtt::{self, RESPONSE_TIME, publish_each_minute, session};
use super::network::{Sockets, network_with_loss};
use embedded_tls::{Aes128GcmSha256, CryptoRng, UnsecureProvider};
use embedded_tls::{TlsConfig, TlsConnection, TlsContext};
use kinglet_embassy::Records;
use kinglet_time::Instant;
use rand_core_06::{Error, RngCore, impls};
use std::cell::Cell;
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

async fn publish(stack: Sockets, slowest: Rc<Cell<u64>>) {
    let [mut arriving, mut received, mut sent] = [[0; 512]; 3];
    let (mut rx, mut tx) = ([0; 128], [0; 512]);
    let mut session = session(&mut rx, &mut tx);
    let socket = mqtt::connect(stack, MQTT_OVER_TLS).await;
    let records = Records::new(socket, &mut arriving);
    let config = TlsConfig::new().with_psk(KEY, &[NAME.as_bytes()]);
    let mut tls = TlsConnection::new(records, &mut received, &mut sent);
    let provider = UnsecureProvider::new::<Aes128GcmSha256>(Numbers(1));
    tls.open(TlsContext::new(&config, provider)).await.expect("the broker has the key");
    let expect =
        |now, node: &mut kinglet::Node<_>| node.expect_response(now, 0, now, now + RESPONSE_TIME);
    stack.with(expect).expect("room");
    let connection = session.connect(tls).await.expect("a broker");
    stack.with(|now, node| node.withdraw_response(now, 0));
    publish_each_minute(connection, &slowest).await;
}

/// What the leaf costs: time for which its radio is on in the first minute, in which it opens the
/// connection, and later, in microseconds; and the slowest acknowledgement in ms. The cable gets no
/// answer, and fails, if the broker does not take a message.
#[derive(Clone, Copy, Debug, Default)]
struct Cost {
    opening_us: u64,
    later_us: u64,
    slowest_ms: u64,
}

fn by_mqtt_over_tls(broker: SocketAddr, seed: u64, loss: f64) -> Cost {
    let (one, mut parent) = asleep::parent_node();
    parent.spawn(relay(one, MQTT_OVER_TLS, broker));
    let (two, mut leaf) = asleep::leaf_node();
    let slowest = Rc::new(Cell::new(0));
    leaf.spawn(publish(two, Rc::clone(&slowest)));
    let mut world = network_with_loss(seed, vec![parent, leaf], loss);
    let opening = radio_on_until(&mut world, Instant::from_secs(59));
    let later = radio_on(&mut world) - opening;
    assert!(slowest.get() > 0, "nothing was acknowledged");
    Cost { opening_us: opening.as_micros(), later_us: later.as_micros(), slowest_ms: slowest.get() }
}

#[test]
fn a_publication_over_tls_costs_the_radio_less_than_twice_a_confirmable_message() {
    let Some(broker) = Mosquitto::start(NAME, KEY) else { return };
    for (loss, most_percent) in [(0.0, 180), (0.1, 145)] {
        let (mut coap_us, mut sum) = (0, Cost::default());
        for seed in 1..=6 {
            coap_us += mqtt::by_coap(seed, loss).0.as_micros();
            let cost = by_mqtt_over_tls(broker.address, seed, loss);
            sum.opening_us += cost.opening_us;
            sum.later_us += cost.later_us;
            sum.slowest_ms = sum.slowest_ms.max(cost.slowest_ms);
        }
        println!("loss {loss}: CoAP {coap_us} us, MQTT over TLS {sum:?}");
        // One frame more than CoAP, and 22 octets more of each record than MQTT.
        let Cost { later_us, slowest_ms, .. } = sum;
        assert!(later_us * 100 <= coap_us * most_percent, "{later_us} us, {coap_us} by CoAP");
        assert!(slowest_ms < 2_000, "{slowest_ms} ms");
    }
}

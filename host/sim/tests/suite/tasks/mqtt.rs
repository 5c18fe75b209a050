//! A leaf that sleeps reports a value each minute: by MQTT with QoS 1, and by confirmable CoAP.

use super::asleep::{self, PERIOD, ROUNDS, radio_on_at_first_and_later};
use super::network::{Plan, Sockets, address, commissioned, network_with_loss, settings};
use embassy_time::{Instant as Clock, with_deadline};
use embedded_io_async::Read;
use kinglet::{Node, Profile};
use kinglet_apps::App;
use kinglet_apps::coap::Socket;
use kinglet_coap::{CoapConfig, Code, Delivery, Event, PeerEstimate, Reset, Sizes, Slot};
use kinglet_embassy::{Error, TcpListener, TcpSocket};
use kinglet_sim::Station;
use kinglet_time::{Duration, Expected, Instant};
use minimq::{Buffers, ConfigBuilder, Connection, Io, Publication, QoS, Session};
use std::cell::Cell;
use std::rc::Rc;

pub(super) const MQTT: u16 = 1883;
const COAP: u16 = 5683;
/// Time in which the broker answers.
pub(super) const RESPONSE_TIME: Duration = Duration::from_secs(5);
pub(super) const READING: &str = "21.5 degrees";

/// Reads a packet of MQTT; returns its first octet and the rest.
pub(super) async fn read_packet(socket: &mut impl Read<Error = Error>) -> Option<(u8, Vec<u8>)> {
    let mut head = [0; 2];
    socket.read_exact(&mut head).await.ok()?;
    assert!(head[1] < 128, "one octet of length");
    let mut rest = vec![0; head[1].into()];
    socket.read_exact(&mut rest).await.ok()?;
    Some((head[0], rest))
}

/// A broker for one client at a time: it takes connections and what is published (MQTT 5, chapter
/// 3).
pub(super) async fn broker(stack: Sockets, received: Rc<Cell<u32>>) {
    let listener = TcpListener::bind(stack, MQTT, Default::default()).expect("room");
    loop {
        serve(listener.accept().await.0, &received).await;
    }
}

async fn serve(mut socket: TcpSocket<'static, Plan>, received: &Cell<u32>) {
    while let Some((kind, rest)) = read_packet(&mut socket).await {
        let answer = match kind >> 4 {
            1 => vec![0x20, 3, 0, 0, 0],
            3 => {
                assert!(rest.ends_with(READING.as_bytes()));
                received.set(received.get() + 1);
                let id = 2 + usize::from(rest[1]);
                vec![0x40, 2, rest[id], rest[id + 1]]
            }
            12 => vec![0xD0, 0],
            14 => return,
            _ => panic!("packet {kind:x}"),
        };
        socket.write_all(&answer).await.expect("a connection");
    }
}

/// Returns a connection on which responses are expected.
pub(super) async fn connect(stack: Sockets, port: u16) -> TcpSocket<'static, Plan> {
    let socket = TcpSocket::connect(stack, address(1), port, Default::default()).await;
    let mut socket = socket.expect("a connection");
    socket.set_response_time(Some(RESPONSE_TIME));
    socket
}

/// Returns a session without keep-alive.
pub(super) fn session<'a>(rx: &'a mut [u8], tx: &'a mut [u8]) -> Session<'a> {
    let config = ConfigBuilder::new(Buffers::new(rx, tx)).client_id("leaf");
    Session::new(config.expect("a short name").keepalive_interval(0))
}

async fn publish(stack: Sockets, slowest: Rc<Cell<u64>>) {
    let (mut rx, mut tx) = ([0; 128], [0; 512]);
    let mut session = session(&mut rx, &mut tx);
    let connection = session.connect(connect(stack, MQTT).await).await;
    publish_each_minute(connection.expect("a broker"), &slowest).await;
}

/// Publishes each minute, and takes the acknowledgements.
pub(super) async fn publish_each_minute(
    mut connection: Connection<'_, '_, impl Io>,
    slowest: &Cell<u64>,
) {
    for minute in 1.. {
        let next = Clock::from_secs(60 * minute);
        while let Ok(message) = with_deadline(next, connection.poll()).await {
            message.expect("a connection");
            slowest.set(slowest.get().max(Clock::now().as_millis() % 60_000));
        }
        let message = Publication::text("leaf/temperature", READING).qos(QoS::AtLeastOnce);
        connection.publish(message).await.expect("a connection");
    }
}

/// Cost of the leaf: time for which its radio is on in the first minute, in which it opens its
/// connection, and later; and the slowest acknowledgement in ms.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Cost {
    pub(super) opening_us: u64,
    pub(super) later_us: u64,
    pub(super) slowest_ms: u64,
}

impl Cost {
    pub(super) fn of(on: [Duration; 2], slowest_ms: u64) -> Self {
        let [opening_us, later_us] = on.map(|on| on.as_micros());
        Cost { opening_us, later_us, slowest_ms }
    }

    /// The sum of six runs with different seeds.
    pub(super) fn sum(run: impl Fn(u64) -> Cost) -> Cost {
        (1..=6).map(run).fold(Cost::default(), |sum, run| Cost {
            opening_us: sum.opening_us + run.opening_us,
            later_us: sum.later_us + run.later_us,
            slowest_ms: sum.slowest_ms.max(run.slowest_ms),
        })
    }
}

fn by_mqtt(seed: u64, loss: f64) -> Cost {
    let (one, mut parent) = asleep::parent_node();
    let received = Rc::new(Cell::new(0));
    parent.spawn(broker(one, Rc::clone(&received)));
    let (two, mut leaf) = asleep::leaf_node();
    let slowest = Rc::new(Cell::new(0));
    leaf.spawn(publish(two, Rc::clone(&slowest)));
    let mut world = network_with_loss(seed, vec![parent, leaf], loss);
    let on = radio_on_at_first_and_later(&mut world);
    assert!(received.get() >= ROUNDS - 1, "{}", received.get());
    Cost::of(on, slowest.get())
}

struct Lengths;

impl Sizes for Lengths {
    type Message = [u8; 96];
    type Requests<K: Copy + Eq> = [Slot<K, Self::Message>; 1];
    type Served<K: Copy + Eq> = [Slot<K, Self::Message>; 1];
    type Peers<K: Copy + Eq> = [Option<PeerEstimate<K>>; 1];
    type Resets<K: Copy + Eq> = [Option<Reset<K>>; 1];
}

/// An end of the exchange: a client with the time of its next request, or a server.
struct Messages {
    socket: Socket<Lengths>,
    next: Option<Instant>,
    received: u32,
    slowest: u64,
}

impl Messages {
    fn new(port: u16, next: Option<Instant>) -> Box<Self> {
        let socket = Socket::new(port, CoapConfig::new(port.into()));
        Box::new(Messages { socket, next, received: 0, slowest: 0 })
    }
}

impl App for Messages {
    fn poll<P: Profile>(&mut self, now: Instant, node: &mut Node<P>) -> bool {
        if let Some(next) = self.next.as_mut().filter(|next| **next <= now) {
            *next += PERIOD;
            let to = (address(1), COAP);
            let endpoint = self.socket.endpoint();
            let sent = endpoint.request(now, to, Delivery::Confirmable, Code::POST, |request| {
                request.path("leaf")?;
                request.path("temperature")?;
                request.payload(READING.as_bytes())
            });
            sent.expect("the last request was answered");
        }
        let (received, slowest) = (&mut self.received, &mut self.slowest);
        self.socket.poll(now, node, |endpoint, _, event| match event {
            Event::Request { ticket, message } => {
                assert_eq!(message.payload, READING.as_bytes());
                *received += 1;
                endpoint.respond(now, ticket, Code::CHANGED, |_| Ok(())).expect("room");
            }
            Event::Response { .. } => *slowest = (*slowest).max(now.as_millis() % 60_000),
            _ => {}
        })
    }

    fn deadline(&self) -> Option<Instant> {
        kinglet_time::earliest(self.socket.deadline(), self.next)
    }

    fn expected(&self, now: Instant) -> Option<Expected> {
        self.socket.expected(now)
    }
}

pub(super) fn by_coap(seed: u64, loss: f64) -> Cost {
    let [mut one, mut two] = [settings(1), settings(2)];
    asleep::parent(&mut one);
    asleep::leaf(&mut two);
    let [mut one, mut two] = [one, two].map(commissioned);
    one.add_child(2).expect("room");
    two.set_parent(Instant::ZERO, Some(1)).expect("room");
    let nodes = vec![
        Station::new(one, vec![Messages::new(COAP, None)]),
        Station::new(two, vec![Messages::new(0, Some(Instant::ZERO + PERIOD))]),
    ];
    let mut world = network_with_loss(seed, nodes, loss);
    let on = radio_on_at_first_and_later(&mut world);
    let app = |node| world.device(node).app::<Messages>(0).expect("the only one");
    assert!(app(0).received >= ROUNDS - 1, "{}", app(0).received);
    Cost::of(on, app(1).slowest)
}

#[test]
fn a_publication_costs_the_radio_little_more_than_a_confirmable_message() {
    for (loss, most_percent) in [(0.0, 145), (0.1, 125)] {
        let coap = Cost::sum(|seed| by_coap(seed, loss));
        let mqtt = Cost::sum(|seed| by_mqtt(seed, loss));
        println!("loss {loss}: CoAP {coap:?}, MQTT {mqtt:?}");
        // One frame more: the acknowledgement of the broker's response.
        assert!(mqtt.later_us * 100 <= coap.later_us * most_percent, "{mqtt:?}, {coap:?}");
        assert!(mqtt.slowest_ms < 2_000, "{mqtt:?}");
    }
}

//! Echo, sink and source as a client sees them, and what a client does whose server is late.

use core::any::Any;
use kinglet::tcp::{ConnectionConfig, ConnectionError, Handle, ListenConfig, RecvError};
use kinglet::time::{Duration, Instant};
use kinglet::{Node, Profile};
use kinglet_lab::apps::bulk::{BulkSender, BulkSink};
use kinglet_lab::apps::services::PORTS;
use kinglet_lab::apps::{fill, is_intact};
use kinglet_lab::build::{Network, address_of, network};
use kinglet_lab::scenario::{Prefix, Scenario};
use kinglet_sim::App;

/// Sends so many octets of the stream to a port of node 1, ends its side, and reads.
struct Client {
    port: u16,
    /// `None` leaves its side open.
    sends: Option<u64>,
    sent: u64,
    handle: Option<Handle>,
    got: Vec<u8>,
    ended: bool,
    error: Option<ConnectionError>,
}

impl Client {
    fn new(port: u16, sends: Option<u64>) -> Box<Client> {
        let (handle, got, error) = (None, Vec::new(), None);
        Box::new(Client { port, sends, sent: 0, handle, got, ended: false, error })
    }

    fn send<P: Profile>(&mut self, handle: Handle, node: &mut Node<P>) -> bool {
        let Some(sends) = self.sends.filter(|sends| self.sent < *sends) else { return false };
        let mut chunk = [0; 300];
        let len = chunk.len().min((sends - self.sent) as usize);
        fill(self.sent, &mut chunk[..len]);
        let taken = node.streams().send(handle, &chunk[..len]).unwrap_or(0);
        self.sent += taken as u64;
        if self.sent == sends {
            node.streams().close(handle).expect("it is open");
        }
        taken > 0
    }
}

impl<P: Profile> App<P> for Client {
    fn poll(&mut self, now: Instant, node: &mut Node<P>) -> bool {
        let Some(handle) = self.handle else {
            let (to, config) = (address_of(Prefix::DEFAULT, 1), ConnectionConfig::default());
            let config =
                ConnectionConfig { mss: 400, send_buffer: 2000, receive_buffer: 2000, ..config };
            self.handle = node.streams().connect(now, to, self.port, config).ok();
            return self.handle.is_some();
        };
        let mut chunk = [0; 700];
        let read = match node.streams().recv(handle, &mut chunk) {
            Ok(0) => !std::mem::replace(&mut self.ended, true),
            Ok(len) => {
                self.got.extend(&chunk[..len]);
                true
            }
            Err(RecvError::Ended(error)) => {
                let _ = node.streams().close(handle);
                self.error.replace(error).is_none()
            }
            Err(_) => false,
        };
        read | self.send(handle, node)
    }

    fn deadline(&self) -> Option<Instant> {
        self.handle.is_none().then_some(Instant::ZERO)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

fn hop(flows: &str) -> Network {
    let text = format!("[topology]\nline = {{ hops = 1 }}\n{flows}");
    network(&Scenario::from_toml("hop", &text).expect("a scenario"), 1).0
}

const SERVICES: &str = "[[flow]]\nkind = \"services\"\nnode = 1\n";

/// Puts `app` on `node`; its number there.
fn add(
    network: &mut Network,
    node: usize,
    app: Box<dyn App<kinglet_lab::profile::LabProfile>>,
) -> usize {
    network.with_device(node, |station, now| {
        let number = station.add_app(app);
        station.run_apps(now);
        number
    })
}

fn client(network: &Network, number: usize) -> &Client {
    network.device(0).app(number).expect("a client")
}

#[test]
fn an_echo_gives_back_what_a_sink_takes_and_a_source_gives_without_being_asked() {
    let mut network = hop(SERVICES);
    network.run_until(Instant::from_secs(1));
    let [echo, sink, source] = PORTS
        .map(|(port, _)| Client::new(port, Some(5_000)))
        .map(|client| add(&mut network, 0, client));
    network.run_until(Instant::from_secs(20));
    let echo = client(&network, echo);
    assert!(echo.ended && echo.error.is_none(), "the echo ends when its peer has ended");
    assert!(echo.got.len() == 5_000 && is_intact(0, &echo.got), "{}", echo.got.len());
    let sink = client(&network, sink);
    assert!(sink.ended && sink.sent == 5_000 && sink.got.is_empty(), "{}", sink.sent);
    let source = client(&network, source);
    assert!(source.got.len() > 10_000 && is_intact(0, &source.got), "{}", source.got.len());
    assert!(!source.ended && source.error.is_none());
}

#[test]
fn connections_on_which_nothing_moves_make_room_for_others() {
    let mut network = hop(SERVICES);
    network.run_until(Instant::from_secs(1));
    // As many as a mote has, and one more.
    let idle: Vec<_> = (0..12).map(|_| add(&mut network, 0, Client::new(7, None))).collect();
    network.run_until(Instant::from_secs(50));
    assert!(idle.iter().all(|idle| client(&network, *idle).error.is_none()), "a minute of grace");
    network.run_until(Instant::from_secs(300));
    for idle in idle {
        assert_eq!(client(&network, idle).error, Some(ConnectionError::Reset));
    }
    let last = network.with_device(0, |station, _| station.add_app(Client::new(7, Some(5_000))));
    network.run_until(Instant::from_secs(310));
    let last = client(&network, last);
    assert_eq!(last.got.len(), 5_000);
}

#[test]
fn a_transfer_whose_receiver_is_late_begins_when_it_listens_and_asks_rarely_until_then() {
    let mut network = hop(SERVICES);
    let config = ConnectionConfig { mss: 400, send_buffer: 2000, ..ConnectionConfig::default() };
    let to = (address_of(Prefix::DEFAULT, 1), 6_000);
    let sender = Box::new(BulkSender::new(to, Instant::ZERO, Some(10_000), config));
    let sender = add(&mut network, 0, sender);
    network.run_until(Instant::from_secs(100));
    let refused = network.device(1).node().tcp().stats().received;
    // After 1, 2, 4, 8, 16, 32 seconds.
    assert!((6..=8).contains(&refused), "{refused} attempts in 100 s");
    let connection = ConnectionConfig { mss: 400, receive_buffer: 2000, ..config };
    let listen = ListenConfig { connection, ..ListenConfig::default() };
    let sink = add(&mut network, 1, Box::new(BulkSink::new(6_000, listen)));
    network.run_until(Instant::from_secs(100) + Duration::from_secs(70));
    let sink: &BulkSink = network.device(1).app(sink).expect("a sink");
    assert!(sink.finished() && sink.intact() && sink.received() == 10_000, "{}", sink.received());
    let sender: &BulkSender = network.device(0).app(sender).expect("a sender");
    assert!(!sender.failed());
}

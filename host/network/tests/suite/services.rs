//! Echo, sink and source as a client sees them, and the behaviour of a client whose server is late.

use crate::talk::{Client, add, client, hop};
use kinglet::tcp::{ConnectionConfig, ConnectionError, ListenConfig};
use kinglet::time::{Duration, Instant};
use kinglet_apps::{is_intact, pattern};
use kinglet_network::apps::bulk::{BulkSender, BulkSink};
use kinglet_network::apps::tcp::OnOwn;
use kinglet_scenario::{Addressing, SERVICE_PORTS};

const SERVICES: &str = "[[flow]]\nkind = \"services\"\nnode = 1\n";

#[test]
fn an_echo_gives_back_what_a_sink_takes_and_a_source_gives_without_being_asked() {
    let mut network = hop(SERVICES);
    network.run_until(Instant::from_secs(1));
    let stream: Vec<u8> = (0..5_000).map(pattern).collect();
    let [echo, sink, source] = SERVICE_PORTS
        .map(|(port, _)| Client::new(port, &stream, true))
        .map(|client| add(&mut network, 0, client));
    network.run_until(Instant::from_secs(20));
    let echo = client(&network, echo);
    assert!(echo.ended && echo.error.is_none(), "the echo ends when its peer has ended");
    assert!(echo.heard == stream, "{}", echo.heard.len());
    let sink = client(&network, sink);
    assert!(sink.ended && sink.said == 5_000 && sink.heard.is_empty(), "{}", sink.said);
    let source = client(&network, source);
    assert!(source.heard.len() > 10_000 && is_intact(0, &source.heard), "{}", source.heard.len());
    assert!(!source.ended && source.error.is_none());
}

#[test]
fn connections_on_which_nothing_moves_make_room_for_others() {
    let mut network = hop(SERVICES);
    network.run_until(Instant::from_secs(1));
    // The number of connections of a mote, plus one.
    let idle: Vec<_> = (0..12).map(|_| add(&mut network, 0, Client::new(7, b"", false))).collect();
    network.run_until(Instant::from_secs(50));
    assert!(idle.iter().all(|idle| client(&network, *idle).error.is_none()), "a minute of grace");
    network.run_until(Instant::from_secs(300));
    for idle in idle {
        assert_eq!(client(&network, idle).error, Some(ConnectionError::Reset));
    }
    let last =
        network.with_device(0, |station, _| station.add_app(Client::new(7, &[1; 5_000], true)));
    network.run_until(Instant::from_secs(310));
    let last = client(&network, last);
    assert_eq!(last.heard.len(), 5_000);
}

#[test]
fn an_idle_connection_stays_while_there_are_places_for_others() {
    let mut network = hop(SERVICES);
    network.run_until(Instant::from_secs(1));
    let idle = add(&mut network, 0, Client::new(7, b"", false));
    network.run_until(Instant::from_secs(30));
    let other =
        network.with_device(0, |station, _| station.add_app(Client::new(7, &[1; 5_000], true)));
    network.run_until(Instant::from_secs(45));
    assert_eq!(client(&network, other).heard.len(), 5_000);
    assert_eq!(client(&network, idle).error, None);
}

#[test]
fn a_transfer_whose_receiver_is_late_begins_when_it_listens_and_asks_rarely_until_then() {
    let mut network = hop(SERVICES);
    let config = ConnectionConfig { mss: 400, send_buffer: 2000, ..ConnectionConfig::default() };
    let to = (Addressing::DEFAULT.address(1), 6_000);
    let sender = Box::new(OnOwn(BulkSender::new(to, Instant::ZERO, Some(10_000), config)));
    let sender = add(&mut network, 0, sender);
    network.run_until(Instant::from_secs(100));
    let refused = network.device(1).node().tcp().stats().received;
    // Attempts after 1, 2, 4, 8, 16, 32 seconds.
    assert!((6..=8).contains(&refused), "{refused} attempts in 100 s");
    let connection = ConnectionConfig { mss: 400, receive_buffer: 2000, ..config };
    let listen = ListenConfig { connection, ..ListenConfig::default() };
    let sink = add(&mut network, 1, Box::new(OnOwn(BulkSink::new(6_000, listen))));
    network.run_until(Instant::from_secs(100) + Duration::from_secs(70));
    let sink: &BulkSink = network.device(1).app(sink).expect("a sink");
    assert!(sink.finished() && sink.intact() && sink.received() == 10_000, "{}", sink.received());
    let sender: &BulkSender = network.device(0).app(sender).expect("a sender");
    assert_eq!(sender.error(), None);
}

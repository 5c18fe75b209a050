//! Responses of a mote's web server to requests as real clients and other senders make them, and
//! the behaviour of a client whose server is missing.

use crate::talk::{Client, add, client, hop, line};
use kinglet::tcp::{ConnectionConfig, ConnectionError};
use kinglet::time::{Duration, Instant};
use kinglet_network::apps::http_client::{HttpClient, Requests};
use kinglet_network::apps::tcp::OnOwn;
use kinglet_network::build::Network;
use kinglet_scenario::Addressing;
use kinglet_sim::rng::{Purpose, stream};

const SERVER: &str = "[[flow]]\nkind = \"http-server\"\nnode = 1\n";

fn server() -> Network {
    let mut network = hop(SERVER);
    network.run_until(Instant::from_secs(1));
    network
}

/// The response of the server to `request` within ten seconds, and true if it has closed the
/// connection.
fn answer(request: &str) -> (String, bool) {
    let mut network = server();
    let number = add(&mut network, 0, Client::new(80, request.as_bytes(), false));
    network.run_until(Instant::from_secs(11));
    let client = client(&network, number);
    (String::from_utf8_lossy(&client.heard).into_owned(), client.ended)
}

#[test]
fn requests_before_the_answer_to_the_one_before_are_all_answered_in_order() {
    let one = |len: u32| format!("GET /bytes/{len} HTTP/1.1\r\nHost: m\r\n\r\n");
    let all: String = (1..=90).map(one).collect();
    let (text, ended) = answer(&all);
    let lengths = text.split("Content-Length: ").skip(1);
    let lengths: Vec<u32> = lengths
        .map(|rest| rest.split('\r').next().and_then(|len| len.parse().ok()).expect("a length"))
        .collect();
    assert_eq!(lengths, (1..=90).collect::<Vec<_>>());
    assert!(!ended, "the connection stays");
}

#[test]
fn requests_are_answered_or_refused_as_the_standard_says() {
    let get = |target: &str| format!("GET {target} HTTP/1.1\r\nHost: m\r\n\r\n");
    let put = |fields: &str| format!("PUT /upload HTTP/1.1\r\nHost: m\r\n{fields}\r\nabcde");
    let with = |method: &str, path: &str| format!("{method} {path} HTTP/1.1\r\nHost: m\r\n\r\n");
    for (request, status, part, ends) in [
        (get("/bytes/3?x=y"), "200 OK", "Content-Length: 3\r\n", false),
        (get("http://mote:80/bytes/3"), "200 OK", "Content-Length: 3\r\n", false),
        (get("http://mote"), "200 OK", "<h1>Mote 1</h1>", false),
        (get("/bytes/+3"), "404 Not Found", "", false),
        ("GET / HTTP/1.1\nHost: m\n\n".to_owned(), "200 OK", "<h1>Mote 1</h1>", false),
        ("GET / HTTP/1.0\n\n".to_owned(), "200 OK", "<h1>Mote 1</h1>", true),
        (put("Content-Length: 5\r\n"), "200 OK", "5 36bbe50ed96841d10443bcb670d6554f", true),
        (put("Content-Length: +5\r\n"), "400 Bad Request", "", true),
        (put("Content-Length: 5\r\nContent-Length: 3\r\n"), "400 Bad Request", "", true),
        (with("DELETE", "/"), "405 Method Not Allowed", "\r\nAllow: GET, HEAD\r\n", true),
        (with("PUT", "/bytes/3"), "405 Method Not Allowed", "\r\nAllow: GET, HEAD\r\n", true),
        (with("GET", "/upload"), "405 Method Not Allowed", "\r\nAllow: PUT, POST\r\n", true),
        (with("PUT", "/other"), "404 Not Found", "", false),
    ] {
        let (text, ended) = answer(&request);
        assert!(text.starts_with(&format!("HTTP/1.1 {status}\r\n")), "{request}: {text}");
        assert!(text.contains(part) && ended == ends, "{request}: {text}, ended: {ended}");
    }
    // An unexpected body is not the next request.
    let (text, ended) = answer("GET / HTTP/1.1\r\nHost: m\r\nContent-Length: 5\r\n\r\nabcde");
    assert!(ended && text.matches("HTTP/1.1 ").count() == 1, "{text}");
}

#[test]
fn twelve_that_ask_for_nothing_do_not_keep_a_server_from_the_thirteenth() {
    let mut network = line(2, &format!("{SERVER}[[flow]]\nkind = \"services\"\nnode = 2\n"));
    network.run_until(Instant::from_secs(1));
    let idle: Vec<_> = (0..12u32)
        .map(|number| {
            let begun: &[u8] = if number % 2 == 0 { b"" } else { b"GET / HT" };
            add(&mut network, 0, Client::new(80, begun, false))
        })
        .collect();
    network.run_until(Instant::from_secs(50));
    assert!(idle.iter().all(|idle| !client(&network, *idle).ended), "a minute of grace");
    network.run_until(Instant::from_secs(200));
    for idle in idle {
        let idle = client(&network, idle);
        assert!(idle.ended || idle.error == Some(ConnectionError::Reset));
    }
    // These clients never close.
    let request = b"GET / HTTP/1.1\r\nHost: m\r\n\r\n";
    let number = add(&mut network, 2, Client::new(80, request, false));
    network.run_until(Instant::from_secs(210));
    let thirteenth: &Client = network.device(2).app(number).expect("a client");
    assert!(thirteenth.heard.starts_with(b"HTTP/1.1 200 OK"), "{:?}", thirteenth.error);
}

#[test]
fn a_client_whose_server_is_not_there_asks_rarely_however_short_its_pauses_are() {
    let mut network = hop("[[flow]]\nkind = \"services\"\nnode = 1\n");
    let requests = Requests {
        to: (Addressing::DEFAULT.address(1), 80),
        start: Instant::ZERO,
        bytes: 10,
        pause: Duration::from_millis(1),
        config: ConnectionConfig { mss: 400, send_buffer: 500, ..ConnectionConfig::default() },
    };
    let app = Box::new(OnOwn(HttpClient::new(requests, stream(1, 0, Purpose::Application))));
    let number = add(&mut network, 0, app);
    network.run_until(Instant::from_secs(100));
    let app: &HttpClient = network.device(0).app(number).expect("a client");
    // Attempts after 1, 2, 4, 8, 16, 32 seconds.
    assert!((6..=8).contains(&app.failed()), "{} attempts in 100 s", app.failed());
}

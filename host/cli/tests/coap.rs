//! The gateway against libcoap, in a separate network namespace: its client sends requests to motes
//! one and three hops away, with blocks in both directions, and a mote's client uploads to its
//! server.

mod common;
use common::*;
use kinglet_testkit::namespace::in_namespace;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

const CLIENT: &str = "coap-client-notls";
const SERVER: &str = "coap-server-notls";
/// Address of this machine in the mesh.
const HOST: &str = "fd6b:696e:676c:7401::1";
/// Octets that the mote uploads.
const UPLOADED: usize = 3_000;

/// A mote that uploads to this machine, which is node 4 of the scenario.
const UPLOADER: &str = r#"
[[flow]]
kind = "coap-client"
from = 2
to = 4
method = "put"
bytes = 3000
block_bytes = 256
pause_ms = 2000
"#;

#[test]
fn libcoap_talks_to_motes_and_motes_to_libcoap() {
    // It prints its usage and fails; only its presence matters.
    let tools = [("kill", "-l"), ("which", CLIENT), ("which", SERVER)];
    in_namespace("libcoap_talks_to_motes_and_motes_to_libcoap", &tools, talk);
}

fn talk() {
    run(Command::new("ip").args(["link", "set", "lo", "up"]));
    let scenario = std::fs::read_to_string(example()).unwrap() + UPLOADER;
    let scenario = Scratch::new(scenario.as_bytes());
    let gateway = Gateway::start(&scenario.0);
    let command = format!("coap-client 'coap://[{ONE_HOP}]/'");
    assert!(gateway.announcement.contains(&command), "what to try: {}", gateway.announcement);
    let _server = Server::start();
    step("texts", || {
        for (mote, name) in [(ONE_HOP, "Mote 1"), (THREE_HOPS, "Mote 3")] {
            let text = String::from_utf8(client(mote, "/", &[])).unwrap();
            assert!(text.starts_with(&format!("{name}, up for ")), "{text}");
        }
        let links = String::from_utf8(client(ONE_HOP, "/.well-known/core", &[])).unwrap();
        assert!(links.contains("</upload>"), "{links}");
    });
    step("what is refused", || {
        let accept = Command::new(CLIENT)
            .args(["-B", "10", "-A", "50", &format!("coap://[{ONE_HOP}]/sensor")])
            .output()
            .expect("libcoap's client starts");
        let said = String::from_utf8(accept.stderr).unwrap();
        assert!(said.contains("4.06 not in this format"), "{said}");
    });
    step("what is observed", || {
        // The first response, and one in the next ten seconds.
        let heard = String::from_utf8(client(THREE_HOPS, "/sensor", &["-s", "14"])).unwrap();
        let readings: Vec<&str> = heard.split_inclusive("degrees").collect();
        assert!(readings.len() >= 2 && readings[0] != readings[1], "{heard}");
    });
    for (mote, octets, block) in
        [(ONE_HOP, 51_200, "512"), (THREE_HOPS, 10_000, "256"), (ONE_HOP, 5_000, "1024")]
    {
        step(&format!("{octets} octets in blocks of {block}"), || {
            let body = client(mote, &format!("/bytes/{octets}"), &["-b", block]);
            assert_eq!(hash(&body), hash(&pattern(octets)), "{} octets", body.len());
        });
    }
    for mote in [ONE_HOP, THREE_HOPS] {
        step("an upload", || upload(mote));
    }
    step("a mote's upload", || {
        let patience = Instant::now() + Duration::from_secs(60);
        while client(HOST, "/upload", &[]) != pattern(UPLOADED) {
            assert!(Instant::now() < patience, "the mote has uploaded by now");
            thread::sleep(Duration::from_millis(200));
        }
    });
    let (status, rest) = gateway.interrupt();
    assert_eq!(status.code(), Some(0), "{rest}");
}

fn pattern(octets: usize) -> Vec<u8> {
    (0..octets).map(|i| (i % 251) as u8).collect()
}

/// The body of a response. libcoap reports errors on standard error only.
fn client(mote: &str, path: &str, more: &[&str]) -> Vec<u8> {
    let mut command = Command::new(CLIENT);
    command.args(["-B", "60"]).args(more).args(["-o", "-"]).arg(format!("coap://[{mote}]{path}"));
    run(&mut command).stdout
}

fn upload(mote: &str) {
    // Not periodic, unlike the pattern of downloads.
    let octets: Vec<u8> = (0..5_000u64).map(|i| ((i * i / 7) >> 3) as u8).collect();
    let file = Scratch::new(&octets);
    let reply =
        client(mote, "/upload", &["-m", "put", "-b", "512", "-f", file.0.to_str().unwrap()]);
    assert_eq!(String::from_utf8(reply).unwrap().trim(), format!("5000 {}", hash(&octets)));
}

/// libcoap's example server, in which a PUT creates a resource.
struct Server(Child);

impl Server {
    fn start() -> Self {
        let mut command = Command::new(SERVER);
        command.args(["-A", HOST, "-d", "10"]).stdin(Stdio::null());
        Server(command.spawn().expect("libcoap's server starts"))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

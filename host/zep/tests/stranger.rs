//! A node with a peer that imitates RIOT's native board on the wire, octet by octet, and shares no
//! code with the stack; and two nodes with each other.

#![allow(missing_docs, reason = "a test program")]

use kinglet_zep::console::Report;
use kinglet_zep::mote::{Ends, Mote};
use kinglet_zep::settings::Settings;
use std::io::Cursor;
use std::net::{SocketAddr, UdpSocket};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

const NODE: &str = "02:12:4b:00:00:00:00:0a";
const NODE_EUI: [u8; 8] = [0x02, 0x12, 0x4b, 0, 0, 0, 0, 0x0a];
const PEER_EUI: [u8; 8] = [0x9e, 0xe1, 0x9f, 0x02, 0x01, 0x5a, 0xf2, 0x03];
const PAN: u16 = 0x0023;
/// Longest time for something that must arrive, on a busy machine.
const LONG: Duration = Duration::from_secs(10);
/// Waiting time for something that must not arrive.
const SHORT: Duration = Duration::from_millis(100);

fn free() -> SocketAddr {
    UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap()
}

fn settings(extended: &str) -> Settings {
    toml::from_str(&format!("extended = \"{extended}\"\nack_wait_ms = 20")).unwrap()
}

/// Runs a node on a thread and returns its reports. It ends with the program.
fn run(settings: Settings, ends: Ends, lines: &'static str) -> Receiver<Report> {
    let mut mote = Mote::new(&settings, ends).unwrap();
    mote.listen_to(Cursor::new(lines)).unwrap();
    let (say, said) = channel();
    thread::spawn(move || mote.run(&mut |report| drop(say.send(report))));
    said
}

struct Peer(UdpSocket);

impl Peer {
    fn with_a_node() -> Peer {
        let (mine, node) = (free(), free());
        let socket = UdpSocket::bind(mine).unwrap();
        socket.connect(node).unwrap();
        // Its reports are not needed.
        drop(run(settings(NODE), Ends { local: node, remote: mine }, ""));
        let peer = Peer(socket);
        let greeting = peer.psdu(LONG).expect("a dispatcher must hear of the node");
        assert_eq!(greeting.len(), 5, "an acknowledgement that nobody awaits");
        peer
    }

    fn put(&self, header: [u8; 5], psdu: &[u8]) {
        let mut octets = header.to_vec();
        octets.extend([0x12, 0x34, 1, 255]);
        octets.extend([0; 22]);
        octets.push(psdu.len() as u8);
        octets.extend(psdu);
        self.0.send(&octets).unwrap();
    }

    fn send(&self, frame: &[u8]) {
        self.put([b'E', b'X', 2, 1, 26], &with_fcs(frame));
    }

    /// Returns the next PSDU.
    fn psdu(&self, patience: Duration) -> Option<Vec<u8>> {
        self.0.set_read_timeout(Some(patience)).unwrap();
        let mut octets = [0; 200];
        let len = self.0.recv(&mut octets).ok()?;
        assert_eq!(octets[..5], [b'E', b'X', 2, 1, 26]);
        assert_eq!(usize::from(octets[31]), len - 32);
        Some(octets[32..len].to_vec())
    }

    fn acknowledge(&self, sequence: u8) {
        self.send(&[0x02, 0x00, sequence]);
    }
}

fn with_fcs(frame: &[u8]) -> Vec<u8> {
    let mut crc = 0u16;
    for octet in frame {
        crc ^= u16::from(*octet);
        for _ in 0..8 {
            crc = (crc >> 1) ^ if crc & 1 == 1 { 0x8408 } else { 0 };
        }
    }
    [frame, &crc.to_le_bytes()].concat()
}

/// Returns a data frame with long addresses that requests an acknowledgement: FCF 0xdc61.
fn data(sequence: u8, pan: u16, dst: [u8; 8], payload: &[u8]) -> Vec<u8> {
    let mut frame = vec![0x61, 0xdc, sequence];
    frame.extend(pan.to_le_bytes());
    frame.extend(dst.iter().rev());
    frame.extend(PEER_EUI.iter().rev());
    frame.extend(payload);
    frame
}

fn link_local(eui: [u8; 8]) -> [u8; 16] {
    let mut address = [0; 16];
    address[..2].copy_from_slice(&[0xfe, 0x80]);
    address[8..].copy_from_slice(&eui);
    address[8] ^= 2;
    address
}

/// Returns an echo request with an uncompressed IPv6 header (dispatch 0x41).
fn echo_request(text: &[u8]) -> Vec<u8> {
    let (src, dst) = (link_local(PEER_EUI), link_local(NODE_EUI));
    let mut icmp = [&[128, 0, 0, 0, 0x47, 0x11, 0, 9], text].concat();
    let len = icmp.len() as u16;
    let pseudo = [&src[..], &dst, &[0, 0], &len.to_be_bytes(), &[0, 0, 0, 58], &icmp].concat();
    let sum: u32 = pseudo
        .chunks(2)
        .map(|pair| u32::from(pair[0]) << 8 | u32::from(*pair.get(1).unwrap_or(&0)))
        .sum();
    let folded = (sum & 0xffff) + (sum >> 16);
    let checksum = !(((folded & 0xffff) + (folded >> 16)) as u16);
    icmp[2..4].copy_from_slice(&checksum.to_be_bytes());
    let header = [&[0x60, 0, 0, 0][..], &len.to_be_bytes(), &[58, 255], &src, &dst].concat();
    [&[0x41], &header[..], &icmp].concat()
}

#[test]
fn a_stranger_is_acknowledged_and_answered() {
    let peer = Peer::with_a_node();
    peer.send(&data(7, PAN, NODE_EUI, &echo_request(b"are you up?")));
    assert_eq!(peer.psdu(LONG), Some(with_fcs(&[0x02, 0x00, 7])), "before all else");
    let reply = peer.psdu(LONG).unwrap();
    assert_eq!(reply, with_fcs(&reply[..reply.len() - 2]));
    assert_eq!(reply[0] & 0x27, 0x21, "data that asks for an acknowledgement");
    let tail = [&[0x47, 0x11, 0, 9], &b"are you up?"[..]].concat();
    let (icmp, rest) = reply[..reply.len() - 2].split_at(reply.len() - 2 - tail.len() - 4);
    assert_eq!((rest[0], &rest[4..]), (129, &tail[..]), "{icmp:?}");
    peer.acknowledge(reply[2]);
    assert_eq!(peer.psdu(SHORT), None, "it is content");
}

#[test]
fn a_frame_without_acknowledgement_comes_again() {
    let peer = Peer::with_a_node();
    peer.send(&data(7, PAN, NODE_EUI, &echo_request(b"are you up?")));
    peer.psdu(LONG).unwrap();
    let reply = peer.psdu(LONG).unwrap();
    peer.acknowledge(reply[2].wrapping_add(1));
    assert_eq!(peer.psdu(LONG), Some(reply.clone()));
    // Another process answers when it can: after 5 ms of 20.
    thread::sleep(Duration::from_millis(5));
    peer.acknowledge(reply[2]);
    assert_eq!(peer.psdu(SHORT), None);
}

#[test]
fn damaged_frames_and_frames_for_others_are_not_acknowledged() {
    let peer = Peer::with_a_node();
    let good = data(7, PAN, NODE_EUI, &echo_request(b"are you up?"));
    let psdu = with_fcs(&good);
    peer.send(&data(7, PAN + 1, NODE_EUI, &[0x41]));
    peer.send(&data(7, PAN, PEER_EUI, &[0x41]));
    peer.put([b'E', b'X', 2, 1, 25], &psdu);
    peer.put([b'E', b'X', 1, 1, 26], &psdu);
    peer.put([b'E', b'X', 2, 255, 26], &psdu);
    peer.put([b'E', b'X', 2, 1, 26], &good);
    peer.0.send(&[0; 3]).unwrap();
    assert_eq!(peer.psdu(SHORT), None);
    peer.send(&good);
    assert_eq!(peer.psdu(LONG), Some(with_fcs(&[0x02, 0x00, 7])));
}

#[test]
fn two_nodes_speak_tcp() {
    let (a, b) = (free(), free());
    let _first = run(settings(NODE), Ends { local: a, remote: b }, "");
    let lines = "ping fe80::12:4b00:0:a 1\ntcp fe80::12:4b00:0:a 7 hello there\nsend \
                 fe80::12:4b00:0:a 9 20000\nudp fe80::12:4b00:0:a 7 hey\npong\n";
    let said = run(settings("02:12:4b:00:00:00:00:0b"), Ends { local: b, remote: a }, lines);
    let from: std::net::Ipv6Addr = "fe80::12:4b00:0:a".parse().unwrap();
    let (mut replies, mut text, mut closed, mut datagrams) = (0, String::new(), Vec::new(), 0);
    while replies == 0 || closed.len() < 2 || datagrams == 0 {
        match said.recv_timeout(LONG).expect("it says more") {
            Report::EchoReply { from: who, seq: 1, .. } if who == from => replies += 1,
            Report::Received { text: more } => text += &more,
            Report::Closed { sent, received, error, .. } => closed.push((sent, received, error)),
            Report::Datagram { text, .. } if text == "hey" => datagrams += 1,
            Report::Failed { why } => assert!(why.starts_with("\"pong\" is not a command")),
            Report::Pinged { .. } => {}
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(text, "hello there\n");
    closed.sort();
    assert_eq!(closed, [(12, 12, None), (20_000, 0, None)]);
}

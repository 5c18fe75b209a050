//! A node with a peer that imitates RIOT's native board on the wire, octet by octet, and shares no
//! code with the stack; and two nodes with each other.

#![allow(missing_docs, reason = "a test program")]

use kinglet_zep::air::Ends;
use kinglet_zep::console::{EndReason, Report};
use kinglet_zep::mote::Mote;
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
        // Its reports are not needed.
        Peer::with_a_node_that_reports("").0
    }

    /// The same with a node that has these commands.
    fn with_a_node_that_reports(lines: &'static str) -> (Peer, Receiver<Report>) {
        let (mine, node) = (free(), free());
        let socket = UdpSocket::bind(mine).unwrap();
        socket.connect(node).unwrap();
        let said = run(settings(NODE), Ends { local: Some(node), remote: mine }, lines);
        let peer = Peer(socket);
        let greeting = peer.psdu(LONG).expect("a dispatcher must hear of the node");
        assert_eq!(greeting.len(), 5, "an acknowledgement that nobody awaits");
        (peer, said)
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
    echo(&[128, 0, 0, 0, 0x47, 0x11, 0, 9], text)
}

/// Returns the same with this ICMPv6 header, except for the checksum.
fn echo(header: &[u8; 8], text: &[u8]) -> Vec<u8> {
    let (src, dst) = (link_local(PEER_EUI), link_local(NODE_EUI));
    let mut icmp = [header, text].concat();
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
fn each_request_counts_one_reply_and_duplicates_are_shown_apart() {
    let (peer, said) = Peer::with_a_node_that_reports("ping fe80::9ce1:9f02:15a:f203 3\n");
    let mut number = 0;
    let mut reply = |seq: u8| {
        number += 1;
        let echo = echo(&[129, 0, 0, 0, 0, 1, 0, seq], b"Kinglet asks whether you are up.");
        peer.send(&data(number, PAN, NODE_EUI, &echo));
    };
    let mut requests = 0;
    while requests < 3 {
        let psdu = peer.psdu(LONG).expect("a request");
        // Not acknowledgements of the replies.
        if psdu.len() > 5 {
            peer.acknowledge(psdu[2]);
            requests += 1;
            match requests {
                1 => (0..3).for_each(|_| reply(1)),
                // The second reply is late.
                2 => {}
                _ => [2, 3].into_iter().for_each(&mut reply),
            }
        }
    }
    let (mut replies, mut late) = (Vec::new(), false);
    let end = loop {
        match said.recv_timeout(LONG).expect("it says more") {
            Report::EchoReply { seq, duplicate, ms, .. } => {
                assert!(ms >= 900.0 || seq != 2, "the time since its own request: {ms} ms");
                replies.push((seq, duplicate));
            }
            Report::NoReply { seq: 2, .. } => late = true,
            Report::NoReply { .. } => {}
            end => break end,
        }
    };
    assert_eq!(replies, [(1, false), (1, true), (1, true), (2, false), (3, false)]);
    assert!(late, "the second reply was missed when it was due");
    let summary = end.to_string();
    assert!(summary.ends_with(": 3 sent, 3 answered, 2 duplicates"), "{summary}");
}

/// Runs the commands at a node that has another one as its neighbour. Returns as many reports as
/// `wanted` selects.
fn reports(lines: &'static str, count: usize, wanted: fn(&Report) -> bool) -> Vec<Report> {
    let (a, b) = (free(), free());
    let _first = run(settings(NODE), Ends { local: Some(a), remote: b }, "");
    let ends = Ends { local: Some(b), remote: a };
    let said = run(settings("02:12:4b:00:00:00:00:0b"), ends, lines);
    let next = || said.recv_timeout(LONG).expect("it says more");
    std::iter::repeat_with(next).filter(wanted).take(count).collect()
}

#[test]
fn a_port_without_a_listener_is_named_with_those_that_have_one() {
    let lines = "tcp fe80::12:4b00:0:a 77 hello\nsend fe80::12:4b00:0:a 78 100\n";
    let closed = reports(lines, 2, |it| matches!(it, Report::Closed { .. }));
    for port in [77, 78] {
        let is_it =
            |it: &&Report| it.to_string().starts_with(&format!("[fe80::12:4b00:0:a]:{port}"));
        let text = closed.iter().find(is_it).expect("a report of each").to_string();
        assert!(text.contains("refused: no program listens on that port"), "{text}");
        assert!(text.contains("7, 9 and 19"), "{text}");
    }
    let Report::Closed { error, .. } = closed[0] else { panic!("{closed:?}") };
    assert_eq!(error, Some(EndReason::Refused));
}

#[test]
fn a_destination_that_cannot_be_reached_is_named_with_what_is_missing() {
    let lines = "tcp 2001:db8::1 7 hello\nsend 2001:db8::1 9 10\nudp 2001:db8::1 7 hello\n\
                 ping 2001:db8::1\ntcp ff02::1 7 hello\ntcp fe80::12:4b00:0:a 0 hello\n";
    let failed = reports(lines, 6, |it| matches!(it, Report::Failed { .. }));
    let texts: Vec<_> = failed.iter().map(Report::to_string).collect();
    for (text, command) in texts.iter().zip(["tcp", "send", "udp"]) {
        assert!(text.starts_with(&format!("{command}: ")), "{text}");
        assert!(text.contains("no address of this node can reach 2001:db8::1"), "{text}");
        assert!(text.contains("give it one in `addresses`"), "{text}");
    }
    assert!(texts[3..].iter().any(|text| text.contains("[ff02::1]:7 is no end of")), "{texts:?}");
    assert!(texts[3..].iter().any(|text| text.contains(":0 is no end of")), "{texts:?}");
    assert!(texts[3..].iter().any(|text| text.starts_with("ping: ")), "{texts:?}");
}

#[test]
fn a_connection_without_response_is_reported_while_it_waits() {
    for lines in ["tcp fe80::12:4b00:0:99 7 hello\n", "send fe80::12:4b00:0:99 7 10\n"] {
        let waiting = reports(lines, 1, |it| matches!(it, Report::Progress { .. }));
        let Report::Progress { opened: false, seconds, .. } = waiting[0] else {
            panic!("{waiting:?}")
        };
        assert!((2.0..10.0).contains(&seconds), "{waiting:?}");
        let text = waiting[0].to_string();
        assert!(text.starts_with("[fe80::12:4b00:0:99]:7: no response for "), "{text}");
    }
}

#[test]
fn a_connection_over_a_dead_link_is_reported_with_that_reason() {
    let lines = "tcp fe80::12:4b00:0:99 7 hello\n";
    let is_it = |it: &Report| matches!(it, Report::Progress { trouble: Some(_), .. });
    let text = reports(lines, 1, is_it)[0].to_string();
    assert!(text.ends_with("; the next hop acknowledges no frames"), "{text}");
}

#[test]
fn a_link_without_a_given_port_has_the_one_that_the_system_chose() {
    for remote in ["127.0.0.1:9", "[::1]:9"] {
        let ends = Ends { local: None, remote: remote.parse().unwrap() };
        let local = Mote::new(&settings(NODE), ends).unwrap().local().expect("it is bound");
        assert!(local.ip().is_loopback() && local.port() != 0, "{local}");
    }
}

#[test]
fn state_that_is_unknown_is_absent() {
    let (_peer, said) = Peer::with_a_node_that_reports("neighbours\nrpl\n");
    let mut reports = said.iter();
    let Some(Report::Neighbours { router: None, neighbours, .. }) = reports.next() else {
        panic!("neighbours")
    };
    assert_eq!(neighbours, []);
    let Some(rpl @ Report::Rpl { version: None, rank: None, dodag: None, .. }) = reports.next()
    else {
        panic!("rpl")
    };
    assert!(rpl.to_string().contains("rank      –, parent none"), "{rpl}");
}

#[test]
fn two_nodes_speak_tcp() {
    let (a, b) = (free(), free());
    let _first = run(settings(NODE), Ends { local: Some(a), remote: b }, "");
    let lines = "ping fe80::12:4b00:0:a 1\ntcp fe80::12:4b00:0:a 7 hello there\nsend \
                 fe80::12:4b00:0:a 9 20000\nudp fe80::12:4b00:0:a 7 hey\npong\n";
    let said = run(settings("02:12:4b:00:00:00:00:0b"), Ends { local: Some(b), remote: a }, lines);
    let from: std::net::Ipv6Addr = "fe80::12:4b00:0:a".parse().unwrap();
    let (mut replies, mut text, mut closed, mut datagrams) = (0, String::new(), Vec::new(), 0);
    while replies == 0 || closed.len() < 2 || datagrams == 0 {
        match said.recv_timeout(LONG).expect("it says more") {
            Report::EchoReply { from: who, seq: 1, .. } if who == from => replies += 1,
            Report::Received { text: more } => text += &more,
            Report::Closed { sent, received, error, .. } => closed.push((sent, received, error)),
            Report::Datagram { text, .. } if text == "hey" => datagrams += 1,
            Report::Failed { why } => assert!(why.starts_with("\"pong\" is not a command")),
            Report::Pinged { .. } | Report::NoReply { .. } | Report::Progress { .. } => {}
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(text, "hello there\n");
    closed.sort_by_key(|it| it.0);
    assert_eq!(closed, [(12, 12, None), (20_000, 0, None)]);
}

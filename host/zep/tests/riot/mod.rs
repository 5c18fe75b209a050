//! Nodes that behave on the wire as RIOT's native boards do, as far as that was observed, and share
//! no code with the stack. They use one socket and receive from the node under test, not from each
//! other.

pub(crate) mod ip;
pub(crate) mod lowpan;
pub(crate) mod node;
pub(crate) mod tcp;

use lowpan::{Eui, frames, read};
use node::Riot;
use std::collections::VecDeque;
use std::net::{SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

const PAN: [u8; 2] = [0x23, 0x00];
/// Time to wait for an acknowledgement, and then between two attempts; there are five.
const ACK_WAIT: Duration = Duration::from_micros(864);
const PAUSE: Duration = Duration::from_millis(2);
const ATTEMPTS: usize = 5;

/// The channel that the node under test shares with them.
pub(crate) struct Air {
    socket: UdpSocket,
    inbox: VecDeque<Vec<u8>>,
    pub(crate) nodes: Vec<Riot>,
    sequence: u8,
    /// Number of frames that were not acknowledged.
    pub(crate) lost: usize,
}

impl Air {
    pub(crate) fn new(local: SocketAddr, remote: SocketAddr, nodes: Vec<Riot>) -> Air {
        let socket = UdpSocket::bind(local).unwrap();
        socket.connect(remote).unwrap();
        Air { socket, inbox: VecDeque::new(), nodes, sequence: 0, lost: 0 }
    }

    /// Runs until `done` returns true, which must happen within ten seconds.
    pub(crate) fn until(&mut self, what: &str, mut done: impl FnMut(&mut [Riot]) -> bool) {
        let limit = Instant::now() + Duration::from_secs(10);
        while !done(&mut self.nodes) {
            assert!(Instant::now() < limit, "{what} (lost {}): {:#?}", self.lost, self.nodes);
            self.step();
        }
    }

    fn step(&mut self) {
        self.hear(Duration::from_millis(2));
        while let Some(psdu) = self.inbox.pop_front() {
            self.take(&psdu);
        }
        for index in 0..self.nodes.len() {
            self.nodes[index].tick();
            while let Some((to, packet)) = self.nodes[index].poll() {
                let node = &mut self.nodes[index];
                let (from, context) = (node.eui, node.context);
                node.tag = node.tag.wrapping_add(1);
                for payload in frames(&packet, from, to, context, node.tag) {
                    self.send(from, to, &payload);
                }
            }
        }
    }

    /// Receives one frame from the socket. It is acknowledged at once if it requests that.
    fn hear(&mut self, patience: Duration) {
        self.socket.set_read_timeout(Some(patience)).unwrap();
        let mut octets = [0; 200];
        let Ok(len) = self.socket.recv(&mut octets) else { return };
        assert_eq!(octets[..5], [b'E', b'X', 2, 1, 26]);
        assert_eq!(usize::from(octets[31]), len - 32);
        let psdu = &octets[32..len - 2];
        let (_, to, _) = addresses(psdu);
        if psdu[0] & 0x27 == 0x21 && self.nodes.iter().any(|it| Some(it.eui) == to) {
            self.put(&[2, 0, psdu[2]]);
        }
        self.inbox.push_back(psdu.to_vec());
    }

    fn take(&mut self, psdu: &[u8]) {
        let (from, to, payload) = addresses(psdu);
        let Some(from) = from.filter(|_| psdu[0] & 7 == 1) else { return };
        for node in &mut self.nodes {
            if to.is_none_or(|to| to == node.eui)
                && let Some(packet) = read(payload, (from, to), node.context, &mut node.partial)
            {
                node.hear(from, &packet);
            }
        }
    }

    fn send(&mut self, from: Eui, to: Option<Eui>, payload: &[u8]) {
        self.sequence = self.sequence.wrapping_add(1);
        // Frame controls 0xd841 and 0xdc61.
        let mut frame = vec![if to.is_some() { 0x61 } else { 0x41 }];
        frame.extend([if to.is_some() { 0xdc } else { 0xd8 }, self.sequence]);
        frame.extend(PAN);
        frame.extend(to.map_or(vec![0xff; 2], |to| to.iter().rev().copied().collect()));
        frame.extend(from.iter().rev());
        frame.extend(payload);
        let awaited = [2, 0, self.sequence];
        for _ in 0..if to.is_some() { ATTEMPTS } else { 1 } {
            self.put(&frame);
            let end = Instant::now() + ACK_WAIT;
            while let Some(left) = end.checked_duration_since(Instant::now())
                && to.is_some()
                && left > Duration::ZERO
            {
                self.hear(left);
                if self.inbox.back().is_some_and(|psdu| psdu[0] & 7 == 2 && psdu[2] == awaited[2]) {
                    return;
                }
            }
            if to.is_some() {
                std::thread::sleep(PAUSE);
            }
        }
        self.lost += usize::from(to.is_some());
    }

    fn put(&self, frame: &[u8]) {
        let mut crc = 0u16;
        for octet in frame {
            crc ^= u16::from(*octet);
            for _ in 0..8 {
                crc = crc >> 1 ^ if crc & 1 == 1 { 0x8408 } else { 0 };
            }
        }
        let mut octets = vec![b'E', b'X', 2, 1, 26, 0x12, 0x34, 1, 255];
        octets.extend([0; 22]);
        octets.push(frame.len() as u8 + 2);
        octets.extend(frame);
        octets.extend(crc.to_le_bytes());
        self.socket.send(&octets).unwrap();
    }
}

/// Returns the source and destination of a frame, `None` for a broadcast, and the octets that
/// follow. A short address stands for the long one with the same identifier, as in RIOT.
fn addresses(psdu: &[u8]) -> (Option<Eui>, Option<Eui>, &[u8]) {
    let control = u16::from_le_bytes([psdu[0], psdu[1]]);
    let long = |at: usize| {
        let mut eui: Eui = psdu[at..at + 8].try_into().unwrap();
        eui.reverse();
        eui
    };
    let short = |at: usize| [2, 0, 0, 0xff, 0xfe, 0, psdu[at + 1], psdu[at]];
    let one = |at: usize| (psdu[at..at + 2] != [0xff; 2]).then(|| short(at));
    match (control >> 10 & 3, control >> 14 & 3) {
        (3, 3) => (Some(long(13)), Some(long(5)), &psdu[21..]),
        (3, 2) => (Some(short(13)), Some(long(5)), &psdu[15..]),
        (2, 3) => (Some(long(7)), one(5), &psdu[15..]),
        (2, 2) => (Some(short(7)), one(5), &psdu[9..]),
        _ => (None, None, &[]),
    }
}

//! The ideal protocol of TCPlp §8.2.2: datagrams without acknowledgements, whose losses the sender
//! learns without cost.

use super::reading::{Numbers, Readings, Wind};
use kinglet::net::UdpHandle;
use kinglet::time::{Duration, Instant, earliest};
use kinglet::{Node, Profile};
use kinglet_apps::Peer;
use kinglet_apps::sense::{PACE, Sampling, TAG, untag};
use kinglet_apps::udp::MAX_DATAGRAM;
use std::collections::{BTreeSet, VecDeque};
use std::sync::{Arc, Mutex};

/// Time after which a datagram counts as lost. A datagram delayed for longer than the reassembly
/// timeout of OpenThread's 6LoWPAN of 2018 does not arrive. The delay costs the ideal sender only
/// time.
const VERDICT: Duration = Duration::from_secs(5);

/// Tags of received datagrams, which the sink passes to the sender outside the network.
pub type Oracle = Arc<Mutex<BTreeSet<u32>>>;

/// Content of a datagram.
struct Piece {
    tag: u32,
    octets: Vec<u8>,
    /// Numbers of the readings that it completes.
    completed: Vec<u32>,
}

struct Sent {
    piece: Piece,
    at: Instant,
}

/// Datagrams to the sink.
pub struct IdealUplink {
    pub(super) readings: Readings,
    pub(super) numbers: Numbers,
    to: Peer,
    /// Octets of readings per datagram.
    room: usize,
    /// Octets in place of another protocol's headers.
    padding: usize,
    /// Maximum number of datagrams with unknown fate.
    window: usize,
    oracle: Oracle,
    socket: Option<UdpHandle>,
    next: Instant,
    sent: VecDeque<Sent>,
    resent: u32,
}

impl IdealUplink {
    /// Datagrams to `to` with `room` octets of readings, or as many as fit, and `padding` octets in
    /// place of headers. Datagrams unknown to `oracle` are retransmitted; at most `window`
    /// datagrams are outstanding.
    pub fn new(
        sampling: Sampling,
        to: Peer,
        (room, padding, window): (usize, usize, usize),
        oracle: Oracle,
    ) -> Self {
        IdealUplink {
            readings: Readings::new(sampling, Wind),
            numbers: Numbers::default(),
            to,
            room: room.min(MAX_DATAGRAM.saturating_sub(TAG + padding)),
            padding,
            window,
            oracle,
            socket: None,
            next: Instant::ZERO,
            sent: VecDeque::new(),
            resent: 0,
        }
    }

    /// Number of retransmitted datagrams.
    pub fn resent(&self) -> u32 {
        self.resent
    }

    pub(super) fn held(&self) -> impl Iterator<Item = u32> {
        self.sent.iter().flat_map(|sent| {
            let first = untag(sent.piece.tag).0;
            sent.piece.completed.iter().copied().chain([first])
        })
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        let wants = self.readings.is_ready() && self.sent.len() < self.window;
        let verdict = self.sent.front().map(|sent| (sent.at + VERDICT).max(self.next));
        let datagram = earliest(wants.then_some(self.next), verdict);
        earliest(Some(self.readings.next()), datagram)
    }

    pub(super) fn poll<P: Profile>(&mut self, now: Instant, node: &mut Node<P>) -> bool {
        let sampled = self.readings.sample(now);
        self.numbers.follow(&self.readings);
        self.deliver(now, node) | sampled
    }

    fn deliver<P: Profile>(&mut self, now: Instant, node: &mut Node<P>) -> bool {
        if now < self.next {
            return false;
        }
        self.forget_arrived();
        let due = self.sent.front().is_some_and(|sent| sent.at + VERDICT <= now);
        let settled = if due { self.sent.pop_front() } else { None };
        let piece = match settled {
            Some(lost) => {
                self.resent += 1;
                Some(lost.piece)
            }
            None if self.sent.len() < self.window => self.take(),
            None => None,
        };
        let Some(piece) = piece else { return false };
        self.send(now, node, &piece);
        self.next = now + PACE;
        self.sent.push_back(Sent { piece, at: now });
        true
    }

    fn take(&mut self) -> Option<Piece> {
        let mut octets = vec![0; self.room];
        let piece = self.readings.take(&mut octets)?;
        octets.truncate(piece.len);
        let completed = self.numbers.follow(&self.readings);
        Some(Piece { tag: piece.tag, octets, completed })
    }

    fn forget_arrived(&mut self) {
        let Ok(mut arrived) = self.oracle.lock() else { return };
        self.sent.retain(|sent| !arrived.contains(&sent.piece.tag));
        arrived.clear();
    }

    /// A datagram that the stack rejects counts as lost in the network.
    fn send<P: Profile>(&mut self, now: Instant, node: &mut Node<P>, piece: &Piece) {
        if self.socket.is_none() {
            self.socket = node.datagrams().bind(0).ok();
        }
        let Some(socket) = self.socket else { return };
        let mut datagram = piece.tag.to_be_bytes().to_vec();
        datagram.resize(TAG + self.padding, 0);
        datagram.extend(&piece.octets);
        let _ = node.datagrams().send(now, socket, self.to.0, self.to.1, &datagram);
    }
}

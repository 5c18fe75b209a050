//! Datagrams by sender and receiver, counted across restarts of the nodes.

use super::cells::{Cell, Traffic};
use kinglet::Node;
use kinglet::net::UdpHandle;
use kinglet::time::{Duration, Instant};
use kinglet_apps::App;
use kinglet_scenario::NodeId;
use std::collections::BTreeMap;
use std::net::Ipv6Addr;
use std::sync::{Arc, Mutex};

/// UDP port of all nodes.
const PORT: u16 = 61_616;
/// Octets of a datagram. The first one is the sender's number.
const LEN: usize = 32;

/// A pair, sender first.
type Pair = (NodeId, NodeId);

/// State that the applications of all nodes share.
pub(super) struct Board {
    speaks: bool,
    now: Instant,
    begun: Instant,
    addresses: Vec<Option<Ipv6Addr>>,
    sent: BTreeMap<Pair, u32>,
    heard: BTreeMap<Pair, Vec<Instant>>,
}

impl Board {
    pub(super) fn new(nodes: usize) -> Self {
        Board {
            speaks: false,
            now: Instant::ZERO,
            begun: Instant::ZERO,
            addresses: vec![None; nodes],
            sent: BTreeMap::new(),
            heard: BTreeMap::new(),
        }
    }

    /// Sets the time and the addresses of nodes.
    pub(super) fn look(&mut self, now: Instant, addresses: Vec<Option<Ipv6Addr>>) {
        (self.now, self.addresses) = (now, addresses);
    }

    /// Switches datagrams on or off from now on. Earlier datagrams do not count, but their pairs
    /// stay.
    pub(super) fn speak(&mut self, speaks: bool) {
        self.speaks = speaks;
        self.begun = self.now;
        self.sent.values_mut().for_each(|sent| *sent = 0);
        self.heard.values_mut().for_each(Vec::clear);
    }

    /// Returns the pairs that have received nothing since then.
    pub(super) fn silent(&self, since: Instant) -> Vec<Pair> {
        let late = |pair: &&Pair| {
            let heard = self.heard.get(pair).and_then(|heard| heard.last());
            heard.is_none_or(|at| *at < since)
        };
        self.sent.keys().filter(late).copied().collect()
    }

    /// Returns the time since which no pair has had a gap of `window`; `None` if one receives
    /// nothing.
    pub(super) fn well_since(&self, window: Duration) -> Option<Instant> {
        self.sent
            .keys()
            .map(|pair| self.pair_well_since(pair, window))
            .try_fold(self.begun, |latest, well| well.map(|well| latest.max(well)))
    }

    /// Returns the pairs that have communicated without a gap only since later than `limit`, or not
    /// at all.
    pub(super) fn late(&self, window: kinglet::time::Duration, limit: Instant) -> Vec<Pair> {
        let late = |pair: &&Pair| self.pair_well_since(pair, window).is_none_or(|at| at > limit);
        self.sent.keys().filter(late).copied().collect()
    }

    fn pair_well_since(&self, pair: &Pair, window: Duration) -> Option<Instant> {
        let mut since = None;
        let mut last: Option<Instant> = None;
        for &at in self.heard.get(pair)? {
            if last.is_none_or(|last| at > last + window) {
                since = Some(at);
            }
            last = Some(at);
        }
        since.filter(|_| last.is_some_and(|last| self.now <= last + window))
    }

    /// Returns the datagrams sent and received.
    pub(super) fn totals(&self) -> (u32, u32) {
        let heard = self.heard.values().map(|heard| heard.len() as u32).sum();
        (self.sent.values().sum(), heard)
    }

    pub(super) fn pairs(&self) -> usize {
        self.sent.len()
    }
}

/// Sends a datagram to each of its peers every period, and receives those of others.
pub(super) struct Chatter {
    node: NodeId,
    cell: Cell,
    board: Arc<Mutex<Board>>,
    socket: Option<UdpHandle>,
    next: Option<Instant>,
}

impl Chatter {
    pub(super) fn new(node: NodeId, cell: &Cell, board: Arc<Mutex<Board>>) -> Self {
        Chatter { node, cell: *cell, board, socket: None, next: None }
    }

    fn peers(&self, nodes: usize) -> Vec<NodeId> {
        let (up, down) = match self.cell.traffic {
            Traffic::Up => (true, false),
            Traffic::Down => (false, true),
            Traffic::None | Traffic::Both => (true, true),
        };
        match self.node {
            0 if down => (1..nodes as NodeId).collect(),
            0 => Vec::new(),
            _ if up => vec![0],
            _ => Vec::new(),
        }
    }
}

impl App for Chatter {
    fn poll<P: kinglet::Profile>(&mut self, now: Instant, node: &mut Node<P>) -> bool {
        if self.socket.is_none() {
            self.socket = node.datagrams().bind(PORT).ok();
        }
        let Some(socket) = self.socket else { return false };
        let mut board = self.board.lock().expect("no panic");
        let (mut busy, mut octets) = (false, [0; LEN]);
        while let Ok(Some(received)) = node.datagrams().recv(socket, &mut octets) {
            busy = true;
            if received.len == LEN {
                let at = board.now;
                board.heard.entry((octets[0].into(), self.node)).or_default().push(at);
            }
        }
        // Nodes start at different phases of a period.
        let offset = self.cell.period() * self.node / 8;
        let next = *self.next.get_or_insert(now + offset);
        if now < next {
            return busy;
        }
        self.next = Some(next + self.cell.period());
        if !board.speaks {
            return busy;
        }
        for peer in self.peers(board.addresses.len()) {
            *board.sent.entry((self.node, peer)).or_default() += 1;
            if let Some(address) = board.addresses[peer as usize] {
                octets[0] = self.node as u8;
                // A refused datagram is lost.
                let _ = node.datagrams().send(now, socket, address, PORT, &octets);
            }
        }
        true
    }

    fn deadline(&self) -> Option<Instant> {
        Some(self.next.unwrap_or(Instant::ZERO))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WINDOW: Duration = Duration::from_secs(3);

    /// Three datagrams of one pair, of which the last two arrive, at 1 and 2 s.
    fn spoken() -> Board {
        let mut board = Board::new(2);
        board.speak(true);
        board.sent.insert((1, 0), 3);
        board.heard.insert((1, 0), (1..3).map(Instant::from_secs).collect());
        board.look(Instant::from_secs(2), vec![None; 2]);
        board
    }

    #[test]
    fn earlier_datagrams_do_not_count_but_their_pairs_stay() {
        let mut board = spoken();
        assert_eq!((board.totals(), board.pairs()), ((3, 2), 1));
        assert_eq!(board.well_since(WINDOW), Some(Instant::from_secs(1)));
        board.speak(false);
        assert_eq!((board.totals(), board.pairs()), ((0, 0), 1));
        assert_eq!(board.silent(Instant::ZERO), [(1, 0)]);
        assert_eq!(
            (board.well_since(WINDOW), board.late(WINDOW, Instant::MAX)),
            (None, vec![(1, 0)])
        );
    }

    #[test]
    fn a_pair_is_well_from_the_end_of_its_last_gap_on() {
        let mut board = spoken();
        let heard = board.heard.get_mut(&(1, 0)).expect("a pair");
        heard.extend([6, 9].map(Instant::from_secs));
        board.look(Instant::from_secs(12), vec![None; 2]);
        assert_eq!(board.well_since(WINDOW), Some(Instant::from_secs(6)), "from 2 s to 6 s");
        assert_eq!(board.late(WINDOW, Instant::from_secs(6)), []);
        assert_eq!(board.late(WINDOW, Instant::from_millis(5_999)), [(1, 0)]);
        assert_eq!(board.silent(Instant::from_secs(9)), []);
        assert_eq!(board.silent(Instant::from_millis(9_001)), [(1, 0)]);
        board.look(Instant::from_micros(12_000_001), vec![None; 2]);
        assert_eq!(board.well_since(WINDOW), None, "another gap has begun");
    }
}

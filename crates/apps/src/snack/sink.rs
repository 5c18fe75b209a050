//! The receiving side.

use super::bits::Bits;
use super::message::{MAX_TABLE, Message};
use crate::app::App;
use crate::pattern::is_intact;
use crate::sockets::Peer;
use crate::udp::MAX_DATAGRAM;
use kinglet::net::UdpHandle;
use kinglet::{Node, Profile};
use kinglet_time::{BackOff, Duration, Instant};

/// Number of unrequested reports that nothing is missing before it considers the source gone:
/// pauses of 1 to 60 s, three minutes in all.
const FAREWELLS: u8 = 8;
/// Pause after the stack had no space for a response: a frame of 127 octets takes 4.3 ms on the
/// air, and no shorter pause frees space.
const PAUSE: Duration = Duration::from_millis(5);

/// A query to be answered.
#[derive(Clone, Copy, Debug)]
struct Question {
    from: Peer,
    round: u8,
    /// Number of datagrams of the file.
    count: usize,
}

/// The receiving side, for one transfer of at most `8 * N` datagrams, with `N` no more than
/// [`MAX_TABLE`]. It stores none of the octets and compares all of them with the known stream.
#[derive(Debug)]
pub struct Sink<const N: usize> {
    port: u16,
    socket: Option<UdpHandle>,
    have: Bits<N>,
    /// Octets in each datagram, according to the first one.
    piece: Option<u16>,
    received: u64,
    duplicates: u32,
    intact: bool,
    last: Option<Instant>,
    question: Option<Question>,
    owes_answer: bool,
    again: Instant,
    /// Back-off while the file is complete, and the source does not know it yet.
    farewell: BackOff,
    farewells: u8,
    finished: Option<Instant>,
    parted: bool,
}

impl<const N: usize> Sink<N> {
    /// Creates a sink on `port`.
    pub const fn new(port: u16) -> Self {
        const { assert!(N <= MAX_TABLE) }
        Sink {
            port,
            socket: None,
            have: Bits::NONE,
            piece: None,
            received: 0,
            duplicates: 0,
            intact: true,
            last: None,
            question: None,
            owes_answer: false,
            again: Instant::ZERO,
            farewell: BackOff::NEW,
            farewells: FAREWELLS,
            finished: None,
            parted: false,
        }
    }

    /// Returns the number of octets of the file received, each counted once.
    pub const fn received(&self) -> u64 {
        self.received
    }

    /// Returns the number of duplicate datagrams.
    pub const fn duplicates(&self) -> u32 {
        self.duplicates
    }

    /// Returns whether all received octets were correct.
    pub const fn intact(&self) -> bool {
        self.intact
    }

    /// Returns the time at which the last octet of a complete file was received, as far as the
    /// source has reported its length.
    pub const fn finished_at(&self) -> Option<Instant> {
        self.finished
    }

    /// Returns whether the source has said goodbye.
    pub const fn parted(&self) -> bool {
        self.parted
    }

    fn hear<P: Profile>(&mut self, now: Instant, socket: UdpHandle, node: &mut Node<P>) -> bool {
        let mut datagram = [0; MAX_DATAGRAM];
        let mut busy = false;
        // At most as many as a socket holds.
        while let Ok(Some(received)) = node.datagrams().recv(socket, &mut datagram) {
            busy = true;
            let octets = datagram.get(..received.len).unwrap_or_default();
            match Message::parse(octets) {
                Some(Message::Data { piece, index, octets }) => {
                    self.take(now, piece, index.into(), octets);
                }
                Some(Message::End { round, piece, octets }) => {
                    let from = (received.src, received.src_port);
                    self.asked(now, from, round, piece, octets);
                }
                Some(Message::Goodbye) => self.parted = self.finished.is_some(),
                Some(Message::Missing { .. }) | None => {}
            }
        }
        busy
    }

    fn take(&mut self, now: Instant, piece: u16, index: usize, octets: &[u8]) {
        if *self.piece.get_or_insert(piece) != piece || index >= Bits::<N>::LEN {
            return;
        }
        if !self.have.change(index, true) {
            self.duplicates = self.duplicates.wrapping_add(1);
            return;
        }
        let begin = index.saturating_mul(piece.into()) as u64;
        self.intact &= octets.len() <= piece.into() && is_intact(begin, octets);
        self.received = self.received.saturating_add(octets.len() as u64);
        self.last = Some(now);
    }

    fn asked(&mut self, now: Instant, from: Peer, round: u8, piece: u16, octets: u32) {
        let count = (octets as usize).div_ceil(piece.max(1).into());
        // A file that does not fit the table is never complete, and gets no response.
        if *self.piece.get_or_insert(piece) != piece || count > Bits::<N>::LEN {
            return;
        }
        self.question = Some(Question { from, round, count });
        self.owes_answer = true;
        if self.is_whole(count) && self.finished.is_none() {
            self.finished = Some(self.last.unwrap_or(now));
            self.intact &= self.received == u64::from(octets);
        }
    }

    fn is_whole(&self, count: usize) -> bool {
        (0..count.div_ceil(8)).all(|at| self.have.unset(at, count) == 0)
    }

    /// Sends a response to a query, or a report that it is complete. Returns whether it did.
    fn speak<P: Profile>(&mut self, now: Instant, socket: UdpHandle, node: &mut Node<P>) -> bool {
        let Some(Question { from, round, count }) = self.question else { return false };
        let parts = self.parts() && now >= self.farewell.at();
        if now < self.again || !(self.owes_answer || parts) {
            return false;
        }
        let mut bits = [0; N];
        let span = 0..count.div_ceil(8);
        for (at, octet) in span.clone().zip(&mut bits) {
            *octet = self.have.unset(at, count);
        }
        let is_missing = |at: &usize| bits.get(*at).is_some_and(|octet| *octet != 0);
        let (first, last) = (span.clone().find(is_missing), span.rev().find(is_missing));
        let (first, end) = (first.unwrap_or(0), last.map_or(0, |last| last.saturating_add(1)));
        let bits = bits.get(first..end).unwrap_or_default();
        let message = Message::Missing { round, first: first.saturating_mul(8) as u16, bits };
        let mut datagram = [0; MAX_DATAGRAM];
        let len = message.write(&mut datagram);
        let octets = datagram.get(..len).unwrap_or_default();
        if node.datagrams().send(now, socket, from.0, from.1, octets).is_err() {
            self.again = now + PAUSE;
            return false;
        }
        self.owes_answer = false;
        if self.finished.is_some() {
            self.farewells = self.farewells.saturating_sub(1);
            self.farewell.failed(now);
        }
        true
    }

    /// Returns whether it waits for the source's goodbye.
    const fn parts(&self) -> bool {
        self.finished.is_some() && !self.parted && self.farewells > 0
    }
}

impl<const N: usize> App for Sink<N> {
    fn poll<P: Profile>(&mut self, now: Instant, node: &mut Node<P>) -> bool {
        if self.socket.is_none() {
            self.socket = node.datagrams().bind(self.port).ok();
        }
        let Some(socket) = self.socket else { return false };
        let heard = self.hear(now, socket, node);
        self.speak(now, socket, node) || heard
    }

    fn deadline(&self) -> Option<Instant> {
        if self.socket.is_none() {
            return Some(Instant::ZERO);
        }
        if self.owes_answer {
            return Some(self.again);
        }
        self.parts().then_some(self.again.max(self.farewell.at()))
    }
}

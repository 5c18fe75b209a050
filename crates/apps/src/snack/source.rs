//! The sending side.

use super::bits::Bits;
use super::message::{MAX_PIECE, MAX_TABLE, Message};
use crate::app::App;
use crate::pattern::fill;
use crate::sockets::Peer;
use crate::udp::MAX_DATAGRAM;
use kinglet::net::UdpHandle;
use kinglet::{Node, Profile};
use kinglet_time::{BackOff, Duration, Instant};

/// Parameters of a transfer.
#[derive(Clone, Copy, Debug)]
pub struct Sending {
    /// The sink.
    pub to: Peer,
    /// Start of the transfer.
    pub start: Instant,
    /// Octets of the file.
    pub octets: u32,
    /// Octets of it in each datagram, 1 to [`MAX_PIECE`]; the last one may have fewer.
    pub piece: u16,
    /// Pause after the stack had no space for a datagram: at least the duration of a frame, because
    /// no shorter pause frees space. Longer on a node whose CPU is to sleep.
    pub pause: Duration,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Sends datagrams of the file, from this one on.
    Sending(usize),
    /// Waits for the sink's report of missing datagrams.
    Asking,
    /// The sink has everything; it may still need a goodbye.
    Over { owes_goodbye: bool },
}

/// The sending side. A file has at most `8 * N` datagrams, with `N` no more than [`MAX_TABLE`].
#[derive(Debug)]
pub struct Source<const N: usize> {
    sending: Sending,
    socket: Option<UdpHandle>,
    phase: Phase,
    wanted: Bits<N>,
    round: u8,
    rounds: u32,
    sent: u32,
    refused: u32,
    /// Time of the next attempt to pass a datagram to the stack.
    again: Instant,
    asking: BackOff,
    finished: Option<Instant>,
}

impl<const N: usize> Source<N> {
    /// Creates one transfer. Octets beyond the capacity of the table are left out.
    pub fn new(sending: Sending) -> Self {
        const { assert!(N <= MAX_TABLE) }
        let piece = usize::from(sending.piece).clamp(1, MAX_PIECE);
        let most = u32::try_from(piece.saturating_mul(Bits::<N>::LEN)).unwrap_or(u32::MAX);
        let octets = sending.octets.min(most);
        let count = (octets as usize).div_ceil(piece);
        Source {
            sending: Sending { octets, piece: piece as u16, ..sending },
            socket: None,
            phase: Phase::Sending(0),
            wanted: Bits::first(count),
            round: 0,
            rounds: 0,
            sent: 0,
            refused: 0,
            again: Instant::ZERO,
            asking: BackOff::NEW,
            finished: None,
        }
    }

    /// Returns the number of datagrams of the file that the stack has accepted, repetitions
    /// included.
    pub const fn sent(&self) -> u32 {
        self.sent
    }

    /// Returns the number of datagrams that the stack has refused, for lack of space or of a route.
    pub const fn refused(&self) -> u32 {
        self.refused
    }

    /// Returns the number of reports of missing datagrams.
    pub const fn rounds(&self) -> u32 {
        self.rounds
    }

    /// Returns the time at which the sink reported that it has everything.
    pub const fn finished_at(&self) -> Option<Instant> {
        self.finished
    }

    /// Handles the messages of the sink. Returns whether there were any.
    fn hear<P: Profile>(&mut self, now: Instant, socket: UdpHandle, node: &mut Node<P>) -> bool {
        let mut datagram = [0; MAX_DATAGRAM];
        let mut busy = false;
        // At most as many as a socket holds.
        while let Ok(Some(received)) = node.datagrams().recv(socket, &mut datagram) {
            busy = true;
            if (received.src, received.src_port) != self.sending.to {
                continue;
            }
            let octets = datagram.get(..received.len).unwrap_or_default();
            if let Some(Message::Missing { round, first, bits }) = Message::parse(octets) {
                self.missing(now, round, first.into(), bits);
            }
        }
        busy
    }

    fn missing(&mut self, now: Instant, round: u8, first: usize, bits: &[u8]) {
        if let Phase::Over { owes_goodbye } = &mut self.phase {
            *owes_goodbye = true;
            return;
        }
        // That stays true, whichever query it answered.
        if bits.is_empty() {
            self.finished = Some(now);
            self.phase = Phase::Over { owes_goodbye: true };
            return;
        }
        if self.phase != Phase::Asking || round != self.round {
            return;
        }
        self.asking.succeeded();
        for (at, octet) in bits.iter().enumerate() {
            let index = first.saturating_add(at.saturating_mul(8));
            for bit in 0..8_usize {
                if octet.wrapping_shr(bit as u32) & 1 == 1 {
                    self.want(index.saturating_add(bit));
                }
            }
        }
        self.round = self.round.wrapping_add(1);
        self.rounds = self.rounds.saturating_add(1);
        self.phase = Phase::Sending(0);
    }

    fn want(&mut self, index: usize) {
        if index < (self.sending.octets as usize).div_ceil(self.sending.piece.into()) {
            self.wanted.change(index, true);
        }
    }

    /// Sends what it can. Returns whether that was anything.
    fn speak<P: Profile>(&mut self, now: Instant, socket: UdpHandle, node: &mut Node<P>) -> bool {
        let mut busy = false;
        // Until the stack has no space for more, or the round is over.
        while now >= self.again {
            let Sending { to, pause, octets, piece, .. } = self.sending;
            let mut datagram = [0; MAX_DATAGRAM];
            let len = match self.phase {
                Phase::Sending(from) => match self.wanted.next(from) {
                    Some(index) => {
                        self.phase = Phase::Sending(index);
                        self.write(index, &mut datagram)
                    }
                    None => {
                        self.phase = Phase::Asking;
                        continue;
                    }
                },
                Phase::Asking if now >= self.asking.at() => {
                    Message::End { round: self.round, piece, octets }.write(&mut datagram)
                }
                Phase::Over { owes_goodbye: true } => Message::Goodbye.write(&mut datagram),
                Phase::Asking | Phase::Over { .. } => break,
            };
            let octets = datagram.get(..len).unwrap_or_default();
            if node.datagrams().send(now, socket, to.0, to.1, octets).is_err() {
                self.refused = self.refused.wrapping_add(1);
                self.again = now + pause.max(Duration::from_micros(1));
                break;
            }
            busy = true;
            match &mut self.phase {
                Phase::Sending(index) => {
                    self.wanted.change(*index, false);
                    self.sent = self.sent.wrapping_add(1);
                }
                Phase::Asking => self.asking.failed(now),
                Phase::Over { owes_goodbye } => *owes_goodbye = false,
            }
        }
        busy
    }

    /// Writes datagram `index` of the file to `out`. Returns its length.
    fn write(&self, index: usize, out: &mut [u8; MAX_DATAGRAM]) -> usize {
        let Sending { octets, piece, .. } = self.sending;
        let begin = index.saturating_mul(piece.into());
        let left = (octets as usize).saturating_sub(begin).min(piece.into());
        let mut stretch = [0; MAX_PIECE];
        let stretch = stretch.get_mut(..left).unwrap_or_default();
        fill(begin as u64, stretch);
        Message::Data { piece, index: index as u16, octets: stretch }.write(out)
    }
}

impl<const N: usize> App for Source<N> {
    fn poll<P: Profile>(&mut self, now: Instant, node: &mut Node<P>) -> bool {
        if now < self.sending.start {
            return false;
        }
        if self.socket.is_none() {
            self.socket = node.datagrams().bind(0).ok();
        }
        let Some(socket) = self.socket else { return false };
        let heard = self.hear(now, socket, node);
        self.speak(now, socket, node) || heard
    }

    fn deadline(&self) -> Option<Instant> {
        if self.socket.is_none() {
            return Some(self.sending.start);
        }
        match self.phase {
            Phase::Sending(_) | Phase::Over { owes_goodbye: true } => Some(self.again),
            Phase::Asking => Some(self.again.max(self.asking.at())),
            Phase::Over { .. } => None,
        }
    }
}

//! The side that has the file.

use super::bits::Bits;
use super::message::{MAX_PIECE, MAX_TABLE, Message};
use crate::app::App;
use crate::back_off::BackOff;
use crate::pattern::fill;
use crate::sockets::Peer;
use crate::udp::MAX_DATAGRAM;
use kinglet::net::UdpHandle;
use kinglet::{Node, Profile};
use kinglet_time::{Duration, Instant};

/// What is sent, and how.
#[derive(Clone, Copy, Debug)]
pub struct Sending {
    /// The sink.
    pub to: Peer,
    /// When it begins.
    pub start: Instant,
    /// Octets of the file.
    pub octets: u32,
    /// Octets of it in each datagram, 1 to [`MAX_PIECE`]; the last one may have fewer.
    pub piece: u16,
    /// When the stack has no room for a datagram, how long it is left alone: as long as a frame
    /// takes at the least, since none makes room sooner. On a node whose CPU is to sleep, longer.
    pub pause: Duration,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Datagrams of the file, from this one on.
    Sending(usize),
    /// The sink is asked what is missing.
    Asking,
    /// The sink has everything; whether it is to hear that this is known.
    Over { owes_goodbye: bool },
}

/// The sending side. A file has `8 * N` datagrams at most, with `N` no more than [`MAX_TABLE`].
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
    /// The stack is not tried before this.
    again: Instant,
    asking: BackOff,
    finished: Option<Instant>,
}

impl<const N: usize> Source<N> {
    /// One transfer. Octets that are too many for the table are left out.
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

    /// Datagrams of the file that the stack has taken, repetitions included.
    pub const fn sent(&self) -> u32 {
        self.sent
    }

    /// How often the stack had no room, or no way.
    pub const fn refused(&self) -> u32 {
        self.refused
    }

    /// How often it was told that something was missing.
    pub const fn rounds(&self) -> u32 {
        self.rounds
    }

    /// When it heard that the sink has everything.
    pub const fn finished_at(&self) -> Option<Instant> {
        self.finished
    }

    /// Takes what the sink says; whether there was anything.
    fn hear<P: Profile>(&mut self, now: Instant, socket: UdpHandle, node: &mut Node<P>) -> bool {
        let mut datagram = [0; MAX_DATAGRAM];
        let mut busy = false;
        // As many as a socket holds.
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
        // That stays true, whatever it was an answer to.
        if bits.is_empty() {
            self.finished = Some(now);
            self.phase = Phase::Over { owes_goodbye: true };
            return;
        }
        if self.phase != Phase::Asking || round != self.round {
            return;
        }
        self.asking = BackOff::NEW;
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

    /// Sends what it can; whether that was anything.
    fn speak<P: Profile>(&mut self, now: Instant, socket: UdpHandle, node: &mut Node<P>) -> bool {
        let mut busy = false;
        // Until the stack has no room for more, or the round is over.
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
                Phase::Asking => self.asking.refused(now),
                Phase::Over { owes_goodbye } => *owes_goodbye = false,
            }
        }
        busy
    }

    /// Writes datagram `index` of the file to `out`; its length.
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

//! Fragmentation of datagrams into frames: a type of the plan ([`Sizes::Fragmentation`]).

use super::{Net, Sizes};
use crate::codec::{HeaderCompression, Hop};
use crate::discovery::Discovery;
use crate::frame::{FrameIn, FrameLimits, FrameOut, Token};
use crate::incoming::Delivery;
use crate::outgoing::{BodySource, Current, External, Origin, Stale};
use crate::relay::Relaying;
use crate::stats::{Discard, bump};
use kinglet_mem::{Array, copy};
use kinglet_routing::Routing;
use kinglet_time::Instant;
use kinglet_wire::sixlowpan::{DISPATCH_IPV6, FragmentHeader};

/// Reason why a frame could not be written.
pub(crate) enum Refusal {
    Stale,
    NoRoom,
}

/// A datagram that does not fit into one frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Datagram {
    /// Octets of the whole uncompressed packet.
    pub size: u16,
    /// Datagram tag, from a counter.
    pub tag: u16,
}

/// Part of a packet that goes into a frame behind its fragment header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cut {
    /// Its offset in the frame.
    pub at: usize,
    /// Its octets of the uncompressed packet, excluding those that compressed headers replace.
    pub len: usize,
}

/// Cuts datagrams into frames, and processes fragments.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not fragment",
    note = "the `fragmentation` of a plan is `net::Rfc4944` or `net::Rfc8930`"
)]
pub trait Fragmentation {
    /// State of the forwarding of single fragments; `()` if there is none.
    type Relay: Relaying;

    /// Octets of the header of a subsequent fragment.
    const NEXT_LEN: usize;

    /// Writes the header of the first fragment to the start of `room`. Compressed headers follow
    /// it, `written` octets that replace the first `covered` octets of the packet. `None` if both
    /// do not fit.
    fn first(datagram: Datagram, written: usize, covered: usize, room: &mut [u8]) -> Option<Cut>;

    /// Writes the header of the fragment that starts with octet `sent` of the packet. `None` if no
    /// data fits behind it.
    fn next(datagram: Datagram, sent: u16, room: &mut [u8]) -> Option<Cut>;

    /// Stores a fragment that continues a datagram and does not end it. Returns whether it was one.
    fn keep<S: Sizes, X: Copy>(net: &mut Net<S, X>, now: Instant, frame: &FrameIn<'_>) -> bool;

    /// Processes a fragment from the MAC.
    ///
    /// # Errors
    /// The reason of the discard.
    fn handle_fragment<S: Sizes, X: Copy>(
        net: &mut Net<S, X>,
        now: Instant,
        frame: FrameIn<'_>,
    ) -> Result<Option<Delivery>, Discard>;

    /// Returns the time of the next call of [`Fragmentation::handle_deadline`].
    fn deadline<S: Sizes, X: Copy>(net: &Net<S, X>) -> Option<Instant>;

    /// Removes expired datagrams.
    fn handle_deadline<S: Sizes, X: Copy>(net: &mut Net<S, X>, now: Instant);
}

/// RFC 4944, 5.3: every hop reassembles the datagram (`reassembly.rs`), and stops sending one that
/// has lost a fragment.
#[derive(Clone, Copy, Debug)]
pub struct Rfc4944;

impl Fragmentation for Rfc4944 {
    type Relay = ();
    const NEXT_LEN: usize = FragmentHeader::NEXT_LEN;

    fn first(datagram: Datagram, written: usize, covered: usize, room: &mut [u8]) -> Option<Cut> {
        let at = FragmentHeader::FIRST_LEN;
        let space = room.len().checked_sub(at.saturating_add(written))?;
        // The next offset, in the uncompressed packet, is a multiple of eight.
        let len = (covered.saturating_add(space) & !7).checked_sub(covered)?;
        let Datagram { size, tag } = datagram;
        FragmentHeader { size, tag, offset: None }.emit(room).ok()?;
        Some(Cut { at, len })
    }

    fn next(datagram: Datagram, sent: u16, room: &mut [u8]) -> Option<Cut> {
        let at = FragmentHeader::NEXT_LEN;
        let Datagram { size, tag } = datagram;
        let (rest, space) = (usize::from(size.saturating_sub(sent)), room.len().checked_sub(at)?);
        let len = if rest <= space { rest } else { space & !7 };
        FragmentHeader { size, tag, offset: Some(sent) }.emit(room).ok()?;
        (len > 0).then_some(Cut { at, len })
    }

    fn keep<S: Sizes, X: Copy>(net: &mut Net<S, X>, now: Instant, frame: &FrameIn<'_>) -> bool {
        net.keep_piece(now, frame).is_some()
    }

    fn handle_fragment<S: Sizes, X: Copy>(
        net: &mut Net<S, X>,
        now: Instant,
        frame: FrameIn<'_>,
    ) -> Result<Option<Delivery>, Discard> {
        net.reassemble(now, frame)
    }

    fn deadline<S: Sizes, X: Copy>(net: &Net<S, X>) -> Option<Instant> {
        net.first_expires
    }

    fn handle_deadline<S: Sizes, X: Copy>(net: &mut Net<S, X>, now: Instant) {
        net.expire_reassemblies(now);
    }
}

impl<S: Sizes, X: Copy> Net<S, X> {
    /// Writes the payload of the next frame, which [`Net::pending`] describes, to `buf`. `None` if
    /// there is none, or if its datagram has turned out stale and was dropped: call
    /// [`Net::pending`] again. Nothing changes if `buf` is shorter than `limits.max_payload`, or
    /// that is too little for any frame.
    pub fn poll_frame(
        &mut self,
        now: Instant,
        limits: FrameLimits,
        source: &impl BodySource<X>,
        buf: &mut [u8],
    ) -> Option<FrameOut> {
        let room = buf.get_mut(..limits.max_payload)?;
        if let Some(frame) = self.poll_indirect(room, source) {
            return frame;
        }
        let current = self.begin(now)?;
        if let Some(relay) = self.relay.get_mut() {
            relay.was_last = false;
        }
        match self.write_frame(&current, source, room) {
            Ok((len, sent)) => {
                bump(&mut self.stats.frames_out);
                if sent >= current.total {
                    self.finish(now, current.token);
                } else if let Some(current) = &mut self.current {
                    current.sent = sent;
                }
                let Current { next_hop: dst, class, token, .. } = current;
                Some(FrameOut { dst, ack: current.ack(), len, token: Token(token), class })
            }
            Err(Refusal::NoRoom) => None,
            Err(Refusal::Stale) => {
                bump(&mut self.stats.stale);
                self.end(now);
                None
            }
        }
    }

    /// Ends the datagram in progress after its last frame.
    fn finish(&mut self, now: Instant, token: u32) {
        bump(&mut self.stats.packets_out);
        if let Some(key) = self.external_key() {
            self.finished.rotate_right(1);
            if let Some(newest) = self.finished.first_mut() {
                *newest = Some((token, key));
            }
        }
        self.end(now);
    }

    /// Writes one frame. Returns its length, and the octets of the packet sent by then.
    pub(crate) fn write_frame(
        &mut self,
        current: &Current,
        source: &impl BodySource<X>,
        room: &mut [u8],
    ) -> Result<(usize, u16), Refusal> {
        let (from, at, len) = match current.sent {
            0 => self.write_headers(current, room)?,
            sent => {
                let cut = S::Fragmentation::next(datagram(current), sent, room);
                let Cut { at, len } = cut.ok_or(Refusal::NoRoom)?;
                (usize::from(sent), at, len)
            }
        };
        let end = at.saturating_add(len);
        self.read(current, source, from, room.get_mut(at..end).ok_or(Refusal::NoRoom)?)?;
        // At most 1280.
        Ok((end, from.saturating_add(len) as u16))
    }

    /// Writes the headers of a datagram's first frame. Returns the offset in the packet of the
    /// first octet that they do not replace, the offset in the frame for the data, and its length.
    fn write_headers(
        &mut self,
        current: &Current,
        room: &mut [u8],
    ) -> Result<(usize, usize, usize), Refusal> {
        self.prepare(current)?;
        let headers = self.ready.octets();
        let (written, covered) = (headers.len(), usize::from(self.ready.covered));
        let rest = usize::from(current.total).saturating_sub(covered);
        let Cut { at, len } = if written.saturating_add(rest) <= room.len() {
            Cut { at: 0, len: rest }
        } else {
            match S::Fragmentation::first(datagram(current), written, covered, room) {
                Some(cut) => cut,
                None if S::Routing::EXTENDS => return Self::write_plain(current, room),
                None => return Err(Refusal::NoRoom),
            }
        };
        let end = at.saturating_add(written);
        copy(room.get_mut(at..end).ok_or(Refusal::NoRoom)?, headers);
        Ok((covered, end, len))
    }

    /// Does the same with uncompressed headers, which may continue in the next frame (RFC 4944,
    /// 5.1): compressed ones have to be in the first (RFC 6282, 2), where those with a long source
    /// route do not fit.
    fn write_plain(current: &Current, room: &mut [u8]) -> Result<(usize, usize, usize), Refusal> {
        let cut = S::Fragmentation::first(datagram(current), 1, 0, room);
        let Cut { at, len } = cut.ok_or(Refusal::NoRoom)?;
        *room.get_mut(at).ok_or(Refusal::NoRoom)? = DISPATCH_IPV6;
        Ok((0, at.saturating_add(1), len.min(current.total.into())))
    }

    /// Compresses the headers of a datagram, unless this is already done.
    pub(crate) fn prepare(&mut self, current: &Current) -> Result<(), Refusal> {
        if self.ready.token == Some(current.token) {
            return Ok(());
        }
        self.notify_codec();
        let head = match current.origin {
            Origin::Slot(packet) => self.pool.get(packet),
            Origin::External => self.external.as_ref().map(External::head).unwrap_or_default(),
        };
        let usable;
        let contexts = if S::Discovery::PRESENT {
            usable = self.compressing();
            &usable
        } else {
            self.contexts.as_slice()
        };
        let hop = Hop { src: self.config.link, dst: current.next_hop, contexts };
        self.ready.token = None;
        let done =
            self.codec.compress(Token(current.token), head, hop, self.ready.octets.as_mut_slice());
        // The slot holds no packet. That is impossible, but would block the queue.
        let done = done.map_err(|_| Refusal::Stale)?;
        // At most 255 of both.
        (self.ready.written, self.ready.covered) = (done.written as u8, done.covered as u8);
        self.ready.token = Some(current.token);
        Ok(())
    }

    /// Returns whether the rest of a datagram fits into a frame of `room` octets.
    pub(crate) fn is_last_frame(&mut self, current: &Current, room: usize) -> bool {
        let total = usize::from(current.total);
        let (head, from) = match current.sent {
            0 if self.prepare(current).is_err() => return true,
            0 => (self.ready.octets().len(), self.ready.covered.into()),
            sent => (S::Fragmentation::NEXT_LEN, sent.into()),
        };
        head.saturating_add(total.saturating_sub(from)) <= room
    }

    fn read(
        &self,
        current: &Current,
        source: &impl BodySource<X>,
        from: usize,
        out: &mut [u8],
    ) -> Result<(), Refusal> {
        match current.origin {
            Origin::Slot(packet) => {
                let end = from.saturating_add(out.len());
                let octets = self.pool.get(packet).get(from..end).ok_or(Refusal::Stale)?;
                copy(out, octets);
                Ok(())
            }
            Origin::External => {
                let external = self.external.as_ref().ok_or(Refusal::Stale)?;
                external.read(source, from, out).map_err(|Stale| Refusal::Stale)
            }
        }
    }
}

const fn datagram(current: &Current) -> Datagram {
    // Tags count up (RFC 4944, 5.3): the token's lower half.
    Datagram { size: current.total, tag: current.token as u16 }
}

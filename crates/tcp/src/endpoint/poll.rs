//! Output: one segment at a time, first those that belong to no connection, then those of the
//! connections by round robin.

use super::{Endpoint, Entry, Handle, HeaderBytes, KnownServer, Packet, PayloadRef, Peer, Sizes};
use crate::conn::{Emission, FastOpen};
use crate::error::Stale;
use crate::features::Features;
use crate::seq::SeqNum;
use kinglet_mem::Array;
use kinglet_time::Instant;
use kinglet_wire::Ecn;
use kinglet_wire::checksum::{Accumulator, add};
use kinglet_wire::tcp::{Flags, Header, MAX_HEADER_LEN, Options, set_checksum};

/// ECN codepoint and differentiated services of a segment that belongs to no connection.
const PLAIN: (Ecn, u8) = (Ecn::NotEct, 0);

/// An empty header.
const EMPTY: Header = Header {
    src_port: 0,
    dst_port: 0,
    seq: 0,
    ack: 0,
    flags: Flags::NONE,
    window: 0,
    urgent: 0,
    options: Options::NONE,
};

impl<K: Peer, S: Sizes> Endpoint<K, S> {
    /// True if acknowledgments may have to wait.
    const HOLDS_ACKS: bool = <S::Features as Features>::LateAcks::<()>::LEN > 0;

    /// Returns the next segment to send, or `None` until something happens. A segment that is
    /// handed out counts as sent.
    #[inline(never)]
    pub fn poll_packet(&mut self, now: Instant) -> Option<Packet<K>> {
        self.keep_time(now);
        if self.answers {
            let packet = self.poll_answer(now);
            self.answers = packet.is_some();
            if packet.is_some() {
                return packet;
            }
        }
        // Each round ends with a segment, or makes one connection idle.
        loop {
            let index = self.find_awake()?;
            if self.is_idle(now, index) {
                continue;
            }
            let mut header = EMPTY;
            if let Some(emission) = self.poll_slot(now, index, &mut header) {
                self.next_connection = u16::try_from(index.saturating_add(1)).unwrap_or(0);
                return self.finish_emission(index, &header, emission);
            }
        }
    }

    /// Returns the next connection, by round robin, that may have a segment to send.
    fn find_awake(&self) -> Option<usize> {
        let slots = self.slots.as_slice();
        let mut index = usize::from(self.next_connection);
        for _ in slots {
            // No remainder, which would take a division.
            index = if index < slots.len() { index } else { 0 };
            let entry = slots.get(index).and_then(|slot| slot.entry.as_ref());
            if entry.is_some_and(|entry| entry.flags.is_awake()) {
                return Some(index);
            }
            index = index.saturating_add(1);
        }
        None
    }

    /// Returns whether a connection has nothing to send, as after most received segments: then no
    /// header needs to be made for it.
    fn is_idle(&mut self, now: Instant, index: usize) -> bool {
        self.due.set(None);
        let entry = self.slots.as_mut_slice().get_mut(index).and_then(|slot| slot.entry.as_mut());
        entry.is_none_or(|entry| {
            let silent = entry.conn.is_silent(now);
            if silent {
                entry.flags.set_idle();
            }
            silent
        })
    }

    /// Returns the next segment that belongs to no connection: replies, TIME-WAIT, handshakes.
    #[inline(never)]
    fn poll_answer(&mut self, now: Instant) -> Option<Packet<K>> {
        let mut header = EMPTY;
        let peer = match self.replies.pop().or_else(|| self.poll_time_wait(now)) {
            Some(reply) => {
                reply.fill(&mut header);
                reply.peer
            }
            None => self.poll_half_open(now, &mut header)?,
        };
        Some(self.finish(peer, &header, PayloadRef::NONE, PLAIN, 0))
    }

    fn poll_slot(&mut self, now: Instant, index: usize, header: &mut Header) -> Option<Emission> {
        let slot = self.slots.as_mut_slice().get_mut(index)?;
        let Entry { local_port, remote_port, flags, conn, .. } = slot.entry.as_mut()?;
        let held = Self::HOLDS_ACKS && flags.holds_acks();
        let mut emission = conn.poll(now, slot.map.as_slice(), held, header);
        (header.src_port, header.dst_port) = (*local_port, *remote_port);
        if !emission.is_some_and(|emission| emission.more) {
            flags.set_idle();
        }
        if Self::REMEMBERS && !matches!(conn.fast_open(), FastOpen::Off | FastOpen::Accepted) {
            self.poll_fast_open(now, index, header, &mut emission);
        }
        emission
    }

    /// Adds Fast Open to the SYN of a client, and notes the loss of such a SYN.
    //= rfc7413#4.2.1-2 rfc7413#4.2.2-2
    #[inline(never)]
    fn poll_fast_open(
        &mut self,
        now: Instant,
        index: usize,
        header: &mut Header,
        emission: &mut Option<Emission>,
    ) {
        let entry = self.slots.as_mut_slice().get_mut(index).and_then(|slot| slot.entry.as_mut());
        let Some(Entry { peer, remote_port, conn, .. }) = entry else { return };
        let (peer, port) = (*peer, *remote_port);
        if matches!(conn.fast_open(), FastOpen::Wanted | FastOpen::LostOnLink)
            && let Some(syn) = emission
        {
            let offer = KnownServer::offer(self.servers.as_slice(), now, &peer, port);
            conn.offer_fast_open(header, syn, offer);
        }
        let (lost, failed) = (conn.take_fast_open_loss(), conn.has_fast_open_failed());
        if lost {
            self.count_syn_loss(now, &peer, port);
        } else if failed {
            self.hold_fast_open(now, &peer, port);
        }
    }

    fn finish_emission(
        &mut self,
        index: usize,
        header: &Header,
        emission: Emission,
    ) -> Option<Packet<K>> {
        let slot = self.slots.as_slice().get(index)?;
        let entry = slot.entry.as_ref()?;
        let syn = u32::from(header.flags.contains(Flags::SYN));
        let seq = SeqNum::new(header.seq).plus(syn);
        let mut sum = Accumulator::new(0);
        if emission.len > 0 {
            slot.payload(seq, usize::from(emission.len), |run| sum.push(run))?;
        }
        let handle = Handle { index: u16::try_from(index).ok()?, order: entry.order };
        let payload = PayloadRef { handle, seq, len: emission.len };
        let marks = (emission.ecn, entry.conn.diffserv());
        let peer = entry.peer;
        Some(self.finish(peer, header, payload, marks, sum.sum()))
    }

    /// Counts a segment that leaves, and completes it.
    fn finish(
        &mut self,
        peer: K,
        header: &Header,
        payload: PayloadRef,
        marks: (Ecn, u8),
        sum: u16,
    ) -> Packet<K> {
        self.stats.sent = self.stats.sent.wrapping_add(1);
        if header.flags.contains(Flags::RST) {
            self.stats.resets_sent = self.stats.resets_sent.wrapping_add(1);
        }
        Packet::new(peer, header, payload, marks, sum)
    }

    /// Copies the octets from `offset` on of a segment's payload into `out`, as many as `out` has.
    ///
    /// # Errors
    /// [`Stale`] if they have been acknowledged meanwhile, or the connection is gone, or `out`
    /// reaches beyond the reference: then `out` is unchanged and the segment need not be sent.
    pub fn read_payload(
        &self,
        payload: PayloadRef,
        offset: usize,
        out: &mut [u8],
    ) -> Result<(), Stale> {
        if offset.saturating_add(out.len()) > usize::from(payload.len) {
            return Err(Stale);
        }
        let slot = self.slot(payload.handle).ok_or(Stale)?;
        let seq = payload.seq.plus(u32::try_from(offset).map_err(|_| Stale)?);
        slot.copy_payload(seq, out).ok_or(Stale)
    }
}

impl<K: Peer> Packet<K> {
    /// Converts a header to octets and completes the checksum, given that of the payload.
    #[inline(never)]
    fn new(
        peer: K,
        header: &Header,
        payload: PayloadRef,
        (ecn, diffserv): (Ecn, u8),
        sum: u16,
    ) -> Self {
        // Made where it is returned, and never copied.
        let bytes = HeaderBytes { octets: [0; MAX_HEADER_LEN], len: 0 };
        let mut packet = Packet { peer, ecn, diffserv, header: bytes, payload };
        let octets = &mut packet.header.octets;
        // Options take at most 40 octets, so the longest header fits.
        let len = header.emit(octets).unwrap_or(0);
        let total = len.saturating_add(usize::from(payload.len));
        let sum = add(sum, peer.pseudo_header_sum(total));
        set_checksum(octets.get_mut(..len).unwrap_or(&mut []), sum);
        packet.header.len = u8::try_from(len).unwrap_or(0);
        packet
    }
}

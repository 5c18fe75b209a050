//! The way out: one segment at a time, connections in turn, answers to strangers first.

use super::{Endpoint, Entry, Handle, HeaderBytes, KnownServer, Packet, PayloadRef, Peer, Sizes};
use crate::conn::{Emission, FastOpen};
use crate::error::Stale;
use crate::seq::SeqNum;
use kinglet_mem::{Array, copy};
use kinglet_time::Instant;
use kinglet_wire::Ecn;
use kinglet_wire::checksum::{Accumulator, add};
use kinglet_wire::tcp::{Flags, Header, MAX_HEADER_LEN, set_checksum};

/// Congestion notification and differentiated services of a segment that is no connection's.
const PLAIN: (Ecn, u8) = (Ecn::NotEct, 0);

impl<K: Peer, S: Sizes> Endpoint<K, S> {
    /// The next segment to send, or `None` until something happens. A segment that is handed out
    /// counts as sent.
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
        let count = self.slots.as_slice().len();
        let mut index = usize::from(self.turn);
        for _ in 0..count {
            // No remainder, which has to be computed by division.
            index = if index < count { index } else { 0 };
            let packet = self.poll_slot(now, index);
            index = index.saturating_add(1);
            if packet.is_some() {
                self.turn = u16::try_from(index).unwrap_or(0);
                return packet;
            }
        }
        None
    }

    /// What is no connection's: answers to strangers, TIME-WAIT, handshakes.
    fn poll_answer(&mut self, now: Instant) -> Option<Packet<K>> {
        let mut header = Header::default();
        let peer = match self.replies.pop().or_else(|| self.poll_time_wait(now)) {
            Some(reply) => {
                reply.fill(&mut header);
                reply.peer
            }
            None => self.poll_half_open(now, &mut header)?,
        };
        Some(self.finish(peer, &header, PayloadRef::NONE, PLAIN, 0))
    }

    fn poll_slot(&mut self, now: Instant, index: usize) -> Option<Packet<K>> {
        let slot = self.slots.as_mut_slice().get_mut(index)?;
        let Entry { peer, local_port, remote_port, told, conn, .. } = slot.entry.as_mut()?;
        if !told.is_awake() {
            return None;
        }
        self.due.set(None);
        let (peer, port) = (*peer, *remote_port);
        let mut header = Header::default();
        let mut emission = conn.poll(now, slot.map.as_slice(), &mut header);
        (header.src_port, header.dst_port) = (*local_port, port);
        if Self::REMEMBERS
            && matches!(conn.fast_open(), FastOpen::Wanted | FastOpen::Again)
            && let Some(syn) = &mut emission
        {
            let offer = KnownServer::offer(self.servers.as_slice(), now, &peer, port);
            conn.offer_fast_open(&mut header, syn, offer);
        }
        if !emission.is_some_and(|emission| emission.more) {
            told.rest();
        }
        if Self::REMEMBERS {
            let (lost, failed) = (conn.take_fast_open_loss(), conn.has_fast_open_failed());
            if lost {
                self.count_syn_loss(now, &peer, port);
            } else if failed {
                self.hold_fast_open(now, &peer, port);
            }
        }
        self.finish_emission(index, peer, &header, emission?)
    }

    fn finish_emission(
        &mut self,
        index: usize,
        peer: K,
        header: &Header,
        emission: Emission,
    ) -> Option<Packet<K>> {
        let slot = self.slots.as_slice().get(index)?;
        let syn = u32::from(header.flags.contains(Flags::SYN));
        let seq = SeqNum::new(header.seq).plus(syn);
        let mut sum = Accumulator::new(0);
        if emission.len > 0 {
            slot.payload(seq, usize::from(emission.len), |run| sum.push(run))?;
        }
        let handle =
            Handle { index: u16::try_from(index).ok()?, order: slot.entry.as_ref()?.order };
        let payload = PayloadRef { handle, seq, len: emission.len };
        let marks = (emission.ecn, slot.entry.as_ref()?.conn.diffserv());
        Some(self.finish(peer, header, payload, marks, sum.sum()))
    }

    /// Makes octets of a header and completes the checksum, given that of the payload.
    #[inline(never)]
    fn finish(
        &mut self,
        peer: K,
        header: &Header,
        payload: PayloadRef,
        (ecn, diffserv): (Ecn, u8),
        sum: u16,
    ) -> Packet<K> {
        let mut octets = [0; MAX_HEADER_LEN];
        // Options take at most 40 octets, so the longest header fits.
        let len = header.emit(&mut octets).unwrap_or(0);
        let total = len.saturating_add(usize::from(payload.len));
        let sum = add(sum, peer.pseudo_header_sum(total));
        set_checksum(octets.get_mut(..len).unwrap_or(&mut []), sum);
        self.stats.sent = self.stats.sent.wrapping_add(1);
        if header.flags.contains(Flags::RST) {
            self.stats.resets_sent = self.stats.resets_sent.wrapping_add(1);
        }
        let len = u8::try_from(len).unwrap_or(0);
        Packet { peer, ecn, diffserv, header: HeaderBytes { octets, len }, payload }
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
        let (len, mut done) = (out.len(), 0_usize);
        let append = |run: &[u8]| {
            let end = done.saturating_add(run.len());
            if let Some(out) = out.get_mut(done..end) {
                copy(out, run);
            }
            done = end;
        };
        slot.payload(seq, len, append).ok_or(Stale)
    }
}

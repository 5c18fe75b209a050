//! TIME-WAIT as a small record (RFC 9293 §3.10.7.4, RFC 1337, RFC 6191).

use super::reply::Reply;
use super::{Challenges, Endpoint, Peer, Sizes};
use crate::congestion::Controller;
use crate::conn::{LossRecovery, Params, Planned};
use crate::error::Discard;
use crate::features::Features;
use crate::paws::{Paws, is_before, timestamp};
use crate::seq::SeqNum;
use crate::steps::Receiver;
use crate::timer::Tick;
use kinglet_mem::Array;
use kinglet_time::Instant;
use kinglet_wire::tcp::{Flags, Segment, Timestamps};

/// Record of a connection in TIME-WAIT.
#[derive(Clone, Copy, Debug)]
pub struct TimeWait<K> {
    peer: K,
    local_port: u16,
    remote_port: u16,
    window: u16,
    snd_nxt: SeqNum,
    rcv_nxt: SeqNum,
    /// TS.Recent, if there are timestamps.
    recent: u32,
    timestamps: bool,
    ack_now: bool,
    expires: Tick,
    challenges: Challenges,
}

impl<K: Peer> TimeWait<K> {
    pub(super) fn new<C: Controller, R: LossRecovery, F: Features>(
        expires: Tick,
        (peer, local_port, remote_port): (K, u16, u16),
        conn: &Planned<C, R, F>,
    ) -> Self {
        TimeWait {
            peer,
            local_port,
            remote_port,
            window: conn.window_field(),
            snd_nxt: conn.snd_nxt(),
            rcv_nxt: conn.rcv_nxt(),
            recent: conn.paws().map_or(0, |paws| paws.recent()),
            timestamps: conn.paws().is_some(),
            expires,
            // The FIN that has led here is not acknowledged, unless the last step was from CLOSING.
            ack_now: conn.owes_ack(),
            challenges: Challenges::NONE,
        }
    }

    pub(super) const fn peer(&self) -> &K {
        &self.peer
    }

    pub(super) fn expires(&self) -> Tick {
        self.expires
    }

    pub(super) fn age(&mut self, epoch: Instant, now: Instant) {
        self.expires.age(epoch, now);
    }

    /// Returns whether a SYN may open the connection again (RFC 9293 MAY-2, RFC 6191 §2): it must
    /// be provably newer. `timestamps` if the new connection would use them when the peer does.
    //= rfc9293#SHLD-4
    //= rfc6191#2-1 rfc6191#2-2 rfc6191#2-3 rfc6191#2-4 rfc6191#2-6 rfc6191#2-7 rfc6191#2-8
    fn allows(&self, segment: &Segment<'_>, timestamps: bool) -> bool {
        let val = segment.header.options.timestamps.filter(|_| timestamps).map(|ts| ts.val);
        match val {
            // Segments of the old connection have no timestamp, and the new one takes none of them.
            Some(_) if !self.timestamps => true,
            // Sequence numbers decide only where timestamps do not.
            Some(val) if val != self.recent => !is_before(val, self.recent),
            _ => self.rcv_nxt.at_or_before(SeqNum::new(segment.header.seq)),
        }
    }

    fn receiver(&self, now: Instant) -> Receiver {
        let paws = self.timestamps.then(|| Paws::new(self.recent, now));
        Receiver { nxt: self.rcv_nxt, wnd: u32::from(self.window), paws, syn: None }
    }

    /// Returns whether this is "a retransmission of the remote FIN", which lies before RCV.NXT, and
    /// acknowledges nothing that was never sent.
    fn is_fin(&self, segment: &Segment<'_>) -> bool {
        let header = &segment.header;
        header.flags.contains(Flags::FIN | Flags::ACK)
            && SeqNum::new(header.seq).plus(segment.seq_len()) == self.rcv_nxt
            && SeqNum::new(header.ack).at_or_before(self.snd_nxt)
    }

    /// Returns the last acknowledgment again.
    //= rfc7323#3.2-4
    fn acknowledgment(&self, ts_val: u32) -> Reply<K> {
        let timestamps = self.timestamps.then_some(Timestamps { val: ts_val, ecr: self.recent });
        Reply {
            peer: self.peer,
            local_port: self.local_port,
            remote_port: self.remote_port,
            seq: self.snd_nxt.value(),
            ack: self.rcv_nxt.value(),
            flags: Flags::ACK,
            window: self.window,
            timestamps,
        }
    }
}

impl<K: Peer, S: Sizes> Endpoint<K, S> {
    /// Counts a connection that is established, and removes the TIME-WAIT record of its name.
    pub(super) fn note_established(&mut self, (peer, local, remote): (K, u16, u16)) {
        self.stats.established = self.stats.established.wrapping_add(1);
        if let Some(index) = self.find_time_wait(&peer, local, remote)
            && let Some(slot) = self.time_wait.as_mut_slice().get_mut(index)
        {
            *slot = None;
        }
    }

    pub(super) fn find_time_wait(&self, peer: &K, local: u16, remote: u16) -> Option<usize> {
        self.time_wait.as_slice().iter().position(|record| {
            record.as_ref().is_some_and(|r| {
                r.local_port == local && r.remote_port == remote && r.peer == *peer
            })
        })
    }

    /// Takes a free record, or the one that would expire first.
    pub(super) fn add_time_wait(&mut self, record: TimeWait<K>) {
        let epoch = self.epoch;
        let expires = |slot: &Option<TimeWait<K>>| slot.as_ref().map(|r| r.expires.near(epoch));
        // `None`, a free record, comes before all.
        let slot = self.time_wait.as_mut_slice().iter_mut().min_by_key(|slot| expires(slot));
        if let Some(slot) = slot {
            *slot = Some(record);
        }
    }

    /// Handles a segment for a connection in TIME-WAIT. If it may open the connection again,
    /// returns the least ISS for that (RFC 9293 §3.6.1): the clock of RFC 9293 §3.4.1 lags behind a
    /// connection that has sent more than an octet each 4 µs.
    pub(super) fn for_time_wait(
        &mut self,
        now: Instant,
        index: usize,
        segment: &Segment<'_>,
    ) -> Result<Option<SeqNum>, Discard> {
        // A SYN cookie could not respect that ISS.
        let room = self.half_open.as_slice().iter().any(Option::is_none);
        let listener = self.find_listener(segment.header.dst_port).filter(|_| room);
        let timestamps = listener.map(|l| l.setup.params.has(Params::TIMESTAMPS));
        let records = self.time_wait.as_mut_slice();
        let Some(Some(record)) = records.get_mut(index) else { return Ok(None) };
        let flags = segment.header.flags;
        let reason = match record.receiver(now).take(now, segment) {
            Err(Discard::OutsideWindow) if record.is_fin(segment) => {
                // "Acknowledge it, and restart the 2 MSL timeout."
                record.expires = Tick::after(now, self.config.time_wait);
                record.ack_now = true;
                return Ok(None);
            }
            // The record stays until the new connection is established: the SYN may turn out to be
            // an old duplicate.
            Err(Discard::SynInWindow)
                if !flags.contains(Flags::ACK)
                    && timestamps.is_some_and(|t| record.allows(segment, t)) =>
            {
                return Ok(Some(record.snd_nxt));
            }
            // A pure ACK needs no answer; two ends in TIME-WAIT would answer each other.
            Ok(_) if segment.seq_len() == 0 && !flags.contains(Flags::RST) => return Ok(None),
            Ok(_) => Discard::OutsideWindow,
            Err(reason) => reason,
        };
        // RFC 1337 §3 fix (F1): TIME-WAIT is not ended by RST.
        let challenged = !flags.contains(Flags::RST) && reason.is_challenged(false);
        if challenged && record.challenges.allow(now, &mut self.stats) {
            record.ack_now = true;
        }
        Err(reason)
    }

    pub(super) fn poll_time_wait(&mut self, now: Instant) -> Option<Reply<K>> {
        let mut records = self.time_wait.as_mut_slice().iter_mut().flatten();
        let record = records.find(|r| r.ack_now)?;
        record.ack_now = false;
        let record = *record;
        // Computed from the hash again, as this is rare.
        let offset = self.timestamp_offset(&record.peer, record.local_port, record.remote_port);
        Some(record.acknowledgment(timestamp(offset, now)))
    }
}

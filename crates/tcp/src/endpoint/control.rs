//! What an application changes about a connection while it lasts.

use super::ready::EntryFlags;
use super::{Endpoint, EntryOf, Handle, Peer, Sizes};
use crate::config::ConnectionConfig;
use crate::conn::SegmentLoss;
use crate::error::InvalidHandle;
use kinglet_mem::Array;
use kinglet_time::{Duration, Expected, Instant};

impl<K: Peer, S: Sizes> Endpoint<K, S> {
    /// A connection of which something is to be changed; it is polled afterwards.
    fn touched(&mut self, handle: Handle) -> Result<&mut EntryOf<K, S>, InvalidHandle> {
        let slot = self.slot_mut(handle).ok_or(InvalidHandle)?;
        let entry = slot.entry.as_mut().ok_or(InvalidHandle)?;
        entry.flags.wake();
        Ok(entry)
    }

    /// Changes the settings of a connection, whether it was opened or accepted. All of
    /// [`ConnectionConfig`] counts from now on but what the handshake agrees upon or has used:
    /// `mss` (see [`Endpoint::set_mss`]), buffers, timestamps, SACK, `rto_initial` and
    /// `initial_window`. Usual changes:
    ///
    /// | socket option | field |
    /// |---|---|
    /// | `TCP_NODELAY` | `nagle: false`; what Nagle's algorithm has held back leaves |
    /// | `TCP_QUICKACK` | `delayed_ack: Duration::ZERO`; once: [`Endpoint::acknowledge`] |
    /// | `SO_KEEPALIVE`, `TCP_KEEPIDLE`, … | `keepalive`; idle time counts from this call |
    /// | `TCP_USER_TIMEOUT` | `user_timeout` |
    /// | `TCP_LINGER2` | `fin_wait_2` |
    /// | `SO_LINGER` | not a setting: [`Endpoint::release`] |
    ///
    /// # Errors
    /// [`InvalidHandle`].
    pub fn configure(
        &mut self,
        now: Instant,
        handle: Handle,
        config: &ConnectionConfig,
    ) -> Result<(), InvalidHandle> {
        self.keep_time(now);
        self.touched(handle)?.conn.configure(now, config);
        Ok(())
    }

    /// Changes how large segments to the peer are, in octets of payload and options together: at
    /// least 64, and never more than what both sides have announced (RFC 9293 §3.7.1). Segments
    /// in flight stay as they are; what has to be sent again may be cut anew. Nothing happens
    /// before the handshake has ended.
    ///
    /// # Errors
    /// [`InvalidHandle`].
    pub fn set_mss(&mut self, handle: Handle, mss: u16) -> Result<(), InvalidHandle> {
        self.touched(handle)?.conn.set_mss(mss);
        Ok(())
    }

    /// Tells how many transmissions segments of `peer` take to get here, at the least one: whoever
    /// carries them may know. Connections with
    /// [`window_by_distance`](ConnectionConfig::window_by_distance) go by it.
    pub fn note_distance(&mut self, peer: &K, hops: u8) {
        let entries = self.slots.as_mut_slice().iter_mut().filter_map(|slot| slot.entry.as_mut());
        for entry in entries.filter(|entry| entry.peer == *peer) {
            entry.conn.note_distance(hops);
        }
    }

    /// The congestion control of a connection, for a controller that has something to be set.
    pub fn congestion(&mut self, handle: Handle) -> Option<&mut S::Congestion> {
        let entry = self.slot_mut(handle)?.entry.as_mut()?;
        Some(entry.conn.congestion())
    }

    /// What the owner of the endpoint, who knows what a segment costs and how it gets lost, needs
    /// to choose a segment size for [`Endpoint::set_mss`]; `None` if the connection's
    /// `adaptive_mss` is off or it has not been established yet. To be asked with every segment
    /// that leaves; there is something to be decided only with every 16th.
    pub fn segment_loss(&self, handle: Handle) -> Option<SegmentLoss> {
        self.entry(handle)?.conn.segment_loss()
    }

    /// Sends nothing more on a connection for `gap`, unless nothing is in flight: its owner, who
    /// knows the link, sees that others need the air. With pacing the longer of two gaps holds.
    ///
    /// # Errors
    /// [`InvalidHandle`].
    pub fn hold_back(
        &mut self,
        now: Instant,
        handle: Handle,
        gap: Duration,
    ) -> Result<(), InvalidHandle> {
        self.touched(handle)?.conn.hold_back(now, gap);
        Ok(())
    }

    /// What is expected from the peer of a connection: an acknowledgment, the answer to a SYN or a
    /// probe, the text that is missing below what has arrived, or what an acknowledgment lets it
    /// send. `None` if nothing is: TCP has no reason to listen then (the application may have).
    ///
    /// It can be here from SRTT − 4·RTTVAR to SRTT + max(`rto_min`, 4·RTTVAR), the RTO without
    /// back-off, or to the end of the timer that would send again, if that is sooner. That includes
    /// the time for which the peer may delay its acknowledgment. Who wants no needless
    /// retransmission listens before; afterwards it is likely that something got lost, and the next
    /// event is this side's own timer ([`Endpoint::deadline`]).
    ///
    /// A peer that has not pushed its last text, or has filled the segment, has probably more to
    /// send. That is expected from when it was acknowledged until one RTO later, and then no
    /// longer: what comes after a longer pause looks like what nobody can foretell.
    pub fn expected(&self, handle: Handle) -> Option<Expected> {
        self.entry(handle)?.conn.expected(self.epoch)
    }

    /// What is expected from any peer, handshakes included: a device that sleeps listens at least
    /// from the earliest `from` to the latest `until`.
    pub fn expected_by_any(&self) -> Option<Expected> {
        self.expected_by_each().flatten().reduce(Expected::and)
    }

    /// What is expected by each: first the places for connections, then those for handshakes that
    /// peers have begun. A connection keeps its place for as long as its handle is valid.
    pub fn expected_by_each(&self) -> impl Iterator<Item = Option<Expected>> {
        let connections = self.slots.as_slice().iter();
        let connections = connections.map(|slot| slot.entry.as_ref()?.conn.expected(self.epoch));
        let half_open = self.half_open.as_slice().iter();
        let listeners = self.listeners.as_slice();
        connections.chain(half_open.map(|h| h.as_ref()?.expected(listeners, self.epoch)))
    }

    /// Whether the peer's window has no room for a segment, as that of one whose application does
    /// not read.
    pub fn is_held_back(&self, handle: Handle) -> bool {
        self.entry(handle).is_some_and(|entry| entry.conn.is_held_back())
    }

    /// Whether octets of the application are queued that the peer has not acknowledged.
    pub fn has_queued(&self, handle: Handle) -> bool {
        self.entry(handle).is_some_and(|entry| entry.conn.has_queued())
    }

    /// Acknowledges now what has arrived, instead of waiting for more (Linux: setting
    /// `TCP_QUICKACK`). Nothing is sent if nothing is owed.
    ///
    /// # Errors
    /// [`InvalidHandle`].
    pub fn acknowledge(&mut self, handle: Handle) -> Result<(), InvalidHandle> {
        self.touched(handle)?.conn.hurry_ack();
        Ok(())
    }

    /// Leaves a connection for good, as `close(2)` does: what is queued is sent, then FIN, and the
    /// application will not read any more. If something is unread, or text arrives later, the peer
    /// gets an RST, because it would take its text for delivered (RFC 1122 §4.2.2.13, RFC 9293
    /// SHLD-3, RFC 2525 §2.17).
    ///
    /// `linger` bounds how long that may take until the peer has acknowledged everything and
    /// closed too; then it gets an RST. Zero is [`Endpoint::abort`] at once, `None` leaves the
    /// bounds to the settings (`max_retransmits`, `user_timeout`, `fin_wait_2`). The handle can
    /// still be asked what became of the connection until its slot is used again.
    ///
    /// # Errors
    /// [`InvalidHandle`].
    #[inline(never)]
    pub fn release(
        &mut self,
        now: Instant,
        handle: Handle,
        linger: Option<Duration>,
    ) -> Result<(), InvalidHandle> {
        self.keep_time(now);
        let entry = self.touched(handle)?;
        entry.conn.release(now, linger);
        entry.flags = EntryFlags::ALL;
        Ok(())
    }
}

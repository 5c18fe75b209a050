//! Changes to an existing connection by its application.

use super::ready::EntryFlags;
use super::{Endpoint, EntryOf, Handle, Peer, Sizes};
use crate::config::ConnectionConfig;
use crate::conn::SegmentLoss;
use crate::error::InvalidHandle;
use kinglet_mem::Array;
use kinglet_time::{Duration, Expected, Instant};

impl<K: Peer, S: Sizes> Endpoint<K, S> {
    /// Returns a connection that is about to change; it is polled afterwards.
    fn touched(&mut self, handle: Handle) -> Result<&mut EntryOf<K, S>, InvalidHandle> {
        let slot = self.slot_mut(handle).ok_or(InvalidHandle)?;
        let entry = slot.entry.as_mut().ok_or(InvalidHandle)?;
        entry.flags.wake();
        Ok(entry)
    }

    /// Changes the settings of a connection, whether it was opened or accepted. All fields of
    /// [`ConnectionConfig`] take effect except those that the handshake agrees upon or has used:
    /// `mss` (see [`Endpoint::set_mss`]), buffers, timestamps, SACK, `rto_initial` and
    /// `initial_window`. Usual changes:
    ///
    /// | socket option | field |
    /// |---|---|
    /// | `TCP_NODELAY` | `nagle: false`; data that Nagle's algorithm has held back leaves |
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

    /// Changes the size of segments to the peer, in octets of payload and options together: at
    /// least 64, and at most what both sides have announced (RFC 9293 §3.7.1). Segments in flight
    /// keep their size; retransmissions may be cut differently. The call has no effect before the
    /// handshake has ended.
    ///
    /// # Errors
    /// [`InvalidHandle`].
    pub fn set_mss(&mut self, handle: Handle, mss: u16) -> Result<(), InvalidHandle> {
        self.touched(handle)?.conn.set_mss(mss);
        Ok(())
    }

    /// Reports the number of hops from `peer`, at least one, if the caller knows it. Connections
    /// with [`window_by_hops`](ConnectionConfig::window_by_hops) use it.
    pub fn note_distance(&mut self, peer: &K, hops: u8) {
        let entries = self.slots.as_mut_slice().iter_mut().filter_map(|slot| slot.entry.as_mut());
        for entry in entries.filter(|entry| entry.peer == *peer) {
            entry.conn.note_distance(hops);
        }
    }

    /// Returns the congestion control of a connection, for a controller with settings of its own.
    pub fn congestion(&mut self, handle: Handle) -> Option<&mut S::Congestion> {
        let entry = self.slot_mut(handle)?.entry.as_mut()?;
        Some(entry.conn.congestion())
    }

    /// Returns the input for the choice of a segment size for [`Endpoint::set_mss`]. The owner of
    /// the endpoint, which knows the cost and the losses of segments, calls it with every segment
    /// that leaves. `None` with all but every 16th segment, if the connection's `adaptive_mss` is
    /// off, and before the connection is established.
    pub fn segment_loss(&self, handle: Handle) -> Option<SegmentLoss> {
        self.entry(handle)?.conn.segment_loss()
    }

    /// Sends nothing more on a connection for `gap`, unless nothing is in flight: the owner of the
    /// endpoint leaves the channel to other nodes. With pacing the longer of the two gaps applies.
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

    /// Ends the gap of pacing after the segment that was sent last: a link that gathers frames
    /// before it sends them has the segments of a window follow one another.
    ///
    /// # Errors
    /// [`InvalidHandle`].
    pub fn follow_at_once(&mut self, handle: Handle) -> Result<(), InvalidHandle> {
        self.touched(handle)?.conn.follow_at_once();
        Ok(())
    }

    /// Returns the time in which a segment of the peer is expected: an acknowledgment, the response
    /// to a SYN or a probe, text missing below text that has arrived, or text that an
    /// acknowledgment lets the peer send. `None` if none is expected: TCP has no reason to listen
    /// then (the application may have).
    ///
    /// It can arrive from SRTT − 4·RTTVAR to SRTT + max(`rto_min`, 4·RTTVAR), the RTO without
    /// back-off, or until the timer for a retransmission expires, if that is sooner. That includes
    /// the time for which the peer may delay its acknowledgment. A node that listens for that time
    /// avoids needless retransmissions. Afterwards a loss is likely, and the next event is this
    /// side's own timer ([`Endpoint::deadline`]).
    ///
    /// A peer whose last segment was without PSH, or full, probably has more to send. That text is
    /// expected from the acknowledgment until one RTO later, and no longer: text after a longer
    /// pause cannot be predicted.
    pub fn expected(&self, handle: Handle) -> Option<Expected> {
        self.entry(handle)?.conn.expected(self.epoch)
    }

    /// Returns the time in which a segment of any peer is expected, handshakes included: a sleepy
    /// device listens at least from the earliest `from` to the latest `until`.
    pub fn expected_by_any(&self) -> Option<Expected> {
        self.expected_by_each().flatten().reduce(Expected::and)
    }

    /// Returns the expected times one by one: first for the places of connections, then for those
    /// of handshakes that peers have begun. A connection keeps its place for as long as its handle
    /// is valid.
    pub fn expected_by_each(&self) -> impl Iterator<Item = Option<Expected>> {
        let connections = self.slots.as_slice().iter();
        let connections = connections.map(|slot| slot.entry.as_ref()?.conn.expected(self.epoch));
        let half_open = self.half_open.as_slice().iter();
        let listeners = self.listeners.as_slice();
        connections.chain(half_open.map(|h| h.as_ref()?.expected(listeners, self.epoch)))
    }

    /// Returns whether the peer's window has no room for a segment, for example because its
    /// application does not read.
    pub fn is_held_back(&self, handle: Handle) -> bool {
        self.entry(handle).is_some_and(|entry| entry.conn.is_held_back())
    }

    /// Returns whether octets of the application are queued that the peer has not acknowledged.
    pub fn has_queued(&self, handle: Handle) -> bool {
        self.entry(handle).is_some_and(|entry| entry.conn.has_queued())
    }

    /// Acknowledges received text now, instead of waiting for more (Linux: setting `TCP_QUICKACK`).
    /// Nothing is sent if no acknowledgment is owed.
    ///
    /// # Errors
    /// [`InvalidHandle`].
    pub fn acknowledge(&mut self, handle: Handle) -> Result<(), InvalidHandle> {
        self.touched(handle)?.conn.hurry_ack();
        Ok(())
    }

    /// Releases a connection, as `close(2)` does: queued data is sent, then FIN, and the
    /// application does not read any more. If received text is unread, or text arrives later, the
    /// peer gets an RST, because it would otherwise consider its text delivered (RFC 1122
    /// §4.2.2.13, RFC 9293 SHLD-3, RFC 2525 §2.17).
    ///
    /// `linger` bounds the time until the peer has acknowledged everything and closed too; after it
    /// the peer gets an RST. Zero means [`Endpoint::abort`] at once; with `None` the bounds are
    /// those of the settings (`max_retransmits`, `user_timeout`, `fin_wait_2`). The handle still
    /// gives the state of the connection until its slot is used again.
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

//! The interface to applications.

use super::ready::EntryFlags;
use super::{Challenges, Endpoint, Entry, EntryOf, Handle, PayloadRef, Peer, Sizes, Slot, Taken};
use crate::config::{ConnectionConfig, ListenConfig};
use crate::conn::Planned;
use crate::error::{
    ConnectError, ConnectionError, InvalidHandle, ListenError, RecvError, SendError, SoftError,
};
use crate::info::Info;
use crate::send::buffer::Piece;
use crate::state::State;
use core::num::NonZeroU16;
use kinglet_mem::{Array, Empty};
use kinglet_time::Instant;

impl Handle {
    pub(super) fn index(self) -> usize {
        usize::from(self.index)
    }
}

impl<K: Peer, S: Sizes> Endpoint<K, S> {
    /// Listens on `port`.
    ///
    /// # Errors
    /// Reason for which that is impossible.
    //= rfc9293#MUST-41 rfc9293#MUST-42
    pub fn listen(&mut self, port: u16, config: ListenConfig) -> Result<(), ListenError> {
        let name = NonZeroU16::new(port).ok_or(ListenError::BadPort)?;
        if self.find_listener(port).is_some() {
            return Err(ListenError::InUse);
        }
        let listener = self.listener(name, &config);
        let free = self.listeners.as_mut_slice().iter_mut().find(|l| l.is_none());
        *free.ok_or(ListenError::NoSlot)? = Some(listener);
        Ok(())
    }

    /// Stops listening on `port`. Connections that are not accepted yet are aborted.
    #[inline(never)]
    pub fn unlisten(&mut self, port: u16) {
        self.due.set(None);
        for listener in self.listeners.as_mut_slice() {
            listener.take_if(|l| l.port.get() == port);
        }
        for record in self.half_open.as_mut_slice() {
            record.take_if(|r| r.local_port() == port);
        }
        for entry in self.slots.as_mut_slice().iter_mut().filter_map(|s| s.entry.as_mut()) {
            if entry.local_port == port && !entry.flags.is_accepted() {
                entry.conn.abort(ConnectionError::Aborted);
                entry.flags.wake();
                entry.flags = EntryFlags::ALL;
            }
        }
    }

    /// Accepts the connection to `port` that has been waiting longest, if any.
    #[inline(never)]
    pub fn accept(&mut self, port: u16) -> Option<Handle> {
        let newest = self.order;
        let waiting = self.slots.as_mut_slice().iter_mut().enumerate().filter_map(|(i, slot)| {
            let entry = slot.entry.as_mut()?;
            (!entry.flags.is_accepted() && entry.local_port == port).then_some((i, entry))
        });
        // Ages, not numbers, are compared: the counter wraps.
        let (index, entry) = waiting.max_by_key(|(_, entry)| newest.wrapping_sub(entry.order))?;
        entry.flags.accept();
        Some(Handle { index: u16::try_from(index).ok()?, order: entry.order })
    }

    /// Opens a connection to `port` of `peer` from an ephemeral port.
    ///
    /// # Errors
    /// Reason for which that is impossible.
    pub fn connect(
        &mut self,
        now: Instant,
        peer: K,
        port: u16,
        config: ConnectionConfig,
    ) -> Result<Handle, ConnectError> {
        if port == 0 || !peer.is_unicast() {
            return Err(ConnectError::BadAddress);
        }
        let local = self.ephemeral_port(&peer, port).ok_or(ConnectError::NoPort)?;
        self.connect_from(now, peer, local, port, config)
    }

    /// Opens a connection to `port` of `peer` from the local port `local`.
    ///
    /// # Errors
    /// Reason for which that is impossible; [`ConnectError::NoPort`] if a connection, also one in
    /// TIME-WAIT, has the same addresses and ports.
    //= rfc9293#MUST-43 rfc9293#MUST-45 rfc9293#MUST-46
    #[inline(never)]
    pub fn connect_from(
        &mut self,
        now: Instant,
        peer: K,
        local: u16,
        port: u16,
        config: ConnectionConfig,
    ) -> Result<Handle, ConnectError> {
        if port == 0 || local == 0 || !peer.is_unicast() {
            return Err(ConnectError::BadAddress);
        }
        if self.slots.as_slice().iter().any(|s| s.matches(&peer, local, port))
            || self.find_half_open(&peer, local, port).is_some()
            || self.find_time_wait(&peer, local, port).is_some()
        {
            return Err(ConnectError::NoPort);
        }
        self.keep_time(now);
        let iss = self.initial_sequence(now, &peer, local, port);
        let offset = self.timestamp_offset(&peer, local, port);
        let conn = Planned::connect(now, &self.setup(&config), iss, offset);
        self.install((peer, local, port), conn, EntryFlags::ACCEPTED).ok_or(ConnectError::NoSlot)
    }

    /// Puts a connection into a slot: an empty one, otherwise one that its application has
    /// released, which is over or only waits for its peer to close, with the fewest octets still to
    /// be read.
    pub(super) fn install(
        &mut self,
        (peer, local_port, remote_port): (K, u16, u16),
        conn: Planned<S::Congestion, S::Segments, S::Features>,
        mut flags: EntryFlags,
    ) -> Option<Handle> {
        flags.wake();
        let order = self.next_order();
        let slots = self.slots.as_mut_slice();
        let price = |(index, slot): (usize, &Slot<K, S>)| Some((slot.price()?, index));
        let (_, index) = slots.iter().enumerate().filter_map(price).min()?;
        let slot = slots.get_mut(index)?;
        slot.map.as_mut_slice().fill(0);
        slot.pieces.as_mut_slice().fill(Piece::EMPTY);
        self.due.set(None);
        slot.entry = Some(Entry {
            taken: Taken::Yes,
            peer,
            local_port,
            remote_port,
            flags,
            order,
            challenges: Challenges::NONE,
            conn,
        });
        Some(Handle { index: u16::try_from(index).ok()?, order })
    }

    fn next_order(&mut self) -> u16 {
        self.order = self.order.wrapping_add(1);
        self.order
    }

    pub(super) fn slot(&self, handle: Handle) -> Option<&Slot<K, S>> {
        let slot = self.slots.as_slice().get(handle.index())?;
        slot.is_named(handle).then_some(slot)
    }

    /// Returns the slot of a connection that is about to change.
    #[inline(never)]
    pub(super) fn slot_mut(&mut self, handle: Handle) -> Option<&mut Slot<K, S>> {
        self.due.set(None);
        self.quiet_mut(handle)
    }

    /// Returns the slot of a connection for a call that touches no timer.
    fn quiet_mut(&mut self, handle: Handle) -> Option<&mut Slot<K, S>> {
        let slot = self.slots.as_mut_slice().get_mut(handle.index())?;
        slot.is_named(handle).then_some(slot)
    }

    pub(super) fn entry(&self, handle: Handle) -> Option<&EntryOf<K, S>> {
        self.slot(handle)?.entry.as_ref()
    }

    /// Returns the slot of a connection that can still be written to; the written octets leave when
    /// polled.
    fn writable(&mut self, handle: Handle) -> Result<&mut Slot<K, S>, SendError> {
        let slot = self.quiet_mut(handle).ok_or(SendError::InvalidHandle)?;
        let entry = slot.entry.as_mut().ok_or(SendError::InvalidHandle)?;
        if let Some(error) = entry.conn.error() {
            return Err(SendError::Ended(error));
        }
        if !entry.conn.can_write() {
            return Err(SendError::Closed);
        }
        entry.flags.wake();
        entry.flags.written();
        Ok(slot)
    }

    /// Queues as much of `data` as there is room for; 0 if there is none.
    ///
    /// # Errors
    /// Reason for which nothing will ever be taken.
    pub fn send(&mut self, handle: Handle, data: &[u8]) -> Result<usize, SendError> {
        self.send_vectored(handle, &[data])
    }

    /// Queues the parts one after another as [`Endpoint::send`] would, as if they were one: nothing
    /// leaves in between, and as much is taken as there is room for, possibly a part of a part. An
    /// application that needs all or nothing calls [`Endpoint::can_send`] first.
    ///
    /// # Errors
    /// Reason for which nothing will ever be taken.
    #[inline(never)]
    pub fn send_vectored(&mut self, handle: Handle, parts: &[&[u8]]) -> Result<usize, SendError> {
        let slot = self.writable(handle)?;
        let entry = slot.entry.as_mut().ok_or(SendError::InvalidHandle)?;
        let ring = slot.send.as_mut_slice();
        let taken = parts.iter().map(|part| entry.conn.push(ring, part));
        Ok(taken.fold(0, usize::saturating_add))
    }

    /// Queues constant data by reference: it is never copied before it leaves, and takes no room in
    /// the send ring but one place of [`Sizes::Pieces`]. All of it is taken, or nothing (0) if
    /// there is no free place or if more than 2^30 octets would wait. In the stream it stands where
    /// it was sent, between the octets copied before and after.
    ///
    /// # Errors
    /// Reason for which nothing will ever be taken.
    #[inline(never)]
    pub fn send_static(&mut self, handle: Handle, data: &'static [u8]) -> Result<usize, SendError> {
        let slot = self.writable(handle)?;
        let entry = slot.entry.as_mut().ok_or(SendError::InvalidHandle)?;
        Ok(entry.conn.push_piece(slot.pieces.as_mut_slice(), data))
    }

    /// Takes octets that have arrived in order. `Ok(0)`: the peer has closed and all is read (or
    /// `out` is empty).
    ///
    /// # Errors
    /// Reason for which there are none.
    #[inline(never)]
    pub fn recv(&mut self, handle: Handle, out: &mut [u8]) -> Result<usize, RecvError> {
        let slot = self.quiet_mut(handle).ok_or(RecvError::InvalidHandle)?;
        let entry = slot.entry.as_mut().ok_or(RecvError::InvalidHandle)?;
        let count = entry.conn.read(slot.receive.as_slice(), out);
        if count > 0 && entry.conn.window_update_due() {
            entry.flags.wake();
        }
        entry.flags.read();
        Self::received(entry, count, out.is_empty())
    }

    /// Copies octets as [`Endpoint::recv`] does, but leaves them in the buffer.
    ///
    /// # Errors
    /// Reason for which there are none.
    pub fn peek(&self, handle: Handle, out: &mut [u8]) -> Result<usize, RecvError> {
        let slot = self.slot(handle).ok_or(RecvError::InvalidHandle)?;
        let entry = slot.entry.as_ref().ok_or(RecvError::InvalidHandle)?;
        let count = entry.conn.peek(slot.receive.as_slice(), out);
        Self::received(entry, count, out.is_empty())
    }

    //= rfc9293#MUST-12
    fn received(
        entry: &EntryOf<K, S>,
        count: usize,
        asked_nothing: bool,
    ) -> Result<usize, RecvError> {
        if count > 0 || asked_nothing {
            Ok(count)
        } else if let Some(error) = entry.conn.error() {
            Err(RecvError::Ended(error))
        } else if entry.conn.at_end() {
            Ok(0)
        } else {
            Err(RecvError::WouldBlock)
        }
    }

    /// Closes this side: the queued octets are sent, then FIN. A connection that the peer has not
    /// yet answered ends at once, and its queued octets are gone (RFC 9293 §3.10.4, SYN-SENT): it
    /// has then ended with [`ConnectionError::Aborted`]. Wait for ESTABLISHED to be sure. Reading
    /// continues until the peer closes, and the handle stays valid until a new connection needs the
    /// slot of one that is over, first of one whose octets are all read. This is the half close of
    /// RFC 9293 §3.6; an application that will not read any more uses [`Endpoint::release`].
    ///
    /// # Errors
    /// [`InvalidHandle`].
    pub fn close(&mut self, handle: Handle) -> Result<(), InvalidHandle> {
        let slot = self.slot_mut(handle).ok_or(InvalidHandle)?;
        let entry = slot.entry.as_mut().ok_or(InvalidHandle)?;
        if !entry.conn.fin_queued() {
            entry.conn.close();
        }
        entry.flags.close();
        entry.flags.wake();
        Ok(())
    }

    /// Ends the connection at once, with RST if the peer knows of it. The handle becomes invalid.
    ///
    /// # Errors
    /// [`InvalidHandle`].
    pub fn abort(&mut self, handle: Handle) -> Result<(), InvalidHandle> {
        let order = self.next_order();
        let slot = self.slot_mut(handle).ok_or(InvalidHandle)?;
        let entry = slot.entry.as_mut().ok_or(InvalidHandle)?;
        entry.conn.abort(ConnectionError::Aborted);
        entry.flags.wake();
        entry.flags = EntryFlags::ALL;
        entry.order = order;
        Ok(())
    }

    /// Ends all connections whose peers are `gone`, for example because the own address in them is
    /// gone, and removes all other records with them. Applications find their connections aborted.
    pub fn forget(&mut self, gone: impl Fn(&K) -> bool) {
        self.due.set(None);
        for entry in self.slots.as_mut_slice().iter_mut().filter_map(|slot| slot.entry.as_mut()) {
            if gone(&entry.peer) && entry.conn.state() != State::Closed {
                entry.conn.abort(ConnectionError::Aborted);
                entry.flags.wake();
            }
        }
        for record in self.half_open.as_mut_slice() {
            let _ = record.take_if(|record| gone(&record.name().0));
        }
        for record in self.time_wait.as_mut_slice() {
            let _ = record.take_if(|record| gone(record.peer()));
        }
    }

    /// Returns the state of a connection; `None` for an invalid handle.
    pub fn state(&self, handle: Handle) -> Option<State> {
        self.entry(handle).map(|e| e.conn.state())
    }

    /// Returns how many octets [`Endpoint::send`] would take now.
    pub fn can_send(&self, handle: Handle) -> usize {
        self.entry(handle).map_or(0, |e| e.conn.send_room())
    }

    /// Returns how many octets [`Endpoint::recv`] could give now.
    pub fn can_recv(&self, handle: Handle) -> usize {
        self.entry(handle).map_or(0, |e| e.conn.readable())
    }

    /// Returns whether a connection to `port` waits for [`Endpoint::accept`].
    pub fn can_accept(&self, port: u16) -> bool {
        let mut entries = self.slots.as_slice().iter().filter_map(|slot| slot.entry.as_ref());
        entries.any(|entry| !entry.flags.is_accepted() && entry.local_port == port)
    }

    /// Returns the name of a connection: peer, local port, remote port.
    pub fn name(&self, handle: Handle) -> Option<(K, u16, u16)> {
        self.entry(handle).map(|e| (e.peer, e.local_port, e.remote_port))
    }

    /// Returns the existing connections, including those whose application has not accepted them
    /// yet.
    pub fn handles(&self) -> impl Iterator<Item = Handle> {
        (0..).zip(self.slots.as_slice()).filter_map(|(index, slot)| {
            slot.entry.as_ref().map(|entry| Handle { index, order: entry.order })
        })
    }

    /// Returns a snapshot of a connection; `None` for an invalid handle.
    pub fn info(&self, handle: Handle) -> Option<Info> {
        self.entry(handle).map(|e| e.conn.info(self.epoch))
    }

    /// Handles a report of the link that a segment did not reach the next hop. The segment is
    /// retransmitted at once, and its loss is no sign of congestion: the MAC has waited and tried
    /// again on its own account, and knows that the frame was not taken (RFC 3819 §8.1 asks links
    /// to report this). The number of times is bounded, so that a dead path still times out: eight
    /// times between two signs of progress, half as often after each timeout. A segment that is
    /// gone meanwhile is ignored.
    pub fn notify_lost(&mut self, _now: Instant, segment: PayloadRef) {
        if let Some(slot) = self.slot_mut(segment.handle)
            && let Some(entry) = &mut slot.entry
        {
            entry.conn.lost_on_link(segment.seq, u32::from(segment.len));
            entry.flags.wake();
        }
    }

    /// Notifies the connection that a segment without payload waits below to be sent. Where every
    /// segment is to be acknowledged ([`ack_every`](ConnectionConfig::ack_every) is 1), another
    /// acknowledgment without text waits in the connection until [`Endpoint::release_acks`]: it
    /// could leave no sooner, and then acknowledges everything that has come. Segments that the
    /// peer counts do not wait: acknowledgments after a gap, acknowledgments if each segment has
    /// its own, and probes.
    pub fn hold_acks(&mut self, handle: Handle) {
        if let Some(slot) = self.slot_mut(handle)
            && let Some(entry) = &mut slot.entry
            && entry.conn.acknowledges_every_segment()
        {
            entry.flags.hold_acks();
        }
    }

    /// Notifies the connection that the segment has left, or never will. Returns whether an
    /// acknowledgment has waited for that.
    pub fn release_acks(&mut self, handle: Handle) -> bool {
        let Some(slot) = self.slot_mut(handle) else { return false };
        let Some(entry) = &mut slot.entry else { return false };
        entry.flags.release_acks();
        entry.conn.wants_ack()
    }

    /// Handles the report of a router that a segment to `remote_port` of `peer` with sequence
    /// number `seq` was too big for a link of `mtu` octets (ICMPv6 Packet Too Big, RFC 8201). If
    /// that number is in flight (RFC 5927 §4.1), the segment size decreases, though not below that
    /// of IPv6's minimum MTU of 1280, and everything in flight is retransmitted.
    pub fn notify_packet_too_big(
        &mut self,
        peer: &K,
        (local_port, remote_port): (u16, u16),
        seq: u32,
        mtu: u32,
    ) {
        if let Some(entry) = self.find_entry(peer, local_port, remote_port) {
            entry.conn.packet_too_big(crate::SeqNum::new(seq), mtu);
            entry.flags.wake();
        }
    }

    fn find_entry(&mut self, peer: &K, local: u16, remote: u16) -> Option<&mut EntryOf<K, S>> {
        self.due.set(None);
        let mut slots = self.slots.as_mut_slice().iter_mut();
        slots.find(|s| s.matches(peer, local, remote))?.entry.as_mut()
    }

    /// Handles the report of the network that segments from `local_port` to `remote_port` of `peer`
    /// cannot be delivered because of `error`. It quotes one with sequence number `seq`.
    /// [`SoftError::Unreachable`] ends connections that are still opening; otherwise the
    /// application decides ([`Info::soft_error`]). The number must be one in flight (RFC 5461 §4,
    /// RFC 5927 §4.1).
    pub fn notify_network_error(
        &mut self,
        peer: &K,
        (local_port, remote_port): (u16, u16),
        seq: u32,
        error: SoftError,
    ) {
        if let Some(entry) = self.find_entry(peer, local_port, remote_port) {
            entry.conn.network_error(crate::SeqNum::new(seq), error);
            entry.flags.wake();
        }
    }
}

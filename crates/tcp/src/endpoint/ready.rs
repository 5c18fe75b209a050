//! Readiness of connections, reported to the application once.

use super::{Endpoint, EntryOf, Handle, Peer, Sizes};
use crate::state::State;
use kinglet_mem::Array;

/// Calls that have become possible on a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Readiness {
    /// [`Endpoint::recv`] returns octets, the end of the stream, or an error.
    pub readable: bool,
    /// The handshake is over, and [`Endpoint::send`] takes octets.
    pub writable: bool,
    /// The connection has ended: [`Endpoint::info`] has the reason.
    pub closed: bool,
}

/// An event that an application may wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ready {
    /// A connection to this port waits for [`Endpoint::accept`].
    Acceptable(u16),
    /// Calls have become possible on a connection.
    Connection(Handle, Readiness),
}

/// State of a connection towards its application, one bit each: readiness that was reported and has
/// not been used yet, the application's own calls, and whether the connection has to be polled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct EntryFlags(u8);

impl EntryFlags {
    const ACCEPTABLE: EntryFlags = EntryFlags(1);
    const READABLE: EntryFlags = EntryFlags(2);
    const WRITABLE: EntryFlags = EntryFlags(4);
    const CLOSED: EntryFlags = EntryFlags(8);
    /// The application has called `close`, `release` or `abort`.
    const CLOSE_CALLED: EntryFlags = EntryFlags(16);
    /// An event has occurred since `poll_packet` last found nothing to send.
    const ACTIVE: EntryFlags = EntryFlags(64);
    /// A bare acknowledgment has not been sent yet, and the next one waits for it.
    const ACKS_HELD: EntryFlags = EntryFlags(128);
    /// The application has the handle; no readiness has been reported.
    pub(super) const ACCEPTED: EntryFlags = EntryFlags(32);
    /// State of a connection that its application has released: nothing is reported any more.
    pub(super) const ALL: EntryFlags = EntryFlags(!EntryFlags::ACKS_HELD.0);
    pub(super) const NONE: EntryFlags = EntryFlags(0);

    const fn if_so(self, so: bool) -> EntryFlags {
        if so { self } else { EntryFlags(0) }
    }

    const fn and(self, other: EntryFlags) -> EntryFlags {
        EntryFlags(self.0 | other.0)
    }

    const fn without(self, other: EntryFlags) -> EntryFlags {
        EntryFlags(self.0 & !other.0)
    }

    const fn has(self, other: EntryFlags) -> bool {
        self.0 & other.0 != 0
    }

    /// Returns whether the application has the handle.
    pub(super) const fn is_accepted(self) -> bool {
        self.has(EntryFlags::ACCEPTED)
    }

    /// Returns whether the application has called `close`, `release` or `abort`.
    pub(super) const fn is_closed(self) -> bool {
        self.has(EntryFlags::CLOSE_CALLED)
    }

    /// The application has taken the handle: all readiness is reported again.
    pub(super) const fn accept(&mut self) {
        *self = EntryFlags(
            self.0 & (EntryFlags::ACTIVE.0 | EntryFlags::ACKS_HELD.0) | EntryFlags::ACCEPTED.0,
        );
    }

    pub(super) const fn close(&mut self) {
        *self = self.and(EntryFlags::CLOSE_CALLED);
    }

    /// Returns whether there may be something to send.
    pub(super) const fn is_awake(self) -> bool {
        self.has(EntryFlags::ACTIVE)
    }

    /// There may be something to send.
    pub(super) const fn wake(&mut self) {
        *self = self.and(EntryFlags::ACTIVE);
    }

    /// There is nothing more to send.
    pub(super) const fn set_idle(&mut self) {
        *self = self.without(EntryFlags::ACTIVE);
    }

    /// Returns whether bare acknowledgments wait.
    pub(super) const fn holds_acks(self) -> bool {
        self.has(EntryFlags::ACKS_HELD)
    }

    /// Makes bare acknowledgments wait.
    pub(super) const fn hold_acks(&mut self) {
        *self = self.and(EntryFlags::ACKS_HELD);
    }

    /// Bare acknowledgments no longer wait, and one may be due.
    pub(super) const fn release_acks(&mut self) {
        *self = self.without(EntryFlags::ACKS_HELD).and(EntryFlags::ACTIVE);
    }

    /// The application has read: further octets are reported again.
    pub(super) const fn read(&mut self) {
        *self = self.without(EntryFlags::READABLE);
    }

    /// The application has written: room is reported again.
    pub(super) const fn written(&mut self) {
        *self = self.without(EntryFlags::WRITABLE);
    }
}

/// The present readiness, whether it has been reported or not.
fn possible<K: Peer, S: Sizes>(entry: &EntryOf<K, S>) -> EntryFlags {
    let conn = &entry.conn;
    if !entry.flags.is_accepted() {
        return EntryFlags::ACCEPTABLE;
    }
    let writable = matches!(conn.state(), State::Established | State::CloseWait);
    let readable = conn.readable() > 0 || conn.at_end() || conn.error().is_some();
    EntryFlags::READABLE
        .if_so(readable)
        .and(EntryFlags::WRITABLE.if_so(writable && conn.send_room() > 0))
        .and(EntryFlags::CLOSED.if_so(conn.is_finished()))
}

impl<K: Peer, S: Sizes> Endpoint<K, S> {
    /// Returns the readiness of one connection that has not been reported yet, or `None`.
    ///
    /// A readiness is reported again only after the application has made use of it: a connection is
    /// readable again after [`Endpoint::recv`], if there are more octets or when more arrive, and
    /// writable after `send`. An application that waits for each report misses no event, and one
    /// that does not gets no report twice.
    #[inline(never)]
    pub fn poll_ready(&mut self) -> Option<Ready> {
        let slots = (0u16..=u16::MAX).zip(self.slots.as_mut_slice());
        for (index, slot) in slots {
            let Some(entry) = &mut slot.entry else { continue };
            let possible = possible::<K, S>(entry);
            let new = possible.without(entry.flags);
            if new == EntryFlags::NONE {
                continue;
            }
            entry.flags = entry.flags.and(possible);
            if new.has(EntryFlags::ACCEPTABLE) {
                return Some(Ready::Acceptable(entry.local_port));
            }
            let readiness = Readiness {
                readable: new.has(EntryFlags::READABLE),
                writable: new.has(EntryFlags::WRITABLE),
                closed: new.has(EntryFlags::CLOSED),
            };
            return Some(Ready::Connection(Handle { index, order: entry.order }, readiness));
        }
        None
    }
}

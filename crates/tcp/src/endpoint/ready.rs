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
pub(super) struct Told(u8);

impl Told {
    const ACCEPTABLE: Told = Told(1);
    const READABLE: Told = Told(2);
    const WRITABLE: Told = Told(4);
    const CLOSED: Told = Told(8);
    /// The application has called `close`, `release` or `abort`.
    const LEFT: Told = Told(16);
    /// An event has occurred since `poll_packet` last found nothing to send.
    const AWAKE: Told = Told(64);
    /// A bare acknowledgment has not been sent yet, and the next one waits for it.
    const HELD: Told = Told(128);
    /// The application has the handle; no readiness has been reported.
    pub(super) const ACCEPTED: Told = Told(32);
    /// State of a connection that its application has released: nothing is reported any more.
    pub(super) const ALL: Told = Told(!Told::HELD.0);
    pub(super) const NOTHING: Told = Told(0);

    const fn if_so(self, so: bool) -> Told {
        if so { self } else { Told(0) }
    }

    const fn and(self, other: Told) -> Told {
        Told(self.0 | other.0)
    }

    const fn without(self, other: Told) -> Told {
        Told(self.0 & !other.0)
    }

    const fn has(self, other: Told) -> bool {
        self.0 & other.0 != 0
    }

    /// Returns whether the application has the handle.
    pub(super) const fn is_accepted(self) -> bool {
        self.has(Told::ACCEPTED)
    }

    /// Returns whether the application has called `close`, `release` or `abort`.
    pub(super) const fn is_closed(self) -> bool {
        self.has(Told::LEFT)
    }

    /// The application has taken the handle: all readiness is reported again.
    pub(super) const fn accept(&mut self) {
        *self = Told(self.0 & (Told::AWAKE.0 | Told::HELD.0) | Told::ACCEPTED.0);
    }

    pub(super) const fn close(&mut self) {
        *self = self.and(Told::LEFT);
    }

    /// Returns whether there may be something to send.
    pub(super) const fn is_awake(self) -> bool {
        self.has(Told::AWAKE)
    }

    /// There may be something to send.
    pub(super) const fn wake(&mut self) {
        *self = self.and(Told::AWAKE);
    }

    /// There is nothing more to send.
    pub(super) const fn rest(&mut self) {
        *self = self.without(Told::AWAKE);
    }

    /// Returns whether bare acknowledgments wait.
    pub(super) const fn holds_acks(self) -> bool {
        self.has(Told::HELD)
    }

    /// Makes bare acknowledgments wait.
    pub(super) const fn hold_acks(&mut self) {
        *self = self.and(Told::HELD);
    }

    /// Bare acknowledgments no longer wait, and one may be due.
    pub(super) const fn release_acks(&mut self) {
        *self = self.without(Told::HELD).and(Told::AWAKE);
    }

    /// The application has read: further octets are reported again.
    pub(super) const fn read(&mut self) {
        *self = self.without(Told::READABLE);
    }

    /// The application has written: room is reported again.
    pub(super) const fn written(&mut self) {
        *self = self.without(Told::WRITABLE);
    }
}

/// The present readiness, whether it has been reported or not.
fn possible<K: Peer, S: Sizes>(entry: &EntryOf<K, S>) -> Told {
    let conn = &entry.conn;
    if !entry.told.is_accepted() {
        return Told::ACCEPTABLE;
    }
    let writable = matches!(conn.state(), State::Established | State::CloseWait);
    let readable = conn.readable() > 0 || conn.at_end() || conn.error().is_some();
    Told::READABLE
        .if_so(readable)
        .and(Told::WRITABLE.if_so(writable && conn.send_room() > 0))
        .and(Told::CLOSED.if_so(conn.is_finished()))
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
            let news = possible.without(entry.told);
            if news == Told::NOTHING {
                continue;
            }
            entry.told = entry.told.and(possible);
            if news.has(Told::ACCEPTABLE) {
                return Some(Ready::Acceptable(entry.local_port));
            }
            let readiness = Readiness {
                readable: news.has(Told::READABLE),
                writable: news.has(Told::WRITABLE),
                closed: news.has(Told::CLOSED),
            };
            return Some(Ready::Connection(Handle { index, order: entry.order }, readiness));
        }
        None
    }
}

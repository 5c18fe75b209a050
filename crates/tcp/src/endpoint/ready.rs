//! What an application could do now, told once.

use super::{Endpoint, EntryOf, Handle, Peer, Sizes};
use crate::state::State;
use kinglet_mem::Array;

/// What has become possible with a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Readiness {
    /// [`Endpoint::recv`] gives octets, the end of the stream, or why it ended.
    pub readable: bool,
    /// The handshake is over, and [`Endpoint::send`] takes octets.
    pub writable: bool,
    /// The connection is over: [`Endpoint::info`] says why.
    pub closed: bool,
}

/// Something that an application may be waiting for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ready {
    /// A connection to this port waits for [`Endpoint::accept`].
    Acceptable(u16),
    /// Something has become possible with a connection.
    Connection(Handle, Readiness),
}

/// What an application has been told of a connection and has not made use of yet, and what it has
/// done about the connection itself; and whether that is to be polled. A bit each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Told(u8);

impl Told {
    const ACCEPTABLE: Told = Told(1);
    const READABLE: Told = Told(2);
    const WRITABLE: Told = Told(4);
    const CLOSED: Told = Told(8);
    /// The application has called `close` or one that ends more.
    const LEFT: Told = Told(16);
    /// Something has happened since `poll_packet` last found nothing to send.
    const AWAKE: Told = Told(64);
    /// A bare acknowledgment has not left yet, and the next one waits for that.
    const HELD: Told = Told(128);
    /// The application has the handle, and has been told nothing else.
    pub(super) const ACCEPTED: Told = Told(32);
    /// Of a connection that its application has given up it is told no more.
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

    /// Whether the application has the handle.
    pub(super) const fn is_accepted(self) -> bool {
        self.has(Told::ACCEPTED)
    }

    /// Whether the application has called `close`, `release` or `abort`.
    pub(super) const fn is_closed(self) -> bool {
        self.has(Told::LEFT)
    }

    /// The application has taken the handle: whatever is possible is news.
    pub(super) const fn accept(&mut self) {
        *self = Told(self.0 & (Told::AWAKE.0 | Told::HELD.0) | Told::ACCEPTED.0);
    }

    pub(super) const fn close(&mut self) {
        *self = self.and(Told::LEFT);
    }

    /// Whether there may be something to send.
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

    /// Whether bare acknowledgments wait.
    pub(super) const fn holds_acks(self) -> bool {
        self.has(Told::HELD)
    }

    /// From now on bare acknowledgments wait.
    pub(super) const fn hold_acks(&mut self) {
        *self = self.and(Told::HELD);
    }

    /// They do not wait any longer, and there may be one.
    pub(super) const fn release_acks(&mut self) {
        *self = self.without(Told::HELD).and(Told::AWAKE);
    }

    /// The application has read: whatever can be read then is news.
    pub(super) const fn read(&mut self) {
        *self = self.without(Told::READABLE);
    }

    /// The application has written: room is news.
    pub(super) const fn written(&mut self) {
        *self = self.without(Told::WRITABLE);
    }
}

/// What there is to tell now, whether it has been told or not.
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
    /// What has become possible since it was last asked, one connection at a time: `None` when all
    /// is told. What has been told is told again only when the application has made use of it: a
    /// connection is readable again after [`Endpoint::recv`], if there is more or when more comes,
    /// and writable after `send`. So whoever waits misses nothing, and whoever does not is not told
    /// twice.
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

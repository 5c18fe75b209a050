//! The interface to TCP that an application needs, so that it runs over its node's TCP and any
//! other.

use crate::app::App;
use core::fmt::Debug;
use core::net::Ipv6Addr;
use kinglet::tcp::{ConnectionConfig, Handle, Info, ListenConfig, RecvError, SendError, State};
use kinglet::{Each, Node, Profile};
use kinglet_mem::{Empty, Held};
use kinglet_time::{Duration, Expected, Instant};

/// A remote endpoint: address and port.
pub type Peer = (Ipv6Addr, u16);

/// Byte streams by handle. A [`Node`] implements this, and so do adapters for other stacks.
pub trait Sockets {
    /// Identifies a connection.
    type Handle: Copy + PartialEq + Debug;

    /// Opens a connection; `None` if that is not possible now.
    fn connect(&mut self, now: Instant, to: Peer, config: ConnectionConfig)
    -> Option<Self::Handle>;

    /// Accepts connections to `port`. Returns whether it will.
    fn listen(&mut self, port: u16, config: ListenConfig) -> bool;

    /// Returns the connection to `port` that has been waiting longest, if any.
    fn accept(&mut self, port: u16) -> Option<Self::Handle>;

    /// Returns whether a peer waits for a connection to `port`, because all slots are in use.
    fn is_wanted(&self, _port: u16) -> bool {
        false
    }

    /// Returns whether the peer of a connection currently accepts nothing, as one whose application
    /// does not read.
    fn is_held_back(&self, _handle: Self::Handle) -> bool {
        false
    }

    /// Returns whether octets are queued that the peer has not acknowledged.
    fn has_queued(&self, _handle: Self::Handle) -> bool {
        false
    }

    /// Returns the state of a connection; `None` if it does not exist any more.
    fn state(&self, handle: Self::Handle) -> Option<State>;

    /// Returns information about a connection; `None` if it does not exist any more.
    fn info(&self, handle: Self::Handle) -> Option<Info>;

    /// Returns the number of octets that [`Sockets::send`] would accept now.
    fn can_send(&self, handle: Self::Handle) -> usize;

    /// Queues as much of `octets` as fits. Returns the number queued, which may be 0.
    ///
    /// # Errors
    /// The reason for which no octets will be accepted any more.
    fn send(&mut self, handle: Self::Handle, octets: &[u8]) -> Result<usize, SendError>;

    /// As [`Sockets::recv`], but the octets stay in the buffer.
    ///
    /// # Errors
    /// The reason for which there are none.
    fn peek(&self, handle: Self::Handle, out: &mut [u8]) -> Result<usize, RecvError>;

    /// Takes octets that were received in order. `Ok(0)`: the peer has closed and all is read (or
    /// `out` is empty).
    ///
    /// # Errors
    /// The reason for which there are none.
    fn recv(&mut self, handle: Self::Handle, out: &mut [u8]) -> Result<usize, RecvError>;

    /// Closes this side after the queued octets; reading continues. A connection that the peer has
    /// not answered yet ends at once (RFC 9293 §3.10.4).
    fn close(&mut self, handle: Self::Handle);

    /// Releases a connection: a FIN follows the queued octets, and after `linger`, if the TCP
    /// supports that limit, an RST. Zero is at once.
    fn release(&mut self, now: Instant, handle: Self::Handle, linger: Option<Duration>);
}

impl<P: Profile> Sockets for Node<P> {
    type Handle = Handle;

    fn connect(&mut self, now: Instant, to: Peer, config: ConnectionConfig) -> Option<Handle> {
        self.streams().connect(now, to.0, to.1, config).ok()
    }

    fn listen(&mut self, port: u16, config: ListenConfig) -> bool {
        self.streams().listen(port, config).is_ok()
    }

    fn accept(&mut self, port: u16) -> Option<Handle> {
        self.streams().accept(port)
    }

    fn is_wanted(&self, port: u16) -> bool {
        self.tcp().is_wanted(port)
    }

    fn is_held_back(&self, handle: Handle) -> bool {
        self.tcp().is_held_back(handle)
    }

    fn has_queued(&self, handle: Handle) -> bool {
        self.tcp().has_queued(handle)
    }

    fn state(&self, handle: Handle) -> Option<State> {
        self.tcp().state(handle)
    }

    fn info(&self, handle: Handle) -> Option<Info> {
        self.tcp().info(handle)
    }

    fn can_send(&self, handle: Handle) -> usize {
        self.tcp().can_send(handle)
    }

    fn send(&mut self, handle: Handle, octets: &[u8]) -> Result<usize, SendError> {
        self.streams().send(handle, octets)
    }

    fn peek(&self, handle: Handle, out: &mut [u8]) -> Result<usize, RecvError> {
        self.tcp().peek(handle, out)
    }

    fn recv(&mut self, handle: Handle, out: &mut [u8]) -> Result<usize, RecvError> {
        self.streams().recv(handle, out)
    }

    fn close(&mut self, handle: Handle) {
        // If the connection does not exist any more, there is nothing to close.
        let _ = self.streams().close(handle);
    }

    fn release(&mut self, now: Instant, handle: Handle, linger: Option<Duration>) {
        let _ = self.streams().release(now, handle, linger);
    }
}

/// An application that uses only TCP, over sockets with handles `H`. Over those of a node it is an
/// [`App`].
pub trait StreamApp<H> {
    /// As [`App::poll`].
    fn step<S: Sockets<Handle = H>>(&mut self, now: Instant, sockets: &mut S) -> bool;

    /// As [`App::deadline`].
    fn due(&self) -> Option<Instant>;

    /// As [`App::expected`].
    fn awaited(&self, _now: Instant) -> Option<Expected> {
        None
    }

    /// As [`App::reasons`].
    fn losses(&self, _each: &mut Each<'_>) {}
}

impl<A: StreamApp<Handle>> App for A {
    fn poll<P: Profile>(&mut self, now: Instant, node: &mut Node<P>) -> bool {
        self.step(now, node)
    }

    fn deadline(&self) -> Option<Instant> {
        self.due()
    }

    fn expected(&self, now: Instant) -> Option<Expected> {
        self.awaited(now)
    }

    fn reasons(&self, each: &mut Each<'_>) {
        self.losses(each);
    }
}

/// A slot for a connection of a server.
pub struct Place<C>(pub(crate) Option<Held<C>>);

impl<C> Empty for Place<C> {
    const EMPTY: Self = Place(None);
}

//! TCP sockets.

use crate::error::Error;
use crate::shared::{Interest, Stack, is_finished, is_opening};
use core::cell::Cell;
use core::net::{Ipv6Addr, SocketAddrV6};
use kinglet::tcp::{ConnectionConfig, ConnectionError, Handle, ListenConfig, RecvError};
use kinglet::{Node, Profile};
use kinglet_time::{Duration, Instant};

/// A byte stream. If it is dropped, octets that were written and a FIN still leave, as after
/// `close(2)`; unread octets reset the connection.
pub struct TcpSocket<'d, P: Profile> {
    stack: Stack<'d, P>,
    handle: Handle,
    responses: Responses,
}

/// Responses that the application expects to what it writes.
struct Responses {
    /// Time within which they come, if they do.
    within: Option<Duration>,
    /// True from a write to the next read.
    is_expected: Cell<bool>,
}

impl Responses {
    const fn none() -> Responses {
        Responses { within: None, is_expected: Cell::new(false) }
    }

    /// Octets were written.
    fn note_written<P: Profile>(&self, now: Instant, node: &mut Node<P>, handle: Handle) {
        if let (Some(within), Some((_, port, _))) = (self.within, node.tcp().name(handle)) {
            self.is_expected.set(true);
            // Without a place for it the response waits for the next poll.
            let _ = node.expect_response(now, port, now, now + within);
        }
    }

    /// Octets were read, or none will be.
    fn withdraw<P: Profile>(&self, now: Instant, node: &mut Node<P>, handle: Handle) {
        if self.is_expected.replace(false)
            && let Some((_, port, _)) = node.tcp().name(handle)
        {
            node.withdraw_response(now, port);
        }
    }
}

impl<'d, P: Profile> TcpSocket<'d, P> {
    /// Opens a connection to `port` of `remote` and waits for the peer's response.
    ///
    /// # Errors
    /// What was wrong, or [`Error::Ended`] with the reason for which the attempt failed. It lasts
    /// as long as [`ConnectionConfig`] allows; the caller may drop it earlier.
    pub async fn connect(
        stack: Stack<'d, P>,
        remote: Ipv6Addr,
        port: u16,
        config: ConnectionConfig,
    ) -> Result<Self, Error> {
        let handle = stack.with(|now, node| node.streams().connect(now, remote, port, config))?;
        // From here on a drop releases the connection.
        let socket = TcpSocket { stack, handle, responses: Responses::none() };
        let is_over = |node: &mut Node<P>| (!is_opening(node, handle)).then(|| error(node, handle));
        match stack.until(Interest::Opened(handle), |_, node| is_over(node)).await {
            None => Ok(socket),
            Some(error) => Err(Error::Ended(error)),
        }
    }

    /// Returns the handle of the connection, for calls of the node by [`Stack::with`].
    pub const fn handle(&self) -> Handle {
        self.handle
    }

    /// Sets the time within which the peer responds to what is written; `None`, the default, if it
    /// does not. A node that sleeps polls for the response until octets are read, at times that it
    /// has learnt from earlier ones; else the response waits for the next poll. It needs a place of
    /// [`Lengths::applications`](kinglet::Lengths::applications). Of a node that is awake it
    /// changes nothing.
    pub const fn set_response_time(&mut self, time: Option<Duration>) {
        self.responses.within = time;
    }

    /// Returns address and port of the peer; `None` if the connection does not exist any more.
    pub fn remote(&self) -> Option<SocketAddrV6> {
        self.stack.shared(|shared| {
            let (peer, _, port) = shared.node.tcp().name(self.handle)?;
            Some(SocketAddrV6::new(peer.remote(), port, 0, 0))
        })
    }

    /// Waits for octets and takes as many as have arrived. `Ok(0)`: the peer has closed its side
    /// and all is read, or `buf` is empty.
    ///
    /// # Errors
    /// [`Error::Ended`] after the last octet of a connection that has ended early.
    pub async fn read(&mut self, buf: &mut [u8]) -> Result<usize, Error> {
        read(self, buf).await
    }

    /// Waits until [`TcpSocket::read`] returns at once.
    pub async fn readable(&mut self) {
        readable(self).await;
    }

    /// Waits for room in the send ring and queues as many octets as fit, at least one unless `buf`
    /// is empty.
    ///
    /// # Errors
    /// [`Error::Ended`], or [`Error::Closed`] after [`TcpSocket::shutdown`].
    pub async fn write(&mut self, buf: &[u8]) -> Result<usize, Error> {
        write(self, buf).await
    }

    /// Queues all octets of `buf`. If this is dropped, a part of them may have been queued.
    ///
    /// # Errors
    /// As [`TcpSocket::write`].
    pub async fn write_all(&mut self, mut buf: &[u8]) -> Result<(), Error> {
        while !buf.is_empty() {
            let count = self.write(buf).await?;
            buf = buf.get(count..).unwrap_or_default();
        }
        Ok(())
    }

    /// Does nothing: queued octets leave by themselves, and an acknowledgement is not waited for.
    /// On a node that sleeps each wait for one would cost a data request.
    ///
    /// # Errors
    /// None.
    pub async fn flush(&mut self) -> Result<(), Error> {
        Ok(())
    }

    /// Closes this side: a FIN follows the queued octets, and reading continues. Waits until the
    /// peer has acknowledged it.
    ///
    /// # Errors
    /// [`Error::Ended`] if the connection has ended early.
    pub async fn shutdown(&mut self) -> Result<(), Error> {
        let (stack, handle) = (self.stack, self.handle);
        stack.with(|_, node| node.streams().close(handle)).map_err(|_| Error::Closed)?;
        let is_over = |node: &mut Node<P>| is_finished(node, handle).then(|| error(node, handle));
        match stack.until(Interest::Finished(handle), |_, node| is_over(node)).await {
            None => Ok(()),
            Some(error) => Err(Error::Ended(error)),
        }
    }

    /// Ends the connection at once: the peer gets an RST.
    pub fn abort(&mut self) {
        // A connection that does not exist any more needs no end.
        let _ = self.stack.with(|_, node| node.streams().abort(self.handle));
    }

    /// Returns both directions, for two tasks or two futures of one.
    pub const fn split(&mut self) -> (TcpReader<'_, 'd, P>, TcpWriter<'_, 'd, P>) {
        (TcpReader(self), TcpWriter(self))
    }
}

impl<P: Profile> Drop for TcpSocket<'_, P> {
    fn drop(&mut self) {
        self.stack.with(|now, node| {
            self.responses.withdraw(now, node, self.handle);
            let _ = node.streams().release(now, self.handle, None);
        });
    }
}

/// The receiving direction of a [`TcpSocket`].
pub struct TcpReader<'s, 'd, P: Profile>(&'s TcpSocket<'d, P>);

impl<P: Profile> TcpReader<'_, '_, P> {
    /// As [`TcpSocket::read`].
    ///
    /// # Errors
    /// As [`TcpSocket::read`].
    pub async fn read(&mut self, buf: &mut [u8]) -> Result<usize, Error> {
        read(self.0, buf).await
    }

    /// As [`TcpSocket::readable`].
    pub async fn readable(&mut self) {
        readable(self.0).await;
    }
}

/// The sending direction of a [`TcpSocket`].
pub struct TcpWriter<'s, 'd, P: Profile>(&'s TcpSocket<'d, P>);

impl<P: Profile> TcpWriter<'_, '_, P> {
    /// As [`TcpSocket::write`].
    ///
    /// # Errors
    /// As [`TcpSocket::write`].
    pub async fn write(&mut self, buf: &[u8]) -> Result<usize, Error> {
        write(self.0, buf).await
    }
}

/// A port that accepts connections.
pub struct TcpListener<'d, P: Profile> {
    stack: Stack<'d, P>,
    port: u16,
}

impl<'d, P: Profile> TcpListener<'d, P> {
    /// Listens on `port` of all own addresses.
    ///
    /// # Errors
    /// [`Error::PortInUse`], [`Error::TableFull`], or [`Error::BadAddress`] for port 0.
    pub fn bind(stack: Stack<'d, P>, port: u16, config: ListenConfig) -> Result<Self, Error> {
        stack.with(|_, node| node.streams().listen(port, config))?;
        Ok(TcpListener { stack, port })
    }

    /// Waits for a connection. Returns it with address and port of the peer. If this is dropped,
    /// the connection waits for the next call.
    pub async fn accept(&self) -> (TcpSocket<'d, P>, SocketAddrV6) {
        let (stack, port) = (self.stack, self.port);
        let accept = |node: &mut Node<P>| {
            let handle = node.streams().accept(port)?;
            let (peer, _, port) = node.tcp().name(handle)?;
            Some((handle, SocketAddrV6::new(peer.remote(), port, 0, 0)))
        };
        let (handle, peer) = stack.until(Interest::Acceptable(port), |_, node| accept(node)).await;
        (TcpSocket { stack, handle, responses: Responses::none() }, peer)
    }
}

impl<P: Profile> Drop for TcpListener<'_, P> {
    fn drop(&mut self) {
        self.stack.with(|_, node| node.streams().unlisten(self.port));
    }
}

/// Returns the reason for which a connection has ended early, if it has.
fn error<P: Profile>(node: &Node<P>, handle: Handle) -> Option<ConnectionError> {
    node.tcp().info(handle).map_or(Some(ConnectionError::Aborted), |info| info.error)
}

async fn read<P: Profile>(socket: &TcpSocket<'_, P>, buf: &mut [u8]) -> Result<usize, Error> {
    let &TcpSocket { stack, handle, ref responses } = socket;
    let read = |now, node: &mut Node<P>| match node.streams().recv(handle, buf) {
        Err(RecvError::WouldBlock) => None,
        Err(RecvError::InvalidHandle) => Some(Err(Error::Closed)),
        Err(RecvError::Ended(error)) => Some(Err(Error::Ended(error))),
        Ok(count) => {
            responses.withdraw(now, node, handle);
            Some(Ok(count))
        }
    };
    stack.until(Interest::Readable(handle), read).await
}

async fn readable<P: Profile>(socket: &TcpSocket<'_, P>) {
    let interest = Interest::Readable(socket.handle);
    let attempt = |_, node: &mut Node<P>| interest.has_occurred(node).then_some(());
    socket.stack.until(interest, attempt).await;
}

async fn write<P: Profile>(socket: &TcpSocket<'_, P>, buf: &[u8]) -> Result<usize, Error> {
    let &TcpSocket { stack, handle, ref responses } = socket;
    let write = |now, node: &mut Node<P>| match node.streams().send(handle, buf) {
        Ok(0) if !buf.is_empty() => None,
        result => {
            responses.note_written(now, node, handle);
            Some(result.map_err(Error::from))
        }
    };
    stack.until(Interest::Writable(handle), write).await
}

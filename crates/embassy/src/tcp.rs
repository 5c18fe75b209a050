//! TCP sockets.

use crate::error::Error;
use crate::shared::{Interest, Stack, is_finished, is_opening};
use core::net::{Ipv6Addr, SocketAddrV6};
use kinglet::tcp::{ConnectionConfig, ConnectionError, Handle, ListenConfig, RecvError};
use kinglet::{Node, Profile};

/// A byte stream. If it is dropped, octets that were written and a FIN still leave, as after
/// `close(2)`; unread octets reset the connection.
pub struct TcpSocket<'d, P: Profile> {
    stack: Stack<'d, P>,
    handle: Handle,
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
        let socket = TcpSocket { stack, handle };
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
        read(self.stack, self.handle, buf).await
    }

    /// Waits until [`TcpSocket::read`] returns at once.
    pub async fn readable(&mut self) {
        readable(self.stack, self.handle).await;
    }

    /// Waits for room in the send ring and queues as many octets as fit, at least one unless `buf`
    /// is empty.
    ///
    /// # Errors
    /// [`Error::Ended`], or [`Error::Closed`] after [`TcpSocket::shutdown`].
    pub async fn write(&mut self, buf: &[u8]) -> Result<usize, Error> {
        write(self.stack, self.handle, buf).await
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
        let TcpSocket { stack, handle } = self;
        (TcpReader { stack, handle: *handle }, TcpWriter { stack, handle: *handle })
    }
}

impl<P: Profile> Drop for TcpSocket<'_, P> {
    fn drop(&mut self) {
        let _ = self.stack.with(|now, node| node.streams().release(now, self.handle, None));
    }
}

/// The receiving direction of a [`TcpSocket`].
pub struct TcpReader<'s, 'd, P: Profile> {
    stack: &'s Stack<'d, P>,
    handle: Handle,
}

impl<P: Profile> TcpReader<'_, '_, P> {
    /// As [`TcpSocket::read`].
    ///
    /// # Errors
    /// As [`TcpSocket::read`].
    pub async fn read(&mut self, buf: &mut [u8]) -> Result<usize, Error> {
        read(*self.stack, self.handle, buf).await
    }

    /// As [`TcpSocket::readable`].
    pub async fn readable(&mut self) {
        readable(*self.stack, self.handle).await;
    }
}

/// The sending direction of a [`TcpSocket`].
pub struct TcpWriter<'s, 'd, P: Profile> {
    stack: &'s Stack<'d, P>,
    handle: Handle,
}

impl<P: Profile> TcpWriter<'_, '_, P> {
    /// As [`TcpSocket::write`].
    ///
    /// # Errors
    /// As [`TcpSocket::write`].
    pub async fn write(&mut self, buf: &[u8]) -> Result<usize, Error> {
        write(*self.stack, self.handle, buf).await
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
        (TcpSocket { stack, handle }, peer)
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

async fn read<P: Profile>(
    stack: Stack<'_, P>,
    handle: Handle,
    buf: &mut [u8],
) -> Result<usize, Error> {
    let read = |node: &mut Node<P>| match node.streams().recv(handle, buf) {
        Err(RecvError::WouldBlock) => None,
        Err(RecvError::InvalidHandle) => Some(Err(Error::Closed)),
        Err(RecvError::Ended(error)) => Some(Err(Error::Ended(error))),
        Ok(count) => Some(Ok(count)),
    };
    let mut read = read;
    stack.until(Interest::Readable(handle), |_, node| read(node)).await
}

async fn readable<P: Profile>(stack: Stack<'_, P>, handle: Handle) {
    let interest = Interest::Readable(handle);
    stack.until(interest, |_, node| interest.has_occurred(node).then_some(())).await;
}

async fn write<P: Profile>(
    stack: Stack<'_, P>,
    handle: Handle,
    buf: &[u8],
) -> Result<usize, Error> {
    let write = |node: &mut Node<P>| match node.streams().send(handle, buf) {
        Ok(0) if !buf.is_empty() => None,
        result => Some(result.map_err(Error::from)),
    };
    stack.until(Interest::Writable(handle), |_, node| write(node)).await
}

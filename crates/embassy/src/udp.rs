//! UDP sockets.

use crate::error::{Error, of_datagram};
use crate::shared::{Interest, Stack};
use core::net::{Ipv6Addr, SocketAddrV6};
use kinglet::net::UdpHandle;
use kinglet::{Node, Profile};

/// A port for datagrams. Dropped, it is closed, and its unread datagrams are lost.
pub struct UdpSocket<'d, P: Profile> {
    stack: Stack<'d, P>,
    handle: UdpHandle,
    /// The only peer, if there is one.
    peer: Option<SocketAddrV6>,
}

impl<'d, P: Profile> UdpSocket<'d, P> {
    /// Binds a socket to `port` on all own addresses. 0 chooses a port that compresses well.
    ///
    /// # Errors
    /// [`Error::PortInUse`] or [`Error::TableFull`]
    pub fn bind(stack: Stack<'d, P>, port: u16) -> Result<Self, Error> {
        let handle = stack.with(|_, node| node.datagrams().bind(port))?;
        Ok(UdpSocket { stack, handle, peer: None })
    }

    /// Returns the socket with `peer` as its only peer: datagrams go there, and those of others are
    /// discarded when they are read.
    pub fn with_peer(mut self, peer: SocketAddrV6) -> Self {
        self.peer = Some(peer);
        self
    }

    /// Returns the handle of the socket, for calls of the node by [`Stack::with`].
    pub const fn handle(&self) -> UdpHandle {
        self.handle
    }

    /// Waits for a datagram. Returns its length and its source. Of one that is longer than `buf`
    /// the rest is lost.
    ///
    /// # Errors
    /// [`Error::Closed`]
    pub async fn receive(&mut self, buf: &mut [u8]) -> Result<(usize, SocketAddrV6), Error> {
        receive(self.parts(), buf).await
    }

    /// Waits until [`UdpSocket::receive`] has a datagram to look at.
    pub async fn readable(&mut self) {
        readable(self.parts()).await;
    }

    /// Sends a datagram of at most 1232 octets, as soon as the node has room for it. It is lost
    /// without notice if the network loses it. With a peer, `remote` has no effect.
    ///
    /// # Errors
    /// [`Error::NoRoute`] or [`Error::TooLong`]; nothing was sent.
    pub async fn send(&mut self, remote: SocketAddrV6, data: &[u8]) -> Result<(), Error> {
        send(self.parts(), remote, data).await
    }

    /// Joins `group`: datagrams that neighbours send to it arrive here.
    ///
    /// # Errors
    /// [`Error::BadAddress`] if it is not multicast, or [`Error::TableFull`].
    pub fn join(&mut self, group: Ipv6Addr) -> Result<(), Error> {
        join(self.stack, group)
    }

    /// Leaves `group`, for all sockets. The groups of all nodes cannot be left.
    pub fn leave(&mut self, group: Ipv6Addr) {
        leave(self.stack, group);
    }

    pub(crate) const fn parts(&self) -> Parts<'d, P> {
        Parts { stack: self.stack, handle: self.handle, peer: self.peer }
    }
}

impl<P: Profile> Drop for UdpSocket<'_, P> {
    fn drop(&mut self) {
        self.stack.with(|_, node| node.datagrams().close(self.handle));
    }
}

/// Names the socket of a call.
pub(crate) struct Parts<'d, P: Profile> {
    pub(crate) stack: Stack<'d, P>,
    handle: UdpHandle,
    peer: Option<SocketAddrV6>,
}

pub(crate) async fn receive<P: Profile>(
    socket: Parts<'_, P>,
    buf: &mut [u8],
) -> Result<(usize, SocketAddrV6), Error> {
    let Parts { stack, handle, peer } = socket;
    let attempt = |_, node: &mut Node<P>| {
        // At most as many rounds as the socket holds datagrams.
        while let Some(received) =
            node.datagrams().recv_part(handle, buf).map_err(|_| Error::Closed).transpose()
        {
            let received = match received {
                Ok(received) => received,
                Err(error) => return Some(Err(error)),
            };
            let source = SocketAddrV6::new(received.src, received.src_port, 0, 0);
            if peer.is_none_or(|peer| is_same(peer, source)) {
                return Some(Ok((received.len, source)));
            }
        }
        None
    };
    stack.until(Interest::Datagram(handle), attempt).await
}

/// Returns whether both are the same peer; flow label and zone do not matter.
fn is_same(a: SocketAddrV6, b: SocketAddrV6) -> bool {
    (a.ip(), a.port()) == (b.ip(), b.port())
}

pub(crate) async fn readable<P: Profile>(socket: Parts<'_, P>) {
    let interest = Interest::Datagram(socket.handle);
    let attempt = |_, node: &mut Node<P>| interest.has_occurred(node).then_some(());
    socket.stack.until(interest, attempt).await;
}

pub(crate) async fn send<P: Profile>(
    socket: Parts<'_, P>,
    remote: SocketAddrV6,
    data: &[u8],
) -> Result<(), Error> {
    let Parts { stack, handle, peer } = socket;
    let to = peer.unwrap_or(remote);
    let attempt = |now, node: &mut Node<P>| match node.datagrams().send(
        now,
        handle,
        *to.ip(),
        to.port(),
        data,
    ) {
        Ok(()) => Some(Ok(())),
        Err(error) => of_datagram(error).map(Err),
    };
    stack.until(Interest::Room, attempt).await
}

pub(crate) fn join<P: Profile>(stack: Stack<'_, P>, group: Ipv6Addr) -> Result<(), Error> {
    Ok(stack.with(|_, node| node.interface().join_group(group))?)
}

pub(crate) fn leave<P: Profile>(stack: Stack<'_, P>, group: Ipv6Addr) {
    stack.with(|_, node| node.interface().leave_group(group));
}

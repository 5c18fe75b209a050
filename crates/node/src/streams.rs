//! Byte streams by handle: the application's calls of TCP.

use crate::node::{ANY_PEER, Node};
use crate::peer::AddressPair;
use crate::profile::Profile;
use core::fmt;
use core::net::Ipv6Addr;
use kinglet_tcp::{self as tcp, ConnectionConfig, Endpoint, Handle, InvalidHandle, ListenConfig};
use kinglet_tcp::{ListenError, RecvError, SendError};
use kinglet_time::{Duration, Instant};

/// The reason why a connection could not be opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamConnectError {
    /// No own address can reach the destination.
    NoSourceAddress,
    /// There is no route to the destination: no parent or router yet, or none for this address.
    NoRoute,
    /// TCP has refused.
    Tcp(tcp::ConnectError),
}

impl fmt::Display for StreamConnectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StreamConnectError::NoSourceAddress => {
                f.write_str("no own address can reach the destination")
            }
            StreamConnectError::NoRoute => f.write_str("there is no route to the destination"),
            StreamConnectError::Tcp(error) => write!(f, "TCP refused: {error:?}"),
        }
    }
}

impl core::error::Error for StreamConnectError {}

/// Access to the byte streams of a node ([`Node::streams`]). For inspection, see [`Node::tcp`].
///
/// Segments are sent when the node is next driven.
pub struct Streams<'a, P: Profile>(&'a mut Node<P>);

impl<P: Profile> Node<P> {
    /// Returns TCP for inspection: connection states, room to send, octets to read, counters.
    pub const fn tcp(&self) -> &Endpoint<AddressPair, P> {
        &self.tcp
    }

    /// Returns access to the byte streams: listening, connecting, sending, receiving, closing.
    pub const fn streams(&mut self) -> Streams<'_, P> {
        Streams(self)
    }

    /// Wakes the node up and returns TCP, which is then asked again for segments to send.
    pub(crate) const fn wake_tcp(&mut self) -> &mut Endpoint<AddressPair, P> {
        self.tcp_is_quiet = false;
        self.wake();
        &mut self.tcp
    }
}

impl<P: Profile> Streams<'_, P> {
    /// Listens on `port`; connections come out of [`Streams::accept`]. The MSS is chosen and
    /// bounded as in [`Streams::connect`], so that segments keep to five frames for any peer. It
    /// depends on the addresses that this node has at the time of the call.
    ///
    /// # Errors
    /// [`ListenError`]
    pub fn listen(&mut self, port: u16, mut config: ListenConfig) -> Result<(), ListenError> {
        let local = self.0.net.source_for(ANY_PEER).unwrap_or(ANY_PEER);
        self.0.choose_mss(local, ANY_PEER, &mut config.connection);
        self.0.tcp.listen(port, config)
    }

    /// Stops listening on `port` ([`Endpoint::unlisten`]).
    pub fn unlisten(&mut self, port: u16) {
        self.0.wake_tcp().unlisten(port);
    }

    /// Returns the connection to `port` that has been waiting longest, if any.
    pub fn accept(&mut self, port: u16) -> Option<Handle> {
        self.0.tcp.accept(port)
    }

    /// Opens a connection to `port` at `remote`. The state of the handle shows progress. An MSS of
    /// 0 octets, the default, stands for that of five link frames ([`Node::mss_for_frames`]); one
    /// above 1220 counts as 1220, as IPv6 packets are not larger than 1280 here.
    ///
    /// # Errors
    /// [`StreamConnectError`]; nothing was sent.
    //= rfc9293#MUST-44
    pub fn connect(
        &mut self,
        now: Instant,
        remote: Ipv6Addr,
        port: u16,
        config: ConnectionConfig,
    ) -> Result<Handle, StreamConnectError> {
        let local = self.0.net.source_for(remote).ok_or(StreamConnectError::NoSourceAddress)?;
        self.connect_from(now, local, remote, port, config)
    }

    /// As [`Streams::connect`], from `local`, an address of this node.
    ///
    /// # Errors
    /// [`StreamConnectError`]; nothing was sent.
    //= rfc9293#MUST-43
    pub fn connect_from(
        &mut self,
        now: Instant,
        local: Ipv6Addr,
        remote: Ipv6Addr,
        port: u16,
        mut config: ConnectionConfig,
    ) -> Result<Handle, StreamConnectError> {
        if !self.0.net.has_route(remote) {
            return Err(StreamConnectError::NoRoute);
        }
        self.0.choose_mss(local, remote, &mut config);
        let peer = self.0.address_pair(local, remote);
        self.0.wake_tcp().connect(now, peer, port, config).map_err(StreamConnectError::Tcp)
    }

    /// Queues as much of `data` as there is room for ([`Endpoint::send`]). Returns 0 if there is
    /// none.
    ///
    /// # Errors
    /// [`SendError`] if nothing will ever be accepted.
    pub fn send(&mut self, handle: Handle, data: &[u8]) -> Result<usize, SendError> {
        self.0.wake_tcp().send(handle, data)
    }

    /// As [`Streams::send`] for the parts one after another ([`Endpoint::send_vectored`]).
    ///
    /// # Errors
    /// [`SendError`] if nothing will ever be accepted.
    pub fn send_vectored(&mut self, handle: Handle, parts: &[&[u8]]) -> Result<usize, SendError> {
        self.0.wake_tcp().send_vectored(handle, parts)
    }

    /// Queues constant data by reference, all of it or nothing ([`Endpoint::send_static`]).
    ///
    /// # Errors
    /// [`SendError`] if nothing will ever be accepted.
    pub fn send_static(&mut self, handle: Handle, data: &'static [u8]) -> Result<usize, SendError> {
        self.0.wake_tcp().send_static(handle, data)
    }

    /// Takes octets that have arrived in order ([`Endpoint::recv`]). `Ok(0)` means that the peer
    /// has closed and everything was read (or that `out` is empty).
    ///
    /// # Errors
    /// [`RecvError`]: the reason why there are none.
    pub fn recv(&mut self, handle: Handle, out: &mut [u8]) -> Result<usize, RecvError> {
        let result = self.0.tcp.recv(handle, out);
        if result.is_ok_and(|count| count > 0) {
            // The window has opened, which may be worth a segment.
            let _ = self.0.wake_tcp();
        }
        result
    }

    /// Closes this direction after the queued data. Receiving continues ([`Endpoint::close`]).
    ///
    /// # Errors
    /// [`InvalidHandle`].
    pub fn close(&mut self, handle: Handle) -> Result<(), InvalidHandle> {
        self.0.wake_tcp().close(handle)
    }

    /// Ends the connection at once ([`Endpoint::abort`]). The handle becomes invalid.
    ///
    /// # Errors
    /// [`InvalidHandle`].
    pub fn abort(&mut self, handle: Handle) -> Result<(), InvalidHandle> {
        self.0.wake_tcp().abort(handle)
    }

    /// Releases a connection, which then lingers for at most `linger` ([`Endpoint::release`]).
    ///
    /// # Errors
    /// [`InvalidHandle`].
    pub fn release(
        &mut self,
        now: Instant,
        handle: Handle,
        linger: Option<Duration>,
    ) -> Result<(), InvalidHandle> {
        self.0.wake_tcp().release(now, handle, linger)
    }

    /// Changes the settings of an open connection ([`Endpoint::configure`]).
    ///
    /// # Errors
    /// [`InvalidHandle`].
    pub fn configure(
        &mut self,
        now: Instant,
        handle: Handle,
        config: &ConnectionConfig,
    ) -> Result<(), InvalidHandle> {
        self.0.wake_tcp().configure(now, handle, config)
    }

    /// Acknowledges received data at once, instead of waiting for more ([`Endpoint::acknowledge`]).
    ///
    /// # Errors
    /// [`InvalidHandle`].
    pub fn acknowledge(&mut self, handle: Handle) -> Result<(), InvalidHandle> {
        self.0.wake_tcp().acknowledge(handle)
    }

    /// Changes the number of link frames that a full segment spans on every hop, within the segment
    /// size that both sides have announced ([`Endpoint::set_mss`]).
    ///
    /// # Errors
    /// [`InvalidHandle`], also if not even one octet fits into that number of frames.
    pub fn set_segment_frames(&mut self, handle: Handle, frames: u8) -> Result<(), InvalidHandle> {
        let (peer, ..) = self.0.tcp.name(handle).ok_or(InvalidHandle)?;
        let mss = self.0.mss_for_frames(peer.remote(), frames).ok_or(InvalidHandle)?;
        self.0.wake_tcp().set_mss(handle, mss)
    }

    /// Returns the congestion control of a connection, for a controller with settings.
    pub fn congestion(&mut self, handle: Handle) -> Option<&mut P::Congestion> {
        self.0.wake_tcp().congestion(handle)
    }
}

//! Datagrams and echo requests: the application's calls of the network layer.

use crate::node::Node;
use crate::profile::Profile;
use core::net::Ipv6Addr;
use kinglet_net::UdpHandle;
use kinglet_net::{
    BindError, EchoReply, ErrorReport, Net, SendError, Sending, UdpDatagram, UdpError,
};
use kinglet_tcp::PayloadRef;
use kinglet_time::Instant;

/// Access to the datagrams of a node ([`Node::datagrams`]). For inspection of their layer, see
/// [`Node::net`].
///
/// Data is sent when the node is next driven.
pub struct Datagrams<'a, P: Profile>(&'a mut Node<P>);

impl<P: Profile> Node<P> {
    /// Returns access to UDP sockets, echo requests, and errors reported by other nodes.
    pub const fn datagrams(&mut self) -> Datagrams<'_, P> {
        Datagrams(self)
    }
}

impl<P: Profile> Datagrams<'_, P> {
    /// Wakes the node up, and returns its network layer.
    const fn awake(&mut self) -> &mut Net<P, PayloadRef> {
        self.0.wake();
        &mut self.0.net
    }

    /// Binds a socket to `port` on all own addresses. 0 chooses a port of 0xF0B0 to 0xF0FF; these
    /// compress well.
    ///
    /// # Errors
    /// [`BindError`]
    pub fn bind(&mut self, port: u16) -> Result<UdpHandle, BindError> {
        self.0.net.udp_bind(port)
    }

    /// Lets a socket receive datagrams of more than 1232 octets, which come in IPv6 fragments (up
    /// to 1452 where the profile's `ipv6_fragments` has places). Until then it receives none, so
    /// that a reader with a smaller buffer is never stuck at one.
    pub fn accept_long(&mut self, socket: UdpHandle) {
        self.0.net.udp_accept_long(socket);
    }

    /// Closes a socket; its unread datagrams are lost.
    pub fn close(&mut self, socket: UdpHandle) {
        self.awake().udp_close(socket);
    }

    /// Sends a copy of `data` from `socket`: at most 1232 octets, or 1452 in IPv6 fragments where
    /// the profile's `ipv6_fragments` has places.
    ///
    /// # Errors
    /// [`SendError`]; nothing was sent.
    pub fn send(
        &mut self,
        now: Instant,
        socket: UdpHandle,
        dst: Ipv6Addr,
        dst_port: u16,
        data: &[u8],
    ) -> Result<(), SendError> {
        self.awake().udp_send(now, socket, dst, dst_port, data)
    }

    /// As [`Datagrams::send`], with a source address, hop limit and traffic class for this
    /// datagram.
    ///
    /// # Errors
    /// [`SendError`]; nothing was sent. [`SendError::NoRoute`] also if the source address is not
    /// this node's.
    pub fn send_with(
        &mut self,
        now: Instant,
        socket: UdpHandle,
        dst: Ipv6Addr,
        dst_port: u16,
        sending: Sending,
        data: &[u8],
    ) -> Result<(), SendError> {
        self.awake().udp_send_with(now, socket, dst, dst_port, sending, data)
    }

    /// Reads the oldest datagram into `buf`. Returns `None` if there is none.
    ///
    /// # Errors
    /// [`UdpError`]; nothing was read.
    pub fn recv(
        &mut self,
        socket: UdpHandle,
        buf: &mut [u8],
    ) -> Result<Option<UdpDatagram>, UdpError> {
        let result = self.0.net.udp_recv(socket, buf);
        self.note_read(result)
    }

    /// As [`Datagrams::recv`]; of a datagram that is longer than `buf` only the beginning is read,
    /// and the rest is discarded. `len` is the length of the whole datagram.
    ///
    /// # Errors
    /// [`UdpError::NotBound`]
    pub fn recv_part(
        &mut self,
        socket: UdpHandle,
        buf: &mut [u8],
    ) -> Result<Option<UdpDatagram>, UdpError> {
        let result = self.0.net.udp_recv_part(socket, buf);
        self.note_read(result)
    }

    /// Wakes the node if a packet slot has become free.
    fn note_read(
        &mut self,
        result: Result<Option<UdpDatagram>, UdpError>,
    ) -> Result<Option<UdpDatagram>, UdpError> {
        if let Ok(Some(_)) = result {
            self.0.wake();
        }
        result
    }

    /// Sends an echo request with this identifier, sequence number and data (RFC 4443 §4.1).
    ///
    /// # Errors
    /// [`SendError`]; nothing was sent.
    pub fn ping(
        &mut self,
        now: Instant,
        dst: Ipv6Addr,
        ident: u16,
        seq: u16,
        data: &[u8],
    ) -> Result<(), SendError> {
        self.awake().ping(now, dst, ident, seq, data)
    }

    /// Returns the oldest echo reply that has not been taken yet.
    pub fn poll_echo_reply(&mut self) -> Option<EchoReply> {
        self.0.net.poll_echo_reply()
    }

    /// Returns the oldest ICMPv6 error about a packet of this node that has not been taken yet.
    /// Errors about TCP segments go to TCP.
    pub fn poll_error(&mut self) -> Option<ErrorReport> {
        self.0.net.poll_error()
    }
}

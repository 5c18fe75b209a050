//! UDP (RFC 768): binding, sending, reading and input.

use super::header_build::{Headers, Upper};
use super::messages::routing_input;
use super::{Net, Sizes};
use crate::incoming::{Arrival, Fate};
use crate::ipv6_partial::Ipv6Fragments;
use crate::outgoing::SendError;
use crate::pool::{PacketHandle, RESERVED};
use crate::socket::{BindError, Received, Sending, UdpDatagram, UdpError, UdpHandle};
use crate::stats::{Discard, bump};
use core::net::Ipv6Addr;
use core::ops::Range;
use kinglet_mem::{Array, copy};
use kinglet_routing::Routing;
use kinglet_time::Instant;
use kinglet_wire::icmpv6::{Kind, unreachable};
use kinglet_wire::ipv6::{HEADER_LEN, Header, MIN_MTU, protocol};
use kinglet_wire::udp::{self, Datagram};

/// Range of ephemeral ports: 0xF0B0 to 0xF0BF compress to four bits (RFC 6282, 4.3.1).
const EPHEMERAL: Range<u16> = 0xF0B0..0xF100;

/// Returns the data of the datagram whose UDP header begins at `start` of the packet.
fn udp_data(packet: &[u8], start: u16) -> &[u8] {
    packet.get(usize::from(start)..).and_then(|it| it.get(udp::HEADER_LEN..)).unwrap_or_default()
}

impl<S: Sizes, X: Copy> Net<S, X> {
    /// Binds a socket to `port` on all own addresses; 0 chooses a port of 0xF0B0 to 0xF0FF, which
    /// compress well.
    ///
    /// # Errors
    /// [`BindError`]
    pub fn udp_bind(&mut self, port: u16) -> Result<UdpHandle, BindError> {
        let learns = |port: u16| S::Routing::PORT == Some(port);
        let bound = |port: u16| self.sockets.as_slice().iter().any(|s| s.is_bound_to(port));
        let taken = |port: u16| learns(port) || bound(port);
        let port = match port {
            0 => EPHEMERAL.into_iter().find(|&port| !taken(port)).ok_or(BindError::PortInUse)?,
            port if taken(port) => return Err(BindError::PortInUse),
            port => port,
        };
        let sockets = (0u8..=u8::MAX).zip(self.sockets.as_mut_slice());
        let mut free = sockets.filter(|(_, socket)| socket.port == 0);
        let (index, socket) = free.next().ok_or(BindError::TableFull)?;
        socket.port = port;
        Ok(UdpHandle(index))
    }

    /// Returns the port of a socket, `None` if it is not bound.
    pub fn udp_port(&self, socket: UdpHandle) -> Option<u16> {
        let socket = self.sockets.as_slice().get(usize::from(socket.0))?;
        (socket.port != 0).then_some(socket.port)
    }

    /// Lets a socket receive datagrams of more than 1232 octets, which come in IPv6 fragments (up
    /// to 1452 if [`Sizes::Ipv6Fragments`] has entries). Before this call it receives none, so that
    /// a reader with a shorter buffer never gets stuck. Lasts until the socket is closed.
    pub fn udp_accept_long(&mut self, socket: UdpHandle) {
        if S::Ipv6Fragments::PLACES > 0
            && let Some(socket) = self.sockets.as_mut_slice().get_mut(usize::from(socket.0))
        {
            socket.long = true;
        }
    }

    /// Closes a socket and discards its unread datagrams.
    pub fn udp_close(&mut self, socket: UdpHandle) {
        // At most `BACKLOG` rounds.
        while let Some(received) = self.pop_received(socket) {
            self.release(received.packet);
        }
        if let Some(socket) = self.sockets.as_mut_slice().get_mut(usize::from(socket.0)) {
            socket.port = 0;
            if S::Ipv6Fragments::PLACES > 0 {
                socket.long = false;
            }
        }
    }

    fn pop_received(&mut self, socket: UdpHandle) -> Option<Received> {
        let socket = self.sockets.as_mut_slice().get_mut(usize::from(socket.0))?;
        socket.reported = false;
        let received = socket.queue.pop()?;
        self.unread = self.unread.saturating_sub(1);
        Some(received)
    }

    /// Sends `data` from `socket`, at most 1232 octets, or 1452 in IPv6 fragments if
    /// [`Sizes::Ipv6Fragments`] has entries; it is copied.
    ///
    /// # Errors
    /// [`SendError`]; nothing was sent.
    pub fn udp_send(
        &mut self,
        now: Instant,
        socket: UdpHandle,
        dst: Ipv6Addr,
        dst_port: u16,
        data: &[u8],
    ) -> Result<(), SendError> {
        self.udp_send_with(now, socket, dst, dst_port, Sending::default(), data)
    }

    /// Sends a datagram with its own source address, hop limit and traffic class.
    ///
    /// # Errors
    /// [`SendError`]; nothing was sent. [`SendError::NoRoute`] also if the source address is not
    /// this node's.
    pub fn udp_send_with(
        &mut self,
        now: Instant,
        socket: UdpHandle,
        dst: Ipv6Addr,
        dst_port: u16,
        sending: Sending,
        data: &[u8],
    ) -> Result<(), SendError> {
        let src_port = self.udp_port(socket).ok_or(SendError::NotBound)?;
        let src = match sending.src {
            Some(src) => Some(src).filter(|src| self.is_own(*src)),
            None => self.source_for(dst),
        };
        let Some(src) = src else { return Err(SendError::NoRoute) };
        let usual = self.headers(src, dst, Upper::Udp { src_port, dst_port });
        let hop_limit = sending.hop_limit.unwrap_or(usual.hop_limit);
        let headers = Headers { hop_limit, traffic_class: sending.traffic_class, ..usual };
        self.send_packet(now, &headers, data)?;
        bump(&mut self.stats.datagrams_out);
        Ok(())
    }

    /// Reads the oldest datagram into `buf`; `None` if there is none.
    ///
    /// # Errors
    /// [`UdpError`]; nothing was read.
    pub fn udp_recv(
        &mut self,
        socket: UdpHandle,
        buf: &mut [u8],
    ) -> Result<Option<UdpDatagram>, UdpError> {
        match self.udp_unread(socket)? {
            Some(len) if len > buf.len() => Err(UdpError::BufferTooShort(len)),
            _ => self.udp_recv_part(socket, buf),
        }
    }

    /// Returns the octets of data of the oldest unread datagram; `None` if there is none.
    ///
    /// # Errors
    /// [`UdpError::NotBound`]
    pub fn udp_unread(&self, socket: UdpHandle) -> Result<Option<usize>, UdpError> {
        let place = self.sockets.as_slice().get(usize::from(socket.0));
        let place = place.filter(|place| place.port != 0).ok_or(UdpError::NotBound)?;
        let oldest = place.queue.front();
        Ok(oldest.map(|oldest| udp_data(self.pool.get(oldest.packet), oldest.start).len()))
    }

    /// As [`Net::udp_recv`]; of a datagram that is longer than `buf` only the beginning is read,
    /// and the rest is discarded. `len` is the length of the whole datagram.
    ///
    /// # Errors
    /// [`UdpError::NotBound`]
    pub fn udp_recv_part(
        &mut self,
        socket: UdpHandle,
        buf: &mut [u8],
    ) -> Result<Option<UdpDatagram>, UdpError> {
        let place = self.sockets.as_slice().get(usize::from(socket.0));
        let place = place.filter(|place| place.port != 0).ok_or(UdpError::NotBound)?;
        let Some(Received { packet, start }) = place.queue.front() else {
            return Ok(None);
        };
        let octets = self.pool.get(packet);
        let upper = octets.get(usize::from(start)..).unwrap_or_default();
        let data = udp_data(octets, start);
        let len = data.len();
        copy(buf, data);
        // Both were parsed before, on reception.
        let headers = (Header::read(octets), udp::Header::read(upper));
        let _ = self.pop_received(socket);
        self.release(packet);
        let (Ok(Header { src, dst, hop_limit, .. }), Ok(udp::Header { src_port, .. })) = headers
        else {
            return Ok(None);
        };
        Ok(Some(UdpDatagram { src, src_port, dst, hop_limit, len }))
    }

    /// Returns a socket with unread datagrams that was not returned since it was last read; `None`
    /// if there is no such socket.
    pub fn poll_ready(&mut self) -> Option<UdpHandle> {
        let sockets = (0u8..=u8::MAX).zip(self.sockets.as_mut_slice());
        let mut waiting = sockets.filter(|(_, it)| !it.reported && it.queue.front().is_some());
        let (index, socket) = waiting.next()?;
        socket.reported = true;
        Some(UdpHandle(index))
    }

    pub(crate) fn udp_input(
        &mut self,
        packet: PacketHandle,
        header: &Header,
        upper: Range<usize>,
        arrival: Arrival,
    ) -> Fate {
        let octets = self.pool.get(packet).get(upper.clone()).unwrap_or_default();
        let pseudo = header.pseudo_header_sum(octets.len(), protocol::UDP);
        let Ok(datagram) = Datagram::parse(octets, pseudo) else {
            return Fate::Drop(Discard::Checksum);
        };
        let dst_port = datagram.header().dst_port;
        bump(&mut self.stats.datagrams_in);
        if S::Routing::PORT == Some(dst_port) {
            if Self::is_foreign(arrival) {
                return Fate::Drop(Discard::Ingress);
            }
            return routing_input(header, upper);
        }
        // Unread datagrams hold at most half of the slots, so that they do not block other packets.
        let crowded =
            usize::from(self.unread) >= S::Packets::LEN / 2 || self.pool.free() < RESERVED;
        let sockets = self.sockets.as_mut_slice();
        let Some(socket) = sockets.iter_mut().find(|s| s.is_bound_to(dst_port)) else {
            let kind = Kind::DestinationUnreachable { code: unreachable::PORT };
            return Fate::Report(Discard::Port, kind);
        };
        if crowded {
            return Fate::Drop(Discard::NoBuffer);
        }
        let long = usize::from(header.payload_len) > MIN_MTU - HEADER_LEN;
        if S::Ipv6Fragments::PLACES > 0 && long && !socket.long {
            return Fate::Drop(Discard::SocketFull);
        }
        let start = u16::try_from(upper.start).unwrap_or(u16::MAX);
        if !socket.queue.push(Received { packet, start }) {
            return Fate::Drop(Discard::SocketFull);
        }
        self.unread = self.unread.saturating_add(1);
        Fate::Moved
    }
}

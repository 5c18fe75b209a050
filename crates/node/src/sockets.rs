//! Byte streams and datagrams by handle.
//!
//! Datagrams, echo requests, addresses and routes are [`Node::net`]'s own interface. TCP needs a
//! word from the network layer for one thing only, the local address of a connection; everything
//! else is [`Node::tcp`]'s.

use crate::node::Node;
use crate::peer::AddressPair;
use crate::profile::Profile;
use core::fmt;
use core::net::Ipv6Addr;
use kinglet_net::{Net, best_frames, mss_for_frames, path_header_len};
use kinglet_tcp::{
    self as tcp, ConnectionConfig, Endpoint, Handle, ListenConfig, PayloadRef, SegmentLoss,
};
use kinglet_time::Instant;

/// Why a connection could not be opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectError {
    /// No own address can reach the destination.
    NoSourceAddress,
    /// TCP has refused.
    Tcp(tcp::ConnectError),
}

impl fmt::Display for ConnectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ConnectError::NoSourceAddress => {
                f.write_str("no own address can reach the destination")
            }
            ConnectError::Tcp(error) => write!(f, "TCP refused: {error:?}"),
        }
    }
}

impl core::error::Error for ConnectError {}

/// Octets of the TCP header without options (RFC 9293 §3.1).
const TCP_HEADER: usize = 20;

/// IPv6's minimum MTU, which is the only one here, less the headers of IPv6 and TCP.
pub(crate) const MAX_MSS: u16 = 1280 - 40 - 20;

/// As many frames as a packet of 1280 octets can take.
const MAX_FRAMES: usize = 16;

/// Link frames of a full segment for which nobody has chosen a size (TCPlp §6.1).
const DEFAULT_FRAMES: u8 = 5;

/// Nothing of this address can be left out of a compressed header (RFC 6282 §3.2.2).
const ANYBODY: Ipv6Addr = Ipv6Addr::new(0x3fff, 1, 1, 1, 1, 1, 1, 1);

impl<P: Profile> Node<P> {
    /// Opens a connection to `port` at `remote`; progress shows in the state of the handle, and a
    /// missing route in its error. An MSS of 0 octets, the default, is that of five link frames
    /// ([`Node::mss_for_frames`]); one above 1220 counts as 1220, as IPv6 packets are not larger
    /// than 1280 here.
    ///
    /// # Errors
    /// [`ConnectError`]; nothing was sent.
    //= rfc9293#MUST-44
    pub fn tcp_connect(
        &mut self,
        now: Instant,
        remote: Ipv6Addr,
        port: u16,
        mut config: ConnectionConfig,
    ) -> Result<Handle, ConnectError> {
        let local = self.net.source_for(remote).ok_or(ConnectError::NoSourceAddress)?;
        self.choose_mss(local, remote, &mut config);
        let peer = self.address_pair(local, remote);
        self.tcp().connect(now, peer, port, config).map_err(ConnectError::Tcp)
    }

    /// Listens on `port`; connections come out of [`Endpoint::accept`]. The MSS is chosen and
    /// bounded as in [`Node::tcp_connect`], so that segments keep to five frames whoever the peer
    /// is; it follows the addresses that this node has now.
    ///
    /// # Errors
    /// [`tcp::ListenError`]
    pub fn tcp_listen(
        &mut self,
        port: u16,
        mut config: ListenConfig,
    ) -> Result<(), tcp::ListenError> {
        let local = self.net.source_for(ANYBODY).unwrap_or(ANYBODY);
        self.choose_mss(local, ANYBODY, &mut config.connection);
        self.tcp().listen(port, config)
    }

    fn choose_mss(&self, local: Ipv6Addr, remote: Ipv6Addr, config: &mut ConnectionConfig) {
        if config.mss == 0 {
            config.mss = self.path_mss(local, remote, DEFAULT_FRAMES).unwrap_or(0);
        }
    }

    /// The [`ConnectionConfig::mss`] with which a full segment to or from `remote` goes out in
    /// `frames` link frames on every hop (TCPlp §6.1 recommends 5, and 3 where losses are common);
    /// options count as part of it. `None` without a route, or if nothing fits.
    pub fn mss_for_frames(&self, remote: Ipv6Addr, frames: u8) -> Option<u16> {
        self.path_mss(self.net.source_for(remote)?, remote, frames)
    }

    fn path_mss(&self, local: Ipv6Addr, remote: Ipv6Addr, frames: u8) -> Option<u16> {
        let compressed = path_header_len(local, remote, self.net.contexts()).ok()?;
        // Every node of a network is taken to have addresses of this node's length.
        let room = self.mac.max_payload(self.mac.config().source());
        mss_for_frames(frames, room, compressed, TCP_HEADER)
    }

    /// Changes how many link frames a full segment of a connection spans on every hop, within the
    /// segment size that both sides have announced ([`Endpoint::set_mss`]).
    ///
    /// # Errors
    /// [`tcp::InvalidHandle`], also if not even one octet fits into so many frames.
    pub fn set_segment_frames(
        &mut self,
        handle: Handle,
        frames: u8,
    ) -> Result<(), tcp::InvalidHandle> {
        let (peer, ..) = self.tcp.name(handle).ok_or(tcp::InvalidHandle)?;
        let mss = self.mss_for_frames(peer.remote(), frames).ok_or(tcp::InvalidHandle)?;
        self.tcp().set_mss(handle, mss)
    }

    /// Lets the segments of a connection that allows it span as many frames as promise the most
    /// goodput; called with every segment.
    pub(crate) fn adapt_segments(&mut self, handle: Handle) {
        let Some(SegmentLoss { resent, mss, limit, options }) = self.tcp.segment_loss(handle)
        else {
            return;
        };
        let Some((peer, ..)) = self.tcp.name(handle) else { return };
        let mut sizes = [0; MAX_FRAMES];
        for (frames, size) in (1..).zip(&mut sizes) {
            *size = self.mss_for_frames(peer.remote(), frames).unwrap_or(0).min(limit);
        }
        let size = |frames: u8| sizes.get(usize::from(frames.saturating_sub(1))).copied();
        // The first that holds as much.
        let frames_for = |mss| (1..).zip(sizes).find(|(_, size)| *size >= mss).map(|(n, _)| n);
        let payload = |frames| size(frames).unwrap_or(0).saturating_sub(options);
        let (Some(now), Some(largest)) = (frames_for(mss), frames_for(limit)) else { return };
        let best = best_frames(resent, now, largest, payload);
        if best != now
            && let Some(mss) = size(best)
        {
            // The connection exists.
            let _ = self.tcp().set_mss(handle, mss);
        }
    }

    /// TCP: listeners, connections, their data and their state.
    pub const fn tcp(&mut self) -> &mut Endpoint<AddressPair, P> {
        self.tcp_is_quiet = false;
        &mut self.tcp
    }

    /// The network layer: addresses, routes, datagrams, echo requests.
    pub const fn net(&mut self) -> &mut Net<P, PayloadRef> {
        &mut self.net
    }
}

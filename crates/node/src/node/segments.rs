//! Segment sizes: the number of link frames that suits the path.

use super::Node;
use crate::profile::Profile;
use core::net::Ipv6Addr;
use kinglet_net::{best_frames, mss_for_frames, path_header_len};
use kinglet_routing::Routing;
use kinglet_tcp::{ConnectionConfig, Handle, SegmentLoss};

/// Octets of the TCP header without options (RFC 9293 §3.1).
const TCP_HEADER: usize = 20;

/// Number of frames that a packet of 1280 octets can take.
const MAX_FRAMES: usize = 16;

/// Link frames of a full segment if no size was chosen (TCPlp §6.1).
const DEFAULT_FRAMES: u8 = 5;

/// An address that no header compression can shorten (RFC 6282 §3.2.2).
pub(crate) const ANY_PEER: Ipv6Addr = Ipv6Addr::new(0x3fff, 1, 1, 1, 1, 1, 1, 1);

impl<P: Profile> Node<P> {
    /// Sets the default MSS for this path in settings without an MSS.
    pub(crate) fn choose_mss(
        &self,
        local: Ipv6Addr,
        remote: Ipv6Addr,
        config: &mut ConnectionConfig,
    ) {
        if config.mss == 0 {
            config.mss = self.path_mss(local, remote, DEFAULT_FRAMES).unwrap_or(0);
        }
    }

    /// Returns the [`ConnectionConfig::mss`] with which a full segment to or from `remote` takes
    /// `frames` link frames on every hop (TCPlp §6.1 recommends 5, and 3 where losses are common);
    /// options count as part of it. Returns `None` without a route, or if nothing fits.
    pub fn mss_for_frames(&self, remote: Ipv6Addr, frames: u8) -> Option<u16> {
        self.path_mss(self.net.source_for(remote)?, remote, frames)
    }

    fn path_mss(&self, local: Ipv6Addr, remote: Ipv6Addr, frames: u8) -> Option<u16> {
        let compressed = path_header_len(local, remote, self.net.contexts()).ok()?;
        // Every node of a network is assumed to have link addresses of the same length as this
        // node.
        let room = self.mac.max_payload(self.mac.config().source());
        let added = self.net.routing().added_len(remote);
        mss_for_frames(frames, room, compressed.saturating_add(added), TCP_HEADER)
    }

    /// Lets the segments of a connection that allows it span the number of frames with the highest
    /// expected goodput. Called with every segment.
    pub(crate) fn adapt_segments(&mut self, handle: Handle) {
        let Some(SegmentLoss { retransmitted_share, mss, limit, options }) =
            self.tcp.segment_loss(handle)
        else {
            return;
        };
        let Some((peer, ..)) = self.tcp.name(handle) else { return };
        let mut sizes = [0; MAX_FRAMES];
        for (frames, size) in (1..).zip(&mut sizes) {
            *size = self.mss_for_frames(peer.remote(), frames).unwrap_or(0).min(limit);
        }
        let size = |frames: u8| sizes.get(usize::from(frames.saturating_sub(1))).copied();
        // The first size that is large enough.
        let frames_for = |mss| (1..).zip(sizes).find(|(_, size)| *size >= mss).map(|(n, _)| n);
        let payload = |frames| size(frames).unwrap_or(0).saturating_sub(options);
        let (Some(now), Some(largest)) = (frames_for(mss), frames_for(limit)) else { return };
        let best = best_frames(retransmitted_share, now, largest, payload);
        if best != now
            && let Some(mss) = size(best)
        {
            // The connection exists.
            let _ = self.wake_tcp().set_mss(handle, mss);
        }
    }
}

//! Creation of this node's own packets: ICMPv6 messages and UDP datagrams.

use super::{Net, Sizes};
use crate::outgoing::SendError;
use crate::pool::PacketHandle;
use core::net::Ipv6Addr;
use kinglet_mem::copy;
use kinglet_wire::icmpv6::{self, Kind};
use kinglet_wire::ipv6::{self, Header, protocol};
use kinglet_wire::udp;

/// Octets in front of the data; both headers have eight.
pub(crate) const HEAD: usize = ipv6::HEADER_LEN + udp::HEADER_LEN;

/// The header in front of the data.
#[derive(Clone, Copy)]
pub(crate) enum Upper {
    Icmpv6(Kind),
    Udp { src_port: u16, dst_port: u16 },
}

/// Header fields of a packet.
#[derive(Clone, Copy)]
pub(crate) struct Headers {
    pub(crate) src: Ipv6Addr,
    pub(crate) dst: Ipv6Addr,
    pub(crate) hop_limit: u8,
    pub(crate) traffic_class: u8,
    pub(crate) upper: Upper,
}

impl<S: Sizes, X: Copy> Net<S, X> {
    /// Returns headers with the usual hop limit.
    pub(crate) const fn headers(&self, src: Ipv6Addr, dst: Ipv6Addr, upper: Upper) -> Headers {
        Headers { src, dst, hop_limit: self.config.hop_limit, traffic_class: 0, upper }
    }

    /// Writes the headers of a packet whose data, `len` octets, are in its slot behind the first
    /// [`HEAD`] octets. `None` if they do not fit into the slot.
    pub(crate) fn build_packet(
        &mut self,
        packet: PacketHandle,
        headers: &Headers,
        len: usize,
    ) -> Option<()> {
        let Headers { src, dst, hop_limit, traffic_class, upper } = *headers;
        let total = len.saturating_add(HEAD);
        let octets = self.pool.storage_mut(packet).get_mut(..total)?;
        let payload = total.saturating_sub(ipv6::HEADER_LEN);
        let payload_len = u16::try_from(payload).ok()?;
        let next_header = match upper {
            Upper::Icmpv6(_) => protocol::ICMPV6,
            Upper::Udp { .. } => protocol::UDP,
        };
        let header =
            Header { traffic_class, flow_label: 0, payload_len, next_header, hop_limit, src, dst };
        header.emit(octets).ok()?;
        let octets = octets.get_mut(ipv6::HEADER_LEN..)?;
        let pseudo = header.pseudo_header_sum(payload, next_header);
        match upper {
            Upper::Icmpv6(kind) => {
                kind.emit(octets).ok()?;
                icmpv6::fill_checksum(octets, pseudo).ok()?;
            }
            Upper::Udp { src_port, dst_port } => {
                let length = payload_len;
                udp::Header { src_port, dst_port, length, checksum: 0 }.emit(octets).ok()?;
                udp::fill_checksum(octets, pseudo).ok()?;
            }
        }
        self.pool.set_len(packet, total);
        Some(())
    }

    /// Creates a packet with a copy of `data`, in a new slot, if `keep` others stay free.
    pub(crate) fn allocate_packet(
        &mut self,
        keep: usize,
        headers: &Headers,
        data: &[u8],
    ) -> Result<PacketHandle, SendError> {
        let packet = self.pool.alloc(keep).ok_or(SendError::NoBuffer)?;
        let room = self.pool.storage_mut(packet).get_mut(HEAD..).unwrap_or_default();
        copy(room, data);
        if self.build_packet(packet, headers, data.len()).is_none() {
            self.release(packet);
            return Err(SendError::TooLong);
        }
        Ok(packet)
    }
}

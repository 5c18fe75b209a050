//! TCP payload of a number of frames (TCPlp §6.1: the MSS counted in frames).

use core::net::Ipv6Addr;
use kinglet_wire::ieee802154::Address;
use kinglet_wire::ipv6::{self, Header, MIN_MTU, protocol};
use kinglet_wire::sixlowpan::{self, Context, FragmentHeader, MAX_COMPRESSED, link_address_of};

/// Returns the largest TCP payload, in octets, whose packet needs at most `frames` frames of
/// `max_payload` octets each.
///
/// `compressed_len` is the length of the compressed IPv6 header ([`path_header_len`]),
/// `tcp_header_len` that of the TCP header with the options of a data segment (20 to 60).
/// Fragments but the last are cut at multiples of eight octets of the *uncompressed* packet
/// (RFC 4944, 5.3). The packet stays within the MTU of 1280. `None` if not even one octet fits.
///
/// ```
/// use kinglet_net::mss_for_frames;
/// // 802.15.4 without security, 23 octets of MAC header and FCS, extended addresses: 104 left.
/// // IPHC 3 octets, TCP with timestamps 32: 69 octets in one frame.
/// assert_eq!(mss_for_frames(1, 104, 3, 32), Some(69));
/// // Five frames: 136 + 3 · 96 + 99 octets of the packet, 72 of them headers.
/// assert_eq!(mss_for_frames(5, 104, 3, 32), Some(451));
/// ```
//= rfc9293#MUST-67 rfc9293#SHLD-6
pub const fn mss_for_frames(
    frames: u8,
    max_payload: usize,
    compressed_len: usize,
    tcp_header_len: usize,
) -> Option<u16> {
    let Some(more) = frames.checked_sub(1) else { return None };
    let Some(alone) = max_payload.checked_sub(compressed_len) else { return None };
    let mut total = alone.saturating_add(ipv6::HEADER_LEN);
    if let (Some(space), Some(middle)) = (
        alone.checked_sub(FragmentHeader::FIRST_LEN),
        max_payload.checked_sub(FragmentHeader::NEXT_LEN),
    ) {
        let first = ipv6::HEADER_LEN.saturating_add(space) & !7;
        if let Some(middles) = more.checked_sub(1) {
            let middles = (middle & !7).saturating_mul(middles as usize);
            let fragmented = first.saturating_add(middles).saturating_add(middle);
            if fragmented > total {
                total = fragmented;
            }
        }
    }
    if total > MIN_MTU {
        total = MIN_MTU;
    }
    match total.checked_sub(ipv6::HEADER_LEN.saturating_add(tcp_header_len)) {
        // At most 1280.
        Some(mss) if mss > 0 => Some(mss as u16),
        _ => None,
    }
}

/// Returns the length of the compressed IPv6 header of a TCP packet on the worst hop of its path:
/// between two forwarders, whose link addresses do not help to compress the packet's, with a hop
/// limit that is not one of the elided ones and the ECN bits in use. Between link-local addresses
/// there is one hop only, and the addresses are assumed to follow from the link addresses.
///
/// # Errors
/// Never with real addresses; that of [`sixlowpan::compress`] in principle.
pub fn path_header_len(
    src: Ipv6Addr,
    dst: Ipv6Addr,
    contexts: &[Option<Context>],
) -> Result<usize, kinglet_wire::Error> {
    let mut packet = [0; ipv6::HEADER_LEN];
    let (from, to, hop_limit) = if dst.is_unicast_link_local() {
        (link_address_of(src), link_address_of(dst), 64)
    } else {
        (Address::None, Address::None, 2)
    };
    let header = Header {
        traffic_class: 2,
        flow_label: 0,
        payload_len: 0,
        next_header: protocol::TCP,
        hop_limit,
        src,
        dst,
    };
    header.emit(&mut packet)?;
    let mut out = [0; MAX_COMPRESSED];
    Ok(sixlowpan::compress::<()>(&packet, from, to, contexts, &mut out)?.written)
}

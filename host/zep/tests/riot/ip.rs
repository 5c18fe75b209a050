//! IPv6 packets.

use super::lowpan::Ip;

pub(crate) const ICMPV6: u8 = 58;
pub(crate) const TCP: u8 = 6;
pub(crate) const ALL_ROUTERS: Ip = [0xff, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2];
pub(crate) const RPL_NODES: Ip = [0xff, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x1a];

pub(crate) fn ip(text: &str) -> Ip {
    text.parse::<std::net::Ipv6Addr>().unwrap().octets()
}

/// Returns a packet with its checksum, which is at `at` in the upper header.
pub(crate) fn packet(src: Ip, dst: Ip, kind: u8, hops: u8, mut upper: Vec<u8>) -> Vec<u8> {
    let at = if kind == TCP { 16 } else { 2 };
    upper[at..at + 2].fill(0);
    let sum = !sum(src, dst, kind, &upper);
    upper[at..at + 2].copy_from_slice(&sum.to_be_bytes());
    let len = (upper.len() as u16).to_be_bytes();
    [&[0x60, 0, 0, 0][..], &len, &[kind, hops], &src, &dst, &upper].concat()
}

/// Returns whether the checksum is correct.
pub(crate) fn is_right(packet: &[u8]) -> bool {
    let (src, dst) = (part(packet, 8), part(packet, 24));
    sum(src, dst, packet[6], &packet[40..]) == 0xffff
}

pub(crate) fn part(packet: &[u8], at: usize) -> Ip {
    packet[at..at + 16].try_into().unwrap()
}

fn sum(src: Ip, dst: Ip, kind: u8, upper: &[u8]) -> u16 {
    let len = (upper.len() as u32).to_be_bytes();
    let all = [&src[..], &dst, &len, &[0, 0, 0, kind], upper].concat();
    let pairs = all.chunks(2);
    let sum: u32 =
        pairs.map(|it| u32::from(it[0]) << 8 | u32::from(*it.get(1).unwrap_or(&0))).sum();
    let folded = (sum & 0xffff) + (sum >> 16);
    ((folded & 0xffff) + (folded >> 16)) as u16
}

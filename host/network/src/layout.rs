//! Computes the link frames of a TCP segment and their air time, for Table 5, Fig. 4b and every
//! goodput bound.

use crate::radio;
use kinglet::mac;
use kinglet_scenario::{LinkAddresses, NO_SHORT, RadioProfile, tcplp};

/// Octets of the PSDU (IEEE 802.15.4-2015, aMaxPHYPacketSize).
pub const MAX_PSDU: usize = 127;
/// First fragment header (RFC 4944 §5.3).
pub const FRAG1: usize = 4;
/// Subsequent fragment header (RFC 4944 §5.3).
pub const FRAGN: usize = 5;
/// Uncompressed IPv6 header (RFC 8200 §3). Fragment offsets include it.
pub const IPV6: usize = 40;
/// TCP header without options (RFC 9293 §3.1).
pub const TCP: usize = 20;
/// Timestamps option with the two octets of padding that align it (RFC 7323 appendix A).
pub const TIMESTAMPS: usize = 12;
/// Frame control, sequence number, one PAN id and the FCS: a data frame without addresses.
const MAC_FIXED: usize = 2 + 1 + 2 + 2;

/// Auxiliary security header with a key index, and the integrity code of level 5 (IEEE
/// 802.15.4-2015, 9.4 and Table 9-6).
pub const SECURITY: usize = 1 + 4 + 1 + 4;

/// TCPlp's MSS (§6.2).
pub const DEFAULT_MSS: usize = 462;

/// Header octets of a data frame with PAN id compression, FCS included.
pub const fn mac_header(addresses: LinkAddresses) -> usize {
    match addresses {
        LinkAddresses::Extended | LinkAddresses::Given { short: NO_SHORT, .. } => MAC_FIXED + 8 + 8,
        LinkAddresses::Short | LinkAddresses::Given { .. } => MAC_FIXED + 2 + 2,
    }
}

/// Header sizes of a flow over one hop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Format {
    /// Link header and FCS.
    pub mac: usize,
    /// Octets of link security, or reserved for it.
    pub security: usize,
    /// Compressed IPv6 header: IPHC and its inline fields, next header included.
    pub iphc: usize,
    /// TCP header with options.
    pub tcp: usize,
}

/// One link frame of a segment: its parts in octets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Link header, FCS and security.
    pub l2: usize,
    /// Fragment header and compressed IPv6 header.
    pub l3: usize,
    /// TCP header.
    pub l4: usize,
    /// Application octets.
    pub payload: usize,
}

impl Frame {
    /// Octets of the PSDU.
    pub const fn psdu(&self) -> usize {
        self.l2 + self.l3 + self.l4 + self.payload
    }

    /// Unused octets up to the longest PSDU.
    pub const fn unused(&self) -> usize {
        MAX_PSDU - self.psdu()
    }
}

/// Octets of security in a frame: header and integrity code, or padding in their place.
fn security_octets(mac: &mac::MacConfig) -> usize {
    let secured = if mac.security.is_some() { SECURITY } else { 0 };
    secured + usize::from(mac.reserved_security)
}

impl Format {
    /// Format of a flow of the lab: short link addresses, and the longest compressed IPv6 header
    /// that a hop of its path may need. That is IPHC's two octets, traffic class (ECN), next
    /// header, hop limit and two octets for each interface identifier (RFC 6282 §3.1), as
    /// [`kinglet_net::path_header_len`] computes it.
    pub fn of(mac: &mac::MacConfig, timestamps: bool) -> Self {
        Format {
            mac: mac_header(LinkAddresses::Short),
            security: security_octets(mac),
            iphc: 2 + 1 + 1 + 1 + 2 + 2,
            tcp: TCP + if timestamps { TIMESTAMPS } else { 0 },
        }
    }

    /// Returns the same with these link addresses. Where both ends are several hops away, a frame
    /// also has their identifiers, which are as long as link addresses.
    #[must_use]
    pub const fn with_addresses(self, addresses: LinkAddresses) -> Self {
        let mac = mac_header(addresses);
        let added = mac - mac_header(LinkAddresses::Short);
        Format { mac, iphc: self.iphc + added, ..self }
    }

    /// Format between neighbours, where IPHC elides identifiers, hop limit and traffic class: two
    /// octets and the next header (RFC 6282 §3.1.1).
    pub fn between_neighbours(mac: &mac::MacConfig, timestamps: bool) -> Self {
        Format { iphc: 2 + 1, ..Format::of(mac, timestamps) }
    }

    const fn room(&self) -> usize {
        MAX_PSDU.saturating_sub(self.mac + self.security)
    }

    /// Application octets in the first of several fragments. All fragments except the last cover a
    /// multiple of eight octets of the *uncompressed* packet (RFC 4944 §5.3).
    const fn first_fragment(&self) -> usize {
        let covered = (self.room().saturating_sub(FRAG1 + self.iphc) + IPV6) / 8 * 8;
        covered.saturating_sub(IPV6 + self.tcp)
    }

    const fn middle_fragment(&self) -> usize {
        self.room().saturating_sub(FRAGN) / 8 * 8
    }

    /// Largest number of application octets that fit into `frames` frames (1 or more).
    pub const fn mss_for_frames(&self, frames: usize) -> usize {
        if frames <= 1 {
            return self.room().saturating_sub(self.iphc + self.tcp);
        }
        let last = self.room().saturating_sub(FRAGN);
        self.first_fragment() + (frames - 2) * self.middle_fragment() + last
    }

    /// The frames of a segment with `payload` octets.
    pub fn frames(&self, payload: usize) -> Vec<Frame> {
        let l2 = self.mac + self.security;
        if payload <= self.mss_for_frames(1) {
            return vec![Frame { l2, l3: self.iphc, l4: self.tcp, payload }];
        }
        let first = self.first_fragment();
        let mut frames = vec![Frame { l2, l3: FRAG1 + self.iphc, l4: self.tcp, payload: first }];
        let mut left = payload.saturating_sub(first);
        // Each round takes at least eight octets, unless no octet fits.
        while left > 0 && self.middle_fragment() > 0 {
            let fits_last = left <= self.room().saturating_sub(FRAGN);
            let part = if fits_last { left } else { self.middle_fragment() };
            frames.push(Frame { l2, l3: FRAGN, l4: 0, payload: part });
            left -= part;
        }
        frames
    }
}

/// The highest possible goodput over one hop, and its time budget.
#[derive(Clone, Debug, PartialEq)]
pub struct Bound {
    /// Octets per segment.
    pub mss: usize,
    /// The bound, kb/s: limited by the time that the sender's radio needs for the frames of a
    /// segment, one after the other. Acknowledgements are free at best: they fit into the sender's
    /// interframe spacing and backoff.
    pub kbps: f64,
    /// The bound without concurrency, with acknowledgements in sequence, kb/s. The paper computes
    /// it so; it can be exceeded.
    pub kbps_in_sequence: f64,
    /// The bound in sequence with TCP headers of zero octets, kb/s.
    pub kbps_without_tcp_headers: f64,
    /// Time per segment in sequence, by cause, in microseconds.
    pub parts: [(&'static str, f64); 6],
    /// Frames per segment, including its share of an acknowledgement.
    pub frames: f64,
}

impl Bound {
    /// The bound in sequence if every frame took `extra_us` more (or less) than in the radio
    /// profile, in kb/s.
    pub fn kbps_with_extra_us(&self, extra_us: f64) -> f64 {
        let total: f64 = self.parts.iter().map(|(_, us)| us).sum();
        (self.mss * 8) as f64 / (total + self.frames * extra_us) * 1e3
    }
}

/// The bound for segments of `mss` octets. Every frame takes the time that the radio needs with
/// mean backoff on a clear channel, and every `ack_every`-th segment is acknowledged. There is no
/// loss, and processing takes no time.
pub fn bound(
    profile: RadioProfile,
    mac: &mac::MacConfig,
    format: Format,
    mss: usize,
    ack_every: u8,
) -> Bound {
    let octet_us = 32.0;
    let frames = format.frames(mss);
    let time = |psdu: usize| radio::frame_us(profile, psdu, mac.csma_params.min_be);
    let on_air: f64 = frames.iter().map(|f| f.psdu() as f64 * octet_us).sum();
    let radio: f64 = frames.iter().map(|f| time(f.psdu())).sum::<f64>() - on_air;
    let octets =
        |part: fn(&Frame) -> usize| frames.iter().map(part).sum::<usize>() as f64 * octet_us;
    let ack_psdu: usize = format.frames(0).iter().map(Frame::psdu).sum();
    let acks_per_segment = 1.0 / f64::from(ack_every.max(1));
    let acks = time(ack_psdu) * acks_per_segment;
    let parts = [
        ("payload at 250 kb/s", octets(|f| f.payload)),
        ("radio: copy, CSMA, turnaround, ACK, spacing", radio),
        ("TCP acknowledgements", acks),
        ("link headers and security", octets(|f| f.l2)),
        ("6LoWPAN and IPv6 headers", octets(|f| f.l3)),
        ("TCP header", octets(|f| f.l4)),
    ];
    let total: f64 = parts.iter().map(|(_, us)| us).sum();
    let bits = (mss * 8) as f64;
    // This removes the octets of the TCP headers, also those in acknowledgements.
    let header = format.tcp as f64 * octet_us * (1.0 + acks_per_segment);
    Bound {
        mss,
        kbps: bits / (on_air + radio) * 1e3,
        kbps_in_sequence: bits / total * 1e3,
        kbps_without_tcp_headers: bits / (total - header) * 1e3,
        parts,
        frames: frames.len() as f64 + acks_per_segment,
    }
}

/// The bound on one hop with TCPlp's frames: AT86RF233, 462 octets per segment, an acknowledgement
/// for every second one.
pub fn one_hop_bound() -> Bound {
    let mac = tcplp::MAC;
    let format = Format::between_neighbours(&mac, true);
    bound(RadioProfile::At86rf233, &mac, format, DEFAULT_MSS, 2)
}

#[cfg(test)]
mod tests {
    use super::*;
    use kinglet_scenario::MAC;

    #[test]
    fn link_headers_span_the_range_of_table_5() {
        assert_eq!(mac_header(LinkAddresses::Short), 11);
        assert_eq!(mac_header(LinkAddresses::Extended), 23);
    }

    #[test]
    fn frames_carry_exactly_the_payload_and_never_exceed_the_psdu() {
        for security in [0, 10, 21] {
            let mac = mac::MacConfig { reserved_security: security, ..tcplp::MAC };
            let format = Format::of(&mac, true);
            for payload in 0..1_200 {
                let frames = format.frames(payload);
                assert_eq!(frames.iter().map(|f| f.payload).sum::<usize>(), payload);
                assert!(frames.iter().all(|f| f.psdu() <= MAX_PSDU));
            }
        }
    }

    #[test]
    fn the_mss_of_n_frames_fills_n_frames_and_one_more_octet_does_not_fit() {
        let format = Format::of(&MAC, true);
        for frames in 1..=8 {
            let mss = format.mss_for_frames(frames);
            assert_eq!(format.frames(mss).len(), frames);
            assert_eq!(format.frames(mss + 1).len(), frames + 1);
        }
    }

    #[test]
    fn offsets_of_later_fragments_are_multiples_of_eight() {
        let format = Format::of(&MAC, true);
        let frames = format.frames(format.mss_for_frames(5));
        let mut offset = IPV6 + format.tcp;
        for frame in &frames[..frames.len() - 1] {
            offset += frame.payload;
            assert_eq!(offset % 8, 0);
        }
    }

    #[test]
    fn frames_between_neighbours_are_those_of_a_capture() {
        let format = Format::between_neighbours(&tcplp::MAC, true);
        let psdus = |payload| format.frames(payload).iter().map(Frame::psdu).collect::<Vec<_>>();
        assert_eq!(psdus(DEFAULT_MSS), [121, 127, 127, 127, 109]);
        assert_eq!(psdus(0), [53]);
    }

    #[test]
    fn extra_time_per_frame_lowers_the_bound_by_its_share() {
        let bound = one_hop_bound();
        assert_eq!(bound.frames, 5.5);
        let plain = bound.kbps_in_sequence;
        assert!((bound.kbps_with_extra_us(0.0) - plain).abs() < 1e-9);
        let us = 462.0 * 8e3 / bound.kbps_with_extra_us(100.0) - 462.0 * 8e3 / plain;
        assert!((us - 550.0).abs() < 1e-6);
    }

    #[test]
    fn the_parts_of_the_bound_sum_to_its_time() {
        let mac = MAC;
        let format = Format::of(&mac, true);
        let mss = format.mss_for_frames(5);
        let bound = bound(RadioProfile::At86rf233, &mac, format, mss, 2);
        let total: f64 = bound.parts.iter().map(|(_, us)| us).sum();
        assert!((bound.kbps_in_sequence - (mss * 8) as f64 / total * 1e3).abs() < 1e-9);
        assert!(bound.kbps_in_sequence < bound.kbps_without_tcp_headers);
        assert!(bound.kbps_without_tcp_headers < 250.0);
        // Without acknowledgements five frames remain.
        let acks = bound.parts[2];
        assert!(acks.0.contains("acknowledgements"));
        assert!((bound.kbps - (mss * 8) as f64 / (total - acks.1) * 1e3).abs() < 1e-9);
    }
}

//! Header octets of frames: of the frames of a simulation, and of the longest headers that the
//! stack writes.

use core::net::Ipv6Addr;
use kinglet::time::Instant;
use kinglet_network::build::contexts;
use kinglet_network::layout::MAX_PSDU;
use kinglet_network::run::{ActivityKind, Options, prepare, run};
use kinglet_scenario::Scenario;
use kinglet_sim::pcap::Pcap;
use kinglet_sweep::experiment::{Effort, line_scenario};
use kinglet_wire::ieee802154::{Address, Frame, FrameType, PanId, Repr, Version};
use kinglet_wire::sixlowpan::{self, Dispatch, FragmentHeader, Integrity};
use kinglet_wire::{ipv6, tcp};
use std::io;
use std::sync::{Arc, Mutex};

/// Octets of the frame check sequence.
const FCS: usize = 2;
/// Octets of a capture's file header, and of the record header and TAP before each frame.
const FILE_HEADER: usize = 24;
const BEFORE_FRAME: usize = 16 + 28;
/// Simulated seconds and seed: some hundred similar segments.
const SECONDS: f64 = 5.0;
const SEED: u64 = 1;

/// Header octets of a frame, by layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Headers {
    /// Link header and FCS.
    pub(super) link: usize,
    /// Fragment header and compressed IPv6 header.
    pub(super) adaptation: usize,
    /// TCP header with options.
    pub(super) tcp: usize,
}

/// Headers of the two kinds of fragments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fragments {
    pub(super) first: Headers,
    pub(super) later: Headers,
}

/// Results of a captured simulation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct OnAir {
    /// Shortest headers of each kind; all later fragments have the same.
    pub(super) shortest: Fragments,
    /// Most octets after a link header.
    pub(super) room: usize,
    /// Longest time of a frame on the air including the preamble, in milliseconds.
    pub(super) longest_ms: f64,
}

/// A transfer over one hop with the shortest possible headers: short addresses, no TCP options and
/// no space reserved for security.
fn shortest() -> Scenario {
    let mut scenario = line_scenario(Effort::Quick, 1, 0);
    scenario.duration_s = SECONDS;
    scenario.mac.reserved_security = 0;
    scenario.tcp.connection.timestamps = false;
    scenario
}

/// Headers in a simulation; `None` if it is not a TCP transfer in fragments.
pub(super) fn on_air() -> Option<OnAir> {
    let scenario = shortest();
    let frames = capture(&scenario)?;
    let (mut first, mut later): (Option<Headers>, Option<Headers>) = (None, None);
    let mut room = 0;
    for frame in frames.iter().filter_map(|psdu| psdu.get(..psdu.len().checked_sub(FCS)?)) {
        let Ok(parsed) = Frame::parse(frame) else { continue };
        if parsed.frame_type() != FrameType::Data {
            continue;
        }
        room = room.max(parsed.payload().len());
        let Some((is_first, headers)) = of_fragment(&scenario, frame, &parsed) else { continue };
        let kind = if is_first { &mut first } else { &mut later };
        let sum = |h: Headers| h.link + h.adaptation + h.tcp;
        if kind.is_none_or(|known| sum(headers) < sum(known)) {
            *kind = Some(headers);
        }
    }
    let options = Options { timeline_s: Some((0.0, SECONDS)), ..Options::default() };
    let timeline = run(&scenario, SEED, &options).ok()?.timeline;
    let sent = timeline.iter().filter(|activity| activity.kind == ActivityKind::Transmit);
    let longest_us = sent.map(|activity| activity.to_us - activity.from_us).max()?;
    let shortest = Fragments { first: first?, later: later? };
    Some(OnAir { shortest, room, longest_ms: longest_us as f64 / 1e3 })
}

/// Returns whether a frame is a first fragment, and its headers; `None` if it is no fragment.
fn of_fragment(scenario: &Scenario, frame: &[u8], parsed: &Frame<'_>) -> Option<(bool, Headers)> {
    let payload = parsed.payload();
    let link = frame.len() - payload.len() + FCS;
    match Dispatch::of(payload)? {
        Dispatch::FirstFragment => {}
        Dispatch::NextFragment => {
            let adaptation = FragmentHeader::NEXT_LEN;
            return Some((false, Headers { link, adaptation, tcp: 0 }));
        }
        _ => return None,
    }
    let (fragment, rest) = FragmentHeader::parse(payload).ok()?;
    let contexts = contexts(scenario);
    let mut header = [0; sixlowpan::MAX_DECOMPRESSED];
    let (src, dst, size) = (parsed.src(), parsed.dst(), Some(fragment.size));
    let done =
        sixlowpan::decompress::<()>(rest, src, dst, &contexts, size, Integrity::None, &mut header)
            .ok()?;
    let data_offset = rest.get(done.consumed + 12)? >> 4;
    let adaptation = FragmentHeader::FIRST_LEN + done.consumed;
    Some((true, Headers { link, adaptation, tcp: usize::from(data_offset) * 4 }))
}

/// Captures the frames of a short run.
fn capture(scenario: &Scenario) -> Option<Vec<Vec<u8>>> {
    let memory = Memory::default();
    let (mut network, _) = prepare(scenario, SEED).ok()?;
    network.set_pcap(Some(Pcap::new(Box::new(memory.clone())).ok()?));
    network.run_until(Instant::from_micros((scenario.duration_s * 1e6) as u64));
    network.set_pcap(None);
    let octets = memory.0.lock().ok()?.clone();
    let (mut frames, mut at) = (Vec::new(), FILE_HEADER);
    while let Some(len) = octets.get(at + 8..at + 12) {
        let len = u32::from_le_bytes(len.try_into().ok()?) as usize;
        frames.push(octets.get(at + BEFORE_FRAME..at + 16 + len)?.to_vec());
        at += 16 + len;
    }
    Some(frames)
}

/// A file in memory.
#[derive(Clone, Default)]
struct Memory(Arc<Mutex<Vec<u8>>>);

impl io::Write for Memory {
    fn write(&mut self, octets: &[u8]) -> io::Result<usize> {
        self.0.lock().map_err(|_| io::ErrorKind::Other)?.extend(octets);
        Ok(octets.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Longest headers in use, as the stack writes them: extended link addresses, a host outside all
/// contexts, a source address that is not derived from the link address, timestamps and one SACK
/// block.
pub(super) fn longest() -> Option<Fragments> {
    let extended = |last| Address::Extended([2, 0, 0, 0, 0, 0, 0, last]);
    let (src, dst) = (extended(1), extended(2));
    let frame = Repr {
        frame_type: FrameType::Data,
        version: Version::V2006,
        ack_request: true,
        frame_pending: false,
        sequence: 0,
        pan_id: PanId(1),
        dst,
        src,
        security: None,
        csl: None,
        filling: 0,
    };
    let link = frame.emit(&mut [0; MAX_PSDU]).ok()? + FCS;
    let mut options = tcp::Options::NONE;
    options.timestamps = Some(tcp::Timestamps { val: 1, ecr: 1 });
    options.sack.push(tcp::SackBlock { left: 1, right: 2 });
    let segment = tcp::Header { options, ..tcp::Header::default() };
    let tcp = segment.emit(&mut [0; tcp::MAX_HEADER_LEN]).ok()?;
    let scenario = Scenario::default();
    let prefix = scenario.prefix.mesh().segments();
    let packet = ipv6::Header {
        traffic_class: 0,
        flow_label: 0,
        payload_len: 500,
        next_header: ipv6::protocol::TCP,
        hop_limit: 63,
        src: Ipv6Addr::new(prefix[0], prefix[1], prefix[2], prefix[3], 0xdead, 1, 2, 0xbeef),
        dst: Ipv6Addr::new(0x2001, 0xdb8, 1, 2, 3, 4, 5, 6),
    };
    let mut octets = [0; ipv6::HEADER_LEN];
    packet.emit(&mut octets).ok()?;
    let contexts = contexts(&scenario);
    let mut out = [0; sixlowpan::MAX_COMPRESSED];
    let iphc = sixlowpan::compress::<()>(&octets, src, dst, &contexts, &mut out).ok()?.written;
    Some(Fragments {
        first: Headers { link, adaptation: FragmentHeader::FIRST_LEN + iphc, tcp },
        later: Headers { link, adaptation: FragmentHeader::NEXT_LEN, tcp: 0 },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_on_the_air_have_the_headers_of_the_formats() {
        let on_air = on_air().expect("a transfer");
        let first = Headers { link: 11, adaptation: 4 + 3, tcp: 20 };
        let later = Headers { link: 11, adaptation: 5, tcp: 0 };
        assert_eq!(on_air.shortest, Fragments { first, later });
        // Fragments except the last one end at multiples of eight octets; none is longer than a
        // frame.
        assert!((109..=MAX_PSDU - 11).contains(&on_air.room), "{}", on_air.room);
        let most_ms = (6 + MAX_PSDU) as f64 * 0.032;
        assert!(on_air.longest_ms <= most_ms && on_air.longest_ms > 0.9 * most_ms);
    }

    #[test]
    fn the_longest_headers_are_those_of_extended_addresses_and_a_foreign_host() {
        let longest = longest().expect("all of it can be written");
        assert_eq!(longest.first, Headers { link: 23, adaptation: 4 + 28, tcp: 44 });
        assert_eq!(longest.later, Headers { link: 23, adaptation: 5, tcp: 0 });
    }
}

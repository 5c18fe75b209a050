//! A relay that sleeps, strobes and forwards single fragments keeps the laws of a layer, whatever
//! its radio reports.

use crate::common::frames::{Heard, datagram, hear};
use crate::common::{global, node_with, usual};
use kinglet::mac::{self, Wake};
use kinglet::radio::{Ack, Capabilities, Command, Event};
use kinglet::store;
use kinglet::tcp::{ConnectionConfig, Handle, ListenConfig};
use kinglet::time::{Duration, Instant};
use kinglet::wire::ieee802154::Frame;
use kinglet::wire::sixlowpan::FragmentHeader;
use kinglet::{Config, Node, net};
use kinglet_testkit::contract::{Subject, check};
use rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg32;

const PACKETS: usize = 8;
const KEPT: usize = 16;
/// Number of datagrams whose fragments it forwards at a time.
const VIRTUALS: usize = 4;
type Virtuals = [Option<net::Virtual>; VIRTUALS];
/// Packets for the radio: half of the slots, and two places for errors.
const OUTPUT: usize = 4;

kinglet::profile! {
    struct Relay {
        forwards: true,
        packets: PACKETS,
        output: OUTPUT,
        listening: mac::Waking<mac::AlwaysOn>,
        delivery_method: mac::Strobing<(), [mac::Strobed; 4], 1>,
        fragmentation: net::Rfc8930<Virtuals, store::Ram<[store::Frame; KEPT]>>,
        security: mac::CcmStar<mac::Tabled, [mac::PeerCounter; 4]>,
    }
}

/// Node 2 of three in a row.
struct Device {
    node: Box<Node<Relay>>,
    socket: net::UdpHandle,
    handles: Vec<Handle>,
    sequence: u8,
}

/// Returns one fragment of a datagram with uncompressed headers, not always the one that is due.
fn fragment(from: u16, dice: u32) -> Vec<u8> {
    let [tag, which, a, b] = dice.to_le_bytes();
    // One fragment is not enough.
    let data = vec![0; 152 + usize::from(b & 127)];
    let packet = datagram(global(from), global(1 + u16::from(a & 3)), 9, 7, &data);
    let size = packet.len() as u16;
    let offset = match which & 3 {
        0 | 1 => None,
        2 => Some(80),
        _ => Some(160),
    };
    let head = FragmentHeader { size, tag: u16::from(tag & 3), offset };
    let mut payload = vec![0; head.buffer_len()];
    head.emit(&mut payload).unwrap();
    if offset.is_none() {
        payload.push(0x41);
    }
    let begin = usize::from(offset.unwrap_or(0));
    payload.extend_from_slice(&packet[begin..packet.len().min(begin + 80)]);
    payload
}

impl Device {
    fn hear(&mut self, now: Instant, from: u16, more: bool, payload: &[u8]) -> String {
        self.sequence = self.sequence.wrapping_add(1);
        let sequence = self.sequence;
        let heard = Heard { from, to: 2, sequence, more, lqi: 255, payload };
        hear(&mut self.node, now, &heard);
        format!("{from}, {more}: {payload:02x?}")
    }
}

impl Subject for Device {
    /// Commands that a radio takes at once: modes, channels, frames, and samples between them.
    const DRAIN_BOUND: usize = 64;

    fn fresh(seed: u64) -> Self {
        let hears = Capabilities::SENSES | Capabilities::STROBES | Capabilities::SCHEDULED;
        let capabilities = if seed % 5 == 4 { usual() } else { usual() | hears };
        let change = |config: &mut Config| config.net.forward = !seed.is_multiple_of(7);
        let mut node = node_with::<Relay>(2, 1, 3, capabilities, change);
        let wake = Wake {
            period: Duration::from_millis(32 + seed % 7 * 78),
            repeats: 1 + (seed % 6) as u8,
            burst_repeats: 1 + (seed % 16) as u8,
            burst: Duration::from_millis(seed % 4 * 200),
            sleeps_in_gaps: !seed.is_multiple_of(5),
            max_attempts: [None, Some(1), Some(4)][(seed % 3) as usize],
            sleeps: !seed.is_multiple_of(4),
            channels: if seed.is_multiple_of(3) { 0x8421 } else { 0 },
            ..Wake::DEFAULT
        };
        // A radio without the capability leaves it as it is: always on.
        let _ = node.set_wake(Some(wake));
        node.forward_fragments(!seed.is_multiple_of(6));
        let socket = node.datagrams().bind(7).unwrap();
        node.streams().listen(80, ListenConfig::default()).unwrap();
        Device { node, socket, handles: Vec::new(), sequence: 0 }
    }

    fn operate(&mut self, now: Instant, random: &mut Pcg32) -> String {
        let dice = random.next_u32();
        let [kind, a, b, c] = dice.to_le_bytes();
        let (from, to) = (1 + 2 * u16::from(a & 1), global(1 + 2 * u16::from(b & 1)));
        match kind % 10 {
            0 => {
                let data = vec![c; usize::from(a) * 3];
                format!("udp {:?}", self.node.datagrams().send(now, self.socket, to, 7, &data))
            }
            1 => {
                let opened = self.node.streams().connect(now, to, 80, ConnectionConfig::DEFAULT);
                self.handles.splice(0..0, opened.ok());
                self.handles.truncate(4);
                format!("connect {opened:?}")
            }
            2 => {
                let sent = self
                    .handles
                    .first()
                    .map(|handle| self.node.streams().send(*handle, &vec![a; usize::from(b) * 4]));
                format!("send {sent:?}")
            }
            3..=5 => {
                let payload = fragment(from, random.next_u32());
                self.hear(now, from, c & 1 != 0, &payload)
            }
            6 => {
                let mut noise = vec![0; usize::from(a) % 100];
                random.fill_bytes(&mut noise);
                self.hear(now, from, c & 1 != 0, &noise)
            }
            _ => {
                let pending = Ack::Received { frame_pending: c & 8 != 0 };
                let ack = [Ack::Missing, pending, pending, Ack::NotAwaited][usize::from(c & 3)];
                let event = match c >> 4 & 7 {
                    0 => Event::ChannelBusy,
                    1 => Event::Missed,
                    2 => Event::Sensed { busy: b & 1 != 0 },
                    3 | 4 => Event::Strobed { sfd: now, ack, times: 1 + u16::from(b & 31) },
                    _ => Event::Transmitted { sfd: now, ack },
                };
                self.node.handle_radio(now, event, &mut []);
                format!("{event:?}")
            }
        }
    }

    fn poll(&mut self, now: Instant) -> Option<String> {
        let submission = self.node.poll_radio(now)?;
        if let Command::Transmit { .. } | Command::Strobe { .. } = submission.command {
            assert!(Frame::parse(submission.frame).is_ok(), "a malformed frame");
        }
        Some(format!("{submission:?}"))
    }

    fn deadline(&self) -> Option<Instant> {
        self.node.deadline()
    }

    fn handle_deadline(&mut self, now: Instant) {
        self.node.handle_deadline(now);
    }

    fn observe(&self) -> String {
        let node = &self.node;
        let (net, relay) = (node.net().stats(), node.net().relay_stats());
        let infos: Vec<_> = self.handles.iter().map(|&handle| node.tcp().info(handle)).collect();
        let (info, stats, mac) = (node.info(), node.stats(), node.mac().stats());
        format!("{info:?} {stats:?} {mac:?} {net:?} {relay:?} {infos:?}")
    }

    fn occupancy(&self) -> Vec<(usize, usize)> {
        let info = self.node.info().net;
        vec![
            (PACKETS - info.free_packets, PACKETS),
            (self.node.net().relayed_waiting(), KEPT),
            (info.queued, OUTPUT + 2),
        ]
    }
}

#[test]
fn a_relay_that_sleeps_and_passes_fragments_on_keeps_the_laws() {
    check::<Device>(0..84, 300);
}

/// Without this the test above might prove nothing about forwarded fragments.
#[test]
fn the_relay_under_the_laws_forwards_fragments() {
    let (mut passed, mut broken) = (0, 0);
    for seed in 0..20 {
        let mut device = Device::fresh(seed);
        let mut random = Pcg32::seed_from_u64(seed);
        let mut now = Instant::from_secs(1);
        for _ in 0..300 {
            device.operate(now, &mut random);
            while device.poll(now).is_some() {}
            now += Duration::from_millis(20);
            device.handle_deadline(now);
        }
        let stats = device.node.net().relay_stats().copied().unwrap_or_default();
        passed += stats.frames;
        broken += stats.broken;
    }
    assert!(passed > 100 && broken > 10, "{passed} frames, {broken} datagrams");
}

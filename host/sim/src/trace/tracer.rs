//! Mapping of frames to packets with an identity.

use super::head::{Head, Key, Segment};
use super::looks::{Counted, Look, Seen, discarded};
use super::opening::{Contents, Opening};
use super::station::{Held, Station};
use super::{Event, FrameId, Framed, PacketId, To, What};
use crate::frame::Header;
use crate::stats::Fate;
use crate::wire::{Passed, Passing};
use kinglet::wire::tcp::Flags;
use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::ops::Range;

/// Frames and packets remembered. A frame sent after this many others is unknown.
const MOST_FRAMES: usize = 1 << 14;
const MOST_SEGMENTS: usize = 256;
/// Upper bound of a frame, its acknowledgement and the turnaround together, in microseconds.
const LONGEST_US: u64 = 10_000;

/// A frame that was sent.
#[derive(Clone, Copy, Debug)]
struct Frame {
    contents: Contents,
    framed: Framed,
}

/// A frame on the air.
#[derive(Clone, Copy, Debug)]
struct OnAir {
    frame: FrameId,
    is_ack: bool,
    node: u32,
    channel: u8,
    start_us: u64,
    until_us: u64,
}

/// One direction of a connection.
#[derive(Debug, Default)]
struct Stream {
    first_seq: Option<u32>,
    /// Last packets, each with its first sequence number.
    carried: VecDeque<(u32, PacketId)>,
}

/// Identity of a frame, used as the comment in a capture.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Identity {
    frame: FrameId,
    packet: Option<PacketId>,
    is_ack: bool,
}

impl fmt::Display for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let of = if self.is_ack { "acknowledgement of " } else { "" };
        write!(f, "{of}frame {}", self.frame)?;
        self.packet.map_or(Ok(()), |packet| write!(f, ", packet {packet}"))
    }
}

/// Subject of a call to a stack.
#[derive(Clone, Copy, Debug, Default)]
struct Context {
    packet: Option<PacketId>,
}

/// Consumer of the events, in order of time.
pub type Sink = Box<dyn FnMut(Event) + Send>;

/// Follows packets through a network.
pub struct Tracer {
    opening: Opening,
    sink: Sink,
    stations: Vec<Station>,
    seen: Vec<(Counted, Seen)>,
    context: Vec<Context>,
    /// Packets on the wire by number.
    on_wire: BTreeMap<u64, PacketId>,
    frames: VecDeque<Frame>,
    /// Identity of the first of them.
    first_frame: FrameId,
    packets: PacketId,
    air: VecDeque<OnAir>,
    streams: BTreeMap<Key, Stream>,
}

impl Tracer {
    /// A trace that reads frames with the knowledge in `opening`.
    pub fn new(opening: Opening, sink: Sink) -> Self {
        Tracer {
            opening,
            sink,
            stations: Vec::new(),
            seen: Vec::new(),
            context: Vec::new(),
            on_wire: BTreeMap::new(),
            frames: VecDeque::new(),
            first_frame: 1,
            packets: 0,
            air: VecDeque::new(),
            streams: BTreeMap::new(),
        }
    }

    pub(crate) fn begin(&mut self, nodes: usize) {
        self.stations.resize_with(nodes, Station::default);
        self.seen.resize_with(nodes, Default::default);
        self.context.resize_with(nodes, Context::default);
    }

    pub(crate) fn event(&mut self, at_us: u64, node: usize, what: What) {
        (self.sink)(Event { at_us, node: Some(node as u32), what });
    }

    fn frame(&self, frame: FrameId) -> Option<&Frame> {
        self.frames.get(frame.checked_sub(self.first_frame)? as usize)
    }

    /// The radio of `node` gets a frame to send.
    pub(crate) fn submitted(&mut self, now: u64, node: usize, octets: &[u8]) {
        if let Some((framed, attempt)) = self.stations[node].again(octets) {
            self.stations[node].current = Some(framed);
            return self.event(now, node, What::Attempt { frame: framed, attempt });
        }
        let contents = self.opening.contents(octets);
        let to = Header::parse(octets).destination;
        let receiver = To::from(to);
        let (packet, fragment) = match contents {
            Contents::Whole(head) => (Some(self.identify(now, node, &head)), None),
            Contents::First { tag, size, head, .. } => {
                let packet = head.map(|head| self.identify(now, node, &head));
                let tags = &mut self.stations[node].tags;
                match packet {
                    Some(packet) => tags.insert((receiver, tag), packet),
                    None => tags.remove(&(receiver, tag)),
                };
                if tags.len() > MOST_SEGMENTS {
                    tags.pop_first();
                }
                (packet, Some((0, size)))
            }
            Contents::Next { tag, size, offset, .. } => {
                let packet = self.stations[node].tags.get(&(receiver, tag)).copied();
                (packet, Some((offset, size)))
            }
            Contents::Command | Contents::Other => (None, None),
        };
        let frame = self.first_frame + self.frames.len() as u64;
        let command = contents == Contents::Command;
        let framed = Framed { frame, packet, fragment, command, to: receiver };
        self.frames.push_back(Frame { contents, framed });
        if self.frames.len() > MOST_FRAMES {
            self.frames.pop_front();
            self.first_frame += 1;
        }
        let station = &mut self.stations[node];
        station.first(octets, framed);
        station.current = Some(framed);
        self.event(now, node, What::Attempt { frame: framed, attempt: 1 });
    }

    /// The packet whose first frame `node` is sending.
    fn identify(&mut self, now: u64, node: usize, head: &Head) -> PacketId {
        let key = head.key();
        let station = &mut self.stations[node];
        let kind = usize::from(!head.is_tcp());
        let formed = (head.is_tcp() || head.is_udp()) && !station.formed[kind].is_empty();
        if let Some(held) = station.next(&key)
            && !(held.formed && formed)
        {
            let (packet, first) = (held.packet, !held.sent);
            held.sent = true;
            if first {
                let waited_us = now - held.since_us;
                self.event(now, node, What::Dequeued { packet, waited_us });
            }
            return packet;
        }
        let since_us = station.formed(head).unwrap_or(now);
        let packet = self.form(now, Some(node as u32), head, now - since_us);
        let held = Held { packet, since_us, formed: true, sent: true, whole: true };
        self.stations[node].hold(key, held);
        packet
    }

    /// Assigns a new identity.
    fn form(&mut self, at_us: u64, node: Option<u32>, head: &Head, waited_us: u64) -> PacketId {
        self.packets += 1;
        let packet = self.packets;
        let (offset, again) = self.place(head, packet);
        let what = What::Formed { packet, head: *head, offset, again, waited_us };
        (self.sink)(Event { at_us, node, what });
        packet
    }

    /// Position of a segment's data in their stream, and the packet that carried them before.
    fn place(&mut self, head: &Head, packet: PacketId) -> (Option<u64>, Option<PacketId>) {
        let (Some(Segment { seq, flags, .. }), Some((from, to))) = (head.segment, head.ports)
        else {
            return (None, None);
        };
        let mut ports = [0; 20];
        ports[..2].copy_from_slice(&from.to_be_bytes());
        ports[2..4].copy_from_slice(&to.to_be_bytes());
        let stream = self.streams.entry((head.src, head.dst, head.protocol, ports)).or_default();
        let opens = flags.contains(Flags::SYN);
        if opens && stream.first_seq != Some(seq) {
            *stream = Stream { first_seq: Some(seq), carried: VecDeque::new() };
        }
        // A SYN uses a sequence number before the data.
        let begin = seq.wrapping_add(opens.into());
        let offset = stream.first_seq.map(|first| begin.wrapping_sub(first.wrapping_add(1)).into());
        if head.payload == 0 && !flags.intersects(Flags::SYN | Flags::FIN) {
            return (offset, None);
        }
        let known = stream.carried.iter_mut().find(|(carried, _)| *carried == seq);
        let again = match known {
            Some((_, before)) => Some(std::mem::replace(before, packet)),
            None => {
                stream.carried.push_back((seq, packet));
                if stream.carried.len() > MOST_SEGMENTS {
                    stream.carried.pop_front();
                }
                None
            }
        };
        (offset, again)
    }

    /// A frame of `node`, or its acknowledgement, begins on the air.
    pub(crate) fn air(
        &mut self,
        (now, until_us): (u64, u64),
        node: usize,
        by_radio: bool,
        header: &Header,
        (octets, channel): (u16, u8),
    ) -> Identity {
        let is_ack = by_radio || header.is_ack();
        let station = &self.stations[node];
        let current = station.current.map_or(0, |framed| framed.frame);
        let frame = if is_ack { station.acknowledges } else { current };
        while self.air.front().is_some_and(|old| old.until_us + LONGEST_US < now) {
            self.air.pop_front();
        }
        let on_air = OnAir { frame, is_ack, node: node as u32, channel, start_us: now, until_us };
        self.air.push_back(on_air);
        let what = What::Air {
            frame,
            is_ack,
            octets,
            sequence: header.sequence,
            to: header.destination.into(),
            pending: header.frame_pending,
            channel,
            until_us,
        };
        self.event(now, node, what);
        self.identity(frame, is_ack)
    }

    fn identity(&self, frame: FrameId, is_ack: bool) -> Identity {
        let packet = self.frame(frame).and_then(|frame| frame.framed.packet);
        Identity { frame, packet, is_ack }
    }

    /// The fate at `node` of the frame of `from` that was `on_air`. `notices` returns true for
    /// nodes whose signals affect this receiver.
    pub(crate) fn fate(
        &mut self,
        now: u64,
        (node, from): (usize, u32),
        on_air: Range<u64>,
        (fate, mine): (Fate, bool),
        notices: impl Fn(u32) -> bool,
    ) -> Option<Identity> {
        let starts = |it: &&OnAir| it.node == from && it.start_us == on_air.start;
        let one = self.air.iter().rev().find(starts).copied()?;
        let OnAir { frame, is_ack, channel, start_us, .. } = one;
        let awaits = self.stations[node].current.is_some_and(|framed| framed.frame == frame);
        if is_ack && !awaits {
            return None;
        }
        let identity = self.identity(frame, is_ack);
        let packet = identity.packet;
        if fate == Fate::Delivered && !is_ack {
            let station = &mut self.stations[node];
            station.hears(start_us, frame);
            station.acknowledges = frame;
        }
        let mut beside = Vec::new();
        if (mine || is_ack) && fate != Fate::Delivered {
            let overlaps = |it: &&OnAir| {
                let others = it.node != from && it.channel == channel;
                let meanwhile = it.start_us < on_air.end && it.until_us > on_air.start;
                others && meanwhile && (it.node as usize == node || notices(it.node))
            };
            beside.extend(self.air.iter().filter(overlaps).map(|it| (it.frame, it.node)));
        }
        let what = What::Fate { frame, is_ack, from, packet, fate, mine, beside };
        self.event(now, node, what);
        (mine || is_ack).then_some(identity)
    }

    /// The transmission of `node` has ended.
    pub(crate) fn finished(&mut self, now: u64, node: usize, outcome: &'static str) {
        let Some(Framed { frame, packet, .. }) = self.stations[node].current else { return };
        self.context[node] = Context { packet };
        self.event(now, node, What::Outcome { frame, packet, outcome });
    }

    /// The stack of `node` is about to get the frame that began at `start_us`.
    pub(crate) fn receives(&mut self, now: u64, node: usize, start_us: u64) {
        self.context[node] = Context::default();
        let Some(id) = self.stations[node].takes(start_us) else { return };
        let Some(&Frame { contents, framed }) = self.frame(id) else { return };
        let Some(sender) = self.air.iter().rev().find(|it| it.frame == id && !it.is_ack) else {
            return;
        };
        let sender = sender.node;
        let station = &mut self.stations[node];
        let (packet, whole) = match contents {
            Contents::Whole(_) => (framed.packet, true),
            Contents::First { tag, size, octets, .. } => {
                station.piece((sender, tag), size, (0, octets), (framed.packet, now))
            }
            Contents::Next { tag, size, offset, octets } => {
                station.piece((sender, tag), size, (offset, octets), (framed.packet, now))
            }
            Contents::Command | Contents::Other => return,
        };
        self.context[node] = Context { packet };
        let Some(packet) = packet else { return };
        if let Contents::Whole(head) | Contents::First { head: Some(head), .. } = contents {
            self.holds(now, node, &head, packet);
        }
        if whole {
            let repeated = self.repeated(node, packet);
            self.event(now, node, What::Arrived { packet, repeated });
        }
    }

    /// Notes that `node` has the headers of a packet.
    fn holds(&mut self, now: u64, node: usize, head: &Head, packet: PacketId) {
        let station = &mut self.stations[node];
        if station.held(&head.key(), packet).is_none() {
            let held = Held { packet, since_us: now, formed: false, sent: false, whole: false };
            station.hold(head.key(), held);
        }
    }

    /// Notes that a packet has arrived completely. Returns whether it had arrived before.
    fn repeated(&mut self, node: usize, packet: PacketId) -> bool {
        let held = self.stations[node].any(packet);
        held.is_some_and(|held| std::mem::replace(&mut held.whole, true))
    }

    /// Counts the packets formed by the device of `node`, before its frame is identified.
    pub(crate) fn counts(&mut self, now: u64, node: usize, device: &dyn Look) {
        let counted = device.counted();
        let before = std::mem::replace(&mut self.seen[node].0, counted);
        let station = &mut self.stations[node];
        let more = |now: u32, before: u32| now.checked_sub(before).unwrap_or(now);
        station.forms(0, more(counted.segments, before.segments), now);
        station.forms(1, more(counted.datagrams, before.datagrams), now);
        if more(counted.forwarded, before.forwarded) > 0
            && let Some(packet) = self.context[node].packet
        {
            self.event(now, node, What::Queued { packet, waiting: device.waiting() });
        }
    }

    /// Inspects the device of `node` after a call, and its reasons if they may have `changed`.
    pub(crate) fn looks(&mut self, now: u64, node: usize, device: &dyn Look, changed: bool) {
        self.counts(now, node, device);
        let Context { packet, .. } = self.context[node];
        let Tracer { sink, stations, seen, .. } = self;
        let (_, seen) = &mut seen[node];
        if changed {
            seen.reasons(device, |layer, reason, count| {
                let incomplete = layer == "net" && reason.ends_with("reassemblies");
                let of = if incomplete { stations[node].oldest_partial() } else { packet };
                sink(discarded((now, node), of, (layer, reason, count)));
            });
        }
        let at = |what| Event { at_us: now, node: Some(node as u32), what };
        seen.connections(device, |what| sink(at(what)));
    }

    /// `node` has restarted: its state is lost, and its counters begin at zero.
    pub(crate) fn restarts(&mut self, now: u64, node: usize) {
        self.stations[node] = Station::default();
        self.seen[node] = Default::default();
        self.context[node] = Context::default();
        self.event(now, node, What::Restarted);
    }

    /// The next calls to the device of `node` concern no specific packet.
    pub(crate) fn idle(&mut self, node: usize) {
        self.context[node] = Context::default();
    }

    /// Handles an event of a packet on the wire of `router`. Returns the packet.
    pub(crate) fn passes(&mut self, now: u64, router: usize, passed: &Passed) -> Option<PacketId> {
        let Passed { to_host, fate, number, ref octets } = *passed;
        let head = Head::read(octets)?;
        let known = match fate {
            Passing::Arrived => self.on_wire.remove(&number),
            Passing::Duplicated => self.on_wire.get(&(number - 1)).copied(),
            Passing::Sent | Passing::Lost => to_host.then(|| self.relayed(router, &head)).flatten(),
        };
        let sender = to_host.then_some(router as u32);
        let packet = known.unwrap_or_else(|| self.form(now, sender, &head, 0));
        if matches!(fate, Passing::Sent | Passing::Duplicated) {
            self.on_wire.insert(number, packet);
        }
        let arrived = fate == Passing::Arrived;
        if arrived && !to_host {
            self.context[router] = Context { packet: Some(packet) };
            self.holds(now, router, &head, packet);
        }
        let node = (to_host != arrived).then_some(router as u32);
        let fate = fate.name();
        (self.sink)(Event { at_us: now, node, what: What::Wire { packet, to_host, fate } });
        Some(packet)
    }

    /// The packet with these headers that `node` has not forwarded yet.
    fn relayed(&mut self, node: usize, head: &Head) -> Option<PacketId> {
        let held = self.stations[node].next(&head.key()).filter(|held| !held.sent)?;
        held.sent = true;
        Some(held.packet)
    }
}

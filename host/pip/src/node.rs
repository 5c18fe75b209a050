//! A node of the path: synchronises, and forwards frames.

use crate::config::PipConfig;
use crate::frame::{Content, PAYLOAD, Parts};
use crate::line::Line;
use crate::sink::Sink;
use crate::slot::Slots;
use crate::source::Source;
use kinglet_radio::{Access, Ack, Channel, Command, Event, FCS_LEN, OCTET, SHR_PHR, Start};
use kinglet_sim::Device;
use kinglet_sim::profile::RadioProfile;
use kinglet_time::{Duration, Instant, earliest};
use std::collections::VecDeque;

/// Time from the first symbol of a preamble to the end of the SFD, the reference of time stamps.
const SHR: Duration = Duration::from_micros(SHR_PHR.as_micros() - OCTET.as_micros());
/// Number of transmissions of the tear-down without an acknowledgement. The original sends it from
/// hop to hop, acknowledged, without further details; a node that is off cannot acknowledge it
/// again.
const TEAR_DOWNS: u32 = 4;
/// Number of transmissions of a question or a part of a response on a hop. Both are repeated from
/// end to end, and must be limited: a repeated question may meet the response to the previous one
/// at a node whose neighbours then send in the same slots. The worst link of the paper, which loses
/// 87 % of all frames, then still loses one in a hundred.
const TRIES: u32 = 32;

/// A frame that waits.
struct Outgoing {
    to: usize,
    sequence: u8,
    content: Vec<u8>,
    /// Remaining number of transmissions without an acknowledgement.
    times: u32,
}

enum Role {
    Source(Source),
    Relay,
    Sink(Sink),
}

/// Node `index` of a path, 0 at the source.
pub struct Node {
    index: usize,
    role: Role,
    slots: Slots,
    radio: RadioProfile,
    acknowledged: bool,
    channels: u8,
    capacity: usize,
    /// Number and beginning of a slot: that of the last frame from the side of the source, whose
    /// clock is that of the path.
    known: Option<(u32, Instant)>,
    queue: VecDeque<Outgoing>,
    sequence: u8,
    /// The sequence number of the last frame from each neighbour.
    heard: [Option<u8>; 2],
    /// The slot of the first frame of the queue, and the time at which it is given to the radio.
    planned: Option<(u32, Instant)>,
    sending: bool,
    listening: bool,
    /// True if the path is being torn down; when all frames are sent, the radio is switched off.
    ending: bool,
    off: bool,
    frame: Vec<u8>,
}

impl Node {
    /// Creates node `index`, 0 to `config.hops`, of the path of `config`; the first one has `file`.
    pub fn new(config: &PipConfig, index: usize, file: &[u8]) -> Node {
        let slots = config.slots();
        let line = |frames| config.serial.map(|rate| Line::new(rate, frames * PAYLOAD));
        let role = match index {
            // Relays may delay the data in its line buffer: the sink must have room for both.
            0 => {
                let line = line(config.queue / 2);
                Role::Source(Source::new(file.to_vec(), config.patience(), line))
            }
            last if last == config.hops => Role::Sink(Sink::new(line(config.queue))),
            _ => Role::Relay,
        };
        Node {
            index,
            role,
            slots,
            radio: config.radio_of(index),
            acknowledged: config.acknowledged,
            channels: config.channels,
            capacity: config.queue,
            known: (index == 0).then_some((0, Instant::ZERO)),
            queue: VecDeque::new(),
            sequence: 0,
            heard: [None; 2],
            planned: None,
            sending: false,
            listening: false,
            ending: false,
            off: false,
            frame: Vec::new(),
        }
    }

    /// The source, if it is one.
    pub(crate) fn source(&self) -> Option<&Source> {
        if let Role::Source(source) = &self.role { Some(source) } else { None }
    }

    /// The sink, if it is one.
    pub(crate) fn sink(&self) -> Option<&Sink> {
        if let Role::Sink(sink) = &self.role { Some(sink) } else { None }
    }

    /// Returns true if the path has been torn down here, and the radio is off.
    pub const fn is_off(&self) -> bool {
        self.off
    }

    /// The channel on which a node listens.
    fn channel(&self, of: usize) -> Channel {
        let number = 11 + of % usize::from(self.channels);
        Channel::new(number as u8).unwrap_or_default()
    }

    fn receive(&mut self, now: Instant, sfd: Instant, frame: &[u8]) {
        let mut content = Vec::new();
        let Some(parts) = Parts::parse(frame, &mut content) else { return };
        let (from, slot, sequence) = (usize::from(parts.from), parts.slot, parts.sequence);
        let forwards = from + 1 == self.index;
        if !forwards && from != self.index + 1 {
            return;
        }
        if forwards {
            let begin = sfd.checked_since(Instant::ZERO + SHR).unwrap_or(Duration::ZERO);
            self.known = Some((slot, Instant::ZERO + begin));
            self.planned = None;
        }
        let heard = self.heard[usize::from(forwards)].replace(sequence);
        // Its acknowledgement was lost.
        if self.acknowledged && heard == Some(sequence) {
            return;
        }
        let Some(what) = Content::parse(&content) else { return };
        let onward = if forwards { self.index + 1 } else { self.index.wrapping_sub(1) };
        match &mut self.role {
            _ if what == Content::TearDown => self.tear_down(onward),
            Role::Source(source) => source.handle(now, what),
            Role::Sink(sink) => sink.handle(now, what),
            Role::Relay => self.push(onward, content),
        }
    }

    fn tear_down(&mut self, onward: usize) {
        if !std::mem::replace(&mut self.ending, true) && matches!(self.role, Role::Relay) {
            self.push(onward, Content::TearDown.write());
        }
    }

    /// Queues a frame for the node's next slot, if there is room for it.
    fn push(&mut self, to: usize, content: Vec<u8>) {
        if self.queue.len() >= self.capacity {
            return;
        }
        let times = match Content::parse(&content) {
            Some(Content::TearDown) => TEAR_DOWNS,
            _ if !self.acknowledged => 1,
            Some(Content::Data { .. }) => u32::MAX,
            _ => TRIES,
        };
        self.sequence = self.sequence.wrapping_add(1);
        self.queue.push_back(Outgoing { to, sequence: self.sequence, content, times });
    }

    fn sent(&mut self, ack: Ack) {
        self.sending = false;
        let Some(first) = self.queue.front_mut() else { return };
        first.times = first.times.saturating_sub(1);
        if first.times == 0 || matches!(ack, Ack::Received { .. }) {
            self.queue.pop_front();
        }
    }

    /// Selects a frame to send, and the slot for it.
    fn plan(&mut self, now: Instant) {
        if self.sending || self.planned.is_some() {
            return;
        }
        if self.queue.is_empty() {
            let (next, to) = match &mut self.role {
                Role::Source(source) => (source.next(now), 1),
                Role::Sink(sink) => (sink.next(), self.index - 1),
                Role::Relay => (None, 0),
            };
            if let Some(content) = next {
                self.ending |= Content::parse(&content) == Some(Content::TearDown);
                self.push(to, content);
            }
        }
        let (Some(first), Some(known)) = (self.queue.front(), self.known) else { return };
        let load = self.radio.load_time(Parts::len(&first.content) + FCS_LEN);
        let (slot, begin) = self.slots.next(known, self.index, now + load);
        let since = begin.checked_since(Instant::ZERO + load).unwrap_or(Duration::ZERO);
        self.planned = Some((slot, Instant::ZERO + since));
    }
}

impl Device for Node {
    fn handle_radio(&mut self, now: Instant, event: Event, frame: &[u8]) {
        match event {
            Event::Received { sfd, .. } => self.receive(now, sfd, frame),
            Event::Transmitted { ack, .. } => self.sent(ack),
            Event::ChannelBusy | Event::Missed => self.sent(Ack::Missing),
            _ => {}
        }
        self.plan(now);
    }

    fn poll_radio(&mut self, now: Instant) -> Option<(Command, &[u8])> {
        let start = Start::Asap;
        if !std::mem::replace(&mut self.listening, true) {
            self.plan(now);
            let channel = self.channel(self.index);
            return Some((Command::Receive { start, until: None, channel }, &[]));
        }
        if self.ending && self.queue.is_empty() && !self.off {
            self.off = true;
            return Some((Command::Off, &[]));
        }
        let (slot, _) = self.planned.take_if(|(_, at)| *at <= now)?;
        let first = self.queue.front()?;
        let parts = Parts {
            from: self.index as u16,
            to: first.to as u16,
            acknowledged: self.acknowledged,
            sequence: first.sequence,
            slot,
            content: &first.content,
        };
        self.frame = parts.write();
        self.sending = true;
        // Loaded while the node listens, it is ready when the slot begins.
        let (access, channel) = (Access::Immediate, self.channel(first.to));
        let ack = self.acknowledged;
        Some((Command::Transmit { start, access, channel, power_dbm: 0, ack }, &self.frame))
    }

    fn deadline(&self) -> Option<Instant> {
        let planned = self.planned.map(|(_, at)| at);
        match &self.role {
            // Its next frame follows the queued ones.
            Role::Source(source) if self.queue.is_empty() => earliest(planned, source.deadline()),
            _ => planned,
        }
    }

    fn handle_deadline(&mut self, now: Instant) {
        if let Role::Source(source) = &mut self.role {
            source.handle_deadline(now);
        }
        self.plan(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn relay() -> Node {
        Node::new(&PipConfig::new(2, 1_000), 1, &[])
    }

    fn frame(from: u16, sequence: u8, slot: u32, content: &Content<'_>) -> Vec<u8> {
        let content = &content.write();
        Parts { from, to: 1, acknowledged: true, sequence, slot, content }.write()
    }

    fn received(node: &mut Node, now: Instant, sfd: Instant, frame: &[u8]) {
        let len = frame.len() as u8;
        let event = Event::Received { sfd, len, rssi_dbm: -60, lqi: 255, acked: true };
        node.handle_radio(now, event, frame);
    }

    #[test]
    fn a_relay_sends_in_the_slot_after_the_one_in_which_it_received() {
        let (mut node, slots) = (relay(), PipConfig::new(2, 1_000).slots());
        assert!(matches!(node.poll_radio(Instant::ZERO), Some((Command::Receive { .. }, _))));
        assert!(node.poll_radio(Instant::ZERO).is_none() && node.deadline().is_none());
        let begin = Instant::from_millis(70);
        let data = Content::Data { index: 0, payload: &[1; 109] };
        let came = begin + Duration::from_micros(4_256 + 1_210);
        received(&mut node, came, begin + SHR, &frame(0, 1, 20, &data));
        // Loading a full frame takes 1.2 ms.
        let load = node.radio.load_time(127);
        let at = node.deadline().expect("it has something to send");
        assert_eq!(at + load, begin + slots.length());
        assert!(node.poll_radio(came).is_none(), "not yet");
        let (command, octets) = node.poll_radio(at).expect("now");
        let channel = Channel::new(13).expect("in the band");
        assert!(matches!(command, Command::Transmit { channel: to, .. } if to == channel));
        let mut content = Vec::new();
        let parts = Parts::parse(octets, &mut content).expect("one of ours");
        assert_eq!((parts.from, parts.to, parts.slot), (1, 2, 21));
    }

    #[test]
    fn an_unacknowledged_frame_is_sent_again_in_its_next_slot_and_a_duplicate_is_queued_once() {
        let (mut node, length) = (relay(), PipConfig::new(2, 1_000).slots().length());
        node.poll_radio(Instant::ZERO);
        let data = frame(0, 1, 20, &Content::Data { index: 0, payload: &[1; 109] });
        let sfd = Instant::from_millis(70) + SHR;
        for twice in 0..2 {
            let later = sfd + length * (2 * twice);
            received(&mut node, later + Duration::from_millis(6), later, &data);
            assert_eq!(node.queue.len(), 1);
        }
        let first = node.deadline().expect("it waits for its slot");
        assert!(node.poll_radio(first).is_some());
        let over = first + Duration::from_millis(6);
        node.handle_radio(over, Event::Transmitted { sfd: first, ack: Ack::Missing }, &[]);
        assert_eq!(node.deadline(), Some(first + length * 2));
        assert!(node.poll_radio(first + length * 2).is_some());
        let ack = Ack::Received { frame_pending: false };
        node.handle_radio(over + length * 2, Event::Transmitted { sfd: first, ack }, &[]);
        assert!(node.queue.is_empty() && node.deadline().is_none());
    }

    #[test]
    fn frames_of_others_and_from_nowhere_change_nothing() {
        let mut node = Node::new(&PipConfig::new(4, 1_000), 1, &[]);
        node.poll_radio(Instant::ZERO);
        let sfd = Instant::from_millis(70);
        for from in [1, 3, 4, u16::MAX] {
            received(&mut node, sfd, sfd, &frame(from, 1, 20, &Content::TearDown));
        }
        received(&mut node, sfd, sfd, &[0; 20]);
        received(&mut node, sfd, sfd, &frame(0, 1, 20, &Content::TearDown)[..13]);
        assert!(node.queue.is_empty() && node.known.is_none() && !node.ending);
        // In the backward direction it has no reference to synchronise to yet.
        received(&mut node, sfd, sfd, &frame(2, 1, 20, &Content::TearDown));
        assert!(node.deadline().is_none());
    }

    #[test]
    fn a_full_queue_takes_no_more() {
        let mut node = relay();
        node.poll_radio(Instant::ZERO);
        for sequence in 0..20 {
            let data = Content::Data { index: sequence.into(), payload: &[1] };
            let sfd = Instant::from_micros(70_000 + u64::from(sequence));
            received(&mut node, sfd, sfd, &frame(0, sequence, 20, &data));
        }
        assert_eq!(node.queue.len(), PipConfig::new(2, 1_000).queue);
    }
}

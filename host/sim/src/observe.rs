//! What a run can write down while it happens: text trace, capture, timeline. Free when off.

use crate::frame::Psdu;
use crate::pcap::Pcap;
use crate::stats::Fate;
use crate::timeline::{Kind, Strobed, Timeline};
use kinglet_radio::{Ack, Channel, Event};
use std::fmt;
use std::io::Write;
use std::ops::Range;

/// One line per radio and medium event.
pub enum Trace {
    /// Collected in memory.
    Memory(String),
    /// Written as it happens. The first failure ends the trace.
    Writer(Box<dyn Write + Send>),
}

/// Everything that watches.
#[derive(Default)]
pub(crate) struct Observer {
    pub(crate) trace: Option<Trace>,
    pub(crate) pcap: Option<Pcap>,
    pub(crate) timeline: Option<Timeline>,
}

impl Observer {
    /// Whether anybody watches.
    pub(crate) fn active(&self) -> bool {
        self.trace.is_some() || self.pcap.is_some() || self.timeline.is_some()
    }

    pub(crate) fn line(&mut self, now: u64, node: usize, what: fmt::Arguments<'_>) {
        let (s, us) = (now / 1_000_000, now % 1_000_000);
        let written = match &mut self.trace {
            None => true,
            Some(Trace::Memory(text)) => {
                use fmt::Write as _;
                writeln!(text, "{s}.{us:06} {node} {what}").is_ok()
            }
            Some(Trace::Writer(out)) => writeln!(out, "{s}.{us:06} {node} {what}").is_ok(),
        };
        if !written {
            self.trace = None;
        }
    }

    fn interval(&mut self, node: usize, start: u64, end: u64, kind: Kind) {
        if let Some(timeline) = &mut self.timeline {
            timeline.add(node, start, end, kind);
        }
    }

    /// The radio of `node` was on.
    pub(crate) fn radio_on(&mut self, node: usize, since: u64, until: u64) {
        if let Some(timeline) = self.timeline.as_mut().filter(|_| since < until) {
            timeline.on(node, since, until);
        }
    }

    /// A frame starts on the air.
    #[allow(clippy::too_many_arguments, reason = "a flat record of one instant")]
    pub(crate) fn started(
        &mut self,
        now: u64,
        end: u64,
        node: usize,
        is_ack: bool,
        channel: Channel,
        power_dbm: i8,
        psdu: &Psdu,
    ) {
        if !self.active() {
            return;
        }
        let header = &psdu.header;
        let (len, sequence) = (psdu.psdu_len(), header.sequence.unwrap_or(0));
        let kind = if is_ack { "ack" } else { "frame" };
        let destination = header.destination;
        let more = if header.frame_pending { " pending" } else { "" };
        let to = format_args!("to {destination:x?}{more}");
        self.line(now, node, format_args!("air {kind} {len} seq {sequence} {to}"));
        if let Some(pcap) = &mut self.pcap {
            let (octets, len) = psdu.with_fcs();
            if pcap.frame(now, channel, power_dbm, &octets[..len]).is_err() {
                self.pcap = None;
            }
        }
        let ack = is_ack || header.is_ack();
        self.interval(node, now, end, if ack { Kind::SendAck } else { Kind::Send });
    }

    /// What became of a frame at a receiver.
    pub(crate) fn fate(
        &mut self,
        now: u64,
        node: usize,
        from: u32,
        on_air: Range<u64>,
        fate: Fate,
        mine: bool,
    ) {
        let whose = if mine { "mine" } else { "other" };
        self.line(now, node, format_args!("fate {} from {from} {whose}", fate.name()));
        let kind = match fate {
            Fate::Delivered => Kind::Receive,
            Fate::Collision => Kind::Collision,
            _ if mine => Kind::Lost,
            _ => return,
        };
        self.interval(node, on_air.start, on_air.end, kind);
    }

    /// A frame is being loaded.
    pub(crate) fn loading(&mut self, now: u64, node: usize, until: u64) {
        if self.active() {
            self.line(now, node, format_args!("load until {until}"));
            self.interval(node, now, until, Kind::Load);
        }
    }

    /// A received frame is being read out.
    pub(crate) fn readout(&mut self, now: u64, until: u64, node: usize) {
        if self.active() {
            self.line(now, node, format_args!("readout until {until}"));
            self.interval(node, now, until, Kind::Readout);
        }
    }

    /// The channel has been assessed since `since`, after a backoff that began at `ready`.
    pub(crate) fn assessed(
        &mut self,
        now: u64,
        node: usize,
        (ready, since): (u64, u64),
        busy: bool,
        shown: bool,
    ) {
        if self.active() {
            self.line(now, node, format_args!("cca {}", if busy { "busy" } else { "clear" }));
            if shown && since > ready {
                self.interval(node, ready, since, Kind::Backoff);
            }
            if shown {
                let kind = if busy { Kind::SenseBusy } else { Kind::Sense };
                self.interval(node, since, now, kind);
            }
        }
    }

    /// The channel was sampled from `since` on, to find out whether there is anything.
    pub(crate) fn sampled(&mut self, now: u64, node: usize, since: u64, busy: bool) {
        self.interval(node, since, now, Kind::Sample { busy });
    }

    /// A frame was strobed.
    pub(crate) fn strobed(&mut self, node: usize, strobe: Strobed) {
        if let Some(timeline) = &mut self.timeline {
            timeline.strobed(node, strobe);
        }
    }

    /// A transmission is over.
    pub(crate) fn finished(&mut self, now: u64, node: usize, event: Event) {
        if self.trace.is_none() {
            return;
        }
        let word = match event {
            Event::Transmitted { ack, .. } | Event::Strobed { ack, .. } => match ack {
                Ack::Received { .. } => "acked",
                Ack::Missing => "no-ack",
                Ack::NotAwaited => "sent",
            },
            Event::ChannelBusy => "channel-busy",
            Event::Missed => "missed",
            Event::Received { .. } => "received",
            _ => "other",
        };
        self.line(now, node, format_args!("done {word}"));
    }
}

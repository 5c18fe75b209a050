//! Recording of a run: trace, capture, timeline. No cost when off.

use crate::frame::{Psdu, SHR_US};
use crate::pcap::{Captures, Direction, Pcap};
use crate::radio::Radio;
use crate::stats::Fate;
use crate::timeline::{Kind, Strobed, Timeline};
use crate::trace::{Tracer, What};
use kinglet_radio::{Ack, Channel, Event, air_time};

/// All active recordings.
#[derive(Default)]
pub(crate) struct Observer {
    pub(crate) trace: Option<Box<Tracer>>,
    pub(crate) pcap: Option<Pcap>,
    /// Present only with a trace, which knows the identities.
    pub(crate) captures: Option<Captures>,
    pub(crate) timeline: Option<Timeline>,
}

impl Observer {
    /// True if anything is recorded.
    pub(crate) fn active(&self) -> bool {
        self.trace.is_some() || self.pcap.is_some() || self.timeline.is_some()
    }

    fn event(&mut self, now: u64, node: usize, what: What) {
        if let Some(trace) = &mut self.trace {
            trace.event(now, node, what);
        }
    }

    /// Records that the radio of `node` gets a frame to send.
    pub(crate) fn submitted(&mut self, now: u64, node: usize, frame: &[u8]) {
        if let Some(trace) = &mut self.trace {
            trace.submitted(now, node, frame);
        }
    }

    /// Records that the stack of `node` is about to get `event`.
    pub(crate) fn receives(&mut self, now: u64, node: usize, event: Event) {
        if let (Some(trace), Event::Received { sfd, .. }) = (&mut self.trace, event) {
            trace.receives(now, node, sfd.as_micros() - SHR_US);
        }
    }

    fn interval(&mut self, node: usize, start: u64, end: u64, kind: Kind) {
        if let Some(timeline) = &mut self.timeline {
            timeline.add(node, start, end, kind);
        }
    }

    /// Records an interval with the radio of `node` on.
    pub(crate) fn radio_on(&mut self, node: usize, since: u64, until: u64) {
        if let Some(timeline) = self.timeline.as_mut().filter(|_| since < until) {
            timeline.on(node, since, until);
        }
    }

    /// Records the start of a frame on the air.
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
        if let Some(trace) = &mut self.trace {
            let size = (psdu.psdu_len() as u16, channel.number());
            let comment = trace.air((now, end), node, is_ack, header, size);
            if let Some(captures) = &mut self.captures {
                let (octets, len) = psdu.with_fcs();
                let frame = (channel, Some(power_dbm), &octets[..len]);
                captures.frame((now, node), Direction::Out, &comment.to_string(), frame);
            }
        }
        if let Some(pcap) = &mut self.pcap {
            let (octets, len) = psdu.with_fcs();
            if pcap.frame(now, channel, power_dbm, &octets[..len]).is_err() {
                self.pcap = None;
            }
        }
        let ack = is_ack || header.is_ack();
        self.interval(node, now, end, if ack { Kind::SendAck } else { Kind::Send });
    }

    /// Records the fate at `node` of the frame sent by `sender`, node number `from`. `notices`
    /// returns true for nodes whose signals affect this receiver.
    pub(crate) fn fate(
        &mut self,
        now: u64,
        (node, from, sender): (usize, u32, &Radio),
        (fate, mine): (Fate, bool),
        notices: impl Fn(u32) -> bool,
    ) {
        let (psdu, start) = (sender.sending(), sender.air.start);
        let on_air = start..start + air_time(psdu.psdu_len()).as_micros();
        if let Some(trace) = &mut self.trace {
            let comment = trace.fate(now, (node, from), on_air.clone(), (fate, mine), notices);
            if let (Some(captures), Fate::Delivered, Some(comment)) =
                (&mut self.captures, fate, comment)
            {
                let (octets, len) = psdu.with_fcs();
                let frame = (sender.air.channel, None, &octets[..len]);
                captures.frame((start, node), Direction::In, &comment.to_string(), frame);
            }
        }
        let kind = match fate {
            Fate::Delivered => Kind::Receive,
            Fate::Collision => Kind::Collision,
            _ if mine => Kind::Lost,
            _ => return,
        };
        self.interval(node, on_air.start, on_air.end, kind);
    }

    /// Records the load of a frame.
    pub(crate) fn loading(&mut self, now: u64, node: usize, until: u64) {
        if self.active() {
            self.event(now, node, What::Load { until_us: until });
            self.interval(node, now, until, Kind::Load);
        }
    }

    /// Records the readout of a received frame.
    pub(crate) fn readout(&mut self, now: u64, until: u64, node: usize) {
        if self.active() {
            self.event(now, node, What::Readout { until_us: until });
            self.interval(node, now, until, Kind::Readout);
        }
    }

    /// Records an assessment of the channel since `since`, after a backoff that began at `ready`.
    pub(crate) fn assessed(
        &mut self,
        now: u64,
        node: usize,
        (ready, since): (u64, u64),
        busy: bool,
        shown: bool,
    ) {
        if self.active() {
            self.event(now, node, What::Assessed { busy });
            if shown && since > ready {
                self.interval(node, ready, since, Kind::Backoff);
            }
            if shown {
                let kind = if busy { Kind::SenseBusy } else { Kind::Sense };
                self.interval(node, since, now, kind);
            }
        }
    }

    /// Records a channel sample that began at `since`.
    pub(crate) fn sampled(&mut self, now: u64, node: usize, since: u64, busy: bool) {
        self.interval(node, since, now, Kind::Sample { busy });
    }

    /// Records a strobe.
    pub(crate) fn strobed(&mut self, node: usize, strobe: Strobed) {
        if let Some(timeline) = &mut self.timeline {
            timeline.strobed(node, strobe);
        }
    }

    /// Records the end of a transmission.
    pub(crate) fn finished(&mut self, now: u64, node: usize, event: Event) {
        let Some(trace) = &mut self.trace else { return };
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
        trace.finished(now, node, word);
    }
}

//! Changes in a stack since the last look of the trace.

use super::{Event, PacketId, What};
use core::net::Ipv6Addr;
use kinglet::tcp::Info;
use kinglet::{Each, EachRelation};
use std::collections::BTreeMap;

/// Kind of counters that have changed since the last call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Changed {
    /// No counter.
    Nothing,
    /// Counters without reasons.
    Counters,
    /// Counters that may include reasons.
    Reasons,
}

/// View of a device for a trace.
pub trait Look {
    /// Counts of packets; also read at each frame.
    fn counted(&self) -> Counted {
        Counted::default()
    }

    /// Packets in the queue for the radio, including those for sleeping children.
    fn waiting(&self) -> u32 {
        0
    }

    /// Calls `each` with layer, reason and count for every reason of discards, always in the same
    /// order.
    fn reasons(&self, _each: &mut Each<'_>) {}

    /// Calls `each` with every relation of the device to other nodes.
    fn relations(&self, _each: &mut EachRelation<'_>) {}

    /// Calls `each` with every connection of TCP.
    fn connections(&self, _each: &mut dyn FnMut(Connection, &Info)) {}
}

/// Packets counted by a device so far, wrapping.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counted {
    /// Segments formed by TCP.
    pub segments: u32,
    /// Datagrams formed by UDP.
    pub datagrams: u32,
    /// Packets forwarded.
    pub forwarded: u32,
}

/// Ends of a connection from the view of one of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Connection {
    /// Its own address and port.
    pub local: (Ipv6Addr, u16),
    /// Address and port of the other end.
    pub remote: (Ipv6Addr, u16),
}

/// State of a stack at the last look.
#[derive(Debug, Default)]
pub(super) struct Seen {
    /// Count of every reason, in order.
    reasons: Vec<u32>,
    connections: BTreeMap<Connection, Info>,
}

impl Seen {
    /// Reports the discards since the last look.
    pub(super) fn reasons(
        &mut self,
        device: &dyn Look,
        mut each: impl FnMut(&'static str, &'static str, u32),
    ) {
        if self.reasons.is_empty() {
            device.reasons(&mut |_, _, _| self.reasons.push(0));
        }
        let mut seen = self.reasons.iter_mut();
        device.reasons(&mut |layer, reason, count| {
            let Some(before) = seen.next().filter(|before| **before != count) else { return };
            // A lower count: the device has restarted.
            let more = count.checked_sub(*before).unwrap_or(count);
            *before = count;
            if more > 0 {
                each(layer, reason, more);
            }
        });
    }

    /// Reports the changes of connections.
    pub(super) fn connections(&mut self, device: &dyn Look, mut each: impl FnMut(What)) {
        let seen = &mut self.connections;
        device.connections(&mut |connection, now| match seen.get_mut(&connection) {
            Some(before) if before == now => {}
            Some(before) => {
                changes(connection, Some(before), now, &mut each);
                *before = *now;
            }
            None => {
                changes(connection, None, now, &mut each);
                seen.insert(connection, *now);
            }
        });
    }
}

/// Octets written by the application, and octets read by it.
fn streamed(info: &Info) -> (u64, u64) {
    let written = u64::from(info.bytes_acked) + u64::from(info.bytes_queued);
    let read = info.bytes_received.saturating_sub(info.bytes_readable);
    (written, read.into())
}

fn changes(connection: Connection, before: Option<&Info>, now: &Info, each: &mut impl FnMut(What)) {
    // A new connection with the same ends begins at zero.
    let before = before.filter(|before| before.bytes_received <= now.bytes_received);
    let (written, read) = streamed(now);
    let (written_before, read_before) = before.map_or((0, 0), streamed);
    let mut stream = |is_written: bool, from: u64, to: u64| {
        if to > from {
            each(What::Stream { connection, written: is_written, from, to });
        }
    };
    stream(true, written_before, written);
    stream(false, read_before, read);
    if now.bytes_received > before.map_or(0, |before| before.bytes_received) {
        each(What::Taken { connection, to: now.bytes_received.into() });
    }
    let window = |info: &Info| (info.cwnd, info.ssthresh, info.bytes_in_flight, info.rto);
    if before.map(window) != Some(window(now)) {
        each(What::Window {
            connection,
            cwnd: now.cwnd,
            ssthresh: (now.ssthresh != u32::MAX).then_some(now.ssthresh),
            in_flight: now.bytes_in_flight,
            rto_us: now.rto.as_micros(),
            srtt_us: Some(now.srtt.as_micros()).filter(|us| *us > 0),
        });
    }
    let counters = |info: &Info| {
        let all = info.counters;
        [
            (all.timeouts, "retransmission timeout"),
            (all.fast_recoveries, "fast recovery"),
            (all.probes, "window probe"),
            (all.dup_acks, "duplicate ACK"),
            (all.marks, "congestion mark"),
            (all.undone, "undone"),
        ]
    };
    let earlier = before.map(counters);
    for (place, (count, signal)) in counters(now).into_iter().enumerate() {
        if count > earlier.map_or(0, |earlier| earlier[place].0) {
            each(What::Signal { connection, signal });
        }
    }
}

/// An event that concerns a packet, if it is known.
pub(super) fn discarded(
    (at_us, node): (u64, usize),
    packet: Option<PacketId>,
    (layer, reason, count): (&'static str, &'static str, u32),
) -> Event {
    let what = What::Discarded { packet, layer, reason, count };
    Event { at_us, node: Some(node as u32), what }
}

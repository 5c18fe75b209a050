//! Converts the simulator's events to rows.

use super::names::Names;
use super::row::{OtherFrame, Row};
use core::net::Ipv6Addr;
use kinglet_apps::SnakeCase;
use kinglet_sim::trace::{Connection, Event, Framed, Head, Loss, PacketId, Segment, To, What};
use kinglet_wire::ipv6::protocol;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

/// ICMPv6 types with a name here (RFC 4443, RFC 4861, RFC 6550).
const ICMP: [(u8, &str); 12] = [
    (1, "destination unreachable"),
    (2, "packet too big"),
    (3, "time exceeded"),
    (4, "parameter problem"),
    (128, "echo request"),
    (129, "echo reply"),
    (133, "router solicitation"),
    (134, "router advertisement"),
    (135, "neighbour solicitation"),
    (136, "neighbour advertisement"),
    (143, "MLD report"),
    (155, "RPL"),
];

/// Flags of TCP, the lowest bit first.
const FLAGS: [&str; 8] = ["FIN", "SYN", "RST", "PSH", "ACK", "URG", "ECE", "CWR"];

/// Address and port.
type End = (Ipv6Addr, u16);

/// Converter with its state.
pub(super) struct Rows {
    names: Names,
    /// The flow of each packet that belongs to one.
    flows: BTreeMap<PacketId, (usize, bool)>,
    texts: Texts,
}

/// Texts and flows that many rows share; to make them takes longer than to look them up.
#[derive(Default)]
struct Texts {
    ends: BTreeMap<End, String>,
    receivers: BTreeMap<To, Option<String>>,
    /// By protocol number and ends.
    flows: BTreeMap<(u8, End, End), Option<(usize, bool)>>,
}

fn seconds(us: u64) -> f64 {
    us as f64 / 1e6
}

/// Returns the value of `key`; makes it at the first time.
fn known<K: Ord, V: Clone>(all: &mut BTreeMap<K, V>, key: K, new: impl FnOnce(&K) -> V) -> V {
    match all.entry(key) {
        Entry::Occupied(entry) => entry.get().clone(),
        Entry::Vacant(entry) => {
            let value = new(entry.key());
            entry.insert(value).clone()
        }
    }
}

fn new(event: &'static str) -> Row {
    Row { event: event.into(), ..Row::default() }
}

/// A lost relation, and the reasons counted before, as one text.
fn lost(Loss { relation, address, reasons }: &Loss) -> Row {
    let counted = reasons.iter().flat_map(|(layer, of)| {
        of.iter().map(move |(reason, count)| format!("{layer}.{reason} {count}"))
    });
    let counted = counted.collect::<Vec<_>>().join(", ");
    Row {
        relation: Some((*relation).into()),
        to: Some(address.to_string()),
        reason: (!counted.is_empty()).then_some(counted),
        ..new("lost")
    }
}

impl Rows {
    pub(super) fn new(names: Names) -> Self {
        Rows { names, flows: BTreeMap::new(), texts: Texts::default() }
    }

    /// The row of `event`. Internal events of a radio for a frame that has rows yield none:
    /// loading, readout, channel assessment, and the reception of an overheard frame.
    pub(super) fn row(&mut self, event: &Event) -> Option<Row> {
        let mut row = self.of(&event.what)?;
        row.t_s = seconds(event.at_us);
        row.node = event.node.map(u64::from);
        if let Some((flow, forward)) = row.packet.and_then(|packet| self.flows.get(&packet)) {
            row.flow = row.flow.or(Some(*flow as u64));
            row.forward = row.forward.or(Some(*forward));
        }
        Some(row)
    }

    fn of(&mut self, what: &What) -> Option<Row> {
        Some(match *what {
            What::Stream { connection, written, from, to } => Row {
                offset: Some(from),
                octets: Some(to - from),
                ..self.connection(if written { "write" } else { "read" }, connection)
            },
            What::Taken { connection, to } => {
                Row { octets: Some(to), ..self.connection("in_order", connection) }
            }
            What::Window { connection, cwnd, ssthresh, in_flight, rto_us, srtt_us } => Row {
                cwnd: Some(cwnd.into()),
                ssthresh: ssthresh.map(u64::from),
                in_flight: Some(in_flight.into()),
                rto_s: Some(seconds(rto_us)),
                srtt_s: srtt_us.map(seconds),
                ..self.connection("window", connection)
            },
            What::Signal { connection, signal } => {
                Row { signal: Some(signal.into()), ..self.connection("signal", connection) }
            }
            What::Formed { packet, ref head, offset, again: retransmission, waited_us } => {
                let waited_s = Some(seconds(waited_us));
                Row {
                    packet: Some(packet),
                    offset,
                    retransmission,
                    waited_s,
                    ..self.formed(packet, head)
                }
            }
            What::Queued { packet, waiting } => {
                let waiting = Some(waiting.into());
                Row { packet: Some(packet), waiting, ..new("queued") }
            }
            What::Dequeued { packet, waited_us } => {
                let waited_s = Some(seconds(waited_us));
                Row { packet: Some(packet), waited_s, ..new("dequeued") }
            }
            What::Attempt { frame, attempt } => {
                Row { attempt: Some(attempt.into()), ..self.framed(frame) }
            }
            What::Arrived { packet, repeated } => {
                Row { packet: Some(packet), repeated: repeated.then_some(true), ..new("arrived") }
            }
            What::Discarded { packet, layer, reason, count } => Row {
                packet,
                layer: Some(layer.into()),
                reason: Some(SnakeCase(reason).to_string()),
                count: Some(count.into()),
                ..new("discarded")
            },
            What::Restarted => new("restarted"),
            What::Lost(ref loss) => lost(loss),
            What::Wire { packet, to_host, fate } => {
                let to = if to_host { "host" } else { "mesh" };
                let (to, fate) = (Some(to.to_owned()), Some(fate.into()));
                Row { packet: Some(packet), to, fate, ..new("wire") }
            }
            _ => return self.of_air(what),
        })
    }

    fn of_air(&mut self, what: &What) -> Option<Row> {
        Some(match *what {
            What::Air { frame, is_ack, octets, sequence, to, channel, until_us, .. } => Row {
                frame: Some(frame),
                octets: Some(octets.into()),
                sequence: sequence.map(u64::from),
                to: self.receiver(to),
                channel: Some(channel.into()),
                until_s: Some(seconds(until_us)),
                ..new(if is_ack { "ack" } else { "air" })
            },
            What::Fate { mine: false, is_ack: false, .. } => return None,
            What::Fate { frame, is_ack, from, packet, fate, ref beside, .. } => Row {
                frame: Some(frame),
                packet,
                sender: Some(from.into()),
                fate: Some(fate.name().into()),
                overlapping: beside
                    .iter()
                    .map(|&(frame, node)| OtherFrame { frame, node })
                    .collect(),
                ..new(if is_ack { "ack-received" } else { "received" })
            },
            What::Outcome { frame, packet, outcome } => {
                let fate = Some(outcome.into());
                Row { frame: Some(frame), packet, fate, ..new("outcome") }
            }
            _ => return None,
        })
    }

    /// An end as people write it.
    fn end(&mut self, end: End) -> String {
        known(&mut self.texts.ends, end, |(address, port)| format!("[{address}]:{port}"))
    }

    /// The recipient of a frame.
    fn receiver(&mut self, to: To) -> Option<String> {
        known(&mut self.texts.receivers, to, |to| self.names.receiver(*to))
    }

    fn connection(&mut self, event: &'static str, Connection { local, remote }: Connection) -> Row {
        let find = |_: &_| self.names.flow("tcp", local, remote);
        let flow = known(&mut self.texts.flows, (protocol::TCP, local, remote), find);
        Row {
            flow: flow.map(|flow| flow.0 as u64),
            forward: flow.map(|flow| flow.1),
            from: Some(self.end(local)),
            to: Some(self.end(remote)),
            ..new(event)
        }
    }

    fn framed(&mut self, framed: Framed) -> Row {
        let Framed { frame, packet, fragment, command, to } = framed;
        Row {
            frame: Some(frame),
            packet,
            fragment: fragment.map(|(offset, _)| offset.into()),
            size: fragment.map(|(_, size)| size.into()),
            to: self.receiver(to),
            protocol: command.then(|| "MAC command".into()),
            ..new("attempt")
        }
    }

    fn formed(&mut self, packet: PacketId, head: &Head) -> Row {
        if let Some((from, to)) = head.ports {
            let ends = (head.protocol, (head.src, from), (head.dst, to));
            let flow = known(&mut self.texts.flows, ends, |_| self.names.flow_of(head));
            flow.and_then(|flow| self.flows.insert(packet, flow));
        }
        let mut plain = |address: Ipv6Addr, port: Option<u16>| match port {
            Some(port) => self.end((address, port)),
            None => address.to_string(),
        };
        let name = match head.protocol {
            protocol::TCP => "TCP".into(),
            protocol::UDP => "UDP".into(),
            protocol::ICMPV6 => "ICMPv6".into(),
            other => format!("protocol {other}").into(),
        };
        let set = |segment: Segment| {
            let set = FLAGS
                .iter()
                .enumerate()
                .filter(move |(bit, _)| segment.flags.bits() >> bit & 1 == 1);
            set.map(|(_, name)| *name).collect::<Vec<_>>().join(" ")
        };
        let named = |kind: u8| match ICMP.iter().find(|(number, _)| *number == kind) {
            Some((_, name)) => (*name).to_owned(),
            None => format!("type {kind}"),
        };
        Row {
            protocol: Some(name),
            from: Some(plain(head.src, head.ports.map(|ports| ports.0))),
            to: Some(plain(head.dst, head.ports.map(|ports| ports.1))),
            flags: head.segment.map(set).or(head.icmp_type.map(named)),
            seq: head.segment.map(|segment| segment.seq.into()),
            ack: head.segment.and_then(|segment| segment.ack).map(u64::from),
            octets: Some(head.payload.into()),
            ..new("formed")
        }
    }
}

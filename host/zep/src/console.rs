//! Commands and reports of the console.

use core::net::{Ipv6Addr, SocketAddr};
use core::str::FromStr;
use kinglet_sim::trace::Loss;
use serde::Serialize;
use std::fmt;

/// Output of `help`.
pub const HELP: &str = "ping ADDRESS [COUNT]         echo requests, one a second; 4 unless \
                        given\ntcp ADDRESS PORT [TEXT]      a connection that sends TEXT and a \
                        line end, and prints the response\nsend ADDRESS PORT OCTETS     a \
                        connection that sends this many octets at full speed\nudp ADDRESS PORT \
                        TEXT        one datagram; the response is printed\nstatus                 \
                              addresses, frames sent and received, connections\nrpl               \
                                   the DODAG, the parent, other parent candidates, downward \
                        routes\nneighbours                   the default router, neighbours, \
                        registered addresses\nquit                         the end, as Ctrl-C and \
                        the end of the input";

/// A line of the console.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// Echo requests.
    Ping {
        /// The destination.
        to: Ipv6Addr,
        /// Their number.
        count: u16,
    },
    /// A connection with a text.
    Tcp {
        /// The destination.
        to: (Ipv6Addr, u16),
        /// The text to be sent.
        text: String,
    },
    /// A connection with many octets.
    Send {
        /// The destination.
        to: (Ipv6Addr, u16),
        /// Number of octets.
        octets: u64,
    },
    /// A datagram.
    Udp {
        /// The destination.
        to: (Ipv6Addr, u16),
        /// The text to be sent.
        text: String,
    },
    /// Shows the state of the node.
    Status,
    /// Shows the state of RPL.
    Rpl,
    /// Shows the state of neighbour discovery.
    Neighbours,
    /// Shows the commands.
    Help,
    /// Ends the node.
    Quit,
}

impl FromStr for Command {
    type Err = String;

    fn from_str(line: &str) -> Result<Self, String> {
        let (word, rest) = next(line);
        match word {
            "ping" => {
                let (to, count) = address(rest)?;
                let count = if count.is_empty() { 4 } else { number(count, "COUNT")? };
                Ok(Command::Ping { to, count })
            }
            "tcp" => place(rest).map(|(to, text)| Command::Tcp { to, text: text.to_owned() }),
            "udp" => place(rest).map(|(to, text)| Command::Udp { to, text: text.to_owned() }),
            "send" => {
                let (to, octets) = place(rest)?;
                Ok(Command::Send { to, octets: number(octets, "OCTETS")? })
            }
            "status" => Ok(Command::Status),
            "rpl" => Ok(Command::Rpl),
            "neighbours" => Ok(Command::Neighbours),
            "help" => Ok(Command::Help),
            "quit" => Ok(Command::Quit),
            _ => Err(format!("\"{word}\" is not a command; there are\n{HELP}")),
        }
    }
}

/// Returns the first word, and the text that follows it.
fn next(text: &str) -> (&str, &str) {
    let text = text.trim();
    let (word, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    (word, rest.trim_start())
}

fn number<T: FromStr>(text: &str, what: &str) -> Result<T, String> {
    text.parse().map_err(|_| format!("\"{text}\" is no {what}"))
}

fn address(text: &str) -> Result<(Ipv6Addr, &str), String> {
    let (word, rest) = next(text);
    Ok((number(word, "IPv6 ADDRESS")?, rest))
}

fn place(text: &str) -> Result<((Ipv6Addr, u16), &str), String> {
    let (to, rest) = address(text)?;
    let (port, rest) = next(rest);
    Ok(((to, number(port, "PORT")?), rest))
}

/// A neighbour that may be RPL's parent.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Candidate {
    /// Its link-local address.
    pub address: Ipv6Addr,
    /// The rank that it advertises.
    pub rank: u16,
    /// Expected transmissions until a frame to it is acknowledged.
    pub etx: f64,
}

/// A target to which RPL has a downward route.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Target {
    /// An address or prefix.
    pub prefix: String,
    /// The next hop, or the target's parent.
    pub via: Ipv6Addr,
    /// True if it does not run RPL.
    pub external: bool,
}

/// A neighbour.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NearBy {
    /// Its address.
    pub address: Ipv6Addr,
    /// Its link address; unknown while address resolution is in progress.
    pub link: Option<String>,
    /// The state of RFC 4861, 7.3.2.
    pub state: String,
    /// True if it advertises itself as a router.
    pub router: bool,
}

/// An address that is registered here.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Registered {
    /// The address.
    pub address: Ipv6Addr,
    /// The link address of the neighbour that has registered it.
    pub link: Option<String>,
    /// Remaining lifetime in seconds.
    pub left_s: u64,
}

/// Reason for the early end of a connection. The words are part of the interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum EndReason {
    /// The peer has no listener on the port.
    Refused,
    /// The peer has sent nothing.
    NoResponse,
    /// The peer has acknowledged nothing for too long.
    TimedOut,
    /// A router reports that it has no route.
    Unreachable,
    /// The peer has reset the connection.
    Reset,
    /// This node has aborted it.
    Aborted,
}

impl EndReason {
    /// Returns what has happened, and what to check.
    const fn text(self) -> &'static str {
        match self {
            EndReason::Refused => {
                "refused: no program listens on that port; a Kinglet node listens on 7, 9 and 19"
            }
            EndReason::NoResponse => {
                "no response: check that the peer runs, and the route to it (`neighbours`, `rpl`)"
            }
            EndReason::TimedOut => {
                "timed out: the peer acknowledges nothing any more; check that it runs"
            }
            EndReason::Unreachable => {
                "unreachable: a router reports that it has no route to the peer"
            }
            EndReason::Reset => "reset by the peer: it has closed the connection or has restarted",
            EndReason::Aborted => "aborted by this node",
        }
    }
}

/// An event.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Report {
    /// The node has started.
    Started {
        /// Its addresses.
        addresses: Vec<Ipv6Addr>,
        /// Local address of the ZEP link, if there is one and the system reports it.
        local: Option<SocketAddr>,
        /// Remote address of the ZEP link, if there is one.
        remote: Option<SocketAddr>,
        /// Name and version of the firmware of the coprocessor, if there is one.
        #[serde(skip_serializing_if = "Option::is_none")]
        radio: Option<String>,
    },
    /// The settings were read again.
    Reload {
        /// A word for the result.
        what: &'static str,
        /// A sentence about it.
        text: String,
    },
    /// The radio, a coprocessor, has changed.
    Radio {
        /// A word for it.
        what: &'static str,
        /// A sentence about it.
        text: String,
    },
    /// An echo reply.
    EchoReply {
        /// The responder.
        from: Ipv6Addr,
        /// Its sequence number.
        seq: u16,
        /// Hop limit with which it arrived.
        hop_limit: u8,
        /// Round trip, in milliseconds.
        ms: f64,
        /// True if its request had a reply before.
        duplicate: bool,
    },
    /// No reply has arrived when the next echo request is due.
    NoReply {
        /// The destination.
        to: Ipv6Addr,
        /// The sequence number of the request.
        seq: u16,
    },
    /// All echo requests have ended.
    Pinged {
        /// The destination.
        to: Ipv6Addr,
        /// Number of requests.
        sent: u16,
        /// Number of requests with a reply.
        answered: u16,
        /// Number of further replies.
        duplicates: u32,
    },
    /// Octets of a connection.
    Received {
        /// The octets as text; invalid ones are replaced.
        text: String,
    },
    /// A connection has taken more than two seconds, and has not ended.
    Progress {
        /// The remote address.
        to: Ipv6Addr,
        /// Its port.
        port: u16,
        /// True if the peer has accepted it.
        opened: bool,
        /// Octets acknowledged by the peer.
        sent: u64,
        /// Octets received from it.
        received: u64,
        /// Time since the command, in seconds.
        seconds: f64,
        /// A problem that the network reports.
        trouble: Option<&'static str>,
    },
    /// A connection has ended.
    Closed {
        /// The remote address.
        to: Ipv6Addr,
        /// Its port.
        port: u16,
        /// Octets acknowledged by it.
        sent: u64,
        /// Octets received from it.
        received: u64,
        /// Its duration, in seconds.
        seconds: f64,
        /// The reason, if it ended early.
        error: Option<EndReason>,
    },
    /// A datagram.
    Datagram {
        /// The sender.
        from: Ipv6Addr,
        /// The sender's port.
        port: u16,
        /// The octets as text; invalid ones are replaced.
        text: String,
    },
    /// A packet of this node was reported as undelivered.
    Undelivered {
        /// The node that reports it.
        reporter: Ipv6Addr,
        /// Its destination.
        to: Ipv6Addr,
        /// The reason.
        why: String,
    },
    /// State of the node.
    Status {
        /// Its addresses.
        addresses: Vec<Ipv6Addr>,
        /// Frames sent, without retransmissions.
        frames_sent: u32,
        /// Retransmissions.
        repetitions: u32,
        /// Frames given up.
        given_up: u32,
        /// Frames received.
        frames_received: u32,
        /// Packets received and sent, including forwarded ones.
        packets: (u32, u32),
        /// TCP segments received and sent.
        segments: (u32, u32),
        /// Layer, reason and count of each loss reason.
        reasons: Vec<(&'static str, String, u32)>,
    },
    /// The addresses have changed.
    Addresses {
        /// All present addresses.
        addresses: Vec<Ipv6Addr>,
    },
    /// RPL's parent has changed.
    Parent {
        /// Its link-local address, if there is one.
        parent: Option<Ipv6Addr>,
        /// The DODAG.
        dodag: Option<Ipv6Addr>,
        /// The own rank, if there is a route to the root.
        rank: Option<u16>,
    },
    /// A relation was lost.
    Lost(Loss),
    /// State of RPL.
    Rpl {
        /// The DODAG.
        dodag: Option<Ipv6Addr>,
        /// Its version, if there is one.
        version: Option<u8>,
        /// The own rank, if there is a route to the root.
        rank: Option<u16>,
        /// The parent's link-local address.
        parent: Option<Ipv6Addr>,
        /// Parent candidates.
        candidates: Vec<Candidate>,
        /// Targets with a downward route.
        targets: Vec<Target>,
        /// DIS, DIO, DAO and DAO-ACK sent.
        sent: (u32, u32, u32, u32),
        /// DAOs that were given up without an acknowledgement.
        unacknowledged: u32,
    },
    /// State of neighbour discovery.
    Neighbours {
        /// The default router.
        router: Option<Ipv6Addr>,
        /// Known neighbours.
        neighbours: Vec<NearBy>,
        /// Registered addresses.
        registered: Vec<Registered>,
    },
    /// A command has failed.
    Failed {
        /// The reason.
        why: String,
    },
    /// The help text.
    Help {
        /// The text.
        text: &'static str,
    },
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Report::Started { addresses, local, remote, radio } => {
                match radio {
                    Some(radio) => writeln!(f, "on the air by {radio}, with")?,
                    None => {
                        let (local, remote) = (or_unknown(*local), or_unknown(*remote));
                        writeln!(f, "on the air between {local} and {remote}, with")?;
                    }
                }
                list(f, addresses)?;
                f.write_str("\"help\" lists the commands")
            }
            Report::EchoReply { .. } | Report::NoReply { .. } | Report::Pinged { .. } => {
                self.ping(f)
            }
            Report::Received { text } => f.write_str(text.trim_end_matches('\n')),
            Report::Progress { .. } | Report::Closed { .. } => self.connection(f),
            Report::Datagram { from, port, text } => write!(f, "from [{from}]:{port}: {text}"),
            Report::Undelivered { reporter, to, why } => {
                write!(f, "{reporter} reports that {to} was not reached: {why}")
            }
            Report::Status { .. } => self.status(f),
            Report::Addresses { addresses } => {
                f.write_str("addresses now")?;
                addresses.iter().try_for_each(|address| write!(f, " {address}"))
            }
            Report::Parent { parent, dodag, rank } => {
                let (parent, dodag) = (or_none(*parent), or_none(*dodag));
                write!(f, "parent {parent} in {dodag}, rank {}", or_unknown(*rank))
            }
            Report::Lost(loss) => loss.fmt(f),
            Report::Reload { text, .. } | Report::Radio { text, .. } => f.write_str(text),
            Report::Rpl { .. } => self.rpl(f),
            Report::Neighbours { .. } => self.neighbours(f),
            Report::Failed { why } => f.write_str(why),
            Report::Help { text } => f.write_str(text),
        }
    }
}

impl Report {
    fn ping(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Report::EchoReply { from, seq, hop_limit, ms, duplicate } => {
                let again = if *duplicate { " (DUP!)" } else { "" };
                write!(f, "from {from}: seq={seq} hop limit={hop_limit} time={ms:.1} ms{again}")
            }
            Report::NoReply { to, seq } => write!(f, "no reply from {to} yet: seq={seq}"),
            Report::Pinged { to, sent, answered, duplicates } => {
                write!(f, "{to}: {sent} sent, {answered} answered")?;
                match duplicates {
                    0 => Ok(()),
                    1 => f.write_str(", 1 duplicate"),
                    more => write!(f, ", {more} duplicates"),
                }
            }
            _ => Ok(()),
        }
    }

    fn connection(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Report::Progress { to, port, opened: false, seconds, trouble, .. } => {
                write!(f, "[{to}]:{port}: no response for {seconds:.0} s")?;
                trouble.map_or(Ok(()), |trouble| write!(f, "; {trouble}"))
            }
            Report::Progress { to, port, sent, received, seconds, trouble, .. } => {
                write!(f, "[{to}]:{port}: {sent} octets sent, {received} received ")?;
                write!(f, "after {seconds:.0} s")?;
                trouble.map_or(Ok(()), |trouble| write!(f, "; {trouble}"))
            }
            Report::Closed { to, port, sent, received, seconds, error } => {
                write!(f, "[{to}]:{port}: {sent} octets sent, {received} received in ")?;
                write!(f, "{seconds:.2} s")?;
                error.map_or(Ok(()), |error| write!(f, "; {}", error.text()))
            }
            _ => Ok(()),
        }
    }

    fn status(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Report::Status { addresses, packets, segments, reasons, .. } = self else {
            return Ok(());
        };
        let Report::Status { frames_sent, repetitions, given_up, frames_received, .. } = self
        else {
            return Ok(());
        };
        list(f, addresses)?;
        write!(f, "frames    {frames_sent} sent, {repetitions} of them retries, ")?;
        writeln!(f, "{given_up} given up, {frames_received} received")?;
        writeln!(f, "packets   {} received, {} sent", packets.0, packets.1)?;
        write!(f, "segments  {} received, {} sent", segments.0, segments.1)?;
        reasons.iter().try_for_each(|(layer, reason, count)| {
            write!(f, "\nlost      {layer} {reason} {count}")
        })
    }

    fn rpl(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Report::Rpl { dodag, version, rank, parent, candidates, targets, .. } = self else {
            return Ok(());
        };
        let Report::Rpl { sent: (diss, dios, daos, acks), unacknowledged, .. } = self else {
            return Ok(());
        };
        writeln!(f, "DODAG     {}, version {}", or_none(*dodag), or_unknown(*version))?;
        writeln!(f, "rank      {}, parent {}", or_unknown(*rank), or_none(*parent))?;
        for Candidate { address, rank, etx } in candidates {
            writeln!(f, "  {address} rank {rank}, {etx:.2} transmissions a frame")?;
        }
        writeln!(f, "targets   {}", targets.len())?;
        for Target { prefix, via, external } in targets {
            let external = if *external { ", knows no RPL" } else { "" };
            writeln!(f, "  {prefix} via {via}{external}")?;
        }
        write!(f, "sent      {diss} DIS, {dios} DIO, {daos} DAO ({unacknowledged} of them given ")?;
        write!(f, "up), {acks} DAO-ACK")
    }

    fn neighbours(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Report::Neighbours { router, neighbours, registered } = self else { return Ok(()) };
        write!(f, "default router {}", or_none(*router))?;
        for NearBy { address, link, state, router } in neighbours {
            let router = if *router { ", a router" } else { "" };
            write!(f, "\n  {address} at {}, {state}{router}", or_unknown(link.as_ref()))?;
        }
        for Registered { address, link, left_s } in registered {
            let link = or_unknown(link.as_ref());
            write!(f, "\n  {address} at {link}, registered for {left_s} s")?;
        }
        Ok(())
    }
}

fn or_none(address: Option<Ipv6Addr>) -> String {
    address.map_or("none".to_owned(), |address| address.to_string())
}

/// Formats a value that may be unknown.
fn or_unknown(value: Option<impl fmt::Display>) -> String {
    value.map_or("–".to_owned(), |value| value.to_string())
}

fn list(f: &mut fmt::Formatter<'_>, addresses: &[Ipv6Addr]) -> fmt::Result {
    addresses.iter().try_for_each(|address| writeln!(f, "  {address}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_commands() {
        let to = Ipv6Addr::LOCALHOST;
        for (line, command) in [
            ("ping ::1", Command::Ping { to, count: 4 }),
            ("  ping ::1   2 ", Command::Ping { to, count: 2 }),
            ("tcp ::1 7 two  words", Command::Tcp { to: (to, 7), text: "two  words".to_owned() }),
            ("tcp ::1 7", Command::Tcp { to: (to, 7), text: String::new() }),
            ("send ::1 9 200000", Command::Send { to: (to, 9), octets: 200_000 }),
            ("udp ::1 7 hi", Command::Udp { to: (to, 7), text: "hi".to_owned() }),
            ("quit", Command::Quit),
        ] {
            assert_eq!(line.parse(), Ok(command), "{line}");
        }
    }

    #[test]
    fn invalid_commands_are_reported() {
        for (line, says) in [
            ("pong", "\"pong\" is not a command"),
            ("ping", "\"\" is no IPv6 ADDRESS"),
            ("ping 1.2.3.4", "is no IPv6 ADDRESS"),
            ("ping ::1 many", "\"many\" is no COUNT"),
            ("tcp ::1 65536", "\"65536\" is no PORT"),
            ("send ::1 9 -1", "\"-1\" is no OCTETS"),
        ] {
            let error = line.parse::<Command>().unwrap_err();
            assert!(error.contains(says), "{line}: {error}");
        }
    }
}

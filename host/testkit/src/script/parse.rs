//! Parser from a script's text to events.

use super::cursor::{Cursor, Wrong};
use super::request::Call;
use super::segment::SegmentText;
use super::time::{self, When};
use kinglet_wire::icmpv6::{Kind, unreachable};

/// One event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Event {
    /// Its offset in the text.
    pub(super) at: usize,
    pub(super) when: When,
    pub(super) body: Body,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Body {
    Shell(String),
    Code(String),
    Inbound(SegmentText),
    Outbound(SegmentText),
    /// An ICMPv6 error that quotes the segment with this sequence number.
    Icmp(Kind, u32),
    Call(Call),
}

/// A script.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub(super) struct Script {
    /// `--name=value` words.
    pub(super) options: Vec<(usize, String)>,
    /// Shell commands before the first event.
    pub(super) setup: Vec<(usize, String)>,
    pub(super) events: Vec<Event>,
}

pub(super) fn parse(text: &str) -> Result<Script, Wrong> {
    let mut cursor = Cursor::new(text);
    let mut script = Script::default();
    while !cursor.is_at_end() {
        let at = cursor.at();
        if cursor.starts_with("--") {
            script.options.push((at, cursor.run(|c| !c.is_whitespace()).to_owned()));
        } else if cursor.eat("`") {
            script.setup.push((at, cursor.until("`")?.to_owned()));
        } else {
            script.events.push(event(&mut cursor)?);
        }
    }
    Ok(script)
}

fn event(cursor: &mut Cursor) -> Result<Event, Wrong> {
    let at = cursor.at();
    let at_once = When { relative: true, kind: time::Kind::At(kinglet_time::Duration::ZERO) };
    let when = match time::take(cursor)? {
        Some(when) => when,
        None if cursor.starts_with("%{") => at_once,
        None => return Err(cursor.wrong("an event has to begin with its time")),
    };
    let body = if cursor.eat("`") {
        Body::Shell(cursor.until("`")?.trim().to_owned())
    } else if cursor.eat("%{") {
        Body::Code(cursor.until("}%")?.trim().to_owned())
    } else if cursor.eat("<") {
        if cursor.eat_word("icmp") { icmp(cursor)? } else { inbound(cursor)? }
    } else if cursor.eat(">") {
        Body::Outbound(SegmentText::parse(cursor)?)
    } else {
        Body::Call(Call::parse(cursor)?)
    };
    Ok(Event { at, when, body })
}

fn inbound(cursor: &mut Cursor) -> Result<Body, Wrong> {
    let mut start = cursor.clone();
    let segment = SegmentText::parse(cursor)?;
    match segment.incomplete() {
        Some(what) => Err(start.wrong(what)),
        None => Ok(Body::Inbound(segment)),
    }
}

/// Names of ICMP's destination unreachable, those of IPv4 with their IPv6 counterparts.
const UNREACHABLE: [(&str, u8); 7] = [
    ("host_unreachable", unreachable::ADDRESS),
    ("address_unreachable", unreachable::ADDRESS),
    ("net_unreachable", unreachable::NO_ROUTE),
    ("no_route", unreachable::NO_ROUTE),
    ("port_unreachable", unreachable::PORT),
    ("admin_prohibited", 1),
    ("not_neighbour", unreachable::BEYOND_SCOPE),
];

/// `type [code] [mtu N] [ [seq:end(len)] ]`
fn icmp(cursor: &mut Cursor) -> Result<Body, Wrong> {
    let unknown = cursor.wrong("not understood as an ICMP message");
    let kind = cursor.word();
    let code = cursor.word();
    let (code, mtu) = if code == "mtu" {
        ("", Some(cursor.number()?))
    } else if cursor.eat_word("mtu") {
        (code, Some(cursor.number()?))
    } else {
        (code, None)
    };
    let named = UNREACHABLE.iter().find(|(name, _)| *name == code).map(|(_, number)| *number);
    let kind = match (kind, code, mtu, named) {
        ("packet_too_big", "", Some(mtu), _) | ("unreachable", "frag_needed", Some(mtu), _) => {
            Kind::PacketTooBig { mtu }
        }
        ("unreachable", "", None, _) => {
            Kind::DestinationUnreachable { code: unreachable::NO_ROUTE }
        }
        ("unreachable", _, None, Some(code)) => Kind::DestinationUnreachable { code },
        ("time_exceeded", "" | "exceed_hops", None, _) => Kind::TimeExceeded { code: 0 },
        ("time_exceeded", "exceed_reassembly", None, _) => Kind::TimeExceeded { code: 1 },
        _ => return Err(unknown),
    };
    let mut seq = 0;
    if cursor.eat("[") {
        seq = cursor.number()?;
        cursor.until("]")?;
    }
    Ok(Body::Icmp(kind, seq))
}

#[cfg(test)]
mod tests {
    use super::super::cursor::place;
    use super::*;

    #[test]
    fn events_end_where_the_next_begins() {
        let text = "--tolerance_usecs=9 --x // words\n`a\n b`\n0 close(1, // x\n 2) = 0 // why\n\
                    +0 < S 0:0(0) win 9\n+0 > S. 0:0(0) ack 1\n<mss 1>\n+.1 %{ a }% %{ b }%\n* `c`";
        let script = parse(text).expect("is understood");
        assert_eq!((script.options.len(), script.setup.len(), script.events.len()), (2, 1, 6));
        let lines: Vec<_> = script.events.iter().map(|e| place(text, e.at)).collect();
        assert_eq!(lines, [(4, 1), (6, 1), (7, 1), (9, 1), (9, 13), (10, 1)]);
    }

    #[test]
    fn icmp_messages_are_read() {
        let no_route = unreachable::NO_ROUTE;
        for (text, kind, seq) in [
            ("packet_too_big mtu 1300 [1:5(4)]", Kind::PacketTooBig { mtu: 1300 }, 1),
            ("unreachable frag_needed mtu 1400 [7:9(2)]", Kind::PacketTooBig { mtu: 1400 }, 7),
            (
                "unreachable [5000:6000(1000)]",
                Kind::DestinationUnreachable { code: no_route },
                5000,
            ),
            ("unreachable port_unreachable", Kind::DestinationUnreachable { code: 4 }, 0),
            ("time_exceeded exceed_reassembly", Kind::TimeExceeded { code: 1 }, 0),
        ] {
            let script = parse(&format!("+0 < icmp {text}\n+0 close(3) = 0")).expect(text);
            assert_eq!(script.events[0].body, Body::Icmp(kind, seq), "{text}");
        }
        assert!(parse("+0 < icmp echo").is_err() && parse("+0 < icmp unreachable odd").is_err());
    }

    #[test]
    fn errors_of_a_script_have_line_and_column() {
        for (text, line, column) in [
            ("\n+0 frobnicate(3) = 0", 2, 4),
            ("\n+0 frobnicate 3", 2, 4),
            ("+0 < S 0:0(0) win 1 <mss 5,odd 7>", 1, 28),
            ("+0 < S 0:5(0) win 1", 1, 8),
            ("+0 < . 1:1(0) ack 1", 1, 6),
            ("+0 < R 1:1(0)", 1, 6),
            ("\n+0 < S 0:0(0) win 1 <mss 5,sackOK>", 2, 21),
            ("+0 > S. 0:0(0) ack 1 <mss 5,sackOK>", 1, 22),
            ("+0 < X 1:1(0) ack 1", 1, 6),
            (" /* never ends", 1, 2),
            ("+0 < S 0:0(0) win 1\n  +0 > S. 0:0(0) ack x", 2, 22),
            ("+0 listen(3, ODD) = 0", 1, 14),
            ("%{ never ends", 1, 4),
        ] {
            let wrong = parse(text).expect_err(text);
            assert_eq!(place(text, wrong.at), (line, column), "{text}: {}", wrong.what);
        }
    }
}

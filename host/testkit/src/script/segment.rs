//! Segments in the notation and on the wire.

use super::cursor::{Cursor, Wrong};
use kinglet_wire::tcp::{Flags, set_checksum};
use std::fmt;

/// A TCP option.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Opt {
    Mss(u16),
    SackOk,
    Sack(Vec<(u32, u32)>),
    Ts {
        val: u32,
        ecr: u32,
    },
    Wscale(u8),
    Nop,
    Eol,
    /// RFC 7413.
    Cookie(Vec<u8>),
    /// A Fast Open cookie by a name of the script: the cookie of the stack when the name is first
    /// expected, or the one for the peer's address when the peer uses it first.
    NamedCookie(String),
    Unknown(u8, Vec<u8>),
}

/// A segment in a script, with the script's numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SegmentText {
    /// Allowed values of the ECN field of the IP header; `None`: any, and not set for the peer.
    pub(super) ecn: Option<&'static [u8]>,
    pub(super) flags: Flags,
    pub(super) seq: u32,
    pub(super) len: u32,
    pub(super) ack: Option<u32>,
    pub(super) win: Option<u16>,
    pub(super) urg: Option<u16>,
    /// `None`: any.
    pub(super) options: Option<Vec<Opt>>,
}

const LETTERS: [(char, Flags); 9] = [
    ('S', Flags::SYN),
    ('F', Flags::FIN),
    ('R', Flags::RST),
    ('P', Flags::PSH),
    ('U', Flags::URG),
    ('E', Flags::ECE),
    ('W', Flags::CWR),
    ('A', Flags::AE),
    ('.', Flags::ACK),
];

impl SegmentText {
    /// A segment without any contents.
    pub(super) const EMPTY: SegmentText = SegmentText {
        ecn: None,
        flags: Flags::NONE,
        seq: 0,
        len: 0,
        ack: None,
        win: None,
        urg: None,
        options: Some(Vec::new()),
    };

    pub(super) fn parse(cursor: &mut Cursor) -> Result<SegmentText, Wrong> {
        let ecn = if cursor.eat("[") { Some(parse_ecn(cursor)?) } else { None };
        let flags = parse_flags(cursor)?;
        let (seq, len) = parse_range(cursor)?;
        let mut ends = cursor.clone();
        let mut segment = SegmentText { ecn, flags, seq, len, ..SegmentText::EMPTY };
        if cursor.eat_word("ack") {
            segment.ack = Some(cursor.number()?);
        }
        if cursor.eat_word("win") {
            segment.win = Some(cursor.number()?);
        }
        if cursor.eat_word("urg") {
            segment.urg = Some(cursor.number()?);
        }
        let mut before_options = cursor.clone();
        if cursor.eat("<") {
            segment.options = if cursor.eat("...") {
                cursor.expect(">")?;
                None
            } else {
                Some(parse_options(cursor)?)
            };
        }
        if let Some(what) = segment.options.as_deref().and_then(unfit) {
            return Err(before_options.wrong(&what));
        }
        if flags.contains(Flags::ACK) {
            // In packetdrill's grammar a segment with `.` may omit the number.
            segment.ack = segment.ack.or(Some(0));
        } else if segment.ack.is_some() {
            return Err(ends.wrong("`ack` needs the flag `.`"));
        }
        Ok(segment)
    }

    /// Returns the item that a segment of the peer lacks.
    pub(super) fn incomplete(&self) -> Option<&'static str> {
        if self.win.is_none() {
            return Some("a segment of the peer needs `win`, as in packetdrill; a reset, `win 0`");
        }
        self.options.is_none().then_some("a segment of the peer needs its options")
    }

    /// Encodes the segment, with these ports, this payload and the pseudo-header's sum for their
    /// length. Sequence numbers are used unchanged.
    pub(super) fn encode(&self, ports: (u16, u16), payload: &[u8], sum: u16) -> Vec<u8> {
        let mut options = Vec::new();
        for option in self.options.iter().flatten() {
            option.encode(&mut options);
        }
        let offset = u16::try_from((20 + options.len()) / 4).unwrap_or(15) << 12;
        let mut out = Vec::new();
        out.extend_from_slice(&ports.0.to_be_bytes());
        out.extend_from_slice(&ports.1.to_be_bytes());
        out.extend_from_slice(&self.seq.to_be_bytes());
        out.extend_from_slice(&self.ack.unwrap_or(0).to_be_bytes());
        out.extend_from_slice(&(offset | self.flags.bits()).to_be_bytes());
        out.extend_from_slice(&self.win.unwrap_or(0).to_be_bytes());
        out.extend_from_slice(&[0, 0]);
        out.extend_from_slice(&self.urg.unwrap_or(0).to_be_bytes());
        out.extend_from_slice(&options);
        out.extend_from_slice(payload);
        set_checksum(&mut out, sum);
        out
    }

    /// Decodes a segment from the wire, and returns it with its payload.
    pub(super) fn decode(octets: &[u8]) -> Option<(SegmentText, &[u8])> {
        let fixed: &[u8; 20] = octets.first_chunk()?;
        let word = |at: usize| {
            u32::from_be_bytes([fixed[at], fixed[at + 1], fixed[at + 2], fixed[at + 3]])
        };
        let half = |at: usize| u16::from_be_bytes([fixed[at], fixed[at + 1]]);
        let (header, payload) = octets.split_at_checked(usize::from(fixed[12] >> 4) * 4)?;
        let flags = Flags::from_bits(half(12));
        let segment = SegmentText {
            ecn: None,
            flags,
            seq: word(4),
            len: u32::try_from(payload.len()).ok()?,
            ack: flags.contains(Flags::ACK).then(|| word(8)),
            win: Some(half(14)),
            urg: flags.contains(Flags::URG).then(|| half(18)),
            options: Some(decode_options(header.get(20..)?)),
        };
        Some((segment, payload))
    }

    /// Returns the sequence number after the payload.
    pub(super) fn end(&self) -> u32 {
        self.seq.wrapping_add(self.len)
    }
}

/// Parses the rest of `[noecn]`, `[ect0]`, `[ect1]`, `[ect01]` or `[ce]`, and returns the values.
fn parse_ecn(cursor: &mut Cursor) -> Result<&'static [u8], Wrong> {
    let unknown = cursor.wrong("not understood as an IP mark");
    let values: &[u8] = match cursor.until("]")?.trim() {
        "noecn" => &[0],
        "ect1" => &[1],
        "ect0" => &[2],
        "ect01" => &[2, 1],
        "ce" => &[3],
        _ => return Err(unknown),
    };
    Ok(values)
}

fn parse_flags(cursor: &mut Cursor) -> Result<Flags, Wrong> {
    if cursor.eat("-") {
        return Ok(Flags::NONE);
    }
    let mut start = cursor.clone();
    let letters = cursor.run(|c| c.is_ascii_alphanumeric() || c == '.');
    let flags = letters.chars().try_fold(Flags::NONE, |flags, letter| {
        // RFC 9768's three-bit counter: AE, CWR and ECE.
        if let Some(ace) = letter.to_digit(8) {
            return Some(flags | Flags::from_bits(u16::try_from(ace << 6).unwrap_or(0)));
        }
        let known = LETTERS.iter().find(|(l, _)| *l == letter);
        known.map(|(_, flag)| flags | *flag)
    });
    flags.filter(|_| !letters.is_empty()).ok_or_else(|| start.wrong("not understood as flags"))
}

/// `seq:end(len)`
fn parse_range(cursor: &mut Cursor) -> Result<(u32, u32), Wrong> {
    let mut start = cursor.clone();
    let seq: u32 = cursor.number()?;
    cursor.expect(":")?;
    let end: u32 = cursor.number()?;
    cursor.expect("(")?;
    let len: u32 = cursor.number()?;
    cursor.expect(")")?;
    if seq.wrapping_add(len) != end {
        return Err(start.wrong("start and length do not give this end"));
    }
    Ok((seq, len))
}

fn parse_options(cursor: &mut Cursor) -> Result<Vec<Opt>, Wrong> {
    let mut out = Vec::new();
    while !cursor.eat(">") {
        if !out.is_empty() {
            cursor.expect(",")?;
        }
        out.push(parse_option(cursor)?);
    }
    Ok(out)
}

fn parse_option(cursor: &mut Cursor) -> Result<Opt, Wrong> {
    let mut start = cursor.clone();
    Ok(match cursor.word() {
        "mss" => Opt::Mss(cursor.number()?),
        "wscale" => Opt::Wscale(cursor.number()?),
        "sackOK" => Opt::SackOk,
        "nop" => Opt::Nop,
        "eol" => Opt::Eol,
        "TS" => {
            if !cursor.eat_word("val") {
                return Err(cursor.wrong("`val` is missing"));
            }
            let val = cursor.number()?;
            if !cursor.eat_word("ecr") {
                return Err(cursor.wrong("`ecr` is missing"));
            }
            Opt::Ts { val, ecr: cursor.number()? }
        }
        "sack" => {
            let mut blocks = Vec::new();
            while !cursor.starts_with(",") && !cursor.starts_with(">") {
                let left = cursor.number()?;
                cursor.expect(":")?;
                blocks.push((left, cursor.number()?));
            }
            Opt::Sack(blocks)
        }
        "FO" => match named(cursor) {
            Some(name) => Opt::NamedCookie(name),
            None => Opt::Cookie(parse_hex(cursor)?),
        },
        "FOEXP" => {
            let cookie = parse_hex(cursor)?;
            Opt::Unknown(EXPERIMENT, [FOEXP_MAGIC.as_slice(), &cookie].concat())
        }
        "ECN" => parse_accurate_ecn(cursor)?,
        _ => return Err(start.wrong("not understood as an option")),
    })
}

/// Largest number of octets of options in a header (RFC 9293 §3.1).
const MOST_OPTIONS: usize = 40;
/// Octets of a cookie of the stack.
const COOKIE_LEN: usize = 8;

/// Returns an error if the length of options is wrong, with a correct alternative. packetdrill adds
/// no padding, because its position is a part of the script.
fn unfit(options: &[Opt]) -> Option<String> {
    let len: usize = options.iter().map(Opt::len).sum();
    if len > MOST_OPTIONS {
        return Some(format!("options of {len} octets, of {MOST_OPTIONS} at most"));
    }
    let (last, others) = options.split_last().filter(|_| !len.is_multiple_of(4))?;
    let padding = vec![Opt::Nop; len.next_multiple_of(4) - len];
    let padded = [others, &padding, std::slice::from_ref(last)].concat();
    let right = list(&padded);
    Some(format!("options of {len} octets are no multiple of 4, <{right}> would be right"))
}

/// RFC 9768 §3.2.3: counters of 24 bits; their order determines the kind.
fn parse_accurate_ecn(cursor: &mut Cursor) -> Result<Opt, Wrong> {
    let mut start = cursor.clone();
    let (mut names, mut value) = (Vec::new(), Vec::new());
    while !cursor.starts_with(",") && !cursor.starts_with(">") {
        names.push(cursor.word());
        let count: u32 = cursor.number()?;
        value.extend_from_slice(&count.to_be_bytes()[1..]);
    }
    let is_prefix_of = |order: [&str; 3]| order.get(..names.len()) == Some(names.as_slice());
    if is_prefix_of(["e0b", "ceb", "e1b"]) {
        Ok(Opt::Unknown(172, value))
    } else if is_prefix_of(["e1b", "ceb", "e0b"]) {
        Ok(Opt::Unknown(174, value))
    } else {
        Err(start.wrong("not understood as counters of an ECN option"))
    }
}

/// The kind of experimental options and the first octets of a Fast Open one (RFC 6994, RFC 7413
/// §A).
const EXPERIMENT: u8 = 254;
const FOEXP_MAGIC: [u8; 2] = [0xF9, 0x89];

/// Reads a name, if one is next and not a number.
fn named(cursor: &mut Cursor) -> Option<String> {
    let mut ahead = cursor.clone();
    let word = ahead.word();
    let hex = word.chars().all(|c| c.is_ascii_hexdigit());
    if hex || word.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    *cursor = ahead;
    Some(word.to_owned())
}

/// Reads octets in hexadecimal digits, perhaps none.
fn parse_hex(cursor: &mut Cursor) -> Result<Vec<u8>, Wrong> {
    let mut start = cursor.clone();
    let text = cursor.word();
    let octets = (0..text.len()).step_by(2).map(|at| {
        let pair = text.get(at..at + 2);
        pair.and_then(|pair| u8::from_str_radix(pair, 16).ok())
    });
    octets.collect::<Option<_>>().ok_or_else(|| start.wrong("not hexadecimal"))
}

impl Opt {
    fn len(&self) -> usize {
        let mut octets = Vec::new();
        self.encode(&mut octets);
        octets.len() + if matches!(self, Opt::NamedCookie(_)) { COOKIE_LEN } else { 0 }
    }

    fn encode(&self, out: &mut Vec<u8>) {
        let mut put = |kind: u8, value: &[u8]| {
            out.extend_from_slice(&[kind, u8::try_from(value.len() + 2).unwrap_or(u8::MAX)]);
            out.extend_from_slice(value);
        };
        match self {
            Opt::Mss(n) => put(2, &n.to_be_bytes()),
            Opt::Wscale(n) => put(3, &[*n]),
            Opt::SackOk => put(4, &[]),
            Opt::Sack(blocks) => {
                let edges = blocks.iter().flat_map(|(l, r)| [l.to_be_bytes(), r.to_be_bytes()]);
                put(5, &edges.flatten().collect::<Vec<u8>>());
            }
            Opt::Ts { val, ecr } => put(8, &[val.to_be_bytes(), ecr.to_be_bytes()].concat()),
            Opt::Cookie(cookie) => put(34, cookie),
            // Only cookies with octets are compared and sent.
            Opt::NamedCookie(_) => put(34, &[]),
            Opt::Unknown(kind, value) => put(*kind, value),
            Opt::Nop => out.push(1),
            Opt::Eol => out.push(0),
        }
    }
}

fn decode_options(octets: &[u8]) -> Vec<Opt> {
    let mut out = Vec::new();
    let mut rest = octets;
    while let Some((&kind, tail)) = rest.split_first() {
        if kind < 2 {
            out.push(if kind == 1 { Opt::Nop } else { Opt::Eol });
            rest = tail;
            continue;
        }
        let len = usize::from(tail.first().copied().unwrap_or(2)).max(2);
        let Some((option, tail)) = rest.split_at_checked(len) else { break };
        out.push(decode_option(kind, option.get(2..).unwrap_or(&[])));
        rest = tail;
    }
    out
}

fn decode_option(kind: u8, value: &[u8]) -> Opt {
    let words: Vec<u32> = value
        .chunks_exact(4)
        .map(|c| c.iter().fold(0, |sum, octet| sum << 8 | u32::from(*octet)))
        .collect();
    match (kind, value) {
        (2, &[a, b]) => Opt::Mss(u16::from_be_bytes([a, b])),
        (3, &[n]) => Opt::Wscale(n),
        (4, &[]) => Opt::SackOk,
        (5, _) if value.len().is_multiple_of(8) => {
            Opt::Sack(words.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect())
        }
        (8, _) if value.len() == 8 => Opt::Ts { val: words[0], ecr: words[1] },
        (34, _) => Opt::Cookie(value.to_vec()),
        _ => Opt::Unknown(kind, value.to_vec()),
    }
}

impl fmt::Display for Opt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Opt::Mss(n) => write!(f, "mss {n}"),
            Opt::Wscale(n) => write!(f, "wscale {n}"),
            Opt::SackOk => f.write_str("sackOK"),
            Opt::Nop => f.write_str("nop"),
            Opt::Eol => f.write_str("eol"),
            Opt::Ts { val, ecr } => write!(f, "TS val {val} ecr {ecr}"),
            Opt::Sack(blocks) => {
                f.write_str("sack")?;
                blocks.iter().try_for_each(|(l, r)| write!(f, " {l}:{r}"))
            }
            Opt::NamedCookie(name) => write!(f, "FO {name}"),
            Opt::Cookie(octets) if octets.is_empty() => f.write_str("FO"),
            Opt::Cookie(octets) | Opt::Unknown(_, octets) => {
                match self {
                    Opt::Unknown(kind, _) => write!(f, "kind {kind} ")?,
                    _ => f.write_str("FO ")?,
                }
                octets.iter().try_for_each(|octet| write!(f, "{octet:02x}"))
            }
        }
    }
}

/// Formats options with commas between them.
fn list(options: &[Opt]) -> String {
    options.iter().map(Opt::to_string).collect::<Vec<_>>().join(",")
}

/// Returns the notation's name for a value of the IP header's ECN field.
fn ecn_name(value: u8) -> &'static str {
    ["noecn", "ect1", "ect0", "ce"].get(usize::from(value)).copied().unwrap_or("?")
}

impl fmt::Display for SegmentText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(values) = self.ecn {
            let names: Vec<&str> = values.iter().map(|value| ecn_name(*value)).collect();
            write!(f, "[{}] ", names.join("|"))?;
        }
        if self.flags == Flags::NONE {
            f.write_str("-")?;
        }
        for (letter, flag) in LETTERS {
            if self.flags.contains(flag) {
                write!(f, "{letter}")?;
            }
        }
        write!(f, " {}:{}({})", self.seq, self.end(), self.len)?;
        let fields =
            [("ack", self.ack), ("win", self.win.map(u32::from)), ("urg", self.urg.map(u32::from))];
        for (name, value) in fields {
            if let Some(value) = value {
                write!(f, " {name} {value}")?;
            }
        }
        match &self.options {
            None => f.write_str(" <...>"),
            Some(options) if options.is_empty() => Ok(()),
            Some(options) => write!(f, " <{}>", list(options)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> SegmentText {
        SegmentText::parse(&mut Cursor::new(text)).expect(text)
    }

    #[test]
    fn a_segment_is_read_and_written_alike() {
        for text in [
            "S 0:0(0) win 1000 <mss 1000,sackOK,TS val 100 ecr 0,nop,wscale 7>",
            "SEW 0:0(0) win 1000",
            "[ect0] P. 1:1001(1000) ack 1 win 257",
            "[ce] FP. 4294967295:9(10) ack 1",
            ". 1:1(0) ack 1 win 5 urg 3 <nop,sack 1:2 3:4,eol>",
            "R 1:1(0) <...>",
            "- 1:1(0) win 3 <FO 0a1b>",
            "S 0:5(5) win 3 <FO TFO_COOKIE,nop,eol>",
        ] {
            assert_eq!(parse(text).to_string(), text);
        }
        assert_eq!(parse("R. 1:1(0)").ack, Some(0));
        assert_eq!(parse("[ect01] . 1:1(0) ack 1").ecn, Some([2, 1].as_slice()));
        assert_eq!(parse("P.5 1:2(1) ack 1").flags, parse("PEA. 1:2(1) ack 1").flags);
        assert_eq!(parse("SEWA 0:0(0)").flags, Flags::SYN | Flags::ECE | Flags::CWR | Flags::AE);
    }

    #[test]
    fn the_wire_gives_back_what_was_encoded() {
        for text in [
            "S. 7:7(0) ack 9 win 1000 <mss 1000,sackOK,TS val 1 ecr 2,nop,wscale 7>",
            "S 7:7(0) win 1000 <FO,nop,nop,FOEXP 0a0b0c0d>",
        ] {
            let segment = parse(text);
            let octets = segment.encode((1, 2), &[], 0);
            assert_eq!(SegmentText::decode(&octets), Some((segment, &[][..])));
        }
    }

    #[test]
    fn options_that_are_not_padded_are_refused_with_what_would_be_right() {
        for (options, error) in [
            ("mss 1000,sackOK", "6 octets are no multiple of 4, <mss 1000,nop,nop,sackOK>"),
            ("TS val 1 ecr 2", "10 octets are no multiple of 4, <nop,nop,TS val 1 ecr 2>"),
            ("mss 1,wscale 7", "7 octets are no multiple of 4, <mss 1,nop,wscale 7>"),
            ("mss 5,FO", "6 octets are no multiple of 4, <mss 5,nop,nop,FO>"),
            ("FO NAME", "10 octets are no multiple of 4, <nop,nop,FO NAME>"),
            ("nop,nop,sack 1:2 3:4 5:6 7:8 9:10", "options of 44 octets, of 40 at most"),
        ] {
            let text = format!(". 1:1(0) ack 1 win 5 <{options}>");
            let wrong = SegmentText::parse(&mut Cursor::new(&text)).expect_err(options);
            assert_eq!(wrong.at, 21, "{options}");
            assert!(wrong.what.contains(error), "{}", wrong.what);
        }
    }
}

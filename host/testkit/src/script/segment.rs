//! Segments in the notation and on the wire.

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
    Unknown(u8, Vec<u8>),
}

/// A segment as a script writes it. Numbers are the script's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SegmentText {
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

fn num<T: std::str::FromStr>(text: &str) -> Result<T, String> {
    text.trim().parse().map_err(|_| format!("not a number in range: {text}"))
}

impl SegmentText {
    pub(super) fn parse(text: &str) -> Result<SegmentText, String> {
        let text = text.trim();
        let (head, options) = match text.split_once('<') {
            Some((head, options)) => {
                let inside = options.strip_suffix('>').ok_or("options without `>`")?;
                (head, if inside.trim() == "..." { None } else { Some(parse_options(inside)?) })
            }
            None => (text, Some(Vec::new())),
        };
        let mut words = head.split_whitespace();
        let flags = parse_flags(words.next().ok_or("a segment without flags")?)?;
        let (seq, len) = parse_range(words.next().ok_or("a segment without sequence numbers")?)?;
        let mut segment = SegmentText { flags, seq, len, ack: None, win: None, urg: None, options };
        while let Some(word) = words.next() {
            let value = words.next().ok_or_else(|| format!("`{word}` without its number"))?;
            match word {
                "ack" => segment.ack = Some(num(value)?),
                "win" => segment.win = Some(num(value)?),
                "urg" => segment.urg = Some(num(value)?),
                _ => return Err(format!("not understood in a segment: {word}")),
            }
        }
        if segment.flags.contains(Flags::ACK) != segment.ack.is_some() {
            return Err("flag `.` and `ack` go together".to_owned());
        }
        Ok(segment)
    }

    /// What the peer sends must be complete.
    pub(super) fn check_inbound(&self) -> Result<(), String> {
        if self.win.is_none() && !self.flags.contains(Flags::RST) {
            return Err("a segment of the peer needs `win`".to_owned());
        }
        if self.options.is_none() {
            return Err("a segment of the peer needs its options".to_owned());
        }
        Ok(())
    }

    /// The octets, with these ports, this payload and the pseudo-header's sum for their length.
    /// Sequence numbers are taken as they stand.
    pub(super) fn encode(&self, ports: (u16, u16), payload: &[u8], sum: u16) -> Vec<u8> {
        let mut options = Vec::new();
        for option in self.options.iter().flatten() {
            option.encode(&mut options);
        }
        options.resize(options.len().next_multiple_of(4), 0);
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

    /// A segment off the wire, and its payload.
    pub(super) fn decode(octets: &[u8]) -> Option<(SegmentText, &[u8])> {
        let fixed: &[u8; 20] = octets.first_chunk()?;
        let word = |at: usize| {
            u32::from_be_bytes([fixed[at], fixed[at + 1], fixed[at + 2], fixed[at + 3]])
        };
        let half = |at: usize| u16::from_be_bytes([fixed[at], fixed[at + 1]]);
        let (header, payload) = octets.split_at_checked(usize::from(fixed[12] >> 4) * 4)?;
        let flags = Flags::from_bits(half(12));
        let segment = SegmentText {
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

    /// Sequence number after the payload.
    pub(super) fn end(&self) -> u32 {
        self.seq.wrapping_add(self.len)
    }
}

fn parse_flags(text: &str) -> Result<Flags, String> {
    if text == "-" {
        return Ok(Flags::NONE);
    }
    text.chars().try_fold(Flags::NONE, |flags, letter| {
        let known = LETTERS.iter().find(|(l, _)| *l == letter);
        known.map(|(_, flag)| flags | *flag).ok_or_else(|| format!("not a flag: {letter}"))
    })
}

/// `seq:end(len)`
fn parse_range(text: &str) -> Result<(u32, u32), String> {
    let wrong = || format!("not understood as seq:end(len): {text}");
    let (seq, rest) = text.split_once(':').ok_or_else(wrong)?;
    let (end, len) = rest.strip_suffix(')').and_then(|r| r.split_once('(')).ok_or_else(wrong)?;
    let (seq, end, len): (u32, u32, u32) = (num(seq)?, num(end)?, num(len)?);
    if seq.wrapping_add(len) != end {
        return Err(format!("{seq} and {len} octets do not end at {end}"));
    }
    Ok((seq, len))
}

fn parse_options(text: &str) -> Result<Vec<Opt>, String> {
    let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
    parts.map(parse_option).collect()
}

fn parse_option(text: &str) -> Result<Opt, String> {
    let words: Vec<&str> = text.split_whitespace().collect();
    Ok(match words.as_slice() {
        ["mss", n] => Opt::Mss(num(n)?),
        ["wscale", n] => Opt::Wscale(num(n)?),
        ["sackOK"] => Opt::SackOk,
        ["nop"] => Opt::Nop,
        ["eol"] => Opt::Eol,
        ["TS", "val", val, "ecr", ecr] => Opt::Ts { val: num(val)?, ecr: num(ecr)? },
        ["sack", blocks @ ..] if !blocks.is_empty() => {
            let blocks = blocks.iter().map(|block| {
                let (l, r) = block.split_once(':').ok_or("a SACK block is `left:right`")?;
                Ok((num(l)?, num(r)?))
            });
            Opt::Sack(blocks.collect::<Result<_, String>>()?)
        }
        ["FO"] => Opt::Cookie(Vec::new()),
        ["FO", cookie] => Opt::Cookie(hex(cookie)?),
        _ => return Err(format!("not understood as an option: {text}")),
    })
}

fn hex(text: &str) -> Result<Vec<u8>, String> {
    let octets = (0..text.len()).step_by(2).map(|at| {
        let pair = text.get(at..at + 2);
        pair.and_then(|pair| u8::from_str_radix(pair, 16).ok())
    });
    octets.collect::<Option<_>>().ok_or_else(|| format!("not hexadecimal: {text}"))
}

impl Opt {
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

impl fmt::Display for SegmentText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
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
            Some(options) => {
                let words: Vec<String> = options.iter().map(Opt::to_string).collect();
                write!(f, " <{}>", words.join(","))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_segment_is_read_and_written_alike() {
        for text in [
            "S 0:0(0) win 1000 <mss 1000,sackOK,TS val 100 ecr 0,nop,wscale 7>",
            "SEW 0:0(0) win 1000",
            "P. 1:1001(1000) ack 1 win 257",
            "FP. 4294967295:9(10) ack 1",
            ". 1:1(0) ack 1 win 5 urg 3 <nop,nop,sack 1:2 3:4>",
            "R 1:1(0) <...>",
            "- 1:1(0) win 3 <FO 0a1b>",
        ] {
            assert_eq!(SegmentText::parse(text).unwrap().to_string(), text);
        }
    }

    #[test]
    fn the_wire_gives_back_what_was_encoded() {
        let text = "S. 7:7(0) ack 9 win 1000 <mss 1000,sackOK,TS val 1 ecr 2,nop,wscale 7>";
        let segment = SegmentText::parse(text).unwrap();
        let octets = segment.encode((1, 2), &[], 0);
        assert_eq!(SegmentText::decode(&octets), Some((segment, &[][..])));
    }
}

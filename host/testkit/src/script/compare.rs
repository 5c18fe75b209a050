//! Translation between the script's numbers and the live ones, and comparison of a segment with the
//! script's.

use super::Variation;
use super::segment::{Opt, SegmentText};
use kinglet_wire::tcp::Flags;
use std::collections::BTreeMap;

/// Translation of the script's numbers.
#[derive(Clone, Debug)]
pub(super) struct Numbers {
    /// The stack's initial sequence number: the script's and the live one.
    local: Option<(u32, u32)>,
    /// True if the next SYN of the stack begins another connection.
    relearn: bool,
    /// The peer's initial sequence number in the script.
    remote_isn: u32,
    variation: Variation,
    /// The stack's timestamps: live ones by the script's.
    stamps: BTreeMap<u32, u32>,
    /// Fast Open cookies by the script's names.
    cookies: BTreeMap<String, Vec<u8>>,
}

/// The octet at `offset` of every stream; the period shares no factor with any segment size.
pub(super) fn pattern(offset: u32) -> u8 {
    (offset % 251) as u8
}

/// Returns whether `octets` are those of a stream from `first` on.
pub(super) fn is_pattern(first: u32, octets: &[u8]) -> bool {
    let places = (0..).map(|i| first.wrapping_add(i));
    places.zip(octets).all(|(place, octet)| *octet == pattern(place))
}

impl Numbers {
    pub(super) fn new(variation: Variation) -> Numbers {
        Numbers {
            local: None,
            relearn: false,
            remote_isn: 0,
            variation,
            stamps: BTreeMap::new(),
            cookies: BTreeMap::new(),
        }
    }

    /// Prepares for a new connection with new numbers of the stack.
    pub(super) fn expect_new_local(&mut self) {
        self.relearn = true;
    }

    pub(super) fn set_remote(&mut self, isn: u32) {
        self.remote_isn = isn;
    }

    fn local_shift(&self) -> u32 {
        self.local.map_or(0, |(script, live)| live.wrapping_sub(script))
    }

    /// Returns a sequence number of the stack as on the wire.
    pub(super) fn local_live(&self, script: u32) -> u32 {
        script.wrapping_add(self.local_shift())
    }

    /// Returns the peer's segment with live numbers, and its payload, before encoding.
    pub(super) fn inbound(&self, script: &SegmentText) -> (SegmentText, Vec<u8>) {
        let mut live = script.clone();
        live.seq = script.seq.wrapping_add(self.variation.remote_offset);
        live.ack = script.ack.map(|ack| self.local_live(ack));
        for option in live.options.iter_mut().flatten() {
            match option {
                Opt::Sack(blocks) => {
                    for (left, right) in blocks {
                        (*left, *right) = (self.local_live(*left), self.local_live(*right));
                    }
                }
                Opt::Ts { val, ecr } => {
                    *val = val.wrapping_add(self.variation.timestamp_offset);
                    *ecr = self.stamps.get(ecr).copied().unwrap_or(*ecr);
                }
                Opt::NamedCookie(name) => {
                    let cookie = self.cookies.get(name).cloned();
                    *option = Opt::Cookie(cookie.unwrap_or_else(|| vec![0; 8]));
                }
                _ => {}
            }
        }
        let first = script.seq.wrapping_sub(self.remote_isn).wrapping_sub(1);
        let first = first.wrapping_add(u32::from(script.flags.contains(Flags::SYN)));
        let payload = (0..script.len).map(|i| pattern(first.wrapping_add(i))).collect();
        (live, payload)
    }

    /// Returns a live segment of the stack in the script's numbers. `expected` has the script's
    /// initial sequence number, if this segment determines it.
    pub(super) fn outbound(&mut self, live: &SegmentText, expected: &SegmentText) -> SegmentText {
        let syn = live.flags.contains(Flags::SYN) && expected.flags.contains(Flags::SYN);
        if syn && (self.local.is_none() || self.relearn) {
            self.local = Some((expected.seq, live.seq));
            self.relearn = false;
        }
        let mut script = live.clone();
        // A reset that answers a segment without ACK has the number zero, for whatever peer.
        if live.flags != Flags::RST | Flags::ACK || live.seq != 0 {
            script.seq = live.seq.wrapping_sub(self.local_shift());
        }
        script.ack = live.ack.map(|ack| ack.wrapping_sub(self.variation.remote_offset));
        // RFC 7323 §3.2, and for resets §5.2.
        let echoes = live.flags.intersects(Flags::ACK | Flags::RST);
        let wanted = expected.options.iter().flatten().find_map(|option| match option {
            Opt::Ts { val, .. } => Some(*val),
            _ => None,
        });
        let named = expected.options.iter().flatten().find_map(|option| match option {
            Opt::NamedCookie(name) => Some(name),
            _ => None,
        });
        for option in script.options.iter_mut().flatten() {
            match option {
                Opt::Cookie(cookie) => {
                    if let Some(name) = named.filter(|_| !cookie.is_empty())
                        && self.learn_cookie(name, cookie)
                    {
                        *option = Opt::NamedCookie(name.clone());
                    }
                }
                Opt::Sack(blocks) => {
                    for (left, right) in blocks {
                        *left = left.wrapping_sub(self.variation.remote_offset);
                        *right = right.wrapping_sub(self.variation.remote_offset);
                    }
                }
                Opt::Ts { val, ecr } => {
                    if let Some(wanted) = wanted {
                        self.stamps.insert(wanted, *val);
                        *val = wanted;
                    }
                    if echoes {
                        *ecr = ecr.wrapping_sub(self.variation.timestamp_offset);
                    }
                }
                _ => {}
            }
        }
        script
    }

    /// Returns whether the value of a cookie's name is still unknown.
    pub(super) fn lacks_cookie(&self, name: &str) -> bool {
        !self.cookies.contains_key(name)
    }

    /// Returns whether `cookie` is the value of the name; an unknown name gets this value.
    pub(super) fn learn_cookie(&mut self, name: &str, cookie: &[u8]) -> bool {
        self.cookies.entry(name.to_owned()).or_insert_with(|| cookie.to_vec()) == cookie
    }

    /// Returns whether the payload of a live segment equals the octets that the application wrote.
    pub(super) fn payload_is_right(&self, live: &SegmentText, payload: &[u8]) -> bool {
        let isn = self.local.map_or(live.seq, |(_, live)| live);
        let syn = u32::from(live.flags.contains(Flags::SYN));
        let first = live.seq.wrapping_add(syn).wrapping_sub(isn).wrapping_sub(1);
        is_pattern(first, payload)
    }
}

/// Returns the names of the fields in which `actual` differs from the script.
pub(super) fn differences(
    expected: &SegmentText,
    actual: &SegmentText,
    lenient: bool,
) -> Vec<&'static str> {
    let mut out = Vec::new();
    let mut differs = |name, is: bool| {
        if is {
            out.push(name);
        }
    };
    // The sender chooses the end of a burst: Linux marks it elsewhere.
    let comparable = |flags: Flags| if lenient { flags | Flags::PSH } else { flags };
    let mark = expected.ecn.zip(actual.ecn);
    differs("IP mark", mark.is_some_and(|(want, have)| !have.iter().all(|v| want.contains(v))));
    differs("flags", comparable(expected.flags) != comparable(actual.flags));
    differs("sequence number", expected.seq != actual.seq);
    differs("length", expected.len != actual.len);
    differs("ack", expected.ack != actual.ack);
    differs("win", expected.win.is_some() && expected.win != actual.win);
    differs("urg", expected.urg.is_some() && expected.urg != actual.urg);
    if let (Some(want), Some(have)) = (&expected.options, &actual.options) {
        let same = if lenient {
            let by_presence = expected.flags.contains(Flags::SYN);
            normal(want, by_presence) == normal(have, by_presence)
        } else {
            want == have
        };
        differs("options", !same);
    }
    out
}

/// Returns the options without padding and order; SACK blocks keep theirs.
fn normal(options: &[Opt], by_presence: bool) -> Vec<Opt> {
    let mut out: Vec<Opt> =
        options.iter().filter(|o| !matches!(o, Opt::Nop | Opt::Eol)).cloned().collect();
    if by_presence {
        for option in &mut out {
            match option {
                Opt::Mss(n) => *n = 0,
                Opt::Wscale(n) => *n = 0,
                _ => {}
            }
        }
    }
    out.sort();
    out
}

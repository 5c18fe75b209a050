//! Contents of a frame.

use super::head::Head;
use crate::secure;
use kinglet::wire::ieee802154::{Address, Frame, FrameType};
use kinglet::wire::ipv6::HEADER_LEN;
use kinglet::wire::sixlowpan::routed::{self, Dodag, PAGE_1};
use kinglet::wire::sixlowpan::{
    self, Context, Dispatch, ExtensionHeaders, FragmentHeader, Integrity, MAX_CHAIN,
};
use kinglet_radio::{LinkKey, MAX_FRAME};

/// Knowledge shared by a network's nodes that is needed to read frames.
#[derive(Clone, Debug, Default)]
pub struct Opening {
    /// Key of link security; without it, secured frames are not read.
    pub key: Option<LinkKey>,
    /// 6LoWPAN contexts by number (RFC 6282, 3.1.2).
    pub contexts: Vec<Option<Context>>,
    /// DODAG whose routing headers are compressed (RFC 8138).
    pub dodag: Option<Dodag>,
}

/// Contents of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Contents {
    /// A complete packet.
    Whole(Head),
    /// First fragment of a packet, with this number of its octets.
    First { tag: u16, size: u16, octets: u16, head: Option<Head> },
    /// Another fragment.
    Next { tag: u16, size: u16, offset: u16, octets: u16 },
    /// A MAC command.
    Command,
    /// Other or unreadable contents.
    Other,
}

impl Opening {
    /// Contents of `frame`, which has no FCS.
    pub(super) fn contents(&self, frame: &[u8]) -> Contents {
        let mut own = [0; MAX_FRAME];
        let Some(own) = own.get_mut(..frame.len()) else { return Contents::Other };
        own.copy_from_slice(frame);
        let Ok(parsed) = Frame::parse(frame) else { return Contents::Other };
        match parsed.frame_type() {
            FrameType::Command => return Contents::Command,
            FrameType::Data => {}
            _ => return Contents::Other,
        }
        let (src, dst, range) = (parsed.src(), parsed.dst(), parsed.payload_range());
        let mut end = range.end;
        if let Some(security) = parsed.security() {
            let Some(key) = &self.key else { return Contents::Other };
            let before = own.to_vec();
            if !secure::open(key, own) {
                // A radio that secures frames in hardware gets them unencrypted.
                own.copy_from_slice(&before);
            }
            end = end.saturating_sub(security.mic_len());
        }
        let payload = own.get(range.start..end).unwrap_or_default();
        self.read(payload, (src, dst))
    }

    fn read(&self, payload: &[u8], ends: (Address, Address)) -> Contents {
        match Dispatch::of(payload) {
            Some(Dispatch::FirstFragment) => {
                let Ok((header, rest)) = FragmentHeader::parse(payload) else {
                    return Contents::Other;
                };
                let expanded = self.expand(rest, ends, Some(header.size));
                let octets = expanded.as_ref().map_or(0, |packet| packet.len() as u16);
                let head = expanded.and_then(|packet| Head::read(&packet));
                Contents::First { tag: header.tag, size: header.size, octets, head }
            }
            Some(Dispatch::NextFragment) => match FragmentHeader::parse(payload) {
                Ok((FragmentHeader { size, tag, offset: Some(offset) }, rest)) => {
                    Contents::Next { tag, size, offset, octets: rest.len() as u16 }
                }
                _ => Contents::Other,
            },
            Some(Dispatch::Mesh) | None => Contents::Other,
            _ => {
                let head = self.expand(payload, ends, None);
                let head = head.and_then(|packet| Head::read(&packet));
                head.map_or(Contents::Other, Contents::Whole)
            }
        }
    }

    /// The packet, or its available part.
    fn expand(
        &self,
        payload: &[u8],
        (src, dst): (Address, Address),
        size: Option<u16>,
    ) -> Option<Vec<u8>> {
        if Dispatch::of(payload) == Some(Dispatch::Ipv6) {
            return payload.get(1..).map(<[u8]>::to_vec);
        }
        let mut out = [0; HEADER_LEN + MAX_CHAIN];
        let none = Integrity::None;
        let done = match &self.dodag {
            Some(dodag) if payload.first() == Some(&PAGE_1) => {
                let contexts = &self.contexts;
                let ends = (src, dst);
                routed::decompress::<ExtensionHeaders>(
                    payload, ends, contexts, dodag, size, none, &mut out,
                )
            }
            _ => sixlowpan::decompress::<ExtensionHeaders>(
                payload,
                src,
                dst,
                &self.contexts,
                size,
                none,
                &mut out,
            ),
        };
        let done = done.ok()?;
        let mut packet = out.get(..done.written)?.to_vec();
        packet.extend(payload.get(done.consumed..)?);
        Some(packet)
    }
}

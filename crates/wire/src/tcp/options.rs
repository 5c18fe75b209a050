//! TCP options: MSS (RFC 9293 §3.7.1), window scale and timestamps (RFC 7323), SACK (RFC 2018),
//! Fast Open (RFC 7413), and the experimental ACK Rate Request
//! (draft-ietf-tcpm-ack-rate-request-11) by its identifier (RFC 6994).

use super::MAX_OPTIONS_LEN;
use crate::{Error, Field};

/// Maximum number of SACK blocks, without other options (RFC 2018 §3).
pub const MAX_SACK_BLOCKS: usize = 4;

const END: u8 = 0;
const NOP: u8 = 1;
const MSS: u8 = 2;
const WINDOW_SCALE: u8 = 3;
const SACK_PERMITTED: u8 = 4;
const SACK: u8 = 5;
const TIMESTAMPS: u8 = 8;
//= rfc7413#9-1
const FAST_OPEN: u8 = 34;
/// Kind of experiments, which two more octets identify (RFC 6994 §3).
const EXPERIMENT: u8 = 254;
/// Identifier of ACK Rate Request.
const ACK_RATE: [u8; 2] = [0x00, 0xAC];
/// Octets of a request for an acknowledgment rate, padded to whole words.
pub const ACK_RATE_REQUEST_LEN: usize = 8;
/// The largest shift (RFC 7323 §2.3); larger ones are read as this.
const MAX_WINDOW_SCALE: u8 = 14;

/// A block of octets that arrived out of order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct SackBlock {
    /// Sequence number of the first octet.
    pub left: u32,
    /// Sequence number after the last octet.
    pub right: u32,
}

/// Up to four SACK blocks, the most recent first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct SackBlocks {
    blocks: [SackBlock; MAX_SACK_BLOCKS],
    len: u8,
}

impl SackBlocks {
    /// No blocks.
    pub const EMPTY: SackBlocks =
        SackBlocks { blocks: [SackBlock { left: 0, right: 0 }; MAX_SACK_BLOCKS], len: 0 };

    /// Appends a block. Returns whether there was room.
    pub fn push(&mut self, block: SackBlock) -> bool {
        let Some(slot) = self.blocks.get_mut(usize::from(self.len)) else { return false };
        *slot = block;
        self.len = self.len.saturating_add(1);
        true
    }

    /// Removes the blocks after the first `len`.
    pub fn truncate(&mut self, len: usize) {
        let len = u8::try_from(len).unwrap_or(u8::MAX);
        self.len = self.len.min(len);
        for slot in self.blocks.iter_mut().skip(usize::from(self.len)) {
            *slot = SackBlock::default();
        }
    }

    /// The blocks in the order of the option.
    pub fn as_slice(&self) -> &[SackBlock] {
        self.blocks.get(..usize::from(self.len)).unwrap_or(&[])
    }

    /// Returns whether there are none, and so no option.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }
}

/// The two values of a timestamps option.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Timestamps {
    /// TSval: the sender's clock.
    pub val: u32,
    /// TSecr: the peer's clock, echoed; meaningful with ACK.
    pub ecr: u32,
}

/// A Fast Open cookie: 4 to 16 octets, an even number, or none, which asks the server for a cookie
/// (RFC 7413 §4.1.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Cookie {
    octets: [u8; Cookie::MAX_LEN],
    len: u8,
}

impl Cookie {
    /// Octets of the longest cookie.
    pub const MAX_LEN: usize = 16;
    /// The empty cookie, a request.
    pub const REQUEST: Cookie = Cookie { octets: [0; Cookie::MAX_LEN], len: 0 };

    /// Returns a cookie of these octets; `None` if an option cannot carry this number of octets.
    //= rfc7413#4.1.1-1
    pub fn new(value: &[u8]) -> Option<Cookie> {
        if !value.len().is_multiple_of(2) || value.len() == 2 {
            return None;
        }
        let mut cookie = Cookie { len: u8::try_from(value.len()).ok()?, ..Cookie::REQUEST };
        cookie.octets.get_mut(..value.len())?.copy_from_slice(value);
        Some(cookie)
    }

    /// The octets.
    pub fn as_slice(&self) -> &[u8] {
        self.octets.get(..usize::from(self.len)).unwrap_or(&[])
    }

    /// Returns whether it is empty and so requests a cookie.
    pub const fn is_request(&self) -> bool {
        self.len == 0
    }
}

/// The ACK Rate Request option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AckRate {
    /// The sender knows the option; only on SYN.
    Supported,
    /// Requests an acknowledgment for every so many full-sized segments, 1 to 127; 0 requests one
    /// acknowledgment at once and leaves the rate as it is. Only without SYN.
    Request(u8),
}

/// The options of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Options {
    /// Maximum segment size; only on SYN.
    pub mss: Option<u16>,
    /// Window scale shift, 0 to 14; only on SYN.
    pub window_scale: Option<u8>,
    /// SACK permitted; only on SYN.
    pub sack_permitted: bool,
    /// Timestamps.
    pub timestamps: Option<Timestamps>,
    /// Fast Open; only on SYN.
    pub fast_open: Option<Cookie>,
    /// ACK Rate Request. It is not emitted if it exceeds the 40 octets.
    pub ack_rate: Option<AckRate>,
    /// SACK blocks. Blocks that exceed the 40 octets are not emitted.
    pub sack: SackBlocks,
}

impl Options {
    /// No options.
    pub const NONE: Options = Options {
        mss: None,
        window_scale: None,
        sack_permitted: false,
        timestamps: None,
        fast_open: None,
        ack_rate: None,
        sack: SackBlocks::EMPTY,
    };

    /// Returns the octets of the options other than SACK blocks, padded to whole words, at most 40.
    /// ACK Rate Request yields to the others.
    const fn base_len(&self) -> usize {
        let mut len: usize = 0;
        if self.mss.is_some() {
            len = len.saturating_add(4);
        }
        if self.timestamps.is_some() {
            len = len.saturating_add(12);
        } else if self.sack_permitted {
            len = len.saturating_add(4);
        }
        if self.window_scale.is_some() {
            len = len.saturating_add(4);
        }
        if let Some(cookie) = &self.fast_open {
            // A cookie has 16 octets at most: with all other options of a SYN that is 40.
            len = len.saturating_add((cookie.len as usize).saturating_add(5) & !3);
        }
        let rate = match self.ack_rate {
            None => 0,
            Some(AckRate::Supported) => 4,
            Some(AckRate::Request(_)) => ACK_RATE_REQUEST_LEN,
        };
        let all = len.saturating_add(rate);
        if all > MAX_OPTIONS_LEN { len } else { all }
    }

    /// Returns the number of SACK blocks that fit together with the other options.
    pub(super) const fn emitted_blocks(&self) -> usize {
        // base_len() <= 40, and each block takes 8 octets after NOP, NOP, kind and length.
        let room = MAX_OPTIONS_LEN.saturating_sub(self.base_len()).saturating_sub(4) / 8;
        let have = self.sack.len as usize;
        if have < room { have } else { room }
    }

    /// Returns the octets on the wire, a multiple of four, at most 40.
    pub const fn len(&self) -> usize {
        let blocks = self.emitted_blocks();
        let sack = if blocks == 0 { 0 } else { blocks.saturating_mul(8).saturating_add(4) };
        self.base_len().saturating_add(sack)
    }

    /// Returns whether nothing would be written.
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    //= rfc9293#MUST-4 rfc9293#MUST-5 rfc9293#MUST-6 rfc9293#MUST-7 rfc9293#MUST-64 rfc9293#MUST-68
    pub(super) fn parse(octets: &[u8]) -> Result<Options, Error> {
        let mut options = Options::NONE;
        let mut rest = octets;
        // Each iteration takes at least one of at most 40 octets.
        while let Some((&kind, tail)) = rest.split_first() {
            match kind {
                END => break,
                NOP => rest = tail,
                _ => {
                    let Some(&len) = tail.first() else {
                        return Err(Error::Invalid(Field::TcpOptionLength));
                    };
                    let split = rest.split_at_checked(usize::from(len)).filter(|_| len >= 2);
                    let Some((option, tail)) = split else {
                        return Err(Error::Invalid(Field::TcpOptionLength));
                    };
                    options.take(kind, option.get(2..).unwrap_or(&[]));
                    rest = tail;
                }
            }
        }
        Ok(options)
    }

    /// Takes one option. An option with a wrong length for its kind counts as unknown.
    //= rfc9293#MUST-14
    //= rfc7323#2.3-9 rfc7413#4.1.1-2
    fn take(&mut self, kind: u8, value: &[u8]) {
        match (kind, value) {
            (MSS, &[a, b]) => self.mss = Some(u16::from_be_bytes([a, b])),
            (WINDOW_SCALE, &[shift]) => self.window_scale = Some(shift.min(MAX_WINDOW_SCALE)),
            (SACK_PERMITTED, &[]) => self.sack_permitted = true,
            (TIMESTAMPS, &[a, b, c, d, e, f, g, h]) => {
                self.timestamps = Some(Timestamps {
                    val: u32::from_be_bytes([a, b, c, d]),
                    ecr: u32::from_be_bytes([e, f, g, h]),
                });
            }
            // The last bit is reserved.
            (EXPERIMENT, &[a, b, ref rate @ ..]) if [a, b] == ACK_RATE => {
                self.ack_rate = match *rate {
                    [] => Some(AckRate::Supported),
                    [rate] => Some(AckRate::Request(rate >> 1)),
                    _ => self.ack_rate,
                };
            }
            (FAST_OPEN, cookie) => self.fast_open = Cookie::new(cookie).or(self.fast_open),
            (SACK, blocks) if blocks.len().is_multiple_of(8) => {
                self.sack = SackBlocks::EMPTY;
                for block in blocks.chunks_exact(8) {
                    if let &[a, b, c, d, e, f, g, h] = block {
                        self.sack.push(SackBlock {
                            left: u32::from_be_bytes([a, b, c, d]),
                            right: u32::from_be_bytes([e, f, g, h]),
                        });
                    }
                }
            }
            _ => {}
        }
    }

    /// Writes the options into `out`, which has [`Options::len`] octets.
    pub(super) fn emit(&self, out: &mut [u8]) {
        let mut writer = Writer { rest: out };
        if let Some(mss) = self.mss {
            writer.put(&[MSS, 4]);
            writer.put(&mss.to_be_bytes());
        }
        if self.sack_permitted {
            if self.timestamps.is_none() {
                writer.put(&[NOP, NOP]);
            }
            writer.put(&[SACK_PERMITTED, 2]);
        } else if self.timestamps.is_some() {
            writer.put(&[NOP, NOP]);
        }
        if let Some(Timestamps { val, ecr }) = self.timestamps {
            writer.put(&[TIMESTAMPS, 10]);
            writer.put(&val.to_be_bytes());
            writer.put(&ecr.to_be_bytes());
        }
        if let Some(shift) = self.window_scale {
            writer.put(&[NOP, WINDOW_SCALE, 3, shift]);
        }
        if let Some(cookie) = &self.fast_open {
            writer.put(&[FAST_OPEN, cookie.len.saturating_add(2)]);
            writer.put(cookie.as_slice());
            if cookie.len.is_multiple_of(4) {
                writer.put(&[NOP, NOP]);
            }
        }
        let blocks = self.emitted_blocks();
        if blocks > 0 {
            // At most four blocks: the length is at most 34.
            let len = u8::try_from(blocks.saturating_mul(8).saturating_add(2)).unwrap_or(2);
            writer.put(&[NOP, NOP, SACK, len]);
            for block in self.sack.as_slice().iter().take(blocks) {
                writer.put(&block.left.to_be_bytes());
                writer.put(&block.right.to_be_bytes());
            }
        }
        // Last, because there is no room for it if it does not fit.
        let [a, b] = ACK_RATE;
        match self.ack_rate {
            None => {}
            Some(AckRate::Supported) => writer.put(&[EXPERIMENT, 4, a, b]),
            Some(AckRate::Request(rate)) => {
                writer.put(&[NOP, NOP, NOP, EXPERIMENT, 5, a, b, rate << 1]);
            }
        }
    }
}

/// Writes front to back; octets that do not fit are left out, which `Options::len` rules out.
struct Writer<'a> {
    rest: &'a mut [u8],
}

impl Writer<'_> {
    #[inline(never)] // Twelve of these are smaller as calls.
    fn put(&mut self, octets: &[u8]) {
        if let Some((head, tail)) =
            core::mem::take(&mut self.rest).split_at_mut_checked(octets.len())
        {
            head.copy_from_slice(octets);
            self.rest = tail;
        }
    }
}

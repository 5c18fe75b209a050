//! Block-wise transfer (RFC 7959): bodies that are longer than a message.
//!
//! | | sends a body | receives one |
//! |---|---|---|
//! | client | [`Upload`] (Block1) | [`Download`] (Block2) |
//! | server | [`Part`] (Block2) | [`Reception`] (Block1) |
//!
//! None of them holds the body: octets are passed by range, so that a body can be generated while
//! it is sent.

use crate::message::{Code, Message, WriteError, Writer};
use crate::option::{BLOCK1, BLOCK2, ETAG, SIZE1, SIZE2};
use core::ops::Range;

/// Largest size exponent: blocks of 1024 octets.
pub const MAX_EXPONENT: u8 = 6;
/// Largest block number, of 20 bits.
const MAX_NUMBER: u32 = (1 << 20) - 1;

/// The value of a Block option (RFC 7959 §2.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    /// Number of the block, from 0, in blocks of this size.
    pub number: u32,
    /// True if more blocks follow.
    pub more: bool,
    /// SZX: the size is 2 to the power of this plus four; at most [`MAX_EXPONENT`].
    pub exponent: u8,
}

impl Block {
    /// Parses an option's value; `None` if its size is the reserved one.
    pub const fn from_uint(value: u32) -> Option<Self> {
        let block = Block { number: value >> 4, more: value & 8 != 0, exponent: (value & 7) as u8 };
        if block.exponent > MAX_EXPONENT || block.number > MAX_NUMBER {
            return None;
        }
        Some(block)
    }

    /// Returns the option's value.
    pub const fn to_uint(self) -> u32 {
        self.number << 4 | (self.more as u32) << 3 | self.exponent as u32
    }

    /// Returns the number of octets in a block, 16 to 1024.
    pub const fn size(self) -> usize {
        size(self.exponent)
    }

    /// Returns the offset in the body at which it begins.
    pub const fn offset(self) -> usize {
        (self.number as usize).saturating_mul(self.size())
    }

    /// Returns the block of a message; `None` if there is none.
    ///
    /// # Errors
    /// 4.00 Bad Request, which a server has to return (RFC 7959 §2.2).
    fn of(message: &Message<'_>, number: u16) -> Result<Option<Block>, Code> {
        if message.options().all(|option| option.0 != number) {
            return Ok(None);
        }
        let block = message.uint(number).and_then(Block::from_uint);
        block.map(Some).ok_or(Code::BAD_REQUEST)
    }
}

const fn size(exponent: u8) -> usize {
    let exponent = if exponent > MAX_EXPONENT { MAX_EXPONENT } else { exponent };
    16 << exponent
}

/// Returns the number of the block of size 2^(`exponent` + 4) that begins at `offset`, if one does.
fn number_at(offset: usize, exponent: u8) -> Option<u32> {
    let number = u32::try_from(offset >> exponent.saturating_add(4)).ok()?;
    (number <= MAX_NUMBER && offset & (size(exponent).saturating_sub(1)) == 0).then_some(number)
}

/// Reason for which a transfer failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransferError {
    /// The server answered with this code.
    Refused(Code),
    /// The response does not match the last request.
    OutOfStep,
    /// The resource changed during the transfer (its ETag did); the transfer has to be started
    /// again.
    Changed,
}

/// A part of a body that was received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece<'a> {
    /// Its offset in the body: directly after the previous part.
    pub offset: usize,
    /// Its octets.
    pub data: &'a [u8],
    /// True for the last part.
    pub is_last: bool,
}

/// A client's download: one GET after another for each block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Download {
    received: usize,
    exponent: u8,
    etag: Option<([u8; 8], u8)>,
}

impl Download {
    /// Creates a download in blocks of at most 2^(`exponent` + 4) octets.
    pub fn new(exponent: u8) -> Self {
        Download { received: 0, exponent: exponent.min(MAX_EXPONENT), etag: None }
    }

    /// Returns the number of octets received.
    pub const fn received(&self) -> usize {
        self.received
    }

    /// Adds to a request, after its path and query, the option for the next block. The first
    /// request states the wanted size, unless it is the largest (early negotiation, RFC 7959 §2.4).
    ///
    /// # Errors
    /// [`WriteError`]
    pub fn write(&self, request: &mut Writer<'_>) -> Result<(), WriteError> {
        if self.received == 0 && self.exponent == MAX_EXPONENT {
            return Ok(());
        }
        let number = number_at(self.received, self.exponent).ok_or(WriteError::Full)?;
        let block = Block { number, more: false, exponent: self.exponent };
        request.uint(BLOCK2, block.to_uint())
    }

    /// Handles the response to the last request.
    ///
    /// # Errors
    /// [`TransferError`]
    pub fn handle<'a>(&mut self, response: &Message<'a>) -> Result<Piece<'a>, TransferError> {
        if response.header.code != Code::CONTENT {
            return Err(TransferError::Refused(response.header.code));
        }
        let block = Block::of(response, BLOCK2).map_err(|_| TransferError::OutOfStep)?;
        let data = response.payload;
        let offset = self.received;
        let Some(block) = block else {
            // The body fits into one message.
            let piece = Piece { offset: 0, data, is_last: true };
            return if offset == 0 { Ok(piece) } else { Err(TransferError::OutOfStep) };
        };
        let whole = data.len() == block.size() || (!block.more && data.len() < block.size());
        if block.offset() != offset || !whole || block.exponent > self.exponent {
            return Err(TransferError::OutOfStep);
        }
        let etag = response.values(ETAG).next().map(|value| {
            let mut octets = [0; 8];
            let len = kinglet_mem::copy(&mut octets, value);
            (octets, u8::try_from(len).unwrap_or(0))
        });
        if offset > 0 && etag != self.etag {
            return Err(TransferError::Changed);
        }
        self.etag = etag;
        self.exponent = block.exponent;
        self.received = self.received.saturating_add(data.len());
        Ok(Piece { offset, data, is_last: !block.more })
    }
}

/// The next step of an upload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UploadStep {
    /// The next block is to be sent.
    Next,
    /// None: this was the response to the whole body.
    Done,
}

/// A client's upload: a PUT or POST for each block of a body of known length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Upload {
    total: usize,
    sent: usize,
    exponent: u8,
}

impl Upload {
    /// Creates an upload of `total` octets in blocks of at most 2^(`exponent` + 4).
    pub fn new(total: usize, exponent: u8) -> Self {
        Upload { total, sent: 0, exponent: exponent.min(MAX_EXPONENT) }
    }

    /// Returns the range of octets that the next request carries.
    pub fn range(&self) -> Range<usize> {
        self.sent..self.sent.saturating_add(size(self.exponent)).min(self.total)
    }

    fn is_whole(&self) -> bool {
        self.range() == (0..self.total)
    }

    /// Adds to a request, after its path and query, the option for its block. The payload must be
    /// the octets of [`Upload::range`].
    ///
    /// # Errors
    /// [`WriteError`]
    pub fn write(&self, request: &mut Writer<'_>) -> Result<(), WriteError> {
        if self.is_whole() {
            return Ok(());
        }
        let number = number_at(self.sent, self.exponent).ok_or(WriteError::Full)?;
        let more = self.range().end < self.total;
        request.uint(BLOCK1, Block { number, more, exponent: self.exponent }.to_uint())?;
        if self.sent == 0 {
            request.uint(SIZE1, u32::try_from(self.total).unwrap_or(u32::MAX))?;
        }
        Ok(())
    }

    /// Handles the response to the last request.
    ///
    /// # Errors
    /// [`TransferError`]
    pub fn handle(&mut self, response: &Message<'_>) -> Result<UploadStep, TransferError> {
        let code = response.header.code;
        let block = Block::of(response, BLOCK1).map_err(|_| TransferError::OutOfStep)?;
        let smaller = block.filter(|block| block.exponent < self.exponent);
        if code == Code::REQUEST_ENTITY_TOO_LARGE
            && self.sent == 0
            && let Some(block) = smaller
        {
            // RFC 7959 §2.9.3: sends the same again, in blocks of the size that the server accepts.
            self.exponent = block.exponent;
            return Ok(UploadStep::Next);
        }
        if !code.is_success() {
            return Err(TransferError::Refused(code));
        }
        let range = self.range();
        if range.end == self.total {
            return Ok(UploadStep::Done);
        }
        let answers =
            block.is_some_and(|block| number_at(self.sent, self.exponent) == Some(block.number));
        // 2.31 Continue, or the response of a stateless server to each block (§3.2, figure 8).
        if !answers {
            return Err(TransferError::OutOfStep);
        }
        self.sent = range.end;
        // Further blocks have the size that the server prefers (RFC 7959 §2.3).
        self.exponent = smaller.map_or(self.exponent, |block| block.exponent);
        Ok(UploadStep::Next)
    }
}

/// The part of a body in a server's response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    block: Option<Block>,
    total: usize,
    /// True if the client requests the size of the body.
    says_size: bool,
}

impl Part {
    /// Returns the part of a body of `total` octets that `request` asks for, in blocks of at most
    /// 2^(`exponent` + 4) octets.
    ///
    /// # Errors
    /// 4.00 Bad Request: an invalid option or a block beyond the end.
    pub fn of(request: &Message<'_>, total: usize, exponent: u8) -> Result<Part, Code> {
        let wanted = Block::of(request, BLOCK2)?;
        let says_size = request.uint(SIZE2) == Some(0);
        let exponent = exponent.min(wanted.map_or(MAX_EXPONENT, |block| block.exponent));
        let offset = wanted.map_or(0, Block::offset);
        if offset > 0 && offset >= total {
            return Err(Code::BAD_REQUEST);
        }
        if wanted.is_none() && total <= size(exponent) {
            return Ok(Part { block: None, total, says_size });
        }
        let number = number_at(offset, exponent).ok_or(Code::BAD_REQUEST)?;
        let more = offset.saturating_add(size(exponent)) < total;
        Ok(Part { block: Some(Block { number, more, exponent }), total, says_size })
    }

    /// Returns the first part, in blocks of at most 2^(`exponent` + 4) octets, for a client that
    /// has not requested a part: an observer requests the other parts (RFC 7959 §2.6).
    pub const fn first(total: usize, exponent: u8) -> Part {
        let fits = total <= size(exponent);
        let block = if fits { None } else { Some(Block { number: 0, more: true, exponent }) };
        Part { block, total, says_size: false }
    }

    /// Returns the exponent of the parts, if the body has several.
    pub const fn exponent(&self) -> Option<u8> {
        match self.block {
            Some(block) => Some(block.exponent),
            None => None,
        }
    }

    /// Returns the range of these octets in the body.
    pub fn range(&self) -> Range<usize> {
        self.block.map_or(0..self.total, |block| {
            let from = block.offset();
            from..from.saturating_add(block.size()).min(self.total)
        })
    }

    /// Adds the options to a response, after its Content-Format. The payload must be the octets of
    /// [`Part::range`].
    ///
    /// # Errors
    /// [`WriteError`]
    pub fn write(&self, response: &mut Writer<'_>) -> Result<(), WriteError> {
        if let Some(block) = self.block {
            response.uint(BLOCK2, block.to_uint())?;
        }
        if self.says_size {
            response.uint(SIZE2, u32::try_from(self.total).unwrap_or(u32::MAX))?;
        }
        Ok(())
    }
}

/// An accepted block of a request's body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Accepted<'a> {
    /// The octets.
    pub piece: Piece<'a>,
    /// The option that [`Accepted::write`] adds.
    block: Option<Block>,
}

impl Accepted<'_> {
    /// Returns the code of the response: 2.31 Continue, or `done` after the last block.
    pub const fn code(&self, done: Code) -> Code {
        if self.piece.is_last { done } else { Code::CONTINUE }
    }

    /// Adds to the response the option that acknowledges the block.
    ///
    /// # Errors
    /// [`WriteError`]
    pub fn write(&self, response: &mut Writer<'_>) -> Result<(), WriteError> {
        self.block.map_or(Ok(()), |block| response.uint(BLOCK1, block.to_uint()))
    }
}

/// A server's end of one upload at a time, to one resource. A new upload replaces the current one,
/// because a client that has gone does not report that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reception<K> {
    from: Option<K>,
    received: usize,
}

impl<K: Copy + Eq> Reception<K> {
    /// No upload in progress.
    pub const NEW: Self = Reception { from: None, received: 0 };

    /// Handles a request with a body of at most `limit` octets, in blocks of at most
    /// 2^(`exponent` + 4).
    ///
    /// # Errors
    /// The code of the response: 4.00 Bad Request, 4.08 Request Entity Incomplete if a block is
    /// missing, 4.13 Request Entity Too Large.
    pub fn handle<'a>(
        &mut self,
        from: K,
        request: &Message<'a>,
        limit: usize,
        exponent: u8,
    ) -> Result<Accepted<'a>, Code> {
        let data = request.payload;
        let block = Block::of(request, BLOCK1)?;
        let offset = block.map_or(0, Block::offset);
        let announced = request.uint(SIZE1).and_then(|size| usize::try_from(size).ok());
        let end = offset.saturating_add(data.len());
        if end > limit || announced.is_some_and(|size| size > limit) {
            if self.from == Some(from) {
                *self = Reception::NEW;
            }
            return Err(Code::REQUEST_ENTITY_TOO_LARGE);
        }
        let Some(block) = block else {
            return Ok(Accepted { piece: Piece { offset: 0, data, is_last: true }, block: None });
        };
        if data.len() > block.size() || (block.more && data.len() != block.size()) {
            return Err(Code::BAD_REQUEST);
        }
        if offset > 0 && (self.from != Some(from) || offset != self.received) {
            return Err(Code::REQUEST_ENTITY_INCOMPLETE);
        }
        *self = Reception { from: block.more.then_some(from), received: end };
        let answer = Block { exponent: block.exponent.min(exponent), ..block };
        Ok(Accepted { piece: Piece { offset, data, is_last: !block.more }, block: Some(answer) })
    }
}

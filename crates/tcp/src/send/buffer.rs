//! The send ring: octets from SND.UNA on, those in flight and those not yet sent.

use crate::seq::SeqNum;

/// Where the octets of the send ring are. The ring itself belongs to the connection's slot.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SendBuffer {
    /// Sequence number of the first octet held.
    seq: SeqNum,
    /// Its place in the ring, below `capacity`.
    head: u32,
    len: u32,
    capacity: u32,
}

impl SendBuffer {
    pub(crate) fn new(seq: SeqNum, capacity: usize) -> Self {
        let capacity = u32::try_from(capacity).unwrap_or(u32::MAX);
        SendBuffer { seq, head: 0, len: 0, capacity }
    }

    pub(crate) fn start(&self) -> SeqNum {
        self.seq
    }

    /// Sequence number after the last octet held, which is that of a FIN.
    pub(crate) fn end(&self) -> SeqNum {
        self.seq.plus(self.len)
    }

    pub(crate) fn room(&self) -> usize {
        self.capacity.saturating_sub(self.len) as usize
    }

    /// Appends as much of `data` as there is room for.
    pub(crate) fn push(&mut self, ring: &mut [u8], data: &[u8]) -> usize {
        let count = data.len().min(self.room());
        let at = self.index(self.len);
        let first = count.min((self.capacity as usize).saturating_sub(at));
        let (Some(head), Some(tail)) = (data.get(..first), data.get(first..count)) else {
            return 0;
        };
        if let Some(out) = ring.get_mut(at..at.saturating_add(first)) {
            out.copy_from_slice(head);
        }
        if let Some(out) = ring.get_mut(..tail.len()) {
            out.copy_from_slice(tail);
        }
        self.len = self.len.saturating_add(u32::try_from(count).unwrap_or(0));
        count
    }

    /// Drops the octets before `una`; a FIN beyond the last octet is not counted.
    pub(crate) fn acknowledge(&mut self, una: SeqNum) {
        let count = una.since(self.seq).min(self.len);
        self.head = u32::try_from(self.index(count)).unwrap_or(0);
        self.len = self.len.saturating_sub(count);
        self.seq = self.seq.plus(count);
    }

    /// The octets `seq..seq+len` in at most two pieces, or `None` if any of them is not held.
    pub(crate) fn pieces<'a>(
        &self,
        ring: &'a [u8],
        seq: SeqNum,
        len: usize,
    ) -> Option<(&'a [u8], &'a [u8])> {
        if seq.before(self.seq) {
            return None;
        }
        let offset = seq.since(self.seq);
        let available = self.len.checked_sub(offset)? as usize;
        if len > available {
            return None;
        }
        let at = self.index(offset);
        let first = len.min((self.capacity as usize).saturating_sub(at));
        let head = ring.get(at..at.checked_add(first)?)?;
        let tail = ring.get(..len.checked_sub(first)?)?;
        Some((head, tail))
    }

    /// The place of the octet `offset` after the first; `offset` is at most `capacity`.
    fn index(&self, offset: u32) -> usize {
        let place = self.head.saturating_add(offset);
        if place >= self.capacity {
            place.saturating_sub(self.capacity) as usize
        } else {
            place as usize
        }
    }
}

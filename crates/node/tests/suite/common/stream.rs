//! One direction of a connection: a pattern that is sent, and its check at the other end.

use kinglet::tcp::{Handle, RecvError};
use kinglet::{Node, Profile};

/// The octet at `index` of stream `id`: no period that a segment or buffer length could hide.
pub fn pattern(id: u32, index: usize) -> u8 {
    ((index as u32).wrapping_mul(0x9e37_79b1).wrapping_add(id << 9) >> 13) as u8
}

/// Sends `total` octets, then closes if it should.
#[derive(Clone, Copy, Debug)]
pub struct Source {
    pub id: u32,
    pub total: usize,
    pub sent: usize,
    pub close: bool,
}

impl Source {
    pub fn new(id: u32, total: usize) -> Self {
        Source { id, total, sent: 0, close: true }
    }

    /// Writes as much as there is room for. Returns whether everything was written.
    pub fn step<P: Profile>(&mut self, node: &mut Node<P>, handle: Handle) -> bool {
        let mut chunk = [0; 200];
        while self.sent < self.total && node.tcp().can_send(handle) > 0 {
            let len = chunk.len().min(self.total - self.sent);
            for (offset, octet) in chunk[..len].iter_mut().enumerate() {
                *octet = pattern(self.id, self.sent + offset);
            }
            self.sent += node.streams().send(handle, &chunk[..len]).unwrap();
            if self.sent == self.total && self.close {
                node.streams().close(handle).unwrap();
            }
        }
        self.sent == self.total
    }
}

/// Receives and checks a stream.
#[derive(Clone, Copy, Debug)]
pub struct Sink {
    pub id: u32,
    pub received: usize,
    pub ended: bool,
}

impl Sink {
    pub fn new(id: u32) -> Self {
        Sink { id, received: 0, ended: false }
    }

    /// Reads what is there. Returns whether the stream has ended, or the error that ended it early.
    pub fn step<P: Profile>(
        &mut self,
        node: &mut Node<P>,
        handle: Handle,
    ) -> Result<bool, RecvError> {
        let mut chunk = [0; 300];
        while !self.ended {
            match node.streams().recv(handle, &mut chunk) {
                Ok(0) => self.ended = true,
                Ok(len) => {
                    for (offset, octet) in chunk[..len].iter().enumerate() {
                        let at = self.received + offset;
                        assert_eq!(*octet, pattern(self.id, at), "octet {at}");
                    }
                    self.received += len;
                }
                Err(RecvError::WouldBlock) => return Ok(false),
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }
}

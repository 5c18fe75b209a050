//! The asynchronous line with its messages: HDLC-lite (RFC 1662, C.2).

use std::collections::VecDeque;

const FLAG: u8 = 0x7e;
const ESCAPE: u8 = 0x7d;
/// Bits of an octet: a start bit, eight, and a stop bit.
const BITS: u64 = 10;
const NS_PER_US: u64 = 1_000;

/// Value of the register of the check sequence after `octets`.
fn crc(octets: &[u8]) -> u16 {
    let mut register = 0xffff_u16;
    for octet in octets {
        register ^= u16::from(*octet);
        for _ in 0..8 {
            let out = register & 1;
            register >>= 1;
            register ^= 0x8408 * out;
        }
    }
    register
}

/// Returns a message as it is on the line.
pub(crate) fn frame(message: &[u8]) -> Vec<u8> {
    let [low, high] = (!crc(message)).to_le_bytes();
    let mut line = vec![FLAG];
    for octet in message.iter().copied().chain([low, high]) {
        match octet {
            FLAG | ESCAPE | 0x11 | 0x13 | 0xf8 => line.extend([ESCAPE, octet ^ 0x20]),
            _ => line.push(octet),
        }
    }
    line.push(FLAG);
    line
}

/// Messages from the octets of the host, as OpenThread's decoder finds them.
#[derive(Debug, Default)]
pub(crate) struct Receiver {
    octets: Vec<u8>,
    is_synchronised: bool,
    is_escaped: bool,
}

impl Receiver {
    /// Returns the message that the octet ends, or the octets of a damaged one.
    pub(crate) fn push(&mut self, octet: u8) -> Option<Result<Vec<u8>, Vec<u8>>> {
        if self.is_escaped {
            // A flag is data there.
            self.is_escaped = false;
            self.octets.push(octet ^ 0x20);
            return None;
        }
        match octet {
            FLAG if !self.is_synchronised => self.is_synchronised = true,
            _ if !self.is_synchronised => {}
            FLAG if self.octets.is_empty() => {}
            FLAG => {
                let mut message = core::mem::take(&mut self.octets);
                if message.len() < 2 || crc(&message) != 0xf0b8 {
                    return Some(Err(message));
                }
                message.truncate(message.len() - 2);
                return Some(Ok(message));
            }
            ESCAPE => self.is_escaped = true,
            _ => self.octets.push(octet),
        }
        None
    }
}

/// One direction of a line.
#[derive(Debug)]
pub(crate) struct Direction {
    octet_ns: u64,
    /// Time at which it has sent everything.
    free_ns: u64,
    /// Octets with the time of the end of the last one.
    queue: VecDeque<(u64, Vec<u8>)>,
}

impl Direction {
    pub(crate) fn new(baud: Option<u32>) -> Direction {
        let octet_ns = baud.map_or(0, |baud| BITS * 1_000_000_000 / u64::from(baud));
        Direction { octet_ns, free_ns: 0, queue: VecDeque::new() }
    }

    pub(crate) fn push(&mut self, now: u64, octets: Vec<u8>) {
        let begin = self.free_ns.max(now * NS_PER_US);
        self.free_ns = begin + self.octet_ns * octets.len() as u64;
        self.queue.push_back((self.free_ns, octets));
    }

    /// Returns the time of the next arrival.
    pub(crate) fn next(&self) -> Option<u64> {
        self.queue.front().map(|(at, _)| at.div_ceil(NS_PER_US))
    }

    /// Returns the octets that have arrived.
    pub(crate) fn pop(&mut self, now: u64) -> Option<Vec<u8>> {
        self.queue.front().filter(|(at, _)| *at <= now * NS_PER_US)?;
        self.queue.pop_front().map(|(_, octets)| octets)
    }

    pub(crate) fn clear(&mut self) {
        self.queue.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_as_in_rfc_1662() {
        assert_eq!(frame(b"123456789"), *b"\x7e123456789\x6e\x90\x7e");
        let mut receiver = Receiver::default();
        let line = [&[1, 2][..], &frame(&[0x7e, 0x11, 5]), &[1, 2, 3, FLAG]].concat();
        let found: Vec<_> = line.iter().filter_map(|octet| receiver.push(*octet)).collect();
        assert_eq!(found, [Ok(vec![0x7e, 0x11, 5]), Err(vec![1, 2, 3])]);
    }

    #[test]
    fn octets_arrive_at_the_rate_of_the_line() {
        let mut line = Direction::new(Some(1_000_000));
        line.push(100, vec![1; 10]);
        line.push(150, vec![2]);
        assert_eq!((line.next(), line.pop(199)), (Some(200), None));
        assert_eq!((line.pop(200), line.next()), (Some(vec![1; 10]), Some(210)));
    }
}

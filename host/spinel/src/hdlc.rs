//! HDLC-lite: messages on an asynchronous line (RFC 1662, 3.1 and 4.2).
//!
//! A message stands between two flags (7E). Octets with a meaning of their own are sent as 7D and
//! the octet with its sixth bit changed; those are the flag, 7D, XON, XOFF and F8. The frame check
//! sequence is the CRC-16/X.25 of RFC 1662 (C.2), least significant octet first. There are neither
//! addresses nor control octets.

/// Begins and ends a message.
const FLAG: u8 = 0x7e;
/// Precedes an octet whose sixth bit is changed.
const ESCAPE: u8 = 0x7d;
const ESCAPE_BIT: u8 = 0x20;
/// Octets that are escaped in addition to those two: XON, XOFF, and one that some parts use.
const OTHERS: [u8; 3] = [0x11, 0x13, 0xf8];
/// Longest message in octets with its frame check sequence. Frames and answers have at most 200;
/// texts of a coprocessor may be longer.
pub const MAX_MESSAGE: usize = 2_048;
const FCS_LEN: usize = 2;
const INITIAL: u16 = 0xffff;
/// Value of the register after a message with its correct frame check sequence.
const GOOD: u16 = 0xf0b8;

/// Appends a message to the octets of a line, between two flags.
pub fn encode(message: &[u8], line: &mut Vec<u8>) {
    let fcs = !message.iter().fold(INITIAL, |fcs, octet| update(fcs, *octet));
    line.push(FLAG);
    for &octet in message.iter().chain(&fcs.to_le_bytes()) {
        if octet == FLAG || octet == ESCAPE || OTHERS.contains(&octet) {
            line.extend([ESCAPE, octet ^ ESCAPE_BIT]);
        } else {
            line.push(octet);
        }
    }
    line.push(FLAG);
}

fn update(fcs: u16, octet: u8) -> u16 {
    // The polynomial x^16 + x^12 + x^5 + 1, in reverse order.
    const POLYNOMIAL: u16 = 0x8408;
    (0..8).fold(
        fcs ^ u16::from(octet),
        |fcs, _| {
            if fcs & 1 == 0 { fcs >> 1 } else { fcs >> 1 ^ POLYNOMIAL }
        },
    )
}

/// A message with a wrong frame check sequence, of fewer than three octets, or of more than
/// [`MAX_MESSAGE`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Damaged;

/// Finds the messages among the octets of a line.
#[derive(Debug)]
pub struct Decoder {
    octets: Vec<u8>,
    fcs: u16,
    is_escaped: bool,
    is_too_long: bool,
    /// The octets have been handed out.
    is_over: bool,
}

impl Decoder {
    /// Creates a decoder that has seen no octet.
    pub const fn new() -> Decoder {
        let (fcs, is_escaped, is_too_long, is_over) = (INITIAL, false, false, false);
        Decoder { octets: Vec::new(), fcs, is_escaped, is_too_long, is_over }
    }

    /// Processes an octet of the line. Returns the message that it ends, without its frame check
    /// sequence; nothing between two flags is no message.
    ///
    /// # Errors
    /// [`Damaged`]
    pub fn push(&mut self, octet: u8) -> Option<Result<&[u8], Damaged>> {
        if core::mem::take(&mut self.is_over) {
            self.clear();
        }
        match octet {
            FLAG => {
                let whole = self.octets.len().checked_sub(FCS_LEN).filter(|&len| len > 0);
                let is_good = self.fcs == GOOD && !self.is_escaped && !self.is_too_long;
                let is_empty = self.octets.is_empty() && !self.is_escaped;
                self.is_over = true;
                match whole.filter(|_| is_good).and_then(|len| self.octets.get(..len)) {
                    Some(message) => return Some(Ok(message)),
                    None if is_empty => return None,
                    None => return Some(Err(Damaged)),
                }
            }
            ESCAPE => self.is_escaped = true,
            _ => {
                let escaped = core::mem::take(&mut self.is_escaped);
                self.keep(if escaped { octet ^ ESCAPE_BIT } else { octet });
            }
        }
        None
    }

    fn keep(&mut self, octet: u8) {
        if self.octets.len() < MAX_MESSAGE {
            self.octets.push(octet);
            self.fcs = update(self.fcs, octet);
        } else {
            self.is_too_long = true;
        }
    }

    /// Forgets the octets of a message that has not ended.
    pub fn clear(&mut self) {
        self.octets.clear();
        *self = Decoder { octets: core::mem::take(&mut self.octets), ..Decoder::new() };
    }
}

impl Default for Decoder {
    fn default() -> Self {
        Decoder::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Found = Vec<Result<Vec<u8>, Damaged>>;

    fn messages(line: &[u8]) -> Found {
        let mut decoder = Decoder::new();
        let found = line
            .iter()
            .filter_map(|octet| decoder.push(*octet).map(|found| found.map(<[u8]>::to_vec)));
        found.collect()
    }

    fn line(message: &[u8]) -> Vec<u8> {
        let mut line = Vec::new();
        encode(message, &mut line);
        line
    }

    #[test]
    fn the_frame_check_sequence_is_that_of_the_catalogue() {
        // CRC-16/IBM-SDLC (X.25) of "123456789" is 0x906E.
        assert_eq!(line(b"123456789"), [b"\x7e123456789", &[0x6e, 0x90, 0x7e][..]].concat());
    }

    #[test]
    fn a_command_has_the_octets_that_a_coprocessor_reads() {
        // RESET of the stack, as OpenThread's host sends it.
        assert_eq!(line(&[0x80, 0x01, 0x02]), [0x7e, 0x80, 0x01, 0x02, 0xea, 0xf0, 0x7e]);
    }

    #[test]
    fn messages_of_all_octets_and_lengths_arrive_as_they_were_sent() {
        let all: Vec<u8> = (0..=255).collect();
        for len in 1..=all.len() {
            let sent = all.get(all.len() - len..).unwrap_or_default();
            assert_eq!(messages(&line(sent)), [Ok(sent.to_vec())]);
        }
        let longest = vec![0x7e; MAX_MESSAGE - FCS_LEN];
        assert_eq!(messages(&line(&longest)), [Ok(longest)]);
    }

    #[test]
    fn two_messages_may_share_a_flag() {
        let (mut both, second) = (line(b"one"), line(b"two"));
        both.extend(&second[1..]);
        assert_eq!(messages(&both), [Ok(b"one".to_vec()), Ok(b"two".to_vec())]);
    }

    #[test]
    fn each_changed_lost_or_added_octet_is_noticed_and_costs_no_other_message() {
        let (sent, next) = (line(b"a message \x7d \x7e"), line(b"next"));
        for index in 1..sent.len() - 1 {
            for change in 1..=255 {
                let mut changed = sent.clone();
                changed[index] ^= change;
                let found = messages(&[changed, next.clone()].concat());
                assert!(!found.contains(&Ok(b"a message \x7d \x7e".to_vec())), "{index} {change}");
                assert!(found.contains(&Err(Damaged)), "{index} {change}");
                assert_eq!(found.last(), Some(&Ok(b"next".to_vec())));
            }
            let mut without = sent.clone();
            without.remove(index);
            let mut with = sent.clone();
            with.insert(index, 0x55);
            for damaged in [without, with] {
                let found = messages(&[damaged, next.clone()].concat());
                assert_eq!(found, [Err(Damaged), Ok(b"next".to_vec())], "{index}");
            }
        }
    }

    #[test]
    fn short_unfinished_and_overlong_messages_are_damaged() {
        let next = line(b"next");
        let long = line(&[7; MAX_MESSAGE - 1]);
        let escaped = [FLAG, 1, 2, 3, ESCAPE, FLAG];
        let good = Ok(b"next".to_vec());
        for damaged in [&[FLAG, 1, FLAG][..], &[FLAG, 0, 0, FLAG], &escaped, &long, &[ESCAPE]] {
            assert_eq!(messages(&[damaged, &next].concat()), [Err(Damaged), good.clone()]);
        }
        // A check sequence alone is no message.
        assert_eq!(messages(&line(&[])), [Err(Damaged)]);
        assert_eq!(messages(&[FLAG, FLAG, FLAG]), []);
    }

    #[test]
    fn a_cleared_decoder_has_forgotten_its_octets() {
        let mut decoder = Decoder::new();
        assert!([FLAG, 1, 2, ESCAPE].iter().all(|octet| decoder.push(*octet).is_none()));
        decoder.clear();
        let found = line(b"next").iter().any(|octet| decoder.push(*octet) == Some(Ok(b"next")));
        assert!(found);
    }
}

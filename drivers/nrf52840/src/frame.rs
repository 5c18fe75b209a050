//! Frame filter and acknowledgements (IEEE 802.15.4-2015, 6.7.2 and 6.7.4).

use kinglet_radio::Filter;

const ACK_REQUEST: u8 = 1 << 5;
const BROADCAST: u16 = 0xffff;
/// Data request among MAC commands.
const DATA_REQUEST: u8 = 4;
/// Octets of the longest addressing fields with the frame control and the sequence number, the
/// longest auxiliary security header, and the command identifier after them.
pub(crate) const HEAD: usize = 38;
/// Octets up to the end of the longest destination.
pub(crate) const DESTINATION_END: usize = 13;
/// Security enabled, in the first octet of the frame control.
const SECURED: u8 = 1 << 3;
/// Octets of the key identifier, by its mode (IEEE 802.15.4-2015, 9.4.3).
const KEY_IDENTIFIER: [usize; 4] = [0, 1, 5, 9];

/// The beginning of a frame.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Head<'a> {
    octets: &'a [u8],
}

/// Result of the filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Accepted {
    /// Sequence number, if an acknowledgement is requested.
    pub(crate) ack: Option<u8>,
    /// It is a data request from this short address, or from a device without one.
    pub(crate) request: Option<Option<u16>>,
}

impl<'a> Head<'a> {
    pub(crate) const fn new(octets: &'a [u8]) -> Self {
        Head { octets }
    }

    fn octet(&self, at: usize) -> u8 {
        self.octets.get(at).copied().unwrap_or_default()
    }

    fn two(&self, at: usize) -> Option<u16> {
        let octets = self.octets.get(at..)?.first_chunk()?;
        Some(u16::from_le_bytes(*octets))
    }

    /// Returns the sequence number and the frame-pending bit of an acknowledgement.
    pub(crate) fn acknowledgement(&self) -> Option<(u8, bool)> {
        let is_ack = self.octets.len() == 3 && self.octet(0) & 7 == 2;
        is_ack.then(|| (self.octet(2), self.octet(0) & 0x10 != 0))
    }

    pub(crate) fn requests_ack(&self) -> bool {
        self.octet(0) & ACK_REQUEST != 0
    }

    pub(crate) fn sequence(&self) -> u8 {
        self.octet(2)
    }

    /// Applies the filter: beacons of the own PAN, data and commands to an own address or to all.
    pub(crate) fn accept(&self, filter: &Filter) -> Option<Accepted> {
        let kind = self.octet(0) & 7;
        let (to_mode, from_mode) = (self.octet(1) >> 2 & 3, self.octet(1) >> 6);
        let pan = self.two(3)?;
        let is_own_pan = pan == filter.pan_id || pan == BROADCAST;
        let (is_own, is_broadcast, to_len) = match (kind, to_mode) {
            (0, 0) => (true, false, 0),
            (1 | 3, 2) => {
                let to = self.two(5)?;
                let own = to == filter.short && to < 0xfffe;
                (own || to == BROADCAST, to == BROADCAST, 4)
            }
            (1 | 3, 3) => {
                let to = self.octets.get(5..)?.first_chunk::<8>()?;
                (u64::from_le_bytes(*to).to_be_bytes() == filter.extended, false, 10)
            }
            _ => return None,
        };
        if !is_own || !is_own_pan {
            return None;
        }
        let ack = (self.requests_ack() && !is_broadcast && kind != 0).then(|| self.sequence());
        Some(Accepted { ack, request: self.data_request(kind, to_len, from_mode) })
    }

    /// Returns the source of a data request. In frame versions 0 and 1 the command identifier is
    /// authenticated and never encrypted, so that it can be read behind the auxiliary security
    /// header.
    fn data_request(&self, kind: u8, to_len: usize, from_mode: u8) -> Option<Option<u16>> {
        let is_compressed = self.octet(0) & 0x40 != 0;
        let from = usize::wrapping_add(3, to_len)
            .wrapping_add(if is_compressed || from_mode == 0 { 0 } else { 2 });
        let from_len = match from_mode {
            2 => 2,
            3 => 8,
            _ => 0,
        };
        let source_end = from.wrapping_add(from_len);
        let at = source_end.wrapping_add(self.security_len(source_end)?);
        let is_request = self.octets.get(at) == Some(&DATA_REQUEST);
        (kind == 3 && is_request).then(|| self.two(from).filter(|_| from_mode == 2))
    }

    /// Returns the length of the auxiliary security header that begins at `at`, if there is one;
    /// `None` for a frame of version 2, whose command identifier is encrypted.
    fn security_len(&self, at: usize) -> Option<usize> {
        if self.octet(0) & SECURED == 0 {
            return Some(0);
        }
        let mode = usize::from(self.octet(at) >> 3 & 3);
        let is_readable = self.octet(1) >> 4 & 3 < 2;
        // Security control and frame counter precede the key identifier.
        KEY_IDENTIFIER.get(mode).filter(|_| is_readable).map(|len| len.wrapping_add(5))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILTER: Filter = Filter { pan_id: 0xabcd, short: 1, extended: [0; 8] };
    const PLAIN: [u8; 10] = [0x63, 0x88, 7, 0xcd, 0xab, 1, 0, 2, 0, 4];

    fn request(octets: &[u8]) -> Option<Option<u16>> {
        Head::new(octets).accept(&FILTER)?.request
    }

    #[test]
    fn a_data_request_is_known_with_and_without_security() {
        assert_eq!(request(&PLAIN), Some(Some(2)));
        for (mode, identifier) in [0, 1, 5, 9].into_iter().enumerate() {
            let mut octets = [0; HEAD];
            octets[..9].copy_from_slice(&PLAIN[..9]);
            (octets[0], octets[1]) = (0x6b, 0x98);
            octets[9] = 5 | (mode as u8) << 3;
            octets[14 + identifier] = DATA_REQUEST;
            let end = 15 + identifier;
            assert_eq!(request(&octets[..end]), Some(Some(2)), "mode {mode}");
            assert_eq!(request(&octets[..end - 1]), None, "mode {mode} without its last octet");
            octets[1] = 0xa8;
            assert_eq!(request(&octets[..end]), None, "mode {mode} in version 2");
        }
    }
}

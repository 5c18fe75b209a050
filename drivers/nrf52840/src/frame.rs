//! Frame filter and acknowledgements (IEEE 802.15.4-2015, 6.7.2 and 6.7.4).

use kinglet_radio::Filter;

const ACK_REQUEST: u8 = 1 << 5;
const BROADCAST: u16 = 0xffff;
/// Data request among MAC commands.
const DATA_REQUEST: u8 = 4;
/// Octets of the longest addressing fields with the frame control and the sequence number, and the
/// command identifier after them.
pub(crate) const HEAD: usize = 24;

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

    /// Returns the source of a data request.
    fn data_request(&self, kind: u8, to_len: usize, from_mode: u8) -> Option<Option<u16>> {
        let is_secured = self.octet(0) & 8 != 0;
        let is_compressed = self.octet(0) & 0x40 != 0;
        let from = usize::saturating_add(3, to_len)
            .saturating_add(if is_compressed || from_mode == 0 { 0 } else { 2 });
        let from_len = match from_mode {
            2 => 2,
            3 => 8,
            _ => 0,
        };
        let is_request =
            self.octets.get(from.saturating_add(from_len)) == Some(&DATA_REQUEST) && !is_secured;
        (kind == 3 && is_request).then(|| self.two(from).filter(|_| from_mode == 2))
    }
}

//! Values of `STREAM_RAW`: frames to send, received frames, and results of transmissions.

use crate::message::{Reader, Status};
use kinglet_radio::{Access, FCS_LEN, MAX_PSDU};

/// Bit of the frame control field: the frame is secured (IEEE 802.15.4-2015, 7.2.2.3).
const SECURITY_ENABLED: u8 = 0x08;

/// Octets of the length before a frame.
pub(crate) const LEN_OCTETS: usize = 2;

/// A frame to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outgoing<'a> {
    /// Its octets without FCS.
    pub frame: &'a [u8],
    /// Its channel.
    pub channel: u8,
    /// Channel access. The exponents of CSMA-CA are the coprocessor's own.
    pub access: Access,
    /// The channel on which the radio listens afterwards, if that is another one.
    pub channel_after: Option<u8>,
}

impl Outgoing<'_> {
    /// Returns the octets. The fields that may be left out and have their usual values are left
    /// out, because the line takes time for each octet.
    pub fn octets(&self) -> Vec<u8> {
        let len = self.frame.len() + FCS_LEN;
        let mut octets = Vec::with_capacity(len + 20);
        octets.extend((len as u16).to_le_bytes());
        octets.extend(self.frame);
        // Space of the FCS, which the radio computes.
        octets.extend([0; FCS_LEN]);
        let (backoffs, csma) = match self.access {
            Access::Immediate => (0, false),
            // Without backoffs the channel is assessed once, at once.
            Access::Cca => (0, true),
            // With none, there would be no backoff before the first assessment either.
            Access::Csma(params) => (params.max_backoffs.max(1), true),
        };
        // A frame that the coprocessor is to leave as it is has its header updated, and its
        // security processed; otherwise it would write a frame counter and encrypt.
        let secured = self.frame.first().is_some_and(|first| first & SECURITY_ENABLED != 0);
        let (retries, is_repeated) = (0, false);
        octets.extend([self.channel, backoffs, retries, csma.into(), secured.into()]);
        octets.extend([u8::from(is_repeated), u8::from(secured)]);
        if let Some(channel_after) = self.channel_after {
            // Sent without delay: a delay of zero after a base of zero.
            octets.extend([0; 8]);
            octets.push(channel_after);
        }
        octets
    }
}

/// A received frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Incoming<'a> {
    /// Its octets without FCS.
    pub frame: &'a [u8],
    /// Signal strength in dBm.
    pub rssi_dbm: i8,
    /// Link quality, 0 to 255; 0 where the coprocessor does not measure it.
    pub lqi: u8,
}

impl<'a> Incoming<'a> {
    /// Reads a received frame; `None` for one with an error, or without space for its FCS.
    pub fn parse(value: &'a [u8]) -> Option<Incoming<'a>> {
        let mut reader = Reader(value);
        let psdu = reader.data().filter(|psdu| psdu.len() <= MAX_PSDU)?;
        let frame = psdu.get(..psdu.len().checked_sub(FCS_LEN)?).filter(|it| !it.is_empty())?;
        let rssi_dbm = reader.i8()?;
        let (_noise_dbm, _flags) = (reader.i8()?, reader.u16()?);
        let mut phy = Reader(reader.data()?);
        let (_channel, lqi) = (phy.u8()?, phy.u8()?);
        // A coprocessor of an early version has no error here.
        let vendor = reader.data();
        let error = vendor.and_then(|vendor| Reader(vendor).packed()).unwrap_or_default();
        (error == 0).then_some(Incoming { frame, rssi_dbm, lqi })
    }
}

/// Result of a transmission: the value of `LAST_STATUS` with the TID of its command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// The status.
    pub status: Status,
    /// Frame-pending bit of the acknowledgement.
    pub frame_pending: bool,
    /// Octets of the acknowledgement with its FCS; `None` without one.
    pub ack_len: Option<usize>,
}

impl Outcome {
    /// Reads a result.
    pub fn parse(value: &[u8]) -> Option<Outcome> {
        let mut reader = Reader(value);
        let status = Status(reader.packed()?);
        let frame_pending = reader.bool().unwrap_or_default();
        let _is_header_updated = reader.bool();
        let ack_len = reader.data().map(<[u8]>::len).filter(|len| *len > 0);
        Some(Outcome { status, frame_pending, ack_len })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kinglet_radio::CsmaParams;

    const FRAME: &[u8] = &[0x41, 0x88, 7];

    fn outgoing(access: Access) -> Outgoing<'static> {
        Outgoing { frame: FRAME, channel: 15, access, channel_after: None }
    }

    #[test]
    fn a_frame_is_sent_once_and_as_it_is() {
        let octets = outgoing(Access::Immediate).octets();
        assert_eq!(octets, [5, 0, 0x41, 0x88, 7, 0, 0, 15, 0, 0, 0, 0, 0, 0]);
        let secured = Outgoing { frame: &[0x49, 0x98, 7], ..outgoing(Access::Cca) };
        assert_eq!(secured.octets()[7..], [15, 0, 0, 1, 1, 0, 1]);
    }

    #[test]
    fn channel_access_is_as_requested() {
        let of = |access| outgoing(access).octets()[8..11].to_vec();
        let csma =
            |max_backoffs| Access::Csma(CsmaParams { max_backoffs, ..CsmaParams::default() });
        assert_eq!(of(Access::Cca), [0, 0, 1]);
        assert_eq!(of(csma(4)), [4, 0, 1]);
        assert_eq!(of(csma(0)), [1, 0, 1], "there is a backoff");
    }

    #[test]
    fn the_channel_afterwards_is_the_last_field() {
        let other = Outgoing { channel_after: Some(26), ..outgoing(Access::Immediate) };
        assert_eq!(other.octets()[14..], [0, 0, 0, 0, 0, 0, 0, 0, 26]);
    }

    /// A frame as OpenThread's simulated coprocessor reports it.
    fn report(psdu: &[u8], error: u8) -> Vec<u8> {
        let mut value = (psdu.len() as u16).to_le_bytes().to_vec();
        value.extend(psdu);
        value.extend([0xec, 0x80, 0, 0, 10, 0, 15, 99, 1, 2, 3, 4, 5, 6, 7, 8]);
        value.extend([1, 0, error, 5, 0, 0, 0, 0, 0, 0]);
        value
    }

    #[test]
    fn a_received_frame_has_strength_and_quality() {
        let value = report(&[0x41, 0x88, 7, 0xaa, 0xbb], 0);
        let incoming = Incoming { frame: FRAME, rssi_dbm: -20, lqi: 99 };
        assert_eq!(Incoming::parse(&value), Some(incoming));
        // Without the parts after the physical layer's.
        assert_eq!(Incoming::parse(&value[..23]), Some(incoming));
    }

    #[test]
    fn frames_with_errors_and_truncated_ones_are_none() {
        let good = report(&[0x41, 0x88, 7, 0xaa, 0xbb], 0);
        for len in 0..15 {
            assert_eq!(Incoming::parse(&good[..len]), None, "{len}");
        }
        for bad in [report(&[1, 2, 3, 4], 1), report(&[1, 2], 0), report(&[0; 128], 0)] {
            assert_eq!(Incoming::parse(&bad), None);
        }
    }

    #[test]
    fn the_result_has_the_bit_of_the_acknowledgement() {
        let ack = [[0, 1, 0].as_slice(), &report(&[0x12, 0, 7, 0xaa, 0xbb], 0)].concat();
        let outcome = Outcome { status: Status::OK, frame_pending: true, ack_len: Some(5) };
        assert_eq!(Outcome::parse(&ack), Some(outcome));
        let none = Outcome { status: Status::NO_ACK, frame_pending: false, ack_len: None };
        assert_eq!(Outcome::parse(&[17, 0, 0]), Some(none));
        assert_eq!(Outcome::parse(&[17]), Some(none));
        assert_eq!(Outcome::parse(&[]), None);
    }
}

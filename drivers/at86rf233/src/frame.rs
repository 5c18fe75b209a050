//! The fields of a frame that the chip decides by as well.

/// Bit of the frame control: an acknowledgement is requested.
const ACK_REQUEST: u8 = 1 << 5;

/// Returns whether the frame requests an acknowledgement: TX_ARET waits for one then.
pub(crate) fn requests_ack(frame: &[u8]) -> bool {
    frame.first().is_some_and(|control| control & ACK_REQUEST != 0)
}

/// Returns whether RX_AACK acknowledges the frame, which has passed its filter.
pub(crate) fn is_acknowledged(frame: &[u8]) -> bool {
    let [low, high, _, rest @ ..] = frame else { return false };
    let has_short_destination = high >> 2 & 3 == 2;
    let is_broadcast = has_short_destination && matches!(rest, [_, _, 0xff, 0xff, ..]);
    // Data and MAC commands.
    matches!(low & 7, 1 | 3) && low & ACK_REQUEST != 0 && !is_broadcast
}

//! ACK Rate Request (draft-ietf-tcpm-ack-rate-request-11).
//!
//! The receiving side honours each request that comes with text. The sending side requests an
//! acknowledgment of each segment where less than two full ones can be in flight, because a delayed
//! acknowledgment then stops the transfer, and the usual rate when that is over.

use super::flags::ConnFlags;
use super::{Connection, Params};
use crate::congestion::Controller;
use crate::features::Features;
use crate::send::recovery::LossDetection;
use crate::send::scoreboard::Scoreboard;
use kinglet_wire::tcp::{ACK_RATE_REQUEST_LEN, AckRate, Header, Segment};

#[expect(clippy::cast_possible_truncation, reason = "eight")]
const REQUEST_LEN: u32 = ACK_RATE_REQUEST_LEN as u32;

impl<C: Controller, A: LossDetection, F: Features, B: Scoreboard + ?Sized> Connection<C, A, F, B> {
    /// Returns whether the handshake offers the option, or both sides use it after that.
    pub(super) fn uses_ack_rate(&self) -> bool {
        F::ACK_RATE && self.params.has(Params::ACK_RATE)
    }

    /// Honours a request of the peer: 0 requests one acknowledgment at once; `n` > 0 requests one
    /// for every `n` full segments, from the next segment on.
    pub(super) fn take_ack_rate(&mut self, segment: &Segment<'_>) {
        let Some(AckRate::Request(rate)) = segment.header.options.ack_rate else { return };
        if !self.uses_ack_rate() || segment.payload.is_empty() {
            return;
        }
        if rate > 0 {
            self.params.ack_every = rate;
        }
        if rate < 2 {
            self.rcv.ack.now = true;
        }
    }

    /// Returns whether less than two full segments can be in flight.
    fn needs_each_ack(&self) -> bool {
        // Constant pieces take no octets of the ring.
        let held = self.snd.tx.capacity().max(self.queue().len());
        let most = self.snd.window(&self.params).min(self.snd.wnd).min(held);
        most < u32::from(self.snd.mss).saturating_mul(2)
    }

    /// Returns the octets that the next segment leaves to a request, which is 0 if the peer knows
    /// the rate.
    pub(super) fn request_len(&self) -> u32 {
        let changes =
            self.uses_ack_rate() && self.needs_each_ack() != self.flags.has(ConnFlags::EACH_ACK);
        if changes { REQUEST_LEN } else { 0 }
    }

    /// Notes that a segment is sent again, as the peer may not have received the request for each
    /// acknowledgment. If the request for the usual rate is lost, the peer keeps acknowledging each
    /// segment.
    pub(super) fn doubt_request(&mut self) {
        if self.uses_ack_rate() && self.needs_each_ack() {
            self.flags.put(ConnFlags::EACH_ACK, false);
        }
    }

    /// Adds a request to a segment with `len` octets of payload if it needs one and the option
    /// fits. Full segments need one only if the rate changes; the peer may delay the acknowledgment
    /// of others.
    pub(super) fn request_acks(&mut self, len: u32, header: &mut Header) {
        if !self.uses_ack_rate() || len == 0 {
            return;
        }
        let each = self.needs_each_ack();
        let fits = len.saturating_add(REQUEST_LEN) <= self.segment_room();
        if fits && (each || self.flags.has(ConnFlags::EACH_ACK)) {
            header.options.ack_rate = Some(AckRate::Request(if each { 1 } else { 2 }));
            self.flags.put(ConnFlags::EACH_ACK, each);
        }
    }
}

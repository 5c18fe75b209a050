//! The receiving half of a connection: the receive sequence variables, the received text, and the
//! acknowledgments owed for it.
//!
//! Arriving segments (`input.rs`) and acknowledgments (`fill_header` in `output.rs`) change it.
//! Other code that owes the peer an acknowledgment requests it in `ack`.

use super::{Setup, TIMESTAMPS_LEN};
use crate::features::Features;
use crate::paws::Paws;
use crate::recv::ack::AckState;
use crate::recv::buffer::ReceiveBuffer;
use crate::seq::SeqNum;
use kinglet_time::Instant;
use kinglet_wire::tcp::Header;

/// Receive sequence variables, and all state that only receiving uses.
#[repr(C)] // See `Connection`.
pub(super) struct Receiving<F: Features> {
    /// Largest payload received: the peer's notion of a full segment.
    pub(super) mss: u16,
    /// TS.Recent
    pub(super) paws: Option<Paws>,
    pub(super) ack: AckState,
    pub(super) nxt: SeqNum,
    /// Advertised right edge; RCV.WND is its distance from `nxt`.
    pub(super) adv: SeqNum,
    pub(super) irs: SeqNum,
    /// Sequence number of the peer's FIN, which may have come out of order, if it is known. In
    /// SYN-RECEIVED: the end of the text that has come with its SYN.
    pub(super) fin_at: SeqNum,
    pub(super) rx: ReceiveBuffer<F::Place>,
}

impl<F: Features> Receiving<F> {
    /// Creates the receiving half before anything has arrived.
    pub(super) fn new(setup: &Setup) -> Self {
        let zero = SeqNum::new(0);
        Receiving {
            mss: 0,
            paws: None,
            ack: AckState::NONE,
            nxt: zero,
            adv: zero,
            // So that nothing counts as received before the peer's SYN arrives.
            irs: zero.minus(1),
            fin_at: zero,
            rx: ReceiveBuffer::new(setup.receive),
        }
    }

    /// Returns RCV.WND.
    pub(super) fn wnd(&self) -> u32 {
        self.adv.since(self.nxt)
    }

    /// Returns the octets of the timestamps option in every segment.
    pub(super) fn timestamps_len(&self) -> u16 {
        if self.paws.is_some() { TIMESTAMPS_LEN } else { 0 }
    }

    /// Returns Last.ACK.sent of RFC 7323 §4.3.
    pub(super) fn last_ack_sent(&self) -> SeqNum {
        self.nxt.minus(self.ack.unacked())
    }

    /// Returns the octets that the unit of the window field can add to a window.
    fn slack(&self) -> u32 {
        (1_u32 << self.rx.shift()).saturating_sub(1)
    }

    /// Returns the window field of a header that leaves `left` octets to the next acknowledgment.
    //= rfc7323#2.3-6
    pub(super) fn window_field(&self, left: u32) -> u16 {
        let wnd = self.wnd().saturating_add(left);
        // Rounds up: the ring keeps the slack free (see `limit`), and rounding down would retract
        // the edge.
        let rounded = wnd.saturating_add(self.slack());
        u16::try_from(rounded >> self.rx.shift()).unwrap_or(u16::MAX)
    }

    /// Returns the right edge of the text that is accepted: no window field, which rounds up, has
    /// advertised more (RFC 7323 §2.4).
    //= rfc7323#2.4-2 rfc7323#2.4-3
    pub(super) fn edge(&self) -> SeqNum {
        self.nxt.plus(self.wnd().saturating_add(self.slack()).min(self.rx.free()))
    }

    /// Remembers a segment's timestamp, which the next acknowledgment echoes (RFC 7323 §4.3).
    //= rfc7323#3.2-9 rfc7323#4.3-1 rfc7323#4.3-2 rfc7323#4.3-3
    pub(super) fn remember_timestamp(&mut self, now: Instant, header: &Header) {
        let last_ack_sent = self.last_ack_sent();
        if let (Some(paws), Some(timestamps)) = (&mut self.paws, header.options.timestamps) {
            paws.update(now, timestamps.val, SeqNum::new(header.seq), last_ack_sent);
        }
    }

    /// Returns the largest right edge that free space allows.
    #[inline(never)]
    pub(super) fn limit(&self) -> SeqNum {
        let slack = self.slack();
        let largest = u32::from(u16::MAX) << self.rx.shift();
        self.nxt.plus(self.rx.free().saturating_sub(slack).min(largest.saturating_sub(slack)))
    }

    /// Advances the edge by at least a segment or half the buffer, or not at all (RFC 9293
    /// §3.8.6.2.2).
    //= rfc9293#MUST-39
    pub(super) fn advance_edge(&mut self, mss: u16) {
        let limit = self.limit();
        if limit.since(self.adv) >= self.least_advance(mss) {
            self.adv = limit;
        }
    }

    pub(super) fn least_advance(&self, mss: u16) -> u32 {
        (self.rx.capacity() / 2).min(u32::from(mss)).max(1)
    }
}

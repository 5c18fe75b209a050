//! Gaps between the segments of a window (RFC 9002 §7.7): a burst is one segment. And what a window
//! is cut into after a timeout.

use super::{Connection, Params};
use crate::congestion::Controller;
use crate::send::flight::SegmentRecord;
use crate::timer::Timer;
use kinglet_mem::Array;
use kinglet_time::{Duration, Instant};

/// Octets that fit into one frame of IEEE 802.15.4 with every header.
pub(super) const PIECE: u16 = 64;

impl<C: Controller, R: Array<SegmentRecord>> Connection<C, R> {
    /// `len` octets leave, for the first time or not. Before the first sample nothing is known of
    /// the path, and the initial window goes as ever.
    pub(super) fn pace(&mut self, now: Instant, len: u32) {
        let srtt = self.rtt.srtt();
        if !self.params.has(Params::PACING) || srtt == Duration::ZERO || len == 0 {
            return;
        }
        // What the peer takes and what there is bound the rate as much as cwnd does.
        let queued = self.tx.end().since(self.tx.start());
        let window = self.window().min(self.snd.max_wnd()).min(queued).max(len);
        // N = 1.25, so that the window is used up although the gaps vary.
        let share = srtt.as_micros().saturating_mul(u64::from(len)).saturating_mul(4);
        let gap = share.checked_div(u64::from(window).saturating_mul(5)).unwrap_or(0);
        self.pace.set(now, Duration::from_micros(gap.max(self.path_gap(len))));
    }

    /// Nodes three hops apart can send at once (TCPlp §7.2), so a path of five hops carries 5/3
    /// segments. More in a round trip are no faster: they wait in relays or collide on the way. The
    /// shortest round trip counts, as the smoothed one contains these gaps if the answers are
    /// fetched after the last segment.
    fn path_gap(&self, len: u32) -> u64 {
        let path = u64::from(self.recovery.rack.min_rtt_us).saturating_mul(u64::from(len));
        let segments = u64::from(self.mss).saturating_mul(5);
        path.saturating_mul(3).checked_div(segments).unwrap_or(0)
    }

    pub(super) fn end_gap(&mut self, now: Instant) {
        if self.pace.is_due(now) {
            self.pace.clear();
        }
    }

    /// Whether the gap lasts. With nothing in flight there is nothing to keep a distance from.
    pub(super) fn is_paced(&mut self, now: Instant) -> bool {
        self.end_gap(now);
        self.pace.is_set() && self.flight() > 0
    }

    /// What of `lost` octets goes next, if a segment has room for `room` and the window for
    /// `allowed`. From the second timeout in a row on, the loss window, which RFC 5681 §3.1 counts
    /// in octets, leaves in pieces: then one lost packet, or one lost acknowledgment, does not cost
    /// the next timeout, which is twice as long (RFC 9002 §6.2.4 has two packets for it as well).
    /// The first two are so short that a frame holds them, because a packet of many frames is lost
    /// with any of them. The rest follows at once, for losses that come in bursts; with pacing it
    /// is two halves, a gap apart.
    pub(super) fn loss_room(&self, lost: u32, allowed: u32, room: u32) -> u32 {
        if self.backoff < 2 {
            return room;
        }
        let inflight = self.inflight();
        let whole = room.min(if inflight == 0 { lost } else { room });
        let piece = u32::from(PIECE);
        if self.params.has(Params::PACING) {
            let half = if inflight == 0 { whole.div_ceil(2) } else { self.window() / 2 };
            half.max(1).min(room)
        } else if whole < 4 * piece {
            // The pieces of a segment of two frames would be three frames.
            room
        } else if inflight <= piece {
            piece
        } else {
            room.min(allowed.max(piece))
        }
    }

    /// The end of the gap, if anything waits for it that the window allows.
    pub(super) fn next_paced(&self) -> Timer {
        if !self.pace.is_set() || self.flight() == 0 {
            return Timer::OFF;
        }
        let room = self.snd.una.plus(self.snd.wnd).since(self.snd.nxt);
        let room = room.min(self.window().saturating_sub(self.inflight()));
        let waiting = self.recovery.pending
            || self.recovery.flight.first_lost().is_some()
            || (room > 0 && (self.unsent() > 0 || self.fin_unsent()));
        if waiting { self.pace } else { Timer::OFF }
    }
}

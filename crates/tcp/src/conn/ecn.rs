//! Explicit congestion notification (RFC 3168 §6.1).
//!
//! The receiving side echoes a mark (CE) with ECE in all acknowledgments until the peer sends CWR.
//! The sending side responds to ECE as to a loss, once per window of data, but retransmits nothing.
//! Only new data is sent as ECN-capable: no SYN, no bare acknowledgment, no probe and no
//! retransmission. RFC 8311 allows experiments that go beyond that; there are none here.

use super::flags::ConnFlags;
use super::{Connection, Params};
use crate::congestion::Controller;
use crate::features::Features;
use crate::send::recovery::LossDetection;
use crate::send::scoreboard::Scoreboard;
use kinglet_wire::Ecn;
use kinglet_wire::tcp::{Flags, Header, Segment};

/// ECN state of a connection, in one octet.
//= rfc9293#SHLD-8
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct EcnState(u8);

impl EcnState {
    /// The handshake has agreed upon ECN: marks are echoed.
    const ON: u8 = 1;
    /// Data may also be sent as ECN-capable.
    const CAPABLE: u8 = 2;
    /// ECE is to be sent.
    const ECHO: u8 = 4;
    /// CWR is to be sent with the next new data.
    const REDUCED: u8 = 8;
    /// New data waits for the retransmission timer.
    const HOLD: u8 = 16;

    const fn new(on: bool, capable: bool) -> EcnState {
        match (on, capable) {
            (false, _) => EcnState(0),
            (true, false) => EcnState(Self::ON),
            (true, true) => EcnState(Self::ON | Self::CAPABLE),
        }
    }

    const fn has(self, bit: u8) -> bool {
        self.0 & bit != 0
    }

    const fn put(&mut self, bit: u8, to: bool) {
        self.0 = if to { self.0 | bit } else { self.0 & !bit };
    }
}

/// Returns whether a SYN or SYN-ACK with these flags and the settings of this side agree upon ECN.
/// A request of the peer is always accepted; if this side has `asked`, by opening, its settings
/// must enable ECN.
//= rfc3168#6.1.1-1 rfc3168#6.1.1-2
pub(super) fn agrees<F: Features>(flags: Flags, params: &Params, asked: bool) -> bool {
    F::ECN && is_setup(flags) && (!asked || params.has(Params::ECN))
}

/// Returns whether a SYN or SYN-ACK is an ECN-setup one (§6.1.1).
//= rfc3168#6.1.1-1 rfc3168#6.1.1-3 rfc3168#6.1.1-5 rfc3168#6.1.1-9
pub(super) fn is_setup(flags: Flags) -> bool {
    // A SYN-ACK that reflects the flags of the SYN is none (§6.1.1.2).
    let answers = flags.contains(Flags::ACK);
    flags.contains(Flags::ECE) && flags.contains(Flags::CWR) != answers
}

/// Returns the flags of a SYN: one that `asks` is an ECN-setup one (§6.1.1).
//= rfc3168#6.1.1-8
pub(crate) fn syn_flags(asks: bool) -> Flags {
    if asks { Flags::SYN | Flags::ECE | Flags::CWR } else { Flags::SYN }
}

/// Returns the flags of a SYN-ACK: one that `agrees` is an ECN-setup one (§6.1.1).
//= rfc3168#6.1.1-8
pub(crate) fn syn_ack_flags(agrees: bool) -> Flags {
    let echo = if agrees { Flags::ECE } else { Flags::NONE };
    Flags::SYN | Flags::ACK | echo
}

impl<C: Controller, A: LossDetection, F: Features, B: Scoreboard + ?Sized> Connection<C, A, F, B> {
    /// Returns the flags of this side's SYN, or of its SYN-ACK if it is `answering`. The first
    /// retransmission of the SYN still requests ECN, as losses happen; later ones do not, in case
    /// the path drops SYNs that request it (§6.1.1.1).
    pub(super) fn setup_flags(&self, answering: bool) -> Flags {
        if answering {
            syn_ack_flags(self.ecn_agreed())
        } else {
            syn_flags(F::ECN && self.params.has(Params::ECN) && self.asks_still())
        }
    }

    fn ecn_has(&self, bit: u8) -> bool {
        F::ECN && self.ecn.has(bit)
    }

    fn asks_still(&self) -> bool {
        self.snd.tries < 2
    }

    /// Starts ECN if the handshake has `agreed` upon it.
    //= rfc3168#6.1.1-4
    pub(super) fn begin_ecn(&mut self, agreed: bool) {
        // §6.1.1: after a SYN that has not requested ECN, no data is ECN-capable.
        self.ecn = EcnState::new(agreed, self.asks_still());
    }

    /// Takes the mark of a segment inside the window: only marks on data count (§6.1.5).
    //= rfc3168#6.1.1-7 rfc3168#6.1.5-2 rfc3168#6.1.6-2
    pub(super) fn take_mark(&mut self, ecn: Ecn, segment: &Segment<'_>) {
        if self.ecn_has(EcnState::ON) && !segment.payload.is_empty() {
            self.handle_mark(ecn == Ecn::Ce, segment.header.flags.contains(Flags::CWR));
        }
    }

    /// Handles a mark (§6.1.3), which is echoed until the peer sends CWR (`over`).
    #[inline(never)]
    fn handle_mark(&mut self, marked: bool, over: bool) {
        // A sender that has halved its window, or is about to, must not wait for a delayed ACK too.
        self.rcv.ack.now |= over || (marked && !self.ecn_has(EcnState::ECHO));
        if marked || over {
            self.ecn.put(EcnState::ECHO, marked);
        }
    }

    /// Returns whether cwnd may grow with an acknowledgment: not in response to ECE (§6.1.2).
    //= rfc3168#6.1.2-2
    pub(super) fn may_grow(&self, header: &Header) -> bool {
        !self.is_echo(header)
    }

    /// Returns whether this acknowledgment reports a mark.
    pub(super) fn is_echo(&self, header: &Header) -> bool {
        let bits = header.flags;
        self.ecn_has(EcnState::CAPABLE) && bits.contains(Flags::ECE) && !bits.contains(Flags::SYN)
    }

    /// Responds to a reported mark as to a loss, but once per window of data (§6.1.2): the last CWR
    /// was the response to all marks of earlier data. `flight` was outstanding before the
    /// acknowledgment.
    //= rfc3168#5-2 rfc3168#6.1.2-3
    pub(super) fn take_echo(&mut self, header: &Header, flight: u32) {
        if !self.ecn_has(EcnState::CAPABLE) {
            return;
        }
        self.snd.cwr_point = self.snd.cwr_point.later(self.snd.una.minus(1));
        let echo = self.is_echo(header);
        if echo {
            // The last reduction was needed, whatever its cause, and is not undone.
            self.snd.recovery.take_undo();
        }
        let due = echo && self.snd.recovery.is_open() && self.snd.una.after(self.snd.cwr_point);
        // A window of one segment cannot shrink, so the sender slows down to one per RTO.
        self.ecn.put(EcnState::HOLD, due && self.snd.cc.window() <= u32::from(self.snd.mss));
        if due {
            self.counters.marks = self.counters.marks.wrapping_add(1);
            self.snd.cc.on_mark(flight);
            self.begin_reduction();
        }
    }

    /// Begins a reduction of the window. Returns `false` if the window has been reduced already for
    /// the data in flight (§6.1.2); otherwise the next new data carries CWR.
    pub(super) fn begin_reduction(&mut self) -> bool {
        if !self.ecn_has(EcnState::CAPABLE) {
            return true;
        }
        if self.snd.una.before(self.snd.cwr_point) {
            return false;
        }
        self.snd.cwr_point = self.snd.nxt;
        self.ecn.put(EcnState::REDUCED, true);
        true
    }

    /// Returns whether data in flight was sent before a reduction.
    pub(super) fn is_reduced(&self) -> bool {
        self.ecn_has(EcnState::CAPABLE)
            && self.snd.flight() > 0
            && self.snd.una.before(self.snd.cwr_point)
    }

    /// Returns whether new data waits for the timer that `arm_persist` starts.
    //= rfc3168#6.1.2-3
    pub(super) fn held_back(&mut self) -> bool {
        if self.flags.has(ConnFlags::PROBE_DUE) {
            self.ecn.put(EcnState::HOLD, false);
        }
        self.ecn_has(EcnState::HOLD) && self.snd.flight() == 0
    }

    /// Lets new data leave, as nothing was sent for long enough.
    pub(super) fn end_hold(&mut self) {
        self.ecn.put(EcnState::HOLD, false);
    }

    /// Returns ECE for a segment that acknowledges, if a mark is to be echoed.
    pub(super) fn echo(&self) -> Flags {
        if self.ecn_has(EcnState::ECHO) { Flags::ECE } else { Flags::NONE }
    }

    /// Returns codepoint and flag of a segment of `len` octets, perhaps a `retransmission`: only
    /// new data is ECN-capable, and no probe of a closed window (§6.1.4 to §6.1.6).
    //= rfc3168#5-1 rfc3168#5.2-1 rfc3168#6.1.1-6 rfc3168#6.1.2-1 rfc3168#6.1.2-4 rfc3168#6.1.2-5
    //= rfc3168#6.1.4-1 rfc3168#6.1.5-1 rfc3168#6.1.6-1
    pub(super) fn mark_out(&mut self, len: u32, retransmission: bool) -> (Ecn, Flags) {
        let plain = retransmission || len == 0 || self.flags.has(ConnFlags::PROBING);
        if plain || !self.ecn_has(EcnState::CAPABLE) {
            return (Ecn::NotEct, Flags::NONE);
        }
        let reduced = self.ecn_has(EcnState::REDUCED);
        self.ecn.put(EcnState::REDUCED, false);
        (Ecn::Ect0, if reduced { Flags::CWR } else { Flags::NONE })
    }

    /// Returns whether both sides have agreed upon ECN.
    pub(super) fn ecn_agreed(&self) -> bool {
        self.ecn_has(EcnState::ON)
    }
}

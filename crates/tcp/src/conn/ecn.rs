//! Explicit congestion notification (RFC 3168 §6.1).
//!
//! The receiving side echoes a mark (CE) with ECE in all that it sends until the peer says CWR. The
//! sending side takes ECE for a loss without a loss, once per window of data. New data alone is
//! sent as ECN-capable: no SYN, no bare acknowledgment, no probe, nothing that is sent again.
//! RFC 8311 would allow experiments with more than that; this is none.

use super::flags::ConnFlags;
use super::{Connection, Params};
use crate::congestion::Controller;
use crate::features::Features;
use crate::send::recovery::LossDetection;
use crate::send::scoreboard::Scoreboard;
use kinglet_wire::Ecn;
use kinglet_wire::tcp::{Flags, Header, Segment};

/// What a connection has to remember, in one octet.
//= rfc9293#SHLD-8
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct EcnState(u8);

impl EcnState {
    /// The handshake has agreed: marks are echoed.
    const ON: u8 = 1;
    /// And data may be sent as ECN-capable.
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

/// Whether a SYN or SYN-ACK with these flags and the settings of this side agree upon ECN. Whoever
/// asks for it gets it; when this side has `asked`, by opening, its settings have to want it.
//= rfc3168#6.1.1-1 rfc3168#6.1.1-2
pub(super) fn agrees<F: Features>(flags: Flags, params: &Params, asked: bool) -> bool {
    F::ECN && is_setup(flags) && (!asked || params.has(Params::ECN))
}

/// Whether a SYN or SYN-ACK is an ECN-setup one (§6.1.1).
//= rfc3168#6.1.1-1 rfc3168#6.1.1-3 rfc3168#6.1.1-5 rfc3168#6.1.1-9
pub(super) fn is_setup(flags: Flags) -> bool {
    // A SYN-ACK that reflects the flags of the SYN is none (§6.1.1.2).
    let answers = flags.contains(Flags::ACK);
    flags.contains(Flags::ECE) && flags.contains(Flags::CWR) != answers
}

/// Flags of a SYN: one that `asks` is an ECN-setup one (§6.1.1).
//= rfc3168#6.1.1-8
pub(crate) fn syn_flags(asks: bool) -> Flags {
    if asks { Flags::SYN | Flags::ECE | Flags::CWR } else { Flags::SYN }
}

/// Flags of a SYN-ACK: one that `agrees` is an ECN-setup one (§6.1.1).
//= rfc3168#6.1.1-8
pub(crate) fn syn_ack_flags(agrees: bool) -> Flags {
    let echo = if agrees { Flags::ECE } else { Flags::NONE };
    Flags::SYN | Flags::ACK | echo
}

impl<C: Controller, A: LossDetection, F: Features, B: Scoreboard + ?Sized> Connection<C, A, F, B> {
    /// Flags of this side's SYN, or of its SYN-ACK when it is `answering`. One retransmission of
    /// the SYN still asks, as losses happen; later ones do not, in case something on the path drops
    /// what asks (§6.1.1.1).
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

    /// The handshake has agreed, or not.
    //= rfc3168#6.1.1-4
    pub(super) fn begin_ecn(&mut self, agreed: bool) {
        // §6.1.1: after a SYN that has not asked, no data is capable.
        self.ecn = EcnState::new(agreed, self.asks_still());
    }

    /// A segment has come that was inside the window: marks on data alone count (§6.1.5).
    //= rfc3168#6.1.1-7 rfc3168#6.1.5-2 rfc3168#6.1.6-2
    pub(super) fn take_mark(&mut self, ecn: Ecn, segment: &Segment<'_>) {
        if self.ecn_has(EcnState::ON) && !segment.payload.is_empty() {
            self.handle_mark(ecn == Ecn::Ce, segment.header.flags.contains(Flags::CWR));
        }
    }

    /// §6.1.3: marks are echoed until CWR, which says that it is `over`.
    #[inline(never)]
    fn handle_mark(&mut self, marked: bool, over: bool) {
        // A sender that has halved its window, or is about to, must not wait for a delayed ACK too.
        self.rcv.ack.now |= over || (marked && !self.ecn_has(EcnState::ECHO));
        if marked || over {
            self.ecn.put(EcnState::ECHO, marked);
        }
    }

    /// Whether cwnd may grow with an acknowledgment: not in response to ECE (§6.1.2).
    //= rfc3168#6.1.2-2
    pub(super) fn may_grow(&self, header: &Header) -> bool {
        !self.is_echo(header)
    }

    /// Whether this acknowledgment reports a mark.
    pub(super) fn is_echo(&self, header: &Header) -> bool {
        let bits = header.flags;
        self.ecn_has(EcnState::CAPABLE) && bits.contains(Flags::ECE) && !bits.contains(Flags::SYN)
    }

    /// §6.1.2: reacts to a reported mark as to a loss, but once per window of data: what lies
    /// before the last CWR was answered by it. `flight` was outstanding before the acknowledgment.
    //= rfc3168#5-2 rfc3168#6.1.2-3
    pub(super) fn take_echo(&mut self, header: &Header, flight: u32) {
        if !self.ecn_has(EcnState::CAPABLE) {
            return;
        }
        self.snd.cwr_point = self.snd.cwr_point.later(self.snd.una.minus(1));
        let echo = self.is_echo(header);
        if echo {
            // Whatever was reduced for, there was need.
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

    /// The window is to be reduced. Answers `false` if that has happened already for the data that
    /// is in flight (§6.1.2); else the next new data tells the peer.
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

    /// Whether the data in flight is from before a reduction.
    pub(super) fn is_reduced(&self) -> bool {
        self.ecn_has(EcnState::CAPABLE)
            && self.snd.flight() > 0
            && self.snd.una.before(self.snd.cwr_point)
    }

    /// Whether new data waits for the timer that `arm_persist` starts.
    //= rfc3168#6.1.2-3
    pub(super) fn held_back(&mut self) -> bool {
        if self.flags.has(ConnFlags::PROBE_DUE) {
            self.ecn.put(EcnState::HOLD, false);
        }
        self.ecn_has(EcnState::HOLD) && self.snd.flight() == 0
    }

    /// Nothing was sent for long enough.
    pub(super) fn end_hold(&mut self) {
        self.ecn.put(EcnState::HOLD, false);
    }

    /// ECE for a segment that acknowledges.
    pub(super) fn echo(&self) -> Flags {
        if self.ecn_has(EcnState::ECHO) { Flags::ECE } else { Flags::NONE }
    }

    /// Codepoint and flag of a segment of `len` octets, perhaps a `retransmission`: new data
    /// alone is capable, and no probe of a closed window (§6.1.4 to §6.1.6).
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

    /// Whether both sides have agreed upon ECN.
    pub(super) fn ecn_agreed(&self) -> bool {
        self.ecn_has(EcnState::ON)
    }
}

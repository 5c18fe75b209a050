//! RX_AACK: reception, frame filter, acknowledgement (231, 7.2.3).

use super::registers::{
    AACK_ACK_TIME, AACK_DIS_ACK, AACK_I_AM_COORD, AACK_PROM_MODE, AACK_SET_PD, CSMA_SEED_1,
    IEEE_ADDR_0, IRQ_AMI, IRQ_RX_START, IRQ_TRX_END, PAN_ID_0, RSSI_BASE_DBM, RX_SAFE_MODE,
    SENSITIVITY_DBM, SHORT_ADDR_0, TRX_CTRL_2, XAH_CTRL_1, trac,
};
use super::{Activity, Chip, State};
use crate::air::{OCTET_US, SHR_US, Sent, Signal, TURNAROUND_US, with_fcs};
use kinglet_wire::ieee802154::fcs_is_right;

/// Share of the preamble that may pass before the receiver is on: two of its four octets. The data
/// sheet gives no figure.
const LATE_US: u64 = 64;
const BROADCAST: u16 = 0xffff;

/// Addressing fields of a frame (IEEE 802.15.4-2006, 7.2).
#[derive(Debug, Default)]
struct Header {
    kind: u8,
    version: u8,
    requests_ack: bool,
    destination_pan: Option<u16>,
    destination: Option<u64>,
    is_extended: bool,
    source_pan: Option<u16>,
    /// Octets up to the end of the addresses.
    len: usize,
}

/// Reads the addressing fields; `None` if the frame is too short for them.
fn header(psdu: &[u8]) -> Option<Header> {
    let [low, high, _, rest @ ..] = psdu else { return None };
    let (destination_mode, source_mode) = (high >> 2 & 3, high >> 6);
    let width = |mode: u8| match mode {
        2 => 2,
        3 => 8,
        _ => 0,
    };
    let number = |octets: &[u8]| octets.iter().rev().fold(0, |n, o| n << 8 | u64::from(*o));
    let mut found = Header {
        kind: low & 7,
        version: high >> 4 & 3,
        requests_ack: low & 0x20 != 0,
        is_extended: destination_mode == 3,
        ..Header::default()
    };
    let mut at = 0;
    if destination_mode != 0 {
        found.destination_pan = Some(number(rest.get(0..2)?) as u16);
        let end = 2 + width(destination_mode);
        found.destination = Some(number(rest.get(2..end)?));
        at = end;
    }
    if source_mode != 0 {
        let is_compressed = low & 0x40 != 0;
        found.source_pan = found.destination_pan;
        if !is_compressed {
            found.source_pan = Some(number(rest.get(at..at + 2)?) as u16);
            at += 2;
        }
        at += width(source_mode);
    }
    found.len = 3 + at;
    (psdu.len() >= found.len).then_some(found)
}

/// Returns the time at which the filter knows the addresses.
pub(super) fn filtered_at(signal: &Signal) -> u64 {
    let len = header(&signal.psdu).map_or(signal.psdu.len(), |header| header.len);
    signal.after(len)
}

impl Chip {
    pub(super) fn is_listening(&self) -> bool {
        self.state == State::RxAackOn && self.transition.is_none() && !self.is_protected
    }

    /// Returns the next frame that the receiver can find.
    pub(super) fn next_signal(&self) -> Option<&Signal> {
        let from = self.listens_from.saturating_sub(LATE_US);
        self.air.next(self.channel(), from, SENSITIVITY_DBM)
    }

    pub(super) fn begin_reception(&mut self) {
        let Some(signal) = self.next_signal().cloned() else { return };
        self.state = State::BusyRxAack;
        self.trac = trac::INVALID;
        self.activity = Activity::Receive { signal, started: false, matched: None };
    }

    pub(super) fn continue_reception(
        &mut self,
        signal: Signal,
        started: bool,
        matched: Option<bool>,
    ) {
        if !started {
            self.raise(IRQ_RX_START);
            // What the buffer held is overwritten from now on.
            self.buffer.fill(0);
            self.buffer[0] = signal.psdu.len() as u8;
            self.buffer[1..=signal.psdu.len()].copy_from_slice(&signal.psdu);
            self.activity = Activity::Receive { signal, started: true, matched: None };
            return;
        }
        let Some(matched) = matched else {
            let matched = self.matches(&signal.psdu);
            if matched {
                self.raise(IRQ_AMI);
            }
            self.activity = Activity::Receive { signal, started, matched: Some(matched) };
            return;
        };
        self.end_reception(&signal, matched);
    }

    fn end_reception(&mut self, signal: &Signal, matched: bool) {
        let is_intact = fcs_is_right(&signal.psdu) && self.air.is_undisturbed(signal);
        if !is_intact {
            // Interference has damaged some octet.
            self.buffer[signal.psdu.len()] ^= u8::from(fcs_is_right(&signal.psdu));
        }
        let level = (i16::from(signal.rssi_dbm) - RSSI_BASE_DBM).clamp(0, 83) as u8;
        self.tail = [level.saturating_mul(3), level, u8::from(is_intact) << 7];
        let is_promiscuous = self.register(XAH_CTRL_1) & AACK_PROM_MODE != 0;
        if (matched && is_intact) || is_promiscuous {
            self.raise(IRQ_TRX_END);
            self.is_protected = self.register(TRX_CTRL_2) & RX_SAFE_MODE != 0;
        }
        let answers = matched && is_intact && self.acknowledges(&signal.psdu);
        if !answers {
            self.trac = trac::SUCCESS;
            return self.end_busy(State::RxAackOn);
        }
        let turnaround = match self.register(XAH_CTRL_1) & AACK_ACK_TIME {
            0 => TURNAROUND_US,
            _ => OCTET_US,
        };
        let request = header(&signal.psdu).is_some_and(|header| {
            header.kind == 3 && signal.psdu.get(header.len) == Some(&4) && signal.psdu[0] & 8 == 0
        });
        let (at, sequence) = (self.now + turnaround, signal.psdu[2]);
        self.activity = Activity::AckTurnaround { at, sequence, request };
    }

    pub(super) fn begin_ack(&mut self, sequence: u8, request: bool) {
        let pending = request && self.register(CSMA_SEED_1) & AACK_SET_PD != 0;
        let psdu = with_fcs(&[2 | u8::from(pending) << 4, 0, sequence]);
        let until = self.now + SHR_US + OCTET_US * (1 + psdu.len() as u64);
        let (channel, power_dbm) = (self.channel(), self.power_dbm());
        let sent = Sent { preamble_at: self.now, channel, psdu, power_dbm, whole: true };
        self.activity = Activity::AckAir { sent, until };
    }

    fn acknowledges(&self, psdu: &[u8]) -> bool {
        self.register(CSMA_SEED_1) & AACK_DIS_ACK == 0
            && header(psdu).is_some_and(|header| {
                let is_broadcast =
                    !header.is_extended && header.destination == Some(u64::from(BROADCAST));
                header.requests_ack && !is_broadcast && matches!(header.kind, 1 | 3)
            })
    }

    /// The third level of filtering (IEEE 802.15.4-2006, 7.5.6.2; 231, 7.2.3.4).
    fn matches(&self, psdu: &[u8]) -> bool {
        let Some(header) = header(psdu) else { return false };
        let mode = self.register(CSMA_SEED_1);
        if header.version > mode >> 6 && mode >> 6 != 3 {
            return false;
        }
        let two = |at: u8| u16::from_le_bytes([self.register(at), self.register(at + 1)]);
        let (pan, short) = (two(PAN_ID_0), two(SHORT_ADDR_0));
        let extended =
            (0..8).rev().fold(0, |n, i| n << 8 | u64::from(self.register(IEEE_ADDR_0 + i)));
        match header.kind {
            0 => pan == BROADCAST || header.source_pan == Some(pan),
            1 | 3 => match (header.destination_pan, header.destination) {
                (Some(to), Some(address)) => {
                    let own = if header.is_extended { extended } else { u64::from(short) };
                    let all = !header.is_extended && address == u64::from(BROADCAST);
                    (to == pan || to == BROADCAST) && (address == own || all)
                }
                _ => mode & AACK_I_AM_COORD != 0 && header.source_pan == Some(pan),
            },
            _ => false,
        }
    }
}

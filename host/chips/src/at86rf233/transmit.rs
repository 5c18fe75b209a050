//! TX_ARET: CSMA-CA, transmission, acknowledgement, retries (231, 7.2.4).

use super::registers::{
    CCA_THRES, CSMA_BE, IRQ_TRX_END, RSSI_BASE_DBM, SENSITIVITY_DBM, TRX_CTRL_1, TX_AUTO_CRC_ON,
    XAH_CTRL_0, time, trac,
};
use super::{Activity, Chip, State, Transaction};
use crate::air::{OCTET_US, SHR_US, Sent, Signal, TURNAROUND_US, with_fcs};
use kinglet_wire::ieee802154::fcs_is_right;

/// Value of MAX_CSMA_RETRIES for a transmission without CSMA-CA.
const NO_CSMA: u8 = 7;

impl Chip {
    fn max_csma_retries(&self) -> u8 {
        self.register(XAH_CTRL_0) >> 1 & 7
    }

    pub(super) fn begin_transaction(&mut self) {
        self.state = State::BusyTxAret;
        self.trac = trac::INVALID;
        self.transaction = Transaction::default();
        self.begin_attempt();
    }

    fn begin_attempt(&mut self) {
        if self.max_csma_retries() == NO_CSMA {
            self.activity = Activity::Turnaround { until: self.now + time::TX_START };
            return;
        }
        self.transaction.busy = 0;
        self.transaction.exponent = self.register(CSMA_BE) & 0x0f;
        self.back_off();
    }

    fn back_off(&mut self) {
        let periods = u64::from(self.backoff.bits(self.transaction.exponent));
        self.activity = Activity::Backoff { until: self.now + periods * time::BACKOFF };
    }

    pub(super) fn end_assessment(&mut self, from: u64) {
        let threshold_dbm = RSSI_BASE_DBM + 2 * i16::from(self.register(CCA_THRES) & 0x0f);
        if !self.air.is_busy(self.channel(), from, self.now, threshold_dbm) {
            // The turnaround of the standard; the data sheet gives no figure.
            self.activity = Activity::Turnaround { until: self.now + TURNAROUND_US };
            return;
        }
        self.transaction.busy += 1;
        self.transaction.exponent =
            (self.transaction.exponent + 1).min(self.register(CSMA_BE) >> 4);
        if self.transaction.busy > self.max_csma_retries() {
            self.end_transaction(trac::CHANNEL_ACCESS_FAILURE);
        } else {
            self.back_off();
        }
    }

    pub(super) fn begin_air(&mut self, preamble_at: u64) {
        let len = usize::from(self.buffer[0] & 0x7f);
        let mut psdu = self.buffer[1..=len].to_vec();
        if self.register(TRX_CTRL_1) & TX_AUTO_CRC_ON != 0 && len >= 2 {
            psdu = with_fcs(&psdu[..len - 2]);
        }
        let until = preamble_at + SHR_US + OCTET_US * (1 + len as u64);
        let (channel, power_dbm) = (self.channel(), self.power_dbm());
        let sent = Sent { preamble_at, channel, psdu, power_dbm, whole: true };
        self.activity = Activity::Air { sent, until };
    }

    pub(super) fn end_air(&mut self, sent: Sent, end: u64) {
        let is_requested = sent.psdu.first().is_some_and(|first| first & 0x20 != 0);
        let sequence = sent.psdu.get(2).copied().unwrap_or_default();
        self.air.note_sent(sent, end);
        if is_requested {
            self.activity = Activity::AckWait { from: end, until: end + time::ACK_WAIT, sequence };
        } else {
            self.end_transaction(trac::SUCCESS);
        }
    }

    /// Returns the frame that the receiver finds while it waits for an acknowledgement, if it ends
    /// in time.
    fn signal_in_ack_wait(&self, from: u64, until: u64) -> Option<&Signal> {
        let signal = self.air.next(self.channel(), from, SENSITIVITY_DBM);
        signal.filter(|signal| signal.end() <= until)
    }

    pub(super) fn end_of_ack_wait(&self) -> u64 {
        let Activity::AckWait { from, until, .. } = self.activity else { return self.now };
        self.signal_in_ack_wait(from, until).map_or(until, Signal::end)
    }

    pub(super) fn end_ack_wait(&mut self, from: u64, until: u64, sequence: u8) {
        let Some(signal) = self.signal_in_ack_wait(from, until).cloned() else {
            self.transaction.failed += 1;
            if self.transaction.failed > self.register(XAH_CTRL_0) >> 4 {
                return self.end_transaction(trac::NO_ACK);
            }
            return self.begin_attempt();
        };
        let is_ack = signal.psdu.len() == 5
            && signal.psdu[0] & 7 == 2
            && signal.psdu[2] == sequence
            && fcs_is_right(&signal.psdu)
            && self.air.is_undisturbed(&signal);
        match is_ack {
            true if signal.psdu[0] & 0x10 != 0 => self.end_transaction(trac::SUCCESS_DATA_PENDING),
            true => self.end_transaction(trac::SUCCESS),
            // Frames other than the acknowledgement are discarded.
            false => {
                self.activity = Activity::AckWait { from: signal.end(), until, sequence };
            }
        }
    }

    fn end_transaction(&mut self, result: u8) {
        self.trac = result;
        self.raise(IRQ_TRX_END);
        self.end_busy(State::TxAretOn);
    }
}

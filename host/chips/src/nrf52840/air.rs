//! RADIO: ramps, channel assessment, transmission and reception (PS, RADIO).

use super::registers::{RAM, radio};
use super::{Activity, Soc, State};
use crate::air::{OCTET_US, SHR_US, Sent, Signal, with_fcs};
use kinglet_wire::ieee802154::fcs_is_right;

/// Share of the preamble that may pass before the receiver is on: two of its four octets. The
/// specification gives no figure.
const LATE_US: u64 = 64;

impl Soc {
    pub(super) fn channel(&self) -> u8 {
        (11 + self.value(radio::FREQUENCY).saturating_sub(5) / radio::CHANNEL_MHZ) as u8
    }

    /// Returns whether the radio is set up for IEEE 802.15.4, and its oscillator runs.
    fn check_setup(&mut self) {
        if self.oscillator_at.is_none_or(|at| at > self.now) {
            self.note_misuse("the radio without the crystal oscillator");
        }
        if self.is_radio_off {
            self.note_misuse("the radio without power");
        }
        if radio::IEEE_802_15_4.iter().any(|(address, value)| self.value(*address) != *value) {
            self.note_misuse("a radio that is not set up for IEEE 802.15.4");
        }
        if self.value(radio::PCNF1) & 0xff != 127 {
            self.note_misuse("a maximum length other than 127");
        }
    }

    fn ramp(&mut self, state: State, us: u64) {
        self.state = state;
        self.activity = Activity::Ramp { until: self.now + us };
    }

    fn ramp_up_us(&self) -> u64 {
        let (fast, slow) = radio::RAMP_US;
        if self.value(radio::MODECNF0) & 1 != 0 { fast } else { slow }
    }

    pub(super) fn radio_task(&mut self, task: u32) {
        match (task, self.state) {
            (radio::TXEN, State::Disabled | State::RxIdle) => {
                self.check_setup();
                self.ramp(State::TxRampUp, self.ramp_up_us());
            }
            (radio::RXEN, State::Disabled) => {
                self.check_setup();
                self.ramp(State::RxRampUp, self.ramp_up_us());
            }
            (radio::START, State::TxIdle) => self.begin_air(),
            (radio::START, State::RxIdle) => {
                self.packet = self.value(radio::PACKETPTR);
                self.state = State::Rx;
                self.activity = Activity::Search { from: self.now };
            }
            (radio::CCASTART, State::RxIdle) => {
                self.activity = Activity::Assess { from: self.now };
            }
            (radio::RSSISTART, State::Rx) => {
                if let Activity::Receive { signal, .. } = &self.activity {
                    let sample = u32::from(signal.rssi_dbm.unsigned_abs());
                    self.values.insert(radio::RSSISAMPLE, sample);
                }
            }
            (radio::DISABLE, State::Disabled) => self.event(radio::DISABLED),
            (radio::DISABLE, State::RxDisable | State::TxDisable) => {}
            (radio::DISABLE, State::TxRampUp | State::TxIdle | State::Tx) => {
                self.cut_off();
                self.ramp(State::TxDisable, radio::RAMP_DOWN_US.1);
            }
            (radio::DISABLE, _) => self.ramp(State::RxDisable, radio::RAMP_DOWN_US.0),
            _ => self.note_misuse("a task that the state of the radio does not allow"),
        }
    }

    /// Ends a frame on the air before its end.
    pub(super) fn cut_off(&mut self) {
        if let Activity::Air { sent, until, .. } = &self.activity
            && *until > self.now
        {
            let sent = Sent { whole: false, ..sent.clone() };
            self.air.note_sent(sent, self.now);
        }
    }

    pub(super) fn next_of_radio(&self) -> Option<u64> {
        match &self.activity {
            Activity::None => None,
            Activity::Ramp { until } => Some(*until),
            Activity::Assess { from } => Some(from + radio::CCA_US),
            Activity::Search { from } => self.found(*from).map(Signal::sfd_at),
            Activity::Receive { signal, started: false } => Some(signal.after(0)),
            Activity::Receive { signal, .. } => Some(signal.end() + radio::END_LATENCY_US),
            Activity::Air { sent, started: false, .. } => Some(sent.preamble_at + SHR_US),
            Activity::Air { until, .. } => Some(*until),
        }
    }

    fn found(&self, from: u64) -> Option<&Signal> {
        let from = from.saturating_sub(LATE_US);
        self.air.next(self.channel(), from, radio::SENSITIVITY_DBM)
    }

    pub(super) fn step_radio(&mut self) {
        if self.next_of_radio().is_none_or(|at| at > self.now) {
            return;
        }
        match core::mem::replace(&mut self.activity, Activity::None) {
            Activity::None => {}
            Activity::Ramp { .. } => self.end_ramp(),
            Activity::Assess { from } => {
                let level = i16::from((self.value(radio::CCACTRL) >> 8) as u8);
                let threshold_dbm = radio::ED_OFFSET_DBM + level;
                let is_busy = self.air.is_busy(self.channel(), from, self.now, threshold_dbm);
                self.event(if is_busy { radio::CCABUSY } else { radio::CCAIDLE });
            }
            Activity::Search { from } => {
                if let Some(signal) = self.found(from).cloned() {
                    self.activity = Activity::Receive { signal, started: false };
                    self.event(radio::ADDRESS);
                }
            }
            Activity::Receive { signal, started: false } => {
                self.activity = Activity::Receive { signal, started: true };
                self.event(radio::FRAMESTART);
            }
            Activity::Receive { signal, .. } => self.end_reception(&signal),
            Activity::Air { sent, until, started: false } => {
                self.activity = Activity::Air { sent, until, started: true };
                self.event(radio::ADDRESS);
            }
            Activity::Air { sent, until, .. } => {
                self.air.note_sent(sent, until);
                self.state = State::TxIdle;
                self.event(radio::END);
                self.event(radio::PHYEND);
            }
        }
    }

    fn end_ramp(&mut self) {
        match self.state {
            State::RxRampUp => {
                self.state = State::RxIdle;
                self.event(radio::RXREADY);
                self.event(radio::READY);
            }
            State::TxRampUp => {
                self.state = State::TxIdle;
                self.event(radio::TXREADY);
                self.event(radio::READY);
            }
            _ => {
                self.state = State::Disabled;
                self.event(radio::DISABLED);
            }
        }
    }

    fn begin_air(&mut self) {
        self.packet = self.value(radio::PACKETPTR);
        let from = (self.packet - RAM) as usize;
        let len = usize::from(self.ram[from] & 0x7f);
        // The FCS counts as part of the length, and is made by the radio.
        let psdu = with_fcs(&self.ram[from + 1..][..len.saturating_sub(2)]);
        let until = self.now + SHR_US + OCTET_US * (1 + len as u64);
        let power_dbm = self.value(radio::TXPOWER) as u8 as i8;
        let channel = self.channel();
        let sent = Sent { preamble_at: self.now, channel, psdu, power_dbm, whole: true };
        self.state = State::Tx;
        self.activity = Activity::Air { sent, until, started: false };
    }

    fn end_reception(&mut self, signal: &Signal) {
        let is_intact = fcs_is_right(&signal.psdu) && self.air.is_undisturbed(signal);
        let from = (self.packet - RAM) as usize;
        let len = signal.psdu.len();
        self.ram[from] = len as u8;
        self.ram[from + 1..][..len].copy_from_slice(&signal.psdu);
        // The LQI takes the place of the FCS (PS, "IEEE 802.15.4 operation"), a quarter of the
        // level.
        let level = (i16::from(signal.rssi_dbm) - radio::ED_OFFSET_DBM).clamp(0, 63) as u8;
        self.ram[from + len - 1] = level;
        self.ram[from + len] = 0;
        self.values.insert(radio::CRCSTATUS, u32::from(is_intact));
        self.state = State::RxIdle;
        self.event(if is_intact { radio::CRCOK } else { radio::CRCERROR });
        self.event(radio::END);
    }
}

//! Its radio: reception with filter and acknowledgement, transmission with CSMA-CA (IEEE
//! 802.15.4-2015, 6.2.5.1, 6.7.2, 6.7.4), and the results by `ncp_base_radio.cpp`.

use super::properties::POWER_STEPS_DBM;
use super::{Coprocessor, Job, Reception, Step};
use crate::air::{OCTET_US, SHR_US, Sent, Signal, TURNAROUND_US, with_fcs};
use kinglet_radio::{ACK_WAIT, CCA, SIFS, UNIT_BACKOFF};
use kinglet_wire::ieee802154::{Address, Frame, FrameType, PanId, fcs_is_right};

/// Share of the preamble that may pass before the receiver is on: two of its four octets.
const LATE_US: u64 = 64;
/// No figure is that of a particular radio: the limits of the standard for 2.4 GHz.
const SENSITIVITY_DBM: i8 = -85;
const CCA_DBM: i16 = -75;
/// Exponents of `sub_mac.hpp`.
const MIN_BE: u8 = 3;
const MAX_BE: u8 = 5;
/// Statuses of a result.
const OK: u8 = 0;
const NO_ACK: u8 = 17;
const CCA_FAILURE: u8 = 18;
/// Identifier of a data request among MAC commands.
const DATA_REQUEST: u8 = 4;

impl Coprocessor {
    /// Begins to look for frames, if the radio is tuned.
    pub(super) fn search(&mut self) {
        self.reception = match self.tuned {
            Some(_) => Reception::Search { from: self.now },
            None => Reception::Off,
        };
    }

    pub(super) fn begin(&mut self, job: Job) {
        self.job = Some(job);
        self.back_off();
    }

    /// Waits before an assessment; without backoffs there is none.
    fn back_off(&mut self) {
        let Some(job) = &mut self.job else { return };
        job.step = if job.has_csma && job.max_backoffs > 0 {
            let periods = self.random.bits((MIN_BE + job.busy).min(MAX_BE));
            Step::Backoff { until: self.now + u64::from(periods) * UNIT_BACKOFF.as_micros() }
        } else {
            Step::Ready
        };
    }

    /// Returns the channel to which the receiver is tuned now.
    fn receiver_channel(&self) -> Option<u8> {
        match &self.job {
            Some(Job { step: Step::AwaitAck { .. }, channel, .. }) => Some(*channel),
            _ => self.tuned,
        }
    }

    fn found(&self, from: u64) -> Option<&Signal> {
        let from = from.saturating_sub(LATE_US);
        self.air.next(self.receiver_channel()?, from, SENSITIVITY_DBM)
    }

    /// Returns the earliest time at which a frame may leave: after the spacing behind an
    /// acknowledgement.
    fn free_at(&self) -> u64 {
        self.acked_until + SIFS.as_micros()
    }

    pub(super) fn next_of_radio(&self) -> Option<u64> {
        let reception = match &self.reception {
            Reception::Off => None,
            Reception::Search { from } => self.found(*from).map(Signal::sfd_at),
            Reception::Frame { signal } => Some(signal.end()),
            Reception::Acknowledge { until, .. } => Some(*until),
        };
        let is_receiving =
            matches!(self.reception, Reception::Frame { .. } | Reception::Acknowledge { .. });
        let job = self.job.as_ref().and_then(|job| match &job.step {
            Step::Ready => (!is_receiving).then(|| self.free_at().max(self.now)),
            Step::Backoff { until }
            | Step::Turn { until }
            | Step::OnAir { until, .. }
            | Step::AwaitAck { until } => Some(*until),
            Step::Assess { from } => Some(from + CCA.as_micros()),
        });
        [reception, job].into_iter().flatten().min()
    }

    pub(super) fn step_radio(&mut self) {
        self.step_reception();
        self.step_job();
    }

    fn step_reception(&mut self) {
        let now = self.now;
        match self.reception.clone() {
            Reception::Search { from } => {
                if let Some(signal) = self.found(from).filter(|it| it.sfd_at() <= now).cloned() {
                    self.reception = Reception::Frame { signal };
                }
            }
            Reception::Frame { signal } if signal.end() <= now => self.end_frame(signal),
            Reception::Acknowledge { signal, sent, until, pending } if until <= now => {
                self.acked_until = until;
                self.air.note_sent(sent, until);
                self.report_frame(&signal, pending);
                self.search();
            }
            _ => {}
        }
    }

    fn end_frame(&mut self, signal: Signal) {
        self.search();
        let is_intact = fcs_is_right(&signal.psdu) && self.air.is_undisturbed(&signal);
        let psdu = signal.psdu.clone();
        let Some(frame) = Frame::parse(&psdu[..psdu.len() - 2]).ok().filter(|_| is_intact) else {
            return;
        };
        if let Some(Job { step: Step::AwaitAck { .. }, psdu: own, .. }) = &self.job {
            let is_own = frame.frame_type() == FrameType::Ack && frame.sequence() == Some(own[2]);
            if is_own {
                self.end_job(OK, frame.frame_pending(), Some(&signal));
            }
            return;
        }
        if frame.frame_type() == FrameType::Ack || !self.passes(&frame) {
            return;
        }
        if !frame.ack_request() || frame.dst().is_broadcast() {
            return self.report_frame(&signal, false);
        }
        let is_request = frame.frame_type() == FrameType::Command
            && frame.payload().first() == Some(&DATA_REQUEST);
        let is_source = match frame.src() {
            Address::Short(short) => self.sources.contains(&short),
            _ => false,
        };
        let pending = is_request && (is_source || !self.matches);
        let sequence = frame.sequence().unwrap_or_default();
        let psdu = with_fcs(&[2 | u8::from(pending) << 4, 0, sequence]);
        let preamble_at = signal.end() + TURNAROUND_US;
        let until = preamble_at + SHR_US + OCTET_US * (1 + psdu.len() as u64);
        let (channel, power_dbm) = (signal.channel, self.power_dbm);
        let sent = Sent { preamble_at, channel, psdu, power_dbm, whole: true };
        self.air.note_begun(&sent);
        self.reception = Reception::Acknowledge { signal, sent, until, pending };
    }

    fn passes(&self, frame: &Frame<'_>) -> bool {
        let is_own = match frame.dst() {
            Address::Short(short) => short == 0xffff || short == self.short && short != 0xfffe,
            Address::Extended(extended) => extended == self.extended,
            Address::None => false,
        };
        is_own && frame.dst_pan().is_some_and(|pan| [PanId(self.pan), PanId(0xffff)].contains(&pan))
    }

    /// Returns the octets of a frame with its metadata.
    fn packed(signal: &Signal, pending: bool) -> Vec<u8> {
        let mut value = (signal.psdu.len() as u16).to_le_bytes().to_vec();
        value.extend(&signal.psdu);
        value.extend([signal.rssi_dbm as u8, 0x80, u8::from(pending) << 4, 0]);
        value.extend([10, 0, signal.channel, 0]);
        value.extend(signal.sfd_at().to_le_bytes());
        value.extend([1, 0, 0, 5, 0, 0, 0, 0, 0, 0]);
        value
    }

    fn report_frame(&mut self, signal: &Signal, pending: bool) {
        let value = Self::packed(signal, pending);
        self.send(0, 6, 0x71, &value);
    }

    fn step_job(&mut self) {
        let now = self.now;
        let is_receiving =
            matches!(self.reception, Reception::Frame { .. } | Reception::Acknowledge { .. });
        let free_at = self.free_at();
        let Some(job) = &mut self.job else { return };
        match job.step.clone() {
            Step::Backoff { until } if until <= now => job.step = Step::Ready,
            Step::Ready if !is_receiving && free_at <= now => {
                job.step = match job.has_csma {
                    true => Step::Assess { from: now },
                    false => Step::Turn { until: now + TURNAROUND_US },
                };
                self.reception = Reception::Off;
            }
            Step::Assess { from } if from + CCA.as_micros() <= now => self.end_assessment(from),
            Step::Turn { until } if until <= now => {
                let psdu = with_fcs(&job.psdu[..job.psdu.len() - 2]);
                let until = now + SHR_US + OCTET_US * (1 + psdu.len() as u64);
                let (channel, power_dbm) = (job.channel, self.power_dbm);
                let sent = Sent { preamble_at: now, channel, psdu, power_dbm, whole: true };
                self.air.note_begun(&sent);
                job.step = Step::OnAir { sent, until };
            }
            Step::OnAir { sent, until } if until <= now => {
                let requests = sent.psdu[0] & 0x20 != 0;
                self.air.note_sent(sent, until);
                if requests {
                    job.step = Step::AwaitAck { until: until + ACK_WAIT.as_micros() };
                    self.reception = Reception::Search { from: until + LATE_US };
                } else {
                    self.end_job(OK, false, None);
                }
            }
            Step::AwaitAck { until } if until <= now => self.end_job(NO_ACK, false, None),
            _ => {}
        }
    }

    fn end_assessment(&mut self, from: u64) {
        let Some(job) = &mut self.job else { return };
        if !self.air.is_busy(job.channel, from, self.now, CCA_DBM) {
            job.step = Step::Turn { until: self.now + TURNAROUND_US };
        } else if job.busy < job.max_backoffs {
            job.busy += 1;
            self.search();
            self.back_off();
        } else {
            self.end_job(CCA_FAILURE, false, None);
        }
    }

    /// Reports the result; the radio listens from then on.
    fn end_job(&mut self, status: u8, pending: bool, ack: Option<&Signal>) {
        let Some(job) = self.job.take() else { return };
        self.tuned = Some(job.channel_after);
        self.search();
        let mut more = vec![u8::from(pending), u8::from(job.psdu[0] & 0x08 != 0)];
        if status == OK {
            // Without an acknowledgement the length of the frame is zero.
            let none = [0, 0, 0, 0x80, 0, 0, 10, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
            let ack = ack.map(|signal| Self::packed(signal, false));
            more.extend(ack.unwrap_or_else(|| none.to_vec()));
        }
        self.send_status(job.tid, status, &more);
    }

    /// Ends a frame on the air before its end.
    pub(super) fn cut_off(&mut self) {
        if let Some(Job { step: Step::OnAir { sent, .. }, .. }) = &self.job {
            let sent = Sent { whole: false, ..sent.clone() };
            self.air.note_sent(sent, self.now);
        }
    }

    /// Output powers in dBm.
    pub const POWER_STEPS_DBM: &'static [i8] = &POWER_STEPS_DBM;
}

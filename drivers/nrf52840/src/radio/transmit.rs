//! Transmission, and the wait for its acknowledgement.

use super::listen::RAMP;
use super::{AHEAD, CHECK, Job, Nrf52840, Phase, disable, not_awaited};
use crate::frame::Head;
use crate::hardware::{Buffer, Hardware};
use crate::registers::{
    ADDRESS, CC_ADDRESS, CC_START, CC_TIMEOUT, CCABUSY, CHENCLR, CHENSET, COMPARE_TIMEOUT, CRCOK,
    DISABLED, END, PACKETPTR, POWERS_DBM, RXEN, SHORTS, START_TO_RXEN, START_TO_TXEN, TXEN,
    TXPOWER, short,
};
use kinglet_radio::{ACK_WAIT, Access, Ack, CCA, Event, FCS_LEN, OCTET, SHR_PHR, Start};
use kinglet_time::{Duration, Instant};

/// Time after macAckWaitDuration until the END event of an acknowledgement has come: its delay of
/// 23 us, and a margin.
const ACK_MARGIN: Duration = Duration::from_micros(40);

/// Returns the time from the first task to the preamble.
fn lead(access: Access) -> Duration {
    match access {
        Access::Immediate => RAMP,
        Access::Cca | Access::Csma(_) => RAMP + CCA + RAMP,
    }
}

impl<H: Hardware> Nrf52840<H> {
    /// Returns the time of the first task of a scheduled transmission.
    pub(super) fn begin_of(&self, job: &Job) -> Option<Instant> {
        match job.start {
            Start::Asap => None,
            Start::At(sfd) => Some(sfd - (SHR_PHR - OCTET) - lead(job.access)),
        }
    }

    /// Returns whether a transmission has to interrupt reception.
    pub(super) fn is_due(&self, now: Instant, job: &Job) -> bool {
        self.begin_of(job).is_none_or(|at| at <= now + AHEAD)
    }

    /// Arms or starts a transmission.
    pub(super) fn begin(&mut self, now: Instant, job: Job) -> bool {
        let spaced = self.spaced_until - lead(job.access);
        let begin = self.begin_of(&job).unwrap_or(now.max(spaced));
        if begin < now || begin < spaced {
            return self.finish(Event::Missed);
        }
        self.tune(job.channel);
        let power = POWERS_DBM.iter().min_by_key(|power| power.abs_diff(job.power_dbm));
        self.hardware.write(TXPOWER, u32::from(power.copied().unwrap_or_default() as u8));
        let address = self.hardware.address(Buffer::Outgoing);
        self.hardware.write(PACKETPTR, address);
        let send = short::TXREADY_START | short::PHYEND_DISABLE;
        let assess = short::RXREADY_CCASTART | short::CCAIDLE_TXEN | short::CCABUSY_DISABLE;
        let (shorts, task, channel) = match job.access {
            Access::Immediate => (send, TXEN, START_TO_TXEN),
            Access::Cca | Access::Csma(_) => (send | assess, RXEN, START_TO_RXEN),
        };
        self.hardware.write(SHORTS, shorts);
        if begin > now {
            let start = self.ticks(now, begin);
            self.hardware.write(CC_START, start);
            self.hardware.write(CHENSET, channel);
        } else {
            self.hardware.write(task, 1);
        }
        self.phase = Phase::Sending;
        self.wait(now + CHECK)
    }

    fn finish(&mut self, event: Event) -> bool {
        self.job = None;
        self.ended = Some(event);
        self.phase = Phase::Idle;
        true
    }

    pub(super) fn send(&mut self, now: Instant) -> bool {
        if !self.take(DISABLED) {
            return self.wait(now + CHECK);
        }
        self.hardware.write(CHENCLR, START_TO_TXEN | START_TO_RXEN);
        let Some(job) = self.job else { return self.finish(Event::Missed) };
        if self.take(CCABUSY) {
            return self.finish(Event::ChannelBusy);
        }
        let sfd = self.captured(now, CC_ADDRESS);
        if !job.ack || !job.requests_ack {
            return self.finish(Event::Transmitted { sfd, ack: not_awaited(job.ack) });
        }
        let psdu_len = u32::from(job.len).saturating_add(FCS_LEN as u32);
        let until = sfd + OCTET + OCTET * psdu_len + ACK_WAIT + ACK_MARGIN;
        let timeout = self.ticks(now, until);
        self.hardware.write(COMPARE_TIMEOUT, 0);
        self.hardware.write(CC_TIMEOUT, timeout);
        self.listen_for_ack(now, sfd)
    }

    fn listen_for_ack(&mut self, now: Instant, sfd: Instant) -> bool {
        for event in [ADDRESS, END, CRCOK] {
            self.hardware.write(event, 0);
        }
        // Without a free buffer, the acknowledgement goes over the frame, which has been sent.
        let into = self.free_buffer().unwrap_or(Buffer::Outgoing);
        self.begin_receiving(into);
        self.hardware.write(RXEN, 1);
        self.phase = Phase::AckWait { sfd, into };
        self.wait(now + CHECK)
    }

    pub(super) fn await_ack(&mut self, now: Instant, sfd: Instant, into: Buffer) -> bool {
        let is_over = self.take(COMPARE_TIMEOUT);
        if self.take(DISABLED) {
            let ack = (self.take(END) && self.take(CRCOK)).then(|| self.read_ack(into)).flatten();
            if let Some(frame_pending) = ack {
                let ack = Ack::Received { frame_pending };
                return self.finish(Event::Transmitted { sfd, ack });
            }
            if is_over {
                return self.finish(Event::Transmitted { sfd, ack: Ack::Missing });
            }
            return self.listen_for_ack(now, sfd);
        }
        if is_over {
            disable(&mut self.hardware);
            self.phase = Phase::AckMissing { sfd };
        }
        self.wait(now + CHECK)
    }

    /// Returns the frame-pending bit if the buffer has the acknowledgement of the frame.
    fn read_ack(&mut self, from: Buffer) -> Option<bool> {
        let len = self.hardware.psdu_len(from).saturating_sub(FCS_LEN as u8);
        let mut octets = [0; 3];
        self.hardware.unload(from, 0, &mut octets);
        let (sequence, pending) = Head::new(&octets).acknowledgement()?;
        let is_awaited = self.job.is_some_and(|job| job.sequence == sequence);
        (len == 3 && is_awaited).then_some(pending)
    }

    pub(super) fn end_ack_wait(&mut self, now: Instant, sfd: Instant) -> bool {
        if !self.take(DISABLED) {
            return self.wait(now + CHECK);
        }
        self.finish(Event::Transmitted { sfd, ack: Ack::Missing })
    }
}

//! Transmission.

use super::{At86rf233, Job, POLL, Phase, Step, tx_power};
use crate::bus::Fault;
use crate::frame;
use crate::registers::{CSMA_BE, NO_CSMA, PHY_TX_PWR, TRX_STATE, XAH_CTRL_0, command, state, trac};
use embedded_hal::digital::{InputPin, OutputPin};
use embedded_hal::spi::SpiDevice;
use kinglet_radio::{
    ACK_PSDU, ACK_WAIT, Access, Ack, CsmaParams, Event, FCS_LEN, OCTET, SHR_PHR, SYMBOL,
    TURNAROUND, air_time, time_limit,
};
use kinglet_time::{Duration, Instant};

/// Time from the start of a transmission without CSMA-CA to the end of its SFD.
pub(super) const START_TO_SFD: Duration =
    Duration::from_micros(SYMBOL.as_micros() + SHR_PHR.as_micros() - OCTET.as_micros());
/// Longest time until TX_ARET_ON, which takes a microsecond, and a margin.
const LOAD_LIMIT: Duration = Duration::from_millis(1);
/// Time between two reads of the state during a transmission: the interrupt may be lost.
const CHECK: Duration = Duration::from_millis(10);
/// Part of the contract's time limit that the chip does not need.
const UNUSED: Duration = Duration::from_millis(950);

impl<S: SpiDevice, R: OutputPin, T: OutputPin, I: InputPin> At86rf233<S, R, T, I> {
    pub(super) fn load(&mut self, now: Instant, job: Job) -> Result<Step, Fault> {
        let (max_csma_retries, min_be, max_be) = match job.access {
            Access::Immediate => (NO_CSMA, 0, 0),
            Access::Cca => (0, 0, 0),
            Access::Csma(CsmaParams { min_be, max_be, max_backoffs }) => {
                (max_backoffs.min(5), min_be.min(max_be).min(8), max_be.min(8))
            }
        };
        self.bus.write(PHY_TX_PWR, tx_power(job.power_dbm))?;
        self.bus.write(XAH_CTRL_0, max_csma_retries << 1)?;
        self.bus.write(CSMA_BE, max_be << 4 | min_be)?;
        self.write_seed()?;
        let frame = self.outgoing.get(..job.len.into()).unwrap_or_default();
        self.bus.load(frame)?;
        self.bus.command(command::TX_ARET_ON)?;
        self.phase = Phase::Loaded { give_up: now + LOAD_LIMIT };
        Ok(Step::Again)
    }

    pub(super) fn begin(&mut self, now: Instant, give_up: Instant) -> Result<Step, Fault> {
        // The preamble begins a symbol after the start.
        let start = self.spaced_until - SYMBOL;
        if now < start {
            return Ok(Step::Wait(start));
        }
        match self.bus.state()? {
            state::TX_ARET_ON => {
                self.bus.command(command::TX_START)?;
                (self.edge, self.seen) = (None, None);
                let (began, check_at) = (now, now + CHECK);
                self.phase = Phase::Sending { began, check_at, is_over: false };
                Ok(Step::Wait(now + CHECK))
            }
            state::IN_TRANSITION if now < give_up.max(start + LOAD_LIMIT) => {
                Ok(Step::Wait(now + POLL))
            }
            _ => Err(Fault),
        }
    }

    pub(super) fn send(
        &mut self,
        now: Instant,
        began: Instant,
        check_at: Instant,
        is_over: bool,
    ) -> Result<Step, Fault> {
        let Some(job) = self.job else { return Err(Fault) };
        match self.interrupts(now) {
            None => return Ok(Step::NextCall),
            Some(false) => {}
            Some(true) => {
                if let Some(end) = self.trx_end(now)? {
                    return self.end(job, end);
                }
            }
        }
        if now < check_at {
            return Ok(Step::Wait(check_at));
        }
        match self.bus.state()? {
            state::BUSY_TX_ARET if now + UNUSED < began + time_limit(job.access) => {
                self.phase = Phase::Sending { began, check_at: now + CHECK, is_over };
                Ok(Step::Wait(now + CHECK))
            }
            // The interrupt was lost.
            state::TX_ARET_ON if is_over => {
                let end = self.trx_end(now)?.unwrap_or(now);
                self.end(job, end)
            }
            // The interrupt may still come: later it would be taken for one of a reception.
            state::TX_ARET_ON => {
                self.phase = Phase::Sending { began, check_at: now + POLL, is_over: true };
                Ok(Step::Wait(now + POLL))
            }
            _ => Err(Fault),
        }
    }

    /// Ends the transmission, whose transaction has ended at `end`.
    fn end(&mut self, job: Job, end: Instant) -> Result<Step, Fault> {
        let frame = self.outgoing.get(..job.len.into()).unwrap_or_default();
        let is_awaited = frame::requests_ack(frame);
        let psdu_len = u32::from(job.len).saturating_add(FCS_LEN as u32);
        let acknowledged = |frame_pending| match job.ack {
            true if is_awaited => Ack::Received { frame_pending },
            true => Ack::Missing,
            false => Ack::NotAwaited,
        };
        let (ack, waited) = match self.bus.read(TRX_STATE)? >> 5 {
            trac::CHANNEL_ACCESS_FAILURE => return self.leave(Event::ChannelBusy),
            trac::NO_ACK if job.ack => (Ack::Missing, ACK_WAIT),
            trac::NO_ACK => (Ack::NotAwaited, ACK_WAIT),
            result @ (trac::SUCCESS | trac::SUCCESS_DATA_PENDING) => {
                let ack = acknowledged(result == trac::SUCCESS_DATA_PENDING);
                let waited = TURNAROUND + air_time(ACK_PSDU);
                (ack, if is_awaited { waited } else { Duration::ZERO })
            }
            _ => return Err(Fault),
        };
        let sfd = end - waited - OCTET * psdu_len - OCTET;
        self.leave(Event::Transmitted { sfd, ack })
    }

    fn leave(&mut self, event: Event) -> Result<Step, Fault> {
        self.job = None;
        self.ended = Some(event);
        self.bus.command(command::PLL_ON)?;
        // No frame has been received; the PLL is locked.
        self.phase = Phase::Ready;
        Ok(Step::Again)
    }
}

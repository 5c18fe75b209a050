//! PLL_ON and reception.

use super::{At86rf233, POLL, Phase, Step};
use crate::bus::Fault;
use crate::frame;
use crate::registers::{CCA_MODE, IRQ_STATUS, PHY_CC_CCA, RSSI_BASE_DBM, TRX_END, command, state};
use embedded_hal::digital::{InputPin, OutputPin};
use embedded_hal::spi::SpiDevice;
use kinglet_radio::{
    ACK_PSDU, Channel, Event, FCS_LEN, MAX_PSDU, OCTET, SIFS, SYMBOL, TURNAROUND, air_time,
};
use kinglet_time::{Duration, Instant};

/// Time after which a radio that receives nothing is asked for its state: the interrupt of a frame
/// may have been lost, or the supply may have dropped.
const CHECK: Duration = Duration::from_millis(50);
/// Longest time until a reception has ended, acknowledgement included, and a margin.
const STOP_LIMIT: Duration = Duration::from_micros(
    air_time(MAX_PSDU).as_micros()
        + TURNAROUND.as_micros()
        + air_time(ACK_PSDU).as_micros()
        + 1_000,
);
/// Longest time after the end of a frame until its interrupt, and a margin.
const IRQ_TIME: Duration = Duration::from_micros(16);
/// Settling time of the PLL after a change of channel (AT86RF231 data sheet, Table 7-2: tTR20).
const TUNE_TIME: Duration = Duration::from_micros(24);

impl<S: SpiDevice, R: OutputPin, T: OutputPin, I: InputPin> At86rf233<S, R, T, I> {
    /// Leaves PLL_ON for what is to be done next.
    pub(super) fn leave_ready(&mut self, now: Instant) -> Result<Step, Fault> {
        if self.is_stale {
            self.write_filter()?;
        }
        let listens_on = self.listens_on(now);
        let Some(channel) = self.job.map(|job| job.channel).or(listens_on) else {
            self.bus.command(command::TRX_OFF)?;
            self.phase = Phase::Idle;
            return Ok(Step::Again);
        };
        if self.tuned != Some(channel) {
            self.bus.write(PHY_CC_CCA, CCA_MODE | channel.number())?;
            self.tuned = Some(channel);
            self.phase = Phase::Tuning { until: None };
            return Ok(Step::NextCall);
        }
        if let Some(job) = self.job {
            return self.load(now, job);
        }
        self.bus.command(command::RX_AACK_ON)?;
        (self.edge, self.seen) = (None, None);
        self.phase = Phase::Listening { check_at: now + CHECK };
        Ok(Step::Again)
    }

    /// Waits for the PLL.
    pub(super) fn tune(&mut self, now: Instant, until: Option<Instant>) -> Step {
        let until = until.unwrap_or(now + TUNE_TIME);
        if now < until {
            self.phase = Phase::Tuning { until: Some(until) };
            return Step::Wait(until);
        }
        self.phase = Phase::Ready;
        Step::Again
    }

    pub(super) fn listen(&mut self, now: Instant, check_at: Instant) -> Result<Step, Fault> {
        let interrupts = self.interrupts(now);
        let is_due = now >= check_at;
        if is_due {
            if !matches!(self.bus.state()?, state::RX_AACK_ON | state::BUSY_RX_AACK) {
                return Err(Fault);
            }
            self.phase = Phase::Listening { check_at: now + CHECK };
        }
        if interrupts.is_none() && !is_due {
            return Ok(Step::NextCall);
        }
        if (is_due || interrupts == Some(true)) && self.bus.read(IRQ_STATUS)? & TRX_END != 0 {
            self.phase = Phase::Received;
            // A frame that has ended during this call: its edge comes before the next one.
            let is_new = self.edge.is_none() && self.seen.is_none();
            return Ok(if is_new { Step::NextCall } else { Step::Again });
        }
        let listens_on: Option<Channel> = self.listens_on(now);
        if self.job.is_some() || self.is_stale || listens_on != self.tuned {
            self.bus.command(command::PLL_ON)?;
            self.phase = Phase::Stopping { give_up: now + STOP_LIMIT, receives: false };
            return Ok(Step::Again);
        }
        match (self.rest(now), self.phase) {
            (Step::Wait(until), Phase::Listening { check_at }) => {
                Ok(Step::Wait(until.min(check_at)))
            }
            _ => Ok(Step::Wait(check_at.max(now + CHECK))),
        }
    }

    pub(super) fn unload_received(&mut self, now: Instant) -> Result<Step, Fault> {
        let end = self.end_by_edge(now);
        self.unload(end)?;
        self.phase = Phase::Listening { check_at: now + CHECK };
        Ok(Step::Again)
    }

    pub(super) fn stop(
        &mut self,
        now: Instant,
        give_up: Instant,
        receives: bool,
    ) -> Result<Step, Fault> {
        match self.bus.state()? {
            state::PLL_ON => {
                self.phase = Phase::Stopped { until: None, receives };
                Ok(Step::NextCall)
            }
            // The command waits in the chip.
            state::BUSY_RX_AACK if now < give_up => {
                self.phase = Phase::Stopping { give_up, receives: true };
                Ok(Step::Wait(now + POLL))
            }
            state::IN_TRANSITION if now < give_up => Ok(Step::Wait(now + POLL)),
            _ => Err(Fault),
        }
    }

    /// Takes the last frame out of the buffer before anything else is done with that.
    ///
    /// A frame that has ended without an interrupt was another node's. A transmission that has
    /// waited for its end would assess the channel in the turnaround before its acknowledgement,
    /// find it idle, and collide with the acknowledgement. So it waits until that has begun.
    pub(super) fn unload_last(
        &mut self,
        now: Instant,
        until: Option<Instant>,
        receives: bool,
    ) -> Result<Step, Fault> {
        let until = until.unwrap_or(now + IRQ_TIME);
        if now < until {
            self.phase = Phase::Stopped { until: Some(until), receives };
            return Ok(Step::Wait(until));
        }
        if let Some(end) = self.trx_end(now)? {
            self.unload(end)?;
        } else if receives {
            self.spaced_until = self.spaced_until.max(until + TURNAROUND + SYMBOL);
        }
        self.phase = Phase::Ready;
        Ok(Step::Again)
    }

    /// Reads the frame that has ended at `end`.
    fn unload(&mut self, end: Instant) -> Result<(), Fault> {
        let Some((len, quality)) = self.bus.unload(&mut self.incoming)? else { return Ok(()) };
        let octets = self.incoming.get(..len.into()).unwrap_or_default();
        let acked = frame::is_acknowledged(octets);
        if acked {
            self.spaced_until = end + TURNAROUND + air_time(ACK_PSDU) + SIFS;
        }
        let psdu_len = u32::from(len).saturating_add(FCS_LEN as u32);
        self.received = Some(Event::Received {
            sfd: end - OCTET - OCTET * psdu_len,
            len,
            rssi_dbm: RSSI_BASE_DBM.saturating_add_unsigned(quality.ed_level),
            lqi: quality.lqi,
            acked,
        });
        Ok(())
    }
}

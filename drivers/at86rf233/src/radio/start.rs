//! Reset, wake-up and sleep: the states without a locked PLL.

use super::{At86rf233, Origin, POLL, Phase, Step};
use crate::bus::Fault;
use crate::registers::{
    AT86RF233, CSMA_SEED_0, CSMA_SEED_1, IEEE_ADDR_0, IRQ_MASK, PAN_ID_0, PART_NUM, RX_SAFE_MODE,
    SHORT_ADDR_0, TRX_CTRL_1, TRX_CTRL_2, TRX_END, TX_AUTO_CRC_ON, command, state,
};
use embedded_hal::digital::{InputPin, OutputPin};
use embedded_hal::spi::SpiDevice;
use kinglet_time::{Duration, Instant};

/// Longest time until TRX_OFF (Linux, at86rf230.c: 1 ms from SLEEP), and a margin.
const START_LIMIT: Duration = Duration::from_micros(1_500);
/// Time after which a chip that reports P_ON is in that state: before that its oscillator may not
/// run, and it may report anything.
const POWER_ON_TIME: Duration = Duration::from_micros(1_100);
/// Usual time from SLEEP to TRX_OFF (same).
const WAKE_TIME: Duration = Duration::from_micros(330);
/// Usual time from TRX_OFF to PLL_ON (same).
const LOCK_TIME: Duration = Duration::from_micros(80);
/// Longest time for it: 155 us (AT86RF231 data sheet, Table 7-2), and a margin.
const LOCK_LIMIT: Duration = Duration::from_micros(500);

impl<S: SpiDevice, R: OutputPin, T: OutputPin, I: InputPin> At86rf233<S, R, T, I> {
    pub(super) fn end_reset(&mut self, now: Instant, until: Instant) -> Result<Step, Fault> {
        if now < until {
            return Ok(Step::Wait(until));
        }
        self.reset.set_high().map_err(|_| Fault)?;
        self.phase = Phase::Starting { give_up: now + START_LIMIT, from: Origin::Reset };
        Ok(Step::Wait(now + POLL))
    }

    pub(super) fn start(
        &mut self,
        now: Instant,
        give_up: Instant,
        from: Origin,
    ) -> Result<Step, Fault> {
        match self.bus.state()? {
            state::TRX_OFF => {}
            // After the supply has been switched on, a reset does not change the state.
            state::P_ON
                if from == Origin::Reset && now + START_LIMIT >= give_up + POWER_ON_TIME =>
            {
                self.bus.command(command::TRX_OFF)?;
                let give_up = now + START_LIMIT;
                self.phase = Phase::Starting { give_up, from: Origin::PowerOn };
                return Ok(Step::Wait(now + POLL));
            }
            _ if now >= give_up => return Err(Fault),
            _ => return Ok(Step::Wait(now + POLL)),
        }
        if from != Origin::Sleep {
            self.configure()?;
        } else if self.bus.read(IRQ_MASK)? != TRX_END {
            // The supply has dropped meanwhile.
            return Err(Fault);
        }
        self.phase = Phase::Idle;
        Ok(Step::Again)
    }

    /// Writes the registers that stay as they are until the next reset.
    fn configure(&mut self) -> Result<(), Fault> {
        if self.bus.read(PART_NUM)? != AT86RF233 {
            return Err(Fault);
        }
        self.bus.write(TRX_CTRL_1, TX_AUTO_CRC_ON)?;
        let others = self.bus.read(TRX_CTRL_2)?;
        self.bus.write(TRX_CTRL_2, others | RX_SAFE_MODE)?;
        self.bus.write(IRQ_MASK, TRX_END)
    }

    pub(super) fn leave_idle(&mut self, now: Instant) -> Result<Step, Fault> {
        if self.job.is_some() || self.listens_on(now).is_some() {
            self.bus.command(command::PLL_ON)?;
            self.phase = Phase::Locking { give_up: now + LOCK_LIMIT };
            return Ok(Step::Wait(now + LOCK_TIME));
        }
        if self.bus.state()? != state::TRX_OFF {
            return Err(Fault);
        }
        // The chip initialises its backoff with these when it wakes.
        self.write_seed()?;
        self.slp_tr.set_high().map_err(|_| Fault)?;
        self.is_failing = false;
        self.phase = Phase::Asleep;
        Ok(self.rest(now))
    }

    pub(super) fn wake(&mut self, now: Instant) -> Result<Step, Fault> {
        if self.job.is_none() && self.listens_on(now).is_none() {
            return Ok(self.rest(now));
        }
        self.slp_tr.set_low().map_err(|_| Fault)?;
        self.phase = Phase::Starting { give_up: now + START_LIMIT, from: Origin::Sleep };
        Ok(Step::Wait(now + WAKE_TIME))
    }

    pub(super) fn lock(&mut self, now: Instant, give_up: Instant) -> Result<Step, Fault> {
        match self.bus.state()? {
            state::PLL_ON => {
                self.is_failing = false;
                self.phase = Phase::Ready;
                Ok(Step::Again)
            }
            state::IN_TRANSITION if now < give_up => Ok(Step::Wait(now + POLL)),
            _ => Err(Fault),
        }
    }

    /// Writes filter and frame-pending bit.
    pub(super) fn write_filter(&mut self) -> Result<(), Fault> {
        let filter = self.filter;
        // Both values of the standard for a device without short address: 0xffff is broadcast.
        let short = if filter.short == 0xfffe { 0xffff } else { filter.short };
        let [short_low, short_high] = short.to_le_bytes();
        let [pan_low, pan_high] = filter.pan_id.to_le_bytes();
        self.bus.write(SHORT_ADDR_0, short_low)?;
        self.bus.write(SHORT_ADDR_0 | 1, short_high)?;
        self.bus.write(PAN_ID_0, pan_low)?;
        self.bus.write(PAN_ID_0 | 1, pan_high)?;
        for (register, octet) in (IEEE_ADDR_0..).zip(filter.extended.iter().rev()) {
            self.bus.write(register, *octet)?;
        }
        let value = self.csma_seed_1();
        self.bus.write(CSMA_SEED_1, value)?;
        self.is_stale = false;
        Ok(())
    }

    /// Writes the next seed of the random backoff (xorshift, Marsaglia 2003).
    pub(super) fn write_seed(&mut self) -> Result<(), Fault> {
        self.seed |= u32::from(self.seed == 0);
        self.seed ^= self.seed << 13;
        self.seed ^= self.seed >> 17;
        self.seed ^= self.seed << 5;
        self.bus.write(CSMA_SEED_0, self.seed as u8)?;
        let value = self.csma_seed_1();
        self.bus.write(CSMA_SEED_1, value)
    }
}

//! Time and energy that the last sender of a path spends on a frame.

use kinglet_network::run::{NodeResult, RunResult};

/// Metric of node 1, which sends to the end of the path, for each frame acknowledged there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OfFrame {
    /// Interval between two frames, ms: the sum of the next five, which exclude each other.
    Interval,
    /// Time in which the radio sends, ms.
    Transmit,
    /// Time in which it receives, ms.
    Receive,
    /// Time in which it prepares to send, ms.
    Ready,
    /// Time in which it starts, ms.
    Starting,
    /// Time in which it sleeps, ms, because the CPU works or a frame is copied.
    Asleep,
    /// Time in which the CPU works, ms; like the flash, it overlaps with sending, receiving and
    /// sleep.
    Cpu,
    /// Time in which the flash reads, ms.
    FlashRead,
    /// Time in which it writes, ms.
    FlashWrite,
    /// Time in which it erases, ms.
    FlashErase,
    /// Energy of sending and receiving, mJ.
    RadioEnergy,
    /// Energy of reading and writing, mJ.
    FlashEnergy,
    /// Energy of erasing, mJ.
    EraseEnergy,
}

impl OfFrame {
    /// Name in results and unit.
    pub const fn name(self) -> (&'static str, &'static str) {
        match self {
            OfFrame::Interval => ("interval", "ms"),
            OfFrame::Transmit => ("transmit", "ms"),
            OfFrame::Receive => ("receive", "ms"),
            OfFrame::Ready => ("ready", "ms"),
            OfFrame::Starting => ("starting", "ms"),
            OfFrame::Asleep => ("asleep", "ms"),
            OfFrame::Cpu => ("cpu", "ms"),
            OfFrame::FlashRead => ("flash_read", "ms"),
            OfFrame::FlashWrite => ("flash_write", "ms"),
            OfFrame::FlashErase => ("flash_erase", "ms"),
            OfFrame::RadioEnergy => ("radio_energy", "mJ"),
            OfFrame::FlashEnergy => ("flash_energy", "mJ"),
            OfFrame::EraseEnergy => ("erase_energy", "mJ"),
        }
    }

    /// Value in one run.
    pub(super) fn value(self, run: &RunResult) -> Option<f64> {
        let node: &NodeResult = run.nodes.get(1)?;
        let (power, frames) = (&node.power, node.frames_acked?.max(1) as f64);
        let ms = |seconds: f64| 1e3 * seconds / frames;
        Some(match self {
            OfFrame::Interval => ms(run.sim_seconds),
            OfFrame::Transmit => ms(power.transmit.seconds),
            OfFrame::Receive => ms(power.receive.seconds),
            OfFrame::Ready => ms(power.ready.seconds),
            OfFrame::Starting => ms(power.starting.seconds),
            OfFrame::Asleep => ms(power.sleep.seconds),
            OfFrame::Cpu => ms(power.cpu.seconds),
            OfFrame::FlashRead => ms(power.flash_read.seconds),
            OfFrame::FlashWrite => ms(power.flash_write.seconds),
            OfFrame::FlashErase => ms(power.flash_erase.seconds),
            OfFrame::RadioEnergy => {
                let radio = power.receive.mj + power.transmit.mj + power.ready.mj;
                (radio + power.starting.mj) / frames
            }
            OfFrame::FlashEnergy => (power.flash_read.mj + power.flash_write.mj) / frames,
            OfFrame::EraseEnergy => power.flash_erase.mj / frames,
        })
    }
}

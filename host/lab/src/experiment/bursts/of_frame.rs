//! What a frame takes of the time and the energy of the node that sends it last.

use crate::run::{NodeResult, RunResult};

/// Of node 1, which sends to the end of the path, for each frame that was acknowledged there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OfFrame {
    /// From one to the next, ms: the sum of the five that follow, which exclude each other.
    Interval,
    /// The radio sends, ms.
    Transmit,
    /// It receives, ms.
    Receive,
    /// It gets ready to send, ms.
    Ready,
    /// It starts, ms.
    Starting,
    /// It sleeps, ms: the CPU works, or a frame is copied.
    Asleep,
    /// The CPU works, ms; the radio sends, receives or sleeps meanwhile, as with the flash.
    Cpu,
    /// The flash reads, ms.
    FlashRead,
    /// It writes, ms.
    FlashWrite,
    /// It erases, ms.
    FlashErase,
    /// What sending and receiving cost, mJ.
    RadioEnergy,
    /// What reading and writing cost, mJ.
    FlashEnergy,
    /// What erasing costs, mJ.
    EraseEnergy,
}

impl OfFrame {
    /// Name in results, and unit.
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

    /// The value in one run.
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
            OfFrame::Asleep => ms(power.rest.seconds),
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

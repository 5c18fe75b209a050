//! Admission of forwarded packets to the output queue (`red.rs`).

use super::{Net, Sizes};
use crate::pool::PacketHandle;
use crate::red::{QueueDiscipline, RedAction};
use crate::stats::{Discard, bump};
use kinglet_time::Instant;
use kinglet_wire::Ecn;

impl<S: Sizes, X: Copy> Net<S, X> {
    /// Decides whether a packet that is forwarded by radio may wait; marks it if RED requires that.
    //= rfc3168#5-3
    pub(crate) fn detect_congestion(
        &mut self,
        now: Instant,
        packet: PacketHandle,
    ) -> Result<(), Discard> {
        if self.waiting() >= usize::from(self.config.queue_limit) {
            return Err(Discard::QueueFull);
        }
        let QueueDiscipline::Red(red) = self.config.queue else { return Ok(()) };
        if !S::DETECTS_CONGESTION {
            return Ok(());
        }
        let action = self.red.judge(now, self.waiting(), &red);
        // Version, Traffic Class and Flow Label: the class's lower half begins the second octet.
        let octet = self.pool.storage_mut(packet).get_mut(1);
        let capable = octet.filter(|octet| Ecn::of(**octet >> 4) != Ecn::NotEct);
        match (action, capable) {
            (RedAction::Pass, _) => Ok(()),
            (RedAction::Mark, Some(octet)) => {
                *octet |= Ecn::Ce.traffic_class() << 4;
                bump(&mut self.stats.marked);
                Ok(())
            }
            (RedAction::Mark | RedAction::Drop, _) => Err(Discard::Congestion),
        }
    }

    /// Returns the number of packets that wait for the radio, including the one in progress.
    fn waiting(&self) -> usize {
        self.output.len().saturating_add(usize::from(self.current.is_some()))
    }

    /// Notes that a packet has left; the queue may be idle now.
    pub(crate) fn note_departure(&mut self, now: Instant) {
        if S::DETECTS_CONGESTION && self.waiting() == 0 {
            self.red.idle_since = Some(now);
        }
    }
}

//! Proportional Rate Reduction (RFC 9937): the bound on the octets sent during fast recovery.

use core::fmt::Debug;

/// Bound on the octets sent during fast recovery: [`Prr`], or for `()` cwnd (RFC 6582).
pub trait Rate: Copy + Debug {
    /// Begins fast recovery; `recover_fs` is RecoverFS, in octets.
    fn new(recover_fs: u32) -> Self;
    /// Notes that `octets` are sent, for the first time or not.
    fn note_sent(&mut self, octets: u32);
    /// Handles an acknowledgment.
    fn on_ack(&mut self, progress: Progress);
    /// Returns cwnd in octets, if it is not that of the congestion control.
    fn window(&self) -> Option<u32>;
    /// Returns the octets that count as gone, of those for which there were duplicates, without
    /// SACK.
    fn believe(&self, octets: u32) -> u32;
}

impl Rate for () {
    fn new(_: u32) {}

    fn note_sent(&mut self, _: u32) {}

    fn on_ack(&mut self, _: Progress) {}

    fn window(&self) -> Option<u32> {
        None
    }

    fn believe(&self, octets: u32) -> u32 {
        octets
    }
}

/// The variables of RFC 9937 §5, in octets.
#[derive(Clone, Copy, Debug)]
pub struct Prr {
    delivered: u32,
    /// prr_out (§6.3)
    out: u32,
    recover_fs: u32,
    window: u32,
}

/// Input from an acknowledgment (§6.2).
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// DeliveredData
    pub(crate) delivered: u32,
    /// SafeACK
    pub(crate) safe: bool,
    pub(crate) inflight: u32,
    pub(crate) ssthresh: u32,
    pub(crate) mss: u32,
}

impl Rate for Prr {
    /// §6.1, with RecoverFS.
    fn new(recover_fs: u32) -> Prr {
        Prr { delivered: 0, out: 0, recover_fs: recover_fs.max(1), window: 0 }
    }

    /// §6.3
    fn note_sent(&mut self, octets: u32) {
        self.out = self.out.saturating_add(octets);
    }

    /// §6.2, the per-ACK steps.
    //= rfc5681#4.3-2 rfc8985#9.3-2
    fn on_ack(&mut self, progress: Progress) {
        let Progress { delivered, safe, inflight, ssthresh, mss } = progress;
        let sent = self.out;
        if delivered == 0 {
            return;
        }
        self.delivered = self.delivered.saturating_add(delivered);
        let mut count = if inflight > ssthresh {
            let product = u64::from(self.delivered).saturating_mul(u64::from(ssthresh));
            let out = product.div_ceil(u64::from(self.recover_fs.max(1)));
            u32::try_from(out).unwrap_or(u32::MAX).saturating_sub(sent)
        } else {
            let conserved = self.delivered.saturating_sub(sent).max(delivered);
            let bound = conserved.saturating_add(if safe { mss } else { 0 });
            bound.min(ssthresh.saturating_sub(inflight))
        };
        if sent == 0 && count == 0 {
            count = mss;
        }
        self.window = inflight.saturating_add(count);
    }

    fn window(&self) -> Option<u32> {
        Some(self.window)
    }

    /// §6.2: no more than RecoverFS, in case the peer forges duplicates.
    fn believe(&self, octets: u32) -> u32 {
        octets.min(self.recover_fs)
    }
}

//! Proportional Rate Reduction (RFC 9937): how much may be sent during fast recovery.

/// The variables of RFC 9937 §5, in octets, but for prr_out, which is not needed here alone.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Prr {
    delivered: u32,
    recover_fs: u32,
    /// cwnd while in fast recovery.
    pub(crate) window: u32,
}

/// What an acknowledgment means for the rate (§6.2).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Progress {
    /// prr_out (§6.3)
    pub(crate) out: u32,
    /// DeliveredData
    pub(crate) delivered: u32,
    /// SafeACK
    pub(crate) safe: bool,
    pub(crate) inflight: u32,
    pub(crate) ssthresh: u32,
    pub(crate) mss: u32,
}

impl Prr {
    /// §6.1, with RecoverFS.
    pub(crate) fn new(recover_fs: u32) -> Prr {
        Prr { recover_fs: recover_fs.max(1), ..Prr::default() }
    }

    /// §6.2, the per-ACK steps.
    pub(crate) fn on_ack(&mut self, progress: Progress) {
        let Progress { out: sent, delivered, safe, inflight, ssthresh, mss } = progress;
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
}

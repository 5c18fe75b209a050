//! Congestion control as a trait, so that a study can add its own. [`NewReno`] is the standard,
//! [`Cubic`] the alternative for windows of many segments; [`Westwood`] and [`RateSampled`] use
//! estimates of the capacity of the path, for which windows of few segments are enough. Controllers
//! that are not selected in [`crate::Sizes::Congestion`] are not linked.

mod cubic;
mod new_reno;
mod rate;
mod round;
mod westwood;

pub use cubic::Cubic;
pub use new_reno::NewReno;
pub use rate::RateSampled;
pub use westwood::Westwood;

use kinglet_time::{Duration, Instant};

/// Input of a controller from an acknowledgment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Acked {
    /// Present time.
    pub now: Instant,
    /// Smoothed round-trip time; zero before the first sample.
    pub srtt: Duration,
    /// The last sample of the round-trip time; zero before the first.
    pub rtt: Duration,
    /// Octets outstanding after the acknowledgment.
    pub flight: u32,
    /// Octets acknowledged for the first time, cumulatively.
    pub octets: u32,
    /// True if the congestion window, not the application or the peer, limited the sender;
    /// otherwise the window must not grow (RFC 9293 §3.8.1, RFC 7661 §1).
    pub limited: bool,
    /// True while the losses of a retransmission timeout are being repaired.
    pub after_timeout: bool,
}

/// The window after an acknowledgment in slow start (RFC 5681 §3.1 with RFC 3465).
fn slow_start(cwnd: u32, mss: u32, acked: Acked) -> u32 {
    // RFC 3465 §2.2 and §2.3: L is 2·SMSS, but 1·SMSS in the slow start after a timeout.
    let limit = if acked.after_timeout { mss } else { mss.saturating_mul(2) };
    cwnd.saturating_add(acked.octets.min(limit))
}

/// The window after fast recovery, RFC 6582 §3.2 step 3, first choice: no burst if little is in
/// flight.
//= rfc5681#3.2-13 rfc5681#4.3-3 rfc6582#3.2-4
fn after_recovery(ssthresh: u32, mss: u32, flight: u32) -> u32 {
    ssthresh.min(flight.max(mss).saturating_add(mss))
}

/// The restart window for an `initial` one: after a loss it is no more than the initial window of
/// RFC 3390 (RFC 6928 §2).
//= rfc6928#2-5
fn restart_window(initial: u32, mss: u32, ssthresh: u32) -> u32 {
    let most = mss.saturating_mul(4).min(mss.saturating_mul(2).max(4_380));
    if ssthresh == u32::MAX { initial } else { initial.min(most) }
}

/// A congestion controller. Windows are in octets. A controller limits the octets in flight; it
/// does not decide on retransmissions.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not control congestion",
    note = "`congestion` is a type of `kinglet::tcp::congestion`, such as `NewReno` or `Cubic`"
)]
pub trait Controller {
    /// The state of a new connection with this segment size and initial window, in octets.
    fn new(mss: u32, initial_window: u32) -> Self;
    /// Sets the payload of a full segment to `mss` octets. The window stays as it is, but is at
    /// least one segment, which could otherwise not be sent.
    fn set_mss(&mut self, mss: u32);
    /// cwnd.
    fn window(&self) -> u32;
    /// ssthresh.
    fn slow_start_threshold(&self) -> u32;
    /// New data was acknowledged outside of fast recovery.
    fn on_ack(&mut self, acked: Acked);
    /// Fast recovery begins with `flight` octets outstanding.
    fn on_loss(&mut self, flight: u32);
    /// The peer reports a congestion mark; `flight` octets were outstanding before the report (RFC
    /// 3168 §6.1.2). Called at most once per window of data.
    fn on_mark(&mut self, flight: u32);
    /// Fast recovery ends with `flight` octets outstanding.
    fn on_recovered(&mut self, flight: u32);
    /// The retransmission timer expired; `first` is false for a repeated retransmission.
    fn on_timeout(&mut self, flight: u32, first: bool);
    /// The loss that was last reported was spurious: restores these values of cwnd and ssthresh,
    /// from before it, where they are higher (RFC 4015 §3).
    fn on_spurious(&mut self, window: u32, threshold: u32);
    /// Nothing was sent for longer than an RTO.
    fn on_idle(&mut self);
}

#[cfg(test)]
mod tests {
    use super::{Acked, Controller};
    use kinglet_time::{Duration, Instant};

    /// Gives `acks` acknowledgments of `octets` each, one every `each_ms`, of data sent `rtt_ms`
    /// before.
    pub(super) fn steady(
        cc: &mut impl Controller,
        acks: u64,
        each_ms: u64,
        rtt_ms: u64,
        octets: u32,
    ) {
        let rtt = Duration::from_millis(rtt_ms);
        let behind = u32::try_from(rtt_ms.checked_div(each_ms).unwrap_or(0).saturating_sub(1));
        let flight = behind.unwrap_or(0).saturating_mul(octets);
        for n in 0..acks {
            let now = Instant::from_millis(n * each_ms);
            let acked =
                Acked { now, srtt: rtt, rtt, flight, octets, limited: true, after_timeout: false };
            cc.on_ack(acked);
        }
    }
}

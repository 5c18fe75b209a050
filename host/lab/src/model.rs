//! Model of the goodput of TCP from a sleepy sender: three parts, none of them fitted
//! (`docs/decisions/0032`).
//!
//! 1. **Rate of a window.** A data request fetches the acknowledgements that allow a window of
//!    segments to be sent. The segments pass the bottleneck of the path one after the other, every
//!    second one is acknowledged, and the acknowledgement waits at the parent for the next data
//!    request. [`Path::rate`] simulates this without loss or other limits.
//! 2. **Cost of a loss.** The window of four drops to two and grows by one a round. A loss costs a
//!    round of recovery, one with a window of two and one with a window of three, each at the rate
//!    of part 1 for that window. TCPlp's App. C calls the sum `l` round trips and sets l = 2; if
//!    every round takes one sleep interval, it is 27/16.
//! 3. **Goodput** by App. C's bursts and rests: a segment at the rate of the full window, plus the
//!    time of part 2 for each lost segment.
//!
//! In addition to settings the inputs are the segment loss rate, and the goodput of the same path
//! while always on, which determines the time of a segment at the bottleneck.

use kinglet_sim::rng::Stream;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// Segments of the window that the model is for: TCPlp's four (§6.2, §7).
pub(crate) const WINDOW: u32 = 4;
/// Segments of a simulation of part 1, and number of warm-up segments among them.
const RUN: u32 = 6_000;
const WARM_UP: u32 = 1_500;
/// Delay of an acknowledgement, and segments per acknowledgement (FreeBSD, §6.2).
const DELAYED_ACK_US: u64 = 100_000;
const ACK_EVERY: u32 = 2;

/// A path from a sender to a receiver behind a border router. Times in microseconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Path {
    /// Wireless hops, at least 1.
    pub hops: u32,
    /// Time of a segment's frames over one unloaded hop.
    pub segment_us: f64,
    /// Time of an acknowledgement over one unloaded hop.
    pub acknowledgement_us: f64,
    /// Time of a data request and of the acknowledgement that it fetches.
    pub fetch_us: f64,
    /// One-way delay between border router and receiver.
    pub wire_us: f64,
    /// Time per segment at the bottleneck of the path while the sender is always on.
    pub bottleneck_us: f64,
}

impl Path {
    /// Minimum time per segment at the bottleneck. Segments within three hops exclude each other
    /// (TCPlp §7.2). Any further time is due to retransmissions.
    fn least_us(&self) -> f64 {
        self.bottleneck_us.min(f64::from(self.hops.min(3)) * self.segment_us)
    }

    /// Delay of a segment from the sender to the receiver without queueing.
    fn forth_us(&self) -> f64 {
        f64::from(self.hops) * self.segment_us + self.wire_us
    }

    /// Delay of an acknowledgement from the receiver to the sender's parent, or to the sender
    /// itself.
    fn back_us(&self, asleep: bool) -> f64 {
        let hops = if asleep { self.hops.saturating_sub(1) } else { self.hops };
        f64::from(hops) * self.acknowledgement_us + self.wire_us
    }

    /// Segments per second with a window of `window` segments and no loss. `sleep_us` is the
    /// interval between data requests; `None` if the sender is always on.
    fn rate(&self, window: u32, sleep_us: Option<u64>) -> f64 {
        Transfer::new(*self, window, sleep_us).run()
    }

    /// Goodput in segments per second with segment loss rate `loss`, 0 to 1.
    pub(crate) fn goodput(&self, sleep_us: Option<u64>, loss: f64) -> f64 {
        let [two, three, full] = [2, 3, WINDOW].map(|window| 1.0 / self.rate(window, sleep_us));
        1.0 / (full + loss * rest(two, three, full))
    }
}

/// Time that a loss costs, if a segment takes `two`, `three` or `full` with windows of two, three
/// and four segments.
///
/// Each of the window's four segments is lost with equal probability. The round of recovery has two
/// segments: the retransmission and a new one. There is no new segment in two cases. If the first
/// was lost, no acknowledgement has opened the window. If the last was lost, a round of three has
/// sent three new segments before the loss is detected. Windows of two and of three follow.
fn rest(two: f64, three: f64, full: f64) -> f64 {
    let new_in_recovery = 0.5;
    let recovery = 2.0 * two - new_in_recovery * full;
    let of_two = 2.0 * (two - full);
    let of_three = 3.0 * (three - full);
    recovery + of_two.max(0.0) + 1.25 * of_three.max(0.0)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// A segment arrives at the receiver.
    Arrival,
    /// A delayed acknowledgement is due, if it was set at this time.
    Delayed(u64),
    /// An acknowledgement of so many segments arrives at the parent, or at an always-on sender.
    Acknowledgement(u32),
    /// The sender polls its parent.
    Ask,
    /// The sender has received the response to its data request.
    Send,
}

/// Simulation of part 1.
struct Transfer {
    path: Path,
    window: u32,
    sleep_us: Option<u64>,
    /// Ordered by time, then by creation.
    events: BinaryHeap<Reverse<(u64, u64, Event)>>,
    made: u64,
    dice: Stream,
    now: u64,
    sent: u32,
    acknowledged: u32,
    /// Time at which the last segment sent arrives.
    last_us: f64,
    received: u32,
    /// Number of received segments that the receiver has acknowledged.
    answered: u32,
    delayed: Option<u64>,
    /// Acknowledgements buffered at the parent.
    waiting: VecDeque<u32>,
}

impl Transfer {
    fn new(path: Path, window: u32, sleep_us: Option<u64>) -> Self {
        Transfer {
            path,
            window,
            sleep_us,
            events: BinaryHeap::new(),
            made: 0,
            dice: Stream::from_seed(1),
            now: 0,
            sent: 0,
            acknowledged: 0,
            last_us: f64::NEG_INFINITY,
            received: 0,
            answered: 0,
            delayed: None,
            waiting: VecDeque::new(),
        }
    }

    fn at(&mut self, after_us: f64, event: Event) {
        self.made += 1;
        self.events.push(Reverse((self.now + after_us.max(0.0) as u64, self.made, event)));
    }

    fn run(mut self) -> f64 {
        self.send();
        if let Some(sleep) = self.sleep_us {
            self.at(sleep as f64, Event::Ask);
        }
        let mut began = 0;
        while let (true, Some(Reverse((at, _, event)))) = (self.received < RUN, self.events.pop()) {
            self.now = at;
            self.handle(event);
            if self.received == WARM_UP && event == Event::Arrival {
                began = at;
            }
        }
        f64::from(RUN - WARM_UP) * 1e6 / (self.now - began) as f64
    }

    fn handle(&mut self, event: Event) {
        match event {
            Event::Arrival => {
                self.received += 1;
                if self.received - self.answered >= ACK_EVERY {
                    return self.answer();
                }
                self.delayed = Some(self.now);
                self.at(DELAYED_ACK_US as f64, Event::Delayed(self.now));
            }
            Event::Delayed(set) if self.delayed == Some(set) => self.answer(),
            Event::Delayed(_) => {}
            Event::Acknowledgement(count) if self.sleep_us.is_some() => {
                self.waiting.push_back(count);
            }
            Event::Acknowledgement(count) => {
                self.acknowledged = count;
                self.send();
            }
            Event::Ask => self.ask(),
            Event::Send => self.send(),
        }
    }

    fn answer(&mut self) {
        (self.answered, self.delayed) = (self.received, None);
        let back = self.path.back_us(self.sleep_us.is_some());
        self.at(back, Event::Acknowledgement(self.received));
    }

    /// Fetches one acknowledgement. If another waits, the next data request follows at once;
    /// otherwise the sender sends its segments, and sleeps for an interval counted from this data
    /// request.
    fn ask(&mut self) {
        let fetch = self.path.fetch_us;
        if let Some(count) = self.waiting.pop_front() {
            self.acknowledged = count;
            if !self.waiting.is_empty() {
                return self.at(fetch, Event::Ask);
            }
            self.at(fetch, Event::Send);
        }
        self.at(self.sleep_us.unwrap_or_default() as f64, Event::Ask);
    }

    /// Sends the segments that the window allows. Retransmissions are random and can hit a segment
    /// more than once, so its time beyond the minimum is drawn from an exponential distribution.
    fn send(&mut self) {
        while self.sent < self.acknowledged + self.window {
            let least = self.path.least_us();
            let more = -(1.0 - self.dice.unit()).ln() * (self.path.bottleneck_us - least);
            let alone = self.now as f64 + self.path.forth_us();
            self.last_us = alone.max(self.last_us + least + more);
            self.at(self.last_us - self.now as f64, Event::Arrival);
            self.sent += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATH: Path = Path {
        hops: 3,
        segment_us: 20_000.0,
        acknowledgement_us: 5_000.0,
        fetch_us: 7_000.0,
        wire_us: 6_000.0,
        bottleneck_us: 80_000.0,
    };

    #[test]
    fn a_long_sleep_lets_a_window_leave_each_time_and_two_acknowledgements_be_fetched() {
        let rate = PATH.rate(4, Some(2_000_000));
        // Up to half a window may be missing at the end.
        assert!((rate - 4.0 / 2.007).abs() < 0.005, "{rate}");
        assert!((PATH.rate(2, Some(2_000_000)) - 1.0).abs() < 0.005);
    }

    #[test]
    fn awake_the_bottleneck_is_all_that_limits_a_window_that_fills_it() {
        let rate = PATH.rate(4, None);
        assert!((rate * 0.080 - 1.0).abs() < 0.02, "{rate}");
        // A single segment waits for its delayed acknowledgement.
        let one = PATH.rate(1, None);
        let round_us = 66_000.0 + 100_000.0 + 21_000.0;
        assert!((one * round_us / 1e6 - 1.0).abs() < 0.01, "{one}");
    }

    #[test]
    fn an_acknowledgement_that_comes_after_the_request_waits_for_the_next() {
        let exact = Path { bottleneck_us: 60_000.0, ..PATH };
        // The second pair is acknowledged 66 + 3 · 60 + 16 ms after the first segment leaves, 7 ms
        // after the request: a request finds two segments acknowledged, or four.
        let (found, missed) = (exact.rate(4, Some(280_000)), exact.rate(4, Some(260_000)));
        assert!((found - 4.0 / 0.287).abs() < 0.05, "{found}");
        assert!(missed < found, "{missed} {found}");
    }

    #[test]
    fn with_a_round_for_each_sleep_interval_a_loss_costs_27_sixteenths_of_one() {
        // One round carries two, three or four segments.
        let round = 1.0;
        let lost = rest(round / 2.0, round / 3.0, round / 4.0);
        assert!((lost - 27.0 / 16.0).abs() < 1e-12);
        let sleep = 10.0;
        let (none, some) =
            (PATH.goodput(Some(10_000_000), 0.0), PATH.goodput(Some(10_000_000), 0.06));
        let l = (1.0 / some - 1.0 / none) / 0.06 / sleep;
        assert!((l - 27.0 / 16.0).abs() < 0.01, "{l}");
    }
}

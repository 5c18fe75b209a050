//! Intervals of radio and flash activity for a frame timeline, within a window of time.

use kinglet_time::Instant;

/// Activity of a radio or of a node's flash in an interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Loaded a frame.
    Load,
    /// Backed off in hardware, deaf.
    Backoff,
    /// Assessed the channel and found it clear.
    Sense,
    /// Assessed the channel and found it busy.
    SenseBusy,
    /// Sent a frame.
    Send,
    /// Sent an acknowledgement.
    SendAck,
    /// Received a frame.
    Receive,
    /// A frame was lost at this receiver to an overlap.
    Collision,
    /// A frame for this node was lost at this receiver for another reason.
    Lost,
    /// Read a frame out of the buffer.
    Readout,
    /// Was on for any purpose.
    On,
    /// Sampled the channel, once or several times.
    Sample {
        /// The channel was busy.
        busy: bool,
    },
    /// Sent a frame repeatedly until it was acknowledged.
    Strobe {
        /// Number of transmissions of the frame.
        times: u16,
        /// The expected acknowledgement was not received.
        unheard: bool,
    },
    /// Sent consecutive frames to the same neighbour, which stayed on for them.
    Burst {
        /// Number of acknowledged frames, at least two.
        frames: u32,
    },
    /// The flash read.
    FlashRead,
    /// The flash received data and programmed it.
    FlashWrite,
    /// The flash erased.
    FlashErase,
}

/// The end of a strobe.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Strobed {
    /// Start of the strobe.
    pub(crate) start_us: u64,
    /// End of the strobe.
    pub(crate) end_us: u64,
    /// Number of transmissions of the frame.
    pub(crate) times: u16,
    /// True if it was acknowledged, false if the expected acknowledgement is missing, `None` if
    /// none was requested.
    pub(crate) acknowledged: Option<bool>,
    /// Sent without an assessment to a neighbour that stays on for it.
    pub(crate) follows: bool,
    /// Announces that another frame follows.
    pub(crate) goes_on: bool,
}

/// A burst that may continue.
#[derive(Clone, Copy, Debug)]
struct Burst {
    start_us: u64,
    frames: u32,
    /// Index of its interval, if it has more than one frame.
    index: Option<usize>,
}

/// One interval, in microseconds from the start of the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interval {
    /// Node number.
    pub node: u32,
    /// Start.
    pub start_us: u64,
    /// End.
    pub end_us: u64,
    /// Activity.
    pub kind: Kind,
}

/// Collects intervals that overlap a window, up to a limit.
#[derive(Clone, Debug)]
pub struct Timeline {
    from_us: u64,
    until_us: u64,
    limit: usize,
    /// Start of the first interval beyond the limit.
    full_at_us: Option<u64>,
    intervals: Vec<Interval>,
    /// Per node, index of the interval that contains the end of its last on time.
    on: Vec<Option<usize>>,
    /// Per node, the burst that may continue.
    bursts: Vec<Option<Burst>>,
}

impl Timeline {
    /// Collects up to `limit` intervals that overlap `from..until`.
    pub fn new(from: Instant, until: Instant, limit: usize) -> Self {
        let (from_us, until_us) = (from.as_micros(), until.as_micros());
        Timeline {
            from_us,
            until_us,
            limit,
            full_at_us: None,
            intervals: Vec::new(),
            on: Vec::new(),
            bursts: Vec::new(),
        }
    }

    pub(crate) fn add(&mut self, node: usize, start_us: u64, end_us: u64, kind: Kind) {
        let inside = start_us < self.until_us && end_us >= self.from_us;
        if inside && self.intervals.len() < self.limit {
            self.intervals.push(Interval { node: node as u32, start_us, end_us, kind });
        } else if inside {
            self.full_at_us = self.full_at_us.or(Some(start_us));
        }
    }

    /// Adds an interval with the radio of `node` on; it extends an interval that ends at its start.
    pub(crate) fn on(&mut self, node: usize, start_us: u64, end_us: u64) {
        if self.on.len() <= node {
            self.on.resize(node + 1, None);
        }
        let before = self.on[node].and_then(|index| self.intervals.get_mut(index));
        if let Some(interval) = before.filter(|interval| interval.end_us == start_us) {
            interval.end_us = end_us;
            return;
        }
        let next = self.intervals.len();
        self.add(node, start_us, end_us, Kind::On);
        self.on[node] = (self.intervals.len() > next).then_some(next);
    }

    /// Adds a strobe of `node`: it continues the previous burst or may begin one.
    pub(crate) fn strobed(&mut self, node: usize, strobe: Strobed) {
        let Strobed { start_us, end_us, times, acknowledged, follows, goes_on } = strobe;
        let unheard = acknowledged == Some(false);
        self.add(node, start_us, end_us, Kind::Strobe { times, unheard });
        if self.bursts.len() <= node {
            self.bursts.resize(node + 1, None);
        }
        let heard = acknowledged == Some(true);
        let mut burst = match self.bursts[node].take().filter(|_| follows) {
            Some(burst) => Burst { frames: burst.frames + u32::from(heard), ..burst },
            None => Burst { start_us, frames: u32::from(heard), index: None },
        };
        if burst.frames > 1 {
            let kind = Kind::Burst { frames: burst.frames };
            let known = burst.index.and_then(|index| self.intervals.get_mut(index));
            if let Some(interval) = known {
                (interval.end_us, interval.kind) = (end_us, kind);
            } else {
                let next = self.intervals.len();
                self.add(node, burst.start_us, end_us, kind);
                burst.index = (self.intervals.len() > next).then_some(next);
            }
        }
        self.bursts[node] = (heard && goes_on).then_some(burst);
    }

    /// Adds the intervals of another timeline, which was collected by the clock of `node`;
    /// `true_us` converts its times.
    pub(crate) fn join(&mut self, node: usize, other: &Timeline, true_us: impl Fn(u64) -> u64) {
        let full = [self.full_at_us, other.full_at_us.map(&true_us)];
        self.full_at_us = full.into_iter().flatten().min();
        self.intervals.extend(other.intervals.iter().map(|interval| Interval {
            node: node as u32,
            start_us: true_us(interval.start_us),
            end_us: true_us(interval.end_us),
            kind: interval.kind,
        }));
    }

    /// Time in microseconds from which on intervals are missing because of the limit; `None` if
    /// none is missing.
    pub fn full_at_us(&self) -> Option<u64> {
        self.full_at_us
    }

    /// Intervals in the order in which their ends became known.
    pub fn intervals(&self) -> &[Interval] {
        &self.intervals
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Strobes of one node that end at these times: whether each is acknowledged, follows another
    /// one, and announces another one.
    fn strobes(ends: &[(u64, bool, bool, bool)]) -> Vec<(u64, u64, Kind)> {
        let mut timeline = Timeline::new(Instant::ZERO, Instant::from_micros(900), 99);
        for &(end_us, heard, follows, goes_on) in ends {
            let (start_us, acknowledged) = (end_us - 5, Some(heard));
            let strobe = Strobed { start_us, end_us, times: 1, acknowledged, follows, goes_on };
            timeline.strobed(0, strobe);
        }
        let bursts = timeline.intervals().iter();
        let bursts = bursts.filter(|interval| matches!(interval.kind, Kind::Burst { .. }));
        bursts.map(|interval| (interval.start_us, interval.end_us, interval.kind)).collect()
    }

    #[test]
    fn strobes_that_follow_one_another_are_a_burst_until_one_is_not_heard() {
        let (first, next) = ((10, true, false, true), (20, true, true, true));
        assert_eq!(strobes(&[first, (30, true, false, true)]), [], "both begin anew");
        assert_eq!(strobes(&[first, next]), [(5, 20, Kind::Burst { frames: 2 })]);
        let unheard = [first, next, (30, false, true, true), (40, true, true, true)];
        assert_eq!(strobes(&unheard), [(5, 30, Kind::Burst { frames: 2 })], "it has ended");
        let two = [first, next, (30, true, true, false), first, (40, true, true, true)];
        let expected = [(5, 30, Kind::Burst { frames: 3 }), (5, 40, Kind::Burst { frames: 2 })];
        assert_eq!(strobes(&two), expected);
    }

    #[test]
    fn records_without_room_are_reported() {
        let mut timeline = Timeline::new(Instant::from_micros(100), Instant::from_micros(900), 2);
        timeline.add(0, 0, 50, Kind::Send);
        for start in [200, 300] {
            timeline.add(0, start, start + 10, Kind::Send);
        }
        timeline.add(0, 950, 960, Kind::Send);
        assert_eq!((timeline.intervals().len(), timeline.full_at_us()), (2, None));
        for start in [400, 500] {
            timeline.add(0, start, start + 10, Kind::Send);
        }
        assert_eq!((timeline.intervals().len(), timeline.full_at_us()), (2, Some(400)));
    }
}

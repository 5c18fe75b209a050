//! Intervals of radio activity for a frame timeline, within a window of time.

use kinglet_time::Instant;

/// What a radio did in an interval.
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
    /// A frame was lost here to an overlap.
    Collision,
    /// A frame for this node was lost here for another reason.
    Lost,
    /// Read a frame out of the buffer.
    Readout,
    /// Was on, for whatever purpose.
    On,
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
    /// What happened.
    pub kind: Kind,
}

/// Collects intervals that overlap a window, up to a limit.
#[derive(Clone, Debug)]
pub struct Timeline {
    from_us: u64,
    until_us: u64,
    limit: usize,
    /// Where the first interval began for which there was no room.
    full_at_us: Option<u64>,
    intervals: Vec<Interval>,
    /// Per node, which interval says until when it was on.
    on: Vec<Option<usize>>,
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

    /// The radio of `node` was on; what follows immediately belongs to the same interval.
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

    /// In microseconds, from where on intervals are missing for want of room; `None` if none is.
    pub fn full_at_us(&self) -> Option<u64> {
        self.full_at_us
    }

    /// The intervals, in the order in which their ends became known.
    pub fn intervals(&self) -> &[Interval] {
        &self.intervals
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_finds_no_room_is_told() {
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

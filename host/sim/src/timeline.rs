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
    intervals: Vec<Interval>,
}

impl Timeline {
    /// Collects up to `limit` intervals that overlap `from..until`.
    pub fn new(from: Instant, until: Instant, limit: usize) -> Self {
        let (from_us, until_us) = (from.as_micros(), until.as_micros());
        Timeline { from_us, until_us, limit, intervals: Vec::new() }
    }

    pub(crate) fn add(&mut self, node: usize, start_us: u64, end_us: u64, kind: Kind) {
        let inside = start_us < self.until_us && end_us >= self.from_us;
        if inside && self.intervals.len() < self.limit {
            self.intervals.push(Interval { node: node as u32, start_us, end_us, kind });
        }
    }

    /// The intervals, in the order in which their ends became known.
    pub fn intervals(&self) -> &[Interval] {
        &self.intervals
    }
}

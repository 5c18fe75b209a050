//! A serial line between an end node and the host that has the file.

use kinglet_time::{Duration, Instant};

/// A start bit, eight data bits, a stop bit.
const BITS_PER_OCTET: u64 = 10;

/// A line, and the node's buffer for it that evens out its pace. At the source it is full when the
/// transfer begins; at the sink it is empty.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Line {
    bits_per_second: u32,
    /// Time that the line takes for a full buffer.
    memory: Duration,
    /// Time at which the line has finished with all octets that have passed.
    done: Instant,
}

impl Line {
    pub(crate) fn new(bits_per_second: u32, memory_octets: usize) -> Line {
        let new = Line { bits_per_second, memory: Duration::ZERO, done: Instant::ZERO };
        Line { memory: new.time(memory_octets), ..new }
    }

    fn time(&self, octets: usize) -> Duration {
        let bits = octets as u64 * BITS_PER_OCTET * 1_000_000;
        Duration::from_micros(bits.div_ceil(self.bits_per_second.max(1).into()))
    }

    /// Time at which the line will have delivered, or accepted, enough for `octets` more to pass.
    pub(crate) fn ready(&self, octets: usize) -> Instant {
        let late = (self.done + self.time(octets)).checked_since(Instant::ZERO + self.memory);
        Instant::ZERO + late.unwrap_or(Duration::ZERO)
    }

    /// Records that `octets` pass at `now`.
    pub(crate) fn pass(&mut self, now: Instant, octets: usize) {
        self.done = self.done.max(now) + self.time(octets);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn octets_pass_at_the_pace_of_the_line_once_the_memory_is_used_up() {
        // 100 octets take 10 ms, and 300 fit into the buffer.
        let mut line = Line::new(100_000, 300);
        let (mut now, mut passed) = (Instant::from_millis(50), Vec::new());
        for _ in 0..6 {
            now = now.max(line.ready(100));
            line.pass(now, 100);
            passed.push(now.as_millis());
        }
        assert_eq!(passed, [50, 50, 50, 60, 70, 80]);
        now = Instant::from_millis(200);
        assert!(line.ready(300) <= now, "a pause fills the memory");
    }
}

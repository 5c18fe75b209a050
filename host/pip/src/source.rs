//! The node that has the file.

use crate::frame::{Content, PAYLOAD, WINDOW};
use crate::line::Line;
use kinglet_time::{Duration, Instant};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Sends the data frames of a round, from this one on.
    Sending(usize),
    /// The end of the round was signalled; the signal is repeated at this instant.
    Asking(Instant),
    /// The sink has everything, and the path is to be torn down.
    Ending,
    /// Nothing is left to send.
    Over,
}

/// Waiting times for a response.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Patience {
    /// Initial waiting time.
    pub(crate) least: Duration,
    /// Maximum: the time doubles after each question without a response.
    pub(crate) most: Duration,
}

/// The source: sends every data frame that the sink may lack, asks for missing ones, and continues
/// with these.
pub(crate) struct Source {
    file: Vec<u8>,
    /// The data frames of this round, or of the next.
    wanted: Vec<bool>,
    phase: Phase,
    round: u8,
    rounds: u32,
    /// The windows of the response to the last question that were received so far.
    reported: Vec<u8>,
    patience: Patience,
    /// Waiting time for the next response.
    wait: Duration,
    line: Option<Line>,
    finished: Option<Instant>,
}

impl Source {
    /// The source of `file`.
    pub(crate) fn new(file: Vec<u8>, patience: Patience, line: Option<Line>) -> Source {
        let wanted = vec![true; file.len().div_ceil(PAYLOAD)];
        Source {
            file,
            wanted,
            phase: Phase::Sending(0),
            round: 0,
            rounds: 0,
            reported: Vec::new(),
            patience,
            wait: patience.least,
            line,
            finished: None,
        }
    }

    /// Time at which it received the report that the sink has everything.
    pub(crate) fn finished(&self) -> Option<Instant> {
        self.finished
    }

    /// Number of reports of missing frames. A round began after each of them.
    pub(crate) fn rounds(&self) -> u32 {
        self.rounds
    }

    /// The next frame, if it can be sent now.
    pub(crate) fn next(&mut self, now: Instant) -> Option<Vec<u8>> {
        match self.phase {
            Phase::Sending(from) => self.next_of_round(now, from),
            Phase::Ending => {
                self.phase = Phase::Over;
                Some(Content::TearDown.write())
            }
            Phase::Asking(_) | Phase::Over => None,
        }
    }

    fn next_of_round(&mut self, now: Instant, from: usize) -> Option<Vec<u8>> {
        let Some(index) = (from..self.wanted.len()).find(|&index| self.wanted[index]) else {
            self.phase = Phase::Asking(now + self.wait);
            self.reported.clear();
            let (round, octets) = (self.round, self.file.len() as u32);
            return Some(Content::End { round, octets }.write());
        };
        let begin = index * PAYLOAD;
        let payload = &self.file[begin..self.file.len().min(begin + PAYLOAD)];
        self.phase = Phase::Sending(index);
        if let Some(line) = &mut self.line {
            if line.ready(payload.len()) > now {
                return None;
            }
            line.pass(now, payload.len());
        }
        self.wanted[index] = false;
        Some(Content::Data { index: index as u16, payload }.write())
    }

    /// Time of its next action without input.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        match (self.phase, &self.line) {
            (Phase::Sending(_), Some(line)) => Some(line.ready(PAYLOAD)),
            (Phase::Asking(until), _) => Some(until),
            _ => None,
        }
    }

    /// Handles the timeout of a response, or of its last parts.
    pub(crate) fn handle_deadline(&mut self, now: Instant) {
        if matches!(self.phase, Phase::Asking(until) if until <= now) {
            self.wait = (self.wait * 2).min(self.patience.most);
            self.begin_round();
        }
    }

    /// Handles a report of missing frames.
    pub(crate) fn handle(&mut self, now: Instant, content: Content<'_>) {
        let Content::Missing { round, parts, window, bits } = content else { return };
        if round != self.round || !matches!(self.phase, Phase::Asking(_)) {
            return;
        }
        if parts == 0 {
            self.finished = Some(now);
            self.phase = Phase::Ending;
            return;
        }
        let first = usize::from(window) * WINDOW;
        for (index, wanted) in self.wanted.iter_mut().enumerate().skip(first).take(WINDOW) {
            let bit = index - first;
            *wanted |= bits.get(bit / 8).is_some_and(|octet| octet >> (bit % 8) & 1 == 1);
        }
        if !self.reported.contains(&window) {
            self.reported.push(window);
        }
        if self.reported.len() >= usize::from(parts) {
            self.begin_round();
        }
    }

    /// Sends the frames that were reported missing, or repeats the question if there was no report.
    fn begin_round(&mut self) {
        if !self.reported.is_empty() {
            self.round = self.round.wrapping_add(1);
            self.rounds += 1;
            self.wait = self.patience.least;
        }
        self.phase = Phase::Sending(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATIENCE: Patience =
        Patience { least: Duration::from_millis(100), most: Duration::from_millis(300) };

    fn source(frames: usize) -> Source {
        Source::new(vec![5; frames * PAYLOAD], PATIENCE, None)
    }

    /// The indices that it sends until it asks, and the round of the question.
    fn run(source: &mut Source, now: Instant) -> (Vec<u16>, u8) {
        let mut indices = Vec::new();
        loop {
            let octets = source.next(now).expect("it has not asked");
            match Content::parse(&octets) {
                Some(Content::Data { index, .. }) => indices.push(index),
                Some(Content::End { round, .. }) => return (indices, round),
                other => panic!("{other:?}"),
            }
        }
    }

    fn missing(round: u8, parts: u8, window: u8, bits: &[u8]) -> Content<'_> {
        Content::Missing { round, parts, window, bits }
    }

    #[test]
    fn a_round_is_what_was_missing_in_the_one_before() {
        let (mut source, now) = (source(10), Instant::ZERO);
        assert_eq!(run(&mut source, now), ((0..10).collect(), 0));
        assert_eq!(source.next(now), None, "it waits");
        source.handle(now, missing(1, 1, 0, &[255]));
        assert_eq!(source.next(now), None, "nobody has asked that");
        source.handle(now, missing(0, 1, 0, &[0b1000_0010, 0b10]));
        assert_eq!(run(&mut source, now), (vec![1, 7, 9], 1));
        source.handle(now, missing(1, 0, 0, &[]));
        assert_eq!(source.next(now), Some(Content::TearDown.write()));
        assert_eq!((source.next(now), source.rounds()), (None, 1));
        assert!(source.finished().is_some());
    }

    #[test]
    fn a_question_without_an_answer_is_asked_again() {
        let (mut source, mut now) = (source(2), Instant::ZERO);
        assert_eq!(run(&mut source, now), (vec![0, 1], 0));
        for wait_ms in [100, 200, 300, 300] {
            let late = source.deadline().expect("it waits for an answer");
            assert_eq!((late - now).as_millis(), wait_ms);
            source.handle_deadline(late - Duration::from_micros(1));
            assert_eq!(source.next(late), None, "not yet");
            source.handle_deadline(late);
            assert_eq!(run(&mut source, late), (vec![], 0));
            now = late;
        }
        assert_eq!(source.rounds(), 0);
        source.handle(now, missing(0, 1, 0, &[1]));
        assert_eq!(run(&mut source, now), (vec![0], 1));
        assert_eq!(source.deadline(), Some(now + PATIENCE.least));
    }

    #[test]
    fn half_an_answer_is_better_than_none() {
        let (mut source, now) = (source(WINDOW + 3), Instant::ZERO);
        run(&mut source, now);
        source.handle(now, missing(0, 2, 1, &[0b101]));
        source.handle(now, missing(0, 2, 1, &[0b101]));
        assert_eq!(source.next(now), None, "it came twice, but the other part may come yet");
        source.handle_deadline(now + PATIENCE.least);
        let [first, last] = [WINDOW, WINDOW + 2].map(|index| index as u16);
        assert_eq!(run(&mut source, now), (vec![first, last], 1));
    }

    #[test]
    fn a_line_sets_the_pace() {
        let line = Line::new(8_000, PAYLOAD);
        let mut source = Source::new(vec![5; 3 * PAYLOAD], PATIENCE, Some(line));
        let now = Instant::from_secs(1);
        assert!(source.next(now).is_some());
        assert_eq!(source.next(now), None);
        let due = source.deadline().expect("octets are on their way");
        assert_eq!((due - now).as_micros(), PAYLOAD as u64 * 10_000_000 / 8_000);
        assert!(source.next(due).is_some());
    }
}

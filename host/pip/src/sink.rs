//! The node that receives the file.

use crate::frame::{Content, PAYLOAD, WINDOW};
use crate::line::Line;
use kinglet_time::Instant;
use std::collections::VecDeque;

/// The sink: keeps received frames and, when asked, reports the missing ones.
pub(crate) struct Sink {
    /// Received frames, by index.
    frames: Vec<Option<Vec<u8>>>,
    octets: usize,
    last: Instant,
    line: Option<Line>,
    round: u8,
    parts: u8,
    /// The windows of its response that have not been sent yet; for a response without parts the
    /// first one.
    answer: VecDeque<u8>,
}

impl Sink {
    pub(crate) fn new(line: Option<Line>) -> Sink {
        let (frames, answer) = Default::default();
        Sink { frames, octets: 0, last: Instant::ZERO, line, round: 0, parts: 0, answer }
    }

    /// Number of octets received.
    pub(crate) fn octets(&self) -> usize {
        self.octets
    }

    /// Time at which the last of them arrived.
    pub(crate) fn last(&self) -> Instant {
        self.last
    }

    /// Returns true if all received frames match `file`.
    pub(crate) fn agrees_with(&self, file: &[u8]) -> bool {
        self.frames.iter().enumerate().all(|(index, frame)| {
            let right = file.get(index * PAYLOAD..).unwrap_or_default();
            frame.as_ref().is_none_or(|frame| *frame == right[..right.len().min(PAYLOAD)])
        })
    }

    pub(crate) fn handle(&mut self, now: Instant, content: Content<'_>) {
        match content {
            Content::Data { index, payload } => self.take(now, index.into(), payload),
            Content::End { round, octets } => self.end(round, octets as usize),
            Content::Missing { .. } | Content::TearDown => {}
        }
    }

    fn take(&mut self, now: Instant, index: usize, payload: &[u8]) {
        if self.frames.len() <= index {
            self.frames.resize(index + 1, None);
        }
        if self.frames[index].is_some() {
            return;
        }
        if let Some(line) = &mut self.line {
            // There is no room for it in the line's buffer.
            if line.ready(payload.len()) > now {
                return;
            }
            line.pass(now, payload.len());
        }
        self.frames[index] = Some(payload.to_vec());
        self.octets += payload.len();
        self.last = now;
    }

    /// Handles the end of a round: prepares the report of missing frames.
    fn end(&mut self, round: u8, octets: usize) {
        if round == self.round && !self.answer.is_empty() {
            return;
        }
        self.frames.resize(octets.div_ceil(PAYLOAD), None);
        self.round = round;
        let windows = (0..).zip(self.frames.chunks(WINDOW));
        let missing = windows.filter(|(_, frames)| frames.iter().any(Option::is_none));
        self.answer = missing.map(|(window, _)| window).collect();
        self.parts = self.answer.len() as u8;
        if self.answer.is_empty() {
            self.answer.push_back(0);
        }
    }

    /// The next part of its response.
    pub(crate) fn next(&mut self) -> Option<Vec<u8>> {
        let window = self.answer.pop_front()?;
        let first = usize::from(window) * WINDOW;
        let frames = self.frames.get(first..).unwrap_or_default();
        let bits: Vec<u8> = match self.parts {
            0 => Vec::new(),
            _ => frames[..frames.len().min(WINDOW)].chunks(8).map(missing_of).collect(),
        };
        let (round, parts) = (self.round, self.parts);
        Some(Content::Missing { round, parts, window, bits: &bits }.write())
    }
}

/// A bit for each of eight frames, set if it is missing, the lowest bit first.
fn missing_of(frames: &[Option<Vec<u8>>]) -> u8 {
    frames.iter().rev().fold(0, |bits, frame| bits << 1 | u8::from(frame.is_none()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Instant = Instant::ZERO;

    fn data(index: u16) -> Content<'static> {
        Content::Data { index, payload: &[9; PAYLOAD] }
    }

    fn end(round: u8, frames: usize) -> Content<'static> {
        Content::End { round, octets: (frames * PAYLOAD) as u32 }
    }

    #[test]
    fn it_says_what_is_missing_when_asked_and_only_then() {
        let mut sink = Sink::new(None);
        for index in [0, 2, 9, 9] {
            sink.handle(NOW, data(index));
        }
        assert_eq!((sink.next(), sink.octets()), (None, 3 * PAYLOAD));
        sink.handle(NOW, end(4, 11));
        let bits = &[0b1111_1010, 0b101];
        let answer = Content::Missing { round: 4, parts: 1, window: 0, bits }.write();
        assert_eq!((sink.next(), sink.next()), (Some(answer), None));
    }

    #[test]
    fn complete_windows_are_not_reported() {
        let mut sink = Sink::new(None);
        (0..WINDOW).for_each(|index| sink.handle(NOW, data(index as u16)));
        sink.handle(NOW, end(1, 2 * WINDOW + 1));
        sink.handle(NOW, end(1, 2 * WINDOW + 1));
        let answers: Vec<Vec<u8>> = std::iter::from_fn(|| sink.next()).collect();
        let heads: Vec<&[u8]> = answers.iter().map(|answer| &answer[1..4]).collect();
        assert_eq!(heads, [[1, 2, 1], [1, 2, 2]]);
    }

    #[test]
    fn nothing_missing_is_an_answer_too() {
        let nothing = Content::Missing { round: 0, parts: 0, window: 0, bits: &[] }.write();
        let mut sink = Sink::new(None);
        sink.handle(NOW, end(0, 0));
        assert_eq!(sink.next(), Some(nothing.clone()));
        sink.handle(NOW, data(0));
        sink.handle(NOW, end(0, 1));
        assert_eq!((sink.next(), sink.next()), (Some(nothing), None));
        assert!(sink.agrees_with(&[9; PAYLOAD]) && !sink.agrees_with(&[8; PAYLOAD]));
        assert!(!sink.agrees_with(&[9; 5]), "a frame that is too long");
    }

    #[test]
    fn parts_that_the_line_cannot_take_are_missing() {
        let mut sink = Sink::new(Some(Line::new(9_600, PAYLOAD)));
        sink.handle(NOW, data(0));
        sink.handle(NOW, data(1));
        assert_eq!(sink.octets(), PAYLOAD);
        sink.handle(Instant::from_secs(1), data(1));
        assert_eq!(sink.octets(), 2 * PAYLOAD);
    }
}

//! Messages from the coprocessor.

use super::sending::Progress;
use super::settings::Setting;
use super::{Asked, LONGEST, Phase, Question, Rcp, Trouble};
use crate::message::{Message, Property, Reader, Status};
use crate::raw::{Incoming, Outcome};
use kinglet_radio::{ACK_PSDU, Event, FCS_LEN, OCTET, TURNAROUND, air_time};
use kinglet_time::{Duration, Instant};
use kinglet_wire::ieee802154::Frame;

/// Pause after which a coprocessor gets a transmission again that it could not take.
const PAUSE: Duration = Duration::from_millis(5);
/// Received frames that may wait for the owner; more are lost.
const BACKLOG: usize = 64;
/// Beginning of OpenThread's report of a damaged command.
const FRAMING_ERROR: &[u8] = b"Framing error";

impl Rcp {
    /// Processes octets of the line; the last one has arrived at `now`.
    pub fn handle_octets(&mut self, now: Instant, octets: &[u8]) {
        let mut decoder = core::mem::take(&mut self.decoder);
        for &octet in octets {
            self.run += 1;
            self.noise += 1;
            match decoder.push(octet) {
                None => {}
                Some(Ok(message)) => {
                    let began = now - self.line_time(self.run);
                    (self.run, self.noise) = (0, 0);
                    self.stats.messages += 1;
                    if let Some(message) = Message::parse(message) {
                        self.handle_message(now, began, message);
                    }
                }
                Some(Err(_)) => {
                    self.run = 0;
                    self.stats.damaged += 1;
                }
            }
        }
        self.decoder = decoder;
        self.advance(now);
    }

    fn handle_message(&mut self, now: Instant, began: Instant, message: Message<'_>) {
        let Message { tid, property, value } = message;
        let status = || Reader(value).packed().map(Status);
        match (tid, property) {
            (None, Property::LAST_STATUS) if status().is_some_and(Status::is_reset) => {
                self.handle_reset(now);
            }
            (None, Property::STREAM_RAW) if self.phase == Phase::Ready => {
                self.handle_frame(now, began, value);
            }
            (None, Property::STREAM_DEBUG) if value.starts_with(FRAMING_ERROR) => {
                self.handle_framing_error(now);
            }
            (None, _) => {}
            (Some(_), _) if self.sending.as_ref().is_some_and(|it| it.tid() == tid) => {
                if property == Property::LAST_STATUS {
                    self.handle_outcome(now, began, value);
                }
            }
            (Some(_), _) => {
                if let Some(asked) = self.asked.take_if(|asked| Some(asked.tid) == tid) {
                    self.handle_answer(now, asked, property, value);
                }
            }
        }
    }

    /// The coprocessor has restarted, by command or by itself.
    fn handle_reset(&mut self, now: Instant) {
        if matches!(self.phase, Phase::Ready) {
            self.stats.restarts += 1;
        }
        self.identify(now);
    }

    fn handle_frame(&mut self, now: Instant, began: Instant, value: &[u8]) {
        let Some(Incoming { frame: octets, rssi_dbm, lqi }) = Incoming::parse(value) else {
            return;
        };
        if self.events.len() >= BACKLOG {
            self.stats.overruns += 1;
            return;
        }
        let frame = Frame::parse(octets);
        let acked = frame.is_ok_and(|it| it.ack_request() && !it.dst().is_broadcast());
        let answer = if acked { TURNAROUND + air_time(ACK_PSDU) } else { Duration::ZERO };
        let sfd = began - answer - OCTET - OCTET * (octets.len() + FCS_LEN) as u32;
        let Ok(len) = u8::try_from(octets.len()) else { return };
        let event = Event::Received { sfd, len, rssi_dbm, lqi, acked };
        self.report(now, event, octets.to_vec());
    }

    fn handle_outcome(&mut self, now: Instant, began: Instant, value: &[u8]) {
        let (Some(outcome), Some(mut sending)) = (Outcome::parse(value), self.sending.take())
        else {
            return;
        };
        if let Some(event) = sending.event(began, outcome) {
            if let Progress::Written { since, .. } = sending.progress {
                self.delay.note(now - since);
            }
            return self.report(now, event, Vec::new());
        }
        sending.repeat(now + PAUSE);
        self.sending = Some(sending);
        if outcome.status == Status::INVALID_STATE {
            // It has restarted, and the report of that was lost.
            self.identify(now);
        }
    }

    fn handle_answer(&mut self, now: Instant, asked: Asked, property: Property, value: &[u8]) {
        let status = Reader(value).packed().map(Status);
        let status = status.filter(|_| property == Property::LAST_STATUS);
        match asked.question {
            Question::Query(asked) => {
                let noted = match status {
                    None if property == asked => self.identity.note(property, value),
                    Some(status) => self.identity.note_status(asked, status),
                    // An answer to another question.
                    None => return,
                };
                match (noted, &mut self.phase) {
                    (Err(refusal), _) => self.refuse(refusal),
                    (Ok(()), Phase::Identifying(index)) => *index += 1,
                    (Ok(()), _) => {}
                }
            }
            Question::Set(setting) => self.handle_confirmation(now, setting, status),
        }
    }

    /// Handles the answer to a setting: its value, or a status.
    fn handle_confirmation(&mut self, now: Instant, setting: Setting, status: Option<Status>) {
        match status.unwrap_or(Status::OK) {
            Status::OK => self.known.note(setting),
            Status::INVALID_STATE => self.identify(now),
            Status::NOMEM if setting.is_source() => self.known.note_full(&setting),
            status => {
                let (_, property, _) = setting.command();
                self.trouble = Some(Trouble::Setting { property, status });
                // It would be refused again.
                self.known.note(setting);
            }
        }
    }

    /// The coprocessor has got a damaged command. If it can only be the outstanding one, that is
    /// repeated as soon as no further report can be about the same one.
    fn handle_framing_error(&mut self, now: Instant) {
        let from = now + self.line_time(LONGEST) + PAUSE;
        match (&mut self.sending, &mut self.asked) {
            (Some(sending), None) => match sending.progress {
                Progress::Written { is_alone: true, .. } => sending.repeat(from),
                Progress::Waiting { .. } if sending.is_repeated => sending.repeat(from),
                _ => {}
            },
            (None, Some(asked)) => asked.until = now,
            _ => {}
        }
    }
}

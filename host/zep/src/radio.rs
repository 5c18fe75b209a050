//! A radio over ZEP, with the interface that the stack uses.

use crate::air::{Air, Ears, Heard, Identity};
use kinglet_radio::{
    Ack, Busy, Capabilities, Channel, Command, Driver, Event, FCS_LEN, Filter, MAX_FRAME, air_time,
};
use kinglet_time::{Duration, Instant};
use std::collections::VecDeque;

/// Number of received frames that may wait for the stack; more are lost, as in a radio that is not
/// read.
const BACKLOG: usize = 64;
/// Signal strength of every frame, because ZEP has none: that of a neighbour in the same room, 25
/// dB above the sensitivity that the standard requires (-85 dBm; IEEE 802.15.4-2015, 12.3.4).
const RSSI_DBM: i8 = -60;
/// Preamble and delimiter, which precede the frame.
const SYNCHRONISATION: Duration = Duration::from_micros(5 * 32);

/// A transmission whose event has not been polled.
#[derive(Clone, Copy, Debug)]
struct Sending {
    /// End of its SFD, as if it had been on the air.
    sfd: Instant,
    /// End of its last octet, likewise.
    ends: Instant,
    /// The sequence number of the awaited acknowledgement.
    awaits: Option<u8>,
    /// The frame-pending bit of the acknowledgement.
    answered: Option<bool>,
}

/// The radio. Its user passes the items that its [`Air`] receives to [`Radio::hear`].
pub struct Radio {
    air: Air,
    ack_wait: Duration,
    /// The channel of the mode and the end of the mode; `None` = off.
    listens: Option<(Channel, Option<Instant>)>,
    sending: Option<Sending>,
    heard: VecDeque<(Instant, Vec<u8>, u8, bool)>,
}

impl Radio {
    /// Creates a radio that is off. It waits `ack_wait` after the end of a frame for its
    /// acknowledgement.
    pub const fn new(air: Air, ack_wait: Duration) -> Radio {
        Radio { air, ack_wait, listens: None, sending: None, heard: VecDeque::new() }
    }

    /// Sets the time that it waits after the end of a frame for its acknowledgement.
    pub const fn set_ack_wait(&mut self, ack_wait: Duration) {
        self.ack_wait = ack_wait;
    }

    /// Handles an item that the `Air` has received.
    pub fn hear(&mut self, heard: Heard) {
        match heard {
            Heard::Frame { at, frame, lqi, acked } if self.heard.len() < BACKLOG => {
                self.heard.push_back((at, frame, lqi, acked));
            }
            Heard::Ack { sequence, frame_pending, .. } => {
                if let Some(sending) = &mut self.sending
                    && sending.awaits == Some(sequence)
                {
                    sending.answered = sending.answered.or(Some(frame_pending));
                }
            }
            Heard::Frame { .. } | Heard::Deaf(_) => {}
        }
    }

    /// Returns the time of the next event if nothing is received.
    pub fn deadline(&self) -> Option<Instant> {
        let sending = self.sending.as_ref()?;
        Some(match (sending.awaits, sending.answered) {
            (Some(_), None) => sending.ends + self.ack_wait,
            _ => sending.ends,
        })
    }

    fn send(&mut self, now: Instant, channel: Channel, ack: bool, frame: &[u8]) {
        let ends = now + air_time(frame.len() + FCS_LEN);
        // The sequence number follows the frame control (7.2.3); a frame that requests an
        // acknowledgement has one.
        let awaits = frame.get(2).copied().filter(|_| ack);
        // A frame that the system refuses is lost, like one that no device receives.
        let _ = self.air.send(channel, frame);
        let sfd = now + SYNCHRONISATION;
        self.sending = Some(Sending { sfd, ends, awaits, answered: None });
    }

    fn listen(&mut self, listens: Option<(Channel, Option<Instant>)>) {
        self.listens = listens;
        let ears = self.air.ears();
        let channel = listens.map(|(channel, _)| channel);
        self.air.set_ears(Ears { channel, ..ears });
    }
}

impl Driver for Radio {
    /// There is no channel to sense: CSMA-CA takes no time, and the stack leaves it to the radio.
    fn capabilities(&self) -> Capabilities {
        Capabilities::AUTO_ACK | Capabilities::ACK_WAIT | Capabilities::CSMA
    }

    fn set_filter(&mut self, filter: Filter) {
        self.air.set_ears(Ears { identity: Identity::Device(filter), ..self.air.ears() });
    }

    fn submit(&mut self, now: Instant, command: Command, frame: &[u8]) -> Result<(), Busy> {
        match command {
            Command::Off => self.listen(None),
            Command::Receive { until, channel, .. } => self.listen(Some((channel, until))),
            Command::Transmit { .. } if self.sending.is_some() => return Err(Busy),
            Command::Transmit { channel, ack, .. } => self.send(now, channel, ack, frame),
            Command::Reset => {
                (self.sending, self.heard) = (None, VecDeque::new());
                self.listen(None);
            }
            // Commands of missing capabilities, and for children, which a node here does not have.
            _ => {}
        }
        Ok(())
    }

    fn poll_event(&mut self, now: Instant, frame: &mut [u8; MAX_FRAME]) -> Option<Event> {
        if self.listens.is_some_and(|(_, until)| until.is_some_and(|until| until <= now)) {
            self.listen(None);
        }
        if self.deadline().is_some_and(|at| at <= now)
            && let Some(Sending { sfd, awaits, answered, .. }) = self.sending.take()
        {
            let ack = match (awaits, answered) {
                (None, _) => Ack::NotAwaited,
                (Some(_), Some(frame_pending)) => Ack::Received { frame_pending },
                (Some(_), None) => Ack::Missing,
            };
            return Some(Event::Transmitted { sfd, ack });
        }
        let (sfd, octets, lqi, acked) = self.heard.pop_front()?;
        let len = u8::try_from(octets.len()).ok()?;
        frame.get_mut(..octets.len())?.copy_from_slice(&octets);
        Some(Event::Received { sfd, len, rssi_dbm: RSSI_DBM, lqi, acked })
    }
}

//! A radio at the other end of a serial line: [`Command`]s in one direction, [`Event`]s in the
//! other.
//!
//! Messages are framed as in RFC 1055 (SLIP): octet C0 ends a message, C0 and DB inside of one are
//! sent as DB DC and DB DD. A receiver that starts in the middle of a message loses that one and is
//! then synchronised. A message is a kind, fixed fields and, in two kinds, the octets of a frame
//! without FCS:
//!
//! | kind | to the radio | octets after the kind |
//! |---|---|---|
//! | 00 | the filter | PAN (2), short address (2), extended address (8), all big-endian |
//! | 01 | `Off` | |
//! | 02 | `Receive` | channel |
//! | 03 | `Transmit` | access, three CSMA-CA parameters, channel, dBm, wait, number, frame |
//! | 04 | `Pending` | short address (2), big-endian, pending |
//! | 05 | `Reset` | |
//! | 06 | `Secure` | key (16), key index, first octets of EUI-64s (6) |
//! | 07 | `Sense` | channel, number |
//!
//! | kind | from the radio | octets after the kind |
//! |---|---|---|
//! | 80 | `Received` | dBm, LQI, acknowledged, frame |
//! | 81 | `Transmitted` | number, acknowledgement result |
//! | 82 | `ChannelBusy` | number |
//! | 83 | `Missed` | number |
//! | 84 | `Sensed` | number, channel busy |
//!
//! Access is 0 (immediate), 1 (CCA) or 2 (CSMA-CA with macMinBE, macMaxBE, macMaxCsmaBackoffs,
//! which are ignored otherwise); dBm are signed. The flags "wait for an acknowledgement",
//! "acknowledged", "pending" and "channel busy" are 0 or 1. The acknowledgement result is 0 (not
//! awaited), 1 (received), 2 (received, with frame pending) or 3 (missing).
//!
//! The sender of a `Transmit` or `Sense` chooses its number, and the event that ends it returns
//! that number. So an event that a `Reset` has crossed on the line is distinguished from that of
//! the next transmission.
//!
//! The two ends have no common clock, so no instant crosses the line: such a radio has no
//! [`Capabilities::SCHEDULED`](crate::Capabilities::SCHEDULED), and the time of an event is the
//! time at which it was read.

use crate::{
    Access, Ack, Channel, Command, CsmaParams, Event, Filter, Key, LinkKey, MAX_FRAME, Start,
};
use kinglet_time::Instant;

/// Octets of the longest message, before framing: a `Transmit` with the longest frame.
pub const MAX_MESSAGE: usize = 9 + MAX_FRAME;

const END: u8 = 0xC0;
const ESC: u8 = 0xDB;
const ESC_END: u8 = 0xDC;
const ESC_ESC: u8 = 0xDD;

/// Message to the radio.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Request<'a> {
    /// [`Driver::set_filter`](crate::Driver::set_filter)
    Filter(Filter),
    /// [`Driver::submit`](crate::Driver::submit). Instants in the command are not transferred: it
    /// takes effect as soon as possible.
    Command {
        /// The command.
        command: Command,
        /// Returned by the event that ends a `Transmit` or `Sense`; 0 with other commands.
        number: u8,
        /// Frame of a `Transmit`; empty with other commands.
        frame: &'a [u8],
    },
}

/// The octets of a message on the line.
struct Framer<F>(F);

impl<F: FnMut(u8)> Framer<F> {
    fn put(&mut self, octets: &[u8]) {
        for &octet in octets {
            match octet {
                END => self.raw(&[ESC, ESC_END]),
                ESC => self.raw(&[ESC, ESC_ESC]),
                octet => (self.0)(octet),
            }
        }
    }

    fn raw(&mut self, octets: &[u8]) {
        octets.iter().for_each(|&octet| (self.0)(octet));
    }

    fn command(&mut self, command: Command, number: u8, frame: &[u8]) {
        match command {
            Command::Off => self.put(&[0x01]),
            Command::Receive { channel, .. } => self.put(&[0x02, channel.number()]),
            Command::Transmit { access, channel, power_dbm, ack, .. } => {
                let (access, csma) = match access {
                    Access::Immediate => (0, CsmaParams::default()),
                    Access::Cca => (1, CsmaParams::default()),
                    Access::Csma(csma) => (2, csma),
                };
                let CsmaParams { min_be, max_be, max_backoffs } = csma;
                let [power] = power_dbm.to_be_bytes();
                self.put(&[0x03, access, min_be, max_be, max_backoffs, channel.number()]);
                self.put(&[power, u8::from(ack), number]);
                self.put(frame);
            }
            Command::Pending { short, pending } => {
                let [a, b] = short.to_be_bytes();
                self.put(&[0x04, a, b, u8::from(pending)]);
            }
            Command::Reset => self.put(&[0x05]),
            Command::Sense { channel, times } => {
                self.put(&[0x07, channel.number(), times, number]);
            }
            // A radio behind a line cannot do these: `Request::parse` does not know them.
            Command::Strobe { .. } | Command::Await { .. } => {}
            Command::Secure(LinkKey { key, index, eui64_prefix }) => {
                self.put(&[0x06]);
                self.put(&key.0);
                self.put(&[index]);
                self.put(&eui64_prefix);
            }
        }
    }
}

impl Request<'_> {
    /// Passes the octets of the message to `line`, one by one.
    pub fn send(&self, line: impl FnMut(u8)) {
        let mut line = Framer(line);
        match *self {
            Request::Filter(Filter { pan_id, short, extended }) => {
                let ([a, b], [c, d]) = (pan_id.to_be_bytes(), short.to_be_bytes());
                line.put(&[0x00, a, b, c, d]);
                line.put(&extended);
            }
            Request::Command { command, number, frame } => line.command(command, number, frame),
        }
        line.raw(&[END]);
    }

    /// Parses a request; `None` if the message is invalid.
    pub fn parse(message: &[u8]) -> Option<Request<'_>> {
        Some(match *message {
            [0x00, a, b, c, d, ref extended @ ..] => {
                let (pan_id, short) = (u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d]));
                Request::Filter(Filter { pan_id, short, extended: extended.try_into().ok()? })
            }
            [0x01] => alone(Command::Off),
            [0x02, channel] => {
                let channel = Channel::new(channel)?;
                alone(Command::Receive { start: Start::Asap, until: None, channel })
            }
            [
                0x03,
                access,
                min_be,
                max_be,
                max_backoffs,
                channel,
                power,
                ack,
                number,
                ref frame @ ..,
            ] if !frame.is_empty() && frame.len() <= MAX_FRAME && ack < 2 => {
                let access = match access {
                    0 => Access::Immediate,
                    1 => Access::Cca,
                    2 => Access::Csma(CsmaParams { min_be, max_be, max_backoffs }),
                    _ => return None,
                };
                let (channel, power_dbm) = (Channel::new(channel)?, i8::from_be_bytes([power]));
                let start = Start::Asap;
                let command =
                    Command::Transmit { start, access, channel, power_dbm, ack: ack == 1 };
                Request::Command { command, number, frame }
            }
            [0x04, a, b, pending] if pending < 2 => {
                let (short, pending) = (u16::from_be_bytes([a, b]), pending == 1);
                alone(Command::Pending { short, pending })
            }
            [0x05] => alone(Command::Reset),
            [0x06, ref rest @ ..] => {
                let (key, rest) = rest.split_first_chunk()?;
                let (&index, eui64_prefix) = rest.split_first()?;
                let eui64_prefix = eui64_prefix.try_into().ok()?;
                alone(Command::Secure(LinkKey { key: Key(*key), index, eui64_prefix }))
            }
            [0x07, channel, times, number] => {
                let command = Command::Sense { channel: Channel::new(channel)?, times };
                Request::Command { command, number, frame: &[] }
            }
            _ => return None,
        })
    }
}

/// A command that has no number.
const fn alone(command: Command) -> Request<'static> {
    Request::Command { command, number: 0, frame: &[] }
}

/// Passes the octets of an event's message to `line`, one by one. `frame` is that of a `Received`;
/// `number` is that of the transmission that any other event ends.
pub fn send_event(event: Event, number: u8, frame: &[u8], line: impl FnMut(u8)) {
    let mut line = Framer(line);
    match event {
        Event::Received { rssi_dbm, lqi, acked, .. } => {
            let [rssi] = rssi_dbm.to_be_bytes();
            line.put(&[0x80, rssi, lqi, u8::from(acked)]);
            line.put(frame);
        }
        Event::Transmitted { ack, .. } => {
            let ack = match ack {
                Ack::NotAwaited => 0,
                Ack::Received { frame_pending } => 1 + u8::from(frame_pending),
                Ack::Missing => 3,
            };
            line.put(&[0x81, number, ack]);
        }
        Event::ChannelBusy => line.put(&[0x82, number]),
        Event::Missed => line.put(&[0x83, number]),
        Event::Sensed { busy } => line.put(&[0x84, number, u8::from(busy)]),
        // The command that it ends cannot be sent.
        Event::Strobed { .. } => {}
    }
    line.raw(&[END]);
}

/// Parses an event that is read at `now`; returns it with the number of the transmission that it
/// ends (0 for a `Received`) and the frame of a `Received`. `None` if the message is invalid.
pub fn parse_event(now: Instant, message: &mut [u8]) -> Option<(Event, u8, &mut [u8])> {
    Some(match *message {
        [0x80, rssi, lqi, acked, ref mut frame @ ..] if frame.len() <= MAX_FRAME && acked < 2 => {
            let (rssi_dbm, len) = (i8::from_be_bytes([rssi]), u8::try_from(frame.len()).ok()?);
            (Event::Received { sfd: now, len, rssi_dbm, lqi, acked: acked == 1 }, 0, frame)
        }
        [0x81, number, ack] => {
            let ack = match ack {
                0 => Ack::NotAwaited,
                1 | 2 => Ack::Received { frame_pending: ack == 2 },
                3 => Ack::Missing,
                _ => return None,
            };
            (Event::Transmitted { sfd: now, ack }, number, &mut [])
        }
        [0x82, number] => (Event::ChannelBusy, number, &mut []),
        [0x83, number] => (Event::Missed, number, &mut []),
        [0x84, number, busy] if busy < 2 => (Event::Sensed { busy: busy == 1 }, number, &mut []),
        _ => return None,
    })
}

/// Extracts the messages from the octets of the line.
#[derive(Debug)]
pub struct Receiver {
    message: [u8; MAX_MESSAGE],
    len: usize,
    escaped: bool,
    /// True if the current message is incomplete or invalid.
    broken: bool,
    /// True if the message has been handed out.
    ended: bool,
}

impl Receiver {
    /// Creates a receiver that has seen no octet.
    pub const fn new() -> Self {
        let message = [0; MAX_MESSAGE];
        Receiver { message, len: 0, escaped: false, broken: false, ended: false }
    }

    /// Processes an octet of the line; returns the message that it ends. Empty messages are
    /// ignored; messages that are too long or wrongly escaped are dropped.
    pub fn push(&mut self, octet: u8) -> Option<&mut [u8]> {
        if self.ended {
            *self = Receiver { message: self.message, ..Receiver::new() };
        }
        let octet = match (octet, self.escaped) {
            (END, false) => {
                self.ended = true;
                let whole = !self.broken && self.len > 0;
                return self.message.get_mut(..self.len).filter(|_| whole);
            }
            (END, true) => {
                self.ended = true;
                return None;
            }
            (ESC, false) => {
                self.escaped = true;
                return None;
            }
            (ESC_END, true) => END,
            (ESC_ESC, true) => ESC,
            (_, true) => {
                self.broken = true;
                octet
            }
            (octet, false) => octet,
        };
        self.escaped = false;
        match self.message.get_mut(self.len) {
            Some(place) => {
                *place = octet;
                self.len = self.len.saturating_add(1);
            }
            None => self.broken = true,
        }
        None
    }
}

impl Default for Receiver {
    fn default() -> Self {
        Receiver::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec::Vec;

    fn messages(octets: &[u8]) -> Vec<Vec<u8>> {
        let mut receiver = Receiver::new();
        octets.iter().filter_map(|&octet| receiver.push(octet).map(|m| m.to_vec())).collect()
    }

    fn requests() -> Vec<Request<'static>> {
        const FRAME: &[u8] = &[END, ESC, ESC_END, ESC_ESC, 0, 1, 2];
        static LONG: [u8; MAX_FRAME] = [END; MAX_FRAME];
        let channel = Channel::default();
        let start = Start::Asap;
        let csma = Access::Csma(CsmaParams { min_be: 2, max_be: 8, max_backoffs: 0 });
        let transmit = |access, ack, frame| {
            let command = Command::Transmit { start, access, channel, power_dbm: -7, ack };
            Request::Command { command, number: END, frame }
        };
        Vec::from([
            Request::Filter(Filter { pan_id: 0xC0DB, short: 2, extended: *b"\xc0\xdb345678" }),
            alone(Command::Off),
            alone(Command::Receive { start, until: None, channel }),
            alone(Command::Pending { short: 0xC0DB, pending: true }),
            alone(Command::Reset),
            alone(Command::Secure(LinkKey {
                key: Key([END; 16]),
                index: 1,
                eui64_prefix: [ESC; 6],
            })),
            Request::Command {
                command: Command::Sense { channel, times: 2 },
                number: ESC,
                frame: &[],
            },
            transmit(Access::Immediate, false, FRAME),
            transmit(Access::Cca, true, &LONG),
            transmit(csma, true, FRAME),
        ])
    }

    #[test]
    fn requests_arrive_as_they_were_sent() {
        let mut line = Vec::new();
        requests().iter().for_each(|request| request.send(|octet| line.push(octet)));
        let received = messages(&line);
        let parsed: Vec<_> = received.iter().map(|message| Request::parse(message)).collect();
        let sent: Vec<_> = requests().into_iter().map(Some).collect();
        assert_eq!(parsed, sent);
    }

    #[test]
    fn events_arrive_as_they_were_sent() {
        let sfd = Instant::from_millis(3);
        let frame = [END, 7, ESC];
        let pending = |frame_pending| Ack::Received { frame_pending };
        let transmitted = [Ack::NotAwaited, pending(false), pending(true), Ack::Missing];
        let mut events = Vec::from([Event::ChannelBusy, Event::Missed]);
        events.extend([false, true].map(|busy| Event::Sensed { busy }));
        events.push(Event::Received { sfd, len: 3, rssi_dbm: -80, lqi: 255, acked: true });
        events.extend(transmitted.map(|ack| Event::Transmitted { sfd, ack }));
        for event in events {
            let received = matches!(event, Event::Received { .. });
            let (number, frame) = if received { (0, &frame[..]) } else { (ESC, &[][..]) };
            let mut line = Vec::new();
            send_event(event, number, frame, |octet| line.push(octet));
            let [message] = &mut messages(&line)[..] else { panic!("one message") };
            let parsed = parse_event(sfd, message).map(|(event, n, frame)| (event, n, &*frame));
            assert_eq!(parsed, Some((event, number, frame)));
        }
    }

    #[test]
    fn a_truncated_overlong_or_misescaped_message_costs_no_other() {
        let good = [0x01, END];
        let whole = Vec::from([Vec::from([0x01])]);
        // The end of another message, an empty one, an invalid escape and an escaped end.
        for bad in [&[END][..], &[END, END], &[ESC, 0x01, END], &[0x01, ESC, END]] {
            assert_eq!(messages(&[bad, &good].concat()), whole, "{bad:?}");
        }
        let long = [0x01; MAX_MESSAGE + 1];
        assert_eq!(messages(&[&long[..], &[END], &good].concat()), whole);
        assert_eq!(messages(&[&long[1..], &[END]].concat()).len(), 1);
    }

    #[test]
    fn messages_that_mean_nothing_are_refused() {
        let frame = [0x80; MAX_FRAME + 5];
        let short_filter = [0x00; 12];
        let access = [0x03, 3, 3, 5, 4, 26, 0, 0, 7, 1];
        let no_frame = [0x03, 0, 3, 5, 4, 26, 0, 0, 7];
        let no_flag = [0x04, 0, 1, 2];
        let short_key = [0x06; 23];
        let short = [&[][..], &[0x01, 0], &[0x02, 10], &[0x7f], &no_flag];
        for bad in short.into_iter().chain([&short_filter[..], &access, &no_frame, &short_key]) {
            assert_eq!(Request::parse(bad), None, "{bad:?}");
        }
        for bad in [
            &[][..],
            &frame,
            &[0x80, 0, 0, 2],
            &[0x81, 7],
            &[0x81, 7, 4],
            &[0x82],
            &[0x84, 7],
            &[0x85],
        ] {
            assert_eq!(parse_event(Instant::ZERO, &mut bad.to_vec()), None, "{bad:?}");
        }
    }
}

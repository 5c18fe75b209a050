//! The radios of two nodes and the air between them, in memory and in virtual time.
//!
//! The radios follow the rules of `kinglet::radio`: they acknowledge by themselves, wait for
//! acknowledgements, and assess the channel before they send. Frames take their real time on the
//! air. Some are lost, singly or in bursts that outlast the MAC's retries, so that TCP has losses
//! to repair. A radio that is off receives nothing, and its radio-on time is counted.

use kinglet::radio::{
    ACK_PSDU, ACK_WAIT, Access, Ack, Busy, CCA, Capabilities, Command, Driver, Event, FCS_LEN,
    Filter, MAX_FRAME, OCTET, SHR_PHR, TURNAROUND, air_time,
};
use kinglet::time::{Duration, Instant, earliest};

/// Capabilities of these radios.
pub fn capabilities() -> Capabilities {
    Capabilities::AUTO_ACK | Capabilities::ACK_WAIT | Capabilities::SOURCE_MATCH
}

/// One frame in this many is lost.
const LOSS_ONE_IN: u32 = 20;
/// One acknowledgement in this many is lost, so that its frame is repeated.
const ACK_LOSS_ONE_IN: u32 = 50;
/// One frame in this many starts a fade in which [`FADE_FRAMES`] frames are lost.
const FADE_ONE_IN: u32 = 60;
/// More than a MAC with the standard's 3 retries sends for one frame.
const FADE_FRAMES: u32 = 6;

/// One of the two nodes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum End {
    First,
    Second,
}

impl End {
    /// Both ends.
    pub const BOTH: [End; 2] = [End::First, End::Second];

    const fn other(self) -> End {
        match self {
            End::First => End::Second,
            End::Second => End::First,
        }
    }
}

/// A transmission in progress.
#[derive(Clone, Copy)]
struct Flight {
    /// Time of the SFD.
    sfd: Instant,
    /// Time at which its events are due.
    end: Instant,
    /// Event for the sender.
    outcome: Event,
    /// Octets that are still to be delivered to the other radio; 0 if the frame is lost.
    len: u8,
    ack: bool,
}

/// A radio: its transmission, and true if it listens.
struct Radio {
    flight: Option<Flight>,
    frame: [u8; MAX_FRAME],
    listens: bool,
    /// True if acknowledgements of the other radio's data requests have the frame pending bit set.
    pending: bool,
    on_since: Option<Instant>,
    on: Duration,
}

impl Radio {
    const IDLE: Radio = Radio {
        flight: None,
        frame: [0; MAX_FRAME],
        listens: false,
        pending: false,
        on_since: None,
        on: Duration::ZERO,
    };

    /// Updates its radio-on time from now on.
    fn account(&mut self, now: Instant) {
        let on = self.listens || self.flight.is_some();
        match self.on_since {
            None if on => self.on_since = Some(now),
            Some(since) if !on => {
                self.on += now - since;
                self.on_since = None;
            }
            _ => {}
        }
    }
}

/// The air, and the radios of both nodes.
pub struct Air {
    first: Radio,
    second: Radio,
    random: u32,
    /// Frames that the current fade will still lose.
    fade: u32,
    /// Frames sent, and number of them that were lost.
    pub sent: u32,
    pub lost: u32,
}

impl Air {
    pub const fn new(seed: u32) -> Self {
        let (first, second) = (Radio::IDLE, Radio::IDLE);
        // The generator must not start from zero.
        Air { first, second, random: seed | 1, fade: 0, sent: 0, lost: 0 }
    }

    fn radio(&mut self, end: End) -> &mut Radio {
        match end {
            End::First => &mut self.first,
            End::Second => &mut self.second,
        }
    }

    /// Time for which the radio of `node` has been on until `now`: listening or sending.
    pub fn time_on(&mut self, now: Instant, node: End) -> Duration {
        let radio = self.radio(node);
        radio.on + radio.on_since.map_or(Duration::ZERO, |since| now - since)
    }

    /// The radio of `node`.
    pub fn side(&mut self, node: End) -> Side<'_> {
        Side { air: self, node }
    }

    /// Carries out `command` on the radio of `node`. After a transmission the radio returns to its
    /// last state, listening or off.
    fn submit(
        &mut self,
        now: Instant,
        node: End,
        command: Command,
        frame: &[u8],
    ) -> Result<(), Busy> {
        let (access, ack) = match command {
            Command::Transmit { access, ack, .. } => (access, ack),
            other => {
                let radio = self.radio(node);
                match other {
                    Command::Pending { pending, .. } => radio.pending = pending,
                    Command::Reset => {
                        (radio.flight, radio.pending, radio.listens) = (None, false, false);
                    }
                    _ => radio.listens = matches!(other, Command::Receive { .. }),
                }
                radio.account(now);
                return Ok(());
            }
        };
        if self.radio(node).flight.is_some() {
            return Err(Busy);
        }
        let assessed = if access == Access::Immediate { now } else { now + CCA };
        let flight = if self.radio(node.other()).flight.is_some() {
            Flight { sfd: now, end: assessed, outcome: Event::ChannelBusy, len: 0, ack }
        } else {
            self.launch(assessed, ack, node.other(), frame)
        };
        let radio = self.radio(node);
        radio.flight = Some(flight);
        radio.account(now);
        radio.frame.iter_mut().zip(frame).for_each(|(to, from)| *to = *from);
        Ok(())
    }

    /// Decides the fate of a frame on a clear channel.
    fn launch(&mut self, assessed: Instant, ack: bool, to: End, frame: &[u8]) -> Flight {
        let len = frame.len();
        let &mut Radio { listens, pending, .. } = self.radio(to);
        let start = assessed + TURNAROUND;
        // The PHR, one octet, comes after the SFD.
        let sfd = start + (SHR_PHR - OCTET);
        let end = start + air_time(len + FCS_LEN);
        let arrives = !self.is_lost() && listens;
        // Only a data request fetches frames, and it is the only command here: frame type 3.
        let asks = frame.first().is_some_and(|control| control & 7 == 3);
        let frame_pending = asks && pending;
        let acknowledged = arrives && !self.one_in(ACK_LOSS_ONE_IN);
        let (outcome, wait) = match (ack, acknowledged) {
            (false, _) => (Ack::NotAwaited, Duration::ZERO),
            (true, true) => (Ack::Received { frame_pending }, TURNAROUND + air_time(ACK_PSDU)),
            (true, false) => (Ack::Missing, ACK_WAIT),
        };
        let outcome = Event::Transmitted { sfd, ack: outcome };
        Flight { sfd, end: end + wait, outcome, len: if arrives { len as u8 } else { 0 }, ack }
    }

    /// Time of the next event.
    pub fn deadline(&self) -> Option<Instant> {
        let [a, b] = [&self.first, &self.second].map(|radio| radio.flight.map(|f| f.end));
        earliest(a, b)
    }

    /// The next event that is due at `node`; its frame is written to `frame`.
    fn poll_event(&mut self, now: Instant, node: End, frame: &mut [u8]) -> Option<Event> {
        let due = |flight: &&mut Flight| flight.end <= now;
        let other = self.radio(node.other());
        if let Some(flight) = other.flight.as_mut().filter(due).filter(|flight| flight.len > 0) {
            let Flight { sfd, len, ack, .. } = *flight;
            flight.len = 0;
            frame.iter_mut().zip(&other.frame).for_each(|(to, from)| *to = *from);
            return Some(Event::Received { sfd, len, rssi_dbm: -60, lqi: 255, acked: ack });
        }
        // The event of the sender follows that of the receiver.
        let radio = self.radio(node);
        let outcome = radio.flight.as_mut().filter(due).filter(|flight| flight.len == 0)?.outcome;
        radio.flight = None;
        radio.account(now);
        Some(outcome)
    }

    fn is_lost(&mut self) -> bool {
        self.sent += 1;
        if self.fade == 0 && self.one_in(FADE_ONE_IN) {
            self.fade = FADE_FRAMES;
        }
        let lost = self.fade > 0 || self.one_in(LOSS_ONE_IN);
        self.fade = self.fade.saturating_sub(1);
        self.lost += u32::from(lost);
        lost
    }

    /// Marsaglia's xorshift with 13, 17, 5 (Journal of Statistical Software 8(14), 2003).
    fn one_in(&mut self, n: u32) -> bool {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 17;
        self.random ^= self.random << 5;
        self.random.is_multiple_of(n)
    }
}

/// One of the two radios.
pub struct Side<'a> {
    air: &'a mut Air,
    node: End,
}

impl Driver for Side<'_> {
    fn capabilities(&self) -> Capabilities {
        capabilities()
    }

    // The other node is the only possible sender.
    fn set_filter(&mut self, _: Filter) {}

    fn submit(&mut self, now: Instant, command: Command, frame: &[u8]) -> Result<(), Busy> {
        self.air.submit(now, self.node, command, frame)
    }

    fn poll_event(&mut self, now: Instant, frame: &mut [u8; MAX_FRAME]) -> Option<Event> {
        self.air.poll_event(now, self.node, frame)
    }
}

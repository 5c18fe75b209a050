//! Two radios and the air between them, in memory and in virtual time.
//!
//! The radios keep the rules of `kinglet::radio`: they acknowledge by themselves, wait for
//! acknowledgements, and assess the channel before they send. Frames take the time on the air that
//! they would; some are lost, singly or in bursts that outlast the MAC's retries, so that TCP has
//! something to repair.

use kinglet::radio::{
    ACK_PSDU, ACK_WAIT, Access, Ack, Busy, CCA, Capabilities, Command, Event, FCS_LEN, MAX_FRAME,
    OCTET, SHR_PHR, TURNAROUND, air_time,
};
use kinglet::time::{Duration, Instant, earliest};

/// What these radios do by themselves.
pub fn capabilities() -> Capabilities {
    Capabilities::AUTO_ACK | Capabilities::ACK_WAIT
}

/// One frame in this many is lost.
const LOSS_ONE_IN: u32 = 20;
/// One acknowledgement in this many is lost, so that its frame comes twice.
const ACK_LOSS_ONE_IN: u32 = 50;
/// One frame in this many starts a fade that swallows the next [`FADE_FRAMES`].
const FADE_ONE_IN: u32 = 60;
/// More than a MAC with the standard's 3 retries sends of one frame.
const FADE_FRAMES: u32 = 6;

/// A transmission under way.
#[derive(Clone, Copy)]
struct Flight {
    /// When the SFD has passed.
    sfd: Instant,
    /// When its events are due.
    end: Instant,
    /// What the sender will hear.
    outcome: Event,
    /// Octets that the other radio still has to be given; 0 if the frame is lost.
    len: u8,
    ack: bool,
}

/// The air, and the radios of nodes 0 and 1.
pub struct Air {
    flights: [Option<Flight>; 2],
    frames: [[u8; MAX_FRAME]; 2],
    random: u32,
    /// Frames that the current fade will still swallow.
    fade: u32,
    /// Frames sent, and how many of them were lost.
    pub sent: u32,
    pub lost: u32,
}

impl Air {
    pub const fn new(seed: u32) -> Self {
        let frames = [[0; MAX_FRAME]; 2];
        // The generator must not start from zero.
        Air { flights: [None; 2], frames, random: seed | 1, fade: 0, sent: 0, lost: 0 }
    }

    /// Starts `command` on the radio of `node`; these radios listen whenever they do not send.
    pub fn submit(
        &mut self,
        now: Instant,
        node: usize,
        command: Command,
        frame: &[u8],
    ) -> Result<(), Busy> {
        let Command::Transmit { access, ack, .. } = command else { return Ok(()) };
        if self.flights[node].is_some() {
            return Err(Busy);
        }
        let assessed = if access == Access::Immediate { now } else { now + CCA };
        if self.flights[1 - node].is_some() {
            let outcome = Event::ChannelBusy;
            self.flights[node] = Some(Flight { sfd: now, end: assessed, outcome, len: 0, ack });
            return Ok(());
        }
        let start = assessed + TURNAROUND;
        // The PHR, one octet, comes after the SFD.
        let sfd = start + (SHR_PHR - OCTET);
        let end = start + air_time(frame.len() + FCS_LEN);
        let arrives = !self.is_lost();
        let acknowledged = arrives && !self.one_in(ACK_LOSS_ONE_IN);
        let (outcome, wait) = match (ack, acknowledged) {
            (false, _) => (Ack::NotAwaited, Duration::ZERO),
            (true, true) => {
                (Ack::Received { frame_pending: false }, TURNAROUND + air_time(ACK_PSDU))
            }
            (true, false) => (Ack::Missing, ACK_WAIT),
        };
        self.frames[node][..frame.len()].copy_from_slice(frame);
        let len = if arrives { frame.len() as u8 } else { 0 };
        let outcome = Event::Transmitted { sfd, ack: outcome };
        self.flights[node] = Some(Flight { sfd, end: end + wait, outcome, len, ack });
        Ok(())
    }

    /// When the next event is due.
    pub fn deadline(&self) -> Option<Instant> {
        let [a, b] = self.flights.map(|flight| flight.map(|flight| flight.end));
        earliest(a, b)
    }

    /// The next event that is due, the node it is for, and the frame that belongs to it.
    pub fn poll_event(&mut self, now: Instant) -> Option<(usize, Event, &[u8])> {
        for node in 0..2 {
            let Some(flight) = self.flights[node].as_mut().filter(|flight| flight.end <= now)
            else {
                continue;
            };
            let Flight { sfd, outcome, len, ack, .. } = *flight;
            if len > 0 {
                flight.len = 0;
                let event = Event::Received { sfd, len, rssi_dbm: -60, lqi: 255, acked: ack };
                return Some((1 - node, event, &self.frames[node][..usize::from(len)]));
            }
            self.flights[node] = None;
            return Some((node, outcome, &[]));
        }
        None
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

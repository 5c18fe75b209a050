//! Radios and the air between them, in memory and in virtual time, by the rules of
//! `kinglet::radio`.
//!
//! A station receives from those that it is linked to. Frames that overlap at a receiver collide,
//! the channel is assessed before a transmission, and frames are lost at random. Acknowledgements
//! of radios that send them by themselves take their time but cannot collide.

use kinglet::radio::{
    ACK_PSDU, ACK_WAIT, Access, Ack, Busy, CCA, Capabilities, Command, Event, FCS_LEN, Filter,
    OCTET, SHR_PHR, TURNAROUND, UNIT_BACKOFF, air_time,
};
use kinglet::time::{Duration, Instant};
use kinglet::wire::ieee802154::{Address, Frame};
use rand_core::Rng;
use rand_pcg::Pcg32;
use std::collections::VecDeque;

/// Time for which a radio's own acknowledgement keeps both ends busy after a frame.
const ACK_TIME: Duration = Duration::from_micros(192 + 352);

#[derive(Clone, Debug)]
enum State {
    Idle,
    /// Before the end of the clear channel assessment.
    Assessing(Instant),
    /// On the air from the first to the second instant.
    Sending(Instant, Instant),
    /// The frame is out; its outcome is due.
    Waiting(Instant, Event),
}

struct Radio {
    filter: Filter,
    listening: bool,
    state: State,
    frame: Vec<u8>,
    access: Access,
    ack: bool,
    /// Radios that do not receive the frame on the air because of a collision.
    spoiled_at: Vec<usize>,
    /// Time until which its own acknowledgement keeps it busy.
    acknowledging: Instant,
    events: VecDeque<(Event, Vec<u8>)>,
}

/// All radios.
pub struct Air {
    radios: Vec<Radio>,
    links: Vec<(usize, usize)>,
    capabilities: Capabilities,
    /// Frames and acknowledgements lost, in percent.
    loss: u32,
    random: Pcg32,
    /// Transmissions for which the radio ran CSMA-CA.
    pub hardware_backoffs: u32,
    /// If not 0, one in this many events that end a transmission is lost; `ends` counts them.
    lose_every: u32,
    ends: u32,
}

impl Air {
    pub fn new(capabilities: Capabilities, loss: u32, seed: u64) -> Self {
        let random = Pcg32::new(seed, 1);
        let (radios, links) = (Vec::new(), Vec::new());
        Air {
            radios,
            links,
            capabilities,
            loss,
            random,
            hardware_backoffs: 0,
            lose_every: 0,
            ends: 0,
        }
    }

    /// Adds a radio, linked to the one before it.
    pub fn add(&mut self, filter: Filter) {
        if let Some(before) = self.radios.len().checked_sub(1) {
            self.links.push((before, before + 1));
        }
        self.radios.push(Radio {
            filter,
            listening: false,
            state: State::Idle,
            frame: Vec::new(),
            access: Access::Cca,
            ack: false,
            spoiled_at: Vec::new(),
            acknowledging: Instant::ZERO,
            events: VecDeque::new(),
        });
    }

    /// Resets a radio after its device was switched off and on.
    pub fn reset(&mut self, index: usize) {
        let radio = &mut self.radios[index];
        radio.listening = false;
        radio.state = State::Idle;
        radio.events.clear();
    }

    /// Makes a radio listen, for a node whose driver has already set this mode.
    pub fn listen(&mut self, index: usize) {
        self.radios[index].listening = true;
    }

    pub fn set_loss(&mut self, percent: u32) {
        self.loss = percent;
    }

    pub fn submit(
        &mut self,
        now: Instant,
        index: usize,
        command: Command,
        frame: &[u8],
    ) -> Result<(), Busy> {
        let free_at = self.free_at(now, index);
        let radio = &mut self.radios[index];
        match command {
            Command::Off => radio.listening = false,
            Command::Receive { .. } => radio.listening = true,
            Command::Pending { .. } => {}
            Command::Reset => {
                radio.listening = false;
                radio.state = State::Idle;
                radio.events.retain(|(event, _)| matches!(event, Event::Received { .. }));
            }
            Command::Transmit { .. } if !matches!(radio.state, State::Idle) => return Err(Busy),
            Command::Transmit { access, ack, .. } => {
                assert!((1..=125).contains(&frame.len()), "{} octets", frame.len());
                radio.frame = frame.to_vec();
                radio.access = access;
                radio.ack = ack;
                let wait = match access {
                    Access::Immediate => Duration::ZERO,
                    Access::Cca => CCA,
                    Access::Csma(params) => {
                        self.hardware_backoffs += 1;
                        UNIT_BACKOFF * (self.random.next_u32() % (1 << params.min_be)) + CCA
                    }
                };
                radio.state = State::Assessing(free_at + wait);
            }
            _ => {}
        }
        Ok(())
    }

    /// Returns the time at which a frame for this radio is received and acknowledged.
    fn free_at(&self, now: Instant, index: usize) -> Instant {
        let mut free = now.max(self.radios[index].acknowledging);
        for from in self.audible(index) {
            if let State::Sending(_, end) = self.radios[from].state
                && self.is_for(index, from)
            {
                let ack = if self.acknowledges(from) { ACK_TIME } else { Duration::ZERO };
                free = free.max(end + ack);
            }
        }
        free
    }

    fn audible(&self, index: usize) -> Vec<usize> {
        let ends = self.links.iter().filter_map(|&(a, b)| match index {
            _ if a == index => Some(b),
            _ if b == index => Some(a),
            _ => None,
        });
        ends.collect()
    }

    fn destination(&self, from: usize) -> Address {
        Frame::parse(&self.radios[from].frame).map_or(Address::None, |frame| frame.dst())
    }

    fn is_for(&self, index: usize, from: usize) -> bool {
        let Filter { short, extended, .. } = self.radios[index].filter;
        let dst = self.destination(from);
        dst.is_broadcast()
            || dst == Address::Short(short)
            || dst == Address::Extended(extended)
            // A radio that does not filter takes everything.
            || !self.capabilities.contains(Capabilities::AUTO_ACK)
    }

    fn acknowledges(&self, from: usize) -> bool {
        let auto = self.capabilities.contains(Capabilities::AUTO_ACK);
        let wanted = Frame::parse(&self.radios[from].frame).is_ok_and(|f| f.ack_request());
        auto && wanted && self.destination(from).is_unicast()
    }

    fn lost(&mut self) -> bool {
        self.random.next_u32() % 100 < self.loss
    }

    pub fn deadline(&self) -> Option<Instant> {
        let due = |radio: &Radio| match radio.state {
            State::Idle => None,
            State::Assessing(at) | State::Sending(_, at) | State::Waiting(at, _) => Some(at),
        };
        self.radios.iter().filter_map(due).min()
    }

    /// Handles what is due.
    pub fn advance(&mut self, now: Instant) {
        for index in 0..self.radios.len() {
            match self.radios[index].state.clone() {
                State::Assessing(at) if at <= now => self.assess(now, index),
                State::Sending(start, end) if end <= now => self.land(now, index, start),
                State::Waiting(at, event) if at <= now => {
                    self.radios[index].state = State::Idle;
                    self.radios[index].events.push_back((event, Vec::new()));
                }
                _ => {}
            }
        }
    }

    fn assess(&mut self, now: Instant, index: usize) {
        let busy = self.audible(index).into_iter().any(|other| {
            let radio = &self.radios[other];
            let sending = matches!(radio.state, State::Sending(start, _) if start <= now);
            sending || radio.acknowledging > now
        });
        if busy && self.radios[index].access != Access::Immediate {
            self.radios[index].state = State::Waiting(now, Event::ChannelBusy);
            return;
        }
        let start = now + TURNAROUND;
        let end = start + air_time(self.radios[index].frame.len() + FCS_LEN);
        self.radios[index].spoiled_at.clear();
        // At each receiver, this frame and any other one that arrives there collide; and a sender
        // cannot receive.
        for receiver in self.audible(index) {
            if matches!(self.radios[receiver].state, State::Sending(..)) {
                self.radios[index].spoiled_at.push(receiver);
                self.radios[receiver].spoiled_at.push(index);
            }
            for other in self.audible(receiver).into_iter().filter(|&o| o != index) {
                if matches!(self.radios[other].state, State::Sending(..)) {
                    self.radios[index].spoiled_at.push(receiver);
                    self.radios[other].spoiled_at.push(receiver);
                }
            }
        }
        self.radios[index].state = State::Sending(start, end);
    }

    /// Ends a frame on the air.
    fn land(&mut self, now: Instant, index: usize, start: Instant) {
        let sfd = start + (SHR_PHR - OCTET);
        let frame = self.radios[index].frame.clone();
        let acknowledges = self.acknowledges(index);
        let mut acknowledged = false;
        for receiver in self.audible(index) {
            let spoiled = self.radios[index].spoiled_at.contains(&receiver);
            let hears = self.radios[receiver].listening && self.is_for(receiver, index);
            if spoiled || !hears || self.lost() {
                continue;
            }
            let event = Event::Received {
                sfd,
                len: frame.len() as u8,
                rssi_dbm: -60,
                lqi: 200,
                acked: acknowledges,
            };
            self.radios[receiver].events.push_back((event, frame.clone()));
            if acknowledges {
                self.radios[receiver].acknowledging = now + ACK_TIME;
                acknowledged = !self.lost();
            }
        }
        let radio = &mut self.radios[index];
        let (wait, ack) = match (radio.ack, acknowledged) {
            (false, _) => (Duration::ZERO, Ack::NotAwaited),
            (true, true) => {
                (TURNAROUND + air_time(ACK_PSDU), Ack::Received { frame_pending: false })
            }
            (true, false) => (ACK_WAIT, Ack::Missing),
        };
        radio.state = State::Waiting(now + wait, Event::Transmitted { sfd, ack });
        if wait == Duration::ZERO {
            self.radios[index].state = State::Idle;
            let event = Event::Transmitted { sfd, ack };
            self.radios[index].events.push_back((event, Vec::new()));
        }
    }

    pub fn poll_event(&mut self, index: usize) -> Option<(Event, Vec<u8>)> {
        let event = self.radios[index].events.pop_front()?;
        if matches!(event.0, Event::Received { .. }) || self.lose_every == 0 {
            return Some(event);
        }
        self.ends += 1;
        if self.ends.is_multiple_of(self.lose_every) { self.poll_event(index) } else { Some(event) }
    }

    /// Loses one in `every` events that end a transmission, from now on.
    pub fn lose_events(&mut self, every: u32) {
        self.lose_every = every;
    }
}

//! A radio coprocessor: OpenThread's `ot-rcp`, by the source of its spinel interface
//! (`ncp_base.cpp`, `ncp_base_radio.cpp`, `ncp_hdlc.cpp`, `sub_mac.cpp`), at the end of a line.
//!
//! Its radio keeps the rules of the radio contract that a host cannot keep for it, such as the
//! turnaround of acknowledgements.

mod line;
mod properties;
mod radio;

use crate::air::{Air, Sent, Signal};
use crate::model::Model;
use kinglet_drivers::Fault;
use kinglet_random::Random;
use line::{Direction, Receiver};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

/// Time in which the radio stack restarts. The source gives none; a processor takes longer.
const RESTART_US: u64 = 500;
/// Status of a restart by the supply.
const POWER_ON: u8 = 112;

/// Progress of a transmission.
#[derive(Clone, Debug)]
enum Step {
    Backoff {
        until: u64,
    },
    /// It waits for the end of a reception.
    Ready,
    Assess {
        from: u64,
    },
    Turn {
        until: u64,
    },
    OnAir {
        sent: Sent,
        until: u64,
    },
    AwaitAck {
        until: u64,
    },
}

#[derive(Clone, Debug)]
struct Job {
    tid: u8,
    psdu: Vec<u8>,
    channel: u8,
    channel_after: u8,
    max_backoffs: u8,
    has_csma: bool,
    /// Assessments that found the channel busy.
    busy: u8,
    step: Step,
}

/// Progress of a reception.
#[derive(Clone, Debug)]
enum Reception {
    /// The receiver is off.
    Off,
    /// It looks for frames that begin from then on.
    Search {
        from: u64,
    },
    Frame {
        signal: Signal,
    },
    /// It acknowledges the frame.
    Acknowledge {
        signal: Signal,
        sent: Sent,
        until: u64,
        pending: bool,
    },
}

/// Faults of the line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LineFaults {
    /// Octets that are changed, of a thousand, in each direction.
    pub damaged_permille: u32,
    /// Messages to the host that are lost, of a thousand.
    pub lost_permille: u32,
    /// Nothing passes in either direction.
    pub is_stalled: bool,
}

/// The coprocessor, its line and the air around it.
pub struct Coprocessor {
    now: u64,
    air: Air,
    random: Random,
    to_device: Direction,
    to_host: Direction,
    receiver: Receiver,
    faults: LineFaults,
    /// The next octet from the host is changed.
    damages_next: bool,
    restarts_at: Option<u64>,
    /// Values that differ from the usual ones.
    values: BTreeMap<u32, Vec<u8>>,
    /// Statuses of properties that are refused.
    refusals: BTreeMap<u32, u8>,
    is_enabled: bool,
    channel: u8,
    listens: bool,
    pan: u16,
    short: u16,
    extended: [u8; 8],
    power_dbm: i8,
    matches: bool,
    sources: Vec<u16>,
    max_sources: usize,
    /// Channel to which the radio is tuned; `None` = asleep.
    tuned: Option<u8>,
    reception: Reception,
    job: Option<Job>,
    /// End of the last acknowledgement.
    acked_until: u64,
    misuse: Option<&'static str>,
}

/// A coprocessor that its driver and a test share.
pub type SharedCoprocessor = Rc<RefCell<Coprocessor>>;

impl Coprocessor {
    /// Switches one on, at a line with this rate in bits a second; `None` takes no time.
    pub fn new(seed: u64, baud: Option<u32>) -> SharedCoprocessor {
        Rc::new(RefCell::new(Coprocessor {
            now: 0,
            air: Air::default(),
            random: Random::new(seed, 2),
            to_device: Direction::new(baud),
            to_host: Direction::new(baud),
            receiver: Receiver::default(),
            faults: LineFaults::default(),
            damages_next: false,
            restarts_at: Some(RESTART_US),
            values: BTreeMap::new(),
            refusals: BTreeMap::new(),
            is_enabled: false,
            channel: 11,
            listens: false,
            pan: 0xffff,
            short: 0xfffe,
            extended: [0; 8],
            power_dbm: 0,
            matches: false,
            sources: Vec::new(),
            max_sources: 10,
            tuned: None,
            reception: Reception::Off,
            job: None,
            acked_until: 0,
            misuse: None,
        }))
    }

    /// Sets the value of a property that is only read.
    pub fn set_value(&mut self, property: u32, value: &[u8]) {
        self.values.insert(property, value.to_vec());
    }

    /// Has each command for a property answered by a status.
    pub fn refuse(&mut self, property: u32, status: u8) {
        self.refusals.insert(property, status);
    }

    /// Sets the faults of the line.
    pub fn set_faults(&mut self, faults: LineFaults) {
        self.faults = faults;
    }

    /// Returns the time in microseconds.
    pub fn now(&self) -> u64 {
        self.now
    }

    /// Returns whether the radio listens.
    pub fn is_listening(&self) -> bool {
        self.tuned.is_some()
    }

    /// Writes octets of the host to the line.
    pub fn write(&mut self, octets: &[u8]) {
        for octet in octets {
            self.to_device.push(self.now, vec![*octet]);
        }
    }

    /// Writes octets to the host that no part of the coprocessor has sent.
    pub fn babble(&mut self, octets: &[u8]) {
        self.to_host.push(self.now, octets.to_vec());
    }

    /// Returns the next octets for the host that have arrived.
    pub fn read(&mut self) -> Option<Vec<u8>> {
        if self.faults.is_stalled {
            return None;
        }
        let octets = self.to_host.pop(self.now)?;
        if self.random.next_u32() % 1_000 < self.faults.lost_permille {
            return Some(Vec::new());
        }
        Some(octets.into_iter().map(|octet| self.damaged(octet)).collect())
    }

    fn damaged(&mut self, octet: u8) -> u8 {
        let is_damaged = self.random.next_u32() % 1_000 < self.faults.damaged_permille;
        if is_damaged { octet ^ (1 + self.random.next_u32() % 255) as u8 } else { octet }
    }

    /// Lets time pass until `until` in microseconds.
    pub fn advance(&mut self, until: u64) {
        while let Some(at) = self.next().filter(|at| *at <= until) {
            self.now = self.now.max(at);
            self.step();
        }
        self.now = self.now.max(until);
    }

    /// Has its frames kept for others in range.
    pub(crate) fn share_air(&mut self) {
        self.air.share();
    }

    /// Returns the frames that it has begun to send since the last call.
    pub(crate) fn take_begun(&mut self) -> Vec<Sent> {
        self.air.take_begun()
    }

    /// Puts a frame on its air.
    pub(crate) fn put(&mut self, signal: Signal) {
        self.air.put(signal);
    }

    /// Loses and regains its supply.
    pub fn lose_power(&mut self) {
        self.to_device.clear();
        self.restart();
        self.sources.clear();
    }

    /// Returns the time of the next change, of the arrival of octets at the host as well.
    pub(crate) fn next_on_line(&self) -> Option<u64> {
        let arrival = self.to_host.next().filter(|_| !self.faults.is_stalled);
        [self.next(), arrival].into_iter().flatten().min()
    }

    /// Returns the time of the next change.
    pub(crate) fn next(&self) -> Option<u64> {
        let line = self.to_device.next().filter(|_| !self.faults.is_stalled);
        [line, self.restarts_at, self.next_of_radio()].into_iter().flatten().min()
    }

    fn step(&mut self) {
        if self.restarts_at.is_some_and(|at| at <= self.now) {
            self.restarts_at = None;
            self.send_status(0, POWER_ON, &[]);
        }
        if !self.faults.is_stalled
            && let Some(octets) = self.to_device.pop(self.now)
        {
            octets.into_iter().for_each(|octet| self.handle_octet(octet));
        }
        self.step_radio();
        self.air.forget(self.now);
    }

    fn handle_octet(&mut self, octet: u8) {
        let mut octet = self.damaged(octet);
        if core::mem::take(&mut self.damages_next) {
            octet ^= 0x04;
        }
        // It is not awake.
        if self.restarts_at.is_some() {
            return;
        }
        match self.receiver.push(octet) {
            None => {}
            Some(Ok(message)) => self.handle_message(&message),
            Some(Err(octets)) => {
                self.send(0, 6, 0x70, b"Framing error 6: [");
                let text: Vec<String> =
                    octets.iter().take(41).map(|octet| format!("{octet:02X}")).collect();
                self.send(0, 6, 0x70, format!("{}]\n", text.join(" ")).as_bytes());
            }
        }
    }

    fn send(&mut self, tid: u8, command: u8, property: u32, value: &[u8]) {
        let mut message = vec![0x80 | tid, command];
        let mut rest = property;
        while rest >= 0x80 {
            message.push(rest as u8 | 0x80);
            rest >>= 7;
        }
        message.push(rest as u8);
        message.extend(value);
        self.to_host.push(self.now, line::frame(&message));
    }

    fn send_status(&mut self, tid: u8, status: u8, more: &[u8]) {
        self.send(tid, 6, 0, &[&[status], more].concat());
    }

    /// Restarts, and reports it when it is done.
    fn restart(&mut self) {
        self.cut_off();
        self.to_host.clear();
        (self.is_enabled, self.listens, self.matches) = (false, false, false);
        // As in OpenThread's simulation, the list of sources stays.
        (self.channel, self.pan, self.short) = (11, 0xffff, 0xfffe);
        (self.extended, self.power_dbm) = ([0; 8], 0);
        (self.job, self.reception, self.tuned) = (None, Reception::Off, None);
        self.restarts_at = Some(self.now + RESTART_US);
    }

    fn note_misuse(&mut self, what: &'static str) {
        self.misuse.get_or_insert(what);
    }
}

impl Model for Coprocessor {
    fn now(&self) -> u64 {
        self.now
    }

    fn air(&mut self) -> &mut Air {
        &mut self.air
    }

    fn advance_to_interrupt(&mut self, until: u64) -> Option<u64> {
        loop {
            let arrival = self.to_host.next().filter(|_| !self.faults.is_stalled);
            let Some(at) = self.next_on_line().filter(|at| *at <= until) else {
                self.now = self.now.max(until);
                return None;
            };
            if arrival.is_some_and(|arrival| arrival <= at) {
                self.now = self.now.max(at);
                return Some(self.now);
            }
            self.advance(at);
        }
    }

    fn is_asleep(&self) -> bool {
        self.tuned.is_none() && self.job.is_none()
    }

    /// There are no interrupts, and a processor that hangs needs its reset line.
    fn cause(&mut self, fault: Fault) -> bool {
        match fault {
            Fault::Transfer => self.damages_next = true,
            Fault::PowerLoss => self.lose_power(),
            Fault::LostInterrupt | Fault::Stuck => return false,
        }
        true
    }

    fn misuse(&mut self) -> Option<&'static str> {
        self.misuse.take()
    }
}

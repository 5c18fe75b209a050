//! A store over a flash that fails as the input says, compared with queues in memory.

use crate::input::Input;
use kinglet_flash::{Command, Event, Failure, Geometry};
use kinglet_store::{Label, MAX_PAYLOAD, Place, Record, Spilling, Store};
use kinglet_time::{Duration, Instant};
use std::collections::VecDeque;

const PART: Geometry = Geometry {
    page_size: 256,
    programs_per_page: 255,
    pages_per_sector: 2,
    sectors: 9,
    longest_program: Duration::from_millis(5),
    longest_erase: Duration::from_millis(100),
};
const SECTOR: usize = 512;
const NEIGHBOURS: u8 = 4;
/// Steps that the store may need to return all its frames: each frame may be read three times.
const PATIENCE: usize = 2_000;

type Spills = Spilling<[Place; 3], [Record; 24]>;

/// Outcome of the next command.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fault {
    None,
    /// It is done in part, and fails.
    Fails,
    /// One bit is wrong, without an error.
    Wrong,
    /// No outcome is reported.
    Silent,
    LowVoltage,
    /// The driver does not accept it.
    Refused,
}

const FAULTS: [Fault; 8] = [
    Fault::None,
    Fault::None,
    Fault::None,
    Fault::Fails,
    Fault::Wrong,
    Fault::Silent,
    Fault::LowVoltage,
    Fault::Refused,
];

/// The octets of the part, and the event that it will report.
struct Part {
    octets: Vec<u8>,
    event: Option<(Event, Vec<u8>)>,
}

impl Part {
    /// Carries out a command; `dice` selects the extent and the position of a fault.
    fn submit(&mut self, now: Instant, command: Command, octets: &[u8], fault: Fault, dice: usize) {
        let mut read = Vec::new();
        match command {
            Command::Reset => {
                self.event = None;
                return;
            }
            _ if fault == Fault::LowVoltage && !matches!(command, Command::Read { .. }) => {}
            Command::Read { page, offset, len } => {
                assert!(PART.has(page, offset, len.into()));
                let from = usize::from(page) * 256 + usize::from(offset);
                read = self.octets[from..from + usize::from(len)].to_vec();
                if fault == Fault::Wrong {
                    let bit = dice % (8 * read.len());
                    read[bit / 8] ^= 1 << (bit % 8);
                }
            }
            Command::Program { page, offset } => {
                assert!(!octets.is_empty() && PART.has(page, offset, octets.len()));
                let from = usize::from(page) * 256 + usize::from(offset);
                let whole = matches!(fault, Fault::None | Fault::Wrong);
                let until = if whole { octets.len() } else { dice % octets.len() };
                for (there, octet) in self.octets[from..].iter_mut().zip(&octets[..until]) {
                    assert_eq!(*there, 0xff, "it is not erased");
                    *there = *octet;
                }
                if fault == Fault::Wrong {
                    self.octets[from + dice % octets.len()] |= 1 << (dice & 7);
                }
            }
            Command::Erase { sector } => {
                assert!(sector < PART.sectors);
                let whole = matches!(fault, Fault::None | Fault::Wrong);
                let until = if whole { SECTOR } else { dice % SECTOR };
                self.octets[usize::from(sector) * SECTOR..][..until].fill(0xff);
            }
            _ => {}
        }
        let event = match fault {
            Fault::None | Fault::Wrong => Event::Done { at: now },
            Fault::LowVoltage => Event::Failed { at: now, failure: Failure::LowVoltage },
            _ => Event::Failed { at: now, failure: Failure::Part },
        };
        read.resize(256, 0xff);
        self.event = (fault != Fault::Silent).then_some((event, read));
    }
}

struct Model {
    store: Spills,
    part: Part,
    queues: Vec<VecDeque<(u16, Vec<u8>)>>,
    serial: u32,
    /// Number of frames that the store has lost.
    missing: u32,
    faulty: bool,
}

impl Model {
    fn new() -> Self {
        let mut store = Spills::NEW;
        store.attach(Instant::ZERO, PART, 0);
        let part = Part { octets: vec![0x5a; usize::from(PART.pages()) * 256], event: None };
        let queues = vec![VecDeque::new(); NEIGHBOURS.into()];
        Model { store, part, queues, serial: 0, missing: 0, faulty: true }
    }

    fn put(&mut self, now: Instant, label: Label, len: usize) {
        self.serial += 1;
        let mut payload = self.serial.to_le_bytes().to_vec();
        payload.resize(4 + len % (MAX_PAYLOAD - 3), self.serial as u8);
        let room = self.store.room();
        let put = self.store.put(now, label, &payload);
        assert_eq!(put.is_ok(), room > 0, "room is honest");
        if put.is_ok() {
            self.queues[usize::from(label.to)].push_back((label.tag, payload));
        }
    }

    fn take(&mut self, now: Instant, to: u8) -> bool {
        let mut out = [0; MAX_PAYLOAD];
        let first = self.store.first(|other| other == to);
        let taken = self.store.take(now, to, &mut out);
        assert_eq!(first.is_some(), taken.is_some());
        let Some(len) = taken else { return false };
        while let Some((tag, payload)) = self.queues[usize::from(to)].pop_front() {
            if payload == out[..len] {
                assert_eq!(first, Some(Label { to, tag }));
                return true;
            }
            self.missing += 1;
        }
        panic!("a frame that was never put, is damaged, or out of order");
    }

    fn drop_all(&mut self, now: Instant, label: Label) {
        let dropped = self.store.drop_all(now, label);
        let queue = &mut self.queues[usize::from(label.to)];
        let before = queue.len();
        queue.retain(|(tag, _)| *tag != label.tag);
        self.missing += (before - queue.len() - dropped) as u32;
    }

    /// One step of the flash: an event or a command.
    fn work(&mut self, input: &mut Input<'_>) {
        let now = input.now();
        if let Some((event, octets)) = self.part.event.take() {
            // The store may have given it up meanwhile; a reset is next then.
            let late = self.store.handle_flash(now, event, &octets).is_err();
            if late {
                let next = self.store.poll_flash(now).map(|submission| submission.command);
                assert_eq!(next, Some(Command::Reset));
            }
        }
        let Some(submission) = self.store.poll_flash(now) else { return };
        let (command, octets) = (submission.command, submission.octets.to_vec());
        let choice = if self.faulty { input.octet().unwrap_or(0) } else { 0 };
        let dice = if self.faulty { input.word() } else { 0 };
        match FAULTS[usize::from(choice & 7)] {
            Fault::Refused if command != Command::Reset => self.store.flash_refused(now),
            fault => self.part.submit(now, command, &octets, fault, dice.into()),
        }
    }

    /// Power is lost during a command, and a new store gets the part.
    fn restart(&mut self, input: &mut Input<'_>) {
        let now = input.now();
        if let Some(submission) = self.store.poll_flash(now) {
            let (command, octets) = (submission.command, submission.octets.to_vec());
            self.part.submit(now, command, &octets, Fault::Silent, input.word().into());
        }
        self.part.event = None;
        self.store = Spills::NEW;
        self.store.attach(now, PART, input.octet().unwrap_or(0).into());
        self.queues.iter_mut().for_each(VecDeque::clear);
        self.missing = 0;
    }
}

/// Calls of a store, with outcomes of its commands.
pub fn store_flash(data: &[u8]) {
    let mut input = Input::new(data);
    let mut model = Model::new();
    while let Some(call) = input.octet() {
        let now = input.now();
        let label = Label { to: call >> 4 & 3, tag: u16::from(call >> 6 & 1) };
        match call & 15 {
            0..=4 => {
                let len = input.octet().unwrap_or(0);
                model.put(now, label, len.into());
            }
            5..=7 => {
                model.take(now, label.to);
            }
            8 => model.store.prefer(now, |to| to == label.to),
            9 if call & 0xc0 == 0xc0 => model.drop_all(now, label),
            9 if call & 0xc0 == 0x80 => {
                model.store.attach(now, PART, 0);
            }
            10 if call & 0x80 != 0 => model.restart(&mut input),
            11 => {
                let now = input.skip_to(model.store.deadline().unwrap_or(now));
                model.store.handle_deadline(now);
                let next = model.store.deadline();
                assert!(next.is_none_or(|next| next > now), "no stale deadline");
            }
            12 => {
                input.later();
            }
            _ => model.work(&mut input),
        }
        assert!(model.store.room() <= model.store.room_in_all());
    }
    // All remaining frames are returned when the part works again.
    model.faulty = false;
    for _ in 0..PATIENCE {
        let Some(label) = model.store.oldest(|_| true) else { break };
        let now = input.now();
        if !model.take(now, label.to) {
            model.store.prefer(now, |to| to == label.to);
            model.work(&mut input);
            if model.part.event.is_none() {
                let now = input.skip_to(model.store.deadline().unwrap_or(now));
                model.store.handle_deadline(now);
            }
        }
    }
    assert!(model.store.is_empty(), "everything comes out");
    let rest: usize = model.queues.iter().map(VecDeque::len).sum();
    model.missing += rest as u32;
    assert_eq!(model.missing, model.store.stats().lost, "the missing frames were counted");
}

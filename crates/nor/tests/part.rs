//! The driver against a part that follows its data sheet, octet by octet.

use embedded_hal::spi::{ErrorKind, ErrorType, Operation, SpiDevice};
use kinglet_flash::{Busy, Command, Driver, Event, Failure, Geometry, MAX_PAGE};
use kinglet_nor::Nor;
use kinglet_time::{Duration, Instant};
use std::cell::RefCell;
use std::rc::Rc;

const T0: Instant = Instant::from_secs(1);
const WAKES_IN: Duration = Duration::from_micros(30);
const PROGRAM: Duration = Duration::from_micros(1_400);
const ERASE: Duration = Duration::from_secs(1);
const SECTOR: usize = 1 << 16;

/// An M25P80 as its data sheet describes it. It ignores instructions while it is powered down,
/// wakes, or is busy, except those that are allowed in that state.
struct Part {
    now: Instant,
    octets: Vec<u8>,
    down: bool,
    listens_from: Instant,
    busy_until: Instant,
    enabled: bool,
    /// No sector can be programmed or erased.
    is_protected: bool,
    /// Every bus transaction fails.
    is_broken: bool,
    transactions: u32,
}

impl Part {
    fn is_busy(&self) -> bool {
        self.now < self.busy_until
    }

    fn status(&self) -> u8 {
        u8::from(self.is_busy()) | u8::from(self.enabled) << 1
    }

    /// Processes the octets that it received, and returns its response of `asked` octets.
    fn take(&mut self, sent: &[u8], asked: usize) -> Vec<u8> {
        if !self.is_busy() && self.busy_until > Instant::ZERO {
            (self.enabled, self.busy_until) = (false, Instant::ZERO);
        }
        let nothing = vec![0xff; asked];
        if self.down {
            if sent == [0xab] {
                self.down = false;
                self.listens_from = self.now + WAKES_IN;
            }
            return nothing;
        }
        assert!(self.now >= self.listens_from, "it does not listen yet");
        let [instruction, rest @ ..] = sent else { return nothing };
        let address = rest
            .get(..3)
            .map_or(0, |a| usize::from(a[0]) << 16 | usize::from(a[1]) << 8 | usize::from(a[2]));
        match instruction {
            0x05 => return vec![self.status(); asked],
            _ if self.is_busy() => {}
            0x06 => self.enabled = true,
            0x03 => return self.octets[address..address + asked].to_vec(),
            0x02 if self.enabled && !self.is_protected => {
                // A program wraps from the end of a page to its start.
                for (n, octet) in rest[3..].iter().enumerate() {
                    let at = address & !0xff | (address + n) & 0xff;
                    self.octets[at] &= octet;
                }
                self.busy_until = self.now + PROGRAM;
            }
            0xd8 if self.enabled && !self.is_protected => {
                self.octets[address / SECTOR * SECTOR..][..SECTOR].fill(0xff);
                self.busy_until = self.now + ERASE;
            }
            0xb9 => self.down = true,
            _ => {}
        }
        nothing
    }
}

#[derive(Clone)]
struct Bus(Rc<RefCell<Part>>);

#[derive(Debug)]
struct Broken;

impl embedded_hal::spi::Error for Broken {
    fn kind(&self) -> ErrorKind {
        ErrorKind::Other
    }
}

impl ErrorType for Bus {
    type Error = Broken;
}

impl SpiDevice for Bus {
    fn transaction(&mut self, operations: &mut [Operation<'_, u8>]) -> Result<(), Broken> {
        let mut part = self.0.borrow_mut();
        part.transactions += 1;
        if part.is_broken {
            return Err(Broken);
        }
        let mut sent = Vec::new();
        let mut asked = 0;
        for operation in operations.iter() {
            match operation {
                Operation::Write(octets) => sent.extend_from_slice(octets),
                Operation::Read(room) => asked += room.len(),
                other => panic!("{other:?}"),
            }
        }
        let answer = part.take(&sent, asked);
        for operation in operations {
            if let Operation::Read(room) = operation {
                room.copy_from_slice(&answer[..room.len()]);
            }
        }
        Ok(())
    }
}

struct Bench {
    part: Rc<RefCell<Part>>,
    nor: Nor<Bus>,
    now: Instant,
    read: [u8; MAX_PAGE],
}

impl Bench {
    fn new() -> Self {
        let part = Part {
            now: T0,
            octets: vec![0x5a; 1 << 20],
            down: true,
            listens_from: Instant::ZERO,
            busy_until: Instant::ZERO,
            enabled: false,
            is_protected: false,
            is_broken: false,
            transactions: 0,
        };
        let part = Rc::new(RefCell::new(part));
        let nor = Nor::new(Bus(part.clone()), Geometry::M25P80, WAKES_IN);
        Bench { part, nor, now: T0, read: [0; MAX_PAGE] }
    }

    fn poll(&mut self) -> Option<Event> {
        self.part.borrow_mut().now = self.now;
        self.nor.poll_event(self.now, &mut self.read)
    }

    /// Executes a command; returns its event and the time that it took.
    fn done(&mut self, command: Command, octets: &[u8]) -> (Event, Duration) {
        let began = self.now;
        self.nor.submit(began, command, octets).expect("it is idle");
        for _ in 0..200_000 {
            if let Some(event) = self.poll() {
                return (event, self.now - began);
            }
            self.now += Duration::from_micros(10);
        }
        panic!("no event");
    }

    fn succeeds(&mut self, command: Command, octets: &[u8]) -> Duration {
        let (event, took) = self.done(command, octets);
        assert_eq!(event, Event::Done { at: self.now }, "{command:?}");
        took
    }

    fn fails(&mut self, command: Command, octets: &[u8]) {
        let (event, _) = self.done(command, octets);
        assert_eq!(event, Event::Failed { at: self.now, failure: Failure::Part }, "{command:?}");
    }
}

#[test]
fn programmed_octets_are_read_and_the_rest_of_the_page_stays() {
    let mut bench = Bench::new();
    let erased = bench.succeeds(Command::Erase { sector: 15 }, &[]);
    assert!(erased >= ERASE && erased < ERASE + Duration::from_millis(1), "{erased:?}");
    let octets: Vec<u8> = (0..128).collect();
    let page = 15 * 256 + 7;
    let took = bench.succeeds(Command::Program { page, offset: 128 }, &octets);
    assert!(took >= PROGRAM && took < PROGRAM + Duration::from_micros(50), "{took:?}");
    bench.succeeds(Command::Read { page, offset: 120, len: 136 }, &[]);
    assert_eq!(bench.read[..8], [0xff; 8]);
    assert_eq!(bench.read[8..136], octets);
    bench.succeeds(Command::Read { page: page + 1, offset: 0, len: 256 }, &[]);
    assert_eq!(bench.read, [0xff; 256]);
    assert!(bench.part.borrow().octets[..15 * SECTOR].iter().all(|octet| *octet == 0x5a));
}

#[test]
fn it_sleeps_on_command_and_wakes_for_the_next_one() {
    let mut bench = Bench::new();
    bench.succeeds(Command::Read { page: 0, offset: 0, len: 1 }, &[]);
    assert!(!bench.part.borrow().down);
    bench.succeeds(Command::PowerDown, &[]);
    assert!(bench.part.borrow().down);
    let took = bench.succeeds(Command::Read { page: 0, offset: 0, len: 1 }, &[]);
    assert_eq!((took, bench.read[0]), (WAKES_IN, 0x5a));
}

#[test]
fn one_command_is_outstanding_at_a_time_and_nothing_waits_for_the_part() {
    let mut bench = Bench::new();
    let erase = Command::Erase { sector: 0 };
    bench.nor.submit(T0, erase, &[]).unwrap();
    assert_eq!(bench.nor.submit(T0, erase, &[]), Err(Busy));
    assert_eq!(bench.poll(), None);
    bench.now += WAKES_IN;
    assert_eq!(bench.poll(), None);
    // From then on each status poll is one transaction.
    let before = bench.part.borrow().transactions;
    bench.now += ERASE - Duration::from_micros(1);
    assert_eq!((bench.poll(), bench.part.borrow().transactions), (None, before + 1));
    bench.now += Duration::from_micros(1);
    assert_eq!(bench.poll(), Some(Event::Done { at: bench.now }));
    assert_eq!(bench.poll(), None, "once");
}

#[test]
fn after_a_reset_the_next_command_waits_for_what_the_part_does_yet() {
    let mut bench = Bench::new();
    bench.nor.submit(T0, Command::Erase { sector: 0 }, &[]).unwrap();
    for _ in 0..2 {
        assert_eq!(bench.poll(), None);
        bench.now += WAKES_IN;
    }
    bench.nor.submit(bench.now, Command::Reset, &[]).unwrap();
    assert_eq!(bench.poll(), None, "nothing of the erasure is reported");
    let took = bench.succeeds(Command::Program { page: 3, offset: 0 }, &[1, 2, 3]);
    assert!(took > ERASE, "{took:?}");
    bench.succeeds(Command::Read { page: 3, offset: 0, len: 4 }, &[]);
    assert_eq!(bench.read[..4], [1, 2, 3, 0xff]);
}

#[test]
fn a_command_beyond_the_page_or_the_part_fails_and_changes_nothing() {
    let mut bench = Bench::new();
    bench.fails(Command::Erase { sector: 16 }, &[]);
    bench.fails(Command::Program { page: 4_096, offset: 0 }, &[1]);
    bench.fails(Command::Program { page: 0, offset: 200 }, &[0; 57]);
    bench.fails(Command::Program { page: 0, offset: 0 }, &[0; 300]);
    bench.fails(Command::Read { page: 0, offset: 1, len: 256 }, &[]);
    assert!(bench.part.borrow().octets.iter().all(|octet| *octet == 0x5a));
    assert_eq!(bench.part.borrow().transactions, 0);
}

#[test]
fn a_part_that_is_protected_and_a_bus_that_is_broken_fail() {
    let mut bench = Bench::new();
    bench.part.borrow_mut().is_protected = true;
    bench.fails(Command::Erase { sector: 0 }, &[]);
    bench.fails(Command::Program { page: 0, offset: 0 }, &[0]);
    assert_eq!(bench.part.borrow().octets[0], 0x5a);
    bench.part.borrow_mut().is_broken = true;
    bench.fails(Command::Read { page: 0, offset: 0, len: 1 }, &[]);
    bench.part.borrow_mut().is_broken = false;
    bench.succeeds(Command::Read { page: 0, offset: 0, len: 1 }, &[]);
}

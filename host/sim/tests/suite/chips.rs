//! What the medium reports to a chip in place of a radio.

use crate::common::{Script, data, disc, listen, matrix, node, run, transmit};
use kinglet_radio::{Access, Busy, Channel, Command, Event, Filter, MAX_FRAME};
use kinglet_sim::chip::{Antenna, Chip, Heard};
use kinglet_sim::medium::{MediumConfig, Overlap};
use kinglet_sim::stats::Fate;
use kinglet_sim::{NodeConfig, World};
use kinglet_time::Instant;
use std::cell::RefCell;

/// Preamble and SFD, and an octet.
const SHR_US: u64 = 160;
const OCTET_US: u64 = 32;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Note {
    Heard(u64),
    Lost(u64),
    Whole(u64),
}

thread_local! {
    static NOTES: RefCell<Vec<Note>> = const { RefCell::new(Vec::new()) };
}

/// Only listens, and notes what it is told.
#[derive(Default)]
struct Ear {
    now: u64,
    is_on: bool,
    /// Start of the frame that it follows, and its end.
    frame: Option<(u64, u64)>,
    is_damaged: bool,
}

fn note(note: Note) {
    NOTES.with_borrow_mut(|notes| notes.push(note));
}

impl Chip for Ear {
    fn set_filter(&mut self, _: Filter) {}

    fn submit(&mut self, _: Instant, command: Command, _: &[u8]) -> Result<(), Busy> {
        self.is_on = matches!(command, Command::Receive { .. });
        Ok(())
    }

    fn next_at(&self) -> Option<Instant> {
        let (begin, end) = self.frame?;
        let sfd = begin + SHR_US;
        Some(Instant::from_micros(if sfd > self.now { sfd } else { end }))
    }

    fn advance(&mut self, now: Instant) {
        self.now = now.as_micros();
        if let Some((begin, _)) = self.frame.take_if(|(_, end)| *end <= now.as_micros())
            && !std::mem::take(&mut self.is_damaged)
        {
            note(Note::Whole(begin));
        }
    }

    fn poll_event(&mut self, _: Instant, _: &mut [u8; MAX_FRAME]) -> Option<Event> {
        None
    }

    fn antenna(&self) -> Antenna {
        match self.frame {
            _ if !self.is_on => Antenna::Off,
            Some((begin, _)) if self.now >= begin + SHR_US => Antenna::Receiving,
            _ => Antenna::Listening(Channel::default()),
        }
    }

    fn hear(&mut self, heard: Heard<'_>) {
        let begin = heard.begin.as_micros();
        note(Note::Heard(begin));
        let octets = 1 + heard.frame.len() as u64 + 2;
        self.frame = Some((begin, begin + SHR_US + OCTET_US * octets));
    }

    fn lose(&mut self, begin: Instant) {
        note(Note::Lost(begin.as_micros()));
        match self.frame {
            Some((begin, _)) if self.now < begin + SHR_US => self.frame = None,
            _ => self.is_damaged = true,
        }
    }

    fn assess(&mut self, _: bool) {}
}

/// Node 0 sends a frame at 10 ms, node 2 one that is stronger at node 1 so much later; returns what
/// the chip of node 1 has noted, and the fates there.
fn contest(overlap: Overlap, later_us: u64) -> (Vec<Note>, [u64; 2]) {
    NOTES.take();
    let connectivity = matrix(&[(0, 1, -80.0), (2, 1, -50.0)]);
    let medium = MediumConfig { connectivity, overlap, ..disc() };
    let send = |from: u16, at| {
        Script::silent().send(at, transmit(Access::Immediate, false), data(1, from, 1, 60))
    };
    let chip = NodeConfig { chip: Some(|_| Box::<Ear>::default()), ..node(1, 0.0) };
    let nodes = vec![
        (node(0, 0.0), send(0, 10_000)),
        (chip, Script::silent().at(0, listen())),
        (node(2, 0.0), send(2, 10_000 + later_us)),
    ];
    let mut world = World::new(1, &medium, nodes);
    run(&mut world, 30_000);
    let fates = &world.counters(1).fates;
    let notes = NOTES.take();
    (notes, [Fate::Delivered, Fate::Collision].map(|fate| fates.of(fate)))
}

const CAPTURE: Overlap = Overlap::Capture { threshold_db: 3.0, relock: true };

#[test]
fn a_stronger_frame_takes_over_before_the_sfd_only() {
    let (notes, fates) = contest(CAPTURE, 100);
    let [Note::Heard(first), Note::Lost(lost), Note::Heard(second), Note::Whole(whole)] = notes[..]
    else {
        panic!("{notes:?}");
    };
    assert_eq!((first, second, fates), (lost, whole, [1, 1]));
    let (notes, fates) = contest(CAPTURE, 400);
    let [Note::Heard(first), Note::Lost(lost)] = notes[..] else { panic!("{notes:?}") };
    assert_eq!((first, fates), (lost, [0, 2]));
}

#[test]
fn a_chip_that_has_found_a_frame_finds_no_other_one_before_its_end() {
    let long = 160 + 32 * 61;
    for (later_us, delivered) in [(long - 1, 0), (long + 2, 2)] {
        let (notes, fates) = contest(Overlap::Strict, later_us);
        let whole = notes.iter().filter(|note| matches!(note, Note::Whole(_))).count();
        assert_eq!((whole as u64, fates[0]), (delivered, delivered), "{later_us}: {notes:?}");
    }
}

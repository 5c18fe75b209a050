//! What the medium reports to a chip in place of a radio.

use crate::common::{Script, data, disc, listen, matrix, node, run, transmit};
use kinglet_radio::{Access, Busy, Channel, Command, Event, Filter, MAX_FRAME};
use kinglet_sim::chip::{Antenna, Chip, Heard};
use kinglet_sim::medium::{MediumConfig, Overlap};
use kinglet_sim::stats::Fate;
use kinglet_sim::{NodeConfig, World};
use kinglet_time::Instant;
use std::cell::RefCell;

/// Preamble and SFD, an octet, and the time after a frame in which the chip finds no other one.
const SHR_US: u64 = 160;
const OCTET_US: u64 = 32;
const LATE_US: u64 = 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Note {
    Heard(u64),
    Lost(u64),
    Whole(u64),
}

thread_local! {
    static NOTES: RefCell<Vec<Note>> = const { RefCell::new(Vec::new()) };
}

/// Only listens, and notes the events.
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
        self.frame = Some((begin, begin + SHR_US + OCTET_US * octets + LATE_US));
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
/// the chip of node 1 has noted, and how many of the frames had these fates there.
fn contest<const N: usize>(
    (overlap, frame_loss): (Overlap, f64),
    later_us: u64,
    fates: [Fate; N],
) -> (Vec<Note>, [u64; N]) {
    NOTES.take();
    let connectivity = matrix(&[(0, 1, -80.0), (2, 1, -50.0)]);
    let medium = MediumConfig { connectivity, overlap, frame_loss, ..disc() };
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
    (NOTES.take(), fates.map(|fate| world.counters(1).fates.of(fate)))
}

const CAPTURE: Overlap = Overlap::Capture { threshold_db: 3.0, relock: true };
/// Time of a frame on the air.
const FRAME_US: u64 = SHR_US + OCTET_US * 61;

#[test]
fn a_stronger_frame_takes_over_before_the_sfd_only() {
    let fates = [Fate::Delivered, Fate::Collision];
    let (notes, counts) = contest((CAPTURE, 0.0), 100, fates);
    let [Note::Heard(first), Note::Lost(lost), Note::Heard(second), Note::Whole(whole)] = notes[..]
    else {
        panic!("{notes:?}");
    };
    assert_eq!((first, second, counts), (lost, whole, [1, 1]));
    let (notes, counts) = contest((CAPTURE, 0.0), 400, fates);
    let [Note::Heard(first), Note::Lost(lost)] = notes[..] else { panic!("{notes:?}") };
    assert_eq!((first, counts), (lost, [0, 2]));
}

#[test]
fn a_chip_that_has_found_a_frame_finds_no_other_one_before_it_is_ready() {
    let fates = [Fate::Delivered, Fate::Acknowledging, Fate::Readout, Fate::Loss];
    for (loss, later_us, expected) in [
        (0.0, FRAME_US + 2, [1, 1, 0, 0]),
        (0.0, FRAME_US + LATE_US + 2, [2, 0, 0, 0]),
        (1.0, FRAME_US + 2, [0, 0, 1, 1]),
        (1.0, FRAME_US + LATE_US + 2, [0, 0, 0, 2]),
    ] {
        let (notes, counts) = contest((Overlap::Strict, loss), later_us, fates);
        assert_eq!(counts, expected, "{later_us} us later: {notes:?}");
    }
}

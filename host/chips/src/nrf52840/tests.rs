//! The model against the text of the product specification, task by task.

use super::registers::{RAM, clock, ppi, radio, timer};
use super::{SharedSoc, Soc};
use crate::air::{Signal, with_fcs};
use crate::model::Model;

const BUFFER: u32 = RAM + 256;

struct Lab {
    chip: SharedSoc,
}

impl Lab {
    /// A chip whose oscillator and timer run, with its radio set up on channel 11.
    fn new() -> Lab {
        let mut lab = Lab { chip: Soc::new() };
        lab.task(clock::HFCLKSTART);
        lab.pass(clock::START_US);
        assert!(lab.happened(clock::HFCLKSTARTED));
        for (register, value) in radio::IEEE_802_15_4.into_iter().chain([
            (radio::PCNF1, 127),
            (radio::MODECNF0, 1),
            (radio::FREQUENCY, 5),
            (radio::PACKETPTR, BUFFER),
            (timer::BITMODE, 3),
            (timer::PRESCALER, 4),
        ]) {
            lab.write(register, value);
        }
        lab.task(timer::START);
        lab
    }

    fn write(&mut self, register: u32, value: u32) {
        self.chip.borrow_mut().write(register, value);
    }

    fn task(&mut self, task: u32) {
        self.write(task, 1);
    }

    fn read(&mut self, register: u32) -> u32 {
        self.chip.borrow_mut().read(register)
    }

    /// Returns whether the event has been generated, and clears it.
    fn happened(&mut self, event: u32) -> bool {
        let happened = self.read(event) != 0;
        self.write(event, 0);
        happened
    }

    fn pass(&mut self, us: u64) {
        let until = self.now() + us;
        while self.now() < until {
            self.chip.borrow_mut().advance_to_interrupt(until);
        }
    }

    fn now(&self) -> u64 {
        self.chip.borrow().now()
    }

    /// Puts a frame on channel 11 whose preamble begins in 100 us; returns its end.
    fn hear(&mut self, psdu: Vec<u8>) -> u64 {
        let preamble_at = self.now() + 100;
        let signal = Signal { preamble_at, channel: 11, psdu, rssi_dbm: -60 };
        let end = signal.end();
        self.chip.borrow_mut().air().put(signal);
        end
    }
}

#[test]
fn the_radio_ramps_up_in_40_us_and_needs_the_oscillator() {
    for (enable, ready, idle) in
        [(radio::TXEN, radio::TXREADY, 10), (radio::RXEN, radio::RXREADY, 2)]
    {
        let mut lab = Lab::new();
        lab.task(enable);
        lab.pass(39);
        assert!(!lab.happened(ready));
        lab.pass(1);
        assert!(lab.happened(ready) && lab.happened(radio::READY));
        assert_eq!(lab.read(radio::STATE), idle);
        assert_eq!(lab.chip.borrow_mut().misuse(), None);
        lab.task(clock::HFCLKSTOP);
        lab.task(radio::DISABLE);
        lab.pass(30);
        lab.task(enable);
        assert!(lab.chip.borrow_mut().misuse().is_some());
    }
}

#[test]
fn a_frame_is_sent_from_ram_with_its_fcs() {
    let mut lab = Lab::new();
    lab.write(radio::SHORTS, 1 << 18 | 1 << 20);
    lab.write(radio::TXPOWER, -8_i8 as u8 as u32);
    lab.write(ppi::CHENSET, 1 << 26 | 1 << 27);
    lab.chip.borrow_mut().write_ram(BUFFER, &[5, 2, 0, 7]);
    lab.task(radio::TXEN);
    let preamble_at = lab.now() + 40;
    lab.pass(40 + 160 + 6 * 32);
    let sent = lab.chip.borrow_mut().air().take_sent().expect("a frame");
    assert_eq!((sent.preamble_at, sent.power_dbm, sent.channel), (preamble_at, -8, 11));
    assert_eq!(sent.psdu, with_fcs(&[2, 0, 7]));
    assert!(lab.happened(radio::PHYEND) && !lab.happened(radio::DISABLED));
    lab.pass(21);
    assert!(lab.happened(radio::DISABLED));
    // The fixed channels of the PPI have captured the SFD and the end.
    let captured = [1, 2].map(|channel| lab.read(timer::CC + 4 * channel));
    assert_eq!(captured, [40 + 160, 40 + 160 + 6 * 32]);
}

#[test]
fn a_received_frame_ends_with_an_event_23_us_later_and_has_its_lqi() {
    for is_intact in [true, false] {
        let mut lab = Lab::new();
        lab.write(radio::SHORTS, 1 << 1 | 1 << 4 | 1 << 19);
        lab.task(radio::RXEN);
        lab.pass(40);
        let frame = [0x41, 0x98, 1, 2, 3, 4, 5];
        let mut psdu = with_fcs(&frame);
        psdu[4] ^= u8::from(!is_intact);
        let end = lab.hear(psdu);
        lab.pass(100 + 160);
        assert!(lab.happened(radio::ADDRESS), "the end of the SFD");
        assert_eq!(lab.read(radio::RSSISAMPLE), 60);
        lab.pass(32);
        assert!(lab.happened(radio::FRAMESTART), "the length");
        lab.pass(end + 22 - lab.now());
        assert!(!lab.happened(radio::END));
        lab.pass(1);
        assert!(lab.happened(radio::END));
        assert_eq!(lab.happened(radio::CRCOK), is_intact);
        assert_eq!(lab.happened(radio::CRCERROR), !is_intact);
        lab.pass(1);
        assert!(lab.happened(radio::DISABLED));
        let mut octets = [0; 9];
        lab.chip.borrow().read_ram(BUFFER, &mut octets);
        // The length counts the FCS, in whose place the LQI stands: -60 dBm less -93.
        assert_eq!((octets[0], octets[8]), (9, 33));
        assert_eq!(octets[1..8] == frame, is_intact);
    }
}

#[test]
fn an_assessment_lets_the_frame_go_or_stops_it() {
    for (dbm, is_busy) in [(-75, true), (-76, false)] {
        let mut lab = Lab::new();
        lab.write(radio::CCACTRL, 18 << 8);
        lab.write(radio::SHORTS, 1 << 11 | 1 << 12 | 1 << 13 | 1 << 18 | 1 << 20);
        let now = lab.now();
        lab.chip.borrow_mut().air().disturb(11, now, now + 300, dbm);
        lab.chip.borrow_mut().write_ram(BUFFER, &[5, 2, 0, 7]);
        lab.task(radio::RXEN);
        lab.pass(40 + 128);
        assert_eq!(lab.happened(radio::CCABUSY), is_busy);
        lab.pass(1_000);
        let sent = lab.chip.borrow_mut().air().take_sent();
        assert_eq!(sent.map(|sent| sent.preamble_at), (!is_busy).then_some(now + 40 + 128 + 40));
        assert_eq!(lab.read(radio::STATE), 0);
    }
}

#[test]
fn a_compare_event_starts_the_ramp_through_the_ppi() {
    let mut lab = Lab::new();
    lab.write(ppi::CHENSET, 1 << 20);
    lab.write(timer::CC, 500);
    lab.pass(499);
    assert_eq!(lab.read(radio::STATE), 0);
    lab.pass(1);
    assert!(lab.happened(timer::COMPARE));
    assert_eq!(lab.read(radio::STATE), 9);
    lab.write(ppi::CHENCLR, 1 << 20);
    lab.task(timer::CAPTURE + 20);
    assert_eq!(lab.read(timer::CC + 20), 500);
}

#[test]
fn a_reset_by_power_clears_the_registers_of_the_radio() {
    let mut lab = Lab::new();
    lab.task(radio::RXEN);
    lab.pass(40);
    lab.write(radio::POWER, 0);
    assert_eq!((lab.read(radio::STATE), lab.read(radio::FREQUENCY)), (0, 0));
    lab.task(radio::RXEN);
    assert!(lab.chip.borrow_mut().misuse().is_some(), "it has no power");
    lab.task(timer::STOP);
    lab.task(clock::HFCLKSTOP);
    lab.write(radio::POWER, 0);
    assert!(lab.chip.borrow().is_asleep());
}

#[test]
fn interrupts_last_until_their_event_is_cleared() {
    let mut lab = Lab::new();
    lab.write(timer::INTENSET, 1 << 19);
    lab.write(timer::CC + 12, 100);
    let until = lab.now() + 1_000;
    let at = lab.chip.borrow_mut().advance_to_interrupt(until);
    assert_eq!(at, Some(until - 900));
    assert!(lab.chip.borrow_mut().advance_to_interrupt(until).is_some(), "it is still there");
    lab.write(timer::COMPARE + 12, 0);
    assert_eq!(lab.chip.borrow_mut().advance_to_interrupt(until), None);
}

//! The model against the text of the data sheets, access by access.

use super::registers::{
    AACK_SET_PD, CCA_THRES, CSMA_BE, CSMA_SEED_1, IRQ_MASK, IRQ_STATUS, IRQ_TRX_END, PAN_ID_0,
    PHY_CC_CCA, RX_SAFE_MODE, SHORT_ADDR_0, TRX_CTRL_2, TRX_STATE, TRX_STATUS, XAH_CTRL_0, command,
    trac,
};
use super::{Bus, Chip, Reset, Shared, SleepTransmit};
use crate::air::{Answer, SHR_US, Signal, with_fcs};
use crate::model::Model;
use embedded_hal::digital::OutputPin;
use embedded_hal::spi::{Operation, SpiDevice};

const PAN: u16 = 0x1234;
const SHORT: u16 = 0x0007;

struct Lab {
    chip: Shared,
    bus: Bus,
}

impl Lab {
    /// A chip in PLL_ON on channel 11, with addresses and the interrupt TRX_END.
    fn new() -> Lab {
        let chip = Chip::new(1, 8);
        let mut lab = Lab { bus: Bus::new(&chip), chip };
        lab.command(command::TRX_OFF);
        lab.pass(5);
        lab.write(IRQ_MASK, IRQ_TRX_END);
        for (at, value) in [(PAN_ID_0, PAN), (SHORT_ADDR_0, SHORT)] {
            let [low, high] = value.to_le_bytes();
            lab.write(at, low);
            lab.write(at + 1, high);
        }
        lab.command(command::PLL_ON);
        lab.pass(200);
        lab
    }

    fn read(&mut self, register: u8) -> u8 {
        let mut value = [0];
        self.access(&[0x80 | register], &mut value);
        value[0]
    }

    fn access(&mut self, sent: &[u8], received: &mut [u8]) {
        let mut operations = [Operation::Write(sent), Operation::Read(received)];
        self.bus.transaction(&mut operations).expect("the bus works");
    }

    fn write(&mut self, register: u8, value: u8) {
        self.bus.write(&[0xc0 | register, value]).expect("the bus works");
    }

    fn command(&mut self, command: u8) {
        self.write(TRX_STATE, command);
    }

    fn status(&mut self) -> u8 {
        self.read(TRX_STATUS)
    }

    fn trac(&mut self) -> u8 {
        self.read(TRX_STATE) >> 5
    }

    fn now(&self) -> u64 {
        self.chip.borrow().now()
    }

    fn pass(&mut self, us: u64) {
        let until = self.now() + us;
        self.chip.borrow_mut().advance(until);
    }

    /// Puts a frame on channel 11 whose preamble begins in 100 us; returns its end.
    fn hear(&mut self, frame: &[u8]) -> u64 {
        self.hear_psdu(with_fcs(frame))
    }

    fn hear_psdu(&mut self, psdu: Vec<u8>) -> u64 {
        let preamble_at = self.now() + 100;
        let signal = Signal { preamble_at, channel: 11, psdu, rssi_dbm: -60 };
        let end = signal.end();
        self.chip.borrow_mut().air.put(signal);
        end
    }

    fn read_frame(&mut self) -> Vec<u8> {
        let mut octets = [0; 131];
        self.access(&[0x20], &mut octets);
        octets[..usize::from(octets[0]) + 4].to_vec()
    }

    /// Loads a frame and starts it; returns the time of the start.
    fn send(&mut self, frame: &[u8]) -> u64 {
        let mut octets = vec![0x60, frame.len() as u8 + 2];
        octets.extend_from_slice(frame);
        self.bus.write(&octets).expect("the bus works");
        self.command(command::TX_ARET_ON);
        self.pass(1);
        self.command(command::TX_START);
        self.now()
    }
}

/// A data frame to the chip, or a MAC command with this identifier.
fn frame(kind: u8, ack: bool, to: u16, payload: &[u8]) -> Vec<u8> {
    let mut frame = vec![kind | u8::from(ack) << 5 | 0x40, 0x98, 42];
    for field in [PAN, to, 9] {
        frame.extend_from_slice(&field.to_le_bytes());
    }
    frame.extend_from_slice(payload);
    frame
}

#[test]
fn states_follow_commands_after_their_transition_times() {
    let chip = Chip::new(1, 8);
    let mut lab = Lab { bus: Bus::new(&chip), chip };
    assert_eq!(lab.status(), 0x00, "P_ON");
    lab.command(command::TRX_OFF);
    lab.pass(2);
    assert_eq!(lab.status(), 0x08);
    lab.command(command::PLL_ON);
    lab.pass(60);
    assert_eq!(lab.status(), 0x1f, "the PLL has not locked");
    lab.pass(100);
    assert_eq!(lab.status(), 0x09);
    lab.command(command::RX_AACK_ON);
    lab.pass(1);
    assert_eq!(lab.status(), 0x16);
    lab.command(command::TX_ARET_ON);
    assert!(lab.chip.borrow_mut().misuse().is_some(), "it has to go by PLL_ON");
}

#[test]
fn irq_status_is_cleared_by_its_read() {
    let mut lab = Lab::new();
    lab.command(command::RX_AACK_ON);
    let end = lab.hear(&frame(1, false, SHORT, &[1, 2, 3]));
    lab.pass(end + 8 - lab.now());
    assert!(!lab.chip.borrow().irq_line, "the latency has not passed");
    lab.pass(1);
    assert!(lab.chip.borrow().irq_line);
    assert_eq!(lab.read(IRQ_STATUS), IRQ_TRX_END);
    assert!(!lab.chip.borrow().irq_line);
    assert_eq!(lab.read(IRQ_STATUS), 0);
}

#[test]
fn frames_for_others_and_damaged_ones_raise_no_interrupt() {
    let mut lab = Lab::new();
    lab.command(command::RX_AACK_ON);
    let mut damaged = with_fcs(&frame(1, true, SHORT, &[1, 2, 3]));
    damaged[9] ^= 1;
    for psdu in [with_fcs(&frame(1, true, SHORT + 1, &[1])), damaged, with_fcs(&[2, 0, 42])] {
        lab.hear_psdu(psdu);
        lab.pass(3_000);
        assert_eq!(lab.read(IRQ_STATUS), 0);
    }
    assert!(lab.chip.borrow_mut().air.take_sent().is_none(), "no acknowledgement either");
}

#[test]
fn a_protected_frame_stays_until_the_frame_buffer_has_been_read() {
    for protected in [true, false] {
        let mut lab = Lab::new();
        lab.write(TRX_CTRL_2, if protected { RX_SAFE_MODE } else { 0 });
        lab.command(command::RX_AACK_ON);
        let (first, second) = (frame(1, false, SHORT, &[1; 20]), frame(1, false, SHORT, &[2; 30]));
        for heard in [&first, &second] {
            lab.hear(heard);
            lab.pass(3_000);
        }
        // An access to the SRAM does not end the protection.
        let mut len = [0];
        lab.access(&[0x00, 0x00], &mut len);
        let kept = if protected { &first } else { &second };
        assert_eq!(usize::from(len[0]), kept.len() + 2);
        let octets = lab.read_frame();
        assert_eq!(octets[1..=kept.len()], kept[..]);
        // LQI, ED level above -94 dBm, and RX_CRC_VALID.
        assert_eq!(octets[kept.len() + 3..], [102, 34, 0x80]);
        lab.read(IRQ_STATUS);
        lab.hear(&second);
        lab.pass(3_000);
        assert_eq!(lab.read(IRQ_STATUS), IRQ_TRX_END, "the next frame is received");
    }
}

#[test]
fn acknowledgements_begin_after_twelve_symbols_and_have_the_bit_for_data_requests() {
    let mut lab = Lab::new();
    lab.write(CSMA_SEED_1, 0x42 | AACK_SET_PD);
    lab.command(command::RX_AACK_ON);
    for (kind, payload, pending) in [(3, 4, true), (3, 6, false), (1, 4, false)] {
        let end = lab.hear(&frame(kind, true, SHORT, &[payload]));
        lab.pass(3_000);
        let sent = lab.chip.borrow_mut().air.take_sent().expect("an acknowledgement");
        assert_eq!(sent.preamble_at, end + 192);
        assert_eq!(sent.psdu, with_fcs(&[2 | u8::from(pending) << 4, 0, 42]));
        lab.read_frame();
    }
    // Frames that do not ask for it, and broadcasts.
    for heard in [frame(1, false, SHORT, &[1]), frame(1, true, 0xffff, &[1])] {
        lab.hear(&heard);
        lab.pass(3_000);
        assert_eq!(lab.read(IRQ_STATUS), IRQ_TRX_END);
        assert!(lab.chip.borrow_mut().air.take_sent().is_none());
        lab.read_frame();
    }
}

#[test]
fn a_command_during_a_reception_waits_for_the_acknowledgement() {
    let mut lab = Lab::new();
    lab.command(command::RX_AACK_ON);
    let end = lab.hear(&frame(1, true, SHORT, &[7; 40]));
    lab.pass(100 + SHR_US + 500);
    lab.command(command::PLL_ON);
    assert_eq!(lab.status(), 0x11, "BUSY_RX_AACK");
    lab.pass(end + 192 + 352 - lab.now());
    assert_eq!(lab.status(), 0x11);
    lab.pass(40);
    assert_eq!(lab.status(), 0x09);
    assert_eq!(lab.read(IRQ_STATUS), IRQ_TRX_END);
}

#[test]
fn a_transaction_reports_its_acknowledgement() {
    let data = frame(1, true, 9, &[5; 10]);
    let air_us = SHR_US + 32 * (1 + data.len() as u64 + 2);
    for (answer, result, wait_us) in [
        (Some((false, 0)), trac::SUCCESS, 192 + 352),
        (Some((true, 0)), trac::SUCCESS_DATA_PENDING, 192 + 352),
        (Some((false, 400)), trac::NO_ACK, 864),
        (None, trac::NO_ACK, 864),
    ] {
        let mut lab = Lab::new();
        lab.write(XAH_CTRL_0, 7 << 1);
        lab.chip.borrow_mut().air.answer = answer.map(|(pending, late_us)| Answer {
            pending,
            late_us,
            is_strange: false,
            intact: true,
            is_second: false,
        });
        let start = lab.send(&data);
        let end = start + 16 + air_us + wait_us + 9;
        lab.pass(end - 1 - lab.now());
        assert!(!lab.chip.borrow().irq_line);
        lab.pass(1);
        assert!(lab.chip.borrow().irq_line, "{answer:?}");
        assert_eq!((lab.trac(), lab.status()), (result, 0x19));
        let sent = lab.chip.borrow_mut().air.take_sent().expect("the frame");
        assert_eq!((sent.preamble_at, sent.psdu), (start + 16, with_fcs(&data)));
    }
}

#[test]
fn a_frame_without_acknowledgement_is_repeated_as_often_as_configured() {
    let mut lab = Lab::new();
    lab.write(XAH_CTRL_0, 2 << 4);
    lab.write(CSMA_BE, 0);
    lab.send(&frame(1, true, 9, &[5; 10]));
    lab.pass(20_000);
    let mut sent = 0;
    while lab.chip.borrow_mut().air.take_sent().is_some() {
        sent += 1;
    }
    assert_eq!((sent, lab.trac()), (3, trac::NO_ACK));
}

#[test]
fn csma_ca_fails_on_a_channel_above_the_threshold() {
    for (dbm, result) in [(-79, trac::CHANNEL_ACCESS_FAILURE), (-81, trac::SUCCESS)] {
        let mut lab = Lab::new();
        assert_eq!(lab.read(CCA_THRES) & 0x0f, 7, "-94 + 2 * 7 dBm");
        lab.write(XAH_CTRL_0, 4 << 1);
        let now = lab.now();
        lab.chip.borrow_mut().air.disturb(11, now, now + 100_000, dbm);
        lab.send(&frame(1, false, 9, &[5; 10]));
        lab.pass(60_000);
        assert_eq!(lab.trac(), result, "{dbm} dBm");
    }
}

#[test]
fn sleep_keeps_the_registers_and_loses_the_frame() {
    let mut lab = Lab::new();
    let mut slp_tr = SleepTransmit::new(&lab.chip);
    lab.bus.write(&[0x60, 5, 1, 2, 3]).expect("the bus works");
    lab.command(command::TRX_OFF);
    lab.pass(1);
    slp_tr.set_high().expect("the pin works");
    assert!(lab.chip.borrow().is_asleep());
    assert_eq!(lab.read(PAN_ID_0), 0);
    assert_eq!(lab.chip.borrow_mut().misuse(), Some("an access"));
    slp_tr.set_low().expect("the pin works");
    lab.pass(300);
    assert_eq!(lab.status(), 0, "the oscillator does not run yet");
    lab.pass(700);
    assert_eq!((lab.status(), lab.read(PAN_ID_0)), (0x08, PAN as u8));
    assert_eq!(lab.read_frame()[0], 0);
}

#[test]
fn a_reset_needs_625_ns_and_clears_the_registers() {
    let mut lab = Lab::new();
    let mut reset = Reset::new(&lab.chip);
    lab.write(PHY_CC_CCA, 0x2f);
    lab.pass(30);
    for (pulse_us, channel) in [(0, 0x2f), (1, 0x2b)] {
        reset.set_low().expect("the pin works");
        lab.pass(pulse_us);
        reset.set_high().expect("the pin works");
        assert_eq!(lab.chip.borrow_mut().misuse().is_some(), pulse_us == 0);
        lab.pass(40);
        assert_eq!(lab.read(PHY_CC_CCA), channel);
    }
    assert_eq!(lab.status(), 0x08);
}

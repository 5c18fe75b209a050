//! Chips as nodes: the driver of a chip in its register-level model, in the medium of the simulator
//! (decision 55).

use kinglet_at86rf233::At86rf233;
use kinglet_chips::{
    Antenna as ChipAntenna, Bus, Chip as ChipAt86rf233, Heard as ChipHeard, Hooks, Interrupt,
    Reset, SharedSoc, SleepTransmit, Soc, Unit,
};
use kinglet_nrf52840::{Buffer, Hardware, Nrf52840};
use kinglet_radio::{
    Busy, Capabilities, Channel, Command, Driver, Event, FCS_LEN, Filter, MAX_FRAME,
};
use kinglet_scenario as scenario;
use kinglet_sim::chip::{Antenna, Chip, Heard, MakeChip};
use kinglet_sim::profile::{self, Currents, RadioProfile};
use kinglet_time::Instant;

/// Profile of an nRF52840 with its driver: the capabilities that the driver declares, and a channel
/// assessment by energy with the driver's threshold.
const NRF52840: RadioProfile = RadioProfile {
    name: "nrf52840-chip",
    abilities: &[
        Capabilities::AUTO_ACK,
        Capabilities::ACK_WAIT,
        Capabilities::SCHEDULED,
        Capabilities::SOURCE_MATCH,
    ],
    searches_after_filter: false,
    // The crystal oscillator alone. The sheet's figure was not available: users report about 0.5 mA
    // with it and nothing else.
    currents: Currents { idle_ua: 500, ..profile::NRF52840.currents },
    ..profile::NRF52840
};

/// The same for an AT86RF233.
const AT86RF233: RadioProfile = RadioProfile {
    name: "at86rf233-chip",
    abilities: &[Capabilities::AUTO_ACK, Capabilities::ACK_WAIT, Capabilities::CSMA],
    ..profile::AT86RF233
};

/// Rate of its bus in MHz, as in [`profile::AT86RF233`].
const BUS_MHZ: u8 = 8;

/// Start of the modelled RAM, in which a buffer takes 128 octets.
const RAM: u32 = 0x2000_0000;
const BUFFER: u32 = 128;

/// Registers and RAM of the model.
struct Model(SharedSoc);

impl Hardware for Model {
    fn read(&mut self, address: u32) -> u32 {
        self.0.borrow_mut().read(address)
    }

    fn write(&mut self, address: u32, value: u32) {
        self.0.borrow_mut().write(address, value);
    }

    fn address(&self, buffer: Buffer) -> u32 {
        RAM + BUFFER * buffer as u32
    }

    fn load(&mut self, buffer: Buffer, psdu_len: u8, octets: &[u8]) {
        let address = self.address(buffer);
        let mut chip = self.0.borrow_mut();
        chip.write_ram(address, &[psdu_len]);
        chip.write_ram(address + 1, octets);
    }

    fn psdu_len(&mut self, buffer: Buffer) -> u8 {
        let mut len = [0];
        self.0.borrow().read_ram(self.address(buffer), &mut len);
        len[0] & 0x7f
    }

    fn unload(&mut self, buffer: Buffer, from: usize, octets: &mut [u8]) {
        let address = self.address(buffer) + 1 + from as u32;
        self.0.borrow().read_ram(address, octets);
    }
}

/// A chip with its driver.
struct Node<D>(Unit<D>);

/// Powers an nRF52840 on. All parts are equal.
fn nrf52840(_seed: u32) -> Box<dyn Chip> {
    type Radio = Nrf52840<Model>;
    let chip = Soc::new();
    let hooks = Hooks { handle_interrupt: Radio::handle_interrupt, deadline: Radio::deadline };
    Box::new(Node(Unit::with_soc(chip.clone(), Nrf52840::new(Model(chip)), hooks)))
}

/// Powers an AT86RF233 on; its settling times and backoffs follow from the seed.
fn at86rf233(seed: u32) -> Box<dyn Chip> {
    type Radio = At86rf233<Bus, Reset, SleepTransmit, Interrupt>;
    let chip = ChipAt86rf233::new(seed.into(), BUS_MHZ);
    let (reset, slp_tr) = (Reset::new(&chip), SleepTransmit::new(&chip));
    let driver = At86rf233::new(Bus::new(&chip), reset, slp_tr, Interrupt::new(&chip), seed);
    let hooks = Hooks { handle_interrupt: Radio::handle_interrupt, deadline: Radio::deadline };
    Box::new(Node(Unit::new(chip, driver, hooks)))
}

/// Returns the profile and the maker of the chip with this radio profile; `None` without a model.
pub(crate) fn of(profile: scenario::RadioProfile) -> Option<(RadioProfile, MakeChip)> {
    match profile {
        scenario::RadioProfile::Nrf52840 => Some((NRF52840, nrf52840)),
        scenario::RadioProfile::At86rf233 => Some((AT86RF233, at86rf233)),
        _ => None,
    }
}

impl<D: Driver> Chip for Node<D> {
    fn set_filter(&mut self, filter: Filter) {
        self.0.set_filter(filter);
    }

    fn submit(&mut self, now: Instant, command: Command, frame: &[u8]) -> Result<(), Busy> {
        self.0.submit(now, command, frame)
    }

    fn next_at(&self) -> Option<Instant> {
        self.0.next_at()
    }

    /// # Panics
    /// If the driver does what the data sheet of the chip forbids.
    fn advance(&mut self, now: Instant) {
        self.0.advance(now);
        if let Some(misuse) = self.0.misuse() {
            panic!("at {} us a driver does what its chip forbids: {misuse}", now.as_micros());
        }
    }

    fn poll_event(&mut self, now: Instant, frame: &mut [u8; MAX_FRAME]) -> Option<Event> {
        self.0.poll_event(now, frame)
    }

    fn antenna(&self) -> Antenna {
        let (antenna, channel) = self.0.antenna();
        let channel = Channel::new(channel).unwrap_or_default();
        match antenna {
            ChipAntenna::Off => Antenna::Off,
            ChipAntenna::Idle => Antenna::Idle,
            ChipAntenna::Ramp { sends } => Antenna::Ramp { sends },
            ChipAntenna::Listening { .. } => Antenna::Listening(channel),
            ChipAntenna::Receiving => Antenna::Receiving,
            ChipAntenna::Assessing { from } => {
                Antenna::Assessing { channel, from: Instant::from_micros(from) }
            }
            ChipAntenna::Sending { psdu: mut frame, power_dbm, .. } => {
                frame.truncate(frame.len().saturating_sub(FCS_LEN));
                Antenna::Sending { channel, power_dbm, frame }
            }
        }
    }

    fn hear(&mut self, heard: Heard<'_>) {
        let Heard { begin, channel, frame, rssi_dbm } = heard;
        self.0.hear(ChipHeard { begin, channel: channel.number(), frame, rssi_dbm });
    }

    fn lose(&mut self, begin: Instant) {
        self.0.lose(begin);
    }

    fn assess(&mut self, busy: bool) {
        self.0.set_busy(busy);
    }
}

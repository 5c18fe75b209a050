//! The driver in the conformance kit, on a chip that follows its product specification.

use kinglet_chips::{Board, Hooks, SharedSoc, Soc};
use kinglet_drivers::{Check, Setup};
use kinglet_nrf52840::{Buffer, Hardware, Nrf52840, POWER_STEPS_DBM};

/// The registers and the RAM of the model.
struct Model(SharedSoc);

impl Hardware for Model {
    fn read(&mut self, address: u32) -> u32 {
        self.0.borrow_mut().read(address)
    }

    fn write(&mut self, address: u32, value: u32) {
        self.0.borrow_mut().write(address, value);
    }

    fn address(&self, buffer: Buffer) -> u32 {
        0x2000_0000 + 128 * buffer as u32
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

type Radio = Nrf52840<Model>;
const SETUP: Setup = Setup::of_chip(POWER_STEPS_DBM);

fn board() -> Board<Radio> {
    let chip = Soc::new();
    let hooks = Hooks { handle_interrupt: Radio::handle_interrupt, deadline: Radio::deadline };
    Board::with_soc(chip.clone(), Nrf52840::new(Model(chip)), hooks)
}

#[test]
fn random_scenarios_break_no_rule() {
    let failed: Vec<String> = (0..1_000)
        .filter_map(|seed| {
            let result = kinglet_drivers::scenario(&mut board(), SETUP, seed);
            result.err().map(|violation| format!("seed {seed}: {violation}"))
        })
        .collect();
    assert!(failed.is_empty(), "{} of 1000:\n{}", failed.len(), failed.join("\n"));
}

#[test]
fn directed_scenarios_break_no_rule() {
    let failed: Vec<String> = Check::ALL
        .into_iter()
        .filter_map(|check| {
            let result = check.run(&mut board(), SETUP);
            result.err().map(|violation| format!("{check}: {violation}"))
        })
        .collect();
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

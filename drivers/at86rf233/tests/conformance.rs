//! The driver in the conformance kit, on a chip that follows its data sheet.

use kinglet_at86rf233::{At86rf233, POWER_STEPS_DBM};
use kinglet_chips::{Board, Bus, Chip, Hooks, Interrupt, Reset, SleepTransmit};
use kinglet_drivers::{Check, Setup};

type Radio = At86rf233<Bus, Reset, SleepTransmit, Interrupt>;
const SETUP: Setup = Setup { reads_secured: false, ..Setup::of_chip(POWER_STEPS_DBM) };

fn board(seed: u64) -> Board<Radio> {
    let chip = Chip::new(seed, if seed.is_multiple_of(2) { 8 } else { 2 });
    let (reset, slp_tr, irq) =
        (Reset::new(&chip), SleepTransmit::new(&chip), Interrupt::new(&chip));
    let driver = At86rf233::new(Bus::new(&chip), reset, slp_tr, irq, seed as u32);
    let hooks = Hooks { handle_interrupt: Radio::handle_interrupt, deadline: Radio::deadline };
    Board::new(chip, driver, hooks)
}

#[test]
fn random_scenarios_break_no_rule() {
    let failed: Vec<String> = (0..1_000)
        .filter_map(|seed| {
            let result = kinglet_drivers::scenario(&mut board(seed), SETUP, seed);
            result.err().map(|violation| format!("seed {seed}: {violation}"))
        })
        .collect();
    assert!(failed.is_empty(), "{} of 1000:\n{}", failed.len(), failed.join("\n"));
}

#[test]
fn directed_scenarios_break_no_rule() {
    for check in Check::ALL {
        for seed in 0..8 {
            if let Err(violation) = check.run(&mut board(seed), SETUP) {
                panic!("{check}, chip {seed}: {violation}");
            }
        }
    }
}

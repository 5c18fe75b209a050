//! Instructions by the clock of QEMU, where an instruction takes a nanosecond (`-icount shift=0`).

use crate::console::{self, Piece::Number, Piece::Text};
use cortex_m::peripheral::syst::SystClkSource;

/// The emulated clock runs at 25 MHz.
const INSTRUCTIONS_PER_TICK: u32 = 40;

/// Starts the clock, which counts down and has 24 bits: 671 million instructions.
///
/// # Errors
/// The peripherals were taken before.
pub fn start_clock() -> Result<(), &'static str> {
    let peripherals = cortex_m::Peripherals::take().ok_or("no peripherals")?;
    let mut clock = peripherals.SYST;
    clock.set_clock_source(SystClkSource::Core);
    clock.set_reload(0xFF_FFFF);
    clock.clear_current();
    clock.enable_counter();
    Ok(())
}

/// Instructions in `ticks` for each of `count`; zero if `count` is zero.
pub const fn per(ticks: u32, count: u32) -> u32 {
    match (ticks * INSTRUCTIONS_PER_TICK).checked_div(count) {
        Some(instructions) => instructions,
        None => 0,
    }
}

/// Prints a count.
pub fn report_count(name: &str, count: u32) {
    console::line(&[Text("instructions "), Text(name), Text(" "), Number(count)]);
}

//! The drivers of `drivers/` with all of their calls, so that `tools/size-table` shows the flash
//! and RAM that they take. QEMU has none of these chips: the image is linked, and not run.

#![no_std]
#![no_main]

use core::convert::Infallible;
use core::hint::black_box;
use cortex_m::singleton;
use cortex_m_rt::entry;
use embedded_hal::digital::{ErrorType as PinErrorType, InputPin, OutputPin};
use embedded_hal::spi::{ErrorType, Operation, SpiDevice};
use kinglet::radio::{Command, Driver, Filter, MAX_FRAME};
use kinglet::time::Instant;
use kinglet_at86rf233::At86rf233;
use kinglet_firmware::console;
use kinglet_nrf52840::{Buffers, Mmio, Nrf52840};

/// A pin or a bus of an unknown board.
struct Line;

impl PinErrorType for Line {
    type Error = Infallible;
}

impl OutputPin for Line {
    fn set_low(&mut self) -> Result<(), Infallible> {
        self.set(false)
    }

    fn set_high(&mut self) -> Result<(), Infallible> {
        self.set(true)
    }
}

impl InputPin for Line {
    fn is_high(&mut self) -> Result<bool, Infallible> {
        Ok(black_box(true))
    }

    fn is_low(&mut self) -> Result<bool, Infallible> {
        Ok(black_box(false))
    }
}

impl Line {
    #[inline(never)]
    fn set(&mut self, level: bool) -> Result<(), Infallible> {
        black_box(level);
        Ok(())
    }
}

impl ErrorType for Line {
    type Error = embedded_hal::spi::ErrorKind;
}

impl SpiDevice for Line {
    #[inline(never)]
    fn transaction(&mut self, operations: &mut [Operation<'_, u8>]) -> Result<(), Self::Error> {
        for operation in operations {
            match operation {
                Operation::Write(octets) => drop(black_box(octets)),
                Operation::Read(room) => room.fill(black_box(0)),
                _ => {}
            }
        }
        black_box(Ok(()))
    }
}

#[entry]
fn main() -> ! {
    let spi = singleton!(: At86rf233<Line, Line, Line, Line> =
        At86rf233::new(Line, Line, Line, Line, 7));
    let memory = singleton!(: Buffers = [0; core::mem::size_of::<Buffers>()]);
    let (Some(spi), Some(memory)) = (spi, memory) else { console::end(Err("memory")) };
    // SAFETY: the image is not run. On an nRF52840 nothing else would use these peripherals.
    let hardware = unsafe { Mmio::new(memory) };
    let soc = singleton!(: Option<Nrf52840<Mmio>> = None);
    let Some(soc) = soc else { console::end(Err("memory")) };
    let soc = soc.insert(Nrf52840::new(hardware));
    loop {
        use_all(spi, At86rf233::handle_interrupt, At86rf233::deadline);
        use_all(soc, Nrf52840::handle_interrupt, Nrf52840::deadline);
    }
}

#[inline(never)]
fn use_all<D: Driver>(
    driver: &mut D,
    interrupt: fn(&mut D, Instant),
    deadline: fn(&D) -> Option<Instant>,
) {
    let mut frame = [0; MAX_FRAME];
    let now = black_box(Instant::ZERO);
    driver.set_filter(black_box(Filter { pan_id: 1, short: 2, extended: [3; 8] }));
    black_box(driver.submit(now, black_box(Command::Off), black_box(&[]))).ok();
    interrupt(driver, now);
    black_box(driver.poll_event(now, &mut frame));
    black_box((deadline(driver), frame));
}

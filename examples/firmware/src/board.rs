//! Arm's MPS2 board as emulated by QEMU (`mps2-an385`, `mps2-an386`): a clock, an alarm, a serial
//! line.
//!
//! Addresses and registers: Arm application note DAI0385, 3.6 and 4; Cortex-M System Design Kit
//! technical reference manual (DDI 0479), 4.3 timer and 4.5 UART.

use cortex_m::peripheral::syst::SystClkSource;
use cortex_m::peripheral::{NVIC, SCB, SYST};
use kinglet::time::{Duration, Instant};

/// The system clock in ticks per microsecond.
const TICKS_PER_US: u32 = 25;
/// The longest alarm, in ticks of the 1 MHz reference clock: SysTick has 24 bits.
const LONGEST_ALARM_US: u64 = 0xFF_FFFF;

/// A register of a peripheral.
#[derive(Clone, Copy)]
struct Register(usize);

impl Register {
    fn read(self) -> u32 {
        // SAFETY: only the constants below are addresses, and each is that of an aligned 32-bit
        // register that may be read at any time.
        unsafe { (self.0 as *const u32).read_volatile() }
    }

    fn write(self, value: u32) {
        // SAFETY: as above; writing affects nothing but the peripheral.
        unsafe { (self.0 as *mut u32).write_volatile(value) }
    }
}

const TIMER0: usize = 0x4000_0000;
const TIMER0_CTRL: Register = Register(TIMER0);
const TIMER0_VALUE: Register = Register(TIMER0 + 4);
const TIMER0_RELOAD: Register = Register(TIMER0 + 8);

const UART0: usize = 0x4000_4000;
const UART0_DATA: Register = Register(UART0);
const UART0_STATE: Register = Register(UART0 + 4);
const UART0_CTRL: Register = Register(UART0 + 8);
const UART0_CLEAR: Register = Register(UART0 + 12);
const UART0_DIVIDER: Register = Register(UART0 + 16);

const TX_FULL: u32 = 1;
const RX_FULL: u32 = 2;
const TX_ENABLE: u32 = 1;
const RX_ENABLE: u32 = 2;
const RX_INTERRUPT: u32 = 8;
const CLEAR_RX: u32 = 2;

/// The interrupt of received octets.
#[derive(Clone, Copy)]
struct Uart0Receive;

// SAFETY: the number is that of the board and never changes.
unsafe impl cortex_m::interrupt::InterruptNumber for Uart0Receive {
    fn number(self) -> u16 {
        0
    }
}

/// The peripherals that the images use.
pub struct Board {
    systick: SYST,
    now_us: u64,
    /// Timer value at the last update of `now_us`.
    counted: u32,
}

impl Board {
    /// Starts the clock and the serial line. Interrupts stay masked: they only end a sleep.
    pub fn new(systick: SYST) -> (Self, Line) {
        cortex_m::interrupt::disable();
        TIMER0_RELOAD.write(u32::MAX);
        TIMER0_CTRL.write(1);
        // 16 is the minimum; QEMU does not emulate a baud rate.
        UART0_DIVIDER.write(16);
        UART0_CTRL.write(TX_ENABLE | RX_ENABLE | RX_INTERRUPT);
        // SAFETY: no handler runs, because interrupts are masked.
        unsafe { NVIC::unmask(Uart0Receive) };
        (Board { systick, now_us: 0, counted: TIMER0_VALUE.read() }, Line)
    }

    /// Time since the start. It must be called at least every 171 s, the timer's period.
    pub fn now(&mut self) -> Instant {
        // It counts down.
        let elapsed = self.counted.wrapping_sub(TIMER0_VALUE.read());
        let micros = elapsed / TICKS_PER_US;
        self.counted = self.counted.wrapping_sub(micros * TICKS_PER_US);
        self.now_us += u64::from(micros);
        Instant::from_micros(self.now_us)
    }

    /// Sleeps until an octet waits, but at most for `span` or 16 s.
    pub fn sleep(&mut self, span: Duration) {
        let micros = span.as_micros().min(LONGEST_ALARM_US) as u32;
        if micros > 0 {
            self.systick.set_clock_source(SystClkSource::External);
            self.systick.set_reload(micros);
            self.systick.clear_current();
            self.systick.enable_interrupt();
            self.systick.enable_counter();
            // A pending interrupt ends this although interrupts are masked.
            cortex_m::asm::wfi();
            self.systick.disable_counter();
            SCB::clear_pendst();
        }
        UART0_CLEAR.write(CLEAR_RX);
        NVIC::unpend(Uart0Receive);
    }
}

/// The serial line.
pub struct Line;

impl Line {
    /// Returns whether an octet waits.
    pub fn has_octet(&self) -> bool {
        UART0_STATE.read() & RX_FULL != 0
    }

    /// An octet from the serial line, if one waits.
    pub fn read(&mut self) -> Option<u8> {
        self.has_octet().then(|| UART0_DATA.read() as u8)
    }

    /// Sends an octet on the serial line, when it has room.
    pub fn write(&mut self, octet: u8) {
        while UART0_STATE.read() & TX_FULL != 0 {}
        UART0_DATA.write(u32::from(octet));
    }
}

/// Measures the depth of the stack.
pub struct Stack {
    top: usize,
}

impl Stack {
    const PAINT: u32 = 0xA5C3_3C5A;
    /// Octets below the caller that are painted.
    const PAINTED: usize = 16 * 1024;

    /// Paints the unused stack.
    #[inline(never)]
    pub fn paint() -> Self {
        // The stack frame of this function itself is not painted.
        let top = (cortex_m::register::msp::read() as usize - 64) & !3;
        for place in (top - Self::PAINTED..top).step_by(4) {
            // SAFETY: below the stack pointer there are megabytes of unused RAM, and no interrupt
            // is enabled.
            unsafe { (place as *mut u32).write_volatile(Self::PAINT) };
        }
        Stack { top }
    }

    /// Octets of the stack used since, including 64 octets of the caller's.
    pub fn depth(&self) -> u32 {
        // SAFETY: as above.
        let painted =
            |place: &usize| unsafe { (*place as *const u32).read_volatile() == Self::PAINT };
        let places = (self.top - Self::PAINTED..self.top).step_by(4);
        let unused = places.take_while(painted).count() * 4;
        (Self::PAINTED - unused + 64) as u32
    }
}

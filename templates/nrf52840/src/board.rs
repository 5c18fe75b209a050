//! The nRF52840: radio, identity and frame counters in flash, random numbers, temperature.
//!
//! | flash | content |
//! |---|---|
//! | below 0xf1000 | the program (`memory.x`) |
//! | 0xf1000 to 0xf3000 | the bound on the frame counters, which this file writes |
//! | page 0xf3000 | the identity, which `kinglet commission` writes |

use core::cell::RefCell;
use core::future::poll_fn;
use core::net::Ipv6Addr;
use core::ops::Range;
use core::task::Poll;
use critical_section::Mutex;
use embassy_embedded_hal::adapter::BlockingAsync;
use embassy_executor::{Spawner, task};
use embassy_nrf::interrupt::{InterruptExt, Priority};
use embassy_nrf::nvmc::Nvmc;
use embassy_nrf::rng::Rng;
use embassy_nrf::temp::{self, Temp};
use embassy_nrf::{bind_interrupts, config::Config as Chip, interrupt};
use embassy_sync::waitqueue::AtomicWaker;
use embassy_time::Timer;
use embedded_storage::nor_flash::ReadNorFlash;
use kinglet::mac::{CcmStar, PeerCounter, Polled, Tabled};
use kinglet::mesh::{MeshConfig, Role};
use kinglet::radio::{Busy, Capabilities, Command, Driver, Event, Filter, MAX_FRAME};
use kinglet::time::{Duration, Instant};
use kinglet::{Meshed, Node, Polling};
use kinglet_embassy::{Radio, Resources, Runner, Stack};
use kinglet_identity::{Counters, Identity, LEN};
use kinglet_nrf52840::{Buffers, Mmio, Nrf52840};
use static_cell::{ConstStaticCell, StaticCell};
use {defmt_rtt as _, panic_probe as _};

/// Page of the identity, and pages of the frame counters.
const IDENTITY: u32 = 0xf_3000;
const COUNTERS: Range<u32> = 0xf_1000..0xf_3000;
/// Interval of data requests while nothing is expected: the longest that a packet for this node
/// waits at its parent. Longer intervals save energy.
const POLL: Duration = Duration::from_secs(30);

kinglet::profile! {
    /// A leaf of a mesh that sleeps, with link security; its addresses come from the mesh.
    pub struct Leaf {
        routing: Meshed<Self>,
        listening: Polled,
        security: CcmStar<Tabled, [PeerCounter; 4]>,
        network_data: 76,
        contexts: 4,
        addresses: 1,
        pending_requests: 1,
        send_buffer: 1024,
        receive_buffer: 512,
        applications: 1,
    }
}

bind_interrupts!(struct Irqs {
    TEMP => temp::InterruptHandler;
});

/// The thermometer of the chip.
pub struct Thermometer(Temp<'static>);

impl Thermometer {
    /// Returns the temperature in degrees Celsius, in quarters.
    pub async fn read(&mut self) -> f32 {
        self.0.read().await.to_num()
    }
}

/// Starts the tasks of the stack and of the frame counters. Without an identity in flash it waits
/// for ever, and says so.
pub async fn start(spawner: Spawner) -> (Stack<'static, Leaf>, Thermometer) {
    let chip = embassy_nrf::init(Chip::default());
    let mut flash = Nvmc::new(chip.NVMC);
    let mut page = [0; LEN];
    let read = flash.read(IDENTITY, &mut page);
    let identity = match (read, Identity::read(&page)) {
        (Ok(()), Ok(identity)) => identity,
        (_, error) => loop {
            let error = defmt::Debug2Format(&error);
            defmt::error!("no identity in the page {=u32:#x}: {}", IDENTITY, error);
            Timer::after_secs(10).await;
        },
    };
    let mut counters = Counters::new(BlockingAsync::new(flash), COUNTERS).expect("two pages");
    let first = counters.first().await.expect("counters that can be read");
    let mut random = Rng::new_blocking(chip.RNG);
    let node = node(&identity, |octets| random.blocking_fill_bytes(octets), first);
    // Before the radio sends anything.
    keep(&mut counters, node.poll_counter_bound(now())).await;
    static RESOURCES: StaticCell<Resources<'static, Leaf, 4>> = StaticCell::new();
    let (stack, runner) = RESOURCES.init(Resources::new(node)).split();
    spawner.spawn(run(runner).expect("once"));
    spawner.spawn(watch(stack, counters).expect("once"));
    (stack, Thermometer(Temp::new(chip.TEMP, Irqs)))
}

fn node(
    identity: &Identity,
    draw: impl FnMut(&mut [u8]),
    first_counter: u32,
) -> &'static mut Node<Leaf> {
    static NODE: StaticCell<Node<Leaf>> = StaticCell::new();
    static BUFFERS: ConstStaticCell<Buffers> = ConstStaticCell::new([0; size_of::<Buffers>()]);
    // SAFETY: this is an nRF52840, and nothing else uses RADIO, TIMER0, the oscillator and these
    // channels of the PPI: `embassy-nrf` leaves them to the program.
    let radio = Nrf52840::new(unsafe { Mmio::new(BUFFERS.take()) });
    critical_section::with(|section| RADIO.replace(section, Some(radio)));
    // An acknowledgement is due 129 us after a frame, so these interrupt all others.
    for interrupt in [interrupt::RADIO, interrupt::TIMER0, interrupt::CLOCK_POWER] {
        interrupt.set_priority(Priority::P0);
        // SAFETY: the handlers below are ready.
        unsafe { interrupt.enable() };
    }
    let mut config = identity.config(draw, first_counter);
    config.mac.rx_on_when_idle = false;
    config.polling = Polling::Predictive { base: POLL };
    let mesh = MeshConfig { role: Role::Leaf, ..MeshConfig::OFF };
    let mesh = Meshed::new(config.identity(), mesh, Ipv6Addr::UNSPECIFIED);
    NODE.init(Node::with_routing(config, mesh, SharedRadio.capabilities()))
}

#[task]
async fn run(runner: Runner<'static, Leaf>) {
    runner.run(&mut SharedRadio).await
}

type Kept = Counters<BlockingAsync<Nvmc<'static>>>;

/// Keeps the bound on the frame counters ahead of them.
#[task]
async fn watch(stack: Stack<'static, Leaf>, mut counters: Kept) {
    loop {
        keep(&mut counters, stack.with(|now, node| node.poll_counter_bound(now))).await;
        Timer::after_secs(5).await;
    }
}

async fn keep(counters: &mut Kept, bound: Option<u32>) {
    if let Some(bound) = bound {
        counters.keep(bound).await.expect("flash that can be written");
    }
}

fn now() -> Instant {
    Instant::from_micros(embassy_time::Instant::now().as_micros())
}

/// The radio, which belongs to the stack and to the interrupts.
static RADIO: Mutex<RefCell<Option<Nrf52840<Mmio>>>> = Mutex::new(RefCell::new(None));
/// The task that waits for the radio.
static WAITS: AtomicWaker = AtomicWaker::new();

fn with<T>(work: impl FnOnce(&mut Nrf52840<Mmio>) -> T) -> Option<T> {
    critical_section::with(|section| RADIO.borrow_ref_mut(section).as_mut().map(work))
}

fn handle_interrupt() {
    with(|radio| radio.handle_interrupt(now()));
    WAITS.wake();
}

#[interrupt]
fn RADIO() {
    handle_interrupt();
}

#[interrupt]
fn TIMER0() {
    handle_interrupt();
}

#[interrupt]
fn CLOCK_POWER() {
    handle_interrupt();
}

struct SharedRadio;

impl Driver for SharedRadio {
    fn capabilities(&self) -> Capabilities {
        with(|radio| radio.capabilities()).unwrap_or(Capabilities::NONE)
    }

    fn set_filter(&mut self, filter: Filter) {
        with(|radio| radio.set_filter(filter));
    }

    fn submit(&mut self, now: Instant, command: Command, frame: &[u8]) -> Result<(), Busy> {
        with(|radio| radio.submit(now, command, frame)).unwrap_or(Err(Busy))
    }

    fn poll_event(&mut self, now: Instant, frame: &mut [u8; MAX_FRAME]) -> Option<Event> {
        with(|radio| radio.poll_event(now, frame)).flatten()
    }
}

impl Radio for SharedRadio {
    async fn wait(&mut self) {
        let due = || with(|radio| radio.deadline()).flatten();
        let mut is_first = true;
        // Ends with an interrupt, or at once if one came before the waker was registered.
        let interrupt = poll_fn(|cx| {
            WAITS.register(cx.waker());
            let waits = core::mem::take(&mut is_first) && due().is_none_or(|due| due > now());
            if waits { Poll::Pending } else { Poll::Ready(()) }
        });
        // The driver looks for lost interrupts then.
        match due().map(|due| embassy_time::Instant::from_micros(due.as_micros())) {
            Some(due) => drop(embassy_time::with_deadline(due, interrupt).await),
            None => interrupt.await,
        }
    }
}

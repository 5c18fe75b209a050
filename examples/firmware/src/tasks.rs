//! What a board support crate gives to tasks: the clock of `embassy-time`, an executor that sleeps,
//! and the radio as an event.

use crate::board::{Board, Line};
use crate::serial_radio::SerialRadio;
use core::cell::RefCell;
use core::future::poll_fn;
use core::ptr::null_mut;
use core::sync::atomic::{AtomicBool, Ordering};
use core::task::{Poll, Waker};
use cortex_m::{Peripherals, singleton};
use critical_section::Mutex;
use embassy_executor::Spawner;
use embassy_executor::raw::Executor;
use embassy_sync::waitqueue::WakerRegistration;
use embassy_time_driver::Driver as TimeDriver;
use embassy_time_queue_utils::Queue;
use kinglet::radio::{Busy, Capabilities, Command, Driver, Event, Filter, MAX_FRAME};
use kinglet::time::{Duration, Instant};
use kinglet_embassy::Radio;

/// The entry point of an image of tasks.
///
/// `run_tasks!(PROFILE, NODE, WAITS => TASK, ...)`: the function `NODE` of [`place`](crate::place)
/// makes the node in its storage, a task runs the stack, and each `TASK` gets a handle of it.
/// `WAITS` is the number of places in `kinglet_embassy::Resources`.
#[macro_export]
macro_rules! run_tasks {
    ($profile:ident, $node:ident, $waits:literal => $($task:ident),+) => {
        #[::cortex_m_rt::entry]
        fn main() -> ! {
            $crate::console::end($crate::tasks::run(start))
        }

        fn start(
            spawner: ::embassy_executor::Spawner,
            radio: $crate::tasks::TaskRadio,
        ) -> Result<(), &'static str> {
            const TWICE: &str = "run twice";
            use ::kinglet_embassy::Resources;
            let node = ::cortex_m::singleton!(: $crate::Place<$profile> = $crate::Place::uninit());
            let capabilities = ::kinglet::radio::Driver::capabilities(&radio);
            let node = $crate::place::$node(node.ok_or(TWICE)?, capabilities)?;
            let resources = ::cortex_m::singleton!(
                : Resources<'static, $profile, $waits> = Resources::new(node)
            );
            let (stack, runner) = resources.ok_or(TWICE)?.split();
            spawner.spawn(run(runner, radio).map_err(|_| TWICE)?);
            $(spawner.spawn($task(stack).map_err(|_| TWICE)?);)+
            Ok(())
        }

        #[::embassy_executor::task]
        async fn run(
            runner: ::kinglet_embassy::Runner<'static, $profile>,
            mut radio: $crate::tasks::TaskRadio,
        ) {
            runner.run(&mut radio).await
        }
    };
}

/// The board, and the alarms of tasks.
struct Alarms {
    /// `None` in virtual time.
    board: Option<Board>,
    virtual_us: u64,
    queue: Queue,
    /// The task that waits for the serial line.
    line: WakerRegistration,
}

impl Alarms {
    /// The time in microseconds.
    fn now(&mut self) -> u64 {
        self.board.as_mut().map_or(self.virtual_us, |board| board.now().as_micros())
    }
}

struct BoardTime(Mutex<RefCell<Alarms>>);

impl BoardTime {
    fn with<T>(&self, f: impl FnOnce(&mut Alarms) -> T) -> T {
        critical_section::with(|section| f(&mut self.0.borrow_ref_mut(section)))
    }
}

impl TimeDriver for BoardTime {
    fn now(&self) -> u64 {
        self.with(Alarms::now)
    }

    fn schedule_wake(&self, at: u64, waker: &Waker) {
        self.with(|alarms| alarms.queue.schedule_wake(at, waker));
    }
}

embassy_time_driver::time_driver_impl!(static TIME: BoardTime =
BoardTime(Mutex::new(RefCell::new(Alarms {
    board: None,
    virtual_us: 0,
    queue: Queue::new(),
    line: WakerRegistration::new(),
}))));

/// True if a task was woken since the executor last looked.
static WOKEN: AtomicBool = AtomicBool::new(false);

// SAFETY: this is the only definition of the symbol that the executor calls.
#[unsafe(export_name = "__pender")]
fn pend(_: *mut ()) {
    WOKEN.store(true, Ordering::Relaxed);
}

/// The radio at the other end of the serial line.
pub struct TaskRadio(SerialRadio);

impl Driver for TaskRadio {
    fn capabilities(&self) -> Capabilities {
        self.0.capabilities()
    }

    fn set_filter(&mut self, filter: Filter) {
        self.0.set_filter(filter);
    }

    fn submit(&mut self, now: Instant, command: Command, frame: &[u8]) -> Result<(), Busy> {
        self.0.submit(now, command, frame)
    }

    fn poll_event(&mut self, now: Instant, frame: &mut [u8; MAX_FRAME]) -> Option<Event> {
        self.0.poll_event(now, frame)
    }
}

impl Radio for TaskRadio {
    async fn wait(&mut self) {
        poll_fn(|cx| {
            if self.0.line.has_octet() {
                return Poll::Ready(());
            }
            TIME.with(|alarms| alarms.line.register(cx.waker()));
            Poll::Pending
        })
        .await;
    }
}

/// Sets virtual time, of an image without a clock, and wakes the tasks that are due.
pub fn set_time(now: Instant) {
    TIME.with(|alarms| {
        alarms.virtual_us = now.as_micros();
        alarms.queue.next_expiration(alarms.virtual_us);
    });
}

/// Polls the tasks that were woken until all wait.
pub fn poll(executor: &'static Executor) {
    while {
        WOKEN.store(false, Ordering::Relaxed);
        // SAFETY: tasks do not have the executor, so that no task calls this.
        unsafe { executor.poll() };
        WOKEN.load(Ordering::Relaxed)
    } {}
}

/// Runs the tasks that `start` spawns. Returns if that is not possible.
///
/// # Errors
/// Why the tasks could not be started.
pub fn run(
    start: impl FnOnce(Spawner, TaskRadio) -> Result<(), &'static str>,
) -> Result<(), &'static str> {
    let peripherals = Peripherals::take().ok_or("no peripherals")?;
    let (board, line) = Board::new(peripherals.SYST);
    TIME.with(|alarms| alarms.board = Some(board));
    let executor = singleton!(: Executor = Executor::new(null_mut())).ok_or("run twice")?;
    let executor = &*executor;
    start(executor.spawner(), TaskRadio(SerialRadio::new(line)))?;
    loop {
        poll(executor);
        TIME.with(|alarms| {
            let now = alarms.now();
            let next = alarms.queue.next_expiration(now);
            // A task may have been woken by its alarm.
            if let Some(board) = &mut alarms.board
                && !WOKEN.load(Ordering::Relaxed)
            {
                board.sleep(Duration::from_micros(next.saturating_sub(now)));
            }
            if Line.has_octet() {
                alarms.line.wake();
            }
        });
    }
}

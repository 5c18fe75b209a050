//! An executor for the tasks of a simulated node, in the simulator's time.
//!
//! It does what that of a microcontroller does: it polls the tasks that were woken, and a task has
//! one alarm. Each node has its own clock, which may drift.

use embassy_time_driver::Driver as TimeDriver;
use kinglet::radio::{Busy, Capabilities, Command, Driver, Event, Filter, MAX_FRAME};
use kinglet_embassy::Radio;
use kinglet_sim::Device;
use kinglet_time::Instant;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};

/// Polls of all tasks at one instant after which they count as stuck.
const POLLS_AT_ONCE: u32 = 10_000;

/// Clock and alarms of the node whose tasks run.
#[derive(Default)]
struct Clock {
    now: u64,
    alarms: Vec<(u64, Waker)>,
}

thread_local! {
    static CLOCK: RefCell<Clock> = RefCell::default();
}

struct SimulatedTime;

impl TimeDriver for SimulatedTime {
    fn now(&self) -> u64 {
        CLOCK.with_borrow(|clock| clock.now)
    }

    /// As in `embassy-executor`, a task has one alarm, the earliest.
    fn schedule_wake(&self, at: u64, waker: &Waker) {
        CLOCK.with_borrow_mut(|clock| {
            match clock.alarms.iter_mut().find(|(_, it)| it.will_wake(waker)) {
                Some((earliest, _)) => *earliest = at.min(*earliest),
                None => clock.alarms.push((at, waker.clone())),
            }
        });
    }
}

embassy_time_driver::time_driver_impl!(static TIME: SimulatedTime = SimulatedTime);

/// What the simulated radio and the driver of the runner exchange.
#[derive(Default)]
struct Line {
    events: VecDeque<(Event, Vec<u8>)>,
    commands: VecDeque<(Command, Vec<u8>)>,
    waker: Option<Waker>,
}

/// The driver of a simulated radio.
pub(super) struct SimulatedRadio {
    line: Rc<RefCell<Line>>,
    capabilities: Capabilities,
}

impl Driver for SimulatedRadio {
    fn capabilities(&self) -> Capabilities {
        self.capabilities
    }

    fn set_filter(&mut self, _: Filter) {}

    fn submit(&mut self, _: Instant, command: Command, frame: &[u8]) -> Result<(), Busy> {
        self.line.borrow_mut().commands.push_back((command, frame.to_vec()));
        Ok(())
    }

    fn poll_event(&mut self, _: Instant, frame: &mut [u8; MAX_FRAME]) -> Option<Event> {
        let (event, octets) = self.line.borrow_mut().events.pop_front()?;
        frame[..octets.len()].copy_from_slice(&octets);
        Some(event)
    }
}

impl Radio for SimulatedRadio {
    async fn wait(&mut self) {
        poll_fn(|cx| {
            let mut line = self.line.borrow_mut();
            if !line.events.is_empty() {
                return Poll::Ready(());
            }
            line.waker = Some(cx.waker().clone());
            Poll::Pending
        })
        .await
    }
}

/// Set when a task is woken.
struct Woken(AtomicBool);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}

struct Task {
    /// `None` after its end.
    future: Option<Pin<Box<dyn Future<Output = ()>>>>,
    woken: Arc<Woken>,
}

/// The software of a node: its tasks.
pub(super) struct Tasks {
    tasks: Vec<Task>,
    line: Rc<RefCell<Line>>,
    alarms: Vec<(u64, Waker)>,
    /// The last frame that was sent.
    sent: Vec<u8>,
    /// Polls so far.
    pub(super) polls: u64,
}

impl Tasks {
    /// Returns software without tasks, and the driver of its radio.
    pub(super) fn new(capabilities: Capabilities) -> (Tasks, SimulatedRadio) {
        let line = Rc::new(RefCell::new(Line::default()));
        let radio = SimulatedRadio { line: Rc::clone(&line), capabilities };
        (Tasks { tasks: vec![], line, alarms: vec![], sent: vec![], polls: 0 }, radio)
    }

    pub(super) fn spawn(&mut self, future: impl Future<Output = ()> + 'static) {
        let woken = Arc::new(Woken(AtomicBool::new(true)));
        self.tasks.push(Task { future: Some(Box::pin(future)), woken });
    }

    /// Polls the tasks that were woken until all wait.
    fn run(&mut self, now: Instant) {
        let now = now.as_micros();
        let mut alarms = std::mem::take(&mut self.alarms);
        alarms.retain(|(at, waker)| {
            *at > now || {
                waker.wake_by_ref();
                false
            }
        });
        CLOCK.set(Clock { now, alarms });
        let mut polls = 0;
        while let Some(task) =
            self.tasks.iter_mut().find(|it| it.woken.0.swap(false, Ordering::Relaxed))
        {
            polls += 1;
            assert!(polls < POLLS_AT_ONCE, "the tasks wake each other for ever");
            let waker = Waker::from(Arc::clone(&task.woken));
            if let Some(future) = &mut task.future
                && future.as_mut().poll(&mut Context::from_waker(&waker)).is_ready()
            {
                task.future = None;
            }
        }
        self.polls += u64::from(polls);
        self.alarms = CLOCK.take().alarms;
    }
}

impl Device for Tasks {
    fn handle_radio(&mut self, _: Instant, event: Event, frame: &[u8]) {
        let mut line = self.line.borrow_mut();
        line.events.push_back((event, frame.to_vec()));
        line.waker.take().into_iter().for_each(Waker::wake);
    }

    fn poll_radio(&mut self, now: Instant) -> Option<(Command, &[u8])> {
        self.run(now);
        let (command, frame) = self.line.borrow_mut().commands.pop_front()?;
        self.sent = frame;
        Some((command, &self.sent))
    }

    fn deadline(&self) -> Option<Instant> {
        self.alarms.iter().map(|(at, _)| Instant::from_micros(*at)).min()
    }

    fn handle_deadline(&mut self, now: Instant) {
        self.run(now);
    }
}

//! Cost of the segments of `measure` on a node that a runner drives, next to one in a loop. Driver,
//! application and peer are the same: the driver copies frames, and the application reads what has
//! arrived.

#![no_std]
#![no_main]

#[path = "measure/station.rs"]
mod station;
#[path = "measure/transfer.rs"]
mod transfer;

use core::cell::RefCell;
use core::future::poll_fn;
use core::ptr::null_mut;
use core::sync::atomic::{AtomicU32, Ordering};
use core::task::Poll;
use cortex_m::peripheral::SYST;
use cortex_m::singleton;
use cortex_m_rt::entry;
use critical_section::Mutex;
use embassy_executor::raw::Executor;
use embassy_executor::task;
use embassy_sync::waitqueue::WakerRegistration;
use kinglet::Node;
use kinglet::radio::{Ack, Busy, Capabilities, Command, Driver, Event, Filter, MAX_FRAME};
use kinglet::tcp::ListenConfig;
use kinglet::time::{Duration, Instant};
use kinglet_embassy::{Radio, Resources, Runner, Stack, TcpListener};
use kinglet_firmware::app::{self, RECEIVER, RECEIVER_ADDRESS, SENDER};
use kinglet_firmware::{Place, console, tasks};
use station::{Frame, PASSED, Station, ticks_since, with};
use transfer::{CLEAR, Ends, PORT, SEGMENTS, WARM_UP, per, report_count, start_clock, transfer};

kinglet_firmware::echo_profile!(Plan {});

/// The longest payload of a segment.
const LONGEST: usize = CLEAR.len;
const LISTEN: ListenConfig =
    ListenConfig { backlog: 1, fast_open: 0, connection: CLEAR.connection };

/// What the radio of the receiver has for it, and what it sends.
struct Air {
    event: Option<Event>,
    octets: [u8; MAX_FRAME],
    sent: Option<usize>,
    waker: WakerRegistration,
}

static AIR: Mutex<RefCell<Air>> = Mutex::new(RefCell::new(Air {
    event: None,
    octets: [0; MAX_FRAME],
    sent: None,
    waker: WakerRegistration::new(),
}));

fn air<T>(f: impl FnOnce(&mut Air) -> T) -> T {
    critical_section::with(|section| f(&mut AIR.borrow_ref_mut(section)))
}

/// A radio in memory.
struct Memory;

impl Driver for Memory {
    fn capabilities(&self) -> Capabilities {
        Capabilities::AUTO_ACK | Capabilities::ACK_WAIT | Capabilities::CSMA
    }

    fn set_filter(&mut self, _: Filter) {}

    fn submit(&mut self, _: Instant, command: Command, frame: &[u8]) -> Result<(), Busy> {
        if let Command::Transmit { .. } = command {
            air(|air| {
                kinglet::mem::copy(&mut air.octets, frame);
                air.sent = Some(frame.len());
            });
        }
        Ok(())
    }

    fn poll_event(&mut self, _: Instant, frame: &mut [u8; MAX_FRAME]) -> Option<Event> {
        air(|air| {
            let event = air.event.take()?;
            if let Event::Received { len, .. } = event {
                kinglet::mem::copy(frame, air.octets.get(..usize::from(len)).unwrap_or_default());
            }
            Some(event)
        })
    }
}

impl Radio for Memory {
    async fn wait(&mut self) {
        poll_fn(|cx| {
            air(|air| match air.event {
                Some(_) => Poll::Ready(()),
                None => {
                    air.waker.register(cx.waker());
                    Poll::Pending
                }
            })
        })
        .await;
    }
}

/// Octets that the application of the receiver has read.
static READ: AtomicU32 = AtomicU32::new(0);

fn note_read(len: usize) {
    READ.store(READ.load(Ordering::Relaxed) + len as u32, Ordering::Relaxed);
}

/// The receiver: its work when something may have happened.
type Work<'a> = &'a mut dyn FnMut(Instant);

/// The sender and the timed receiver.
struct Pair<'a> {
    sender: Station<'a, Plan>,
    work: Work<'a>,
    ticks: u32,
}

impl Pair<'_> {
    /// Lets the receiver work after `event`.
    fn receive(&mut self, now: Instant, event: Option<Event>, octets: &[u8]) {
        air(|air| {
            air.event = event;
            if !octets.is_empty() {
                kinglet::mem::copy(&mut air.octets, octets);
            }
            air.waker.wake();
        });
        tasks::set_time(now);
        let before = SYST::get_current();
        (self.work)(now);
        self.ticks += ticks_since(before);
    }

    /// Carries frames until neither node has any to send.
    fn settle(&mut self, now: Instant) {
        let mut frame = Frame::new(0);
        let mut unused = Frame::new(0);
        let (sfd, ack) = (now - PASSED, Ack::Received { frame_pending: false });
        let received = |len: u8| Event::Received { sfd, len, rssi_dbm: -60, lqi: 255, acked: true };
        let mut sent = self.sender.step(now, None, &mut [], &mut frame);
        while sent {
            let octets = frame.octets();
            self.receive(now, Some(received(octets.len() as u8)), octets);
            while let Some((len, mut octets)) =
                air(|air| air.sent.take().map(|len| (len, air.octets)))
            {
                let octets = octets.get_mut(..len).unwrap_or_default();
                self.sender.step(now, Some(received(len as u8)), octets, &mut unused);
                self.receive(now, Some(Event::Transmitted { sfd, ack }), &[]);
            }
            let event = Some(Event::Transmitted { sfd, ack });
            sent = self.sender.step(now, event, &mut [], &mut frame);
        }
    }

    /// Moves the segments; returns the instructions of the receiver for each.
    fn transfer(&mut self) -> Result<u32, &'static str> {
        static DATA: [u8; LONGEST] = [0x5a; LONGEST];
        READ.store(0, Ordering::Relaxed);
        let mut now = Instant::from_secs(1);
        self.receive(now, None, &[]);
        let streams = &mut self.sender.node.streams();
        let up = streams.connect(now, RECEIVER_ADDRESS, PORT, CLEAR.connection);
        let up = up.map_err(|_| "cannot connect")?;
        self.settle(now);
        self.settle(now);
        for number in 0..WARM_UP + SEGMENTS {
            if number == WARM_UP {
                self.ticks = 0;
            }
            if self.sender.node.streams().send(up, &DATA) != Ok(LONGEST) {
                return Err("a segment does not fit into the buffer");
            }
            self.settle(now);
            now += Duration::from_millis(40);
            self.sender.node.handle_deadline(now);
            // Its alarm may be due.
            self.receive(now, None, &[]);
        }
        let whole = READ.load(Ordering::Relaxed) == (WARM_UP + SEGMENTS) * LONGEST as u32;
        if whole { Ok(per(self.ticks, SEGMENTS)) } else { Err("octets are missing") }
    }
}

/// A node of the pair.
macro_rules! node {
    ($short:ident) => {{
        let place = singleton!(: Place<Plan> = Place::uninit()).ok_or("run twice")?;
        with::<Plan>(place, app::config($short).unsecured(), Capabilities::NONE)
    }};
}

#[entry]
fn main() -> ! {
    console::end(measure())
}

fn measure() -> Result<(), &'static str> {
    start_clock()?;
    let bare = (node!(RECEIVER), node!(SENDER));
    let mut bare: Ends<'_, Plan> = (Station::new(bare.0, true), Station::new(bare.1, false));
    transfer(&mut bare, &CLEAR)?;
    if bare.0.cipher_runs() > 0 {
        return Err("the profile has no link security");
    }
    report_count("receiver", per(bare.0.ticks, SEGMENTS));

    let receiver = node!(RECEIVER);
    receiver.streams().listen(PORT, LISTEN).map_err(|_| "cannot listen")?;
    let mut down = None;
    let mut work = |now| in_a_loop(now, receiver, &mut down);
    let sender = Station::new(node!(SENDER), false);
    report_count("receiver_loop", Pair { sender, work: &mut work, ticks: 0 }.transfer()?);

    let receiver = node!(RECEIVER);
    let resources = singleton!(: Resources<'static, Plan, 3> = Resources::new(receiver));
    let (stack, runner) = resources.ok_or("run twice")?.split();
    let executor = singleton!(: Executor = Executor::new(null_mut())).ok_or("run twice")?;
    let executor = &*executor;
    executor.spawner().spawn(run(runner).map_err(|_| "run twice")?);
    executor.spawner().spawn(read(stack).map_err(|_| "run twice")?);
    let mut work = |_| tasks::poll(executor);
    let sender = Station::new(node!(SENDER), false);
    report_count("receiver_tasks", Pair { sender, work: &mut work, ticks: 0 }.transfer()?);
    Ok(())
}

/// The canonical loop, until there is nothing to do.
fn in_a_loop(now: Instant, node: &mut Node<Plan>, down: &mut Option<kinglet::tcp::Handle>) {
    let mut octets = [0; LONGEST];
    loop {
        *down = down.or_else(|| node.streams().accept(PORT));
        let len = down.and_then(|down| node.streams().recv(down, &mut octets).ok()).unwrap_or(0);
        note_read(len);
        if node.drive(now, &mut Memory) != Some(now) && len == 0 {
            return;
        }
    }
}

#[task]
async fn run(runner: Runner<'static, Plan>) {
    runner.run(&mut Memory).await
}

#[task]
async fn read(stack: Stack<'static, Plan>) {
    let Ok(listener) = TcpListener::bind(stack, PORT, LISTEN) else { return };
    let (mut socket, _) = listener.accept().await;
    let mut octets = [0; LONGEST];
    while let Ok(len) = socket.read(&mut octets).await {
        note_read(len);
    }
}

//! Coprocessors in real time, each at the end of a serial port, in range of each other.
//!
//! A port is a pseudo-terminal behind a symbolic link, so that a stick which is unplugged and
//! plugged in again has the same name. A thread runs the models by the clock of the system, all of
//! them in one virtual time: the air between them is exact even if the machine is late. A frame
//! that a restart cuts off reaches the others whole.

use crate::air::Signal;
use crate::coprocessor::{Coprocessor, SharedCoprocessor};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::OFlags;
use rustix::pty::{OpenptFlags, openpt, ptsname, unlockpt};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

/// Signal strength of each at each other.
const RSSI_DBM: i8 = -50;
/// Longest wait of the thread; an order takes effect after it.
const WAIT_US: u64 = 5_000;
/// Wait while no program has a port open: the system reports that without a pause.
const CLOSED_US: u64 = 1_000;

/// A change of one of them.
enum Order {
    Change(Box<dyn FnOnce(&mut Coprocessor) + Send>),
    Port(Option<OwnedFd>),
}

/// Coprocessors at serial ports. They disappear with it.
pub struct Ports {
    devices: Vec<PathBuf>,
    orders: Option<Sender<(usize, Order)>>,
    thread: Option<JoinHandle<()>>,
}

impl Ports {
    /// Plugs in so many, whose links are in `directory`. Each is at a line with this rate in bits a
    /// second; `None` takes no time.
    ///
    /// # Errors
    /// The error of the system.
    pub fn new(count: usize, baud: Option<u32>, directory: &Path) -> io::Result<Ports> {
        let (orders, ordered) = channel();
        let device = |number| directory.join(format!("stick-{}-{number}", std::process::id()));
        let devices = (0..count).map(device).collect();
        let thread = std::thread::Builder::new().name("sticks".to_owned());
        let thread = Some(thread.spawn(move || Room::new(count, baud).run(&ordered))?);
        let ports = Ports { devices, orders: Some(orders), thread };
        (0..count).try_for_each(|number| ports.plug(number))?;
        Ok(ports)
    }

    /// Returns the device of the one with this number.
    ///
    /// # Panics
    /// There are fewer.
    pub fn device(&self, number: usize) -> &Path {
        &self.devices[number]
    }

    /// Changes one.
    pub fn change(&self, number: usize, change: impl FnOnce(&mut Coprocessor) + Send + 'static) {
        self.order(number, Order::Change(Box::new(change)));
    }

    /// Unplugs one. Its device disappears.
    ///
    /// # Errors
    /// The error of the system.
    pub fn unplug(&self, number: usize) -> io::Result<()> {
        self.order(number, Order::Port(None));
        std::fs::remove_file(self.device(number))
    }

    /// Plugs one in, switched on just now.
    ///
    /// # Errors
    /// The error of the system.
    pub fn plug(&self, number: usize) -> io::Result<()> {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)?;
        unlockpt(&master)?;
        rustix::fs::fcntl_setfl(&master, OFlags::NONBLOCK)?;
        let name = std::ffi::OsString::from_vec(ptsname(&master, Vec::new())?.into_bytes());
        self.order(number, Order::Change(Box::new(Coprocessor::lose_power)));
        self.order(number, Order::Port(Some(master)));
        symlink(name, self.device(number))
    }

    fn order(&self, number: usize, order: Order) {
        // The thread lives as long as this.
        let _ = self.orders.as_ref().map(|orders| orders.send((number, order)));
    }
}

impl Drop for Ports {
    fn drop(&mut self) {
        self.orders = None;
        let _ = self.thread.take().map(JoinHandle::join);
        for device in &self.devices {
            // It may be unplugged.
            let _ = std::fs::remove_file(device);
        }
    }
}

/// What the thread has.
struct Room {
    sticks: Vec<(SharedCoprocessor, Option<OwnedFd>)>,
    begin: std::time::Instant,
}

impl Room {
    fn new(count: usize, baud: Option<u32>) -> Room {
        let stick = |seed| {
            let stick = Coprocessor::new(seed, baud);
            stick.borrow_mut().share_air();
            (stick, None)
        };
        Room { sticks: (1..).take(count).map(stick).collect(), begin: std::time::Instant::now() }
    }

    fn now(&self) -> u64 {
        u64::try_from(self.begin.elapsed().as_micros()).unwrap_or(u64::MAX)
    }

    fn run(mut self, orders: &Receiver<(usize, Order)>) {
        use std::sync::mpsc::TryRecvError::{Disconnected, Empty};
        loop {
            match orders.try_recv() {
                Ok((number, Order::Change(change))) => {
                    change(&mut self.sticks[number].0.borrow_mut());
                }
                Ok((number, Order::Port(port))) => self.sticks[number].1 = port,
                Err(Disconnected) => return,
                Err(Empty) => {
                    self.advance();
                    self.exchange();
                    self.wait();
                }
            }
        }
    }

    /// Lets all of them come to the present, step by step, so that each hears what others begin to
    /// send.
    fn advance(&self) {
        let now = self.now();
        let next = || self.sticks.iter().filter_map(|(it, _)| it.borrow().next()).min();
        while let Some(at) = next().filter(|at| *at <= now) {
            self.advance_to(at);
        }
        self.advance_to(now);
    }

    fn advance_to(&self, at: u64) {
        for (stick, _) in &self.sticks {
            stick.borrow_mut().advance(at);
        }
        for (number, (stick, _)) in self.sticks.iter().enumerate() {
            let begun = stick.borrow_mut().take_begun();
            for sent in begun {
                for (_, (other, _)) in
                    self.sticks.iter().enumerate().filter(|(other, _)| *other != number)
                {
                    let (preamble_at, channel) = (sent.preamble_at, sent.channel);
                    let psdu = sent.psdu.clone();
                    let signal = Signal { preamble_at, channel, psdu, rssi_dbm: RSSI_DBM };
                    other.borrow_mut().put(signal);
                }
            }
        }
    }

    /// Reads and writes the ports.
    fn exchange(&self) {
        let mut octets = [0; 1_024];
        for (stick, port) in &self.sticks {
            let Some(port) = port else { continue };
            let mut stick = stick.borrow_mut();
            // Without a program at the other end there is an error.
            while let Ok(len) = rustix::io::read(port, &mut octets) {
                stick.write(&octets[..len]);
            }
            while let Some(octets) = stick.read() {
                let _ = rustix::io::write(port, &octets);
            }
        }
    }

    fn wait(&self) {
        let next = self.sticks.iter().filter_map(|(it, _)| it.borrow().next_on_line()).min();
        let time = next.map_or(WAIT_US, |at| at.saturating_sub(self.now()).min(WAIT_US));
        let tv_nsec = (time * 1_000) as i64;
        let ports = self.sticks.iter().filter_map(|(_, port)| port.as_ref());
        let mut fds: Vec<_> = ports.map(|port| PollFd::new(port, PollFlags::IN)).collect();
        let _ = poll(&mut fds, Some(&Timespec { tv_sec: 0, tv_nsec }));
        if fds.iter().any(|fd| fd.revents().contains(PollFlags::HUP)) {
            std::thread::sleep(std::time::Duration::from_micros(time.min(CLOSED_US)));
        }
    }
}

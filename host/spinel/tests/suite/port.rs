//! A coprocessor at a serial port, in real time: the port is a pseudo-terminal, and a thread is
//! the coprocessor.

use kinglet_chips::Coprocessor;
use kinglet_spinel::{LineError, Stick, Url};
use kinglet_time::{Duration, Instant, earliest};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::OFlags;
use rustix::pty::{OpenptFlags, openpt, ptsname, unlockpt};
use std::os::fd::OwnedFd;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

/// Limit for whatever the test waits for, far above its time on a loaded machine.
const LIMIT: Duration = Duration::from_secs(60);
/// Issue 47: recovery where it is possible.
const RECOVERY: Duration = Duration::from_secs(5);

/// A pseudo-terminal with a coprocessor. When it is dropped, the device is gone.
struct Port {
    device: PathBuf,
    ends: Arc<AtomicBool>,
    stalls: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Port {
    fn new() -> Port {
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
        let master = openpt(flags).unwrap();
        unlockpt(&master).unwrap();
        rustix::fs::fcntl_setfl(&master, OFlags::NONBLOCK).unwrap();
        let device = PathBuf::from(ptsname(&master, Vec::new()).unwrap().to_str().unwrap());
        let (ends, stalls) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
        let flags = (ends.clone(), stalls.clone());
        let thread = Some(std::thread::spawn(move || serve(&master, &flags.0, &flags.1)));
        Port { device, ends, stalls, thread }
    }

    fn url(&self) -> Url {
        format!("spinel+serial:{}?baud=460800", self.device.display()).parse().unwrap()
    }
}

impl Drop for Port {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::Relaxed);
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

/// Runs the model by the clock of the system.
fn serve(master: &OwnedFd, ends: &AtomicBool, stalls: &AtomicBool) {
    let begin = std::time::Instant::now();
    let model = Coprocessor::new(1, None);
    let mut octets = [0; 1_024];
    while !ends.load(Ordering::Relaxed) {
        wait(&[PollFd::new(master, PollFlags::IN)], Duration::from_millis(1));
        if stalls.load(Ordering::Relaxed) {
            std::thread::sleep(std::time::Duration::from_millis(1));
            continue;
        }
        let mut model = model.borrow_mut();
        model.advance(u64::try_from(begin.elapsed().as_micros()).unwrap());
        // Without a reader at the other end there is an error.
        if let Ok(len) = rustix::io::read(master, &mut octets) {
            model.write(&octets[..len]);
            let now = model.now();
            model.advance(now);
        }
        while let Some(octets) = model.read() {
            let _ = rustix::io::write(master, &octets);
        }
    }
}

fn wait(fds: &[PollFd<'_>], time: Duration) {
    let micros = i64::try_from(time.as_micros()).unwrap();
    let (tv_sec, tv_nsec) = (micros / 1_000_000, micros % 1_000_000 * 1_000);
    let _ = poll(&mut fds.to_vec(), Some(&Timespec { tv_sec, tv_nsec }));
}

/// A stick with the loop of its owner.
struct Owner {
    stick: Stick,
    begin: std::time::Instant,
}

impl Owner {
    fn new(url: &Url) -> Owner {
        let begin = std::time::Instant::now();
        Owner { stick: Stick::open(Instant::ZERO, url).unwrap(), begin }
    }

    fn now(&self) -> Instant {
        Instant::from_micros(u64::try_from(self.begin.elapsed().as_micros()).unwrap())
    }

    /// Runs until `condition` is true, and returns the time that it took.
    fn until(&mut self, what: &str, condition: impl Fn(&Stick) -> bool) -> Duration {
        let begin = self.now();
        while !condition(&self.stick) {
            let now = self.now();
            assert!(now < begin + LIMIT, "{what}: {:?}", self.stick.trouble());
            self.stick.exchange(now);
            let step = now + Duration::from_millis(20);
            let next = earliest(self.stick.deadline(), Some(step)).unwrap_or(step);
            let events = match self.stick.wants_write() {
                true => PollFlags::IN | PollFlags::OUT,
                false => PollFlags::IN,
            };
            let fds: Vec<_> = self
                .stick
                .fd()
                .map(|fd| PollFd::from_borrowed_fd(fd, events))
                .into_iter()
                .collect();
            wait(&fds, next - now);
        }
        self.now() - begin
    }

    fn until_ready(&mut self) -> Duration {
        self.until("ready", |stick| stick.status().identity.is_some())
    }

    fn until_trouble(&mut self) -> String {
        self.until("trouble", |stick| stick.trouble().is_some());
        self.stick.trouble().unwrap().to_string()
    }
}

/// Returns the message for a stick that cannot be opened.
fn refusal(url: &str) -> LineError {
    Stick::open(Instant::ZERO, &url.parse().unwrap()).unwrap_err()
}

#[test]
fn a_coprocessor_at_a_serial_port_is_found() {
    let port = Port::new();
    let mut owner = Owner::new(&port.url());
    owner.until_ready();
    assert_eq!(owner.stick.eui64(), Some([0x18, 0xb4, 0x30, 0, 0, 0, 0, 1]));
    assert_eq!(owner.stick.trouble(), None);
    assert_eq!(owner.stick.status().stats.damaged, 0);
}

#[test]
fn a_device_that_does_not_exist_is_named() {
    let error = refusal("spinel+serial:/dev/tty-no-such-stick");
    assert_eq!(error, LineError::Missing("/dev/tty-no-such-stick".to_owned()));
    let text = error.to_string();
    let says = "there is no such device; the stick may not be plugged in";
    assert_eq!(text, format!("/dev/tty-no-such-stick: {says}"));
}

#[test]
fn what_is_no_serial_port_is_named() {
    for path in ["/dev/null", "/dev"] {
        let error = refusal(&format!("spinel+serial:{path}"));
        assert_eq!(error.to_string(), format!("{path}: the device is no serial port"));
    }
    let error = refusal("spinel+exec:/no/such/program 1");
    assert!(error.to_string().starts_with("/no/such/program: cannot be started: "), "{error}");
}

#[test]
fn a_port_that_another_program_uses_is_refused() {
    let port = Port::new();
    let owner = Owner::new(&port.url());
    let error = Stick::open(Instant::ZERO, &port.url()).unwrap_err();
    let device = port.device.display();
    assert_eq!(error.to_string(), format!("{device}: another program uses the device"));
    // The lock ends with the stick.
    drop(owner);
    Owner::new(&port.url()).until_ready();
}

#[test]
fn a_stick_that_is_unplugged_and_plugged_in_again_is_used_again() {
    let link = std::env::temp_dir().join(format!("kinglet-stick-{}", std::process::id()));
    let port = Port::new();
    symlink(&port.device, &link).unwrap();
    let url: Url = format!("spinel+serial:{}?baud=460800", link.display()).parse().unwrap();
    let mut owner = Owner::new(&url);
    owner.until_ready();
    drop(port);
    let trouble = owner.until_trouble();
    assert_eq!(trouble, format!("{}: the device is gone", link.display()));
    assert_eq!((owner.stick.fd().is_none(), owner.stick.status().identity), (true, None));
    std::fs::remove_file(&link).unwrap();
    owner.until("missing", |stick| {
        stick.trouble().is_some_and(|it| it.to_string().contains("no such device"))
    });
    let port = Port::new();
    symlink(&port.device, &link).unwrap();
    assert!(owner.until_ready() < RECOVERY);
    assert_eq!((owner.stick.status().reopened, owner.stick.trouble()), (1, None));
    std::fs::remove_file(&link).unwrap();
}

#[test]
fn a_line_that_stalls_is_reported_and_used_again() {
    let port = Port::new();
    port.stalls.store(true, Ordering::Relaxed);
    let mut owner = Owner::new(&port.url());
    let trouble = owner.until_trouble();
    let device = port.device.display();
    let begin = format!("{device} at 460800 bits a second: the coprocessor does not answer");
    assert!(trouble.starts_with(&begin), "{trouble}");
    port.stalls.store(false, Ordering::Relaxed);
    assert!(owner.until_ready() < RECOVERY);
    assert_eq!(owner.stick.trouble(), None);
}

#[test]
fn a_process_that_ends_is_started_again() {
    // It ends at once, and never answers.
    let url: Url = "spinel+exec:/bin/true".parse().unwrap();
    let mut owner = Owner::new(&url);
    let trouble = owner.until_trouble();
    assert_eq!(trouble, "/bin/true: cannot be started: the process has ended");
    owner.until("another start", |stick| stick.status().reopened > 1);
}

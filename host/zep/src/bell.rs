//! Wakes a loop that waits for a line and for other threads.

use kinglet_time::Instant;
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

/// The end of the loop.
pub(crate) struct Bell<T> {
    wakes: Receiver<T>,
    ringer: Ringer<T>,
}

/// The end of another thread.
pub(crate) struct Ringer<T> {
    sender: Sender<T>,
    fd: Arc<OwnedFd>,
}

impl<T> Clone for Ringer<T> {
    fn clone(&self) -> Self {
        Ringer { sender: self.sender.clone(), fd: Arc::clone(&self.fd) }
    }
}

impl<T> Ringer<T> {
    /// Wakes the loop with this item; returns false if it has ended.
    pub(crate) fn ring(&self, item: T) -> bool {
        let is_sent = self.sender.send(item).is_ok();
        // A counter that is full has not been read, so the loop wakes all the same.
        let _ = rustix::io::write(&self.fd, &1_u64.to_ne_bytes());
        is_sent
    }
}

impl<T> Bell<T> {
    /// # Errors
    /// The error of the system.
    pub(crate) fn new() -> io::Result<Self> {
        let (sender, wakes) = channel();
        let fd = Arc::new(eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC)?);
        Ok(Bell { wakes, ringer: Ringer { sender, fd } })
    }

    /// Returns the end of another thread.
    pub(crate) fn ringer(&self) -> Ringer<T> {
        self.ringer.clone()
    }

    /// Returns the next item, if there is one.
    pub(crate) fn next(&self) -> Option<T> {
        // There is no end: this has a sender.
        self.wakes.try_recv().ok()
    }

    /// Waits for an item, for octets of a line or for space on it, and at most until then.
    pub(crate) fn wait(
        &self,
        now: Instant,
        until: Option<Instant>,
        line: Option<(BorrowedFd<'_>, bool)>,
    ) {
        let time = until.map(|until| {
            let micros = (until - now).as_micros();
            Timespec {
                tv_sec: i64::try_from(micros / 1_000_000).unwrap_or(i64::MAX),
                tv_nsec: (micros % 1_000_000 * 1_000) as i64,
            }
        });
        let line = line.map(|(fd, wants_write)| {
            let writes = if wants_write { PollFlags::OUT } else { PollFlags::empty() };
            PollFd::from_borrowed_fd(fd, PollFlags::IN | writes)
        });
        let bell = PollFd::new(&self.ringer.fd, PollFlags::IN);
        let mut fds: Vec<_> = [bell].into_iter().chain(line).collect();
        // A signal only ends the wait early.
        let _ = poll(&mut fds, time.as_ref());
        let _ = rustix::io::read(&self.ringer.fd, &mut [0; 8]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kinglet_time::Duration;
    use std::os::fd::AsFd;
    use std::os::unix::net::UnixStream;
    use std::time::Duration as WallDuration;

    #[test]
    fn each_item_of_another_thread_ends_a_wait() {
        let bell = Bell::new().unwrap();
        let ringer = bell.ringer();
        let other = std::thread::spawn(move || {
            for item in 0..100 {
                assert!(ringer.ring(item));
                std::thread::sleep(WallDuration::from_micros(50));
            }
        });
        let mut expected = 0;
        while expected < 100 {
            bell.wait(Instant::ZERO, None, None);
            while let Some(item) = bell.next() {
                assert_eq!(item, expected);
                expected += 1;
            }
        }
        other.join().unwrap();
    }

    #[test]
    fn a_line_and_the_time_end_a_wait() {
        let bell = Bell::<()>::new().unwrap();
        let (near, far) = UnixStream::pair().unwrap();
        let begin = std::time::Instant::now();
        let soon = Some(Instant::ZERO + Duration::from_millis(20));
        bell.wait(Instant::ZERO, soon, Some((near.as_fd(), false)));
        assert!(begin.elapsed() >= WallDuration::from_millis(20));
        // There is space.
        bell.wait(Instant::ZERO, None, Some((near.as_fd(), true)));
        io::Write::write_all(&mut &far, b"text").unwrap();
        bell.wait(Instant::ZERO, None, Some((near.as_fd(), false)));
    }
}

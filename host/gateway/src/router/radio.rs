//! The radio of a border router, in the runtime of the bridge.

use crate::show::Notice;
use crate::stick::RadioLook;
use kinglet_radio::Filter;
use kinglet_spinel::Stick;
use kinglet_time::{Duration, Instant};
use kinglet_zep::air::Heard;
use kinglet_zep::device::{Device, DeviceError, Watch};
use kinglet_zep::link::Link;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, TryRecvError, channel};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::sync::Notify;

/// A radio that is not simulated.
pub(crate) struct Radio {
    device: Device,
    /// Items of a ZEP link.
    heard: Receiver<Heard>,
    news: Arc<Notify>,
    /// The line of a coprocessor, while it is open.
    line: Option<AsyncFd<OwnedFd>>,
    /// Octets are left on the line.
    has_more: bool,
    watch: Watch,
}

impl Radio {
    /// Opens the link. The radio is off, and one of ZEP waits `ack_wait` for an acknowledgement
    /// after the end of its frame. Waits, without the runtime, until a coprocessor has answered.
    ///
    /// # Errors
    /// [`DeviceError`]
    pub(crate) fn open(
        link: &Link,
        filter: Filter,
        ack_wait: Duration,
        clock: impl Fn() -> Instant,
    ) -> Result<Self, DeviceError> {
        let (sender, heard) = channel();
        let news = Arc::new(Notify::new());
        let waker = Arc::clone(&news);
        let hear = move |heard| {
            let wanted = sender.send(heard).is_ok();
            waker.notify_one();
            wanted
        };
        let device = Device::open(link, filter, ack_wait, clock, hear)?;
        let (line, has_more, watch) = (None, true, Watch::default());
        Ok(Radio { device, heard, news, line, has_more, watch })
    }

    /// Returns the driver.
    pub(crate) fn driver(&mut self) -> &mut Device {
        &mut self.device
    }

    /// Takes what has arrived by `now`, without waiting. Returns whether there was anything.
    ///
    /// # Errors
    /// The link has failed. A coprocessor that is gone is no error.
    pub(crate) fn exchange(&mut self, now: Instant) -> io::Result<bool> {
        let mut any = false;
        loop {
            match self.heard.try_recv() {
                Ok(Heard::Deaf(kind)) => return Err(kind.into()),
                // The clock of the link and that of the bridge began at different times.
                Ok(Heard::Frame { frame, lqi, acked, .. }) => {
                    self.device.hear(Heard::Frame { at: now, frame, lqi, acked });
                }
                Ok(heard) => self.device.hear(heard),
                Err(TryRecvError::Empty | TryRecvError::Disconnected) => break,
            }
            any = true;
        }
        if let Some(stick) = self.device.stick_mut() {
            // The descriptor of a line that is gone has to be closed before another one is opened.
            self.line = self.line.take().filter(|_| stick.fd().is_some());
            let before = stick.status().stats.messages;
            self.has_more = stick.exchange(now);
            self.follow_line()?;
            any |= self.device.stick().is_some_and(|it| it.status().stats.messages != before);
        }
        Ok(any)
    }

    /// Has the runtime watch the line of a coprocessor.
    #[allow(deprecated, reason = "its replacement is unsafe for types that do not own the file")]
    fn follow_line(&mut self) -> io::Result<()> {
        let fd = self.device.stick().and_then(Stick::fd);
        self.line = match (fd, self.line.take()) {
            (None, _) => None,
            (Some(_), Some(line)) => Some(line),
            (Some(fd), None) => Some(AsyncFd::new(fd.try_clone_to_owned()?)?),
        };
        Ok(())
    }

    /// Waits until something has arrived, or a line that was full has space.
    pub(crate) async fn arrival(&self) {
        if self.has_more {
            return;
        }
        let wants_write = self.device.stick().is_some_and(Stick::wants_write);
        let line = async {
            match &self.line {
                None => std::future::pending().await,
                Some(line) => {
                    let writable =
                        if wants_write { Interest::WRITABLE } else { Interest::READABLE };
                    // An error of the runtime is that of a line that is gone: reading notices it.
                    if let Ok(mut ready) = line.ready(Interest::READABLE | writable).await {
                        ready.clear_ready();
                    }
                }
            }
        };
        tokio::select! {
            () = self.news.notified() => {}
            () = line => {}
        }
    }

    /// Returns the time of the next event, or of the next exchange, if nothing arrives.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.device.deadline()
    }

    /// Returns the state of a coprocessor.
    pub(crate) fn look(&self) -> Option<RadioLook> {
        self.device.stick().map(RadioLook::of)
    }

    /// Returns what has happened to a coprocessor since the last call.
    pub(crate) fn notices(&mut self, now: Instant) -> Vec<Notice> {
        self.watch.changes(now, &self.device).into_iter().map(Notice::of_radio).collect()
    }
}

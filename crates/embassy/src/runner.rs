//! The loop around a node and its radio.

use crate::shared::{Stack, now};
use core::future::{Future, poll_fn};
use core::pin::pin;
use core::task::Poll;
use embassy_time::{Duration, Timer};
use kinglet::Profile;
use kinglet::radio::Driver;
use kinglet_time::Instant;

/// A radio whose events can be awaited.
///
/// The times of its events and commands are those of `embassy-time`: the driver and the executor
/// share a clock.
pub trait Radio: Driver {
    /// Waits until [`Driver::poll_event`] may have an event, such as for the interrupt of the chip.
    /// It returns at once if there is one already, and may return although there is none. The
    /// future is dropped and made again whenever something else happens.
    fn wait(&mut self) -> impl Future<Output = ()>;
}

/// The future that runs a [`Stack`]. Nothing is sent or received without it. A task that computes
/// for long between two waits delays it, and with it what the stack does in software: a poll, an
/// acknowledgement if the radio does not send it.
pub struct Runner<'d, P: Profile>(pub(crate) Stack<'d, P>);

impl<P: Profile> Runner<'_, P> {
    /// Runs the stack over `radio`, for ever. If it is dropped, the stack stands still.
    pub async fn run(self, radio: &mut impl Radio) -> ! {
        radio.set_filter(self.0.shared(|shared| shared.node.filter()));
        loop {
            let due = self.turn(radio);
            self.sleep(due, radio.wait()).await;
        }
    }

    /// Runs one iteration of the node's loop and wakes the tasks whose events have occurred.
    /// Returns the time of the next iteration.
    fn turn(&self, radio: &mut impl Driver) -> Option<Instant> {
        let now = now();
        self.0.shared(|shared| {
            shared.is_changed = false;
            let due = shared.node.drive(now, radio);
            // Nothing has happened that a task could wait for, unless the node says so by `now`.
            if due != Some(now) {
                return due;
            }
            shared.wake_waiters();
            shared.node.deadline()
        })
    }

    /// Sleeps until `due`, until `event` or until a task has changed the node.
    async fn sleep(&self, due: Option<Instant>, event: impl Future<Output = ()>) {
        let mut event = pin!(event);
        let mut timer = pin!(due.map(|due| {
            // It rounds up: an early wake-up would only be followed by another one.
            let span = due.checked_since(now()).unwrap_or_default();
            Timer::after(Duration::from_micros(span.as_micros()))
        }));
        poll_fn(|cx| {
            let is_changed = self.0.shared(|shared| {
                shared.runner.register(cx.waker());
                shared.is_changed
            });
            let is_due = timer.as_mut().as_pin_mut().is_some_and(|it| it.poll(cx).is_ready());
            if is_changed || is_due || event.as_mut().poll(cx).is_ready() {
                return Poll::Ready(());
            }
            Poll::Pending
        })
        .await;
    }
}

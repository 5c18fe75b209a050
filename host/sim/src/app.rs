//! What an application on a simulated node is.

use kinglet::{Node, Profile};
use kinglet_time::{Instant, earliest};

/// An application on a node. Like every layer it is driven: it never blocks, sleeps or reads a
/// clock.
pub trait App<P: Profile>: Send {
    /// Looks at its sockets and does what can be done now. Called when something may have changed;
    /// must be harmless when nothing has. Returns whether it did something, so that it is asked
    /// again.
    fn poll(&mut self, now: Instant, node: &mut Node<P>) -> bool;

    /// When it wants to be polled even if nothing happens.
    fn deadline(&self) -> Option<Instant>;

    /// The CoAP messages that it has counted, received and sent, wrapping: work of the CPU that its
    /// node knows nothing of.
    fn messages(&self) -> (u32, u32) {
        (0, 0)
    }

    /// TCP segments that it has received and sent by itself, wrapping; those of its node's TCP are
    /// not among them.
    fn segments(&self) -> u32 {
        0
    }

    /// Itself, so that whoever runs the simulation can look at its results.
    fn as_any(&self) -> &dyn core::any::Any;
}

/// Polls every application once; whether any of them did something.
pub(crate) fn poll_apps<P: Profile>(
    apps: &mut [Box<dyn App<P>>],
    now: Instant,
    node: &mut Node<P>,
) -> bool {
    apps.iter_mut().fold(false, |busy, app| app.poll(now, node) | busy)
}

/// The earliest deadline among applications.
pub(crate) fn apps_deadline<P: Profile>(apps: &[Box<dyn App<P>>]) -> Option<Instant> {
    apps.iter().fold(None, |soonest, app| earliest(soonest, app.deadline()))
}

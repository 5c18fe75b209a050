//! What a server does when its places, or the slots of its TCP, are fewer than its clients: the
//! connection on which nothing has moved for longest makes room for the client that waits.

use kinglet_time::{Duration, Instant};

/// A connection on which its client is to move something, or takes nothing, is left alone for so
/// long: a request comes within a round trip of its connection.
pub(crate) const PATIENCE: Duration = Duration::from_secs(1);
/// And one on which what was sent may only be late: TCP repeats it, with a back-off.
pub(crate) const LOSS_PATIENCE: Duration = Duration::from_secs(10);
/// How soon a server looks again whether one may be left.
pub(crate) const LOOK: Duration = Duration::from_millis(250);

/// The connection to be left so far, by its index: the best candidate first, then the one on which
/// nothing has moved for longest.
#[derive(Default)]
pub(crate) struct Victim(Option<(bool, Instant, usize)>);

impl Victim {
    /// Offers a connection on which nothing has moved since `moved`; one that is `done` loses
    /// nothing.
    pub(crate) fn offer(&mut self, index: usize, moved: Instant, done: bool) {
        let offered = (!done, moved, index);
        if self.0.is_none_or(|chosen| offered < chosen) {
            self.0 = Some(offered);
        }
    }

    /// Which one it is.
    pub(crate) fn index(self) -> Option<usize> {
        self.0.map(|(_, _, index)| index)
    }
}

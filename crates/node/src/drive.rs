//! The loop around a node and its radio.

use crate::node::Node;
use crate::profile::Profile;
use kinglet_mac::Submission;
use kinglet_radio::{Driver, Event, MAX_FRAME};
use kinglet_time::Instant;

impl<P: Profile> Node<P> {
    /// Runs one iteration of the loop around a node and its radio: takes the radio's events,
    /// handles an expired deadline, and gives the radio the stack's commands. Returns when to call
    /// it next if the radio has no event before. `now` means at once: the application may have
    /// something to read or room to write. `None` means not before the radio or the application
    /// acts.
    pub fn drive(&mut self, now: Instant, radio: &mut impl Driver) -> Option<Instant> {
        let mut happened = false;
        let mut frame = [0; MAX_FRAME];
        while let Some(event) = radio.poll_event(now, &mut frame) {
            let len = if let Event::Received { len, .. } = event { len } else { 0 };
            self.handle_radio(now, event, frame.get_mut(..usize::from(len)).unwrap_or_default());
            happened = true;
        }
        if self.deadline().is_some_and(|at| at <= now) {
            self.handle_deadline(now);
            happened = true;
        }
        while let Some(Submission { command, frame }) = self.poll_radio(now) {
            if radio.submit(now, command, frame).is_err() {
                self.radio_refused(now);
            }
        }
        if radio.can_prepare()
            && let Some(Submission { command, frame }) = self.poll_next_frame(now)
        {
            radio.prepare(now, command, frame);
        }
        if happened { Some(now) } else { self.deadline() }
    }
}

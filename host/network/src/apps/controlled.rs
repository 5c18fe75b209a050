//! Bulk transfer with a congestion control chosen by the scenario.

use super::bulk::BulkSender;
use super::tcp::{OnOwn, Socket};
use crate::control::AnyControl;
use kinglet::tcp::{Handle, State};
use kinglet::time::{Expected, Instant};
use kinglet::{Node, Profile};
use kinglet_scenario::Control;
use kinglet_sim::Hosted;
use std::any::Any;

/// Sender of a bulk transfer whose connections use the scenario's congestion control.
pub(crate) struct Controlled {
    sender: OnOwn<BulkSender>,
    control: Control,
    /// Connection that already has it.
    reported: Option<Handle>,
}

impl Controlled {
    pub(crate) const fn new(sender: BulkSender, control: Control) -> Self {
        Controlled { sender: OnOwn(sender), control, reported: None }
    }
}

impl<P: Profile<Congestion = AnyControl>> Hosted<P> for Controlled {
    fn poll(&mut self, now: Instant, node: &mut Node<P>) -> bool {
        let more = self.sender.poll(now, node);
        if let Some(Socket::Own(handle)) = self.sender.0.connection()
            && self.reported != Some(handle)
            // The end of the handshake creates a new controller.
            && let Some(info) = node.tcp().info(handle)
            && info.state == State::Established
            && let Some(control) = node.streams().congestion(handle)
        {
            *control = AnyControl::begin(self.control, info.mss, info.cwnd);
            self.reported = Some(handle);
        }
        more
    }

    fn deadline(&self) -> Option<Instant> {
        Hosted::<P>::deadline(&self.sender)
    }

    fn expected(&self, now: Instant) -> Option<Expected> {
        Hosted::<P>::expected(&self.sender, now)
    }

    fn messages(&self) -> (u32, u32) {
        Hosted::<P>::messages(&self.sender)
    }

    fn as_any(&self) -> &dyn Any {
        Hosted::<P>::as_any(&self.sender)
    }
}

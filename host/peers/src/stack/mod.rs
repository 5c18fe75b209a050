//! The stacks, reduced to their differences.

mod blip;
mod cubic;
mod gnrc;
mod holes;
mod single;
mod uip;
mod window;

use crate::sender::Sender;
use crate::settings::{Settings, Stack};

/// The sending half of the stack in `settings`.
pub(crate) fn sender(settings: &Settings) -> Box<dyn Sender> {
    match settings.stack {
        Stack::Uip => Box::new(single::Single::new(uip::Uip::new(settings.phase))),
        Stack::Gnrc => Box::new(single::Single::new(gnrc::Gnrc::new())),
        Stack::Blip => Box::new(blip::Blip::new(settings)),
        Stack::FreeBsd => Box::new(window::Window::new(window::FREEBSD)),
        Stack::Linux => Box::new(window::Window::new(window::LINUX)),
    }
}

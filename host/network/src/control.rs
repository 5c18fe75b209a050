//! Congestion controllers of simulated connections, selected by the scenario: one connection type
//! supports all of them.

use kinglet::tcp::congestion::{Acked, Controller, Cubic, NewReno, RateSampled, Westwood};
use kinglet_scenario::Control;

/// State of the selected controller, by default New Reno. Nodes are many and the others are rare,
/// so their state is boxed.
#[derive(Debug)]
pub enum AnyControl {
    /// New Reno (RFC 5681).
    NewReno(NewReno),
    /// CUBIC (RFC 9438).
    Cubic(Box<Cubic>),
    /// Westwood+.
    Westwood(Box<Westwood>),
    /// Based on rate samples.
    Rate(Box<RateSampled>),
}

impl AnyControl {
    /// The state of a new connection: its controller, segment size and window in octets.
    pub fn begin(control: Control, mss: u32, window: u32) -> Self {
        match control {
            Control::NewReno => AnyControl::NewReno(NewReno::new(mss, window)),
            Control::Cubic => AnyControl::Cubic(Box::new(Cubic::new(mss, window))),
            Control::Westwood => AnyControl::Westwood(Box::new(Westwood::new(mss, window))),
            Control::Rate => AnyControl::Rate(Box::new(RateSampled::new(mss, window))),
        }
    }
}

/// Applies `$done` to the selected variant.
macro_rules! with {
    ($any:expr, $it:ident => $done:expr) => {
        match $any {
            AnyControl::NewReno($it) => $done,
            AnyControl::Cubic($it) => $done,
            AnyControl::Westwood($it) => $done,
            AnyControl::Rate($it) => $done,
        }
    };
}

impl Controller for AnyControl {
    fn new(mss: u32, initial_window: u32) -> Self {
        AnyControl::begin(Control::NewReno, mss, initial_window)
    }

    fn set_mss(&mut self, mss: u32) {
        with!(self, it => it.set_mss(mss));
    }

    fn window(&self) -> u32 {
        with!(self, it => it.window())
    }

    fn slow_start_threshold(&self) -> u32 {
        with!(self, it => it.slow_start_threshold())
    }

    fn on_ack(&mut self, acked: Acked) {
        with!(self, it => it.on_ack(acked));
    }

    fn on_loss(&mut self, flight: u32) {
        with!(self, it => it.on_loss(flight));
    }

    fn on_mark(&mut self, flight: u32) {
        with!(self, it => it.on_mark(flight));
    }

    fn on_recovered(&mut self, flight: u32) {
        with!(self, it => it.on_recovered(flight));
    }

    fn on_timeout(&mut self, flight: u32, first: bool) {
        with!(self, it => it.on_timeout(flight, first));
    }

    fn on_spurious(&mut self, window: u32, threshold: u32) {
        with!(self, it => it.on_spurious(window, threshold));
    }

    fn on_idle(&mut self) {
        with!(self, it => it.on_idle());
    }
}

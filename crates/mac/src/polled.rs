//! A leaf that polls its parent and listens for the response: the leaf's side of indirect
//! transmission (IEEE 802.15.4-2015, 6.7.3). TCPlp §3.2 calls it listen-after-send.

use crate::config::MacConfig;
use crate::listening::{
    DataRequestOutcome, FromParent, Listening, Mode, OwnFrameOutcome, Situation,
};
use crate::queue::{Delivery, Kind, TxState};
use kinglet_radio::Capabilities;
use kinglet_time::Instant;
use kinglet_wire::ieee802154::Address;

/// The radio is on while the response to a data request is awaited; with
/// [`MacConfig::rx_on_when_idle`] it is always on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Polled {
    request: Request,
    last: Option<Taken>,
}

/// The last unicast frame with a payload for this device. It identifies a retransmission by the
/// parent after a later request: the parent considers its first transmission failed. With link
/// security, a retransmission has another frame counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Taken {
    src: Address,
    sequence: u8,
    /// Digest of its payload.
    digest: u16,
}

/// State of the data request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Request {
    Idle,
    /// In the queue or being sent.
    Queued,
    /// The acknowledgement of the parent has announced a frame.
    Window {
        parent: Address,
        until: Instant,
        /// True if a frame was received whose frame-pending bit was set.
        received: bool,
    },
    Ended(DataRequestOutcome),
}

impl Listening for Polled {
    const NEW: Self = Polled { request: Request::Idle, last: None };
    const SLEEPS: bool = true;

    fn mode(&self, situation: &Situation<'_>) -> Mode {
        let &Situation { config, radio, head, tx, acknowledging } = situation;
        let in_software = !radio.contains(Capabilities::ACK_WAIT);
        let listens = config.rx_on_when_idle
            || self.awaits_frame()
            || acknowledging
            || match tx {
                TxState::AwaitAck { .. } => true,
                TxState::Submitted => in_software || head == Some(Kind::DataRequest),
                TxState::Idle | TxState::Backoff { .. } | TxState::Ready => false,
            };
        if listens { Mode::Listen } else { Mode::Off }
    }

    fn is_idle(&self) -> bool {
        self.request == Request::Idle
    }

    fn awaits_frame(&self) -> bool {
        self.deadline().is_some()
    }

    fn may_ask(&self) -> bool {
        self.is_idle()
    }

    fn asked(&mut self) {
        self.request = Request::Queued;
    }

    fn poll_outcome(&mut self) -> Option<DataRequestOutcome> {
        let Request::Ended(outcome) = self.request else { return None };
        self.request = Request::Idle;
        Some(outcome)
    }

    fn takes_again(&mut self, src: Address, sequence: u8, payload: &[u8]) -> bool {
        let digest = payload.iter().fold(0, |it: u16, octet| it.rotate_left(5) ^ u16::from(*octet));
        let taken = Some(Taken { src, sequence, digest });
        core::mem::replace(&mut self.last, taken) == taken
    }

    fn handle_frame(&mut self, now: Instant, config: &MacConfig<()>, frame: &FromParent) -> bool {
        let Request::Window { parent, .. } = self.request else { return false };
        if frame.src != parent {
            return false;
        }
        self.go_on(now, config, parent, frame.more);
        true
    }

    fn handle_sent(&mut self, now: Instant, config: &MacConfig<()>, frame: &OwnFrameOutcome) {
        self.request = match (frame.result, frame.frame_pending) {
            (Delivery::Delivered, true) => {
                let until = now + config.data_request_timeout;
                Request::Window { parent: frame.dst, until, received: false }
            }
            (Delivery::Delivered, false) => Request::Ended(DataRequestOutcome::NothingPending),
            _ => Request::Ended(DataRequestOutcome::NoAck),
        };
    }

    /// Returns the end of the window, if one is open.
    fn deadline(&self) -> Option<Instant> {
        match self.request {
            Request::Window { until, .. } => Some(until),
            _ => None,
        }
    }

    /// Closes the window if its time is over.
    fn handle_deadline(&mut self, now: Instant, _config: &MacConfig<()>) -> bool {
        let Request::Window { until, received, .. } = self.request else { return false };
        if now < until {
            return false;
        }
        self.request = Request::Ended(match received {
            true => DataRequestOutcome::Received { more: true },
            false => DataRequestOutcome::TimedOut,
        });
        true
    }
}

impl Polled {
    /// Handles a frame of the parent: in a burst, another one follows if its frame-pending bit is
    /// set.
    pub(crate) fn go_on(
        &mut self,
        now: Instant,
        config: &MacConfig<()>,
        parent: Address,
        more: bool,
    ) {
        self.request = match more && config.indirect.burst {
            true => {
                let until = now + config.data_request_timeout;
                Request::Window { parent, until, received: true }
            }
            false => Request::Ended(DataRequestOutcome::Received { more }),
        };
    }
}

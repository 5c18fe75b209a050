//! A leaf's side of indirect transmission (IEEE 802.15.4-2015, 6.7.3): asking the parent for what
//! it holds, and the window in which the answer is awaited. TCPlp §3.2 calls it listen-after-send.

use crate::mac::{Mac, Mode, Sizes, TxState};
use crate::queue::{Delivery, Kind, QueueFull, Token};
use kinglet_radio::Capabilities;
use kinglet_time::Instant;
use kinglet_wire::ieee802154::{Address, COMMAND_DATA_REQUEST, FrameType, Repr, Version};

/// How asking for data ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DataRequestOutcome {
    /// The parent has not acknowledged any attempt, or the channel could not be won.
    NoAck,
    /// The parent has nothing.
    NothingPending,
    /// A frame came, which may have been a repetition or empty.
    Received {
        /// Whether the last one said that more is pending; ask again.
        more: bool,
    },
    /// The parent has something, but it did not come in time.
    TimedOut,
}

/// Where asking for data stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DataRequest {
    Idle,
    /// In the queue or being sent.
    Queued,
    /// The parent has promised a frame.
    Window {
        parent: Address,
        until: Instant,
        /// A frame came, and said that more would.
        received: bool,
    },
    Ended(DataRequestOutcome),
}

impl<S: Sizes> Mac<S> {
    /// Asks `parent` for a frame that it holds for this device. [`Mac::poll_data_request`] tells
    /// how it ended; frames come as indications like all others. The request waits for its turn in
    /// the queue, and no other frame is begun until its answer has come or time is up.
    ///
    /// # Errors
    /// [`QueueFull`] if no slot is free, or the outcome of a request before was not fetched yet.
    pub fn request_data(&mut self, now: Instant, parent: Address) -> Result<(), QueueFull> {
        if self.data_request != DataRequest::Idle {
            return Err(QueueFull);
        }
        // Of the version in which every radio knows a data request.
        let header = self.header(FrameType::Command, parent, true);
        let header = Repr { version: Version::V2006, filling: 0, ..header };
        self.write_slot(Kind::DataRequest, Token(0), &header, |room| {
            room.iter_mut().zip([COMMAND_DATA_REQUEST]).for_each(|(to, from)| *to = from);
            1
        })?;
        self.data_request = DataRequest::Queued;
        self.push_slot(now);
        Ok(())
    }

    /// How the last data request ended: once for each that was accepted.
    pub fn poll_data_request(&mut self, _now: Instant) -> Option<DataRequestOutcome> {
        let DataRequest::Ended(outcome) = self.data_request else { return None };
        self.data_request = DataRequest::Idle;
        Some(outcome)
    }

    /// The data request has had its result at the MAC, with this bit in its acknowledgement.
    pub(crate) fn data_request_sent(
        &mut self,
        now: Instant,
        parent: Address,
        result: Delivery,
        frame_pending: bool,
    ) {
        self.data_request = match (result, frame_pending) {
            (Delivery::Delivered, true) => {
                let until = now + self.config.data_request_timeout;
                DataRequest::Window { parent, until, received: false }
            }
            (Delivery::Delivered, false) => DataRequest::Ended(DataRequestOutcome::NothingPending),
            _ => DataRequest::Ended(DataRequestOutcome::NoAck),
        };
    }

    /// A frame came from `src`, new or not: perhaps the one that is awaited.
    pub(crate) fn data_request_answered(&mut self, now: Instant, src: Address, more: bool) {
        let DataRequest::Window { parent, .. } = self.data_request else {
            return self.promise_while_sampling(now, src, more);
        };
        if src != parent {
            return;
        }
        self.data_request = self.after_answer(now, parent, more);
        self.start_next(now);
    }

    /// What follows a frame of the parent: in a burst another, if it says so.
    pub(crate) fn after_answer(&self, now: Instant, parent: Address, more: bool) -> DataRequest {
        if more && self.config.indirect.burst {
            let until = now + self.config.data_request_timeout;
            return DataRequest::Window { parent, until, received: true };
        }
        DataRequest::Ended(DataRequestOutcome::Received { more })
    }

    /// The window's end, if one is open.
    pub(crate) const fn window_deadline(&self) -> Option<Instant> {
        match self.data_request {
            DataRequest::Window { until, .. } => Some(until),
            _ => None,
        }
    }

    /// Closes the window if its time is up.
    pub(crate) fn handle_window_deadline(&mut self, now: Instant) {
        let DataRequest::Window { until, received, .. } = self.data_request else { return };
        if now >= until {
            let outcome = match received {
                true => DataRequestOutcome::Received { more: true },
                false => DataRequestOutcome::TimedOut,
            };
            self.data_request = DataRequest::Ended(outcome);
            self.start_next(now);
        }
    }

    /// What the radio is to do while nothing is sent. After a transmission it returns to this mode
    /// by itself, so it must be right before the transmission ends: what answers a data request may
    /// come sooner than a radio wakes.
    pub(crate) fn wanted_mode(&self) -> Mode {
        if self.config.rx_on_when_idle {
            return Mode::Listen;
        }
        let asks = self.queue.head().is_some_and(|slot| slot.kind == Kind::DataRequest);
        let in_software = !self.capabilities.contains(Capabilities::ACK_WAIT);
        let listens = self.window_deadline().is_some()
            || self.is_acknowledging()
            || match self.tx {
                TxState::AwaitAck { .. } => true,
                TxState::Submitted => asks || in_software,
                TxState::Idle | TxState::Backoff { .. } | TxState::Ready => false,
            };
        match self.sample_window() {
            _ if listens => Mode::Listen,
            Some((from, until)) => Mode::Sample(from, until),
            None => Mode::Off,
        }
    }
}

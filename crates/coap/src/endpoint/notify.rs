//! Notifications to observers of a resource (RFC 7641).

use super::{Delivery, Endpoint, RequestError, write};
use crate::config::Sizes;
use crate::exchange::{Exchange, State, place};
use crate::message::{Code, Header, Kind, Token, WriteError, Writer};
use core::hash::Hash;
use kinglet_mem::{Array, Held};
use kinglet_time::Instant;

impl<K: Copy + Eq + Hash, S: Sizes> Endpoint<K, S> {
    /// Sends another response to the request of `peer` with this token, with the content that
    /// `build` writes: an Observe option, and the present state of the resource. Only for a peer
    /// whose address is proven ([`Endpoint::is_proven`]). It takes a slot of [`Sizes::Served`]. If
    /// the peer rejects it, or does not acknowledge a confirmable one, [`Endpoint::poll_gone`]
    /// reports that.
    ///
    /// # Errors
    /// [`RequestError`]; nothing is sent.
    pub fn notify(
        &mut self,
        now: Instant,
        (peer, token): (K, Token),
        delivery: Delivery,
        code: Code,
        build: impl FnOnce(&mut Writer<'_>) -> Result<(), WriteError>,
    ) -> Result<(), RequestError> {
        let message_id = self.next_message_id();
        let (kind, state) = match delivery {
            Delivery::Confirmable => (Kind::Confirmable, State::Queued),
            Delivery::NonConfirmable => (Kind::NonConfirmable, State::Ready),
        };
        let free = place(self.served.as_mut_slice());
        let (slot, _) = free.ok_or(RequestError::TableFull)?;
        let header = Header { kind, code, message_id, token };
        let len = write(slot.message.as_mut_slice(), header, build).map_err(RequestError::Write)?;
        let fresh = Exchange::new(now, peer, header);
        let exchange = Exchange { len, state, serves: true, notifies: true, proven: true, ..fresh };
        slot.exchange = Some(Held::This(exchange));
        slot.generation = slot.generation.wrapping_add(1);
        Ok(())
    }

    /// Returns whether a notification waits to be sent or acknowledged: the next one has to wait
    /// for that (RFC 7641 §4.5.2).
    pub fn is_notifying(&self, (peer, token): (K, Token)) -> bool {
        let mut served = self.served.as_slice().iter().filter_map(|slot| slot.exchange.as_deref());
        served.any(|it| {
            let waits = matches!(it.state, State::Queued | State::Ready | State::Unacknowledged);
            it.notifies && waits && it.peer == peer && it.token == token
        })
    }

    /// Returns an observer that has rejected or not acknowledged a notification (RFC 7641 §4.2),
    /// once for each such notification.
    pub fn poll_gone(&mut self) -> Option<(K, Token)> {
        let mut served = self.served.as_mut_slice().iter_mut();
        served.find_map(|slot| {
            let exchange = slot.exchange.as_deref()?;
            let gone = (exchange.peer, exchange.token);
            matches!(exchange.state, State::Failed(_)).then(|| slot.exchange = None)?;
            Some(gone)
        })
    }
}

//! Distribution of the network data: announcement, requests and responses.

use crate::config::Sizes;
use crate::data::Version;
use crate::mesh::Mesh;
use crate::message::{MAX_DATA, Message};
use crate::stats::Discard;
use kinglet_mem::Array;
use kinglet_time::Instant;

impl<S: Sizes> Mesh<S> {
    /// True if the node has room for network data.
    pub(crate) const HAS_DATA: bool = S::Data::LEN > 0;

    /// Announces these octets to all nodes of the mesh, as a border router does. Several border
    /// routers announce the same: of different data each node uses those of the lowest short
    /// address to which there is a route. Returns false if the octets do not fit.
    pub fn announce(&mut self, now: Instant, octets: &[u8]) -> bool {
        let done = octets.len() <= MAX_DATA && self.data.announce(self.config.short, octets);
        self.changed(now, done && self.is_router());
        done
    }

    /// Returns the network data as far as this node has them.
    pub fn data(&self) -> &[u8] {
        self.data.octets()
    }

    /// Handles that the neighbour `from` has this version of the network data.
    pub(crate) fn compare_data(
        &mut self,
        now: Instant,
        from: u16,
        other: Option<Version>,
    ) -> Result<(), Discard> {
        if !Self::HAS_DATA {
            return Ok(());
        }
        if self.is_leaf() {
            match other {
                _ if self.parent() != Some(from) => {}
                Some(other) => self.data.follow_parent(now, other),
                None if self.config.awaits_data => {
                    self.data.miss().into_iter().for_each(|wait| self.attach.report_by(now + wait));
                }
                None => {}
            }
            return Ok(());
        }
        let Some(other) = other else { return Ok(()) };
        if self.data.outdo(other) {
            self.changed(now, true);
        } else if self.replaces_data(other) {
            self.answer(from, Message::DataRequest, None)?;
        }
        Ok(())
    }

    /// Queues the data for the neighbour `to`.
    pub(crate) fn answer_data(&mut self, to: u16) -> Result<(), Discard> {
        let Some(version) = self.data.version() else { return Ok(()) };
        self.answer(to, Message::Data { version, octets: &[] }, None)
    }

    fn replaces_data(&self, other: Version) -> bool {
        self.data.is_replaced_by(other, |source| self.via(source).is_some())
    }

    pub(crate) fn take_data(
        &mut self,
        now: Instant,
        from: u16,
        version: Version,
        octets: &[u8],
    ) -> Result<(), Discard> {
        let wanted = match self.is_leaf() {
            true => self.parent() == Some(from) && self.data.listens(),
            false => self.replaces_data(version),
        };
        if wanted {
            if !self.data.store(version, octets) {
                return Err(Discard::DataTooLong);
            }
            self.changed(now, self.is_router());
        }
        Ok(())
    }

    pub(crate) fn request_data(&mut self, now: Instant) {
        if Self::HAS_DATA
            && self.data.handle_deadline(now)
            && let Some(parent) = self.parent()
        {
            // If the response table is full, the next request suffices.
            let _ = self.answer(parent, Message::DataRequest, None);
        }
    }
}

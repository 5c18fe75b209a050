//! Network data: what a border router announces to every node of the mesh, such as the prefix of
//! its addresses and the 6LoWPAN contexts. The mesh carries the octets and does not read them.
//!
//! Advertisements and responses to leaves carry the [`Version`] of the data. A node that has an
//! older one requests the data from the sender of the version, and advertises it in turn.

use crate::route::OUTSIDE;
use kinglet_mem::Array;
use kinglet_time::{Duration, Instant};

/// Interval of a leaf's requests.
const INTERVAL: Duration = Duration::from_secs(1);
/// Time until a leaf asks a parent again that had no data; it doubles each time.
const WAIT: Duration = Duration::from_secs(4);
/// Doublings of it: two minutes at most.
const DOUBLINGS: u8 = 5;
/// Requests of a leaf in a row. Its next report to the parent starts again.
const ATTEMPTS: u8 = 4;

/// Version of the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Version {
    /// The border router that announces them.
    pub(crate) source: u16,
    /// Serial number, which wraps around.
    pub(crate) serial: u8,
}

impl Version {
    /// Octets on the air.
    pub(crate) const LEN: usize = 3;

    pub(crate) const fn to_octets(self) -> [u8; Self::LEN] {
        let [high, low] = self.source.to_be_bytes();
        [high, low, self.serial]
    }

    pub(crate) fn of([high, low, serial]: [u8; Self::LEN]) -> Option<Self> {
        let source = u16::from_be_bytes([high, low]);
        (source < OUTSIDE).then_some(Version { source, serial })
    }

    /// Returns whether the serial number is newer than that of `other`, modulo 256.
    const fn follows(self, other: Version) -> bool {
        let ahead = self.serial.wrapping_sub(other.serial);
        ahead != 0 && ahead < 0x80
    }
}

/// A leaf's next request for the data.
#[derive(Clone, Copy)]
struct Request {
    at: Instant,
    left: u8,
}

/// The data as far as this node has them; `T` has room for their octets.
pub(crate) struct Data<T> {
    octets: T,
    len: usize,
    version: Option<Version>,
    /// True if this node announces data of its own.
    is_source: bool,
    /// True if the node was not notified of the present data.
    is_new: bool,
    request: Option<Request>,
    /// Times that the parent had no data.
    waits: u8,
}

impl<T: Array<u8>> Data<T> {
    pub(crate) const NONE: Self = Data {
        octets: T::EMPTY,
        len: 0,
        version: None,
        is_source: false,
        is_new: false,
        request: None,
        waits: 0,
    };

    pub(crate) const fn version(&self) -> Option<Version> {
        self.version
    }

    pub(crate) fn octets(&self) -> &[u8] {
        self.octets.as_slice().get(..self.len).unwrap_or_default()
    }

    /// Announces these data from `own` on. Returns false if they do not fit.
    pub(crate) fn announce(&mut self, own: u16, octets: &[u8]) -> bool {
        let serial = match self.version {
            Some(version) if version.source == own => version.serial.wrapping_add(1),
            _ => 0,
        };
        let stored = self.store(Version { source: own, serial }, octets);
        self.is_source |= stored;
        stored
    }

    /// Handles the version that a neighbour has. A source that restarted, and finds data of its
    /// former life, announces its own as newer. Returns whether it did.
    pub(crate) fn outdo(&mut self, other: Version) -> bool {
        let Some(own) = self.version.filter(|_| self.is_source) else { return false };
        let former = other.source == own.source && other.follows(own);
        if former {
            let serial = other.serial.wrapping_add(1);
            self.version = Some(Version { serial, ..own });
        }
        former
    }

    /// Returns whether `other` replaces the present version: it is newer, or of a source with a
    /// lower address, or this node has no route to the present source. `has_route` states that of
    /// an address.
    pub(crate) fn is_replaced_by(
        &self,
        other: Version,
        has_route: impl FnOnce(u16) -> bool,
    ) -> bool {
        let Some(own) = self.version else { return true };
        !self.is_source
            && match own.source == other.source {
                true => other.follows(own),
                false => other.source < own.source || !has_route(own.source),
            }
    }

    /// Stores data of another node. Returns false if they do not fit.
    pub(crate) fn store(&mut self, version: Version, octets: &[u8]) -> bool {
        let Some(room) = self.octets.as_mut_slice().get_mut(..octets.len()) else { return false };
        kinglet_mem::copy(room, octets);
        (self.len, self.version) = (octets.len(), Some(version));
        (self.is_new, self.request, self.waits) = (true, None, 0);
        true
    }

    /// Returns whether the data are new since the last call.
    pub(crate) fn poll_change(&mut self) -> bool {
        core::mem::take(&mut self.is_new)
    }

    /// Handles that a leaf's parent has this version: the leaf requests it if it has another one.
    pub(crate) fn follow_parent(&mut self, now: Instant, version: Version) {
        if self.version != Some(version) && self.request.is_none() {
            self.request = Some(Request { at: now, left: ATTEMPTS });
        }
    }

    /// Handles that a leaf's parent has no data. Returns the wait until the leaf asks again; `None`
    /// if it has data.
    pub(crate) fn miss(&mut self) -> Option<Duration> {
        let wait = WAIT * (1 << self.waits.min(DOUBLINGS));
        self.waits = self.waits.saturating_add(1);
        self.version.is_none().then_some(wait)
    }

    /// Returns the time of a leaf's next request, or of the end of its wait.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.request.map(|request| request.at)
    }

    /// Returns whether a request is due.
    pub(crate) fn handle_deadline(&mut self, now: Instant) -> bool {
        let Some(request) = self.request.filter(|request| request.at <= now) else { return false };
        let left = request.left.checked_sub(1);
        self.request = left.map(|left| Request { at: now + INTERVAL, left });
        left.is_some()
    }

    /// Returns whether a leaf awaits the data.
    pub(crate) const fn listens(&self) -> bool {
        self.request.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn version(source: u16, serial: u8) -> Version {
        Version { source, serial }
    }

    fn having(version: Version) -> Data<[u8; 8]> {
        let mut data = Data::NONE;
        assert!(data.store(version, &[1, 2, 3]));
        data
    }

    #[test]
    fn a_newer_serial_or_a_lower_source_replaces_the_data() {
        let data = having(version(5, 250));
        let replaced = |other: Version| data.is_replaced_by(other, |_| true);
        assert!(replaced(version(5, 251)) && replaced(version(5, 2)));
        assert!(!replaced(version(5, 250)) && !replaced(version(5, 249)));
        // Half of the numbers are newer.
        assert!(replaced(version(5, 121)) && !replaced(version(5, 122)));
        assert!(replaced(version(4, 0)) && !replaced(version(6, 255)));
        assert!(data.is_replaced_by(version(6, 0), |source| source != 5));
        assert!(!data.is_replaced_by(version(5, 249), |_| false));
        assert!(Data::<[u8; 8]>::NONE.is_replaced_by(version(9, 0), |_| false));
    }

    #[test]
    fn a_source_keeps_its_data_and_outdoes_its_former_life() {
        let mut data: Data<[u8; 8]> = Data::NONE;
        assert!(data.announce(5, &[1]) && data.announce(5, &[2]));
        assert_eq!((data.version(), data.octets()), (Some(version(5, 1)), &[2][..]));
        assert!(!data.is_replaced_by(version(4, 0), |_| true));
        assert!(!data.is_replaced_by(version(5, 9), |_| true));
        assert!(!data.outdo(version(5, 1)) && !data.outdo(version(4, 9)));
        assert!(!data.outdo(version(5, 0)), "older");
        assert!(data.outdo(version(5, 9)));
        assert_eq!((data.version(), data.octets()), (Some(version(5, 10)), &[2][..]));
        assert!(!having(version(5, 0)).outdo(version(5, 9)), "not a source");
    }

    #[test]
    fn data_that_do_not_fit_change_nothing() {
        let mut data = having(version(5, 0));
        assert!(data.poll_change() && !data.poll_change());
        assert!(!data.store(version(5, 1), &[0; 9]) && !data.announce(5, &[0; 9]));
        assert_eq!((data.version(), data.octets()), (Some(version(5, 0)), &[1, 2, 3][..]));
        assert!(!data.poll_change());
        assert!(data.store(version(5, 1), &[0; 8]));
    }

    #[test]
    fn a_leaf_requests_what_its_parent_has_four_times() {
        let mut data = having(version(5, 3));
        let mut now = Instant::from_secs(1);
        data.follow_parent(now, version(5, 3));
        assert!(!data.listens() && data.deadline().is_none());
        // A parent that is behind decides all the same.
        data.follow_parent(now, version(5, 2));
        let mut requests = 0;
        while let Some(at) = data.deadline() {
            assert!(data.listens());
            if at > now {
                assert!(!data.handle_deadline(now));
            }
            now = at;
            requests += usize::from(data.handle_deadline(now));
            // A repeated response of the parent does not prolong the wait.
            if data.listens() {
                data.follow_parent(now, version(5, 2));
            }
            assert!(requests <= 4);
        }
        assert_eq!((requests, now), (4, Instant::from_secs(5)));
        assert!(!data.listens());
        data.follow_parent(now, version(5, 2));
        assert!(data.store(version(5, 2), &[4]) && !data.listens());
    }

    #[test]
    fn a_leaf_without_data_asks_after_growing_waits() {
        let mut data: Data<[u8; 8]> = Data::NONE;
        let waits: [_; 7] = core::array::from_fn(|_| data.miss().unwrap().as_millis() / 1000);
        assert_eq!(waits, [4, 8, 16, 32, 64, 128, 128]);
        assert!(data.store(version(5, 0), &[1]));
        assert_eq!(data.miss(), None);
    }

    #[test]
    fn a_version_survives_the_air_and_has_a_router_as_its_source() {
        let this = version(0xFFFD, 0x80);
        assert_eq!(Version::of(this.to_octets()), Some(this));
        assert_eq!(Version::of([0xFF, 0xFE, 0]), None);
    }
}

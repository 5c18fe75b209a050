//! Neighbour table.

use crate::duplicates::LastFrame;
use kinglet_mem::{Array, Claim, Empty, slot_for_new};
use kinglet_time::Instant;
use kinglet_wire::ieee802154::Address;

/// Quality of the link to one neighbour. All averages give the newest sample a weight of 1/8, as
/// RFC 6298 does for the round-trip time; the first sample is the initial average.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Link {
    etx_x128: Option<u16>,
    rssi_x16: Option<i16>,
    lqi_x16: u16,
    /// Transmissions of lost frames since the neighbour's last acknowledgement or frame.
    unanswered: u8,
    /// Frames to it that requested an acknowledgement and got one.
    pub delivered: u32,
    /// Frames to it that requested an acknowledgement and got none after all retries.
    pub lost: u32,
    /// Transmissions of frames that requested an acknowledgement.
    pub transmissions: u32,
    /// Frames from it, repetitions included.
    pub received: u32,
    /// Repetitions from it.
    pub duplicates: u32,
}

impl Link {
    const NONE: Link = Link {
        etx_x128: None,
        rssi_x16: None,
        lqi_x16: 0,
        unanswered: 0,
        delivered: 0,
        lost: 0,
        transmissions: 0,
        received: 0,
        duplicates: 0,
    };

    /// Returns the expected number of transmissions until a frame is acknowledged, times 128 (the
    /// unit of RFC 6551 §4.3.2); `None` before the first frame was sent.
    pub const fn etx_x128(&self) -> Option<u16> {
        self.etx_x128
    }

    /// Returns the average signal strength in dBm; `None` before the first frame was received.
    pub fn rssi_dbm(&self) -> Option<i8> {
        let rssi = self.rssi_x16?.div_euclid(16);
        i8::try_from(rssi).ok()
    }

    /// Returns the average link quality indication; `None` before the first frame was received.
    pub fn lqi(&self) -> Option<u8> {
        self.rssi_x16?;
        u8::try_from(self.lqi_x16 >> 4).ok()
    }

    /// Returns whether the neighbour is silent: 96 transmissions in a row were not acknowledged,
    /// and no frame from it was received since.
    pub const fn is_silent(&self) -> bool {
        self.unanswered >= SILENT
    }

    fn sent(&mut self, transmissions: u8, acknowledged: bool) {
        let was_silent = self.is_silent();
        self.unanswered =
            if acknowledged { 0 } else { self.unanswered.saturating_add(transmissions) };
        let counter = if acknowledged { &mut self.delivered } else { &mut self.lost };
        *counter = counter.saturating_add(1);
        self.transmissions = self.transmissions.saturating_add(u32::from(transmissions));
        // The few attempts for a silent neighbour are not a measurement.
        if was_silent && !acknowledged {
            return;
        }
        // An upper layer has to send a lost frame again from the start: the frame counts twice its
        // transmissions. (Any finite factor is a choice; RFC 6551 gives none.)
        let cost = if acknowledged { 1u16 } else { 2 };
        let sample = u16::from(transmissions).saturating_mul(128).saturating_mul(cost);
        let average = match self.etx_x128 {
            None => i32::from(sample),
            Some(old) => towards(i32::from(old), i32::from(sample)),
        };
        self.etx_x128 = Some(u16::try_from(average).unwrap_or(u16::MAX));
    }

    fn heard(&mut self, rssi_dbm: i8, lqi: u8) {
        self.unanswered = 0;
        self.received = self.received.saturating_add(1);
        let rssi = i32::from(rssi_dbm).saturating_mul(16);
        let lqi = i32::from(lqi).saturating_mul(16);
        let (rssi, lqi) = match self.rssi_x16 {
            None => (rssi, lqi),
            Some(old) => (towards(i32::from(old), rssi), towards(i32::from(self.lqi_x16), lqi)),
        };
        self.rssi_x16 = i16::try_from(rssi).ok();
        self.lqi_x16 = u16::try_from(lqi).unwrap_or(u16::MAX);
    }
}

/// Number of unacknowledged transmissions in a row, without a received frame in between, after
/// which a neighbour counts as silent: six frames of sixteen attempts. RPL and the mesh abandon a
/// link earlier.
const SILENT: u8 = 96;

/// Returns `old`, moved towards `sample` by an eighth of their distance.
const fn towards(old: i32, sample: i32) -> i32 {
    old.saturating_add(sample.saturating_sub(old) / 8)
}

/// Entry of one neighbour.
pub struct Neighbour {
    address: Address,
    last_used: Instant,
    link: Link,
    pub(crate) last_frame: LastFrame,
}

impl Empty for Neighbour {
    const EMPTY: Self = Neighbour {
        address: Address::None,
        last_used: Instant::ZERO,
        link: Link::NONE,
        last_frame: LastFrame::NONE,
    };
}

/// The neighbour table. A new neighbour replaces the least recently used.
pub(crate) struct Neighbours<A: Array<Neighbour>>(A);

impl<A: Array<Neighbour>> Neighbours<A> {
    pub(crate) const fn new() -> Self {
        Neighbours(A::EMPTY)
    }

    pub(crate) fn link(&self, address: Address) -> Option<&Link> {
        let known = self.0.as_slice().iter().find(|neighbour| neighbour.address == address)?;
        (!address.is_empty()).then_some(&known.link)
    }

    /// Records the result of a frame that requested an acknowledgement, and returns the link.
    pub(crate) fn sent(
        &mut self,
        now: Instant,
        to: Address,
        transmissions: u8,
        acked: bool,
    ) -> Option<&Link> {
        let neighbour = self.entry(now, to)?;
        neighbour.link.sent(transmissions, acked);
        Some(&neighbour.link)
    }

    /// Returns the entry of a neighbour, if there is one.
    pub(crate) fn find(&mut self, address: Address) -> Option<&mut Neighbour> {
        let table = self.0.as_mut_slice();
        table.iter_mut().find(|neighbour| neighbour.address == address)
    }

    /// Records a received frame, and returns the entry of its source.
    pub(crate) fn heard(
        &mut self,
        now: Instant,
        from: Address,
        rssi_dbm: i8,
        lqi: u8,
    ) -> Option<&mut Neighbour> {
        let neighbour = self.entry(now, from)?;
        neighbour.link.heard(rssi_dbm, lqi);
        Some(neighbour)
    }

    /// Returns the entry of the neighbour with this address; a new one replaces the least recently
    /// used. At most two passes over the table.
    fn entry(&mut self, now: Instant, address: Address) -> Option<&mut Neighbour> {
        let table = self.0.as_mut_slice();
        let known = table.iter().position(|neighbour| neighbour.address == address);
        let index = match known {
            Some(index) => index,
            None => slot_for_new(table, |neighbour| match neighbour.address.is_empty() {
                true => Claim::Free,
                false => Claim::Idle(neighbour.last_used),
            })?,
        };
        let neighbour = table.get_mut(index)?;
        if known.is_none() {
            neighbour.address = address;
            neighbour.link = Link::NONE;
            neighbour.last_frame = LastFrame::NONE;
        }
        neighbour.last_used = now;
        Some(neighbour)
    }
}

impl Neighbour {
    pub(crate) fn count_duplicate(&mut self) {
        self.link.duplicates = self.link.duplicates.saturating_add(1);
    }
}

//! Receiving: the address filter of IEEE 802.15.4-2015, 6.7.2, duplicate rejection, indication.

use crate::csl::Heard;
use crate::mac::{Mac, Sizes};
use crate::stats::count;
use core::ops::Range;
use kinglet_radio::Capabilities;
use kinglet_time::Instant;
use kinglet_wire::Error;
use kinglet_wire::ieee802154::{Address, COMMAND_DATA_REQUEST, Frame, FrameType, PanId};

/// What came for this device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Indication {
    /// A data frame.
    Data {
        /// Who sent it; [`Address::None`] if the frame does not say (the PAN coordinator then).
        src: Address,
        /// To whom: one of this device's addresses, or broadcast.
        dst: Address,
        /// Where the payload lies in the frame that was passed in.
        payload: Range<usize>,
        /// Signal strength in dBm.
        rssi_dbm: i8,
        /// Link quality indication, 0 (worst) to 255.
        lqi: u8,
    },
    /// A neighbour that sleeps listens now, for a short time: send what is pending for it, as
    /// [`Class::Indirect`](crate::Class::Indirect). A request whose acknowledgement was lost comes
    /// again, and then its window begins again.
    DataRequest {
        /// Who asks.
        src: Address,
        /// Signal strength in dBm.
        rssi_dbm: i8,
        /// Link quality indication, 0 (worst) to 255.
        lqi: u8,
    },
}

/// Why a frame or event was discarded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Discard {
    /// The header is malformed or of a kind that is not supported.
    Malformed(Error),
    /// An acknowledgement that nobody awaits.
    UnawaitedAck,
    /// For another PAN or another device.
    OtherDestination,
    /// From an address that no other device can have: this device's, or broadcast.
    BadSource,
    /// Secured, but not at the level or with the key that this device has, or it has none.
    Secured,
    /// Not secured, although this device has a key.
    Unsecured,
    /// The message integrity code is wrong: damaged, forged or secured with another key.
    BadMic,
    /// Secured, and older than the last frame of the same source.
    Replay,
    /// A beacon, or a MAC command other than a data request.
    NotData,
    /// A repetition of the frame before it.
    Duplicate,
    /// An event that fits no command that was submitted.
    UnexpectedEvent,
}

impl<S: Sizes> Mac<S> {
    pub(crate) fn handle_received(
        &mut self,
        now: Instant,
        sfd: Instant,
        octets: &mut [u8],
        rssi_dbm: i8,
        lqi: u8,
    ) -> Result<Option<Indication>, Discard> {
        let result = self.receive(now, sfd, octets, rssi_dbm, lqi);
        count(match &result {
            Ok(None) => return result,
            Ok(Some(Indication::DataRequest { .. })) => &mut self.stats.data_requests,
            Ok(Some(Indication::Data { .. })) => &mut self.stats.received,
            Err(Discard::Malformed(_)) => &mut self.stats.discarded_malformed,
            Err(Discard::UnawaitedAck) => &mut self.stats.discarded_ack,
            Err(Discard::OtherDestination) => &mut self.stats.discarded_other_destination,
            Err(Discard::BadSource) => &mut self.stats.discarded_bad_source,
            Err(Discard::Secured) => &mut self.stats.discarded_secured,
            Err(Discard::Unsecured) => &mut self.stats.discarded_unsecured,
            Err(Discard::BadMic) => &mut self.stats.discarded_mic,
            Err(Discard::Replay) => &mut self.stats.discarded_replay,
            Err(Discard::NotData) => &mut self.stats.discarded_not_data,
            Err(Discard::Duplicate) => &mut self.stats.discarded_duplicate,
            Err(Discard::UnexpectedEvent) => &mut self.stats.unexpected_events,
        });
        result
    }

    fn receive(
        &mut self,
        now: Instant,
        sfd: Instant,
        octets: &mut [u8],
        rssi_dbm: i8,
        lqi: u8,
    ) -> Result<Option<Indication>, Discard> {
        let frame = Frame::parse(octets).map_err(Discard::Malformed)?;
        if frame.frame_type() == FrameType::Ack {
            let pending = frame.frame_pending();
            let awaited = frame.sequence().is_some_and(|n| self.handle_ack(now, sfd, n, pending));
            return if awaited { Ok(None) } else { Err(Discard::UnawaitedAck) };
        }
        // A radio with a filter of its own may be promiscuous, or filter less than this.
        self.filter_frame(&frame)?;
        let in_software = !self.capabilities.contains(Capabilities::AUTO_ACK);
        if let Some(sequence) = frame.sequence().filter(|_| in_software && wants_ack(&frame)) {
            let pending = is_data_request(&frame) && self.is_pending(frame.src());
            self.owe_ack(sfd, octets.len(), sequence, pending);
        }
        let (src, dst, sequence) = (frame.src(), frame.dst(), frame.sequence());
        let (frame_type, mut payload) = (frame.frame_type(), frame.payload_range());
        let (asks, more) = (is_data_request(&frame), frame.frame_pending());
        let heard = Heard::of(&frame);
        let (sealed, seen) = match self.check_security(&frame) {
            Err(Discard::Duplicate) => (None, true),
            checked => (checked?, false),
        };
        if let Some(sealed) = &sealed {
            payload.end = self.open(octets, sealed)?;
        }
        let counter = sealed.map(|sealed| sealed.counter);
        let known = frame_type == FrameType::Data || asks || counter.is_some();
        let repeated = seen
            || src.is_unicast()
                && known
                && self.reject_duplicate(now, src, sequence, counter, rssi_dbm, lqi).is_err();
        if frame_type == FrameType::Data && dst.is_unicast() {
            self.learn_samples(now, sfd, &heard);
            self.learn_drift(sfd, src);
            self.data_request_answered(now, src, more);
        }
        match frame_type {
            // What the repetition of a data request asks for is still wanted.
            _ if asks => {
                self.answer_in_vain(now, src);
                Ok(Some(Indication::DataRequest { src, rssi_dbm, lqi }))
            }
            _ if repeated => Err(Discard::Duplicate),
            FrameType::Data if payload.is_empty() => {
                count(&mut self.stats.received_empty);
                Ok(None)
            }
            FrameType::Data => Ok(Some(Indication::Data { src, dst, payload, rssi_dbm, lqi })),
            _ => Err(Discard::NotData),
        }
    }

    /// The third level of filtering, for a device that is not PAN coordinator. Beacons pass, which
    /// have no destination in the older versions.
    fn filter_frame(&self, frame: &Frame<'_>) -> Result<(), Discard> {
        let own_pan = |pan| pan == PanId::BROADCAST || pan == self.config.pan_id;
        let for_us = match frame.dst() {
            Address::None => frame.frame_type() == FrameType::Beacon,
            dst => dst.is_broadcast() || self.is_own(dst),
        };
        if !for_us || !frame.dst_pan().is_none_or(own_pan) {
            return Err(Discard::OtherDestination);
        }
        let src = frame.src();
        if self.is_own(src) || !(src.is_empty() || src.is_unicast()) {
            return Err(Discard::BadSource);
        }
        Ok(())
    }

    fn is_own(&self, address: Address) -> bool {
        address.is_unicast()
            && (address == Address::Short(self.config.short)
                || address == Address::Extended(self.config.extended))
    }

    fn reject_duplicate(
        &mut self,
        now: Instant,
        src: Address,
        sequence: Option<u8>,
        counter: Option<u32>,
        rssi_dbm: i8,
        lqi: u8,
    ) -> Result<(), Discard> {
        let lifetime = self.config.duplicate_lifetime;
        let Some(neighbour) = self.neighbours.heard(now, src, rssi_dbm, lqi) else {
            return Ok(());
        };
        // A secured frame with the counter of another did not get here.
        if let Some(counter) = counter {
            neighbour.next_counter = counter.saturating_add(1);
            return Ok(());
        }
        // A frame without a sequence number cannot be recognised again.
        let Some(sequence) = sequence else {
            return Ok(());
        };
        if neighbour.last_sequence.repeats(now, sequence, lifetime) {
            neighbour.count_duplicate();
            return Err(Discard::Duplicate);
        }
        Ok(())
    }
}

/// Whether the frame is a data request to one device by one that can be answered, 7.5.5.
fn is_data_request(frame: &Frame<'_>) -> bool {
    frame.frame_type() == FrameType::Command
        && frame.payload().first() == Some(&COMMAND_DATA_REQUEST)
        && frame.src().is_unicast()
        && frame.dst().is_unicast()
}

/// Whether the frame is owed an acknowledgement, 6.7.4.2: it asks for one and has one recipient.
fn wants_ack(frame: &Frame<'_>) -> bool {
    let kind = matches!(frame.frame_type(), FrameType::Data | FrameType::Command);
    kind && frame.ack_request() && frame.dst().is_unicast()
}

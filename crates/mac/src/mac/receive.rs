//! Reception: the address filter of IEEE 802.15.4-2015, 6.7.2, duplicate rejection, indication.

use super::{Mac, Sizes};
use crate::config::MAX_RETRIES;
use crate::delivery_method::DeliveryMethod;
use crate::level::Sealed;
use crate::listening::{FromParent, Listening};
use crate::plain::Plain;
use crate::queue::TxState;
use crate::security::LinkSecurity;
use crate::stats::{Discard, count};
use crate::wake::ANSWER;
use core::ops::Range;
use kinglet_radio::Capabilities;
use kinglet_time::{Duration, Instant};
use kinglet_wire::ieee802154::{Address, COMMAND_DATA_REQUEST, Csl, Frame, FrameType, PanId};

/// Time in which a strobed frame may be repeated: the longest back-off is eight seconds, and a
/// neighbour that is blocked may need several.
const STROBED_LIFETIME: Duration = Duration::from_secs(120);

/// A frame for this device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Indication {
    /// A data frame.
    Data {
        /// Its source; [`Address::None`] if the frame has none (the PAN coordinator then).
        src: Address,
        /// Its destination: one of this device's addresses, or broadcast.
        dst: Address,
        /// Position of the payload in the frame that was passed in.
        payload: Range<usize>,
        /// Signal strength in dBm.
        rssi_dbm: i8,
        /// Link quality indication, 0 (worst) to 255.
        lqi: u8,
    },
    /// A sleepy neighbour listens now, for a short time: its pending frame is to be sent, as
    /// [`Class::Indirect`](crate::Class::Indirect). A request whose acknowledgement was lost is
    /// repeated, and its window begins again; but a repetition may also be a recording of another
    /// device.
    DataRequest {
        /// Source of the request.
        src: Address,
        /// Signal strength in dBm.
        rssi_dbm: i8,
        /// Link quality indication, 0 (worst) to 255.
        lqi: u8,
        /// True if the same request was received before: it is neither evidence of the neighbour's
        /// presence, nor another attempt.
        repeated: bool,
    },
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
        // The awaited frame has been received, though it is discarded.
        if S::Listening::WAKES
            && matches!(&result, Err(reason) if *reason != Discard::Duplicate)
            && self.listening.handle_broadcast(now)
        {
            self.start_next(now);
        }
        match &result {
            Ok(None) => {}
            Ok(Some(Indication::DataRequest { .. })) => count(&mut self.stats.data_requests),
            Ok(Some(Indication::Data { .. })) => count(&mut self.stats.received),
            Err(reason) => self.stats.discard(*reason),
        }
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
        let (mut heard, sealed) = match self.plain(octets, rssi_dbm, lqi) {
            Some(heard) => {
                let secured = S::Security::is_on(&self.key);
                (heard, if secured { Plain::sealed(octets) } else { None })
            }
            None => match self.parse(now, sfd, octets, rssi_dbm, lqi)? {
                Some(parsed) => parsed,
                None => return Ok(None),
            },
        };
        let mut seen = None;
        // The first condition lets the compiler omit decryption if nothing is ever secured.
        if S::Security::is_on(&self.key)
            && let Some(sealed) = sealed
        {
            let (end, before) = self.open(heard.src, octets, sealed)?;
            heard.payload.end = end;
            seen = Some(before);
        }
        let mut seen = self.note_sender(now, &heard, seen)?;
        if S::Listening::SLEEPS && seen == Seen::New && self.takes_again(&heard, octets) {
            seen = Seen::Repeated;
        }
        self.take(now, sfd, octets.len(), &heard, seen)
    }

    fn takes_again(&mut self, heard: &Heard, octets: &[u8]) -> bool {
        let payload = octets.get(heard.payload.clone()).unwrap_or_default();
        let may_repeat = !self.config.rx_on_when_idle;
        let for_this = may_repeat && heard.frame_type == FrameType::Data && heard.dst.is_unicast();
        for_this
            && !payload.is_empty()
            && heard.sequence.is_some_and(|it| self.listening.takes_again(heard.src, it, payload))
    }

    /// Parses a frame of any kind; `None` if it was an awaited acknowledgement. With link security,
    /// the frame counter identifies repetitions.
    fn parse(
        &mut self,
        now: Instant,
        sfd: Instant,
        octets: &[u8],
        rssi_dbm: i8,
        lqi: u8,
    ) -> Result<Option<(Heard, Option<Sealed>)>, Discard> {
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
            let pending = is_data_request(&frame) && self.delivery_method.is_pending(frame.src());
            self.owe_ack(sfd, octets.len(), sequence, pending);
        }
        let sealed = self.security.check(&self.key, &frame)?;
        Ok(Some((Heard::of(&frame, rssi_dbm, lqi), sealed)))
    }

    /// Parses the most frequent kind of frame: data for the short address of this device, from
    /// another one in its PAN, which the radio has acknowledged. Other frames, and doubtful ones,
    /// are for [`Mac::parse`], which gives the same result for these. A secured one must have the
    /// fields that decryption needs.
    pub(crate) fn plain(&self, octets: &[u8], rssi_dbm: i8, lqi: u8) -> Option<Heard> {
        let secured = S::Security::is_on(&self.key);
        let plain = Plain::read(octets, secured)?;
        let Plain { src, dst, .. } = plain;
        let ours = plain.pan_id == self.config.pan_id && dst == self.config.short;
        let usual = self.capabilities.contains(Capabilities::AUTO_ACK)
            && Address::Short(dst).is_unicast()
            && Address::Short(src).is_unicast()
            && (!secured || Plain::sealed(octets).is_some());
        let start = if secured { Plain::SECURED_LEN } else { Plain::LEN };
        let heard = Heard {
            src: Address::Short(src),
            csl: None,
            dst: Address::Short(dst),
            frame_type: FrameType::Data,
            sequence: Some(plain.sequence),
            payload: start..octets.len(),
            asks: false,
            more: plain.pending,
            rssi_dbm,
            lqi,
        };
        (ours && usual && src != dst).then_some(heard)
    }

    /// Processes a frame that has passed the checks.
    fn take(
        &mut self,
        now: Instant,
        sfd: Instant,
        len: usize,
        heard: &Heard,
        seen: Seen,
    ) -> Result<Option<Indication>, Discard> {
        let &Heard { ref src, ref dst, frame_type, rssi_dbm, lqi, .. } = heard;
        if frame_type == FrameType::Data && dst.is_unicast() {
            // The schedule and clock drift of a neighbour depend on the transmission time, which a
            // copy does not show.
            let copied = seen == Seen::Copied;
            if let Some(csl) = heard.csl.filter(|_| !copied) {
                self.delivery_method.handle_samples(now, self.capabilities, *src, sfd, csl);
            }
            let may_send = self.tx == TxState::Idle;
            let (src, more) = (*src, heard.more);
            let frame = FromParent { src, sfd, len, more, may_send, copied };
            let ended = frame.ended();
            let is_over = self.listening.handle_frame(now, &self.config, &frame);
            if S::DeliveryMethod::STROBES && self.listening.may_answer() {
                let channel = self.listens_on();
                self.delivery_method.handle_listener(src, channel, ended + ANSWER);
            }
            if is_over {
                self.start_next(now);
            }
        } else if S::Listening::WAKES && self.listening.handle_broadcast(now) {
            self.start_next(now);
        }
        match frame_type {
            // A repeated data request still needs a response.
            _ if heard.asks => {
                self.handle_data_request(now, *src);
                let repeated = seen != Seen::New;
                Ok(Some(Indication::DataRequest { src: *src, rssi_dbm, lqi, repeated }))
            }
            _ if seen != Seen::New => Err(Discard::Duplicate),
            FrameType::Data if heard.payload.is_empty() => {
                count(&mut self.stats.received_empty);
                Ok(None)
            }
            FrameType::Data => {
                let payload = heard.payload.clone();
                Ok(Some(Indication::Data { src: *src, dst: *dst, payload, rssi_dbm, lqi }))
            }
            _ => Err(Discard::NotData),
        }
    }

    /// The third level of filtering, for a device that is not PAN coordinator. Beacons pass; in the
    /// older versions they have no destination.
    pub(crate) fn filter_frame(&self, frame: &Frame<'_>) -> Result<(), Discard> {
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

    /// Updates the sender's entry, and compares the frame with the sender's last one. With link
    /// security, `seen` holds the result of the frame counter; else the sequence number decides.
    fn note_sender(
        &mut self,
        now: Instant,
        heard: &Heard,
        seen: Option<bool>,
    ) -> Result<Seen, Discard> {
        let known = heard.frame_type == FrameType::Data || heard.asks || seen.is_some();
        if !heard.src.is_unicast() || !known {
            return Ok(Seen::New);
        }
        // If each recipient has its own sequence, the same number returns after 256 frames.
        let lifetime = match self.strobes() {
            true => STROBED_LIFETIME,
            false => self.config.duplicate_lifetime,
        };
        if seen == Some(true) {
            return self.note_copy(now, heard, lifetime);
        }
        let (src, rssi_dbm, lqi) = (heard.src, heard.rssi_dbm, heard.lqi);
        self.delivery_method.handle_heard(now, src);
        let Some(neighbour) = self.neighbours.heard(now, src, rssi_dbm, lqi) else {
            return Ok(Seen::New);
        };
        // A repetition without a sequence number cannot be recognised.
        let Some(sequence) = heard.sequence else { return Ok(Seen::New) };
        if seen.is_none() && neighbour.last_frame.is_repeated(now, sequence, lifetime) {
            neighbour.count_duplicate();
            return Ok(Seen::Repeated);
        }
        neighbour.last_frame.note(now, sequence);
        Ok(Seen::New)
    }

    /// Handles a secured frame with the counter of the previous one: its sender has repeated it, or
    /// another device has recorded it. It counts as repeated only for the time in which, and as
    /// often as, its sender can repeat it, and is no evidence about the link or the time of
    /// transmission.
    fn note_copy(
        &mut self,
        now: Instant,
        heard: &Heard,
        lifetime: Duration,
    ) -> Result<Seen, Discard> {
        // Strobes are repeated until their recipient has woken, without a limit of attempts.
        let most = if self.strobes() { u8::MAX } else { MAX_RETRIES };
        let neighbour = self.neighbours.find(heard.src).ok_or(Discard::Replay)?;
        let last = &mut neighbour.last_frame;
        let recent = heard.sequence.is_some_and(|it| last.is_repeated(now, it, lifetime));
        if !recent || !last.count_repetition(most) {
            return Err(Discard::Replay);
        }
        neighbour.count_duplicate();
        Ok(Seen::Copied)
    }
}

/// Relation of a frame to its sender's last one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Seen {
    /// A different frame.
    New,
    /// The same frame by its sequence number, repeated by its sender.
    Repeated,
    /// The same frame by its counter: octet for octet the previous one.
    Copied,
}

/// The fields of a frame that are needed after its decryption in place.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Heard {
    pub(crate) src: Address,
    pub(crate) csl: Option<Csl>,
    dst: Address,
    frame_type: FrameType,
    sequence: Option<u8>,
    payload: Range<usize>,
    /// True for a data request.
    asks: bool,
    /// The frame-pending bit.
    more: bool,
    rssi_dbm: i8,
    lqi: u8,
}

impl Heard {
    pub(crate) fn of(frame: &Frame<'_>, rssi_dbm: i8, lqi: u8) -> Self {
        Heard {
            src: frame.src(),
            csl: frame.csl(),
            dst: frame.dst(),
            frame_type: frame.frame_type(),
            sequence: frame.sequence(),
            payload: frame.payload_range(),
            asks: is_data_request(frame),
            more: frame.frame_pending(),
            rssi_dbm,
            lqi,
        }
    }
}

/// Returns whether the frame is a data request with unicast source and destination, 7.5.5.
fn is_data_request(frame: &Frame<'_>) -> bool {
    frame.frame_type() == FrameType::Command
        && frame.payload().first() == Some(&COMMAND_DATA_REQUEST)
        && frame.src().is_unicast()
        && frame.dst().is_unicast()
}

/// Returns whether the frame needs an acknowledgement, 6.7.4.2: it requests one and is unicast.
fn wants_ack(frame: &Frame<'_>) -> bool {
    let kind = matches!(frame.frame_type(), FrameType::Data | FrameType::Command);
    kind && frame.ack_request() && frame.dst().is_unicast()
}

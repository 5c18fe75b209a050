//! The air around one chip: frames and interference that arrive, and what the chip sends.

use kinglet_wire::ieee802154::fcs;

/// Preamble and SFD on the air, in microseconds (IEEE 802.15.4-2015, 12.1: 10 symbols).
pub(crate) const SHR_US: u64 = 160;
/// One octet at 250 kb/s.
pub(crate) const OCTET_US: u64 = 32;
/// aTurnaroundTime.
pub(crate) const TURNAROUND_US: u64 = 192;
/// Signal above interference below which a frame is lost: 4 dB (decision 21).
const CAPTURE_DB: i16 = 4;

/// A frame in transit to the chip.
#[derive(Clone, Debug)]
pub(crate) struct Signal {
    /// Start of its preamble.
    pub(crate) preamble_at: u64,
    pub(crate) channel: u8,
    /// FCS included.
    pub(crate) psdu: Vec<u8>,
    pub(crate) rssi_dbm: i8,
}

impl Signal {
    pub(crate) fn sfd_at(&self) -> u64 {
        self.preamble_at + SHR_US
    }

    /// Returns the time at which the PHR and `octets` of the PSDU have been received.
    pub(crate) fn after(&self, octets: usize) -> u64 {
        self.sfd_at() + OCTET_US * (1 + octets as u64)
    }

    pub(crate) fn end(&self) -> u64 {
        self.after(self.psdu.len())
    }
}

/// Energy on a channel that carries no frame.
#[derive(Clone, Copy, Debug)]
struct Noise {
    channel: u8,
    from: u64,
    until: u64,
    dbm: i8,
}

/// A frame that the chip has put on the air, with FCS.
#[derive(Clone, Debug)]
pub(crate) struct Sent {
    pub(crate) preamble_at: u64,
    pub(crate) channel: u8,
    pub(crate) psdu: Vec<u8>,
    pub(crate) power_dbm: i8,
    /// It was not cut off.
    pub(crate) whole: bool,
}

/// Acknowledgements of the other end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Answer {
    pub(crate) pending: bool,
    /// In addition to the turnaround time.
    pub(crate) late_us: u64,
    pub(crate) is_strange: bool,
    pub(crate) intact: bool,
    /// An acknowledgement of another frame comes first.
    pub(crate) is_second: bool,
}

/// The air.
#[derive(Debug, Default)]
pub(crate) struct Air {
    signals: Vec<Signal>,
    noises: Vec<Noise>,
    sent: Vec<Sent>,
    /// Frames that have begun, for chips in range; `None` = there are none.
    begun: Option<Vec<Sent>>,
    pub(crate) answer: Option<Answer>,
    /// A medium outside decides which frames the chip receives and which channels are busy: the
    /// last result of that. `None` = the air decides.
    outside: Option<bool>,
    /// With a medium outside: the last frame that has ended, and its end.
    ended: Option<(Sent, u64)>,
}

impl Air {
    pub(crate) fn put(&mut self, signal: Signal) {
        self.signals.push(signal);
        self.signals.sort_by_key(|signal| signal.preamble_at);
    }

    pub(crate) fn disturb(&mut self, channel: u8, from: u64, until: u64, dbm: i8) {
        self.noises.push(Noise { channel, from, until, dbm });
    }

    /// Forgets what ended long before `now`.
    pub(crate) fn forget(&mut self, now: u64) {
        const MEMORY_US: u64 = 20_000;
        self.signals.retain(|signal| signal.end() + MEMORY_US > now);
        self.noises.retain(|noise| noise.until + MEMORY_US > now);
    }

    /// Lets a medium outside decide, with this result for the assessments that end from now on.
    pub(crate) fn set_outside(&mut self, busy: bool) {
        self.outside = Some(busy);
    }

    /// Returns the last frame, if the chip has been at its end before the medium, and its end.
    pub(crate) fn ended_after(&self, now: u64) -> Option<&(Sent, u64)> {
        self.ended.as_ref().filter(|(_, end)| *end > now)
    }

    /// Removes the frame whose preamble began at `begin`, or damages it if its SFD has passed.
    pub(crate) fn lose(&mut self, now: u64, begin: u64) {
        self.signals.retain_mut(|signal| {
            let is_lost = signal.preamble_at == begin;
            let is_found = signal.sfd_at() <= now;
            if is_lost && is_found {
                let (until, dbm) = (signal.end(), i8::MAX);
                self.noises.push(Noise { channel: signal.channel, from: begin, until, dbm });
            }
            !is_lost || is_found
        });
    }

    /// Has each frame of the chip kept at its begin, for other chips.
    pub(crate) fn share(&mut self) {
        self.begun = Some(Vec::new());
    }

    /// Notes a frame of the chip that begins now or later.
    pub(crate) fn note_begun(&mut self, sent: &Sent) {
        self.begun.iter_mut().for_each(|begun| begun.push(sent.clone()));
    }

    /// Returns the frames that have begun since the last call.
    pub(crate) fn take_begun(&mut self) -> Vec<Sent> {
        self.begun.as_mut().map(core::mem::take).unwrap_or_default()
    }

    pub(crate) fn take_sent(&mut self) -> Option<Sent> {
        (!self.sent.is_empty()).then(|| self.sent.remove(0))
    }

    /// Notes a frame of the chip that has ended now, and lets the other end acknowledge it.
    pub(crate) fn note_sent(&mut self, sent: Sent, end: u64) {
        let requests = sent.whole && sent.psdu.len() > 5 && sent.psdu[0] & 0x20 != 0;
        if let Some(answer) = self.answer.filter(|_| requests) {
            let sequence = sent.psdu[2] ^ u8::from(answer.is_strange);
            let mut acknowledgement = with_fcs(&[2 | u8::from(answer.pending) << 4, 0, sequence]);
            acknowledgement[4] ^= u8::from(!answer.intact);
            if answer.is_second {
                const FIRST_US: u64 = 40;
                let psdu = with_fcs(&[2, 0, !sequence]);
                let (preamble_at, channel) = (end + FIRST_US, sent.channel);
                self.put(Signal { preamble_at, channel, psdu, rssi_dbm: -60 });
            }
            self.put(Signal {
                preamble_at: end + TURNAROUND_US + answer.late_us,
                channel: sent.channel,
                psdu: acknowledgement,
                rssi_dbm: -60,
            });
        }
        if self.outside.is_some() {
            self.ended = Some((sent, end));
        } else if self.begun.is_none() {
            self.sent.push(sent);
        }
    }

    /// Returns the first signal of `weakest_dbm` or more on `channel` whose preamble begins at or
    /// after `from`.
    pub(crate) fn next(&self, channel: u8, from: u64, weakest_dbm: i8) -> Option<&Signal> {
        self.signals.iter().find(|signal| {
            let strong = self.outside.is_some() || signal.rssi_dbm >= weakest_dbm;
            strong && signal.channel == channel && signal.preamble_at >= from
        })
    }

    /// Returns whether nothing that overlaps `signal` is strong enough to disturb it.
    pub(crate) fn is_undisturbed(&self, signal: &Signal) -> bool {
        let weak = |dbm: i8| i16::from(dbm) + CAPTURE_DB <= i16::from(signal.rssi_dbm);
        let overlaps = |from: u64, until: u64| from < signal.end() && until > signal.preamble_at;
        let same = |other: &&Signal| {
            other.channel == signal.channel
                && (other.preamble_at != signal.preamble_at || other.psdu != signal.psdu)
        };
        let frames = self.signals.iter().filter(same);
        frames.filter(|other| overlaps(other.preamble_at, other.end())).all(|o| weak(o.rssi_dbm))
            && self.noises.iter().all(|noise| {
                noise.channel != signal.channel
                    || !overlaps(noise.from, noise.until)
                    || weak(noise.dbm)
            })
    }

    /// Returns whether at least half of the time between `from` and `until` has energy of
    /// `threshold_dbm` or more.
    pub(crate) fn is_busy(&self, channel: u8, from: u64, until: u64, threshold_dbm: i16) -> bool {
        if let Some(busy) = self.outside {
            return busy;
        }
        let share = |begin: u64, end: u64| end.min(until).saturating_sub(begin.max(from));
        let loud = |dbm: i8| i16::from(dbm) >= threshold_dbm;
        let frames = self
            .signals
            .iter()
            .filter(|signal| signal.channel == channel && loud(signal.rssi_dbm))
            .map(|signal| share(signal.preamble_at, signal.end()));
        let noises = self
            .noises
            .iter()
            .filter(|noise| noise.channel == channel && loud(noise.dbm))
            .map(|noise| share(noise.from, noise.until));
        frames.chain(noises).sum::<u64>() * 2 >= until - from
    }
}

/// Appends the frame check sequence.
pub(crate) fn with_fcs(frame: &[u8]) -> Vec<u8> {
    let mut psdu = frame.to_vec();
    psdu.extend_from_slice(&fcs(frame).to_le_bytes());
    psdu
}

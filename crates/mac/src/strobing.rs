//! Delivery to neighbours that sample the channel several times a second: the sending end of
//! ContikiMAC (see `wake.rs`).
//!
//! A strobe to an unknown neighbour lasts a whole period. The acknowledged copy shows the wake-up
//! phase, and the next strobe begins just before the neighbour wakes again. Frames for one
//! neighbour are sent in order: while a failed strobe for it backs off, other neighbours are
//! served.
//!
//! A deviation: in a burst the next frame follows an acknowledgement after SIFS and not after LIFS
//! (IEEE 802.15.4-2015, 6.2.4), which gives a recipient time to process a long frame. A recipient
//! that needs this time misses a frame, and gets LIFS until the burst ends.

use crate::air::PREAMBLE_SFD;
use crate::delivery_method::{DeliveryMethod, Strobe, StrobeEnd, StrobeResult};
use crate::sharing::Sharing;
use crate::stats::{StrobeStats, count};
use crate::wake::{CHECK, LONGEST, SAMPLES_BEFORE, Wake, WakeUp, channel_after, repetition};
use kinglet_mem::{Array, Claim, Empty, slot_for_new};
use kinglet_radio::{Channel, LIFS, MAX_FRAME, SIFS, Start};
use kinglet_random::Random;
use kinglet_time::{Duration, Instant};
use kinglet_wire::ieee802154::Address;

/// Lead time between submission of a strobe and its first preamble: for the CPU and to load a full
/// frame (1.6 and 1.2 ms on the paper's hardware), to wake, and for the samples before it (3.7 ms).
const AHEAD: Duration = Duration::from_millis(8);
/// A shorter lead time is too late.
const TOO_LATE: Duration = Duration::from_millis(7);
/// Uncertainty of a wake-up phase right after its observation.
const UNCERTAINTY: Duration = Duration::from_micros(64);
/// Number of strobes in a row without an acknowledgement after which the wake-up phase is searched
/// for. It is discarded if the last acknowledgement is old (Contiki, `phase.c`: `MAX_NOACKS`).
const MAX_FAILURES: u8 = 16;
/// The same for a phase that was observed once: its neighbour may have been awake for another
/// reason.
const MAX_FAILURES_AT_FIRST: u8 = 3;
/// The longest back-off is two to the power of this, in periods.
const MAX_EXPONENT: u8 = 2;
/// The same while a neighbour's wake-ups are unknown, as a strobe takes a whole period then, and
/// after a long silence.
const MAX_SEARCH_EXPONENT: u8 = 6;
/// The longest back-off for a known phase is the silence divided by this, if that is more.
const PART_OF_SILENCE: u64 = 8;
/// The same after the channel was busy.
const DEFERRED_EXPONENT: u8 = 1;
/// Duration of a frame and the samples that notice it. A phase known to this accuracy need not be
/// refined, so it does not depend on the next observation alone.
const NARROW: Duration = Duration::from_micros(LONGEST.as_micros() + 2 * CHECK.as_micros());
/// A phase without an acknowledgement for so long is discarded if strobes keep failing (Contiki,
/// `phase.c`: 30 s, for neighbours that are never busy for longer).
const FORGOTTEN: Duration = Duration::from_secs(60);
/// Largest number of repetitions by which a strobe begins earlier after others have failed.
const MAX_EARLIER: u8 = 3;
/// Number of random bits of that number after the channel was busy.
const EARLIER_BITS: u8 = 1;
const _: () = assert!((1 << EARLIER_BITS) - 1 <= MAX_EARLIER);
/// Number of strobes in a row without an acknowledgement after which a neighbour whose wake-ups are
/// unknown counts as silent. Each lasts a whole period, so that it cannot miss the neighbour's
/// wake-up.
const MAX_SEARCHES: u8 = 6;
/// Time without an acknowledgement after which a neighbour counts as silent if also
/// [`MAX_FAILURES`] strobes in a row failed, or [`MAX_SEARCHES`]. Its frames are discarded, except
/// for one strobe after each back-off.
const SILENCE: Duration = Duration::from_secs(10);
/// Number of strobes in a row, outside of bursts, whose first copy was acknowledged, after which a
/// neighbour is taken to be always on. A strobe begins before a sleeping neighbour wakes, so that
/// such a neighbour acknowledges a first copy only while it is awake for another node.
const ALWAYS_ON_AFTER: u8 = 4;
/// The bit of sequence numbers that is set in broadcasts only.
const FOR_ALL: u8 = 1 << 7;
/// A million, for parts per million.
const ONE: u64 = 1_000_000;

/// Wake-up phase of a neighbour.
#[derive(Clone, Copy, Debug)]
struct Rhythm {
    /// The neighbour woke between this instant and `width` later.
    from: Instant,
    width: Duration,
    /// Its channel then, if it hops over several channels.
    channel: Option<Channel>,
}

impl Rhythm {
    /// Returns the largest drift between the neighbour's clock and this one at an instant.
    fn drift(&self, wake: &Wake, at: Instant) -> Duration {
        let age = (at - self.from).as_micros();
        let apart = age.saturating_mul(wake.drift_ppm.into()).checked_div(ONE).unwrap_or(0);
        UNCERTAINTY + Duration::from_micros(apart)
    }

    /// Returns the earliest and latest time of the first wake-up that lies after `not_before` in
    /// any case.
    fn next(&self, wake: &Wake, not_before: Instant) -> (Instant, Instant) {
        let margin = self.drift(wake, not_before + wake.period);
        let from = crate::rhythm::next_after(self.from, wake.period, not_before + margin);
        (from - margin, from + self.width + margin)
    }

    /// Returns the neighbour's channel at a wake-up from `at` on.
    fn channel_at(&self, wake: &Wake, at: Instant) -> Option<Channel> {
        let eligible_at = WakeUp { at: self.from, channel: self.channel? };
        Some(eligible_at.moved_to(wake, at).channel)
    }

    /// Combines the known phase with a new observation; `None` if both cannot be right: an earlier
    /// copy was acknowledged than the known phase allows. The loss of earlier copies explains a
    /// later one, which is no evidence. But if earlier strobes have `missed` the neighbour, and it
    /// may have woken before the known interval, it has.
    fn refined(self, wake: &Wake, new: Rhythm, missed: bool) -> Option<Rhythm> {
        let margin = self.drift(wake, new.from);
        let period = wake.period.as_micros();
        // The old one, moved to at most half a period before or after the new one.
        let half = wake.period / 2;
        let since = (new.from + half - self.from).as_micros();
        let into = since.checked_rem(period)?;
        let old_from = new.from + half - Duration::from_micros(into) - margin;
        let old_to = old_from + self.width + margin * 2;
        let new_to = new.from + new.width;
        if new.from > old_to {
            return Some(Rhythm { from: old_from, width: old_to - old_from, ..new });
        }
        if new_to < old_from || missed && new.from < old_from {
            return None;
        }
        let narrow = old_to - old_from <= NARROW;
        let from = if narrow { old_from } else { old_from.max(new.from) };
        Some(Rhythm { from, width: old_to.min(new_to) - from, ..new })
    }
}

/// Evidence for a wake-up phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Trust {
    /// Only the observation from which it was derived.
    Once,
    /// Another observation has agreed.
    Confirmed,
    /// It was confirmed, and the last observation contradicts it.
    Doubted,
}

/// State of one neighbour.
#[derive(Clone, Copy, Debug)]
pub struct Strobed {
    address: Address,
    rhythm: Option<Rhythm>,
    trust: Trust,
    /// The channel of the search, if there are several channels.
    channel: Option<Channel>,
    /// Consecutive search strobes on that channel.
    search_strobes: u8,
    /// Consecutive strobes that have failed.
    failures: u8,
    /// Repetitions by which the next strobe begins earlier.
    earlier: u8,
    /// Consecutive strobes whose first copy was acknowledged.
    first_copies: u8,
    /// Time of its last acknowledgement.
    heard: Instant,
    /// Earliest time of the next strobe, or of the next discard while it is suspended: one in each
    /// period, as if it were strobed. Without pause a source would empty its memory into the
    /// silence of a relay that is deaf for seconds.
    not_before: Instant,
    /// Time until which no frame is strobed for it, if it is silent.
    suspended_until: Instant,
    /// The sequence number of the next frame.
    sequence: u8,
    last_used: Instant,
}

impl Empty for Strobed {
    const EMPTY: Self = Strobed {
        address: Address::None,
        rhythm: None,
        trust: Trust::Once,
        channel: None,
        search_strobes: 0,
        failures: 0,
        earlier: 0,
        first_copies: 0,
        heard: Instant::ZERO,
        not_before: Instant::ZERO,
        suspended_until: Instant::ZERO,
        sequence: 0,
        last_used: Instant::ZERO,
    };
}

/// A burst in progress: its recipient, and the time until which frames may begin.
#[derive(Clone, Copy, Debug)]
struct Burst {
    dst: Address,
    until: Instant,
    /// True if it answers a burst of its recipient.
    answers: bool,
    /// True if each of its frames was acknowledged at its first transmission, however soon it
    /// followed.
    is_close: bool,
}

/// A neighbour that listens for an answer to its burst, until this time.
#[derive(Clone, Copy, Debug)]
struct Listener {
    address: Address,
    until: Instant,
}

/// Strobes frames as [`Mac::set_wake`](crate::Mac::set_wake) configures; before that is called, and
/// for all other functions, `R` applies. `A` has an entry for each neighbour to which frames are
/// sent, and one for broadcasts; the least recently used is evicted. `SPARE` slots of the MAC's
/// queue are used only while frames are strobed, when those for several neighbours wait at a time.
pub struct Strobing<R, A, const SPARE: usize = 0> {
    inner: R,
    wake: Option<Wake>,
    table: A,
    burst: Option<Burst>,
    listener: Option<Listener>,
    sharing: Sharing,
    /// True if the last submitted strobe is, or belongs to, an answer.
    answers: bool,
    /// True if it searches for a neighbour whose wake-up phase was lost.
    searches: bool,
    /// The channel of the last submitted strobe, or that of the listener if the next one is an
    /// answer.
    channel: Option<Channel>,
    /// The neighbour that may answer the last burst, if that has ended.
    awaits_answer: Option<u16>,
    stats: StrobeStats,
}

impl<R, A: Array<Strobed>, const SPARE: usize> Strobing<R, A, SPARE> {
    fn find(&self, dst: Address) -> Option<&Strobed> {
        self.table.as_slice().iter().find(|entry| entry.address == dst)
    }

    /// Returns the entry of `dst`, which replaces the least recently used one if necessary.
    fn entry(&mut self, now: Instant, dst: Address) -> Option<&mut Strobed> {
        let table = self.table.as_mut_slice();
        let known = table.iter().position(|entry| entry.address == dst);
        let index = match known {
            Some(index) => index,
            None => slot_for_new(table, |entry| match entry.address.is_empty() {
                true => Claim::Free,
                false => Claim::Idle(entry.last_used),
            })?,
        };
        let entry = table.get_mut(index)?;
        if known.is_none() {
            *entry = Strobed { address: dst, ..Strobed::EMPTY };
        }
        entry.last_used = now;
        Some(entry)
    }

    fn bursts_with(&self, dst: Address) -> bool {
        self.burst.is_some_and(|burst| burst.dst == dst)
    }

    /// Returns whether `dst` listens for an answer.
    fn listens(&self, now: Instant, dst: Address) -> bool {
        self.listener.is_some_and(|it| it.address == dst && now < it.until)
    }
}

/// Returns the time at which the first copy of a strobe began.
fn begin(end: &StrobeEnd) -> Instant {
    let repetitions = repetition(end.len) * u32::from(end.times.saturating_sub(1));
    end.sfd - PREAMBLE_SFD - repetitions
}

impl Strobed {
    /// Returns the first instant from `now` on at which a strobe may be given to the radio.
    fn eligible_at(&self, wake: &Wake, now: Instant) -> Instant {
        let begin = now.max(self.not_before);
        if self.is_suspended(now) {
            return self.suspended_until;
        }
        match &self.rhythm {
            Some(rhythm) if !self.is_always_on(wake) => {
                let before = self.before(wake, MAX_FRAME);
                let (from, _) = rhythm.next(wake, begin + TOO_LATE + before);
                begin.max(from - before - AHEAD)
            }
            _ => begin,
        }
    }

    /// Returns whether it seems to be awake all the time. A device that hops over channels is met
    /// on the channel of its wake-up only.
    fn is_always_on(&self, wake: &Wake) -> bool {
        self.first_copies >= ALWAYS_ON_AFTER && wake.channels.count_ones() <= 1
    }

    /// Returns the lead time of the next strobe, of frames of `len` octets, before the earliest
    /// wake-up.
    fn before(&self, wake: &Wake, len: usize) -> Duration {
        match self.needs_search() {
            true => wake.period / 2,
            false => repetition(len) * u32::from(self.earlier),
        }
    }

    /// Returns a strobe of a frame of `len` octets that lasts until the neighbour must have woken.
    fn strobe(&mut self, now: Instant, wake: &Wake, len: usize) -> Strobe {
        let doubtful = |r: Rhythm| r.channel.is_some() && r.drift(wake, now) > wake.period / 2;
        if self.rhythm.is_some_and(doubtful) {
            // The neighbour may be one wake-up further, and on another channel.
            self.rhythm = None;
        }
        let stubborn = wake.stubborn(len);
        let longest = wake.period + CHECK;
        let Some(rhythm) = self.rhythm.filter(|_| !self.is_always_on(wake)) else {
            self.channel = self.channel.or_else(|| channel_after(wake.channels, None));
            // A device that wakes at the end of the period must still receive whole frames.
            let extra = if self.address.is_unicast() { stubborn } else { Duration::ZERO };
            let (start, channel) = (Start::Asap, self.channel);
            let lasting = longest + repetition(len) + extra;
            return Strobe { start, senses: SAMPLES_BEFORE, lasting, spacing: LIFS, channel };
        };
        let before = self.before(wake, len);
        let (from, to) = rhythm.next(wake, now + TOO_LATE + before);
        let begin = from - before;
        // After a long silence of the neighbour, only the period of its wake-ups is certain.
        let search_strobes = self.needs_search();
        let within = if search_strobes { longest } else { longest.min(to - begin) };
        let lasting = within + repetition(len) + stubborn;
        // If it woke this much earlier, its channel hopping is this much further.
        let further = from + wake.period * self.awake_before();
        let (start, channel) = (Start::At(begin + PREAMBLE_SFD), rhythm.channel_at(wake, further));
        Strobe { start, senses: SAMPLES_BEFORE, lasting, spacing: LIFS, channel }
    }

    fn acknowledged(&mut self, now: Instant) {
        (self.failures, self.earlier, self.search_strobes) = (0, 0, 0);
        self.heard = now;
        self.not_before = Instant::ZERO;
    }

    /// Returns whether to search once more on the same channel: the neighbour uses each channel
    /// once in as many periods as there are channels. Then the search moves to another channel.
    /// Broadcasts are sent as often.
    fn continues_search(&mut self, wake: &Wake) -> bool {
        if self.rhythm.is_some() {
            return false;
        }
        self.search_strobes = self.search_strobes.saturating_add(1);
        if u32::from(self.search_strobes) < wake.channels.count_ones() {
            return true;
        }
        self.search_strobes = 0;
        self.channel = channel_after(wake.channels, self.channel);
        false
    }

    /// Updates the phase from an acknowledged copy, which was noticed while the one before it was
    /// on the air, or just before. But the neighbour may have been awake for another reason, so a
    /// single observation that contradicts the known phase is not accepted, unless it comes from a
    /// search. Nor does one after a long silence confirm it: the neighbour may be awake for another
    /// sender anywhere in the long strobe, and acknowledge late because the copies of both collide.
    fn learn(
        &mut self,
        wake: &Wake,
        end: &StrobeEnd,
        channel: Option<Channel>,
        (searches, missed, silent): (bool, bool, bool),
    ) {
        let before = end.sfd - PREAMBLE_SFD - repetition(end.len);
        let new = Rhythm { from: before - CHECK, width: CHECK + repetition(end.len), channel };
        let known = self.rhythm.filter(|_| !searches);
        let refined = known.map(|known| known.refined(wake, new, missed));
        (self.rhythm, self.trust) = match refined {
            Some(Some(refined)) if silent => (Some(refined), Trust::Once),
            Some(Some(refined)) => (Some(refined), Trust::Confirmed),
            Some(None) if self.trust == Trust::Confirmed => (known, Trust::Doubted),
            // It has woken as predicted, but before the strobes began.
            Some(None) if known.is_some_and(|known| known.refined(wake, new, false).is_some()) => {
                (Some(new), Trust::Confirmed)
            }
            Some(None) | None => (Some(new), Trust::Once),
        };
    }

    /// Returns whether the next strobe is to search for its wake-up phase.
    fn needs_search(&self) -> bool {
        let doubtful = self.trust == Trust::Once
            && self.failures > 0
            && self.failures.is_multiple_of(MAX_FAILURES_AT_FIRST);
        self.rhythm.is_none() || doubtful || self.failures >= MAX_FAILURES
    }

    /// Returns whether it may still be awake since its last acknowledgement, awaiting more of a
    /// burst.
    fn is_awake_yet(&self, wake: &Wake, end: &StrobeEnd) -> bool {
        let stays = wake.burst_wait() + wake.stubborn(MAX_FRAME);
        self.heard > Instant::ZERO && begin(end) < self.heard + stays
    }

    /// Returns the assumed number of wake-ups between the neighbour's waking and its only
    /// observation. A neighbour that is busy with another node's burst still receives frames at its
    /// next wake-ups, but on the channel of the first of them. So each search but the first assumes
    /// one more: once over all channels. But the neighbour may have been deaf, as it sends without
    /// pause while it searches itself: once all strobes are searches, every other one takes the
    /// observation as it is.
    fn awake_before(&self) -> u32 {
        if self.trust != Trust::Once || !self.needs_search() {
            return 0;
        }
        match self.failures.checked_sub(MAX_FAILURES) {
            None => (self.failures / MAX_FAILURES_AT_FIRST).saturating_sub(1).into(),
            Some(later) if later.is_multiple_of(2) => 0,
            Some(later) => (MAX_FAILURES / MAX_FAILURES_AT_FIRST).saturating_add(later / 2).into(),
        }
    }

    fn is_silent(&self, now: Instant) -> bool {
        let most = if self.rhythm.is_some() { MAX_FAILURES } else { MAX_SEARCHES };
        self.failures >= most && now > self.heard + SILENCE
    }

    fn is_suspended(&self, now: Instant) -> bool {
        self.is_silent(now) && now < self.suspended_until
    }

    /// Returns the exponent of the next back-off. A silent neighbour whose wake-ups are known is
    /// tried again after at most an eighth of its silence.
    fn exponent(&self, now: Instant, wake: &Wake) -> u8 {
        self.failures.min(match self.rhythm {
            None => MAX_SEARCH_EXPONENT,
            Some(_) if !self.is_silent(now) => MAX_EXPONENT,
            Some(_) => {
                let part = (now - self.heard).as_micros() / PART_OF_SILENCE;
                let periods = part.checked_div(wake.period.as_micros()).unwrap_or(0);
                let grown = periods.checked_ilog2().map_or(0, |log| log as u8);
                grown.clamp(MAX_EXPONENT, MAX_SEARCH_EXPONENT)
            }
        })
    }

    fn failed(&mut self, now: Instant, wake: &Wake, random: &mut Random) {
        let exponent = self.exponent(now, wake);
        self.first_copies = 0;
        self.failures = self.failures.saturating_add(1);
        // The neighbour may wake earlier than assumed.
        self.earlier = self.failures.min(MAX_EARLIER);
        if self.failures >= MAX_FAILURES && now > self.heard + FORGOTTEN {
            self.rhythm = None;
        }
        self.back_off(now, wake, random.bits(exponent));
        self.suspended_until = self.not_before;
        if self.is_silent(now) {
            self.not_before = now;
        }
    }

    /// Handles a busy channel, so that nothing was sent. That is no evidence about the neighbour,
    /// but on the channel of a search the neighbour may take part in the traffic. The source of the
    /// busy channel, another sender or an oven, may be in step with the wake-ups: so the channel is
    /// not assessed at the same phase again.
    fn deferred(&mut self, now: Instant, wake: &Wake, random: &mut Random) {
        self.earlier = random.bits(EARLIER_BITS) as u8;
        self.back_off(now, wake, random.bits(DEFERRED_EXPONENT));
    }

    /// Backs off. With a known phase the next strobe is for the first wake-up after this one, and
    /// `periods` more.
    fn back_off(&mut self, now: Instant, wake: &Wake, periods: u32) {
        self.not_before = now + wake.period * periods + wake.period / 4;
    }
}

impl<R: DeliveryMethod, A: Array<Strobed>, const SPARE: usize> DeliveryMethod
    for Strobing<R, A, SPARE>
{
    const NEW: Self = Strobing {
        inner: R::NEW,
        wake: None,
        table: A::EMPTY,
        burst: None,
        listener: None,
        sharing: Sharing::NEW,
        answers: false,
        searches: false,
        channel: None,
        awaits_answer: None,
        stats: StrobeStats::ZERO,
    };
    const ANY: bool = R::ANY;
    const STROBES: bool = true;
    const SPARE: usize = SPARE;

    fn set_pending(
        &mut self,
        short: u16,
        pending: bool,
    ) -> Result<(), crate::delivery_method::TableFull> {
        self.inner.set_pending(short, pending)
    }

    fn is_pending(&self, src: Address) -> bool {
        self.inner.is_pending(src)
    }

    fn poll_command(
        &mut self,
        radio: kinglet_radio::Capabilities,
    ) -> Option<kinglet_radio::Command> {
        self.inner.poll_command(radio)
    }

    fn invalidate_pending_table(&mut self) {
        self.inner.invalidate_pending_table();
    }

    fn handle_request(&mut self, radio: kinglet_radio::Capabilities, src: Address) -> bool {
        self.inner.handle_request(radio, src)
    }

    fn handle_samples(
        &mut self,
        now: Instant,
        radio: kinglet_radio::Capabilities,
        src: Address,
        sfd: Instant,
        csl: kinglet_wire::ieee802154::Csl,
    ) {
        self.inner.handle_samples(now, radio, src, sfd, csl);
    }

    fn repeated(&mut self, dst: Address, token: crate::queue::Token) -> Option<u8> {
        self.inner.repeated(dst, token)
    }

    fn note_sent(
        &mut self,
        dst: Address,
        token: crate::queue::Token,
        sequence: u8,
        result: crate::Delivery,
    ) {
        self.inner.note_sent(dst, token, sequence, result);
    }

    fn handle_burst(&mut self, dst: Address) {
        self.inner.handle_burst(dst);
    }

    fn timing(&self, dst: Address) -> crate::delivery_method::SendTiming {
        self.inner.timing(dst)
    }

    fn poll_listener(&mut self) -> Option<u16> {
        self.inner.poll_listener()
    }

    fn deadline(&self) -> Option<Instant> {
        self.inner.deadline()
    }

    fn handle_deadline(&mut self, now: Instant) {
        self.inner.handle_deadline(now);
    }

    fn set_wake(&mut self, wake: Option<Wake>) {
        self.wake = wake;
        (self.burst, self.listener, self.awaits_answer) = (None, None, None);
        self.sharing = Sharing::NEW;
        self.channel = None;
        (self.answers, self.searches) = (false, false);
        self.table.as_mut_slice().fill(Strobed::EMPTY);
    }

    fn wake(&self) -> Option<&Wake> {
        self.wake.as_ref()
    }

    fn strobe_stats(&self) -> Option<&StrobeStats> {
        Some(&self.stats)
    }

    fn sequence(&mut self, now: Instant, dst: Address, fresh: u8) -> Option<u8> {
        self.wake?;
        let is_new = self.find(dst).is_none();
        let entry = self.entry(now, dst)?;
        if is_new {
            entry.sequence = fresh;
        }
        // A receiver stores one sequence number for both.
        let for_all = if dst.is_unicast() { 0 } else { FOR_ALL };
        Some(entry.sequence & !FOR_ALL | for_all)
    }

    fn sequence_used(&mut self, now: Instant, dst: Address) {
        if let Some(entry) = self.entry(now, dst) {
            entry.sequence = entry.sequence.wrapping_add(1);
        }
    }

    fn eligible_at(&self, now: Instant, dst: Address) -> Instant {
        match (&self.wake, self.find(dst)) {
            _ if self.bursts_with(dst) => Instant::ZERO,
            _ if self.listens(now, dst)
                && (now >= self.sharing.free_until() || self.sharing.is_shared(now)) =>
            {
                Instant::ZERO
            }
            (Some(wake), Some(entry)) => {
                entry.eligible_at(wake, now.max(self.sharing.free_until()))
            }
            _ => now.max(self.sharing.free_until()),
        }
    }

    fn is_silent(&self, now: Instant, dst: Address) -> bool {
        self.find(dst).is_some_and(|entry| entry.is_silent(now))
    }

    fn discard_at(&self, now: Instant, dst: Address) -> Option<Instant> {
        self.find(dst).filter(|entry| entry.is_suspended(now)).map(|entry| entry.not_before)
    }

    fn discarded(&mut self, now: Instant, dst: Address) {
        let period = self.wake.map_or(Duration::ZERO, |wake| wake.period);
        if let Some(entry) = self.entry(now, dst) {
            entry.not_before = entry.suspended_until.min(now + period);
        }
    }

    fn handle_heard(&mut self, now: Instant, src: Address) {
        self.sharing.heard(src);
        let entry = self.table.as_mut_slice().iter_mut().find(|entry| entry.address == src);
        if let Some(entry) = entry.filter(|entry| entry.is_silent(now)) {
            entry.failures = MAX_FAILURES.saturating_sub(1);
            (entry.not_before, entry.suspended_until) = (now, now);
        }
    }

    fn share_until(&mut self, until: Instant) {
        self.sharing.share_until(until);
    }

    fn may_follow(&self, now: Instant, len: usize) -> bool {
        let Some(wake) = self.wake else { return false };
        let until = self.burst.map_or(now + wake.burst, |burst| burst.until);
        now + repetition(len) * 2 < until
    }

    fn handle_listener(&mut self, src: Address, channel: Channel, until: Instant) {
        self.listener = Some(Listener { address: src, until });
        self.channel = Some(channel).filter(|_| self.wake.is_some_and(|wake| wake.channels != 0));
    }

    fn awaits_answer(&self) -> Option<(u16, Option<Channel>)> {
        Some((self.awaits_answer?, self.channel))
    }

    fn strobe(&mut self, now: Instant, dst: Address, len: usize) -> Strobe {
        let wake = self.wake.unwrap_or(Wake::DEFAULT);
        count(&mut self.stats.strobes);
        let stubborn = wake.stubborn(len);
        let bursts = self.bursts_with(dst);
        let listens = self.listens(now, dst);
        self.answers = if bursts { self.burst.is_some_and(|burst| burst.answers) } else { listens };
        // It listens only once.
        self.listener = None;
        if bursts {
            count(&mut self.stats.in_bursts);
            let (lasting, channel) = (wake.stubborn_in_burst(len), self.channel);
            let spacing = if self.burst.is_some_and(|burst| burst.is_close) { SIFS } else { LIFS };
            return Strobe { start: Start::Asap, senses: 0, lasting, spacing, channel };
        }
        self.burst = None;
        if listens {
            count(&mut self.stats.answers);
            let (lasting, spacing, channel) = (stubborn, LIFS, self.channel);
            return Strobe { start: Start::Asap, senses: 1, lasting, spacing, channel };
        }
        // The table replaces entries, so it always has one.
        let mut none = Strobed { address: dst, ..Strobed::EMPTY };
        let entry = self.entry(now, dst).unwrap_or(&mut none);
        let strobe = entry.strobe(now, &wake, len);
        (self.channel, self.searches) = (strobe.channel, entry.needs_search());
        if self.searches {
            count(&mut self.stats.searching);
        }
        strobe
    }

    fn handle_strobed(&mut self, now: Instant, end: &StrobeEnd, random: &mut Random) -> bool {
        let Some(wake) = self.wake else { return false };
        let goes_on = self.burst.filter(|_| self.bursts_with(end.dst));
        self.burst = None;
        let (answers, searches, channel) = (self.answers, self.searches, self.channel);
        let acknowledged = end.result == StrobeResult::Acknowledged;
        if end.result != StrobeResult::Busy && !(answers && self.sharing.is_shared(now)) {
            let goes_on = acknowledged && end.more;
            self.sharing.sent(&wake, end.dst, (begin(end), now), goes_on);
        }
        if acknowledged && end.times == 1 {
            count(&mut self.stats.at_once);
        }
        let long = goes_on.is_some();
        self.awaits_answer = match end.dst {
            Address::Short(neighbour) if acknowledged && long && !end.more && !answers => {
                Some(neighbour)
            }
            _ => None,
        };
        let Some(entry) = self.entry(now, end.dst) else { return false };
        match end.result {
            StrobeResult::Sent if entry.continues_search(&wake) => return true,
            StrobeResult::Acknowledged | StrobeResult::Sent => {
                let was_awake = answers || entry.is_awake_yet(&wake, end);
                let missed = entry.failures > 0;
                let silent = now > entry.heard + FORGOTTEN;
                entry.acknowledged(now);
                // A recipient that acknowledges the first transmission woke before it, so this is
                // no observation.
                if goes_on.is_none() && acknowledged {
                    if end.times > 1 && !was_awake {
                        entry.first_copies = 0;
                        entry.learn(&wake, end, channel, (searches, missed, silent));
                    } else if end.times == 1 && !answers && !missed {
                        // After a failure it may be awake for the rest of a burst.
                        entry.first_copies = entry.first_copies.saturating_add(1);
                    }
                }
                if end.more {
                    let until = goes_on.map_or(now + wake.burst, |burst| burst.until);
                    // A recipient that is not ready so soon receives a later repetition.
                    let is_close = goes_on.is_none_or(|burst| burst.is_close && end.times == 1);
                    self.burst = Some(Burst { dst: end.dst, until, answers, is_close });
                }
            }
            // A missing answer is no evidence about the recipient's wake-up phase.
            StrobeResult::Unanswered | StrobeResult::Busy if answers && goes_on.is_none() => {
                count(&mut self.stats.failed);
            }
            StrobeResult::Unanswered if entry.continues_search(&wake) => {
                count(&mut self.stats.failed);
                return true;
            }
            StrobeResult::Unanswered => {
                entry.failed(now, &wake, random);
                count(&mut self.stats.failed);
            }
            StrobeResult::Busy => {
                entry.deferred(now, &wake, random);
                count(&mut self.stats.busy);
            }
        }
        false
    }
}

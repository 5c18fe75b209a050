//! A parent's side of indirect transmission (IEEE 802.15.4-2015, 6.7.3): telling neighbours that
//! sleep whether a frame is pending, and sending it before everything else when they ask.

use crate::csl::Samples;
use crate::mac::{Mac, Sizes, TxState};
use crate::queue::{Kind, Token};
use crate::stats::count;
use kinglet_mem::{Array, Empty};
use kinglet_radio::{Capabilities, Command};
use kinglet_time::{Duration, Instant};
use kinglet_wire::ieee802154::{Address, FrameType};

/// How frames of [`Class::Indirect`](crate::Class::Indirect) are sent, and fetched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Indirect {
    /// Attempts after the first, 0 to 15. OpenThread has none: what fails is sent at the next data
    /// request. TCPlp §8.4 changes that.
    pub max_retries: u8,
    /// The longest random delay before a retry, in place of
    /// [`Config::retry_delay_max`](crate::Config::retry_delay_max): the recipient listens
    /// meanwhile.
    pub retry_delay_max: Duration,
    /// macMinBE for these frames, at most macMaxBE. The standard lets the frame after a data
    /// request leave without CSMA-CA (6.7.3); a small exponent comes close to that.
    pub min_be: u8,
    /// Whether such a frame need not wait for the end of the frame being sent: it goes between two
    /// attempts of that one, ends its retry delay, and gives way to it afterwards. The interrupted
    /// frame keeps its count of attempts (TCPlp §8.4).
    pub preempt: bool,
    /// On a leaf, whether a frame that says that more is pending keeps the window open; otherwise
    /// the leaf asks again. Both ends must agree, or the parent sends too early.
    pub burst: bool,
}

impl Indirect {
    /// OpenThread's: one attempt, no privileges in channel access, one frame for a data request.
    pub const DEFAULT: Indirect = Indirect {
        max_retries: 0,
        retry_delay_max: Duration::ZERO,
        min_be: 3,
        preempt: false,
        burst: false,
    };
}

/// A neighbour for which something is pending.
#[derive(Clone, Copy, Debug)]
pub struct Sleeper {
    pub(crate) short: u16,
    pub(crate) pending: bool,
    /// A radio with a table of its own has an entry for it.
    told: bool,
    /// It listens because of a data request, not at its next sample.
    pub(crate) asks: bool,
    /// When it samples the channel, if it does.
    pub(crate) samples: Option<Samples>,
}

impl Sleeper {
    pub(crate) fn in_use(&self) -> bool {
        self.pending || self.told || self.samples.is_some()
    }
}

impl Empty for Sleeper {
    const EMPTY: Self =
        Sleeper { short: 0, pending: false, told: false, asks: false, samples: None };
}

/// For whom something is pending, and what the radio knows of it.
pub(crate) struct Sleepers<A: Array<Sleeper>> {
    table: A,
    /// The one bit of a radio without a table.
    bit: bool,
}

/// There are more neighbours with something pending than the table has places.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableFull;

impl<A: Array<Sleeper>> Sleepers<A> {
    pub(crate) const fn new() -> Self {
        Sleepers { table: A::EMPTY, bit: false }
    }

    fn is_pending(&self, short: u16) -> bool {
        self.table.as_slice().iter().any(|entry| entry.pending && entry.short == short)
    }

    pub(crate) fn table(&self) -> &[Sleeper] {
        self.table.as_slice()
    }

    pub(crate) fn table_mut(&mut self) -> &mut [Sleeper] {
        self.table.as_mut_slice()
    }

    /// The entry of the neighbour with this address, or a free one for it.
    pub(crate) fn entry(&mut self, short: u16) -> Option<&mut Sleeper> {
        let table = self.table.as_mut_slice();
        let known = table.iter().position(|entry| entry.in_use() && entry.short == short);
        if let Some(index) = known {
            return table.get_mut(index);
        }
        let free = table.iter_mut().find(|entry| !entry.in_use())?;
        *free = Sleeper { short, ..Sleeper::EMPTY };
        Some(free)
    }

    fn set(&mut self, short: u16, pending: bool) -> Result<(), TableFull> {
        match self.entry(short) {
            Some(entry) => entry.pending = pending,
            None if pending => return Err(TableFull),
            None => {}
        }
        Ok(())
    }

    /// The radio has been reset, and knows of nothing.
    pub(crate) fn forget_told(&mut self) {
        self.bit = false;
        self.table.as_mut_slice().iter_mut().for_each(|entry| entry.told = false);
    }

    /// What the radio has to be told.
    fn news(&mut self, source_match: bool) -> Option<Command> {
        let entries = self.table.as_mut_slice();
        if source_match {
            let entry = entries.iter_mut().find(|entry| entry.pending != entry.told)?;
            entry.told = entry.pending;
            return Some(Command::Pending { short: entry.short, pending: entry.pending });
        }
        let first = entries.iter().find(|entry| entry.pending);
        let pending = first.is_some();
        if pending == self.bit {
            return None;
        }
        self.bit = pending;
        Some(Command::Pending { short: first.map_or(0, |entry| entry.short), pending })
    }
}

impl<S: Sizes> Mac<S> {
    /// Notes whether a frame is pending for the neighbour with this short address, for the
    /// acknowledgements of its data requests. The frame itself stays with the caller until
    /// [`Indication::DataRequest`](crate::Indication::DataRequest) or [`Mac::poll_listener`] names
    /// the neighbour.
    ///
    /// # Errors
    /// [`TableFull`]; the neighbour will hear that nothing is pending.
    pub fn set_pending(
        &mut self,
        now: Instant,
        short: u16,
        pending: bool,
    ) -> Result<(), TableFull> {
        self.sleepers.set(short, pending)?;
        self.handle_csl_deadline(now);
        Ok(())
    }

    /// Whether an acknowledgement by this MAC says that a frame is pending for `src`.
    pub(crate) fn is_pending(&self, src: Address) -> bool {
        matches!(src, Address::Short(short) if self.sleepers.is_pending(short))
    }

    /// What the radio has to be told about pending frames.
    pub(crate) fn pending_news(&mut self) -> Option<Command> {
        let has = |capability| self.capabilities.contains(capability);
        let source_match = has(Capabilities::SOURCE_MATCH);
        has(Capabilities::AUTO_ACK).then(|| self.sleepers.news(source_match)).flatten()
    }

    /// `src` has asked for data. If its acknowledgement said that there is something because there
    /// is something for somebody else, an empty frame lets it sleep again.
    pub(crate) fn answer_in_vain(&mut self, now: Instant, src: Address) {
        if let Address::Short(short) = src {
            self.sleepers.has_asked(short);
        }
        let has = |capability| self.capabilities.contains(capability);
        let for_all = has(Capabilities::AUTO_ACK) && !has(Capabilities::SOURCE_MATCH);
        if !for_all || !self.sleepers.bit || self.is_pending(src) {
            return;
        }
        let header = self.header(FrameType::Data, src, true);
        if self.write_slot(Kind::Nothing, Token(0), &header, |_| 0).is_ok() {
            count(&mut self.stats.answered_in_vain);
            self.push_slot(now);
        }
    }

    /// Lets an indirect frame go before the head, between two attempts of the latter, if that is
    /// configured. Tells whether it did.
    pub(crate) fn preempt(&mut self, now: Instant) -> bool {
        let between = matches!(self.tx, TxState::Backoff { .. } | TxState::Ready);
        if !between || !self.config.indirect.preempt || !self.queue.is_in_the_way() {
            return false;
        }
        count(&mut self.stats.preempted);
        self.tx = TxState::Idle;
        self.start_next(now);
        true
    }
}

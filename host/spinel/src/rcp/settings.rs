//! Settings of a coprocessor: the ones that are wanted, and the ones that it has confirmed.

use crate::message::{Command, Property};
use kinglet_radio::{Channel, Filter};
use std::collections::BTreeSet;

/// Most sources that are given in one command, so that it is no longer than one with a frame.
const AT_ONCE: usize = 60;

/// A setting, with its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Setting {
    Enabled,
    Pan(u16),
    Short(u16),
    Extended([u8; 8]),
    Power(i8),
    Channel(u8),
    /// The radio listens.
    Listens(bool),
    /// The frame-pending bit depends on the source.
    Matches(bool),
    /// All sources for which frames are pending.
    Sources(BTreeSet<u16>),
    Source(u16, bool),
}

impl Setting {
    /// Returns its property, the command, and the value.
    pub(super) fn command(&self) -> (Command, Property, Vec<u8>) {
        let set = |property, value: &[u8]| (Command::Set, property, value.to_vec());
        match *self {
            Setting::Enabled => set(Property::PHY_ENABLED, &[1]),
            Setting::Pan(pan) => set(Property::MAC_15_4_PANID, &pan.to_le_bytes()),
            Setting::Short(short) => set(Property::MAC_15_4_SADDR, &short.to_le_bytes()),
            Setting::Extended(extended) => set(Property::MAC_15_4_LADDR, &extended),
            Setting::Power(dbm) => set(Property::PHY_TX_POWER, &dbm.to_le_bytes()),
            Setting::Channel(channel) => set(Property::PHY_CHAN, &[channel]),
            Setting::Listens(on) => set(Property::MAC_RAW_STREAM_ENABLED, &[on.into()]),
            Setting::Matches(on) => set(Property::MAC_SRC_MATCH_ENABLED, &[on.into()]),
            Setting::Sources(ref all) => {
                let octets: Vec<u8> = all.iter().flat_map(|short| short.to_le_bytes()).collect();
                set(Property::MAC_SRC_MATCH_SHORT_ADDRESSES, &octets)
            }
            Setting::Source(short, pending) => {
                let command = if pending { Command::Insert } else { Command::Remove };
                let value = short.to_le_bytes().to_vec();
                (command, Property::MAC_SRC_MATCH_SHORT_ADDRESSES, value)
            }
        }
    }

    /// Returns whether it is about frames that are pending.
    pub(super) fn is_source(&self) -> bool {
        matches!(self, Setting::Sources(_) | Setting::Source(..))
    }
}

/// Wanted settings.
#[derive(Clone, Debug)]
pub(super) struct Wanted {
    pub(super) filter: Option<Filter>,
    pub(super) power_dbm: i8,
    pub(super) sources: BTreeSet<u16>,
}

impl Wanted {
    pub(super) const fn new() -> Wanted {
        Wanted { filter: None, power_dbm: 0, sources: BTreeSet::new() }
    }
}

/// Confirmed settings; `None` and the default are not known.
#[derive(Clone, Debug, Default)]
pub(super) struct Known {
    enabled: bool,
    pan: Option<u16>,
    short: Option<u16>,
    extended: Option<[u8; 8]>,
    power_dbm: Option<i8>,
    pub(super) channel: Option<u8>,
    pub(super) listens: Option<bool>,
    matches: Option<bool>,
    sources: Option<BTreeSet<u16>>,
    /// Most sources that fit, if more have been refused.
    capacity: Option<usize>,
}

impl Known {
    pub(super) fn note(&mut self, setting: Setting) {
        match setting {
            Setting::Enabled => self.enabled = true,
            Setting::Pan(pan) => self.pan = Some(pan),
            Setting::Short(short) => self.short = Some(short),
            Setting::Extended(extended) => self.extended = Some(extended),
            Setting::Power(dbm) => self.power_dbm = Some(dbm),
            Setting::Channel(channel) => self.channel = Some(channel),
            Setting::Listens(on) => self.listens = Some(on),
            Setting::Matches(on) => self.matches = Some(on),
            Setting::Sources(all) => self.sources = Some(all),
            Setting::Source(short, pending) => {
                if let Some(sources) = &mut self.sources {
                    let _ = if pending { sources.insert(short) } else { sources.remove(&short) };
                }
            }
        }
    }

    /// Notes that a setting of sources may not have had its effect.
    pub(super) fn forget_sources(&mut self) {
        self.sources = None;
    }

    /// Notes that there is no space for the sources of a setting.
    pub(super) fn note_full(&mut self, setting: &Setting) {
        let most = match setting {
            Setting::Sources(all) => all.len().saturating_sub(1),
            _ => self.sources.as_ref().map_or(0, BTreeSet::len),
        };
        (self.capacity, self.sources) = (Some(most), None);
    }

    /// Returns the first wanted setting without which no frame can be sent.
    pub(super) fn lacks(&self, wanted: &Wanted) -> Option<Setting> {
        let filter = wanted.filter;
        let setting = |known: bool, setting| (!known).then_some(setting);
        setting(self.enabled, Setting::Enabled)
            .or_else(|| {
                let Filter { pan_id, short, extended } = filter?;
                setting(self.pan == Some(pan_id), Setting::Pan(pan_id))
                    .or_else(|| setting(self.short == Some(short), Setting::Short(short)))
                    .or_else(|| {
                        setting(self.extended == Some(extended), Setting::Extended(extended))
                    })
            })
            .or_else(|| {
                let dbm = wanted.power_dbm;
                setting(self.power_dbm == Some(dbm), Setting::Power(dbm))
            })
    }

    /// Returns the next change of the frame-pending bits.
    pub(super) fn lacks_source(&self, wanted: &Wanted) -> Option<Setting> {
        // The bit is set for all.
        if self.capacity.is_some_and(|most| wanted.sources.len() > most) {
            return (self.matches != Some(false)).then_some(Setting::Matches(false));
        }
        let Some(sources) = &self.sources else {
            let first = wanted.sources.iter().copied().take(AT_ONCE).collect();
            return Some(Setting::Sources(first));
        };
        let missing = wanted.sources.difference(sources).next();
        let missing = missing.map(|short| Setting::Source(*short, true));
        let superfluous = || sources.difference(&wanted.sources).next();
        let change = missing.or_else(|| superfluous().map(|short| Setting::Source(*short, false)));
        change.or_else(|| (self.matches != Some(true)).then_some(Setting::Matches(true)))
    }

    /// Returns the next change towards the mode in which the radio listens on `channel`, or not.
    pub(super) fn lacks_mode(&self, channel: Option<Channel>) -> Option<Setting> {
        let Some(channel) = channel.map(Channel::number) else {
            return (self.listens != Some(false)).then_some(Setting::Listens(false));
        };
        if self.channel != Some(channel) {
            return Some(Setting::Channel(channel));
        }
        (self.listens != Some(true)).then_some(Setting::Listens(true))
    }
}

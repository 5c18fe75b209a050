//! Commands of the host, by OpenThread's `ncp_base.cpp` and `ncp_base_radio.cpp`.

use super::{Coprocessor, Job, Reception, Step};

/// Answers to commands.
const VALUE_IS: u8 = 6;
const INSERTED: u8 = 7;
const REMOVED: u8 = 8;
/// Statuses.
const OK: u8 = 0;
const INVALID_STATE: u8 = 4;
const PARSE_ERROR: u8 = 9;
const NOMEM: u8 = 11;
const PROP_NOT_FOUND: u8 = 13;
/// Output powers in dBm, of no particular radio.
pub(super) const POWER_STEPS_DBM: [i8; 8] = [-20, -16, -12, -8, -4, 0, 4, 8];

/// Reads a packed integer.
fn packed(octets: &mut &[u8]) -> Option<u32> {
    let mut value = 0;
    for shift in [0, 7, 14] {
        let (octet, rest) = octets.split_first()?;
        *octets = rest;
        value |= u32::from(octet & 0x7f) << shift;
        if octet & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

fn number(octets: &[u8]) -> Option<u16> {
    octets.first_chunk().map(|octets| u16::from_le_bytes(*octets))
}

impl Coprocessor {
    pub(super) fn handle_message(&mut self, message: &[u8]) {
        let Some((header, mut rest)) = message.split_first() else { return };
        let tid = header & 0x0f;
        match packed(&mut rest) {
            Some(1) => self.restart(),
            Some(2) => match packed(&mut rest) {
                Some(property) => self.get(tid, property),
                None => self.send_status(tid, PARSE_ERROR, &[]),
            },
            Some(command @ 3..=5) => match packed(&mut rest) {
                Some(0x71) if command == 3 => self.transmit(tid, rest),
                Some(property) => {
                    let result = self.change(command, property, rest);
                    self.confirm(tid, command, property, rest, result);
                }
                None => self.send_status(tid, PARSE_ERROR, &[]),
            },
            _ => self.send_status(tid, 5, &[]),
        }
    }

    fn get(&mut self, tid: u8, property: u32) {
        let value = match (self.values.get(&property), property) {
            (Some(value), _) => value.clone(),
            (None, 0x01) => vec![4, 3],
            (None, 0x02) => b"KINGLET-MODEL/1\0".to_vec(),
            // Counters, filter of updates, 2.4 GHz, radio, raw frames, versions of the interface.
            (None, 0x05) => vec![5, 12, 24, 34, 0x81, 0x04, 64, 65],
            (None, 0x08) => vec![0x18, 0xb4, 0x30, 0, 0, 0, 0, 1],
            (None, 0x22) => (11..=26).collect(),
            (None, 0xb0) => vec![11],
            (None, 0xb1) => vec![4],
            (None, 0x120b) => vec![0x7f],
            _ => return self.send_status(tid, PROP_NOT_FOUND, &[]),
        };
        // An empty value is one that the test has removed.
        match value.is_empty() {
            true => self.send_status(tid, PROP_NOT_FOUND, &[]),
            false => self.send(tid, VALUE_IS, property, &value),
        }
    }

    /// Changes a property; returns the status.
    fn change(&mut self, command: u32, property: u32, value: &[u8]) -> u8 {
        if let Some(status) = self.refusals.get(&property) {
            return *status;
        }
        let flag = value.first().map(|octet| *octet != 0);
        let done = match (command, property) {
            (3, 0x20) => flag.map(|flag| self.is_enabled = flag),
            _ if !self.is_enabled => return INVALID_STATE,
            // Any channel is confirmed.
            (3, 0x21) => value.first().map(|channel| self.channel = *channel),
            (3, 0x25) => value.first().map(|dbm| {
                let distance = |step: &i8| i16::from(*step).abs_diff(i16::from(*dbm as i8));
                self.power_dbm = POWER_STEPS_DBM.into_iter().min_by_key(distance).unwrap_or(0);
            }),
            (3, 0x34) => value.first_chunk().map(|extended| self.extended = *extended),
            (3, 0x35) => number(value).map(|short| self.short = short),
            (3, 0x36) => number(value).map(|pan| self.pan = pan),
            (3, 0x37) => flag.map(|flag| self.listens = flag),
            (3, 0x1303) => flag.map(|flag| self.matches = flag),
            (3..=5, 0x1304) => return self.change_sources(command, value),
            _ => return PROP_NOT_FOUND,
        };
        if property == 0x37 || property == 0x21 && self.listens {
            self.retune();
        }
        if done.is_some() { OK } else { PARSE_ERROR }
    }

    fn change_sources(&mut self, command: u32, value: &[u8]) -> u8 {
        if command == 3 {
            self.sources.clear();
        }
        for short in value.chunks_exact(2).filter_map(number) {
            if command == 5 {
                // One entry: the same source may be in the list twice.
                if let Some(at) = self.sources.iter().position(|it| *it == short) {
                    self.sources.remove(at);
                }
            } else if self.sources.len() < self.max_sources {
                self.sources.push(short);
            } else {
                return NOMEM;
            }
        }
        OK
    }

    fn confirm(&mut self, tid: u8, command: u32, property: u32, value: &[u8], status: u8) {
        match (command, property) {
            _ if status != OK => self.send_status(tid, status, &[]),
            // Properties that cannot be read.
            (3, 0x20 | 0x1304) => self.send_status(tid, OK, &[]),
            (3, 0x25) => {
                let power = self.power_dbm as u8;
                self.send(tid, VALUE_IS, property, &[power]);
            }
            (3, _) => self.send(tid, VALUE_IS, property, value),
            (4, _) => self.send(tid, INSERTED, property, value),
            _ => self.send(tid, REMOVED, property, value),
        }
    }

    /// Tunes the radio to the channel of the settings, after a reception that has begun.
    fn retune(&mut self) {
        if self.job.is_some() {
            self.note_misuse("a change of mode during a transmission, which ends it");
        }
        self.tuned = self.listens.then_some(self.channel);
        if matches!(self.reception, Reception::Off | Reception::Search { .. }) {
            self.search();
        }
    }

    fn transmit(&mut self, tid: u8, value: &[u8]) {
        if !self.is_enabled {
            return self.send_status(tid, INVALID_STATE, &[]);
        }
        let fields = || {
            let (len, rest) = value.split_at_checked(2)?;
            let (psdu, meta) = rest.split_at_checked(number(len)?.into())?;
            // All fields after the channel may be missing.
            let channel = *meta.first()?;
            let field = |index, usual| meta.get(index).copied().unwrap_or(usual);
            let [retries, updated, processed] = [field(2, 15), field(4, 0), field(6, 0)];
            let job = Job {
                tid,
                psdu: psdu.to_vec(),
                channel,
                channel_after: field(15, channel),
                max_backoffs: field(1, 4),
                has_csma: field(3, 1) != 0,
                busy: 0,
                step: Step::Ready,
            };
            Some((job, retries, updated != 0 && processed != 0))
        };
        let Some((job, retries, is_final)) =
            fields().filter(|(job, ..)| (5..=127).contains(&job.psdu.len()))
        else {
            return self.send_status(tid, PARSE_ERROR, &[]);
        };
        // Its frame has been copied over the other one by now.
        if self.job.is_some() {
            return self.note_misuse("a transmission before the end of another one");
        }
        if retries > 0 {
            self.note_misuse("a transmission that the coprocessor repeats");
        }
        if job.psdu.first().is_some_and(|first| first & 0x08 != 0) && !is_final {
            self.note_misuse("a secured frame that the coprocessor would change");
        }
        self.begin(job);
    }
}

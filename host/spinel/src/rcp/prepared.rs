//! The next frame, which the line carries while the outstanding one is on the air.
//!
//! A coprocessor takes a command at its last flag, and a second transmission before the end of the
//! first one would overwrite that. So the line gets the beginning of the command only, up to the
//! space for the FCS of the frame. The rest follows when the frame is submitted. If another message
//! comes first, the beginning is completed to a command with a truncated frame, which a coprocessor
//! refuses with a status.

use super::Rcp;
use crate::hdlc;
use crate::message::{self, Property, Tid};
use crate::raw::{LEN_OCTETS, Outgoing};
use kinglet_radio::{Access, Command};

/// A command whose beginning the line has.
#[derive(Clone, Debug)]
pub(super) struct Prepared {
    /// Its value: the frame with its metadata.
    value: Vec<u8>,
    tid: Tid,
    /// The octets of the line after the beginning.
    rest: Vec<u8>,
    /// The octets after the beginning that make it a command with a truncated frame.
    end: Vec<u8>,
}

impl Rcp {
    /// See [`kinglet_radio::Driver::prepare`].
    pub(super) fn prepare_frame(&mut self, command: Command, frame: &[u8]) {
        let Command::Transmit { access, channel, .. } = command else { return };
        let is_free = self.asked.is_none() && self.prepared.is_none() && self.output.is_empty();
        if !self.is_on_air() || !is_free {
            return;
        }
        let value = self.value_of(frame, channel.number(), access);
        let tid = self.next_tid();
        let octets = message::command(tid, message::Command::Set, Property::STREAM_RAW, &value);
        let beginning = octets.len() - value.len() + LEN_OCTETS + frame.len();
        let Some(truncated) = octets.get(..beginning) else { return };
        let (mut line, mut short) = (Vec::new(), Vec::new());
        hdlc::encode(&octets, &mut line);
        hdlc::encode(truncated, &mut short);
        let common = line.iter().zip(&short).take_while(|(a, b)| a == b).count();
        let (rest, end) = (line.split_off(common), short.split_off(common));
        self.output.extend(line);
        self.prepared = Some(Prepared { value, tid, rest, end });
    }

    /// Returns a frame with its metadata. After it the radio listens on its channel again.
    pub(super) fn value_of(&self, frame: &[u8], channel: u8, access: Access) -> Vec<u8> {
        let listens = self.known.channel.filter(|_| self.known.listens == Some(true));
        let channel_after = listens.filter(|own| *own != channel);
        Outgoing { frame, channel, access, channel_after }.octets()
    }

    /// Writes the rest of the prepared command if it has this value; returns its identifier.
    pub(super) fn finish_prepared(&mut self, value: &[u8]) -> Option<Tid> {
        let prepared = self.prepared.take_if(|prepared| prepared.value == value)?;
        self.output.extend(prepared.rest);
        Some(prepared.tid)
    }

    /// Completes the beginning of a prepared command to one that has no effect. Returns whether
    /// there was one.
    pub(super) fn withdraw_prepared(&mut self) -> bool {
        let prepared = self.prepared.take();
        let is_withdrawn = prepared.is_some();
        self.output.extend(prepared.into_iter().flat_map(|prepared| prepared.end));
        is_withdrawn
    }
}

//! Output of messages with their options.

use super::message::Message;
use super::option::{
    CONFIGURATION, ControlOption, DESCRIPTOR, METRIC_CONTAINER, PAD1, PADN, PREFIX_INFORMATION,
    ROUTE_INFORMATION, SOLICITED, Solicited, TARGET, TRANSIT, Target, Transit,
};
use super::{masked, octets_of};
use crate::{Error, Field};
use core::net::Ipv6Addr;

/// Writes a message and then its options.
pub struct Writer<'a> {
    out: &'a mut [u8],
    len: usize,
}

impl<'a> Writer<'a> {
    /// Writes the base object to the start of `out`.
    ///
    /// # Errors
    /// [`Error::NoRoom`].
    pub fn new(out: &'a mut [u8], message: &Message) -> Result<Self, Error> {
        message.emit(out)?;
        Ok(Writer { out, len: message.buffer_len() })
    }

    /// Returns the number of octets written.
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Returns whether nothing is written yet.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the remaining room in octets.
    pub fn room(&self) -> usize {
        self.out.len().saturating_sub(self.len)
    }

    /// Removes the octets behind `len`.
    pub fn truncate(&mut self, len: usize) {
        self.len = self.len.min(len);
    }

    /// Writes `len` octets of padding (6.7.2, 6.7.3), up to 257.
    ///
    /// # Errors
    /// [`Error::NoRoom`], also for more than 257 octets.
    pub fn pad(&mut self, len: usize) -> Result<(), Error> {
        match len {
            0 => Ok(()),
            1 => self.put(&[PAD1]),
            len => self.option_of(PADN, len.saturating_sub(2)).map(|_| ()),
        }
    }

    /// Writes an option.
    ///
    /// # Errors
    /// [`Error::NoRoom`]; then nothing is written.
    //= rfc6550#6.7.5-2 rfc6550#6.7.6-3 rfc6550#6.7.6-5 rfc6550#6.7.7-1 rfc6550#6.7.9-3
    //= rfc6550#6.7.9-4 rfc6550#6.7.9-5 rfc6550#6.7.9-6 rfc6550#6.7.10-4 rfc6550#6.7.10-6
    pub fn option(&mut self, option: &ControlOption<'_>) -> Result<(), Error> {
        match *option {
            ControlOption::Metrics(metrics) => self.data(METRIC_CONTAINER, metrics.as_octets()),
            ControlOption::Route(route) => {
                let [a, b, c, d] = route.lifetime_secs.to_be_bytes();
                let head = [route.prefix_len, (route.preference & 3) << 3, a, b, c, d];
                self.prefixed(ROUTE_INFORMATION, &head, route.prefix, route.prefix_len)
            }
            ControlOption::Configuration(configuration) => {
                self.data(CONFIGURATION, &configuration.octets())
            }
            ControlOption::Target(Target { prefix, prefix_len }) => {
                self.prefixed(TARGET, &[0, prefix_len], prefix, prefix_len)
            }
            ControlOption::Transit(transit) => self.transit(&transit),
            ControlOption::Solicited(Solicited { instance, dodag_id, version }) => {
                let flags = u8::from(version.is_some()) << 7
                    | u8::from(instance.is_some()) << 6
                    | u8::from(dodag_id.is_some()) << 5;
                let mut octets = [0; 19];
                kinglet_octets::copy(&mut octets, &[instance.unwrap_or(0), flags]);
                let (_, rest) = octets.split_at_mut(2);
                kinglet_octets::copy(rest, &dodag_id.map_or([0; 16], |id| id.octets()));
                if let Some(last) = octets.last_mut() {
                    *last = version.unwrap_or(0);
                }
                self.data(SOLICITED, &octets)
            }
            ControlOption::Prefix(prefix) => {
                let flags = u8::from(prefix.on_link) << 7
                    | u8::from(prefix.autonomous) << 6
                    | u8::from(prefix.router_address) << 5;
                let [a, b, c, d] = prefix.valid_secs.to_be_bytes();
                let [e, f, g, h] = prefix.preferred_secs.to_be_bytes();
                let head = [prefix.prefix_len, flags, a, b, c, d, e, f, g, h, 0, 0, 0, 0];
                self.prefixed(PREFIX_INFORMATION, &head, prefix.prefix, 128)
            }
            ControlOption::Descriptor(descriptor) => {
                self.data(DESCRIPTOR, &descriptor.to_be_bytes())
            }
            ControlOption::Other { kind, data } => self.data(kind, data),
        }
    }

    fn transit(&mut self, transit: &Transit) -> Result<(), Error> {
        let Transit { external, path_control, path_sequence, path_lifetime, parent } = *transit;
        let head = [u8::from(external) << 7, path_control, path_sequence, path_lifetime];
        match parent {
            Some(parent) => self.prefixed(TRANSIT, &head, parent, 128),
            None => self.data(TRANSIT, &head),
        }
    }

    //= rfc6550#6.7.5-3 rfc6550#6.7.7-2
    fn prefixed(&mut self, kind: u8, head: &[u8], prefix: Ipv6Addr, bits: u8) -> Result<(), Error> {
        let bits = bits.min(128);
        let octets = masked(prefix, bits).octets();
        let prefix = octets.get(..octets_of(bits)).unwrap_or_default();
        let data = self.option_of(kind, head.len().saturating_add(prefix.len()))?;
        let copied = kinglet_octets::copy(data, head);
        kinglet_octets::copy(data.get_mut(copied..).unwrap_or_default(), prefix);
        Ok(())
    }

    fn data(&mut self, kind: u8, data: &[u8]) -> Result<(), Error> {
        kinglet_octets::copy(self.option_of(kind, data.len())?, data);
        Ok(())
    }

    /// Begins an option. Returns its data, still zero.
    fn option_of(&mut self, kind: u8, len: usize) -> Result<&mut [u8], Error> {
        let full = Error::NoRoom(Field::RplOption);
        let octet = u8::try_from(len).map_err(|_| full)?;
        let end = self.len.saturating_add(len).saturating_add(2);
        let out = self.out.get_mut(self.len..end).ok_or(full)?;
        let (head, data) = out.split_first_chunk_mut::<2>().ok_or(full)?;
        *head = [kind, octet];
        data.fill(0);
        self.len = end;
        Ok(data)
    }

    fn put(&mut self, octets: &[u8]) -> Result<(), Error> {
        let end = self.len.saturating_add(octets.len());
        let out = self.out.get_mut(self.len..end).ok_or(Error::NoRoom(Field::RplOption))?;
        kinglet_octets::copy(out, octets);
        self.len = end;
        Ok(())
    }
}

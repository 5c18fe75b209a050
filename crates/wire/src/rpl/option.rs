//! Options of control messages (RFC 6550, 6.7).

use super::metric::MetricContainer;
use super::prefix_of;
use crate::{Error, Field};
use core::net::Ipv6Addr;

pub(super) const PAD1: u8 = 0;
pub(super) const PADN: u8 = 1;
pub(super) const METRIC_CONTAINER: u8 = 2;
pub(super) const ROUTE_INFORMATION: u8 = 3;
pub(super) const CONFIGURATION: u8 = 4;
pub(super) const TARGET: u8 = 5;
pub(super) const TRANSIT: u8 = 6;
pub(super) const SOLICITED: u8 = 7;
pub(super) const PREFIX_INFORMATION: u8 = 8;
pub(super) const DESCRIPTOR: u8 = 9;

/// Route Information (6.7.5): a prefix outside of the DODAG that is reached through its root.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RouteInformation {
    /// The prefix; bits behind its length are zero.
    pub prefix: Ipv6Addr,
    /// Its length, 0 to 128.
    pub prefix_len: u8,
    /// Preference of RFC 4191: 1 high, 0 medium, 3 low.
    pub preference: u8,
    /// Route Lifetime in seconds; all ones: for ever.
    pub lifetime_secs: u32,
}

/// DODAG Configuration (6.7.6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Configuration {
    /// Authentication Enabled.
    pub authentication: bool,
    /// Packets carry the RPL option of type 0x23 (RFC 9008, 4.1.3), not 0x63.
    pub skips_unknown: bool,
    /// Packets are sent with 6LoWPAN Routing Headers: the T flag (RFC 9035, 3).
    pub compressed: bool,
    /// Path Control Size, 0 to 7.
    pub path_control_size: u8,
    /// DIOIntervalDoublings.
    pub interval_doublings: u8,
    /// DIOIntervalMin: Imin is 2 to the power of this in milliseconds.
    pub interval_min: u8,
    /// DIORedundancyConstant; 0: no suppression.
    pub redundancy: u8,
    /// DAGMaxRankIncrease; 0: no limit.
    pub max_rank_increase: u16,
    /// MinHopRankIncrease.
    pub min_hop_rank_increase: u16,
    /// Objective Code Point.
    pub objective: u16,
    /// Default Lifetime in units; 0xFF: for ever.
    pub default_lifetime: u8,
    /// Lifetime Unit in seconds.
    pub lifetime_unit_secs: u16,
}

/// RPL Target (6.7.7).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Target {
    /// The address or prefix; bits behind its length are zero.
    pub prefix: Ipv6Addr,
    /// Its length, 0 to 128.
    pub prefix_len: u8,
}

/// Transit Information (6.7.8) of the targets before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transit {
    /// The E flag: the targets do not know RPL.
    pub external: bool,
    /// Path Control.
    pub path_control: u8,
    /// Path Sequence.
    pub path_sequence: u8,
    /// Path Lifetime in units; 0: no path, 0xFF: for ever.
    pub path_lifetime: u8,
    /// Parent Address, in non-storing mode.
    pub parent: Option<Ipv6Addr>,
}

/// Solicited Information (6.7.9): conditions for an answer. Each part that is present must match.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Solicited {
    /// RPLInstanceID (the I flag).
    pub instance: Option<u8>,
    /// DODAGID (the D flag).
    pub dodag_id: Option<Ipv6Addr>,
    /// Version Number (the V flag).
    pub version: Option<u8>,
}

/// Prefix Information (6.7.10).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PrefixInformation {
    /// Prefix Length, 0 to 128.
    pub prefix_len: u8,
    /// The L flag.
    pub on_link: bool,
    /// The A flag: addresses may be formed from the prefix.
    pub autonomous: bool,
    /// The R flag: `prefix` is the sender's whole address.
    pub router_address: bool,
    /// Valid Lifetime in seconds; all ones: for ever.
    pub valid_secs: u32,
    /// Preferred Lifetime in seconds.
    pub preferred_secs: u32,
    /// The prefix or, with the R flag, an address that begins with it.
    pub prefix: Ipv6Addr,
}

/// An option other than padding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ControlOption<'a> {
    /// DAG Metric Container.
    Metrics(MetricContainer<'a>),
    /// Route Information.
    Route(RouteInformation),
    /// DODAG Configuration.
    Configuration(Configuration),
    /// RPL Target.
    Target(Target),
    /// Transit Information.
    Transit(Transit),
    /// Solicited Information.
    Solicited(Solicited),
    /// Prefix Information.
    Prefix(PrefixInformation),
    /// RPL Target Descriptor (6.7.11) of the target before it.
    Descriptor(u32),
    /// An unknown option.
    Other {
        /// Option Type.
        kind: u8,
        /// Option Data.
        data: &'a [u8],
    },
}

const fn word(a: u8, b: u8, c: u8, d: u8) -> u32 {
    u32::from_be_bytes([a, b, c, d])
}

impl<'a> ControlOption<'a> {
    /// Reads the data of an option that is no padding.
    //= rfc6550#6.7.1-1 rfc6550#6.7.5-2 rfc6550#6.7.5-3 rfc6550#6.7.7-1 rfc6550#6.7.7-2
    fn read(kind: u8, data: &'a [u8]) -> Result<Self, Error> {
        let bad = Error::Invalid(Field::RplOption);
        let too_long = Error::Invalid(Field::RplPrefixLength);
        let prefix = |octets, bits: u8| if bits > 128 { None } else { prefix_of(octets, bits) };
        Ok(match kind {
            METRIC_CONTAINER => ControlOption::Metrics(MetricContainer::parse(data)?),
            ROUTE_INFORMATION => {
                let (&[prefix_len, flags, a, b, c, d], rest) =
                    data.split_first_chunk().ok_or(bad)?;
                ControlOption::Route(RouteInformation {
                    prefix: prefix(rest, prefix_len).ok_or(too_long)?,
                    prefix_len,
                    preference: flags >> 3 & 3,
                    lifetime_secs: word(a, b, c, d),
                })
            }
            CONFIGURATION => ControlOption::Configuration(Configuration::read(data).ok_or(bad)?),
            TARGET => {
                let (&[_, prefix_len], rest) = data.split_first_chunk().ok_or(bad)?;
                let prefix = prefix(rest, prefix_len).ok_or(too_long)?;
                ControlOption::Target(Target { prefix, prefix_len })
            }
            TRANSIT => ControlOption::Transit(Transit::read(data).ok_or(bad)?),
            SOLICITED => ControlOption::Solicited(Solicited::read(data).ok_or(bad)?),
            PREFIX_INFORMATION => {
                let read = PrefixInformation::read(data).ok_or(bad)?;
                if read.prefix_len > 128 {
                    return Err(too_long);
                }
                ControlOption::Prefix(read)
            }
            DESCRIPTOR => {
                let &[a, b, c, d] = data.first_chunk().ok_or(bad)?;
                ControlOption::Descriptor(word(a, b, c, d))
            }
            kind => ControlOption::Other { kind, data },
        })
    }
}

impl Configuration {
    //= rfc6550#6.7.6-3 rfc6550#6.7.6-5
    fn read(data: &[u8]) -> Option<Self> {
        let &[flags, doublings, min, redundancy, a, b, c, d, e, f, _, lifetime, g, h] =
            data.first_chunk()?;
        Some(Configuration {
            authentication: flags & 0x08 != 0,
            skips_unknown: flags & 0x10 != 0,
            compressed: flags & 0x20 != 0,
            path_control_size: flags & 7,
            interval_doublings: doublings,
            interval_min: min,
            redundancy,
            max_rank_increase: u16::from_be_bytes([a, b]),
            min_hop_rank_increase: u16::from_be_bytes([c, d]),
            objective: u16::from_be_bytes([e, f]),
            default_lifetime: lifetime,
            lifetime_unit_secs: u16::from_be_bytes([g, h]),
        })
    }

    pub(super) fn octets(&self) -> [u8; 14] {
        let flags = u8::from(self.authentication) << 3
            | u8::from(self.skips_unknown) << 4
            | u8::from(self.compressed) << 5
            | self.path_control_size & 7;
        let [a, b] = self.max_rank_increase.to_be_bytes();
        let [c, d] = self.min_hop_rank_increase.to_be_bytes();
        let [e, f] = self.objective.to_be_bytes();
        let [g, h] = self.lifetime_unit_secs.to_be_bytes();
        let (doublings, min) = (self.interval_doublings, self.interval_min);
        let lifetime = self.default_lifetime;
        [flags, doublings, min, self.redundancy, a, b, c, d, e, f, 0, lifetime, g, h]
    }
}

impl Transit {
    //= rfc6550#6.7.8-2
    fn read(data: &[u8]) -> Option<Self> {
        let (&[flags, path_control, path_sequence, path_lifetime], rest) =
            data.split_first_chunk()?;
        let parent = match rest {
            [] => None,
            rest => Some(Ipv6Addr::from(*rest.first_chunk::<16>()?)),
        };
        let external = flags & 0x80 != 0;
        Some(Transit { external, path_control, path_sequence, path_lifetime, parent })
    }
}

impl Solicited {
    //= rfc6550#6.7.9-3 rfc6550#6.7.9-4 rfc6550#6.7.9-5 rfc6550#6.7.9-6
    fn read(data: &[u8]) -> Option<Self> {
        let (&[instance, flags], rest) = data.split_first_chunk()?;
        let (id, rest) = rest.split_first_chunk::<16>()?;
        let (version, _) = rest.split_first()?;
        Some(Solicited {
            instance: (flags & 0x40 != 0).then_some(instance),
            dodag_id: (flags & 0x20 != 0).then_some(Ipv6Addr::from(*id)),
            version: (flags & 0x80 != 0).then_some(*version),
        })
    }

    /// Returns whether a node in this version of this DODAG must answer.
    //= rfc6550#6.7.9-1 rfc6550#6.7.9-2
    pub fn asks(&self, instance: u8, dodag_id: Ipv6Addr, version: u8) -> bool {
        self.instance.is_none_or(|asked| asked == instance)
            && self.dodag_id.is_none_or(|asked| asked == dodag_id)
            && self.version.is_none_or(|asked| asked == version)
    }
}

impl PrefixInformation {
    //= rfc6550#6.7.10-4 rfc6550#6.7.10-6
    fn read(data: &[u8]) -> Option<Self> {
        let (&[prefix_len, flags], rest) = data.split_first_chunk()?;
        let (&[a, b, c, d], rest) = rest.split_first_chunk()?;
        let (&[e, f, g, h], rest) = rest.split_first_chunk()?;
        let (_, rest) = rest.split_first_chunk::<4>()?;
        let prefix = Ipv6Addr::from(*rest.first_chunk::<16>()?);
        Some(PrefixInformation {
            prefix_len,
            on_link: flags & 0x80 != 0,
            autonomous: flags & 0x40 != 0,
            router_address: flags & 0x20 != 0,
            valid_secs: word(a, b, c, d),
            preferred_secs: word(e, f, g, h),
            prefix,
        })
    }
}

/// The options of a message, checked; an iterator over them without padding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options<'a>(&'a [u8]);

impl<'a> Options<'a> {
    /// Checks the octets after the base object of a message.
    ///
    /// # Errors
    /// [`Error::Truncated`] if an option exceeds the end, [`Error::Invalid`] if one is too short
    /// for its type or has a prefix of more than 128 bits; then the message is malformed (RFC 6550,
    /// 6.7.1).
    pub fn parse(octets: &'a [u8]) -> Result<Self, Error> {
        let mut rest = octets;
        // Each iteration takes at least one octet.
        while !rest.is_empty() {
            (_, rest) = split(rest)?;
        }
        Ok(Options(octets))
    }
}

/// Returns the first option, `None` if it is padding, and the rest.
//= rfc6550#6.7.3-1
fn split(octets: &[u8]) -> Result<(Option<ControlOption<'_>>, &[u8]), Error> {
    let short = Error::Truncated(Field::RplOption);
    let (&kind, rest) = octets.split_first().ok_or(short)?;
    if kind == PAD1 {
        return Ok((None, rest));
    }
    let (&len, rest) = rest.split_first().ok_or(short)?;
    let (data, rest) = rest.split_at_checked(len.into()).ok_or(short)?;
    let option = if kind == PADN { None } else { Some(ControlOption::read(kind, data)?) };
    Ok((option, rest))
}

impl<'a> Iterator for Options<'a> {
    type Item = ControlOption<'a>;

    fn next(&mut self) -> Option<ControlOption<'a>> {
        // Each iteration takes at least one octet.
        while !self.0.is_empty() {
            let (option, rest) = split(self.0).ok()?;
            self.0 = rest;
            if option.is_some() {
                return option;
            }
        }
        None
    }
}

//! Objects of the DAG Metric Container (RFC 6551).

use crate::{Error, Field};

const NODE_STATE: u8 = 1;
const HOP_COUNT: u8 = 3;
const ETX: u8 = 7;
/// Octets before an object's body.
const HEADER: usize = 4;

/// Content of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MetricKind<'a> {
    /// Node State and Attribute (RFC 6551, 3.1).
    NodeState {
        /// The A flag: the node can aggregate traffic.
        aggregates: bool,
        /// The O flag: the node is overloaded.
        overloaded: bool,
    },
    /// Hop Count (RFC 6551, 3.3).
    HopCount(u8),
    /// Expected transmissions along the path in units of 1/128 (RFC 6551, 4.3.2).
    Etx(u16),
    /// Any other object.
    Other {
        /// Routing-MC-Type.
        kind: u8,
        /// Its body.
        body: &'a [u8],
    },
}

/// A routing metric or constraint (RFC 6551, 2.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Metric<'a> {
    /// Its content.
    pub kind: MetricKind<'a>,
    /// The P flag: nodes on the path could not add their part.
    pub partial: bool,
    /// The C flag: a constraint, not a metric.
    pub constraint: bool,
    /// The O flag: an optional constraint.
    pub optional: bool,
    /// The R flag: recorded, not aggregated.
    pub recorded: bool,
    /// Aggregation along the path: 0 by a sum, 1 maximum, 2 minimum, 3 product.
    pub aggregation: u8,
    /// Precedence, 0 (the highest) to 15.
    pub precedence: u8,
}

impl<'a> Metric<'a> {
    /// A metric that is summed along the path.
    pub const fn sum(kind: MetricKind<'a>) -> Self {
        Metric {
            kind,
            partial: false,
            constraint: false,
            optional: false,
            recorded: false,
            aggregation: 0,
            precedence: 0,
        }
    }

    /// Returns the first object of `octets` and the rest.
    fn split(octets: &'a [u8]) -> Result<(Self, &'a [u8]), Error> {
        let short = Error::Truncated(Field::RplDagMetric);
        let (&[kind, flags, more, len], rest) =
            octets.split_first_chunk::<HEADER>().ok_or(short)?;
        let (body, rest) = rest.split_at_checked(len.into()).ok_or(short)?;
        let kind = match (kind, body) {
            (NODE_STATE, [_, flags, ..]) => {
                MetricKind::NodeState { aggregates: flags & 2 != 0, overloaded: flags & 1 != 0 }
            }
            (HOP_COUNT, [_, hops, ..]) => MetricKind::HopCount(*hops),
            (ETX, [high, low, ..]) => MetricKind::Etx(u16::from_be_bytes([*high, *low])),
            (NODE_STATE | HOP_COUNT | ETX, _) => return Err(Error::Invalid(Field::RplDagMetric)),
            (kind, body) => MetricKind::Other { kind, body },
        };
        let metric = Metric {
            kind,
            partial: flags & 4 != 0,
            constraint: flags & 2 != 0,
            optional: flags & 1 != 0,
            recorded: more & 0x80 != 0,
            aggregation: more >> 4 & 7,
            precedence: more & 15,
        };
        Ok((metric, rest))
    }

    fn emit(&self, out: &mut [u8]) -> Option<usize> {
        let two;
        let (kind, body) = match self.kind {
            MetricKind::NodeState { aggregates, overloaded } => {
                two = [0, u8::from(aggregates) << 1 | u8::from(overloaded)];
                (NODE_STATE, two.as_slice())
            }
            MetricKind::HopCount(hops) => {
                two = [0, hops];
                (HOP_COUNT, two.as_slice())
            }
            MetricKind::Etx(etx) => {
                two = etx.to_be_bytes();
                (ETX, two.as_slice())
            }
            MetricKind::Other { kind, body } => (kind, body),
        };
        let flag = |on, bit: u8| if on { bit } else { 0 };
        let flags = flag(self.partial, 4) | flag(self.constraint, 2) | flag(self.optional, 1);
        let more = flag(self.recorded, 0x80) | (self.aggregation & 7) << 4 | self.precedence & 15;
        let end = HEADER.checked_add(body.len())?;
        let (head, rest) = out.get_mut(..end)?.split_first_chunk_mut::<HEADER>()?;
        *head = [kind, flags, more, u8::try_from(body.len()).ok()?];
        kinglet_octets::copy(rest, body);
        Some(end)
    }
}

/// The objects of a container, checked; an iterator over them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MetricContainer<'a>(&'a [u8]);

impl<'a> MetricContainer<'a> {
    /// Checks the data of the option.
    ///
    /// # Errors
    /// [`Error::Truncated`] or [`Error::Invalid`] if an object is incomplete or too short.
    pub fn parse(octets: &'a [u8]) -> Result<Self, Error> {
        let mut rest = octets;
        // Each iteration takes at least four octets.
        while !rest.is_empty() {
            (_, rest) = Metric::split(rest)?;
        }
        Ok(MetricContainer(octets))
    }

    /// Writes `metrics` to `out`, to be put into a message.
    ///
    /// # Errors
    /// [`Error::NoRoom`] if they do not fit into `out` or into an option.
    pub fn build(metrics: &[Metric<'_>], out: &'a mut [u8]) -> Result<Self, Error> {
        let mut len = 0;
        for metric in metrics {
            let put = out.get_mut(len..).and_then(|room| metric.emit(room));
            len = put
                .and_then(|put| put.checked_add(len))
                .ok_or(Error::NoRoom(Field::RplDagMetric))?;
        }
        let out: &'a [u8] = out;
        let octets = out.get(..len).filter(|_| u8::try_from(len).is_ok());
        octets.map(MetricContainer).ok_or(Error::NoRoom(Field::RplDagMetric))
    }

    /// The objects as they are in the message.
    pub const fn as_octets(&self) -> &'a [u8] {
        self.0
    }
}

impl<'a> Iterator for MetricContainer<'a> {
    type Item = Metric<'a>;

    fn next(&mut self) -> Option<Metric<'a>> {
        let (metric, rest) = Metric::split(self.0).ok()?;
        self.0 = rest;
        Some(metric)
    }
}

//! Transfers between pairs of nodes that each seed draws, as "design criteria" has them (II-C).

/// Transfers one after the other, each between two nodes that the seed draws; what they carry says
/// the scenario's only flow. The run draws them: [`crate::run::drawn`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pairs {
    /// How many.
    pub count: u32,
    /// How many hops their ways have; `None` is any number.
    pub hops: Option<u32>,
    /// From the start of one to that of the next, in seconds.
    pub every_s: f64,
}

impl Pairs {
    /// A quarter of an hour for each.
    pub const USUAL: Pairs = Pairs { count: 1, hops: None, every_s: 900.0 };
}

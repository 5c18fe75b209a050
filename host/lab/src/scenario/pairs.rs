//! Transfers between pairs of nodes that each seed draws, as "design criteria" has them (II-C).

/// Transfers one after the other, each between two nodes that the seed draws; what they carry says
/// the scenario's only flow. The run draws them: [`crate::run::drawn`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pairs {
    /// How many.
    pub count: u32,
    /// How many hops their ways have; `None` is any number.
    pub hops: Option<u32>,
    /// How many begin at the same time.
    pub at_once: u32,
    /// From the start of those to that of the next, in seconds.
    pub every_s: f64,
    /// So many seconds after the start of a transfer the node in the middle of its way, as it is
    /// then, falls out until the next one starts; 0: never.
    pub dies_s: f64,
}

/// The node in the middle of a flow's live way falls out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RelayDeath {
    /// The flow's place.
    pub flow: usize,
    /// When, in seconds; which node that is turns out then.
    pub from_s: f64,
    /// When it is back.
    pub to_s: f64,
}

impl Pairs {
    /// A quarter of an hour for each.
    pub const USUAL: Pairs =
        Pairs { count: 1, hops: None, at_once: 1, every_s: 900.0, dies_s: 0.0 };
}

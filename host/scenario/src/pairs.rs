//! Transfers between pairs of nodes that each seed draws, as in "design criteria" (II-C).

/// Consecutive transfers, each between two nodes that the seed draws. The only flow of the scenario
/// describes the transfer. The run draws the pairs (`kinglet_network::run::drawn`).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pairs {
    /// Number of pairs.
    pub count: u32,
    /// Number of hops of their paths; `None` is any number.
    pub hops: Option<u32>,
    /// Number of transfers that begin at the same time.
    pub concurrent: u32,
    /// Interval between the starts of such groups, in seconds.
    pub interval_s: f64,
    /// Seconds after the start of a transfer at which the middle node of its present path fails
    /// until the next one starts; 0: never.
    pub failure_after_s: f64,
}

/// A failure of the middle node of a flow's present path.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RelayDeath {
    /// Index of the flow.
    pub flow: usize,
    /// Time of the failure in seconds; the node is determined at that time.
    pub from_s: f64,
    /// Time of its recovery.
    pub to_s: f64,
}

impl Pairs {
    /// A quarter of an hour for each transfer.
    pub const USUAL: Pairs =
        Pairs { count: 1, hops: None, concurrent: 1, interval_s: 900.0, failure_after_s: 0.0 };
}

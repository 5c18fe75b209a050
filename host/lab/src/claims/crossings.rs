//! Tests of the claims of Duquennoy et al. about TCP over bursts.

use super::bounds::Bounds;
use super::{Finding, Table, Test};

/// Test of the claim with this id.
pub(super) fn test_of(id: &str) -> Option<Test> {
    Some(match id {
        "bf.fig15.timeline" => timeline,
        "bf.fig15.queues" => queues,
        _ => return None,
    })
}

fn timeline(t: &Table<'_>) -> Option<Finding> {
    let of = |metric| t.mean("paper", metric);
    let (before, during, after) = (of("before")?, of("during")?, of("after")?);
    let resent = of("retransmitted")?;
    Bounds::default()
        .within("times what is left during interference", before / during, (5.0, 20.0))
        .above("after it, of before", after / before, 0.8)
        .below("% sent again", resent, 15.0)
        .found(before, format!("{during:.0} during, {after:.0} after it; {resent:.0} % sent again"))
}

/// Frames of a queue of a relay. "Saturated" is more than half of it on average, as it empties and
/// fills with TCP's rate; "almost empty" is less than a tenth.
const QUEUE: f64 = 256.0;

/// In the row `down` node 5 sends to node 6, as in the paper.
fn queues(t: &Table<'_>) -> Option<Finding> {
    let at = |node: u8| t.mean("down", &format!("queue_{node}_during"));
    let (before, inside) = (at(5)?, at(6)?);
    Bounds::default()
        .above("frames at node 5", before, QUEUE / 2.0)
        .below("frames at node 6", inside, QUEUE / 10.0)
        .found(before, format!("at node 6 {inside:.1}"))
}

//! Restarts of a node in a network that works: how long until all that could talk before talk
//! again, and what it costs.
//!
//! A [`Cell`] says which node restarts, for how long it is off, and in what kind of network. The
//! network is a line: border router 0, routers 1 to 3, and leaf 4 behind router 3. The border
//! router talks to each of the others.

mod board;
mod cells;
mod network;

pub use cells::{Cell, Changed, Part, Routing, Traffic};

use board::{Board, Chatter};
use crate::build;
use crate::scenario::NodeId;
use kinglet::time::{Duration, Instant};
use kinglet_sim::Fault;
use network::{addresses, control_messages, scenario};
use std::sync::{Arc, Mutex};

/// The node restarts at this time. Until then the network has formed.
const RESTART: Instant = Instant::from_secs(180);
/// Without traffic, datagrams begin so long after the node is back.
const SILENCE: Duration = Duration::from_secs(15);
/// So long after that the observation ends.
const OBSERVED: Duration = Duration::from_secs(1_800);
/// All is well if it has been for so long.
const SETTLED: Duration = Duration::from_secs(60);
/// Control messages are counted for so long.
const COUNTED: Duration = Duration::from_secs(30);
/// Addresses are looked up so often.
const LOOK: Duration = Duration::from_millis(100);

/// What a restart has cost.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    /// Pairs that talked before, each in one direction.
    pub pairs: usize,
    /// Seconds from the return of the node until the last of them talked again; `None` if that has
    /// not come within half an hour.
    pub seconds: Option<f64>,
    /// Control messages per node in the first half a minute after the return, beyond those of half
    /// a minute without a restart.
    pub control: f64,
    /// Datagrams that were lost from the restart on, of those that were sent.
    pub lost: u32,
    /// Datagrams that were sent from the restart on.
    pub sent: u32,
    /// The pairs, sender first, that did not talk within [`Cell::limit_s`].
    pub late: Vec<(NodeId, NodeId)>,
}

/// Runs a cell.
///
/// # Errors
/// The pairs that did not talk before the restart, as text.
pub fn run(cell: &Cell, seed: u64) -> Result<Verdict, String> {
    let scenario = scenario(cell);
    let (mut world, _) = build::network(&scenario, seed);
    let board = Arc::new(Mutex::new(Board::new(world.nodes())));
    let chat = |node: NodeId| Chatter::new(node, cell, Arc::clone(&board));
    for node in 0..world.nodes() {
        world.with_device(node, |site, _| site.add_app(Box::new(chat(node as NodeId))));
    }
    let talk = |speaks: bool| board.lock().expect("no panic").speaks = speaks;
    let advance = |world: &mut build::Network, until: Instant| {
        while world.now() < until {
            board.lock().expect("no panic").look(world.now(), addresses(world));
            world.run_until((world.now() + LOOK).min(until));
        }
        board.lock().expect("no panic").look(world.now(), addresses(world));
    };
    talk(true);
    let window = cell.window();
    advance(&mut world, RESTART - COUNTED);
    let before = control_messages(&world);
    advance(&mut world, RESTART);
    let usual = control_messages(&world) - before;
    let silent = board.lock().expect("no panic").silent(RESTART - window - window);
    if !silent.is_empty() {
        return Err(format!("{cell:?}, seed {seed}: no datagram yet of {silent:?}"));
    }
    talk(cell.traffic != Traffic::None);
    // Nothing is counted that was on its way.
    board.lock().expect("no panic").begin();
    let node = cell.node();
    world.schedule_fault(world.now(), Fault::Partition(vec![node as usize]));
    let back = RESTART + cell.off;
    advance(&mut world, back);
    world.schedule_fault(world.now(), Fault::Partition(Vec::new()));
    let changed = network::changed(cell, &scenario);
    build::restart(&mut world, &changed, node, seed ^ 1 << 32);
    world.with_device(node as usize, |site, _| site.add_app(Box::new(chat(node))));
    let before = control_messages(&world);
    let from = if cell.traffic == Traffic::None { back + SILENCE } else { back };
    if from > back {
        advance(&mut world, from);
        board.lock().expect("no panic").begin();
        talk(true);
    }
    advance(&mut world, back + COUNTED);
    let control = control_messages(&world) - before - usual;
    advance(&mut world, back + SETTLED);
    let mut end = back + SETTLED;
    loop {
        let well = board.lock().expect("no panic").well_since(window);
        if well.is_some_and(|well| end >= well.max(from) + SETTLED) || end >= back + OBSERVED {
            if std::env::var("DBG").is_ok() {
                for n in 0..world.nodes() {
                    let node = world.device(n).node();
                    if let Some(rpl) = node.routing().rpl() {
                        eprintln!("node {n}: {:?} addr {:?} stats {:?}", rpl.info(), rpl.address(), rpl.stats());
                        for r in rpl.routes() { eprintln!("    {r:?}"); }
                    }
                    node.reasons(&mut |l, r, c| if c > 0 { eprint!(" {l}.{r}={c}") });
                    eprintln!();
                }
            }
            let board = board.lock().expect("no panic");
            let well = well.filter(|well| end >= *well + SETTLED);
            let seconds = well.map(|at| (at.max(back) - back).as_micros() as f64 / 1e6);
            let (sent, arrived) = board.totals();
            return Ok(Verdict {
                pairs: board.pairs(),
                seconds,
                control: control.max(0.0) / world.nodes() as f64,
                lost: sent.saturating_sub(arrived),
                sent,
                late: board.late(window, back + Duration::from_millis((cell.limit_s() * 1e3) as u64)),
            });
        }
        end += SETTLED;
        advance(&mut world, end);
    }
}

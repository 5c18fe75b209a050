//! A building of thirty routers for a day: every ten minutes one of them is switched off for one to
//! eight minutes, and restarts with nothing but its frame counter. Each sends a reading every ten
//! seconds to the border router, as a datagram without repetition. Readings must arrive while a
//! path exists, and a node that is back, or that has a path again, must be heard soon.

use kinglet::rpl::Mode;
use kinglet::time::{Duration, Instant};
use kinglet_network::apps::udp::UdpSink;
use kinglet_network::build::{Ends, Network, app_at, network, restart};
use kinglet_scenario::{Building, Flow, FlowKind, NodeId, Role, Routing, Scenario};
use kinglet_sim::Fault;
use kinglet_sim::rng::{Purpose, Stream, stream};

const DAY_S: u64 = 86_400;
const PERIOD: Duration = Duration::from_secs(10);
/// Interval between two deaths; the network forms before the first one.
const BETWEEN_S: u64 = 600;
/// Least share of the readings that arrive.
const LEAST: f64 = 0.99;
/// Longest silence of a node that is back. Its first reading is due within a period.
const SILENCE: Duration = Duration::from_secs(70);

/// The routing protocols that react to failures.
const ROUTINGS: [(&str, Routing, Mode); 4] = [
    ("RPL, storing", Routing::Rpl, Mode::Storing),
    ("RPL, non-storing", Routing::Rpl, Mode::NonStoring),
    ("mesh", Routing::Mesh, Mode::Storing),
    ("AODV", Routing::Aodv, Mode::Storing),
];

/// A node that is off for a time.
struct Death {
    node: NodeId,
    from: Instant,
    to: Instant,
    /// The nodes that have no path meanwhile, with itself.
    cut: Vec<NodeId>,
}

fn scenario(seed: u64, routing: Routing, mode: Mode) -> Scenario {
    let mut scenario = Scenario::building(Building::Middle, seed);
    (scenario.routing, scenario.rpl.mode) = (routing, mode);
    let root = Building::Middle.root();
    let nodes = (0..).zip(&scenario.nodes).filter(|(_, place)| place.role == Role::Router);
    let kinds =
        nodes.map(|(node, _)| FlowKind::datagrams(node, root, PERIOD.as_millis() as u32, 40));
    // Phases are spread: thirty sensors do not send at the same instant.
    let phase = |place: usize| place as f64 * PERIOD.as_millis() as f64 / 30e3;
    let flows = kinds.enumerate().map(|(place, kind)| Flow::new(60.0 + phase(place), kind));
    scenario.flows = flows.collect();
    scenario
}

fn deaths(seed: u64, scenario: &Scenario, random: &mut Stream) -> Vec<Death> {
    let all: Vec<NodeId> = scenario.flows.iter().map(|flow| flow.kind.ends().0).collect();
    let death = |begin: u64| {
        let node = all[random.below(all.len() as u32) as usize];
        let from = begin + u64::from(random.below(60));
        let to = from + 60 + u64::from(random.below(421));
        let left = Building::Middle.survivors(seed, node);
        let cut = all.iter().copied().filter(|node| !left.contains(node)).collect();
        Death { node, from: Instant::from_secs(from), to: Instant::from_secs(to), cut }
    };
    let begins = (1..).map(|count| BETWEEN_S * count);
    begins.take_while(|begin| begin + BETWEEN_S <= DAY_S).map(death).collect()
}

/// Runs the day; returns the times at which readings of each flow arrived.
fn live_through(
    net: &mut Network,
    scenario: &Scenario,
    (seed, deaths): (u64, &[Death]),
    ends: &[Ends],
) -> Vec<Vec<Instant>> {
    for (life, death) in (1..).zip(deaths) {
        net.schedule_fault(death.from, Fault::Partition(vec![death.node as usize]));
        net.schedule_fault(death.to, Fault::Partition(Vec::new()));
        net.run_until(death.to);
        restart(net, scenario, death.node, seed ^ life << 32);
    }
    net.run_until(Instant::from_secs(DAY_S));
    let arrivals = |ends: &Ends| {
        let sink = app_at::<UdpSink>(net, ends.to).expect("a sink");
        sink.arrivals().iter().map(|(_, at)| *at).collect()
    };
    ends.iter().map(arrivals).collect()
}

/// Readings that are due from the first death on while the node has a path, and those of them that
/// arrived, at most one in each period.
fn count(node: NodeId, arrivals: &[Instant], deaths: &[Death]) -> (u32, u32) {
    let (mut due, mut arrived) = (0, 0);
    let mut begin = Instant::from_secs(BETWEEN_S);
    while begin + PERIOD * 2 <= Instant::from_secs(DAY_S) {
        // A period in which the node is cut off, or in which it begins again, does not count.
        let end = begin + PERIOD * 2;
        let is_cut = |death: &Death| {
            death.cut.contains(&node) && begin < death.to + PERIOD && death.from < end
        };
        if !deaths.iter().any(is_cut) {
            due += 1;
            let within = |at: &Instant| (begin..begin + PERIOD).contains(at);
            arrived += u32::from(arrivals.iter().any(within));
        }
        begin += PERIOD;
    }
    (due, arrived)
}

/// Simulates a day with each routing protocol.
///
/// # Errors
/// What was wrong with it.
pub(crate) fn live(seed: u64) -> Result<(), String> {
    let mut wrong = Vec::new();
    for (name, routing, mode) in ROUTINGS {
        let scenario = scenario(seed, routing, mode);
        let deaths = deaths(seed, &scenario, &mut stream(seed, 0, Purpose::Fault));
        let (mut net, ends) = network(&scenario, seed);
        let arrivals = live_through(&mut net, &scenario, (seed, &deaths), &ends);
        let nodes = scenario.flows.iter().map(|flow| flow.kind.ends().0);
        let (mut due, mut arrived, mut late) = (0, 0, Vec::new());
        for (node, arrivals) in nodes.zip(&arrivals) {
            let counts = count(node, arrivals, &deaths);
            (due, arrived) = (due + counts.0, arrived + counts.1);
            for death in deaths.iter().filter(|death| death.cut.contains(&node)) {
                let next = arrivals.partition_point(|at| *at < death.to);
                let silence =
                    arrivals.get(next).map_or(Duration::from_secs(DAY_S), |at| *at - death.to);
                if silence > SILENCE {
                    late.push((node, death.to, silence));
                }
            }
        }
        let share = f64::from(arrived) / f64::from(due);
        println!("soak -- deaths {seed} 1, {name}: {arrived} of {due} readings; late: {late:?}");
        if share < LEAST || !late.is_empty() {
            wrong.push(format!("{name}: {:.2} % of {due} readings; late: {late:?}", share * 1e2));
        }
    }
    if wrong.is_empty() { Ok(()) } else { Err(format!("{wrong:#?}")) }
}

//! Thirty flows between the nodes of a building and a host, as in `experiments/rpl-throughput`: in
//! real time with the kernel's TCP behind a TUN device, and several times in virtual time with the
//! lab's Linux. The goodput of the former must lie within the variation of the latter, or nearly:
//! otherwise the lab's Linux is no model of the kernel.
//!
//! Each case runs in a network namespace of its own, for a little more than a minute, and reports
//! if that is forbidden.

mod kernel;

use kernel::Kernel;
use kinglet_gateway::bridge::{self, BridgeStats, Hosts, Network, Observer};
use kinglet_gateway::network::Mesh;
use kinglet_gateway::tun::{self, TunConfig};
use kinglet_network::run::{Options, run};
use kinglet_scenario::{
    Building, Carrier, Flow, FlowKind, HostTcp, Prefix, Routing, Scenario, Sensor, Wire,
};
use kinglet_testkit::namespace::in_namespace;
use kinglet_time::Instant;
use rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;
use std::time::Duration;

const TUN: &str = "klrpl0";
/// Octets of a packet, and the time between two: a second.
const LEN: u16 = 82;
const PERIOD_MS: u32 = 1_000;
/// Packets that wait for TCP at a sender of the lab.
const QUEUE: u16 = 8;
/// Start of the flows, in virtual time, and their duration.
const START_S: u32 = 120;
const MEASURED_S: u32 = 60;
/// Seed of the building in all runs.
const SEED: u64 = 3;

/// Number of runs in virtual time; they differ in the start of the senders.
const RUNS: u64 = 16;
/// Student's t of 15 degrees of freedom: of a thousand equal runs, one lies outside the bounds.
const STUDENT: f64 = 4.073;
/// If all packets arrive, the runs hardly vary, and are not normally distributed. This fraction of
/// their mean is a third of the loss of a Linux model in the lab that delayed the wrong
/// acknowledgements.
const NEARLY: f64 = 0.1;

/// A test of each, which needs to know its own name.
macro_rules! cases {
    ($($name:ident: $case:expr;)*) => {
        $(
            #[test]
            fn $name() {
                $case.compare(stringify!($name));
            }
        )*
    };
}

cases! {
    blip_sends_as_much_to_the_kernel_as_to_the_linux_of_the_lab: Case { ours: false, up: true };
    the_kernel_sends_as_much_to_blip_as_the_linux_of_the_lab: Case { ours: false, up: false };
    kinglet_sends_as_much_to_the_kernel_as_to_the_linux_of_the_lab: Case { ours: true, up: true };
    the_kernel_sends_as_much_to_kinglet_as_the_linux_of_the_lab: Case { ours: true, up: false };
}

#[derive(Clone, Copy)]
struct Case {
    /// True for Kinglet's settings, false for TinyOS's.
    ours: bool,
    up: bool,
}

impl Case {
    fn compare(self, name: &str) {
        in_namespace(name, &[], || {
            let runs: Vec<_> = (1..=RUNS).map(|phases| self.virtually(phases)).collect();
            let count = runs.len() as f64;
            let mean = runs.iter().sum::<f64>() / count;
            let squares: f64 = runs.iter().map(|run| (run - mean).powi(2)).sum();
            let off = STUDENT * (squares / (count - 1.0) * (1.0 + 1.0 / count)).sqrt();
            let off = off.max(NEARLY * mean);
            let least = runs.iter().copied().fold(f64::INFINITY, f64::min);
            let most = runs.iter().copied().fold(0.0, f64::max);
            let real = self.really();
            let all = format!("{real:.1} packets a minute; in the lab {least:.1} to {most:.1}");
            eprintln!("{name}: {all}, to be within {mean:.1} ± {off:.1}");
            assert!((real - mean).abs() <= off, "{all}");
        });
    }

    fn scenario(self, phases: u64) -> Scenario {
        let building = Building::Middle;
        let base = Scenario { routing: Routing::Rpl, ..Scenario::building(building, SEED) };
        // The gateway has no UART before the host.
        let wire = Wire { delay_ms: 0, host: HostTcp::Linux, ..Wire::PERFECT };
        let system = if self.ours { base.as_kinglet() } else { base.as_tinyos(LEN) };
        let mut scenario = Scenario { wire: Some(wire), seed: SEED, ..system };
        scenario.duration_s = (START_S + MEASURED_S).into();
        // A property of 2013; no current kernel has it.
        scenario.tcp.quirks.tiny_segments = false;
        let (host, mut random) = (scenario.host(), Pcg64Mcg::seed_from_u64(phases));
        let nodes = (0..host).filter(|node| *node != building.root());
        let flow = |node| {
            let (from, to) = if self.up { (node, host) } else { (host, node) };
            let sensor = Sensor::new(from, to, Carrier::Tcp);
            let sensor = Sensor { period_ms: PERIOD_MS, batch: 1, queue: QUEUE, ..sensor };
            let start_s = f64::from(START_S) + f64::from(random.next_u32() % PERIOD_MS) / 1e3;
            Flow::new(start_s, FlowKind::Anemometer(sensor))
        };
        scenario.flows = nodes.map(flow).collect();
        scenario
    }

    /// Returns the packets per minute and flow.
    fn virtually(self, phases: u64) -> f64 {
        let result = run(&self.scenario(phases), SEED, &Options::default());
        let flows = result.expect("it can be simulated").flows;
        let arrived = |readings: &kinglet_network::run::Readings| f64::from(readings.delivered);
        let arrived: f64 =
            flows.iter().filter_map(|flow| flow.readings.as_ref().map(arrived)).sum();
        a_minute(arrived, flows.len())
    }

    fn really(self) -> f64 {
        let scenario = self.scenario(0);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.expect("a runtime").block_on(async {
            let without = Scenario { wire: None, ..scenario.clone() };
            let mut mesh = Mesh::new(&without).expect("a network");
            let address = scenario.prefix.host();
            let (name, prefix_len) = (TUN.to_owned(), Prefix::LEN);
            let config = TunConfig { name, address, prefix_len, mesh: address, mtu: 1280 };
            let device = tun::create(&config, tun::GATEWAY).await.expect("a TUN device");
            mesh.run_until(Instant::from_secs((START_S - 1).into()));
            let kernel = Kernel::begin(&scenario, std::time::Instant::now());
            let over = tokio::time::sleep(Duration::from_secs((1 + MEASURED_S).into()));
            let interval = Duration::from_secs(1);
            let hosts = Hosts::one(&device);
            let stats = bridge::run(&mut mesh, &hosts, interval, &mut NoObserver, over).await;
            let stats = stats.expect("the bridge holds");
            // A machine that is too slow has carried less, which is no evidence about TCP.
            assert!(stats.lag_ms_max < 500, "{stats:?}");
            a_minute(kernel.octets() as f64 / f64::from(LEN), scenario.flows.len())
        })
    }
}

fn a_minute(packets: f64, flows: usize) -> f64 {
    packets / flows as f64 * 60.0 / f64::from(MEASURED_S)
}

struct NoObserver;

impl Observer<Mesh> for NoObserver {
    fn report(&mut self, _: &mut Mesh, _: &BridgeStats) {}
}

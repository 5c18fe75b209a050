//! `kinglet`: simulate IEEE 802.15.4 networks, repeat published experiments, bridge a simulated
//! network to Linux.

mod advise_cmd;
mod columns;
mod commission_cmd;
mod demo;
mod exit;
mod gateway_cmd;
#[cfg(test)]
mod helps;
mod image;
mod lab_cmd;
mod named;
mod node_cmd;
mod outputs;
mod progress;
mod router_cmd;
mod sim_cmd;
mod sweep_cmd;
mod upgrade_cmd;
mod why_cmd;

use clap::{Parser, Subcommand};
use std::process::ExitCode;

// The texts of the help have their own line breaks, at 80 columns, and clap breaks none (it has no
// `wrap_help`): the help is the same on every terminal.
const LONG_ABOUT: &str = "TCP/IPv6 for IEEE 802.15.4: the stack of the nodes in a deterministic \
                          simulator,\nand the experiments of four papers.\n\nWithout a command, \
                          runs a demonstration of less than a minute on three subjects:\nthe \
                          goodput of TCP over several radio hops, the delivery of a sleeping \
                          sensor's\ndata when packets are lost, and its cost in battery charge.";

const EXAMPLES: &str = "\
Examples, from the project's root (`cargo run --release --` is `kinglet`):
  kinglet
  kinglet sim host/lab/scenarios/annotated.toml --pcap run.pcap
  kinglet sweep host/lab/sweeps/window.toml
  kinglet advise host/lab/scenarios/lossy.toml
  kinglet lab run tcplp-hops --quick
  kinglet node examples/node-a.toml --zep ::1

Exit codes: 0 success; 1 a claim fails that should pass, or `upgrade --check`
finds an old name; 2 usage or input is wrong; 3 a file cannot be read or
written; 4 a flow of a simulation is dead; 130 Ctrl-C, finished results kept.";

#[derive(Parser)]
#[command(name = "kinglet", version, about = "TCP/IPv6 for IEEE 802.15.4, simulated")]
#[command(term_width = 100)]
#[command(long_about = LONG_ABOUT, after_help = "`kinglet --help` has examples.")]
#[command(after_long_help = EXAMPLES)]
struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Subcommand)]
enum Command {
    /// Simulate a scenario
    Sim(sim_cmd::Args),
    /// Report which packets of a trace were lost or late, where and why
    Why(why_cmd::Args),
    /// Simulate a scenario with all combinations of values of some fields
    Sweep(sweep_cmd::Args),
    /// Find the settings with which a scenario has the best result
    Advise(advise_cmd::Args),
    /// Rewrite scenarios and sweeps that have old names of keys
    Upgrade(upgrade_cmd::Args),
    /// Repeat published experiments and check their claims
    #[command(subcommand, after_help = lab_cmd::EXAMPLES)]
    Lab(lab_cmd::Command),
    /// Run a simulated network in real time behind a Linux TUN device
    Gateway(gateway_cmd::Args),
    /// Run a border router between a radio and a Linux TUN device
    Router(router_cmd::Args),
    /// Write the identities of devices, as images of their flash
    Commission(commission_cmd::Args),
    /// Run one node as a process; nodes share the air by UDP (ZEP)
    Node(node_cmd::Args),
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    exit::end(match cli.command {
        None => demo::run(),
        Some(Command::Sim(args)) => sim_cmd::run(&args),
        Some(Command::Why(args)) => why_cmd::run(&args),
        Some(Command::Sweep(args)) => sweep_cmd::run(&args),
        Some(Command::Advise(args)) => advise_cmd::run(&args),
        Some(Command::Upgrade(args)) => upgrade_cmd::run(&args),
        Some(Command::Lab(command)) => lab_cmd::run(command),
        Some(Command::Gateway(args)) => gateway_cmd::run(args),
        Some(Command::Router(args)) => router_cmd::run(&args),
        Some(Command::Commission(args)) => commission_cmd::run(&args),
        Some(Command::Node(args)) => node_cmd::run(&args),
    })
}

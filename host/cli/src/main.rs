//! `kinglet`: simulate IEEE 802.15.4 networks, repeat published experiments, bridge a simulated
//! network to Linux.

mod advise_cmd;
mod demo;
mod exit;
mod gateway_cmd;
mod lab_cmd;
mod node_cmd;
mod progress;
mod sim_cmd;
mod sweep_cmd;

use clap::{Parser, Subcommand};
use exit::Failure;
use std::process::ExitCode;

const LONG_ABOUT: &str = "\
Full-scale TCP/IPv6 for IEEE 802.15.4: the stack that runs on motes, here in a deterministic \
simulator, with the experiments of published papers.

Without a command, runs a demonstration of less than a minute: three experiments of the TCPlp \
paper in quick form, compared with its figures and with what physics allows.";

const EXAMPLES: &str = "\
Examples:
  kinglet                                    the demonstration
  kinglet sim host/lab/scenarios/annotated.toml --pcap out.pcap
  kinglet sweep host/lab/sweeps/window.toml  one scenario, fields varied, on all cores
  kinglet advise host/lab/scenarios/lossy.toml  what should be set, and what for
  kinglet lab list                           what can be repeated
  kinglet lab run tcplp-hops --seeds 10      one experiment, with narrower intervals
  kinglet lab check --quick                  every claim: paper, ours, holds?
  kinglet gateway examples/gateway-office.toml   curl motes that sleep, see who does
  kinglet node examples/node-a.toml --zep ::1    one node, beside RIOT's on its air

Exit codes:
  0  success; every claim that should hold does
  1  a claim that should hold does not
  2  bad usage or input
  3  a file cannot be read or written
  130  stopped with Ctrl-C; what was finished is kept";

#[derive(Parser)]
#[command(
    name = "kinglet",
    version,
    about = "TCP/IPv6 over IEEE 802.15.4: simulate, repeat, bridge"
)]
#[command(long_about = LONG_ABOUT, after_help = EXAMPLES)]
struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Subcommand)]
enum Command {
    /// Simulate one scenario file
    Sim(sim_cmd::Args),
    /// Simulate a scenario with every combination of values of some fields
    Sweep(sweep_cmd::Args),
    /// Find the settings that serve a scenario best, and what each of them is worth
    Advise(advise_cmd::Args),
    /// Repeat published experiments and check claims
    #[command(subcommand)]
    Lab(lab_cmd::Command),
    /// Run a simulated network in real time behind a Linux TUN device
    Gateway(gateway_cmd::Args),
    /// Run one node as a process, on an air that it shares with others by UDP (ZEP)
    Node(node_cmd::Args),
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let done = match cli.command {
        None => demo::run(),
        Some(Command::Sim(args)) => sim_cmd::run(args),
        Some(Command::Sweep(args)) => sweep_cmd::run(&args),
        Some(Command::Advise(args)) => advise_cmd::run(&args),
        Some(Command::Lab(command)) => lab_cmd::run(command),
        Some(Command::Gateway(args)) => gateway_cmd::run(args),
        Some(Command::Node(args)) => node_cmd::run(args),
    };
    match done.and_then(|code| exit::unsaid().map_or(Ok(code), Err)) {
        Ok(code) => code.into(),
        Err(Failure { code, message }) => {
            eprintln!("kinglet: {message}");
            code.into()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }
}

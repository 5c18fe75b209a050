//! `kinglet gateway`: a simulated network behind a TUN device.

use crate::exit::{Code, Failure};
use crate::node_cmd::ends;
use crate::sim_cmd::warn;
use kinglet_gateway::show::Output;
use kinglet_gateway::{GatewayError, Options};
use kinglet_lab::scenario::{Prefix, Scenario};
use kinglet_zep::mote::Ends;
use std::path::PathBuf;

#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  sudo kinglet gateway examples/gateway.toml
and then, in another terminal, the ping and curl commands that it prints. An office with motes
that sleep, and a table of who does what:
  sudo kinglet gateway examples/gateway-office.toml

The same office, in which all of them sleep, those who relay for others too:
  sudo kinglet gateway examples/gateway-asleep.toml

Without root, in a network of its own:
  unshare -rn bash
  kinglet gateway examples/gateway.toml 2>/dev/null &

A page that shows the office as it runs, to open in a browser:
  sudo kinglet gateway examples/gateway-office.toml --map office.html

Ten hops of motes that sleep between two kernels, of which the second one gets a TUN device to be
moved into a network namespace of its own, by the commands that are printed:
  sudo kinglet gateway examples/tunnel.toml

A second one beside it, and a capture of what is on its air:
  sudo kinglet gateway mine.toml --prefix fd00:1:2::/48 --tun kinglet1 --pcap air.pcap

Ctrl-C ends it with exit code 0.")]
pub(crate) struct Args {
    /// The scenario; its border router is connected to this machine
    #[arg(value_name = "SCENARIO.toml")]
    file: PathBuf,
    /// A mote outside of the simulation: its place and the Unix socket that its serial line is
    #[arg(long, value_name = "NODE=SOCKET", value_parser = serial)]
    serial: Vec<(u32, PathBuf)>,
    /// Share the simulated air with RIOT's native boards and others by ZEP version 2 in UDP, at the
    /// scenario's first place with `role = "outside"`; again for the second. Without a port that is
    /// 17754; without LOCAL any free port
    #[arg(long, value_name = "[LOCAL,]REMOTE", value_parser = ends)]
    zep: Vec<Ends>,
    /// Name of the TUN device
    #[arg(long, value_name = "NAME", default_value = "kinglet0")]
    tun: String,
    /// Name of the second TUN device, at the far end of the scenario's `[tunnel]` [default: the
    /// name of the first and `-far`]
    #[arg(long, value_name = "NAME")]
    far_tun: Option<String>,
    /// What all addresses begin with: 48 bits, of which subnet 7400 is the mesh
    #[arg(long, value_name = "PREFIX", default_value_t = Prefix::DEFAULT)]
    prefix: Prefix,
    /// Write every frame on the air to a capture file, and what tshark needs to read it beside it
    #[arg(long, value_name = "FILE")]
    pcap: Option<PathBuf>,
    /// Keep a page here with the nodes at their places, their ways to the border router, hops and
    /// load, as they are and as they were in the last ten minutes. It is written anew every second,
    /// and a browser that has it open follows
    #[arg(long, value_name = "PAGE.html")]
    map: Option<PathBuf>,
    /// One JSON object per line: what answers, counters every second, the summary
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: Args) -> Result<Code, Failure> {
    let Args { file, serial, zep, tun, far_tun, prefix, pcap, map, json } = args;
    let scenario = Scenario::from_file(&file)?;
    warn(&file, &scenario);
    let output = if json { Output::Json } else { Output::Text };
    let options = Options { serial, zep, tun, far_tun, prefix, pcap, map, output };
    match kinglet_gateway::run(&scenario, &options) {
        Ok(()) => Ok(Code::Success),
        Err(error) => Err(Failure { code: code_of(&error), message: error.to_string() }),
    }
}

fn serial(text: &str) -> Result<(u32, PathBuf), String> {
    let (node, path) = text.split_once('=').ok_or("not of the form NODE=SOCKET")?;
    let node = node.parse().map_err(|error| format!("\"{node}\" is no node: {error}"))?;
    Ok((node, PathBuf::from(path)))
}

fn code_of(error: &GatewayError) -> Code {
    match error {
        GatewayError::NoBorderRouter { .. }
        | GatewayError::Unsupported(_)
        | GatewayError::Serial(_)
        | GatewayError::Zep(_)
        | GatewayError::PrefixTaken { .. }
        | GatewayError::NoTunnel { .. }
        | GatewayError::BadName { .. } => Code::Usage,
        GatewayError::Tun(_)
        | GatewayError::Map(_)
        | GatewayError::Capture(_)
        | GatewayError::Io(_) => Code::Io,
    }
}

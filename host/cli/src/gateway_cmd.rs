//! `kinglet gateway`: a simulated network behind a TUN device.

use crate::exit::{Code, Failure, incomplete};
use crate::outputs::{Files, Input, Output};
use crate::sim_cmd::warn;
use kinglet_gateway::show;
use kinglet_gateway::{GatewayError, Options};
use kinglet_scenario::{Prefix, Scenario};
use kinglet_zep::air::Ends;
use std::path::PathBuf;

#[derive(clap::Args)]
#[command(after_help = "\
Examples, from the project's root, in a network namespace that needs no root:
  unshare -rn bash
  kinglet gateway examples/gateway.toml > gateway.log &
  sleep 2; curl -g 'http://[fd6b:696e:676c:7400:0:ff:fe00:2]/'

In this machine's own network: an office with sleeping leaves, as a page; ten
sleeping hops between two TUN devices; a second gateway on this machine:
  sudo kinglet gateway examples/gateway-office.toml --map office.html
  sudo kinglet gateway examples/tunnel.toml
  sudo kinglet gateway examples/gateway.toml --prefix fd00:1::/48 --tun kl1

SIGHUP reads the scenario again, and says if a change needs another start.
Exit codes: 0 Ctrl-C or SIGTERM; 2 the command line or the scenario is
wrong; 3 the TUN device or a file fails.")]
pub(crate) struct Args {
    /// The scenario; this machine is connected to its border router
    #[arg(value_name = "SCENARIO.toml")]
    file: Input,
    /// Put firmware in the place of NODE; SOCKET is its
    /// serial line, a Unix socket
    #[arg(long, value_name = "NODE=SOCKET", value_parser = serial, verbatim_doc_comment)]
    serial: Vec<(u32, PathBuf)>,
    /// Share the air with RIOT and others by ZEP over
    /// UDP, port 17754 (host/zep/README.md)
    #[arg(long, value_name = "[LOCAL,]REMOTE", verbatim_doc_comment)]
    zep: Vec<Ends>,
    /// Name of the TUN device
    #[arg(long, value_name = "NAME", default_value = "kinglet0")]
    tun: String,
    /// Name of the TUN device at the far end of the
    /// scenario's `[tunnel]`  [default: TUN-far]
    #[arg(long, value_name = "NAME", verbatim_doc_comment)]
    far_tun: Option<String>,
    /// Prefix of all addresses, 48 bits; the mesh has
    /// subnet 7400
    #[arg(long, value_name = "PREFIX", default_value_t = Prefix::DEFAULT, verbatim_doc_comment)]
    prefix: Prefix,
    /// Capture every frame on the air; the directory
    /// FILE.profile gets the settings for reading it
    #[arg(long, value_name = "FILE", verbatim_doc_comment)]
    pcap: Option<Output>,
    /// Keep a page with nodes, routes, hops and load; a
    /// browser that shows it reloads it every second
    #[arg(long, value_name = "FILE.html", verbatim_doc_comment)]
    map: Option<Output>,
    /// Keep frame counters over restarts, for the motes
    /// of --serial, which remember them
    #[arg(long, value_name = "DIR", verbatim_doc_comment)]
    state: Option<Output>,
    /// Print one JSON object per line
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: Args) -> Result<Code, Failure> {
    let mut files = Files::default();
    let file = files.reads("the scenario", &args.file);
    for (_, socket) in &args.serial {
        files.reads_too("the serial line", socket);
    }
    let scenario = Scenario::from_file(file)?;
    warn(file, &scenario);
    let pcap = args.pcap.as_ref().map(|pcap| files.captures("--pcap", pcap));
    let map = args.map.as_ref().map(|map| files.writes("--map", map));
    let state = args.state.as_ref().map(|state| files.directory("--state", state));
    let outputs = files.check()?;
    let path = |slot| outputs.path(slot).to_path_buf();
    let output = if args.json { show::Output::Json } else { show::Output::Text };
    let (pcap, map, state) = (pcap.map(path), map.map(path), state.map(path));
    let file = Some(file.to_path_buf());
    let Args { serial, zep, tun, far_tun, prefix, .. } = args;
    let options = Options { file, serial, zep, tun, far_tun, prefix, pcap, map, state, output };
    ended(kinglet_gateway::run(&scenario, &options))
}

/// Returns the exit code of a gateway or router that has ended.
pub(crate) fn ended(result: Result<(), GatewayError>) -> Result<Code, Failure> {
    match result {
        Ok(()) => Ok(Code::Success),
        Err(GatewayError::Incomplete(files)) => {
            files.into_iter().for_each(incomplete);
            Ok(Code::Io)
        }
        Err(error) => Err(Failure { code: code_of(&error), message: error.to_string() }),
    }
}

fn serial(text: &str) -> Result<(u32, PathBuf), String> {
    let (node, path) = text.split_once('=').ok_or("give NODE=SOCKET, such as 3=mote.sock")?;
    let node = node.parse().map_err(|error| format!("\"{node}\" is not a node: {error}"))?;
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
        GatewayError::Key(error) if !error.is_io() => Code::Usage,
        GatewayError::State(error) if !error.is_io() => Code::Usage,
        GatewayError::Tun(_)
        | GatewayError::Key(_)
        | GatewayError::State(_)
        | GatewayError::Device { .. }
        | GatewayError::Radio(_)
        | GatewayError::Output(_)
        | GatewayError::Incomplete(_)
        | GatewayError::Io(_) => Code::Io,
    }
}

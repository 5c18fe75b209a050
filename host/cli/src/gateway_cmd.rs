//! `kinglet gateway`: a simulated network behind a TUN device.

use crate::exit::{Code, Failure};
use kinglet_lab::scenario::Scenario;
use std::path::PathBuf;

#[derive(clap::Args)]
#[command(after_help = "\
Example:
  kinglet gateway host/lab/scenarios/web.toml
and then, in another terminal, the ping and curl commands that it prints.")]
pub(crate) struct Args {
    /// The scenario; its border router is connected to this machine
    #[arg(value_name = "SCENARIO.toml")]
    file: PathBuf,
    /// Name of the TUN device
    #[arg(long, value_name = "NAME", default_value = "kinglet0")]
    tun: String,
}

pub(crate) fn run(args: Args) -> Result<Code, Failure> {
    let Args { file, tun } = args;
    let scenario = Scenario::from_file(&file)?;
    Err(Failure::usage(format!(
        "this build cannot bridge \"{}\" to {tun}: the gateway is not connected",
        scenario.name
    )))
}

//! `kinglet router`: a border router behind a TUN device, with a radio that is not simulated.

use crate::exit::{Code, Failure, say};
use crate::gateway_cmd::ended;
use crate::outputs::{Files, Input, Output};
use kinglet_gateway::router::{self, settings::Settings};
use kinglet_gateway::show;
use kinglet_zep::link::Link;

#[derive(clap::Args)]
#[command(after_help = "\
Examples, from the project's root, in a network namespace that needs no root:
  unshare -rn bash
  kinglet router examples/router.toml --check
  kinglet router examples/router.toml > router.log &

The radio is a stick with OpenThread's ot-rcp, or a UDP link (ZEP) to nodes such
as `kinglet node`. examples/router.toml explains each setting. A stick that does
not work ends the router at its start; one that is unplugged later is awaited.
Ctrl-C or SIGTERM ends the router; SIGHUP reads the file again.

Exit codes: 0 Ctrl-C or SIGTERM; 2 the command line or the configuration is
wrong; 3 the TUN device, the radio or a file fails.")]
pub(crate) struct Args {
    /// The configuration: network, radio, TUN device, files
    #[arg(value_name = "ROUTER.toml")]
    file: Input,
    /// The radio, in place of that of the file; a stick is
    /// spinel+serial:/dev/ttyACM0?baud=460800
    #[arg(long, value_name = "URL", verbatim_doc_comment)]
    radio: Option<Link>,
    /// Check the configuration, and start nothing
    #[arg(long)]
    check: bool,
    /// Print one JSON object per line
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args) -> Result<Code, Failure> {
    let mut files = Files::default();
    let file = files.reads("the configuration", &args.file);
    let settings = Settings::from_file(file, args.radio.as_ref())?;
    if let Some(key) = &settings.key_file {
        files.reads_too("the key", key);
    }
    if let Some(state) = &settings.state {
        files.directory("`state`", &Output::at(state));
    }
    if let Some(status) = &settings.status {
        files.writes("`status`", &Output::at(status));
    }
    files.check()?;
    if args.check {
        say(&format!("{}: no mistakes\n", file.display()));
        return Ok(Code::Success);
    }
    let output = if args.json { show::Output::Json } else { show::Output::Text };
    ended(router::run((file, args.radio.as_ref()), &settings, output))
}

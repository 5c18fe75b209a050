//! `kinglet node`: one node as a process; nodes share the air by UDP.

use crate::exit::{Code, Failure, say};
use crate::outputs::{Files, Input, Output};
use kinglet_zep::air::Ends;
use kinglet_zep::console::Report;
use kinglet_zep::link::Link;
use kinglet_zep::mote::{Control, Mote, MoteError};
use kinglet_zep::settings::Settings;
use kinglet_zep::state::State;
use std::io::{BufReader, stdin};
use tokio::signal::unix::{SignalKind, signal};

#[derive(clap::Args)]
#[command(after_help = "\
Examples, from the project's root, two nodes in a terminal each:
  kinglet node examples/node-a.toml --zep 127.0.0.1:17754,127.0.0.1:17755
  kinglet node examples/node-b.toml --zep 127.0.0.1:17755,127.0.0.1:17754
Commands for the second one, from its standard input (`help` lists all):
  ping fe80::12:4b00:0:a
  tcp fe80::12:4b00:0:a 7 hello
  send fe80::12:4b00:0:a 9 100000
A node behind RIOT's dispatcher, which connects any number of nodes:
  kinglet node examples/node-a.toml --zep [::1]:17754

A node replies to ping, and has echo (port 7, TCP and UDP), sink (9), source
(19) and a page (80). `quit`, Ctrl-C or SIGTERM ends it, the end of the input
does not; SIGHUP reads the settings again.
host/zep/README.md describes the format on the air and nodes of other projects.

Exit codes: 0 `quit` or a signal; 2 the command line or the settings are wrong;
3 the settings cannot be read, or the radio fails. A command that fails on
the console says why and does not end the node. With --json the `error` of a
connection is null, refused, no_response, timed_out, unreachable, reset or
aborted.")]
pub(crate) struct Args {
    /// The settings: addresses, PAN, channel, routes, neighbours
    #[arg(value_name = "NODE.toml")]
    file: Input,
    /// UDP addresses of this end and of the other one, a
    /// node or a dispatcher  [default port: 17754;
    /// default LOCAL: any free port]
    #[arg(
        long,
        value_name = "[LOCAL,]REMOTE",
        required_unless_present = "radio",
        conflicts_with = "radio",
        verbatim_doc_comment
    )]
    zep: Option<Ends>,
    /// Another radio: a stick with OpenThread's ot-rcp,
    /// spinel+serial:/dev/ttyACM0?baud=460800
    #[arg(long, value_name = "URL", verbatim_doc_comment)]
    radio: Option<Link>,
    /// Keep frame counters, and RPL's version, over
    /// restarts; `key_file` in the settings needs it
    #[arg(long, value_name = "DIR", verbatim_doc_comment)]
    state: Option<Output>,
    /// Print one JSON object per event
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args) -> Result<Code, Failure> {
    let mut files = Files::default();
    let file = files.reads("the settings", &args.file);
    let settings = Settings::from_file(file).map_err(|error| Failure {
        code: if error.io { Code::Io } else { Code::Usage },
        message: error.to_string(),
    })?;
    if let Some(key) = &settings.key_file {
        files.reads_too("the key", key);
    }
    let state = args.state.as_ref().map(|state| files.directory("--state", state));
    let outputs = files.check()?;
    let state = state.map(|slot| State::open(outputs.path(slot), &settings.owner()));
    let state = state.transpose().map_err(|error| failure(&error.into()))?;
    // clap has seen to one of both.
    let link = args.radio.clone().or(args.zep.map(Link::Zep));
    let link = link.ok_or_else(|| Failure::usage("give --zep or --radio"))?;
    let mut mote = Mote::with_state(&settings, &link, state).map_err(|error| failure(&error))?;
    let mut report_state = |report: Report| {
        // Plain structs of strings and numbers always serialise.
        let json = || serde_json::to_string(&report).unwrap_or_default();
        let text = if args.json { json() } else { report.to_string() };
        say(&format!("{text}\n"));
    };
    report_state(mote.started());
    mote.reads_again(file, &settings);
    handle_signals(mote.control());
    let no_thread = |error: std::io::Error| failure(&MoteError::Io(error));
    mote.listen_to(BufReader::new(stdin())).map_err(no_thread)?;
    mote.run(&mut report_state).map_err(|error| failure(&error))?;
    Ok(Code::Success)
}

fn failure(error: &MoteError) -> Failure {
    let code = match error {
        MoteError::Full(_) | MoteError::NoState => Code::Usage,
        MoteError::Key(error) if !error.is_io() => Code::Usage,
        MoteError::State(error) if !error.is_io() => Code::Usage,
        MoteError::Key(_) | MoteError::State(_) | MoteError::Radio(_) | MoteError::Io(_) => {
            Code::Io
        }
    };
    Failure { code, message: error.to_string() }
}

/// Ends the node on Ctrl-C and SIGTERM, and has its settings read again on SIGHUP.
fn handle_signals(control: Control) {
    // Without a thread for it a signal has its default effect.
    let _ = std::thread::Builder::new().name("signals".to_owned()).spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let Ok(runtime) = runtime else { return };
        runtime.block_on(async {
            tokio::select! {
                () = each(SignalKind::interrupt(), || false) => {}
                () = each(SignalKind::terminate(), || false) => {}
                () = each(SignalKind::hangup(), || { control.reload(); true }) => {}
            }
        });
        control.end();
    });
}

/// Calls `handle` at each of these signals until it returns false. A signal without a handler has
/// its default effect.
async fn each(kind: SignalKind, handle: impl Fn() -> bool) {
    let Ok(mut signal) = signal(kind) else { return std::future::pending().await };
    while signal.recv().await.is_some() && handle() {}
}

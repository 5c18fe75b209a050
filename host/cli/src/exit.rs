//! Exit codes, and Ctrl-C.

use kinglet_lab::run::RunError;
use kinglet_lab::scenario::ScenarioError;
use std::io::{ErrorKind, Write};
use std::path::Path;
use std::process::ExitCode;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

/// How the program ended. The numbers are part of the interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Code {
    /// All is well.
    Success = 0,
    /// A claim that should hold does not.
    ClaimFailed = 1,
    /// Bad usage or input; the number that clap uses too.
    Usage = 2,
    /// A file cannot be read or written.
    Io = 3,
    /// Ctrl-C: 128 + SIGINT, as shells report it.
    Interrupted = 130,
}

impl From<Code> for ExitCode {
    fn from(code: Code) -> ExitCode {
        ExitCode::from(code as u8)
    }
}

/// The end of a command that did not work: what to print and what to return.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) code: Code,
    pub(crate) message: String,
}

impl Failure {
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Failure { code: Code::Usage, message: message.into() }
    }

    pub(crate) fn io(path: &Path, error: &std::io::Error) -> Self {
        Failure { code: Code::Io, message: format!("{}: {error}", path.display()) }
    }
}

impl From<ScenarioError> for Failure {
    fn from(error: ScenarioError) -> Self {
        let code = if error.io { Code::Io } else { Code::Usage };
        Failure { code, message: error.to_string() }
    }
}

/// The code for a simulation that could not be done.
pub(crate) fn code_of(error: &RunError) -> Code {
    match error {
        RunError::Output { .. } => Code::Io,
        _ => Code::Usage,
    }
}

/// Writes a file.
pub(crate) fn write(path: &Path, text: &str) -> Result<(), Failure> {
    std::fs::write(path, text).map_err(|e| Failure::io(path, &e))
}

/// Makes sure that a file can be written later on; what is in it stays.
pub(crate) fn writable(path: &Path) -> Result<(), Failure> {
    let file = std::fs::OpenOptions::new().create(true).append(true).open(path);
    file.map(drop).map_err(|e| Failure::io(path, &e))
}

/// Why standard output is not whole.
static UNSAID: OnceLock<std::io::Error> = OnceLock::new();

/// Prints to standard output. Whoever reads it may have read enough (`| head`): not an error; any
/// other one [`unsaid`] tells of.
pub(crate) fn say(text: &str) {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            let _ = UNSAID.set(error);
        }
        _ => {}
    }
}

/// The failure to print something that was to be said.
pub(crate) fn unsaid() -> Option<Failure> {
    let error = UNSAID.get()?;
    Some(Failure { code: Code::Io, message: format!("standard output: {error}") })
}

static CANCELLED: AtomicBool = AtomicBool::new(false);

/// A flag that Ctrl-C sets, so that what is finished can be kept. A second Ctrl-C ends at once.
pub(crate) fn cancel_on_ctrl_c() -> &'static AtomicBool {
    static STARTED: AtomicBool = AtomicBool::new(false);
    if !STARTED.swap(true, Ordering::Relaxed) {
        // Without a handler Ctrl-C ends the program as it does any other: nothing to report.
        let _ = std::thread::Builder::new().name("ctrl-c".to_owned()).spawn(wait_for_ctrl_c);
    }
    &CANCELLED
}

fn wait_for_ctrl_c() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let Ok(runtime) = runtime else { return };
    runtime.block_on(async {
        if tokio::signal::ctrl_c().await.is_err() {
            return;
        }
        CANCELLED.store(true, Ordering::Relaxed);
        eprintln!("\nstopping; what is finished is kept (Ctrl-C again to end at once)");
        if tokio::signal::ctrl_c().await.is_ok() {
            std::process::exit(Code::Interrupted as i32);
        }
    });
}

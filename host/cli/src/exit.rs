//! Exit codes, and Ctrl-C.

use kinglet_network::run::RunError;
use kinglet_scenario::ScenarioError;
use std::io::{ErrorKind, Write};
use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

/// The exit code of the program. The numbers are part of the interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Code {
    /// Success.
    Success = 0,
    /// A check has failed: a claim that should pass, or a file with old names.
    CheckFailed = 1,
    /// Wrong usage or input; clap returns the same number.
    Usage = 2,
    /// A file cannot be read or written.
    Io = 3,
    /// A flow of a simulation is dead.
    DeadFlow = 4,
    /// Ctrl-C: 128 + SIGINT, as shells report it.
    Interrupted = 130,
}

impl From<Code> for ExitCode {
    fn from(code: Code) -> ExitCode {
        ExitCode::from(code as u8)
    }
}

/// A command that failed: the message and the exit code.
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

impl From<RunError> for Failure {
    fn from(error: RunError) -> Self {
        let code = match error {
            RunError::Output { .. } => Code::Io,
            _ => Code::Usage,
        };
        Failure { code, message: error.to_string() }
    }
}

/// Incomplete files, with the cause.
static INCOMPLETE: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// Records a file that could not be written completely. The command continues; the program ends
/// with [`Code::Io`] and names all of them.
pub(crate) fn incomplete(file: String) {
    INCOMPLETE.lock().unwrap_or_else(PoisonError::into_inner).push(file);
}

/// Records files that are truncated.
pub(crate) fn cut_short(files: &[String]) {
    files.iter().for_each(|file| incomplete(format!("cut short: {file}")));
}

/// Ends the program: prints the failure and every incomplete file.
pub(crate) fn end(done: Result<Code, Failure>) -> ExitCode {
    let files = std::mem::take(&mut *INCOMPLETE.lock().unwrap_or_else(PoisonError::into_inner));
    let code = match done {
        Ok(code) if files.is_empty() => code,
        Ok(_) => Code::Io,
        Err(Failure { code, message }) => {
            note(&message);
            code
        }
    };
    files.iter().for_each(|file| note(file));
    code.into()
}

/// Prints a message to standard error. A full disk is not a reason to stop.
pub(crate) fn note(message: &str) {
    let _ = writeln!(std::io::stderr(), "kinglet: {message}");
}

/// Prints to standard output. A reader that has closed the pipe (`| head`) is not a failure.
pub(crate) fn say(text: &str) {
    static FAILED: AtomicBool = AtomicBool::new(false);
    let mut out = std::io::stdout().lock();
    if let Err(error) = out.write_all(text.as_bytes()).and_then(|()| out.flush())
        && error.kind() != ErrorKind::BrokenPipe
        && !FAILED.swap(true, Ordering::Relaxed)
    {
        cut_short(&[format!("standard output: {error}")]);
    }
}

static CANCELLED: AtomicBool = AtomicBool::new(false);

/// Returns a flag that Ctrl-C sets, so that finished results can be kept. A second Ctrl-C ends the
/// program at once.
pub(crate) fn cancel_on_ctrl_c() -> &'static AtomicBool {
    static STARTED: AtomicBool = AtomicBool::new(false);
    if !STARTED.swap(true, Ordering::Relaxed) {
        // Without a thread for the handler Ctrl-C ends the program at once, without a message.
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
        let stopping = "stopping; finished results are kept (Ctrl-C again to end at once)";
        let _ = writeln!(std::io::stderr(), "\n{stopping}");
        if tokio::signal::ctrl_c().await.is_ok() {
            std::process::exit(Code::Interrupted as i32);
        }
    });
}

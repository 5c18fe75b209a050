//! The line to a coprocessor: a serial port, or the standard input and output of a process.

use crate::url::Url;
use core::fmt;
use rustix::fs::{FlockOperation, Mode, OFlags};
use rustix::io::Errno;
use rustix::termios::{self, ControlModes, OptionalActions, QueueSelector};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// An open line. Reads and writes do not wait.
#[derive(Debug)]
pub struct Line {
    fd: OwnedFd,
    /// Its name in messages.
    name: String,
    child: Option<Process>,
}

/// A process that ends with its line.
#[derive(Debug)]
struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Reason for which a line cannot be opened, or has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LineError {
    /// There is no such device.
    Missing(String),
    /// The user may not open it.
    Forbidden(String),
    /// Another program has opened it.
    InUse(String),
    /// The device is no serial port.
    NotSerial(String),
    /// The device lacks this rate in bits a second.
    Baud(String, u32),
    /// The program cannot be started.
    Program(String, String),
    /// The device was removed, or the process has ended.
    Gone(String),
    /// Another error of the system.
    System(String, String),
}

impl fmt::Display for LineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LineError::Missing(name) => {
                write!(f, "{name}: there is no such device; the stick may not be plugged in")
            }
            LineError::Forbidden(name) => write!(
                f,
                "{name}: no permission to open the device; its group, often dialout, may do so"
            ),
            LineError::InUse(name) => write!(f, "{name}: another program uses the device"),
            LineError::NotSerial(name) => write!(f, "{name}: the device is no serial port"),
            LineError::Baud(name, baud) => {
                write!(f, "{name}: the device lacks the rate of {baud} bits a second")
            }
            LineError::Program(name, why) => write!(f, "{name}: cannot be started: {why}"),
            LineError::Gone(name) => write!(f, "{name}: the device is gone"),
            LineError::System(name, why) => write!(f, "{name}: {why}"),
        }
    }
}

impl std::error::Error for LineError {}

impl Line {
    /// Opens a line, for this process alone.
    ///
    /// # Errors
    /// [`LineError`]
    pub fn open(url: &Url) -> Result<Line, LineError> {
        match url {
            Url::Serial { path, baud, has_flow_control } => {
                let name = path.display().to_string();
                let fd = open_serial(&name, path, *baud, *has_flow_control)?;
                Ok(Line { fd, name, child: None })
            }
            Url::Exec { program, arguments } => {
                let name = program.display().to_string();
                let failed = |error: &dyn fmt::Display| {
                    LineError::Program(program.display().to_string(), error.to_string())
                };
                let (own, other) = UnixStream::pair().map_err(|error| failed(&error))?;
                own.set_nonblocking(true).map_err(|error| failed(&error))?;
                let output = OwnedFd::from(other.try_clone().map_err(|error| failed(&error))?);
                let mut command = Command::new(program);
                command.args(arguments).stdin(Stdio::from(OwnedFd::from(other)));
                let child = command.stdout(Stdio::from(output)).stderr(Stdio::null()).spawn();
                let child = child.map_err(|error| failed(&error))?;
                Ok(Line { fd: own.into(), name, child: Some(Process(child)) })
            }
        }
    }

    /// Returns the descriptor, to wait for octets or for space.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }

    /// Reads octets; `None` if there are none now.
    ///
    /// # Errors
    /// [`LineError::Gone`], or an error of the system.
    pub fn read(&self, octets: &mut [u8]) -> Result<Option<usize>, LineError> {
        match rustix::io::read(&self.fd, octets) {
            Ok(0) => Err(self.gone()),
            Ok(len) => Ok(Some(len)),
            Err(error) => self.failed(error).map(|()| None),
        }
    }

    /// Writes octets; returns how many, which may be none.
    ///
    /// # Errors
    /// [`LineError::Gone`], or an error of the system.
    pub fn write(&self, octets: &[u8]) -> Result<usize, LineError> {
        match rustix::io::write(&self.fd, octets) {
            Ok(len) => Ok(len),
            Err(error) => self.failed(error).map(|()| 0),
        }
    }

    fn failed(&self, error: Errno) -> Result<(), LineError> {
        match error {
            Errno::AGAIN | Errno::INTR => Ok(()),
            // A device that was removed, or the end of a process.
            Errno::IO | Errno::NXIO | Errno::NODEV | Errno::PIPE | Errno::CONNRESET => {
                Err(self.gone())
            }
            error => Err(LineError::System(self.name.clone(), error.to_string())),
        }
    }

    fn gone(&self) -> LineError {
        match &self.child {
            None => LineError::Gone(self.name.clone()),
            Some(_) => LineError::Program(self.name.clone(), "the process has ended".to_owned()),
        }
    }
}

fn open_serial(
    name: &str,
    path: &Path,
    baud: u32,
    has_flow_control: bool,
) -> Result<OwnedFd, LineError> {
    let name = || name.to_owned();
    let system = |error: Errno| LineError::System(name(), error.to_string());
    let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let fd =
        rustix::fs::open(path, flags, Mode::empty()).map_err(|error| refusal(name(), error))?;
    if !termios::isatty(&fd) {
        return Err(LineError::NotSerial(name()));
    }
    // Programs that keep to neither of both cannot be noticed.
    match rustix::fs::flock(&fd, FlockOperation::NonBlockingLockExclusive) {
        Err(Errno::WOULDBLOCK) => return Err(LineError::InUse(name())),
        result => result.map_err(system)?,
    }
    termios::ioctl_tiocexcl(&fd).map_err(system)?;
    let mut settings = termios::tcgetattr(&fd).map_err(system)?;
    settings.make_raw();
    settings.control_modes |= ControlModes::CREAD | ControlModes::CLOCAL;
    settings.control_modes -= ControlModes::CSTOPB | ControlModes::PARENB;
    settings.control_modes.set(ControlModes::CRTSCTS, has_flow_control);
    let lacks = |_| LineError::Baud(name(), baud);
    settings.set_speed(baud).map_err(lacks)?;
    termios::tcsetattr(&fd, OptionalActions::Now, &settings).map_err(lacks)?;
    // Octets of an earlier program.
    termios::tcflush(&fd, QueueSelector::IOFlush).map_err(system)?;
    Ok(fd)
}

/// Returns the reason for which a device cannot be opened.
fn refusal(name: String, error: Errno) -> LineError {
    match error {
        Errno::NOENT | Errno::NODEV | Errno::NXIO => LineError::Missing(name),
        Errno::ACCESS | Errno::PERM => LineError::Forbidden(name),
        Errno::BUSY => LineError::InUse(name),
        Errno::ISDIR => LineError::NotSerial(name),
        error => LineError::System(name, error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // A user with all rights, as in a container, is never refused, so no device shows these.
    #[test]
    fn errors_of_the_system_are_named_by_their_reason() {
        for (error, says) in [
            (Errno::ACCESS, "tty: no permission to open the device; its group, often dialout"),
            (Errno::PERM, "tty: no permission"),
            (Errno::BUSY, "tty: another program uses the device"),
            (Errno::NXIO, "tty: there is no such device"),
            (Errno::MFILE, "tty: Too many open files"),
        ] {
            let text = refusal("tty".to_owned(), error).to_string();
            assert!(text.starts_with(says), "{text}");
        }
        let text = LineError::Baud("tty".to_owned(), 460_800).to_string();
        assert_eq!(text, "tty: the device lacks the rate of 460800 bits a second");
    }
}

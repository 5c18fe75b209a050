//! Sticks in range of each other: models of coprocessors at serial ports, or with `KINGLET_RCP`,
//! the path of OpenThread's simulated `ot-rcp`, that program.

use kinglet_chips::{Coprocessor, Ports};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::time::Duration;

/// Rate of the lines of the models, in bits a second.
pub(crate) const BAUD: u32 = 460_800;
/// Time within which `socat` has made a device.
const LIMIT: Duration = Duration::from_secs(30);

pub(crate) enum Sticks {
    Models(Ports),
    Programs { program: String, devices: Vec<(PathBuf, Mutex<Option<Child>>)> },
}

fn directory() -> &'static Path {
    Path::new(env!("CARGO_TARGET_TMPDIR"))
}

impl Sticks {
    pub(crate) fn new(count: usize) -> Sticks {
        let Ok(program) = std::env::var("KINGLET_RCP") else {
            return Sticks::Models(Ports::new(count, Some(BAUD), directory()).expect("ports"));
        };
        // Its air.
        super::run(Command::new("ip").args(["link", "set", "lo", "up"]));
        let device = |number| {
            let name = format!("rcp-{}-{number}", std::process::id());
            (directory().join(name), Mutex::new(None))
        };
        let sticks = Sticks::Programs { program, devices: (1..=count).map(device).collect() };
        (0..count).for_each(|number| sticks.plug(number));
        sticks
    }

    pub(crate) fn device(&self, number: usize) -> &Path {
        match self {
            Sticks::Models(ports) => ports.device(number),
            Sticks::Programs { devices, .. } => &devices[number].0,
        }
    }

    pub(crate) fn url(&self, number: usize) -> String {
        format!("spinel+serial:{}?baud={BAUD}", self.device(number).display())
    }

    /// Restarts the coprocessor. The device stays, except with a program.
    pub(crate) fn restart(&self, number: usize) {
        match self {
            Sticks::Models(ports) => ports.change(number, Coprocessor::lose_power),
            Sticks::Programs { .. } => {
                self.unplug(number);
                self.plug(number);
            }
        }
    }

    pub(crate) fn unplug(&self, number: usize) {
        match self {
            Sticks::Models(ports) => ports.unplug(number).unwrap(),
            Sticks::Programs { devices, .. } => {
                let (device, running) = &devices[number];
                if let Some(mut child) = running.lock().unwrap().take() {
                    child.kill().unwrap();
                    child.wait().unwrap();
                }
                // It had no time to remove it.
                let _ = std::fs::remove_file(device);
            }
        }
    }

    pub(crate) fn plug(&self, number: usize) {
        match self {
            Sticks::Models(ports) => ports.plug(number).unwrap(),
            Sticks::Programs { program, devices } => {
                let (device, running) = &devices[number];
                let mut socat = Command::new("socat");
                socat.arg(format!("PTY,link={},raw,echo=0", device.display()));
                socat.arg(format!("EXEC:{program} {}", number + 1)).stdin(Stdio::null());
                *running.lock().unwrap() = Some(socat.spawn().expect("socat"));
                super::until(LIMIT, || device.exists());
            }
        }
    }
}

impl Drop for Sticks {
    fn drop(&mut self) {
        if let Sticks::Programs { devices, .. } = self {
            (0..devices.len()).for_each(|number| self.unplug(number));
        }
    }
}

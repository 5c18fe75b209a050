//! Keeps the TUN device as configured: its address, its routes and its MTU, whatever other programs
//! do to it.
//!
//! Linux removes the IPv6 addresses of a device that goes down, and they do not return by
//! themselves. After each change of a device, an address or a route, the present state is compared
//! with the configured one and corrected. A device that is down stays so until its owner sets it up
//! again; one that is deleted ends the program.

use crate::netlink::{Changes, Device, Kernel, Prefix};
use crate::tun::TunConfig;
use std::fmt;
use std::io;
use std::time::Duration;
use tokio::sync::mpsc::UnboundedReceiver;

/// Time for further changes before the state is compared: programs change several things at once.
const SETTLE: Duration = Duration::from_millis(50);
/// Number of corrections of one state. An address that vanishes at once is no reason to be busy.
const TRIES: usize = 8;

/// A change of the device, and its correction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// It is down.
    Down,
    /// It is up again.
    Up,
    /// Its MTU was changed, and is set again.
    Mtu {
        /// The value that it had.
        found: u32,
    },
    /// Its address was removed, and is added again.
    Address,
    /// A route to it was removed, and is added again.
    Route(Prefix),
}

impl Event {
    /// Returns a word for it.
    pub(crate) const fn name(&self) -> &'static str {
        match self {
            Event::Down => "down",
            Event::Up => "up",
            Event::Mtu { .. } => "mtu",
            Event::Address => "address",
            Event::Route(_) => "route",
        }
    }

    /// Returns a sentence about it.
    pub(crate) fn text(&self, config: &TunConfig) -> String {
        let TunConfig { name, address, prefix_len, mtu, .. } = config;
        match self {
            Event::Down => format!("{name} is down: no packets pass until it is up again"),
            Event::Up => format!("{name} is up again"),
            Event::Mtu { found } => format!("{name} had an MTU of {found}; it is {mtu} again"),
            Event::Address => {
                format!("{name} had lost its address {address}/{prefix_len}; it is added again")
            }
            Event::Route((prefix, len)) => {
                format!("the route to {prefix}/{len} by {name} was lost; it is added again")
            }
        }
    }
}

/// Reason for which the device cannot be kept.
#[derive(Debug)]
pub(crate) enum Lost {
    /// It does not exist any more in this network namespace.
    Gone,
    /// The system refuses a correction.
    Refused(io::Error),
}

impl From<io::Error> for Lost {
    fn from(error: io::Error) -> Self {
        Lost::Refused(error)
    }
}

impl fmt::Display for Lost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Lost::Gone => f.write_str(
                "it was deleted, or moved to another network namespace; start this program again \
                 to create it",
            ),
            Lost::Refused(error) => write!(f, "it cannot be configured: {error}"),
        }
    }
}

/// Keeps one device.
pub(crate) struct Keeper {
    kernel: Kernel,
    changes: Changes,
    index: u32,
    config: TunConfig,
    was_up: bool,
}

impl Keeper {
    /// Takes over the device with this index, which is up, and adds what it lacks.
    ///
    /// # Errors
    /// [`Lost`]
    pub(crate) fn new(config: &TunConfig, index: u32) -> Result<Self, Lost> {
        let (kernel, changes) = (Kernel::open()?, Changes::open()?);
        let mut keeper = Keeper { kernel, changes, index, config: config.clone(), was_up: true };
        keeper.correct()?;
        Ok(keeper)
    }

    /// Returns the configuration.
    pub(crate) const fn config(&self) -> &TunConfig {
        &self.config
    }

    /// Returns true if the device does not exist any more.
    pub(crate) fn is_gone(&self) -> bool {
        matches!(self.kernel.device(self.index), Ok(None))
    }

    /// Corrects the device after each change, and reports it, until that is not possible. A new
    /// configuration, of the same device, takes the place of the old one.
    pub(crate) async fn run(
        &mut self,
        configs: &mut UnboundedReceiver<TunConfig>,
        mut report: impl FnMut(&TunConfig, Event),
    ) -> Lost {
        loop {
            let events = tokio::select! {
                changed = self.changes.next() => match changed {
                    Ok(()) => {
                        tokio::time::sleep(SETTLE).await;
                        self.correct()
                    }
                    Err(error) => Err(error.into()),
                },
                Some(config) = configs.recv() => self.change(config),
            };
            match events {
                Ok(events) => events.into_iter().for_each(|event| report(&self.config, event)),
                Err(lost) => return lost,
            }
        }
    }

    /// Takes another configuration.
    fn change(&mut self, config: TunConfig) -> Result<Vec<Event>, Lost> {
        let old = std::mem::replace(&mut self.config, config);
        if (old.address, old.prefix_len) != (self.config.address, self.config.prefix_len) {
            self.kernel.remove_address(self.index, (old.address, old.prefix_len))?;
        }
        // What it lacks was not lost.
        self.correct().map(|_| Vec::new())
    }

    /// Compares the device with its configuration and corrects it. Returns what was wrong.
    fn correct(&mut self) -> Result<Vec<Event>, Lost> {
        let mut events = Vec::new();
        for _ in 0..TRIES {
            match self.correct_one() {
                Ok(None) => break,
                Ok(Some(event)) => events.push(event),
                // It has vanished, or gone down, since it was looked at.
                Err(_) if self.is_gone() => return Err(Lost::Gone),
                Err(_) if self.is_down() => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(events)
    }

    fn is_down(&self) -> bool {
        matches!(self.kernel.device(self.index), Ok(Some(Device { is_up: false, .. })))
    }

    /// Corrects the first thing that is wrong.
    fn correct_one(&mut self) -> io::Result<Option<Event>> {
        let (index, config) = (self.index, &self.config);
        let Some(device) = self.kernel.device(index)? else {
            return Err(io::ErrorKind::NotFound.into());
        };
        if device.is_up != self.was_up {
            self.was_up = device.is_up;
            return Ok(Some(if device.is_up { Event::Up } else { Event::Down }));
        }
        if !device.is_up {
            return Ok(None);
        }
        let mtu = u32::from(config.mtu);
        if let Some(found) = device.mtu.filter(|found| *found != mtu) {
            self.kernel.set_mtu(index, mtu)?;
            return Ok(Some(Event::Mtu { found }));
        }
        let own = (config.address, config.prefix_len);
        if !self.kernel.addresses(index)?.contains(&own) {
            self.kernel.add_address(index, own)?;
            return Ok(Some(Event::Address));
        }
        let routes = self.kernel.routes(index)?;
        if let Some(route) = config.prefixes().find(|route| !routes.contains(route)) {
            self.kernel.add_route(index, route)?;
            return Ok(Some(Event::Route(route)));
        }
        Ok(None)
    }
}

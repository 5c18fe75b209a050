//! Runs a network behind this machine's TUN device: the part that a simulated network and a border
//! router share.

use crate::GatewayError;
use crate::bridge::{self, BridgeStats, Hosts, Observer};
use crate::link::{Event, Keeper, Lost};
use crate::look::Shown;
use crate::show::Notice;
use crate::tun::{self, Creator, TunConfig};
use core::future::Future;
use std::io;
use std::sync::mpsc::Sender;
use std::time::Duration;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc::UnboundedReceiver;
use tun_rs::AsyncDevice;

/// The signals that a program at a TUN device handles.
pub(crate) struct Signals {
    interrupt: Signal,
    terminate: Signal,
    hangup: Signal,
}

/// One of these signals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Caught {
    /// SIGINT (Ctrl-C) or SIGTERM.
    End,
    /// SIGHUP.
    Hangup,
}

impl Signals {
    /// Takes them over. From then on they do not end the program.
    ///
    /// # Errors
    /// The error of the system.
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Signals {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hangup: signal(SignalKind::hangup())?,
        })
    }

    /// Waits for one of them.
    pub(crate) async fn next(&mut self) -> Caught {
        tokio::select! {
            _ = self.interrupt.recv() => Caught::End,
            _ = self.terminate.recv() => Caught::End,
            _ = self.hangup.recv() => Caught::Hangup,
        }
    }
}

/// This machine's end of the bridge: its TUN device, which is kept as configured.
pub(crate) struct Here {
    device: AsyncDevice,
    keeper: Keeper,
}

impl Here {
    /// Creates the device. It disappears with the process.
    ///
    /// # Errors
    /// [`GatewayError::Tun`], [`GatewayError::Device`]
    pub(crate) async fn create(config: &TunConfig, by: Creator) -> Result<Self, GatewayError> {
        let device = tun::create(config, by).await.map_err(GatewayError::Tun)?;
        let lost = |lost: Lost| device_error(config, &lost);
        let index = device.if_index().map_err(|error| lost(error.into()))?;
        let keeper = Keeper::new(config, index).map_err(lost)?;
        Ok(Here { device, keeper })
    }

    /// Returns the configuration of the device.
    pub(crate) const fn config(&self) -> &TunConfig {
        self.keeper.config()
    }

    /// Runs `network` behind this device, and behind `far` at the other end of a tunnel, until
    /// `stop` is ready. Changes of the device are reported to `notices`; `configs` has new
    /// configurations of it.
    ///
    /// # Errors
    /// [`GatewayError::Device`] if the device cannot be kept; [`GatewayError::Io`]
    pub(crate) async fn serve<N: Shown>(
        &mut self,
        network: &mut N,
        far: Option<&AsyncDevice>,
        (interval, observer): (Duration, &mut impl Observer<N>),
        (notices, mut configs): (&Sender<Notice>, UnboundedReceiver<TunConfig>),
        stop: impl Future<Output = ()>,
    ) -> Result<BridgeStats, GatewayError> {
        let Here { device, keeper } = self;
        let config = keeper.config().clone();
        let mut lost = None;
        let until = async {
            let report = |config: &TunConfig, event: Event| {
                // The screen lives as long as this loop.
                let _ = notices.send(Notice::of_link(config, &event));
            };
            tokio::select! {
                () = stop => {}
                reason = keeper.run(&mut configs, report) => lost = Some(reason),
            }
        };
        let hosts = Hosts { border: &*device, far };
        let ended = bridge::run(network, &hosts, interval, observer, until).await;
        // A device that is gone fails before its keeper is notified.
        let gone = ended.is_err() && keeper.is_gone();
        match lost.or(gone.then_some(Lost::Gone)) {
            Some(lost) => Err(device_error(&config, &lost)),
            None => Ok(ended?),
        }
    }
}

fn device_error(config: &TunConfig, lost: &Lost) -> GatewayError {
    GatewayError::Device { name: config.name.clone(), what: lost.to_string() }
}

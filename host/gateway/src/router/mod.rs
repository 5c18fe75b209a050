//! A border router whose radio is not simulated, behind the same TUN device as a simulated network.
//!
//! | module | subject |
//! |---|---|
//! | [`settings`] | `ROUTER.toml` |
//! | `radio` | the radio |
//! | `network` | the router, as the bridge uses it |
//! | `reload` | changes of the settings while it runs |
//!
//! Its stack is that of the border router of a simulated network ([`border_router`]), with the same
//! routing protocols, border policy and queue; announcement, table, counters and summary are those
//! of the gateway too. Design: `docs/decisions/0057-border-router.md`.
//!
//! [`border_router`]: kinglet_network::build::border_router

pub mod devices;
mod network;
mod radio;
mod reload;
pub mod settings;

use crate::bridge::{BridgeStats, Observer};
use crate::look::Shown;
use crate::serve::{Caught, Here, Signals};
use crate::show::{Output, Screen};
use crate::tun::{self, TunConfig};
use crate::{GatewayError, check_prefix, new_life};
use core::net::Ipv6Addr;
use kinglet_network::capture::whole;
use kinglet_scenario::Scenario;
use kinglet_time::{Duration, Instant};
use kinglet_zep::link::Link;
use kinglet_zep::state::State;
use network::Router;
use radio::Radio;
use reload::Reload;
use serde::Serialize;
use settings::Settings;
use std::io::{self, Write};
use std::path::Path;
use std::sync::mpsc::channel;
use tokio::sync::mpsc::unbounded_channel;

/// Settings that avoid a prefix that this machine has.
const INSTEAD: &str = "`prefix` in [network], `address` and `name` in [tun]";

/// The announcement.
#[derive(Serialize)]
struct Ready<'a> {
    event: &'static str,
    tun: &'a str,
    host: Ipv6Addr,
    router: Ipv6Addr,
    prefix: String,
    radio: String,
}

/// Periodic observers of the router.
struct Watchers<'a> {
    screen: Screen,
    status: Option<&'a Path>,
    /// The failure of the last attempt to write the status file.
    failed: Option<io::Error>,
}

impl Watchers<'_> {
    /// Writes the status file as a whole: a snapshot as one JSON object.
    fn write(&mut self, router: &mut Router) {
        let Some(path) = self.status else { return };
        let look = router.look();
        self.failed = whole::replace(path, |file| {
            serde_json::to_writer(&mut *file, &look)?;
            file.write_all(b"\n")
        })
        .err();
    }
}

impl Observer<Router> for Watchers<'_> {
    fn report(&mut self, router: &mut Router, stats: &BridgeStats) {
        self.screen.report(router, stats);
        self.write(router);
    }
}

/// Runs the border router of these settings, until SIGINT (Ctrl-C) or SIGTERM, which is a
/// successful end. They come from a file, which SIGHUP reads again; a given radio takes the place
/// of the one in it.
///
/// # Errors
/// [`GatewayError`]
pub fn run(
    source: (&Path, Option<&Link>),
    settings: &Settings,
    output: Output,
) -> Result<(), GatewayError> {
    check_prefix(settings.network.prefix, INSTEAD)?;
    let Settings { state, .. } = settings;
    let state = state.as_deref().map(|directory| State::open(directory, &settings.owner()));
    let state = state.transpose().map_err(GatewayError::State)?;
    let network = network::network_of(settings, state.as_ref())?;
    let begin = std::time::Instant::now();
    let clock = || Instant::ZERO + Duration::from_micros(begin.elapsed().as_micros() as u64);
    // A signal ends the program while it waits for the radio.
    let radio = network::open_radio(settings, &network, clock)?;
    let router = (radio, clock());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(serve(source, settings, output, &network, state, router))
}

async fn serve(
    source: (&Path, Option<&Link>),
    settings: &Settings,
    output: Output,
    network: &Scenario,
    state: Option<State>,
    radio: (Radio, Instant),
) -> Result<(), GatewayError> {
    // Before the first output, so that a signal right after it ends the program cleanly.
    let mut signals = Signals::new()?;
    let Settings { status, .. } = settings;
    let mut here = Here::create(&tun_config(settings), tun::ROUTER).await?;
    let (notices, noticed) = channel();
    let mut router = Router::new(network, new_life(), state, radio, notices.clone())?;
    let screen = Screen::new(output, noticed);
    let mut watchers = Watchers { screen, status: status.as_deref(), failed: None };
    announce(&watchers.screen, settings, here.config(), router.address());
    let interval = watchers.screen.interval();
    let (device, configs) = unbounded_channel();
    let mut reload = Reload::new(source, settings, router.key(), router.mailbox(), device);
    let stop = async {
        while signals.next().await != Caught::End {
            // The screen lives as long as this loop.
            let _ = notices.send(reload.again());
        }
    };
    let watched = (interval, &mut watchers);
    let stats = here.serve(&mut router, None, watched, (&notices, configs), stop).await?;
    watchers.screen.summary(&mut router, &stats);
    watchers.write(&mut router);
    match (watchers.failed, status) {
        (Some(error), Some(path)) => {
            let what = format!("the status file: {}: {error}", path.display());
            Err(GatewayError::Incomplete(vec![what]))
        }
        _ => Ok(()),
    }
}

/// Returns the configuration of the TUN device.
fn tun_config(settings: &Settings) -> TunConfig {
    let prefix = settings.network.prefix;
    TunConfig {
        name: settings.tun.clone(),
        address: prefix.host(),
        prefix_len: prefix.host_len(),
        mesh: prefix.mesh(),
        mtu: settings.network.net.mtu,
    }
}

fn announce(screen: &Screen, settings: &Settings, tun: &TunConfig, router: Ipv6Addr) {
    let (network, radio) = (&settings.network, settings.radio.to_string());
    let prefix = format!("{}/64", network.prefix.mesh());
    let TunConfig { name, address, prefix_len, mtu, .. } = tun;
    let text = format!(
        "{}: border router {router} on {radio}, behind the TUN device {name}\n\
         this machine is {address}/{prefix_len} there, MTU {mtu}; nodes have addresses of \
         {prefix}\n\nready\n",
        network.name
    );
    let (event, host) = ("ready", *address);
    screen.router_ready(&text, &Ready { event, tun: name, host, router, prefix, radio });
}

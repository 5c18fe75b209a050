//! `echo` as a host of neighbour discovery: it gets addresses and contexts from a router, and
//! registers with it. See `src/echo.rs`.

#![no_std]
#![no_main]

use cortex_m::singleton;
use cortex_m_rt::entry;
use kinglet::tcp::ListenConfig;
use kinglet::{Discovered, nd};
use kinglet_firmware::{Place, echo, place};

kinglet_firmware::echo_profile!(Echo {
    discovery: Discovered<Self>,
    addresses: 2,
    discovered: 4,
    default_routers: 2,
    autoconfigured: 2,
    name_servers: 1,
});

#[entry]
fn main() -> ! {
    let node = singleton!(: Place<Echo> = Place::uninit());
    let config = place::unsecured();
    let discovery = Discovered::with(nd::NdConfig { autoconfigures: true, ..place::nd(&config) });
    echo::run_with_discovery(node, config, discovery, ListenConfig::default())
}

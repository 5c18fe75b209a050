//! `echo` as a router of a network with nst-AODV. See `src/echo.rs`.

#![no_std]
#![no_main]

use cortex_m::singleton;
use cortex_m_rt::entry;
use kinglet::Aoded;
use kinglet::aodv::{self, Role};
use kinglet::tcp::ListenConfig;
use kinglet_firmware::{Place, echo, place};

kinglet_firmware::echo_profile!(Echo { routing: Aoded<Self>, });

impl aodv::Sizes for Echo {
    type Routes = [Option<aodv::Route>; 16];
    type Requests = [Option<aodv::Request>; 8];
    type Searches = [Option<aodv::Search>; 2];
    type Links = [Option<aodv::Link>; 12];
}

#[entry]
fn main() -> ! {
    let node = singleton!(: Place<Echo> = Place::uninit());
    let config = place::unsecured();
    let aodv = aodv::AodvConfig { role: Role::Router, ..aodv::AodvConfig::OFF };
    let aodv = Aoded::new(config.identity(), aodv, place::PREFIX);
    echo::run(node, config, aodv, ListenConfig::default())
}

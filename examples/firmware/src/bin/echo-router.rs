//! `echo` as a border router of 6LoWPAN's neighbour discovery, which advertises prefix and context
//! and registers addresses. See `src/echo.rs`.

#![no_std]
#![no_main]

use cortex_m::singleton;
use cortex_m_rt::entry;
use kinglet::Discovered;
use kinglet::nd::{Border, Offer, Serving};
use kinglet::tcp::ListenConfig;
use kinglet_firmware::{Place, console, echo, place};

kinglet_firmware::echo_profile!(Echo {
    discovery: Discovered<Self>,
    serving: Serving<Self>,
    addresses: 2,
    discovered: 4,
    registrations: 16,
    prefixes: 1,
});

#[entry]
fn main() -> ! {
    let node = singleton!(: Place<Echo> = Place::uninit());
    let config = place::unsecured();
    let mut role = Serving::new(Offer::new(Border::This(place::BORDER)));
    if place::offer(&mut role).is_err() {
        console::end(Err("no room for a prefix"));
    }
    let discovery = Discovered::serving(place::nd(&config), role);
    echo::run_with_discovery(node, config, discovery, ListenConfig::default())
}

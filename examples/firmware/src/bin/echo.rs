//! The smallest configuration: an always-on node in a network of static routes without link
//! security. See `src/echo.rs`.

#![no_std]
#![no_main]

use cortex_m::singleton;
use cortex_m_rt::entry;
use kinglet::tcp::ListenConfig;
use kinglet_firmware::{Place, echo, place};

kinglet_firmware::echo_profile!(Echo {});

#[entry]
fn main() -> ! {
    let node = singleton!(: Place<Echo> = Place::uninit());
    echo::run(node, place::unsecured(), (), ListenConfig::default())
}

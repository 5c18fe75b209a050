//! `echo` with a congestion window from rate samples. See `src/echo.rs`.

#![no_std]
#![no_main]

use cortex_m::singleton;
use cortex_m_rt::entry;
use kinglet::tcp::ListenConfig;
use kinglet::tcp::congestion::RateSampled;
use kinglet_firmware::{Place, echo, place};

kinglet_firmware::echo_profile!(Echo { congestion: RateSampled });

#[entry]
fn main() -> ! {
    let node = singleton!(: Place<Echo> = Place::uninit());
    echo::run(node, place::unsecured(), (), ListenConfig::default())
}

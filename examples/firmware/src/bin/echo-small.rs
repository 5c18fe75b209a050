//! `echo` with a small TCP: New Reno, without pacing, ECN, Fast Open and SYN cookies. See
//! `src/echo.rs`.

#![no_std]
#![no_main]

use cortex_m::singleton;
use cortex_m_rt::entry;
use kinglet::tcp::{self, ListenConfig};
use kinglet_firmware::{Place, echo, place};

kinglet_firmware::echo_profile!(Echo { features: tcp::Small, recovery: () });

#[entry]
fn main() -> ! {
    let node = singleton!(: Place<Echo> = Place::uninit());
    echo::run(node, place::unsecured(), (), ListenConfig::default())
}

//! `echo` with link security. See `src/echo.rs`.

#![no_std]
#![no_main]

use cortex_m::singleton;
use cortex_m_rt::entry;
use kinglet::mac;
use kinglet::tcp::ListenConfig;
use kinglet_firmware::{Place, echo, place};

kinglet_firmware::echo_profile!(Echo {
    security: mac::CcmStar<mac::Tabled, [mac::PeerCounter; 16]>,
});

#[entry]
fn main() -> ! {
    let node = singleton!(: Place<Echo> = Place::uninit());
    echo::run(node, place::config(), (), ListenConfig::default())
}

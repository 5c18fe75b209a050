//! `echo` with TinyOS's back-off and the policies of simpler TCPs, each selected by a connection's
//! settings. See `src/echo.rs`.

#![no_std]
#![no_main]

use cortex_m::singleton;
use cortex_m_rt::entry;
use kinglet::mac::TinyOs;
use kinglet::tcp::{self, ListenConfig};
use kinglet_firmware::{Place, echo, place};

kinglet_firmware::echo_profile!(Echo {
    backoff: TinyOs,
    features: tcp::WithPolicies<tcp::Usual>,
});

#[entry]
fn main() -> ! {
    let node = singleton!(: Place<Echo> = Place::uninit());
    echo::run(node, place::unsecured(), (), ListenConfig::default())
}

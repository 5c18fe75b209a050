//! `echo` as a leaf of a mesh, which selects its parent. See `src/echo.rs`.

#![no_std]
#![no_main]

use cortex_m::singleton;
use cortex_m_rt::entry;
use kinglet::Meshed;
use kinglet::mesh::{self, Role};
use kinglet::tcp::ListenConfig;
use kinglet_firmware::{Place, echo, place};

kinglet_firmware::echo_profile!(Echo { routing: Meshed<Self>, });

#[entry]
fn main() -> ! {
    let node = singleton!(: Place<Echo> = Place::uninit());
    let config = place::unsecured();
    let mesh = mesh::MeshConfig { role: Role::Leaf, ..mesh::MeshConfig::OFF };
    let mesh = Meshed::new(config.identity(), mesh, place::PREFIX);
    echo::run(node, config, mesh, ListenConfig::default())
}

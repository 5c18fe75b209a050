//! `sensor` by tasks: a leaf that sleeps sends a reading each second, over one connection after the
//! other.

#![no_std]
#![no_main]

use cortex_m::singleton;
use cortex_m_rt::entry;
use embassy_executor::{Spawner, task};
use embassy_time::{Duration, Ticker, Timer};
use kinglet::{Mote, radio::Driver, time::Instant};
use kinglet_embassy::{Error, Resources, Runner, Stack, TcpSocket};
use kinglet_firmware::tasks::{self, TaskRadio};
use kinglet_firmware::{Place, console, make, place};

#[entry]
fn main() -> ! {
    console::end(tasks::run(start))
}

fn start(spawner: Spawner, radio: TaskRadio) -> Result<(), &'static str> {
    let mut config = place::config();
    config.mac.rx_on_when_idle = false;
    let node = singleton!(: Place<Mote> = Place::uninit()).ok_or("run twice")?;
    let node = make(node, config, radio.capabilities());
    place::commission(node)?;
    node.set_parent(Instant::ZERO, Some(place::ROUTER)).map_err(|_| "no room for a parent")?;
    let resources = singleton!(: Resources<'static, Mote, 2> = Resources::new(node));
    let (stack, runner) = resources.ok_or("run twice")?.split();
    spawner.spawn(run(runner, radio).map_err(|_| "run twice")?);
    spawner.spawn(sense(stack).map_err(|_| "run twice")?);
    Ok(())
}

#[task]
async fn run(runner: Runner<'static, Mote>, mut radio: TaskRadio) {
    runner.run(&mut radio).await
}

#[task]
async fn sense(stack: Stack<'static, Mote>) {
    loop {
        let _ = report(stack).await; // until the connection has ended
        Timer::after_secs(5).await;
    }
}

async fn report(stack: Stack<'static, Mote>) -> Result<(), Error> {
    let mut socket = TcpSocket::connect(stack, place::HOST, 4242, Default::default()).await?;
    let mut seconds = Ticker::every(Duration::from_secs(1));
    loop {
        socket.write_all(b"21.5 degrees\n").await?;
        seconds.next().await;
    }
}

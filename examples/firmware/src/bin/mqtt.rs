//! A sensor that sleeps publishes by MQTT 5 (`minimq`), with each quality of service, a will, and a
//! session that outlives its connection: five readings, then a pause without connection.

#![no_std]
#![no_main]

use cortex_m::singleton;
use cortex_m_rt::entry;
use embassy_executor::{Spawner, task};
use kinglet::mac::{CcmStar, PeerCounter, Polled, Tabled};
use kinglet::radio::Driver;
use kinglet::time;
use kinglet_embassy::{Resources, Runner, Stack, TcpSocket};
use kinglet_firmware::tasks::{self, TaskRadio};
use kinglet_firmware::{Place, console, make, place, publisher};
use minimq::{Buffers, Session};

kinglet::profile! {
    struct Leaf {
        listening: Polled,
        security: CcmStar<Tabled, [PeerCounter; 4]>,
        send_buffer: 512,
        receive_buffer: 512,
        listeners: 0,
        udp_sockets: 0,
        pending_requests: 1,
        applications: 1,
    }
}

const PORT: u16 = 1883;
/// Time in which a broker answers.
const RESPONSE_TIME: time::Duration = time::Duration::from_secs(5);

#[entry]
fn main() -> ! {
    console::end(tasks::run(start))
}

fn start(spawner: Spawner, radio: TaskRadio) -> Result<(), &'static str> {
    let mut config = place::config();
    config.mac.rx_on_when_idle = false;
    let node = singleton!(: Place<Leaf> = Place::uninit()).ok_or("run twice")?;
    let node = make(node, config, radio.capabilities());
    place::commission(node)?;
    let parent = node.set_parent(time::Instant::ZERO, Some(place::ROUTER));
    parent.map_err(|_| "no room for a parent")?;
    let resources = singleton!(: Resources<'static, Leaf, 2> = Resources::new(node));
    let (stack, runner) = resources.ok_or("run twice")?.split();
    spawner.spawn(run(runner, radio).map_err(|_| "run twice")?);
    spawner.spawn(sense(stack).map_err(|_| "run twice")?);
    Ok(())
}

#[task]
async fn run(runner: Runner<'static, Leaf>, mut radio: TaskRadio) {
    runner.run(&mut radio).await
}

#[task]
async fn sense(stack: Stack<'static, Leaf>) {
    let buffers = (singleton!(: [u8; 128] = [0; 128]), singleton!(: [u8; 512] = [0; 512]));
    let (Some(received), Some(sent)) = buffers else { return };
    let Ok(config) = publisher::settings(Buffers::new(received, sent)) else { return };
    let mut session = Session::new(config);
    publisher::repeat(async || publish(stack, &mut session).await).await;
}

/// Publishes for one connection.
async fn publish(
    stack: Stack<'static, Leaf>,
    session: &mut Session<'static>,
) -> Result<(), &'static str> {
    let socket = TcpSocket::connect(stack, place::HOST, PORT, Default::default()).await;
    let mut socket = socket.map_err(|_| "no connection")?;
    socket.set_response_time(Some(RESPONSE_TIME));
    let mut connection = session.connect(socket).await.map_err(|_| "the broker refuses")?;
    publisher::publish(&mut connection).await
}

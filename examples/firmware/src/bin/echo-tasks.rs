//! `echo` as tasks of an executor: one serves TCP, one serves UDP, one runs the stack.

#![no_std]
#![no_main]

use cortex_m::singleton;
use cortex_m_rt::entry;
use embassy_executor::{Spawner, task};
use kinglet::radio::Driver;
use kinglet::tcp::ListenConfig;
use kinglet_embassy::{Error, Resources, Runner, Stack, TcpListener, TcpSocket, UdpSocket};
use kinglet_firmware::tasks::{self, TaskRadio};
use kinglet_firmware::{Place, console, make, place};

kinglet_firmware::echo_profile!(Echo {});

const PORT: u16 = 7;

#[entry]
fn main() -> ! {
    console::end(tasks::run(start))
}

fn start(spawner: Spawner, radio: TaskRadio) -> Result<(), &'static str> {
    let node = singleton!(: Place<Echo> = Place::uninit()).ok_or("run twice")?;
    let node = make(node, place::unsecured(), radio.capabilities());
    place::commission(node)?;
    let resources = singleton!(: Resources<'static, Echo, 3> = Resources::new(node));
    let (stack, runner) = resources.ok_or("run twice")?.split();
    spawner.spawn(run(runner, radio).map_err(|_| "run twice")?);
    spawner.spawn(streams(stack).map_err(|_| "run twice")?);
    spawner.spawn(datagrams(stack).map_err(|_| "run twice")?);
    Ok(())
}

#[task]
async fn run(runner: Runner<'static, Echo>, mut radio: TaskRadio) {
    runner.run(&mut radio).await
}

#[task]
async fn streams(stack: Stack<'static, Echo>) {
    let Ok(listener) = TcpListener::bind(stack, PORT, ListenConfig::default()) else { return };
    loop {
        let (mut socket, _) = listener.accept().await;
        let _ = echo(&mut socket).await;
    }
}

/// Sends back what a client sends, to the end of the stream.
async fn echo(socket: &mut TcpSocket<'static, Echo>) -> Result<(), Error> {
    let mut buf = [0; 64];
    loop {
        match socket.read(&mut buf).await? {
            0 => return Ok(()),
            len => socket.write_all(buf.get(..len).unwrap_or_default()).await?,
        }
    }
}

#[task]
async fn datagrams(stack: Stack<'static, Echo>) {
    let Ok(mut socket) = UdpSocket::bind(stack, PORT) else { return };
    let Some(buf) = singleton!(: [u8; 1232] = [0; 1232]) else { return };
    loop {
        if let Ok((len, peer)) = socket.receive(buf).await {
            let _ = socket.send(peer, buf.get(..len).unwrap_or_default()).await;
        }
    }
}

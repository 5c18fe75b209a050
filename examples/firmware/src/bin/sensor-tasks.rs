//! `sensor` by tasks: a leaf that sleeps sends a reading each second, over one connection after the
//! other.

#![no_std]
#![no_main]

use embassy_executor::task;
use embassy_time::{Duration, Ticker, Timer};
use kinglet::Mote;
use kinglet_embassy::{Error, Stack, TcpSocket};
use kinglet_firmware::{place, run_tasks};

run_tasks!(Mote, leaf, 2 => sense);

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

//! `echo` as tasks of an executor: one serves TCP, one serves UDP, one runs the stack.

#![no_std]
#![no_main]

use cortex_m::singleton;
use embassy_executor::task;
use kinglet::tcp::ListenConfig;
use kinglet_embassy::{Error, Stack, TcpListener, TcpSocket, UdpSocket};
use kinglet_firmware::run_tasks;

kinglet_firmware::echo_profile!(Echo {});

const PORT: u16 = 7;

run_tasks!(Echo, server, 3 => streams, datagrams);

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

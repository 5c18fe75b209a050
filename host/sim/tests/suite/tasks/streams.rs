//! TCP sockets.

use super::network::{Sockets, address, network, run_until, software};
use kinglet_embassy::{TcpListener, TcpSocket};
use std::cell::RefCell;
use std::rc::Rc;

const PORT: u16 = 7;

/// Sends back what each client sends, one client after the other.
async fn echo(stack: Sockets) {
    let listener = TcpListener::bind(stack, PORT, Default::default()).expect("room");
    loop {
        let (mut socket, _) = listener.accept().await;
        let mut buf = [0; 300];
        while let Ok(len @ 1..) = socket.read(&mut buf).await {
            if socket.write_all(&buf[..len]).await.is_err() {
                break;
            }
        }
    }
}

#[test]
fn what_is_sent_comes_back() {
    let (server, mut first) = software(1, |_| ());
    first.spawn(echo(server));
    let (client, mut second) = software(2, |_| ());
    let back = Rc::new(RefCell::new(None));
    let result = Rc::clone(&back);
    second.spawn(async move {
        let mut socket = TcpSocket::connect(client, address(1), PORT, Default::default())
            .await
            .expect("a connection");
        let (mut reader, mut writer) = socket.split();
        let text: Vec<u8> = (0..5_000u32).map(|i| i as u8).collect();
        let mut received = vec![];
        let (mut sent, mut buf) = (0, [0; 77]);
        while received.len() < text.len() {
            while sent < text.len() && sent - received.len() < 1_000 {
                sent += writer.write(&text[sent..]).await.expect("room");
            }
            let len = reader.read(&mut buf).await.expect("octets");
            received.extend_from_slice(&buf[..len]);
        }
        socket.shutdown().await.expect("an acknowledgement");
        assert_eq!(socket.read(&mut buf).await, Ok(0), "the server closes too");
        *result.borrow_mut() = Some(received == text);
    });
    let mut world = network(1, vec![first, second]);
    run_until(&mut world, 60, || back.borrow().is_some());
    assert_eq!(*back.borrow(), Some(true));
}

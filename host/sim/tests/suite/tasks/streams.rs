//! TCP sockets.

use super::network::{Plan, Sockets, address, both, network, node, pair, run_until, software};
use core::net::SocketAddr;
use edge_nal::{Close, TcpAccept, TcpBind, TcpConnect, TcpShutdown, TcpSplit, with_timeout};
use embassy_time::Timer;
use embedded_io_async::{Error as _, ErrorKind, Read, Write};
use kinglet::tcp::{ConnectionError, State};
use kinglet_embassy::{Error, TcpListener, TcpSocket};
use std::cell::{Cell, RefCell};
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

/// Opens a connection to node 1.
async fn connect(stack: Sockets) -> Result<TcpSocket<'static, Plan>, Error> {
    TcpSocket::connect(stack, address(1), PORT, Default::default()).await
}

fn text(len: usize) -> Vec<u8> {
    (0..len).map(|at| (at * 7 + at / 256) as u8).collect()
}

#[test]
fn what_is_sent_comes_back() {
    pair(echo, async |stack| {
        let mut socket = connect(stack).await.expect("a connection");
        let (mut reader, mut writer) = socket.split();
        let text = text(5_000);
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
        assert!(received == text);
    });
}

#[test]
fn after_a_half_close_the_other_direction_goes_on() {
    pair(
        async |stack| {
            let listener = TcpListener::bind(stack, PORT, Default::default()).expect("room");
            let (mut socket, _) = listener.accept().await;
            let mut count = 0;
            let mut buf = [0; 100];
            while let Ok(len @ 1..) = socket.read(&mut buf).await {
                count += len;
            }
            // The client has closed; the answer is longer than the send ring.
            Timer::after_secs(5).await;
            assert_eq!(count, 1_000);
            socket.write_all(&text(9_000)).await.expect("the client reads");
        },
        async |stack| {
            let mut socket = connect(stack).await.expect("a connection");
            socket.write_all(&text(1_000)).await.expect("room");
            TcpShutdown::close(&mut socket, Close::Write).await.expect("an acknowledgement");
            assert_eq!(socket.write(b"more").await, Err(Error::Closed));
            assert_eq!(Error::Closed.kind(), ErrorKind::BrokenPipe);
            let mut received = vec![0; 9_000];
            socket.read_exact(&mut received).await.expect("all of it");
            assert!(received == text(9_000));
            assert_eq!(socket.read(&mut [0; 1]).await, Ok(0));
        },
    );
}

#[test]
fn halves_are_used_by_two_futures_at_once() {
    pair(echo, async |stack| {
        let mut socket = connect(stack).await.expect("a connection");
        let (mut reader, mut writer) = TcpSplit::split(&mut socket);
        let text = text(20_000);
        let mut received = vec![0; text.len()];
        let write = async { writer.write_all(&text).await.expect("room") };
        let read = async { reader.read_exact(&mut received).await.expect("all") };
        both(write, read).await;
        assert!(received == text);
    });
}

#[test]
fn several_tasks_share_a_stack() {
    let (one, mut server) = node(1);
    // Two servers of one port: each takes the connections that the other one does not.
    let listener = TcpListener::bind(one, PORT, Default::default()).expect("room");
    let listener = Rc::new(listener);
    for _ in 0..2 {
        let listener = Rc::clone(&listener);
        server.spawn(async move {
            loop {
                let (mut socket, _) = listener.accept().await;
                let mut buf = [0; 64];
                while let Ok(len @ 1..) = socket.read(&mut buf).await {
                    socket.write_all(&buf[..len]).await.expect("room");
                }
            }
        });
    }
    let (two, mut clients) = node(2);
    let (done, open) = (Rc::new(Cell::new(0)), Rc::new(Cell::new(0)));
    for number in 0..2usize {
        let (count, open) = (Rc::clone(&done), Rc::clone(&open));
        clients.spawn(async move {
            for round in 0..3 {
                let mut socket = connect(two).await.expect("a connection");
                // Both servers have one: the second one was woken although the first one is busy.
                socket.write_all(b"?").await.expect("room");
                socket.read_exact(&mut [0; 1]).await.expect("an answer");
                open.set(open.get() + 1);
                while open.get() < (round as u32 + 1) * 2 {
                    Timer::after_millis(100).await;
                }
                let text = text(1_000 + number * 100 + round);
                socket.write_all(&text).await.expect("room");
                let mut received = vec![0; text.len()];
                socket.read_exact(&mut received).await.expect("all of it");
                assert!(received == text, "client {number}, round {round}");
            }
            count.set(count.get() + 1);
        });
    }
    let mut world = network(1, vec![server, clients]);
    run_until(&mut world, 600, || done.get() == 2);
}

#[test]
fn a_peer_without_listener_refuses() {
    pair(
        async |_| (),
        async |stack| {
            let error = connect(stack).await.err().expect("nothing listens");
            assert_eq!(error, Error::Ended(ConnectionError::Refused));
            assert_eq!(error.kind(), ErrorKind::ConnectionRefused);
            assert_eq!(error.to_string(), "the peer has refused the connection");
        },
    );
}

#[test]
fn what_cannot_be_reached_is_an_error_at_once() {
    pair(
        async |_| (),
        async |stack| {
            let begin = embassy_time::Instant::now();
            let connect = async |remote: &str| {
                let remote: SocketAddr = remote.parse().expect("an address");
                TcpConnect::connect(&stack, remote).await.err()
            };
            assert_eq!(connect("[2001:db9::1]:7").await, Some(Error::NoRoute));
            assert_eq!(connect("[ff02::1]:7").await, Some(Error::BadAddress));
            assert_eq!(connect("[2001:db8::1]:0").await, Some(Error::BadAddress));
            assert_eq!(connect("192.0.2.1:7").await, Some(Error::NoIpv4));
            assert_eq!(Error::NoIpv4.kind(), ErrorKind::Unsupported);
            assert_eq!(embassy_time::Instant::now(), begin);
        },
    );
}

#[test]
fn an_attempt_without_response_ends() {
    let end = pair(
        async |_| (),
        async |stack| {
            // No node has this address.
            let error = TcpSocket::connect(stack, address(9), PORT, Default::default()).await.err();
            assert_eq!(error, Some(Error::Ended(ConnectionError::TimedOut)));
            embassy_time::Instant::now()
        },
    );
    // Three minutes are the least (RFC 9293, MUST-23).
    assert!((180..250).contains(&end.as_secs()), "{end}");
}

#[test]
fn a_reset_ends_reads_and_writes() {
    pair(
        async |stack| {
            let listener = TcpBind::bind(&stack, "[::]:7".parse().expect("an address"));
            let listener = listener.await.expect("room");
            let (peer, mut socket) = TcpAccept::accept(&listener).await.expect("a client");
            assert_eq!(peer.ip(), address(2));
            socket.read_exact(&mut [0; 4]).await.expect("octets");
            TcpShutdown::abort(&mut socket).await.expect("nothing to wait for");
            core::future::pending().await
        },
        async |stack| {
            let mut socket = connect(stack).await.expect("a connection");
            socket.write_all(b"text").await.expect("room");
            let reset = Error::Ended(ConnectionError::Reset);
            assert_eq!(socket.read(&mut [0; 4]).await, Err(reset));
            assert_eq!(socket.write(b"text").await, Err(reset));
            assert_eq!(reset.kind(), ErrorKind::ConnectionReset);
        },
    );
}

#[test]
fn a_dropped_socket_still_sends_what_was_written() {
    pair(
        async |stack| {
            let mut socket = TcpSocket::connect(stack, address(2), PORT, Default::default())
                .await
                .expect("a connection");
            socket.write_all(&text(2_000)).await.expect("room");
        },
        async |stack| {
            let listener = TcpListener::bind(stack, PORT, Default::default()).expect("room");
            let (mut socket, _) = listener.accept().await;
            let mut received = vec![0; 2_000];
            socket.read_exact(&mut received).await.expect("all of it");
            assert_eq!(socket.read(&mut [0; 1]).await, Ok(0), "a FIN");
            assert!(received == text(2_000));
        },
    );
}

#[test]
fn a_dropped_attempt_leaves_no_connection() {
    pair(echo, async |stack| {
        let attempt = TcpSocket::connect(stack, address(9), PORT, Default::default());
        assert!(with_timeout(500, async { attempt.await.map(|_| ()) }).await.is_err());
        let open = stack.with(|_, node| {
            let states = node.tcp().handles().filter_map(|it| node.tcp().state(it));
            states.filter(|state| *state != State::Closed).count()
        });
        assert_eq!(open, 0);
        connect(stack).await.expect("there is room again");
    });
}

#[test]
fn a_dropped_listener_refuses_and_its_port_is_free() {
    pair(
        async |stack| {
            let listener = TcpListener::bind(stack, PORT, Default::default()).expect("room");
            let again = TcpListener::bind(stack, PORT, Default::default());
            assert_eq!(again.err(), Some(Error::PortInUse));
            drop(listener);
            Timer::after_secs(3).await;
            echo(stack).await;
        },
        async |stack| {
            Timer::after_secs(1).await;
            let refused = Some(Error::Ended(ConnectionError::Refused));
            assert_eq!(connect(stack).await.err(), refused);
            Timer::after_secs(3).await;
            connect(stack).await.expect("a connection");
        },
    );
}

#[test]
fn more_waiting_tasks_than_places_lose_nothing() {
    let (one, mut server) = node(1);
    server.spawn(echo(one));
    let (two, mut clients) = software::<1>(2, |_| ());
    let done = Rc::new(RefCell::new(vec![]));
    for number in 0..3u8 {
        let done = Rc::clone(&done);
        clients.spawn(async move {
            Timer::after_millis(u64::from(number) * 50).await;
            let mut socket = connect(two).await.expect("a connection");
            socket.write_all(&[number; 700]).await.expect("room");
            let mut received = [0; 700];
            socket.read_exact(&mut received).await.expect("all of it");
            assert_eq!(received, [number; 700]);
            done.borrow_mut().push(number);
        });
    }
    let mut world = network(1, vec![server, clients]);
    run_until(&mut world, 600, || done.borrow().len() == 3);
    // Without a place each of them looks again every 50 ms.
    let end = world.now();
    assert!(world.device(1).polls < 2_000, "{} polls in {end:?}", world.device(1).polls);
}

#[test]
fn a_wait_that_is_dropped_and_repeated_takes_one_place() {
    let (one, mut server) = node(1);
    server.spawn(async move {
        let listener = TcpListener::bind(one, PORT, Default::default()).expect("room");
        let (mut socket, _) = listener.accept().await;
        Timer::after_secs(60).await;
        socket.write_all(b"late").await.expect("a connection");
        core::future::pending().await
    });
    let (two, mut client) = software::<2>(2, |_| ());
    let done = Rc::new(Cell::new(false));
    let is_done = Rc::clone(&done);
    client.spawn(async move {
        let mut socket = connect(two).await.expect("a connection");
        let mut buf = [0; 4];
        while with_timeout(1_000, socket.read(&mut buf)).await.is_err() {}
        is_done.set(buf == *b"late");
    });
    let mut world = network(1, vec![server, client]);
    run_until(&mut world, 100, || done.get());
    // A wait without a place would look again twenty times a second.
    assert!(world.device(1).polls < 500, "{} polls", world.device(1).polls);
}

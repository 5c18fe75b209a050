//! UDP sockets.

use super::network::{Plan, Sockets, address, pair};
use core::net::{IpAddr, Ipv4Addr, SocketAddr};
use edge_nal::{MulticastV4, MulticastV6, Readable, UdpBind, UdpConnect, UdpReceive, UdpSend};
use edge_nal::{UdpSplit, UdpSplitMulticast};
use embedded_io_async::{Error as _, ErrorKind};
use kinglet_embassy::{Error, UdpSocket};

fn at(short: u16, port: u16) -> SocketAddr {
    SocketAddr::new(IpAddr::V6(address(short)), port)
}

fn any(port: u16) -> SocketAddr {
    format!("[::]:{port}").parse().expect("an address")
}

async fn bind(stack: &Sockets, port: u16) -> UdpSocket<'static, Plan> {
    UdpBind::bind(stack, any(port)).await.expect("room")
}

/// Sends each datagram back.
async fn echo(stack: Sockets) {
    let mut socket = bind(&stack, 7).await;
    let mut buf = [0; 1_232];
    loop {
        let (len, peer) = UdpReceive::receive(&mut socket, &mut buf).await.expect("a datagram");
        UdpSend::send(&mut socket, peer, &buf[..len]).await.expect("a route");
    }
}

#[test]
fn datagrams_come_back_and_a_short_buffer_gets_their_beginning() {
    pair(echo, async |stack| {
        let mut socket = bind(&stack, 0).await;
        let (mut receiver, mut sender) = socket.split();
        for len in [0, 1, 40, 900, 1_232] {
            sender.send(at(1, 7), &vec![5; len]).await.expect("a route");
            receiver.readable().await.expect("a datagram");
            let mut buf = [0; 100];
            let (whole, from) = receiver.receive(&mut buf).await.expect("a datagram");
            assert_eq!((whole, from), (len, at(1, 7)));
            assert!(buf.iter().take(len).all(|octet| *octet == 5));
        }
        let error = sender.send(at(1, 7), &[0; 1_233]).await.expect_err("too long");
        assert_eq!((error, error.kind()), (Error::TooLong, ErrorKind::InvalidInput));
    });
}

#[test]
fn more_datagrams_than_the_node_has_room_for_leave_one_after_the_other() {
    pair(
        async |stack| {
            let mut socket = bind(&stack, 0).await;
            embassy_time::Timer::after_millis(10).await;
            for number in 0..30 {
                UdpSend::send(&mut socket, at(2, 9), &[number; 200]).await.expect("a route");
            }
            core::future::pending().await
        },
        async |stack| {
            let mut socket = bind(&stack, 9).await;
            let mut buf = [0; 200];
            for number in 0..30 {
                UdpReceive::receive(&mut socket, &mut buf).await.expect("a datagram");
                assert_eq!(buf, [number; 200]);
            }
        },
    );
}

#[test]
fn a_socket_with_a_peer_hears_only_that_peer() {
    pair(echo, async |stack| {
        let mut other = bind(&stack, 0).await;
        // To the own echo of nobody: port 8 of node 1 is not bound, and this one is not of node 1.
        let socket = UdpConnect::connect(&stack, any(5_000), at(1, 7)).await;
        let mut socket = socket.expect("room");
        UdpSend::send(&mut other, at(1, 7), b"from another port").await.expect("a route");
        UdpSend::send(&mut socket, any(0), b"to the peer").await.expect("a route");
        let mut buf = [0; 64];
        let (len, from) = UdpReceive::receive(&mut socket, &mut buf).await.expect("a datagram");
        assert_eq!((&buf[..len], from), (&b"to the peer"[..], at(1, 7)));
        let again = UdpSocket::bind(stack, 5_000).err();
        assert_eq!(again, Some(Error::PortInUse));
        drop(socket);
        bind(&stack, 5_000).await;
        assert_eq!(UdpSend::send(&mut other, any(7), b"").await, Err(Error::NoRoute));
    });
}

#[test]
fn a_group_is_joined_and_left() {
    let group = "ff02::4b".parse().expect("a group");
    pair(
        async move |stack| {
            let mut socket = bind(&stack, 0).await;
            for text in [b"first", b"later"] {
                embassy_time::Timer::after_secs(2).await;
                let to = SocketAddr::new(IpAddr::V6(group), 9);
                UdpSend::send(&mut socket, to, text).await.expect("a route");
            }
            core::future::pending().await
        },
        async move |stack| {
            let mut socket = bind(&stack, 9).await;
            let (mut receiver, _, mut v4, mut v6) = socket.split_multicast();
            let unsupported = v4.join_v4(Ipv4Addr::BROADCAST, Ipv4Addr::UNSPECIFIED).await;
            assert_eq!(unsupported, Err(Error::NoIpv4));
            assert_eq!(v6.join_v6(address(1), 0).await, Err(Error::BadAddress));
            v6.join_v6(group, 0).await.expect("room");
            let mut buf = [0; 5];
            receiver.receive(&mut buf).await.expect("a datagram");
            assert_eq!(&buf, b"first");
            v6.leave_v6(group, 0).await.expect("a member");
            let next = receiver.receive(&mut buf);
            let late = edge_nal::with_timeout(5_000, next).await;
            assert!(late.is_err(), "not a member any more");
        },
    );
}

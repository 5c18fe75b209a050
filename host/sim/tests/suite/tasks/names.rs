//! Host names, looked up at a server in the network.

use super::asleep;
use super::network::{Sockets, address, network_with_loss, pair, run_until};
use core::net::{IpAddr, Ipv6Addr};
use edge_nal::{AddrType, Dns};
use embedded_io_async::{Error as _, ErrorKind};
use kinglet_embassy::{Error, Resolver, UdpSocket};
use std::cell::Cell;
use std::rc::Rc;

const FOUND: Ipv6Addr = Ipv6Addr::new(0x2001, 0xDB8, 0, 0, 0, 0, 0, 0x1883);

/// Knows one name.
async fn serve(stack: Sockets) {
    let mut socket = UdpSocket::bind(stack, 53).expect("room");
    let mut buf = [0; 512];
    loop {
        let (len, peer) = socket.receive(&mut buf).await.expect("a query");
        let known = buf[12..len].starts_with(b"\x06broker\x07example\0");
        let mut answer = buf[..len].to_vec();
        answer[2] |= 0x80;
        if known {
            answer[7] = 1;
            answer.extend([0xC0, 12, 0, 28, 0, 1, 0, 0, 0, 60, 0, 16]);
            answer.extend(FOUND.octets());
        } else {
            answer[3] = 3;
        }
        socket.send(peer, &answer).await.expect("a route");
    }
}

#[test]
fn a_name_is_looked_up_and_another_one_does_not_exist() {
    pair(serve, async |stack| {
        let resolver = Resolver::new(stack, Some(address(1)), || 0x4711);
        let found = resolver.get_host_by_name("broker.example", AddrType::Either).await;
        assert_eq!(found, Ok(IpAddr::V6(FOUND)));
        let missing = resolver.look_up("other.example").await;
        assert_eq!(missing, Err(Error::NoSuchName));
        assert_eq!(Error::NoSuchName.kind(), ErrorKind::NotFound);
        let v4 = resolver.get_host_by_name("broker.example", AddrType::IPv4).await;
        assert_eq!(v4, Err(Error::NoIpv4));
        let reverse = resolver.get_host_by_address(IpAddr::V6(FOUND), &mut [0; 255]).await;
        assert_eq!(reverse, Err(Error::NoReverseLookup));
        assert_eq!(resolver.look_up("").await, Err(Error::BadName));
        let nobody = Resolver::new(stack, None, || 1);
        assert_eq!(nobody.look_up("broker.example").await, Err(Error::NoNameServer));
    });
}

#[test]
fn a_silent_server_is_asked_three_times() {
    let queries = Rc::new(Cell::new(0));
    let count = Rc::clone(&queries);
    let seconds = pair(
        async move |stack| {
            let mut socket = UdpSocket::bind(stack, 53).expect("room");
            loop {
                socket.receive(&mut [0; 8]).await.expect("a query");
                count.set(count.get() + 1);
            }
        },
        async |stack| {
            let resolver = Resolver::new(stack, Some(address(1)), || 0x4711);
            assert_eq!(resolver.look_up("broker.example").await, Err(Error::NoResponse));
            embassy_time::Instant::now().as_secs()
        },
    );
    assert_eq!((queries.get(), seconds), (3, 14));
}

#[test]
fn a_leaf_that_sleeps_gets_its_response_although_frames_are_lost() {
    for seed in 1..=5 {
        let (one, mut server) = asleep::parent_node();
        server.spawn(serve(one));
        let (two, mut leaf) = asleep::leaf_node();
        let done = Rc::new(Cell::new(None));
        let result = Rc::clone(&done);
        leaf.spawn(async move {
            let resolver = Resolver::new(two, Some(address(1)), || 0x4711);
            result.set(Some(resolver.look_up("broker.example").await));
        });
        let mut world = network_with_loss(seed, vec![server, leaf], 0.1);
        let end = run_until(&mut world, 60, || done.get().is_some());
        assert_eq!(done.get(), Some(Ok(FOUND)), "after {end:?}");
    }
}

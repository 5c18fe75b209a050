//! Futures that are dropped at random points.

use super::network::{Plan, Sockets, address, both, network_with_loss, node, run_until};
use edge_nal::{WithTimeoutError, with_timeout};
use embassy_time::Timer;
use kinglet_embassy::{Error, TcpListener, TcpReader, TcpSocket, TcpWriter};
use kinglet_sim::rng::{Purpose, Stream, stream};
use proptest::prelude::*;
use std::cell::Cell;
use std::rc::Rc;

const PORT: u16 = 7;
const OCTETS: usize = 6_000;

/// The octet at this place of the stream.
fn octet(at: usize) -> u8 {
    (at * 7 + at / 256) as u8
}

/// A time in milliseconds after which a future is dropped; 0 drops it after its first poll.
fn patience(random: &mut Stream) -> u32 {
    [0, 0, 1, 3, 10, 60][random.below(6) as usize]
}

/// The result of a future, or `None` if it was dropped.
fn unless_dropped<T>(result: Result<T, WithTimeoutError<Error>>) -> Option<T> {
    match result {
        Ok(result) => Some(result),
        Err(WithTimeoutError::Timeout) => None,
        Err(WithTimeoutError::Error(error)) => panic!("{error}"),
    }
}

/// Writes the stream by futures most of which are dropped.
async fn write(writer: &mut TcpWriter<'_, 'static, Plan>, random: &mut Stream) {
    let text: Vec<u8> = (0..OCTETS).map(octet).collect();
    let mut written = 0;
    while written < OCTETS {
        let end = OCTETS.min(written + 1 + random.below(700) as usize);
        let write = writer.write(&text[written..end]);
        written += unless_dropped(with_timeout(patience(random), write).await).unwrap_or(0);
    }
}

/// Reads the stream by futures most of which are dropped, and checks each octet.
async fn read(reader: &mut TcpReader<'_, 'static, Plan>, random: &mut Stream) {
    let mut received = 0;
    while received < OCTETS {
        let mut buf = vec![0; 1 + random.below(400) as usize];
        let read = with_timeout(patience(random), reader.read(&mut buf)).await;
        let Some(count) = unless_dropped(read) else {
            Timer::after_millis(random.below(40).into()).await;
            continue;
        };
        assert!(buf[..count].iter().enumerate().all(|(i, it)| *it == octet(received + i)));
        received += count;
    }
}

async fn serve(stack: Sockets, mut random: Stream, done: Rc<Cell<u32>>) {
    let listener = TcpListener::bind(stack, PORT, Default::default()).expect("room");
    let mut socket = loop {
        let accept = async { Ok(listener.accept().await.0) };
        let accepted = with_timeout(patience(&mut random), accept).await;
        if let Some(socket) = unless_dropped(accepted) {
            break socket;
        }
    };
    both_directions(&mut socket, &mut random).await;
    done.set(done.get() + 1);
}

async fn both_directions(socket: &mut TcpSocket<'static, Plan>, random: &mut Stream) {
    let (mut reader, mut writer) = socket.split();
    let mut other = random.clone();
    both(write(&mut writer, random), read(&mut reader, &mut other)).await;
    // Nothing follows, and nothing is missing.
    socket.shutdown().await.expect("the peer acknowledges the FIN");
    assert_eq!(socket.read(&mut [0; 1]).await, Ok(0));
}

async fn use_it(stack: Sockets, mut random: Stream, done: Rc<Cell<u32>>) {
    let socket = TcpSocket::connect(stack, address(1), PORT, Default::default()).await;
    let mut socket = socket.expect("a connection");
    both_directions(&mut socket, &mut random).await;
    done.set(done.get() + 1);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn a_dropped_future_loses_no_octet_and_repeats_none(seed in 0..u64::MAX, loss in 0..3u32) {
        let done = Rc::new(Cell::new(0));
        let (one, mut server) = node(1);
        let random = |node| stream(seed, node, Purpose::Fault);
        server.spawn(serve(one, random(1), Rc::clone(&done)));
        let (two, mut client) = node(2);
        client.spawn(use_it(two, random(2), Rc::clone(&done)));
        let mut world = network_with_loss(seed, vec![server, client], f64::from(loss) * 0.1);
        run_until(&mut world, 3_600, || done.get() == 2);
    }
}

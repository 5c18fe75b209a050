//! A leaf that sleeps: its radio is on as long as without tasks.

use super::executor::Tasks;
use super::network::{Sockets, address, both, commissioned, network_with_loss, settings, software};
use embassy_time::{Instant as Clock, Timer};
use embedded_io_async::{Read, Write};
use kinglet::tcp::Handle;
use kinglet::{Config, Node, Polling, Profile};
use kinglet_apps::App;
use kinglet_embassy::{TcpListener, TcpSocket};
use kinglet_sim::{Device, Station, World};
use kinglet_time::{Duration, Instant};
use std::cell::Cell;
use std::rc::Rc;

const PORT: u16 = 7;
/// Each minute the leaf sends a batch and awaits an answer.
pub(super) const PERIOD: Duration = Duration::from_secs(60);
pub(super) const ROUNDS: u32 = 40;
const BATCH: usize = 1_200;
const ANSWER: usize = 700;
/// Octets of a response in one segment.
const REPLY: usize = 100;

pub(super) fn leaf(config: &mut Config) {
    config.mac.rx_on_when_idle = false;
    config.mac.indirect.burst = true;
    config.polling = Polling::Predictive { base: Duration::from_secs(240) };
}

pub(super) fn parent(config: &mut Config) {
    config.mac.indirect.burst = true;
}

/// Node 1, the parent of node 2.
pub(super) fn parent_node() -> (Sockets, Tasks) {
    let (stack, tasks) = software::<6>(1, parent);
    stack.with(|_, node| node.add_child(2)).expect("room");
    (stack, tasks)
}

/// Node 2, which sleeps.
pub(super) fn leaf_node() -> (Sockets, Tasks) {
    let (stack, tasks) = software::<6>(2, leaf);
    stack.with(|_, node| node.set_parent(Instant::ZERO, Some(1))).expect("room");
    (stack, tasks)
}

/// The leaf's application in a loop.
struct Sender {
    handle: Option<Handle>,
    next: Instant,
    queued: usize,
}

impl App for Sender {
    fn poll<P: Profile>(&mut self, now: Instant, node: &mut Node<P>) -> bool {
        if now < self.next && self.handle.is_none() {
            return false;
        }
        let handle = *self.handle.get_or_insert_with(|| {
            let config = Default::default();
            node.streams().connect(now, address(1), PORT, config).expect("a place")
        });
        if self.next <= now {
            self.next += PERIOD;
            self.queued += BATCH;
        }
        let sent = node.streams().send(handle, &vec![1; self.queued]).expect("a connection");
        self.queued -= sent;
        sent + node.streams().recv(handle, &mut [0; 2_000]).unwrap_or(0) > 0
    }

    fn deadline(&self) -> Option<Instant> {
        Some(self.next)
    }
}

/// The parent's application in a loop.
struct Answerer {
    handle: Option<Handle>,
    read: usize,
}

impl App for Answerer {
    fn poll<P: Profile>(&mut self, _: Instant, node: &mut Node<P>) -> bool {
        self.handle = self.handle.or_else(|| node.streams().accept(PORT));
        let Some(handle) = self.handle else { return false };
        let read = node.streams().recv(handle, &mut [0; 2_000]).unwrap_or(0);
        if (self.read + read) / BATCH > self.read / BATCH {
            assert_eq!(node.streams().send(handle, &[2; ANSWER]), Ok(ANSWER));
        }
        self.read += read;
        read > 0
    }

    fn deadline(&self) -> Option<Instant> {
        None
    }
}

/// Time for which the radio of the leaf is on, and the number of its data requests.
#[derive(Clone, Copy, Debug, Default)]
struct Cost {
    on: Duration,
    requests: u32,
}

pub(super) fn radio_on(world: &mut World<impl Device>) -> Duration {
    radio_on_until(world, Instant::ZERO + PERIOD * ROUNDS)
}

/// Time for which the radio of the leaf is on in the first minute, in which it opens a connection,
/// and later.
pub(super) fn radio_on_at_first_and_later(world: &mut World<impl Device>) -> [Duration; 2] {
    let opening = radio_on_until(world, Instant::from_secs(59));
    [opening, radio_on(world) - opening]
}

pub(super) fn radio_on_until(world: &mut World<impl Device>, end: Instant) -> Duration {
    world.run_until(end);
    let share = world.energy(1).radio.duty_cycle();
    Duration::from_micros((share * world.now().as_micros() as f64) as u64)
}

fn in_a_loop(seed: u64, loss: f64) -> Cost {
    let [mut one, mut two] = [settings(1), settings(2)];
    parent(&mut one);
    leaf(&mut two);
    let [mut one, mut two] = [one, two].map(commissioned);
    one.add_child(2).expect("room");
    two.set_parent(Instant::ZERO, Some(1)).expect("room");
    one.streams().listen(PORT, Default::default()).expect("room");
    let sender = Sender { handle: None, next: Instant::from_secs(1), queued: 0 };
    let nodes = vec![
        Station::new(one, vec![Box::new(Answerer { handle: None, read: 0 })]),
        Station::new(two, vec![Box::new(sender)]),
    ];
    let mut world = network_with_loss(seed, nodes, loss);
    let on = radio_on(&mut world);
    let read = world.device(0).app::<Answerer>(0).expect("the only one").read;
    assert_eq!(read, BATCH * ROUNDS as usize);
    Cost { on, requests: world.device(1).node().stats().data_requests }
}

/// Fetches an answer each minute; returns the longest time from request to answer.
async fn fetch(stack: Sockets, time: Option<Duration>, slowest: Rc<Cell<u64>>) {
    let socket = TcpSocket::connect(stack, address(1), PORT, Default::default()).await;
    let mut socket = socket.expect("a connection");
    socket.set_response_time(time);
    for round in 1..20 {
        Timer::at(Clock::from_secs(60 * round)).await;
        let begin = Clock::now();
        socket.write_all(&[1; BATCH]).await.expect("a connection");
        socket.read_exact(&mut [0; REPLY]).await.expect("an answer");
        slowest.set(slowest.get().max(begin.elapsed().as_millis()));
    }
}

/// The same of a server that thinks for a while.
async fn think_and_answer(stack: Sockets) {
    let listener = TcpListener::bind(stack, PORT, Default::default()).expect("room");
    let (mut socket, _) = listener.accept().await;
    while socket.read_exact(&mut [0; BATCH]).await.is_ok() {
        Timer::after_millis(700).await;
        socket.write_all(&[2; REPLY]).await.expect("a connection");
    }
}

#[test]
fn a_response_that_is_expected_is_fetched_soon() {
    let slowest = |time: Option<Duration>| {
        let (one, mut server) = parent_node();
        server.spawn(think_and_answer(one));
        let (two, mut client) = leaf_node();
        let slowest = Rc::new(Cell::new(0));
        client.spawn(fetch(two, time, Rc::clone(&slowest)));
        let mut world = network_with_loss(1, vec![server, client], 0.0);
        radio_on(&mut world);
        slowest.get()
    };
    let [unexpected, expected] = [None, Some(Duration::from_secs(5))].map(slowest);
    assert!(expected < 5_000, "{expected} ms");
    assert!(unexpected > 10_000, "{unexpected} ms: nothing else fetches it");
}

/// Sends each minute over a connection of its own that is dropped at once.
async fn send_and_drop(stack: Sockets, time: Option<Duration>) {
    for minute in 1.. {
        Timer::at(Clock::from_secs(60 * minute)).await;
        let socket = TcpSocket::connect(stack, address(1), PORT, Default::default()).await;
        let mut socket = socket.expect("a connection");
        socket.set_response_time(time);
        socket.write_all(&[1; 100]).await.expect("a connection");
    }
}

async fn read_all(stack: Sockets) {
    let listener = TcpListener::bind(stack, PORT, Default::default()).expect("room");
    loop {
        let (mut socket, _) = listener.accept().await;
        while socket.read(&mut [0; 200]).await.is_ok_and(|count| count > 0) {}
    }
}

#[test]
fn a_dropped_socket_expects_no_response_any_more() {
    let requests = |time| {
        let (one, mut server) = parent_node();
        server.spawn(read_all(one));
        let (two, mut client) = leaf_node();
        client.spawn(send_and_drop(two, time));
        radio_on(&mut network_with_loss(1, vec![server, client], 0.0));
        two.with(|_, node| node.stats().data_requests)
    };
    let [without, with] = [None, Some(Duration::from_secs(50))].map(requests);
    assert!(without > ROUNDS, "{without} data requests");
    assert!(with <= without, "{with} data requests, {without} if none is expected");
}

async fn send(stack: Sockets, rounds: Rc<Cell<u32>>) {
    Timer::at(Clock::from_secs(1)).await;
    let socket = TcpSocket::connect(stack, address(1), PORT, Default::default()).await;
    let mut socket = socket.expect("a connection");
    let (mut reader, mut writer) = socket.split();
    let write = async {
        for round in 0.. {
            Timer::at(Clock::from_secs(1 + 60 * round)).await;
            writer.write_all(&[1; BATCH]).await.expect("a connection");
        }
    };
    let read = async {
        let mut received = 0;
        loop {
            received += reader.read(&mut [0; 300]).await.expect("octets");
            rounds.set((received / ANSWER) as u32);
        }
    };
    both(write, read).await;
}

async fn answer(stack: Sockets) {
    let listener = TcpListener::bind(stack, PORT, Default::default()).expect("room");
    let (mut socket, _) = listener.accept().await;
    while socket.read_exact(&mut [0; BATCH]).await.is_ok() {
        socket.write_all(&[2; ANSWER]).await.expect("a connection");
    }
}

fn by_tasks(seed: u64, loss: f64) -> Cost {
    let (one, mut server) = parent_node();
    server.spawn(answer(one));
    let (two, mut client) = leaf_node();
    let rounds = Rc::new(Cell::new(0));
    client.spawn(send(two, Rc::clone(&rounds)));
    let mut world = network_with_loss(seed, vec![server, client], loss);
    let on = radio_on(&mut world);
    assert!(rounds.get() >= ROUNDS - 1, "{}", rounds.get());
    Cost { on, requests: two.with(|_, node| node.stats().data_requests) }
}

#[test]
fn the_radio_of_a_leaf_is_on_as_long_as_without_tasks() {
    for loss in [0.0, 0.1] {
        let mut sums = [Cost::default(); 2];
        for seed in 1..=6 {
            for (sum, run) in sums.iter_mut().zip([in_a_loop, by_tasks]) {
                let cost = run(seed, loss);
                *sum = Cost { on: sum.on + cost.on, requests: sum.requests + cost.requests };
            }
        }
        let [in_a_loop, by_tasks] = sums;
        println!("loss {loss}: in a loop {in_a_loop:?}, by tasks {by_tasks:?}");
        let [a, b] = [in_a_loop.on, by_tasks.on].map(|on| on.as_micros());
        assert!(a.abs_diff(b) * 100 <= a * 2, "{a} us in a loop, {b} by tasks");
    }
}

//! Readiness of sockets for the application.

use crate::common::*;
use kinglet::tcp::{ListenConfig, Readiness};
use kinglet::time::{Duration, Instant};
use kinglet::{Mote, Node, Ready};

const LIMIT: Duration = Duration::from_secs(10);
const READABLE: Readiness = Readiness { readable: true, writable: false, closed: false };
const WRITABLE: Readiness = Readiness { readable: false, writable: true, closed: false };

/// Runs until node `index` reports a ready socket.
fn next(world: &mut World<Mote>, index: usize) -> Option<Ready> {
    let mut ready = None;
    world.run(LIMIT, |_, nodes| {
        ready = nodes[index].poll_ready();
        ready.is_some()
    });
    ready
}

#[test]
fn a_task_that_acts_only_when_it_is_woken_up_misses_nothing() {
    let mut world = World::<Mote>::new(2, usual(), 0, 7);
    world.nodes[1].streams().listen(80, ListenConfig::default()).unwrap();
    assert_eq!(world.nodes[1].poll_ready(), None, "a listener alone is nothing to act on");
    let up = world.nodes[0].streams().connect(world.now, global(2), 80, Default::default());
    let up = up.unwrap();
    assert_eq!(next(&mut world, 0), Some(Ready::Stream(up, WRITABLE)), "connected");
    assert_eq!(next(&mut world, 1), Some(Ready::Acceptable(80)));
    let down = world.nodes[1].streams().accept(80).unwrap();
    assert_eq!(next(&mut world, 1), Some(Ready::Stream(down, WRITABLE)));
    for text in [b"one", b"two"] {
        world.nodes[0].streams().send(up, text).unwrap();
        assert_eq!(next(&mut world, 1), Some(Ready::Stream(down, READABLE)));
        let mut buffer = [0; 8];
        assert_eq!(world.nodes[1].streams().recv(down, &mut buffer), Ok(3));
        assert_eq!(world.nodes[1].poll_ready(), None);
    }
    world.nodes[0].streams().close(up).unwrap();
    assert_eq!(next(&mut world, 1), Some(Ready::Stream(down, READABLE)), "the end");
    world.nodes[1].streams().close(down).unwrap();
    let over = |ready| matches!(ready, Some(Ready::Stream(_, now)) if now.closed);
    assert!(over(next(&mut world, 1)), "all is acknowledged");
}

#[test]
fn a_datagram_is_reported_once_and_the_next_one_after_it_was_read() {
    let mut world = World::<Mote>::new(2, usual(), 0, 7);
    let from = world.nodes[0].datagrams().bind(0).unwrap();
    let to = world.nodes[1].datagrams().bind(7).unwrap();
    let send = |node: &mut Node<Mote>, now: Instant| {
        node.datagrams().send(now, from, global(2), 7, b"text").unwrap();
    };
    send(&mut world.nodes[0], world.now);
    assert_eq!(next(&mut world, 1), Some(Ready::Datagram(to)));
    send(&mut world.nodes[0], world.now);
    assert_eq!(next(&mut world, 1), None, "nobody has read");
    let mut buffer = [0; 8];
    assert!(world.nodes[1].datagrams().recv(to, &mut buffer).unwrap().is_some());
    assert_eq!(world.nodes[1].poll_ready(), Some(Ready::Datagram(to)), "the second one");
    assert!(world.nodes[1].datagrams().recv(to, &mut buffer).unwrap().is_some());
    assert_eq!(world.nodes[1].poll_ready(), None);
}

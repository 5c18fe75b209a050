//! Slots of connections, and their use by another connection.

use crate::common::script::*;
use crate::common::*;
use kinglet_tcp::*;
use kinglet_wire::tcp::Options;

#[test]
fn without_a_free_slot_the_handshake_completes_later() {
    let mut s = Script::new();
    s.ep.listen(80, listening(2, plain())).unwrap();
    let others: Vec<_> = (0..3).map(|_| s.ep.connect(s.now, s.peer, 9, plain()).unwrap()).collect();
    s.take_all();
    s.give(SYN, 0, 0, b"").unwrap();
    s.theirs = s.take().unwrap().header.seq;
    assert_eq!(s.give(ACK, 1, 1, b"hello"), Err(Discard::BacklogFull));
    s.ep.abort(others[0]).unwrap();
    s.give(ACK, 1, 1, b"hello").unwrap();
    let handle = s.ep.accept(80).unwrap();
    assert_eq!(s.read(handle), b"hello");
}

#[test]
fn a_slot_is_used_again_only_when_it_is_over_and_its_handle_dies_then() {
    let (mut s, handle) = Script::server(plain(), Options::NONE);
    s.give(FIN | ACK, 1, 1, b"").unwrap();
    s.ep.close(handle).unwrap();
    s.take_all();
    s.give(ACK, 2, 2, b"").unwrap();
    assert_eq!(s.ep.state(handle), Some(State::Closed));
    for _ in 0..3 {
        s.ep.connect(s.now, s.peer, 9, plain()).unwrap();
    }
    assert_eq!(s.ep.state(handle), None);
    assert_eq!(s.ep.connect(s.now, s.peer, 9, plain()), Err(ConnectError::NoSlot));
}

/// An application that has closed its side may still read the last octets that arrived.
#[test]
fn of_two_slots_the_one_with_nothing_unread_is_used_again() {
    let (mut s, unread) = Script::server(plain(), Options::NONE);
    s.give(FIN | ACK, 1, 1, b"last words").unwrap();
    s.ep.close(unread).unwrap();
    s.take_all();
    s.give(ACK, 12, 2, b"").unwrap();
    s.remote += 1;
    s.give(SYN, 0, 0, b"").unwrap();
    s.theirs = s.take().unwrap().header.seq;
    s.give(FIN | ACK, 1, 1, b"").unwrap();
    let read = s.ep.accept(80).unwrap();
    s.ep.close(read).unwrap();
    s.take_all();
    s.give(ACK, 2, 2, b"").unwrap();
    let over = Some(State::Closed);
    assert_eq!((s.ep.state(unread), s.ep.state(read)), (over, over));
    for _ in 0..2 {
        s.ep.connect(s.now, s.peer, 9, plain()).unwrap();
    }
    assert_eq!(s.ep.state(read), None);
    assert_eq!(s.read(unread), b"last words");
}

#[test]
fn a_dead_connection_yields_its_slot_unless_octets_are_to_be_read() {
    let (mut s, dead) = Script::server(plain(), Options::NONE);
    s.give(RST | ACK, 1, 1, b"").unwrap();
    assert_eq!(s.ep.state(dead), Some(State::Closed));
    let (mut unread, handle) = Script::server(plain(), Options::NONE);
    unread.give(ACK, 1, 1, b"last words").unwrap();
    unread.give(RST | ACK, 11, 1, b"").unwrap();
    for (s, handle, after) in [(&mut s, dead, None), (&mut unread, handle, Some(State::Closed))] {
        for _ in 0..2 {
            s.ep.connect(s.now, s.peer, 9, plain()).unwrap();
        }
        assert_eq!(s.ep.state(handle), Some(State::Closed), "others are free");
        let last = s.ep.connect(s.now, s.peer, 9, plain());
        assert_eq!((last.is_ok(), s.ep.state(handle)), (after.is_none(), after));
    }
    assert_eq!(unread.read(handle), b"last words");
}

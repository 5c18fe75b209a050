//! Tests of the choice among protocols.

use core::fmt::Debug;
use core::net::Ipv6Addr;
use core::ops::{Deref, DerefMut};
use kinglet_mem::Array;
use kinglet_routing::choice::{Icmpv6Types, group, port};
use kinglet_routing::{AddedHeaders, Learnt, NoHeaders, PORT, Routing, routing_choice};
use kinglet_time::Instant;

const GROUP: Ipv6Addr = Ipv6Addr::new(0xFF02, 0, 0, 0, 0, 0, 0, 0x1A);

/// Knows the deadline that it was given.
struct Plain(Option<Instant>);

impl Routing for Plain {
    const NONE: Self = Plain(None);
    const PORT: Option<u16> = Some(PORT);
    const GIVES_ADDRESSES: bool = true;
    type Additions = NoHeaders;
    type Waiting<H: Copy + Debug> = [Option<H>; 0];

    fn route(&self, _: Ipv6Addr) -> Option<Learnt> {
        Some(Learnt { prefix_len: 1, via: None })
    }

    fn deadline(&self) -> Option<Instant> {
        self.0
    }

    fn handle_deadline(&mut self, _: Instant) {
        self.0 = None;
    }
}

struct Extending;

impl Routing for Extending {
    const NONE: Self = Extending;
    const ICMPV6: &'static [u8] = &[155, 7];
    const GROUP: Option<Ipv6Addr> = Some(GROUP);
    const WATCHES_QUEUE: bool = true;
    type Additions = AddedHeaders;
    type Waiting<H: Copy + Debug> = [Option<H>; 2];

    fn route(&self, _: Ipv6Addr) -> Option<Learnt> {
        Some(Learnt { prefix_len: 2, via: None })
    }

    fn added_len(&self, _: Ipv6Addr) -> usize {
        8
    }
}

/// A pointer with a method of its own.
struct Other(Extending);

impl Other {
    fn route(&self, dst: Ipv6Addr) -> Option<Learnt> {
        Some(Learnt { prefix_len: 3, ..self.0.route(dst)? })
    }
}

impl Deref for Other {
    type Target = Extending;

    fn deref(&self) -> &Extending {
        &self.0
    }
}

impl DerefMut for Other {
    fn deref_mut(&mut self) -> &mut Extending {
        &mut self.0
    }
}

routing_choice! {
    /// All of them.
    enum Choice {
        /// One.
        Plain(Box<Plain>),
        /// Another one.
        Extending(&'static mut Extending),
        /// The same, with a method of its own.
        Other(Other),
    }
    type Waiting<H> = [Option<H>; 5];
}

routing_choice! {
    /// One alone.
    enum Single {
        /// One.
        Plain(Box<Plain>),
    }
    type Waiting<H> = [Option<H>; 0];
}

#[test]
fn a_choice_has_what_any_of_its_protocols_needs() {
    assert_eq!(
        (Choice::PORT, Choice::GROUP, Choice::ICMPV6),
        (Some(PORT), Some(GROUP), { &[155, 7, 155, 7][..] })
    );
    assert_eq!(
        (Choice::EXTENDS, Choice::WATCHES_QUEUE, Choice::GIVES_ADDRESSES),
        (true, true, true)
    );
    assert_eq!(<Choice as Routing>::Waiting::<u8>::LEN, 5);
    assert_eq!((Single::PORT, Single::GROUP, Single::ICMPV6), (Some(PORT), None, &[][..]));
    assert_eq!(
        (Single::EXTENDS, Single::WATCHES_QUEUE, Single::GIVES_ADDRESSES),
        (false, false, true)
    );
    assert!(!Single::NONE.is_on());
}

#[test]
fn calls_go_to_the_chosen_protocol_and_first_to_its_pointer() {
    let to = Ipv6Addr::LOCALHOST;
    let extending = || Box::leak(Box::new(Extending));
    let at = Some(Instant::from_secs(1));
    let mut plain = Choice::Plain(Box::new(Plain(at)));
    let all = [
        &Choice::Static,
        &plain,
        &Choice::Extending(extending()),
        &Choice::Other(Other(Extending)),
    ];
    let routes = all.map(|it| it.route(to).map(|route| route.prefix_len));
    assert_eq!(routes, [None, Some(1), Some(2), Some(3)]);
    assert_eq!(all.map(|it| it.added_len(to)), [0, 0, 8, 8]);
    assert_eq!(all.map(Routing::is_on), [false, true, true, true]);
    assert_eq!(all.map(Routing::deadline), [None, at, None, None]);
    plain.handle_deadline(Instant::from_secs(1));
    assert_eq!(plain.deadline(), None);
}

/// Returns the names after each `fn ` in a part of a file.
fn methods(text: &str) -> Vec<&str> {
    let lines = text.lines().map(str::trim).filter(|line| line.starts_with("fn "));
    let mut names: Vec<_> =
        lines.filter_map(|line| line.strip_prefix("fn ")?.split('(').next()).collect();
    names.sort_unstable();
    names
}

/// A method with a default that the macro does not forward would do nothing.
#[test]
fn every_method_of_the_trait_is_forwarded() {
    let text = include_str!("../../src/routing.rs");
    let (_, text) = text.split_once("pub trait Routing {").expect("the trait");
    let (interface, _) = text.split_once("\n}").expect("its end");
    let text = include_str!("../../src/choice.rs");
    let (_, text) = text.split_once("{ @shared").expect("the lists of methods");
    let (lists, _) = text.split_once("\n// ").expect("their end");
    assert_eq!(methods(interface), methods(lists));
    assert_eq!(methods(lists).len(), 38);
}

#[test]
#[should_panic = "the same UDP port"]
fn two_ports_are_refused() {
    assert_eq!(port(&[None, Some(PORT), None, Some(PORT)]), Some(PORT));
    port(&[Some(PORT), Some(1)]);
}

#[test]
#[should_panic = "the same multicast group"]
fn two_groups_are_refused() {
    assert_eq!(group(&[None, Some(GROUP), Some(GROUP)]), Some(GROUP));
    group(&[Some(GROUP), Some(Ipv6Addr::LOCALHOST)]);
}

#[test]
#[should_panic = "at most 16"]
fn too_many_types_are_refused() {
    assert_eq!(Icmpv6Types::of(&[&[1; 8], &[], &[2; 8]]).as_slice().len(), 16);
    Icmpv6Types::of(&[&[1; 16], &[2]]);
}

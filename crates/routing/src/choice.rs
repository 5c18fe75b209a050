//! A choice among routing protocols at run time: the functions of
//! [`routing_choice!`](crate::routing_choice).

use crate::routing::Routing;
use core::net::Ipv6Addr;
use core::ops::Deref;

/// Makes a routing protocol that is one of several, chosen when the node is made. Each protocol
/// takes one line:
///
/// ```
/// # mod protocols {
/// #     use core::{fmt::Debug, net::Ipv6Addr};
/// #     use kinglet_routing::{Learnt, NoHeaders, PORT, Routing};
/// #     macro_rules! protocol { ($name:ident) => {
/// #         pub struct $name;
/// #         impl Routing for $name {
/// #             const NONE: Self = $name;
/// #             const PORT: Option<u16> = Some(PORT);
/// #             type Additions = NoHeaders;
/// #             type Waiting<H: Copy + Debug> = [Option<H>; 0];
/// #             fn is_on(&self) -> bool { true }
/// #             fn route(&self, _: Ipv6Addr) -> Option<Learnt> { None }
/// #         }
/// #     } }
/// #     protocol!(Tree);
/// #     protocol!(Flood);
/// # }
/// use protocols::{Flood, Tree};
/// use kinglet_routing::{PORT, Routing, routing_choice};
///
/// routing_choice! {
///     /// The protocols of a product.
///     pub enum Protocols {
///         /// A tree.
///         Tree(Box<Tree>),
///         /// Flooding.
///         Flood(Box<Flood>),
///     }
///     type Waiting<H> = [Option<H>; 0];
/// }
///
/// assert_eq!(<Protocols as Routing>::PORT, Some(PORT));
/// assert!(!Protocols::Static.is_on()); // the variant without a protocol
/// assert!(Protocols::Flood(Box::new(Flood)).is_on());
/// ```
///
/// A variant holds a pointer to its protocol: a `Box`, a `&'static mut`, or a type of one's own
/// that implements `DerefMut`. A method of that type itself with the name of one of [`Routing`]
/// takes precedence, so that a type can change single calls of a protocol.
///
/// A choice has one UDP port and one multicast group: protocols with different ones do not compile.
///
/// [`Routing`]: crate::Routing
#[macro_export]
macro_rules! routing_choice {
    (@additions) => { $crate::NoHeaders };
    (@additions $first:ty, $($rest:ty,)*) => {
        <<$crate::choice::Protocol<$first> as $crate::Routing>::Additions as $crate::Additions>::Or<
            $crate::routing_choice!(@additions $($rest,)*)
        >
    };

    // A list of methods, each with its argument names and types.
    (@shared $variants:tt
        $(fn $method:ident(&$this:ident $(, $argument:ident: $type:ty)*) $(-> $result:ty)?;)*
    ) => {
        $(fn $method(&$this $(, $argument: $type)*) $(-> $result)? {
            $crate::routing_choice!(@call $variants $this $method($($argument),*))
        })*
    };
    (@exclusive $variants:tt
        $(fn $method:ident(
            &mut $this:ident $(, $argument:ident: $type:ty)*
        ) $(-> $result:ty)?;)*
    ) => {
        $(fn $method(&mut $this $(, $argument: $type)*) $(-> $result)? {
            $crate::routing_choice!(@call $variants $this $method($($argument),*))
        })*
    };
    (@call [$($variant:ident)+] $this:ident $method:ident $arguments:tt) => {
        match $this {
            Self::Static => ().$method $arguments,
            $(Self::$variant(it) => it.$method $arguments,)+
        }
    };

    (
        $(#[$attribute:meta])*
        $visibility:vis enum $name:ident {
            $($(#[$about:meta])* $variant:ident($pointer:ty)),+ $(,)?
        }
        type Waiting<$handle:ident> = $waiting:ty;
    ) => {
        $(#[$attribute])*
        $visibility enum $name {
            /// Static routes only.
            Static,
            $($(#[$about])* $variant($pointer),)+
        }

        const _: () = {
            use $crate::Routing as _;

            impl $crate::Routing for $name {
                const NONE: Self = Self::Static;
                const PORT: Option<u16> = $crate::choice::port(
                    &[$(<$crate::choice::Protocol<$pointer> as $crate::Routing>::PORT),+],
                );
                const ICMPV6: &'static [u8] = {
                    const TYPES: $crate::choice::Icmpv6Types = $crate::choice::Icmpv6Types::of(
                        &[$(<$crate::choice::Protocol<$pointer> as $crate::Routing>::ICMPV6),+],
                    );
                    TYPES.as_slice()
                };
                const GROUP: Option<core::net::Ipv6Addr> = $crate::choice::group(
                    &[$(<$crate::choice::Protocol<$pointer> as $crate::Routing>::GROUP),+],
                );
                const WATCHES_QUEUE: bool =
                    false $(|| $crate::choice::watches_queue::<$pointer>())+;
                const GIVES_ADDRESSES: bool =
                    false $(|| $crate::choice::gives_addresses::<$pointer>())+;
                type Additions = $crate::routing_choice!(@additions $($pointer,)+);
                type Waiting<$handle: Copy + core::fmt::Debug> = $waiting;

                $crate::routing_choice! { @shared [$($variant)+]
                    fn is_on(&self) -> bool;
                    fn route(&self, dst: core::net::Ipv6Addr) -> Option<$crate::Learnt>;
                    fn deadline(&self) -> Option<$crate::choice::Instant>;
                    fn listens(&self) -> bool;
                    fn announces_sleep(&self) -> bool;
                    fn serves_leaves(&self) -> bool;
                    fn reasons(&self, each: &mut $crate::Each<'_>);
                    fn relations(&self, each: &mut $crate::EachRelation<'_>);
                    fn discovers(&self, dst: core::net::Ipv6Addr) -> bool;
                    fn is_discovering(&self, dst: core::net::Ipv6Addr) -> bool;
                    fn add(
                        &self,
                        packet: &$crate::choice::Header,
                        origin: $crate::Origin,
                        out: &mut [u8; $crate::MAX_ADDED]
                    ) -> Option<$crate::Added>;
                    fn reroute(
                        &self,
                        destination: core::net::Ipv6Addr,
                        option: &mut [u8]
                    ) -> Option<$crate::NextHop>;
                    fn ends_tunnel(&self, src: core::net::Ipv6Addr) -> bool;
                    fn is_unaware(&self, dst: core::net::Ipv6Addr) -> bool;
                    fn dodag(&self) -> Option<$crate::choice::Dodag>;
                    fn added_len(&self, remote: core::net::Ipv6Addr) -> usize;
                }
                $crate::routing_choice! { @exclusive [$($variant)+]
                    fn handle_message(
                        &mut self,
                        now: $crate::choice::Instant,
                        from: u16,
                        rssi_dbm: i8,
                        message: &[u8]
                    );
                    fn poll_message(
                        &mut self,
                        now: $crate::choice::Instant,
                        buf: &mut [u8; $crate::MAX_MESSAGE]
                    ) -> Option<$crate::Message>;
                    fn handle_icmpv6(
                        &mut self,
                        now: $crate::choice::Instant,
                        rssi_dbm: i8,
                        message: $crate::Icmpv6In<'_>
                    );
                    fn poll_icmpv6(
                        &mut self,
                        now: $crate::choice::Instant,
                        buf: &mut [u8; $crate::MAX_ICMPV6]
                    ) -> Option<$crate::Icmpv6Out>;
                    fn handle_deadline(&mut self, now: $crate::choice::Instant);
                    fn handle_heard(
                        &mut self,
                        now: $crate::choice::Instant,
                        from: u16,
                        rssi_dbm: i8,
                        lqi: u8
                    );
                    fn handle_asked(&mut self, now: $crate::choice::Instant, from: u16);
                    fn handle_sent(
                        &mut self,
                        now: $crate::choice::Instant,
                        to: $crate::choice::Address,
                        transmissions: u8,
                        acked: bool
                    );
                    fn handle_queue(
                        &mut self,
                        now: $crate::choice::Instant,
                        waiting: usize,
                        room: usize
                    );
                    fn set_broadcast_time(
                        &mut self,
                        period: $crate::choice::Duration,
                        channels: u32
                    );
                    fn poll_change(&mut self) -> Option<$crate::Change>;
                    fn handle_leaf(
                        &mut self,
                        now: $crate::choice::Instant,
                        leaf: &$crate::RegisteredHost
                    );
                    fn handle_address(&mut self, address: core::net::Ipv6Addr);
                    fn discover(
                        &mut self,
                        now: $crate::choice::Instant,
                        dst: core::net::Ipv6Addr
                    ) -> bool;
                    fn handle_use(
                        &mut self,
                        now: $crate::choice::Instant,
                        src: core::net::Ipv6Addr,
                        dst: core::net::Ipv6Addr,
                        from: $crate::choice::Address
                    );
                    fn handle_stray(
                        &mut self,
                        now: $crate::choice::Instant,
                        dst: core::net::Ipv6Addr,
                        from: $crate::choice::Address
                    ) -> bool;
                    fn handle_loop(
                        &mut self,
                        now: $crate::choice::Instant,
                        dst: core::net::Ipv6Addr
                    );
                    fn handle_arrival(&mut self, from: $crate::choice::Address);
                    fn take(
                        &mut self,
                        now: $crate::choice::Instant,
                        packet: &$crate::choice::Header,
                        option: &[u8]
                    );
                    fn relay(
                        &mut self,
                        now: $crate::choice::Instant,
                        packet: &$crate::choice::Header,
                        option: &mut [u8]
                    ) -> Result<Option<$crate::NextHop>, $crate::Refusal>;
                    fn follow(
                        &mut self,
                        now: $crate::choice::Instant,
                        next: core::net::Ipv6Addr,
                        option: &mut [u8]
                    ) -> Result<(), $crate::Refusal>;
                    fn handle_broken_route(
                        &mut self,
                        now: $crate::choice::Instant,
                        reporter: core::net::Ipv6Addr,
                        next: core::net::Ipv6Addr
                    );
                }
            }
        };
    };
}

// The macro's code may stand in a crate without these dependencies.
pub use kinglet_time::{Duration, Instant};
pub use kinglet_wire::ieee802154::Address;
pub use kinglet_wire::ipv6::Header;
pub use kinglet_wire::sixlowpan::routed::Dodag;

/// The protocol behind a pointer.
pub type Protocol<P> = <P as Deref>::Target;

/// Returns [`Routing::WATCHES_QUEUE`] of the protocol behind a pointer.
pub const fn watches_queue<P: Deref<Target: Routing>>() -> bool {
    <P::Target as Routing>::WATCHES_QUEUE
}

/// Returns [`Routing::GIVES_ADDRESSES`] of the protocol behind a pointer.
pub const fn gives_addresses<P: Deref<Target: Routing>>() -> bool {
    <P::Target as Routing>::GIVES_ADDRESSES
}

/// Most types of ICMPv6 messages that the protocols of a choice process together.
const MAX_TYPES: usize = 16;

/// The types of ICMPv6 messages of several protocols.
#[derive(Clone, Copy, Debug)]
pub struct Icmpv6Types {
    types: [u8; MAX_TYPES],
    len: usize,
}

impl Icmpv6Types {
    /// Joins lists of types.
    ///
    /// # Panics
    /// If there are more than 16; as a constant it does not compile.
    pub const fn of(lists: &[&[u8]]) -> Self {
        let (mut types, mut len) = ([0; MAX_TYPES], 0);
        let mut lists = lists;
        while let [list, rest @ ..] = lists {
            let mut list = *list;
            while let [kind, rest @ ..] = list {
                assert!(len < MAX_TYPES, "the protocols of a choice have at most 16 ICMPv6 types");
                if let [first, ..] = types.split_at_mut(len).1 {
                    *first = *kind;
                }
                len = len.saturating_add(1);
                list = rest;
            }
            lists = rest;
        }
        Icmpv6Types { types, len }
    }

    /// Returns the types.
    pub const fn as_slice(&self) -> &[u8] {
        self.types.split_at(self.len).0
    }
}

/// Returns the UDP port that the protocols of a choice have in common.
///
/// # Panics
/// If two of them differ; as a constant it does not compile.
pub const fn port(ports: &[Option<u16>]) -> Option<u16> {
    let (mut common, mut ports) = (None, ports);
    while let [port, rest @ ..] = ports {
        if let Some(port) = *port {
            if let Some(common) = common {
                assert!(port == common, "the protocols of a choice have the same UDP port");
            }
            common = Some(port);
        }
        ports = rest;
    }
    common
}

/// Returns the multicast group that the protocols of a choice have in common.
///
/// # Panics
/// If two of them differ; as a constant it does not compile.
pub const fn group(groups: &[Option<Ipv6Addr>]) -> Option<Ipv6Addr> {
    let (mut common, mut groups) = (None::<Ipv6Addr>, groups);
    while let [group, rest @ ..] = groups {
        if let Some(group) = *group {
            if let Some(common) = common {
                let equal = group.to_bits() == common.to_bits();
                assert!(equal, "the protocols of a choice have the same multicast group");
            }
            common = Some(group);
        }
        groups = rest;
    }
    common
}

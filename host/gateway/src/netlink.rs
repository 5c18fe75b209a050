//! Requests to Linux's routing socket (rtnetlink), and its notifications.

use core::net::{IpAddr, Ipv6Addr};
use netlink_packet_core::{
    NLM_F_ACK, NLM_F_CREATE, NLM_F_DUMP, NLM_F_EXCL, NLM_F_REQUEST, NetlinkMessage, NetlinkPayload,
};
use netlink_packet_route::address::{AddressAttribute, AddressMessage};
use netlink_packet_route::link::{LinkAttribute, LinkFlags, LinkMessage};
use netlink_packet_route::route::{
    RouteAddress, RouteAttribute, RouteHeader, RouteMessage, RouteProtocol, RouteScope, RouteType,
};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};
use netlink_sys::protocols::NETLINK_ROUTE;
use netlink_sys::{AsyncSocket, Socket, SocketAddr, TokioSocket};
use std::future::poll_fn;
use std::io;

/// Multicast groups of notifications (linux/rtnetlink.h): RTNLGRP_LINK, RTNLGRP_IPV6_IFADDR and
/// RTNLGRP_IPV6_ROUTE.
const GROUPS: [u32; 3] = [1, 9, 11];

/// A socket for requests, which the kernel answers at once.
pub(crate) struct Kernel(Socket);

/// State of a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Device {
    /// True if it is up.
    pub(crate) is_up: bool,
    /// Its longest packet in octets, if the kernel reports it.
    pub(crate) mtu: Option<u32>,
}

/// A prefix: its first address, and its length in bits.
pub(crate) type Prefix = (Ipv6Addr, u8);

impl Kernel {
    /// Opens the socket in the network namespace of this thread.
    ///
    /// # Errors
    /// The error of the system.
    pub(crate) fn open() -> io::Result<Self> {
        let mut socket = Socket::new(NETLINK_ROUTE)?;
        socket.bind_auto()?;
        socket.connect(&SocketAddr::new(0, 0))?;
        // Dumps are limited to the device of the request.
        socket.set_netlink_get_strict_chk(true)?;
        Ok(Kernel(socket))
    }

    /// Returns the state of the device with this index; `None` if there is none.
    ///
    /// # Errors
    /// The error of the system.
    pub(crate) fn device(&self, index: u32) -> io::Result<Option<Device>> {
        let mut message = LinkMessage::default();
        message.header.index = index;
        let request = RouteNetlinkMessage::GetLink(message);
        let answers = match self.ask(request, NLM_F_ACK) {
            Err(error) if error.raw_os_error() == Some(ENODEV) => return Ok(None),
            answers => answers?,
        };
        let link = answers.into_iter().find_map(|answer| match answer {
            RouteNetlinkMessage::NewLink(link) if link.header.index == index => Some(link),
            _ => None,
        });
        Ok(link.map(|link| Device {
            is_up: link.header.flags.contains(LinkFlags::Up),
            mtu: link.attributes.iter().find_map(|attribute| match attribute {
                LinkAttribute::Mtu(mtu) => Some(*mtu),
                _ => None,
            }),
        }))
    }

    /// Returns the IPv6 addresses of a device, with the length of their prefixes.
    ///
    /// # Errors
    /// The error of the system.
    pub(crate) fn addresses(&self, index: u32) -> io::Result<Vec<Prefix>> {
        let mut message = AddressMessage::default();
        message.header.family = AddressFamily::Inet6;
        message.header.index = index;
        let answers = self.ask(RouteNetlinkMessage::GetAddress(message), NLM_F_DUMP)?;
        let addresses = answers.into_iter().filter_map(|answer| match answer {
            RouteNetlinkMessage::NewAddress(message) if message.header.index == index => {
                let len = message.header.prefix_len;
                message.attributes.iter().find_map(|attribute| match attribute {
                    AddressAttribute::Address(IpAddr::V6(address)) => Some((*address, len)),
                    _ => None,
                })
            }
            _ => None,
        });
        Ok(addresses.collect())
    }

    /// Returns the IPv6 prefixes of the main table that lead to a device.
    ///
    /// # Errors
    /// The error of the system.
    pub(crate) fn routes(&self, index: u32) -> io::Result<Vec<Prefix>> {
        let mut message = RouteMessage::default();
        message.header.address_family = AddressFamily::Inet6;
        message.attributes.push(RouteAttribute::Oif(index));
        let answers = self.ask(RouteNetlinkMessage::GetRoute(message), NLM_F_DUMP)?;
        let routes = answers.into_iter().filter_map(|answer| match answer {
            RouteNetlinkMessage::NewRoute(route)
                if route.header.table == RouteHeader::RT_TABLE_MAIN =>
            {
                let len = route.header.destination_prefix_length;
                let leads = route.attributes.contains(&RouteAttribute::Oif(index));
                let to = route.attributes.iter().find_map(|attribute| match attribute {
                    RouteAttribute::Destination(RouteAddress::Inet6(address)) => Some(*address),
                    _ => None,
                });
                leads.then_some((to.unwrap_or(Ipv6Addr::UNSPECIFIED), len))
            }
            _ => None,
        });
        Ok(routes.collect())
    }

    /// Sets the longest packet of a device in octets.
    ///
    /// # Errors
    /// The error of the system.
    pub(crate) fn set_mtu(&self, index: u32, mtu: u32) -> io::Result<()> {
        let mut message = LinkMessage::default();
        message.header.index = index;
        message.attributes.push(LinkAttribute::Mtu(mtu));
        self.ask(RouteNetlinkMessage::SetLink(message), NLM_F_ACK).map(drop)
    }

    /// Adds an address to a device; one that it has already is no error.
    ///
    /// # Errors
    /// The error of the system.
    pub(crate) fn add_address(&self, index: u32, own: Prefix) -> io::Result<()> {
        self.add(RouteNetlinkMessage::NewAddress(address(index, own)))
    }

    /// Removes an address of a device; one that it does not have is no error.
    ///
    /// # Errors
    /// The error of the system.
    pub(crate) fn remove_address(&self, index: u32, own: Prefix) -> io::Result<()> {
        match self.ask(RouteNetlinkMessage::DelAddress(address(index, own)), NLM_F_ACK) {
            Err(error) if error.kind() != io::ErrorKind::AddrNotAvailable => Err(error),
            _ => Ok(()),
        }
    }

    /// Adds a route that leads to a device; one that there is already is no error.
    ///
    /// # Errors
    /// The error of the system.
    pub(crate) fn add_route(&self, index: u32, (prefix, len): Prefix) -> io::Result<()> {
        let mut message = RouteMessage::default();
        message.header.address_family = AddressFamily::Inet6;
        message.header.destination_prefix_length = len;
        message.header.table = RouteHeader::RT_TABLE_MAIN;
        message.header.protocol = RouteProtocol::Static;
        message.header.scope = RouteScope::Universe;
        message.header.kind = RouteType::Unicast;
        message.attributes.push(RouteAttribute::Destination(RouteAddress::Inet6(prefix)));
        message.attributes.push(RouteAttribute::Oif(index));
        self.add(RouteNetlinkMessage::NewRoute(message))
    }

    fn add(&self, request: RouteNetlinkMessage) -> io::Result<()> {
        match self.ask(request, NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
            _ => Ok(()),
        }
    }

    /// Sends a request and returns the answers.
    fn ask(
        &self,
        request: RouteNetlinkMessage,
        flags: u16,
    ) -> io::Result<Vec<RouteNetlinkMessage>> {
        let mut message = NetlinkMessage::from(request);
        message.header.flags = NLM_F_REQUEST | flags;
        message.finalize();
        let mut octets = vec![0; message.buffer_len()];
        message.serialize(&mut octets);
        self.0.send(&octets, 0)?;
        let mut answers = Vec::new();
        loop {
            let (datagram, _) = self.0.recv_from_full()?;
            let mut rest = datagram.as_slice();
            while !rest.is_empty() {
                let message = NetlinkMessage::<RouteNetlinkMessage>::deserialize(rest)
                    .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
                // Messages begin at multiples of four octets (RFC 3549, 2.3.2).
                let len = (message.header.length as usize).next_multiple_of(4).max(4);
                rest = rest.get(len..).unwrap_or_default();
                match message.payload {
                    NetlinkPayload::Done(_) => return Ok(answers),
                    NetlinkPayload::Error(error) if error.code.is_some() => {
                        return Err(error.to_io());
                    }
                    NetlinkPayload::Error(_) => return Ok(answers),
                    NetlinkPayload::InnerMessage(answer) => answers.push(answer),
                    _ => {}
                }
            }
        }
    }
}

/// Returns the message about an address of a device.
fn address(index: u32, (own, len): Prefix) -> AddressMessage {
    let mut message = AddressMessage::default();
    message.header.family = AddressFamily::Inet6;
    message.header.index = index;
    message.header.prefix_len = len;
    message.attributes.push(AddressAttribute::Address(IpAddr::V6(own)));
    message
}

/// "No such device" (errno-base.h).
const ENODEV: i32 = 19;

/// "No buffer space available" (errno.h): notifications were lost.
const ENOBUFS: i32 = 105;

/// Notifications of changes of devices, addresses and routes.
pub(crate) struct Changes(TokioSocket);

impl Changes {
    /// Subscribes to them, in the network namespace of this thread.
    ///
    /// # Errors
    /// The error of the system.
    pub(crate) fn open() -> io::Result<Self> {
        let mut socket = TokioSocket::new(NETLINK_ROUTE)?;
        socket.socket_mut().bind_auto()?;
        GROUPS.iter().try_for_each(|group| socket.socket_ref().add_membership(*group))?;
        Ok(Changes(socket))
    }

    /// Waits for a change. Several changes at once count as one; their contents are of no interest,
    /// because the present state is.
    ///
    /// # Errors
    /// The error of the system.
    pub(crate) async fn next(&self) -> io::Result<()> {
        match poll_fn(|context| self.0.poll_recv_from_full(context)).await {
            Err(error) if error.raw_os_error() != Some(ENOBUFS) => return Err(error),
            _ => {}
        }
        while self.0.socket_ref().recv_from_full().is_ok() {}
        Ok(())
    }
}

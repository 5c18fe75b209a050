//! Readiness of sockets for the application.

use crate::node::Node;
use crate::profile::Profile;
use kinglet_net::UdpHandle;
use kinglet_tcp::{self as tcp, Handle, Readiness};

/// A socket that an application may be waiting for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ready {
    /// A connection to this port can be accepted.
    Acceptable(u16),
    /// A byte stream has become readable, writable or closed.
    Stream(Handle, Readiness),
    /// A datagram can be read.
    Datagram(UdpHandle),
}

impl<P: Profile> Node<P> {
    /// Returns the next socket that has become ready since the last call, one at a time; `None`
    /// after at most one call for each socket. A socket is returned again only after the
    /// application has used it: one that is read in part is returned for the rest, and one that is
    /// not read is not returned twice. Call it after [`Node::drive`] until it is empty, and only to
    /// wake tasks: it checks each socket.
    pub fn poll_ready(&mut self) -> Option<Ready> {
        let stream = self.tcp.poll_ready().map(|ready| match ready {
            tcp::Ready::Acceptable(port) => Ready::Acceptable(port),
            tcp::Ready::Connection(handle, readiness) => Ready::Stream(handle, readiness),
        });
        stream.or_else(|| self.net.poll_ready().map(Ready::Datagram))
    }
}

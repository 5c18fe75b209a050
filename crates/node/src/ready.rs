//! Which sockets have something for the application.

use crate::node::Node;
use crate::profile::Profile;
use kinglet_net::UdpHandle;
use kinglet_tcp::{self as tcp, Handle, Readiness};

/// A socket that an application may be waiting for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ready {
    /// A connection to this port can be accepted.
    Acceptable(u16),
    /// Something has become possible with a byte stream.
    Stream(Handle, Readiness),
    /// A datagram can be read.
    Datagram(UdpHandle),
}

impl<P: Profile> Node<P> {
    /// What has become possible with a socket since this was last asked, one socket at a time:
    /// `None` when all is told, after at most one call for each socket. What has been told is told
    /// again only when the application has made use of it: whoever reads a part is told of the
    /// rest, and whoever does not read is not told twice. To be called after [`Node::drive`] until
    /// it is empty, by whoever wakes tasks, and by nobody else: it costs a look at each socket.
    pub fn poll_ready(&mut self) -> Option<Ready> {
        let stream = self.tcp.poll_ready().map(|ready| match ready {
            tcp::Ready::Acceptable(port) => Ready::Acceptable(port),
            tcp::Ready::Connection(handle, readiness) => Ready::Stream(handle, readiness),
        });
        stream.or_else(|| self.net.poll_ready().map(Ready::Datagram))
    }
}

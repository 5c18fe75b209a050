//! The traits of `edge-nal` for datagrams.

use crate::error::Error;
use crate::nal::v6;
use crate::shared::Stack;
use crate::udp::{self, UdpSocket};
use core::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use edge_nal::{
    MulticastV4, MulticastV6, Readable, UdpBind, UdpConnect, UdpReceive, UdpSend, UdpSplit,
    UdpSplitMulticast,
};
use embedded_io_async::ErrorType;
use kinglet::Profile;

/// One of the parts of a [`UdpSocket`] that [`UdpSplit`] makes.
pub struct UdpPart<'s, 'd, P: Profile>(&'s UdpSocket<'d, P>);

/// Each implementation is that of the socket and of its parts.
macro_rules! implement {
    ($($of:ident: [$($lifetime:lifetime),*], $parts:expr;)*) => {$(
        impl<P: Profile> ErrorType for $of<$($lifetime,)* P> {
            type Error = Error;
        }

        impl<P: Profile> UdpReceive for $of<$($lifetime,)* P> {
            async fn receive(&mut self, buf: &mut [u8]) -> Result<(usize, SocketAddr), Error> {
                let (len, source) = udp::receive($parts(self), buf).await?;
                Ok((len, SocketAddr::V6(source)))
            }
        }

        impl<P: Profile> Readable for $of<$($lifetime,)* P> {
            async fn readable(&mut self) -> Result<(), Error> {
                udp::readable($parts(self)).await;
                Ok(())
            }
        }

        impl<P: Profile> UdpSend for $of<$($lifetime,)* P> {
            async fn send(&mut self, remote: SocketAddr, data: &[u8]) -> Result<(), Error> {
                udp::send($parts(self), v6(remote)?, data).await
            }
        }

        impl<P: Profile> MulticastV4 for $of<$($lifetime,)* P> {
            async fn join_v4(&mut self, _: Ipv4Addr, _: Ipv4Addr) -> Result<(), Error> {
                Err(Error::NoIpv4)
            }

            async fn leave_v4(&mut self, _: Ipv4Addr, _: Ipv4Addr) -> Result<(), Error> {
                Err(Error::NoIpv4)
            }
        }

        impl<P: Profile> MulticastV6 for $of<$($lifetime,)* P> {
            /// There is one interface, whatever number it is given.
            async fn join_v6(&mut self, group: Ipv6Addr, _: u32) -> Result<(), Error> {
                udp::join($parts(self).stack, group)
            }

            async fn leave_v6(&mut self, group: Ipv6Addr, _: u32) -> Result<(), Error> {
                udp::leave($parts(self).stack, group);
                Ok(())
            }
        }
    )*};
}

implement! {
    UdpSocket: ['_], UdpSocket::parts;
    UdpPart: ['_, '_], |it: &Self| it.0.parts();
}

impl<'d, P: Profile> UdpSplit for UdpSocket<'d, P> {
    type Receive<'a>
        = UdpPart<'a, 'd, P>
    where
        Self: 'a;
    type Send<'a>
        = UdpPart<'a, 'd, P>
    where
        Self: 'a;

    fn split(&mut self) -> (Self::Receive<'_>, Self::Send<'_>) {
        (UdpPart(self), UdpPart(self))
    }
}

impl<'d, P: Profile> UdpSplitMulticast for UdpSocket<'d, P> {
    type MulticastV4<'a>
        = UdpPart<'a, 'd, P>
    where
        Self: 'a;
    type MulticastV6<'a>
        = UdpPart<'a, 'd, P>
    where
        Self: 'a;

    fn split_multicast(
        &mut self,
    ) -> (Self::Receive<'_>, Self::Send<'_>, Self::MulticastV4<'_>, Self::MulticastV6<'_>) {
        (UdpPart(self), UdpPart(self), UdpPart(self), UdpPart(self))
    }
}

impl<'d, P: Profile> UdpBind for Stack<'d, P> {
    type Error = Error;
    type Socket<'a>
        = UdpSocket<'d, P>
    where
        Self: 'a;

    /// The port alone matters: a socket receives at all own addresses.
    async fn bind(&self, local: SocketAddr) -> Result<UdpSocket<'d, P>, Error> {
        UdpSocket::bind(*self, v6(local)?.port())
    }
}

impl<'d, P: Profile> UdpConnect for Stack<'d, P> {
    type Error = Error;
    type Socket<'a>
        = UdpSocket<'d, P>
    where
        Self: 'a;

    async fn connect(
        &self,
        local: SocketAddr,
        remote: SocketAddr,
    ) -> Result<UdpSocket<'d, P>, Error> {
        let socket = UdpSocket::bind(*self, v6(local)?.port())?;
        Ok(socket.with_peer(v6(remote)?))
    }
}

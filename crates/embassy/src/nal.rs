//! The traits of `embedded-io-async`, `edge-nal` and `embedded-nal-async`.

use crate::error::Error;
use crate::shared::Stack;
use crate::tcp::{TcpListener, TcpReader, TcpSocket, TcpWriter};
use core::net::{SocketAddr, SocketAddrV6};
use edge_nal::{Close, Readable, TcpAccept, TcpBind, TcpConnect, TcpShutdown, TcpSplit};
use embedded_io_async::{ErrorType, Read, Write};
use kinglet::Profile;
use kinglet::tcp::{ConnectionConfig, ListenConfig};

/// Returns the IPv6 address of `address`.
pub(crate) fn v6(address: SocketAddr) -> Result<SocketAddrV6, Error> {
    match address {
        SocketAddr::V6(address) => Ok(address),
        SocketAddr::V4(_) => Err(Error::NoIpv4),
    }
}

impl<P: Profile> ErrorType for TcpSocket<'_, P> {
    type Error = Error;
}

impl<P: Profile> Read for TcpSocket<'_, P> {
    async fn read(&mut self, buf: &mut [u8]) -> Result<usize, Error> {
        TcpSocket::read(self, buf).await
    }
}

impl<P: Profile> Write for TcpSocket<'_, P> {
    async fn write(&mut self, buf: &[u8]) -> Result<usize, Error> {
        TcpSocket::write(self, buf).await
    }

    async fn flush(&mut self) -> Result<(), Error> {
        TcpSocket::flush(self).await
    }
}

impl<P: Profile> Readable for TcpSocket<'_, P> {
    async fn readable(&mut self) -> Result<(), Error> {
        TcpSocket::readable(self).await;
        Ok(())
    }
}

impl<P: Profile> ErrorType for TcpReader<'_, '_, P> {
    type Error = Error;
}

impl<P: Profile> Read for TcpReader<'_, '_, P> {
    async fn read(&mut self, buf: &mut [u8]) -> Result<usize, Error> {
        TcpReader::read(self, buf).await
    }
}

impl<P: Profile> Readable for TcpReader<'_, '_, P> {
    async fn readable(&mut self) -> Result<(), Error> {
        TcpReader::readable(self).await;
        Ok(())
    }
}

impl<P: Profile> ErrorType for TcpWriter<'_, '_, P> {
    type Error = Error;
}

impl<P: Profile> Write for TcpWriter<'_, '_, P> {
    async fn write(&mut self, buf: &[u8]) -> Result<usize, Error> {
        TcpWriter::write(self, buf).await
    }

    async fn flush(&mut self) -> Result<(), Error> {
        Ok(())
    }
}

impl<'d, P: Profile> TcpSplit for TcpSocket<'d, P> {
    type Read<'a>
        = TcpReader<'a, 'd, P>
    where
        Self: 'a;
    type Write<'a>
        = TcpWriter<'a, 'd, P>
    where
        Self: 'a;

    fn split(&mut self) -> (Self::Read<'_>, Self::Write<'_>) {
        TcpSocket::split(self)
    }
}

impl<P: Profile> TcpShutdown for TcpSocket<'_, P> {
    /// [`Close::Read`] reads and discards what the peer still sends, until it closes too.
    async fn close(&mut self, what: Close) -> Result<(), Error> {
        if what != Close::Read {
            self.shutdown().await?;
        }
        if what != Close::Write {
            while TcpSocket::read(self, &mut [0; 32]).await? > 0 {}
        }
        Ok(())
    }

    async fn abort(&mut self) -> Result<(), Error> {
        TcpSocket::abort(self);
        Ok(())
    }
}

impl<'d, P: Profile> TcpConnect for Stack<'d, P> {
    type Error = Error;
    type Socket<'a>
        = TcpSocket<'d, P>
    where
        Self: 'a;

    async fn connect(&self, remote: SocketAddr) -> Result<TcpSocket<'d, P>, Error> {
        let remote = v6(remote)?;
        TcpSocket::connect(*self, *remote.ip(), remote.port(), ConnectionConfig::DEFAULT).await
    }
}

impl<'d, P: Profile> embedded_nal_async::TcpConnect for Stack<'d, P> {
    type Error = Error;
    type Connection<'a>
        = TcpSocket<'d, P>
    where
        Self: 'a;

    async fn connect<'a>(&'a self, remote: SocketAddr) -> Result<TcpSocket<'d, P>, Error> {
        TcpConnect::connect(self, remote).await
    }
}

impl<'d, P: Profile> TcpBind for Stack<'d, P> {
    type Error = Error;
    type Accept<'a>
        = TcpListener<'d, P>
    where
        Self: 'a;

    /// The port alone matters: a listener accepts at all own addresses.
    async fn bind(&self, local: SocketAddr) -> Result<TcpListener<'d, P>, Error> {
        TcpListener::bind(*self, v6(local)?.port(), ListenConfig::default())
    }
}

impl<'d, P: Profile> TcpAccept for TcpListener<'d, P> {
    type Error = Error;
    type Socket<'a>
        = TcpSocket<'d, P>
    where
        Self: 'a;

    async fn accept(&self) -> Result<(SocketAddr, TcpSocket<'d, P>), Error> {
        let (socket, peer) = TcpListener::accept(self).await;
        Ok((SocketAddr::V6(peer), socket))
    }
}

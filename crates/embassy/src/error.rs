//! Errors of sockets.

use core::fmt;
use embedded_io_async::ErrorKind;
use kinglet::StreamConnectError;
use kinglet::net::{BindError, JoinError, SendError as DatagramError};
use kinglet::tcp::{ConnectError, ConnectionError, ListenError, SendError};

/// Reason for which a socket cannot do what it is to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Error {
    /// The connection has ended early.
    Ended(ConnectionError),
    /// The application has closed its side, or a new connection has taken the place of this one.
    Closed,
    /// No own address can reach the destination: the node has not joined a network yet.
    NoSourceAddress,
    /// There is no route to the destination.
    NoRoute,
    /// All places of the memory plan are in use: connections, listeners, UDP sockets or groups.
    TableFull,
    /// Another socket has the port, or no port is free.
    PortInUse,
    /// The address is none that a packet can be sent to, or the port is zero.
    BadAddress,
    /// An IPv4 address: there is no IPv4 here.
    NoIpv4,
    /// The datagram is longer than 1232 octets.
    TooLong,
    /// No name server is configured, and no router has advertised one.
    NoNameServer,
    /// The host name is longer than 253 octets, or has a label of none or of more than 63.
    BadName,
    /// The name has no IPv6 address.
    NoSuchName,
    /// The name server did not respond.
    NoResponse,
    /// The name server reported a failure.
    ServerFailure,
    /// Names of addresses are not looked up here.
    NoReverseLookup,
}

impl Error {
    const fn text(&self) -> &'static str {
        match self {
            Error::Ended(ConnectionError::Reset) => "the peer has reset the connection",
            Error::Ended(ConnectionError::Refused) => "the peer has refused the connection",
            Error::Ended(ConnectionError::TimedOut) => "the peer does not respond",
            Error::Ended(ConnectionError::Aborted) => "the connection was aborted",
            Error::Ended(ConnectionError::Unreachable) => "the network cannot reach the peer",
            Error::Closed => "the socket is closed",
            Error::NoSourceAddress => "no own address can reach the destination",
            Error::NoRoute => "there is no route to the destination",
            Error::TableFull => "all places of the memory plan are in use",
            Error::PortInUse => "the port is in use",
            Error::BadAddress => "the address is no destination, or the port is zero",
            Error::NoIpv4 => "an IPv4 address; only IPv6 is supported",
            Error::TooLong => "the datagram is longer than 1232 octets",
            Error::NoNameServer => "there is no name server",
            Error::BadName => "the host name is not valid",
            Error::NoSuchName => "the name has no IPv6 address",
            Error::NoResponse => "the name server does not respond",
            Error::ServerFailure => "the name server reports a failure",
            Error::NoReverseLookup => "names of addresses are not looked up",
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text())
    }
}

#[cfg(feature = "defmt")]
impl defmt::Format for Error {
    fn format(&self, f: defmt::Formatter<'_>) {
        defmt::write!(f, "{=str}", self.text());
    }
}

impl core::error::Error for Error {}

impl embedded_io_async::Error for Error {
    fn kind(&self) -> ErrorKind {
        match self {
            Error::Ended(ConnectionError::Reset) => ErrorKind::ConnectionReset,
            Error::Ended(ConnectionError::Refused) => ErrorKind::ConnectionRefused,
            Error::Ended(ConnectionError::TimedOut) | Error::NoResponse => ErrorKind::TimedOut,
            Error::Ended(ConnectionError::Aborted) => ErrorKind::ConnectionAborted,
            Error::Ended(ConnectionError::Unreachable) | Error::NoRoute => ErrorKind::NotFound,
            Error::NoSuchName => ErrorKind::NotFound,
            Error::ServerFailure => ErrorKind::Other,
            Error::Closed => ErrorKind::BrokenPipe,
            Error::NoSourceAddress | Error::NoNameServer => ErrorKind::AddrNotAvailable,
            Error::TableFull => ErrorKind::OutOfMemory,
            Error::PortInUse => ErrorKind::AddrInUse,
            Error::BadAddress | Error::TooLong | Error::BadName => ErrorKind::InvalidInput,
            Error::NoIpv4 | Error::NoReverseLookup => ErrorKind::Unsupported,
        }
    }
}

impl From<StreamConnectError> for Error {
    fn from(error: StreamConnectError) -> Self {
        match error {
            StreamConnectError::NoSourceAddress => Error::NoSourceAddress,
            StreamConnectError::NoRoute => Error::NoRoute,
            StreamConnectError::Tcp(ConnectError::NoSlot) => Error::TableFull,
            StreamConnectError::Tcp(ConnectError::NoPort) => Error::PortInUse,
            StreamConnectError::Tcp(ConnectError::BadAddress) => Error::BadAddress,
        }
    }
}

impl From<ListenError> for Error {
    fn from(error: ListenError) -> Self {
        match error {
            ListenError::InUse => Error::PortInUse,
            ListenError::NoSlot => Error::TableFull,
            ListenError::BadPort => Error::BadAddress,
        }
    }
}

impl From<SendError> for Error {
    fn from(error: SendError) -> Self {
        match error {
            SendError::InvalidHandle | SendError::Closed => Error::Closed,
            SendError::Ended(error) => Error::Ended(error),
        }
    }
}

impl From<BindError> for Error {
    fn from(error: BindError) -> Self {
        match error {
            BindError::PortInUse => Error::PortInUse,
            BindError::TableFull => Error::TableFull,
        }
    }
}

impl From<JoinError> for Error {
    fn from(error: JoinError) -> Self {
        match error {
            JoinError::NotMulticast => Error::BadAddress,
            JoinError::TableFull => Error::TableFull,
        }
    }
}

/// Returns the error of a datagram that will never be sent; `None` if there is no room for it yet.
pub(crate) fn of_datagram(error: DatagramError) -> Option<Error> {
    match error {
        DatagramError::TooLong => Some(Error::TooLong),
        DatagramError::NoRoute => Some(Error::NoRoute),
        DatagramError::NotBound => Some(Error::Closed),
        DatagramError::Busy | DatagramError::NoBuffer | DatagramError::QueueFull => None,
    }
}

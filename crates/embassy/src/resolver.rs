//! Addresses of host names, by a recursive name server.

use crate::dns::{MAX_QUERY, read_response, write_query};
use crate::error::Error;
use crate::shared::Stack;
use crate::udp::UdpSocket;
use core::net::{IpAddr, Ipv6Addr, SocketAddrV6};
use edge_nal::{AddrType, Dns};
use embassy_time::{Duration, with_timeout};
use kinglet::{Discovery, Profile};
use kinglet_time::Duration as Time;

/// Port of name servers, and the number under which a response is expected.
const PORT: u16 = 53;
/// Times for which a response is awaited, in seconds. A server repeats its own queries at such
/// intervals, and a node that sleeps polls within them.
const PATIENCE_S: [u64; 3] = [2, 4, 8];
/// Octets of the longest response without extensions (RFC 1035, 4.2.1).
const MAX_RESPONSE: usize = 512;

/// Looks up host names. It uses a UDP socket while it does, and one of the node's places for
/// applications that expect a response.
pub struct Resolver<'d, P: Profile, R: Fn() -> u16> {
    stack: Stack<'d, P>,
    server: Option<Ipv6Addr>,
    random: R,
}

impl<'d, P: Profile, R: Fn() -> u16> Resolver<'d, P, R> {
    /// Returns a resolver that asks `server`, or, if it is `None`, a name server that routers have
    /// advertised (RFC 8106), as [`Discovered`](kinglet::Discovered) learns it. `random` draws the
    /// identifier of a query from the chip's source of entropy: a response with a guessed one is
    /// believed (RFC 5452).
    pub const fn new(stack: Stack<'d, P>, server: Option<Ipv6Addr>, random: R) -> Self {
        Resolver { stack, server, random }
    }

    /// Looks up the IPv6 address of `host`. The query is sent up to three times within 14 s.
    ///
    /// # Errors
    /// [`Error::NoNameServer`], [`Error::BadName`], [`Error::NoSuchName`], [`Error::NoResponse`],
    /// [`Error::ServerFailure`], or why no query can be sent.
    pub async fn look_up(&self, host: &str) -> Result<Ipv6Addr, Error> {
        let advertised = || self.stack.shared(|it| it.node.net().discovery().name_server());
        let server = self.server.or_else(advertised).ok_or(Error::NoNameServer)?;
        let server = SocketAddrV6::new(server, PORT, 0, 0);
        let mut query = [0; MAX_QUERY];
        let len = write_query((self.random)(), host, &mut query)?;
        let query = query.get(..len).unwrap_or_default();
        let mut socket = UdpSocket::bind(self.stack, 0)?.with_peer(server);
        for patience_s in PATIENCE_S {
            socket.send(server, query).await?;
            let span = Time::from_secs(patience_s);
            // Without a place for it the response waits for the next poll.
            let _ = self.stack.with(|now, node| node.expect_response(now, PORT, now, now + span));
            let response = response(&mut socket, query);
            let result = with_timeout(Duration::from_secs(patience_s), response).await;
            self.stack.with(|now, node| node.withdraw_response(now, PORT));
            if let Ok(result) = result {
                return result;
            }
        }
        Err(Error::NoResponse)
    }
}

/// Waits for the response to `query`.
async fn response<P: Profile>(
    socket: &mut UdpSocket<'_, P>,
    query: &[u8],
) -> Result<Ipv6Addr, Error> {
    let mut buf = [0; MAX_RESPONSE];
    loop {
        let (len, _) = socket.receive(&mut buf).await?;
        let received = buf.get(..len).unwrap_or(&buf);
        if let Some(result) = read_response(query, received) {
            return result;
        }
    }
}

impl<P: Profile, R: Fn() -> u16> Dns for Resolver<'_, P, R> {
    type Error = Error;

    /// Names have IPv6 addresses only.
    async fn get_host_by_name(&self, host: &str, kind: AddrType) -> Result<IpAddr, Error> {
        if kind == AddrType::IPv4 {
            return Err(Error::NoIpv4);
        }
        Ok(IpAddr::V6(self.look_up(host).await?))
    }

    /// Always [`Error::NoReverseLookup`].
    async fn get_host_by_address(&self, _: IpAddr, _: &mut [u8]) -> Result<usize, Error> {
        Err(Error::NoReverseLookup)
    }
}

//! Router discovery of a host, and a router's messages with other routers.

use super::{Discovery, Resolution};
use crate::config::Sizes;
use crate::derive::{derived, link_local};
use crate::host::{Interface, REGISTRATION_MIN};
use crate::message::Message;
use crate::role::Role;
use crate::stats::Discard;
use core::net::Ipv6Addr;
use core::ops::RangeInclusive;
use kinglet_time::{Duration, Instant};
use kinglet_wire::ieee802154::Address;
use kinglet_wire::ipv6::{ALL_ROUTERS, Header, is_link_local};
use kinglet_wire::nd::{self, Builder, Capabilities, Kind, NdOption, Options};

/// Range of reachable times accepted from routers: at most an hour (RFC 4861, 6.2.1), at least a
/// second.
const REACHABLE_MS: RangeInclusive<u32> = 1_000..=3_600_000;
/// Range of retransmission times accepted: from a tenth of the default to ten times the default.
const RETRANS_MS: RangeInclusive<u32> = 100..=10_000;

impl<S: Sizes> Discovery<S> {
    /// Processes a router's response to a registration of this node (RFC 6775, 5.5.2). It must come
    /// from the router that was asked and its link address, and have this node's EUI-64 and
    /// transaction. It concerns its target; in the form of RFC 6775 it concerns the pending
    /// request. Returns whether it was such a response.
    pub(super) fn registered(
        &mut self,
        now: Instant,
        (from, link): (Ipv6Addr, Address),
        target: Ipv6Addr,
        mut options: Options<'_>,
    ) -> bool {
        let answer = options.find_map(|option| match option {
            NdOption::Registration(it) => Some(it),
            _ => None,
        });
        let Some(answer) = answer.filter(|it| it.rovr == self.config.eui) else { return false };
        let known = self.resolution(from) == Resolution::To(link)
            || derived(from, self.config.pan) == Some(link);
        let Some(local) = link_local(self.config.link) else { return false };
        let asked = self.host.router() == Some(from) && known;
        asked && self.host.registered(now, target, local, &answer)
    }

    /// Registers an address in the form that the router understands: that of RFC 8505, 5.5, from
    /// the link-local address, or that of RFC 6775, 5.5.1, from the address itself.
    //= rfc6775#4.1-1 rfc6775#4.1-2 rfc6775#5.5.1-1 rfc8505#4.1-1 rfc8505#4.1-2 rfc8505#5.6-3
    //= rfc8505#6.3-1
    pub(super) fn register(&mut self, buf: &mut [u8]) -> Option<Message> {
        let router = self.host.router()?;
        let Resolution::To(via) = self.resolution(router) else { return None };
        let local = link_local(self.config.link)?;
        let (address, tid) = self.host.poll_registration(local)?;
        let (src, target) = if tid.is_some() { (local, address) } else { (address, router) };
        let option = NdOption::Registration(nd::Registration {
            status: 0,
            opaque: (0, 0),
            routed: tid.is_some() && self.config.routed,
            tid,
            lifetime_min: REGISTRATION_MIN,
            rovr: self.config.eui,
        });
        let mut out = Builder::new(buf, &Kind::NeighbourSolicitation(target)).ok()?;
        out.option(&NdOption::SourceLinkAddress(self.config.link)).ok()?;
        out.option(&option).ok()?;
        Some(Message { src: Some(src), ..Message::near(router, via, out.len()) })
    }

    /// Processes a Router Advertisement (RFC 4861, 6.1.2 and 6.3.4).
    pub(super) fn advertised(
        &mut self,
        now: Instant,
        header: &Header,
        router: &nd::RouterAdvertisement,
        options: Options<'_>,
    ) -> Result<(), Discard> {
        if !is_link_local(header.src) {
            return Err(Discard::Invalid);
        }
        let mut all = options;
        let link = all.find_map(|option| match option {
            NdOption::SourceLinkAddress(link) => Some(link),
            _ => None,
        });
        if link.is_some_and(|link| !link.is_unicast()) {
            return Err(Discard::Invalid);
        }
        if let Some(link) = link {
            self.hear(header.src, link);
        }
        let lost = self.role.handle_advertisement(now, options);
        if self.config.autoconfigures {
            let own = Interface { link: self.config.link, serves: self.role.serves() };
            self.host.advertised(now, header.src, router, own, options, &mut self.stats);
            self.take_times(router);
            if lost {
                self.host.search();
            }
        }
        Ok(())
    }

    /// Sets the times that a router advertises, within bounds: a router must not cause constant
    /// solicitations, or hide the loss of neighbours.
    fn take_times(&mut self, router: &nd::RouterAdvertisement) {
        if REACHABLE_MS.contains(&router.reachable_ms) {
            self.reachable = Duration::from_millis(u64::from(router.reachable_ms));
        }
        if RETRANS_MS.contains(&router.retrans_ms) {
            self.retrans = Duration::from_millis(u64::from(router.retrans_ms));
        }
    }

    /// RFC 6775, 5.3.
    //= rfc6775#5.3-1 rfc6775#5.3-2 rfc8505#6.1-1
    pub(super) fn solicit_routers(&mut self, buf: &mut [u8]) -> Option<Message> {
        self.host.asks = false;
        let known = self.host.asked().and_then(|router| match self.resolution(router) {
            Resolution::To(link) => Some((router, link)),
            Resolution::Unknown => None,
        });
        let (dst, via) = known.unwrap_or((ALL_ROUTERS, Address::BROADCAST));
        let router = if self.role.serves() { Capabilities::ROUTER } else { 0 };
        let able = Capabilities(Capabilities::EXTENDED | router);
        let mut out = Builder::new(buf, &Kind::RouterSolicitation).ok()?;
        out.option(&NdOption::SourceLinkAddress(self.config.link)).ok()?;
        out.option(&NdOption::Capabilities(able)).ok()?;
        Some(Message::near(dst, via, out.len()))
    }

    /// Processes a Router Solicitation (RFC 4861, 6.1.1; RFC 6775, 6.3). The link address in it
    /// serves only for the response.
    //= rfc6775#6.3-2
    pub(super) fn router_solicited(
        &mut self,
        now: Instant,
        from: Address,
        header: &Header,
        mut options: Options<'_>,
    ) -> Result<(), Discard> {
        let link = options.find_map(|option| match option {
            NdOption::SourceLinkAddress(link) => Some(link),
            _ => None,
        });
        let bad = link.is_some_and(|link| !link.is_unicast() || header.src.is_unspecified());
        if bad || header.src.is_multicast() {
            return Err(Discard::Invalid);
        }
        self.role.handle_solicitation(now, header.src, link.unwrap_or(from));
        Ok(())
    }
}

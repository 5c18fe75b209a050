//! What a host has to do with routers, and a router with others.

use super::{Discovery, Way};
use crate::config::Sizes;
use crate::host::REGISTRATION_MIN;
use crate::message::{ALL_ROUTERS, Message};
use crate::role::Role;
use crate::stats::Discard;
use core::net::Ipv6Addr;
use kinglet_time::Instant;
use kinglet_wire::ieee802154::Address;
use kinglet_wire::ipv6::{Header, is_link_local};
use kinglet_wire::nd::{self, Builder, Kind, NdOption, Options};

impl<S: Sizes> Discovery<S> {
    /// The answer of the router to a registration of this node's (RFC 6775, 5.5.2), if it is that.
    pub(super) fn registered(
        &mut self,
        now: Instant,
        from: Ipv6Addr,
        target: Ipv6Addr,
        mut options: Options<'_>,
    ) -> bool {
        let answer = options.find_map(|option| match option {
            NdOption::Registration(it) => Some(it),
            _ => None,
        });
        let answer = answer.filter(|it| it.rovr == self.config.eui);
        let asked = self.host.router() == Some(from);
        asked && answer.is_some_and(|answer| self.host.registered(now, target, &answer))
    }

    /// Registers an address (RFC 6775, 5.5.1), in the form that routers of RFC 8505 know as theirs
    /// and others as their own.
    pub(super) fn register(&mut self, buf: &mut [u8]) -> Option<Message> {
        let router = self.host.router()?;
        let Way::To(via) = self.way(router) else { return None };
        let (address, tid) = self.host.poll_registration()?;
        let option = NdOption::Registration(nd::Registration {
            status: 0,
            opaque: (0, 0),
            routed: true,
            tid: Some(tid),
            lifetime_min: REGISTRATION_MIN,
            rovr: self.config.eui,
        });
        let mut out = Builder::new(buf, &Kind::NeighbourSolicitation(address)).ok()?;
        out.option(&NdOption::SourceLinkAddress(self.config.link)).ok()?;
        out.option(&option).ok()?;
        Some(Message { src: Some(address), ..Message::near(router, via, out.len()) })
    }

    /// A Router Advertisement (RFC 4861, 6.1.2 and 6.3.4).
    pub(super) fn advertised(
        &mut self,
        now: Instant,
        header: &Header,
        router: &nd::Router,
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
        self.role.handle_advertisement(now, options);
        if self.config.autoconfigures {
            let own = self.config.link;
            self.host.advertised(now, header.src, router, own, options, &mut self.stats);
        }
        Ok(())
    }

    /// RFC 6775, 5.3.
    pub(super) fn solicit_routers(&mut self, buf: &mut [u8]) -> Option<Message> {
        self.host.asks = false;
        let known = self.host.asked().and_then(|router| match self.way(router) {
            Way::To(link) => Some((router, link)),
            Way::Unknown => None,
        });
        let (dst, via) = known.unwrap_or((ALL_ROUTERS, Address::BROADCAST));
        let mut out = Builder::new(buf, &Kind::RouterSolicitation).ok()?;
        out.option(&NdOption::SourceLinkAddress(self.config.link)).ok()?;
        Some(Message::near(dst, via, out.len()))
    }

    /// Somebody looks for routers (RFC 4861, 6.1.1; RFC 6775, 6.3). Whose link address it gives is
    /// not believed beyond the answer.
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

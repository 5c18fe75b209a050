//! Solicitations and advertisements of neighbours (RFC 4861, 7.2).

use super::{Answer, Discovery, Resolution};
use crate::cache::{Cause, find, find_mut, insert};
use crate::config::Sizes;
use crate::derive::derived;
use crate::message::Message;
use crate::neighbour::State;
use crate::role::{Claim, Role};
use crate::stats::{Discard, bump};
use core::net::Ipv6Addr;
use kinglet_mem::Array;
use kinglet_time::Instant;
use kinglet_wire::ieee802154::Address;
use kinglet_wire::ipv6::{ALL_NODES, Header};
use kinglet_wire::nd::{Advertisement, Builder, Kind, NdOption, Options, solicited_node};

impl<S: Sizes> Discovery<S> {
    /// Processes a Neighbour Solicitation (RFC 4861, 7.2.3 and 7.2.4; RFC 4862, 5.4.3).
    //= rfc6775#6.5.5-1
    pub(super) fn solicited(
        &mut self,
        now: Instant,
        from: Address,
        header: &Header,
        target: Ipv6Addr,
        own: bool,
        options: Options<'_>,
    ) -> Result<(), Discard> {
        let mut all = options;
        let link = all.find_map(|option| match option {
            NdOption::SourceLinkAddress(link) => Some(link),
            _ => None,
        });
        let (src, detects) = (header.src, header.src.is_unspecified());
        let to_group = header.dst == solicited_node(target);
        if target.is_multicast() || detects && (!to_group || link.is_some()) {
            return Err(Discard::Invalid);
        }
        if link.is_some_and(|link| !link.is_unicast()) {
            return Err(Discard::Invalid);
        }
        if let (true, Some(link)) = (S::Role::SERVES && self.role.serves(), link) {
            let mut all = options;
            let asked = all.find_map(|option| match option {
                NdOption::Registration(it) => Some(it),
                _ => None,
            });
            if let Some(asked) = asked {
                let (claim, pan) = (Claim { src, link, target, own, asked }, self.config.pan);
                let is_derived = |address, link| derived(address, pan) == Some(link);
                return self.role.handle_registration(now, &claim, is_derived);
            }
        }
        if !own {
            return Err(Discard::NotConcerned);
        }
        bump(&mut self.stats.solicited);
        if detects && self.host.is_tentative(target) {
            // Of two nodes that want it neither gets it (RFC 4862, 5.4.3).
            bump(&mut self.stats.conflicts);
            self.host.lose(target);
            return Ok(());
        }
        if detects {
            // Another node wants to use this address: all nodes have to know its owner.
            self.answer(Answer { dst: ALL_NODES, via: Address::BROADCAST, target });
            return Ok(());
        }
        if let Some(link) = link {
            self.hear(src, link);
        }
        let known = find(self.neighbours.as_slice(), src).map(|known| known.link);
        let known = known.filter(|link| *link != Address::None);
        let via = link.or(known).unwrap_or(from);
        self.answer(Answer { dst: src, via, target });
        Ok(())
    }

    /// Processes a link address that a neighbour has announced unsolicited.
    pub(super) fn hear(&mut self, neighbour: Ipv6Addr, link: Address) {
        // A registered host's link address changes only with proof of ownership.
        if self.role.link(neighbour).is_some() {
            return;
        }
        let table = self.neighbours.as_mut_slice();
        let known = match find_mut(table, neighbour) {
            Some(known) => Some(known),
            // An address that contains the link address needs no entry.
            None if derived(neighbour, self.config.pan) == Some(link) => None,
            None => insert(table, &mut self.stats, Cause::Heard, neighbour),
        };
        if let Some(known) = known
            && known.learn(link)
        {
            known.doubt();
        }
    }

    /// Queues an advertisement. A full queue drops the oldest; its solicitation will be repeated.
    fn answer(&mut self, answer: Answer) {
        let same = |it: &Answer| it.dst == answer.dst && it.target == answer.target;
        let waiting = self.answers.iter().position(|place| place.as_ref().is_some_and(same));
        let free = self.answers.iter().position(Option::is_none);
        match waiting.or(free) {
            Some(index) => {
                if let Some(place) = self.answers.get_mut(index) {
                    *place = Some(answer);
                }
            }
            None => {
                self.answers.rotate_left(1);
                if let Some(place) = self.answers.last_mut() {
                    *place = Some(answer);
                }
            }
        }
    }

    /// Processes a Neighbour Advertisement (RFC 4861, 7.2.5).
    pub(super) fn handle_advertisement(
        &mut self,
        now: Instant,
        from: Address,
        header: &Header,
        advertisement: &Advertisement,
        own: bool,
        options: Options<'_>,
    ) -> Result<(), Discard> {
        let Advertisement { router, solicited, overriding, target } = *advertisement;
        let mut all = options;
        let link = all.find_map(|option| match option {
            NdOption::TargetLinkAddress(link) => Some(link),
            _ => None,
        });
        if target.is_multicast() || solicited && header.dst.is_multicast() {
            return Err(Discard::Invalid);
        }
        if link.is_some_and(|link| !link.is_unicast()) {
            return Err(Discard::Invalid);
        }
        if self.registered(now, (header.src, from), target, options) {
            return Ok(());
        }
        if own {
            // During detection the first owner may object (RFC 4862, 5.4.4); later it is an error.
            if self.host.is_tentative(target) {
                self.host.lose(target);
            }
            bump(&mut self.stats.conflicts);
            return Err(Discard::NotConcerned);
        }
        if !router && self.resolution(target) == Resolution::To(from) {
            self.host.lose_router(now, target);
        }
        let until = now + self.reachable_time();
        let known = find_mut(self.neighbours.as_mut_slice(), target);
        let known = known.filter(|it| it.state != State::Unreachable);
        let Some(known) = known else { return Err(Discard::NotConcerned) };
        if known.state == State::Incomplete {
            known.learn(link.ok_or(Discard::Invalid)?);
            if solicited {
                known.confirm(until)
            } else {
                known.doubt()
            }
            known.router = router;
            return Ok(());
        }
        let differs = link.is_some_and(|link| link != known.link);
        // A guessed link address need not be kept.
        if differs && !overriding && !known.guessed {
            if known.state == State::Reachable {
                known.doubt();
            }
            return Ok(());
        }
        if let Some(link) = link.filter(|_| differs) {
            known.learn(link);
            known.doubt();
        }
        if solicited {
            known.confirm(until);
        }
        known.router = router;
        Ok(())
    }

    pub(super) fn advertise(&self, answer: &Answer, buf: &mut [u8]) -> Option<Message> {
        let Answer { dst, via, target } = *answer;
        let (router, solicited) = (self.role.is_router(), !dst.is_multicast());
        // RFC 4429, 3.3.
        let overriding = !self.host.is_tentative(target);
        let advertisement = Advertisement { router, solicited, overriding, target };
        let mut out = Builder::new(buf, &Kind::NeighbourAdvertisement(advertisement)).ok()?;
        out.option(&NdOption::TargetLinkAddress(self.config.link)).ok()?;
        Some(Message::near(dst, via, out.len()))
    }

    pub(super) fn solicit(&mut self, buf: &mut [u8]) -> Option<Message> {
        let mut known = self.neighbours.as_mut_slice().iter_mut().flatten();
        let known = known.find(|it| it.asks)?;
        known.asks = false;
        let target = known.address;
        // RFC 4861, 7.2.2 and 7.3.3.
        let (dst, via) = match known.state {
            State::Probe => (target, known.link),
            _ => (solicited_node(target), Address::BROADCAST),
        };
        let mut out = Builder::new(buf, &Kind::NeighbourSolicitation(target)).ok()?;
        out.option(&NdOption::SourceLinkAddress(self.config.link)).ok()?;
        Some(Message::near(dst, via, out.len()))
    }
}

/// Writes a solicitation for duplicate address detection (RFC 4862, 5.4.2).
pub(super) fn detect(target: Ipv6Addr, buf: &mut [u8]) -> Option<Message> {
    let len = Builder::new(buf, &Kind::NeighbourSolicitation(target)).ok()?.len();
    let near = Message::near(solicited_node(target), Address::BROADCAST, len);
    Some(Message { src: Some(Ipv6Addr::UNSPECIFIED), ..near })
}

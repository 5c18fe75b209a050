//! Input of messages (RFC 3561, 6.5, 6.7, 6.11).

use super::{Aodv, Reply};
use crate::config::Sizes;
use crate::due::Due;
use crate::metric::{Metric, RouteQuality};
use crate::params::NET_DIAMETER;
use crate::request::Request;
use crate::route::{self, Offer, Taken};
use crate::sequence::{is_newer, newest};
use crate::stats::{Discard, count};
use kinglet_mem::Array;
use kinglet_time::{Duration, Instant};
use kinglet_wire::aodv::{Message, OUTSIDE, Rerr, Rrep, Rreq};

impl<S: Sizes> Aodv<S> {
    /// Handles a message from the neighbour `from`. [`Aodv::handle_heard`] has reported its frame
    /// already.
    ///
    /// # Errors
    /// The reason for which the message was discarded; it is also counted.
    pub fn handle_message(
        &mut self,
        now: Instant,
        from: u16,
        octets: &[u8],
    ) -> Result<(), Discard> {
        let result = self.take(now, from, octets);
        match result {
            Ok(()) => count(&mut self.stats.received),
            Err(reason) => self.stats.discard(reason),
        }
        result
    }

    fn take(&mut self, now: Instant, from: u16, octets: &[u8]) -> Result<(), Discard> {
        if !self.is_on() {
            return Err(Discard::Off);
        }
        if from >= OUTSIDE || from == self.config.short {
            return Err(Discard::BadSource);
        }
        match Message::parse(octets).map_err(Discard::Malformed)? {
            Message::Rreq(rreq) => self.requested(now, from, rreq),
            Message::Rrep(rrep) => self.replied(now, from, rrep),
            Message::Rerr(rerr) => self.erred(now, from, rerr),
            // The acknowledgement of its frame was the response.
            Message::RrepAck => Ok(()),
        }
    }

    /// Returns the worth at this node of a route that the neighbour `from` advertises.
    fn quality(
        &mut self,
        from: u16,
        hops: u8,
        delivery: Option<u16>,
    ) -> Result<RouteQuality, Discard> {
        if delivery.is_some() != (self.config.metric == Metric::PathDr) {
            return Err(Discard::OtherMetric);
        }
        if hops >= NET_DIAMETER {
            return Err(Discard::TooFar);
        }
        // A sender without an entry has no link quality, and may be out of range.
        let lqi = self.link_mut(from).ok_or(Discard::BadSource)?.lqi();
        Ok(RouteQuality { hops, delivery }.extended(self.config.quality.ratio(lqi)))
    }

    fn requested(&mut self, now: Instant, from: u16, rreq: Rreq) -> Result<(), Discard> {
        if rreq.originator == self.config.short {
            return Err(Discard::Own);
        }
        let quality = self.quality(from, rreq.hop_count, rreq.path_dr)?;
        if self.link_mut(from).is_some_and(|link| link.is_blacklisted(now)) {
            return Err(Discard::Blacklisted);
        }
        let known =
            |place: &Option<Request>| place.is_some_and(|it| it.is_of(&rreq) && it.forgotten > now);
        let index = self.requests.as_slice().iter().position(known);
        match index {
            Some(index) => self.hear_again(now, from, rreq, quality, index),
            None => self.hear_first(now, from, rreq, quality),
        }
    }

    /// Considers the reverse route to the originator of a request.
    fn add_reverse_route(
        &mut self,
        now: Instant,
        from: u16,
        rreq: &Rreq,
        quality: RouteQuality,
    ) -> Taken {
        let offer = Offer {
            destination: rreq.originator,
            sequence: rreq.originator_sequence,
            next_hop: from,
            quality,
            lifetime: self.times().reverse_lifetime(quality.hops),
        };
        self.consider(now, &offer)
    }

    /// Handles the first copy of a request.
    fn hear_first(
        &mut self,
        now: Instant,
        from: u16,
        mut rreq: Rreq,
        quality: RouteQuality,
    ) -> Result<(), Discard> {
        let gone = |place: &Option<Request>| place.is_none_or(|it| it.forgotten <= now);
        let index = self.requests.as_mut_slice().iter().position(gone).ok_or(Discard::Busy)?;
        if !self.link_mut(from).is_some_and(|link| link.may_flood(now)) {
            return Err(Discard::TooMany);
        }
        match self.add_reverse_route(now, from, &rreq, quality) {
            Taken::Yes | Taken::NoBetter => {}
            Taken::Stale => {
                self.remind(from, &rreq);
                return Err(Discard::Stale);
            }
            Taken::Full => return Err(Discard::RoutesFull),
        }
        let due = if self.config.answers_for(rreq.destination) {
            Due::At(now + self.times().reply_delay())
        } else if rreq.ttl > 1 {
            let longest = self.times().jitter();
            Due::At(now + self.random.between(Duration::from_micros(1), longest))
        } else {
            Due::No
        };
        let known = route::find(self.routes.as_slice(), rreq.destination);
        let sequence = known.and_then(|route| route.sequence);
        rreq.destination_sequence = newest(sequence, rreq.destination_sequence);
        let forgotten = now + self.times().path_discovery();
        let request = Request { rreq, quality, due, sent: 0, forgotten };
        if let Some(place) = self.requests.as_mut_slice().get_mut(index) {
            *place = Some(request);
        }
        Ok(())
    }

    /// Handles another copy of a known request. Its route becomes the reverse route if it is
    /// better.
    fn hear_again(
        &mut self,
        now: Instant,
        from: u16,
        rreq: Rreq,
        quality: RouteQuality,
        index: usize,
    ) -> Result<(), Discard> {
        let places = self.requests.as_mut_slice();
        let request = places.get_mut(index).and_then(Option::as_mut).ok_or(Discard::Duplicate)?;
        if request.sent > 0 || !quality.is_better_than(&request.quality) {
            return Err(Discard::Duplicate);
        }
        request.quality = quality;
        request.rreq.ttl = rreq.ttl;
        match self.add_reverse_route(now, from, &rreq, quality) {
            Taken::Stale => Err(Discard::Stale),
            // The first copy has got a place already.
            _ => Ok(()),
        }
    }

    /// Reminds a neighbour that has restarted of its last sequence number: a node that remembers
    /// that number does not accept smaller ones.
    fn remind(&mut self, from: u16, rreq: &Rreq) {
        let known = route::find(self.routes.as_slice(), from).and_then(|route| route.sequence);
        let (Some(sequence), true) = (known, from == rreq.originator) else { return };
        let rrep = Rrep {
            hop_count: 0,
            destination: from,
            destination_sequence: sequence,
            originator: from,
            lifetime_ms: 0,
            path_dr: RouteQuality::start(self.config.metric).delivery,
        };
        // If the queue is full, its next request causes another reminder.
        let _ = self.queue(Reply { to: from, rrep });
    }

    fn queue(&mut self, reply: Reply) -> Result<(), Discard> {
        let place = self.replies.iter_mut().find(|place| place.is_none()).ok_or(Discard::Busy)?;
        *place = Some(reply);
        Ok(())
    }

    fn replied(&mut self, now: Instant, from: u16, rrep: Rrep) -> Result<(), Discard> {
        let Rrep { destination, originator, destination_sequence: sequence, .. } = rrep;
        let own = self.config.short;
        if destination == own {
            if originator != own || !is_newer(sequence, self.sequence) {
                return Err(Discard::Own);
            }
            self.sequence = sequence;
            return Ok(());
        }
        let floods = self.requests.as_slice().iter().flatten();
        let awaited = if originator == own {
            self.is_discovering(destination)
        } else {
            floods.clone().any(|it| it.forgotten > now && it.awaits(originator, destination))
        };
        if !awaited {
            return Err(Discard::NotAwaited);
        }
        let quality = self.quality(from, rrep.hop_count, rrep.path_dr)?;
        let back = self.next_hop(originator).filter(|_| originator != own);
        if originator != own && (back.is_none() || back == Some(from)) {
            return Err(Discard::NoWayBack);
        }
        if back.is_some() && self.replies.iter().all(Option::is_some) {
            return Err(Discard::Busy);
        }
        let lifetime = Duration::from_millis(rrep.lifetime_ms.into()).min(self.times().my_route());
        let offer = Offer { destination, sequence, next_hop: from, quality, lifetime };
        match self.consider(now, &offer) {
            Taken::Yes => {}
            Taken::NoBetter | Taken::Stale => return Err(Discard::Stale),
            Taken::Full => return Err(Discard::RoutesFull),
        }
        let Some(to) = back else { return Ok(()) };
        let until = now + self.times().active_route();
        if let Some(route) = route::find_mut(self.routes.as_mut_slice(), originator) {
            route.keep(until);
        }
        let RouteQuality { hops: hop_count, delivery: path_dr } = quality;
        self.queue(Reply { to, rrep: Rrep { hop_count, path_dr, ..rrep } })
    }

    fn erred(&mut self, now: Instant, from: u16, rerr: Rerr<'_>) -> Result<(), Discard> {
        // A node that repairs a route locally announces that it keeps it (6.12).
        let (mut lost, times) = (false, self.times());
        for entry in rerr.entries().filter(|_| !rerr.no_delete) {
            let route = route::find_mut(self.routes.as_mut_slice(), entry.destination);
            let Some(route) = route.filter(|it| it.is_valid && it.next_hop == from) else {
                continue;
            };
            route.lose(now, Some(entry.sequence), times);
            count(&mut self.stats.lost_routes);
            lost = true;
        }
        if !lost {
            return Err(Discard::NotOnWay);
        }
        self.has_changed = true;
        self.handle_losses(now);
        Ok(())
    }
}

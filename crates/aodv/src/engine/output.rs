//! Output of messages.

use super::Aodv;
use crate::config::Sizes;
use crate::due::Due;
use crate::metric::RouteQuality;
use crate::params::NET_DIAMETER;
use crate::precursors::Precursors;
use crate::request::Request;
use crate::route::{self, Route};
use crate::search::Search;
use crate::sequence::newest;
use crate::stats::count;
use kinglet_mem::Array;
use kinglet_time::Instant;
use kinglet_wire::aodv::{RREP_ACK_MESSAGE, RerrWriter, Rrep, Rreq, Unreachable};

/// Receivers of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Destination {
    /// All nodes in radio range.
    Broadcast,
    /// The device with this short address, which acknowledges the frame.
    Short(u16),
}

/// A message to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Out {
    /// Its receivers.
    pub to: Destination,
    /// Octets written.
    pub len: usize,
}

impl<S: Sizes> Aodv<S> {
    /// Writes the next message to `buf`; [`MAX_LEN`](crate::MAX_LEN) octets suffice for any. If
    /// `buf` is too short, nothing changes.
    pub fn poll_message(&mut self, now: Instant, buf: &mut [u8]) -> Option<Out> {
        self.poll_error(now, buf)
            .or_else(|| self.poll_probe(buf))
            .or_else(|| self.poll_reply(buf))
            .or_else(|| self.poll_answer(now, buf))
            .or_else(|| self.poll_search(now, buf))
            .or_else(|| self.poll_relayed(buf))
    }

    /// Writes an error about lost routes. It is unicast if the routes have the same single
    /// precursor, else broadcast.
    fn poll_error(&mut self, now: Instant, buf: &mut [u8]) -> Option<Out> {
        if self.errors_due != Due::Now {
            return None;
        }
        let routes = self.routes.as_mut_slice();
        let Some(audience) = unreported(routes) else {
            // Their routes were found again before an error was sent.
            self.errors_due = Due::No;
            return None;
        };
        let mut writer = RerrWriter::new(buf).ok()?;
        let concerned = |route: &&mut Route| {
            route.is_unreported && (audience == Precursors::Many || route.precursors == audience)
        };
        for route in routes.iter_mut().flatten().filter(concerned) {
            let (destination, sequence) = (route.destination, route.sequence.unwrap_or(0));
            if writer.entry(Unreachable { destination, sequence }).is_err() {
                break;
            }
            (route.is_unreported, route.precursors) = (false, Precursors::None);
        }
        let len = writer.len();
        let more = unreported(routes).is_some();
        self.errors_due = if more { Due::within(&mut self.erring, now) } else { Due::No };
        count(&mut self.stats.errors);
        let to = match audience {
            Precursors::One(one) => Destination::Short(one),
            Precursors::None | Precursors::Many => Destination::Broadcast,
        };
        Some(Out { to, len })
    }

    /// Writes a probe to a neighbour.
    fn poll_probe(&mut self, buf: &mut [u8]) -> Option<Out> {
        let mut links = self.links.as_mut_slice().iter_mut().flatten();
        let link = links.find(|link| link.is_to_be_asked())?;
        let out = buf.first_chunk_mut()?;
        *out = RREP_ACK_MESSAGE;
        link.ask();
        count(&mut self.stats.probes);
        Some(Out { to: Destination::Short(link.short), len: RREP_ACK_MESSAGE.len() })
    }

    /// Writes a reply of another node that is passed on.
    fn poll_reply(&mut self, buf: &mut [u8]) -> Option<Out> {
        let place = self.replies.iter_mut().find(|place| place.is_some())?;
        let reply = (*place)?;
        reply.rrep.emit(buf).ok()?;
        *place = None;
        count(&mut self.stats.relayed_replies);
        Some(self.reply_to(reply.to, &reply.rrep))
    }

    fn reply_to(&mut self, to: u16, rrep: &Rrep) -> Out {
        self.link_mut(to).into_iter().for_each(crate::link::Link::reply);
        Out { to: Destination::Short(to), len: rrep.buffer_len() }
    }

    /// Writes a reply to a request for this node (6.6.1). Each reply has a sequence number of its
    /// own, so that all nodes on its path accept it.
    fn poll_answer(&mut self, now: Instant, buf: &mut [u8]) -> Option<Out> {
        let (index, rreq, to) = loop {
            let index = self.next_request(true)?;
            let Request { rreq, .. } = (*self.requests.as_slice().get(index)?)?;
            match self.next_hop(rreq.originator) {
                Some(to) => break (index, rreq, to),
                // The reverse route is lost by now. Each iteration ends a request.
                None => self.pass(index),
            }
        };
        let known = newest(Some(self.sequence), rreq.destination_sequence);
        let sequence = known.unwrap_or(self.sequence).wrapping_add(1);
        let start = RouteQuality::start(self.config.metric);
        let lifetime = self.times().my_route().as_micros() / 1_000;
        let rrep = Rrep {
            hop_count: start.hops,
            destination: rreq.destination,
            destination_sequence: sequence,
            originator: rreq.originator,
            lifetime_ms: u32::try_from(lifetime).unwrap_or(u32::MAX),
            path_dr: start.delivery,
        };
        rrep.emit(buf).ok()?;
        self.pass(index);
        self.sequence = sequence;
        let until = now + self.times().active_route();
        if let Some(route) = route::find_mut(self.routes.as_mut_slice(), rreq.originator) {
            route.keep(until);
        }
        count(&mut self.stats.replies);
        Some(self.reply_to(to, &rrep))
    }

    /// Returns the first request that is due to be answered (`own`) or passed on.
    fn next_request(&self, own: bool) -> Option<usize> {
        let due = |request: &Request| {
            request.due == Due::Now && self.config.answers_for(request.rreq.destination) == own
        };
        self.requests.as_slice().iter().position(|place| place.as_ref().is_some_and(due))
    }

    /// Marks a request as answered or passed on.
    fn pass(&mut self, index: usize) {
        let place = self.requests.as_mut_slice().get_mut(index).and_then(Option::as_mut);
        if let Some(request) = place {
            (request.due, request.sent) = (Due::No, request.sent.saturating_add(1));
        }
    }

    /// Writes a request of this node's own (6.3).
    fn poll_search(&mut self, now: Instant, buf: &mut [u8]) -> Option<Out> {
        let due = |place: &Option<Search>| place.is_some_and(|search| search.due == Due::Now);
        let index = self.searches.as_slice().iter().position(due)?;
        let Search { destination, attempts, .. } = (*self.searches.as_slice().get(index)?)?;
        let id = match self.id {
            Some(id) => id.wrapping_add(1),
            None => self.random.next_u32(),
        };
        let known = route::find(self.routes.as_slice(), destination);
        let start = RouteQuality::start(self.config.metric);
        let rreq = Rreq {
            destination_only: true,
            ttl: NET_DIAMETER,
            hop_count: start.hops,
            id,
            destination,
            destination_sequence: known.and_then(|route| route.sequence),
            originator: self.config.short,
            originator_sequence: self.sequence.wrapping_add(1),
            path_dr: start.delivery,
        };
        // If `buf` is too short, the ID is kept, so that the next call writes the same request.
        if rreq.emit(buf).is_err() {
            self.id = Some(id.wrapping_sub(1));
            return None;
        }
        (self.id, self.sequence) = (Some(id), rreq.originator_sequence);
        let patience = self.times().patience(attempts);
        if let Some(search) = self.searches.as_mut_slice().get_mut(index).and_then(Option::as_mut) {
            search.attempts = attempts.saturating_add(1);
            search.due = Due::At(now + patience);
        }
        count(&mut self.stats.requests);
        Some(Out { to: Destination::Broadcast, len: rreq.buffer_len() })
    }

    /// Writes a request of another node with the best route by which it has arrived (6.5).
    fn poll_relayed(&mut self, buf: &mut [u8]) -> Option<Out> {
        let index = self.next_request(false)?;
        let Request { rreq, quality, .. } = (*self.requests.as_slice().get(index)?)?;
        let RouteQuality { hops: hop_count, delivery: path_dr } = quality;
        let rreq = Rreq { ttl: rreq.ttl.saturating_sub(1), hop_count, path_dr, ..rreq };
        rreq.emit(buf).ok()?;
        self.pass(index);
        count(&mut self.stats.relayed_requests);
        Some(Out { to: Destination::Broadcast, len: rreq.buffer_len() })
    }
}

/// Returns the precursors of the first route whose loss is to be reported.
fn unreported(routes: &[Option<Route>]) -> Option<Precursors> {
    routes.iter().flatten().find(|route| route.is_unreported).map(|route| route.precursors)
}

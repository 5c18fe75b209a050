//! A server of a site, block-wise if necessary, and of the list of its resources (RFC 6690).

use super::links;
use super::observe::Observer;
use super::socket::{Origin, Socket};
use crate::app::App;
use crate::site::{Asked, Content, Fresh, Resource, Site, number_of};
use crate::sockets::Peer;
use core::net::Ipv6Addr;
use kinglet::{Each, Node, Profile};
use kinglet_coap::{
    CoapConfig, Code, Delivery, Endpoint, Event, MAX_EXPONENT, Message, Part, Reception,
    RespondError, Sizes, Stats, Ticket, Token, WriteError, Writer, option,
};
use kinglet_mem::{Array, copy};
use kinglet_time::{Duration, Expected, Instant, earliest};

/// Largest body that block numbers address with the largest blocks.
const MAX_BYTES: usize = 1 << 30;
/// Longest path.
const PATH: usize = 64;
/// Groups of all CoAP nodes of a link, and of a site.
const GROUPS: [Ipv6Addr; 2] =
    [Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 0xfd), Ipv6Addr::new(0xff05, 0, 0, 0, 0, 0, 0, 0xfd)];
/// DEFAULT_LEISURE (RFC 7252 §4.8): time over which the responses of a group are spread.
const LEISURE: Duration = Duration::from_secs(5);
/// Blocks of 64 octets, for group requests from a peer whose address is not proven. One such block
/// may answer any request.
const SMALL: u8 = 2;
/// The link format (RFC 6690 §7.2).
const LINKS: u32 = 40;

/// Sizes of the endpoint's tables, and of the observer table.
pub trait Plan: Sizes {
    /// The observer table (RFC 7641). If it is full, a registration is answered as a plain request;
    /// if it has no entries at all, observing is not linked.
    type Observers: Array<Option<Observer>>;

    /// True if the server joins the groups of all CoAP nodes (RFC 7252 §12.8) of its link and its
    /// site, so that clients find it without knowing its address.
    const IS_FOUND: bool;
}

/// A server of `S` at a port.
pub struct Server<S: Site, Z: Plan> {
    socket: Socket<Z>,
    resources: Resources<S>,
    observers: Z::Observers,
    /// True if it has joined its groups, as far as the node's table has space for them.
    has_joined: bool,
}

struct Resources<S: Site> {
    site: S,
    exponent: u8,
    upload: Reception<Peer>,
    inbox: Option<S::Inbox>,
    served: u32,
    /// True if the last request was for a block other than the last one.
    goes_on: bool,
}

/// A request: its origin and its message.
struct Request<'a, 'b> {
    now: Instant,
    origin: Origin,
    ticket: Ticket,
    message: &'a Message<'b>,
}

impl<S: Site, Z: Plan> Server<S, Z> {
    /// Creates a server on `port` whose blocks have at most `block` octets (a power of two, 16 to
    /// 1024).
    pub const fn new(port: u16, site: S, block: u16, config: CoapConfig) -> Self {
        let resources = Resources {
            site,
            exponent: exponent_of(block),
            upload: Reception::NEW,
            inbox: None,
            served: 0,
            goes_on: false,
        };
        let observers = Z::Observers::EMPTY;
        Server { socket: Socket::new(port, config), resources, observers, has_joined: false }
    }

    /// Returns the site. Observers of a resource that changes are notified at the next poll.
    pub const fn site(&mut self) -> &mut S {
        &mut self.resources.site
    }

    /// Returns the number of observers.
    pub fn observed(&self) -> usize {
        self.observers.as_slice().iter().flatten().count()
    }

    /// Returns the number of requests answered, wrapping; one for each block.
    pub const fn served(&self) -> u32 {
        self.resources.served
    }

    /// Returns the counters of its endpoint.
    pub const fn stats(&self) -> Stats {
        self.socket.stats()
    }
}

/// Returns the size exponent of blocks of at most `block` octets.
pub const fn exponent_of(block: u16) -> u8 {
    let mut exponent = 0;
    while exponent < MAX_EXPONENT && block >= 32 << exponent {
        exponent = u8::saturating_add(exponent, 1);
    }
    exponent
}

impl<S: Site, Z: Plan> App for Server<S, Z> {
    fn poll<P: Profile>(&mut self, now: Instant, node: &mut Node<P>) -> bool {
        let Server { socket, resources, observers, has_joined } = self;
        if Z::IS_FOUND && !core::mem::replace(has_joined, true) {
            for group in GROUPS {
                // If the node's table is full, clients cannot find it by the group.
                let _ = node.interface().join_group(group);
            }
        }
        let before = resources.served;
        let observers = observers.as_mut_slice();
        let mut busy = socket.poll(now, node, |endpoint, origin, event| {
            if let Event::Request { ticket, message } = event {
                let message = &message;
                resources.handle(endpoint, &Request { now, origin, ticket, message }, observers);
            }
        });
        if resources.served != before {
            socket.expect_request(now, resources.goes_on);
        }
        if Z::Observers::LEN > 0 {
            busy |= resources.notify_all(now, socket.endpoint(), observers);
        }
        busy
    }

    fn deadline(&self) -> Option<Instant> {
        let observers = self.observers.as_slice().iter().flatten();
        earliest(self.socket.deadline(), observers.map(|it| it.next()).min())
    }

    fn expected(&self, now: Instant) -> Option<Expected> {
        self.socket.expected(now)
    }

    fn messages(&self) -> (u32, u32) {
        self.socket.messages()
    }

    fn reasons(&self, each: &mut Each<'_>) {
        self.socket.reasons(each);
    }
}

impl<S: Site> Resources<S> {
    fn handle<Z: Plan>(
        &mut self,
        endpoint: &mut Endpoint<Peer, Z>,
        request: &Request<'_, '_>,
        observers: &mut [Option<Observer>],
    ) {
        self.goes_on = false;
        let mut place = None;
        if Z::Observers::LEN > 0 {
            // RFC 7641 §2: 0 registers, 1 deregisters. Another registration replaces the first.
            let wish = request.message.uint(option::OBSERVE).filter(|wish| *wish <= 1);
            if wish.is_some() {
                forget(observers, (request.origin.peer, request.message.header.token));
            }
            if wish == Some(0) && !request.origin.to_group {
                if observers.iter().all(Option::is_some) {
                    let all = observers.iter_mut().flatten();
                    all.for_each(|observer| observer.doubt(request.now));
                }
                place = observers.iter_mut().find(|place| place.is_none());
            }
        }
        // A member of a group does not report that it has no such resource (RFC 7252 §8.2).
        let refused = self.answer(endpoint, request, place).err();
        if let Some(code) = refused.filter(|_| !request.origin.to_group) {
            refuse(endpoint, request, code);
        }
        self.served = self.served.wrapping_add(1);
    }

    /// Notifies observers of changes; returns whether any was notified.
    fn notify_all<Z: Sizes>(
        &mut self,
        now: Instant,
        endpoint: &mut Endpoint<Peer, Z>,
        observers: &mut [Option<Observer>],
    ) -> bool {
        while let Some(gone) = endpoint.poll_gone() {
            forget(observers, gone);
        }
        let mut busy = false;
        for place in observers {
            let Some(observer) = place.as_mut() else { continue };
            let Some(fresh) = self.site.fresh(now, observer.path()) else {
                // The resource has gone (RFC 7641 §4.2).
                let to = observer.to();
                let (kind, code) = (Delivery::NonConfirmable, Code::NOT_FOUND);
                let _ = endpoint.notify(now, to, kind, code, |_| Ok(()));
                *place = None;
                busy = true;
                continue;
            };
            if !observer.is_due(now, fresh) {
                continue;
            }
            if endpoint.is_notifying(observer.to()) || !self.notify(now, endpoint, observer, fresh)
            {
                observer.wait(now);
                continue;
            }
            busy = true;
        }
        busy
    }

    /// Sends the present state of the resource. Returns whether there was space for the
    /// notification.
    fn notify<Z: Sizes>(
        &mut self,
        now: Instant,
        endpoint: &mut Endpoint<Peer, Z>,
        observer: &mut Observer,
        fresh: Fresh,
    ) -> bool {
        let asked = Asked { now, path: observer.path(), served: self.served, open: 0 };
        let Some(Resource::Content(content)) = self.site.find(&asked) else { return false };
        let part = Part::first(usize::try_from(content.len).unwrap_or(0), observer.exponent());
        let mut notified = *observer;
        let delivery = notified.notified(now, fresh);
        let answer = Answer {
            part,
            format: number_of(content.format),
            fresh: Some(fresh),
            observed: Some(notified.number()),
        };
        let done = endpoint.notify(now, observer.to(), delivery, Code::CONTENT, |response| {
            answer.write(now, response, &|at, out| {
                self.site.read(content.body, u32::try_from(at).unwrap_or(u32::MAX), out);
            })
        });
        if done.is_ok() {
            *observer = notified;
        }
        done.is_ok()
    }

    fn answer<Z: Plan>(
        &mut self,
        endpoint: &mut Endpoint<Peer, Z>,
        request: &Request<'_, '_>,
        place: Option<&mut Option<Observer>>,
    ) -> Result<(), Code> {
        let code = request.message.header.code;
        let (is_get, is_put) = (code == Code::GET, matches!(code, Code::PUT | Code::POST));
        let mut path = [0; PATH];
        let len = path_of(request.message, &mut path).ok_or(Code::NOT_FOUND)?;
        let path = path.get(..len).unwrap_or_default();
        if path == b"/.well-known/core" {
            return if is_get {
                self.list(endpoint, request)
            } else {
                Err(Code::METHOD_NOT_ALLOWED)
            };
        }
        let asked = Asked { now: request.now, path, served: self.served, open: 0 };
        match self.site.find(&asked).ok_or(Code::NOT_FOUND)? {
            Resource::Content(Content { format, len, body }) if is_get => {
                let len = usize::try_from(len).map_err(|_| Code::INTERNAL_SERVER_ERROR)?;
                let content = (len, number_of(format), path);
                self.respond(endpoint, request, content, place, &|site, at, out| {
                    site.read(body, u32::try_from(at).unwrap_or(u32::MAX), out);
                })
            }
            Resource::Inbox(inbox) if is_put => self.receive(endpoint, request, inbox),
            _ => Err(Code::METHOD_NOT_ALLOWED),
        }
    }

    fn list<Z: Plan>(
        &mut self,
        endpoint: &mut Endpoint<Peer, Z>,
        request: &Request<'_, '_>,
    ) -> Result<(), Code> {
        let len = links::write(self.site.links(), request.message, 0, &mut []);
        if len == 0 && request.origin.to_group {
            return Err(Code::NOT_FOUND);
        }
        self.respond(endpoint, request, (len, Some(LINKS), b""), None, &|site, at, out| {
            links::write(site.links(), request.message, at, out);
        })
    }

    /// Responds with the requested part of `len` octets, which `read` copies from their source.
    fn respond<Z: Plan>(
        &mut self,
        endpoint: &mut Endpoint<Peer, Z>,
        request: &Request<'_, '_>,
        (len, format, path): (usize, Option<u32>, &[u8]),
        place: Option<&mut Option<Observer>>,
        read: &dyn Fn(&S, usize, &mut [u8]),
    ) -> Result<(), Code> {
        let message = request.message;
        // RFC 7252 §5.10.4: a resource that is not available in the requested format is refused.
        if message.values(option::ACCEPT).next().is_some() && message.uint(option::ACCEPT) != format
        {
            return Err(Code::NOT_ACCEPTABLE);
        }
        let (proven, to_group) = (endpoint.is_proven(request.ticket), request.origin.to_group);
        let small = if to_group && !proven { SMALL } else { MAX_EXPONENT };
        let part = Part::of(message, len, self.exponent.min(small))?;
        self.goes_on = part.range().end < len;
        let fresh = self.site.fresh(request.now, path);
        let mut observer = None;
        // Further blocks of an observed resource are fetched like those of any other body (RFC 7959
        // §2.6).
        if Z::Observers::LEN > 0
            && place.is_some()
            && part.range().start == 0
            && let Some(fresh) = fresh
        {
            // Notifications amplify a request (RFC 7641 §7).
            if !proven {
                return Err(Code::UNAUTHORIZED);
            }
            let relation = (request.origin.peer, message.header.token);
            let exponent = part.exponent().unwrap_or(self.exponent);
            observer = Observer::new(request.now, relation, path, exponent, fresh);
        }
        let answer = Answer { part, format, fresh, observed: observer.map(|it| it.number()) };
        give(endpoint, request, Code::CONTENT, &mut |response| {
            answer.write(request.now, response, &|at, out| read(&self.site, at, out))
        })?;
        if let Some(place) = place {
            *place = observer;
        }
        Ok(())
    }

    /// Handles a block of a body.
    fn receive<Z: Plan>(
        &mut self,
        endpoint: &mut Endpoint<Peer, Z>,
        request: &Request<'_, '_>,
        fresh: S::Inbox,
    ) -> Result<(), Code> {
        let Request { origin: Origin { peer, .. }, message, .. } = *request;
        let accepted = self.upload.handle(peer, message, MAX_BYTES, self.exponent)?;
        let piece = accepted.piece;
        self.goes_on = !piece.is_last;
        if piece.offset == 0 {
            self.inbox = Some(fresh);
        }
        let inbox = self.inbox.as_mut().ok_or(Code::REQUEST_ENTITY_INCOMPLETE)?;
        self.site.take(inbox, piece.data);
        let total = piece.offset.saturating_add(piece.data.len());
        let total = u32::try_from(total).unwrap_or(u32::MAX);
        let content = piece.is_last.then(|| self.site.finish(inbox, total));
        let code = accepted.code(Code::CHANGED);
        let done = give(endpoint, request, code, &mut |response| {
            if let Some(format) = content.and_then(|content| number_of(content.format)) {
                response.uint(option::CONTENT_FORMAT, format)?;
            }
            accepted.write(response)?;
            let len = content.map_or(0, |content| usize::try_from(content.len).unwrap_or(0));
            let space = response.payload_space(len)?;
            if let Some(content) = content {
                self.site.read(content.body, 0, space);
            }
            Ok(())
        });
        if done == Err(Code::UNAUTHORIZED) {
            // The body has been accepted, and must not be sent again: the response is short.
            return give(endpoint, request, code, &mut |response| accepted.write(response));
        }
        done
    }
}

/// The options of a response.
struct Answer {
    part: Part,
    format: Option<u32>,
    fresh: Option<Fresh>,
    /// Sequence number of a notification, or of the response that counts as one.
    observed: Option<u32>,
}

impl Answer {
    fn write(
        &self,
        now: Instant,
        response: &mut Writer<'_>,
        read: &dyn Fn(usize, &mut [u8]),
    ) -> Result<(), WriteError> {
        // Blocks of several versions must not be mixed (RFC 7959 §2.4).
        if let Some(fresh) = self.fresh.filter(|_| self.part.exponent().is_some()) {
            response.option(option::ETAG, &fresh.version.to_be_bytes())?;
        }
        if let Some(number) = self.observed {
            response.uint(option::OBSERVE, number)?;
        }
        if let Some(format) = self.format {
            response.uint(option::CONTENT_FORMAT, format)?;
        }
        if let Some(fresh) = self.fresh {
            let seconds = (fresh.until - now).as_millis().div_ceil(1_000);
            response.uint(option::MAX_AGE, u32::try_from(seconds).unwrap_or(u32::MAX))?;
        }
        self.part.write(response)?;
        let range = self.part.range();
        read(range.start, response.payload_space(range.len())?);
        Ok(())
    }
}

/// Removes an observer.
fn forget(observers: &mut [Option<Observer>], relation: (Peer, Token)) {
    for place in observers {
        place.take_if(|it| it.to() == relation);
    }
}

/// Sends the response that `build` writes.
#[inline(never)]
fn give<Z: Plan>(
    endpoint: &mut Endpoint<Peer, Z>,
    request: &Request<'_, '_>,
    code: Code,
    build: &mut dyn FnMut(&mut Writer<'_>) -> Result<(), WriteError>,
) -> Result<(), Code> {
    let Request { now, ticket, .. } = *request;
    let done = if Z::IS_FOUND && request.origin.to_group {
        endpoint.respond_at_leisure(now, ticket, LEISURE, code, build)
    } else {
        endpoint.respond(now, ticket, code, build)
    };
    done.map_err(|error| match error {
        RespondError::Unproven => Code::UNAUTHORIZED,
        _ => Code::INTERNAL_SERVER_ERROR,
    })
}

/// Refuses a request, with a diagnostic message (RFC 7252 §5.5.2). If the response needs a proven
/// address, it challenges the peer instead.
fn refuse<Z: Plan>(endpoint: &mut Endpoint<Peer, Z>, request: &Request<'_, '_>, code: Code) {
    if code == Code::UNAUTHORIZED {
        // The ticket is valid.
        let _ = endpoint.challenge(request.now, request.ticket);
        return;
    }
    let why = match code {
        Code::NOT_FOUND => "not here",
        Code::METHOD_NOT_ALLOWED => "not with this method",
        Code::NOT_ACCEPTABLE => "not in this format",
        Code::REQUEST_ENTITY_INCOMPLETE => "a block is missing",
        Code::REQUEST_ENTITY_TOO_LARGE => "too large",
        Code::BAD_REQUEST => "no such block",
        _ => "",
    };
    // Any plan has space for a code, and the ticket is valid.
    let _ = give(endpoint, request, code, &mut |response| {
        // A diagnostic message that does not fit is left out.
        let _ = response.payload(why.as_bytes());
        Ok(())
    });
}

/// Writes the path of a request as text. Returns its length, if it fits.
fn path_of(message: &Message<'_>, out: &mut [u8]) -> Option<usize> {
    let mut len = 0usize;
    for segment in message.values(option::URI_PATH) {
        let rest = out.get_mut(len..)?;
        let (first, after) = rest.split_first_mut()?;
        *first = b'/';
        copy(after.get_mut(..segment.len())?, segment);
        len = len.saturating_add(1).saturating_add(segment.len());
    }
    if len == 0 {
        *out.first_mut()? = b'/';
        len = 1;
    }
    Some(len)
}

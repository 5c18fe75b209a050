//! TCP Fast Open (RFC 7413): a server's cookies, and what a client remembers of its servers.
//!
//! A cookie proves that its bearer has once received something at its address, so that data in its
//! SYN can be taken and answered before the handshake is over. A SYN that the network repeats may
//! hand that data to the application twice (§6.1), which is why both sides have to ask for it. How
//! much strangers with cookies can keep busy is bounded by [`crate::ListenConfig`].

use super::isn::Purpose;
use super::ready::EntryFlags;
use super::{Endpoint, Entry, HalfOpen, Listener, Peer, Sizes, Slot};
use crate::conn::{DEFAULT_PEER_MSS, Established, FastOpen, Planned};
use crate::features::Features;
use crate::state::State;
use kinglet_mem::Array;
use kinglet_time::{Duration, Instant};
use kinglet_wire::tcp::{Cookie, Flags, Segment};

/// A cookie is valid in its period of 2^36 µs, or 19 hours, and in the next one (§4.1.2, 5).
const PERIOD_BITS: u32 = 36;

/// How long a client does without after a negative response (§4.1.3.1, "at least temporarily"): the
/// server does not take the data, it is refused, or nothing answers at all.
const HOLD: Duration = Duration::from_secs(600);

/// How long it does without after SYNs in a row that a plain one had to follow: this, doubled with
/// each of them. One alone may be any frame lost on a radio link, while a path that drops such SYNs
/// drops the next one too: it costs nothing, as in Linux (`tcp_fastopen_cookie_check`).
const PAUSE: Duration = Duration::from_secs(60);
/// The longest pause is an hour.
const MOST_DOUBLED: u8 = 6;

/// How long a connection that was reset counts as one still opening (§5.1): 2^26 µs, or 67 s, half
/// of it on average.
const RESET_BITS: u32 = 26;

/// What a client knows of the Fast Open of a server.
#[derive(Clone, Copy, Debug)]
pub struct KnownServer<K> {
    peer: K,
    /// The service: one port may take data in a SYN and another not (§4.1.3.1).
    port: u16,
    mss: u16,
    cookie: Cookie,
    /// After a failure, when to try again.
    retry_at: Instant,
    /// SYNs with a cookie in a row that were not answered in time.
    losses: u8,
}

impl<K: Peer> KnownServer<K> {
    fn is(&self, peer: &K, port: u16) -> bool {
        self.port == port && self.peer == *peer
    }

    /// What the SYN to a server shall carry: a cookie, perhaps the empty one, with the segment size
    /// that the server can take. `None`: nothing now.
    //= rfc7413#4.1.3.1-2 rfc7413#4.2.1-1 rfc7413#4.2.2-1
    pub(super) fn offer(
        table: &[Option<Self>],
        now: Instant,
        peer: &K,
        port: u16,
    ) -> Option<(Cookie, u16)> {
        match table.iter().flatten().find(|r| r.is(peer, port)) {
            Some(record) if record.retry_at > now => None,
            Some(record) => Some((record.cookie, record.mss)),
            None => Some((Cookie::REQUEST, DEFAULT_PEER_MSS)),
        }
    }
}

/// How many connections have been reset while opening: a period's number modulo 16 and the count
/// in it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Resets(u8);

impl Resets {
    pub(super) const NONE: Resets = Resets(0);

    fn count(self, now: Instant) -> u8 {
        let [.., octet] = (now.as_micros() >> RESET_BITS).to_be_bytes();
        if self.0 >> 4 == octet & 0x0f { self.0 & 0x0f } else { 0 }
    }

    fn add(&mut self, now: Instant) {
        let [.., octet] = (now.as_micros() >> RESET_BITS).to_be_bytes();
        self.0 = octet << 4 | self.count(now).saturating_add(1).min(0x0f);
    }
}

impl<K: Peer, S: Sizes> Endpoint<K, S> {
    /// Without a place to remember servers in, an image has no code of a client either.
    pub(super) const REMEMBERS: bool = S::Features::FAST_OPEN && S::Servers::<K>::LEN > 0;

    /// Whether data written now to a new connection with this server would leave in the SYN: its
    /// cookie is known, and nothing has gone wrong with it of late (RFC 7413 §4.1.3).
    pub fn has_fast_open_cookie(&self, now: Instant, peer: &K, port: u16) -> bool {
        let offer = KnownServer::offer(self.servers.as_slice(), now, peer, port);
        offer.is_some_and(|(cookie, _)| !cookie.is_request())
    }

    //= rfc7413#4.1.2-1
    fn cookie_of(&self, peer: &K, period: u64) -> Cookie {
        let hash = self.keyed_hash(Purpose::FastOpen, peer, 0, 0, &period.to_be_bytes());
        // Eight octets always make a cookie.
        Cookie::new(&hash.to_be_bytes()).unwrap_or(Cookie::REQUEST)
    }

    /// GetCookie of §4.1.2.
    pub(super) fn fast_open_cookie(&self, now: Instant, peer: &K) -> Cookie {
        self.cookie_of(peer, now.as_micros() >> PERIOD_BITS)
    }

    /// IsCookieValid of §4.1.2.
    fn is_cookie_valid(&self, now: Instant, peer: &K, cookie: &Cookie) -> bool {
        let period = now.as_micros() >> PERIOD_BITS;
        let valid = |period| self.cookie_of(peer, period) == *cookie;
        valid(period) || period.checked_sub(1).is_some_and(valid)
    }

    /// "Server: Receiving SYN" of §4.2.2: opens a connection that takes the SYN's data at once.
    /// `false`: the SYN is to be treated as any other.
    //= rfc7413#4.2-3
    pub(super) fn open_early(
        &mut self,
        now: Instant,
        listener: &Listener,
        record: &HalfOpen<K>,
        segment: &Segment<'_>,
    ) -> bool {
        let Some(cookie) = segment.header.options.fast_open else { return false };
        let (peer, ..) = record.name();
        if self.opening_early(now, listener.port.get()) >= usize::from(listener.fast_open)
            || !self.is_cookie_valid(now, &peer, &cookie)
        {
            return false;
        }
        let from = Established { early: true, rtt: None, ..record.established(now, segment) };
        let conn = Planned::accept(now, &listener.setup, &from);
        let handle = self.install(record.name(), conn, EntryFlags::NONE);
        let slot = handle.and_then(|h| self.slots.as_mut_slice().get_mut(h.index()));
        let Some((entry, mut buffers)) = slot.and_then(Slot::parts) else { return false };
        entry.conn.take_syn_text(now, segment, &mut buffers);
        self.stats.fast_opens = self.stats.fast_opens.wrapping_add(1);
        true
    }

    /// PendingFastOpenRequests, and what was reset of late (§5.1), on whatever port.
    fn opening_early(&self, now: Instant, port: u16) -> usize {
        let entries = self.slots.as_slice().iter().filter_map(|s| s.entry.as_ref());
        let opening = entries.filter(|e| e.local_port == port && e.conn.is_opening_early());
        opening.count().saturating_add(usize::from(self.resets.count(now)))
    }

    /// What a segment has meant to an opening connection that was so far with Fast Open.
    //= rfc7413#4.1.1-3
    pub(super) fn after_fast_open(
        &mut self,
        now: Instant,
        index: usize,
        before: FastOpen,
        segment: &Segment<'_>,
    ) {
        let entry = self.slots.as_slice().get(index).and_then(|slot| slot.entry.as_ref());
        let Some(Entry { peer, remote_port, conn, .. }) = entry else { return };
        match (before, conn.state()) {
            (FastOpen::Accepted, State::Closed) => self.resets.add(now),
            (_, State::SynSent | State::SynReceived | State::Closed) | (FastOpen::Accepted, _) => {}
            // §4.1.1: what ends a simultaneous open may have no SYN, and then the options of none.
            _ if !Self::REMEMBERS || !segment.header.flags.contains(Flags::SYN) => {}
            _ => {
                let accepted = conn.fast_open() == FastOpen::Accepted;
                // The answer to a plain SYN says nothing.
                if accepted || before != FastOpen::Lost {
                    self.learn_from_syn_ack(now, (*peer, *remote_port), accepted, segment);
                }
            }
        }
    }

    /// "Client: Receiving SYN-ACK" of §4.2.2, with §4.1.3.1.
    //= rfc7413#4.1.3.1-1 rfc7413#4.2.1-3 rfc7413#4.2.2-5
    fn learn_from_syn_ack(
        &mut self,
        now: Instant,
        (peer, port): (K, u16),
        accepted: bool,
        segment: &Segment<'_>,
    ) {
        let options = &segment.header.options;
        let cookie = options.fast_open.filter(|cookie| !cookie.is_request());
        let known = self.known_server(&peer, port);
        let retry_at = if accepted || cookie.is_some() { Instant::ZERO } else { now + HOLD };
        self.remember_server(KnownServer {
            mss: options.mss.unwrap_or(DEFAULT_PEER_MSS),
            cookie: cookie.unwrap_or(known.cookie),
            retry_at,
            losses: 0,
            ..known
        });
    }

    /// A SYN that was to open fast was not answered in time.
    //= rfc7413#4.1.3.1-1 rfc7413#4.2.1-3
    pub(super) fn count_syn_loss(&mut self, now: Instant, peer: &K, port: u16) {
        let known = self.known_server(peer, port);
        let losses = known.losses.saturating_add(1);
        let retry_at = match losses {
            1 => known.retry_at,
            _ => now + PAUSE * (1 << losses.min(MOST_DOUBLED)),
        };
        self.remember_server(KnownServer { losses, retry_at, ..known });
    }

    /// A server is not there, or refuses: what is next to it gets a plain SYN.
    //= rfc7413#4.1.3.1-1
    pub(super) fn hold_fast_open(&mut self, now: Instant, peer: &K, port: u16) {
        let known = self.known_server(peer, port);
        self.remember_server(KnownServer { retry_at: now + HOLD, ..known });
    }

    fn known_server(&self, peer: &K, port: u16) -> KnownServer<K> {
        let known = self.servers.as_slice().iter().flatten().find(|r| r.is(peer, port)).copied();
        known.unwrap_or(KnownServer {
            peer: *peer,
            port,
            mss: DEFAULT_PEER_MSS,
            cookie: Cookie::REQUEST,
            retry_at: Instant::ZERO,
            losses: 0,
        })
    }

    /// Replaces the record of this server, or takes an empty one, or the others' in turn.
    //= rfc7413#4.1.3-1
    fn remember_server(&mut self, known: KnownServer<K>) {
        let next_connection = usize::from(self.next_server);
        let table = self.servers.as_mut_slice();
        let same = |r: &Option<KnownServer<K>>| r.is_some_and(|r| r.is(&known.peer, known.port));
        let found = table.iter().position(same).or_else(|| table.iter().position(Option::is_none));
        let index = found.or_else(|| next_connection.checked_rem(table.len()));
        if found.is_none() {
            self.next_server = self.next_server.wrapping_add(1);
        }
        if let Some(place) = index.and_then(|index| table.get_mut(index)) {
            *place = Some(known);
        }
    }
}

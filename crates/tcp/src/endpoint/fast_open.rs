//! TCP Fast Open (RFC 7413): the cookies of a server, and the records that a client keeps of its
//! servers.
//!
//! A cookie proves that a client has received a segment at its address before, so the data in its
//! SYN can be accepted and answered before the handshake is over. A SYN that the network duplicates
//! may deliver that data to the application twice (§6.1), so both sides must enable Fast Open.
//! [`crate::ListenConfig`] bounds the number of such connections.

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

/// Time for which a client does not use Fast Open after a negative response (§4.1.3.1, "at least
/// temporarily"): the server does not accept the data, or refuses the connection, or there is no
/// response at all.
const HOLD: Duration = Duration::from_secs(600);

/// Time for which a client does not use Fast Open after several SYNs in a row that had to be
/// followed by a plain one: this, doubled with each of them. A single one may be a frame lost on a
/// radio link, while a path that drops such SYNs drops the next one too. So a single one has no
/// effect, as in Linux (`tcp_fastopen_cookie_check`).
const PAUSE: Duration = Duration::from_secs(60);
/// The longest pause is an hour.
const MOST_DOUBLED: u8 = 6;

/// Time for which a connection that was reset counts as still opening (§5.1): at most 2^26 µs, or
/// 67 s, and half of it on average.
const RESET_BITS: u32 = 26;

/// Record that a client keeps about Fast Open with a server.
#[derive(Clone, Copy, Debug)]
pub struct KnownServer<K> {
    peer: K,
    /// The service: one port may take data in a SYN and another not (§4.1.3.1).
    port: u16,
    mss: u16,
    cookie: Cookie,
    /// Time of the next try after a failure.
    retry_at: Instant,
    /// Number of SYNs with a cookie in a row that were not answered in time.
    losses: u8,
}

impl<K: Peer> KnownServer<K> {
    fn is(&self, peer: &K, port: u16) -> bool {
        self.port == port && self.peer == *peer
    }

    /// Returns the offer in the SYN to a server: a cookie, perhaps the empty one, with the segment
    /// size that the server can take. `None`: no Fast Open at present.
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

/// Number of connections that were recently reset while opening: a period's number modulo 16 and
/// the count in it.
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
    /// Presence of places to remember servers; without them an image has no code of a client.
    pub(super) const REMEMBERS: bool = S::Features::FAST_OPEN && S::Servers::<K>::LEN > 0;

    /// Returns whether data written now to a new connection with this server would leave in the
    /// SYN: its cookie is known, and Fast Open has not failed recently (RFC 7413 §4.1.3).
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

    /// "Server: Receiving SYN" of §4.2.2: opens a connection that accepts the SYN's data at once.
    /// Returns `false` if the SYN is to be treated as any other.
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

    /// Returns PendingFastOpenRequests of a port, plus the connections that were recently reset
    /// (§5.1), on any port.
    fn opening_early(&self, now: Instant, port: u16) -> usize {
        let entries = self.slots.as_slice().iter().filter_map(|s| s.entry.as_ref());
        let opening = entries.filter(|e| e.local_port == port && e.conn.is_opening_early());
        opening.count().saturating_add(usize::from(self.resets.count(now)))
    }

    /// Updates the records after a segment of an opening connection, whose Fast Open state was
    /// `before`.
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
            // §4.1.1: the segment that ends a simultaneous open may have no SYN, and then no
            // options of a SYN.
            _ if !Self::REMEMBERS || !segment.header.flags.contains(Flags::SYN) => {}
            _ => {
                let accepted = conn.fast_open() == FastOpen::Accepted;
                // The response to a plain SYN does not count.
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

    /// Counts a SYN with Fast Open that was not answered in time.
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

    /// Suspends Fast Open with a server that is unreachable or refuses: the next SYN is a plain
    /// one.
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

    /// Replaces the record of this server if there is one, otherwise an empty record, otherwise
    /// those of other servers by round robin.
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

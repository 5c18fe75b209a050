//! Output of messages.

use super::{Reply, Rpl};
use crate::config::{Mode, Sizes};
use crate::dao::{Advertised, Route};
use crate::dodag::{Dodag, shared};
use crate::rank::INFINITE_RANK;
use crate::stats::count;
use core::net::Ipv6Addr;
use kinglet_mem::Array;
use kinglet_time::Instant;
use kinglet_wire::rpl::{
    ALL_NODES, Configuration, ControlOption, Dao, DaoAck, Dio, Dis, Message, Metric,
    MetricContainer, MetricKind, PrefixInformation, Target, Transit, Writer,
};

/// Maximum octets of a message: a DIO with all options. DAOs have as many targets as fit.
pub const MAX_LEN: usize = 112;

/// Octets to a neighbour that fit into one frame: of its 127, 23 are MHR and FCS with extended
/// addresses, 10 a security header and a MIC of four, 4 RFC 6282's and 4 ICMPv6's header. A DAO
/// that is not the first attempt has no more, as every frame of it must arrive over a bad link.
const FRAME: usize = 86;

/// The only active bit of Path Control: one DAO parent (RFC 6550, 9.9).
//= rfc6550#9.9-1 rfc6550#9.9-4 rfc6550#9.9-9
const PATH_CONTROL: u8 = 0x80;

/// Path Lifetime, in units, of other nodes' targets in DAOs to the parent: the longest finite one.
/// The next hop of a target gets refreshes as often as the DODAG's lifetime requires, and reports
/// when they stop. If all routers passed all refreshes on, each would send more DAOs the more nodes
/// are below it.
const LONGEST: u8 = 254;

/// A message to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Out {
    /// Destination: a neighbour's link-local address, `ff02::1a`, or the root's routable address.
    /// The source has the same scope.
    pub to: Ipv6Addr,
    /// Code of the ICMPv6 message, whose type is 155.
    pub code: u8,
    /// Number of octets written; they follow the checksum.
    pub len: usize,
}

impl<S: Sizes> Rpl<S> {
    /// Writes the next message to `buf`; [`MAX_LEN`] octets always suffice. Nothing changes if
    /// `buf` is too short.
    pub fn poll_message(&mut self, now: Instant, buf: &mut [u8]) -> Option<Out> {
        let out = self.poll_answer(buf).or_else(|| self.poll_withdrawal(buf));
        let out = out.or_else(|| self.poll_dao(now, buf)).or_else(|| self.poll_dis(buf));
        out.or_else(|| self.poll_dio(buf))
    }

    fn poll_answer(&mut self, buf: &mut [u8]) -> Option<Out> {
        let index = self.answers.iter().position(Option::is_some)?;
        let answer = self.answers.get(index).copied().flatten()?;
        let (code, len) = match answer.reply {
            Reply::Information => self.write_dio(buf)?,
            Reply::Solicitation => write(buf, Message::Dis(Dis), &[])?,
            Reply::Acknowledgement { sequence, status } => {
                let instance = self.instance();
                let ack = DaoAck { instance, sequence, status, dodag_id: None };
                write(buf, Message::DaoAck(ack), &[])?
            }
        };
        *self.answers.get_mut(index)? = None;
        let stats = &mut self.stats;
        count(match answer.reply {
            Reply::Information => &mut stats.dios,
            Reply::Solicitation => &mut stats.diss,
            Reply::Acknowledgement { .. } => &mut stats.dao_acks,
        });
        Some(Out { to: answer.to, code, len })
    }

    fn poll_dis(&mut self, buf: &mut [u8]) -> Option<Out> {
        if !self.solicit.due {
            return None;
        }
        let (code, len) = write(buf, Message::Dis(Dis), &[])?;
        self.solicit.due = false;
        count(&mut self.stats.diss);
        Some(Out { to: ALL_NODES, code, len })
    }

    fn poll_dio(&mut self, buf: &mut [u8]) -> Option<Out> {
        if !self.advertise {
            return None;
        }
        let (code, len) = self.write_dio(buf)?;
        self.advertise = false;
        let (root, empty) = (self.is_root(), self.routes.as_slice().iter().all(Option::is_none));
        if let Some(dodag) = &mut self.dodag {
            dodag.advertise(empty && (root || dodag.is_storing()));
        }
        count(&mut self.stats.dios);
        Some(Out { to: ALL_NODES, code, len })
    }

    /// Writes a DIO with its configuration, prefix and route. The DIO of a leaf has INFINITE_RANK.
    //= rfc6550#6.7.6-1 rfc6550#6.7.6-2 rfc6550#6.7.6-4 rfc6550#9.4-10
    //= rfc6550#8.2.2.1-2 rfc6550#8.3-6 rfc6550#8.3-8 rfc6550#8.5-2
    fn write_dio(&self, buf: &mut [u8]) -> Option<(u8, usize)> {
        let dodag = self.dodag.as_ref()?;
        let dio = Dio {
            instance: self.instance(),
            version: dodag.version.value(),
            rank: if self.is_leaf() { INFINITE_RANK } else { dodag.rank() },
            grounded: dodag.grounded,
            mode: dodag.operation,
            preference: dodag.preference,
            dtsn: dodag.dtsn.value(),
            dodag_id: dodag.id,
        };
        let message = Message::Dio(dio);
        let mut writer = Writer::new(buf, &message).ok()?;
        // The DIO is not a secured one.
        let configuration = Configuration { authentication: false, ..dodag.configuration };
        writer.option(&ControlOption::Configuration(configuration)).ok()?;
        if let Some(prefix) = &dodag.prefix {
            writer.option(&ControlOption::Prefix(self.said(prefix))).ok()?;
        }
        if let Some(route) = dodag.route {
            writer.option(&ControlOption::Route(route)).ok()?;
        }
        if self.overloaded && !self.is_leaf() {
            let kind = MetricKind::NodeState { aggregates: false, overloaded: true };
            let mut room = [0; 6];
            let metrics = MetricContainer::build(&[Metric::sum(kind)], &mut room).ok()?;
            writer.option(&ControlOption::Metrics(metrics)).ok()?;
        }
        Some((message.code(), writer.len()))
    }

    /// Returns the prefix as this node advertises it: with its own address as a possible transit
    /// (9.4) if that has this prefix, and otherwise with zeros after the prefix.
    //= rfc6550#6.7.10-3 rfc6550#6.7.10-5
    fn said(&self, prefix: &PrefixInformation) -> PrefixInformation {
        let made = prefix.autonomous || self.is_root() && prefix.router_address;
        let own = self.address().filter(|_| made);
        PrefixInformation {
            prefix: own.unwrap_or_else(|| shared(prefix)),
            router_address: own.is_some(),
            preferred_secs: prefix.preferred_secs.min(prefix.valid_secs),
            ..*prefix
        }
    }

    //= rfc6550#9.3-1 rfc6550#9.3-2
    fn dao(&self, acknowledge: bool) -> Message {
        let (instance, sequence) = (self.instance(), self.announce.sequence.next().value());
        Message::Dao(Dao { instance, acknowledge, sequence, dodag_id: None })
    }

    /// Writes a No-Path DAO, by which a former parent forgets this node and all below it (9.8, rule
    /// 4).
    //= rfc6550#9.2.1-2
    fn poll_withdrawal(&mut self, buf: &mut [u8]) -> Option<Out> {
        let (to, start) = self.announce.withdraw?;
        let message = self.dao(false);
        let own = self.own_target();
        let mut writer = Writer::new(buf, &message).ok()?;
        let begun = writer.len();
        let mut done = start;
        if let Some((target, sequence)) = own.filter(|_| start == 0) {
            put(&mut writer, target, &transit(sequence, 0, false))?;
        }
        for route in self.routes.as_slice().get(start..).unwrap_or_default() {
            let no_path = |route: Route| transit(route.sequence.value(), 0, route.external);
            if let Some(route) = *route
                && put(&mut writer, route.target, &no_path(route)).is_none()
            {
                break;
            }
            done = done.saturating_add(1);
        }
        let over = done >= self.routes.as_slice().len();
        if !over && done == start && start > 0 {
            return None;
        }
        let len = writer.len();
        self.announce.withdraw = (!over).then_some((to, done.max(1)));
        if len == begun {
            return None;
        }
        self.announce.sequence = self.announce.sequence.next();
        count(&mut self.stats.daos);
        Some(Out { to, code: message.code(), len })
    }

    /// Returns the own address with its Path Sequence.
    //= rfc6550#9.4-2 rfc6550#9.4-12
    fn own_target(&self) -> Option<(Target, u8)> {
        let target = Target { prefix: self.address()?, prefix_len: 128 };
        Some((target, self.announce.path_sequence.value()))
    }

    /// Returns the parent address for the transit of this node's targets: none in storing mode.
    /// `None` if the parent's routable address is unknown.
    //= rfc6550#9.7-1 rfc6550#9.7-2 rfc6550#9.8-1
    fn transit_parent(&self, dodag: &Dodag) -> Option<Option<Ipv6Addr>> {
        if dodag.is_storing() {
            return Some(None);
        }
        let candidates = self.candidates.as_slice().iter().flatten();
        let parent =
            candidates.filter(|c| Some(c.address) == dodag.preferred).find_map(|c| c.global);
        parent.map(Some)
    }

    /// Writes the next DAO: targets that the parent, or in non-storing mode the root, does not
    /// know.
    //= rfc6550#9.1-2 rfc6550#9.1-3 rfc6550#9.1-5 rfc6550#9.2-2 rfc6550#9.4-1 rfc6550#9.4-8
    //= rfc6550#9.4-13 rfc6550#9.8-4
    fn poll_dao(&mut self, now: Instant, buf: &mut [u8]) -> Option<Out> {
        let dodag = self.dodag?;
        let preferred = dodag.preferred.filter(|_| dodag.mode != Mode::UpwardOnly)?;
        if !self.announce.ready || self.announce.awaiting.is_some() {
            return None;
        }
        if self.daos.next() > now {
            self.announce.put_off(self.daos.next());
            return None;
        }
        let acknowledged = self.config.acknowledged;
        let (message, parent) = (self.dao(acknowledged), self.transit_parent(&dodag)?);
        let advertised = if acknowledged { Advertised::InFlight } else { Advertised::Yes };
        let room = if self.announce.is_unanswered() { FRAME.min(buf.len()) } else { buf.len() };
        let mut writer = Writer::new(buf.get_mut(..room)?, &message).ok()?;
        let begun = writer.len();
        let own = self.own_target().filter(|_| self.announce.advertised == Advertised::No);
        if let Some((target, sequence)) = own {
            let lifetime = dodag.configuration.default_lifetime;
            let transit = Transit { parent, ..transit(sequence, lifetime, false) };
            put(&mut writer, target, &transit)?;
        }
        let (mut more, mut others) = (false, false);
        for route in self.routes.as_mut_slice().iter_mut().flatten() {
            let is_pending = route.advertised == Advertised::No && !route.is_left();
            if !is_pending || !(route.local || dodag.is_storing()) {
                continue;
            }
            // The transit of a leaf is its router (RFC 9010, 9.2.1): this one.
            let made = dodag.address(self.config.identifier);
            let parent = parent.and(made);
            let far = !route.local && route.is_usable();
            let lifetime = if far { route.lifetime.max(LONGEST) } else { route.lifetime };
            let transit = transit(route.sequence.value(), lifetime, route.external);
            if put(&mut writer, route.target, &Transit { parent, ..transit }).is_none() {
                more = true;
                break;
            }
            route.advertised = advertised;
            others |= far;
        }
        let len = writer.len();
        self.announce.ready = more;
        if len == begun {
            return None;
        }
        let _ = self.daos.allows(now);
        self.announce.sequence = self.announce.sequence.next();
        self.announce.left(now);
        if own.is_some() {
            self.announce.advertised = advertised;
            let lifetime = dodag.lifetime(dodag.configuration.default_lifetime);
            self.announce.refresh_within(now, lifetime, acknowledged, &mut self.random);
        }
        if others {
            let lifetime = dodag.lifetime(LONGEST);
            self.announce.reannounce_within(now, lifetime, acknowledged, &mut self.random);
        }
        if acknowledged {
            self.announce.await_acknowledgement(now, &mut self.random);
        } else {
            self.targets().sweep(false);
            if !more && dodag.is_storing() {
                self.settle();
            }
        }
        count(&mut self.stats.daos);
        let to = if dodag.is_storing() { preferred } else { dodag.id };
        Some(Out { to, code: message.code(), len })
    }
}

const fn transit(path_sequence: u8, path_lifetime: u8, external: bool) -> Transit {
    Transit { external, path_control: PATH_CONTROL, path_sequence, path_lifetime, parent: None }
}

/// Writes a target and its transit, or neither.
//= rfc6550#6.7.8-1 rfc6550#9.4-4
fn put(writer: &mut Writer<'_>, target: Target, transit: &Transit) -> Option<()> {
    let begun = writer.len();
    let written = writer.option(&ControlOption::Target(target));
    let written = written.and_then(|()| writer.option(&ControlOption::Transit(*transit)));
    if written.is_err() {
        writer.truncate(begun);
    }
    written.ok()
}

fn write(buf: &mut [u8], message: Message, options: &[ControlOption<'_>]) -> Option<(u8, usize)> {
    let mut writer = Writer::new(buf, &message).ok()?;
    for option in options {
        writer.option(option).ok()?;
    }
    Some((message.code(), writer.len()))
}

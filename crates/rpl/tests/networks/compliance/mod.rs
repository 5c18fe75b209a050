//! Requirements of RFC 6550 (`compliance/rfc6550.toml`), tested with one node whose neighbours are
//! simulated here: node 0 of the DODAG of node 9.

mod dodag;
mod information;
mod octets;
mod packets;
mod targets;

use crate::common::{Plan, address, near};
use core::net::Ipv6Addr;
use kinglet_rpl::{CONFIGURATION, Discard, MAX_LEN, Mode, Role, Root, Rpl, RplConfig};
use kinglet_time::{Duration, Instant};
use kinglet_wire::rpl::{
    Configuration, ControlOption, Dao, Dio, Dis, Message, PrefixInformation, RouteInformation,
    Target, Transit, Writer,
};

/// The root of the DODAG, and its rank.
const ROOT: usize = 9;
const STEP: u16 = CONFIGURATION.min_hop_rank_increase;
/// Rank of a neighbour that is also above the node, and not preferred.
const FARTHER: u16 = 2 * STEP + 44;
const DIS: u8 = 0;
const DIO: u8 = 1;
const DAO: u8 = 2;

const fn secs(secs: u64) -> Duration {
    Duration::from_secs(secs)
}

/// A message that the node has sent.
struct Sent {
    to: Ipv6Addr,
    code: u8,
    octets: Vec<u8>,
}

impl Sent {
    fn message(&self) -> Message {
        Message::parse(self.code, &self.octets).unwrap().0
    }

    fn options(&self) -> Vec<ControlOption<'_>> {
        Message::parse(self.code, &self.octets).unwrap().1.collect()
    }

    fn dio(&self) -> Dio {
        let Message::Dio(dio) = self.message() else { panic!("a DIO") };
        dio
    }

    fn dao(&self) -> Dao {
        let Message::Dao(dao) = self.message() else { panic!("a DAO") };
        dao
    }

    fn configuration(&self) -> Option<Configuration> {
        self.options().into_iter().find_map(|option| match option {
            ControlOption::Configuration(it) => Some(it),
            _ => None,
        })
    }

    fn prefix(&self) -> Option<PrefixInformation> {
        self.options().into_iter().find_map(|option| match option {
            ControlOption::Prefix(it) => Some(it),
            _ => None,
        })
    }

    fn route(&self) -> Option<RouteInformation> {
        self.options().into_iter().find_map(|option| match option {
            ControlOption::Route(it) => Some(it),
            _ => None,
        })
    }

    /// Returns each target of a DAO with the transit after it.
    fn targets(&self) -> Vec<(Target, Transit)> {
        let options = self.options();
        let pairs = options.chunks(2).map(|pair| match pair {
            [ControlOption::Target(target), ControlOption::Transit(transit)] => (*target, *transit),
            other => panic!("{other:?}"),
        });
        pairs.collect()
    }
}

fn of_code(sent: Vec<Sent>, code: u8) -> Vec<Sent> {
    sent.into_iter().filter(|message| message.code == code).collect()
}

/// The node and its clock.
struct Lone {
    rpl: Rpl<Plan>,
    now: Instant,
}

impl Lone {
    fn new(role: Role, change: impl FnOnce(&mut RplConfig)) -> Self {
        let identifier = if matches!(role, Role::Root(_)) { ROOT as u64 + 1 } else { 1 };
        let mut config = RplConfig { acknowledged: false, ..RplConfig::new(role, identifier, 7) };
        change(&mut config);
        Lone { rpl: Rpl::new(config), now: Instant::from_secs(1) }
    }

    fn root(mode: Mode) -> Self {
        Lone::new(Role::Root(Root::new(address(ROOT), mode)), |_| {})
    }

    /// Returns a router that has received DIOs of neighbour 1, one hop from the root, and of 2,
    /// farther away.
    fn router(mode: Mode) -> Self {
        let mut lone = Lone::new(Role::Router, |_| {});
        lone.says(1, dio(mode, 2 * STEP)).unwrap();
        lone.says(2, dio(mode, FARTHER)).unwrap();
        for neighbour in [1, 2] {
            lone.rpl.handle_sent(lone.now, near(neighbour), 1, true);
        }
        assert_eq!(lone.rpl.parent(), Some(near(1)));
        lone
    }

    fn hear(
        &mut self,
        from: Ipv6Addr,
        multicast: bool,
        message: Message,
        options: &[ControlOption<'_>],
    ) -> Result<(), Discard> {
        let mut octets = [0; 200];
        let mut writer = Writer::new(&mut octets, &message).unwrap();
        options.iter().for_each(|option| writer.option(option).unwrap());
        let len = writer.len();
        self.hear_octets(from, multicast, message.code(), &octets[..len])
    }

    fn hear_octets(
        &mut self,
        from: Ipv6Addr,
        multicast: bool,
        code: u8,
        octets: &[u8],
    ) -> Result<(), Discard> {
        self.rpl.handle_message(self.now, from, -60, multicast, code, octets)
    }

    /// Delivers a multicast DIO of a neighbour, with configuration and its address as prefix.
    fn says(&mut self, from: usize, dio: Dio) -> Result<(), Discard> {
        let options =
            [ControlOption::Configuration(CONFIGURATION), ControlOption::Prefix(prefix(from))];
        self.hear(near(from), true, Message::Dio(dio), &options)
    }

    fn asks(&mut self, multicast: bool, options: &[ControlOption<'_>]) -> Result<(), Discard> {
        self.hear(near(5), multicast, Message::Dis(Dis), options)
    }

    /// Delivers a DAO of a neighbour with these targets, all with one transit.
    fn announces(
        &mut self,
        from: Ipv6Addr,
        targets: &[Ipv6Addr],
        transit: Transit,
    ) -> Result<(), Discard> {
        let target = |prefix: &Ipv6Addr| Target { prefix: *prefix, prefix_len: 128 };
        let targets = targets.iter().map(target).map(ControlOption::Target);
        let options: Vec<_> = targets.chain([ControlOption::Transit(transit)]).collect();
        self.hear(from, false, Message::Dao(dao()), &options)
    }

    /// Returns the messages that are to be sent now; every frame to a neighbour arrives.
    fn sent(&mut self) -> Vec<Sent> {
        let (mut all, mut buf) = (Vec::new(), [0; MAX_LEN]);
        while let Some(out) = self.rpl.poll_message(self.now, &mut buf) {
            if out.to.is_unicast_link_local() {
                self.rpl.handle_sent(self.now, out.to, 1, true);
            }
            all.push(Sent { to: out.to, code: out.code, octets: buf[..out.len].to_vec() });
        }
        all
    }

    /// Advances the time. Returns the messages that were sent.
    fn run(&mut self, span: Duration) -> Vec<Sent> {
        let (end, mut all) = (self.now + span, self.sent());
        while let Some(at) = self.rpl.deadline().filter(|at| *at <= end) {
            self.now = self.now.max(at);
            self.rpl.handle_deadline(self.now);
            all.extend(self.sent());
        }
        self.now = end;
        all
    }

    /// Waits until Trickle is slow. Returns its interval.
    fn calm(&mut self) -> Duration {
        self.run(secs(400));
        let interval = self.rpl.info().interval.unwrap();
        assert!(interval > secs(30), "{interval:?}");
        interval
    }

    /// Returns whether Trickle was reset.
    fn has_reset(&self) -> bool {
        self.rpl.info().interval == Some(Duration::from_millis(512))
    }
}

/// Returns a DIO of the DODAG.
fn dio(mode: Mode, rank: u16) -> Dio {
    let mode = match mode {
        Mode::UpwardOnly => 0,
        Mode::NonStoring => 1,
        Mode::Storing => 2,
    };
    let (instance, version, grounded, preference, dtsn) = (0, 240, true, 0, 240);
    Dio { instance, version, rank, grounded, mode, preference, dtsn, dodag_id: address(ROOT) }
}

/// Returns the prefix as this neighbour advertises it: with its address.
fn prefix(from: usize) -> PrefixInformation {
    PrefixInformation {
        prefix_len: 64,
        on_link: false,
        autonomous: true,
        router_address: true,
        valid_secs: u32::MAX,
        preferred_secs: u32::MAX,
        prefix: address(from),
    }
}

fn dao() -> Dao {
    Dao { instance: 0, acknowledge: false, sequence: 241, dodag_id: None }
}

fn transit(path_sequence: u8, parent: Option<Ipv6Addr>) -> Transit {
    let (external, path_control, path_lifetime) = (false, 0x80, 30);
    Transit { external, path_control, path_sequence, path_lifetime, parent }
}

//! RPL keeps the laws of a layer, in every role and mode and with any message.

use core::net::Ipv6Addr;
use kinglet_rpl::{
    CONFIGURATION, Candidate, MAX_LEN, Mode, Probing, Role, Root, Route, Rpl, RplConfig, Sizes,
    Standard,
};
use kinglet_testkit::contract::{Subject, check};
use kinglet_time::{Duration, Instant};
use kinglet_wire::rpl::{
    Configuration, ControlOption, Dao, DaoAck, Dio, Dis, Message, PacketInformation,
    PrefixInformation, Solicited, Target, Transit, Writer,
};
use rand_core::Rng;
use rand_pcg::Pcg32;

const CANDIDATES: usize = 3;
const ROUTES: usize = 5;

struct Plan;
impl Sizes for Plan {
    type Objective = Standard;
    type Candidates = [Option<Candidate>; CANDIDATES];
    type Routes = [Option<Route>; ROUTES];
}

struct Device(Rpl<Plan>);

fn address(n: u8) -> Ipv6Addr {
    Ipv6Addr::new(0xFD00, 0, 0, 0, 0, 0, 0, n.into())
}

fn near(n: u8) -> Ipv6Addr {
    Ipv6Addr::new(0xFE80, 0, 0, 0, 0, 0, 0, n.into())
}

fn mode(n: u8) -> Mode {
    [Mode::Storing, Mode::NonStoring, Mode::UpwardOnly][usize::from(n % 3)]
}

/// Writes a DIO of one of two DODAGs, with options that are mostly valid.
fn some_dio(random: &mut Pcg32, writer: &mut [u8]) -> (u8, usize) {
    let [a, b, c, d] = random.next_u32().to_le_bytes();
    let dodag = if a & 0x70 == 0 { 9 } else { 8 };
    let rank = if c & 7 == 0 { u16::MAX } else { u16::from(c & 15) * 128 };
    let dio = Dio {
        instance: u8::from(b & 0x70 == 0),
        version: [240, 240, 240, 241, b][usize::from(a % 5)],
        rank,
        grounded: a & 8 == 0,
        mode: [2, 2, 2, 1, 0, 5][usize::from(d % 6)],
        preference: a & 1,
        dtsn: 240 + (d >> 6),
        dodag_id: address(dodag),
    };
    let message = Message::Dio(dio);
    let mut writer = Writer::new(writer, &message).unwrap();
    let configuration = Configuration {
        interval_min: b & 15,
        objective: u16::from(c >> 6),
        min_hop_rank_increase: if d & 0x30 == 0 { 0 } else { 128 },
        default_lifetime: d & 3,
        ..CONFIGURATION
    };
    if b & 3 != 0 {
        writer.option(&ControlOption::Configuration(configuration)).unwrap();
    }
    if b & 4 != 0 {
        let prefix = Root::new(address(dodag), Mode::Storing).prefix.unwrap();
        let prefix = PrefixInformation { router_address: b & 8 != 0, ..prefix };
        writer.option(&ControlOption::Prefix(prefix)).unwrap();
    }
    (1, writer.len())
}

/// Writes a DAO with up to three targets, some of them without transit.
fn some_dao(random: &mut Pcg32, writer: &mut [u8]) -> (u8, usize) {
    let [a, b, c, d] = random.next_u32().to_le_bytes();
    let dodag_id = (a & 0x30 == 0).then_some(address(8));
    let dao = Dao { instance: 0, acknowledge: a & 1 == 0, sequence: b, dodag_id };
    let mut writer = Writer::new(writer, &Message::Dao(dao)).unwrap();
    for n in 0..=(a >> 6) {
        let prefix = address((c.wrapping_add(n)) % 12);
        let prefix_len = if d & 0x70 == 0 { d } else { 128 }.min(128);
        writer.option(&ControlOption::Target(Target { prefix, prefix_len })).unwrap();
    }
    if d & 15 != 0 {
        let transit = Transit {
            external: d & 16 != 0,
            path_control: 0x80,
            path_sequence: 238 + (b & 7),
            path_lifetime: [0, 1, 2, 255][usize::from(d & 3)],
            parent: (b & 8 == 0).then_some(address(b % 12)),
        };
        writer.option(&ControlOption::Transit(transit)).unwrap();
    }
    (2, writer.len())
}

/// Returns code and octets of a message that is well-formed, damaged or noise.
fn some_message(random: &mut Pcg32) -> (u8, Vec<u8>) {
    let [kind, a, b, cut] = random.next_u32().to_le_bytes();
    let mut octets = [0; MAX_LEN + 32];
    let (code, len) = match kind % 8 {
        0 => {
            random.fill_bytes(&mut octets);
            (a % 5, usize::from(cut) % MAX_LEN)
        }
        1 => {
            let mut writer = Writer::new(&mut octets, &Message::Dis(Dis)).unwrap();
            let version = (a & 1 == 0).then_some(240);
            let solicited = Solicited { version, ..Solicited::default() };
            if b & 1 == 0 {
                writer.option(&ControlOption::Solicited(solicited)).unwrap();
            }
            (0, writer.len())
        }
        2 => {
            let ack = DaoAck { instance: 0, sequence: 241 + (a & 3), status: b, dodag_id: None };
            let writer = Writer::new(&mut octets, &Message::DaoAck(ack)).unwrap();
            (3, writer.len())
        }
        3 | 4 => some_dao(random, &mut octets),
        _ => some_dio(random, &mut octets),
    };
    let mut octets = octets[..len].to_vec();
    if kind & 0x80 != 0 && cut & 3 == 0 && !octets.is_empty() {
        let at = usize::from(b) % octets.len();
        octets[at] ^= a;
    }
    (code, octets)
}

impl Subject for Device {
    /// Four replies; for a former parent and a parent at most one DAO for each target, and the own
    /// address; a DIS, a DIO, two changes.
    const DRAIN_BOUND: usize = 4 + 2 * (ROUTES + 1) + 2 + 2;

    fn fresh(seed: u64) -> Self {
        let role = match seed % 5 {
            0 | 1 => Role::Router,
            2 => Role::Leaf,
            3 => Role::Root(Root::new(address(8), mode((seed >> 3) as u8))),
            _ if seed & 16 == 0 => Role::Off,
            _ => Role::Router,
        };
        let identifier = if seed % 5 == 3 { 8 } else { 7 };
        let mut config = RplConfig::new(role, identifier, seed);
        config.acknowledged = seed & 8 == 0;
        if seed & 4 == 0 {
            config.probing = Probing::After(Duration::from_secs(20));
        }
        Device(Rpl::new(config))
    }

    fn operate(&mut self, now: Instant, random: &mut Pcg32) -> String {
        let dice = random.next_u32();
        let from = (dice >> 8 & 7) as u8;
        let information = PacketInformation {
            down: dice & 0x100_0000 != 0,
            rank_error: dice & 0x200_0000 != 0,
            forwarding_error: dice & 0xC00_0000 == 0,
            instance: u8::from(dice & 0x3000_0000 == 0),
            sender_rank: (dice >> 16 & 7) as u16,
        };
        match dice & 15 {
            0..=2 => {
                self.0.handle_sent(now, near(from), (dice >> 16 & 7) as u8, dice & 0x80 != 0);
                format!("sent to {from}")
            }
            3 => {
                let to = address((dice >> 12 & 15) as u8);
                let information = (dice & 0x80 != 0).then_some(information);
                format!("{:?}", self.0.relay(now, near(from), to, information))
            }
            4 => {
                let leaf = address((dice >> 12 & 15) as u8);
                let (sequence, lifetime) =
                    ((dice >> 20) as u8, Duration::from_secs(u64::from(dice >> 16 & 1)));
                format!("{:?}", self.0.handle_leaf(now, leaf, near(from), sequence, lifetime))
            }
            5 if dice & 0xF0 == 0 => {
                self.0.repair(now);
                self.0.refresh(now);
                self.0.set_overloaded(dice & 0x100 != 0);
                "repair".into()
            }
            _ => {
                let (code, octets) = some_message(random);
                let from = if dice & 0x700 == 0 { address(from) } else { near(from) };
                let multicast = dice & 0x80 != 0;
                let result = self.0.handle_message(now, from, -60, multicast, code, &octets);
                format!("{from} {code}: {octets:x?}: {result:?}")
            }
        }
    }

    fn poll(&mut self, now: Instant) -> Option<String> {
        let mut buf = [0; MAX_LEN];
        if let Some(out) = self.0.poll_message(now, &mut buf) {
            let message = Message::parse(out.code, &buf[..out.len]);
            assert!(message.is_ok(), "{message:?}");
            return Some(format!("{out:?} {:x?}", &buf[..out.len]));
        }
        self.0.poll_change().map(|change| format!("{change:?}"))
    }

    fn deadline(&self) -> Option<Instant> {
        self.0.deadline()
    }

    fn handle_deadline(&mut self, now: Instant) {
        self.0.handle_deadline(now);
    }

    fn observe(&self) -> String {
        let rpl = &self.0;
        let next_hops: Vec<_> = (0..12).map(|n| rpl.route(address(n))).collect();
        let mut hops = [Ipv6Addr::UNSPECIFIED; 4];
        let source: Vec<_> = (0..12).map(|n| rpl.source_route(address(n), &mut hops)).collect();
        let candidates: Vec<_> = rpl.candidates().collect();
        format!("{next_hops:?} {source:?} {candidates:?} {:?} {:?}", rpl.info(), rpl.stats())
    }

    /// A buffer is too short for any message: nothing may change. A message that waits cannot be
    /// detected without taking it.
    fn refuse(&mut self, now: Instant) -> bool {
        let before = self.observe();
        assert_eq!(self.0.poll_message(now, &mut []), None);
        assert_eq!(before, self.observe());
        false
    }

    fn occupancy(&self) -> Vec<(usize, usize)> {
        let info = self.0.info();
        vec![(info.candidates, CANDIDATES), (info.routes, ROUTES)]
    }
}

#[test]
fn rpl_keeps_the_laws() {
    check::<Device>(0..120, 300);
}

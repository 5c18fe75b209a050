//! AODV keeps the laws of a layer, in every role, with either metric and any message.

use kinglet_aodv::{
    Aodv, AodvConfig, Link, MAX_LEN, Metric, OUTSIDE, Quality, Request, Role, Route, Search, Sizes,
};
use kinglet_testkit::contract::{Subject, check};
use kinglet_time::Instant;
use kinglet_wire::aodv::{RerrWriter, Rrep, Rreq, Unreachable};
use rand_core::Rng;
use rand_pcg::Pcg32;

const ROUTES: usize = 5;
const REQUESTS: usize = 3;
const SEARCHES: usize = 2;
const LINKS: usize = 3;

pub(crate) struct Plan;
impl Sizes for Plan {
    type Routes = [Option<Route>; ROUTES];
    type Requests = [Option<Request>; REQUESTS];
    type Searches = [Option<Search>; SEARCHES];
    type Links = [Option<Link>; LINKS];
}

struct Device(Aodv<Plan>);

/// Returns one of a few devices, and sometimes all destinations outside.
pub(crate) fn someone(dice: u8) -> u16 {
    if dice & 0x38 == 0 { OUTSIDE } else { u16::from(dice & 7) }
}

/// Returns one of a few consecutive numbers around the wrap.
fn number(dice: u8) -> u32 {
    u32::from(dice & 15).wrapping_sub(8)
}

/// Returns a message that is well-formed, damaged or noise.
pub(crate) fn some_message(random: &mut Pcg32) -> Vec<u8> {
    let mut dice = [0; 8];
    random.fill_bytes(&mut dice);
    let [kind, a, b, c, d, e, f, cut] = dice;
    let mut octets = vec![0; MAX_LEN + 1];
    let path_dr = (c & 0x30 != 0).then_some(u16::from_be_bytes([e, f]));
    let len = match kind % 8 {
        0 => {
            random.fill_bytes(&mut octets);
            octets.len()
        }
        1..=3 => {
            let rreq = Rreq {
                destination_only: true,
                ttl: [0, 1, 2, 16][usize::from(d & 3)],
                hop_count: d >> 3 & 31,
                id: number(a >> 4),
                destination: someone(a),
                destination_sequence: (b & 0x80 != 0).then_some(number(b)),
                originator: u16::from(c & 7),
                originator_sequence: number(e),
                path_dr,
            };
            rreq.emit(&mut octets).unwrap();
            rreq.buffer_len()
        }
        4..=6 => {
            let rrep = Rrep {
                hop_count: d >> 3 & 31,
                destination: someone(a),
                destination_sequence: number(b),
                originator: u16::from(c & 7),
                lifetime_ms: u32::from(e) * 200,
                path_dr,
            };
            rrep.emit(&mut octets).unwrap();
            rrep.buffer_len()
        }
        _ => {
            let mut writer = RerrWriter::new(&mut octets).unwrap();
            for destination in 0..=u16::from(a & 7) {
                writer.entry(Unreachable { destination, sequence: number(b) }).unwrap();
            }
            writer.len()
        }
    };
    // Some are damaged, or cut off.
    if cut & 0xF0 == 0 {
        let at = usize::from(a) % len;
        octets[at] ^= 1 << (b & 7);
    }
    octets.truncate(if cut & 15 == 0 { usize::from(b) % len } else { len });
    octets
}

/// Returns the settings of device 1: each role, metric and quality.
pub(crate) fn config(seed: u64) -> AodvConfig {
    let role = [Role::Router, Role::BorderRouter, Role::Router, Role::Off];
    let mut config = AodvConfig::new(1, role[(seed % 4) as usize], seed);
    config.metric = if seed & 4 == 0 { Metric::PathDr } else { Metric::HopCount };
    config.quality = if seed & 8 == 0 { Quality::CC2420 } else { Quality { none: 255, all: 0 } };
    config
}

/// Returns all that can be seen of AODV without a change of it.
pub(crate) fn observe(aodv: &Aodv<Plan>) -> String {
    let seen = (0..10).chain([OUTSIDE]).map(|n| (aodv.next_hop(n), aodv.is_discovering(n)));
    let (seen, routes): (Vec<_>, Vec<_>) = (seen.collect(), aodv.routes().collect());
    format!("{seen:?} {routes:?} {:?} {:?}", aodv.info(), aodv.stats())
}

impl Subject for Device {
    /// Four replies, a reply or a relayed request for each flood, a request for each search, an
    /// error for each route, and a change.
    const DRAIN_BOUND: usize = 4 + REQUESTS + SEARCHES + ROUTES + 1;

    fn fresh(seed: u64) -> Self {
        Device(Aodv::new(config(seed)))
    }

    fn operate(&mut self, now: Instant, random: &mut Pcg32) -> String {
        let [kind, a, b, lqi] = random.next_u32().to_le_bytes();
        let (from, to) = (u16::from(b & 7), someone(a));
        match kind % 12 {
            0 | 1 => format!("seek {to}: {}", self.0.discover(now, to)),
            2 => {
                let source = (a & 0x40 != 0).then_some(from);
                let before = (b & 0x80 != 0).then_some(u16::from(b >> 4 & 7));
                self.0.handle_use(now, source, Some(to), before);
                format!("from {source:?} over {before:?} to {to}")
            }
            3 => {
                self.0.handle_stray(now, to, from);
                format!("{from} sends to {to}")
            }
            4 => {
                self.0.handle_sent(now, from, lqi & 3 != 0);
                format!("sent to {from}")
            }
            _ => {
                self.0.handle_heard(now, from, lqi);
                let octets = some_message(random);
                let result = self.0.handle_message(now, from, &octets);
                format!("{from} at {lqi}: {octets:x?}: {result:?}")
            }
        }
    }

    fn poll(&mut self, now: Instant) -> Option<String> {
        let mut buf = [0; MAX_LEN];
        if let Some(out) = self.0.poll_message(now, &mut buf) {
            return Some(format!("{out:?} {:x?}", &buf[..out.len]));
        }
        self.0.poll_change().then(|| "change".to_owned())
    }

    fn deadline(&self) -> Option<Instant> {
        self.0.deadline()
    }

    fn handle_deadline(&mut self, now: Instant) {
        self.0.handle_deadline(now);
    }

    fn observe(&self) -> String {
        observe(&self.0)
    }

    /// Checks that a buffer too short for any message changes nothing. The presence of a message
    /// cannot be queried without taking it.
    fn refuse(&mut self, now: Instant) -> bool {
        let before = self.observe();
        assert_eq!(self.0.poll_message(now, &mut []), None);
        assert_eq!(before, self.observe());
        false
    }

    fn occupancy(&self) -> Vec<(usize, usize)> {
        let info = self.0.info();
        vec![
            (info.routes, ROUTES),
            (info.requests, REQUESTS),
            (info.searches, SEARCHES),
            (info.links, LINKS),
        ]
    }
}

#[test]
fn aodv_keeps_the_laws() {
    check::<Device>(0..100, 300);
}

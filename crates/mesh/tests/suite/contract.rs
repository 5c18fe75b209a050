//! The mesh satisfies the layer contract, in every role and with any message.

use kinglet_mesh::{Leaf, MAX_LEN, Mesh, MeshConfig, Neighbour, Role, Route, Sizes};
use kinglet_testkit::contract::{Subject, check};
use kinglet_time::{Duration, Instant};
use rand_core::Rng;
use rand_pcg::Pcg32;

const NEIGHBOURS: usize = 3;
const ROUTES: usize = 5;
const LEAVES: usize = 4;

struct Plan;
impl Sizes for Plan {
    type Neighbours = [Option<Neighbour>; NEIGHBOURS];
    type Routes = [Option<Route>; ROUTES];
    type Leaves = [Option<Leaf>; LEAVES];
    type Data = [u8; 32];
}

struct Device(Mesh<Plan>);

/// A message that is well-formed, damaged or noise.
fn some_message(random: &mut Pcg32) -> Vec<u8> {
    let [kind, entries, leaves, cut] = random.next_u32().to_le_bytes();
    let mut octets = vec![0; MAX_LEN + 1];
    random.fill_bytes(&mut octets);
    if kind & 7 == 0 {
        octets.truncate(usize::from(cut) % (MAX_LEN + 2));
        return octets;
    }
    let (entries, leaves) = (usize::from(entries % 6), usize::from(leaves % 4));
    let len = [2 + 3 * entries + 5 * leaves, 1, 2, 3, 3, 1][usize::from(kind % 6)];
    octets.truncate(len);
    octets[0] = 0x11 + kind % 6;
    if kind.is_multiple_of(6) {
        octets[1] = octets[1] & 0xC0 | entries as u8;
        for at in (2..2 + 3 * entries).step_by(3).chain((2 + 3 * entries..len).step_by(5)) {
            (octets[at], octets[at + 1]) = (0, octets[at + 1] % 8);
        }
        for at in (4 + 3 * entries..len).step_by(5) {
            (octets[at], octets[at + 1]) = match octets[at] & 3 {
                0 => (0xFF, 0xFF),
                _ => (0, octets[at + 1] % 8),
            };
        }
    } else if len > 1 {
        // Mostly valid numbers.
        octets[1] &= 0xC3;
        octets[1] %= if kind % 6 == 4 { 3 } else { 255 };
        if kind % 6 == 3 {
            octets[2] &= 1;
        }
    }
    octets
}

impl Subject for Device {
    /// Four responses, an attachment, an advertisement in as many frames as it has entries, and a
    /// change for every leaf.
    const DRAIN_BOUND: usize = 4 + 1 + ROUTES + LEAVES + LEAVES;

    fn fresh(seed: u64) -> Self {
        let role = [Role::Router, Role::Leaf, Role::BorderRouter, Role::Router, Role::Off];
        let mut config = MeshConfig::new(1, role[(seed % 5) as usize], seed);
        config.parent = (seed & 8 != 0).then_some(3);
        config.sleeps = seed & 4 != 0;
        config.noise_floor_dbm = if seed.is_multiple_of(3) { -100 } else { -95 };
        config.child_timeout = Duration::from_secs(seed % 4 * 80);
        Device(Mesh::new(config))
    }

    fn operate(&mut self, now: Instant, random: &mut Pcg32) -> String {
        let dice = random.next_u32();
        let (from, rssi) = ((dice >> 8 & 7) as u16, -110 + (dice >> 16 & 63) as i8);
        match dice & 7 {
            0 => {
                self.0.handle_heard(now, from, rssi);
                format!("heard {from} at {rssi}")
            }
            1 | 2 => {
                self.0.handle_sent(now, from, dice & 0x80 != 0);
                format!("sent to {from}")
            }
            _ => {
                let octets = some_message(random);
                let result = self.0.handle_message(now, from, rssi, &octets);
                format!("{from} at {rssi}: {octets:x?}: {result:?}")
            }
        }
    }

    fn poll(&mut self, now: Instant) -> Option<String> {
        let mut buf = [0; MAX_LEN];
        if let Some(out) = self.0.poll_message(now, &mut buf) {
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
        let (mesh, hops) = (&self.0, (0..10).map(|n| self.0.next_hop(n)).collect::<Vec<_>>());
        let routes: Vec<_> = mesh.routes().collect();
        let neighbours: Vec<_> = mesh.neighbours().collect();
        let rest = (mesh.info(), mesh.stats(), mesh.listens(), mesh.cost_outside());
        let children: Vec<_> = mesh.children().collect();
        format!("{hops:?} {routes:?} {neighbours:?} {rest:?} {children:?}")
    }

    /// A buffer that is too short for any message: the state must not change. The test cannot check
    /// whether there was a message without polling it.
    fn refuse(&mut self, now: Instant) -> bool {
        let before = self.observe();
        assert_eq!(self.0.poll_message(now, &mut []), None);
        assert_eq!(before, self.observe());
        false
    }

    fn occupancy(&self) -> Vec<(usize, usize)> {
        let info = self.0.info();
        vec![(info.neighbours, NEIGHBOURS), (info.routes, ROUTES), (info.leaves, LEAVES)]
    }
}

#[test]
fn the_mesh_keeps_the_laws() {
    check::<Device>(0..60, 300);
}

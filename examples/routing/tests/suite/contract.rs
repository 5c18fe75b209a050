//! Flooding keeps the laws of a layer, with any message.

use kinglet_flood::Flood;
use kinglet_routing::{Identity, MAX_MESSAGE, Routing};
use kinglet_testkit::contract::{Subject, check};
use kinglet_time::Instant;
use kinglet_wire::ieee802154::Address;
use rand_core::Rng;
use rand_pcg::Pcg32;

const ROUTES: usize = 4;

struct Device(Flood<ROUTES>);

impl Subject for Device {
    /// An own beacon, a copy for each route, and a change.
    const DRAIN_BOUND: usize = 1 + ROUTES + 1;

    fn fresh(seed: u64) -> Self {
        let node = Identity { link: Address::Short(1), short: 1, sleeps: false, seed };
        let prefix = "2001:db8::".parse().unwrap();
        Device(if seed % 8 == 7 { Routing::NONE } else { Flood::new(node, prefix, seed & 1 == 0) })
    }

    fn operate(&mut self, now: Instant, random: &mut Pcg32) -> String {
        let [kind, a, b, rssi] = random.next_u32().to_le_bytes();
        let from = u16::from(a & 7);
        if kind % 8 == 0 {
            self.0.handle_sent(now, Address::Short(from), 1, b & 3 != 0);
            return format!("sent to {from}");
        }
        let mut octets = vec![0x46, 0, b & 7, 0, b >> 3, kind];
        if kind % 8 == 1 {
            octets.resize(usize::from(a) % (MAX_MESSAGE + 2), rssi);
        }
        self.0.handle_message(now, from, -(rssi as i8 & 0x7F), &octets);
        format!("{from}: {octets:x?}")
    }

    fn poll(&mut self, now: Instant) -> Option<String> {
        let mut buf = [0; MAX_MESSAGE];
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
        let route = |n| self.0.route(format!("2001:db8::ff:fe00:{n}").parse().unwrap());
        let routes: Vec<_> = (0..8).map(route).collect();
        format!("{routes:?} {:?}", self.0.stats())
    }
}

#[test]
fn flooding_keeps_the_laws() {
    check::<Device>(0..100, 300);
}

//! Versions of what a 6LBR offers.

use crate::serving::{ALL, NOW, Nd, OWN, ROOT, SECOND, border, hear_from, local, root, sent, wait};
use kinglet_wire::ieee802154::Address;
use kinglet_wire::nd::{BorderRouter, Kind, NdOption};

/// RFC 6775, 7: the version survives a restart, in the memory of the neighbours.
#[test]
fn a_border_router_that_restarts_takes_a_newer_version_than_its_former_life() {
    let mut nd = root();
    let own = border(OWN).version;
    let advertised = |nd: &mut Nd, now, address, version| {
        let it = BorderRouter { version, ..border(address) };
        let options = [NdOption::SourceLinkAddress(Address::Short(9)), NdOption::BorderRouter(it)];
        let kind = Kind::RouterAdvertisement(Default::default());
        hear_from(nd, now, (local(9), ALL, 255), kind, &options).unwrap();
        let link = [NdOption::SourceLinkAddress(Address::Short(7))];
        hear_from(nd, now, (local(7), ALL, 255), Kind::RouterSolicitation, &link).unwrap();
        let (first, later) = (sent(nd, now), wait(nd, now + SECOND * 60));
        let message = kinglet_wire::nd::Message::parse(&first[0].1).unwrap();
        let version = message.options().find_map(|option| match option {
            NdOption::BorderRouter(it) => Some(it.version),
            _ => None,
        });
        (version.unwrap(), first.len() + later.len())
    };
    wait(&mut nd, NOW + SECOND * 60);
    let mut now = NOW + SECOND * 100;
    // Its own version, an older one, and that of another border router.
    for (address, version) in [(OWN, own), (OWN, own - 1), (ROOT, own + 9)] {
        assert_eq!(advertised(&mut nd, now, address, version), (own, 1));
        now += SECOND * 100;
    }
    // The response, and three advertisements to all.
    assert_eq!(advertised(&mut nd, now, OWN, own + 4), (own + 5, 4));
    now += SECOND * 100;
    // A version without a successor.
    assert_eq!(advertised(&mut nd, now, OWN, u32::MAX), (own + 5, 1));
}

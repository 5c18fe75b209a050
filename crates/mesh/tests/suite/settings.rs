//! The configuration of a mesh takes effect in its messages.

use kinglet_mesh::{
    Change, Destination, Leaf, MAX_LEN, Mesh, MeshConfig, Neighbour, Out, Role, Route, Sizes,
};
use kinglet_time::{Duration, Instant};

struct Plan;
impl Sizes for Plan {
    type Neighbours = [Option<Neighbour>; 4];
    type Routes = [Option<Route>; 4];
    type Leaves = [Option<Leaf>; 4];
    type Data = [u8; 32];
}

const NOW: Instant = Instant::from_secs(1);
/// See `message.rs`: a Child Id Request of a new leaf, which does not sleep.
const CHILD_ID_REQUEST: [u8; 3] = [0x14, 1, 0];

fn router(change: impl FnOnce(&mut MeshConfig)) -> Mesh<Plan> {
    let mut config = MeshConfig::new(1, Role::Router, 1);
    change(&mut config);
    Mesh::new(config)
}

fn sent(mesh: &mut Mesh<Plan>, now: Instant) -> Option<(Destination, Vec<u8>)> {
    let mut buf = [0; MAX_LEN];
    let Out { to, len } = mesh.poll_message(now, &mut buf)?;
    Some((to, buf[..len].to_vec()))
}

#[test]
fn a_child_is_kept_for_the_timeout_that_was_set() {
    for seconds in [30, 240, 900] {
        let timeout = Duration::from_secs(seconds);
        let mut mesh = router(|config| config.child_timeout = timeout);
        mesh.handle_message(NOW, 7, -60, &CHILD_ID_REQUEST).unwrap();
        assert_eq!(mesh.poll_change(), Some(Change::ChildAdded { child: 7, sleeps: false }));
        mesh.handle_deadline(NOW + timeout - Duration::from_micros(1));
        assert_eq!(mesh.poll_change(), None, "too early");
        mesh.handle_deadline(NOW + timeout);
        assert_eq!(mesh.poll_change(), Some(Change::ChildRemoved(7)));
    }
}

#[test]
fn a_signal_is_as_good_as_it_is_above_the_noise_floor_that_was_set() {
    let quality = |noise_floor_dbm| {
        let mut mesh = router(|config| config.noise_floor_dbm = noise_floor_dbm);
        // An empty advertisement.
        mesh.handle_message(NOW, 2, -85, &[0x11, 0]).unwrap();
        mesh.neighbours().next().map(|neighbour| neighbour.quality_in)
    };
    // Thread's margins for qualities 1 to 3 are 2, 10 and 20 dB.
    let floors = [-110, -100, -90].map(quality);
    assert_eq!(floors, [Some(3), Some(2), Some(1)]);
}

#[test]
fn a_leaf_with_a_given_parent_polls_no_other_node() {
    for (parent, to) in [(Some(9), Destination::Short(9)), (None, Destination::Broadcast)] {
        let mut leaf: Mesh<Plan> =
            Mesh::new(MeshConfig { parent, ..MeshConfig::new(1, Role::Leaf, 1) });
        let first = (0..10).find_map(|_| {
            let now = leaf.deadline().expect("it looks for a parent");
            leaf.handle_deadline(now);
            sent(&mut leaf, now)
        });
        assert_eq!(first.map(|(to, _)| to), Some(to));
    }
}

#[test]
fn a_leaf_announces_to_its_parent_whether_it_sleeps() {
    for sleeps in [false, true] {
        let config = MeshConfig { parent: Some(9), sleeps, ..MeshConfig::new(5, Role::Leaf, 1) };
        let mut leaf: Mesh<Plan> = Mesh::new(config);
        let request = (0..10).find_map(|_| {
            let now = leaf.deadline().expect("it looks for a parent");
            leaf.handle_deadline(now);
            sent(&mut leaf, now)
        });
        let request = request.expect("a request").1;
        let mut parent = router(|_| {});
        parent.handle_message(NOW, 5, -60, &request).unwrap();
        assert_eq!(parent.poll_change(), Some(Change::ChildAdded { child: 5, sleeps }));
    }
}

#[test]
fn a_node_that_takes_no_part_says_and_hears_nothing() {
    let mut mesh: Mesh<Plan> = Mesh::new(MeshConfig::OFF);
    assert_eq!((mesh.deadline(), sent(&mut mesh, NOW)), (None, None));
    assert!(mesh.handle_message(NOW, 7, -60, &CHILD_ID_REQUEST).is_err());
    assert_eq!((mesh.poll_change(), mesh.info().leaves), (None, 0));
}

/// An advertisement without destinations may also come from a large table without changes.
#[test]
fn only_a_router_that_says_that_it_has_no_routes_is_answered_soon() {
    let mut first = router(|_| {});
    let started = loop {
        let now = first.deadline().expect("a router advertises");
        first.handle_deadline(now);
        if let Some((_, octets)) = sent(&mut first, now) {
            break octets;
        }
    };
    assert_eq!(started, [0x11, 0x40], "it has none");
    const FROM_NEIGHBOUR: [u8; 5] = [0x11, 1, 0, 1, 0xF1];
    for (octets, soon) in [([0x11, 0x40], true), ([0x11, 0], false)] {
        let mut mesh = router(|_| {});
        let mut now = NOW;
        while now < NOW + Duration::from_secs(600) {
            now = mesh.deadline().expect("a router advertises");
            mesh.handle_deadline(now);
            let has_none = mesh.info().routes == 0;
            while let Some((_, octets)) = sent(&mut mesh, now) {
                let says = octets.get(1).is_some_and(|flags| flags & 0x40 != 0);
                assert_eq!(says, has_none && octets[0] == 0x11);
            }
            mesh.handle_message(now, 2, -60, &FROM_NEIGHBOUR).unwrap();
        }
        let calm = mesh.info().interval;
        mesh.handle_message(now, 2, -60, &octets).unwrap();
        assert_eq!(mesh.info().interval < calm, soon, "{octets:x?}, {calm:?}");
    }
}

const MAX_AGE: Duration = Duration::from_secs(100);

/// Advances the time with an advertisement of neighbour 2 now and then.
fn hear_neighbour(mesh: &mut Mesh<Plan>, from: Instant, span: Duration, octets: &[u8]) -> Instant {
    let mut now = from;
    while now < from + span {
        now = mesh.deadline().expect("a router advertises");
        mesh.handle_deadline(now);
        while sent(mesh, now).is_some() {}
        mesh.handle_heard(now, 2, -60);
        mesh.handle_message(now, 2, -60, octets).unwrap();
    }
    now
}

/// Advances the time without received frames.
fn hear_nothing(mesh: &mut Mesh<Plan>, from: Instant, span: Duration) -> Instant {
    let mut now = from;
    while now < from + span {
        now = mesh.deadline().expect("a router advertises");
        mesh.handle_deadline(now);
        while sent(mesh, now).is_some() {}
    }
    now
}

/// It does not announce that it has no routes: that advertisement was lost.
#[test]
fn a_neighbour_that_comes_back_soon_learns_that_it_is_received() {
    let mut mesh = router(|_| {});
    let now = hear_neighbour(&mut mesh, NOW, MAX_AGE, &[0x11, 1, 0, 1, 0xF1]);
    let now = hear_nothing(&mut mesh, now, MAX_AGE + Duration::from_secs(60));
    assert_eq!((mesh.info().neighbours, mesh.info().routes), (0, 1), "its route is remembered");
    let calm = mesh.info().interval;
    mesh.handle_message(now, 2, -60, &[0x11, 1, 0, 3, 0xF1]).unwrap();
    assert!(mesh.info().interval < calm, "{calm:?}");
}

/// Nodes downstream may have a route through this router only.
#[test]
fn routes_that_a_neighbour_advertised_before_its_loss_do_not_return_with_it() {
    let mut mesh = router(|_| {});
    let usable = |mesh: &Mesh<Plan>| mesh.routes().filter(|route| route.cost < 16).count();
    let all = [0x11, 2, 0, 1, 0xF1, 0, 3, 0xF1];
    let now = hear_neighbour(&mut mesh, NOW, MAX_AGE, &all);
    assert_eq!(usable(&mesh), 2);
    let now = hear_nothing(&mut mesh, now, MAX_AGE + Duration::from_secs(60));
    assert_eq!(usable(&mesh), 0);
    mesh.handle_message(now, 2, -60, &[0x11, 1, 0, 1, 0xF1]).unwrap();
    mesh.handle_heard(now, 2, -60);
    assert_eq!(usable(&mesh), 1, "only the way to itself");
}

/// The same for a link that has died and a neighbour that restarts. If the link has not died, the
/// restart was short, and the neighbour soon has its routes back.
#[test]
fn advertisements_from_before_a_restart_are_void() {
    for (flags, dies, usable) in [(0x41, true, 1), (0x01, true, 2), (0x41, false, 2)] {
        let mut mesh = router(|_| {});
        let all = [0x11, 2, 0, 1, 0xF1, 0, 3, 0xF1];
        let now = hear_neighbour(&mut mesh, NOW, MAX_AGE, &all);
        if dies {
            (0..4).for_each(|_| mesh.handle_sent(now, 2, false));
            assert_eq!(mesh.routes().filter(|route| route.cost < 16).count(), 0);
        }
        let now = hear_nothing(&mut mesh, now, Duration::from_secs(10));
        mesh.handle_message(now, 2, -60, &[0x11, flags, 0, 1, 0xF1]).unwrap();
        mesh.handle_sent(now, 2, true);
        let routes: Vec<_> = mesh.routes().collect();
        assert_eq!(
            routes.iter().filter(|route| route.cost < 16).count(),
            usable,
            "{flags:x} {routes:?}"
        );
    }
}

/// Otherwise two neighbours that displace each other would cause changes for ever.
#[test]
fn a_neighbour_that_displaces_another_waits_for_the_next_advertisement() {
    let mut mesh = router(|_| {});
    let mut now = NOW;
    // Four routes and four neighbours fill both tables; none of these neighbours receives this
    // router.
    while now < NOW + Duration::from_secs(90) {
        now = mesh.deadline().expect("a router advertises");
        mesh.handle_deadline(now);
        while sent(&mut mesh, now).is_some() {}
        for from in 2..=5 {
            mesh.handle_heard(now, from, -80);
            mesh.handle_message(now, from, -80, &[0x11, 0]).unwrap();
        }
    }
    let calm = mesh.info();
    assert_eq!((calm.neighbours, calm.routes), (4, 4));
    mesh.handle_message(now, 6, -60, &[0x11, 0]).unwrap();
    assert!(mesh.neighbours().any(|neighbour| neighbour.short == 6));
    assert_eq!(mesh.info().interval, calm.interval);
}

//! The mesh: messages, link feedback of the MAC and time in any order.

use crate::input::Input;
use kinglet_mesh::{Discard, Leaf, MAX_LEN, Mesh, MeshConfig, Neighbour, Role, Route, Sizes};

const NEIGHBOURS: usize = 2;
const ROUTES: usize = 4;
const LEAVES: usize = 3;

struct Plan;

impl Sizes for Plan {
    type Neighbours = [Option<Neighbour>; NEIGHBOURS];
    type Routes = [Option<Route>; ROUTES];
    type Leaves = [Option<Leaf>; LEAVES];
    type Data = [u8; 16];
}

const OWN: u16 = 1;
/// Four replies, an attachment, and an advertisement in as many frames as it has entries.
const MESSAGES: usize = 4 + 1 + ROUTES + LEAVES;

/// The mesh: tables stay bounded, no next hop is the node itself, and other nodes can parse all
/// messages.
pub fn mesh_messages(data: &[u8]) {
    let mut input = Input::new(data);
    let Some(setup) = input.octet() else { return };
    let role = [Role::Router, Role::Leaf, Role::BorderRouter, Role::Off][usize::from(setup % 4)];
    let parent = (setup & 8 != 0).then_some(3);
    let config = MeshConfig::new(OWN, role, u64::from(setup));
    let mut mesh: Mesh<Plan> = Mesh::new(MeshConfig { parent, sleeps: setup & 4 != 0, ..config });
    let mut others: [Mesh<Plan>; 2] =
        [Role::Router, Role::Leaf].map(|role| Mesh::new(MeshConfig::new(2, role, 7)));
    while let Some(call) = input.octet() {
        let (now, from) = (input.now(), u16::from(call >> 5));
        let rssi_dbm = -100 + (call & 24) as i8;
        match call % 8 {
            0 => drop(input.later()),
            1 => mesh.handle_sent(now, from, call & 8 != 0),
            2 => mesh.handle_heard(now, from, rssi_dbm),
            3 => {
                let now = input.skip_to(mesh.deadline().unwrap_or(now));
                mesh.handle_deadline(now);
                assert!(mesh.deadline().is_none_or(|next| next > now), "no stale deadline");
            }
            _ => {
                let _ = mesh.handle_message(now, from, rssi_dbm, input.octets());
            }
        }
        drain(&mut mesh, &mut others, &input);
        for short in (0..8).chain([0xfffe, 0xffff]) {
            assert_ne!(mesh.next_hop(short), Some(OWN));
        }
        let info = mesh.info();
        assert!(info.neighbours <= NEIGHBOURS && info.routes <= ROUTES && info.leaves <= LEAVES);
    }
}

/// Drains all messages; other nodes parse them.
fn drain(mesh: &mut Mesh<Plan>, others: &mut [Mesh<Plan>], input: &Input<'_>) {
    let mut buf = [0; MAX_LEN];
    let mut messages = 0;
    while let Some(out) = mesh.poll_message(input.now(), &mut buf) {
        messages += 1;
        assert!(messages <= MESSAGES, "draining ends");
        for other in &mut *others {
            let heard = other.handle_message(input.now(), OWN, -60, &buf[..out.len]);
            assert!(!matches!(heard, Err(Discard::Malformed(_))), "{heard:?}");
        }
    }
    let changes = (0..=LEAVES).take_while(|_| mesh.poll_change().is_some());
    assert!(changes.count() <= LEAVES, "draining ends");
}

use super::*;
use crate::bridge::Network as _;
use crate::status::Activity;
use kinglet_time::Duration;
use kinglet_wire::checksum;
use kinglet_wire::ipv6::protocol;
use std::path::Path;

mod tunnel;

#[test]
fn the_frame_counters_of_one_life_are_above_those_of_the_life_before() {
    let directory = std::env::temp_dir().join(format!("kinglet-gateway-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&directory);
    let given = scenario("[net]\nrouting = \"rpl\"\n[topology]\nline = { hops = 2 }\n");
    let mut before = None;
    for _ in 0..3 {
        let state = State::open(&directory, "a gateway").unwrap();
        let kept = state.kept();
        let scenario = crate::after(given.clone(), kept);
        assert_eq!(scenario.mac.security.unwrap().first_counter, kept.frame_counter);
        assert_eq!(scenario.rpl.sequence, kept.rpl);
        let mut mesh = Mesh::with_life(&scenario, 7, &[]).unwrap();
        mesh.keep_in(state).unwrap();
        mesh.run_until(mesh.now() + Duration::from_secs(5));
        mesh.exchange().unwrap();
        let (state, _) = mesh.state.as_ref().unwrap();
        assert!(state.kept().frame_counter > kept.frame_counter + 8_192);
        let Sequence { version, .. } = state.kept().rpl.expect("RPL has a sequence");
        assert!(before.replace(version).is_none_or(|before| before != version));
    }
    let _ = std::fs::remove_dir_all(&directory);
}

const LINE: &str = "
[mac]
retry_delay_ms = 40
[topology]
line = { hops = 3 }
[[flow]]
kind = \"http-server\"
node = 3
port = 8080
";

const HOST: Ipv6Addr = kinglet_scenario::Prefix::DEFAULT.host();

fn mote(node: NodeId) -> Ipv6Addr {
    Addressing::DEFAULT.address(node)
}

fn scenario(text: &str) -> Scenario {
    Scenario::from_toml("test.toml", text).unwrap()
}

fn mesh() -> Mesh {
    Mesh::new(&scenario(LINE)).unwrap()
}

/// Returns an IPv6 packet of the host with this upper layer; its checksum is at `field`.
fn packet(dst: Ipv6Addr, next_header: u8, hop_limit: u8, upper: &[u8], field: usize) -> Vec<u8> {
    let mut packet = vec![0x60, 0, 0, 0];
    packet.extend((upper.len() as u16).to_be_bytes());
    packet.extend([next_header, hop_limit]);
    packet.extend(HOST.octets());
    packet.extend(dst.octets());
    packet.extend(upper);
    let pseudo = checksum::pseudo_header(HOST, dst, upper.len() as u32, next_header);
    let sum = checksum_of(pseudo, upper);
    packet[40 + field..42 + field].copy_from_slice(&sum.to_be_bytes());
    packet
}

/// Internet checksum (RFC 1071).
fn checksum_of(start: u16, octets: &[u8]) -> u16 {
    let mut sum = u32::from(start);
    for pair in octets.chunks(2) {
        sum += u32::from(u16::from_be_bytes([pair[0], pair.get(1).copied().unwrap_or(0)]));
    }
    while sum > 0xFFFF {
        sum = (sum & 0xFFFF) + (sum >> 16);
    }
    !(sum as u16)
}

fn echo_request(dst: Ipv6Addr, hop_limit: u8, data: &[u8]) -> Vec<u8> {
    let mut upper = vec![128, 0, 0, 0, 0x12, 0x34, 0, 1];
    upper.extend(data);
    packet(dst, protocol::ICMPV6, hop_limit, &upper, 2)
}

/// Returns the packets to the host within `span` after `packet` was sent.
fn exchange(mesh: &mut Mesh, packet: &[u8], span: Duration) -> Vec<Vec<u8>> {
    mesh.handle_host_packet(End::Border, packet);
    let until = mesh.now() + span;
    let mut out = Vec::new();
    let mut buf = [0; 1280];
    while mesh.now() < until {
        let step = mesh.now() + Duration::from_millis(1);
        mesh.run_until(step);
        while let Some(len) = mesh.poll_host_packet(End::Border, &mut buf) {
            out.push(buf[..len].to_vec());
        }
    }
    out
}

#[test]
fn without_a_border_router_there_is_no_mesh() {
    let text = "[[node]]\n[[node]]\nx_m = 5\n";
    let error = Mesh::new(&scenario(text)).err().unwrap();
    assert!(matches!(error, GatewayError::NoBorderRouter { .. }), "{error}");
}

#[test]
fn a_simulated_host_is_refused() {
    let error = Mesh::new(&scenario(&format!("{LINE}[wire]\nloss = 0.1\n"))).err().unwrap();
    assert!(error.to_string().contains("[wire]"), "{error}");
}

#[test]
fn faults_happen_here_too() {
    let text = "[[fault]]\nkind = \"partition\"\nnodes = [3]\nfrom_s = 0\nto_s = 10\n";
    let mut mesh = Mesh::new(&scenario(&format!("{LINE}{text}"))).unwrap();
    let ping = echo_request(mote(3), 64, b"x");
    assert!(exchange(&mut mesh, &ping, Duration::from_secs(2)).is_empty());
    mesh.run_until(Instant::from_secs(11));
    assert_eq!(exchange(&mut mesh, &ping, Duration::from_secs(2)).len(), 1);
}

#[test]
fn motes_and_servers_are_listed_with_their_hops() {
    let mesh = mesh();
    let hops: Vec<(u32, usize)> = mesh.motes().iter().map(|m| (m.node, m.hops)).collect();
    assert!(hops.contains(&(0, 0)) && hops.contains(&(3, 3)), "{hops:?}");
    assert_eq!(mesh.servers().iter().map(|s| (s.node, s.port)).collect::<Vec<_>>(), [(3, 8080)]);
}

#[test]
fn a_mote_three_hops_away_answers_a_ping_of_full_mtu() {
    let mut mesh = mesh();
    let data: Vec<u8> = (0..1232u32).map(|i| (i % 251) as u8).collect();
    let replies = exchange(&mut mesh, &echo_request(mote(3), 64, &data), Duration::from_secs(2));
    assert_eq!(replies.len(), 1);
    assert_eq!(replies[0].len(), 1280);
    assert_eq!(replies[0][40], 129, "an echo reply");
    assert_eq!(replies[0][7], 64 - 3, "three routers on the way back: motes 2, 1 and 0");
    assert_eq!(replies[0][48..], data);
    let counters = mesh.counters();
    // 1,240 octets take at least ten frames of 127.
    assert!(counters[1].frames >= 2 * 10, "mote 1 relays every fragment: {:?}", counters[1]);
}

#[test]
fn packets_of_this_machine_wait_in_a_queue_that_counts_them() {
    let text = format!("{LINE}[net]\nborder_queue_packets = 2\n");
    let mut mesh = Mesh::new(&scenario(&text)).unwrap();
    let ping = echo_request(mote(3), 64, &[7; 500]);
    (0..5).for_each(|_| mesh.handle_host_packet(End::Border, &ping));
    let queue = mesh.border_queue().expect("there is one");
    assert_eq!((queue.queued, queue.peak), (5, 2), "{queue:?}");
    assert!(queue.dropped > 0 && queue.waiting > 0, "{queue:?}");
    mesh.run_until(mesh.now() + Duration::from_secs(2));
    let later = mesh.border_queue().expect("there is one");
    assert_eq!((later.dequeued, later.waiting), (5 - queue.dropped, 0), "{later:?}");
    assert!(later.longest_ms > 1.0, "{later:?}");
    let shared = format!("{LINE}[net]\nborder_queue = \"shared\"\n");
    assert_eq!(Mesh::new(&scenario(&shared)).unwrap().border_queue(), None);
}

#[test]
fn time_exceeded_comes_from_the_router_where_it_happens() {
    let mut mesh = mesh();
    let errors = exchange(&mut mesh, &echo_request(mote(3), 2, b"x"), Duration::from_secs(1));
    assert_eq!(errors.len(), 1);
    assert_eq!(errors[0][40..42], [3, 0], "time exceeded in transit");
    assert_eq!(errors[0][8..24], mote(1).octets());
}

#[test]
fn a_packet_that_would_return_to_the_host_is_reported_unreachable() {
    let mut mesh = mesh();
    let none = mote(99);
    let errors = exchange(&mut mesh, &echo_request(none, 64, b"x"), Duration::from_secs(1));
    assert_eq!(errors.len(), 1);
    assert_eq!(errors[0][40..42], [1, 3], "address unreachable (RFC 4443, 3.1)");
}

#[test]
fn a_packet_above_the_mtu_is_reported_with_the_mtu() {
    let mut mesh = mesh();
    let request = echo_request(mote(3), 64, &[0; 1400]);
    let errors = exchange(&mut mesh, &request, Duration::from_millis(100));
    assert_eq!(errors.len(), 1);
    assert_eq!(errors[0][40], 2, "packet too big");
    assert_eq!(errors[0][44..48], 1280u32.to_be_bytes());
}

#[test]
fn packets_of_a_kernel_for_a_new_interface_are_ignored() {
    let mut mesh = mesh();
    let all_routers: Ipv6Addr = "ff02::2".parse().unwrap();
    let solicitation = packet(all_routers, protocol::ICMPV6, 255, &[133, 0, 0, 0, 0, 0, 0, 0], 2);
    assert!(exchange(&mut mesh, &solicitation, Duration::from_secs(1)).is_empty());
    // MLDv2 report, behind a Hop-by-Hop header with the router alert option.
    let mut upper = vec![protocol::ICMPV6, 0, 5, 2, 0, 0, 1, 0];
    upper.extend([143, 0, 0, 0, 0, 0, 0, 1, 4, 0, 0, 0]);
    upper.extend("ff02::1:ff00:1".parse::<Ipv6Addr>().unwrap().octets());
    let report = packet("ff02::16".parse().unwrap(), protocol::HOP_BY_HOP, 1, &upper, 10);
    assert!(exchange(&mut mesh, &report, Duration::from_secs(1)).is_empty());
    for garbage in [&[][..], &[0x60], &[0x45; 60], &[0xFF; 1280]] {
        assert!(exchange(&mut mesh, garbage, Duration::from_millis(5)).is_empty());
    }
    assert!(mesh.counters().iter().all(|node| node.frames == 0), "nothing goes on the air");
}

#[test]
fn the_example_scenarios_load_and_have_servers_one_and_three_hops_away() {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let mut found = 0;
    for entry in std::fs::read_dir(examples).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if !(name.starts_with("gateway") && name.ends_with(".toml")) {
            continue;
        }
        found += 1;
        let mesh = Mesh::new(&Scenario::from_file(&path).unwrap()).unwrap();
        let hops = |server: &Server| {
            mesh.motes().iter().find(|mote| mote.node == server.node).map(|mote| mote.hops)
        };
        let hops: Vec<_> = mesh.servers().iter().map(hops).collect();
        assert!(hops.contains(&Some(1)) && hops.contains(&Some(3)), "{name}: {hops:?}");
    }
    assert!(found > 0);
}

fn office() -> Mesh {
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/gateway-office.toml");
    Mesh::new(&Scenario::from_file(&example).unwrap()).unwrap()
}

#[test]
fn an_office_has_found_its_routes_before_any_traffic() {
    let mut office = office();
    assert!(office.now() > Instant::ZERO && office.now() < Instant::ZERO + FORMING);
    let leaves = office.motes().iter().filter(|mote| office.role(mote.node) == Role::Leaf);
    let hops: Vec<_> = leaves.map(|mote| mote.hops).collect();
    assert_eq!((office.motes().len(), hops.len()), (15, 4));
    assert!(hops.iter().all(|hops| (2..=5).contains(hops)) && hops[2] >= 3, "{hops:?}");
    let serves = |node, service| {
        office.servers().iter().any(|server| (server.node, server.service) == (node, service))
    };
    assert!((1..15).all(|node| serves(node, Service::Http) && serves(node, Service::Coap)));
    assert_eq!(office.uptime(), Duration::ZERO);
    // Routes do not improve while the announcement is read.
    let reported = office.motes().to_vec();
    office.run_until(office.now() + Duration::from_secs(10));
    for mote in reported {
        assert_eq!(office.hops(0, mote.node as usize), Some(mote.hops), "{mote:?}");
    }
}

#[test]
fn leaves_sleep_ask_and_are_seen_doing_so() {
    const LEAF: usize = 13;
    let mut office = office();
    let start = office.now();
    let mut seen = Vec::new();
    let mut asked = 0;
    // Not a multiple of a second, which is the poll interval.
    for look in 0..1500 {
        office.run_until(start + Duration::from_millis(41) * look);
        let leaf = office.status()[LEAF];
        seen.push(leaf.radio.unwrap());
        let (ago, next) = (leaf.polled_s_ago.unwrap(), leaf.next_poll_s);
        assert!(ago < 1.1 && next.is_none_or(|next| next < 1.01), "{leaf:?}");
        asked += u32::from(ago < 0.041);
    }
    assert!((59..=63).contains(&asked), "once a second for a minute: {asked}");
    let count = |activity| seen.iter().filter(|&&seen| seen == activity).count();
    assert!(count(Activity::Asleep) > 1450, "{}", count(Activity::Asleep));
    let status = office.status();
    let leaf = status[LEAF];
    assert_eq!((leaf.role, leaf.parent, leaf.waiting), (Role::Leaf, Some(4), Some(0)));
    assert!(leaf.duty_cycle > Some(0.001) && leaf.duty_cycle < Some(0.02), "{leaf:?}");
    let link = leaf.link.unwrap();
    assert!(link.etx.is_some_and(|etx| (1.0..2.0).contains(&etx)), "{link:?}");
    let router = status[4];
    assert_eq!((router.role, router.waiting, router.polled_s_ago), (Role::Router, None, None));
    assert!(router.duty_cycle > Some(0.99), "{router:?}");
}

#[test]
fn a_packet_for_a_leaf_waits_at_its_parent_until_the_leaf_asks() {
    let mut office = office();
    // Until it has just polled: then there is a second for the path to the parent.
    while office.status()[13].polled_s_ago.is_none_or(|ago| ago > 0.01) {
        let next = office.now() + Duration::from_millis(5);
        office.run_until(next);
    }
    let ping = echo_request(mote(13), 64, b"wake up");
    assert!(exchange(&mut office, &ping, Duration::from_millis(600)).is_empty());
    assert_eq!(office.status()[13].waiting, Some(1));
    assert_eq!(exchange(&mut office, &[], Duration::from_secs(1)).len(), 1);
    assert_eq!(office.status()[13].waiting, Some(0));
}

/// Returns a data frame from `from` to `to` that requests an acknowledgement.
fn frame(from: u16, to: u16) -> Vec<u8> {
    use kinglet_wire::ieee802154::{Address, FrameType, PanId, Repr, Version};
    let header = Repr {
        frame_type: FrameType::Data,
        version: Version::V2006,
        ack_request: true,
        frame_pending: false,
        sequence: 1,
        pan_id: PanId(0xABCD),
        dst: Address::Short(to),
        src: Address::Short(from),
        security: None,
        csl: None,
        filling: 0,
    };
    let mut frame = vec![0; header.header_len()];
    header.emit(&mut frame).unwrap();
    frame.push(0);
    frame
}

#[tokio::test]
async fn a_mote_behind_a_serial_line_has_a_simulated_radio() {
    use kinglet_radio::serial::Request;
    use kinglet_radio::{Access, Channel, Command, Start};
    let mut mesh = mesh();
    let (line, mote) = UnixStream::pair().unwrap();
    mesh.attach(3, line).unwrap();
    assert!(mesh.is_serial(3) && !mesh.is_serial(2) && mesh.servers().is_empty());

    // Node 3 has short address 4; its neighbour, node 2, has 3.
    let (start, channel) = (Start::Asap, Channel::default());
    let transmit =
        Command::Transmit { start, access: Access::Cca, channel, power_dbm: 0, ack: true };
    let frame = frame(4, 3);
    let send = |number| Request::Command { command: transmit, number, frame: &frame };
    let reset = Request::Command { command: Command::Reset, number: 0, frame: &[] };
    // The second one is reset while it is on the air, the third before the radio has it.
    let steps =
        [(vec![send(7)], 20), (vec![send(8)], 1), (vec![reset, send(9), reset, send(10)], 20)];
    for (requests, millis) in steps {
        let mut octets = Vec::new();
        requests.iter().for_each(|request| request.send(|octet| octets.push(octet)));
        mote.writable().await.unwrap();
        assert_eq!(mote.try_write(&octets).unwrap(), octets.len());
        mesh.outside().await;
        mesh.exchange().unwrap();
        let until = mesh.now() + Duration::from_millis(millis);
        mesh.run_until(until);
        mesh.exchange().unwrap();
    }
    let mut reply = [0; 16];
    mote.readable().await.unwrap();
    let len = mote.try_read(&mut reply).unwrap();
    // Transmitted, and acknowledged by the neighbour's radio.
    assert_eq!(reply[..len], [0x81, 7, 1, 0xC0, 0x81, 10, 1, 0xC0]);
    assert_eq!(mesh.counters()[3].frames, 3);

    drop(mote);
    mesh.outside().await;
    let error = mesh.exchange().unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
    assert!(error.to_string().contains("node 3"), "{error}");
}

#[tokio::test]
async fn only_motes_of_the_scenario_can_be_behind_a_serial_line_and_one_at_each_place() {
    for (node, why) in [(0, "it is the border router"), (4, "there is no such node")] {
        let (line, _mote) = UnixStream::pair().unwrap();
        let error = mesh().attach(node, line).unwrap_err().to_string();
        assert!(error.starts_with(&format!("--serial {node}=")), "{error}");
        assert!(error.contains(why) && error.ends_with("its motes are 1, 2, 3"), "{error}");
    }
    let mut mesh = mesh();
    let [(one, _mote), (two, _other)] = [(); 2].map(|()| UnixStream::pair().unwrap());
    mesh.attach(2, one).unwrap();
    assert!(!mesh.has_services(2) && mesh.has_services(3), "nobody knows what it has");
    assert!(mesh.attach(2, two).unwrap_err().to_string().contains("it has one already"));
}

#[tokio::test]
async fn a_mote_that_is_another_node_than_the_one_in_whose_place_it_stands_is_refused() {
    use kinglet_radio::Filter;
    use kinglet_radio::serial::Request;
    let filter = |short| Filter { pan_id: 0xabcd, short, extended: [2; 8] };
    for (node, short, says) in
        [(3, 4, None), (3, 0xfffe, None), (3, 3, Some("node 2")), (1, 4, Some("node 3"))]
    {
        let mut mesh = mesh();
        let (line, mote) = UnixStream::pair().unwrap();
        mesh.attach(node, line).unwrap();
        let mut octets = Vec::new();
        Request::Filter(filter(short)).send(|octet| octets.push(octet));
        mote.writable().await.unwrap();
        assert_eq!(mote.try_write(&octets).unwrap(), octets.len());
        mesh.outside().await;
        let result = mesh.exchange();
        match says {
            None => result.unwrap(),
            Some(says) => {
                let error = result.unwrap_err().to_string();
                let at = format!("behind --serial {node}=");
                assert!(error.contains(&at) && error.contains(says), "{error}");
            }
        }
    }
}

#[test]
fn services_are_where_tables_have_room_for_them() {
    let everywhere = mesh();
    assert!((0..4).all(|node| everywhere.has_services(node)));
    // More routes than fit into a border router: only nodes with a route have services.
    let text = "[topology]\ngrid = { columns = 10, rows = 8 }\n\
                [[flow]]\nkind = \"http-server\"\nnode = 12\n";
    let large = Mesh::new(&scenario(text)).unwrap();
    let with: Vec<_> = (0..80).filter(|node| large.has_services(*node)).collect();
    assert!(with.contains(&0) && with.contains(&12) && with.len() < 10, "{with:?}");
    // Twelve ports are in use: the tables are full.
    let web = |port| format!("[[flow]]\nkind = \"http-server\"\nnode = 1\nport = {port}\n");
    let ports: String = (80..92).map(web).collect();
    let full =
        Mesh::new(&scenario(&format!("[topology]\nline = {{ hops = 1 }}\n{ports}"))).unwrap();
    assert!(!full.has_services(1) && full.servers().len() == 12);
}

#[test]
fn times_of_faults_count_from_the_moment_at_which_the_network_is_ready() {
    let text = "[net]\nrouting = \"mesh\"\n[topology]\nline = { hops = 1 }\n\
                [[fault]]\nkind = \"partition\"\nnodes = [1]\nfrom_s = 2\n";
    let mut mesh = Mesh::new(&scenario(text)).unwrap();
    assert!(mesh.now() > Instant::from_secs(10), "it has had to find ways");
    let mut pings = |at| {
        mesh.run_until(mesh.began + Duration::from_secs(at));
        exchange(&mut mesh, &echo_request(mote(1), 64, b"x"), Duration::from_millis(500)).len()
    };
    // Also long after `duration_s`: the fault has no end.
    assert_eq!([0, 1, 3, 100].map(&mut pings), [1, 1, 0, 0]);
}

#[test]
fn records_of_flows_are_those_of_a_simulation() {
    let text = format!(
        "{LINE}[[flow]]\nkind = \"udp-periodic\"\nfrom = 3\nto = 0\nperiod_ms = 500\n\
         payload_bytes = 40\n[[flow]]\nkind = \"tcp-bulk\"\nfrom = 2\nto = 1\nbytes = 5000\n\
         [[flow]]\nkind = \"tcp-bulk\"\nfrom = 3\nto = 4\n[wire]\n"
    );
    let mut scenario = scenario(&text);
    let mut mesh = Mesh::new(&scenario).unwrap();
    mesh.run_until(Instant::from_secs(30));
    let flows = mesh.flows();
    (scenario.wire, scenario.duration_s) = (None, 30.0);
    let same = |flow: &FlowResult| serde_json::to_value(flow).unwrap();
    assert_eq!(flows.len(), 4, "services are no flows of the scenario");
    let [server, datagrams, transfer, to_machine] = &flows[..] else { panic!("four") };
    assert_eq!((server.kind, server.state), ("http-server", None));
    assert!(datagrams.segments_received > Some(50) && datagrams.segment_loss.is_some());
    assert_eq!((transfer.bytes, transfer.complete), (Some(5000), Some(true)));
    assert!(transfer.goodput_kbps > Some(1.0) && transfer.is_well(), "{transfer:?}");
    // This machine has the other end: values that only it knows are absent.
    assert_eq!((to_machine.kind, to_machine.to), ("tcp-bulk", Some(4)));
    assert_eq!((to_machine.state, to_machine.bytes, to_machine.intact), (None, None, None));
    // A record has the same fields from either source.
    let names = |flow| same(flow).as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    let simulated =
        kinglet_network::run::run(&scenario, 1, &kinglet_network::run::Options::default());
    let simulated = simulated.unwrap().flows;
    assert_eq!(names(&simulated[2]), names(transfer));
    assert_eq!(names(&simulated[1]), names(datagrams));
}

#[test]
fn a_node_that_is_cut_off_loses_its_parent() {
    let text = "[net]\nrouting = \"mesh\"\n[topology]\nline = { hops = 2 }\n[[fault]]\n\
                kind = \"partition\"\nnodes = [0]\nfrom_s = 5.5\n";
    let mut mesh = Mesh::new(&scenario(text)).unwrap();
    let mut lost = Vec::new();
    let began = mesh.now();
    while mesh.now() < began + Duration::from_secs(120) {
        mesh.run_until(mesh.now() + Duration::from_millis(200));
        lost.extend(mesh.losses());
    }
    let parent = lost.iter().find(|lost| lost.node == 1 && lost.loss.relation == "parent");
    let parent = parent.unwrap_or_else(|| panic!("{lost:?}"));
    assert!(parent.at_s > 5.5 && parent.at_s < 120.0, "{parent:?}");
    assert!(parent.loss.reasons.contains_key("mac"), "{parent:?}");
}

/// Another computer may remember the connections of the previous run.
#[test]
fn first_sequence_numbers_differ_from_life_to_life() {
    let number = |life| {
        let mut mesh = Mesh::with_life(&scenario(LINE), life, &[]).unwrap();
        // From port 4000 to 8080: a SYN.
        let mut syn = [0; 20];
        syn[..4].copy_from_slice(&[0x0f, 0xa0, 0x1f, 0x90]);
        syn[12..16].copy_from_slice(&[0x50, 0x02, 0x10, 0]);
        let syn = packet(mote(3), protocol::TCP, 64, &syn, 16);
        let replies = exchange(&mut mesh, &syn, Duration::from_secs(1));
        let reply = replies.first().expect("a SYN-ACK");
        assert_eq!(reply[53], 0x12, "SYN and ACK");
        reply[44..48].to_vec()
    };
    assert_eq!(number(1), number(1));
    assert_ne!(number(1), number(2));
    assert_ne!(crate::new_life(), crate::new_life());
}

//! Peer stacks on simulated nodes, and Kinglet's TCP against each of them.

use kinglet_network::run::{Options, RunResult, run};
use kinglet_scenario::Scenario;

const STACKS: [&str; 5] = ["uip", "blip", "gnrc", "freebsd", "linux"];

fn simulate(text: &str) -> RunResult {
    let scenario = Scenario::from_toml("test.toml", text).unwrap_or_else(|e| panic!("{e}"));
    run(&scenario, 7, &Options::default()).expect("it can be simulated")
}

/// A transfer of 6,000 octets over one hop that loses frames in spite of retries.
fn transfer(tcp: &str) -> RunResult {
    simulate(&format!(
        "duration_s = 900\n[topology]\nline = {{ hops = 1 }}\n[medium]\nframe_loss = 0.3\n\
         [mac]\nmax_frame_retries = 1\n[tcp]\n{tcp}\n\
         [[flow]]\nkind = \"tcp-bulk\"\nfrom = 1\nto = 0\nbytes = 6000\n"
    ))
}

#[test]
fn kinglet_understands_every_stack_and_is_understood_whichever_begins() {
    for stack in STACKS {
        for (stack, peer) in [(stack, "kinglet"), ("kinglet", stack), (stack, stack)] {
            let keys = format!("stack = \"{stack}\"\npeer_stack = \"{peer}\"\nmss_frames = 2");
            let result = transfer(&keys);
            let flow = &result.flows[0];
            assert!(flow.is_well(), "{stack} to {peer}: {flow:?}");
            assert!(flow.retransmissions > Some(0), "a link without loss proves nothing: {flow:?}");
        }
    }
}

#[test]
fn linux_waits_for_room_at_its_own_node_and_others_lose_what_finds_none() {
    for (stack, waits) in [("linux", true), ("freebsd", false)] {
        let result = simulate(&format!(
            "duration_s = 60\n[topology]\nline = {{ hops = 2 }}\n[tcp]\nstack = \"{stack}\"\n\
             peer_stack = \"linux\"\nmss = 1208\ntimestamps = true\n\
             send_buffer_segments = 50\nreceive_buffer_segments = 50\n\
             [[flow]]\nkind = \"tcp-bulk\"\nfrom = 2\nto = 0\n"
        ));
        assert!(result.flows[0].is_well() && result.flows[0].goodput_kbps > Some(10.0), "{stack}");
        assert_eq!(result.nodes[2].queue_drops == Some(0), waits, "{stack}");
    }
}

#[test]
fn packets_of_1500_octets_pass_where_all_nodes_take_them() {
    let text = |mtu, mss| {
        format!(
            "duration_s = 60\n[topology]\nline = {{ hops = 2 }}\n[net]\nmtu = {mtu}\n[tcp]\n\
             stack = \"linux\"\npeer_stack = \"linux\"\nmss = {mss}\n\
             send_buffer_segments = 4\nreceive_buffer_segments = 4\n\
             [[flow]]\nkind = \"tcp-bulk\"\nfrom = 2\nto = 0\n"
        )
    };
    let result = simulate(&text(1500, 1440));
    let flow = &result.flows[0];
    assert!(
        flow.is_intact() && flow.goodput_kbps > Some(10.0) && flow.mss == Some(1440),
        "{flow:?}"
    );
    let error = Scenario::from_toml("test.toml", &text(1280, 1440)).expect_err("too long");
    let text = error.to_string();
    assert!(text.contains("mtu = 1280") && text.contains("1220"), "{text}");
}

#[test]
fn frames_of_a_peer_stack_are_as_long_as_those_of_kinglet_with_the_same_options() {
    let octets = |stack| {
        let result = simulate(&format!(
            "duration_s = 60\n[topology]\nline = {{ hops = 1 }}\n\
             [tcp]\nstack = \"{stack}\"\ntimestamps = true\nmss = 462\n\
             [[flow]]\nkind = \"tcp-bulk\"\nfrom = 1\nto = 0\n"
        ));
        assert!(result.flows[0].is_well() && result.flows[0].goodput_kbps > Some(40.0), "{stack}");
        // Data frames of each segment: five.
        (result.flows[0].mss, result.flows[0].goodput_kbps.expect("it has begun"))
    };
    let (own, freebsd) = (octets("kinglet"), octets("freebsd"));
    assert_eq!(own.0, freebsd.0);
    // Without loss they differ only by the cost of each ACK.
    assert!((freebsd.1 / own.1 - 1.0).abs() < 0.1, "{own:?} {freebsd:?}");
}

#[test]
fn one_segment_in_flight_and_a_peer_that_delays_its_acknowledgement_are_slow_together() {
    let rate = |peer| {
        let result = simulate(&format!(
            "duration_s = 120\n[topology]\nline = {{ hops = 1 }}\n[tcp]\nstack = \"uip\"\n\
             peer_stack = \"{peer}\"\nmss = 48\ntimestamps = false\n\
             [[flow]]\nkind = \"tcp-bulk\"\nfrom = 1\nto = 0\n"
        ));
        result.flows[0].goodput_kbps.expect("it has begun")
    };
    let (uip, linux, freebsd) = (rate("uip"), rate("linux"), rate("freebsd"));
    // One segment per round trip of some 8 ms; per 40 ms more; per 100 ms more.
    assert!(uip > 30.0, "{uip}");
    assert!((6.0..9.0).contains(&linux), "{linux}");
    assert!((3.0..4.0).contains(&freebsd), "{freebsd}");
}

#[test]
fn a_host_behind_the_border_router_has_the_stack_that_its_flow_says() {
    // Node 3 is the host.
    for (from, to) in [(1, 3), (3, 1)] {
        let result = simulate(&format!(
            "duration_s = 300\n[topology]\nline = {{ hops = 2 }}\n[wire]\nloss = 0.05\n\
             [tcp]\nstack = \"freebsd\"\npeer_stack = \"linux\"\n\
             [[flow]]\nkind = \"tcp-bulk\"\nfrom = {from}\nto = {to}\nbytes = 30000\n"
        ));
        let flow = &result.flows[0];
        assert!(flow.is_well() && flow.retransmissions > Some(0), "{from} {flow:?}");
    }
}

#[test]
fn a_host_with_a_peer_stack_takes_datagrams_as_well() {
    let result = simulate(
        "duration_s = 300\n[topology]\nline = { hops = 2 }\n[wire]\nloss = 0.05\n\
         [tcp]\nstack = \"freebsd\"\n\
         [[flow]]\nkind = \"anemometer\"\nfrom = 1\nto = 3\ncarrier = \"coap\"\n\
         [[flow]]\nkind = \"tcp-bulk\"\nfrom = 2\nto = 3\n\
         [[flow]]\nkind = \"udp-periodic\"\nfrom = 1\nto = 3\nperiod_ms = 500\npayload_bytes = 50\n\
         [[flow]]\nkind = \"tcp-bulk\"\nfrom = 3\nto = 2\nbytes = 30000\n",
    );
    let [readings, up, datagrams, down] = &result.flows[..] else { panic!("four flows") };
    let delivered = readings.readings.as_ref().map_or(0, |readings| readings.delivered);
    assert!(delivered > 100 && readings.is_well(), "{readings:?}");
    assert!(up.bytes > Some(100_000) && up.is_well(), "{up:?}");
    assert!(datagrams.bytes > Some(10_000) && datagrams.is_well(), "{datagrams:?}");
    assert!(down.is_complete() && down.is_well(), "{down:?}");
}

#[test]
fn a_linux_host_has_the_stack_of_linux_whatever_the_nodes_have() {
    // It delays the acknowledgement of a single segment by 40 ms, FreeBSD by 100 ms, and Kinglet no
    // longer delays it.
    let rate = |stack: &str, host: &str| {
        let result = simulate(&format!(
            "duration_s = 60\n[topology]\nline = {{ hops = 1 }}\n\
             [wire]\ndelay_ms = 0\nhost = \"{host}\"\n\
             [tcp]\nstack = \"{stack}\"\nsend_buffer_segments = 1\nreceive_buffer_segments = 4\n\
             ack_delay_ms = 100\n[[flow]]\nkind = \"tcp-bulk\"\nfrom = 1\nto = 2\n"
        ));
        result.flows[0].goodput_kbps.expect("it has begun")
    };
    let [same, linux] = ["same", "linux"].map(|host| rate("freebsd", host));
    assert!(linux > 1.3 * same, "{same} {linux}");
    let [same, linux] = ["same", "linux"].map(|host| rate("kinglet", host));
    assert!(same > 1.3 * linux, "{same} {linux}");
}

#[test]
fn a_leaf_with_a_peer_stack_asks_its_parent_while_something_is_awaited_and_sleeps_else() {
    let result = simulate(
        "duration_s = 1200\n[topology]\noffice = {}\n[wire]\n[leaf]\npolling = \"fixed\"\n\
         [tcp]\nstack = \"freebsd\"\n[[flow]]\nkind = \"anemometer\"\nfrom = 14\nto = 15\n\
         carrier = \"tcp\"\n",
    );
    let flow = &result.flows[0];
    let readings = flow.readings.as_ref().expect("readings");
    assert!(flow.is_intact() && readings.delivered > 1_000, "{flow:?}");
    assert!(readings.delivered + 200 > readings.generated, "{readings:?}");
}

#[test]
fn a_page_is_asked_for_and_served_over_any_stack() {
    let pages = |client: &str, server: &str, from: u32| {
        simulate(&format!(
            "duration_s = 120\n[topology]\nline = {{ hops = 1 }}\n[wire]\n\
             [tcp]\nstack = \"{client}\"\npeer_stack = \"{server}\"\nmss_frames = 3\n\
             [[flow]]\nkind = \"http-server\"\nnode = 1\n\
             [[flow]]\nkind = \"http-client\"\nfrom = {from}\nto = 1\nbytes = 3000\n\
             pause_ms = 2000\n"
        ))
    };
    for stack in STACKS {
        for (client, server) in [(stack, "kinglet"), ("kinglet", stack), (stack, stack)] {
            // A mote is the client, or the host, which is number 2.
            for from in [0, 2] {
                let flow = &pages(client, server, from).flows[1];
                let what = format!("{client} at {from} asks {server}: {flow:?}");
                assert!(flow.is_well() && flow.latencies_ms().len() >= 5, "{what}");
            }
        }
    }
    // It really is that stack: one with a single segment in flight takes longer.
    let sum = |stack| {
        let flow = pages("kinglet", stack, 0).flows[1].clone();
        flow.latencies_ms().iter().sum::<f64>() / flow.latencies_ms().len() as f64
    };
    assert!(sum("uip") > 1.2 * sum("freebsd"), "{} {}", sum("uip"), sum("freebsd"));
}

#[test]
fn a_peer_stack_where_it_cannot_be_is_refused_with_the_reason() {
    let refused = |text: &str| {
        let text = format!("[topology]\nline = {{ hops = 2 }}\n{text}");
        Scenario::from_toml("test.toml", &text).expect_err("refused").to_string()
    };
    let bulk = |from, to| format!("[[flow]]\nkind = \"tcp-bulk\"\nfrom = {from}\nto = {to}\n");
    let both =
        format!("[tcp]\nstack = \"uip\"\npeer_stack = \"linux\"\n{}{}", bulk(2, 1), bulk(1, 0));
    assert!(refused(&both).contains("test.toml:3:"), "{}", refused(&both));
    assert!(refused(&both).contains("node 1 both sends and receives"), "{}", refused(&both));
    let mesh = format!("[net]\nrouting = \"mesh\"\n[tcp]\nstack = \"uip\"\n{}", bulk(2, 0));
    assert!(refused(&mesh).contains("static"), "{}", refused(&mesh));
    // The host is not part of it.
    let host = format!(
        "[topology]\nline = {{ hops = 2 }}\n[wire]\nhost = \"linux\"\n\
         [net]\nrouting = \"mesh\"\n{}start_s = 30\n",
        bulk(2, 3)
    );
    let scenario = Scenario::from_toml("test.toml", &host).unwrap_or_else(|e| panic!("{e}"));
    let run = run(&scenario, 7, &Options::default()).expect("it can be simulated");
    assert!(run.flows[0].bytes > Some(10_000), "{:?}", run.flows[0]);
    let coap = "[[flow]]\nkind = \"coap-server\"\nnode = 2\n";
    let other = format!("[tcp]\nstack = \"uip\"\n{}{coap}", bulk(2, 0));
    assert!(refused(&other).contains("node 2 has a flow"), "{}", refused(&other));
}

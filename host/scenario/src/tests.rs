use super::*;
use crate::Control;
use crate::EitherBackoff;
use kinglet::tcp::{ConnectionConfig, Rto};
use kinglet::time::Duration;
use kinglet_sim::profile::{AT86RF233, CcaMode};

/// Error message for a scenario that must be refused.
fn refused(text: &str) -> String {
    Scenario::from_toml("s.toml", text).expect_err("must be refused").to_string()
}

const LINE: &str = "[topology]\nline = { hops = 3 }\n";

#[test]
fn an_unknown_key_is_named_with_its_place_and_the_nearest_valid_one() {
    let message = refused(&format!("durations = 5\n{LINE}"));
    assert_eq!(message, "s.toml:1:1: durations: unknown key; did you mean `duration_s`?");
    let message = refused(&format!("{LINE}[mac]\nmin_be = 3\n  retry_delay = 40\n"));
    assert_eq!(message, "s.toml:5:3: mac.retry_delay: unknown key; did you mean `retry_delay_ms`?");
}

#[test]
fn an_unknown_key_that_resembles_nothing_gets_the_list() {
    let message = refused(&format!("{LINE}[mac]\nzebra_stripes = 3\n"));
    assert!(message.starts_with("s.toml:4:1: mac.zebra_stripes: unknown key; valid keys here: "));
    assert!(message.contains("retry_delay_ms") && message.contains("csma"));
}

#[test]
fn a_value_out_of_range_is_answered_with_the_range() {
    let message = refused(&format!("{LINE}[mac]\nmax_be = 9\n"));
    assert_eq!(message, "s.toml:4:10: mac.max_be: 9 is out of range; allowed are 3 to 8");
    let message = refused(&format!("{LINE}[medium]\nframe_loss = 1.5\n"));
    assert_eq!(message, "s.toml:4:14: medium.frame_loss: 1.5 is out of range; allowed are 0 to 1");
    assert!(refused(&format!("{LINE}[mac]\nretry_delay_ms = -1\n")).contains("-1 is out of range"));
    assert!(refused("duration_s = nan\n").contains("nan is out of range"));
}

#[test]
fn a_wrong_type_is_named() {
    let message = refused(&format!("duration_s = \"long\"\n{LINE}"));
    assert_eq!(message, "s.toml:1:14: duration_s: expected a number, found string");
    let message = refused(&format!("{LINE}[tcp]\nnagle = 1\n"));
    assert_eq!(message, "s.toml:4:9: tcp.nagle: expected true or false, found integer");
    let message = refused(&format!("flow = 3\n{LINE}"));
    assert_eq!(message, "s.toml:1:8: flow: expected tables ([[flow]]), found integer");
}

#[test]
fn a_misspelt_choice_gets_the_nearest_one() {
    let message = refused(&format!("{LINE}[medium]\noverlap = \"strickt\"\n"));
    assert_eq!(
        message,
        "s.toml:4:11: medium.overlap: \"strickt\" is not known; did you mean \"strict\"?"
    );
}

#[test]
fn flows_must_join_two_nodes_that_exist() {
    let message = refused(&format!("{LINE}[[flow]]\nkind = \"tcp-bulk\"\nfrom = 4\nto = 0\n"));
    assert!(message.starts_with("s.toml:5:8: flow[0].from: 4 is out of range; allowed are 0 to 3"));
    let message = refused(&format!("{LINE}[[flow]]\nkind = \"tcp-bulk\"\nfrom = 1\nto = 1\n"));
    assert_eq!(message, "s.toml:6:6: flow[0].to: a flow needs two different nodes");
    let message = refused(&format!("{LINE}[[flow]]\nkind = \"tcp-bulk\"\nfrom = 1\n"));
    assert_eq!(message, "s.toml:3:1: flow[0].to: missing; give a node number, 0 to 3");
    let message = refused(&format!("{LINE}[[flow]]\nfrom = 1\n"));
    assert!(message.starts_with("s.toml:3:1: flow[0].kind: missing; give one of \"tcp-bulk\""));
}

#[test]
fn a_nearly_right_name_is_refused_with_the_right_one() {
    let flow = "[[flow]]\nkind = \"tcp-bulk\"\nfrom = 1\nto = 4\n";
    for (text, expected) in [
        (
            "[topolgy]\nline = { hops = 1 }\n".to_owned(),
            "unknown section; did you mean `topology`?",
        ),
        (
            "base = \"a.toml\"\n[fields]\nseed = [1]\n".to_owned(),
            "this is a sweep: `kinglet sweep`",
        ),
        (format!("{LINE}{flow}"), "node 4 is the host, which a `[wire]` adds"),
        (
            format!("{LINE}[net]\naodv_link_probes = true\n"),
            "has no meaning without routing = \"aodv\"",
        ),
        (format!("{LINE}[tcp]\nwindow = 3\n"), "did you mean `window_limit`?"),
    ] {
        let message = refused(&text);
        assert!(message.contains(expected), "{message}");
    }
}

#[test]
fn a_line_and_a_grid_have_the_leaves_that_they_name() {
    for (shape, leaf) in [
        ("line = { hops = 2, leaves = [2] }", 2),
        ("grid = { columns = 2, rows = 2, leaves = [3] }", 3),
    ] {
        let text = format!("[topology]\n{shape}\n");
        let scenario = Scenario::from_toml("s.toml", &text).expect("a scenario");
        let is_leaf = |place: &NodePlace| place.role == Role::Leaf;
        assert_eq!(scenario.nodes.iter().position(is_leaf), Some(leaf));
        assert_eq!(scenario.nodes.iter().filter(|place| is_leaf(place)).count(), 1);
    }
    let message = refused("[topology]\nline = { hops = 2, leaves = [3] }\n");
    assert!(message.contains("3 is out of range; allowed are 0 to 2"), "{message}");
}

#[test]
fn text_that_is_not_toml_is_one_clear_error() {
    let message = refused("duration_s = = 3\n");
    assert!(message.starts_with("s.toml:1:"), "{message}");
    assert!(message.contains("not valid TOML"), "{message}");
    assert!(refused("").contains("no nodes"));
}

#[test]
fn a_missing_file_is_an_input_output_error() {
    let error = Scenario::from_file(Path::new("no/such/file.toml")).expect_err("there is none");
    assert!(error.io && error.position.is_none());
    assert!(error.to_string().starts_with("no/such/file.toml: cannot be read:"));
}

#[test]
fn exclusive_keys_are_refused_together() {
    assert!(refused(&format!("{LINE}[tcp]\nmss = 462\nmss_frames = 5\n")).contains("not both"));
    let both = format!("{LINE}[radio]\nhost_cost = \"fitted_tcplp\"\nhost_cost_us_per_frame = 1\n");
    assert!(refused(&both).contains("not both"));
    assert!(
        refused("[topology]\nline = { hops = 1 }\ngrid = { columns = 2, rows = 2 }\n")
            .contains("exactly one")
    );
}

#[test]
fn the_annotated_example_parses_and_says_what_the_defaults_are() {
    let text = include_str!("../../lab/scenarios/annotated.toml");
    let scenario = Scenario::from_toml("annotated.toml", text).expect("the example is valid");
    let default = Scenario::default();
    assert_eq!(scenario.radio, default.radio);
    assert_eq!(scenario.medium, default.medium);
    assert_eq!(scenario.mac, default.mac);
    assert_eq!((scenario.polling, scenario.routing), (default.polling, default.routing));
    assert_eq!((scenario.net, scenario.tcp), (default.net, default.tcp));
    assert_eq!(scenario.nodes.len(), 4);
    assert_eq!(scenario.flows, vec![Flow::bulk(3, 0)]);
}

/// Flows of a line of four nodes, from line 4 of the file on.
fn flows_of(flows: &str) -> Result<Scenario, ScenarioError> {
    Scenario::from_toml("p.toml", &format!("[topology]\nline = {{ hops = 3 }}\n\n{flows}"))
}

#[test]
fn two_receivers_on_one_port_are_refused_with_the_lines_of_both() {
    let web = "[[flow]]\nkind = \"http-server\"\nnode = 1\n";
    let bulk = "[[flow]]\nkind = \"tcp-bulk\"\nfrom = 2\nto = 1\n";
    let datagrams = "[[flow]]\nkind = \"udp-periodic\"\nfrom = 2\nto = 1\n";
    let coap = "[[flow]]\nkind = \"coap-server\"\nnode = 1\n";
    let twice = [
        (format!("{web}{web}"), "7:1", "TCP port 80 of node 1", 4),
        (format!("{web}{web}port = 80\n"), "10:8", "TCP port 80 of node 1", 4),
        (format!("{coap}{coap}"), "7:1", "UDP port 5683 of node 1", 4),
        // Conflict with a port that follows from an index among the flows.
        (format!("{bulk}{web}port = 5001\n"), "11:8", "TCP port 5001 of node 1", 4),
        (format!("{web}port = 5002\n{bulk}"), "8:1", "TCP port 5002 of node 1", 4),
        (format!("{datagrams}{coap}port = 5001\n"), "11:8", "UDP port 5001 of node 1", 4),
        (format!("{web}{bulk}port = 9\n{bulk}port = 9\n"), "16:8", "TCP port 9 of node 1", 7),
    ];
    for (flows, place, what, first) in twice {
        let message = flows_of(&flows).expect_err(&flows).to_string();
        let taken = format!("{what} is taken by the flow of line {first}; ");
        assert!(message.starts_with(&format!("p.toml:{place}: flow[")), "{message}");
        assert!(message.contains(&taken), "{message}");
    }
    // Other nodes, other protocols, other ports.
    let apart = [
        format!("{web}{coap}port = 80\n"),
        format!("{web}{}", web.replace('1', "2")),
        format!("{bulk}{datagrams}port = 5001\n"),
        format!("{bulk}{bulk}{bulk}"),
        format!("{bulk}port = 5002\n{bulk}port = 5001\n"),
    ];
    for flows in apart {
        flows_of(&flows).expect(&flows);
    }
    let message = flows_of(&format!("{bulk}port = 0\n")).expect_err("no such port").to_string();
    assert!(message.contains("0 is out of range; allowed are 1 to 65535"), "{message}");
}

#[test]
fn receivers_listen_on_the_ports_that_they_are_given_or_that_their_places_say() {
    let flows = "[[flow]]\nkind = \"http-server\"\nnode = 1\n\
                 [[flow]]\nkind = \"tcp-bulk\"\nfrom = 2\nto = 1\n\
                 [[flow]]\nkind = \"udp-periodic\"\nfrom = 2\nto = 1\nport = 4242\n\
                 [[flow]]\nkind = \"anemometer\"\nfrom = 2\nto = 1\n\
                 [[flow]]\nkind = \"http-client\"\nfrom = 2\nto = 1\n";
    let scenario = flows_of(flows).expect("a scenario");
    let listening = scenario.flows.iter().enumerate().map(|(place, flow)| {
        flow.listening(place).iter().map(ToString::to_string).collect::<String>()
    });
    assert_eq!(
        listening.collect::<Vec<_>>(),
        [
            "TCP port 80 of node 1",
            "TCP port 5002 of node 1",
            "UDP port 4242 of node 1",
            "TCP port 5004 of node 1",
            ""
        ]
    );
}

#[test]
fn every_toml_block_of_the_reference_parses() {
    let reference = include_str!("../../lab/SCENARIO.md");
    let blocks: Vec<&str> = reference
        .split("```toml\n")
        .skip(1)
        .map(|rest| rest.split("```").next().expect("split gives at least one"))
        .collect();
    assert!(blocks.len() >= 8, "the reference has an example per section");
    for block in blocks {
        // Fragments are on a line of four nodes unless they bring their own.
        let nodes = ["[topology]", "[[node]]"].iter().any(|n| block.contains(n));
        let text = if nodes { block.to_owned() } else { format!("{block}\n{LINE}") };
        if let Err(error) = Scenario::from_toml("SCENARIO.md", &text) {
            panic!("{error}\n{text}");
        }
    }
}

#[test]
fn the_reference_has_the_tables_of_keys_that_files_are_read_by() {
    let text = include_str!("../../lab/SCENARIO.md");
    let tables = reference();
    let lacks = |table: &str| !text.contains(&format!("\n\n{table}\n"));
    let missing: Vec<_> = tables.iter().filter(|(_, table)| lacks(table)).collect();
    let wanted = missing.iter().map(|(section, table)| format!("{section}:\n\n{table}\n"));
    assert!(missing.is_empty(), "SCENARIO.md should have\n{}", wanted.collect::<String>());
    assert_eq!(text.matches("| key | meaning |").count(), tables.len(), "tables of keys");
}

#[test]
fn every_key_of_a_table_of_settings_is_read() {
    for (section, table) in reference() {
        let (section, more) = match section {
            "top level" => ("", ""),
            "unit-disc" => ("[medium]", "model = \"unit-disc\""),
            "path-loss" => ("[medium]", "model = \"path-loss\""),
            "[[interference]]" => (section, "source = \"bluetooth\""),
            "[tunnel]" => (section, "node = 3"),
            "link-matrix" => continue,
            section => (section, ""),
        };
        for row in table.lines().skip(2).filter(|row| !row.contains("a table of its own")) {
            let key = row.split('`').nth(1).expect("a name");
            let more = if more.starts_with(key) { "" } else { more };
            // No key is an array of flags, whose type is refused before all else.
            let text = match section {
                "" => format!("{key} = [true]\n{LINE}"),
                _ => format!("{LINE}{section}\n{more}\n{key} = [true]\n"),
            };
            let text = text.replace("line = { hops = 3 }", "office = {}");
            let message = refused(&text);
            assert!(message.contains(&format!("{key}: expected ")), "{message}");
        }
    }
}

#[test]
fn a_setting_without_the_one_that_it_belongs_to_is_refused() {
    let message = refused(&format!("{LINE}[leaf]\ncsl_drift_ppm = 10\n"));
    assert_eq!(message, "s.toml:4:17: leaf.csl_drift_ppm: has no meaning without csl_period_ms");
}

#[test]
fn leaves_are_refused_where_no_node_could_discover_them() {
    let message = refused("[topology]\noffice = {}\n[net]\nrouting = \"aodv\"\n");
    assert!(
        message
            .ends_with("AODV has no leaves, as they would miss route requests; make it a router"),
        "{message}"
    );
    let text = format!("{LINE}[net]\nrouting = \"aodv\"\naodv_metric = \"hop-count\"\n");
    let scenario = Scenario::from_toml("s.toml", &text).expect("valid");
    assert_eq!(scenario.aodv_metric, kinglet::aodv::Metric::HopCount);
}

#[test]
fn a_range_may_end_at_another_setting() {
    let message = refused(&format!("{LINE}[mac]\nmax_be = 4\nmin_be = 5\n"));
    assert_eq!(message, "s.toml:5:10: mac.min_be: 5 is out of range; allowed are 0 to 4");
    let message = refused(&format!("{LINE}[medium]\nrange_m = 9\ninterference_range_m = 8\n"));
    assert!(message.ends_with("8 is out of range; allowed are 9 to 100000"), "{message}");
    let text = format!("{LINE}[medium]\nrange_m = 9\n");
    let Propagation::UnitDisc { interference_range_m, .. } =
        Scenario::from_toml("s.toml", &text).expect("valid").medium.propagation
    else {
        panic!("a disc");
    };
    assert_eq!(interference_range_m, 9.0, "as far as reception unless given");
}

#[test]
fn routes_on_a_line_go_from_neighbour_to_neighbour_in_both_directions() {
    let mut scenario = Scenario::default().on_line(3, 8.0);
    scenario.flows = vec![Flow::bulk(3, 0)];
    let routes = scenario.routes();
    assert_eq!(routes.len(), 6);
    for Route { node, destination, next_hop } in routes {
        let step = if destination == 0 { node - 1 } else { node + 1 };
        assert_eq!(next_hop, step);
    }
}

#[test]
fn nodes_that_no_link_connects_well_enough_are_named() {
    let warnings = |spacing_m: f64| {
        let text = format!(
            "[topology]\nline = {{ hops = 1, spacing_m = {spacing_m} }}\n[medium]\nmodel = \
             \"path-loss\"\n[[flow]]\nkind = \"tcp-bulk\"\nfrom = 1\nto = 0\n"
        );
        Scenario::from_toml("far.toml", &text).expect("valid").warnings()
    };
    assert!(warnings(70.0).is_empty());
    // 40.2 + 30 log10(100) dB.
    let [warning] = &warnings(100.0)[..] else { panic!("one pair") };
    assert!(
        warning.contains("from node 1 to node 0") && warning.contains("-100.2 dBm"),
        "{warning}"
    );
}

#[test]
fn the_channel_is_assessed_as_the_scenario_says() {
    let of = |keys: &str| {
        let text = format!("{LINE}[radio]\n{keys}\n");
        simulated::radio_of(&Scenario::from_toml("r.toml", &text).expect("valid")).cca
    };
    assert_eq!(of("cca = \"energy\""), AT86RF233.cca);
    assert_eq!(of("").mode, CcaMode::Either);
    assert_eq!(of("profile = \"nrf52840\"").threshold_dbm, -75.0);
    let changed = of("cca = \"either\"\ncca_threshold_dbm = -90");
    assert_eq!((changed.mode, changed.threshold_dbm), (CcaMode::Either, -90.0));
    assert!(refused(&format!("{LINE}[radio]\ncca = \"noise\"\n")).contains("\"carrier\""));
}

#[test]
fn the_office_brings_its_medium_and_its_day() {
    let night = Scenario::from_toml("o", "[topology]\noffice = {}\n").expect("valid");
    assert_eq!(night, Scenario::office());
    let text = "start_hour = 9\n[topology]\noffice = { day = true }\n[medium]\nshadowing_db = 4\n";
    let day = Scenario::from_toml("o", text).expect("valid");
    assert_eq!(day.interference, Scenario::office().by_day().interference);
    assert!((day.start_hour - 9.0).abs() < 1e-9 && !day.interference.is_empty());
    let Propagation::PathLoss { exponent, shadowing_db, .. } = day.medium.propagation else {
        panic!("the office has path loss");
    };
    assert_eq!((exponent, shadowing_db), (3.83, 4.0));
}

#[test]
fn an_office_whose_nodes_all_wake_has_no_leaves() {
    let text = |leaves: &str| {
        format!("[topology]\noffice = {{{leaves}}}\n[radio]\nprofile = \"nrf52840\"\n[wake]\n")
    };
    assert!(refused(&text("")).contains("leaves poll their parents"));
    let office = Scenario::from_toml("o", &text(" leaves = false ")).expect("valid");
    let routers = office.nodes.iter().filter(|place| place.role == Role::Router);
    assert_eq!((office.nodes.len(), routers.count()), (15, 14));
    assert!(office.nodes.iter().all(|place| place.parent.is_none()));
}

#[test]
fn a_leaf_of_the_office_that_is_always_on_keeps_its_neighbour() {
    let text = |keys: &str| format!("[topology]\noffice = {{ {keys} }}\n");
    let office = Scenario::from_toml("o", &text("awake = [11]")).expect("valid");
    assert_eq!((office.nodes[11].role, office.nodes[11].parent), (Role::Router, Some(6)));
    assert_eq!((office.nodes[12].role, office.nodes[12].parent), (Role::Leaf, Some(6)));
    assert!(refused(&text("awake = [6]")).contains("node 6 is no leaf"));
    assert!(refused(&text("leaves = false, awake = [11]")).contains("node 11 is no leaf"));
    assert!(refused(&text("awake = [15]")).contains("15 is out of range"));
}

#[test]
fn interference_needs_a_source_and_the_model_that_knows_it() {
    let one = "[[interference]]\nx_m = 3\n";
    assert!(refused(&format!("{LINE}{one}")).contains("missing; give one of \"wifi-file\""));
    let strict = format!("{LINE}[medium]\noverlap = \"strict\"\n{one}source = \"bluetooth\"\n");
    assert!(refused(&strict).contains("needs `overlap = \"sinr-ber\"`"));
}

#[test]
fn only_a_leaf_has_a_parent_and_not_itself() {
    let text = |role: &str, parent: u32| {
        format!("[[node]]\n[[node]]\nrole = \"{role}\"\nparent = {parent}\n")
    };
    let scenario = Scenario::from_toml("p", &text("leaf", 0)).expect("valid");
    assert_eq!(scenario.nodes[1].parent, Some(0));
    assert!(refused(&text("router", 0)).contains("only a leaf has a parent"));
    assert!(refused(&text("leaf", 1)).contains("not its own parent"));
    assert!(refused(&text("leaf", 2)).contains("2 is out of range"));
}

#[test]
fn a_leaf_without_a_parent_gets_the_next_hop_to_the_border_router_and_no_other_neighbour() {
    // All are in range of each other, and the leaf is nearer to node 2.
    let text = "[[node]]\nrole = \"border-router\"\n[[node]]\nx_m = 8\n[[node]]\nx_m = 16\n\
                [[node]]\nx_m = 15\nrole = \"leaf\"\n\
                [[flow]]\nkind = \"tcp-bulk\"\nfrom = 2\nto = 3\n";
    let scenario = Scenario::from_toml("p", text).expect("valid");
    assert_eq!(scenario.parents(), [None, None, None, Some(1)]);
    let to_leaf: Vec<_> = scenario.routes().into_iter().filter(|r| r.destination == 3).collect();
    assert_eq!(to_leaf.len(), 2, "node 2 by way of the parent: {to_leaf:?}");
    assert!(to_leaf.iter().any(|route| (route.node, route.next_hop) == (2, 1)));
}

#[test]
fn sleeping_and_queueing_have_their_keys() {
    let text = "[topology]\nline = { hops = 1 }\n[leaf]\nsleep_interval_s = 0.5\n\
                polling = \"fixed\"\n\
                fast_poll_ms = 20\ndata_request_timeout_ms = 30\n[net]\nqueue = \"red\"\n\
                [mac]\n[mac.indirect]\nretries = 1\nretry_delay_ms = 7\nmin_be = 0\n\
                preempt = false\nburst = false\n";
    let scenario = Scenario::from_toml("s", text).expect("valid");
    let ms = Duration::from_millis;
    assert_eq!(scenario.polling, Polling::Fixed { base: ms(500), fast_poll: ms(20) });
    let indirect = mac::Indirect {
        max_retries: 1,
        retry_delay_max: ms(7),
        min_be: 0,
        preempt: false,
        burst: false,
    };
    let expected =
        mac::MacConfig { indirect, data_request_timeout: ms(30), ..Scenario::default().mac };
    assert_eq!(scenario.mac, expected);
    assert_eq!(scenario.net.queue, net::QueueDiscipline::Red(net::Red::DEFAULT));
    assert!(refused(&text.replace("min_be = 0", "min_be = 6")).contains("mac.indirect.min_be"));
    assert!(refused(&text.replace("red", "blue")).contains("net.queue"));
}

#[test]
fn energy_cca_wakes_no_node_for_a_weak_link() {
    let text = "[topology]\nline = { hops = 2, spacing_m = 20 }\n[medium]\nmodel = \"path-loss\"\n\
                exponent = 3\nreference_loss_db = 40.2\n[radio]\nprofile = \"nrf52840\"\n\
                cca = \"energy\"\n[wake]\nrate_hz = 8\n";
    let error = refused(text);
    assert!(error.contains("node 1 is joined to node 0 only by links below -75 dBm"), "{error}");
    assert!(refused(&text.replace("\"energy\"", "\"both\"")).contains("cca = \"either\""));
    // The links have -79.2 dBm.
    let works = [
        text.replace("\"energy\"", "\"either\""),
        text.replace("\"energy\"", "\"carrier\""),
        text.replace("\"energy\"", "\"energy\"\ncca_threshold_dbm = -80"),
        text.replace("= 20", "= 14"),
        text.replace("[wake]\nrate_hz = 8\n", ""),
    ];
    for text in works {
        Scenario::from_toml("s", &text).expect(&text);
    }
    let weak = "[topology]\nline = { hops = 1 }\n[medium]\nrssi_dbm = -76\n[radio]\n\
                profile = \"nrf52840\"\ncca = \"energy\"\n[wake]\n";
    assert!(refused(weak).contains("below -75 dBm"));
    Scenario::from_toml("s", &weak.replace("-76", "-75")).expect("strong enough");
}

#[test]
fn an_unreachable_destination_has_no_route_and_the_search_ends() {
    let mut scenario = Scenario::default().on_line(3, 50.0);
    scenario.flows = vec![Flow::bulk(3, 0)];
    assert!(scenario.routes().is_empty());
}

#[test]
fn neighbour_traffic_goes_from_every_node_to_one_that_it_receives() {
    for (columns, rows) in [(5, 3), (2, 1), (20, 10)] {
        let text = format!(
            "[topology]\ngrid = {{ columns = {columns}, rows = {rows} }}\n\
             [[flow]]\nkind = \"udp-neighbours\"\n"
        );
        let scenario = Scenario::from_toml("grid", &text).expect("valid");
        assert_eq!(scenario.flows.len(), scenario.nodes.len());
        for flow in &scenario.flows {
            let FlowKind::Udp(Datagrams { from, to, .. }) = flow.kind else { panic!("not UDP") };
            assert!(connected(&scenario, from, to), "{from} does not reach {to}");
        }
    }
}

#[test]
fn any_text_gives_a_scenario_or_an_error_but_no_panic() {
    let text = include_str!("../../lab/scenarios/annotated.toml");
    for end in (0..text.len()).filter(|i| text.is_char_boundary(*i)) {
        let _ = Scenario::from_toml("cut", &text[..end]);
        let cut_out = format!("{}{}", &text[..end], text.get(end + 1..).unwrap_or(""));
        if let Err(error) = Scenario::from_toml("cut", &cut_out) {
            assert!(!error.to_string().is_empty());
        }
    }
}

#[test]
fn a_leaf_samples_the_channel_if_its_radio_can() {
    let text = "[topology]\nline = { hops = 1 }\n[radio]\nprofile = \"nrf52840\"\ndrift_ppm = 20\n\
                [leaf]\ncsl_period_ms = 500\ncsl_drift_ppm = 80\n";
    let scenario = Scenario::from_toml("samples", text).expect("valid");
    let csl = mac::Csl { drift_ppm: 80, ..csl_every(500) };
    assert_eq!((scenario.mac.csl, scenario.radio.drift_ppm), (Some(csl), 20));
    let other = text.replace("nrf52840", "at86rf233");
    let error = Scenario::from_toml("samples", &other).expect_err("it cannot").to_string();
    assert!(error.contains("csl_period_ms") && error.contains("nrf52840"), "{error}");
}

#[test]
fn chips_are_nodes_of_a_radio_whose_chip_is_modelled() {
    let with = |radio: &str| format!("{LINE}[radio]\n{radio}\n");
    let text = with("profile = \"nrf52840\"\nchips = [3, 1, 3]");
    let scenario = Scenario::from_toml("chips", &text).expect("valid");
    assert_eq!(scenario.radio.chips, [1, 3]);
    let message = refused(&with("profile = \"cc2420\"\nchips = [1]"));
    assert!(message.contains("radio.chips: there is no model of this radio's chip"), "{message}");
    let message = refused(&with("profile = \"nrf52840\"\nchips = [4]"));
    assert!(message.contains("radio.chips: 4 is out of range"), "{message}");
    let message = refused(&format!("{text}[wake]\n"));
    assert!(message.contains("the chip of node 1 cannot"), "{message}");
    let leaf = "[[node]]\nrole = \"border-router\"\n[[node]]\nx_m = 5\nrole = \"leaf\"\n";
    for (profile, chips, security, fits) in [
        ("at86rf233", "[0]", true, false),
        ("at86rf233", "[0]", false, true),
        ("at86rf233", "[1]", true, true),
        ("nrf52840", "[0]", true, true),
    ] {
        let text = format!(
            "{leaf}[radio]\nprofile = \"{profile}\"\nchips = {chips}\n\
             [mac]\nsecurity = {security}\n"
        );
        if fits {
            Scenario::from_toml("chips", &text).expect("valid");
        } else {
            let message = refused(&text);
            assert!(message.contains("the chip of node 0 sets no frame-pending bit"), "{message}");
        }
    }
    let text = "[[node]]\n[[node]]\nx_m = 5\nrole = \"outside\"\n[radio]\n\
                profile = \"nrf52840\"\nchips = [1]\n";
    let message = refused(text);
    assert!(message.contains("radio.chips: node 1 is outside"), "{message}");
}

#[test]
fn the_settings_of_simpler_stacks_are_read() {
    let text = format!(
        "{LINE}[mac]\nbackoff = \"tinyos\"\nmax_frame_retries = 7\n[tcp]\nacks = \"positive\"\n\
         rto = \"rfc6298\"\nmin_rto_ms = 500\nwindow_limit = 8\nrecovery = \"timeout\"\n"
    );
    let scenario = Scenario::from_toml("s", &text).unwrap();
    assert_eq!((scenario.backoff, scenario.mac.max_frame_retries), (EitherBackoff::TINYOS, 7));
    let connection = ConnectionConfig {
        positive_acks: true,
        rto: Rto::AtLeast,
        rto_min: Duration::from_millis(500),
        window_limit: 8,
        fast_recovery: false,
        ..ConnectionConfig::DEFAULT
    };
    assert_eq!(scenario.tcp.connection, connection);
    for (name, rule) in [("static", Rto::Static), ("semi-dynamic", Rto::FirstRoundTrip)] {
        let scenario = Scenario::from_toml("s", &text.replace("rfc6298", name)).unwrap();
        assert_eq!(scenario.tcp.connection.rto, rule);
    }
    for (name, congestion) in
        [("cubic", Control::Cubic), ("westwood", Control::Westwood), ("rate", Control::Rate)]
    {
        let text = format!("{text}congestion = \"{name}\"\n");
        assert_eq!(Scenario::from_toml("s", &text).unwrap().tcp.congestion, congestion);
    }
    assert!(refused(&text.replace("\"tinyos\"", "\"tiny\"")).contains("did you mean \"tinyos\"?"));
    assert!(refused(&text.replace("acks =", "ack =")).contains("did you mean `acks`?"));
    assert!(refused(&text.replace("= 8", "= 16")).contains("allowed are 0 to 15"));
}

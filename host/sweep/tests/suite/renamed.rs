//! Old names of keys in sweeps.

use kinglet_scenario::renamed::upgrade;
use kinglet_sweep::sweep::{Base, Plan, Sweep};
use std::path::Path;
use toml::{Table, Value};

const FILE: &str = "old.toml";

#[test]
fn names_in_sweeps_are_upgraded_wherever_they_are() {
    let old = "seeds = [1]\n[fields]\ntcp.window_by_distance = [true, false]\n\
               \"tcp.rto\" = [\"rfc6298\", \"distance\"]\n\
               \"flow.0.hangs_up\" = [true]\n\
               wake = [{ rests = true, border_sleeps = true }, { rate_hz = 2, rests = false }]\n\
               pairs.every_s = [30]\n\
               [scenario.topology.line]\nhops = 2\n[scenario.radio]\nprofile = \"nrf52840\"\n\
               [scenario.tcp]\nlinux_tiny_pieces = true\n\
               [[scenario.flow]]\nkind = \"anemometer\"\nfrom = 2\nto = 0\n";
    let new = "seeds = [1]\n[fields]\ntcp.window_by_hops = [true, false]\n\
               \"tcp.rto\" = [\"rfc6298\", \"linux\"]\n\
               \"flow.0.connection_per_batch\" = [true]\n\
               wake = [{ sleep_in_gaps = true, border_duty_cycled = true }, { rate_hz = 2, \
               sleep_in_gaps = false }]\n\
               pairs.interval_s = [30]\n\
               [scenario.topology.line]\nhops = 2\n[scenario.radio]\nprofile = \"nrf52840\"\n\
               [scenario.tcp]\nlinux_tiny_segments = true\n\
               [[scenario.flow]]\nkind = \"anemometer\"\nfrom = 2\nto = 0\n";
    let upgraded = upgrade(Path::new(FILE), old).expect("old names");
    assert_eq!((upgraded.text.as_str(), upgraded.changes.len()), (new, 8));
    let [old, new] = [old, new].map(|text| text.replace("pairs.every_s = [30]\n", ""));
    let new = new.replace("pairs.interval_s = [30]\n", "");
    let [old, new] =
        [old, new].map(|text| Sweep::from_toml(FILE.as_ref(), &text).expect("a sweep"));
    assert_eq!((old.renamed().count(), new.renamed().count()), (7, 0));
    assert_eq!(old.fields(), new.fields());
    let keys = |sweep| {
        let plan = Plan::new(sweep).expect("a plan");
        plan.runs().iter().map(|run| run.key.clone()).collect::<Vec<_>>()
    };
    assert_eq!(keys(old), keys(new));
}

#[test]
fn both_names_of_a_field_are_refused() {
    let text = "[fields]\ntcp.window_by_hops = [true]\n\"tcp.window_by_distance\" = [false]\n\
                [scenario]\n";
    let error = Sweep::from_toml(FILE.as_ref(), text).expect_err("both");
    assert_eq!((error.position, error.field.as_str()), (Some((3, 1)), "tcp.window_by_distance"));
    let text = "[fields]\nnet = [{ aodv_doubts = true }, { aodv_link_probes = true }]\n";
    assert_eq!(upgrade(Path::new(FILE), text).expect("two values").changes.len(), 1);
}

#[test]
fn tables_and_fields_from_code_are_upgraded() {
    let table: Table = "[topology]\nline = { hops = 3 }\n[tcp]\nrto = \"distance\"\n\
         [[flow]]\nkind = \"tcp-bulk\"\nfrom = 3\nto = 0\n"
        .parse()
        .expect("TOML");
    let base = Base::from_table(FILE.as_ref(), table).expect("one name");
    let [change] = base.renamed() else { panic!("one old name") };
    assert_eq!(
        change.to_string(),
        "old.toml: `tcp.rto = \"distance\"` is an old name of \
                                    `tcp.rto = \"linux\"`"
    );
    let fields = vec![("tcp.window_by_distance".to_owned(), vec![Value::Boolean(true)])];
    let sweep = Sweep::new(base, fields, None).expect("a sweep");
    assert_eq!((sweep.fields(), sweep.renamed().count()), (vec!["tcp.window_by_hops".into()], 2));
    assert!(sweep.scenario(0).expect("a scenario").tcp.connection.window_by_hops);
}

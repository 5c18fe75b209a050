//! Settings that the advice covers: settings of nodes, with their possible values.

use crate::sweep::Base;
use kinglet_scenario::{Role, Routing, Scenario, Transport};
use toml::{Table, Value as Toml};

/// A setting of a scenario's nodes.
struct Setting {
    /// Keys of the setting; the first one is its name.
    keys: &'static [&'static str],
    /// Alternative keys for the same setting.
    instead: &'static [&'static str],
    /// True if the setting has an effect in this scenario.
    applies: fn(&Scenario) -> bool,
    /// Values as TOML, Kinglet's default first.
    values: &'static [&'static str],
}

fn has_tcp(scenario: &Scenario) -> bool {
    scenario
        .flows
        .iter()
        .any(|flow| flow.target(0).is_some_and(|at| at.transport == Transport::Tcp))
}

fn has_leaves(scenario: &Scenario) -> bool {
    scenario.nodes.iter().any(|node| node.role == Role::Leaf)
}

fn finds_routes(scenario: &Scenario) -> bool {
    scenario.routing != Routing::Static
}

const SETTINGS: &[Setting] = &[
    Setting {
        keys: &["tcp.stack", "tcp.peer_stack"],
        instead: &[],
        applies: has_tcp,
        values: &["tcp.stack = 'kinglet'"],
    },
    Setting {
        keys: &["tcp.mss_frames"],
        instead: &["tcp.mss"],
        applies: has_tcp,
        values: &[
            "tcp.mss_frames = 5",
            "tcp.mss_frames = 1",
            "tcp.mss_frames = 2",
            "tcp.mss_frames = 3",
            "tcp.mss_frames = 4",
            "tcp.mss_frames = 6",
            "tcp.mss_frames = 8",
        ],
    },
    Setting {
        keys: &["tcp.send_buffer_segments", "tcp.receive_buffer_segments"],
        instead: &["tcp.send_buffer_bytes", "tcp.receive_buffer_bytes"],
        applies: has_tcp,
        values: &[
            "tcp = { send_buffer_segments = 4, receive_buffer_segments = 4 }",
            "tcp = { send_buffer_segments = 2, receive_buffer_segments = 2 }",
            "tcp = { send_buffer_segments = 3, receive_buffer_segments = 3 }",
            "tcp = { send_buffer_segments = 6, receive_buffer_segments = 6 }",
            "tcp = { send_buffer_segments = 8, receive_buffer_segments = 8 }",
            "tcp = { send_buffer_segments = 12, receive_buffer_segments = 12 }",
        ],
    },
    Setting {
        keys: &["tcp.window_limit", "tcp.window_by_hops"],
        instead: &[],
        applies: has_tcp,
        values: &[
            "",
            "tcp.window_by_hops = true",
            "tcp.window_limit = 1",
            "tcp.window_limit = 2",
            "tcp.window_limit = 3",
            "tcp.window_limit = 4",
        ],
    },
    Setting {
        keys: &["tcp.ack_every", "tcp.ack_delay_ms", "tcp.acks"],
        instead: &[],
        applies: has_tcp,
        values: &[
            "",
            "tcp.ack_every = 1",
            "tcp = { ack_every = 1, ack_delay_ms = 0 }",
            "tcp = { ack_every = 4, ack_delay_ms = 200 }",
            "tcp.acks = 'positive'",
        ],
    },
    Setting {
        keys: &["tcp.rto", "tcp.min_rto_ms"],
        instead: &[],
        applies: has_tcp,
        values: &["", "tcp.min_rto_ms = 100", "tcp.min_rto_ms = 500", "tcp.min_rto_ms = 1000"],
    },
    Setting {
        keys: &["tcp.pacing"],
        instead: &[],
        applies: has_tcp,
        values: &["tcp.pacing = true", "tcp.pacing = false"],
    },
    Setting {
        keys: &["tcp.recovery", "tcp.sack"],
        instead: &[],
        applies: has_tcp,
        values: &["", "tcp.sack = false"],
    },
    Setting {
        keys: &["tcp.link_losses"],
        instead: &[],
        applies: has_tcp,
        values: &["tcp.link_losses = true"],
    },
    Setting {
        keys: &["mac.max_frame_retries"],
        instead: &[],
        applies: |_| true,
        values: &[
            "mac.max_frame_retries = 15",
            "mac.max_frame_retries = 1",
            "mac.max_frame_retries = 3",
            "mac.max_frame_retries = 5",
            "mac.max_frame_retries = 7",
        ],
    },
    Setting {
        keys: &["mac.retry_delay_ms", "mac.adaptive_retry_delay"],
        instead: &[],
        applies: |_| true,
        values: &[
            "",
            "mac = { retry_delay_ms = 0, adaptive_retry_delay = false }",
            "mac = { retry_delay_ms = 40, adaptive_retry_delay = false }",
            "mac.retry_delay_ms = 100",
        ],
    },
    Setting {
        keys: &["mac.backoff"],
        instead: &[],
        applies: |_| true,
        values: &["mac.backoff = 'exponential'", "mac.backoff = 'tinyos'"],
    },
    Setting {
        keys: &["net.routing", "net.aodv_metric", "net.aodv_link_probes"],
        instead: &[],
        applies: finds_routes,
        values: &[
            "net.routing = 'mesh'",
            "net.routing = 'rpl'",
            "net.routing = 'aodv'",
            "net = { routing = 'aodv', aodv_metric = 'hop-count' }",
        ],
    },
    Setting {
        keys: &["net.queue_packets"],
        instead: &[],
        applies: |_| true,
        values: &["net.queue_packets = 10", "net.queue_packets = 5", "net.queue_packets = 20"],
    },
    Setting {
        keys: &["net.relays_yield"],
        instead: &[],
        applies: has_tcp,
        values: &["net.relays_yield = true", "net.relays_yield = false"],
    },
    Setting {
        keys: &["leaf.polling", "leaf.fast_poll_ms"],
        instead: &[],
        applies: has_leaves,
        values: &["", "leaf = { polling = 'fixed', fast_poll_ms = 100 }"],
    },
    Setting {
        keys: &["leaf.sleep_interval_s"],
        instead: &[],
        applies: has_leaves,
        values: &[
            "leaf.sleep_interval_s = 240",
            "leaf.sleep_interval_s = 1",
            "leaf.sleep_interval_s = 10",
            "leaf.sleep_interval_s = 60",
        ],
    },
    Setting {
        keys: &["leaf.csl_period_ms", "leaf.csl_drift_ppm", "leaf.csl_sync_s"],
        instead: &[],
        applies: has_leaves,
        values: &[
            "",
            "leaf.csl_period_ms = 100",
            "leaf.csl_period_ms = 250",
            "leaf.csl_period_ms = 500",
            "leaf.csl_period_ms = 1000",
        ],
    },
    Setting {
        keys: &["wake.rate_hz"],
        instead: &[],
        applies: |scenario| scenario.wake.is_some(),
        values: &[
            "wake.rate_hz = 8",
            "wake.rate_hz = 2",
            "wake.rate_hz = 4",
            "wake.rate_hz = 16",
            "wake.rate_hz = 32",
        ],
    },
    Setting {
        keys: &["wake.burst_ms"],
        instead: &[],
        applies: |scenario| scenario.wake.is_some(),
        values: &["wake.burst_ms = 400", "wake.burst_ms = 100", "wake.burst_ms = 2000"],
    },
    Setting {
        keys: &["wake.channels"],
        instead: &[],
        applies: |scenario| scenario.wake.is_some(),
        values: &[
            "wake.channels = 1",
            "wake.channels = 2",
            "wake.channels = 4",
            "wake.channels = 8",
        ],
    },
];

/// A setting that can be changed in the scenario.
pub(super) struct Offered {
    /// Key that is the setting's name.
    pub(super) name: &'static str,
    keys: &'static [&'static str],
    /// Values other than the scenario's.
    pub(super) values: Vec<Value>,
    /// Index of Kinglet's default among these values, counted from 1; 0 if the scenario has it.
    pub(super) usual: usize,
}

/// A value of a setting.
pub(super) struct Value {
    /// TOML that sets the value.
    says: Table,
    /// Keys that would set another value.
    unsaid: Vec<&'static str>,
}

impl Value {
    /// Sets the value in a scenario.
    fn put(&self, scenario: &mut Table) {
        for key in &self.unsaid {
            remove(scenario, key);
        }
        merge(scenario, &self.says);
    }
}

/// Settings with an effect in the scenario, and their possible values.
pub(super) fn offered(base: &Base, plain: &Scenario) -> Vec<Offered> {
    let applying = SETTINGS.iter().filter(|setting| (setting.applies)(plain));
    let all = applying.map(|setting| {
        let mut offered =
            Offered { name: setting.keys[0], keys: setting.keys, values: Vec::new(), usual: 0 };
        for (place, text) in setting.values.iter().enumerate() {
            let unsaid = setting.keys.iter().chain(setting.instead).copied().collect();
            let says = text.parse().unwrap_or_default();
            let value = Value { says, unsaid };
            let differs =
                base.read(&with(base, &[&value])).is_ok_and(|scenario| scenario != *plain);
            if differs {
                offered.values.push(value);
                if place == 0 {
                    offered.usual = 1;
                }
            }
        }
        offered
    });
    all.filter(|offered| !offered.values.is_empty()).collect()
}

/// Scenario file `base` with these values.
pub(super) fn with(base: &Base, values: &[&Value]) -> Table {
    let mut table = base.table().clone();
    values.iter().for_each(|value| value.put(&mut table));
    table
}

/// TOML that sets these values; keys that must be absent are comments.
pub(super) fn fragment(values: &[&Value]) -> String {
    let mut table = Table::new();
    let mut gone = String::new();
    for value in values {
        merge(&mut table, &value.says);
        for key in value.unsaid.iter().filter(|key| at(&value.says, key).is_none()) {
            gone.push_str(&format!("# not: {key}\n"));
        }
    }
    // Tables and plain values can always be serialised.
    gone + &toml::to_string(&table).unwrap_or_default()
}

impl Offered {
    /// Value in a scenario file: values of its keys, or that it has the default.
    pub(super) fn said_by(&self, scenario: &Table) -> String {
        let last = |key: &'static str| key.rsplit('.').next().unwrap_or(key);
        let said: Vec<String> = self
            .keys
            .iter()
            .filter_map(|key| Some((key, at(scenario, key)?)))
            .map(|(key, value)| match self.keys {
                [_] => value.to_string(),
                _ => format!("{} = {value}", last(key)),
            })
            .collect();
        if said.is_empty() { "the default".to_owned() } else { said.join(", ") }
    }
}

/// Value of a dotted key.
fn at<'a>(table: &'a Table, key: &str) -> Option<&'a Toml> {
    let (section, key) = key.split_once('.')?;
    table.get(section)?.as_table()?.get(key)
}

fn remove(table: &mut Table, key: &str) {
    let Some((section, key)) = key.split_once('.') else { return };
    if let Some(section) = table.get_mut(section).and_then(Toml::as_table_mut) {
        section.remove(key);
    }
}

/// Copies the values of `from` into `into`; tables in `from` are not nested.
fn merge(into: &mut Table, from: &Table) {
    for (section, values) in from {
        let into = into.entry(section.clone()).or_insert_with(|| Toml::Table(Table::new()));
        if let (Some(into), Some(values)) = (into.as_table_mut(), values.as_table()) {
            into.extend(values.iter().map(|(key, value)| (key.clone(), value.clone())));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn base(text: &str) -> Base {
        Base::from_table("s.toml".as_ref(), text.parse().expect("valid TOML")).expect("new names")
    }

    fn offers(text: &str) -> Vec<Offered> {
        let base = base(text);
        let plain = base.read(base.table()).expect("a scenario");
        offered(&base, &plain)
    }

    const LINE: &str = "topology = { line = { hops = 2 } }\n";
    const BULK: &str = "[[flow]]\nkind = 'tcp-bulk'\nfrom = 1\nto = 0\n";
    const UDP: &str = "[[flow]]\nkind = 'udp-bulk'\nfrom = 1\nto = 0\n";

    #[test]
    fn the_first_value_of_each_is_the_default_and_every_one_is_possible_somewhere() {
        let leaf = "node = [{ role = 'border-router' }, { role = 'leaf', x_m = 5 }]\n";
        let texts = [
            format!("{LINE}{BULK}"),
            format!("{LINE}[net]\nrouting = 'mesh'\n{BULK}"),
            format!("{LINE}radio = {{ profile = 'nrf52840' }}\nwake = {{}}\n{BULK}"),
            format!("{leaf}radio = {{ profile = 'nrf52840' }}\n{BULK}"),
        ];
        let bases = texts.each_ref().map(|text| base(text));
        for setting in SETTINGS {
            let mut met = false;
            for base in &bases {
                let plain = base.read(base.table()).expect("a scenario");
                if !(setting.applies)(&plain) {
                    continue;
                }
                let read = |text: &str| {
                    let says = text.parse().expect(text);
                    let unsaid = setting.keys.iter().chain(setting.instead).copied().collect();
                    base.read(&with(base, &[&Value { says, unsaid }]))
                };
                assert_eq!(read(setting.values[0]).as_ref(), Ok(&plain), "{:?}", setting.keys);
                met |= setting.values.iter().all(|text| read(text).is_ok());
            }
            assert!(met, "{:?}", setting.keys);
        }
    }

    #[test]
    fn a_setting_without_effect_is_not_offered() {
        let offers = offers(&format!("{LINE}{UDP}"));
        assert!(offers.iter().all(|it| !it.name.starts_with("tcp.")));
        let retries = offers.iter().find(|it| it.name == "mac.max_frame_retries").expect("offered");
        assert_eq!((retries.values.len(), retries.usual), (4, 0));
    }

    #[test]
    fn a_value_replaces_its_equivalents() {
        let text = format!("{LINE}[tcp]\nmss = 90\n[mac]\nmax_frame_retries = 3\n{BULK}");
        let base = base(&text);
        let offers = offers(&text);
        let of = |name| offers.iter().find(|it: &&Offered| it.name == name).expect("offered");
        let frames = of("tcp.mss_frames");
        let chosen = [&frames.values[1], &of("mac.max_frame_retries").values[0]];
        let table = with(&base, &chosen);
        assert!(at(&table, "tcp.mss").is_none());
        assert_eq!(frames.said_by(&table), "1");
        assert_eq!(frames.said_by(base.table()), "the default");
        assert_eq!(
            fragment(&chosen),
            "# not: tcp.mss\n[mac]\nmax_frame_retries = 15\n\n[tcp]\nmss_frames = 1\n"
        );
    }
}

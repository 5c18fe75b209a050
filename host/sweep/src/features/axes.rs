//! The axes: features of a scenario, with the lines of TOML that each value adds.

/// A value of an axis.
#[derive(Debug)]
pub(super) struct Value {
    pub(super) name: &'static str,
    /// Lines to add, by section of the scenario. One string may have several lines. A section that
    /// begins with `[[` is appended as another element.
    pub(super) lines: &'static [(&'static str, &'static str)],
}

/// A feature of a scenario.
#[derive(Debug)]
pub(super) struct Axis {
    pub(super) name: &'static str,
    pub(super) values: &'static [Value],
}

const fn value(name: &'static str, lines: &'static [(&'static str, &'static str)]) -> Value {
    Value { name, lines }
}

/// Number of the far router, and of the node that is a router or a leaf.
pub(super) const FAR: u32 = 4;
pub(super) const LEAF: u32 = 5;

const NRF: (&str, &str) = ("radio", "profile = \"nrf52840\"");

/// All axes. The first value of each is the default, except for the flow.
pub(super) const AXES: [Axis; 16] = [
    Axis {
        name: "routing",
        values: &[
            value("static", &[]),
            value("discovery", &[("net", "registration = true")]),
            value("mesh", &[("net", "routing = \"mesh\"")]),
            value("storing", &[("net", "routing = \"rpl\"")]),
            value("non-storing", &[("net", "routing = \"rpl\"\nrpl_mode = \"non-storing\"")]),
            value("aodv", &[("net", "routing = \"aodv\"")]),
        ],
    },
    Axis {
        name: "leaf",
        values: &[
            value("none", &[]),
            value("polls", &[("leaf", "sleep_interval_s = 2")]),
            value(
                "csl",
                &[NRF, ("leaf", "sleep_interval_s = 2\ncsl_period_ms = 500\ncsl_drift_ppm = 100")],
            ),
        ],
    },
    Axis {
        name: "relays",
        values: &[
            value("awake", &[]),
            value("8 Hz", &[NRF, ("wake", "rate_hz = 8")]),
            value("2 Hz", &[NRF, ("wake", "rate_hz = 2")]),
        ],
    },
    Axis {
        name: "security",
        values: &[value("on", &[]), value("off", &[("mac", "security = false")])],
    },
    Axis {
        name: "addresses",
        values: &[value("short", &[]), value("eui64", &[("mac", "addresses = \"eui64\"")])],
    },
    Axis {
        name: "cca",
        values: &[
            value("either", &[]),
            value("energy", &[("radio", "cca = \"energy\"")]),
            value("carrier", &[("radio", "cca = \"carrier\"")]),
        ],
    },
    Axis {
        name: "overlap",
        values: &[
            value("sinr-ber", &[]),
            value("strict", &[("medium", "overlap = \"strict\"")]),
            value("capture", &[("medium", "overlap = \"capture\"")]),
        ],
    },
    Axis {
        name: "drift",
        values: &[value("0 ppm", &[]), value("40 ppm", &[("radio", "drift_ppm = 40")])],
    },
    Axis {
        name: "interference",
        values: &[
            value("none", &[]),
            value(
                "wifi",
                &[("[interference]", "source = \"wifi-file\"\nx_m = 12\ny_m = 10\nshare = 0.3")],
            ),
        ],
    },
    Axis {
        name: "fragments",
        values: &[
            value("reassembled", &[]),
            value("forwarded", &[("net", "fragments = \"forwarded\"")]),
            value("flash", &[("net", "fragments = \"forwarded\"\nflash = \"m25p80\"")]),
        ],
    },
    Axis {
        name: "queue",
        values: &[value("tail-drop", &[]), value("red", &[("net", "queue = \"red\"")])],
    },
    Axis {
        name: "tcp",
        values: &[
            value("default", &[]),
            value("timestamps", &[("tcp", "timestamps = true")]),
            value("no sack", &[("tcp", "sack = false")]),
            value("ecn", &[("tcp", "ecn = true")]),
            value("adaptive", &[("tcp", "adaptive_segments = true")]),
        ],
    },
    Axis { name: "flow", values: FLOWS },
    Axis {
        name: "host",
        values: &[
            value("none", &[]),
            value("same", &[("wire", "host = \"same\"")]),
            value("linux", &[("wire", "host = \"linux\"")]),
        ],
    },
    Axis {
        name: "loss",
        values: &[value("0", &[]), value("5 %", &[("medium", "frame_loss = 0.05")])],
    },
    Axis { name: "mtu", values: &[value("1280", &[]), value("1500", &[("net", "mtu = 1500")])] },
];

/// First flow, between the far router (`FAR`) and the top (`TOP`), from `START` on.
const FLOWS: &[Value] = &[
    value("bulk up", &[("[flow]", "kind = \"tcp-bulk\"\nfrom = FAR\nto = TOP\nstart_s = START")]),
    value("bulk down", &[("[flow]", "kind = \"tcp-bulk\"\nfrom = TOP\nto = FAR\nstart_s = START")]),
    value(
        "datagrams",
        &[(
            "[flow]",
            "kind = \"udp-periodic\"\nfrom = FAR\nto = TOP\nstart_s = START\nperiod_ms = 5000\n\
         payload_bytes = 400",
        )],
    ),
    value(
        "http",
        &[
            ("[flow]", "kind = \"http-server\"\nnode = FAR"),
            (
                "[flow]",
                "kind = \"http-client\"\nfrom = TOP\nto = FAR\nstart_s = START\nbytes = 800\n\
             pause_ms = 20000",
            ),
        ],
    ),
    value(
        "coap",
        &[
            ("[flow]", "kind = \"coap-server\"\nnode = FAR"),
            (
                "[flow]",
                "kind = \"coap-client\"\nfrom = TOP\nto = FAR\nstart_s = START\nbytes = 800\n\
             pause_ms = 20000",
            ),
        ],
    ),
    value(
        "readings by tcp",
        &[(
            "[flow]",
            "kind = \"anemometer\"\ncarrier = \"tcp\"\nfrom = FAR\nto = TOP\nstart_s = START\n\
         period_ms = 5000\nbatch = 12",
        )],
    ),
    value(
        "readings by coap",
        &[(
            "[flow]",
            "kind = \"anemometer\"\ncarrier = \"coap\"\nfrom = FAR\nto = TOP\nstart_s = START\n\
         period_ms = 5000\nbatch = 12",
        )],
    ),
];

/// Flows of every network: readings from the leaf, datagrams to it, and requests to a relay.
pub(super) const ALWAYS: &[(&str, &str)] = &[
    (
        "[flow]",
        "kind = \"anemometer\"\ncarrier = \"tcp\"\nfrom = LEAF\nto = TOP\nstart_s = 307\n\
         period_ms = 5000\nbatch = 6",
    ),
    (
        "[flow]",
        "kind = \"udp-periodic\"\nfrom = TOP\nto = LEAF\nstart_s = 313\nperiod_ms = 20000\n\
         payload_bytes = 60",
    ),
    ("[flow]", "kind = \"coap-server\"\nnode = 2"),
    (
        "[flow]",
        "kind = \"coap-client\"\nfrom = TOP\nto = 2\nstart_s = 319\nbytes = 40\n\
         pause_ms = 30000",
    ),
];

/// A pair of features that a scenario refuses: axes and their values; [`ANY`] is any but the
/// default.
#[derive(Debug)]
pub(super) struct Refused(pub(super) [(&'static str, &'static [&'static str]); 2]);

/// Any value of an axis but its default.
pub(super) const ANY: &[&str] = &[];

/// All refused pairs, each with its physical reason.
pub(super) const REFUSED: [Refused; 5] = [
    // A leaf sends to its parent at any time, which is asleep.
    Refused([("leaf", ANY), ("relays", ANY)]),
    // A leaf does not receive floods.
    Refused([("leaf", ANY), ("routing", &["aodv"])]),
    // The other models have no noise.
    Refused([("interference", ANY), ("overlap", ANY)]),
    // Messages of these protocols have short addresses.
    Refused([("addresses", ANY), ("routing", &["mesh", "aodv"])]),
    // A parent knows its leaves by short addresses.
    Refused([("addresses", ANY), ("leaf", ANY)]),
];

impl Refused {
    /// Returns whether a network with these values has both features; `value` returns the value of
    /// an axis, and whether it is not the default.
    pub(super) fn is_in(&self, value: impl Fn(&str) -> Option<(bool, &'static str)>) -> bool {
        self.0.iter().all(|(axis, names)| {
            value(axis).is_some_and(|(other, name)| match names.is_empty() {
                true => other,
                false => names.contains(&name),
            })
        })
    }
}

//! Allowed dependencies between crates (ARCHITECTURE.md, section 1), and required metadata.

use super::{File, Repository, Violation};
use toml::{Table, Value};

/// The scenario language.
const SCENARIO: &str = "kinglet-scenario";
/// Networks of scenarios, and their runs.
const NETWORK: &str = "kinglet-network";
/// Sweeps of scenarios.
const SWEEP: &str = "kinglet-sweep";
/// Pages and tables.
const REPORT: &str = "kinglet-report";
/// The crates below the experiments in Rust.
const LAB: [&str; 4] = [SCENARIO, NETWORK, SWEEP, REPORT];
/// The layers below all others.
const BASE: [&str; 5] =
    ["kinglet-mem", "kinglet-octets", "kinglet-random", "kinglet-time", "kinglet-wire"];
const RADIO: &str = "kinglet-radio";
const LAYERS: [&str; 9] = [
    RADIO,
    "kinglet-mac",
    "kinglet-nd",
    "kinglet-net",
    "kinglet-tcp",
    "kinglet-mesh",
    "kinglet-rpl",
    "kinglet-aodv",
    "kinglet-coap",
];
/// The flash queue of relays, and the contract of its flash.
const STORE: &str = "kinglet-store";
const FLASH: &str = "kinglet-flash";
const IDENTITY: &str = "kinglet-identity";
/// The timer of mesh and RPL.
const TRICKLE: &str = "kinglet-trickle";
/// The interface of routing protocols.
const ROUTING: &str = "kinglet-routing";
/// Tests of any crate may use it.
const TESTKIT: &str = "kinglet-testkit";
/// The conformance kit of radio drivers, and the models of their chips: for tests of the drivers,
/// and for simulated nodes that are chips.
const KIT: &str = "kinglet-drivers";
const CHIPS: &str = "kinglet-chips";
/// The drivers of modelled chips.
const DRIVERS: [&str; 2] = ["kinglet-at86rf233", "kinglet-nrf52840"];

/// Returns the crates of this workspace that `name` may depend on; `None` for an unknown crate.
fn allowed(name: &str) -> Option<Vec<&'static str>> {
    let below_node = || [BASE.as_slice(), &LAYERS, &[STORE, FLASH, ROUTING]].concat();
    let below_sim = || [below_node(), vec!["kinglet", "kinglet-apps"]].concat();
    let below_lab = || [below_sim(), vec!["kinglet-sim"]].concat();
    Some(match name {
        "kinglet-octets" | "kinglet-time" => vec![],
        "kinglet-mem" => vec!["kinglet-octets"],
        "kinglet-random" => vec!["kinglet-time"],
        TRICKLE => vec!["kinglet-random", "kinglet-time"],
        ROUTING => vec!["kinglet-mem", "kinglet-time", "kinglet-wire"],
        "kinglet-wire" => vec!["kinglet-mem", "kinglet-octets", "kinglet-time"],
        "kinglet-radio" => vec!["kinglet-mem", "kinglet-time"],
        // Its segment scripts drive TCP; the rest of it only uses clocks.
        "kinglet-testkit" => [BASE.as_slice(), &["kinglet-tcp"]].concat(),
        "kinglet-mesh" | "kinglet-rpl" => [BASE.as_slice(), &[ROUTING, TRICKLE]].concat(),
        "kinglet-aodv" | "kinglet-nd" => [BASE.as_slice(), &[ROUTING]].concat(),
        "kinglet-mac" => [BASE.as_slice(), &[RADIO]].concat(),
        FLASH => vec!["kinglet-time"],
        // A driver, for firmware: no layer of the stack depends on it.
        "kinglet-nor" => vec![FLASH, "kinglet-time"],
        // Drivers of radios as well.
        "kinglet-at86rf233" | "kinglet-nrf52840" => vec![RADIO, "kinglet-time"],
        // It must not share code with a driver that it tests, nor with the models of chips.
        KIT => vec![RADIO, "kinglet-random", "kinglet-time"],
        CHIPS => vec![KIT, RADIO, "kinglet-random", "kinglet-time", "kinglet-wire"],
        STORE => vec![FLASH, "kinglet-mem", "kinglet-time"],
        "kinglet-net" => [BASE.as_slice(), &[STORE, FLASH, ROUTING]].concat(),
        "kinglet-tcp" | "kinglet-coap" => BASE.to_vec(),
        "kinglet" => below_node(),
        // It consists of the sockets and the script runner of the testkit.
        "kinglet-packetdrill" => vec!["kinglet-time", TESTKIT],
        // They use the layers through the node, except CoAP, which the node does not have.
        "kinglet-apps" => vec!["kinglet", "kinglet-coap", "kinglet-mem", "kinglet-time"],
        // What a device keeps in its flash: the node has it as its configuration.
        IDENTITY => vec!["kinglet"],
        // Async sockets: no layer knows of tasks.
        "kinglet-embassy" => vec!["kinglet", "kinglet-time"],
        // Its tests run tasks on simulated nodes.
        "kinglet-sim" => [below_sim(), vec!["kinglet-embassy"]].concat(),
        // The behaviour of other stacks must not come from Kinglet's.
        "kinglet-peers" => vec!["kinglet-time", "kinglet-wire"],
        // A protocol that is independent of the stack.
        "kinglet-pip" => vec![RADIO, "kinglet-time", "kinglet-sim"],
        SCENARIO => [below_lab(), vec!["kinglet-peers"]].concat(),
        NETWORK => {
            let own = ["kinglet-peers", "kinglet-pip", SCENARIO, CHIPS];
            [below_lab().as_slice(), &own, &DRIVERS].concat()
        }
        "kinglet-lab" => [below_lab(), vec!["kinglet-peers", "kinglet-pip"], LAB.to_vec()].concat(),
        REPORT => [below_lab(), vec![SCENARIO, NETWORK, SWEEP]].concat(),
        SWEEP => [below_lab(), vec!["kinglet-pip", SCENARIO, NETWORK]].concat(),
        "kinglet-gateway" => {
            let own = ["kinglet-spinel", "kinglet-zep", IDENTITY];
            [below_lab().as_slice(), &["kinglet-peers"], &LAB, &own].concat()
        }
        "kinglet-zep" => [below_lab(), vec!["kinglet-spinel", IDENTITY]].concat(),
        // A driver as well, for hosts; its tests use the kit with a model of the coprocessor.
        "kinglet-spinel" => {
            vec![KIT, CHIPS, RADIO, "kinglet-time", "kinglet-wire", "kinglet", "kinglet-apps"]
        }
        "kinglet-python" => [LAB.as_slice(), &["kinglet-lab"]].concat(),
        "kinglet-cli" => {
            // Its tests have sticks, and read pages.
            let tests = ["kinglet-spinel", CHIPS, IDENTITY];
            let own = ["kinglet-lab", "kinglet-gateway", "kinglet-zep"];
            [below_lab().as_slice(), &LAB, &own, &tests].concat()
        }
        "xtask" => vec![],
        _ => return None,
    })
}

pub(crate) fn direction(repository: &Repository) -> Vec<Violation> {
    repository.manifests().flat_map(of_manifest).collect()
}

fn of_manifest(file: &File) -> Vec<Violation> {
    let manifest = parse(file);
    let name = package(&manifest, "name").and_then(Value::as_str).unwrap_or_default();
    let Some(allowed) = allowed(name) else {
        let remedy = format!("`{name}` is not on the map; add it to tests/rules/dependencies.rs");
        return vec![Violation::new("dependency", file, 1, remedy)];
    };
    let mut found = Vec::new();
    for kind in ["dependencies", "build-dependencies", "dev-dependencies"] {
        let dependencies = manifest.get(kind).and_then(Value::as_table);
        for dependency in dependencies.into_iter().flat_map(Table::keys).map(String::as_str) {
            let ours = dependency == "kinglet" || dependency.starts_with("kinglet-");
            let is_driver = file.path.starts_with("drivers/");
            let of_drivers = is_driver && [KIT, CHIPS].contains(&dependency);
            let in_tests = kind == "dev-dependencies" && (dependency == TESTKIT || of_drivers);
            if ours && !in_tests && !allowed.contains(&dependency) {
                let line = line_with(file, dependency);
                let remedy = format!("`{name}` may not see `{dependency}`, only {allowed:?}");
                found.push(Violation::new("dependency", file, line, remedy));
            }
        }
    }
    found
}

fn parse(file: &File) -> Table {
    file.text.parse().unwrap_or_else(|error| panic!("{}: {error}", file.path))
}

fn package<'a>(manifest: &'a Table, key: &str) -> Option<&'a Value> {
    manifest.get("package").and_then(|package| package.get(key))
}

fn line_with(file: &File, text: &str) -> usize {
    file.text.lines().position(|line| line.starts_with(text)).map_or(0, |index| index + 1)
}

/// Checks the metadata for crates.io and readers, and that no feature changes the behaviour of the
/// stack.
pub(crate) fn metadata(repository: &Repository) -> Vec<Violation> {
    let mut found = Vec::new();
    for file in repository.manifests() {
        let manifest = parse(file);
        for key in ["description", "license", "rust-version", "keywords", "categories"] {
            if package(&manifest, key).is_none() {
                found.push(Violation::new("metadata", file, 1, format!("[package] lacks {key}")));
            }
        }
        // The registry's own limit.
        let keywords = package(&manifest, "keywords").and_then(Value::as_array).map_or(0, Vec::len);
        if keywords > 5 {
            let line = line_with(file, "keywords");
            found.push(Violation::new("metadata", file, line, "at most five keywords"));
        }
        let inherits = manifest.get("lints").and_then(|lints| lints.get("workspace"));
        if inherits.and_then(Value::as_bool) != Some(true) {
            found.push(Violation::new("metadata", file, 1, "needs `lints.workspace = true`"));
        }
        let features = manifest.get("features").and_then(Value::as_table);
        for feature in features.into_iter().flat_map(Table::keys) {
            if file.is_stack() && feature != "defmt" {
                let remedy = format!("`{feature}`: a choice is a type or a value, not a feature");
                found.push(Violation::new("feature", file, line_with(file, feature), remedy));
            }
        }
    }
    found
}

/// Keys of a manifest with web addresses.
const ADDRESSES: [&str; 3] = ["repository", "homepage", "documentation"];

/// Forbids web addresses: the project has none yet, and readers and registries follow those in a
/// manifest.
pub(crate) fn addresses(repository: &Repository) -> Vec<Violation> {
    let mut found = Vec::new();
    for file in repository.files.iter().filter(|file| file.path.ends_with("Cargo.toml")) {
        for key in ADDRESSES {
            let line = line_with(file, key);
            if line > 0 {
                let message = format!("`{key}` names a place that does not exist");
                found.push(Violation::new("address", file, line, message));
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn manifest(text: &str) -> Repository {
        let (path, text) = ("crates/tcp/Cargo.toml".to_owned(), text.to_owned());
        Repository { files: vec![File { path, text }] }
    }

    #[test]
    fn tcp_may_not_see_net_in_any_way() {
        for kind in ["dependencies", "dev-dependencies", "build-dependencies"] {
            let text =
                format!("[package]\nname = \"kinglet-tcp\"\n[{kind}]\nkinglet-net = \"1\"\n");
            let found = direction(&manifest(&text));
            assert_eq!(found.len(), 1, "{kind}");
            assert_eq!(found[0].line, 4);
        }
    }

    #[test]
    fn a_manifest_names_no_address_also_none_of_the_workspace() {
        for text in [
            "[package]\nhomepage = \"https://example.org\"\n",
            "[package]\nrepository.workspace = true\n",
            "[workspace.package]\nrepository = \"https://example.org\"\n",
        ] {
            assert_eq!(addresses(&manifest(text))[0].line, 2, "{text}");
        }
        assert_eq!(addresses(&manifest("[package]\nname = \"a\"\n")), []);
    }

    #[test]
    fn the_testkit_is_for_tests() {
        let text = |kind| {
            format!("[package]\nname = \"kinglet-net\"\n[{kind}]\nkinglet-testkit = \"1\"\n")
        };
        assert_eq!(direction(&manifest(&text("dev-dependencies"))), []);
        assert_eq!(direction(&manifest(&text("dependencies"))).len(), 1);
    }

    #[test]
    fn a_crate_that_is_not_on_the_map_is_refused() {
        assert_eq!(direction(&manifest("[package]\nname = \"kinglet-new\"\n")).len(), 1);
    }

    #[test]
    fn no_stack_crate_reaches_up_to_the_host() {
        for name in
            ["kinglet-mem", "kinglet-tcp", "kinglet-coap", "kinglet-mac", "kinglet", "kinglet-apps"]
        {
            let below = allowed(name).expect("on the map");
            let lab = LAB.into_iter().chain(["kinglet-lab"]);
            for host in
                ["kinglet-sim", "kinglet-gateway", "kinglet-cli", TESTKIT].into_iter().chain(lab)
            {
                assert!(!below.contains(&host), "{name} may see {host}");
            }
        }
    }

    #[test]
    fn missing_metadata_and_features_are_found() {
        let text = "[package]\nname = \"a\"\nlints.workspace = true\n[features]\nfast = []\n";
        let rules: Vec<_> = metadata(&manifest(text)).iter().map(|found| found.rule).collect();
        assert_eq!(rules.iter().filter(|rule| **rule == "metadata").count(), 6);
        assert_eq!(rules.iter().filter(|rule| **rule == "feature").count(), 1);
    }
}

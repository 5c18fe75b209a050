use super::*;
use crate::Scenario;

/// Files that name old keys on purpose.
const KNOWN: [&str; 6] = [
    "docs/renamed.md",
    "host/cli/tests/upgrade.rs",
    "host/sweep/tests/suite/renamed.rs",
    "host/scenario/src/renamed.rs",
    "host/scenario/src/renamed/tests.rs",
    "host/python/tests/test_run.py",
];

const FILE: &str = "old.toml";

/// A scenario in which each section has a meaning, with one more line in this section.
fn with(section: &str, line: &str) -> String {
    let of = |name: &str, text: &str| {
        let more = if name == section { line } else { "" };
        format!("{text}\n{more}\n")
    };
    let parts = [
        of("topology", "[topology]\nline = { hops = 3 }"),
        of("radio", "[radio]\nprofile = \"nrf52840\""),
        match section {
            "leaf" => of("leaf", "[leaf]\npolling = \"fixed\""),
            "wake" => of("wake", "[wake]\nrate_hz = 4"),
            _ => String::new(),
        },
        match line.contains("tinyrpl") {
            true => of("net", "[net]\nrouting = \"rpl\""),
            false => of("net", "[net]\nrouting = \"aodv\""),
        },
        of("tcp", "[tcp]\nnagle = false"),
        match section {
            "flow" => of("flow", "[[flow]]\nkind = \"anemometer\"\nfrom = 3\nto = 0"),
            _ => of("", "[[flow]]\nkind = \"tcp-bulk\"\nfrom = 3\nto = 0"),
        },
        if section == "pairs" { of("pairs", "[pairs]\ncount = 2") } else { String::new() },
    ];
    parts.concat()
}

/// A value that is not the default of this key, as TOML.
fn value(rename: &Rename, text: impl Fn(&str) -> String) -> String {
    let defaults =
        ["true", "false", "7"].map(|value| (value, Scenario::from_toml("", &text(value))));
    let none = Scenario::from_toml("", &text("").replace(&format!("{} = \n", rename.new), ""));
    let none = none.expect("a scenario");
    let other = |(value, read): (&str, Result<Scenario>)| {
        read.is_ok_and(|read| read != none).then(|| value.to_owned())
    };
    defaults.into_iter().find_map(other).expect("a value that has an effect")
}

/// A scenario with the old name of an entry, the same with the new one, and the changed line.
fn both(rename: &Rename) -> (String, String) {
    let line = |name: &str, value: &str| match rename.value_of {
        Some(key) => format!("{key} = \"{name}\""),
        None => format!("{name} = {value}"),
    };
    let section = rename.section;
    let value = match rename.value_of {
        Some(_) => String::new(),
        None => value(rename, |value| with(section, &line(rename.new, value))),
    };
    (with(section, &line(rename.old, &value)), with(section, &line(rename.new, &value)))
}

#[test]
fn every_old_name_is_read_as_the_new_one_with_its_line() {
    for rename in RENAMES {
        let (old, new) = both(rename);
        let mut read = Scenario::from_toml(FILE, &old).unwrap_or_else(|e| panic!("{e}\n{old}"));
        let [change] = &std::mem::take(&mut read.renamed)[..] else { panic!("{rename:?}") };
        assert_eq!(read, Scenario::from_toml(FILE, &new).expect("new names"), "{rename:?}");
        let before = old.lines().zip(new.lines()).take_while(|(old, new)| old == new).count();
        assert_eq!(change.line, Some(before + 1), "{change}");
        assert!(change.old.contains(rename.old) && change.new.contains(rename.new), "{change}");
        assert!(change.to_string().contains("`kinglet upgrade old.toml` rewrites it"), "{change}");
        let upgraded = upgrade(Path::new(FILE), &old).expect("old names");
        assert_eq!((upgraded.text, upgraded.changes.len()), (new.clone(), 1));
        let again = upgrade(Path::new(FILE), &new).expect("new names");
        assert_eq!((again.text, again.changes), (new, vec![]));
    }
}

#[test]
fn both_names_of_a_key_are_refused() {
    for rename in RENAMES.iter().filter(|rename| rename.value_of.is_none()) {
        let line = format!("{} = 1\n{} = 1", rename.new, rename.old);
        let error = Scenario::from_toml(FILE, &with(rename.section, &line)).expect_err("both");
        assert_eq!(error.field, format!("{}.{}", rename.section, rename.old));
        assert!(error.position.is_some() && error.message.contains(rename.new), "{error}");
    }
}

#[test]
fn comments_and_layout_stay() {
    let old = "# aodv_doubts\r\n[ net ] # rests\n\t'aodv_doubts'   =  false # old: aodv_doubts\n\
               tcp.rto = '''distance'''\nwake . \"rests\" = true\nmac = { every_s = 3 }\n\n\
               pairs = { at_once = 2, \"every_s\" = 60,dies_s=3 } # no, at_once\n\
               name = \"distance\"\n";
    // At the top of the file there are only keys before the first section.
    let (before, after) = old.split_once("tcp.rto").expect("there");
    let old = format!("tcp.rto{after}{before}");
    let new = "tcp.rto = '''linux'''\nwake . \"sleep_in_gaps\" = true\nmac = { every_s = 3 }\n\n\
               pairs = { concurrent = 2, \"interval_s\" = 60,failure_after_s=3 } # no, at_once\n\
               name = \"distance\"\n\
               # aodv_doubts\r\n[ net ] # rests\n\t'aodv_link_probes'   =  false # old: \
               aodv_doubts\n";
    let upgraded = upgrade(Path::new(FILE), &old).expect("old names");
    assert_eq!(upgraded.text, new);
    let lines: Vec<_> = upgraded.changes.iter().filter_map(|change| change.line).collect();
    assert_eq!(lines, [1, 2, 5, 5, 5, 9]);
    let old = "\u{feff}[net]\n\"aodv\\u005fdoubts\" = true\n";
    let upgraded = upgrade(Path::new(FILE), old).expect("an old name");
    assert_eq!(upgraded.text, "\u{feff}[net]\n\"aodv_link_probes\" = true\n");
}

#[test]
fn an_error_in_a_line_with_an_old_name_says_so() {
    let error = Scenario::from_toml(FILE, &with("tcp", "window_by_distance = 3")).expect_err("3");
    assert_eq!(
        error.to_string(),
        "old.toml:12:18: tcp.window_by_hops: expected true or false, found integer (written with \
         its old name, `tcp.window_by_distance`)"
    );
}

#[test]
fn a_file_of_another_kind_is_told_by_the_names_at_its_top() {
    let check = |text| check_kind(Path::new("a.toml"), text).map_err(|error| error.to_string());
    for text in
        [include_str!("../../../lab/scenarios/annotated.toml"), "seeds = [1]\nfields = {}\n"]
    {
        check(text).expect("a scenario or a sweep");
    }
    let error = check("[package]\nname = \"a\"\n").expect_err("a manifest");
    assert!(error.starts_with("a.toml:1:2: package: neither a scenario nor a sweep"), "{error}");
    assert!(check("").is_err() && check("a = [").is_err());
}

#[test]
fn the_names_at_the_top_are_those_that_readers_know() {
    let error = Scenario::from_toml("", &format!("zebra_stripes = 1\n{}", with("", "")));
    let error = error.expect_err("no such key").message;
    let (_, valid) = error.split_once("valid keys here: ").expect("a list");
    let own = ["base", "fields", "scenario", "seeds"];
    let mut all: Vec<_> = valid.split(", ").chain(own).collect();
    all.sort_unstable();
    assert_eq!(all, TOP);
}

/// Names of sources and documents of the repository, from its root, with their text.
fn tree() -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let (mut texts, mut waiting) = (Vec::new(), vec![root.clone()]);
    while let Some(folder) = waiting.pop() {
        for entry in std::fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let kind = path.extension().unwrap_or_default().to_string_lossy().into_owned();
            if path.is_dir() && !name.starts_with('.') && name != "target" {
                waiting.push(path);
            } else if ["ipynb", "json", "md", "py", "rs", "toml"].contains(&kind.as_str()) {
                let name = path.strip_prefix(&root).expect("below it").display().to_string();
                texts.push((name, std::fs::read_to_string(&path).expect("text")));
            }
        }
    }
    texts
}

#[test]
fn no_file_of_the_repository_has_an_old_name() {
    // Short names are also those of other things.
    let long = RENAMES.iter().filter(|it| it.value_of.is_none() && it.old.len() > 7);
    let long: Vec<_> = long.map(|rename| rename.old).collect();
    let tree = tree();
    assert!(tree.len() > 1_000 && long.len() > 6, "{} {long:?}", tree.len());
    for (name, text) in tree.iter().filter(|(name, _)| !KNOWN.contains(&name.as_str())) {
        let found: Vec<_> = long.iter().filter(|old| text.contains(**old)).collect();
        assert!(found.is_empty(), "{name}: {found:?}");
        let blocks: Vec<&str> = match name.ends_with(".md") {
            true => {
                text.split("```toml\n").skip(1).filter_map(|it| it.split("```").next()).collect()
            }
            false => name.ends_with(".toml").then_some(text.as_str()).into_iter().collect(),
        };
        for block in blocks {
            // Some blocks are not complete, and some files are not TOML on purpose.
            let changes = upgrade(Path::new(name), block).map(|upgraded| upgraded.changes);
            assert_eq!(changes.unwrap_or_default(), [], "{name}");
        }
    }
}

#[test]
fn the_document_has_every_renamed_key() {
    let text = include_str!("../../../../docs/renamed.md");
    for Rename { section, value_of, old, new } in RENAMES {
        let section = if *section == "flow" { "[[flow]]" } else { &format!("[{section}]") };
        let named = |name: &str| match value_of {
            Some(key) => format!("{key} = \"{name}\""),
            None => name.to_owned(),
        };
        let row = format!("| `{section}` | `{}` | `{}` |", named(old), named(new));
        assert!(text.contains(&row), "{row}");
    }
}

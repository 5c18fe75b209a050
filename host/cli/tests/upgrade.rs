//! `kinglet upgrade`, and the warnings of the commands that read old names.

mod common;

use common::kinglet;
use std::path::{Path, PathBuf};

/// A new directory for this test.
fn scratch(name: &str) -> PathBuf {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("upgrade-{name}"));
    let _ = std::fs::remove_dir_all(&dir);
    std::fs::create_dir_all(&dir).expect("a directory");
    dir
}

fn file(dir: &Path, name: &str, text: &str) -> String {
    let path = dir.join(name);
    std::fs::write(&path, text).expect("a scratch file");
    path.display().to_string()
}

fn text(path: &str) -> String {
    std::fs::read_to_string(path).expect("text")
}

const OLD: &str = "# aodv_doubts = false is nst-AODV\nduration_s = 5\n[topology]\n\
                   line = { hops = 1 }\n[net]\nrouting = \"aodv\"\naodv_doubts = false # rule\n\
                   [[flow]]\nkind = \"tcp-bulk\"\nfrom = 1\nto = 0\n[tcp]\nrto = \"distance\"\n";
const SWEEP: &str = "base = \"old.toml\"\n[fields]\n\"tcp.window_by_distance\" = [true, false]\n";

#[test]
fn files_are_rewritten_and_then_there_is_nothing_to_change() {
    let dir = scratch("files");
    let (old, sweep) = (file(&dir, "old.toml", OLD), file(&dir, "sweep.toml", SWEEP));
    let (code, out, err) = kinglet(&["upgrade", "--check", &old, &sweep]);
    let report = format!(
        "{old}:7: net.aodv_doubts -> net.aodv_link_probes\n\
         {old}:13: tcp.rto = \"distance\" -> tcp.rto = \"linux\"\n\
         {sweep}:3: tcp.window_by_distance -> tcp.window_by_hops\n"
    );
    assert_eq!((code, out.as_str(), err.as_str()), (Some(1), report.as_str(), ""));
    assert_eq!((text(&old), text(&sweep)), (OLD.to_owned(), SWEEP.to_owned()));
    let (code, out, err) = kinglet(&["upgrade", &old, &sweep]);
    assert_eq!((code, out.as_str(), err.as_str()), (Some(0), report.as_str(), ""));
    let new = OLD.replace("\naodv_doubts", "\naodv_link_probes").replace("distance", "linux");
    assert_eq!(text(&old), new);
    assert_eq!(text(&sweep), SWEEP.replace("window_by_distance", "window_by_hops"));
    assert_eq!(std::fs::read_dir(&dir).expect("a directory").count(), 2, "no other file is left");
    let (code, out, _) = kinglet(&["upgrade", "--check", &old, &sweep]);
    let report = format!("{old}: nothing to change\n{sweep}: nothing to change\n");
    assert_eq!((code, out), (Some(0), report));
}

#[test]
fn changes_are_also_json() {
    let old = file(&scratch("json"), "old.toml", OLD);
    let (code, out, _) = kinglet(&["upgrade", "--json", &old]);
    let reports: serde_json::Value = serde_json::from_str(&out).expect("JSON");
    assert_eq!((code, &reports[0]["file"]), (Some(0), &serde_json::json!(old)));
    let first = &reports[0]["changes"][0];
    assert_eq!((&first["line"], &first["old"]), (&7.into(), &"net.aodv_doubts".into()));
    let (_, out, _) = kinglet(&["upgrade", "--json", &old]);
    let reports: serde_json::Value = serde_json::from_str(&out).expect("JSON");
    assert_eq!(reports, serde_json::json!([{ "file": old, "changes": [] }]));
}

#[test]
fn no_file_is_touched_if_one_is_refused() {
    let dir = scratch("refused");
    let old = file(&dir, "old.toml", OLD);
    let both = format!("{OLD}[wake]\nrests = true\nsleep_in_gaps = true\n");
    let refused = [
        ("[package]\nname = \"a\"\n", Some(2), ":1:2: package: neither a scenario nor a sweep"),
        ("[net]\naodv_doubts = \n", Some(2), ":2:15: not valid TOML"),
        (&both, Some(2), ":15:1: wake.rests: this is the old name of `sleep_in_gaps`"),
    ];
    for (content, code, needle) in refused {
        let bad = file(&dir, "bad.toml", content);
        let (found, out, err) = kinglet(&["upgrade", &bad, &old]);
        assert_eq!((found, out.as_str()), (code, ""), "{err}");
        assert!(err.contains(needle) && err.contains("; no file was rewritten"), "{err}");
        assert_eq!((text(&bad).as_str(), text(&old).as_str()), (content, OLD));
    }
    std::fs::write(dir.join("bad.toml"), [0xFF, 0xFE]).expect("a scratch file");
    let bad = dir.join("bad.toml").display().to_string();
    for path in [bad.as_str(), "no/such/file.toml", &dir.display().to_string()] {
        let (code, _, err) = kinglet(&["upgrade", path, &old]);
        assert!(code == Some(3) && err.contains(path), "{code:?} {err}");
        assert_eq!(text(&old), OLD);
    }
    let (code, _, err) = kinglet(&["upgrade"]);
    assert!(code == Some(2) && err.contains("<FILE.toml>..."), "{err}");
    let (code, _, err) = kinglet(&["upgrade", &old, &old]);
    assert!(code == Some(2) && text(&old) == OLD, "{err}");
}

#[test]
fn commands_read_old_names_with_a_warning_and_the_same_result() {
    let dir = scratch("read");
    let (old, sweep) = (file(&dir, "old.toml", OLD), file(&dir, "sweep.toml", SWEEP));
    let results = |path: &str| {
        let (code, out, err) = kinglet(&["sim", path, "--json"]);
        let mut result: serde_json::Value = serde_json::from_str(&out).expect("JSON");
        for time in ["wall_seconds", "setup_seconds", "node_bytes"] {
            result.as_object_mut().expect("an object").remove(time);
        }
        assert_eq!(code, Some(0), "{err}");
        (result, err)
    };
    let before = results(&old);
    let warning = format!(
        "kinglet: {old}:7: `net.aodv_doubts` is an old name of `net.aodv_link_probes`; `kinglet \
         upgrade {old}` rewrites it\n"
    );
    assert!(before.1.starts_with(&warning) && before.1.lines().count() == 2, "{}", before.1);
    let journal = dir.join("journal").display().to_string();
    let arguments = ["sweep", &sweep, "--json", "--journal", &journal];
    let (code, _, err) = kinglet(&arguments);
    let lines = [format!("{sweep}:3: `tcp.window_by_distance`"), warning.trim().to_owned()];
    assert!(code == Some(0) && lines.iter().all(|line| err.contains(line)), "{err}");
    assert_eq!(kinglet(&["upgrade", &old, &sweep]).0, Some(0));
    assert_eq!(results(&old), (before.0, String::new()));
    let (code, out, err) = kinglet(&arguments);
    assert!(code == Some(0) && err.contains("2 of 2 runs") && out.contains("by_hops"), "{err}");
}

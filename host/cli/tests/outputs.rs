//! Files that commands write: an input is never overwritten, two outputs never share a file, a
//! refused run leaves nothing, and an old file survives a failed one.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

const KINGLET: &str = env!("CARGO_BIN_EXE_kinglet");
const FULL: &str = "/dev/full";
/// Seconds after which a command that should have ended is killed: its exit code is then 124.
const PATIENCE: &str = "120";

const FLOW: &str = "[[flow]]\nkind = \"tcp-bulk\"\nfrom = 1\nto = 0\n";
const NODE: &str = "extended = \"02:12:4b:00:00:00:00:0a\"\n";

/// Scenarios and sweeps with all files that they name, in a directory of the test.
struct Place(PathBuf);

impl Place {
    fn new(name: &str) -> Self {
        let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("outputs").join(name);
        let _ = fs::remove_dir_all(&dir);
        fs::create_dir_all(dir.join("sub")).unwrap();
        let place = Place(dir);
        let trace = "[[interference]]\nsource = \"trace\"\nnode = 1\nfile = \"oven.csv\"\n";
        let line = "duration_s = 1\n[topology]\nline = { hops = 1 }\n";
        place.write("s.toml", &format!("{line}{trace}{FLOW}"));
        place.write("sub/base.toml", &format!("{line}{trace}{FLOW}"));
        let fields = "[fields]\ntcp.ack_every = [1, 2]\n\
                      interference.0.file = [\"oven.csv\", \"other.csv\"]\n";
        place.write("w.toml", &format!("base = \"sub/base.toml\"\nseeds = [1, 2]\n{fields}"));
        for trace in ["oven.csv", "sub/oven.csv", "sub/other.csv"] {
            place.write(trace, "0,-90\n100000,-88\n");
        }
        place.write("node.toml", NODE);
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// All files and directories with their contents and file numbers.
    fn everything(&self) -> BTreeMap<PathBuf, (u64, Vec<u8>)> {
        let mut waiting = vec![self.0.clone()];
        let mut found = BTreeMap::new();
        while let Some(dir) = waiting.pop() {
            for entry in fs::read_dir(dir).unwrap() {
                let path = entry.unwrap().path();
                let data = fs::symlink_metadata(&path).unwrap();
                let octets = if data.is_file() { fs::read(&path).unwrap() } else { Vec::new() };
                if data.is_dir() {
                    waiting.push(path.clone());
                }
                found.insert(path, (data.ino(), octets));
            }
        }
        found
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new("timeout");
        command.current_dir(&self.0).args([PATIENCE, KINGLET]).args(arguments);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    fn kinglet(&self, arguments: &[&str]) -> (Option<i32>, String, String) {
        end_of(&mut self.command(arguments))
    }

    /// Asserts that the command ends with this code without any effect; returns its output.
    fn refused(&self, code: i32, arguments: &[&str]) -> String {
        let before = self.everything();
        let (ended, out, err) = self.kinglet(arguments);
        assert_eq!((ended, out.as_str()), (Some(code), ""), "{arguments:?}: {err}");
        assert!(before == self.everything(), "{arguments:?} has changed a file: {err}");
        err
    }

    /// Runs a command with a limit of file sizes in blocks of 512 octets: a write beyond fails like
    /// one to a full disk.
    fn limited(&self, blocks: u32, arguments: &[&str]) -> (Option<i32>, String, String) {
        let script =
            format!("trap '' XFSZ; ulimit -f {blocks}; exec timeout {PATIENCE} \"$0\" \"$@\"");
        let mut shell = Command::new("sh");
        shell.args(["-c", &script, KINGLET]).args(arguments);
        end_of(shell.current_dir(&self.0).stdin(Stdio::null()))
    }
}

fn end_of(command: &mut Command) -> (Option<i32>, String, String) {
    let Output { status, stdout, stderr } = command.output().unwrap();
    let text = |octets: Vec<u8>| String::from_utf8_lossy(&octets).into_owned();
    (status.code(), text(stdout), text(stderr))
}

/// Other names of `file`, which is in the directory of `place`.
fn names_of(place: &Place, file: &str, extension: &str) -> Vec<String> {
    let names = ["soft", "hard"].map(|name| format!("{name}{extension}"));
    for name in &names {
        let _ = fs::remove_file(place.path(name));
    }
    symlink(file, place.path(&names[0])).unwrap();
    fs::hard_link(place.path(file), place.path(&names[1])).unwrap();
    let whole = place.path(file).display().to_string();
    let spelt = [format!("./{file}"), format!("sub/../{file}"), whole];
    spelt.into_iter().chain(names).collect()
}

/// Asserts that no spelling of `input` is accepted for `option` of the command.
fn refuses_input(place: &Place, command: &[&str], option: &str, input: &str, extension: &str) {
    let mut names = names_of(place, input, extension);
    names.push(input.to_owned());
    for name in names.iter().filter(|name| name.ends_with(extension)) {
        let err = place.refused(2, &[command, &[option, name]].concat());
        let file = Path::new(input).file_name().unwrap().to_str().unwrap();
        for needle in [option, name, file, "give"] {
            assert!(err.contains(needle), "{command:?} {option} {name}: {needle}: {err}");
        }
        assert_eq!(err.lines().count(), 1, "{err}");
    }
}

#[test]
fn a_scenario_and_its_traces_are_never_overwritten() {
    let place = Place::new("inputs");
    for input in ["s.toml", "oven.csv"] {
        for option in ["--report", "--pcap", "--trace"] {
            refuses_input(&place, &["sim", "s.toml"], option, input, "");
        }
        refuses_input(&place, &["advise", "s.toml"], "--journal", input, "");
        for option in ["--pcap", "--map"] {
            refuses_input(&place, &["gateway", "s.toml"], option, input, "");
        }
    }
}

#[test]
fn a_sweep_its_base_and_their_traces_are_never_overwritten() {
    let place = Place::new("sweep-inputs");
    for input in ["w.toml", "sub/base.toml", "sub/oven.csv", "sub/other.csv"] {
        refuses_input(&place, &["sweep", "w.toml"], "--journal", input, "");
        refuses_input(&place, &["sweep", "w.toml"], "--out", input, ".csv");
        let effects = ["sweep", "w.toml", "--effects", "goodput_kbps"];
        refuses_input(&place, &effects, "--plot", input, "");
    }
}

#[test]
fn a_default_output_does_not_overwrite_an_input_either() {
    let place = Place::new("defaults");
    for (command, input, option) in [
        ("sweep", "w.csv", "--out"),
        ("sweep", "w.journal", "--journal"),
        ("advise", "s.advice", "--journal"),
    ] {
        let from = if command == "sweep" { "w.toml" } else { "s.toml" };
        fs::copy(place.path(from), place.path(input)).unwrap();
        let err = place.refused(2, &[command, input]);
        assert!(err.contains(option) && err.contains(input) && err.contains("default"), "{err}");
    }
}

#[test]
fn neither_the_settings_of_a_capture_nor_the_program_itself_are_exceptions() {
    let place = Place::new("exceptions");
    fs::create_dir(place.path("x.profile")).unwrap();
    fs::copy(place.path("s.toml"), place.path("x.profile/preferences")).unwrap();
    place.write("x.profile/oven.csv", "0,-90\n100,-80\n");
    for command in ["sim", "gateway"] {
        let err = place.refused(2, &[command, "x.profile/preferences", "--pcap", "x"]);
        assert!(err.contains("--pcap") && err.contains("x.profile/preferences"), "{err}");
    }
    // The directory of the settings would have the path of the scenario.
    fs::copy(place.path("s.toml"), place.path("y.profile")).unwrap();
    let err = place.refused(2, &["sim", "y.profile", "--pcap", "y"]);
    assert!(err.contains("y.profile"), "{err}");
    symlink(KINGLET, place.path("program")).unwrap();
    let before = fs::metadata(KINGLET).unwrap().len();
    let err = place.refused(2, &["sim", "s.toml", "--report", "program"]);
    assert!(err.contains("program"), "{err}");
    assert_eq!(fs::metadata(KINGLET).unwrap().len(), before);
}

#[test]
fn two_outputs_with_one_file_are_refused() {
    let place = Place::new("pairs");
    symlink("new", place.path("dangling")).unwrap();
    symlink(".", place.path("here")).unwrap();
    place.write("a", "old");
    fs::hard_link(place.path("a"), place.path("b")).unwrap();
    for (one, other) in [
        ("new", "new"),
        ("./new", "new"),
        ("sub/../new", "new"),
        ("here/new", "new"),
        ("dangling", "new"),
        ("a", "b"),
        ("sub/new", "sub/../sub/new"),
    ] {
        let pairs = [["--report", "--trace"], ["--trace", "--pcap"], ["--pcap", "--report"]];
        for [a, b] in pairs {
            let err = place.refused(2, &["sim", "s.toml", a, one, b, other]);
            for needle in [a, b, one, other, "same file"] {
                assert!(err.contains(needle), "{a} {one} {b} {other}: {err}");
            }
        }
        place.refused(2, &["gateway", "s.toml", "--pcap", one, "--map", other]);
    }
    // The settings belong to the capture; a file cannot be a directory as well.
    for trace in ["c.pcap.profile/preferences", "c.pcap.profile", "c.pcap/trace"] {
        let err = place.refused(2, &["sim", "s.toml", "--pcap", "c.pcap", "--trace", trace]);
        assert!(err.contains("--pcap") && err.contains(trace), "{err}");
    }
    let sweep = ["sweep", "w.toml"];
    let effects = ["--effects", "goodput_kbps", "--plot", "t.csv"];
    for options in [
        &["--out", "t.csv", "--out", "./t.csv"][..],
        &["--out", "t.csv", "--journal", "sub/../t.csv"],
        &["--journal", "w.csv"],
        &["--out", "w.journal.csv", "--journal", "w.journal.csv"],
        &[&["--out", "t.csv"], &effects[..]].concat(),
        &[&["--journal", "here/t.csv"], &effects[..]].concat(),
    ] {
        let err = place.refused(2, &[&sweep[..], options].concat());
        assert!(err.contains("same file"), "{options:?}: {err}");
    }
}

#[test]
fn the_files_of_experiments_are_distinct_too() {
    let place = Place::new("lab");
    let lab = ["lab", "run", "tcplp-hops", "--quick"];
    fs::create_dir(place.path("out")).unwrap();
    place.write("out/report.html", "old");
    for name in ["results.json", "results.csv", "tcplp-hops.pcap"] {
        let _ = fs::remove_file(place.path(&format!("out/{name}")));
        symlink("report.html", place.path(&format!("out/{name}"))).unwrap();
        let err = place.refused(2, &[&lab[..], &["--out", "out"]].concat());
        assert!(err.contains(name) && err.contains("report.html"), "{err}");
        fs::remove_file(place.path(&format!("out/{name}"))).unwrap();
    }
    // The tables of one experiment have the path of another's.
    fs::create_dir_all(place.path("t/tcplp-hops")).unwrap();
    fs::create_dir_all(place.path("t/tcplp-mss")).unwrap();
    place.write("t/tcplp-mss/results.md", "# Results\n");
    symlink("../tcplp-mss/results.md", place.path("t/tcplp-hops/results.md")).unwrap();
    let err = place.refused(2, &[&lab[..], &["--json", "--tables", "t"]].concat());
    assert!(err.contains("tcplp-mss/results.md") && err.contains("--tables"), "{err}");
    // A page cannot be a directory.
    let err = place.refused(2, &[&lab[..], &["--out", "o", "--tables", "o/report.html"]].concat());
    assert!(err.contains("--tables") && err.contains("o/report.html"), "{err}");
}

#[test]
fn standard_output_counts_if_it_is_a_file_and_devices_are_shared() {
    let place = Place::new("standard");
    let (input, report) = (place.path("s.toml"), place.path("out.html"));
    let append = |path: &Path| fs::OpenOptions::new().append(true).create(true).open(path).unwrap();
    let scenario = place.read("s.toml");
    let (code, _, err) = end_of(place.command(&["sim", "s.toml"]).stdout(append(&input)));
    assert_eq!(code, Some(2), "{err}");
    assert!(err.contains("standard output") && err.contains("s.toml"), "{err}");
    let mut node = place.command(&["node", "node.toml", "--zep", "127.0.0.1:1"]);
    let (code, _, err) = end_of(node.stdout(append(&place.path("node.toml"))));
    assert_eq!(code, Some(2), "{err}");
    assert_eq!((place.read("s.toml"), place.read("node.toml")), (scenario, NODE.to_owned()));

    for name in ["out.html", "/dev/stdout"] {
        let mut command = place.command(&["sim", "s.toml", "--report", name]);
        let (code, _, err) = end_of(command.stdout(append(&report)));
        assert_eq!(code, Some(2), "{err}");
        assert!(err.contains("standard output") && err.contains(name), "{err}");
    }
    let null = ["--report", "/dev/null", "--trace", "/dev/null", "--pcap", "/dev/null"];
    let (code, out, err) = place.kinglet(&[&["sim", "s.toml"], &null[..]].concat());
    assert_eq!(code, Some(0), "{err}");
    assert!(out.contains("tcp-bulk"), "{out}");
    // The page goes to a pipe, followed by the results.
    let (code, out, err) = place.kinglet(&["sim", "s.toml", "--report", "/dev/stdout"]);
    assert_eq!(code, Some(0), "{err}");
    assert!(out.contains("</html>") && out.contains("tcp-bulk"), "{out}");
}

#[test]
fn a_refused_run_leaves_nothing() {
    let place = Place::new("nothing");
    for arguments in [
        &["sweep", "w.toml", "--out", "new.csv", "--out", "nowhere/new.csv"][..],
        &["sweep", "w.toml", "--journal", "nowhere/w.journal"],
        &["sweep", "w.toml", "--effects", "goodput_kbps", "--plot", "nowhere/x.svg"],
        &["sim", "s.toml", "--report", "new.html", "--trace", "nowhere/new.txt"],
        &["sim", "s.toml", "--report", "sub", "--pcap", "new.pcap"],
        &["sim", "s.toml", "--report", "oven.csv/page.html"],
        &["advise", "s.toml", "--journal", "nowhere/x"],
        &["gateway", "s.toml", "--pcap", "new.pcap", "--map", "nowhere/map.html"],
        &["gateway", "s.toml", "--pcap", "new.pcap", "--map", "/dev/null"],
        &["lab", "run", "tcplp-hops", "--out", "new", "--tables", "s.toml"],
        &["lab", "run", "tcplp-hops", "--out", "s.toml/new"],
    ] {
        place.refused(3, arguments);
    }
    // A scenario that cannot be simulated, in a run whose files could be written.
    let pip = "[topology]\nline = { hops = 1 }\n[[flow]]\nkind = \"pip\"\nfrom = 1\nto = 0\n";
    place.write("pip.toml", pip);
    let err = place.refused(2, &["sim", "pip.toml", "--report", "new.html", "--trace", "new.txt"]);
    assert!(err.contains("PIP"), "{err}");
    // The form of this one is valid, and the journal is open before the rest is checked.
    place.write("wrong.toml", "duration_s = 1\n[topology]\nlien = { hops = 1 }\n");
    place.refused(2, &["advise", "wrong.toml"]);
}

#[test]
fn a_column_that_there_is_not_is_refused_before_the_simulations() {
    let place = Place::new("columns");
    let text = place.read("sub/base.toml").replace("duration_s = 1\n", "duration_s = 31536000\n");
    place.write("sub/base.toml", &text);
    for (options, meant) in [
        (&["--effects", "goodput_kpbs"][..], "did you mean `goodput_kbps`?"),
        (&["--effects", "goodput_kbps", "--by", "hpos"], "did you mean `hops`?"),
        (&["--effects", "nodes.rpl.dioss.mean"], "did you mean `nodes.rpl.dios.mean`?"),
        (&["--effects", "kind"], "`kind`"),
    ] {
        let began = Instant::now();
        let err = place.refused(2, &[&["sweep", "w.toml"], options].concat());
        assert!(err.contains(meant) && err.contains(options[options.len() - 2]), "{err}");
        assert!(began.elapsed() < Duration::from_secs(20), "{err}");
    }
}

#[test]
fn a_column_that_only_the_runs_can_refuse_costs_no_rows() {
    let place = Place::new("late-column");
    let (code, _, err) = place.kinglet(&["sweep", "w.toml", "--effects", "nodes.rpl.dios.mean"]);
    assert_eq!(code, Some(2), "{err}");
    assert!(err.contains("`nodes.rpl.dios.mean`"), "{err}");
    assert_eq!(place.read("w.csv").lines().count(), 9);
}

#[test]
fn an_old_file_survives_a_full_disk_and_no_part_of_the_new_one_is_left() {
    let place = Place::new("survives");
    place.write("page.html", "old page");
    place.write("t.csv", "old table");
    let names = |place: &Place| place.everything().into_keys().collect::<Vec<_>>();
    let (before, page) = (names(&place), fs::metadata(place.path("page.html")).unwrap().ino());
    let (code, out, err) = place.limited(4, &["sim", "s.toml", "--report", "page.html"]);
    assert_eq!(code, Some(3), "{err}");
    assert!(err.contains("page.html") && err.contains("not written"), "{err}");
    assert!(out.contains("tcp-bulk"), "the results are there: {out}");
    let outs = ["sweep", "w.toml", "--out", "t.csv", "--out", "t.parquet"];
    // The journal of a run is longer than the table: it is written before the disk is full.
    assert_eq!(place.kinglet(&["sweep", "w.toml", "--json"]).0, Some(0));
    let (code, _, err) = place.limited(4, &outs);
    assert_eq!(code, Some(3), "{err}");
    for needle in ["t.csv", "t.parquet", "w.journal"] {
        assert!(err.contains(needle), "{needle}: {err}");
    }
    assert_eq!(
        (place.read("page.html"), place.read("t.csv")),
        ("old page".into(), "old table".into())
    );
    let mut after = names(&place);
    after.retain(|path| !path.ends_with("w.journal"));
    assert_eq!(before, after);

    let (code, _, err) = place.kinglet(&["sim", "s.toml", "--report", "page.html"]);
    assert_eq!(code, Some(0), "{err}");
    assert!(place.read("page.html").contains("</html>"));
    assert_ne!(fs::metadata(place.path("page.html")).unwrap().ino(), page, "it is a new file");
    let (code, _, err) = place.kinglet(&outs);
    assert_eq!(code, Some(0), "{err}");
    assert_eq!(place.read("t.csv").lines().count(), 9);
}

#[test]
fn symbolic_links_and_pipes_are_written_through_and_permissions_stay() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::new("through");
    place.write("sub/page.html", "old");
    let private = fs::Permissions::from_mode(0o600);
    fs::set_permissions(place.path("sub/page.html"), private).unwrap();
    symlink("sub/page.html", place.path("link.html")).unwrap();
    symlink("sub/new.html", place.path("dangling.html")).unwrap();
    for (name, behind) in [("link.html", "sub/page.html"), ("dangling.html", "sub/new.html")] {
        let (code, _, err) = place.kinglet(&["sim", "s.toml", "--report", name]);
        assert_eq!(code, Some(0), "{err}");
        assert!(fs::symlink_metadata(place.path(name)).unwrap().is_symlink(), "{name}");
        assert!(place.read(behind).contains("</html>"), "{name}");
    }
    let mode = fs::metadata(place.path("sub/page.html")).unwrap().mode();
    assert_eq!(mode & 0o777, 0o600);

    assert!(Command::new("mkfifo").arg(place.path("pipe")).status().unwrap().success());
    let mut reader = Command::new("timeout");
    reader.args([PATIENCE, "cat"]).arg(place.path("pipe")).stdout(Stdio::piped());
    let reader = reader.spawn().unwrap();
    let (code, _, err) = place.kinglet(&["sim", "s.toml", "--report", "pipe"]);
    assert_eq!(code, Some(0), "{err}");
    let read = reader.wait_with_output().unwrap().stdout;
    assert!(String::from_utf8(read).unwrap().ends_with("</html>\n"));
}

#[test]
fn every_file_that_a_full_disk_cuts_is_named() {
    let place = Place::new("full");
    let names = ["full.pcap", "full.txt", "full.html"];
    for name in names {
        symlink(FULL, place.path(name)).unwrap();
    }
    let [pcap, trace, page] = names;
    let options = ["sim", "s.toml", "--pcap", pcap, "--trace", trace, "--report", page];
    let full = fs::OpenOptions::new().write(true).open(FULL).unwrap();
    let (code, _, err) = end_of(place.command(&options).stdout(full));
    assert_eq!(code, Some(3), "{err}");
    for needle in [pcap, trace, page, "standard output"] {
        let lines = err.lines().filter(|line| line.contains(needle) && line.contains("No space"));
        assert_eq!(lines.count(), 1, "{needle}: {err}");
    }
    // A message that cannot be printed is not a reason to stop.
    let full = fs::OpenOptions::new().write(true).open(FULL).unwrap();
    let (code, out, _) = end_of(place.command(&options).stderr(full));
    assert_eq!(code, Some(3));
    assert!(out.contains("tcp-bulk"), "{out}");
    fs::create_dir(place.path("out")).unwrap();
    let names = ["results.json", "results.csv", "report.html", "tcplp-cwnd.pcap"];
    for name in names {
        symlink(FULL, place.path("out").join(name)).unwrap();
    }
    let lab = ["lab", "run", "tcplp-cwnd", "--quick", "--seeds", "1", "--out", "out"];
    let (code, out, err) = place.kinglet(&lab);
    assert_eq!(code, Some(3), "{err}");
    for name in names {
        assert!(err.contains(name), "{name}: {err}");
    }
    assert!(out.contains("tcplp.fig6a.cwnd"), "the tables are there: {out}");
}

#[test]
fn a_scenario_from_a_pipe_is_read_once() {
    let place = Place::new("pipe");
    place
        .write("plain.toml", &format!("duration_s = 1\n[topology]\nline = {{ hops = 1 }}\n{FLOW}"));
    let script =
        format!("cat plain.toml | timeout {PATIENCE} \"$0\" sim /dev/stdin --report new.html");
    let mut shell = Command::new("sh");
    let (code, out, err) = end_of(shell.args(["-c", &script, KINGLET]).current_dir(&place.0));
    assert_eq!(code, Some(0), "{err}");
    assert!(out.contains("tcp-bulk") && place.read("new.html").contains("</html>"), "{err}");
    let script = format!("timeout {PATIENCE} \"$0\" sim /dev/stdin --report s.toml < s.toml");
    let (code, _, err) =
        end_of(Command::new("sh").args(["-c", &script, KINGLET]).current_dir(&place.0));
    assert_eq!(code, Some(2), "{err}");
}

/// In a separate file system with a few hundred KiB. Runs where user namespaces are allowed.
#[test]
fn a_full_file_system_keeps_the_journal_and_old_tables() {
    let place = Place::new("tmpfs");
    fs::create_dir(place.path("disk")).unwrap();
    let script = "mount -t tmpfs -o size=160k none disk && cp -r w.toml sub disk && cd disk && \
                  echo old > t.csv && echo old > page.html && \
                  \"$0\" sweep w.toml --json > /dev/null && \
                  head -c 1M /dev/zero > fill; \
                  \"$0\" sweep w.toml --out t.csv --out t.parquet; echo code $?; cat t.csv; \
                  \"$0\" sim sub/base.toml --pcap a.pcap --trace a.txt --report page.html; \
                  echo code $?; \
                  cat page.html; rm fill; \"$0\" sweep w.toml --out t.csv; \
                  echo code $?; wc -l < t.csv; ls";
    let mut inside = Command::new("unshare");
    inside.args(["--user", "--map-root-user", "--mount", "--"]);
    if !inside.arg("true").status().is_ok_and(|status| status.success()) {
        assert!(std::env::var_os("CI").is_none(), "CI must allow a mount namespace");
        eprintln!("SKIPPED: no mount namespace");
        return;
    }
    let mut inside = Command::new("unshare");
    inside.args(["--user", "--map-root-user", "--mount", "--", "sh", "-c", script, KINGLET]);
    let (_, out, err) = end_of(inside.current_dir(&place.0).stdin(Stdio::null()));
    let codes: Vec<&str> = out.lines().filter(|line| line.starts_with("code ")).collect();
    assert_eq!(codes, ["code 3", "code 3", "code 0"], "{out}\n{err}");
    assert_eq!(out.matches("old\n").count(), 2, "{out}\n{err}");
    assert!(out.contains("\n9\n") && !out.contains(".part"), "{out}\n{err}");
    for name in ["t.csv", "t.parquet", "a.pcap", "a.txt", "page.html"] {
        let named = |line: &str| line.contains(name) && line.contains("No space left");
        assert!(err.lines().any(named), "{name}: {err}");
    }
}

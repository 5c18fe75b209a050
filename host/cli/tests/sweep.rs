//! `kinglet sweep`, interrupted, on a full disk, and with different numbers of threads.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::thread;
use std::time::Duration;

const KINGLET: &str = env!("CARGO_BIN_EXE_kinglet");

/// A separate directory for each test, with a sweep of four points and this many seeds.
struct Place(PathBuf);

impl Place {
    fn new(name: &str, seeds: u32, seconds: u32) -> Self {
        let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("sweep").join(name);
        let _ = std::fs::remove_dir_all(&dir);
        std::fs::create_dir_all(&dir).unwrap();
        let place = Place(dir);
        place.write(seeds, seconds, "send_buffer_segments");
        place
    }

    fn write(&self, seeds: u32, seconds: u32, field: &str) {
        let text = format!(
            "seeds = {{ count = {seeds} }}\n[fields]\ntcp.{field} = [1, 4]\nflow.0.from = [1, 2]\n\
             [scenario]\nduration_s = {seconds}\ntopology = {{ line = {{ hops = 2 }} }}\n\
             [[scenario.flow]]\nkind = \"tcp-bulk\"\nfrom = 1\nto = 0\n"
        );
        std::fs::write(self.0.join("s.toml"), text).unwrap();
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(KINGLET);
        command.current_dir(&self.0).args(["sweep", "s.toml"]).args(arguments);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    fn sweep(&self, arguments: &[&str]) -> (Option<i32>, String, String) {
        end_of(&mut self.command(arguments))
    }

    fn read(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.0.join(name)).unwrap_or_default()
    }

    /// Number of runs in the journal.
    fn finished(&self) -> usize {
        self.read("s.journal").split(|octet| *octet == b'\n').count().saturating_sub(2)
    }
}

fn end_of(command: &mut Command) -> (Option<i32>, String, String) {
    let Output { status, stdout, stderr } = command.output().unwrap();
    let text = |octets: Vec<u8>| String::from_utf8(octets).unwrap();
    (status.code(), text(stdout), text(stderr))
}

#[test]
fn rows_are_the_same_octets_with_any_number_of_threads() {
    let place = Place::new("threads", 3, 5);
    let files = |name: &str| [format!("{name}.csv"), format!("{name}.parquet")];
    for (name, jobs) in [("one", "1"), ("three", "3")] {
        let [csv, parquet] = files(name);
        let journal = format!("{name}.journal");
        let (code, _, err) =
            place.sweep(&["--jobs", jobs, "--out", &csv, "--out", &parquet, "--journal", &journal]);
        assert_eq!(code, Some(0), "{err}");
    }
    for (one, three) in files("one").iter().zip(&files("three")) {
        assert!(place.read(one).len() > 1_000);
        assert!(place.read(one) == place.read(three), "{one} and {three} differ");
    }
    let text = String::from_utf8(place.read("one.csv")).unwrap();
    let begins = "tcp.send_buffer_segments,flow.0.from,seed,flow,kind,from,to,state,reason,\
                  explanation,bytes,";
    assert!(text.starts_with(begins), "{text}");
    assert_eq!(text.lines().count(), 13);
    assert!(text.lines().nth(1).unwrap().starts_with("1,1,1,0,tcp-bulk,1,0,"), "{text}");
}

#[test]
fn a_stopped_or_killed_sweep_continues_and_ends_with_the_same_rows() {
    let place = Place::new("stopped", 3, 1_000);
    for signal in ["-INT", "-KILL"] {
        let before = place.finished();
        let mut child = place.command(&["--jobs", "1"]).spawn().unwrap();
        while place.finished() < before + 2 {
            thread::sleep(Duration::from_millis(5));
            assert!(child.try_wait().unwrap().is_none(), "it has ended by itself");
        }
        let pid = child.id().to_string();
        assert!(Command::new("kill").args([signal, &pid]).status().unwrap().success());
        let Output { status, stderr, .. } = child.wait_with_output().unwrap();
        if signal == "-INT" {
            let err = String::from_utf8(stderr).unwrap();
            assert_eq!(status.code(), Some(130), "{err}");
            assert!(err.contains("of 12 runs are finished and kept in s.journal"), "{err}");
        }
        assert!(place.read("s.csv").is_empty(), "no part of the table");
    }
    // As if it had been killed in the middle of a line.
    let mut torn = place.read("s.journal");
    torn.extend(b"{\"run\":\"0123");
    std::fs::write(place.0.join("s.journal"), torn).unwrap();
    let before = place.finished();
    let (code, _, err) = place.sweep(&[]);
    assert_eq!(code, Some(0), "{err}");
    assert!(err.contains(&format!("{before} of 12 runs are in s.journal already")), "{err}");
    assert_eq!(place.finished(), 12, "nothing was run twice");
    let (code, _, err) = place.sweep(&["--out", "whole.csv", "--journal", "whole.journal"]);
    assert_eq!(code, Some(0), "{err}");
    assert!(place.read("s.csv") == place.read("whole.csv"), "not the same rows");
}

#[test]
fn a_full_disk_is_one_error_and_nothing_finished_is_lost() {
    let place = Place::new("full", 10, 5);
    // Files end at 32 blocks of 512 octets; a write beyond is refused like one to a full disk.
    let script = "trap '' XFSZ; ulimit -f 32; exec \"$0\" sweep s.toml --jobs 2";
    let mut limited = Command::new("sh");
    let (code, _, err) = end_of(limited.args(["-c", script, KINGLET]).current_dir(&place.0));
    assert_eq!(code, Some(3), "{err}");
    assert_eq!(err.lines().count(), 1, "{err}");
    assert!(err.contains("s.journal: ") && err.contains("the same command goes on"), "{err}");
    assert!(place.read("s.journal").ends_with(b"\n"));
    let kept = place.finished();
    assert!((1..40).contains(&kept), "{kept}");
    let (code, _, err) = place.sweep(&[]);
    assert_eq!(code, Some(0), "{err}");
    assert!(err.contains(&format!("{kept} of 40 runs are in s.journal already")), "{err}");
    assert_eq!(place.finished(), 40);
}

#[test]
fn a_wrong_field_is_reported_before_anything_runs() {
    let place = Place::new("wrong", 1, 1_000_000);
    place.write(1, 1_000_000, "send_bufer_segments");
    let (code, _, err) = place.sweep(&[]);
    assert_eq!(code, Some(2), "{err}");
    let expected = "s.toml:3:28: tcp.send_bufer_segments: unknown key; did you mean";
    assert!(err.contains(expected), "{err}");
    assert!(place.read("s.journal").is_empty());
    let (code, _, err) = place.sweep(&["--out", "rows.xls"]);
    assert_eq!(code, Some(2), "{err}");
}

#[test]
fn a_sweep_that_has_changed_is_noticed_and_another_program_is_refused() {
    let place = Place::new("changed", 2, 2);
    assert_eq!(place.sweep(&[]).0, Some(0));
    place.write(3, 2, "send_buffer_segments");
    let (code, _, err) = place.sweep(&[]);
    assert_eq!(code, Some(0), "{err}");
    assert!(err.contains("8 of 12 runs are in s.journal already"), "{err}");
    place.write(3, 3, "send_buffer_segments");
    let (code, _, err) = place.sweep(&[]);
    assert_eq!(code, Some(0), "{err}");
    assert!(
        err.contains("the sweep has changed: 12 runs in s.journal are not part of it"),
        "{err}"
    );

    let text = String::from_utf8(place.read("s.journal")).unwrap();
    let other = text.replacen("\"program\":\"", "\"program\":\"0", 1);
    std::fs::write(place.0.join("s.journal"), &other).unwrap();
    let (code, _, err) = place.sweep(&[]);
    assert_eq!(code, Some(2), "{err}");
    assert!(err.contains("made by another build of kinglet"), "{err}");
    assert_eq!(place.read("s.journal"), other.as_bytes(), "it is left as it is");

    std::fs::write(place.0.join("mine.txt"), "my notes\n").unwrap();
    let (code, _, err) = place.sweep(&["--journal", "mine.txt"]);
    assert_eq!(code, Some(2), "{err}");
    assert!(err.contains("not a journal") && err.contains("--journal"), "{err}");
    assert_eq!(place.read("mine.txt"), b"my notes\n");
}

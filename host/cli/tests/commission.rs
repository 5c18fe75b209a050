//! `kinglet commission`: the pages that it writes, and what it refuses.

use ihex::{Reader, Record};
use kinglet::radio::{Channel, Key};
use kinglet::wire::ieee802154::PanId;
use kinglet_identity::{Identity, LEN, Page};
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const KEY: &str = "000102030405060708090a0b0c0d0e0f";

/// A directory with the example's configuration, changed by `change`, and a key.
fn configured(name: &str, change: impl Fn(&str) -> String) -> PathBuf {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("commission-{name}"));
    let _ = fs::remove_dir_all(&dir);
    fs::create_dir_all(&dir).expect("a directory");
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/greenhouse.toml");
    let text = fs::read_to_string(example).expect("the example");
    fs::write(dir.join("g.toml"), change(&text)).expect("a configuration");
    write_key(&dir, 0o600);
    dir
}

fn write_key(dir: &Path, mode: u32) {
    let key = dir.join("greenhouse.key");
    fs::write(&key, KEY).expect("a key");
    fs::set_permissions(&key, Permissions::from_mode(mode)).expect("its permissions");
}

fn commission(dir: &Path, more: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_kinglet"));
    command.current_dir(dir).args(["commission", "g.toml", "--out", "out"]).args(more);
    command.output().expect("it starts")
}

/// The message of a run that must end with this exit status.
fn refused(dir: &Path, more: &[&str], status: i32) -> String {
    let output = commission(dir, more);
    let message = String::from_utf8(output.stderr).expect("text");
    assert_eq!(output.status.code(), Some(status), "{message}");
    assert!(!dir.join("out").exists(), "{message}");
    message
}

/// The page in a HEX file, and its address.
fn page(file: &Path) -> (u32, Page) {
    let text = fs::read_to_string(file).expect("a HEX file");
    let (mut upper, mut start, mut octets) = (0, None, Vec::new());
    for record in Reader::new(&text) {
        match record.expect("a record") {
            Record::ExtendedLinearAddress(high) => upper = u32::from(high) << 16,
            Record::Data { offset, value } => {
                start.get_or_insert(upper | u32::from(offset));
                octets.extend(value);
            }
            _ => {}
        }
    }
    (start.expect("octets"), octets.try_into().expect("a whole page"))
}

#[test]
fn each_device_gets_its_page_and_only_its_owner_may_read_it() {
    // With RPL a device needs no short address.
    let some = |text: &str| text.replace("routing = \"mesh\"\n", "").replace("short = 0x11\n", "");
    let dir = configured("pages", some);
    let output = commission(&dir, &["--json"]);
    assert!(output.status.success(), "{output:?}");
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let key = Key(core::array::from_fn(|at| at as u8));
    let channel = Channel::new(25).expect("a channel");
    for (name, last, short, device) in [("bed-1", 0x11, None, 0), ("bed-2", 0x12, Some(0x12), 1)] {
        let hex = dir.join(format!("out/{name}.hex"));
        let (address, octets) = page(&hex);
        let eui64 = [2, 0x12, 0x4b, 0, 0, 0, 0, last];
        let expected = Identity { eui64, short, pan_id: PanId(0xbed), channel, key };
        assert_eq!((address, Identity::read(&octets)), (0xf_3000, Ok(expected)));
        let block = fs::read(dir.join(format!("out/{name}.uf2"))).expect("a UF2 file");
        assert_eq!(block[32..32 + LEN], octets);
        assert_eq!(block[12..16], 0xf_3000_u32.to_le_bytes());
        let mode = |file| fs::metadata(file).expect("a file").permissions().mode() & 0o777;
        assert_eq!(mode(&hex), 0o600);
        assert_eq!(report["devices"][device]["name"], name);
        assert_eq!(report["devices"][device]["short"].as_u64(), short.map(u64::from));
    }
    // Again for one of them, whose file others could read.
    let (first, second) = (dir.join("out/bed-1.hex"), dir.join("out/bed-2.hex"));
    fs::set_permissions(&second, Permissions::from_mode(0o644)).expect("permissions");
    fs::remove_file(&first).expect("a file");
    assert!(commission(&dir, &["--only", "bed-2"]).status.success());
    assert!(!first.exists());
    assert_eq!(fs::metadata(second).expect("a file").permissions().mode() & 0o777, 0o600);
    // The router reads the same file.
    let mut router = Command::new(env!("CARGO_BIN_EXE_kinglet"));
    let output = router.current_dir(&dir).args(["router", "g.toml", "--check"]).output();
    assert!(output.expect("it starts").status.success());
}

#[test]
fn a_mistake_is_reported_with_its_place_and_nothing_is_written() {
    let cases: [(&str, &str, &str, &str); 9] = [
        ("twice", "00:12\"", "00:11\"", ":39:9: node[1].eui64: bed-1 has the same"),
        ("router", "00:12\"", "00:01\"", "the router has the same"),
        ("names", "name = \"bed-2\"", "name = \"bed-1\"", "node[1].name: bed-1 has the same"),
        ("path", "name = \"bed-2\"", "name = \"../x\"", "is not a name for files"),
        ("nameless", "name = \"bed-2\"\n", "", "a name for the device's files"),
        ("zero", "02:12:4b:00:00:00:00:12", "00:00:00:00:00:00:00:00", "not allowed: EUI-64"),
        ("page", "page = 0x000f_3000", "page = 0x000f_3001", "not a multiple of 256"),
        ("family", "\"nrf52840\"\n", "\"nrf52480\"\n", "did you mean \"nrf52840\"?"),
        ("key", "key_file = \"greenhouse.key\"\n", "", "devices need the key of the network"),
    ];
    for (name, from, to, message) in cases {
        let dir = configured(name, |text| {
            assert!(text.contains(from), "{name}");
            text.replace(from, to)
        });
        let refusal = refused(&dir, &[], 2);
        assert!(refusal.contains(message), "{name}: {refusal}");
    }
}

#[test]
fn keys_and_names_that_cannot_be_used_are_refused() {
    let dir = configured("refused", str::to_owned);
    let refusal = refused(&dir, &["--only", "bed-9"], 2);
    assert!(refusal.contains("no device \"bed-9\"; there are bed-1, bed-2"), "{refusal}");
    write_key(&dir, 0o644);
    assert!(refused(&dir, &[], 2).contains("chmod 600"));
    fs::remove_file(dir.join("greenhouse.key")).expect("a key");
    assert!(refused(&dir, &[], 3).contains("greenhouse.key: cannot be read"));
    let dir = configured("no-devices", |text| text.split("[[node]]").next().unwrap().to_owned());
    assert!(refused(&dir, &[], 2).contains("it has no devices"));
}

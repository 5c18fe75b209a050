//! Builds lwIP if `LWIP_DIR` names its source from `apt-get source lwip`, and TCPlp if `TCPLP_DIR`
//! names OpenThread's source from `tcplp/fetch`.
//!
//! lwIP and the glue keep their state in global variables, and a simulated link needs two instances
//! of it. All objects are therefore merged into one: its symbols are made local, except those of
//! the glue, which are given a prefix.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

const CORE: [&str; 15] = [
    "init",
    "def",
    "inet_chksum",
    "ip",
    "mem",
    "memp",
    "netif",
    "pbuf",
    "raw",
    "stats",
    "sys",
    "tcp",
    "tcp_in",
    "tcp_out",
    "timeouts",
];
const IPV6: [&str; 9] =
    ["dhcp6", "ethip6", "icmp6", "inet6", "ip6", "ip6_addr", "ip6_frag", "mld6", "nd6"];
const NETIF: [&str; 2] = ["lowpan6", "lowpan6_common"];

const TCPLP: [&str; 10] = [
    "cc/cc_newreno",
    "tcp_fastopen",
    "tcp_input",
    "tcp_output",
    "tcp_reass",
    "tcp_sack",
    "tcp_subr",
    "tcp_timer",
    "tcp_timewait",
    "tcp_usrreq",
];
const TCPLP_LIB: [&str; 3] = ["bitmap", "cbuf", "lbuf"];

/// Functions of the glue; not every glue has all of them.
const SYMBOLS: [&str; 11] = [
    "init", "start", "run", "sleep", "receive", "frame", "segment", "sent", "received", "faults",
    "info",
];

/// A variant of lwIP, in which all these values are constant.
struct Variant {
    /// Prefix of its functions' names, before the letter of the end.
    name: &'static str,
    mss: u32,
    buffer: u32,
    timestamps: bool,
}

const VARIANTS: [Variant; 3] = [
    Variant { name: "lwip460", mss: 460, buffer: 1840, timestamps: false },
    Variant { name: "lwip460t", mss: 460, buffer: 1840, timestamps: true },
    Variant { name: "lwip268", mss: 268, buffer: 1840, timestamps: false },
];

fn main() {
    for stack in ["lwip", "tcplp"] {
        println!("cargo::rustc-check-cfg=cfg({stack})");
        println!("cargo::rerun-if-env-changed={}_DIR", stack.to_uppercase());
        println!("cargo::rerun-if-changed={stack}");
    }
    println!("cargo::rerun-if-changed=build.rs");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("Cargo sets it"));
    println!("cargo::rustc-link-search=native={}", out.display());
    if let Some(source) = directory("LWIP_DIR") {
        for variant in VARIANTS {
            let merged = out.join(format!("{}.o", variant.name));
            run(lwip(&source.join("src"), &variant).arg("-o").arg(&merged));
            instances(&out, &merged, variant.name);
        }
        println!("cargo::rustc-cfg=lwip");
    }
    if let Some(source) = directory("TCPLP_DIR") {
        let merged = out.join("tcplp.o");
        run(tcplp(&source).arg("-o").arg(&merged));
        instances(&out, &merged, "tcplp");
        println!("cargo::rustc-cfg=tcplp");
    }
}

fn directory(variable: &str) -> Option<PathBuf> {
    env::var_os(variable).filter(|dir| !dir.is_empty()).map(PathBuf::from)
}

/// A compiler that merges its objects into one relocatable object.
fn compiler() -> Command {
    let mut cc = Command::new(env::var_os("CC").unwrap_or_else(|| "cc".into()));
    cc.args(["-O2", "-g1", "-fPIC", "-fno-common", "-nostdlib", "-r"]);
    cc
}

/// All of lwIP and the glue.
fn lwip(source: &Path, variant: &Variant) -> Command {
    let Variant { mss, buffer, timestamps, .. } = variant;
    let mut cc = compiler();
    cc.arg("-Ilwip").arg("-I").arg(source.join("include"));
    cc.arg(format!("-DTCP_MSS={mss}")).arg(format!("-DNODE_BUFFER={buffer}"));
    cc.arg(format!("-DLWIP_TCP_TIMESTAMPS={}", u8::from(*timestamps)));
    cc.arg("lwip/node.c");
    let core = CORE.iter().map(|name| format!("core/{name}.c"));
    let ipv6 = IPV6.iter().map(|name| format!("core/ipv6/{name}.c"));
    let netif = NETIF.iter().map(|name| format!("netif/{name}.c"));
    cc.args(core.chain(ipv6).chain(netif).map(|file| source.join(file)));
    cc
}

/// All of TCPlp and the glue. Its warnings are not reported.
fn tcplp(source: &Path) -> Command {
    let tcplp = source.join("third_party/tcplp");
    let mut cc = compiler();
    cc.args(["-w", "-Wl,--wrap=cbuf_reass_count_set"])
        .arg("-I")
        .arg(source.join("include"))
        .arg("-I")
        .arg(&tcplp);
    cc.arg("tcplp/node.c");
    cc.args(TCPLP.iter().map(|name| tcplp.join(format!("bsdtcp/{name}.c"))));
    cc.args(TCPLP_LIB.iter().map(|name| tcplp.join(format!("lib/{name}.c"))));
    cc
}

/// One copy for each end.
fn instances(out: &Path, merged: &Path, name: &str) {
    for end in ["a", "b"] {
        let prefix = format!("{name}{end}");
        instance(out, merged, &prefix);
        println!("cargo::rustc-link-lib=static={prefix}");
    }
}

/// A copy of the object with its own symbol names, as a library.
fn instance(out: &Path, merged: &Path, prefix: &str) {
    let (object, library) = (out.join(format!("{prefix}.o")), out.join(format!("lib{prefix}.a")));
    let symbols = || SYMBOLS.iter();
    let mut keep = Command::new("objcopy");
    keep.args(symbols().map(|name| format!("--keep-global-symbol=node_{name}")));
    run(keep.arg(merged).arg(&object));
    let mut rename = Command::new("objcopy");
    rename.args(symbols().map(|name| format!("--redefine-sym=node_{name}={prefix}_{name}")));
    run(rename.arg(&object));
    run(Command::new("ar").arg("crs").arg(&library).arg(&object));
}

fn run(command: &mut Command) {
    let status = command.status();
    assert!(status.as_ref().is_ok_and(|s| s.success()), "{command:?}: {status:?}");
}

//! Builds lwIP if `LWIP_DIR` names its source, as `apt-get source lwip` leaves it.
//!
//! lwIP keeps its state in global variables, and a simulated link needs two of it: all objects are
//! merged into one, whose symbols but the glue's are made local and the glue's are given a prefix.

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

/// The glue's functions.
const SYMBOLS: [&str; 10] =
    ["init", "start", "run", "sleep", "receive", "frame", "sent", "received", "faults", "info"];

/// MSS and buffer of each variant: both are constants in lwIP.
const VARIANTS: [(u32, u32); 2] = [(460, 1840), (268, 1840)];

fn main() {
    println!("cargo::rustc-check-cfg=cfg(lwip)");
    println!("cargo::rerun-if-env-changed=LWIP_DIR");
    for file in ["build.rs", "lwip/node.c", "lwip/lwipopts.h", "lwip/arch/cc.h"] {
        println!("cargo::rerun-if-changed={file}");
    }
    let Some(lwip) = env::var_os("LWIP_DIR").filter(|dir| !dir.is_empty()) else { return };
    let source = PathBuf::from(lwip).join("src");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("Cargo sets it"));
    for (mss, buffer) in VARIANTS {
        let merged = out.join(format!("lwip{mss}.o"));
        compile(&source, mss, buffer, &merged);
        for end in ["a", "b"] {
            let prefix = format!("lwip{mss}{end}");
            instance(&out, &merged, &prefix);
            println!("cargo::rustc-link-lib=static={prefix}");
        }
    }
    println!("cargo::rustc-link-search=native={}", out.display());
    println!("cargo::rustc-cfg=lwip");
}

/// All of lwIP and the glue as one relocatable object.
fn compile(source: &Path, mss: u32, buffer: u32, merged: &Path) {
    let mut cc = Command::new(env::var_os("CC").unwrap_or_else(|| "cc".into()));
    cc.args(["-O2", "-g1", "-fPIC", "-fno-common", "-nostdlib", "-r", "-Ilwip"]);
    cc.arg("-I").arg(source.join("include"));
    cc.arg(format!("-DTCP_MSS={mss}")).arg(format!("-DNODE_BUFFER={buffer}"));
    cc.arg("-o").arg(merged).arg("lwip/node.c");
    let core = CORE.iter().map(|name| format!("core/{name}.c"));
    let ipv6 = IPV6.iter().map(|name| format!("core/ipv6/{name}.c"));
    let netif = NETIF.iter().map(|name| format!("netif/{name}.c"));
    cc.args(core.chain(ipv6).chain(netif).map(|file| source.join(file)));
    run(&mut cc);
}

/// A copy of the object with names of its own, as a library.
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

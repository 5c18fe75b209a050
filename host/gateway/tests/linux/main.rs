//! Kinglet's TCP against that of the Linux kernel, over a TUN device that loses, duplicates and
//! reorders packets: 2 MB in each direction over connections that either side opens, with and
//! without the optional features of Linux. No octet may be wrong, neither side may reset, and no
//! stall may be longer than the retransmission timeout explains.
//!
//! The test runs itself again under `unshare`, where it may create devices and set `net.ipv4.tcp_*`
//! without being root. If that is forbidden it reports so and passes; if the environment has `CI`,
//! it fails instead. `KINGLET_LINUX=all` runs the whole matrix instead of the few cases that differ
//! most; then `cargo test -p kinglet-gateway --test linux` takes some minutes.

mod bridge;
mod flow;
mod host;
mod matrix;

use kinglet_testkit::namespace::in_namespace;

#[test]
fn two_megabytes_each_way_arrive_whole_whatever_linux_offers() {
    in_namespace("two_megabytes_each_way_arrive_whole_whatever_linux_offers", &[], || {
        matrix::run(std::env::var_os("KINGLET_LINUX").is_some());
    });
}

//! Sets a `cfg` if the target is ARMv6-M, for which there is no stable `cfg`.

fn main() {
    let target = std::env::var("TARGET").unwrap_or_default();
    println!("cargo:rustc-check-cfg=cfg(armv6m)");
    if target.starts_with("thumbv6m-") {
        println!("cargo:rustc-cfg=armv6m");
    }
    println!("cargo:rerun-if-changed=build.rs");
}

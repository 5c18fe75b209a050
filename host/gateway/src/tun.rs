//! The TUN device: creating it, and saying what to do when the system forbids it.

use core::net::Ipv6Addr;
use std::fmt;
use std::io;

use tun_rs::{AsyncDevice, DeviceBuilder};

/// Largest IPv6 packet that crosses the bridge: the IPv6 minimum MTU (RFC 8200 §5), which is also
/// the 6LoWPAN MTU (RFC 4944 §4), so that no host ever has to discover it.
pub const MTU: u16 = 1280;

/// How the host's end of the bridge is set up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TunConfig {
    /// Interface name, at most 15 characters.
    pub name: String,
    /// The host's own address on it.
    pub address: Ipv6Addr,
    /// Prefix length of that address. It spans the mesh's prefix, so the kernel routes the whole
    /// mesh to this interface without a further route.
    pub prefix_len: u8,
}

/// Why the device could not be made.
#[derive(Debug)]
pub struct TunError {
    name: String,
    cause: io::Error,
}

impl fmt::Display for TunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "cannot create the TUN device `{}`: {}", self.name, self.cause)?;
        match self.cause.kind() {
            io::ErrorKind::PermissionDenied => write!(
                f,
                "creating a network device needs the CAP_NET_ADMIN capability. Either\n  \
                 run inside a network namespace of your own, no root needed:\n    \
                 unshare -rn bash -c 'ip link set lo up; exec bash'   # then start the gateway in it\n  \
                 or give the capability to the program once:\n    \
                 sudo setcap cap_net_admin+ep \"$(command -v kinglet)\""
            ),
            io::ErrorKind::NotFound => write!(
                f,
                "/dev/net/tun is missing: load the kernel module with `sudo modprobe tun`"
            ),
            _ => write!(f, "if the name is taken, choose another one with --tun NAME"),
        }
    }
}

impl std::error::Error for TunError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.cause)
    }
}

/// Creates the device, gives it its address and brings it up. It disappears with the process.
///
/// # Errors
/// [`TunError`], whose message names the command that gives the missing right.
pub fn create(config: &TunConfig) -> Result<AsyncDevice, TunError> {
    DeviceBuilder::new()
        .name(config.name.clone())
        .ipv6(config.address, config.prefix_len)
        .mtu(MTU)
        .build_async()
        .map_err(|cause| TunError { name: config.name.clone(), cause })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_names_the_command_that_gives_the_right() {
        let refused = TunError {
            name: "kinglet0".into(),
            cause: io::Error::from(io::ErrorKind::PermissionDenied),
        };
        let text = refused.to_string();
        assert!(text.contains("unshare -rn") && text.contains("setcap"), "{text}");
    }
}

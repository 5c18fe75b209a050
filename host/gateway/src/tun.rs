//! The TUN devices: their creation, and help if the system forbids it.

use core::net::Ipv6Addr;
use kinglet_lab::scenario::Prefix;
use std::fmt;
use std::io;
use std::net::UdpSocket;
use std::time::Duration;

use tun_rs::{AsyncDevice, DeviceBuilder};

/// Octets of the longest packet that a mesh may accept: the largest value of eleven bits (RFC 4944
/// §5.3).
pub const LONGEST: usize = 2047;

/// Longest name of a Linux network device (IFNAMSIZ less the final zero).
pub const MAX_NAME: usize = 15;

/// Number of attempts to use a new address, and the time between them: five seconds in all.
const USABLE_TRIES: u32 = 500;
const USABLE_PAUSE: Duration = Duration::from_millis(10);

/// Configuration of a host's end of the bridge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TunConfig {
    /// Interface name; see [`is_name`].
    pub name: String,
    /// The host's own address on it.
    pub address: Ipv6Addr,
    /// Prefix length of that address. It spans the mesh's prefix, so the kernel routes the whole
    /// mesh to this interface without a further route.
    pub prefix_len: u8,
    /// Longest packet that the mesh accepts, so that no host needs path MTU discovery: 1280 octets
    /// (RFC 8200 §5, RFC 4944 §4) unless the scenario has a larger one.
    pub mtu: u16,
}

/// Reason for which the device could not be created.
#[derive(Debug)]
pub struct TunError {
    name: String,
    /// The option for another name.
    option: &'static str,
    cause: io::Error,
}

impl fmt::Display for TunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "cannot create the TUN device `{}`: {}", self.name, self.cause)?;
        match self.cause.kind() {
            io::ErrorKind::PermissionDenied => write!(
                f,
                "it takes the capability CAP_NET_ADMIN. Either start the gateway in a network of \
                 your own, no root needed:\n  \
                 unshare -rn bash    # then, in this shell: '{program}' gateway SCENARIO.toml &\n\
                 or give the program the capability, once:\n  \
                 sudo setcap cap_net_admin+ep '{program}'",
                program = program()
            ),
            io::ErrorKind::NotFound => write!(
                f,
                "/dev/net/tun is missing: load the kernel's module with `sudo modprobe tun`"
            ),
            _ => write!(f, "if the name is taken, choose another one with {} NAME", self.option),
        }
    }
}

/// Returns the path of this program, for commands to paste.
fn program() -> String {
    std::env::current_exe().map_or("kinglet".to_owned(), |path| path.display().to_string())
}

impl std::error::Error for TunError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.cause)
    }
}

/// Returns whether `name` is valid for a device. Stricter than the kernel, so that it means the
/// same to every tool.
pub fn is_name(name: &str) -> bool {
    let usable = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    (1..=MAX_NAME).contains(&name.len())
        && name.chars().all(usable)
        && name.starts_with(|c: char| c.is_ascii_alphanumeric())
}

/// List of the addresses of this network namespace.
const ADDRESSES: &str = "/proc/net/if_inet6";

/// Returns the device of this machine that has an address of `prefix`, if there is one: two
/// gateways with one prefix would take each other's packets.
pub fn holder(prefix: Prefix) -> Option<String> {
    std::fs::read_to_string(ADDRESSES).ok().and_then(|text| holder_in(&text, prefix))
}

/// The same in a list of addresses: 32 digits, four unused fields, the device.
fn holder_in(list: &str, prefix: Prefix) -> Option<String> {
    let [a, b, c, ..] = prefix.host().segments();
    let digits = format!("{a:04x}{b:04x}{c:04x}");
    let line = list.lines().find(|line| line.starts_with(&digits))?;
    line.split_whitespace().nth(5).map(str::to_owned)
}

/// Creates the device, gives it its address, brings it up and waits until programs can use the
/// address. It disappears with the process.
///
/// # Errors
/// [`TunError`], whose message names the command that grants the missing right.
pub async fn create(config: &TunConfig) -> Result<AsyncDevice, TunError> {
    let error = |cause| TunError { name: config.name.clone(), option: "--tun", cause };
    let device = DeviceBuilder::new()
        .name(config.name.clone())
        .ipv6(config.address, config.prefix_len)
        .mtu(config.mtu)
        .build_async()
        .map_err(error)?;
    usable(config.address).await.map_err(error)?;
    Ok(device)
}

/// Creates a device that is down and has no address: for another network namespace, where its user
/// gives it one. It disappears with the process, in any namespace.
///
/// # Errors
/// [`TunError`]
pub fn create_to_move(config: &TunConfig) -> Result<AsyncDevice, TunError> {
    let name = config.name.clone();
    let device = DeviceBuilder::new().name(&name).mtu(config.mtu).enable(false).build_async();
    device.map_err(|cause| TunError { name, option: "--far-tun", cause })
}

/// Waits until a socket can be bound to `address`. A new address is tentative at first (RFC 4862
/// §5.4): on a TUN, which has no neighbours for the detection of duplicates, until the kernel
/// completes that.
async fn usable(address: Ipv6Addr) -> io::Result<()> {
    let mut result = Ok(());
    for _ in 0..USABLE_TRIES {
        result = UdpSocket::bind((address, 0)).map(drop);
        if result.is_ok() {
            break;
        }
        tokio::time::sleep(USABLE_PAUSE).await;
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text_for(kind: io::ErrorKind) -> String {
        let name = "kinglet0".into();
        TunError { name, option: "--tun", cause: io::Error::from(kind) }.to_string()
    }

    #[test]
    fn a_refusal_names_the_command_that_gives_the_right() {
        let text = text_for(io::ErrorKind::PermissionDenied);
        assert!(text.contains("\n  unshare -rn bash "), "{text}");
        assert!(text.contains("\n  sudo setcap cap_net_admin+ep '/"), "{text}");
    }

    #[test]
    fn other_failures_say_what_to_try() {
        assert!(text_for(io::ErrorKind::NotFound).contains("modprobe tun"));
        assert!(text_for(io::ErrorKind::ResourceBusy).contains("--tun NAME"));
    }

    #[test]
    fn the_device_with_an_address_of_the_prefix_is_found() {
        let list = "00000000000000000000000000000001 01 80 10 80       lo\n\
                    fd6b696e676c74010000000000000001 05 30 00 80 kinglet0\n\
                    fe80000000000000b1eb5c8fb0d5c0a5 05 40 20 80 kinglet0\n";
        assert_eq!(holder_in(list, Prefix::DEFAULT).as_deref(), Some("kinglet0"));
        let other: Prefix = "fd00:1:2::".parse().expect("a prefix");
        assert_eq!((holder_in(list, other), holder_in("", Prefix::DEFAULT)), (None, None));
    }

    #[tokio::test]
    async fn an_address_that_the_host_has_is_usable() {
        usable(Ipv6Addr::LOCALHOST).await.expect("the loopback address");
    }

    #[tokio::test(start_paused = true)]
    async fn an_address_that_the_host_has_not_is_given_up() {
        // From the documentation prefix (RFC 3849), which no device has.
        let none = Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1);
        let error = usable(none).await.expect_err("an address of nobody");
        assert_eq!(error.kind(), io::ErrorKind::AddrNotAvailable);
    }

    #[test]
    fn names_are_what_the_kernel_takes_as_they_are() {
        for name in ["kinglet0", "a", "tun-mesh_1.5", "fifteen-letters"] {
            assert!(is_name(name), "{name}");
        }
        for name in ["", "sixteen-letters-", "a/b", "a b", "tun%d", "..", "ä"] {
            assert!(!is_name(name), "{name}");
        }
    }
}

//! The TUN devices: their creation, and help if the system forbids it.

use core::net::Ipv6Addr;
use kinglet_scenario::Prefix;
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
    /// Prefix length of that address. The kernel routes that prefix to this interface.
    pub prefix_len: u8,
    /// The mesh's prefix of 64 bits; it has a route of its own unless the other one spans it.
    pub mesh: Ipv6Addr,
    /// Longest packet that the mesh accepts, so that no host needs path MTU discovery: 1280 octets
    /// (RFC 8200 §5, RFC 4944 §4) unless the scenario has a larger one.
    pub mtu: u16,
}

/// Length of the prefix of a mesh.
const MESH_LEN: u8 = 64;

impl TunConfig {
    /// Returns the prefixes that the kernel routes to this interface, with their lengths.
    pub(crate) fn prefixes(&self) -> impl Iterator<Item = (Ipv6Addr, u8)> {
        let own = (first(self.address, self.prefix_len), self.prefix_len);
        let spans = own.1 <= MESH_LEN && first(self.mesh, own.1) == own.0;
        let mesh = (!spans).then_some((self.mesh, MESH_LEN));
        [own].into_iter().chain(mesh)
    }
}

/// Returns the first address of the prefix of `len` bits with this address.
fn first(address: Ipv6Addr, len: u8) -> Ipv6Addr {
    let rest = u128::MAX.checked_shr(len.into()).unwrap_or(0);
    Ipv6Addr::from_bits(address.to_bits() & !rest)
}

/// The command that creates a device, for messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Creator {
    /// Its words on the command line.
    pub command: &'static str,
    /// How the user chooses another name for the device.
    pub rename: &'static str,
}

/// `kinglet gateway`.
pub const GATEWAY: Creator = Creator { command: "gateway SCENARIO.toml", rename: "--tun NAME" };
/// The same for the device at the far end of a tunnel.
pub const FAR: Creator = Creator { rename: "--far-tun NAME", ..GATEWAY };
/// `kinglet router`.
pub const ROUTER: Creator =
    Creator { command: "router ROUTER.toml", rename: "`name` in the section [tun]" };

/// Reason for which the device could not be created.
#[derive(Debug)]
pub struct TunError {
    name: String,
    by: Creator,
    cause: io::Error,
}

impl fmt::Display for TunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "cannot create the TUN device `{}`: {}", self.name, self.cause)?;
        match self.cause.kind() {
            io::ErrorKind::PermissionDenied => write!(
                f,
                "it takes the capability CAP_NET_ADMIN. Either start it in a network of your own, \
                 no root needed:\n  \
                 unshare -rn bash    # then, in this shell: '{program}' {command} &\n\
                 or give the program the capability, once:\n  \
                 sudo setcap cap_net_admin+ep '{program}'",
                program = program(),
                command = self.by.command
            ),
            io::ErrorKind::NotFound => write!(
                f,
                "/dev/net/tun is missing: load the kernel's module with `sudo modprobe tun`"
            ),
            _ => write!(f, "if the name is taken, choose another one with {}", self.by.rename),
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
    let mine = [(prefix.host(), prefix.host_len()), (prefix.mesh(), MESH_LEN)];
    let is_mine = |address| mine.iter().any(|(own, len)| first(address, *len) == first(*own, *len));
    list.lines().find_map(|line| {
        let mut words = line.split_whitespace();
        let address = u128::from_str_radix(words.next()?, 16).ok().map(Ipv6Addr::from_bits)?;
        words.nth(4).filter(|_| is_mine(address)).map(str::to_owned)
    })
}

/// Creates the device, gives it its address, brings it up and waits until programs can use the
/// address. It disappears with the process.
///
/// # Errors
/// [`TunError`], whose message names the command that grants the missing right.
pub async fn create(config: &TunConfig, by: Creator) -> Result<AsyncDevice, TunError> {
    let error = |cause| TunError { name: config.name.clone(), by, cause };
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
    device.map_err(|cause| TunError { name, by: FAR, cause })
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
        TunError { name, by: GATEWAY, cause: io::Error::from(kind) }.to_string()
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
        let [mesh, host] = ["fd00:5::", "fd6b:696e:676c:7401::9"].map(|it| it.parse().unwrap());
        let holds = |mesh, host| holder_in(list, Prefix::given(mesh, host, 64)).is_some();
        assert_eq!((holds(mesh, host), holds(host, mesh), holds(mesh, mesh)), (true, true, false));
    }

    #[test]
    fn the_mesh_has_a_route_of_its_own_unless_the_address_spans_it() {
        let routes = |address: &str, prefix_len| {
            let [address, mesh] = [address, "fd00:5:0:7400::"].map(|text| text.parse().unwrap());
            let config = TunConfig { name: String::new(), address, prefix_len, mesh, mtu: 1280 };
            let texts = config.prefixes().map(|(prefix, len)| format!("{prefix}/{len}"));
            texts.collect::<Vec<_>>()
        };
        assert_eq!(routes("fd00:5:0:7401::1", 48), ["fd00:5::/48"]);
        assert_eq!(routes("fd00:5:0:7401::1", 64), ["fd00:5:0:7401::/64", "fd00:5:0:7400::/64"]);
        assert_eq!(routes("fd00:6::1", 128), ["fd00:6::1/128", "fd00:5:0:7400::/64"]);
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

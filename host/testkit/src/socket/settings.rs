//! Settings of a stack: names of Linux's sysctls, and some additional ones.

use super::Algorithm;
use kinglet_tcp::{ConnectionConfig, KeepAlive, TcpConfig};
use kinglet_time::{Duration, Instant};
use std::net::Ipv6Addr;

/// Settings of a [`super::Stack`]. By default its window is 65,535 octets and its MSS 1440, that of
/// Ethernet. A buffer has at most 1 MiB.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Time of the clock at the start.
    pub start: Instant,
    /// Its address, unless a socket is bound to another.
    pub local: Ipv6Addr,
    /// Settings of the endpoint.
    pub endpoint: TcpConfig,
    /// Settings of connections, unless their socket has others.
    pub connection: ConnectionConfig,
    /// Their congestion control.
    pub congestion: Algorithm,
    /// Number of unsent octets at which a socket accepts no more; `u32::MAX`: no limit.
    pub notsent_lowat: u32,
    /// The settings that `SO_KEEPALIVE` enables; Linux's defaults.
    pub keepalive: KeepAlive,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            start: Instant::from_secs(10),
            local: Ipv6Addr::new(0xfd3d, 0x0a0b, 0x17d6, 0, 0, 0, 0, 1),
            endpoint: TcpConfig::new([1; 16]),
            connection: ConnectionConfig {
                mss: 1440,
                send_buffer: 65_536,
                receive_buffer: 65_535,
                // As in Linux, for which scripts are written.
                timestamps: true,
                pacing: false,
                ..ConnectionConfig::DEFAULT
            },
            congestion: Algorithm::default(),
            notsent_lowat: u32::MAX,
            keepalive: KeepAlive {
                idle: Duration::from_secs(7200),
                interval: Duration::from_secs(75),
                probes: 9,
            },
        }
    }
}

/// Sysctls that have no effect on this stack, or request its only behaviour.
const HARMLESS: [&str; 20] = [
    "tcp_dsack",
    "tcp_early_retrans",
    "tcp_ecn_fallback",
    "tcp_fack",
    "tcp_frto",
    "tcp_invalid_ratelimit",
    "tcp_limit_output_bytes",
    "tcp_min_tso_segs",
    "tcp_mtu_probing",
    "tcp_no_metrics_save",
    "tcp_pacing_ca_ratio",
    "tcp_pacing_ss_ratio",
    "tcp_recovery",
    "tcp_reordering",
    "tcp_slow_start_after_idle",
    "tcp_syncookies",
    "tcp_thin_linear_timeouts",
    "tcp_tso_win_divisor",
    "tcp_tw_reuse",
    "tcp_window_scaling",
];

impl Settings {
    /// Sets the setting `name`; `false` if there is no such setting or the value is invalid.
    pub fn set(&mut self, name: &str, value: &str) -> bool {
        let name = name.rsplit(['.', '/']).next().unwrap_or(name);
        let value = value.trim().trim_matches('"');
        self.set_number(name, value).is_some() || self.set_other(name, value).is_some()
    }

    /// Returns whether `name` is a sysctl that can be ignored.
    pub fn is_harmless(name: &str) -> bool {
        HARMLESS.contains(&name.rsplit(['.', '/']).next().unwrap_or(name))
    }

    fn set_number(&mut self, name: &str, value: &str) -> Option<()> {
        let number: u64 = match value.strip_prefix("0x") {
            Some(hex) => u64::from_str_radix(hex, 16).ok()?,
            None => value.parse().ok()?,
        };
        let count = || u8::try_from(number).unwrap_or(u8::MAX);
        let connection = &mut self.connection;
        match name {
            // Linux: 1 requests and accepts, 2 accepts. 0, neither, is 2 here.
            "tcp_ecn" => connection.ecn = number == 1,
            "ack_every" => connection.ack_every = count(),
            // Linux paces by its queueing discipline; here it is a setting of the connection.
            "pacing" => connection.pacing = number != 0,
            "tcp_sack" => connection.sack = number != 0,
            "tcp_timestamps" => connection.timestamps = number != 0,
            "tcp_syn_retries" => connection.syn_retries = count(),
            "tcp_synack_retries" => connection.syn_ack_retries = count(),
            "tcp_retries2" => connection.max_retransmits = count(),
            "tcp_fin_timeout" => connection.fin_wait_2 = Duration::from_secs(number),
            "tcp_rto_min_us" => connection.rto_min = Duration::from_micros(number),
            "tcp_rto_max_ms" => connection.rto_max = Duration::from_millis(number),
            "tcp_keepalive_time" => self.keepalive.idle = Duration::from_secs(number),
            "tcp_keepalive_intvl" => self.keepalive.interval = Duration::from_secs(number),
            "tcp_keepalive_probes" => self.keepalive.probes = count(),
            "tcp_delack_max_us" => connection.delayed_ack = Duration::from_micros(number),
            "tcp_notsent_lowat" => self.notsent_lowat = u32::try_from(number).unwrap_or(u32::MAX),
            "tcp_rmem" => connection.receive_buffer = usize::try_from(number).unwrap_or(0),
            "tcp_wmem" => connection.send_buffer = usize::try_from(number).unwrap_or(0),
            "initcwnd" => connection.initial_window = count(),
            "mss" => connection.mss = u16::try_from(number).unwrap_or(u16::MAX),
            "start" => self.start = Instant::from_micros(number),
            _ => return None,
        }
        Some(())
    }

    fn set_other(&mut self, name: &str, value: &str) -> Option<()> {
        match name {
            "tcp_congestion_control" => self.congestion = Algorithm::named(value)?,
            "local" => self.local = value.parse().ok()?,
            // Linux's key, in groups of eight digits, is for cookies only; here one secret is for
            // all.
            "secret" | "tcp_fastopen_key" => {
                let number = u128::from_str_radix(&value.replace('-', ""), 16).ok()?;
                self.endpoint.secret = number.to_be_bytes();
            }
            _ => return None,
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_linux_and_our_own_are_set() {
        let mut settings = Settings::default();
        assert!(settings.set("net.ipv4.tcp_sack", "0") && !settings.connection.sack);
        assert!(settings.set("net/ipv4/tcp_retries2", "0x3"));
        assert_eq!(settings.connection.max_retransmits, 3);
        assert!(settings.set("local", "fe80::1") && settings.set("secret", "ff"));
        assert_eq!(settings.endpoint.secret[15], 0xff);
        assert!(settings.set("tcp_congestion_control", "cubic"));
        assert_eq!(settings.congestion, Algorithm::Cubic);
        assert!(!settings.set("tcp_congestion_control", "bbr"));
        assert!(!settings.set("tcp_odd", "1") && !settings.set("tcp_sack", "x"));
        assert!(Settings::is_harmless("net.ipv4.tcp_frto") && !Settings::is_harmless("tcp_odd"));
    }
}

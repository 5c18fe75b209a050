//! `getsockopt` and `setsockopt`.

use super::descriptors::{Kind, Socket};
use super::{
    Algorithm, Answer, DONE, Errno, IPPROTO_IPV6, Outcome, Output, SO_ACCEPTCONN, SO_BUSY_POLL,
    SO_DONTROUTE, SO_ERROR, SO_KEEPALIVE, SO_LINGER, SO_MARK, SO_MEMINFO, SO_PRIORITY, SO_RCVBUF,
    SO_REUSEADDR, SO_REUSEPORT, SO_SNDBUF, SO_ZEROCOPY, SOL_IP, SOL_SOCKET, SOL_TCP, Stack,
    TCP_CC_INFO, TCP_CONGESTION, TCP_CORK, TCP_DELACK_MAX_US, TCP_FASTOPEN, TCP_FASTOPEN_CONNECT,
    TCP_INFO, TCP_INQ, TCP_KEEPCNT, TCP_KEEPIDLE, TCP_KEEPINTVL, TCP_LINGER2, TCP_MAXSEG,
    TCP_NODELAY, TCP_NOTSENT_LOWAT, TCP_QUICKACK, TCP_RTO_MAX_MS, TCP_RTO_MIN_US, TCP_SYNCNT,
    TCP_USER_TIMEOUT, info,
};
use kinglet_tcp::ConnectionConfig;
use kinglet_time::Duration;

/// Octets of Linux's `union tcp_cc_info`. The congestion controls of this stack report nothing
/// there.
const TCP_CC_INFO_LEN: usize = 20;

/// Octets of the name of a congestion control, zeros included (Linux's `TCP_CA_NAME_MAX`).
const CONTROL_NAME_LEN: usize = 16;

impl Stack {
    pub(super) fn get_option(&mut self, fd: i32, level: i32, name: i32) -> Outcome {
        let socket = self.table.entry(fd)?;
        let handle = match socket.kind {
            Kind::Connection(handle) => Some(handle),
            _ => None,
        };
        let octets = match (level, name) {
            (SOL_SOCKET, SO_ERROR) => {
                let error = handle.and_then(|handle| self.take_error(fd, handle));
                error.map_or(0, |errno| errno.0).to_ne_bytes().to_vec()
            }
            (SOL_TCP, TCP_INFO) => self.tcp_info(fd)?,
            (SOL_TCP, TCP_CC_INFO) => vec![0; TCP_CC_INFO_LEN],
            (SOL_SOCKET, SO_MEMINFO) => self.memory_info(fd)?,
            (SOL_TCP, TCP_CONGESTION) => {
                let mut name = socket.congestion.name().as_bytes().to_vec();
                name.resize(CONTROL_NAME_LEN, 0);
                name
            }
            _ => self.number(fd, level, name)?.to_ne_bytes().to_vec(),
        };
        Ok(Some(Answer { output: Output::Octets(octets), ..Answer::DONE }))
    }

    fn number(&mut self, fd: i32, level: i32, name: i32) -> Result<i32, Errno> {
        let socket = self.table.entry(fd)?;
        let config = &socket.config;
        let millis = |d: Duration| i64::try_from(d.as_millis()).unwrap_or(i64::MAX);
        let size = |n: usize| i64::try_from(n).unwrap_or(i64::MAX);
        let value = match (level, name) {
            (SOL_SOCKET, SO_ACCEPTCONN) => i64::from(matches!(socket.kind, Kind::Listening(_))),
            (SOL_SOCKET, SO_KEEPALIVE) => i64::from(socket.keepalive_on),
            (SOL_SOCKET, SO_SNDBUF) => size(config.send_buffer),
            (SOL_SOCKET, SO_RCVBUF) => size(config.receive_buffer),
            (SOL_TCP, TCP_NODELAY) => i64::from(!config.nagle),
            (SOL_TCP, TCP_MAXSEG) => i64::from(config.mss),
            (SOL_TCP, TCP_CORK) => i64::from(socket.held.corked),
            (SOL_TCP, TCP_NOTSENT_LOWAT) => i64::from(socket.notsent_lowat),
            (SOL_TCP, TCP_INQ) => i64::from(socket.inquires),
            (SOL_SOCKET, SO_ZEROCOPY) => i64::from(socket.lent.on),
            (SOL_TCP, TCP_SYNCNT) => i64::from(config.syn_retries),
            (SOL_TCP, TCP_FASTOPEN) => i64::from(socket.fast_open),
            (SOL_TCP, TCP_FASTOPEN_CONNECT) => i64::from(config.fast_open),
            (SOL_TCP, TCP_LINGER2) => millis(config.fin_wait_2) / 1000,
            (SOL_TCP, TCP_USER_TIMEOUT) => config.user_timeout.map_or(0, millis),
            (SOL_TCP, TCP_KEEPIDLE) => millis(socket.keepalive.idle) / 1000,
            (SOL_TCP, TCP_KEEPINTVL) => millis(socket.keepalive.interval) / 1000,
            (SOL_TCP, TCP_KEEPCNT) => i64::from(socket.keepalive.probes),
            _ => return Err(Errno::ENOPROTOOPT),
        };
        Ok(i32::try_from(value).unwrap_or(i32::MAX))
    }

    fn tcp_info(&mut self, fd: i32) -> Result<Vec<u8>, Errno> {
        let socket = self.table.entry(fd)?;
        let announced = socket.announced;
        let held = u32::try_from(socket.held.len()).unwrap_or(u32::MAX);
        match socket.kind {
            Kind::Connection(handle) => {
                let info = self.endpoint.info(handle);
                Ok(info::encode(info.as_ref().map(|info| info::Seen { info, announced, held })))
            }
            Kind::Listening(_) => Ok(info::listening()),
            _ => Ok(info::encode(None)),
        }
    }

    fn memory_info(&mut self, fd: i32) -> Result<Vec<u8>, Errno> {
        let info = self.info(Some(fd));
        let config = &self.table.entry(fd)?.config;
        Ok(info::memory(info.as_ref(), config.receive_buffer, config.send_buffer))
    }

    pub(super) fn set_option(&mut self, fd: i32, level: i32, name: i32, value: &[u8]) -> Outcome {
        let socket = self.table.entry(fd)?;
        match (level, name) {
            (SOL_SOCKET, SO_REUSEADDR | SO_REUSEPORT | SO_DONTROUTE | SO_PRIORITY | SO_MARK)
            | (SOL_SOCKET, SO_BUSY_POLL)
            | (SOL_IP | IPPROTO_IPV6, _) => return DONE,
            (SOL_SOCKET, SO_LINGER) => {
                let on = word(value).ok_or(Errno::EINVAL)?;
                let seconds = value.get(4..).and_then(word).ok_or(Errno::EINVAL)?;
                let seconds = Duration::from_secs(u64::try_from(seconds).unwrap_or(0));
                socket.linger = (on != 0).then_some(seconds);
                return DONE;
            }
            (SOL_TCP, TCP_CONGESTION) => {
                let name = String::from_utf8_lossy(value);
                let algorithm = Algorithm::named(name.trim_end_matches('\0'));
                socket.congestion = algorithm.ok_or(Errno::ENOENT)?;
                self.choose_congestion(fd);
                return DONE;
            }
            _ => {}
        }
        let value = word(value).ok_or(Errno::EINVAL)?;
        if !socket.set(level, name, value) {
            return Err(Errno::ENOPROTOOPT);
        }
        if (level, name) == (SOL_TCP, TCP_NODELAY) {
            socket.held.release(self.now);
        }
        if matches!(socket.kind, Kind::Listening(_)) {
            return self.listen_again(fd);
        }
        let connected = matches!(socket.kind, Kind::Connection(_));
        if connected && (level, name) == (SOL_SOCKET, SO_RCVBUF) {
            let note = "the receive buffer's size is set too late: the connection has begun";
            self.notes.push(note.to_owned());
        } else if let Kind::Connection(handle) = socket.kind {
            let config = socket.config;
            // A connection that does not exist any more has no settings.
            let _ = match (level, name) {
                (SOL_TCP, TCP_MAXSEG) => self.endpoint.set_mss(handle, config.mss),
                _ => self.endpoint.configure(self.now, handle, &config),
            };
        }
        DONE
    }
}

impl Stack {
    /// Makes a connection use the congestion control of its socket.
    pub(super) fn choose_congestion(&mut self, fd: i32) {
        let Some(socket) = self.table.sockets.get(&fd) else { return };
        let algorithm = socket.congestion;
        if let Kind::Connection(handle) = socket.kind
            && let Some(control) = self.endpoint.congestion(handle)
        {
            control.choose(algorithm);
        }
    }
}

/// Returns the number at the front of an option's value; Linux also accepts a single octet for
/// some.
fn word(value: &[u8]) -> Option<i32> {
    value.first_chunk().map(|octets| i32::from_ne_bytes(*octets))
}

impl Socket {
    /// Sets an option; `false` if this stack does not have it.
    fn set(&mut self, level: i32, name: i32, value: i32) -> bool {
        let count = u8::try_from(value.clamp(0, 255)).unwrap_or(0);
        let amount = u64::try_from(value).unwrap_or(0);
        let size = usize::try_from(value).unwrap_or(0);
        let config = &mut self.config;
        match (level, name) {
            (SOL_TCP, TCP_NODELAY) => config.nagle = value == 0,
            (SOL_TCP, TCP_MAXSEG) => config.mss = u16::try_from(value).unwrap_or(u16::MAX),
            (SOL_TCP, TCP_QUICKACK) => {
                config.delayed_ack =
                    if value == 0 { ConnectionConfig::DEFAULT.delayed_ack } else { Duration::ZERO };
            }
            (SOL_TCP, TCP_USER_TIMEOUT) => {
                config.user_timeout = (value > 0).then(|| Duration::from_millis(amount));
            }
            (SOL_TCP, TCP_CORK) => self.held.corked = value != 0,
            (SOL_TCP, TCP_NOTSENT_LOWAT) => self.notsent_lowat = value.cast_unsigned(),
            (SOL_TCP, TCP_INQ) => self.inquires = value != 0,
            (SOL_SOCKET, SO_ZEROCOPY) => self.lent.on = value != 0,
            (SOL_TCP, TCP_SYNCNT) => (config.syn_retries, config.syn_ack_retries) = (count, count),
            (SOL_TCP, TCP_FASTOPEN) => self.fast_open = count,
            (SOL_TCP, TCP_FASTOPEN_CONNECT) => config.fast_open = value != 0,
            (SOL_TCP, TCP_LINGER2) => config.fin_wait_2 = Duration::from_secs(amount),
            (SOL_TCP, TCP_DELACK_MAX_US) => config.delayed_ack = Duration::from_micros(amount),
            (SOL_TCP, TCP_RTO_MIN_US) => config.rto_min = Duration::from_micros(amount),
            (SOL_TCP, TCP_RTO_MAX_MS) => config.rto_max = Duration::from_millis(amount),
            (SOL_SOCKET, SO_SNDBUF) => config.send_buffer = size,
            (SOL_SOCKET, SO_RCVBUF) => config.receive_buffer = size,
            (SOL_SOCKET, SO_KEEPALIVE) => self.keepalive_on = value != 0,
            (SOL_TCP, TCP_KEEPIDLE) => self.keepalive.idle = Duration::from_secs(amount),
            (SOL_TCP, TCP_KEEPINTVL) => self.keepalive.interval = Duration::from_secs(amount),
            (SOL_TCP, TCP_KEEPCNT) => self.keepalive.probes = count,
            _ => return false,
        }
        self.config.keepalive = self.keepalive_on.then_some(self.keepalive);
        true
    }
}

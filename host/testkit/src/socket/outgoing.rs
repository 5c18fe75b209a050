//! Path of written octets to a connection: the number that a socket accepts, and the release of
//! octets that it holds back (`held.rs`).
//!
//! A segment that is complete while it is held back is sent with PSH, because a connection does not
//! know of further octets; Linux omits the flag.

use super::descriptors::{Kind, Socket};
use super::held::Held;
use super::sizes::LARGEST_BUFFER;
use super::{
    Errno, MSG_DONTWAIT, MSG_EOR, MSG_FASTOPEN, MSG_MORE, MSG_OOB, MSG_ZEROCOPY, Outcome, Stack,
    done,
};
use kinglet_tcp::{Handle, SendError, State};
use std::net::SocketAddrV6;

impl Stack {
    pub(super) fn send(
        &mut self,
        fd: i32,
        data: &mut Vec<u8>,
        flags: i32,
        to: Option<SocketAddrV6>,
    ) -> Outcome {
        let socket = self.table.entry(fd)?;
        let waits = !socket.nonblocking && flags & MSG_DONTWAIT == 0;
        let Some(handle) = self.sending(fd, flags, waits, to)? else { return Ok(None) };
        if flags & MSG_OOB != 0 {
            return Err(Errno::EOPNOTSUPP);
        }
        let taken = self.push(fd, handle, data, flags);
        let socket = self.table.entry(fd)?;
        socket.starved |= taken.is_ok_and(|count| count < data.len());
        let partial = std::mem::take(&mut socket.partial);
        let total = match taken {
            Ok(count) if count == data.len() => partial + count,
            Ok(count) if waits => {
                socket.partial = partial + count;
                data.drain(..count);
                return Ok(None);
            }
            Ok(count) if partial + count > 0 => partial + count,
            Ok(_) => return Err(Errno::EAGAIN),
            Err(_) if partial > 0 => partial,
            Err(SendError::Ended(_)) => {
                return Err(self.take_error(fd, handle).unwrap_or(Errno::EPIPE));
            }
            Err(SendError::InvalidHandle | SendError::Closed) => return Err(Errno::EPIPE),
        };
        if flags & MSG_ZEROCOPY != 0 {
            socket.lent.lend(socket.written);
        }
        done(total)
    }

    /// Returns the connection of a sending socket; `None` if it has to wait for one.
    fn sending(
        &mut self,
        fd: i32,
        flags: i32,
        waits: bool,
        to: Option<SocketAddrV6>,
    ) -> Result<Option<Handle>, Errno> {
        let socket = self.table.entry(fd)?;
        let early = flags & MSG_FASTOPEN != 0;
        socket.config.fast_open |= early;
        let to = to.filter(|_| early).or(socket.deferred);
        match (&socket.kind, to) {
            (Kind::Connection(handle), _) => {
                let handle = *handle;
                // It has requested a cookie, and waits as `connect` does.
                let opening = self.endpoint.state(handle) == Some(State::SynSent);
                match early && opening {
                    true if waits => Ok(None),
                    true => Err(Errno::EALREADY),
                    false => Ok(Some(handle)),
                }
            }
            (Kind::Fresh, Some(to)) => {
                let early = self.has_cookie(fd, to)?;
                let handle = self.begin(fd, to)?;
                match early {
                    true => Ok(Some(handle)),
                    false if waits => Ok(None),
                    false => Err(Errno::EINPROGRESS),
                }
            }
            _ => Err(Errno::EPIPE),
        }
    }

    /// Returns the number of octets that a socket still accepts: limited by its buffer, and by
    /// TCP_NOTSENT_LOWAT for unsent ones.
    pub(super) fn room(&self, handle: Handle, socket: &Socket) -> usize {
        let Some(info) = self.endpoint.info(handle) else { return 0 };
        let limit = match socket.config.send_buffer {
            0 => LARGEST_BUFFER,
            octets => octets,
        };
        let held = socket.held.len();
        if info.bytes_unsent as usize + held >= socket.notsent_lowat as usize {
            return 0;
        }
        let room = self.endpoint.can_send(handle).min(limit);
        room.saturating_sub(info.bytes_queued as usize).saturating_sub(held)
    }

    /// Takes as much of `data` as the socket has space for, a segment at a time, because sent
    /// octets are no longer unsent.
    fn push(
        &mut self,
        fd: i32,
        handle: Handle,
        data: &[u8],
        flags: i32,
    ) -> Result<usize, SendError> {
        // Fails if no octets will be accepted any more.
        self.endpoint.send(handle, &[])?;
        let mut taken = 0;
        loop {
            let Some(socket) = self.table.sockets.get(&fd) else { return Ok(taken) };
            let unlimited = socket.notsent_lowat == u32::MAX;
            let mss = self.endpoint.info(handle).map_or(1, |info| info.mss.max(1) as usize);
            let piece = if unlimited { data.len() } else { mss };
            let count = self.room(handle, socket).min(piece).min(data.len() - taken);
            let Some(socket) = self.table.sockets.get_mut(&fd) else { return Ok(taken) };
            let held = &mut socket.held;
            held.octets.extend(&data[taken..taken + count]);
            taken += count;
            socket.written = socket.written.wrapping_add(u32::try_from(count).unwrap_or(0));
            held.more = flags & MSG_MORE != 0;
            if flags & MSG_EOR != 0 && taken == data.len() {
                held.ends.push_back(held.octets.len());
            }
            self.feed(fd);
            if count == 0 || taken == data.len() {
                return Ok(taken);
            }
            self.drain();
        }
    }

    /// Passes to a connection the octets that its socket need not hold back; `false` if there are
    /// none.
    fn feed(&mut self, fd: i32) -> bool {
        let now = self.now;
        let Some(socket) = self.table.sockets.get_mut(&fd) else { return false };
        let (Kind::Connection(handle), held) = (&socket.kind, &mut socket.held) else {
            return false;
        };
        let Some(info) = self.endpoint.info(*handle) else {
            *held = Held::default();
            return false;
        };
        let unsent = info.bytes_unsent as usize;
        held.fenced &= unsent > 0;
        if held.fenced || held.octets.is_empty() {
            return false;
        }
        let (count, ends) = held.ready(now, info.mss.max(1) as usize, unsent);
        let part = &held.octets.make_contiguous()[..count];
        // An ended connection accepts no octets, and no more will be passed on here.
        let count = self.endpoint.send(*handle, part).unwrap_or(count);
        held.octets.drain(..count);
        held.ends.iter_mut().for_each(|end| *end -= count);
        if ends {
            held.ends.pop_front();
            held.fenced = true;
        }
        held.keep_time(now);
        count > 0
    }

    /// Passes to connections the octets that their sockets need not hold back any more; `false` if
    /// there are none.
    pub(super) fn feed_all(&mut self) -> bool {
        let holding = self.table.sockets.iter().filter(|(_, socket)| socket.held.len() > 0);
        let holding: Vec<i32> = holding.map(|(fd, _)| *fd).collect();
        holding.into_iter().filter(|fd| self.feed(*fd)).count() > 0
    }

    /// Completes the writes with MSG_ZEROCOPY that have been acknowledged.
    pub(super) fn settle_lent(&mut self) {
        for socket in self.table.sockets.values_mut() {
            if let Kind::Connection(handle) = socket.kind {
                let info = self.endpoint.info(handle).filter(|info| info.state != State::Closed);
                socket.lent.settle(info.map(|info| info.bytes_acked));
            }
        }
    }

    /// Passes all held octets to a connection, because it is to be closed.
    pub(super) fn flush(&mut self, handle: Handle, held: &mut Held) {
        // An ended connection accepts no more octets.
        let _ = self.endpoint.send(handle, held.octets.make_contiguous());
        held.octets.clear();
        held.ends.clear();
        held.until = None;
    }
}

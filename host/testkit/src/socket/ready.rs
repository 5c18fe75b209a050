//! `poll` and `epoll`: readiness of descriptors.

use super::descriptors::{Epoll, Kind, Socket, Watch};
use super::{
    Answer, DONE, EPOLL_CTL_ADD, EPOLL_CTL_DEL, EPOLL_CTL_MOD, EPOLLET, EPOLLONESHOT, Errno,
    Outcome, Output, POLLERR, POLLHUP, POLLIN, POLLNVAL, POLLOUT, POLLRDHUP, POLLRDNORM,
    POLLWRNORM, Patience, Stack,
};
use kinglet_tcp::{Handle, State};
use kinglet_time::{Duration, Instant};
use std::collections::BTreeMap;

impl Stack {
    /// Returns the readiness of a descriptor.
    fn readiness(&mut self, fd: i32) -> i32 {
        let waiting = self.has_connection(fd);
        let Some(socket) = self.table.sockets.get(&fd) else { return POLLNVAL };
        match socket.kind {
            Kind::Fresh => POLLOUT | POLLWRNORM | POLLHUP,
            Kind::Listening(_) if waiting => POLLIN | POLLRDNORM,
            Kind::Listening(_) | Kind::Epoll(_) => 0,
            Kind::Connection(handle) => self.readiness_of(handle, socket),
        }
    }

    fn readiness_of(&self, handle: Handle, socket: &Socket) -> i32 {
        let Some(info) = self.endpoint.info(handle) else { return POLLHUP };
        let opening = matches!(info.state, State::SynSent | State::SynReceived);
        let over = matches!(info.state, State::Closed);
        let mut ready = 0;
        let mut add = |events: i32, is: bool| ready |= if is { events } else { 0 };
        let at_end = !opening && self.is_at_end(handle);
        add(POLLIN | POLLRDNORM, at_end || self.endpoint.can_recv(handle) > 0);
        add(POLLRDHUP, at_end);
        // After the end a write does not wait: it fails.
        let writable = self.room(handle, socket) > 0 || over;
        add(POLLOUT | POLLWRNORM, writable && !opening);
        add(POLLHUP, over || info.state == State::TimeWait);
        add(POLLERR, (info.error.is_some() && !socket.reported) || socket.lent.has_news());
        ready
    }

    /// Returns whether a call without a result has timed out.
    fn is_over(&self, patience: &mut Patience) -> bool {
        if let Patience::Timeout(timeout) = *patience {
            let until = match u64::try_from(timeout) {
                Ok(millis) => self.now + Duration::from_millis(millis),
                Err(_) => Instant::from_micros(u64::MAX),
            };
            *patience = Patience::Until(until);
        }
        matches!(*patience, Patience::Until(until) if until <= self.now)
    }

    pub(super) fn poll(&mut self, wanted: &[(i32, i32)], patience: &mut Patience) -> Outcome {
        let always = POLLERR | POLLHUP | POLLNVAL;
        let ready = wanted.iter().map(|(fd, events)| {
            let ready = if *fd < 0 { 0 } else { self.readiness(*fd) & (events | always) };
            (u32::try_from(ready).unwrap_or(0), 0)
        });
        let ready: Vec<(u32, u64)> = ready.collect();
        let count = ready.iter().filter(|(events, _)| *events != 0).count();
        if count == 0 && !self.is_over(patience) {
            return Ok(None);
        }
        let result = Ok(i64::try_from(count).unwrap_or(i64::MAX));
        Ok(Some(Answer { result, output: Output::Events(ready) }))
    }

    fn watched(&mut self, epoll: i32) -> Result<&mut BTreeMap<i32, Watch>, Errno> {
        match &mut self.table.entry(epoll)?.kind {
            Kind::Epoll(Epoll(watched)) => Ok(watched),
            _ => Err(Errno::EINVAL),
        }
    }

    pub(super) fn epoll_control(
        &mut self,
        epoll: i32,
        operation: i32,
        fd: i32,
        events: u32,
        data: u64,
    ) -> Outcome {
        self.table.entry(fd)?;
        let watched = self.watched(epoll)?;
        let watch = Watch { events, data, reported: 0, received: 0 };
        match (operation, watched.contains_key(&fd)) {
            (EPOLL_CTL_ADD, true) => return Err(Errno::EEXIST),
            (EPOLL_CTL_MOD | EPOLL_CTL_DEL, false) => return Err(Errno::ENOENT),
            (EPOLL_CTL_ADD | EPOLL_CTL_MOD, _) => drop(watched.insert(fd, watch)),
            (EPOLL_CTL_DEL, true) => drop(watched.remove(&fd)),
            _ => return Err(Errno::EINVAL),
        }
        DONE
    }

    /// Returns edges of events that were ready before (epoll(7)): data received after the first
    /// `received` octets, and space after a write that found too little; and the number of octets
    /// received so far.
    fn repeated_edges(&mut self, fd: i32, received: u32) -> (i32, u32) {
        let now = self.info(Some(fd)).map_or(0, |info| info.bytes_received);
        let Some(socket) = self.table.sockets.get_mut(&fd) else { return (0, now) };
        let text = if now != received { POLLIN | POLLRDNORM } else { 0 };
        let room = if socket.starved { POLLOUT | POLLWRNORM } else { 0 };
        (text | room, now)
    }

    pub(super) fn epoll_wait(
        &mut self,
        epoll: i32,
        most: usize,
        patience: &mut Patience,
    ) -> Outcome {
        if most == 0 {
            return Err(Errno::EINVAL);
        }
        let watched = self.watched(epoll)?.clone();
        let mut found = Vec::new();
        for (fd, mut watch) in watched {
            let ready = self.readiness(fd);
            let edge = watch.events & EPOLLET.cast_unsigned() != 0;
            let (again, received) = self.repeated_edges(fd, watch.received);
            let fresh = if edge { ready & (!watch.reported | again) } else { ready };
            let always = (POLLERR | POLLHUP).cast_unsigned();
            let events = ready.cast_unsigned() & (watch.events | always);
            let report = fresh.cast_unsigned() & (watch.events | always) != 0 && found.len() < most;
            if report
                && ready & POLLOUT != 0
                && let Some(socket) = self.table.sockets.get_mut(&fd)
            {
                socket.starved = false;
            }
            if report && ready != POLLNVAL {
                found.push((events, watch.data));
                if watch.events & EPOLLONESHOT.cast_unsigned() != 0 {
                    watch.events = 0;
                }
            }
            watch.reported = if report { ready } else { watch.reported & ready };
            watch.received = received;
            self.watched(epoll)?.insert(fd, watch);
        }
        if found.is_empty() && !self.is_over(patience) {
            return Ok(None);
        }
        let result = Ok(i64::try_from(found.len()).unwrap_or(i64::MAX));
        Ok(Some(Answer { result, output: Output::Events(found) }))
    }
}

//! The bridge loop: a network in virtual time on one side, TUN devices in real time on the other.
//!
//! Virtual time follows the wall clock one to one. The loop sleeps until the network's next event,
//! a packet from the host, the next report, or the signal to stop, whichever comes first. If the
//! machine is too slow for the network, the loop stays responsive and the lag is reported instead
//! of hidden.

use crate::tun::LONGEST;
use core::future::Future;
use kinglet_time::{Duration, Instant};
use serde::Serialize;
use std::io;
use std::time::Duration as WallDuration;
use tokio::time::Instant as WallInstant;

/// Virtual time between two looks for packets to the host; a fraction of the air time of a frame
/// (4 ms), so that even a network that catches up cannot overflow its host queue in between.
const SLICE: Duration = Duration::from_millis(1);
/// Longest time spent catching up before signals, packets and reports get their turn.
const BUDGET: WallDuration = WallDuration::from_millis(50);

/// Where a network meets a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// At its border router.
    Border,
    /// At the far end of a tunnel.
    Far,
}

/// What the bridge needs of a network: time that can be driven, and ends at which hosts are.
#[allow(async_fn_in_trait, reason = "the bridge runs on one thread")]
pub trait Network {
    /// The present.
    fn now(&self) -> Instant;
    /// Runs every event up to `until`, which becomes the present.
    fn run_until(&mut self, until: Instant);
    /// When the next event is due; pure.
    fn next_event(&self) -> Option<Instant>;
    /// Whether it takes an IPv6 packet from the host at `end` now; if not, an event will come after
    /// which it may; pure.
    fn takes(&self, end: End) -> bool;
    /// An IPv6 packet from the host at `end`, which the network takes.
    fn handle_host_packet(&mut self, end: End, packet: &[u8]);
    /// The next IPv6 packet for the host at `end`.
    fn poll_host_packet(&mut self, end: End, buf: &mut [u8]) -> Option<usize>;
    /// Exchanges what has come and what waits with motes outside of the simulation, if there are
    /// any, at the present; never waits.
    ///
    /// # Errors
    /// A mote is gone.
    fn exchange(&mut self) -> io::Result<()>;
    /// Waits until such a mote has something to say. Nothing is lost if the future is dropped.
    async fn outside(&self);
}

/// What the bridge needs of the host: a place to take packets from and to give packets to.
#[allow(async_fn_in_trait, reason = "the bridge runs on one thread")]
pub trait HostLink {
    /// Waits for a packet from the host and writes it to `buf`. Nothing is lost if the future is
    /// dropped before it is ready.
    ///
    /// # Errors
    /// The link is broken.
    async fn recv(&self, buf: &mut [u8]) -> io::Result<usize>;
    /// Gives a packet to the host.
    ///
    /// # Errors
    /// The host does not take this packet.
    async fn send(&self, packet: &[u8]) -> io::Result<()>;
}

impl HostLink for tun_rs::AsyncDevice {
    async fn recv(&self, buf: &mut [u8]) -> io::Result<usize> {
        tun_rs::AsyncDevice::recv(self, buf).await
    }

    async fn send(&self, packet: &[u8]) -> io::Result<()> {
        // A device that is down is never ready, and must not be waited for.
        self.try_send(packet).map(|_| ())
    }
}

/// The hosts of a network.
#[derive(Debug)]
pub struct Hosts<'a, L> {
    /// The one at the border router.
    pub border: &'a L,
    /// The one at the far end of a tunnel, if there is one.
    pub far: Option<&'a L>,
}

impl<'a, L: HostLink> Hosts<'a, L> {
    /// Only one, at the border router.
    pub const fn one(border: &'a L) -> Self {
        Hosts { border, far: None }
    }

    fn each(&self) -> impl Iterator<Item = (End, &'a L)> {
        let far = self.far.map(|far| (End::Far, far));
        [(End::Border, self.border)].into_iter().chain(far)
    }
}

/// What crossed the bridge so far, of all hosts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct BridgeStats {
    /// Packets from hosts into the network.
    pub packets_in: u64,
    /// Their octets.
    pub octets_in: u64,
    /// Packets from the network to hosts.
    pub packets_out: u64,
    /// Their octets.
    pub octets_out: u64,
    /// Packets that a host did not take.
    pub refused: u64,
    /// How far virtual time is behind real time now, in milliseconds.
    pub lag_ms: u64,
    /// The largest lag so far, in milliseconds.
    pub lag_ms_max: u64,
}

/// Someone who looks at the bridge from time to time.
pub trait Observer<N: Network> {
    /// Called once per report interval.
    fn report(&mut self, network: &mut N, stats: &BridgeStats);
}

/// Bridges until `stop` is ready or a link breaks.
///
/// # Errors
/// The error of a link's `recv`, or of [`Network::exchange`].
pub async fn run<N: Network>(
    network: &mut N,
    hosts: &Hosts<'_, impl HostLink>,
    report_every: WallDuration,
    observer: &mut impl Observer<N>,
    stop: impl Future<Output = ()>,
) -> io::Result<BridgeStats> {
    let clock = Clock { start: WallInstant::now(), offset: network.now() };
    let mut stats = BridgeStats::default();
    let mut bufs = [[0u8; LONGEST]; 2];
    let mut reports = tokio::time::interval(report_every);
    reports.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    tokio::pin!(stop);
    loop {
        advance(network, hosts, &clock, &mut stats).await?;
        // A network that is behind is never waited for below, and only waiting lets the runtime see
        // signals, packets and its clock.
        tokio::task::yield_now().await;
        let wake = network.next_event().map(|at| clock.wall(at));
        tokio::select! {
            biased;
            () = &mut stop => {
                // An idle network has stood still since its last event.
                advance(network, hosts, &clock, &mut stats).await?;
                return Ok(stats);
            }
            _ = reports.tick() => {
                advance(network, hosts, &clock, &mut stats).await?;
                observer.report(network, &stats);
            }
            received = receive(network, hosts, &mut bufs) => {
                let (end, len) = received?;
                stats.packets_in += 1;
                stats.octets_in += len as u64;
                // The packet arrives now, not at the event before.
                advance(network, hosts, &clock, &mut stats).await?;
                let packet = bufs[end as usize].get(..len).unwrap_or_default();
                network.handle_host_packet(end, packet);
            }
            () = network.outside() => {}
            () = sleep_until(wake) => {}
        }
    }
}

/// Waits for a packet of a host from which the network takes one: whose it is, and its length.
async fn receive(
    network: &impl Network,
    hosts: &Hosts<'_, impl HostLink>,
    [border, far]: &mut [[u8; LONGEST]; 2],
) -> io::Result<(End, usize)> {
    let far_host = hosts.far.filter(|_| network.takes(End::Far));
    let far = async {
        match far_host {
            Some(host) => host.recv(far).await,
            None => std::future::pending().await,
        }
    };
    // Whoever sends without a pause must not keep the other one waiting: not biased.
    tokio::select! {
        received = hosts.border.recv(border), if network.takes(End::Border) => {
            Ok((End::Border, received?))
        }
        received = far => Ok((End::Far, received.map_err(|error| gone(&error))?)),
    }
}

/// What to say of a far device that breaks: unlike the other one it is in somebody else's hands.
fn gone(error: &io::Error) -> io::Error {
    let what = "the TUN device at the far end is gone, as it is when its network namespace is \
                deleted";
    io::Error::new(error.kind(), format!("{what}: {error}"))
}

/// Runs the network up to the present, or as far as the budget allows.
async fn advance(
    network: &mut impl Network,
    hosts: &Hosts<'_, impl HostLink>,
    clock: &Clock,
    stats: &mut BridgeStats,
) -> io::Result<()> {
    let began = std::time::Instant::now();
    let target = clock.virtual_now();
    forward_to_hosts(network, hosts, stats).await;
    while network.now() < target && began.elapsed() < BUDGET {
        let busy = network.next_event().unwrap_or(target).max(network.now() + SLICE);
        network.run_until(busy.min(target));
        network.exchange()?;
        forward_to_hosts(network, hosts, stats).await;
    }
    network.exchange()?;
    stats.lag_ms = (clock.virtual_now() - network.now()).as_millis();
    stats.lag_ms_max = stats.lag_ms_max.max(stats.lag_ms);
    Ok(())
}

async fn forward_to_hosts(
    network: &mut impl Network,
    hosts: &Hosts<'_, impl HostLink>,
    stats: &mut BridgeStats,
) {
    let mut buf = [0u8; LONGEST];
    for (end, host) in hosts.each() {
        while let Some(len) = network.poll_host_packet(end, &mut buf) {
            // A refused packet is a lost packet: TCP on both ends copes, and the count says it
            // happened.
            match host.send(buf.get(..len).unwrap_or_default()).await {
                Ok(()) => {
                    stats.packets_out += 1;
                    stats.octets_out += len as u64;
                }
                Err(_) => stats.refused += 1,
            }
        }
    }
}

/// The relation of the two times.
struct Clock {
    start: WallInstant,
    /// Virtual time at `start`.
    offset: Instant,
}

impl Clock {
    fn virtual_now(&self) -> Instant {
        let micros = u64::try_from(self.start.elapsed().as_micros()).unwrap_or(u64::MAX);
        self.offset + Duration::from_micros(micros)
    }

    fn wall(&self, at: Instant) -> WallInstant {
        self.start + WallDuration::from_micros((at - self.offset).as_micros())
    }
}

async fn sleep_until(wake: Option<WallInstant>) {
    match wake {
        Some(at) => tokio::time::sleep_until(at).await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests;

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

/// Virtual time between two checks for packets to the host; a fraction of the air time of a frame
/// (4 ms), so that even a network that catches up cannot overflow its host queue in between.
const SLICE: Duration = Duration::from_millis(1);
/// Longest time spent catching up before signals, packets and reports get their turn.
const BUDGET: WallDuration = WallDuration::from_millis(50);

/// An end of a network at which a host is connected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// At its border router.
    Border,
    /// At the far end of a tunnel.
    Far,
}

/// The network as the bridge needs it: a controllable time, and ends with hosts.
#[allow(async_fn_in_trait, reason = "the bridge runs on one thread")]
pub trait Network {
    /// Returns the present virtual time.
    fn now(&self) -> Instant;
    /// Runs every event up to `until`, which becomes the present.
    fn run_until(&mut self, until: Instant);
    /// Returns the time of the next event, without side effects.
    fn next_event(&self) -> Option<Instant>;
    /// Returns whether it accepts an IPv6 packet from the host at `end` now, without side effects;
    /// if not, an event will come after which it may.
    fn takes(&self, end: End) -> bool;
    /// Handles an IPv6 packet from the host at `end`, which the network accepts.
    fn handle_host_packet(&mut self, end: End, packet: &[u8]);
    /// Returns the next IPv6 packet for the host at `end`.
    fn poll_host_packet(&mut self, end: End, buf: &mut [u8]) -> Option<usize>;
    /// Exchanges all received and waiting data with motes outside the simulation, if there are any;
    /// never waits.
    ///
    /// # Errors
    /// The connection to a mote is lost.
    fn exchange(&mut self) -> io::Result<()>;
    /// Waits for data from such a mote. Nothing is lost if the future is dropped.
    async fn outside(&self);
}

/// The host as the bridge needs it: a source and a destination of packets.
#[allow(async_fn_in_trait, reason = "the bridge runs on one thread")]
pub trait HostLink {
    /// Waits for a packet from the host and writes it to `buf`. Nothing is lost if the future is
    /// dropped before it is ready.
    ///
    /// # Errors
    /// The link has failed.
    async fn recv(&self, buf: &mut [u8]) -> io::Result<usize>;
    /// Passes a packet to the host.
    ///
    /// # Errors
    /// The host does not accept this packet.
    async fn send(&self, packet: &[u8]) -> io::Result<()>;
}

impl HostLink for tun_rs::AsyncDevice {
    async fn recv(&self, buf: &mut [u8]) -> io::Result<usize> {
        tun_rs::AsyncDevice::recv(self, buf).await
    }

    async fn send(&self, packet: &[u8]) -> io::Result<()> {
        // A device that is down is never ready, so the bridge must not wait for it.
        self.try_send(packet).map(|_| ())
    }
}

/// The hosts of a network.
#[derive(Debug)]
pub struct Hosts<'a, L> {
    /// The host at the border router.
    pub border: &'a L,
    /// The host at the far end of a tunnel, if there is one.
    pub far: Option<&'a L>,
}

impl<'a, L: HostLink> Hosts<'a, L> {
    /// Returns a single host, at the border router.
    pub const fn one(border: &'a L) -> Self {
        Hosts { border, far: None }
    }

    fn each(&self) -> impl Iterator<Item = (End, &'a L)> {
        let far = self.far.map(|far| (End::Far, far));
        [(End::Border, self.border)].into_iter().chain(far)
    }
}

/// Counters of the bridge, over all hosts.
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
    /// Packets that a host did not accept.
    pub refused: u64,
    /// Present lag of virtual time behind real time, in milliseconds.
    pub lag_ms: u64,
    /// Largest lag so far, in milliseconds.
    pub lag_ms_max: u64,
}

/// A periodic observer of the bridge.
pub trait Observer<N: Network> {
    /// Called once per report interval.
    fn report(&mut self, network: &mut N, stats: &BridgeStats);
}

/// Runs the bridge until `stop` is ready or a link fails.
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
        // The bridge never waits below for a network that is behind, and the runtime handles
        // signals, packets and its clock only while it waits.
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
                // The packet arrives now, not at the previous event.
                advance(network, hosts, &clock, &mut stats).await?;
                let packet = bufs[end as usize].get(..len).unwrap_or_default();
                network.handle_host_packet(end, packet);
            }
            () = network.outside() => {}
            () = sleep_until(wake) => {}
        }
    }
}

/// Waits for a packet of a host from which the network accepts one. Returns the host's end and the
/// length.
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
    // Not biased: a host that sends without a pause must not block the other one.
    tokio::select! {
        received = hosts.border.recv(border), if network.takes(End::Border) => {
            Ok((End::Border, received?))
        }
        received = far => Ok((End::Far, received.map_err(|error| gone(&error))?)),
    }
}

/// Returns the error for a far device that fails: unlike the other one it is under the user's
/// control.
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
            // A refused packet is lost: TCP on both ends recovers, and a counter reports it.
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

/// The relation of virtual and real time.
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

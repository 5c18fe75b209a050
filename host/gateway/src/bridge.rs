//! The bridge loop: a network in virtual time on one side, a TUN device in real time on the other.
//!
//! Virtual time follows the wall clock one to one. The loop sleeps until the network's next event,
//! a packet from the host, the next report, or Ctrl-C, whichever comes first. If the machine is too
//! slow for the network the lag is reported instead of hidden.

use std::io;
use std::time::{Duration as WallDuration, Instant as WallInstant};

use kinglet_time::Instant;
use tun_rs::AsyncDevice;

use crate::tun::MTU;

/// What the bridge needs of a network: time that can be driven, and a border router.
pub trait Network {
    /// Runs every event up to `now`.
    fn run_until(&mut self, now: Instant);
    /// When the next event is due; pure.
    fn next_event(&self) -> Option<Instant>;
    /// An IPv6 packet from the host for the border router.
    fn handle_host_packet(&mut self, packet: &[u8]);
    /// The next IPv6 packet from the border router for the host.
    fn poll_host_packet(&mut self, buf: &mut [u8]) -> Option<usize>;
}

/// What crossed the bridge so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BridgeStats {
    /// Packets from the host into the network.
    pub packets_in: u64,
    /// Their octets.
    pub octets_in: u64,
    /// Packets from the network to the host.
    pub packets_out: u64,
    /// Their octets.
    pub octets_out: u64,
    /// Packets that the kernel did not take.
    pub refused: u64,
    /// The largest lag of virtual behind real time, in milliseconds.
    pub lag_ms_max: u64,
}

/// Called once per report interval with the state of things.
pub trait Observer<N: Network> {
    /// Shows `network` and `stats` at virtual time `now`.
    fn report(&mut self, now: Instant, network: &N, stats: &BridgeStats);
}

/// Bridges until Ctrl-C or a TUN error.
///
/// # Errors
/// An I/O error of the TUN device or of installing the signal handler.
pub async fn run<N: Network>(
    network: &mut N,
    tun: &AsyncDevice,
    report_every: WallDuration,
    observer: &mut impl Observer<N>,
) -> io::Result<BridgeStats> {
    let start = WallInstant::now();
    let mut stats = BridgeStats::default();
    let mut buf = [0u8; MTU as usize];
    let mut reports = tokio::time::interval(report_every);
    let interrupt = tokio::signal::ctrl_c();
    tokio::pin!(interrupt);
    loop {
        let now = virtual_now(start);
        network.run_until(now);
        forward_to_host(network, tun, &mut buf, &mut stats).await;
        let lag = virtual_now(start) - now;
        stats.lag_ms_max = stats.lag_ms_max.max(lag.as_millis());

        let wake = network.next_event().map(|at| start + WallDuration::from_micros(at.as_micros()));
        tokio::select! {
            biased;
            done = &mut interrupt => return done.map(|()| stats),
            received = tun.recv(&mut buf) => {
                let len = received?;
                stats.packets_in += 1;
                stats.octets_in += len as u64;
                network.run_until(virtual_now(start));
                network.handle_host_packet(&buf[..len]);
            }
            () = sleep_until(wake) => {}
            _ = reports.tick() => observer.report(now, network, &stats),
        }
    }
}

fn virtual_now(start: WallInstant) -> Instant {
    Instant::from_micros(u64::try_from(start.elapsed().as_micros()).unwrap_or(u64::MAX))
}

async fn sleep_until(wake: Option<WallInstant>) {
    match wake {
        Some(at) => tokio::time::sleep_until(at.into()).await,
        None => std::future::pending().await,
    }
}

async fn forward_to_host<N: Network>(
    network: &mut N,
    tun: &AsyncDevice,
    buf: &mut [u8],
    stats: &mut BridgeStats,
) {
    while let Some(len) = network.poll_host_packet(buf) {
        // A refused packet is a lost packet: TCP on both ends copes, and the count says it happened.
        match tun.send(&buf[..len]).await {
            Ok(_) => {
                stats.packets_out += 1;
                stats.octets_out += len as u64;
            }
            Err(_) => stats.refused += 1,
        }
    }
}

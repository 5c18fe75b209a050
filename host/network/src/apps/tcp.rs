//! TCP of an application: its node's own TCP, or that of a peer stack.

use core::any::Any;
use kinglet::tcp::{ConnectionConfig, ConnectionError, Counters, Handle, Info, ListenConfig};
use kinglet::tcp::{RecvError, Repair, SendError, State};
use kinglet::time::{Duration, Expected, Instant};
use kinglet::{Each, Node, Profile};
use kinglet_apps::{Peer, Sockets, StreamApp};
use kinglet_peers::{self as peers, Failure, Quirks, Settings, Stack};
use kinglet_sim::Hosted;

/// TCP of another stack.
#[derive(Clone, Copy, Debug)]
pub struct Foreign {
    /// Name of the stack.
    pub stack: Stack,
    /// Variations of its behaviour.
    pub quirks: Quirks,
    /// Phase of its periodic timer within half a second.
    pub phase: Duration,
    /// Octets of the records that the application writes: BLIP takes a record as a whole or not at
    /// all. 1 for a stream without records.
    pub record: usize,
}

impl Foreign {
    /// A stack whose timer has phase 0, for a stream.
    pub const fn new(stack: Stack, quirks: Quirks) -> Self {
        Foreign { stack, quirks, phase: Duration::ZERO, record: 1 }
    }

    /// Octets that an application can write if there is room for `room`.
    const fn whole_records(self, room: usize) -> usize {
        match self.stack {
            Stack::Blip => room - room % self.record,
            _ => room,
        }
    }
}

/// Sockets of an application.
pub enum Tcp<'a, P: Profile> {
    /// Sockets of its node.
    Own(&'a mut Node<P>),
    /// Sockets of a peer stack, attached to the node's host interface.
    Peer(&'a mut peers::Host, Foreign),
}

/// A connection of either kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Socket {
    /// Connection of the node.
    Own(Handle),
    /// Connection of a peer stack.
    Peer(peers::Handle),
}

/// An application over either kind of sockets, as a trait object.
pub trait Speaker<P: Profile>: Send {
    /// [`StreamApp::step`]
    fn step(&mut self, now: Instant, tcp: &mut Tcp<'_, P>) -> bool;

    /// [`StreamApp::due`]
    fn due(&self) -> Option<Instant>;

    /// The application itself, for downcasts.
    fn as_any(&self) -> &dyn Any;
}

impl<P: Profile, A: StreamApp<Socket> + Any + Send> Speaker<P> for A {
    fn step(&mut self, now: Instant, tcp: &mut Tcp<'_, P>) -> bool {
        StreamApp::step(self, now, tcp)
    }

    fn due(&self) -> Option<Instant> {
        StreamApp::due(self)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// An application written for either kind of sockets, over those of its node.
pub struct OnOwn<A>(pub A);

impl<P: Profile, A: StreamApp<Socket> + Any + Send> Hosted<P> for OnOwn<A> {
    fn poll(&mut self, now: Instant, node: &mut Node<P>) -> bool {
        self.0.step(now, &mut Tcp::Own(node))
    }

    fn deadline(&self) -> Option<Instant> {
        self.0.due()
    }

    fn expected(&self, now: Instant) -> Option<Expected> {
        self.0.awaited(now)
    }

    fn messages(&self) -> (u32, u32) {
        (0, 0)
    }

    fn reasons(&self, each: &mut Each<'_>) {
        self.0.losses(each);
    }

    fn as_any(&self) -> &dyn Any {
        &self.0
    }
}

impl<P: Profile> Sockets for Tcp<'_, P> {
    type Handle = Socket;

    fn connect(&mut self, now: Instant, to: Peer, config: ConnectionConfig) -> Option<Socket> {
        match self {
            Tcp::Own(node) => Sockets::connect(*node, now, to, config).map(Socket::Own),
            Tcp::Peer(host, foreign) => {
                let settings = settings(*foreign, &config);
                Some(Socket::Peer(host.connect(now, to.0, to.1, settings)))
            }
        }
    }

    fn listen(&mut self, port: u16, config: ListenConfig) -> bool {
        match self {
            Tcp::Own(node) => Sockets::listen(*node, port, config),
            Tcp::Peer(host, foreign) => {
                host.listen(port, settings(*foreign, &config.connection));
                true
            }
        }
    }

    fn accept(&mut self, port: u16) -> Option<Socket> {
        match self {
            Tcp::Own(node) => Sockets::accept(*node, port).map(Socket::Own),
            Tcp::Peer(host, _) => host.accept(port).map(Socket::Peer),
        }
    }

    fn is_wanted(&self, port: u16) -> bool {
        match self {
            Tcp::Own(node) => Sockets::is_wanted(*node, port),
            Tcp::Peer(..) => false,
        }
    }

    fn is_held_back(&self, socket: Socket) -> bool {
        match (self, socket) {
            (Tcp::Own(node), Socket::Own(handle)) => Sockets::is_held_back(*node, handle),
            _ => false,
        }
    }

    fn has_queued(&self, socket: Socket) -> bool {
        match (self, socket) {
            (Tcp::Own(node), Socket::Own(handle)) => Sockets::has_queued(*node, handle),
            (Tcp::Peer(host, _), Socket::Peer(handle)) => host.info(handle).queued > 0,
            _ => false,
        }
    }

    fn state(&self, socket: Socket) -> Option<State> {
        match (self, socket) {
            (Tcp::Own(node), Socket::Own(handle)) => Sockets::state(*node, handle),
            (Tcp::Peer(host, _), Socket::Peer(handle)) => Some(state(host.info(handle).state)),
            _ => None,
        }
    }

    fn info(&self, socket: Socket) -> Option<Info> {
        match (self, socket) {
            (Tcp::Own(node), Socket::Own(handle)) => Sockets::info(*node, handle),
            (Tcp::Peer(host, _), Socket::Peer(handle)) => Some(info(&host.info(handle))),
            _ => None,
        }
    }

    fn can_send(&self, socket: Socket) -> usize {
        match (self, socket) {
            (Tcp::Own(node), Socket::Own(handle)) => Sockets::can_send(*node, handle),
            (Tcp::Peer(host, foreign), Socket::Peer(handle)) => {
                foreign.whole_records(host.can_send(handle))
            }
            _ => 0,
        }
    }

    fn send(&mut self, socket: Socket, octets: &[u8]) -> Result<usize, SendError> {
        match (self, socket) {
            (Tcp::Own(node), Socket::Own(handle)) => Sockets::send(*node, handle, octets),
            (Tcp::Peer(host, _), Socket::Peer(handle)) => match host.info(handle).failure {
                Some(failure) => Err(SendError::Ended(error(failure))),
                None => Ok(host.send(handle, octets)),
            },
            _ => Err(SendError::InvalidHandle),
        }
    }

    fn peek(&self, socket: Socket, out: &mut [u8]) -> Result<usize, RecvError> {
        match (self, socket) {
            (Tcp::Own(node), Socket::Own(handle)) => Sockets::peek(*node, handle, out),
            (Tcp::Peer(host, _), Socket::Peer(handle)) => {
                received(host.peek(handle, out), host, handle)
            }
            _ => Err(RecvError::InvalidHandle),
        }
    }

    fn recv(&mut self, socket: Socket, out: &mut [u8]) -> Result<usize, RecvError> {
        match (self, socket) {
            (Tcp::Own(node), Socket::Own(handle)) => Sockets::recv(*node, handle, out),
            (Tcp::Peer(host, _), Socket::Peer(handle)) => {
                received(host.recv(handle, out), host, handle)
            }
            _ => Err(RecvError::InvalidHandle),
        }
    }

    fn close(&mut self, socket: Socket) {
        match (self, socket) {
            (Tcp::Own(node), Socket::Own(handle)) => Sockets::close(*node, handle),
            (Tcp::Peer(host, _), Socket::Peer(handle)) => host.close(handle),
            _ => {}
        }
    }

    /// A peer stack has no linger timeout: it sends the queued data and a FIN.
    fn release(&mut self, now: Instant, socket: Socket, linger: Option<Duration>) {
        match (self, socket) {
            (Tcp::Own(node), Socket::Own(handle)) => Sockets::release(*node, now, handle, linger),
            (Tcp::Peer(host, _), Socket::Peer(handle)) => host.release(handle),
            _ => {}
        }
    }
}

/// Result of a read from a peer stack, in Kinglet's form.
fn received(
    found: Option<usize>,
    host: &peers::Host,
    handle: peers::Handle,
) -> Result<usize, RecvError> {
    match (found, host.info(handle).failure) {
        (None, _) => Err(RecvError::WouldBlock),
        (Some(0), Some(failure)) => Err(RecvError::Ended(error(failure))),
        (Some(len), _) => Ok(len),
    }
}

/// Settings of a peer stack that correspond to Kinglet's `config`: sizes and requested options. All
/// others are the stack's own, except that delayed acknowledgements can be disabled.
fn settings(foreign: Foreign, config: &ConnectionConfig) -> Settings {
    let (send, receive) = (config.send_buffer as u32, config.receive_buffer as u32);
    // Zero stands for the maximum.
    let whole = |size| if size == 0 { u32::from(u16::MAX) } else { size };
    let Foreign { stack, quirks, phase, .. } = foreign;
    let settings = Settings::new(stack, config.mss, whole(send), whole(receive));
    let never_delays = config.ack_every == 1 || config.delayed_ack == Duration::ZERO;
    Settings {
        timestamps: settings.timestamps && config.timestamps,
        sack: settings.sack && config.sack,
        ecn: config.ecn,
        never_delays,
        quirks,
        phase,
        ..settings
    }
}

const fn error(failure: Failure) -> ConnectionError {
    match failure {
        Failure::Refused => ConnectionError::Refused,
        Failure::Reset => ConnectionError::Reset,
        Failure::TimedOut => ConnectionError::TimedOut,
        Failure::Unreachable => ConnectionError::Unreachable,
    }
}

const fn state(state: peers::State) -> State {
    match state {
        peers::State::Closed => State::Closed,
        peers::State::SynSent => State::SynSent,
        peers::State::SynReceived => State::SynReceived,
        peers::State::Established => State::Established,
        peers::State::FinWait1 => State::FinWait1,
        peers::State::FinWait2 => State::FinWait2,
        peers::State::CloseWait => State::CloseWait,
        peers::State::LastAck => State::LastAck,
        peers::State::TimeWait => State::TimeWait,
    }
}

/// State of a peer's connection in Kinglet's form; values that the peer lacks are zero.
fn info(of: &peers::Info) -> Info {
    let c = &of.counters;
    Info {
        state: state(of.state),
        error: of.failure.map(error),
        soft_error: None,
        fast_open: false,
        cwnd: of.cwnd,
        ssthresh: of.ssthresh,
        srtt: of.srtt,
        rttvar: Duration::ZERO,
        rto: of.rto,
        last_rtt: of.last_rtt,
        snd_wnd: of.snd_wnd,
        rcv_wnd: 0,
        mss: of.mss,
        mss_limit: of.mss as u16,
        rcv_mss: 0,
        timestamps: of.timestamps,
        sack: of.sack,
        snd_scale: 0,
        rcv_scale: 0,
        backoff: 0,
        retransmits: 0,
        keepalive_probes: 0,
        retransmitted_share: 0,
        ecn: of.ecn,
        bytes_in_flight: of.in_flight,
        bytes_sacked: of.sacked,
        bytes_lost: 0,
        bytes_retransmitted: 0,
        repair: match of.repair {
            peers::Repair::None => Repair::None,
            peers::Repair::Fast => Repair::Fast,
            peers::Repair::Timeout => Repair::Timeout,
        },
        bytes_queued: of.queued,
        bytes_unsent: of.queued.saturating_sub(of.in_flight),
        bytes_readable: 0,
        receive_buffer: 0,
        last_sent: Instant::ZERO,
        last_progress: Instant::ZERO,
        bytes_acked: of.bytes_acked,
        bytes_received: of.bytes_received,
        counters: Counters {
            segments_sent: c.segments_sent,
            segments_received: c.segments_received,
            fast_retransmits: c.fast_retransmits as u16,
            timeout_retransmits: c.timeout_retransmits as u16,
            fast_recoveries: c.fast_recoveries as u16,
            timeouts: c.timeouts as u16,
            dup_acks: c.dup_acks as u16,
            probes: c.probes as u16,
            undone: c.undone as u16,
            marks: c.marks as u16,
        },
    }
}

//! A Kinglet node as a process: its radio is [ZEP](crate::air), its clock the system's, and its
//! console the standard input.

use crate::air::{Ends, Heard};
use crate::bell::{Bell, Ringer};
use crate::console::{Command, HELP, Report};
use crate::device::{Change, Device, DeviceError, Watch};
use crate::key::{self, KeyError};
use crate::layers::{self, Full};
use crate::link::Link;
use crate::profile::Process;
use crate::reasons;
use crate::reload::{self, Reload, Reloaded};
use crate::reports::{self, known_rank};
use crate::settings::Settings;
use crate::state::{State, StateError};
use crate::tasks::{self, Ping, Send, Talk, Task};
use core::net::{Ipv6Addr, SocketAddr};
use kinglet::Node;
use kinglet::net::UdpHandle;
use kinglet::radio::{Driver, Filter, Key};
use kinglet::rpl::{Info, Role, Sequence};
use kinglet::tcp::{ConnectionConfig, Handle, ListenConfig};
use kinglet_apps::service::{Echo, Server, Service, Sink, Sizes, Source};
use kinglet_apps::{App, Page, Place, SnakeCase, http, udp};
use kinglet_sim::trace::Losses;
use kinglet_time::{Duration, Instant, earliest};
use std::fmt;
use std::io::{self, BufRead};
use std::path::Path;
use std::thread;

/// The page of its web server.
const PAGE: Page = Page(
    b"<!doctype html><title>Kinglet node</title><h1>Kinglet node</h1>\
    <p>This page comes from a node with a radio of its own.</p>\n",
);
const WEB_PORT: u16 = 80;

/// Number of simultaneous connections of each service.
pub(crate) struct Services;

impl http::Sizes for Services {
    type Line = [u8; 96];
    type Connections<C> = [Place<C>; 3];
}

impl Sizes for Services {
    type Connections<C> = [Place<C>; 3];
}

/// Reason for which a node has ended early.
#[derive(Debug)]
pub enum MoteError {
    /// More addresses, routes, neighbours or contexts than fit into a table.
    Full(&'static str),
    /// The key cannot be read, or may not be used.
    Key(KeyError),
    /// The directory of the state is unusable.
    State(StateError),
    /// There is a key, and no directory that keeps the frame counters.
    NoState,
    /// The radio.
    Radio(DeviceError),
    /// The socket or a thread.
    Io(io::Error),
}

impl fmt::Display for MoteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MoteError::Full(what) => write!(f, "too many {what} for the capacity of a node"),
            MoteError::Key(error) => error.fmt(f),
            MoteError::State(error) => error.fmt(f),
            MoteError::NoState => f.write_str(
                "link security needs a directory that keeps the frame counters over restarts: \
                 give it with --state DIR",
            ),
            MoteError::Radio(error) => write!(f, "the radio: {error}"),
            MoteError::Io(error) => write!(f, "the air: {error}"),
        }
    }
}

impl std::error::Error for MoteError {}

impl From<Full> for MoteError {
    fn from(Full(what): Full) -> Self {
        MoteError::Full(what)
    }
}

impl From<KeyError> for MoteError {
    fn from(error: KeyError) -> Self {
        MoteError::Key(error)
    }
}

impl From<StateError> for MoteError {
    fn from(error: StateError) -> Self {
        MoteError::State(error)
    }
}

impl From<DeviceError> for MoteError {
    fn from(error: DeviceError) -> Self {
        MoteError::Radio(error)
    }
}

impl From<io::Error> for MoteError {
    fn from(error: io::Error) -> Self {
        MoteError::Io(error)
    }
}

/// Event that wakes the loop.
enum Wake {
    Air(Heard),
    Line(String),
    Reload,
    End,
}

/// Controls the loop from another thread.
#[derive(Clone)]
pub struct Control(Ringer<Wake>);

impl Control {
    /// Has the settings read again, if they come from a file ([`Mote::reads_again`]).
    pub fn reload(&self) {
        // If the receiver is gone, the loop has ended.
        let _ = self.0.ring(Wake::Reload);
    }

    /// Ends the loop.
    pub fn end(&self) {
        // If the receiver is gone, the loop has ended.
        let _ = self.0.ring(Wake::End);
    }
}

/// A node, ready to run.
pub struct Mote {
    node: Box<Node<Process>>,
    radio: Device,
    watch: Watch,
    clock: Clock,
    bell: Bell<Wake>,
    apps: Apps,
    tasks: Vec<Task>,
    pings: u16,
    /// The socket of the console's datagrams.
    udp: Option<UdpHandle>,
    /// Own addresses and RPL's parent in the last report.
    reported: (Vec<Ipv6Addr>, Option<Ipv6Addr>),
    losses: Losses,
    state: Option<State>,
    key: Option<Key>,
    reload: Option<Reload>,
}

/// The clock of a node.
struct Clock(std::time::Instant);

impl Clock {
    /// Returns the time since it was created.
    fn now(&self) -> Instant {
        let micros = u64::try_from(self.0.elapsed().as_micros()).unwrap_or(u64::MAX);
        Instant::from_micros(micros)
    }
}

/// Number of own addresses that are checked; there are fewer.
const ADDRESSES: u8 = 16;

struct Apps {
    echo: Server<Echo, Services, Handle>,
    sink: Server<Sink, Services, Handle>,
    source: Server<Source, Services, Handle>,
    web: http::Server<Page, Services>,
    datagrams: udp::Echo,
}

impl Apps {
    fn poll(&mut self, now: Instant, node: &mut Node<Process>) -> bool {
        self.echo.poll(now, node)
            | self.sink.poll(now, node)
            | self.source.poll(now, node)
            | self.web.poll(now, node)
            | self.datagrams.poll(now, node)
    }

    fn deadline(&self) -> Option<Instant> {
        let streams = earliest(self.echo.deadline(), self.sink.deadline());
        let others = earliest(self.source.deadline(), self.web.deadline());
        earliest(earliest(streams, others), self.datagrams.deadline())
    }
}

impl Mote {
    /// Creates a node with these settings, and opens its ZEP link between these ends.
    ///
    /// # Errors
    /// [`MoteError`]; with link security a node needs a state ([`Mote::with_state`]).
    pub fn new(settings: &Settings, ends: Ends) -> Result<Mote, MoteError> {
        Mote::with_state(settings, &Link::Zep(ends), None)
    }

    /// The same for a node with any radio that continues after a former life, and keeps what the
    /// next one needs. Waits until a coprocessor has answered.
    ///
    /// # Errors
    /// [`MoteError`]
    pub fn with_state(
        settings: &Settings,
        link: &Link,
        mut state: Option<State>,
    ) -> Result<Mote, MoteError> {
        let kept = state.as_ref().map(State::kept).unwrap_or_default();
        if settings.key_file.is_some() && state.is_none() {
            return Err(MoteError::NoState);
        }
        let security = settings.key_file.as_deref();
        let security = security.map(|path| key::read(path, kept.frame_counter)).transpose()?;
        let key = security.map(|security| security.key);
        let config = layers::config(settings, security);
        let (clock, bell) = (Clock(std::time::Instant::now()), Bell::new()?);
        let ringer = bell.ringer();
        let filter = Filter {
            pan_id: config.mac.pan_id.0,
            short: config.mac.short,
            extended: config.mac.extended,
        };
        let hear = move |heard| ringer.ring(Wake::Air(heard));
        let ack_wait = Duration::from_millis(settings.ack_wait_ms.into());
        let radio = Device::open(link, filter, ack_wait, || clock.now(), hear)?;
        let mut node = layers::node(settings, config, kept, radio.capabilities())?;
        if let Some(state) = &mut state {
            state.follow(clock.now(), &mut node, sequence)?;
        }
        let listen =
            ListenConfig { connection: ConnectionConfig::DEFAULT, ..ListenConfig::default() };
        let apps = Apps {
            echo: Server::new(listen),
            sink: Server::new(listen),
            source: Server::new(listen),
            web: http::Server::new(WEB_PORT, listen, PAGE),
            datagrams: udp::Echo::new(Echo::PORT),
        };
        let (tasks, pings, udp) = (Vec::new(), 0, None);
        let reported = (addresses(&node), None);
        let losses = Losses::new(clock.now(), &*node);
        Ok(Mote {
            node,
            radio,
            watch: Watch::default(),
            clock,
            bell,
            apps,
            tasks,
            pings,
            udp,
            reported,
            losses,
            state,
            key,
            reload: None,
        })
    }

    /// Returns its addresses.
    pub fn addresses(&self) -> Vec<Ipv6Addr> {
        addresses(&self.node)
    }

    /// Returns the local address of its ZEP link, if there is one and the system reports it.
    pub fn local(&self) -> Option<SocketAddr> {
        self.radio.air().and_then(|air| air.local().ok())
    }

    /// Returns the report of its start.
    pub fn started(&self) -> Report {
        let remote = self.radio.air().and_then(|air| air.remote().ok());
        let identity = self.radio.stick().and_then(|stick| stick.status().identity);
        let radio = identity.map(|identity| identity.version.clone());
        Report::Started { addresses: self.addresses(), local: self.local(), remote, radio }
    }

    /// Returns a handle for other threads.
    pub fn control(&self) -> Control {
        Control(self.bell.ringer())
    }

    /// Names the file of its settings, which [`Control::reload`] has read again.
    pub fn reads_again(&mut self, file: &Path, settings: &Settings) {
        self.reload = Some(Reload::new(file, settings, self.key));
    }

    /// Reads the settings again, and changes what can change.
    fn reload(&mut self, say: &mut dyn FnMut(Report)) {
        let Some(reload) = &mut self.reload else { return };
        let (changes, Reloaded { what, text }) = reload.again();
        for change in changes {
            match change {
                reload::Change::AckWait(wait) => self.radio.set_ack_wait(wait),
                reload::Change::Context(id, context) => {
                    // The table has room for all of them.
                    let _ = self.node.interface().set_context(id, context);
                }
            }
        }
        say(Report::Reload { what, text });
    }

    /// Reads commands from `lines` on a thread of its own, line by line. The end of the input does
    /// not end the node.
    ///
    /// # Errors
    /// The thread cannot be created.
    pub fn listen_to(&self, lines: impl BufRead + core::marker::Send + 'static) -> io::Result<()> {
        let ringer = self.bell.ringer();
        let read = move || {
            for line in lines.lines().map_while(Result::ok) {
                if !ringer.ring(Wake::Line(line)) {
                    return;
                }
            }
        };
        thread::Builder::new().name("console".to_owned()).spawn(read).map(drop)
    }

    /// Runs until it is ended, or the ZEP link fails.
    ///
    /// # Errors
    /// [`MoteError::Io`]
    pub fn run(&mut self, say: &mut dyn FnMut(Report)) -> Result<(), MoteError> {
        let mut next = self.step(say);
        // It listens now, and a recipient of the greeting may send.
        self.radio.greet()?;
        loop {
            match self.bell.next() {
                Some(Wake::Air(Heard::Deaf(kind))) => return Err(io::Error::from(kind).into()),
                Some(Wake::Air(heard)) => self.radio.hear(heard),
                Some(Wake::Line(line)) if line.trim().is_empty() => {}
                Some(Wake::Line(line)) => match line.parse() {
                    Ok(Command::Quit) => return Ok(()),
                    Ok(command) => self.begin(command, say),
                    Err(why) => say(Report::Failed { why }),
                },
                Some(Wake::Reload) => self.reload(say),
                Some(Wake::End) => return Ok(()),
                None => self.wait(next),
            }
            next = self.step(say);
            if let Some(state) = &mut self.state {
                state.follow(self.clock.now(), &mut self.node, sequence)?;
            }
        }
    }

    fn wait(&self, until: Option<Instant>) {
        let stick = self.radio.stick();
        let line = stick.and_then(|stick| Some((stick.fd()?, stick.wants_write())));
        self.bell.wait(self.clock.now(), until, line);
    }

    /// Does all work that can be done now. Returns the time of the next work.
    fn step(&mut self, say: &mut dyn FnMut(Report)) -> Option<Instant> {
        let now = self.clock.now();
        if let Some(stick) = self.radio.stick_mut() {
            // What is left on the line wakes the loop.
            let _ = stick.exchange(now);
        }
        for Change { what, text } in self.watch.changes(now, &self.radio) {
            say(Report::Radio { what, text });
        }
        let busy = self.apps.poll(now, &mut self.node);
        self.hear_back(say);
        let node = &mut self.node;
        self.tasks.retain_mut(|task| !task.step(now, node, say));
        // Last, so that the output of the applications is sent now.
        let driven = self.node.drive(now, &mut self.radio);
        self.report_changes(say);
        let lost = self.losses.look(now, &*self.node);
        lost.into_iter().for_each(|loss| say(Report::Lost(loss)));
        let driven = if busy { Some(now) } else { driven };
        let above = earliest(self.apps.deadline(), tasks::deadline(&self.tasks));
        let stack = earliest(driven, self.node.deadline());
        earliest(earliest(stack, above), self.radio.deadline())
    }

    /// Reports changes of the addresses and of the parent.
    fn report_changes(&mut self, say: &mut dyn FnMut(Report)) {
        let addresses = addresses(&self.node);
        let info = self.node.routing().rpl().info();
        let (before, parent) = core::mem::replace(&mut self.reported, (addresses, info.parent));
        if before != self.reported.0 {
            say(Report::Addresses { addresses: self.reported.0.clone() });
        }
        if parent != info.parent {
            let (dodag, rank) = (info.dodag_id, known_rank(&info));
            say(Report::Parent { parent: info.parent, dodag, rank });
        }
    }

    /// Handles echo replies, errors and datagrams.
    fn hear_back(&mut self, say: &mut dyn FnMut(Report)) {
        while let Some(reply) = self.node.datagrams().poll_echo_reply() {
            self.tasks.iter_mut().for_each(|task| task.answered(&reply, say));
        }
        while let Some(error) = self.node.datagrams().poll_error() {
            let why = reasons::undelivered(error.kind);
            say(Report::Undelivered { reporter: error.reporter, to: error.dst, why });
        }
        let mut buf = [0; udp::MAX_DATAGRAM];
        while let Some(socket) = self.udp
            && let Ok(Some(found)) = self.node.datagrams().recv(socket, &mut buf)
        {
            let text = String::from_utf8_lossy(buf.get(..found.len).unwrap_or_default());
            let (from, port) = (found.src, found.src_port);
            say(Report::Datagram { from, port, text: text.into_owned() });
        }
    }

    fn begin(&mut self, command: Command, say: &mut dyn FnMut(Report)) {
        let now = self.clock.now();
        match command {
            Command::Ping { to, count } => {
                self.pings = self.pings.wrapping_add(1);
                self.tasks.push(Task::Ping(Ping::new(now, to, self.pings, count)));
            }
            Command::Tcp { to, text } => match Talk::new(now, to, &text, &mut self.node) {
                Ok(talk) => self.tasks.push(Task::Talk(talk)),
                Err(why) => say(Report::Failed { why: format!("tcp: {why}") }),
            },
            Command::Send { to, octets } => match Send::new(now, to, octets, &self.node) {
                Ok(send) => self.tasks.push(Task::Send(Box::new(send))),
                Err(why) => say(Report::Failed { why: format!("send: {why}") }),
            },
            Command::Udp { to, text } => self.send(now, to, &text, say),
            Command::Status => say(self.status()),
            Command::Rpl => say(reports::rpl(self.node.routing().rpl())),
            Command::Neighbours => say(reports::neighbours(self.node.net().discovery().nd(), now)),
            Command::Help | Command::Quit => say(Report::Help { text: HELP }),
        }
    }

    fn send(&mut self, now: Instant, to: (Ipv6Addr, u16), text: &str, say: &mut dyn FnMut(Report)) {
        let mut datagrams = self.node.datagrams();
        self.udp = self.udp.or_else(|| datagrams.bind(0).ok());
        let Some(socket) = self.udp else { return };
        if let Err(error) = datagrams.send(now, socket, to.0, to.1, text.as_bytes()) {
            let why = reasons::unsent(&self.node, to.0, error);
            say(Report::Failed { why: format!("udp: {why}") });
        }
    }

    fn status(&self) -> Report {
        let (mac, net, tcp) =
            (self.node.mac().stats(), self.node.net().stats(), self.node.tcp().stats());
        let mut reasons = Vec::new();
        self.node.reasons(|layer, reason, count| {
            if count > 0 {
                reasons.push((layer, SnakeCase(reason).to_string(), count));
            }
        });
        Report::Status {
            addresses: self.addresses(),
            frames_sent: mac.transmissions,
            repetitions: mac.retries,
            given_up: mac.no_ack,
            frames_received: mac.received,
            packets: (net.packets_in, net.packets_out),
            segments: (tcp.received, tcp.sent),
            reasons,
        }
    }
}

/// Returns the present version and DTSN of RPL's root.
fn sequence(node: &Node<Process>) -> Option<Sequence> {
    let rpl = node.routing().rpl();
    let Info { version, dtsn, .. } = rpl.info();
    matches!(rpl.config().role, Role::Root(_)).then_some(Sequence { version, dtsn })
}

fn addresses(node: &Node<Process>) -> Vec<Ipv6Addr> {
    (0..ADDRESSES).filter_map(|index| node.net().own_address(index)).collect()
}

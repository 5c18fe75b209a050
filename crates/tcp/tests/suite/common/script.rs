//! One endpoint against hand-made segments, numbered from both ISNs: offset 1 is the first octet.

use super::*;
use kinglet_wire::tcp::{Flags, Header, Options, Segment, set_checksum};

pub const ACK: Flags = Flags::ACK;
pub const SYN: Flags = Flags::SYN;
pub const FIN: Flags = Flags::FIN;
pub const RST: Flags = Flags::RST;
pub const PSH: Flags = Flags::PSH;

pub const MS: Duration = Duration::from_millis(1);

/// Both sides' settings for a connection with SACK.
pub fn with_sack() -> (ConnectionConfig, Options) {
    (ConnectionConfig { sack: true, ..plain() }, Options { sack_permitted: true, ..Options::NONE })
}

/// The options of the segments after a SYN with `options`.
fn without_syn_options(options: Options) -> Options {
    let none = Options::NONE;
    Options { timestamps: options.timestamps, sack: options.sack, fast_open: None, ..none }
}

pub fn seqs(segments: &[Got]) -> Vec<u32> {
    segments.iter().map(|g| g.seq).collect()
}

/// A segment that the endpoint has sent.
#[derive(Clone, Debug)]
pub struct Got {
    pub header: Header,
    pub payload: Vec<u8>,
    /// Sequence number from the endpoint's ISN on.
    pub seq: u32,
    /// Acknowledgment number from the peer's ISN on.
    pub ack: u32,
    pub at: Instant,
}

impl Got {
    pub fn is(&self, flags: Flags) -> bool {
        self.header.flags.contains(flags)
    }
}

/// With the usual plan.
pub type Script = Scripted<Plan>;

pub struct Scripted<S: Sizes> {
    pub ep: Box<Endpoint<Pair, S>>,
    pub now: Instant,
    pub peer: Pair,
    pub local: u16,
    pub remote: u16,
    pub isn: u32,
    pub theirs: u32,
    pub window: u16,
    pub options: Options,
    /// Codepoint of the segments handed in.
    pub mark: Ecn,
}

/// Neither timestamps nor delayed acknowledgments: the output is easy to predict.
pub fn plain() -> ConnectionConfig {
    ConnectionConfig {
        mss: 100,
        send_buffer: 1600,
        receive_buffer: 800,
        timestamps: false,
        sack: false,
        delayed_ack: Duration::ZERO,
        // The handshake takes no time here, so this is the RTO.
        rto_min: Duration::from_secs(1),
        ..Default::default()
    }
}

impl<S: Sizes> Scripted<S> {
    pub fn new() -> Self {
        Scripted {
            ep: Box::new(Endpoint::new(TcpConfig::new([1; 16]))),
            now: Instant::from_secs(1000),
            peer: Pair(1, 2),
            local: 80,
            remote: 4000,
            isn: 0xffff_ff00,
            theirs: 0,
            window: 1000,
            options: Options::NONE,
            mark: Ecn::NotEct,
        }
    }

    /// A connection that the endpoint has accepted; SYN and SYN-ACK carry `options`.
    pub fn server(config: ConnectionConfig, options: Options) -> (Self, Handle) {
        let mut s = Self::new();
        s.ep.listen(80, listening(2, config)).unwrap();
        s.options = options;
        s.give(SYN, 0, 0, b"").unwrap();
        let syn_ack = s.take().expect("SYN-ACK");
        assert!(syn_ack.is(SYN | ACK));
        s.theirs = syn_ack.header.seq;
        s.options = without_syn_options(options);
        s.give(ACK, 1, 1, b"").unwrap();
        let handle = s.ep.accept(80).expect("accepted");
        (s, handle)
    }

    /// A connection that the endpoint has opened.
    pub fn client(config: ConnectionConfig, options: Options) -> (Self, Handle) {
        let mut s = Self::new();
        let handle = s.connecting(config);
        s.options = options;
        s.give(SYN | ACK, 0, 1, b"").unwrap();
        s.options = without_syn_options(options);
        assert_eq!(s.take().unwrap().seq, 1);
        (s, handle)
    }

    /// A connection whose SYN has been sent.
    pub fn connecting(&mut self, config: ConnectionConfig) -> Handle {
        self.remote = 80;
        let handle = self.ep.connect(self.now, self.peer, 80, config).unwrap();
        let syn = self.take().expect("SYN");
        assert!(syn.is(SYN) && !syn.is(ACK));
        self.theirs = syn.header.seq;
        self.local = syn.header.src_port;
        handle
    }

    pub fn octets(&self, flags: Flags, seq: u32, ack: u32, payload: &[u8]) -> Vec<u8> {
        let header = Header {
            src_port: self.remote,
            dst_port: self.local,
            seq: self.isn.wrapping_add(seq),
            ack: if flags.contains(ACK) { self.theirs.wrapping_add(ack) } else { 0 },
            flags,
            window: self.window,
            urgent: 0,
            options: self.options,
        };
        let mut octets = vec![0; header.header_len()];
        header.emit(&mut octets).unwrap();
        let header_len = octets.len();
        octets.extend_from_slice(payload);
        let mut sum =
            kinglet_wire::checksum::Accumulator::new(self.peer.pseudo_header_sum(octets.len()));
        sum.push(payload);
        // The header has an even length, so the order of the parts does not matter.
        set_checksum(&mut octets[..header_len], sum.sum());
        octets
    }

    /// Hands a segment in.
    pub fn give(
        &mut self,
        flags: Flags,
        seq: u32,
        ack: u32,
        payload: &[u8],
    ) -> Result<(), Discard> {
        let octets = self.octets(flags, seq, ack, payload);
        let result = self.ep.handle_packet(self.now, self.peer, self.mark, &octets);
        assert_eq!(self.ep.check(), Ok(()));
        result
    }

    /// The next segment out, checksum verified.
    pub fn take(&mut self) -> Option<Got> {
        let packet = self.ep.poll_packet(self.now);
        assert_eq!(self.ep.check(), Ok(()));
        let packet = packet?;
        let mut octets = packet.header.to_vec();
        let mut payload = vec![0; usize::from(packet.payload.len)];
        self.ep.read_payload(packet.payload, 0, &mut payload).ok().or_else(|| {
            assert!(payload.is_empty());
            Some(())
        });
        octets.extend_from_slice(&payload);
        let sum = packet.peer.pseudo_header_sum(octets.len());
        assert!(kinglet_wire::tcp::verify_checksum(&octets, sum), "checksum");
        let header = Segment::parse(&octets).unwrap().header;
        let seq = header.seq.wrapping_sub(self.theirs);
        let ack = header.ack.wrapping_sub(self.isn);
        Some(Got { header, payload, seq, ack, at: self.now })
    }

    pub fn take_all(&mut self) -> Vec<Got> {
        let all: Vec<Got> = std::iter::from_fn(|| self.take()).take(100).collect();
        assert!(all.len() < 100, "poll_packet does not end");
        all
    }

    #[track_caller]
    pub fn silent(&mut self) {
        assert_eq!(self.take().map(|g| (g.header.flags, g.seq, g.payload.len())), None);
    }

    /// Lets time pass and returns the segments that were sent.
    pub fn wait(&mut self, time: Duration) -> Vec<Got> {
        let until = self.now + time;
        let mut all = self.take_all();
        while let Some(d) = self.ep.deadline().filter(|d| *d <= until) {
            self.now = self.now.max(d);
            self.ep.handle_deadline(self.now);
            assert_eq!(self.ep.check(), Ok(()));
            all.extend(self.take_all());
        }
        self.now = until;
        all
    }

    pub fn read(&mut self, handle: Handle) -> Vec<u8> {
        let mut out = Vec::new();
        let mut buf = [0; 64];
        while let Ok(n @ 1..) = self.ep.recv(handle, &mut buf) {
            out.extend_from_slice(&buf[..n]);
        }
        out
    }
}

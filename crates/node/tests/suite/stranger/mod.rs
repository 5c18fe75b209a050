//! A neighbour that knows RFC 4861 and nothing of this stack. It builds its packets and messages
//! from octets, uncompressed; only frames and compressed packets are parsed by this stack's code.
#![allow(unreachable_pub, reason = "a module of test files")]

use kinglet::radio::{Ack, Command, Event};
use kinglet::time::{Duration, Instant};
use kinglet::wire::ieee802154::{Address, Frame, FrameType, PanId, Repr, Version};
use kinglet::wire::sixlowpan::{Context, MAX_DECOMPRESSED, UdpHeader, decompress};
use kinglet::{Node, Profile};
use std::net::Ipv6Addr;

const PAN: PanId = PanId(0xABCD);

/// A whole received packet: hop limit, source, destination, ICMPv6 from the type on.
pub type Heard = (u8, Ipv6Addr, Ipv6Addr, Vec<u8>);

/// The stranger, and the node under test.
pub struct Link<P: Profile> {
    pub now: Instant,
    pub node: Box<Node<P>>,
    /// The node's link address.
    pub to: Address,
    pub link: Address,
    /// Signal strength of the stranger's frames at the node.
    pub rssi_dbm: i8,
    pub addresses: Vec<Ipv6Addr>,
    /// True if it acknowledges frames, and `answers` if it answers solicitations.
    pub there: bool,
    pub answers: bool,
    /// True if it reads the frames that it acknowledges.
    pub reads: bool,
    /// Received packets that were not yet processed.
    pub heard: Vec<Heard>,
    /// Received TCP segments, which it does not process.
    pub segments: Vec<Vec<u8>>,
    /// Link addresses to which frames were sent.
    pub frames: Vec<Address>,
    /// Status with which it answers registrations (RFC 6775, 6.5), if it accepts them.
    pub registers: Option<u8>,
    /// True if it registers in the form of RFC 8505, and advertises that.
    pub extended: bool,
    /// True if it has advertised itself as a router; its Neighbour Advertisements say so too.
    router: bool,
    /// Contexts for header compression.
    pub contexts: Vec<Option<Context>>,
    sequence: u8,
}

pub fn checksum(src: Ipv6Addr, dst: Ipv6Addr, protocol: u8, upper: &[u8]) -> u16 {
    let len = upper.len() as u8;
    let pseudo = [&src.octets()[..], &dst.octets(), &[0, 0, 0, len, 0, 0, 0, protocol]];
    let octets = [pseudo.concat(), upper.to_vec(), vec![0; upper.len() % 2]].concat();
    let sum: u32 = octets.chunks(2).map(|it| u32::from(it[0]) << 8 | u32::from(it[1])).sum();
    let sum = (sum & 0xFFFF) + (sum >> 16);
    !((sum & 0xFFFF) + (sum >> 16)) as u16
}

/// Returns a link-layer address option.
pub fn link_option(kind: u8, link: Address) -> Vec<u8> {
    match link {
        Address::Short(short) => [&[kind, 1], &short.to_be_bytes()[..], &[0; 4]].concat(),
        Address::Extended(extended) => [&[kind, 2], &extended[..], &[0; 6]].concat(),
        Address::None => Vec::new(),
    }
}

/// Returns the solicited-node group of an address.
pub fn group(address: Ipv6Addr) -> Ipv6Addr {
    let [.., a, b, c] = address.octets();
    Ipv6Addr::new(0xFF02, 0, 0, 0, 0, 1, 0xFF00 | u16::from(a), u16::from(b) << 8 | u16::from(c))
}

impl<P: Profile> Link<P> {
    pub fn new(node: Box<Node<P>>, to: Address, link: Address, addresses: &[Ipv6Addr]) -> Self {
        Link {
            now: Instant::from_secs(1),
            node,
            to,
            link,
            rssi_dbm: -60,
            addresses: addresses.to_vec(),
            there: true,
            answers: true,
            reads: true,
            heard: Vec::new(),
            segments: Vec::new(),
            frames: Vec::new(),
            registers: None,
            extended: false,
            router: false,
            contexts: Vec::new(),
            sequence: 0,
        }
    }

    /// Completes the checksum of an ICMPv6 message, and sends it in one frame.
    pub fn send(&mut self, src: Ipv6Addr, dst: Ipv6Addr, hop_limit: u8, mut upper: Vec<u8>) {
        let sum = checksum(src, dst, 58, &upper).to_be_bytes();
        upper[2..4].copy_from_slice(&sum);
        self.send_packet(src, dst, (58, hop_limit), upper);
    }

    /// Sends a TCP segment without options and data, with these flags and numbers.
    pub fn segment(&mut self, src: Ipv6Addr, dst: Ipv6Addr, flags: u8, seq: u32, ack: u32) {
        let numbers = [seq.to_be_bytes(), ack.to_be_bytes()].concat();
        let mut upper =
            [&[0x10, 0, 0, 80][..], &numbers, &[0x50, flags, 4, 0, 0, 0, 0, 0]].concat();
        let sum = checksum(src, dst, 6, &upper).to_be_bytes();
        upper[16..18].copy_from_slice(&sum);
        self.send_packet(src, dst, (6, 64), upper);
    }

    fn send_packet(
        &mut self,
        src: Ipv6Addr,
        dst: Ipv6Addr,
        (protocol, hop_limit): (u8, u8),
        upper: Vec<u8>,
    ) {
        let head = [0x60, 0, 0, 0, 0, upper.len() as u8, protocol, hop_limit];
        let payload = [&[0x41][..], &head, &src.octets(), &dst.octets(), &upper].concat();
        self.frame(if dst.is_multicast() { Address::BROADCAST } else { self.to }, payload);
    }

    /// Sends a data frame.
    pub fn frame(&mut self, dst: Address, payload: Vec<u8>) {
        self.sequence = self.sequence.wrapping_add(1);
        let repr = Repr {
            frame_type: FrameType::Data,
            version: Version::V2006,
            ack_request: dst != Address::BROADCAST,
            frame_pending: false,
            sequence: self.sequence,
            pan_id: PAN,
            dst,
            src: self.link,
            security: None,
            csl: None,
            filling: 0,
        };
        let mut frame = vec![0; repr.header_len()];
        repr.emit(&mut frame).unwrap();
        frame.extend(payload);
        assert!(frame.len() <= 125, "{} octets", frame.len());
        let (len, acked) = (frame.len() as u8, repr.ack_request);
        let (sfd, rssi_dbm) = (self.now, self.rssi_dbm);
        let event = Event::Received { sfd, len, rssi_dbm, lqi: 200, acked };
        self.node.handle_radio(self.now, event, &mut frame);
        self.run(Duration::from_millis(20));
    }

    /// Solicits an address by multicast, from its first address.
    pub fn solicit(&mut self, target: Ipv6Addr) {
        let option = link_option(1, self.link);
        let upper = [&[135, 0, 0, 0, 0, 0, 0, 0], &target.octets()[..], &option].concat();
        self.send(self.addresses[0], group(target), 255, upper);
    }

    /// Sends a general query of a multicast router to all nodes.
    pub fn query(&mut self) {
        let (src, dst) = (self.addresses[0], "ff02::1".parse().unwrap());
        // Within a second.
        let mut upper = [&[130, 0, 0, 0, 3, 232][..], &[0; 18], &[2, 125, 0, 0]].concat();
        let sum = checksum(src, dst, 58, &upper).to_be_bytes();
        upper[2..4].copy_from_slice(&sum);
        let alert = [58, 0, 5, 2, 0, 0, 1, 0];
        self.send_packet(src, dst, (0, 1), [&alert[..], &upper].concat());
    }

    /// Sends a Router Advertisement with this lifetime and these options to one node or to all.
    pub fn advertise_router(&mut self, to: Ipv6Addr, lifetime_s: u16, options: &[Vec<u8>]) {
        self.router = lifetime_s > 0;
        let [a, b] = lifetime_s.to_be_bytes();
        let head = [134, 0, 0, 0, 64, 0, a, b, 0, 0, 0, 0, 0, 0, 0, 0];
        // RFC 8505, 4.3: the E flag.
        let able: &[u8] = if self.extended { &[36, 1, 0, 2, 0, 0, 0, 0] } else { &[] };
        let upper = [&head[..], &link_option(1, self.link), able, &options.concat()].concat();
        self.send(self.addresses[0], to, 255, upper);
    }

    pub fn ping(&mut self, src: Ipv6Addr, dst: Ipv6Addr) {
        self.send(src, dst, 64, vec![128, 0, 0, 0, 0, 7, 0, 1, 1, 2, 3, 4]);
    }

    /// Runs for this time; it responds to received messages as RFC 4861, 7.2 requires.
    pub fn run(&mut self, duration: Duration) {
        let end = self.now + duration;
        loop {
            self.step();
            let next = self.node.deadline().unwrap_or(Instant::MAX).max(self.now);
            if next > end {
                break;
            }
            self.now = next;
            self.node.handle_deadline(self.now);
        }
        self.now = end;
        self.step();
    }

    fn step(&mut self) {
        while let Some(submission) = self.node.poll_radio(self.now) {
            let Command::Transmit { ack, .. } = submission.command else { continue };
            let frame = submission.frame.to_vec();
            let parsed = Frame::parse(&frame).unwrap();
            let (src, dst) = (parsed.src(), parsed.dst());
            self.frames.push(dst);
            let mine = dst == self.link && self.there;
            let ack = match (ack, mine) {
                (false, _) => Ack::NotAwaited,
                (true, true) => Ack::Received { frame_pending: false },
                (true, false) => Ack::Missing,
            };
            self.now += Duration::from_millis(5);
            let event = Event::Transmitted { sfd: self.now, ack };
            self.node.handle_radio(self.now, event, &mut []);
            if self.there && self.reads && (mine || dst == Address::BROADCAST) {
                self.take(src, dst, parsed.payload());
            }
        }
    }

    fn take(&mut self, src: Address, dst: Address, payload: &[u8]) {
        let mut head = [0; MAX_DECOMPRESSED];
        let integrity = kinglet::wire::sixlowpan::Integrity::None;
        let done =
            decompress::<UdpHeader>(payload, src, dst, &self.contexts, None, integrity, &mut head);
        let done = done.unwrap();
        let packet = [&head[..done.written], &payload[done.consumed..]].concat();
        if packet[6] != 58 {
            return self.segments.push(packet[40..].to_vec());
        }
        let address = |at: usize| {
            let octets: [u8; 16] = packet[at..at + 16].try_into().unwrap();
            Ipv6Addr::from(octets)
        };
        let (from, to, upper) = (address(8), address(24), packet[40..].to_vec());
        assert_eq!(checksum(from, to, 58, &upper), 0, "{upper:02x?}");
        let to_me = |it: &Ipv6Addr| *it == to || group(*it) == to;
        if !self.addresses.iter().any(to_me) && to != "ff02::1".parse::<Ipv6Addr>().unwrap() {
            return;
        }
        self.heard.push((packet[7], from, to, upper.clone()));
        if let (135, true, Some(status)) = (upper[0], upper.len() > 32, self.registers) {
            // Behind a link-layer address of one unit.
            let mut option = upper[32..48].to_vec();
            assert_eq!((option[0], option[1], option[2]), (33, 2, 0));
            option[2] = status;
            let upper = [&[136, 0, 0, 0, 0xC0, 0, 0, 0], &upper[8..24], &option].concat();
            return self.send(to, from, 255, upper);
        }
        if upper[0] == 135 && self.answers {
            let target: [u8; 16] = upper[8..24].try_into().unwrap();
            if self.addresses.contains(&Ipv6Addr::from(target)) {
                let option = link_option(2, self.link);
                let flags = if self.router { 0xE0 } else { 0x60 };
                let head = [136, 0, 0, 0, flags, 0, 0, 0];
                let upper = [&head[..], &target, &option].concat();
                self.send(Ipv6Addr::from(target), from, 255, upper);
            }
        }
        if upper[0] == 128 {
            let mut reply = upper;
            (reply[0], reply[2], reply[3]) = (129, 0, 0);
            self.send(to, from, 64, reply);
        }
    }

    /// Takes the received packets of this ICMPv6 type.
    pub fn heard_of(&mut self, kind: u8) -> Vec<Heard> {
        let heard = std::mem::take(&mut self.heard);
        heard.into_iter().filter(|it| it.3[0] == kind).collect()
    }
}

//! Every target on random inputs, the same each time.

use rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg32;

const INPUTS: usize = 20_000;

/// Runs `target` on random octets. Some start with one of `starts`, so that they pass the first
/// check, and some of those are then damaged.
fn feed(target: fn(&[u8]), starts: &[&[u8]]) {
    feed_some(target, starts, INPUTS);
}

fn feed_some(target: fn(&[u8]), starts: &[&[u8]], inputs: usize) {
    let mut rng = Pcg32::seed_from_u64(1);
    for _ in 0..inputs {
        let mut input = match rng.next_u32() as usize % (starts.len() + 1) {
            0 => Vec::new(),
            n => starts[n - 1].to_vec(),
        };
        let mut tail = vec![0; rng.next_u32() as usize % 140];
        rng.fill_bytes(&mut tail);
        input.extend(tail);
        for _ in 0..rng.next_u32() % 3 {
            let at = rng.next_u32() as usize % input.len().max(1);
            if let Some(octet) = input.get_mut(at) {
                *octet = rng.next_u32() as u8;
            }
        }
        target(&input);
    }
}

type Target = (&'static str, fn(&[u8]));

/// Every target, by the name of its file and of its corpus folder.
const TARGETS: [Target; 26] = {
    use kinglet_fuzz::{files, layers, spinel, wire};
    [
        ("aodv", wire::aodv),
        ("aodv_messages", layers::aodv_messages),
        ("coap", wire::coap),
        ("coap_messages", layers::coap_messages),
        ("hdlc", spinel::hdlc),
        ("http_request", wire::http_request),
        ("icmpv6", wire::icmpv6),
        ("ieee802154", wire::ieee802154),
        ("ipv6", wire::ipv6),
        ("mac_frames", layers::mac_frames),
        ("mesh_messages", layers::mesh_messages),
        ("nd", wire::nd),
        ("nd_messages", layers::nd_messages),
        ("net_frames", layers::net_frames),
        ("rcp", spinel::rcp),
        ("relay_fragments", layers::relay_fragments),
        ("rpl", wire::rpl),
        ("rpl_messages", layers::rpl_messages),
        ("scenario", files::scenario),
        ("sixlowpan", wire::sixlowpan),
        ("store_flash", layers::store_flash),
        ("tcp", wire::tcp),
        ("tcp_pair", layers::tcp_pair),
        ("tcp_segments", layers::tcp_segments),
        ("udp", wire::udp),
        ("zep", wire::zep),
    ]
};

/// Files in a folder of this crate, by name.
fn folder(path: &str) -> Vec<std::path::PathBuf> {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    let entries = std::fs::read_dir(path).expect("a folder");
    let mut paths: Vec<_> = entries.map(|entry| entry.expect("an entry").path()).collect();
    paths.sort();
    paths
}

#[test]
fn every_target_has_a_corpus_that_it_survives_and_is_built() {
    let stem = |path: std::path::PathBuf| path.file_stem()?.to_str().map(str::to_owned);
    let files: Vec<_> = folder("fuzz_targets").into_iter().filter_map(stem).collect();
    assert_eq!(files, TARGETS.map(|(name, _)| name), "the table above has all of them");
    let manifest = include_str!("../Cargo.toml");
    for (name, target) in TARGETS {
        assert!(manifest.contains(&format!("[[bin]]\nname = \"{name}\"\n")), "{name}");
        let corpus = folder(&format!("corpus/{name}"));
        assert!((8..=40).contains(&corpus.len()), "{name}: {} inputs", corpus.len());
        for path in corpus {
            let input = std::fs::read(&path).expect("an input");
            assert!(input.len() <= 600, "{}: {} octets", path.display(), input.len());
            target(&input);
        }
    }
}

mod wire {
    use super::feed;
    use kinglet_fuzz::wire;

    #[test]
    fn ieee802154() {
        feed(wire::ieee802154, &[&[0x41, 0x88], &[0x61, 0xdc], &[0x49, 0xa8], &[0x02, 0x10]]);
    }

    #[test]
    fn sixlowpan() {
        let starts: [&[u8]; 5] = [
            &[0x05, 1, 9, 0x7a, 0x33, 6],
            &[0x3a, 2, 8, 0x7e, 0xf7, 0x12],
            &[0x05, 0, 0, 0xc0, 0x50],
            &[0x05, 0, 0, 0xe0, 0x50],
            &[0x05, 1, 0, 0x60, 0, 0, 0, 0, 40, 17, 64, 0xfe, 0x80],
        ];
        feed(wire::sixlowpan, &starts);
    }

    #[test]
    fn ipv6() {
        let header = |next| [[0x60, 0, 0, 0, 0, 48, next, 64].as_slice(), &[0xfd; 32]].concat();
        let chain = [header(0), vec![60, 0, 1, 4, 0, 0, 0, 0, 44, 0, 5, 2, 0, 0, 1, 0]].concat();
        feed(wire::ipv6, &[&header(0), &header(43), &header(6), &chain]);
    }

    #[test]
    fn icmpv6() {
        feed(wire::icmpv6, &[&[0, 0, 128, 0], &[0, 0, 1, 4]]);
    }

    #[test]
    fn nd() {
        let solicitation = [[135].as_slice(), &[0; 23], &[1, 1, 0, 7, 0, 0, 0, 0, 33, 2]].concat();
        let advertisement = [[134].as_slice(), &[0; 15], &[34, 3, 64, 0x10], &[9; 20]].concat();
        feed(wire::nd, &[&[133, 0, 0, 0], &solicitation, &advertisement, &[137, 0], &[157]]);
    }

    #[test]
    fn udp() {
        feed(wire::udp, &[&[0, 0, 0xf0, 0xb1]]);
    }

    #[test]
    fn zep() {
        let mut whole = [0; 34];
        whole[..5].copy_from_slice(b"EX\x02\x01\x1a");
        whole[31] = 2;
        feed(wire::zep, &[&whole]);
    }

    #[test]
    fn aodv() {
        let request = [1, 0x18, 16, 3, 0, 0, 0, 1, 0, 6, 0, 0, 0, 0, 0, 7, 0, 0, 0, 9];
        let reply = [2, 0, 0, 2, 0, 6, 0, 0, 0, 5, 0, 1, 0, 0, 0x4e, 0x20, 2, 2, 0xf0, 0];
        feed(wire::aodv, &[&request, &reply, &[3, 0, 0, 1, 0, 6], &reply[..16]]);
    }

    #[test]
    fn rpl() {
        let dio = [1, 0, 240, 1, 0, 0x90, 240, 0, 0, 0xFD, 0, 0, 0, 0, 0, 0, 0];
        let dao = [2, 0, 0x80, 0, 1, 5, 18, 0, 128];
        let route = [4, 6, 2, 3, 2, 0xEE, 0x40, 0, 0, 0, 1, 0, 2];
        feed(wire::rpl, &[&[0, 0, 0], &dio, &dao, &[3, 0, 0, 1, 0], &route]);
    }

    #[test]
    fn tcp() {
        let fixed = [0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 0xf0, 0x12, 1, 0, 0, 0, 0, 0];
        let options = [2, 4, 5, 180, 4, 2, 8, 10, 0, 0, 0, 1, 0, 0, 0, 0, 3, 3, 7, 5, 10];
        feed(wire::tcp, &[&fixed, &[fixed.as_slice(), &options].concat()]);
    }

    #[test]
    fn http_request() {
        let start = b"\x05GET /a?b HTTP/1.1\r\nHost: m\r\nContent-Length: 3\r\n";
        feed(wire::http_request, &[start, b"\x01PUT http://m/ HTTP/1.0\n", &start[..20]]);
    }

    #[test]
    fn coap() {
        let request = [0x42, 1, 0, 1, 7, 7, 0xb1, 0x61, 0x0d, 0, 0xe1, 0, 1, 9, 0xff, 1];
        feed(wire::coap, &[&[0x40, 1], &[0x60, 0x45, 0, 1, 0xff], &request]);
    }
}

mod layers {
    use super::{feed, feed_some};
    use kinglet_fuzz::layers;

    #[test]
    fn aodv_messages() {
        // The sequences of the corpus.
        let lives: Vec<_> = super::folder("corpus/aodv_messages")
            .into_iter()
            .map(|path| std::fs::read(path).expect("a file"))
            .collect();
        let lives: Vec<&[u8]> = lives.iter().map(Vec::as_slice).collect();
        feed(layers::aodv_messages, &lives);
    }

    #[test]
    fn coap_messages() {
        // A request that is sent, acknowledged without a response and given up; one that is served;
        // a ping.
        let client = [0, 1, 4, 4, 4, 4, 4, 4, 1, 5, 4, 0x60, 0, 0, 1];
        let server = [0, 5, 6, 0x40, 1, 0, 1, 0xb1, 0x61, 2, 3, 1, 2, 3];
        let block = [0, 5, 8, 0x40, 3, 0, 1, 0xd1, 0x0e, 0x0a, 0xff];
        feed(layers::coap_messages, &[&client, &server, &block, &[1, 5, 4, 0x40, 0, 0, 1]]);
    }

    #[test]
    fn mac_frames() {
        // A data frame to node 1 with an acknowledgement request; a frame to send and its events.
        let received = [3, 0, 0, 12, 0x61, 0x88, 9, 0xcd, 0xab, 1, 0, 2, 0, 0x7a, 0x33, 6];
        let sent = [0, 0, 3 | 1 << 5, 4, 1, 2, 3, 4, 4, 14, 4, 1 | 2 << 3, 6, 4, 0x81];
        // A MAC with CSL and data requests, with scheduled transmissions.
        let samples = [0x2b, 0x22, 0x0f, 4, 6, 1 | 2 << 3, 6, 4, 0x1f, 6, 4];
        feed(layers::mac_frames, &[&[0], &[3], &[15], &received, &sent, &samples]);
    }

    #[test]
    fn mesh_messages() {
        // A neighbour that receives this node and has a default route; a leaf that attaches;
        // replies to a leaf; the next deadline.
        let advertisement = [0, 0x5c, 8, 0x11, 2, 0, 1, 0xf1, 0xff, 0xfe, 0x01, 3, 3];
        let child = [0, 0x5c, 1, 0x12, 0x5c, 3, 0x14, 1, 1, 3, 3, 3];
        let leaf = [1, 3, 3, 0x5c, 2, 0x13, 0xc1, 3, 0x5c, 3, 0x15, 0, 1, 0x41, 0x41, 3];
        let binding = [2, 0x5c, 7, 0x11, 0, 0, 7, 0, 2, 5, 3];
        feed(layers::mesh_messages, &[&advertisement, &child, &leaf, &binding]);
    }

    #[test]
    fn nd_messages() {
        // The sequences of the corpus.
        let lives: Vec<_> = super::folder("corpus/nd_messages")
            .into_iter()
            .map(|path| std::fs::read(path).expect("a file"))
            .collect();
        let lives: Vec<&[u8]> = lives.iter().map(Vec::as_slice).collect();
        feed(layers::nd_messages, &lives);
    }

    #[test]
    fn net_frames() {
        // UDP in one frame, a first and a next fragment, an uncompressed packet from the host.
        let udp = [0x40, 30, 0x7e, 0x33, 0xf3, 0x11, 1, 2, 3, 4];
        let first = [0x40, 20, 0xc0, 0x60, 0, 9, 0x7a, 0x33, 17];
        let next = [0x40, 20, 0xe0, 0x60, 0, 9, 6, 1, 2, 3, 4, 5, 6, 7, 8];
        let send = [0x42, 200, 0x44, 70, 0x44, 70, 0x44, 70];
        let host = [[1, 100, 0x60, 0, 0, 0, 0, 60, 17, 64].as_slice(), &[0xfd; 32]].concat();
        feed(layers::net_frames, &[&udp, &first, &next, &send, &host, &[0x4b, 20]]);
    }

    #[test]
    fn relay_fragments() {
        // A first fragment of 200 octets with the tag 0 that can be forwarded, and the next one.
        let first = [0x41, 0x01, 64, 56, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4];
        let next = [0x21, 0x01, 6, 8, 1, 2, 3, 4, 5, 6, 7, 8, 4];
        feed(layers::relay_fragments, &[&first, &next, &[first.as_slice(), &next].concat(), &[6]]);
    }

    #[test]
    fn rpl_messages() {
        // A DIO with its configuration from a neighbour, a DAO from another, a solicitation, the
        // next deadlines.
        let mut joined = vec![0, 0x24, 42, 1, 0, 240, 0, 128, 0x90, 240, 0, 0, 0xFD];
        joined.extend([0; 14]);
        joined.extend([9, 4, 14, 0, 8, 9, 10, 0x0E, 0, 0, 128, 0, 1, 0, 30, 0, 60, 3, 3, 3]);
        let dao = [[0x64, 31, 2, 0, 0x80, 0, 1, 5, 18, 0, 128, 0xFD].as_slice(), &[0; 14], &[3]];
        let transit = [6, 4, 0, 0x80, 240, 30, 3, 3];
        let dao = [&[1], joined.get(1..).unwrap(), &dao.concat(), &transit].concat();
        feed(layers::rpl_messages, &[&joined, &dao, &[4, 0x44, 3, 0, 0, 0, 3, 3]]);
    }

    #[test]
    fn store_flash() {
        // Puts for two neighbours and work of a flash that does not fail, takes, a restart.
        let put: Vec<u8> = (0..20).flat_map(|n| [n % 2 * 16, 99, 13, 0, 0, 0, 11, 14]).collect();
        let take = [5, 13, 0, 0, 0, 5, 0x15, 8, 13, 4, 0, 9];
        let both = [&put[..], &take].concat();
        feed(layers::store_flash, &[&put, &both, &[&both[..], &[0x8a, 0, 9, 3]].concat()]);
    }

    #[test]
    fn tcp_segments() {
        // Connect, SYN out, SYN-ACK in; data out and in; close. And a passive open.
        let active =
            [200, 0x0b, 6, 1, 0x12, 0, 1, 200, 0, 0, 6, 4, 90, 1, 2, 3, 4, 5, 6, 6, 1, 0x10];
        let passive = [200, 9, 0x02, 5, 0, 200, 0, 0, 6, 1, 0x10, 0, 1, 200, 0, 0, 3, 6, 4, 90];
        feed(layers::tcp_segments, &[&active, &passive, &active[..10], &passive[..16]]);
    }

    /// A hundred inputs only: each is the whole life of some connections.
    #[test]
    fn tcp_pair() {
        feed_some(layers::tcp_pair, &[&[0; 60], &[255; 60]], 100);
    }

    /// Found by libFuzzer: without SACK, a window that opened again in fast recovery made one poll
    /// send the same segment for ever.
    #[test]
    fn a_window_that_reopens_in_recovery_ends_the_resend() {
        let input = [
            0x03, 0x0b, 0x06, 0x01, 0x12, 0xd2, 0x00, 0x00, 0x00, 0x00, 0x05, 0x9e, 0x0e, 0x02,
            0x10, 0x00, 0x00, 0x01, 0x00, 0x00, 0x02, 0x10, 0x00, 0x00, 0x01, 0x00, 0x00, 0x02,
            0x10, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x10, 0x00, 0x00, 0x01, 0x00, 0x00, 0x06,
        ];
        layers::tcp_segments(&input);
    }
}

mod files {
    use super::feed;
    use kinglet_fuzz::files;

    #[test]
    fn scenario() {
        let start = b"name = \"a\"\nduration_s = 1e3\nseed = 7\n[topology]\nhops = 3\n";
        feed(files::scenario, &[start, b"[mac]\n", b"[[flows]]\nfrom = 0\n"]);
    }
}

mod spinel {
    use super::feed;
    use kinglet_fuzz::spinel;

    #[test]
    fn hdlc() {
        // A restart, in part and whole; an escaped octet.
        let restart = [0x7e, 0x80, 6, 0, 112, 0xee, 0x74, 0x7e];
        feed(spinel::hdlc, &[&restart, &restart[..5], &[0x7e, 0x7d, 0x5e, 0x7d]]);
    }

    #[test]
    fn rcp() {
        // A restart and the answers to all queries, with the identifiers that the driver gives
        // them.
        let answers: [&[u8]; 9] = [
            &[0x80, 6, 0, 112],
            &[0x82, 6, 1, 4, 3],
            &[0x83, 6, 2, b'x', 0],
            &[0x84, 6, 5, 34, 0x81, 4],
            &[0x85, 6, 0xb0, 1, 11],
            &[0x86, 6, 0xb1, 1, 4],
            &[0x87, 6, 8, 1, 2, 3, 4, 5, 6, 7, 8],
            &[0x88, 6, 0x22, 11, 15, 26],
            &[0x89, 6, 0x8b, 0x24, 0x7f],
        ];
        let step = |message: &&[u8]| [&[2, message.len() as u8], *message].concat();
        let ready: Vec<u8> = answers.iter().flat_map(step).collect();
        // A mode, a frame, a pending one; the answers to settings.
        let settings = [7, 1, 7, 6, 7, 67];
        let confirmed: Vec<u8> = (10..16).flat_map(|tid| [2, 4, 0x80 | tid, 6, 0, 0]).collect();
        let working = [&ready[..], &settings, &confirmed].concat();
        let received = [2, 23, 0x80, 6, 0x71, 5, 0, 0x41, 0x88, 7, 1, 2, 0xec, 0x80, 0, 0, 10, 0];
        let with_frame = [&working[..], &received].concat();
        feed(spinel::rcp, &[&ready, &working, &with_frame, &settings]);
    }
}

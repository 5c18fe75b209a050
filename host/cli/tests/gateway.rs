//! The gateway against the kernel's own TCP, in a separate network namespace: ping, pages, bulk
//! transfers in both directions at one and at three hops, ten connections at once, a clean end.

mod common;
use common::*;
use kinglet_testkit::namespace::in_namespace;
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream, UdpSocket};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

/// Octets of the bulk transfers.
const BULK: usize = 200_000;

#[test]
fn linux_talks_to_motes_one_and_three_hops_away() {
    let tools = [("kill", "-l"), ("ping", "-V"), ("curl", "-V")];
    in_namespace("linux_talks_to_motes_one_and_three_hops_away", &tools, talk);
}

/// All tests, inside the namespace.
fn talk() {
    let gateway = Gateway::start(&example());
    for mote in [ONE_HOP, THREE_HOPS] {
        let command = format!("curl -g 'http://[{mote}]/'");
        assert!(gateway.announcement.contains(&command), "what to try: {}", gateway.announcement);
    }
    step("ping", || {
        for mote in [ONE_HOP, THREE_HOPS] {
            let output = run(Command::new("ping").args(["-6", "-n", "-c", "3", "-w", "10", mote]));
            let text = String::from_utf8_lossy(&output.stdout).into_owned();
            assert!(text.contains(" 0% packet loss"), "{text}");
        }
    });
    step("a ping in two packets", || {
        for mote in [ONE_HOP, THREE_HOPS] {
            let ping = |octets: &str| {
                let options = ["-6", "-n", "-c", "2", "-w", "10", "-s", octets, mote];
                let output = Command::new("ping").args(options).output().unwrap();
                String::from_utf8_lossy(&output.stdout).into_owned()
            };
            // The kernel fragments packets longer than 1280 octets, and so does the mote.
            for octets in ["1400", "1452"] {
                let text = ping(octets);
                assert!(text.contains(" 0% packet loss"), "{text}");
            }
            // More than 1500 octets.
            let text = ping("2000");
            assert!(text.contains("Parameter problem: Wrong header field"), "{text}");
        }
    });
    step("a datagram in two packets", || {
        for mote in [ONE_HOP, THREE_HOPS] {
            // No application listens there; a mote that has reassembled the datagram reports that.
            let socket = UdpSocket::bind("[::]:0").unwrap();
            socket.connect((mote, 9)).unwrap();
            socket.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
            socket.send(&[7; 1400]).unwrap();
            let error = socket.recv(&mut [0; 1]).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::ConnectionRefused, "{error}");
        }
    });
    step("pages", || {
        assert!(page(ONE_HOP).contains("<h1>Mote 1</h1>"));
        assert!(page(THREE_HOPS).contains("<h1>Mote 3</h1>"));
    });
    step("ten connections at once", || {
        let threads: Vec<_> = (0..10).map(|_| thread::spawn(|| page(THREE_HOPS))).collect();
        for thread in threads {
            assert!(thread.join().unwrap().contains("<h1>Mote 3</h1>"));
        }
    });
    step("given up downloads leave room for others", || {
        // More than a mote's number of connections.
        let threads: Vec<_> = (0..14).map(|_| thread::spawn(|| give_up(THREE_HOPS))).collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        assert!(page(THREE_HOPS).contains("<h1>Mote 3</h1>"));
    });
    for (mote, hops) in [(ONE_HOP, "one hop"), (THREE_HOPS, "three hops")] {
        step(&format!("download over {hops}"), || download(mote));
        step(&format!("upload over {hops}"), || upload(mote));
    }
    step("Ctrl-C", || {
        let (status, rest) = gateway.interrupt();
        assert_eq!(status.code(), Some(0), "{rest}");
        assert!(rest.contains("stopped after"), "a summary: {rest}");
        assert!(!has_device(), "the device has gone with the program");
    });
}

#[test]
fn gateways_do_not_take_each_others_packets_and_motes_have_services() {
    let tools = [("kill", "-l"), ("ip", "-V")];
    in_namespace("gateways_do_not_take_each_others_packets_and_motes_have_services", &tools, two);
}

/// Lets a gateway read its scenario again, and ends it.
fn reads_again(gateway: Gateway, file: &Scratch, text: &str) {
    for more in ["", "[mac]\nmax_frame_retries = 3\n", "[mac]\nmax_frame_retires = 3\n"] {
        std::fs::write(&file.0, text.to_owned() + more).unwrap();
        gateway.send("HUP");
        // Two signals at once are one.
        std::thread::sleep(std::time::Duration::from_millis(300));
    }
    let (status, rest) = gateway.signal("TERM");
    std::fs::write(&file.0, text).unwrap();
    assert_eq!(status.code(), Some(0), "{rest}");
    assert!(rest.contains("stopped after"), "a summary: {rest}");
    let name = file.0.display();
    for part in [
        format!("{name}: nothing has changed\n"),
        format!("{name}: nothing has changed; needs another start: the scenario, which is"),
        "did you mean `max_frame_retries`?; the former configuration stays in force\n".to_owned(),
    ] {
        assert!(rest.contains(&part), "{part}\n{rest}");
    }
}

/// Two gateways, inside the namespace.
fn two() {
    let flows = "[wire]\n[topology]\nline = { hops = 1 }\n\
                 [[flow]]\nkind = \"tcp-bulk\"\nfrom = 1\nto = 2\nbytes = 20000\n";
    let file = Scratch::new(flows.as_bytes());
    let capture = Scratch::new(b"");
    let path = capture.0.to_str().unwrap();
    let map = Scratch::new(b"");
    let options = ["--tun", "kltest0", "--pcap", path, "--map", map.0.to_str().unwrap()];
    let first = Gateway::start_with(&file.0, &options);
    let announced = &first.announcement;
    assert!(announced.contains("TCP port 5001: tcp-bulk of mote 1"), "{announced}");
    assert!(announced.contains(&format!("tshark -r {path}")), "{announced}");
    step("a second one with the same addresses", || {
        let (code, text) = refusal(&["--tun", "kltest1"], flows);
        assert_eq!(code, Some(2), "{text}");
        assert!(text.contains("fd6b:696e:676c::/48 on the device kltest0"), "{text}");
        assert!(text.contains("--prefix fd00:1:2::/48 --tun"), "{text}");
    });
    step("a second one with addresses of its own", || {
        let options = ["--tun", "kltest1", "--prefix", "fd00:1:2::/48"];
        let second = Gateway::start_with(&file.0, &options);
        for mote in [ONE_HOP, "fd00:1:2:7400:0:ff:fe00:2"] {
            services(mote);
        }
        reads_again(second, &file, flows);
    });
    step("a map that has no place", || {
        let options =
            ["--tun", "kltest1", "--prefix", "fd00:1:2::/48", "--map", "/nowhere/map.html"];
        let (code, text) = refusal(&options, flows);
        assert_eq!(code, Some(3), "{text}");
        assert!(text.contains("--map /nowhere/map.html: cannot be written: "), "{text}");
    });
    step("files that are not complete at the end are named", || {
        let dir = capture.0.with_extension("maps");
        std::fs::create_dir(&dir).unwrap();
        let page = dir.join("page.html");
        let prefix = ["--tun", "kltest1", "--prefix", "fd00:1:2::/48"];
        let files = ["--pcap", "/dev/full", "--map", page.to_str().unwrap()];
        let options = [&prefix[..], &files].concat();
        let mut second = Gateway::start_watched(&file.0, &options, Stdio::piped());
        let error = second.error.take().unwrap();
        std::fs::remove_dir_all(&dir).unwrap();
        let (status, rest) = second.signal("TERM");
        assert_eq!(status.code(), Some(3), "{rest}");
        let text = std::io::read_to_string(error).unwrap();
        assert!(text.contains("the capture: /dev/full: No space left"), "{text}");
        assert!(text.contains("page.html: No such file"), "{text}");
    });
    step("the map while it runs", || {
        // Written once a second, and before the first output.
        let page = std::fs::read_to_string(&map.0).unwrap();
        assert!(page.contains(" data-refresh-s=") && page.contains("[0,1,"), "{page}");
    });
    step("a listener that is late", || {
        let listener = TcpListener::bind("[::]:5001").unwrap();
        let (mut stream, _) = listener.accept().unwrap();
        let mut octets = Vec::new();
        stream.read_to_end(&mut octets).unwrap();
        assert_eq!(octets.len(), 20_000);
    });
    let (status, rest) = first.interrupt();
    assert_eq!(status.code(), Some(0), "{rest}");
    assert!(std::fs::metadata(&capture.0).unwrap().len() > 20_000, "the capture");
    let page = std::fs::read_to_string(&map.0).unwrap();
    assert!(page.contains("· ended") && !page.contains(" data-refresh-s="), "{page}");
    std::fs::remove_dir_all(format!("{path}.profile")).unwrap();
}

/// Echo, sink and source of a mote.
fn services(mote: &str) {
    let connect = |port: u16| TcpStream::connect((mote, port)).unwrap();
    let sent: Vec<u8> = (0..3_000u32).map(|i| (i * i / 7) as u8).collect();
    let mut echo = connect(7);
    echo.write_all(&sent).unwrap();
    echo.shutdown(Shutdown::Write).unwrap();
    let mut octets = Vec::new();
    echo.read_to_end(&mut octets).unwrap();
    assert!(octets == sent, "{} octets came back", octets.len());
    let mut sink = connect(9);
    sink.write_all(&sent).unwrap();
    sink.shutdown(Shutdown::Write).unwrap();
    assert_eq!(sink.read_to_end(&mut octets).unwrap(), 0);
    let mut octets = [0; 3_000];
    connect(19).read_exact(&mut octets).unwrap();
    assert!((0..).zip(octets).all(|(i, octet): (u32, u8)| octet == (i % 251) as u8));
}

/// Begins a download that would take minutes and aborts it after two seconds.
fn give_up(mote: &str) {
    let url = format!("http://[{mote}]/bytes/1000000");
    let mut curl = Command::new("curl");
    curl.args(["--silent", "--globoff", "--noproxy", "*", "--max-time", "2", &url]);
    assert_eq!(curl.output().unwrap().status.code(), Some(28), "a timeout");
}

fn page(mote: &str) -> String {
    String::from_utf8(curl(mote, "/", &[])).unwrap()
}

fn download(mote: &str) {
    let octets = curl(mote, &format!("/bytes/{BULK}"), &[]);
    assert_eq!(octets.len(), BULK);
    let expected: Vec<u8> = (0..BULK).map(|i| (i % 251) as u8).collect();
    assert_eq!(hash(&octets), hash(&expected));
}

fn upload(mote: &str) {
    // Not periodic, unlike the pattern of downloads.
    let octets: Vec<u8> = (0..BULK as u64).map(|i| ((i * i / 7) >> 3) as u8).collect();
    let file = Scratch::new(&octets);
    let reply = curl(mote, "/upload", &["--upload-file", file.0.to_str().unwrap()]);
    assert_eq!(String::from_utf8(reply).unwrap(), format!("{BULK} {}\n", hash(&octets)));
}

/// Exit code and output of the program when it cannot start.
fn refusal(args: &[&str], scenario: &str) -> (Option<i32>, String) {
    let file = Scratch::new(scenario.as_bytes());
    let mut command = Command::new(env!("CARGO_BIN_EXE_kinglet"));
    let output = command.arg("gateway").arg(&file.0).args(args).output().unwrap();
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn a_network_that_cannot_be_bridged_is_refused_with_one_clear_error() {
    let (code, text) = refusal(&[], "[[node]]\n[[node]]\nx_m = 5\n");
    assert_eq!(code, Some(2), "{text}");
    assert!(
        text.contains("no border router") && text.contains("role = \"border-router\""),
        "{text}"
    );

    let line = "[topology]\nline = { hops = 1 }\n";
    let (code, text) = refusal(&["--prefix", "fe80::/48"], line);
    assert_eq!(code, Some(2), "{text}");
    assert!(text.contains("is not for this; unique local ones begin with fd"), "{text}");

    for name in ["", "longer-than-a-name", "with/slash", "with space"] {
        let (code, text) = refusal(&["--tun", name], line);
        assert_eq!(code, Some(2), "{text}");
        assert!(text.contains("is not a name for a network device"), "{text}");
    }

    let (code, text) = refusal(&["--far-tun", "kltest9"], line);
    assert_eq!(code, Some(2), "{text}");
    assert!(text.contains("--far-tun kltest9") && text.contains("give it `[tunnel]`"), "{text}");

    let tunnel = format!("{line}[tunnel]\nnode = 1\n");
    for (options, option) in
        [(["--far-tun", "a b"], "--far-tun"), (["--tun", "fifteen-letters"], "--far-tun")]
    {
        let (code, text) = refusal(&options, &tunnel);
        assert_eq!(code, Some(2), "{text}");
        let hint = format!("give another one with {option} NAME");
        assert!(text.contains("is not a name for a network") && text.contains(&hint), "{text}");
    }

    let (code, text) = refusal(&[], "[topology]\nlien = { hops = 1 }\n");
    assert_eq!(code, Some(2), "{text}");
    assert!(text.contains("did you mean `line`?"), "{text}");
}

//! Dissection of a secured capture by tshark: no packets without the key, and all of them with it,
//! integrity codes included.

use kinglet_network::capture::write_profile;
use kinglet_network::run::{Options, run};
use kinglet_scenario::{Prefix, Scenario};
use std::path::Path;
use std::process::Command;

const SCENARIO: &str = "duration_s = 3\n[topology]\nline = { hops = 2 }\n\
                        [[flow]]\nkind = \"tcp-bulk\"\nfrom = 2\nto = 0\n";

/// Number of frames that match the filter; `None` without tshark.
fn count(capture: &Path, options: &[String], filter: &str) -> Option<usize> {
    let mut tshark = Command::new("tshark");
    tshark.arg("-n").arg("-r").arg(capture).args(options);
    let output = tshark.args(["-Y", filter, "-T", "fields", "-e", "frame.number"]).output().ok()?;
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(output.stdout.iter().filter(|&&octet| octet == b'\n').count())
}

#[test]
fn tshark_reads_when_a_leaf_listens() {
    let text = "duration_s = 30\n[radio]\nprofile = \"nrf52840\"\n[leaf]\ncsl_period_ms = 500\n\
                [[node]]\nrole = \"border-router\"\n[[node]]\nrole = \"leaf\"\nx_m = 5\n\
                [[flow]]\nkind = \"tcp-bulk\"\nfrom = 1\nto = 0\n";
    let scenario = Scenario::from_toml("sampling", text).expect("a valid scenario");
    let name = format!("kinglet-sampling-{}.pcap", std::process::id());
    let capture = std::env::temp_dir().join(name);
    let options = Options { pcap: Some(capture.clone()), ..Options::default() };
    run(&scenario, 1, &options).expect("it can be simulated");
    let plain = ["-o", "wpan.fcs_format:ITU-T CRC-16"].map(str::to_owned);
    // 500 ms are 3125 times 160 us.
    let said = count(&capture, &plain, "wpan.header_ie.csl.period == 3125");
    let wrong = count(&capture, &plain, "_ws.malformed");
    let _ = std::fs::remove_file(&capture);
    let (Some(said), Some(wrong)) = (said, wrong) else {
        eprintln!("SKIPPED: tshark is not installed");
        return;
    };
    assert_eq!(wrong, 0);
    assert!((1..=10).contains(&said), "{said} times");
}

#[test]
fn tshark_decrypts_a_secured_run_with_the_key_and_not_without() {
    let scenario = Scenario::from_toml("secured", SCENARIO).expect("a valid scenario");
    let name = format!("kinglet-secured-{}.pcap", std::process::id());
    let capture = std::env::temp_dir().join(name);
    let options = Options { pcap: Some(capture.clone()), ..Options::default() };
    let result = run(&scenario, 1, &options).expect("it can be simulated");
    assert!(result.flows[0].is_well());
    let plain = ["-o", "wpan.fcs_format:ITU-T CRC-16"].map(str::to_owned).to_vec();
    let mut keyed = plain.clone();
    let key: String = b"Kinglet scenario".iter().map(|octet| format!("{octet:02x}")).collect();
    keyed.extend(["-o".to_owned(), format!("uat:ieee802154_keys:\"{key}\",\"1\",\"No hash\"")]);
    for short in 1..=3 {
        let address = format!("\"{short:04x}\",\"abcd\",020000fffe00{short:04x}");
        keyed.extend(["-o".to_owned(), format!("uat:802154_addresses:{address}")]);
    }
    let wrong = "_ws.malformed || _ws.expert.severity == 0x800000";
    let found = [(&plain, "tcp"), (&keyed, "tcp"), (&keyed, wrong), (&keyed, "wpan.security")]
        .map(|(options, filter)| count(&capture, options, filter));
    let _ = std::fs::remove_file(&capture);
    let [Some(closed), Some(open), Some(wrong), Some(secured)] = found else {
        eprintln!("SKIPPED: tshark is not installed");
        return;
    };
    assert_eq!((closed, wrong), (0, 0));
    assert!(open > 50 && secured >= open, "{open} of {secured}");
}

/// The same with the settings next to the capture.
fn count_with_profile(command: &str, filter: &str) -> Option<usize> {
    let mut shell = Command::new("sh");
    shell.arg("-c").arg(format!("{command} -n -Y '{filter}' -T fields -e frame.number"));
    let output = shell.output().ok()?;
    if output.status.code() == Some(127) {
        return None;
    }
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(output.stdout.iter().filter(|&&octet| octet == b'\n').count())
}

#[test]
fn with_the_settings_of_a_capture_tshark_reads_all_that_goes_to_and_from_the_host() {
    for (security, prefix) in [(true, Prefix::DEFAULT), (false, "fd00:1:2::/48".parse().unwrap())] {
        let flows = "[wire]\n[topology]\nline = { hops = 2 }\n\
                     [[flow]]\nkind = \"tcp-bulk\"\nfrom = 2\nto = 3\n\
                     [[flow]]\nkind = \"tcp-bulk\"\nfrom = 3\nto = 1\n\
                     [[flow]]\nkind = \"udp-periodic\"\nfrom = 3\nto = 1\nperiod_ms = 100\n";
        let text = format!("duration_s = 3\n[mac]\nsecurity = {security}\n{flows}");
        let scenario = Scenario::from_toml("host", &text).expect("a valid scenario");
        let scenario = Scenario { prefix, ..scenario };
        let name = format!("kinglet host's {security}-{}.pcap", std::process::id());
        let capture = std::env::temp_dir().join(name);
        let options = Options { pcap: Some(capture.clone()), ..Options::default() };
        run(&scenario, 1, &options).expect("it can be simulated");
        let command = write_profile(&scenario, &capture).expect("space").expect("it is a file");
        let bad = "tcp.checksum.status == \"Bad\" || udp.checksum.status == \"Bad\"";
        let filters = ["tcp", "udp", bad, "_ws.malformed"];
        let found = filters.map(|filter| count_with_profile(&command, filter));
        let checked = ["-o", "tcp.check_checksum:TRUE"].map(str::to_owned);
        let without = count(&capture, &checked, "tcp && tcp.checksum.status == \"Good\"");
        let _ = std::fs::remove_file(&capture);
        let _ = std::fs::remove_dir_all(format!("{}.profile", capture.display()));
        let ([Some(tcp), Some(udp), Some(bad), Some(malformed)], Some(without)) = (found, without)
        else {
            eprintln!("SKIPPED: tshark is not installed");
            return;
        };
        assert!(tcp > 50 && udp > 20, "{tcp} segments, {udp} datagrams");
        assert_eq!((bad, malformed), (0, 0), "of {tcp} segments and {udp} datagrams");
        // Purpose of the settings.
        assert_eq!(without, 0, "segments to and from the host read right without the settings");
    }
}

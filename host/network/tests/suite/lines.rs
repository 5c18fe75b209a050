//! Transfers over a line of relays, which short forms of experiments test with one seed only, or
//! not at all.

use kinglet_network::run::{Options, run};
use kinglet_scenario::Scenario;

/// Returns the mean goodput in kb/s, over seeds 11 to 13, of transfers from these nodes of a line
/// to the border router, at most `hops` away.
fn goodput(hops: usize, sources: &[usize], overlap: &str) -> Vec<f64> {
    let flow = |from: &usize| format!("[[flow]]\nkind = \"tcp-bulk\"\nfrom = {from}\nto = 0\n");
    let flows: String = sources.iter().map(flow).collect();
    let text = format!(
        "duration_s = 200\n[topology]\nline = {{ hops = {hops} }}\n[medium]\n\
         overlap = \"{overlap}\"\n{flows}"
    );
    let scenario = Scenario::from_toml("line.toml", &text).expect("a scenario");
    let mut sum = vec![0.0; sources.len()];
    for seed in 11..14 {
        let result = run(&scenario, seed, &Options::default()).expect("it can be simulated");
        for (sum, flow) in sum.iter_mut().zip(&result.flows) {
            *sum += flow.goodput_kbps.unwrap_or(0.0) / 3.0;
        }
    }
    sum
}

/// The far sources wait for the near ones at each hop, so that the interval between their segments
/// exceeds the delay of an acknowledgment. With an acknowledgment for each segment they would have
/// a sixth of their share.
#[test]
fn each_of_five_sources_on_a_line_has_a_quarter_of_its_share() {
    for overlap in ["sinr-ber", "strict"] {
        let goodput = goodput(5, &[1, 2, 3, 4, 5], overlap);
        // 107.7 kb/s over one hop, a half and a third of it over two and more, for five sources.
        let shares = [21.5, 10.8, 7.2, 7.2, 7.2];
        let least = goodput.iter().zip(shares).map(|(kbps, share)| kbps / share);
        assert!(least.clone().all(|it| it > 0.25), "{overlap}: {goodput:?}");
    }
}

/// A retransmission on a line often collides with a frame of the same transfer. If its delay grew
/// because of that, six hops would carry 23 kb/s.
#[test]
fn six_hops_carry_seven_tenths_of_what_three_can() {
    for overlap in ["sinr-ber", "strict"] {
        let goodput = goodput(6, &[6], overlap);
        assert!(goodput[0] > 0.7 * 35.8, "{overlap}: {goodput:?}");
    }
}

//! Whole transfers over links of every quality.

mod common;
use common::*;
use kinglet_tcp::*;
use kinglet_time::Duration;

fn config(segments: usize) -> ConnectionConfig {
    let size = segments * 462;
    ConnectionConfig { mss: 474, send_buffer: size, receive_buffer: size, ..Default::default() }
}

#[test]
fn a_perfect_link_carries_both_directions() {
    let mut net = Net::new(PERFECT, 1);
    transfer(&mut net, [config(4); 2], [50_000, 30_000], Duration::from_secs(100));
    println!("{:?}", net.now);
}

#[test]
fn loss_is_repaired() {
    for sack in [true, false] {
        for timestamps in [true, false] {
            let link = Link { loss: 100, duplicate: 20, reorder: 50, ..PERFECT };
            let mut net = Net::new(link, 1);
            let c = ConnectionConfig { sack, timestamps, ..config(4) };
            transfer(&mut net, [c; 2], [50_000, 3_000], Duration::from_secs(1000));
            println!("{sack} {timestamps} {:?}", net.now);
        }
    }
}

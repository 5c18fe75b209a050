use kinglet_lab::restarts::{Cell, run};
use rayon::prelude::*;
fn main() {
    let filter: Vec<String> = std::env::args().skip(2).collect();
    let seed: u64 = std::env::args().nth(1).map_or(1, |s| s.parse().unwrap());
    let cells: Vec<Cell> = Cell::all()
        .filter(|c| filter.iter().all(|f| format!("{c:?}").contains(f.as_str())))
        .collect();
    eprintln!("{} cells", cells.len());
    let results: Vec<_> = cells.par_iter().map(|c| (c, run(c, seed))).collect();
    for (c, r) in results {
        let name = format!("{:?} off={} {:?} {:?} asleep={} {:?}", c.part, c.off.as_micros()/1_000_000, c.traffic, c.routing, c.asleep, c.changed);
        match r {
            Ok(v) => {
                let bad = v.seconds.is_none_or(|s| s > c.limit_s()) || v.control > 10.0;
                println!("{} {name}: {:?} s, control {:.1}, lost {} of {} {:?}", if bad {"BAD"} else {"ok "}, v.seconds, v.control, v.lost, v.sent, v.late);
            }
            Err(e) => println!("ERR {name}: {e}"),
        }
    }
}

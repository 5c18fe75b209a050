//! A page that shows the network and its last ten minutes, rewritten every second.

use crate::network::Mesh;
use kinglet_network::capture::whole;
use kinglet_network::run::Tree;
use kinglet_network::tree::Look;
use kinglet_report::page::live;
use kinglet_scenario::{NodeId, Scenario};
use kinglet_time::{Duration, Instant};
use std::collections::VecDeque;
use std::io::{self, ErrorKind, Write as _};
use std::path::{Path, PathBuf};

/// Largest number of instants on the page, one a second: ten minutes.
const INSTANTS: usize = 600;
/// Largest number of nodes in the trees of all instants: about a megabyte. Large networks have
/// fewer instants.
const BRANCHES: usize = 60_000;
/// Period with which a browser reloads it.
const REFRESH_S: u32 = 1;
/// Shortest time between two versions: a little less than the second after which every output mode
/// of the gateway observes the network.
const PERIOD: Duration = Duration::from_millis(900);

/// The page and its contents.
pub(crate) struct Map {
    path: PathBuf,
    scenario: Scenario,
    links: Vec<(NodeId, NodeId)>,
    history: History,
    written: Duration,
}

impl Map {
    /// Writes the page for the first time.
    pub(crate) fn create(path: &Path, scenario: &Scenario, mesh: &Mesh) -> io::Result<Self> {
        check(path)?;
        let scenario = scenario.drawn(scenario.seed).into_owned();
        let history = History::new(mesh.root(), at(mesh), mesh.frames_sent());
        let (path, written) = (path.to_path_buf(), mesh.uptime());
        let links = mesh.links(&scenario);
        let mut map = Map { path, scenario, links, history, written };
        map.look(mesh);
        map.write(Some(REFRESH_S))?;
        Ok(map)
    }

    /// Observes the network and writes the page, once per [`PERIOD`]. After a failure the next
    /// version follows.
    pub(crate) fn follow(&mut self, mesh: &Mesh) {
        if mesh.uptime() - self.written >= PERIOD {
            self.written = mesh.uptime();
            self.look(mesh);
            let _ = self.write(Some(REFRESH_S));
        }
    }

    /// Writes the page for the last time; the file stays.
    pub(crate) fn end(mut self, mesh: &Mesh) -> io::Result<()> {
        self.look(mesh);
        self.write(None)
    }

    fn look(&mut self, mesh: &Mesh) {
        self.history.add(at(mesh), &mesh.parents(), mesh.frames_sent());
    }

    /// Replaces the page as a whole: a browser never reads a part of it.
    fn write(&mut self, refresh_s: Option<u32>) -> io::Result<()> {
        let page = live(&self.scenario, &self.links, self.history.trees(), refresh_s);
        whole::replace(&self.path, |out| out.write_all(page.as_bytes()))
    }
}

/// Returns the time since `ready`.
fn at(mesh: &Mesh) -> Instant {
    Instant::ZERO + mesh.uptime()
}

/// Refuses a page that would replace a device, a pipe or a directory.
pub(crate) fn check(path: &Path) -> io::Result<()> {
    match path.exists() && !path.is_file() {
        true => Err(io::Error::new(ErrorKind::AlreadyExists, "not a file; give --map a new one")),
        false => Ok(()),
    }
}

/// The trees of the last minutes.
struct History {
    last: Look,
    trees: VecDeque<Tree>,
    /// Largest number of trees in it.
    most: usize,
}

impl History {
    /// Creates a history; `sent` are the numbers of frames that the nodes have sent by `now`.
    fn new(root: NodeId, now: Instant, sent: Vec<u64>) -> Self {
        // A change is visible between two trees.
        let most = (BRANCHES / sent.len().max(1)).clamp(2, INSTANTS);
        History { last: Look::new(root, now, sent), trees: VecDeque::new(), most }
    }

    fn add(&mut self, now: Instant, parents: &[Option<NodeId>], sent: Vec<u64>) {
        if self.trees.len() == self.most {
            self.trees.pop_front();
        }
        self.trees.push_back(self.last.again(now, parents, sent));
    }

    fn trees(&mut self) -> &[Tree] {
        self.trees.make_contiguous()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bridge::Network as _;
    use serde_json::{Value, json};
    use std::fs;

    /// Returns the path of a page, in a directory for this test alone.
    fn place(name: &str) -> PathBuf {
        let dir = std::env::temp_dir().join(format!("kinglet-map-{}-{name}", std::process::id()));
        fs::create_dir_all(&dir).unwrap();
        dir.join("page.html")
    }

    fn scenario(routing: &str) -> Scenario {
        let text = format!(
            "[net]\nrouting = \"{routing}\"\n[topology]\nline = {{ hops = 3 }}\n\
             [[flow]]\nkind = \"udp-periodic\"\nfrom = 3\nto = 0\nperiod_ms = 100\n"
        );
        Scenario::from_toml("test.toml", &text).unwrap()
    }

    /// Returns the data of the page's script.
    fn data(page: &str) -> Value {
        let (_, rest) = page.split_once("<script type=\"application/json\">").unwrap();
        serde_json::from_str(rest.split_once("</script>").unwrap().0).unwrap()
    }

    #[test]
    fn the_page_has_routes_hops_and_load_of_every_second_for_each_routing() {
        for routing in ["static", "mesh", "rpl"] {
            let scenario = scenario(routing);
            let (path, mut mesh) = (place(routing), Mesh::new(&scenario).unwrap());
            let mut map = Map::create(&path, &scenario, &mesh).unwrap();
            // More often than once per period, as on a terminal.
            for _ in 0..25 {
                mesh.run_until(mesh.now() + Duration::from_millis(200));
                map.follow(&mesh);
            }
            let page = fs::read_to_string(&path).unwrap();
            assert!(page.contains("data-refresh-s=\"1\"") && page.contains("· live"), "{page}");
            let data = data(&page);
            assert_eq!(data["places"][3][2], "router");
            assert_eq!(data["links"], json!([[0, 1], [1, 2], [2, 3]]));
            let trees = data["trees"].as_array().unwrap();
            let instants: Vec<f64> = trees.iter().map(|tree| tree[0].as_f64().unwrap()).collect();
            assert_eq!(instants, [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]);
            let route = |node: usize| json!([trees[5][1][node][0], trees[5][1][node][1]]);
            let routes: Vec<_> = (0..4).map(route).collect();
            assert_eq!(routes, [json!([null, 0]), json!([0, 1]), json!([1, 2]), json!([2, 3])]);
            // Ten datagrams a second, and retries.
            let load = |node: usize| trees[5][1][node][2].as_f64().unwrap();
            assert!((9.0..20.0).contains(&load(3)), "{routing}: {}", load(3));
            map.end(&mesh).unwrap();
            let page = fs::read_to_string(&path).unwrap();
            assert!(!page.contains("data-refresh-s=") && page.contains("· ended"), "{page}");
            let dir = path.parent().unwrap();
            assert_eq!(fs::read_dir(dir).unwrap().count(), 1, "no temporary file is left");
            fs::remove_dir_all(dir).unwrap();
        }
    }

    #[test]
    fn the_history_is_bounded_and_shorter_in_a_large_network() {
        for (nodes, kept) in [(15, 600), (1_000, 60), (50_000, 2)] {
            let mut history = History::new(0, Instant::ZERO, vec![0; nodes]);
            for second in 1..=kept + 3 {
                history.add(Instant::from_secs(second), &vec![None; nodes], vec![second; nodes]);
            }
            let trees = history.trees();
            assert_eq!((trees.len() as u64, trees[0].at_s), (kept, 4.0), "{nodes} nodes");
            let last = trees.last().unwrap();
            assert_eq!((last.at_s, last.nodes[1].frames_per_s), (kept as f64 + 3.0, 1.0));
        }
    }

    #[test]
    fn a_directory_is_not_replaced_and_a_page_that_cannot_be_written_is_an_error() {
        let scenario = scenario("static");
        let mesh = Mesh::new(&scenario).unwrap();
        let path = place("no-file");
        let dir = path.parent().unwrap();
        let error = Map::create(dir, &scenario, &mesh).err().unwrap();
        assert!(error.to_string().contains("not a file") && dir.is_dir(), "{error}");
        let error = Map::create(&dir.join("nowhere/page.html"), &scenario, &mesh).err().unwrap();
        assert_eq!(error.kind(), ErrorKind::NotFound);
        fs::remove_dir_all(dir).unwrap();
    }
}

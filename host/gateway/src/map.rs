//! A page that shows the network as it is, and how it came to be so, written anew from time to time.

use crate::network::Mesh;
use kinglet_lab::report::live;
use kinglet_lab::run::{Branch, Tree};
use kinglet_lab::scenario::Scenario;
use std::collections::VecDeque;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Instants that it has: those before are forgotten.
const INSTANTS: usize = 200;
/// It is written at most so often, in seconds of the network's time, and loads itself as often.
const PERIOD_S: u32 = 1;

/// The page and what is on it.
pub(crate) struct Map {
    path: PathBuf,
    scenario: Scenario,
    trees: VecDeque<Tree>,
    /// Frames that each node had sent at the last instant.
    sent: Vec<u64>,
}

impl Map {
    /// Writes the page for the first time.
    pub(crate) fn create(path: &Path, scenario: &Scenario, mesh: &mut Mesh) -> io::Result<Self> {
        let (path, scenario) = (path.to_path_buf(), scenario.clone());
        let sent = mesh.frames_sent();
        let mut map = Map { path, scenario, trees: VecDeque::new(), sent };
        map.add(mesh, f64::INFINITY);
        map.write()?;
        Ok(map)
    }

    /// Looks at the network, if it is time to. What cannot be written is written the next time.
    pub(crate) fn look(&mut self, mesh: &mut Mesh) {
        let last = self.trees.back().map_or(0.0, |tree| tree.at_s);
        let passed = mesh.uptime().as_micros() as f64 / 1e6 - last;
        if passed >= f64::from(PERIOD_S) {
            self.add(mesh, passed);
            let _ = self.write();
        }
    }

    fn add(&mut self, mesh: &mut Mesh, seconds: f64) {
        let sent = mesh.frames_sent();
        let nodes = mesh.ways().into_iter().zip(sent.iter().zip(&self.sent));
        let branch = |((parent, hops), (now, before)): ((_, _), (&u64, &u64))| Branch {
            parent,
            hops,
            frames_per_s: now.saturating_sub(*before) as f64 / seconds,
        };
        let at_s = mesh.uptime().as_micros() as f64 / 1e6;
        self.trees.push_back(Tree { at_s, nodes: nodes.map(branch).collect() });
        if self.trees.len() > INSTANTS {
            self.trees.pop_front();
        }
        self.sent = sent;
    }

    /// Whoever reads it has all of it: it takes the place of the one before as a whole.
    fn write(&mut self) -> io::Result<()> {
        let page = live(&self.scenario, self.trees.make_contiguous(), PERIOD_S);
        let mut beside = self.path.clone().into_os_string();
        beside.push(".new");
        fs::write(&beside, page)?;
        fs::rename(&beside, &self.path)
    }
}

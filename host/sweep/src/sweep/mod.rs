//! Sweeps: one scenario, lists of values for some of its fields in all combinations, and seeds.
//!
//! * [`Sweep`] — varied fields and their values, from a file or from code
//! * [`Plan`] — the resulting runs, all of them checked before the first one begins
//! * [`simulate`] — one run; [`run`] — all unfinished runs, on all cores
//! * [`Journal`] — finished runs, so that none is repeated
//! * [`Plan::table`] — a row for each run and flow, for CSV and Parquet
//! * [`FieldEffects`] — effect of each field on a column, and the best combinations
//!
//! ```
//! use kinglet_sweep::sweep::{Finished, Plan, Sweep, simulate};
//! use std::sync::atomic::AtomicBool;
//! let text = "
//!     seeds = { first = 1, count = 2 }
//!     [fields]
//!     topology.line.hops = [1, 2]
//!     [scenario]
//!     duration_s = 2
//!     flow = [{ kind = 'tcp-bulk', from = 1, to = 0 }]
//! ";
//! let sweep = Sweep::from_toml("hops.toml".as_ref(), text).unwrap();
//! let plan = Plan::new(sweep).unwrap();
//! let mut finished = Finished::new();
//! for run in plan.pending(&finished) {
//!     let rows = simulate(&plan.scenario(run).unwrap(), run.seed, &AtomicBool::new(false));
//!     finished.insert(run.key.clone(), rows.unwrap().unwrap());
//! }
//! let table = plan.table(&finished);
//! assert_eq!(table.rows(), 4);
//! assert_eq!(table.columns[0].name, "topology.line.hops");
//! ```

mod effects;
mod engine;
mod file;
mod journal;
mod plan;
mod record;
mod spec;

pub use effects::{FieldEffect, FieldEffects, Group};
pub use engine::{SweepConfig, SweepError, run};
pub use journal::{Journal, JournalError, digest};
pub(crate) use plan::keys_of;
pub use plan::{Plan, Run};
pub use record::{Finished, columns_of, simulate};
pub use spec::{Base, Sweep};

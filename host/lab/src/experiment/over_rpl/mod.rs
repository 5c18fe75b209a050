//! TCP over RPL (Kim et al., JCN 2015): thirty nodes of a building, each with a flow of its own.
//!
//! | file | results |
//! |---|---|
//! | `forms.rs` | formation and repair of a tree |
//! | `meters.rs` | a street of five thousand meters |
//! | `routes.rs` | upward and downward routes of a tree, for both |
//!
//! The others are folders (`experiments/rpl-*`).

pub(crate) mod forms;
pub(crate) mod meters;
mod routes;

pub(super) use forms::EXPERIMENT as FORMS;
pub(super) use meters::EXPERIMENT as METERS;

use super::point;

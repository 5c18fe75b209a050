//! Reports: results as pages, pictures and tables.
//!
//! * [`page`] — one self-contained page, of experiments, of one run, or of a network that runs
//! * [`tables`] — tables of a run for pages and terminals
//! * [`output`], [`markdown`] — results of experiments as JSON, CSV, text and Markdown;
//!   [`number`] rounds
//! * [`verdict`], [`question`] — verdicts on claims and answers to questions, which reports show
//!
//! [`kinglet_sweep::chart`] has the contents of figures.

pub mod markdown;
pub mod number;
pub mod output;
pub mod page;
pub mod question;
pub mod tables;
pub mod verdict;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

//! Identity, network key and frame counters of a device, kept in its flash.
//!
//! A product must not take these from constants of its firmware: two devices with the same address
//! and key repeat each other's nonces, and one device repeats its own after a restart. Either lets
//! a listener read frames and forge others (RFC 3610, §5).
//!
//! | value | source |
//! |---|---|
//! | addresses, PAN, channel, key | [`Identity`]: a page that `kinglet commission` writes |
//! | seed, TCP secret | the chip's random numbers, at each start ([`Identity::config`]) |
//! | first frame counter | [`Counters`]: two or more pages that the device writes |
//!
//! A device starts like this, and its main loop keeps the bound:
//!
//! ```
//! # use embedded_storage_async::nor_flash::NorFlash;
//! # use kinglet_identity::{Counters, CountersError, Identity, Page};
//! # use kinglet::{radio::Capabilities, time::Instant};
//! # use kinglet::{Mote, Node};
//! # async fn start<F: NorFlash>(flash: F, page: &Page, draw: impl FnMut(&mut [u8]), now: Instant)
//! # -> Result<(), CountersError<F::Error>> {
//! let identity = Identity::read(page).expect("a commissioned device");
//! let mut counters = Counters::new(flash, 0xfd000..0xff000)?;
//! let config = identity.config(draw, counters.first().await?);
//! let mut node: Node<Mote> = Node::new(config, Capabilities::NONE); // of your radio
//! // Before the radio is offered anything, and again from time to time:
//! if let Some(bound) = node.poll_counter_bound(now) {
//!     counters.keep(bound).await?;
//! }
//! # Ok(())
//! # }
//! ```

#![no_std]
#![forbid(unsafe_code)]
#![deny(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![deny(clippy::arithmetic_side_effects)]

mod counters;
mod page;

pub use counters::{Counters, CountersError};
pub use page::{EUI64_PREFIX, Identity, LEN, Page, PageError};

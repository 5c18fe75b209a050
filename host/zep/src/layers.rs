//! Configuration of the layers of a node.

use crate::profile::Process;
use crate::settings::{self, Objective, RplRole, Settings};
use crate::state::Kept;
use core::net::Ipv6Addr;
use kinglet::mac::{Csma, Security};
use kinglet::nd::{self, Border, Offer, Serving};
use kinglet::net::{InterfaceAddress, Neighbour, Route};
use kinglet::radio::{Capabilities, Channel};
use kinglet::rpl::{self, Mode};
use kinglet::wire::ieee802154::{Address, PanId};
use kinglet::wire::nd::{BorderRouter, ContextInformation, PrefixInformation};
use kinglet::wire::sixlowpan::Context;
use kinglet::{Config, Discovered, Node, Rpled};
use kinglet_time::Instant;
use std::hash::{BuildHasher, RandomState};

/// Lifetime of the information that a border router offers, in seconds and in minutes: a day.
const VALID_S: u32 = 86_400;
const VALID_MIN: u16 = 1_440;
/// Rank parameters of RIOT's root: a hop is 256 (RFC 6550, 17, DEFAULT_MIN_HOP_RANK_INCREASE), and
/// a rank may rise by at most seven of them.
const HOP: u16 = 256;
const MOST_HOPS: u16 = 7;

/// The table for these is full.
#[derive(Debug)]
pub(crate) struct Full(pub(crate) &'static str);

/// Returns the stack's settings. The values that must differ between nodes and restarts come from
/// the system's source of entropy.
pub(crate) fn config(settings: &Settings, security: Option<Security>) -> Config {
    let extended = match settings.extended.0 {
        Address::Extended(extended) => extended,
        // The settings have been checked.
        _ => [0; 8],
    };
    let draw = |octets: &mut [u8]| {
        for chunk in octets.chunks_mut(size_of::<u64>()) {
            let random = RandomState::new().hash_one(()).to_le_bytes();
            chunk.iter_mut().zip(random).for_each(|(to, from)| *to = from);
        }
    };
    let mut config = Config::new(settings.short.unwrap_or(0xffff), extended, draw);
    config.mac.pan_id = PanId(settings.pan);
    config.mac.channel = Channel::new(settings.channel).unwrap_or_default();
    config.mac.csma = Csma::Hardware;
    config.mac.security = security;
    let serves = matches!(
        settings.discovery,
        settings::Discovery::Router | settings::Discovery::BorderRouter
    );
    let relays = settings.rpl.is_some_and(|rpl| rpl.role != RplRole::Leaf);
    config.net.forward = settings.forward || serves || relays;
    config
}

/// Creates a node with these settings, which takes the place of one that has kept this.
pub(crate) fn node(
    settings: &Settings,
    config: Config,
    kept: Kept,
    radio: Capabilities,
) -> Result<Box<Node<Process>>, Full> {
    let routing = Rpled::new(config.identity(), rpl_config(settings, kept));
    let discovery = discovery(settings, &config)?;
    let mut node = Box::new(Node::with_layers(config, routing, discovery, radio));
    fill(&mut node, settings)?;
    Ok(node)
}

fn first(settings: &Settings) -> Ipv6Addr {
    // The settings have been checked.
    settings.addresses.first().map_or(Ipv6Addr::UNSPECIFIED, |own| own.address)
}

fn rpl_config(settings: &Settings, kept: Kept) -> rpl::RplConfig {
    let Some(given) = settings.rpl else { return rpl::RplConfig::OFF };
    let role = match given.role {
        RplRole::Leaf => rpl::Role::Leaf,
        RplRole::Router => rpl::Role::Router,
        RplRole::Root => {
            let mode = match given.mode {
                settings::Mode::Storing => Mode::Storing,
                settings::Mode::NonStoring => Mode::NonStoring,
            };
            let mut root = rpl::Root::new(first(settings), mode);
            root.sequence = kept.rpl;
            if given.objective == Objective::Of0 {
                root.configuration.objective = 0;
                root.configuration.min_hop_rank_increase = HOP;
                root.configuration.max_rank_increase = MOST_HOPS * HOP;
            }
            rpl::Role::Root(root)
        }
    };
    let settings::Rpl { instance, option, .. } = given;
    rpl::RplConfig { instance, option, ..rpl::RplConfig::new(role, 0, 0) }
}

fn discovery(settings: &Settings, config: &Config) -> Result<Discovered<Process, 8>, Full> {
    use settings::Discovery::{BorderRouter, Host, Neighbour, Off, Router};
    let mac = &config.mac;
    let given = nd::NdConfig::new(mac.source(), mac.extended, mac.pan_id.0, config.seed);
    let routed = settings.rpl.is_none();
    let given = nd::NdConfig { routed, ..given };
    let learns = nd::NdConfig { autoconfigures: true, ..given };
    Ok(match settings.discovery {
        Off if settings.rpl.is_none() => Discovered::with(nd::NdConfig::OFF),
        Off | Neighbour => Discovered::with(given),
        Host => Discovered::with(learns),
        Router => Discovered::serving(learns, Some(Serving::new(offer(settings, Border::Learnt)))),
        BorderRouter => Discovered::serving(given, Some(border(settings)?)),
    })
}

fn offer(settings: &Settings, border: Border) -> Offer {
    Offer { registrar: settings.rpl.is_some(), ..Offer::new(border) }
}

/// Creates a border router, which offers the prefix of its first address, and its contexts.
fn border(settings: &Settings) -> Result<Serving<Process>, Full> {
    let address = first(settings);
    let this = BorderRouter { version: 1, valid_min: VALID_MIN, address };
    let mut serving = Serving::new(offer(settings, Border::This(this)));
    let prefix = PrefixInformation {
        prefix: Ipv6Addr::from_bits(address.to_bits() & !u128::from(u64::MAX)),
        len: 64,
        on_link: false,
        autonomous: true,
        valid_s: VALID_S,
        preferred_s: VALID_S,
    };
    serving.offer_prefix(Instant::ZERO, prefix).map_err(|_| Full("prefixes"))?;
    for context in &settings.context {
        let (id, prefix, len) = (context.id, context.prefix.address, context.prefix.len);
        let context = ContextInformation { id, compress: true, prefix, len, valid_min: VALID_MIN };
        serving.offer_context(Instant::ZERO, context).map_err(|_| Full("contexts"))?;
    }
    Ok(serving)
}

fn fill(node: &mut Node<Process>, settings: &Settings) -> Result<(), Full> {
    let mut interface = node.interface();
    for &own in &settings.addresses {
        let own = InterfaceAddress { address: own.address, prefix_len: own.len };
        interface.add_address(own).map_err(|_| Full("addresses"))?;
    }
    for context in &settings.context {
        let known = Context { prefix: context.prefix.address, len: context.prefix.len };
        interface.set_context(context.id, Some(known)).map_err(|_| Full("contexts"))?;
    }
    for neighbour in &settings.neighbour {
        let (address, link) = (neighbour.address, neighbour.link.0);
        interface.add_neighbour(Neighbour { address, link }).map_err(|_| Full("neighbours"))?;
    }
    for route in &settings.route {
        let (prefix, prefix_len, via) = (route.to.address, route.to.len, route.via.0);
        interface.add_route(Route { prefix, prefix_len, via }).map_err(|_| Full("routes"))?;
    }
    Ok(())
}

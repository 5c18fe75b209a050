//! Reports about the state of routing and neighbour discovery, of a node or of a border router.

use crate::console::{Candidate, NearBy, Registered, Report, Target};
use crate::settings::Link;
use kinglet::nd::{self, Discovery, RouterSizes, Serving};
use kinglet::rpl::{self, INFINITE_RANK, Info, Rpl};
use kinglet::wire::ieee802154::Address;
use kinglet_time::Instant;

/// Returns the state of RPL.
pub fn rpl<S: rpl::Sizes>(rpl: &Rpl<S>) -> Report {
    let (info, stats) = (rpl.info(), rpl.stats());
    let candidates = rpl.candidates().map(|it| Candidate {
        address: it.address,
        rank: it.rank,
        etx: f64::from(it.etx) / 128.0,
    });
    let targets = rpl.routes().map(|it| Target {
        prefix: format!("{}/{}", it.target().prefix, it.target().prefix_len),
        via: it.via(),
        external: it.is_external(),
    });
    Report::Rpl {
        dodag: info.dodag_id,
        version: info.dodag_id.map(|_| info.version),
        rank: known_rank(&info),
        parent: info.parent,
        candidates: candidates.collect(),
        targets: targets.collect(),
        sent: (stats.diss, stats.dios, stats.daos, stats.dao_acks),
        unacknowledged: stats.daos_failed,
    }
}

/// Returns the state of neighbour discovery at `now`.
pub fn neighbours<S>(nd: &Discovery<S>, now: Instant) -> Report
where
    S: nd::Sizes<Role = Option<Serving<S>>> + RouterSizes,
{
    let neighbours = nd.neighbours().map(|it| NearBy {
        address: it.address(),
        link: text(it.link()),
        state: format!("{:?}", it.state()).to_lowercase(),
        router: it.is_router(),
    });
    let registered = nd.role().as_ref().map(Serving::registrations).into_iter().flatten();
    let registered = registered.map(|it| Registered {
        address: it.address(),
        link: text(it.link()),
        left_s: (it.until() - now).as_millis() / 1000,
    });
    let (neighbours, registered) = (neighbours.collect(), registered.collect());
    Report::Neighbours { router: nd.router(), neighbours, registered }
}

/// Returns the own rank, if there is a route to the root.
pub(crate) fn known_rank(info: &Info) -> Option<u16> {
    (info.rank != INFINITE_RANK).then_some(info.rank)
}

/// Formats a link address as in the settings, if it is known.
fn text(link: Address) -> Option<String> {
    (link != Address::None).then(|| Link(link).to_string())
}

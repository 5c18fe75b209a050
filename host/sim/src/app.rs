//! Applications on simulated nodes.

use core::any::Any;
use kinglet::{Each, Node, Profile};
use kinglet_apps::{App, ReportedExpectation};
use kinglet_time::{Expected, Instant, earliest};

/// An application on a node of profile `P`, as a trait object.
pub trait Hosted<P: Profile>: Send {
    /// [`App::poll`]
    fn poll(&mut self, now: Instant, node: &mut Node<P>) -> bool;
    /// [`App::deadline`]
    fn deadline(&self) -> Option<Instant>;
    /// [`App::expected`]
    fn expected(&self, now: Instant) -> Option<Expected>;
    /// [`App::messages`]
    fn messages(&self) -> (u32, u32);
    /// [`App::reasons`]
    fn reasons(&self, _each: &mut Each<'_>) {}
    /// TCP segments that the application itself has received and sent, wrapping; those of its
    /// node's TCP are not counted.
    fn segments(&self) -> u32 {
        0
    }
    /// The application itself, so that the caller of the simulation can read its results.
    fn as_any(&self) -> &dyn Any;
}

impl<P: Profile, A: App + Any + Send> Hosted<P> for A {
    fn poll(&mut self, now: Instant, node: &mut Node<P>) -> bool {
        App::poll(self, now, node)
    }

    fn deadline(&self) -> Option<Instant> {
        App::deadline(self)
    }

    fn expected(&self, now: Instant) -> Option<Expected> {
        App::expected(self, now)
    }

    fn messages(&self) -> (u32, u32) {
        App::messages(self)
    }

    fn reasons(&self, each: &mut Each<'_>) {
        App::reasons(self, each);
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// Applications of a node, each with the expected response that the node was last notified of.
pub(crate) struct Tenants<P: Profile>(Vec<(Box<dyn Hosted<P>>, ReportedExpectation)>);

impl<P: Profile> Tenants<P> {
    pub(crate) fn new(apps: Vec<Box<dyn Hosted<P>>>) -> Self {
        Tenants(apps.into_iter().map(|app| (app, ReportedExpectation::default())).collect())
    }

    /// Adds an application. Returns its number.
    pub(crate) fn add(&mut self, app: Box<dyn Hosted<P>>) -> usize {
        self.0.push((app, ReportedExpectation::default()));
        self.0.len() - 1
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &dyn Hosted<P>> {
        self.0.iter().map(|(app, _)| app.as_ref())
    }

    /// Application number `index`, if it is an `A`.
    pub(crate) fn get<A: 'static>(&self, index: usize) -> Option<&A> {
        self.any(index)?.downcast_ref()
    }

    /// Application number `index`.
    pub(crate) fn any(&self, index: usize) -> Option<&dyn Any> {
        Some(self.0.get(index)?.0.as_ref().as_any())
    }

    /// Polls every application once. Returns whether any of them did anything.
    pub(crate) fn poll(&mut self, now: Instant, node: &mut Node<P>) -> bool {
        let mut busy = false;
        for (number, (app, reported)) in (0..).zip(&mut self.0) {
            busy |= app.poll(now, node);
            reported.report(now, node, number, app.expected(now));
        }
        busy
    }

    /// Earliest deadline of the applications.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.iter().fold(None, |soonest, app| earliest(soonest, app.deadline()))
    }
}

//! Changes that a mesh reports to its node.

/// A change that the node must process at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// A leaf has another parent, or none.
    ParentChanged(Option<u16>),
    /// A leaf has attached to this router.
    ChildAdded {
        /// Its short address.
        child: u16,
        /// True if the child sleeps: frames to it wait until it polls.
        sleeps: bool,
    },
    /// A leaf is no longer this router's child.
    ChildRemoved(u16),
    /// There are new network data, see [`Mesh::data`](crate::Mesh::data).
    Data,
}

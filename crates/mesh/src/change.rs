//! What a mesh tells its node.

/// What the node has to know at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// A leaf has another parent, or none.
    ParentChanged(Option<u16>),
    /// A leaf has become this router's child.
    ChildAdded {
        /// Its short address.
        child: u16,
        /// Whether it has to be waited for until it asks.
        sleeps: bool,
    },
    /// A leaf is this router's child no longer.
    ChildRemoved(u16),
}

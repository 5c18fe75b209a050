//! State of a coprocessor, for a person and for a program.

use kinglet_spinel::Stick;
use serde::Serialize;

/// Columns of a line of a table.
const COLUMNS: usize = 79;

/// State of a coprocessor in a snapshot.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct RadioLook {
    /// The reason for which it does not work, if there is one.
    pub(crate) trouble: Option<String>,
    /// Name and version of its firmware, once it has identified itself.
    pub(crate) version: Option<String>,
    /// Version of its interface.
    pub(crate) interface: Option<u32>,
    /// Its EUI-64.
    pub(crate) eui64: Option<String>,
    /// Restarts that nothing had asked for.
    pub(crate) restarts: u64,
    /// Number of times that its line was opened again.
    pub(crate) reopened: u64,
    /// Messages from the line, and damaged ones.
    pub(crate) messages: u64,
    pub(crate) damaged: u64,
    /// Commands that were repeated, transmissions included.
    pub(crate) repeated: u64,
    /// Received frames that were lost because the stack had not fetched earlier ones.
    pub(crate) overruns: u64,
}

impl RadioLook {
    /// Returns the state of this one.
    pub(crate) fn of(stick: &Stick) -> Self {
        let status = stick.status();
        let (identity, stats) = (status.identity, status.stats);
        let octets = |eui64: [u8; 8]| eui64.map(|octet| format!("{octet:02x}")).join(":");
        RadioLook {
            trouble: stick.trouble().map(|trouble| trouble.to_string()),
            version: identity.map(|it| it.version.clone()),
            interface: identity.map(|it| it.api),
            eui64: identity.map(|it| octets(it.eui64)),
            restarts: stats.restarts,
            reopened: status.reopened,
            messages: stats.messages,
            damaged: stats.damaged,
            repeated: stats.repeated_commands + stats.repeated_transmissions,
            overruns: stats.overruns,
        }
    }
}

impl RadioLook {
    /// Returns it as lines of a table, shorter than 80 columns.
    pub(crate) fn lines(&self) -> Vec<String> {
        let RadioLook { restarts, reopened, messages, damaged, repeated, overruns, .. } = self;
        let state = match (&self.trouble, &self.version) {
            (Some(trouble), _) => format!("radio: does not work: {trouble}"),
            (None, Some(version)) => format!("radio: {version}"),
            (None, None) => "radio: it restarts".to_owned(),
        };
        let counters = format!(
            "radio: {restarts} restarts, reopened {reopened}; {messages} messages, {damaged} \
             damaged; {repeated} repeated, {overruns} lost"
        );
        [state, counters].map(|line| line.chars().take(COLUMNS).collect()).to_vec()
    }
}

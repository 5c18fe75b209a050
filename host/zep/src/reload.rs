//! SIGHUP: a configuration is read again. What can change in a node that runs, changes; the rest is
//! named, and takes effect at the next start.

use crate::key;
use crate::settings::{self, Discovery, Settings};
use core::fmt;
use kinglet::radio::Key;
use kinglet::wire::sixlowpan;
use kinglet_time::Duration;
use std::path::{Path, PathBuf};

/// The result for an operator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reloaded {
    /// A word for it: `refused`, `applied`, or `restart` if something needs another start.
    pub what: &'static str,
    /// A sentence about it.
    pub text: String,
}

impl Reloaded {
    /// Returns that of a configuration with a mistake.
    pub fn refused(why: &impl fmt::Display) -> Self {
        let text = format!("{why}; the former configuration stays in force");
        Reloaded { what: "refused", text }
    }

    /// Returns that of a file of which these keys have changed, and those need another start.
    pub fn of(file: &Path, changed: &[&str], later: &[&str]) -> Self {
        let changed = match changed {
            [] => "nothing has changed".to_owned(),
            names => format!("changed {}", names.join(", ")),
        };
        let text = format!("{}: {changed}", file.display());
        match later {
            [] => Reloaded { what: "applied", text },
            names => {
                let text = format!("{text}; needs another start: {}", names.join(", "));
                Reloaded { what: "restart", text }
            }
        }
    }
}

/// Reads the key of a configuration, to compare it with the one in force.
///
/// # Errors
/// The result for the operator: it cannot be used.
pub fn key_of(path: Option<&Path>) -> Result<Option<Key>, Reloaded> {
    let security = path.map(|path| key::read(path, 0)).transpose();
    let security = security.map_err(|error| Reloaded::refused(&error))?;
    Ok(security.map(|security| security.key))
}

/// A change of a node that runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    AckWait(Duration),
    /// A 6LoWPAN context, by its number.
    Context(u8, Option<sixlowpan::Context>),
}

/// The settings of a node that runs, and their file.
pub(crate) struct Reload {
    file: PathBuf,
    running: Settings,
    key: Option<Key>,
}

impl Reload {
    /// Creates it for a node with these settings and this key.
    pub(crate) fn new(file: &Path, running: &Settings, key: Option<Key>) -> Self {
        Reload { file: file.to_path_buf(), running: running.clone(), key }
    }

    /// Reads the file again. Returns what the node has to change, and the result.
    pub(crate) fn again(&mut self) -> (Vec<Change>, Reloaded) {
        let new = match Settings::from_file(&self.file) {
            Ok(new) => new,
            Err(error) => return (Vec::new(), Reloaded::refused(&error)),
        };
        let key = match key_of(new.key_file.as_deref()) {
            Ok(key) => key,
            Err(refused) => return (Vec::new(), refused),
        };
        let (mut changes, mut changed) = (Vec::new(), Vec::new());
        if new.ack_wait_ms != self.running.ack_wait_ms {
            self.running.ack_wait_ms = new.ack_wait_ms;
            changes.push(Change::AckWait(Duration::from_millis(new.ack_wait_ms.into())));
            changed.push("ack_wait_ms");
        }
        // Otherwise they come from routers, or go to other nodes.
        let is_own = |settings: &Settings| {
            matches!(settings.discovery, Discovery::Off | Discovery::Neighbour)
        };
        if new.context != self.running.context && is_own(&new) && is_own(&self.running) {
            let old = core::mem::replace(&mut self.running.context, new.context.clone());
            changes.extend(old.iter().map(|context| Change::Context(context.id, None)));
            changes.extend(new.context.iter().map(|context| {
                let settings::Prefix { address: prefix, len } = context.prefix;
                Change::Context(context.id, Some(sixlowpan::Context { prefix, len }))
            }));
            changed.push("context");
        }
        let mut later = self.waiting(&new);
        if key != self.key && !later.contains(&"key_file") {
            later.push("the key in key_file");
        }
        (changes, Reloaded::of(&self.file, &changed, &later))
    }

    /// Returns the names of the keys whose new values need another start.
    fn waiting(&self, new: &Settings) -> Vec<&'static str> {
        let (a, b) = (&self.running, new);
        let all = [
            ("extended", a.extended != b.extended),
            ("short", a.short != b.short),
            ("pan", a.pan != b.pan),
            ("channel", a.channel != b.channel),
            ("key_file", a.key_file != b.key_file),
            ("forward", a.forward != b.forward),
            ("discovery", a.discovery != b.discovery),
            ("rpl", a.rpl != b.rpl),
            ("addresses", a.addresses != b.addresses),
            ("context", a.context != b.context),
            ("neighbour", a.neighbour != b.neighbour),
            ("route", a.route != b.route),
        ];
        all.into_iter().filter(|(_, differs)| *differs).map(|(name, _)| name).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "extended = \"02:12:4b:00:00:00:00:0b\"\n";

    fn running(name: &str) -> Reload {
        let name = format!("kinglet-node-{}-{name}", std::process::id());
        let file = std::env::temp_dir().join(name);
        std::fs::write(&file, TEXT).unwrap();
        Reload::new(&file, &Settings::from_file(&file).unwrap(), None)
    }

    fn after(reload: &mut Reload, text: &str) -> (Vec<Change>, String) {
        std::fs::write(&reload.file, text).unwrap();
        let (changes, result) = reload.again();
        (changes, result.text)
    }

    #[test]
    fn what_can_change_changes_once() {
        let mut reload = running("changes");
        assert!(after(&mut reload, TEXT).1.ends_with(": nothing has changed"));
        let one =
            format!("{TEXT}ack_wait_ms = 9\ncontext = [{{ id = 3, prefix = \"fd00::/64\" }}]");
        let (changes, says) = after(&mut reload, &one);
        assert!(says.ends_with(": changed ack_wait_ms, context"), "{says}");
        let prefix = "fd00::".parse().unwrap();
        let context = Change::Context(3, Some(sixlowpan::Context { prefix, len: 64 }));
        assert_eq!(changes, [Change::AckWait(Duration::from_millis(9)), context]);
        let (changes, says) = after(&mut reload, &one);
        assert_eq!((changes.len(), says.ends_with(": nothing has changed")), (0, true));
        let (changes, _) = after(&mut reload, &format!("{TEXT}ack_wait_ms = 9\n"));
        assert_eq!(changes, [Change::Context(3, None)]);
        let _ = std::fs::remove_file(&reload.file);
    }

    #[test]
    fn what_cannot_change_is_named_each_time() {
        let mut reload = running("restart");
        for (more, names) in [
            ("short = 7\npan = 8\nchannel = 11", "short, pan, channel"),
            ("forward = true\ndiscovery = \"neighbour\"", "forward, discovery"),
            ("rpl = { role = \"leaf\" }\naddresses = [\"fd00::1/64\"]", "rpl, addresses"),
            (
                "discovery = \"host\"\ncontext = [{ id = 3, prefix = \"fd00::/64\" }]",
                "discovery, context",
            ),
            (
                "neighbour = [{ address = \"fd00::1\", link = \"0x0001\" }]\n\
                 route = [{ to = \"::/0\", via = \"0x0001\" }]",
                "neighbour, route",
            ),
        ] {
            for _ in 0..2 {
                let (changes, says) = after(&mut reload, &format!("{TEXT}{more}\n"));
                let end = format!(": nothing has changed; needs another start: {names}");
                assert!(says.ends_with(&end), "{says}");
                assert_eq!(changes, []);
            }
        }
        let (_, says) = after(&mut reload, &TEXT.replace(":0b", ":0c"));
        assert!(says.ends_with("start: extended"), "{says}");
        reload.running.discovery = Discovery::Host;
        let (changes, says) =
            after(&mut reload, &format!("{TEXT}context = [{{ id = 3, prefix = \"fd00::/64\" }}]"));
        assert!(changes.is_empty() && says.ends_with("start: discovery, context"), "{says}");
        let _ = std::fs::remove_file(&reload.file);
    }

    #[test]
    fn another_key_needs_another_start() {
        use std::os::unix::fs::PermissionsExt;
        let mut reload = running("key");
        let key = reload.file.with_extension("key");
        std::fs::write(&key, "00".repeat(16)).unwrap();
        std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o600)).unwrap();
        let text = format!("{TEXT}key_file = \"{}\"\n", key.display());
        assert!(after(&mut reload, &text).1.ends_with("start: key_file"));
        reload.running.key_file = Some(key.clone());
        assert!(after(&mut reload, &text).1.ends_with("start: the key in key_file"));
        reload.key = Some(Key([0; 16]));
        assert!(after(&mut reload, &text).1.ends_with(": nothing has changed"));
        std::fs::remove_file(&key).unwrap();
        let (changes, says) = after(&mut reload, &format!("{text}ack_wait_ms = 9\n"));
        assert!(says.contains("cannot be read") && says.contains("stays in force"), "{says}");
        assert_eq!(changes, []);
        let (_, says) = after(&mut reload, "extendet = 3");
        assert!(says.ends_with("; the former configuration stays in force"), "{says}");
        let _ = std::fs::remove_file(&reload.file);
    }
}

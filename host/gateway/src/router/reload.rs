//! SIGHUP: the configuration is read again. What can change while the router runs, changes; the
//! rest is named, and takes effect at the next start.

use super::network::{Change, Mailbox};
use super::settings::Settings;
use super::tun_config;
use crate::show::Notice;
use crate::tun::TunConfig;
use kinglet::radio::Key;
use kinglet_scenario::Routing;
use kinglet_time::Duration;
use kinglet_zep::link::Link;
use kinglet_zep::reload::{Reloaded, key_of};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use tokio::sync::mpsc::UnboundedSender;

/// The settings of a router that runs, and where changes of them go.
pub(crate) struct Reload {
    file: PathBuf,
    /// The radio, if the command line gives it.
    radio: Option<Link>,
    /// The settings in force.
    running: Settings,
    /// The key in force.
    key: Option<Key>,
    mailbox: Rc<Mailbox>,
    device: UnboundedSender<TunConfig>,
}

impl Reload {
    /// Creates it for a router with these settings, which come from `file`, except a given `radio`.
    pub(crate) fn new(
        (file, radio): (&Path, Option<&Link>),
        running: &Settings,
        key: Option<Key>,
        mailbox: Rc<Mailbox>,
        device: UnboundedSender<TunConfig>,
    ) -> Self {
        let (file, radio) = (file.to_path_buf(), radio.cloned());
        Reload { file, radio, running: running.clone(), key, mailbox, device }
    }

    /// Reads the configuration again, and passes changes on. Returns what has happened.
    pub(crate) fn again(&mut self) -> Notice {
        let new = match Settings::from_file(&self.file, self.radio.as_ref()) {
            Ok(new) => new,
            Err(error) => return Notice::of_reload(Reloaded::refused(&error)),
        };
        let key = match key_of(new.key_file.as_deref()) {
            Ok(key) => key,
            Err(refused) => return Notice::of_reload(refused),
        };
        let (changed, mut later) = (self.apply(&new), self.waiting(&new));
        if key != self.key && !later.contains(&"key_file") {
            later.push("the key in key_file");
        }
        Notice::of_reload(Reloaded::of(&self.file, &changed, &later))
    }

    /// Applies what can change while the router runs. Returns the names of the keys.
    fn apply(&mut self, new: &Settings) -> Vec<&'static str> {
        let mut changed = Vec::new();
        if new.ack_wait_ms != self.running.ack_wait_ms {
            self.running.ack_wait_ms = new.ack_wait_ms;
            let wait = Duration::from_millis(new.ack_wait_ms.into());
            self.mailbox.put(Change::AckWait(wait));
            changed.push("ack_wait_ms");
        }
        if !distributes(&self.running)
            && !distributes(new)
            && new.network.contexts != self.running.network.contexts
        {
            self.running.network.contexts = new.network.contexts;
            self.mailbox.put(Change::Contexts(new.network.contexts.unwrap_or_default()));
            changed.push("network.contexts");
        }
        let (old, prefix) = (tun_config(&self.running), new.network.prefix);
        let device =
            TunConfig { address: prefix.host(), prefix_len: prefix.host_len(), ..old.clone() };
        if device != old && prefix.mesh() == old.mesh {
            self.running.network.prefix = prefix;
            // Its keeper runs as long as the router.
            let _ = self.device.send(device);
            changed.push("tun.address");
        }
        changed
    }

    /// Returns the names of the keys whose new values need another start.
    fn waiting(&self, new: &Settings) -> Vec<&'static str> {
        let (a, b) = (&self.running, new);
        let (m, n) = (&a.network, &b.network);
        let all = [
            ("radio", a.radio != b.radio),
            ("key_file", a.key_file != b.key_file),
            ("state", a.state != b.state),
            ("status", a.status != b.status),
            ("network.pan", m.mac.pan_id != n.mac.pan_id),
            ("network.channel", m.radio.channel != n.radio.channel),
            ("network.power_dbm", m.radio.tx_power_dbm != n.radio.tx_power_dbm),
            ("network.eui64 or short", m.link_addresses != n.link_addresses),
            ("network.prefix", m.prefix.mesh() != n.prefix.mesh()),
            ("network.routing", m.routing != n.routing),
            ("network.rpl_…", m.routing == n.routing && m.rpl != n.rpl),
            ("network.discovery", m.discovery != n.discovery),
            ("network.contexts", m.contexts != n.contexts),
            ("tun.name", a.tun != b.tun),
            ("tun.mtu", m.net.mtu != n.net.mtu),
        ];
        all.into_iter().filter(|(_, differs)| *differs).map(|(name, _)| name).collect()
    }
}

/// Returns true if the router distributes the contexts, and nodes keep them.
fn distributes(settings: &Settings) -> bool {
    settings.network.routing == Routing::Mesh || settings.network.discovery
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;
    use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

    const TEXT: &str = "radio = \"zep://127.0.0.1\"\n[network]\nprefix = \"fd00:5::/64\"\n\
                        eui64 = \"02:12:4b:00:00:00:00:0a\"\n[tun]\n\
                        address = \"fd00:5:0:1::1/64\"\n";

    /// A router that runs with this text, and the configurations that its device gets.
    fn running(name: &str) -> (Reload, UnboundedReceiver<TunConfig>) {
        let file = std::env::temp_dir().join(format!("kinglet-{}-{name}", std::process::id()));
        std::fs::write(&file, TEXT).unwrap();
        let settings = Settings::from_file(&file, None).unwrap();
        let (device, configs) = unbounded_channel();
        (Reload::new((&file, None), &settings, None, Rc::default(), device), configs)
    }

    fn text_after(reload: &mut Reload, text: &str) -> String {
        std::fs::write(&reload.file, text).unwrap();
        let notice = reload.again();
        serde_json::to_value(notice).unwrap()["text"].as_str().unwrap().to_owned()
    }

    #[test]
    fn what_can_change_changes_once() {
        let (mut reload, mut configs) = running("changes");
        assert!(text_after(&mut reload, TEXT).ends_with(": nothing has changed"));
        let text = format!("ack_wait_ms = 9\n{TEXT}").replace(
            "[tun]\naddress = \"fd00:5:0:1::1/64\"",
            "contexts = [\"fd00:5::/64\"]\n[tun]\naddress = \"fd00:5:0:2::7/60\"",
        );
        let says = text_after(&mut reload, &text);
        assert!(says.ends_with(": changed ack_wait_ms, network.contexts, tun.address"), "{says}");
        let config = configs.try_recv().expect("a configuration");
        assert_eq!((config.address.to_string(), config.prefix_len), ("fd00:5:0:2::7".into(), 60));
        assert!(text_after(&mut reload, &text).ends_with(": nothing has changed"));
        assert!(configs.try_recv().is_err());
        let _ = std::fs::remove_file(&reload.file);
    }

    #[test]
    fn what_cannot_change_is_named_each_time() {
        let (mut reload, mut configs) = running("restart");
        for (old, new, names) in [
            ("zep://127.0.0.1", "zep://[::1]", "radio"),
            ("[tun]", "channel = 11\npan = 7\n[tun]", "network.pan, network.channel"),
            (
                "[tun]",
                "power_dbm = 3\nshort = 7\n[tun]",
                "network.power_dbm, network.eui64 or short",
            ),
            ("[tun]", "routing = \"static\"\n[tun]", "network.routing"),
            ("[tun]", "rpl_option = false\n[tun]", "network.rpl_…"),
            (
                "[tun]",
                "discovery = true\ncontexts = [\"fd00::/64\"]\n[tun]",
                "network.discovery, network.contexts",
            ),
            ("[tun]", "[tun]\nname = \"kl7\"\nmtu = 1400", "tun.name, tun.mtu"),
            ("radio", "status = \"s\"\nstate = \"d\"\nradio", "state, status"),
            ("fd00:5::/64", "fd00:9::/64", "network.prefix"),
        ] {
            for _ in 0..2 {
                let says = text_after(&mut reload, &TEXT.replace(old, new));
                let end = format!(": nothing has changed; needs another start: {names}");
                assert!(says.ends_with(&end), "{says}");
            }
        }
        assert!(configs.try_recv().is_err());
        let _ = std::fs::remove_file(&reload.file);
    }

    #[test]
    fn changes_that_depend_on_others_that_need_another_start_wait_too() {
        let (mut reload, mut configs) = running("together");
        // Contexts that the router has distributed, a device outside of another prefix, and a key.
        reload.running.network.discovery = true;
        let contexts = TEXT.replace("[tun]", "contexts = [\"fd00:5::/64\"]\n[tun]");
        let says = text_after(&mut reload, &contexts);
        assert!(says.ends_with("start: network.discovery, network.contexts"), "{says}");
        reload.running.network.discovery = false;
        let prefix = TEXT.replace("fd00:5::/64", "fd00:9::/64").replace("1::1", "2::1");
        let says = text_after(&mut reload, &prefix);
        assert!(says.ends_with(": nothing has changed; needs another start: network.prefix"));
        assert!(configs.try_recv().is_err());
        let key = reload.file.with_extension("key");
        std::fs::write(&key, "00".repeat(16)).unwrap();
        std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o600)).unwrap();
        let secured = format!("key_file = \"{}\"\nstate = \"d\"\n{TEXT}", key.display());
        let says = text_after(&mut reload, &secured);
        assert!(says.ends_with("start: key_file, state"), "{says}");
        let _ = (std::fs::remove_file(&key), std::fs::remove_file(&reload.file));
    }

    #[test]
    fn mistakes_leave_everything_as_it_is() {
        let (mut reload, mut configs) = running("mistakes");
        let wrong = TEXT.replace("address", "adress");
        let says = text_after(&mut reload, &wrong);
        assert!(says.contains("did you mean `address`?; the former configuration stays"), "{says}");
        let key = format!("key_file = \"none\"\nstate = \"d\"\n{TEXT}").replace("1::1", "2::1");
        let says = text_after(&mut reload, &key);
        assert!(says.contains("cannot be read") && says.contains("stays in force"), "{says}");
        assert!(configs.try_recv().is_err());
        let _ = std::fs::remove_file(&reload.file);
    }
}

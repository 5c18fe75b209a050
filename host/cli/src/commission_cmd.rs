//! `kinglet commission`: writes the identities of devices, as images of a page of their flash.

use crate::exit::{Code, Failure, say};
use crate::image;
use crate::outputs::{Files, Input, Output, Slot};
use kinglet_gateway::router::devices::Device;
use kinglet_gateway::router::settings::Settings;
use kinglet_network::capture::whole;
use kinglet_zep::key;
use std::fmt::Write as _;
use std::fs::{self, Permissions};
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt;

#[derive(clap::Args)]
#[command(after_help = "\
Example, from the project's root:
  kinglet commission examples/greenhouse.toml --out greenhouse

The configuration is that of `kinglet router`, with a section [[node]] for each
device: name, EUI-64, short address. PAN, channel and key are the router's. For
each device DIR gets NAME.hex and NAME.uf2 with one page of flash, which the
crate kinglet-identity reads at the device's start. Only the owner may read
these files, since they contain the key. To keep the frame counters of a device
that gets a new page, do not erase the rest of its flash.

Exit codes: 2 the command line, the configuration or the key is wrong; 3 a file
cannot be read or written.")]
pub(crate) struct Args {
    /// The configuration of router and devices
    #[arg(value_name = "ROUTER.toml")]
    file: Input,
    /// Write the images to this directory
    #[arg(long, value_name = "DIR")]
    out: Output,
    /// Only the device of this name
    #[arg(long, value_name = "NAME")]
    only: Option<String>,
    /// Print the devices and their files as JSON
    #[arg(long)]
    json: bool,
}

/// A device and its files.
struct Images<'a> {
    device: &'a Device,
    hex: Slot,
    uf2: Slot,
}

pub(crate) fn run(args: &Args) -> Result<Code, Failure> {
    let mut files = Files::default();
    let file = files.reads("the configuration", &args.file);
    let settings = Settings::from_file(file, None)?;
    let wrong = |message: String| Failure::usage(format!("{}: {message}", file.display()));
    let Some(key_file) = &settings.key_file else {
        let right = "give `key_file`, a file that `openssl rand -hex 16` fills, and `state`";
        return Err(wrong(format!("devices need the key of the network; {right}")));
    };
    files.reads_too("the key", key_file);
    let chosen = chosen(&settings.devices, args.only.as_deref()).map_err(wrong)?;
    let dir = files.directory("--out", &args.out);
    let images: Vec<Images<'_>> = chosen
        .into_iter()
        .map(|device| Images {
            device,
            hex: files.inside(dir, &format!("{}.hex", device.name)),
            uf2: files.inside(dir, &format!("{}.uf2", device.name)),
        })
        .collect();
    let outputs = files.check()?;
    let key = key::read(key_file, 0).map_err(|error| Failure {
        code: if error.is_io() { Code::Io } else { Code::Usage },
        message: error.to_string(),
    })?;
    let flash = settings.flash;
    let private = |octets: &[u8], slot| {
        let mode = || Permissions::from_mode(0o600);
        outputs.write_by(slot, |path| {
            whole::replace(path, |out| {
                out.set_permissions(mode())?;
                out.write_all(octets)
            })?;
            // An old file has kept its own.
            fs::set_permissions(path, mode())
        });
    };
    let mut report = Vec::new();
    for Images { device, hex, uf2 } in images {
        let identity = device.identity(&settings.network, key.key);
        let page = identity.write().map_err(|error| wrong(format!("{}: {error}", device.name)))?;
        private(image::hex(flash.page, &page).map_err(Failure::usage)?.as_bytes(), hex);
        private(&image::uf2(flash.page, flash.family, &page), uf2);
        report.push(serde_json::json!({
            "name": device.name,
            "eui64": identity.eui64.map(|octet| format!("{octet:02x}")).join(":"),
            "short": identity.short,
            "page": flash.page,
            "hex": outputs.path(hex),
            "uf2": outputs.path(uf2),
        }));
    }
    say(&if args.json { json(&report) } else { text(&report) });
    Ok(Code::Success)
}

/// Returns the devices that get images.
fn chosen<'a>(all: &'a [Device], only: Option<&str>) -> Result<Vec<&'a Device>, String> {
    let Some(only) = only else {
        let all: Vec<_> = all.iter().collect();
        let right = "name each in a section [[node]] with `name` and `eui64`";
        return if all.is_empty() { Err(format!("it has no devices; {right}")) } else { Ok(all) };
    };
    match all.iter().find(|device| device.name == only) {
        Some(device) => Ok(vec![device]),
        None => {
            let names: Vec<_> = all.iter().map(|device| device.name.as_str()).collect();
            Err(format!("--only: no device \"{only}\"; there are {}", names.join(", ")))
        }
    }
}

fn json(report: &[serde_json::Value]) -> String {
    serde_json::json!({ "devices": report }).to_string() + "\n"
}

fn text(report: &[serde_json::Value]) -> String {
    let mut text = String::new();
    for device in report {
        let word = |key: &str| device[key].as_str().unwrap_or_default().to_owned();
        let _ =
            writeln!(text, "{} {}: {} {}", word("name"), word("eui64"), word("hex"), word("uf2"));
    }
    text
}

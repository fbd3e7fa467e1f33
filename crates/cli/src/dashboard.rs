//! `farad dashboard`: a page that shows runs while they train. The server is in `farad-dashboard`.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use clap::Args;
use farad::run::{Stop, json};
use farad_dashboard::{Dashboard, KindsShown};

use crate::arguments::{OutputFlags, whole};
use crate::circuits;
use crate::error::Result;
use crate::kinds::KINDS;
use crate::look;
use crate::pages;
use crate::signals::on_ending;
use crate::source::RUNS;

pub const DASHBOARD_EXAMPLES: &str = "\
Examples:
  farad dashboard                      the runs in `runs`, at http://127.0.0.1:8017/
  farad dashboard runs/life-5 --open   one run, in the browser at once
  farad dashboard other --port 0       any free port

It answers only this machine, and writes nothing but the notes and tags that you type.
From another machine, use a tunnel:
  ssh -L 8017:127.0.0.1:8017 HOST

Keys of --json:
  address";

/// Options of `farad dashboard`.
#[derive(Debug, Args)]
pub struct DashboardOptions {
    /// The folder that has the runs, or one run [default: runs]
    #[arg(value_name = "RUNS")]
    pub folder: Option<PathBuf>,
    /// The port on this machine; 0 takes any free one
    #[arg(long, value_name = "N", default_value_t = 8017, allow_negative_numbers = true, value_parser = whole(0, u16::MAX))]
    pub port: u16,
    /// Open the page in the browser
    #[arg(long)]
    pub open: bool,
    #[command(flatten)]
    pub output: OutputFlags,
}

/// What the page knows of kinds of training.
const SIGHT: KindsShown = KindsShown { kinds: KINDS, newest: circuits::newest, moving: pages::newest };

/// Serves the page until Ctrl-C.
pub fn run(options: &DashboardOptions) -> Result<()> {
    crate::ranks::one_process("dashboard")?;
    // The usual folder need not be there yet: the first run makes it, and the page waits for that.
    let dashboard = match &options.folder {
        Some(folder) => Dashboard::open(folder, options.port, SIGHT)?,
        None => Dashboard::expect(Path::new(RUNS), options.port, SIGHT)?,
    };
    let stop = Stop::new();
    let asked = stop.clone();
    // The second time the process ends at once.
    on_ending(move |ending| if asked.is_set() { ending.now() } else { asked.set() });
    let address = dashboard.address();
    let mut out = look::out();
    match options.output.json {
        true => writeln!(out, "{}", json!({ "address": address }))?,
        false => writeln!(out, "{address}")?,
    }
    out.flush()?;
    drop(out);
    options.output.talk().say("Ctrl-C ends it");
    if options.open && !opens(&address) {
        look::warn("dashboard: no browser could be started; open the address yourself");
    }
    Ok(dashboard.serve(&stop)?)
}

/// Hands an address to whatever opens addresses on this system; whether that could be started.
fn opens(address: &str) -> bool {
    let program = match std::env::consts::OS {
        "macos" => "open",
        "windows" => "explorer",
        _ => "xdg-open",
    };
    let mut command = Command::new(program);
    command.arg(address).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().is_ok()
}

//! `farad watch`: an episode of what a run has learned, as a film.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use farad::Device;
use farad::run::{Picture, Run};
use farad_rl::controller::{self, CircuitController};
use farad_rl::creatures;
use farad_rl::{Film, film, train};
use serde_json::json;

use crate::arguments::WatchOptions;
use crate::error::{Error, Result};
use crate::look::{self, counted, shown};
use crate::source::{has_folder, open_run};

/// Milliseconds of a frame.
const FRAME: u64 = 40;
const FILM: &str = "episode.gif";

/// A kind of training whose runs can be watched.
struct WatchedKind {
    kind: &'static str,
    film: fn(&Run, &WatchOptions, &Device) -> Result<Film>,
}

const KINDS: [WatchedKind; 3] = [
    WatchedKind { kind: train::KIND, film: agent },
    WatchedKind { kind: controller::KIND, film: circuit },
    WatchedKind { kind: creatures::KIND, film: creature },
];

/// Plays an episode and writes it.
pub fn run(options: &WatchOptions) -> Result<()> {
    let run = open_run(&options.run)?;
    let path = || run.path().display().to_string();
    let watched = KINDS.iter().find(|row| row.kind == run.kind());
    let watched = watched.ok_or_else(|| Error::NotWatched { path: path(), kind: run.kind().into() })?;
    let target = target(options, &run)?;
    let device = match options.device.asked()? {
        Some(device) => device,
        None => Device::cpu(),
    };
    let film = (watched.film)(&run, options, &device)?;
    write(&film, options, &target)?;
    let mut out = look::out();
    if options.output.json {
        let (frames, steps, total) = (film.frames.len(), film.steps, film.total);
        let film = target.display().to_string();
        writeln!(out, "{}", json!({ "film": film, "frames": frames, "steps": steps, "return": total }))?;
    } else {
        writeln!(out, "{}, return {:.1}", counted(film.steps, "step"), film.total)?;
        writeln!(out, "film {}", shown(&target).display())?;
    }
    Ok(out.flush()?)
}

fn agent(run: &Run, options: &WatchOptions, device: &Device) -> Result<Film> {
    let (settings, agents, _) = train::learned(run, device)?;
    let first = settings.seed;
    let agent = options.seed.map_or(Some(0), |seed| seed.checked_sub(first).map(|n| n as usize));
    let Some(agent) = agent.filter(|&agent| agent < settings.seeds) else {
        let seeds = settings.all_seeds().map(|seed| seed.to_string()).collect::<Vec<_>>().join(", ");
        return Err(Error::NoSeed { op: "watch", seed: options.seed.unwrap_or(first), seeds });
    };
    let environment = train::environment_of(&settings, device)?;
    Ok(film(&*environment, &agents.one(agent), options.episode, options.most, device)?)
}

fn circuit(run: &Run, options: &WatchOptions, device: &Device) -> Result<Film> {
    let circuit = CircuitController::new(controller::simplified(run, &())?)?;
    Ok(film(&*circuit.world(device)?, &circuit, options.episode, options.most, device)?)
}

fn creature(run: &Run, options: &WatchOptions, device: &Device) -> Result<Film> {
    let (settings, archive, _) = creatures::evolved(run)?;
    Ok(creatures::film(&settings, &archive, options.episode, options.most, device)?)
}

/// Where the film goes: to what is named, which must be new, else into the run's folder under a name that is free.
fn target(options: &WatchOptions, run: &Run) -> Result<PathBuf> {
    let taken = |path: &Path| {
        path.exists() && (!path.is_dir() || path.read_dir().is_ok_and(|mut all| all.next().is_some()))
    };
    let named = options.gif.as_ref().map(|path| (path, "--gif"));
    if let Some((path, flag)) = named.or(options.frames.as_ref().map(|path| (path, "--frames"))) {
        return match taken(path) {
            true => Err(Error::FileExists { op: "watch", path: path.display().to_string(), flag }),
            false if flag == "--gif" && !has_folder(path) => {
                Err(Error::NoFolder { op: "watch", path: path.display().to_string(), flag })
            }
            false => Ok(path.clone()),
        };
    }
    let named = |n: u32| match n {
        1 => run.path().join(FILM),
        _ => run.path().join(format!("episode-{n}.gif")),
    };
    Ok((1..).map(named).find(|path| !path.exists()).expect("there are enough numbers"))
}

fn write(film: &Film, options: &WatchOptions, target: &Path) -> Result<()> {
    if options.frames.is_none() {
        let last = Duration::from_millis(40 * FRAME);
        return Ok(Picture::write_film(target, &film.frames, Duration::from_millis(FRAME), last)?);
    }
    std::fs::create_dir_all(target)?;
    for (n, frame) in film.frames.iter().enumerate() {
        frame.write_png(target.join(format!("frame-{n:05}.png")))?;
    }
    Ok(())
}

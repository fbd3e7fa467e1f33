//! `farad grow`: the body of a genotype, as a world that can be trained in.

use std::io::Write;
use std::path::Path;

use farad::Device;
use farad::run::Run;
use farad_rl::creatures;
use farad_world::{Genotype, World, WorldCamera};
use serde_json::json;

use crate::arguments::GrowOptions;
use crate::error::{Error, Result};
use crate::look::{self, counted, shown};
use crate::source::has_folder;

/// Width and height of pictures.
const SIZE: (usize, usize) = (480, 320);

/// Grows a body and writes what is asked for.
pub fn run(options: &GrowOptions) -> Result<()> {
    crate::ranks::one_process("grow")?;
    let files = [(&options.out, "--out"), (&options.genotype, "--genotype"), (&options.picture, "--picture")];
    for (path, flag) in files {
        if let Some(path) = path.as_ref().filter(|path| path.exists()) {
            return Err(Error::FileExists { op: "grow", path: path.display().to_string(), flag });
        }
        if let Some(path) = path.as_ref().filter(|path| !has_folder(path)) {
            return Err(Error::NoFolder { op: "grow", path: path.display().to_string(), flag });
        }
    }
    let genotype = genotype(options)?;
    let grown = genotype.grown().map_err(farad::Error::from)?;
    let description = grown.description();
    let world = World::new(&description, &Device::cpu()).map_err(farad::Error::from)?;
    if let Some(path) = &options.out {
        write(path, description.to_json().as_bytes())?;
    }
    if let Some(path) = &options.genotype {
        write(path, genotype.to_json().as_bytes())?;
    }
    if let Some(path) = &options.picture {
        let camera = WorldCamera::for_world(&world).sized(SIZE.0, SIZE.1);
        world.picture(&world.reset(1, 0), 0, &camera.showing(1.4 * grown.extent() + 0.3))?.write_png(path)?;
    }
    let mut out = look::out();
    let (parts, joints, motors) = (grown.parts.len(), description.joints.len(), world.motors());
    if options.output.json {
        let shown = |path: &Option<std::path::PathBuf>| path.as_ref().map(|path| path.display().to_string());
        let value = json!({
            "name": genotype.name, "parts": parts, "joints": joints, "motors": motors, "mass": grown.mass(),
            "extent": grown.extent(), "world": shown(&options.out), "genotype": shown(&options.genotype),
            "picture": shown(&options.picture),
        });
        writeln!(out, "{value}")?;
    } else {
        let (parts, motors) = (counted(parts, "part"), counted(motors, "motor"));
        let (mass, extent) = (grown.mass(), grown.extent());
        writeln!(out, "{}: {parts}, {motors}, {mass:.1} kg, {extent:.2} m", genotype.name)?;
        for (path, what) in
            [(&options.out, "world"), (&options.genotype, "genotype"), (&options.picture, "picture")]
        {
            if let Some(path) = path {
                writeln!(out, "{what} {}", shown(path).display())?;
            }
        }
    }
    Ok(out.flush()?)
}

fn genotype(options: &GrowOptions) -> Result<Genotype> {
    let Some(source) = &options.source else {
        return Ok(Genotype::random(options.random.unwrap_or_default()));
    };
    if source.is_dir() {
        let run = Run::open(source)?;
        if run.kind() != creatures::KIND {
            let path = source.display().to_string();
            return Err(Error::NoCreatures { path, kind: run.kind().into() });
        }
        let (_, archive, _) = creatures::evolved(&run)?;
        return Ok(creatures::of_rank(&archive, options.rank)?.genotype.clone());
    }
    let fail = |error| farad::Error::File { op: "grow", path: source.clone(), source: error };
    let text = std::fs::read_to_string(source).map_err(fail)?;
    Ok(Genotype::from_json(&text).map_err(farad::Error::from)?)
}

fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    let fail = |source| farad::Error::File { op: "grow", path: path.into(), source };
    Ok(std::fs::write(path, bytes).map_err(fail)?)
}

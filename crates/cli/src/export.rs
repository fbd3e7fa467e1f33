//! `farad export`: a circuit for other tools.

use std::io::Write;

use farad_circuit::{Circuit, Format, export};
use farad_logic::report::simplified;
use farad_logic::train::Learned;
use serde_json::json;

use crate::arguments::ExportOptions;
use crate::classify;
use crate::error::{Error, Result, did_you_mean};
use crate::kinds::KINDS;
use crate::look;
use crate::source::{Source, pick};

/// Writes the files of a format; none of them may be there yet.
pub fn run(options: &ExportOptions) -> Result<()> {
    let format = format(&options.format)?;
    let circuit = circuit(options)?;
    let files = export(&circuit, format)?;
    let fail = |path: &std::path::Path, source| Error::Write {
        op: "export",
        path: path.display().to_string(),
        source,
    };
    for (name, _) in &files {
        let path = options.out.join(name);
        if path.exists() {
            return Err(Error::FileExists { op: "export", path: path.display().to_string(), flag: "--out" });
        }
    }
    std::fs::create_dir_all(&options.out).map_err(|source| fail(&options.out, source))?;
    let mut out = look::out();
    for (name, contents) in &files {
        let path = options.out.join(name);
        std::fs::write(&path, contents).map_err(|source| fail(&path, source))?;
        let (path, bytes) = (path.display().to_string(), contents.len());
        match options.output.json {
            true => writeln!(out, "{}", json!({ "file": path, "format": format.name, "bytes": bytes }))?,
            false => writeln!(out, "{path}")?,
        }
    }
    Ok(out.flush()?)
}

fn format(name: &str) -> Result<Format> {
    Format::named(name).map_err(|_| {
        let names: Vec<&str> = Format::ALL.iter().map(|format| format.name).collect();
        let nearest = did_you_mean(name, names.iter().copied());
        Error::Format { name: name.into(), nearest, names: names.join(", ") }
    })
}

fn circuit(options: &ExportOptions) -> Result<Circuit> {
    let path = options.source.display().to_string();
    let refuse = |flags: &[(bool, &'static str)]| match flags.iter().find(|(given, _)| *given) {
        Some(&(_, flag)) => Err(Error::ExportFlag { flag, path: path.clone() }),
        None => Ok(()),
    };
    let (seed, raw) = ((options.seed.is_some(), "--seed"), (options.raw, "--raw"));
    let run = match Source::open("export", &options.source)? {
        Source::Circuit(circuit) => return refuse(&[seed, raw]).map(|()| circuit),
        Source::Run(run) => run,
    };
    if KINDS.named(run.kind()).is_some() {
        return Err(Error::NoCircuit { op: "export", path, kind: run.kind().into() });
    }
    if classify::is_classify(&run) {
        refuse(&[seed])?;
        let circuit =
            if options.format == "html" { classify::circuit_with_counts } else { classify::circuit };
        return Ok(Circuit::Netlist(circuit(&run, options.raw)?));
    }
    let mut learned = Learned::of(&run)?;
    let index = pick("export", &learned, options.seed)?;
    let circuit = learned.circuits.swap_remove(index);
    let mut automaton = if options.raw { circuit.automaton } else { simplified(&run, &circuit)? };
    automaton.cell.meta.extend(learned.configuration.known());
    Ok(Circuit::Automaton(automaton))
}

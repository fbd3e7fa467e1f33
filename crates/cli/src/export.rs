//! `farad export`: a circuit for other tools.

use std::io::Write;

use farad_circuit::{Circuit, Format, export};
use serde_json::json;

use crate::arguments::ExportOptions;
use crate::circuits;
use crate::error::{Error, Result, did_you_mean};
use crate::look;
use crate::source::Source;

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
    match run.kind() {
        circuits::NETWORK => {
            refuse(&[seed])?;
            Ok(Circuit::Netlist(circuits::network(&run, options.raw, options.format == "html")?))
        }
        circuits::AUTOMATON => {
            Ok(Circuit::Automaton(circuits::automaton("export", &run, options.seed, options.raw)?))
        }
        kind => Err(Error::NoCircuit { op: "export", path, kind: kind.into() }),
    }
}

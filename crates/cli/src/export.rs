//! `farad export`: a circuit for other tools.

use std::io::Write;

use farad_circuit::{Circuit, Format, export};
use serde_json::json;

use crate::arguments::ExportOptions;
use crate::circuits::{self, Wanted};
use crate::error::{Error, Result, did_you_mean};
use crate::look;
use crate::source::Source;

/// Writes the files of a format; none of them may be there yet.
pub fn run(options: &ExportOptions) -> Result<()> {
    let format = format(&options.format)?;
    let circuit = pipelined(options, format, circuit(options)?)?;
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

/// Formats with a clock.
const CLOCKED: [&str; 2] = ["verilog", "blif"];

/// The circuit with the registers that were asked for.
fn pipelined(options: &ExportOptions, format: Format, circuit: Circuit) -> Result<Circuit> {
    let Some(levels) = options.pipeline else { return Ok(circuit) };
    match circuit {
        Circuit::Netlist(netlist) if CLOCKED.contains(&format.name) => {
            Ok(Circuit::Netlist(netlist.pipelined(levels)?))
        }
        Circuit::Netlist(_) => Err(Error::Pipeline { why: format!("{} has no clock", format.name) }),
        Circuit::Automaton(_) => {
            Err(Error::Pipeline { why: "the grid of an automaton has its registers already".into() })
        }
    }
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
    let given = [(options.seed.is_some(), "--seed"), (options.raw, "--raw")];
    match (Source::open("export", &options.source)?, given.into_iter().find(|(given, _)| *given)) {
        (Source::Circuit(_), Some((_, flag))) => Err(Error::ExportFlag { flag, path }),
        (Source::Circuit(circuit), None) => Ok(circuit),
        (Source::Run(run), _) => {
            let (seed, raw, votes) = (options.seed, options.raw, options.format == "html");
            circuits::circuit(&run, &Wanted { op: "export", seed, raw, votes })
        }
    }
}

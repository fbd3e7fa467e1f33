//! `farad export`: a circuit or a network for other tools, or a page of what moves.

use std::io::Write;

use farad_circuit::{Circuit, Format, export};
use serde_json::json;

use crate::arguments::ExportOptions;
use crate::circuits::{self, Wanted};
use crate::error::{Error, Result, did_you_mean};
use crate::lm::folders;
use crate::look;
use crate::networks;
use crate::pages::{self, HTML};
use crate::source::{Source, open_run};
use crate::training::Screen;

/// The format of networks.
pub const ONNX: &str = "onnx";

/// The names of all formats.
pub fn formats() -> Vec<&'static str> {
    Format::ALL.iter().map(|format| format.name).chain([ONNX]).chain(folders::FORMATS).collect()
}

/// Writes the files of a format; none of them may be there yet.
pub fn run(options: &ExportOptions) -> Result<()> {
    if folders::FORMATS.contains(&options.format.as_str()) {
        check_plain(options, "weights have no clock")?;
        return folders::run(options);
    }
    let files = if options.format == ONNX {
        let (name, bytes) = network(options)?;
        vec![(name, bytes)]
    } else if let Some(page) = moving(options)? {
        vec![page]
    } else {
        let format = format(&options.format)?;
        let circuit = pipelined(options, format, circuit(options)?)?;
        export(&circuit, format)?.into_iter().map(|(name, text)| (name, text.into())).collect()
    };
    write(options, &files)
}

fn write(options: &ExportOptions, files: &[(String, Vec<u8>)]) -> Result<()> {
    let fail = |path: &std::path::Path, source| Error::Write {
        op: "export",
        path: path.display().to_string(),
        source,
    };
    for (name, _) in files {
        let path = options.out.join(name);
        if path.exists() {
            return Err(Error::FileExists { op: "export", path: path.display().to_string(), flag: "--out" });
        }
    }
    std::fs::create_dir_all(&options.out).map_err(|source| fail(&options.out, source))?;
    let mut out = look::out();
    for (name, contents) in files {
        let path = options.out.join(name);
        std::fs::write(&path, contents).map_err(|source| fail(&path, source))?;
        let (path, bytes) = (path.display().to_string(), contents.len());
        match options.output.json {
            true => writeln!(out, "{}", json!({ "file": path, "format": options.format, "bytes": bytes }))?,
            false => writeln!(out, "{path}")?,
        }
    }
    Ok(out.flush()?)
}

/// The page of a run in which something moves: name and contents of its file. None if another format is asked for, or if
/// there is only a circuit, whose page is another.
fn moving(options: &ExportOptions) -> Result<Option<(String, Vec<u8>)>> {
    if options.format != HTML || !options.source.is_dir() || options.raw {
        return Ok(None);
    }
    let page = pages::page(&open_run(&options.source)?, options.seed);
    if page.is_some() && options.pipeline.is_some() {
        return Err(Error::Pipeline { why: "a page has no clock".into() });
    }
    Ok(page.transpose()?.map(|(name, text)| (name, text.into_bytes())))
}

/// The network of a run: name and contents of its file.
fn network(options: &ExportOptions) -> Result<(String, Vec<u8>)> {
    let path = options.source.display().to_string();
    check_plain(options, "onnx has no clock")?;
    match Source::open("export", &options.source)? {
        Source::Run(run) => networks::onnx(&run),
        Source::Circuit(_) => Err(Error::NoNetwork { path, kind: "circuit".into() }),
    }
}

/// Refuses flags that are for circuits.
fn check_plain(options: &ExportOptions, why: &str) -> Result<()> {
    let given = [(options.seed.is_some(), "--seed"), (options.raw, "--raw")];
    if let Some((_, flag)) = given.into_iter().find(|(given, _)| *given) {
        return Err(Error::ExportFlag { flag, path: options.source.display().to_string() });
    }
    match options.pipeline {
        Some(_) => Err(Error::Pipeline { why: why.into() }),
        None => Ok(()),
    }
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
        let names = formats();
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
            let (seed, raw, votes) = (options.seed, options.raw, options.format == HTML);
            let screen = Screen::new(options.output.talk());
            circuits::circuit(&run, &Wanted { op: "export", seed, raw, votes, watcher: &screen })
        }
    }
}

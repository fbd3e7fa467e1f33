//! `farad export`: a circuit for other tools.

use std::io::Write;

use farad_circuit::{Circuit, Format, export};
use farad_logic::report::simplified;
use farad_logic::train::Learned;

use crate::arguments::ExportOptions;
use crate::classify;
use crate::error::{Error, Result};
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
            return Err(Error::FileExists { path: path.display().to_string() });
        }
    }
    std::fs::create_dir_all(&options.out).map_err(|source| fail(&options.out, source))?;
    let mut out = std::io::stdout().lock();
    for (name, contents) in &files {
        let path = options.out.join(name);
        std::fs::write(&path, contents).map_err(|source| fail(&path, source))?;
        writeln!(out, "{}", path.display())?;
    }
    Ok(out.flush()?)
}

fn format(name: &str) -> Result<Format> {
    Format::named(name).map_err(|_| {
        let names: Vec<&str> = Format::ALL.iter().map(|format| format.name).collect();
        let nearest = farad::nearest(name, names.iter().copied());
        Error::Format {
            name: name.into(),
            nearest: nearest.map_or(String::new(), |name| format!("; did you mean `{name}`?")),
            names: names.join(", "),
        }
    })
}

fn circuit(options: &ExportOptions) -> Result<Circuit> {
    let run = match Source::open("export", &options.source)? {
        Source::Circuit(circuit) => return Ok(circuit),
        Source::Run(run) => run,
    };
    if classify::is_classify(&run) {
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

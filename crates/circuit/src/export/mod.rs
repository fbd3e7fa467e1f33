//! Circuits in other languages: hardware descriptions, programs, shaders, interactive pages.
//!
//! There is one file and one row of [`Format::ALL`] per format. Every export computes what the simulator
//! computes; only gates that outputs or registers depend on are written. Tests compile, run and prove the
//! exports with independent tools. Start at [`export`].

mod blif;
mod c;
mod c_header;
mod digitaljs;
mod html;
mod json;
mod meaning;
mod names;
mod rust;
mod stimulus;
mod straight;
mod verilog;
mod verilog_bench;
mod wgsl;

pub(crate) use meaning::Meaning;

use crate::error::{Error, Result};
use crate::file::Circuit;

/// An export format: a row of the table.
#[derive(Clone, Copy, Debug)]
pub struct Format {
    /// Its name on the command line.
    pub name: &'static str,
    /// The files that it makes; `*` is the circuit's name.
    pub files: &'static [&'static str],
    /// What it is.
    pub about: &'static str,
    /// Writes the files in that order, given the circuit's name as an identifier.
    write: fn(&Circuit, &str) -> Vec<String>,
}

impl Format {
    /// All formats.
    pub const ALL: [Format; 8] = [
        Format {
            name: "verilog",
            files: &["*.v", "*_tb.v"],
            about: "Verilog module (automaton: cell and grid) and a test bench that checks it",
            write: |circuit, name| vec![verilog::write(circuit, name), verilog_bench::write(circuit, name)],
        },
        Format {
            name: "blif",
            files: &["*.blif"],
            about: "Berkeley logic interchange format, for synthesis tools (automaton: its cell)",
            write: |circuit, name| {
                vec![blif::write(circuit.netlist(), name, matches!(circuit, Circuit::Netlist(_)))]
            },
        },
        Format {
            name: "c",
            files: &["*.c", "*.h"],
            about: "C functions on words of 64 samples (automaton: also a step of a grid; classifier: also of one sample)",
            write: |circuit, name| vec![c::write(circuit, name), c_header::write(circuit, name)],
        },
        Format {
            name: "rust",
            files: &["*.rs"],
            about: "Rust functions on words of 64 samples (automaton: also a step of a grid; classifier: also of one sample)",
            write: |circuit, name| vec![rust::write(circuit, name)],
        },
        Format {
            name: "json",
            files: &["*.json"],
            about: "circuit file of this project",
            write: |circuit, _| vec![json::write(circuit)],
        },
        Format {
            name: "digitaljs",
            files: &["*.digitaljs.json"],
            about: "DigitalJS circuit, to look at and click on in a browser (automaton: its cell)",
            write: |circuit, name| vec![digitaljs::write(circuit.netlist(), name)],
        },
        Format {
            name: "wgsl",
            files: &["*.wgsl"],
            about: "WebGPU compute shader on words of 32 samples (automaton: a step of a packed grid)",
            write: |circuit, name| vec![wgsl::write(circuit, name)],
        },
        Format {
            name: "html",
            files: &["*.html"],
            about: "a page that runs it: one file, for any browser (automaton: a grid; pictures: a digit pad)",
            write: |circuit, name| vec![html::write(circuit, name)],
        },
    ];

    /// The format of this name.
    ///
    /// ```
    /// use farad_circuit::Format;
    /// assert_eq!(Format::named("blif")?.files, ["*.blif"]);
    /// assert!(Format::named("pdf").is_err());
    /// # Ok::<(), farad_circuit::Error>(())
    /// ```
    pub fn named(name: &str) -> Result<Format> {
        Format::ALL.into_iter().find(|format| format.name == name).ok_or_else(|| Error::UnknownFormat {
            name: name.into(),
            known: Format::ALL.map(|format| format.name).join(", "),
        })
    }
}

/// Writes a circuit in a format: file names and contents.
///
/// ```
/// use farad_circuit::{Circuit, Format, Netlist, export};
/// let circuit = Circuit::from(Netlist::random(1, 4, 20, 2));
/// let files = export(&circuit, Format::named("verilog")?)?;
/// assert_eq!(files[0].0, "random_1.v");
/// assert!(files[1].1.contains("module random_1_tb"));
/// # Ok::<(), farad_circuit::Error>(())
/// ```
pub fn export(circuit: &Circuit, format: Format) -> Result<Vec<(String, String)>> {
    circuit.check()?;
    // Ports have these names, and a module must not have the name of a port.
    let name = names::Names::new(&["clk", "rst"]).pick(circuit.name());
    let texts = (format.write)(circuit, &name);
    Ok(format.files.iter().zip(texts).map(|(file, text)| (file.replace('*', &name), text)).collect())
}

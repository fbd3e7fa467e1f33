//! Circuits as the text of circuit files, and atomic writes of files.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;

use super::{Circuit, FORMAT, VERSION};
use crate::automaton::Automaton;
use crate::netlist::{GateNode, Netlist, Output, Register, Wire};

/// The text of a circuit file, one gate per line.
pub(super) fn text(circuit: &Circuit) -> String {
    let mut text = String::with_capacity(256 + 24 * circuit.netlist().wires());
    let kind = match circuit {
        Circuit::Netlist(_) => "netlist",
        Circuit::Automaton(_) => "automaton",
    };
    write!(text, "{{\"format\":\"{FORMAT}\",\"version\":{VERSION},\"kind\":\"{kind}\",").expect("a string");
    match circuit {
        Circuit::Netlist(netlist) => push_netlist(&mut text, netlist),
        Circuit::Automaton(Automaton { cell, channels, visible, edge, fire_rate }) => {
            let edge = edge.name();
            write!(
                text,
                "\"channels\":{channels},\"visible\":{visible:?},\"edge\":\"{edge}\",\
                 \"fire_rate\":{fire_rate:?},\n\"cell\":{{"
            )
            .expect("a string");
            push_netlist(&mut text, cell);
            text.push('}');
        }
    }
    text.push_str("}\n");
    text
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

fn push_netlist(text: &mut String, netlist: &Netlist) {
    let Netlist { name, inputs, registers, gates, outputs, meta } = netlist;
    write!(text, "\"name\":{},\"wires\":{},\n\"inputs\":", quoted(name), netlist.wires()).expect("a string");
    push_list(text, inputs, |text, input| text.push_str(&quoted(input)));
    text.push_str(",\n\"registers\":");
    push_list(text, registers, |text, Register { name, initial, next: Wire(next) }| {
        write!(text, "{{\"name\":{},\"initial\":{initial},\"next\":{next}}}", quoted(name))
            .expect("a string");
    });
    text.push_str(",\n\"gates\":[");
    for (n, node) in gates.iter().enumerate() {
        text.push_str(if n == 0 { "\n" } else { ",\n" });
        push_gate(text, node);
    }
    text.push_str("],\n\"outputs\":");
    push_list(text, outputs, |text, Output { name, wire: Wire(wire) }| {
        write!(text, "{{\"name\":{},\"wire\":{wire}}}", quoted(name)).expect("a string");
    });
    if !meta.is_empty() {
        write!(text, ",\n\"meta\":{}", serde_json::Value::Object(meta.clone())).expect("a string");
    }
}

fn push_gate(text: &mut String, GateNode { gate, a, b }: &GateNode) {
    write!(text, "[\"{}\"", gate.name()).expect("a string");
    match (*a, *b) {
        (Wire::NONE, Wire::NONE) => Ok(()),
        (Wire(a), Wire::NONE) => write!(text, ",{a}"),
        (Wire::NONE, Wire(b)) => write!(text, ",null,{b}"),
        (Wire(a), Wire(b)) => write!(text, ",{a},{b}"),
    }
    .expect("a string");
    text.push(']');
}

fn push_list<T>(text: &mut String, items: &[T], push: impl Fn(&mut String, &T)) {
    text.push('[');
    for (n, item) in items.iter().enumerate() {
        if n > 0 {
            text.push(',');
        }
        push(text, item);
    }
    text.push(']');
}

/// Writes a file atomically.
pub(super) fn whole(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let name = path.file_name().ok_or(std::io::ErrorKind::InvalidFilename)?;
    let mut draft = std::ffi::OsString::from(".");
    draft.push(name);
    draft.push(format!(".{}.part", std::process::id()));
    let draft = path.with_file_name(draft);
    let written = std::fs::File::create(&draft).and_then(|mut file| {
        file.write_all(bytes)?;
        file.sync_all()?;
        std::fs::rename(&draft, path)
    });
    if written.is_err() {
        // The first error is the one to report.
        let _ = std::fs::remove_file(&draft);
    }
    written?;
    // A rename is durable only once its folder is synced; not all systems can open folders.
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    std::fs::File::open(folder).and_then(|folder| folder.sync_all()).or(Ok(()))
}

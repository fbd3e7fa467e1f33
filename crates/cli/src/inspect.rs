//! `farad inspect`: what a run or a circuit is made of.

use std::io::Write;

use farad::run::{Run, visible};
use farad_circuit::{Circuit, Gate, Statistics};
use serde_json::{Value, json};

use crate::arguments::InspectOptions;
use crate::circuits;
use crate::error::Result;
use crate::kinds::KINDS;
use crate::look::{self, HEADING, count, paint};
use crate::source::Source;

/// Shows what lies there.
pub fn run(options: &InspectOptions) -> Result<()> {
    let value = match Source::open("inspect", &options.source)? {
        Source::Run(run) => of_run(&run)?,
        Source::Circuit(circuit) => of_circuit(&circuit),
    };
    let mut out = look::out();
    if options.output.json {
        writeln!(out, "{value}")?;
    } else {
        lines(&mut out, &value, 0)?;
    }
    Ok(out.flush()?)
}

/// What its kind knows of a run, and the rule of its simplified circuit if that is written and small.
fn of_run(run: &Run) -> Result<Value> {
    let mut value = KINDS.of(run)?.inspect(run)?;
    if let Some(circuit) = circuits::simplified(run) {
        let statistics = Statistics::of(circuit.netlist());
        value["simplified"] = json!({ "gates": statistics.active_live, "depth": statistics.depth });
        add_tables(&mut value["simplified"], &circuit);
        add_rule(&mut value, &circuit);
    }
    Ok(value)
}

/// Lookup tables of an FPGA, with how many are in a row.
fn add_tables(value: &mut Value, circuit: &Circuit) {
    for inputs in [4, 6] {
        let tables = circuit.netlist().lookup_tables(inputs);
        value[format!("lut{inputs}")] = json!({ "count": tables.count, "depth": tables.depth });
    }
}

fn add_rule(value: &mut Value, circuit: &Circuit) {
    if let Some(rule) = circuit.rule() {
        value["rule"] = json!(rule);
    }
}

fn of_circuit(circuit: &Circuit) -> Value {
    let statistics = Statistics::of(circuit.netlist());
    let counts = Gate::ALL.iter().map(|gate| (gate.name(), statistics.counts[gate.number() as usize]));
    let counts: serde_json::Map<String, Value> =
        counts.filter(|(_, count)| *count > 0).map(|(name, count)| (name.into(), json!(count))).collect();
    let mut value = json!({
        "circuit": circuit.name(),
        "inputs": statistics.inputs,
        "outputs": statistics.outputs,
        "registers": statistics.registers,
        "gates": statistics.gates,
        "active": statistics.active,
        "active_and_live": statistics.active_live,
        "depth": statistics.depth,
        "largest_fan_out": statistics.fan_out,
        "by_function": counts,
    });
    add_tables(&mut value, circuit);
    if let Circuit::Automaton(automaton) = circuit {
        value["automaton"] = json!({
            "channels": automaton.channels,
            "visible": automaton.visible,
            "edge": automaton.edge.name(),
            "fire_rate": automaton.fire_rate,
        });
    }
    add_rule(&mut value, circuit);
    value
}

/// An object as indented lines.
fn lines(out: &mut impl Write, value: &Value, indent: usize) -> std::io::Result<()> {
    let Value::Object(fields) = value else { return writeln!(out, "{}", word(value)) };
    for (key, value) in fields {
        let title = paint(HEADING, key.replace('_', " "));
        let room = " ".repeat(18usize.saturating_sub(key.chars().count()));
        match value {
            // A rule has a line per output.
            Value::Array(items) if key == "rule" => {
                writeln!(out, "{:indent$}{title}", "")?;
                items.iter().try_for_each(|line| writeln!(out, "{:1$}{2}", "", indent + 2, word(line)))?;
            }
            Value::Object(_) => {
                writeln!(out, "{:indent$}{title}", "")?;
                lines(out, value, indent + 2)?;
            }
            Value::Array(items) if items.iter().any(Value::is_object) => {
                writeln!(out, "{:indent$}{title}", "")?;
                for item in items {
                    let fields = item.as_object().into_iter().flatten();
                    let cells =
                        fields.map(|(key, value)| format!("{} {}", key.replace('_', " "), word(value)));
                    writeln!(out, "{:1$}{2}", "", indent + 2, cells.collect::<Vec<_>>().join(", "))?;
                }
            }
            _ => writeln!(out, "{:indent$}{title}{room} {}", "", word(value))?,
        }
    }
    Ok(())
}

/// A value for people: no quotes, no brackets, numbers in groups.
fn word(value: &Value) -> String {
    match value {
        Value::Null => "–".into(),
        Value::Bool(is) => if *is { "yes" } else { "no" }.into(),
        Value::Number(number) => number.as_u64().map_or(number.to_string(), count),
        Value::String(text) if text.is_empty() => "–".into(),
        Value::String(text) => visible(text).into_owned(),
        Value::Array(items) if items.is_empty() => "–".into(),
        Value::Array(items) => items.iter().map(word).collect::<Vec<_>>().join(", "),
        Value::Object(_) => value.to_string(),
    }
}

//! Ops that run subgraphs: conditionals and loops whose conditions are known on the host.

use super::Default::{AnInt, Graph, Ints};
use super::{MANY, Row, row};
use crate::array::Array;
use crate::call::{Attribute, Call};
use crate::error::Result;
use crate::kind::Kind;
use crate::refuse;
use crate::value::Value;

/// The most iterations of a loop.
const MOST_TRIPS: i64 = 1 << 16;

pub const ROWS: &[Row] = &[
    row("If", (1, 1), &[("then_branch", Graph), ("else_branch", Graph)], |call| {
        let branch = if call.input(0)?.int()? != 0 { "then_branch" } else { "else_branch" };
        call.run(branch, Vec::new())
    }),
    row("Loop", (2, MANY), &[("body", Graph)], |call| {
        let most = call.optional(0).map(|count| count.int()).transpose()?.unwrap_or(i64::MAX);
        let mut going = call.optional(1).map(|flag| flag.int()).transpose()?.unwrap_or(1) != 0;
        let mut carried =
            (2..call.inputs.len()).map(|n| call.input(n).cloned()).collect::<Result<Vec<Value>>>()?;
        let mut rows: Vec<Vec<Value>> = Vec::new();
        let mut trip = 0;
        while going && trip < most {
            if trip >= MOST_TRIPS {
                refuse!("a loop does not end (at most {MOST_TRIPS} iterations)");
            }
            let mut given = vec![Array::whole(trip).into(), Array::ints(Kind::Bool, vec![], vec![1]).into()];
            given.extend(carried.iter().cloned());
            let mut results = call.run("body", given)?;
            if results.len() < 1 + carried.len() {
                refuse!(
                    "a body must return a condition and its carried values ({} vs {})",
                    results.len(),
                    1 + carried.len()
                );
            }
            rows.push(results.split_off(1 + carried.len()));
            going = results.remove(0).int()? != 0;
            carried = results;
            trip += 1;
        }
        let scanned = call.wanted.len().saturating_sub(carried.len());
        for place in 0..scanned {
            let parts = rows.iter().map(|row| match row.get(place) {
                Some(value) => value.unsqueeze(0),
                None => refuse!("a body returns fewer results than are used"),
            });
            let parts = parts.collect::<Result<Vec<Value>>>()?;
            carried.push(match parts.is_empty() {
                true => unstacked(call, 1 + carried.len())?,
                false => Value::concat(&parts, 0)?,
            });
        }
        Ok(carried)
    }),
    row(
        "Scan",
        (1, MANY),
        &[
            ("body", Graph),
            ("num_scan_inputs", AnInt),
            ("scan_input_axes", Ints),
            ("scan_input_directions", Ints),
            ("scan_output_axes", Ints),
            ("scan_output_directions", Ints),
        ],
        scan,
    )
    .since(9),
];

/// The rows that a loop without trips stacks: none, of the size that the body says. A size that it leaves open is 0.
fn unstacked(call: &Call, place: usize) -> Result<Value> {
    let port = match call.attributes.get("body") {
        Some(Attribute::Graph(body)) => body.results.get(place),
        _ => None,
    };
    let Some((Some(kind), shape)) = port.map(|port| (port.kind, port.shape.as_ref())) else {
        refuse!(
            "a loop without trips has nothing to stack, and its body does not say of what kind it would be"
        );
    };
    let sizes = shape.into_iter().flatten().map(|size| size.unwrap_or(0));
    Ok(Array::full(kind, [0].into_iter().chain(sizes).collect(), 0.0)?.into())
}

/// Runs a body over the slices of sequences: states go from one trip to the next, other results are stacked.
fn scan(call: &Call) -> Result<Vec<Value>> {
    let all = call.all()?;
    let sequences = super::movement::sizes(&[call.int("num_scan_inputs")?])?[0];
    let Some(count) = all.len().checked_sub(sequences).filter(|_| sequences > 0) else {
        refuse!("there are fewer operands than sequences ({} vs {sequences})", all.len());
    };
    let (mut states, given) = (all[..count].to_vec(), &all[count..]);
    let setting =
        |name: &str, place: usize| call.ints(name).and_then(|list| list.get(place)).copied().unwrap_or(0);
    let mut axes = Vec::new();
    for (place, value) in given.iter().enumerate() {
        axes.push(value.axis(setting("scan_input_axes", place))?);
    }
    let trips = given[0].size(axes[0])?;
    if trips as i64 > MOST_TRIPS {
        refuse!("too many positions ({trips})");
    }
    let mut rows: Vec<Vec<Value>> = Vec::new();
    for trip in 0..trips {
        let mut inputs = states.clone();
        for (place, value) in given.iter().enumerate() {
            let at = if setting("scan_input_directions", place) == 1 { trips - 1 - trip } else { trip };
            inputs.push(value.at(axes[place], at)?);
        }
        let mut results = call.run("body", inputs)?;
        if results.len() < count {
            refuse!("a body must return its states ({} vs {count})", results.len());
        }
        rows.push(results.split_off(count));
        states = results;
    }
    for place in 0..rows.first().map_or(0, |row| row.len()) {
        let mut parts: Vec<Value> = rows.iter().map(|row| row[place].clone()).collect();
        if setting("scan_output_directions", place) == 1 {
            parts.reverse();
        }
        let axis = crate::value::resolve(setting("scan_output_axes", place), parts[0].rank()? + 1)?;
        let parts = parts.iter().map(|part| part.unsqueeze(axis)).collect::<Result<Vec<Value>>>()?;
        states.push(Value::concat(&parts, axis)?);
    }
    Ok(states)
}

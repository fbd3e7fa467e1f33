//! Ops on lists of tensors, and on optional values.

use std::sync::Arc;

use super::Default::{AnInt, Graph, Int};
use super::{MANY, Row, one, row};
use crate::array::Array;
use crate::call::Call;
use crate::error::Result;
use crate::kind::Kind;
use crate::refuse;
use crate::value::{Value, resolve};

pub const ROWS: &[Row] = &[
    row("OptionalHasElement", (0, 1), &[], |call| {
        let there = call.optional(0).is_some() as i64;
        one(Array::ints(Kind::Bool, vec![], vec![there]).into())
    }),
    row("OptionalGetElement", (1, 1), &[], |call| one(call.input(0)?.clone())),
    row("SequenceConstruct", (1, MANY), &[], |call| one(Value::List(Arc::new(call.all()?)))),
    row("SequenceLength", (1, 1), &[], |call| one(Array::whole(list(call, 0)?.len() as i64).into())),
    row("SequenceAt", (2, 2), &[], |call| {
        let list = list(call, 0)?;
        one(list[resolve(call.input(1)?.int()?, list.len())?].clone())
    }),
    row("ConcatFromSequence", (1, 1), &[("axis", AnInt), ("new_axis", Int(0))], |call| {
        let mut parts = list(call, 0)?.to_vec();
        let Some(first) = parts.first() else { refuse!("nothing to concatenate") };
        let new = call.flag("new_axis")?;
        let axis = resolve(call.int("axis")?, first.rank()? + new as usize)?;
        if new {
            parts = parts.iter().map(|part| part.unsqueeze(axis)).collect::<Result<_>>()?;
        }
        one(Value::concat(&parts, axis)?)
    }),
    row("SequenceEmpty", (0, 0), &[("dtype", AnInt)], |_| one(Value::List(Arc::new(Vec::new())))),
    row("SequenceInsert", (2, 3), &[], |call| {
        let mut all = list(call, 0)?.to_vec();
        let place = match call.optional(2) {
            // The position after the last is allowed, too.
            Some(place) => resolve(place.int()?, all.len() + 1)?,
            None => all.len(),
        };
        all.insert(place, call.input(1)?.clone());
        one(Value::List(Arc::new(all)))
    }),
    row("SequenceErase", (1, 2), &[], |call| {
        let mut all = list(call, 0)?.to_vec();
        let place = call.optional(1).map(|place| place.int()).transpose()?.unwrap_or(-1);
        all.remove(resolve(place, all.len())?);
        one(Value::List(Arc::new(all)))
    }),
    row("SplitToSequence", (1, 2), &[("axis", Int(0)), ("keepdims", Int(1))], split),
    row("SequenceMap", (1, MANY), &[("body", Graph)], |call| {
        let first = list(call, 0)?;
        let mut results: Vec<Vec<Value>> = vec![Vec::new(); call.wanted.len()];
        for place in 0..first.len() {
            let own = |n: usize| match call.input(n)? {
                Value::List(list) if list.len() == first.len() => Ok(list[place].clone()),
                Value::List(list) => refuse!("lists differ in length ({} vs {})", list.len(), first.len()),
                other => Ok(other.clone()),
            };
            let given = (0..call.inputs.len()).map(own).collect::<Result<Vec<Value>>>()?;
            let made = call.run("body", given)?;
            if made.len() < results.len() {
                refuse!("a body returns fewer results than are used ({} vs {})", made.len(), results.len());
            }
            results.iter_mut().zip(made).for_each(|(list, value)| list.push(value));
        }
        Ok(results.into_iter().map(|list| Value::List(Arc::new(list))).collect())
    }),
];

/// An operand that is a list.
fn list<'a>(call: &'a Call, place: usize) -> Result<&'a [Value]> {
    match call.input(place)? {
        Value::List(list) => Ok(list),
        _ => refuse!("a list is needed"),
    }
}

fn split(call: &Call) -> Result<Vec<Value>> {
    let x = call.input(0)?;
    let axis = x.axis(call.int("axis")?)?;
    let size = x.size(axis)?;
    let sizes = match call.optional(1) {
        None => vec![1; crate::array::count(&[size])?],
        Some(sizes) if sizes.rank()? == 0 => {
            let Ok(each @ 1..) = usize::try_from(sizes.int()?) else {
                refuse!("not a size: {}", sizes.int()?)
            };
            (0..size.div_ceil(each)).map(|n| each.min(size - n * each)).collect()
        }
        Some(sizes) => super::movement::sizes(&sizes.ints()?)?,
    };
    if sizes.iter().try_fold(0usize, |sum, &part| sum.checked_add(part)) != Some(size) {
        refuse!("sizes of the parts do not add up: {sizes:?} ({size})");
    }
    // Without sizes, parts may lose their axis.
    let flat = call.optional(1).is_none() && !call.flag("keepdims")?;
    let (mut start, mut parts) = (0, Vec::new());
    for part in sizes {
        parts.push(if flat { x.at(axis, start)? } else { x.narrow(axis, start, part)? });
        start += part;
    }
    one(Value::List(Arc::new(parts)))
}

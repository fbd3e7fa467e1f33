//! Attention, and rotary position embeddings.

use super::Default::{AFloat, AnInt, Float, Int};
use super::{Row, one, row};
use crate::array::Array;
use crate::call::Call;
use crate::error::Result;
use crate::kind::Kind;
use crate::pointwise::Compare;
use crate::reduce::Fold;
use crate::refuse;
use crate::value::Value;

pub const ROWS: &[Row] = &[
    row(
        "Attention",
        (3, 7),
        &[
            ("is_causal", Int(0)),
            ("kv_num_heads", AnInt),
            ("q_num_heads", AnInt),
            ("qk_matmul_output_mode", Int(0)),
            ("scale", AFloat),
            ("softcap", Float(0.0)),
            ("softmax_precision", AnInt),
            ("left_window_size", Int(-1)),
            ("right_window_size", Int(-1)),
        ],
        attention,
    ),
    row(
        "RotaryEmbedding",
        (3, 4),
        &[("interleaved", Int(0)), ("num_heads", Int(0)), ("rotary_embedding_dim", Int(0))],
        rotary,
    ),
];

/// `[batch, length, heads · width]` as `[batch, heads, length, width]`.
fn heads(x: &Value, count: usize) -> Result<Value> {
    let shape = x.shape()?;
    match shape[..] {
        [_, _, _, _] => Ok(x.clone()),
        [batch, length, width] if count > 0 && width % count == 0 => {
            x.reshape(&[batch, length, count, width / count])?.permute(&[0, 2, 1, 3])
        }
        _ => refuse!("{count} heads do not divide {shape:?}"),
    }
}

/// Repeats each head several times, adjacent to itself.
fn repeated(x: &Value, times: usize) -> Result<Value> {
    let [batch, heads, length, width] = x.shape()?[..] else { refuse!("four axes are needed") };
    let spread = x.unsqueeze(2)?.spread(&[batch, heads, times, length, width])?;
    spread.reshape(&[batch, heads * times, length, width])
}

/// The attention mask by position, as `bool` `[batch or one, one, queries, keys]`.
fn sight(call: &Call, queries: usize, keys: usize, past: usize) -> Result<Option<Value>> {
    let causal = call.flag("is_causal")?;
    let (left, right) = (call.int("left_window_size")?, call.int("right_window_size")?);
    let lengths = call.optional(6).map(|lengths| lengths.ints()).transpose()?;
    if !causal && left < 0 && right < 0 && lengths.is_none() {
        return Ok(None);
    }
    let batch = lengths.as_ref().map_or(1, |lengths| lengths.len());
    crate::array::count(&[batch, queries, keys])?;
    let mut seen = Vec::with_capacity(batch * queries * keys);
    for n in 0..batch {
        let length = lengths.as_ref().map(|lengths| lengths[n]);
        let offset = length.map_or(past as i64, |length| length - queries as i64);
        for query in 0..queries as i64 {
            for key in 0..keys as i64 {
                let at = query + offset;
                let inside = length.is_none_or(|length| key < length);
                let window = (left < 0 || at - key <= left) && (right < 0 || key - at <= right);
                seen.push((inside && window && (!causal || key <= at)) as i64);
            }
        }
    }
    Ok(Some(Array::ints(Kind::Bool, vec![batch, 1, queries, keys], seen).into()))
}

/// What is added to the scores: a numeric mask, and minus infinity where attention is masked.
fn bias(call: &Call, q: &Value, keys: usize, past: usize) -> Result<Option<Value>> {
    let queries = q.size(2)?;
    let kind = q.kind()?;
    let hidden = Value::from(Array::number(kind, f64::NEG_INFINITY));
    let zero = Value::from(Array::number(kind, 0.0));
    let mask = match call.optional(3) {
        None => None,
        Some(mask) => {
            let mask = if mask.kind()? == Kind::Bool { mask.select(&zero, &hidden)? } else { mask.clone() };
            let mut widths = vec![(0, 0); mask.rank()?];
            if let Some(last) = widths.last_mut() {
                *last = (0, keys as i64 - mask.size(mask.rank()? - 1)? as i64);
            }
            Some(mask.pad(&widths, f64::NEG_INFINITY)?)
        }
    };
    match (sight(call, queries, keys, past)?, mask) {
        (None, mask) => Ok(mask),
        (Some(seen), None) => Ok(Some(seen.select(&zero, &hidden)?)),
        (Some(seen), Some(mask)) => Ok(Some(seen.select(&mask, &hidden)?)),
    }
}

fn attention(call: &Call) -> Result<Vec<Value>> {
    let count = |name: &str| -> Result<usize> {
        Ok(if call.has(name) { super::movement::sizes(&[call.int(name)?])?[0] } else { 0 })
    };
    let three = call.input(0)?.rank()? == 3;
    let q = heads(call.input(0)?, count("q_num_heads")?)?;
    let [k, v] = [1, 2].map(|place| heads(call.input(place)?, count("kv_num_heads")?));
    let (k, v) = (k?, v?);
    let joined = |past: Option<&Value>, new: Value| match past {
        Some(past) => Value::concat(&[past.clone(), new], 2),
        None => Ok(new),
    };
    let past = call.optional(4).map_or(Ok(0), |past| past.size(2))?;
    let (keys, values) = (joined(call.optional(4), k)?, joined(call.optional(5), v)?);
    let scale =
        if call.has("scale") { call.float("scale")? } else { 1.0 / (q.size(3)?.max(1) as f64).sqrt() };
    let times = q.size(1)? / keys.size(1)?.max(1);
    let (k, v) = if times > 1 {
        (repeated(&keys, times)?, repeated(&values, times)?)
    } else {
        (keys.clone(), values.clone())
    };
    let kind = q.kind()?;
    let root = scale.sqrt();
    let mut scores = q.scaled(root)?.matmul(&k.scaled(root)?.swap(2, 3)?)?;
    let mode = call.int("qk_matmul_output_mode")?;
    let softcap = call.float("softcap")?;
    if softcap > 0.0 {
        scores = scores.scaled(1.0 / softcap)?.apply(f64::tanh, |x| x.tanh())?.scaled(softcap)?;
    }
    let mut shown = scores.clone();
    let bias = bias(call, &q, k.size(2)?, past)?;
    if let Some(bias) = &bias {
        scores = scores.add(bias)?;
    }
    if mode == 2 {
        shown = scores.clone();
    }
    let wide = call.kind("softmax_precision")?.unwrap_or(kind);
    let mut shares = super::reduction::softmax(&scores.cast(wide, true)?, 3)?.cast(kind, true)?;
    if let Some(bias) = &bias {
        // A query whose keys are all masked gets zero weights.
        let last = bias.rank()? - 1;
        let most = bias.fold(Fold::Max, &[last], true)?;
        let blind = most.compare(Compare::Equal, &most.number(f64::NEG_INFINITY)?)?;
        shares = blind.select(&Array::number(kind, 0.0).into(), &shares)?;
    }
    if mode == 3 {
        shown = shares.clone();
    }
    let mut y = shares.matmul(&v)?;
    if three {
        let [batch, heads, length, width] = y.shape()?[..] else { refuse!("four axes are needed") };
        y = y.permute(&[0, 2, 1, 3])?.reshape(&[batch, length, heads * width])?;
    }
    Ok(vec![y, keys, values, shown])
}

fn rotary(call: &Call) -> Result<Vec<Value>> {
    let x = call.input(0)?;
    let count = super::movement::sizes(&[call.int("num_heads")?])?[0];
    let whole = heads(x, count)?.permute(&[0, 2, 1, 3])?;
    let [batch, length, _, width] = whole.shape()?[..] else { refuse!("four axes are needed") };
    let turned = match super::movement::sizes(&[call.int("rotary_embedding_dim")?])?[0] {
        0 => width,
        turned => turned,
    };
    if turned > width || turned % 2 != 0 {
        refuse!("the rotated part of the width must be even ({turned} of {width})");
    }
    let cache = |place: usize| -> Result<Value> {
        let mut table = call.input(place)?.clone();
        if let Some(positions) = call.optional(3) {
            let places = super::movement::sizes(&positions.ints()?)?;
            table = table.take(0, &places)?;
        }
        table.reshape(&[batch, length, 1, turned / 2])
    };
    let (cosines, sines) = (cache(1)?, cache(2)?);
    let part = whole.narrow(3, 0, turned)?;
    let interleaved = call.flag("interleaved")?;
    let half = turned / 2;
    let (a, b) = if interleaved {
        let pairs = part.reshape(&[batch, length, whole.size(2)?, half, 2])?;
        (pairs.at(4, 0)?, pairs.at(4, 1)?)
    } else {
        (part.narrow(3, 0, half)?, part.narrow(3, half, half)?)
    };
    let real = cosines.mul(&a)?.sub(&sines.mul(&b)?)?;
    let imaginary = sines.mul(&a)?.add(&cosines.mul(&b)?)?;
    let moved = if interleaved {
        Value::concat(&[real.unsqueeze(4)?, imaginary.unsqueeze(4)?], 4)?.reshape(&part.shape()?)?
    } else {
        Value::concat(&[real, imaginary], 3)?
    };
    let y = Value::concat(&[moved, whole.narrow(3, turned, width - turned)?], 3)?;
    one(if x.rank()? == 3 { y.reshape(&x.shape()?)? } else { y.permute(&[0, 2, 1, 3])? })
}

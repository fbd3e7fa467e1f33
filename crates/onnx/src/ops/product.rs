//! Products: matrices, einsum, determinants, Fourier transforms.

use super::Default::{AText, Float, Int};
use super::{MANY, Row, one, row};
use crate::array::Array;
use crate::call::Call;
use crate::error::Result;
use crate::reduce::Fold;
use crate::refuse;
use crate::value::Value;

pub const ROWS: &[Row] = &[
    row("MatMul", (2, 2), &[], |call| one(call.input(0)?.matmul(call.input(1)?)?)),
    row(
        "Gemm",
        (2, 3),
        &[
            ("alpha", Float(1.0)),
            ("beta", Float(1.0)),
            ("transA", Int(0)),
            ("transB", Int(0)),
            ("broadcast", Int(0)),
        ],
        |call| {
            let turned = |place: usize, name: &str| -> Result<Value> {
                let x = call.input(place)?;
                if x.rank()? != 2 {
                    refuse!("matrices are needed: {:?}", x.shape()?);
                }
                if call.flag(name)? { x.swap(0, 1) } else { Ok(x.clone()) }
            };
            let product = turned(0, "transA")?.matmul(&turned(1, "transB")?)?;
            let (alpha, beta) = (call.float("alpha")?, call.float("beta")?);
            let product = if alpha == 1.0 { product } else { product.scaled(alpha)? };
            let Some(c) = call.optional(2) else { return one(product) };
            let c = if beta == 1.0 { c.clone() } else { c.scaled(beta)? };
            let y = product.add(&c)?;
            if y.shape()? != product.shape()? {
                refuse!("the bias does not match: {:?} vs {:?}", c.shape()?, product.shape()?);
            }
            one(y)
        },
    ),
    row("Einsum", (1, MANY), &[("equation", AText)], |call| {
        one(einsum(call.text("equation")?, &call.all()?)?)
    }),
    row("Det", (1, 1), &[], |call| {
        let x = call.input(0)?.host()?;
        let [leading @ .., n, m] = &x.shape[..] else { refuse!("matrices are needed: {:?}", x.shape) };
        if n != m {
            refuse!("square matrices are needed: {:?}", x.shape);
        }
        let data = x.to_floats()?;
        let count: usize = leading.iter().product();
        let all = (0..count).map(|at| determinant(data[at * n * n..][..n * n].to_vec(), *n)).collect();
        one(Array::floats(x.kind, leading.to_vec(), all).into())
    }),
    row("DFT", (1, 3), &[("axis", Int(1)), ("inverse", Int(0)), ("onesided", Int(0))], dft),
    row("STFT", (2, 4), &[("onesided", Int(1))], stft),
    row("AffineGrid", (2, 2), &[("align_corners", Int(0))], affine_grid),
    row("LpNormalization", (1, 1), &[("axis", Int(-1)), ("p", Int(2))], |call| {
        let x = call.input(0)?;
        let axis = x.axis(call.int("axis")?)?;
        let size = match call.int("p")? {
            1 => x.apply(f64::abs, |x| x.abs())?.fold(Fold::Sum, &[axis], true)?,
            2 => x.squared()?.fold(Fold::Sum, &[axis], true)?.apply(f64::sqrt, |x| x.sqrt())?,
            p => refuse!("p must be 1 or 2 ({p})"),
        };
        // Zeros stay zeros.
        let zero = size.compare(crate::pointwise::Compare::Equal, &size.number(0.0)?)?;
        one(x.div(&zero.select(&size.full_like(&[], 1.0)?, &size)?)?)
    }),
];

fn determinant(mut a: Vec<f64>, n: usize) -> f64 {
    let mut product = 1.0;
    for column in 0..n {
        let pivot = (column..n).max_by(|&i, &j| a[i * n + column].abs().total_cmp(&a[j * n + column].abs()));
        let Some(pivot) = pivot.filter(|&pivot| a[pivot * n + column] != 0.0) else { return 0.0 };
        if pivot != column {
            (0..n).for_each(|k| a.swap(pivot * n + k, column * n + k));
            product = -product;
        }
        product *= a[column * n + column];
        for row in column + 1..n {
            let factor = a[row * n + column] / a[column * n + column];
            (column..n).for_each(|k| a[row * n + k] -= factor * a[column * n + k]);
        }
    }
    product
}

/// Einsum. Operands are multiplied from left to right; an index is summed as soon as no later operand needs it.
fn einsum(equation: &str, operands: &[Value]) -> Result<Value> {
    let text: String = equation.chars().filter(|c| !c.is_whitespace()).collect();
    let (left, right) = match text.split_once("->") {
        Some((left, right)) => (left.to_string(), Some(right.to_string())),
        None => (text, None),
    };
    let terms: Vec<&str> = left.split(',').collect();
    if terms.len() != operands.len() {
        refuse!("one term per operand: {equation} ({} vs {})", terms.len(), operands.len());
    }
    let mut named = Vec::new();
    let mut dots = 0;
    for (term, operand) in terms.iter().zip(operands) {
        let labels = labels(term, operand.rank()?, equation)?;
        dots = dots.max(labels.iter().filter(|label| label.is_ascii_digit()).count());
        named.push(labels);
    }
    // The axes of an ellipsis are named by digits, the last one 0, so that they align from the right.
    let ellipsis: Vec<char> = (0..dots).rev().map(|n| char::from(b'0' + n as u8)).collect();
    let result: Vec<char> = match right {
        Some(right) => right.replace("...", &ellipsis.iter().collect::<String>()).chars().collect(),
        None => {
            let all: Vec<char> =
                named.iter().flatten().copied().filter(|label| !label.is_ascii_digit()).collect();
            let mut once: Vec<char> = all
                .iter()
                .copied()
                .filter(|label| all.iter().filter(|other| *other == label).count() == 1)
                .collect();
            once.sort_unstable();
            [ellipsis, once].concat()
        }
    };
    let mut value = diagonal(&operands[0], &mut named[0])?;
    let mut own = named[0].clone();
    for place in 1..operands.len() {
        let other = diagonal(&operands[place], &mut named[place])?;
        let needed: Vec<char> = [&result[..], &named[place + 1..].concat()].concat();
        (value, own) = paired(&value, &own, &other, &named[place], &needed)?;
    }
    let summed: Vec<usize> = (0..own.len()).filter(|&axis| !result.contains(&own[axis])).collect();
    let value = value.fold(Fold::Sum, &summed, false)?;
    let left: Vec<char> = own.into_iter().filter(|label| result.contains(label)).collect();
    let mut order = Vec::new();
    for label in &result {
        match left.iter().position(|own| own == label) {
            Some(axis) => order.push(axis),
            None => refuse!("{equation}: no operand has the index {label}"),
        }
    }
    value.permute(&order)
}

fn labels(term: &str, rank: usize, equation: &str) -> Result<Vec<char>> {
    let letters = term.replace("...", "");
    if !letters.chars().all(|c| c.is_ascii_alphabetic()) {
        refuse!("{equation}: an index must be a letter");
    }
    let Some(dots) =
        rank.checked_sub(letters.len()).filter(|&dots| dots <= 8 && (dots == 0 || term.contains("...")))
    else {
        refuse!("{equation}: the term {term} does not match rank {rank}");
    };
    let digits: String = (0..dots).rev().map(|n| char::from(b'0' + n as u8)).collect();
    Ok(term.replace("...", &digits).chars().collect())
}

/// Merges axes with the same name: takes their diagonal.
fn diagonal(value: &Value, labels: &mut Vec<char>) -> Result<Value> {
    let mut value = value.clone();
    while let Some((first, second)) = twice(labels) {
        let shape = value.shape()?;
        if shape[first] != shape[second] {
            refuse!("sizes of the index {} differ ({} vs {})", labels[first], shape[first], shape[second]);
        }
        let strides = crate::host::strides(&shape);
        let mut left = shape.clone();
        left.remove(second);
        let mut steps: Vec<isize> = strides.iter().map(|&stride| stride as isize).collect();
        steps[first] += steps[second];
        steps.remove(second);
        let places: Vec<usize> = crate::host::StridedPositions::new(&left, steps, 0).collect();
        value = value.pick(&left, &places)?;
        labels.remove(second);
    }
    Ok(value)
}

fn twice(labels: &[char]) -> Option<(usize, usize)> {
    (0..labels.len()).find_map(|b| (0..b).find(|&a| labels[a] == labels[b]).map(|a| (a, b)))
}

/// The product of two operands as a batched matrix product: batch, rows, columns, and terms.
fn paired(
    a: &Value,
    left: &[char],
    b: &Value,
    right: &[char],
    needed: &[char],
) -> Result<(Value, Vec<char>)> {
    let both: Vec<char> = left.iter().copied().filter(|label| right.contains(label)).collect();
    let (batch, inner): (Vec<char>, Vec<char>) = both.iter().partition(|label| needed.contains(label));
    let rows: Vec<char> = left.iter().copied().filter(|label| !both.contains(label)).collect();
    let columns: Vec<char> = right.iter().copied().filter(|label| !both.contains(label)).collect();
    let size = |label: &char| -> Result<usize> {
        let of = |value: &Value, labels: &[char]| -> Result<usize> {
            labels.iter().position(|own| own == label).map_or(Ok(1), |axis| value.size(axis))
        };
        let (x, y) = (of(a, left)?, of(b, right)?);
        if x != y && x != 1 && y != 1 {
            refuse!("sizes of the index {label} differ ({x} vs {y})");
        }
        Ok(x.max(y))
    };
    let sizes = |labels: &[char]| labels.iter().map(size).collect::<Result<Vec<usize>>>();
    let arranged = |value: &Value, own: &[char], order: [&[char]; 3]| -> Result<Value> {
        let order = order.concat();
        let axes: Vec<usize> =
            order.iter().filter_map(|label| own.iter().position(|own| own == label)).collect();
        value.permute(&axes)?.spread(&sizes(&order)?)
    };
    let count = |labels: &[char]| Ok::<usize, crate::error::Error>(sizes(labels)?.iter().product());
    let x = arranged(a, left, [&batch, &rows, &inner])?.reshape(&[
        count(&batch)?,
        count(&rows)?,
        count(&inner)?,
    ])?;
    let y = arranged(b, right, [&batch, &inner, &columns])?.reshape(&[
        count(&batch)?,
        count(&inner)?,
        count(&columns)?,
    ])?;
    let labels = [&batch[..], &rows, &columns].concat();
    Ok((x.matmul(&y)?.reshape(&sizes(&labels)?)?, labels))
}

/// A Fourier transform as a product with the matrices of cosines and sines.
fn dft(call: &Call) -> Result<Vec<Value>> {
    let x = call.input(0)?;
    let rank = x.rank()?;
    let axis = match call.optional(2) {
        Some(axis) => axis.int()?,
        None if call.version >= 20 => -2,
        None => call.int("axis")?,
    };
    let axis = x.axis(axis)?;
    let parts = x.size(rank - 1)?;
    if axis + 1 == rank || !(1..=2).contains(&parts) {
        refuse!("the last axis holds real and imaginary parts: {:?}", x.shape()?);
    }
    let length = match call.optional(1) {
        Some(length) => super::movement::sizes(&[length.int()?])?[0],
        None => x.size(axis)?,
    };
    let (inverse, onesided) = (call.flag("inverse")?, call.flag("onesided")?);
    one(transformed(x, axis, length, inverse, onesided)?)
}

fn transformed(x: &Value, axis: usize, length: usize, inverse: bool, onesided: bool) -> Result<Value> {
    let rank = x.rank()?;
    let size = x.size(axis)?;
    let mut widths = vec![(0, 0); rank];
    widths[axis] = (0, length as i64 - size as i64);
    let x = x.pad(&widths, 0.0)?;
    let parts = x.size(rank - 1)?;
    // The one-sided input of an inverse transform represents the whole spectrum.
    let bins = if onesided && !inverse { length / 2 + 1 } else { length };
    crate::array::count(&[length, bins])?;
    let turn = std::f64::consts::TAU / length.max(1) as f64 * if inverse { 1.0 } else { -1.0 };
    let factor = if inverse { 1.0 / length.max(1) as f64 } else { 1.0 };
    let matrix = |f: fn(f64) -> f64| -> Result<Value> {
        let at = |place: usize| factor * f(turn * ((place / bins) * (place % bins) % length) as f64);
        let data = (0..length * bins).map(at).collect();
        Ok(Array::floats(x.kind()?, vec![length, bins], data).into())
    };
    let (cosines, sines) = (matrix(f64::cos)?, matrix(f64::sin)?);
    let part = |n: usize| -> Result<Value> { x.at(rank - 1, n)?.swap(axis, rank - 2) };
    let real = part(0)?;
    let (mut up, mut side) = (real.matmul(&cosines)?, real.matmul(&sines)?);
    if parts == 2 {
        let imaginary = part(1)?;
        up = up.sub(&imaginary.matmul(&sines)?)?;
        side = side.add(&imaginary.matmul(&cosines)?)?;
    }
    let back = |value: Value| -> Result<Value> { value.swap(axis, rank - 2)?.unsqueeze(rank - 1) };
    if inverse && onesided {
        return back(up);
    }
    Value::concat(&[back(up)?, back(side)?], rank - 1)
}

fn stft(call: &Call) -> Result<Vec<Value>> {
    let x = call.input(0)?;
    let step = super::movement::sizes(&[call.input(1)?.int()?])?[0];
    let shape = x.shape()?;
    let [batch, size, parts] = shape[..] else { refuse!("three axes are needed: {shape:?}") };
    let window = call.optional(2);
    let length = match (call.optional(3), window) {
        (Some(length), _) => super::movement::sizes(&[length.int()?])?[0],
        (None, Some(window)) => window.len()?,
        (None, None) => refuse!("neither a window nor a frame length"),
    };
    if step == 0 || length == 0 || length > size {
        refuse!("frames do not fit ({length} by {step} in {size})");
    }
    let frames = (size - length) / step + 1;
    let places: Vec<usize> =
        (0..frames).flat_map(|frame| (0..length).map(move |at| frame * step + at)).collect();
    let mut cut = x.take(1, &places)?.reshape(&[batch, frames, length, parts])?;
    if let Some(window) = window {
        cut = cut.mul(&window.reshape(&[length, 1])?)?;
    }
    one(transformed(&cut, 2, length, false, call.flag("onesided")?)?)
}

fn affine_grid(call: &Call) -> Result<Vec<Value>> {
    let theta = call.input(0)?;
    let size = super::movement::sizes(&call.input(1)?.ints()?)?;
    if !(4..=5).contains(&size.len()) {
        refuse!("four or five sizes are needed: {size:?}");
    }
    let (spatial, corners) = (&size[2..], call.flag("align_corners")?);
    let axes = spatial.len();
    let points: usize = crate::array::count(spatial)?;
    let strides = crate::host::strides(spatial);
    let mut data = Vec::with_capacity(points * (axes + 1));
    for point in 0..points {
        // x comes first, but it is the last axis.
        for axis in (0..axes).rev() {
            let (at, n) = ((point / strides[axis] % spatial[axis]) as f64, spatial[axis] as f64);
            data.push(if corners {
                if n > 1.0 { 2.0 * at / (n - 1.0) - 1.0 } else { 0.0 }
            } else {
                (2.0 * at + 1.0) / n - 1.0
            });
        }
        data.push(1.0);
    }
    let grid = Value::from(Array::floats(theta.kind()?, vec![1, points, axes + 1], data));
    let y = grid.matmul(&theta.swap(1, 2)?)?;
    one(y.reshape(&[&[size[0]], spatial, &[axes]].concat())?)
}

//! Recurrent layers: one product computes the input part of the gates at all positions, then one loop runs over
//! the positions.
//!
//! On devices the loop is a scan, so the compiled program does not grow with the sequence.

use farad_tensor::Tensor;
use farad_tensor::engine::sequence::scan_along;

use super::Default::{AFloat, AnInt, Floats, Int, Texts};
use super::{Row, row};
use crate::array::Array;
use crate::call::Call;
use crate::error::Result;
use crate::kind::Kind;
use crate::refuse;
use crate::value::Value;

const LAYER: &[(&str, super::Default)] = &[
    ("activation_alpha", Floats),
    ("activation_beta", Floats),
    ("activations", Texts),
    ("clip", AFloat),
    ("direction", super::Default::Text("forward")),
    ("hidden_size", AnInt),
    ("input_forget", Int(0)),
    ("layout", Int(0)),
    ("linear_before_reset", Int(0)),
];

pub const ROWS: &[Row] = &[
    row("RNN", (3, 6), LAYER, |call| layer(call, RecurrentCell::Plain)),
    row("GRU", (3, 6), LAYER, |call| layer(call, RecurrentCell::Gated)),
    row("LSTM", (3, 8), LAYER, |call| layer(call, RecurrentCell::Long)),
];

#[derive(Clone, Copy, PartialEq)]
enum RecurrentCell {
    Plain,
    Gated,
    Long,
}

impl RecurrentCell {
    fn gates(self) -> usize {
        match self {
            RecurrentCell::Plain => 1,
            RecurrentCell::Gated => 3,
            RecurrentCell::Long => 4,
        }
    }

    fn activations(self) -> &'static [&'static str] {
        match self {
            RecurrentCell::Plain => &["Tanh"],
            RecurrentCell::Gated => &["Sigmoid", "Tanh"],
            RecurrentCell::Long => &["Sigmoid", "Tanh", "Tanh"],
        }
    }
}

/// One direction of a layer.
struct Direction<'a> {
    cell: RecurrentCell,
    width: usize,
    activations: Vec<RecurrentActivation<'a>>,
    /// Sums before activations are clamped to this magnitude.
    clip: Option<f64>,
    recurrence: Value,
    /// The recurrence's own bias, which a GRU may need separately.
    bias: Option<Value>,
    peepholes: Option<Value>,
    after_product: bool,
    coupled: bool,
}

/// An activation with its parameters.
struct RecurrentActivation<'a> {
    name: &'a str,
    alpha: f64,
    beta: f64,
}

impl<'a> RecurrentActivation<'a> {
    /// Takes the parameters that it needs from the front of the node's lists.
    fn of(name: &'a str, alphas: &mut &[f64], betas: &mut &[f64]) -> RecurrentActivation<'a> {
        fn next(list: &mut &[f64], default: f64) -> f64 {
            let Some((&first, rest)) = list.split_first() else { return default };
            *list = rest;
            first
        }
        let (alpha, beta) = match name.to_ascii_lowercase().as_str() {
            "affine" | "scaledtanh" => (next(alphas, 1.0), next(betas, 1.0)),
            "hardsigmoid" => (next(alphas, 0.2), next(betas, 0.5)),
            "leakyrelu" => (next(alphas, 0.01), 0.0),
            "thresholdedrelu" | "elu" => (next(alphas, 1.0), 0.0),
            _ => (0.0, 0.0),
        };
        RecurrentActivation { name, alpha, beta }
    }

    fn apply(&self, x: &Value) -> Result<Value> {
        let (alpha, beta) = (self.alpha, self.beta);
        match self.name.to_ascii_lowercase().as_str() {
            "sigmoid" => x.apply(|x| 1.0 / (1.0 + (-x).exp()), |x| x.sigmoid()),
            "tanh" => x.apply(f64::tanh, |x| x.tanh()),
            "relu" => x.apply(|x| x.max(0.0), |x| x.relu()),
            "softsign" => x.apply(|x| x / (1.0 + x.abs()), |x| x.softsign()),
            "softplus" => x.apply(|x| x.max(0.0) + (-x.abs()).exp().ln_1p(), |x| x.softplus()),
            "affine" => x.apply(|x| alpha * x + beta, |x| x * alpha + beta),
            "scaledtanh" => x.apply(|x| alpha * (beta * x).tanh(), |x| (x * beta).tanh() * alpha),
            "leakyrelu" => x.apply(|x| if x < 0.0 { alpha * x } else { x }, |x| x.leaky_relu(alpha)),
            "elu" => x.apply(|x| if x < 0.0 { alpha * x.exp_m1() } else { x }, |x| x.elu(alpha)),
            "hardsigmoid" => x.apply(
                |x| (alpha * x + beta).clamp(0.0, 1.0),
                |x| (x * alpha + beta).maximum(0.0).minimum(1.0),
            ),
            "thresholdedrelu" => x.apply(
                |x| if x >= alpha { x } else { 0.0 },
                |x| x.greater_equal(alpha).select(x, &x.full_like(0.0)),
            ),
            other => refuse!("no such activation: {other}"),
        }
    }
}

impl Direction<'_> {
    fn gate(&self, x: &Value, place: usize) -> Result<Value> {
        x.narrow(x.rank()? - 1, place * self.width, self.width)
    }

    fn step(&self, x: &Value, h: &Value, c: &Value) -> Result<(Value, Value)> {
        let f = |x: &Value, place: usize| match self.clip {
            Some(most) => self.activations[place]
                .apply(&x.apply(|x| x.clamp(-most, most), |x| x.maximum(-most).minimum(most))?),
            None => self.activations[place].apply(x),
        };
        match self.cell {
            RecurrentCell::Plain => Ok((f(&x.add(&h.matmul(&self.recurrence)?)?, 0)?, c.clone())),
            RecurrentCell::Gated => {
                let both = h.matmul(&self.recurrence.narrow(1, 0, 2 * self.width)?)?;
                let sum = |place: usize| self.gate(x, place)?.add(&self.gate(&both, place)?);
                let (update, reset) = (f(&sum(0)?, 0)?, f(&sum(1)?, 0)?);
                let last = self.recurrence.narrow(1, 2 * self.width, self.width)?;
                let hidden = if self.after_product {
                    let product = h.matmul(&last)?;
                    let product = self.bias.as_ref().map_or(Ok(product.clone()), |bias| product.add(bias))?;
                    reset.mul(&product)?
                } else {
                    let product = reset.mul(h)?.matmul(&last)?;
                    self.bias.as_ref().map_or(Ok(product.clone()), |bias| product.add(bias))?
                };
                let new = f(&self.gate(x, 2)?.add(&hidden)?, 1)?;
                // (1 - z) · new + z · h
                Ok((new.add(&update.mul(&h.sub(&new)?)?)?, c.clone()))
            }
            RecurrentCell::Long => {
                let sum = x.add(&h.matmul(&self.recurrence)?)?;
                let peep = |gate: Value, place: usize, cell: &Value| match &self.peepholes {
                    Some(all) => gate.add(&self.gate(all, place)?.mul(cell)?),
                    None => Ok(gate),
                };
                let input = f(&peep(self.gate(&sum, 0)?, 0, c)?, 0)?;
                let forget = if self.coupled {
                    input.scaled(-1.0)?.plus(1.0)?
                } else {
                    f(&peep(self.gate(&sum, 2)?, 2, c)?, 0)?
                };
                let cell = forget.mul(c)?.add(&input.mul(&f(&self.gate(&sum, 3)?, 1)?)?)?;
                let output = f(&peep(self.gate(&sum, 1)?, 1, &cell)?, 0)?;
                Ok((output.mul(&self.activations[2].apply(&cell)?)?, cell))
            }
        }
    }

    /// One step of a sequence that may have ended: then the state stays unchanged, and the output is zero.
    fn masked(&self, x: &Value, seen: Option<&Value>, h: &Value, c: &Value) -> Result<(Value, Value, Value)> {
        let (new_h, new_c) = self.step(x, h, c)?;
        let Some(seen) = seen else { return Ok((new_h.clone(), new_h, new_c)) };
        let output = seen.select(&new_h, &new_h.full_like(&[], 0.0)?)?;
        let cell = if self.cell == RecurrentCell::Long { seen.select(&new_c, c)? } else { c.clone() };
        Ok((output, seen.select(&new_h, h)?, cell))
    }

    /// All positions: the outputs `[steps, batch, width]`, the last state, the last cell.
    fn run(
        &self,
        gates: &Value,
        seen: Option<&Value>,
        start: (Value, Value),
        reverse: bool,
    ) -> Result<(Value, Value, Value)> {
        if let (Value::Device(gates, _), Value::Device(h, _)) = (gates, &start.0) {
            return self.scan(gates, seen, h, &start.1, reverse);
        }
        let (mut h, mut c) = start;
        let steps = gates.size(0)?;
        let mut outputs = vec![Value::Nothing; steps];
        for n in 0..steps {
            let at = if reverse { steps - 1 - n } else { n };
            let seen = seen.map(|seen| seen.at(0, at)).transpose()?;
            let output;
            (output, h, c) = self.masked(&gates.at(0, at)?, seen.as_ref(), &h, &c)?;
            outputs[at] = output.unsqueeze(0)?;
        }
        Ok((Value::concat(&outputs, 0)?, h, c))
    }

    fn scan(
        &self,
        gates: &Tensor,
        seen: Option<&Value>,
        h: &Tensor,
        c: &Value,
        reverse: bool,
    ) -> Result<(Value, Value, Value)> {
        let long = self.cell == RecurrentCell::Long;
        let cell = c.tensor(gates.device())?;
        let seen = seen.map(|seen| seen.tensor(gates.device())).transpose()?;
        let carries = if long { vec![h, &cell] } else { vec![h] };
        let sequences: Vec<&Tensor> = std::iter::once(gates).chain(&seen).collect();
        let mut failed = None;
        let (last, rows) = scan_along(&carries, &sequences, reverse, |carry, slice| {
            let own = |tensor: &Tensor| Value::of(tensor.clone());
            let cell = carry.get(1).map_or_else(|| c.clone(), own);
            match self.masked(&own(&slice[0]), slice.get(1).map(own).as_ref(), &own(&carry[0]), &cell) {
                Ok((Value::Device(output, _), Value::Device(h, _), c)) => {
                    let next = std::iter::once(h).chain(match c {
                        Value::Device(c, _) if long => Some(c),
                        _ => None,
                    });
                    (next.collect(), vec![output])
                }
                other => {
                    failed = other.err();
                    (carry.to_vec(), vec![carry[0].clone()])
                }
            }
        });
        if let Some(error) = failed {
            return Err(error);
        }
        Ok((
            Value::of(rows[0].clone()),
            Value::of(last[0].clone()),
            last.get(1).map_or(c.clone(), |c| Value::of(c.clone())),
        ))
    }
}

fn layer(call: &Call, cell: RecurrentCell) -> Result<Vec<Value>> {
    let batch_first = call.flag("layout")?;
    let mut x = call.on_device(0)?;
    if batch_first {
        x = x.swap(0, 1)?;
    }
    let [steps, batch, inputs] = x.shape()?[..] else { refuse!("three axes are needed: {:?}", x.shape()?) };
    let (weight, recurrence) = (call.on_device(1)?, call.on_device(2)?);
    let recurrent = recurrence.shape()?;
    let [directions, _, width] = recurrent[..] else { refuse!("three axes are needed: {recurrent:?}") };
    let (gates, name) = (cell.gates(), call.text("direction")?);
    let both = name == "bidirectional";
    if recurrent != [1 + both as usize, gates * width, width]
        || weight.shape()? != [directions, gates * width, inputs]
    {
        refuse!("weights do not match: {:?}, {recurrent:?}", weight.shape()?);
    }
    if steps == 0 || steps > 1 << 20 {
        refuse!("too many positions ({steps})");
    }
    let seen = match call.optional(4) {
        Some(lengths) => Some(seen(&lengths.ints()?, steps, batch)?),
        None => None,
    };
    let start = |place: usize, direction: usize| -> Result<Value> {
        match call.optional(place) {
            Some(value) => {
                let value = value.on(call.device)?;
                let value = if batch_first { value.swap(0, 1)? } else { value };
                value.at(0, direction)
            }
            None => x.full_like(&[batch, width], 0.0),
        }
    };
    let (mut rows, mut lasts, mut cells) = (Vec::new(), Vec::new(), Vec::new());
    for direction in 0..directions {
        let reverse = name == "reverse" || direction == 1;
        let own = one_direction(call, cell, direction, width)?;
        let gates_of = gates_before(call, cell, &x, &weight.at(0, direction)?, direction, width, &own)?;
        let cells_before = if cell == RecurrentCell::Long { start(6, direction)? } else { x.number(0.0)? };
        let h = start(5, direction)?;
        if h.shape()? != [batch, width]
            || cell == RecurrentCell::Long && cells_before.shape()? != [batch, width]
        {
            refuse!("a state does not match: {:?} ([{batch}, {width}])", h.shape()?);
        }
        let (row, h, c) = own.run(&gates_of, seen.as_ref(), (h, cells_before), reverse)?;
        rows.push(row.unsqueeze(1)?);
        lasts.push(h.unsqueeze(0)?);
        if cell == RecurrentCell::Long {
            cells.push(c.unsqueeze(0)?);
        }
    }
    let mut all = Value::concat(&rows, 1)?;
    let mut results = vec![Value::concat(&lasts, 0)?];
    if cell == RecurrentCell::Long {
        results.push(Value::concat(&cells, 0)?);
    }
    if batch_first {
        all = all.permute(&[2, 0, 1, 3])?;
        results = results.iter().map(|value| value.swap(0, 1)).collect::<Result<_>>()?;
    }
    results.insert(0, all);
    Ok(results)
}

/// Whether each position of each sequence is within its length: `[steps, batch, 1]`.
fn seen(lengths: &[i64], steps: usize, batch: usize) -> Result<Value> {
    if lengths.len() != batch {
        refuse!("one length per sequence ({} vs {batch})", lengths.len());
    }
    let within = (0..steps as i64).flat_map(|at| lengths.iter().map(move |&length| (at < length) as i64));
    Ok(Array::ints(Kind::Bool, vec![steps, batch, 1], within.collect()).into())
}

fn one_direction<'a>(
    call: &'a Call,
    cell: RecurrentCell,
    direction: usize,
    width: usize,
) -> Result<Direction<'a>> {
    let defaults = cell.activations();
    let activations = match call.texts("activations") {
        Some(names) if names.len() >= defaults.len() * (direction + 1) => {
            // The activations of the other direction take their parameters first.
            let mut numbers = (
                call.floats("activation_alpha").unwrap_or_default(),
                call.floats("activation_beta").unwrap_or_default(),
            );
            let all = names.iter().map(|name| RecurrentActivation::of(name, &mut numbers.0, &mut numbers.1));
            all.skip(defaults.len() * direction).take(defaults.len()).collect()
        }
        Some(names) => refuse!("activations are missing: {names:?}"),
        None => {
            defaults.iter().map(|name| RecurrentActivation::of(name, &mut &[][..], &mut &[][..])).collect()
        }
    };
    let clip = if call.has("clip") { Some(call.float("clip")?) } else { None };
    if clip.is_some_and(|most| most.is_nan() || most < 0.0) {
        refuse!("clip is negative ({clip:?})");
    }
    let peepholes = match (cell, call.optional(7)) {
        (RecurrentCell::Long, Some(all)) => Some(all.on(call.device)?.at(0, direction)?),
        _ => None,
    };
    let bias = match (cell, call.optional(3)) {
        (RecurrentCell::Gated, Some(bias)) => {
            Some(bias.on(call.device)?.at(0, direction)?.narrow(0, 5 * width, width)?)
        }
        _ => None,
    };
    Ok(Direction {
        cell,
        width,
        activations,
        clip,
        recurrence: call.on_device(2)?.at(0, direction)?.swap(0, 1)?,
        bias,
        peepholes,
        after_product: call.flag("linear_before_reset")?,
        coupled: call.flag("input_forget")?,
    })
}

/// The contribution of the inputs, with the biases, to the gates of all positions.
fn gates_before(
    call: &Call,
    cell: RecurrentCell,
    x: &Value,
    weight: &Value,
    direction: usize,
    width: usize,
    own: &Direction,
) -> Result<Value> {
    let product = x.matmul(&weight.swap(0, 1)?)?;
    let Some(bias) = call.optional(3) else { return Ok(product) };
    let bias = bias.on(call.device)?.at(0, direction)?;
    let size = cell.gates() * width;
    let (of_inputs, of_state) = (bias.narrow(0, 0, size)?, bias.narrow(0, size, size)?);
    if own.bias.is_none() {
        return product.add(&of_inputs.add(&of_state)?);
    }
    // The last gate of a GRU adds its second bias together with the state.
    let zero = x.full_like(&[width], 0.0)?;
    product.add(&of_inputs.add(&Value::concat(&[of_state.narrow(0, 0, 2 * width)?, zero], 0)?)?)
}

//! Recurrent layers: one step per position, the gates of all steps from one product before.

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
    row("RNN", (3, 6), LAYER, |call| layer(call, Cell::Plain)),
    row("GRU", (3, 6), LAYER, |call| layer(call, Cell::Gated)),
    row("LSTM", (3, 8), LAYER, |call| layer(call, Cell::Long)),
];

#[derive(Clone, Copy, PartialEq)]
enum Cell {
    Plain,
    Gated,
    Long,
}

impl Cell {
    fn gates(self) -> usize {
        match self {
            Cell::Plain => 1,
            Cell::Gated => 3,
            Cell::Long => 4,
        }
    }

    fn activations(self) -> &'static [&'static str] {
        match self {
            Cell::Plain => &["Tanh"],
            Cell::Gated => &["Sigmoid", "Tanh"],
            Cell::Long => &["Sigmoid", "Tanh", "Tanh"],
        }
    }
}

/// One direction of a layer.
struct Direction<'a> {
    cell: Cell,
    width: usize,
    activations: Vec<&'a str>,
    recurrence: Value,
    /// The recurrence's own bias, which a GRU may need apart.
    bias: Option<Value>,
    peepholes: Option<Value>,
    after_product: bool,
    coupled: bool,
}

fn activated(x: &Value, name: &str) -> Result<Value> {
    match name.to_ascii_lowercase().as_str() {
        "sigmoid" => x.apply(|x| 1.0 / (1.0 + (-x).exp()), |x| x.sigmoid()),
        "tanh" => x.apply(f64::tanh, |x| x.tanh()),
        "relu" => x.apply(|x| x.max(0.0), |x| x.relu()),
        "softsign" => x.apply(|x| x / (1.0 + x.abs()), |x| x.softsign()),
        other => refuse!("no such activation: {other}"),
    }
}

impl Direction<'_> {
    fn gate(&self, x: &Value, place: usize) -> Result<Value> {
        x.narrow(x.rank()? - 1, place * self.width, self.width)
    }

    fn step(&self, x: &Value, h: &Value, c: &Value) -> Result<(Value, Value)> {
        let f = |x: &Value, place: usize| activated(x, self.activations[place]);
        match self.cell {
            Cell::Plain => Ok((f(&x.add(&h.matmul(&self.recurrence)?)?, 0)?, c.clone())),
            Cell::Gated => {
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
            Cell::Long => {
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
                Ok((output.mul(&f(&cell, 2)?)?, cell))
            }
        }
    }
}

fn layer(call: &Call, cell: Cell) -> Result<Vec<Value>> {
    if call.has("clip") || call.has("activation_alpha") || call.has("activation_beta") {
        refuse!("clip, activation_alpha and activation_beta are not supported");
    }
    let batch_first = call.flag("layout")?;
    let mut x = call.on_device(0)?;
    if batch_first {
        x = x.swap(0, 1)?;
    }
    let [steps, batch, inputs] = x.shape()?[..] else { refuse!("three axes are wanted: {:?}", x.shape()?) };
    let (weight, recurrence) = (call.on_device(1)?, call.on_device(2)?);
    let recurrent = recurrence.shape()?;
    let [directions, _, width] = recurrent[..] else { refuse!("three axes are wanted: {recurrent:?}") };
    let (gates, name) = (cell.gates(), call.text("direction")?);
    let both = name == "bidirectional";
    if recurrent != [1 + both as usize, gates * width, width]
        || weight.shape()? != [directions, gates * width, inputs]
    {
        refuse!("weights do not fit: {:?}, {recurrent:?}", weight.shape()?);
    }
    if steps == 0 || steps > 1 << 14 {
        refuse!("so many positions are not run ({steps})");
    }
    let lengths = call.optional(4).map(|lengths| lengths.ints()).transpose()?;
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
        let (mut h, mut c) =
            (start(5, direction)?, if cell == Cell::Long { start(6, direction)? } else { x.number(0.0)? });
        let mut outputs = vec![None; steps];
        for n in 0..steps {
            let at = if reverse { steps - 1 - n } else { n };
            let (new_h, new_c) = own.step(&gates_of.at(0, at)?, &h, &c)?;
            match &lengths {
                // Beyond its length a sequence keeps its state and gives zeros.
                Some(lengths) => {
                    let seen = lengths.iter().map(|&length| ((at as i64) < length) as i64).collect();
                    let seen = Value::from(Array::ints(Kind::Bool, vec![batch, 1], seen));
                    outputs[at] = Some(seen.select(&new_h, &new_h.full_like(&[], 0.0)?)?);
                    h = seen.select(&new_h, &h)?;
                    c = if cell == Cell::Long { seen.select(&new_c, &c)? } else { c };
                }
                None => {
                    outputs[at] = Some(new_h.clone());
                    (h, c) = (new_h, new_c);
                }
            }
        }
        let parts = outputs.into_iter().flatten().map(|value| value.reshape(&[1, 1, batch, width]));
        rows.push(Value::concat(&parts.collect::<Result<Vec<_>>>()?, 0)?);
        lasts.push(h.unsqueeze(0)?);
        if cell == Cell::Long {
            cells.push(c.unsqueeze(0)?);
        }
    }
    let mut all = Value::concat(&rows, 1)?;
    let mut results = vec![Value::concat(&lasts, 0)?];
    if cell == Cell::Long {
        results.push(Value::concat(&cells, 0)?);
    }
    if batch_first {
        all = all.permute(&[2, 0, 1, 3])?;
        results = results.iter().map(|value| value.swap(0, 1)).collect::<Result<_>>()?;
    }
    results.insert(0, all);
    Ok(results)
}

fn one_direction<'a>(call: &'a Call, cell: Cell, direction: usize, width: usize) -> Result<Direction<'a>> {
    let defaults = cell.activations();
    let activations = match call.texts("activations") {
        Some(names) if names.len() >= defaults.len() * (direction + 1) => names[defaults.len() * direction..]
            .iter()
            .take(defaults.len())
            .map(|name| name.as_str())
            .collect(),
        Some(names) => refuse!("activations are missing: {names:?}"),
        None => defaults.to_vec(),
    };
    let peepholes = match (cell, call.optional(7)) {
        (Cell::Long, Some(all)) => Some(all.on(call.device)?.at(0, direction)?),
        _ => None,
    };
    let bias = match (cell, call.optional(3)) {
        (Cell::Gated, Some(bias)) => {
            Some(bias.on(call.device)?.at(0, direction)?.narrow(0, 5 * width, width)?)
        }
        _ => None,
    };
    Ok(Direction {
        cell,
        width,
        activations,
        recurrence: call.on_device(2)?.at(0, direction)?.swap(0, 1)?,
        bias,
        peepholes,
        after_product: call.flag("linear_before_reset")?,
        coupled: call.flag("input_forget")?,
    })
}

/// What the inputs give to the gates of all positions, with the biases.
fn gates_before(
    call: &Call,
    cell: Cell,
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
    // The last gate of a GRU adds its second bias where the state is.
    let zero = x.full_like(&[width], 0.0)?;
    product.add(&of_inputs.add(&Value::concat(&[of_state.narrow(0, 0, 2 * width)?, zero], 0)?)?)
}

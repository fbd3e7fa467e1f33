//! A few rows times a matrix of weights that is held as it is stored: in f32, f16, bf16 or 8-bit integers.
//!
//! With few rows a product takes as long as reading the weights, so they are read once and widened in registers. What
//! comes after the product (scales, bias, activation, what is added) happens before the result is written. The CPU takes
//! any number of rows so.
//!
//! Invariant: every sum is made in an order that depends on the sizes alone.

use std::fmt::Write;

use farad::{CustomKernel, CustomLimits, CustomOp, DType, OpError, Shape, Tensor, WgslText, Words};

use super::rows_on_cpu;

const TEXT: &str = include_str!("rows_product.wgsl");

/// The sums where weights lie as `[columns, terms]`: an invocation has four columns, and eight terms of each at a time.
const BY_TERMS: &str = "    for (var block = slice; block < TERMS / 8u; block += SLICES) {
        for (var c = 0u; c < 4u; c++) { // unroll
            let w = eight(min(own * 4u + c, COLUMNS - 1u) * (TERMS / 8u) + block);
            for (var r = 0u; r < ROWS; r++) { // unroll
                let at = min(first + r, rows - 1u) * (TERMS / 4u) + block * 2u;
                sum[r][c] += dot(w[0], x[at]) + dot(w[1], x[at + 1u]);
            }
        }
    }
";

/// Most rows that these products are for on GPUs. Not measured.
const MOST_ROWS: usize = 32;
/// Weights that are read at once.
const EIGHT: usize = 8;
/// Sums that are added up at once at most: they decide how much workgroup memory is taken.
const MOST_AT_ONCE: usize = 4;
/// Slices that one invocation adds at first, as in the text.
const SHARE: usize = 8;
/// Workgroups that keep a large GPU busy. Not measured.
const MANY: usize = 256;

/// What happens to the results of a product.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RowActivation {
    /// Nothing.
    None,
    /// `x · Φ(x)`.
    Gelu,
    /// The same by `tanh`.
    GeluTanh,
    /// The first half of the columns gates the second: `silu(a) · b`.
    Swiglu,
}

/// `[rows, terms] · [terms, columns] -> [rows, columns]`, or half the columns with swiglu.
///
/// Operands: rows, weights, then scales `[columns]`, bias `[columns]` and what is added `[rows, columns]`, if there are any.
#[derive(Clone, Copy, Debug, Hash)]
pub struct RowsProduct {
    /// How weights are stored.
    pub stored: DType,
    /// Weights lie as `[columns, terms]`.
    pub transposed: bool,
    /// What happens to sums.
    pub activation: RowActivation,
    /// Whether there are scales.
    pub scaled: bool,
    /// Whether there is a bias.
    pub biased: bool,
    /// Whether something is added last.
    pub added: bool,
}

/// The sizes of one product.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProductSizes {
    /// Rows.
    pub rows: usize,
    /// Terms of a sum.
    pub terms: usize,
    /// Columns of the result.
    pub columns: usize,
    /// Columns of weights for each of them.
    pub parts: usize,
}

/// Operands of a product.
pub struct ProductOperands<'a> {
    /// `[rows, terms]`
    pub x: &'a Tensor,
    /// `[terms, columns]`, or the other way round.
    pub weight: &'a Tensor,
    /// `[columns]`
    pub scale: Option<&'a Tensor>,
    /// `[columns]`
    pub bias: Option<&'a Tensor>,
    /// `[rows, columns of the result]`
    pub added: Option<&'a Tensor>,
}

/// The product, if its sizes and dtypes suit these kernels.
#[track_caller]
pub fn rows_product(given: &ProductOperands, transposed: bool, activation: RowActivation) -> Option<Tensor> {
    let ProductOperands { x, weight, scale, bias, added } = *given;
    let op = RowsProduct {
        stored: weight.dtype(),
        transposed,
        activation,
        scaled: scale.is_some(),
        biased: bias.is_some(),
        added: added.is_some(),
    };
    let sizes = op.sizes(&x.shape(), &weight.shape());
    let whole = match transposed {
        true => sizes.terms.is_multiple_of(EIGHT) && sizes.parts == 1,
        false => sizes.terms.is_multiple_of(4) && sizes.columns.is_multiple_of(EIGHT),
    };
    let stored = matches!(weight.dtype(), DType::F32 | DType::F16 | DType::BF16 | DType::I8);
    let many = sizes.rows > MOST_ROWS && x.device().is_gpu();
    if !whole || !stored || many || x.dtype() != DType::F32 {
        return None;
    }
    let operands: Vec<&Tensor> = [x, weight].into_iter().chain(scale).chain(bias).chain(added).collect();
    Some(Tensor::custom(op, &operands).swap_remove(0))
}

impl RowsProduct {
    fn parts(&self) -> usize {
        if self.activation == RowActivation::Swiglu { 2 } else { 1 }
    }

    fn sizes(&self, x: &Shape, weight: &Shape) -> ProductSizes {
        let parts = self.parts();
        let columns = if self.transposed { weight[0] } else { weight[1] } / parts;
        ProductSizes { rows: x[0], terms: x[1], columns, parts }
    }

    /// The numbers of scales, bias and what is added among the operands.
    pub fn extras(&self) -> [Option<usize>; 3] {
        let mut next = 2;
        [self.scaled, self.biased, self.added].map(|is| {
            next += usize::from(is);
            is.then(|| next - 1)
        })
    }

    /// What a kernel binds beside rows and results, and what reads it.
    fn regions(&self, sizes: &ProductSizes) -> [String; 3] {
        let kind = match self.stored {
            DType::F32 => "vec4<f32>",
            DType::I8 => "vec2<u32>",
            _ => "vec4<u32>",
        };
        let mut operands = format!("@group(0) @binding(3) var<storage, read> weight: array<{kind}>;\n");
        let names = ["scale", "bias", "added"].into_iter().zip(self.extras());
        for (n, (name, _)) in names.filter(|(_, number)| number.is_some()).enumerate() {
            let binding = 4 + n;
            writeln!(operands, "@group(0) @binding({binding}) var<storage, read> {name}: array<f32>;")
                .expect("strings take text");
        }
        let eight = match self.stored {
            DType::F32 => "    return array<vec4<f32>, 2>(weight[2u * at], weight[2u * at + 1u]);\n",
            DType::I8 => {
                "    let w = weight[at];\n    return array<vec4<f32>, 2>(vec4<f32>(unpack4xI8(w.x)), vec4<f32>(unpack4xI8(w.y)));\n"
            }
            DType::BF16 => {
                "    let w = weight[at];\n    let low = bitcast<vec4<f32>>(w << vec4<u32>(16u));\n    let high = bitcast<vec4<f32>>(w & vec4<u32>(0xffff0000u));\n    return array<vec4<f32>, 2>(vec4<f32>(low.x, high.x, low.y, high.y), vec4<f32>(low.z, high.z, low.w, high.w));\n"
            }
            _ => {
                "    let w = weight[at];\n    let a = vec4<f32>(unpack2x16float(w.x), unpack2x16float(w.y));\n    return array<vec4<f32>, 2>(a, vec4<f32>(unpack2x16float(w.z), unpack2x16float(w.w)));\n"
            }
        };
        let eight = format!("fn eight(at: u32) -> array<vec4<f32>, 2> {{\n{eight}}}\n");
        [operands, eight, self.finish(sizes)]
    }

    /// What becomes of sums.
    fn finish(&self, sizes: &ProductSizes) -> String {
        let mut text = String::new();
        let last = (sizes.parts - 1) * sizes.columns;
        let settled = |name: &str, first: usize| {
            let scale = if self.scaled { format!(" * scale[column + {first}u]") } else { String::new() };
            let bias = if self.biased { format!(" + bias[column + {first}u]") } else { String::new() };
            format!("    let {name}_settled = {name}{scale}{bias};\n")
        };
        text += "fn finish(value: f32, gate: f32, column: u32, at: u32) -> f32 {\n";
        text += &settled("value", last);
        if self.activation == RowActivation::Swiglu {
            text += &settled("gate", 0);
        }
        let activated = match self.activation {
            RowActivation::None => "value_settled",
            RowActivation::Gelu => "gelu(value_settled)",
            RowActivation::GeluTanh => "gelu_tanh(value_settled)",
            RowActivation::Swiglu => "gate_settled / (1.0 + exp(-gate_settled)) * value_settled",
        };
        let added = if self.added { " + added[at]" } else { "" };
        writeln!(text, "    return {activated}{added};\n}}").expect("strings take text");
        text += match self.activation {
            RowActivation::Gelu => GELU,
            RowActivation::GeluTanh => GELU_TANH,
            _ => "",
        };
        text
    }

    /// How a workgroup shares the work.
    fn tile(&self, sizes: &ProductSizes, limits: &CustomLimits) -> RowsTile {
        let most = if sizes.parts == 2 { 4 } else { 8 };
        let rows = sizes.rows.next_power_of_two().min(most);
        let quarters = if self.transposed { 1 } else { 2 };
        let batch = (rows * quarters * sizes.parts).min(MOST_AT_ONCE);
        let fits = limits.invocations >= 512 && batch * 512 * 16 <= limits.workgroup_memory as usize;
        let threads = if fits && rows <= 2 { 512 } else { 256 };
        let tiles = |lanes: usize| sizes.columns.div_ceil(4 * quarters * lanes) * sizes.rows.div_ceil(rows);
        let lanes = match self.transposed {
            // Neighbors read neighboring terms; there are as many slices as that gives work to.
            true => threads / (sizes.terms / EIGHT).next_power_of_two().clamp(SHARE, 32),
            false => [16, 8, 4].into_iter().find(|&lanes| tiles(lanes) >= MANY).unwrap_or(2),
        };
        RowsTile { rows, lanes, slices: threads / lanes, quarters }
    }
}

/// How a workgroup shares the work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct RowsTile {
    rows: usize,
    lanes: usize,
    slices: usize,
    quarters: usize,
}

const GELU: &str = "// By the error function, to 2e-7 (Abramowitz and Stegun 7.1.26).
fn gelu(x: f32) -> f32 {
    let z = abs(x) * 0.70710678118654752;
    let t = 1.0 / (1.0 + 0.3275911 * z);
    let series = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))));
    let rest = series * exp(-z * z);
    return 0.5 * x * (1.0 + sign(x) * (1.0 - rest));
}
";

const GELU_TANH: &str = "fn gelu_tanh(x: f32) -> f32 {
    let z = clamp(1.5957691216057308 * (x + 0.044715 * x * x * x), -40.0, 40.0);
    return x / (1.0 + exp(-z));
}
";

impl CustomOp for RowsProduct {
    fn name(&self) -> &str {
        "rows_product"
    }

    fn infer(&self, operands: &[(Shape, DType)]) -> Result<Vec<(Shape, DType)>, OpError> {
        let (x, weight) = (operands[0].0, operands[1].0);
        let terms = if self.transposed { weight[1] } else { weight[0] };
        if x[1] != terms {
            return Err(OpError::Shapes { op: "rows_product", lhs: x, rhs: weight, a: x[1], b: terms });
        }
        let sizes = self.sizes(&x, &weight);
        Ok(vec![(Shape::new(&[sizes.rows, sizes.columns]), DType::F32)])
    }

    fn reference(&self, operands: &[Vec<f64>], shapes: &[Shape]) -> Vec<Vec<f64>> {
        vec![rows_on_cpu::reference(self, &self.sizes(&shapes[0], &shapes[1]), operands)]
    }

    fn cpu(&self, _: &[&[u32]], _: &[Shape], _: &mut [Words]) {
        unreachable!("it has a host form")
    }

    fn host(&self, operands: &[&[u8]], shapes: &[Shape], results: &mut [&mut [u8]]) -> bool {
        rows_on_cpu::run(self, &self.sizes(&shapes[0], &shapes[1]), operands, results[0]);
        true
    }

    fn wgsl(&self, shapes: &[Shape], limits: &CustomLimits) -> Vec<CustomKernel> {
        let sizes = self.sizes(&shapes[0], &shapes[1]);
        let tile = self.tile(&sizes, limits);
        let sums = tile.rows * tile.quarters * sizes.parts;
        let batch = sums.min(MOST_AT_ONCE);
        let [operands, eight, finish] = self.regions(&sizes);
        let text = WgslText::new(TEXT)
            .sizes(&[
                ("ROWS", tile.rows),
                ("TERMS", sizes.terms),
                ("COLUMNS", sizes.columns),
                ("PARTS", sizes.parts),
                ("QUARTERS", tile.quarters),
                ("LANES", tile.lanes),
                ("SLICES", tile.slices),
                ("SUMS", sums),
                ("BATCH", batch),
                ("TURNS", sums / batch),
            ])
            .constant("BY_TERMS", self.transposed)
            .region("operands", operands)
            .region("eight", eight)
            .region("finish", finish);
        let text = if self.transposed { text.region("terms", BY_TERMS) } else { text };
        let tiles = sizes.columns.div_ceil(4 * tile.quarters * tile.lanes);
        let wide = tiles.min(limits.workgroups as usize);
        let groups = [wide, tiles.div_ceil(wide), sizes.rows.div_ceil(tile.rows)].map(|n| n as u32);
        let extras = self.extras().into_iter().flatten();
        let arguments: Vec<usize> = [0, shapes.len(), 1].into_iter().chain(extras).collect();
        vec![
            CustomKernel::new(text.unrolled(), "main", groups)
                .parameters(&[sizes.rows as u32])
                .arguments(&arguments),
        ]
    }

    fn costs(&self, shapes: &[Shape]) -> Option<(u64, u64)> {
        let sizes = self.sizes(&shapes[0], &shapes[1]);
        let weights = sizes.terms * sizes.columns * sizes.parts;
        let bytes = weights * self.stored.size() + 4 * sizes.rows * (sizes.terms + sizes.columns);
        Some((bytes as u64, 2 * (weights * sizes.rows) as u64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use farad::Device;

    /// Against products of tensors in f32, in every format and layout, on every device that is there.
    #[test]
    fn products_are_those_of_tensors() {
        let mut devices = vec![Device::cpu()];
        devices.extend(Device::gpu(0).ok());
        for device in &devices {
            // Every format, layout and activation once, with sizes that fill no tile.
            for (n, stored) in [DType::F32, DType::F16, DType::BF16, DType::I8].into_iter().enumerate() {
                let sizes = [(1, 136, 24), (3, 64, 40), (9, 8, 8), (32, 96, 520)];
                for case in 0..6 {
                    check(device, sizes[(n + case) % 4], stored, case);
                }
            }
        }
    }

    fn check(device: &Device, (rows, terms, columns): (usize, usize, usize), stored: DType, case: usize) {
        device.seed(case as u64);
        let transposed = case == 5;
        let activation = [
            RowActivation::None,
            RowActivation::Gelu,
            RowActivation::GeluTanh,
            RowActivation::Swiglu,
            RowActivation::None,
            RowActivation::None,
        ][case];
        let values = |shape: &[usize], scale: f64| {
            ((Tensor::rand(shape, device) - 0.5) * scale).detach().expect("numbers")
        };
        let x = values(&[rows, terms], 2.0);
        let whole = if stored == DType::I8 { 200.0 } else { 2.0 };
        let all = if activation == RowActivation::Swiglu { 2 * columns } else { columns };
        let shape = if transposed { [all, terms] } else { [terms, all] };
        let weight = values(&shape, whole).cast(stored).detach().expect("numbers");
        let (scale, bias) = (values(&[all], 0.02), values(&[all], 1.0));
        let added = values(&[rows, columns], 1.0);
        let extras = case != 4;
        let given = ProductOperands {
            x: &x,
            weight: &weight,
            scale: extras.then_some(&scale),
            bias: extras.then_some(&bias),
            added: extras.then_some(&added),
        };
        let y = rows_product(&given, transposed, activation).expect("it suits");
        let wide = weight.cast(DType::F32);
        let product = x.matmul(&if transposed { wide.transpose(0, 1) } else { wide });
        let wanted = if extras { product * &scale + &bias } else { product };
        let wanted = match activation {
            RowActivation::None => wanted,
            RowActivation::Gelu => wanted.gelu(),
            RowActivation::GeluTanh => wanted.gelu_tanh(),
            RowActivation::Swiglu => wanted.swiglu(-1),
        };
        let wanted = if extras { wanted + &added } else { wanted };
        let [found, wanted] = [y, wanted].map(|t| t.to_vec::<f32>().expect("numbers"));
        let largest = wanted.iter().fold(1f32, |most, x| most.max(x.abs()));
        for (n, (a, b)) in found.iter().zip(&wanted).enumerate() {
            let device = device.name();
            assert!(
                (a - b).abs() <= 2e-5 * largest,
                "{device} {stored} case {case} {rows}x{terms}x{columns}, {n}: {a} vs {b}"
            );
        }
    }
}

//! Shapes that nobody chose: `farad bench --random N --seed S`.
//!
//! The distribution was fixed before anything was tuned by it. Families take turns ([`TURNS`]); sizes are log-uniform, most
//! of them awkward, and drawn again until the work takes an ideal device ([`Ideal`]) between 20 µs and a few milliseconds.
//! Invariant: shape `n` depends on the seed, on `n` and on the kind of device alone. Start at [`draw`].

use std::borrow::Cow;

use farad::data::Random;
use farad::{Device, Precision, ProductShape};
use serde_json::{Value, json};

use super::case::{BenchCase, F16_TOLERANCE, Prepare, SuitedDevices, TimedAs, Workload};
use super::{convolution, gpt, images, matmul, reduce, rows};

/// The stream of shapes, apart from all others.
const STREAM: u32 = 0x7368_6170;
/// Families, one after the other, again and again.
const TURNS: [ShapeFamily; 20] = {
    use ShapeFamily::*;
    [
        Product,
        Halves,
        Convolution,
        Rows,
        Product,
        Halves,
        Convolution,
        Product,
        Halves,
        Convolution,
        Rows,
        Gpt,
        Product,
        Halves,
        Convolution,
        Rows,
        Product,
        Halves,
        Convolution,
        Cnn,
    ]
};

/// Kinds of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ShapeFamily {
    Product,
    Halves,
    Convolution,
    Rows,
    Gpt,
    Cnn,
}

/// What is done with rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowOp {
    Softmax,
    LayerNorm,
    Sum,
    Max,
}

impl RowOp {
    const ALL: [RowOp; 4] = [RowOp::Softmax, RowOp::LayerNorm, RowOp::Sum, RowOp::Max];

    const fn name(self) -> &'static str {
        match self {
            RowOp::Softmax => "softmax",
            RowOp::LayerNorm => "layernorm",
            RowOp::Sum => "sum",
            RowOp::Max => "max",
        }
    }
}

/// Work that was drawn.
#[derive(Clone, Copy)]
pub enum DrawnWork {
    Product(matmul::ProductSize),
    /// And whether its gradients are asked for.
    Convolution(convolution::ConvolutionSize, bool),
    Rows(RowOp, [usize; 2]),
    Gpt(gpt::GptSize, Precision),
    Cnn(images::ImagesSize, Precision),
}

/// What a device can do at best, and how large tensors may be: sizes are drawn to fit.
#[derive(Clone, Copy)]
struct Ideal {
    /// Operations per second in f32 and in f16; 0: there are no f16 products.
    flops: [f64; 2],
    /// Bytes a second.
    bandwidth: f64,
    /// Seconds from and to.
    seconds: [f64; 2],
    /// Bytes of all tensors.
    bytes: f64,
    /// Rows and columns of products, from and to.
    sides: [usize; 2],
}

/// A data-center GPU of 2024.
const LARGE: Ideal = Ideal {
    flops: [50e12, 600e12],
    bandwidth: 3.5e12,
    seconds: [20e-6, 5e-3],
    bytes: 2e9,
    sides: [16, 16_384],
};
/// Two cores of a processor.
const SMALL: Ideal =
    Ideal { flops: [1e11, 0.0], bandwidth: 2e10, seconds: [20e-6, 20e-3], bytes: 1e8, sides: [4, 2048] };

impl Ideal {
    fn takes(&self, flops: f64, bytes: f64, is_f16: bool) -> bool {
        let time = (flops / self.flops[is_f16 as usize]).max(bytes / self.bandwidth);
        (self.seconds[0]..self.seconds[1]).contains(&time) && bytes < self.bytes
    }

    fn is_large(&self) -> bool {
        self.flops[1] > 0.0
    }
}

/// The cases of a seed; small devices get small ones, and none in f16.
pub fn draw(count: usize, seed: u64, small: bool) -> Vec<BenchCase> {
    let ideal = if small { SMALL } else { LARGE };
    (0..count).map(|n| case(&ideal, n, &mut Random::at(seed, STREAM, n as u64))).collect()
}

/// As many random products, half of them f16 where that is drawn at all. Sides are rounded up to multiples of four.
pub fn products(count: usize, seed: u64, small: bool) -> Vec<ProductShape> {
    let ideal = if small { SMALL } else { LARGE };
    let drawn = (0..count).map(|n| {
        let mut random = Random::at(seed, STREAM, n as u64);
        product(&ideal, n % 2 == 1 && ideal.is_large(), &mut random)
    });
    let products =
        drawn.filter_map(|work| if let DrawnWork::Product(size) = work { Some(size) } else { None });
    let fours = |size: usize| size.next_multiple_of(4);
    let shaped = products.map(|size| ProductShape {
        batch: size.batch,
        m: fours(size.rows),
        k: fours(size.inner),
        n: fours(size.columns),
        is_f16: size.is_f16,
        turned: [size.transposed[0], size.transposed[1]],
    });
    shaped.collect()
}

fn case(ideal: &Ideal, n: usize, random: &mut Random) -> BenchCase {
    let shape = shape(ideal, n, random);
    let prepare = Prepare::Drawn(shape);
    let (kind, tolerance) = match shape {
        DrawnWork::Product(size) if size.is_f16 => (TimedAs::Operation(prepare), F16_TOLERANCE),
        DrawnWork::Gpt(_, Precision::Single) | DrawnWork::Cnn(_, Precision::Single) => {
            (TimedAs::Training(prepare), 1e-3)
        }
        DrawnWork::Gpt(..) | DrawnWork::Cnn(..) => (TimedAs::Training(prepare), 0.1),
        _ => (TimedAs::Operation(prepare), 1e-5),
    };
    BenchCase {
        name: Cow::Owned(format!("r{n:03}_{}", shape.name())),
        sizes: SuitedDevices::Any,
        tolerance,
        kind,
    }
}

fn shape(ideal: &Ideal, n: usize, random: &mut Random) -> DrawnWork {
    // Steps of networks take turns between singles and mixed precision.
    let mixed = ideal.is_large() && (n / TURNS.len()) % 2 == 1;
    let precision = if mixed { Precision::Mixed } else { Precision::Single };
    match TURNS[n % TURNS.len()] {
        ShapeFamily::Product => product(ideal, false, random),
        ShapeFamily::Halves => product(ideal, ideal.is_large(), random),
        ShapeFamily::Convolution => convolution(ideal, random),
        ShapeFamily::Rows => of_rows(ideal, random),
        ShapeFamily::Gpt => DrawnWork::Gpt(transformer(ideal, random), precision),
        ShapeFamily::Cnn => DrawnWork::Cnn(network(ideal, random), precision),
    }
}

/// A whole number, each order of magnitude as likely as any other.
fn log_uniform(random: &mut Random, [from, to]: [usize; 2]) -> usize {
    let (low, high) = ((from as f32).ln(), (to as f32).ln());
    (random.between(low, high).exp().round() as usize).clamp(from, to)
}

/// The same, every third time a multiple of eight.
fn side(random: &mut Random, range: [usize; 2]) -> usize {
    let size = log_uniform(random, range);
    if random.below(3) == 0 && size > 8 { size / 8 * 8 } else { size }
}

fn product(ideal: &Ideal, is_f16: bool, random: &mut Random) -> DrawnWork {
    loop {
        let batch = if random.below(5) < 3 { 1 } else { log_uniform(random, [2, 256]) };
        let [rows, inner, columns] = [0; 3].map(|_| side(random, ideal.sides));
        let transposed = [0; 2].map(|_| random.below(2) == 1);
        let size = matmul::ProductSize { batch, rows, inner, columns, transposed, is_f16 };
        if ideal.takes(size.flops(), size.bytes(), is_f16) {
            return DrawnWork::Product(size);
        }
    }
}

fn convolution(ideal: &Ideal, random: &mut Random) -> DrawnWork {
    loop {
        let channels = |random: &mut Random| side(random, [3, 512]);
        let (inputs, outputs) = (channels(random), channels(random));
        let (inputs, outputs, groups) = match random.below(20) {
            0..14 => (inputs, outputs, 1),
            14..17 => (inputs, inputs, inputs),
            _ => {
                let groups = 2 + random.below(7);
                let whole = |channels: usize| (channels / groups).max(1) * groups;
                (whole(inputs), whole(outputs), groups)
            }
        };
        let stride = [1, 1, 1, 2, 3][random.below(5)];
        let size = convolution::ConvolutionSize {
            batch: log_uniform(random, [1, 128]),
            inputs,
            outputs,
            side: log_uniform(random, [7, 224]),
            window: 1 + random.below(7),
            stride,
            groups,
        };
        if size.window <= size.side && ideal.takes(size.flops(), size.bytes(), false) {
            return DrawnWork::Convolution(size, random.below(2) == 1);
        }
    }
}

fn of_rows(ideal: &Ideal, random: &mut Random) -> DrawnWork {
    loop {
        let op = RowOp::ALL[random.below(RowOp::ALL.len())];
        let (rows, width) = (log_uniform(random, [1, 1 << 20]), side(random, [8, 1 << 18]));
        let bytes = (rows * width) as f64 * if matches!(op, RowOp::Sum | RowOp::Max) { 4.0 } else { 8.0 };
        if ideal.takes(0.0, bytes, false) {
            return DrawnWork::Rows(op, [rows, width]);
        }
    }
}

fn transformer(ideal: &Ideal, random: &mut Random) -> gpt::GptSize {
    let large = ideal.is_large();
    let heads = 2 + random.below(if large { 7 } else { 3 });
    gpt::GptSize {
        layers: 1 + random.below(if large { 6 } else { 2 }),
        heads,
        width: heads * log_uniform(random, if large { [16, 96] } else { [8, 24] }),
        time: log_uniform(random, if large { [48, 512] } else { [16, 64] }),
        batch: log_uniform(random, if large { [3, 40] } else { [2, 6] }),
        vocabulary: log_uniform(random, if large { [500, 20_000] } else { [60, 500] }),
    }
}

fn network(ideal: &Ideal, random: &mut Random) -> images::ImagesSize {
    let large = ideal.is_large();
    let mut channels = || side(random, if large { [12, 400] } else { [3, 24] });
    let channels = [channels(), channels()];
    // The check repeats a pair of pictures.
    images::ImagesSize { batch: 2 * log_uniform(random, if large { [8, 100] } else { [2, 16] }), channels }
}

impl DrawnWork {
    /// The workload on a device.
    pub fn workload(&self, device: &Device) -> farad::Result<Workload> {
        match *self {
            DrawnWork::Product(size) => matmul::product(size, device),
            DrawnWork::Convolution(size, false) => convolution::forward(size, device),
            DrawnWork::Convolution(size, true) => convolution::both(size, device),
            DrawnWork::Rows(RowOp::Softmax, size) => rows::softmax(size, device),
            DrawnWork::Rows(RowOp::LayerNorm, size) => rows::layer_norm(size, device),
            DrawnWork::Rows(RowOp::Sum, size) => reduce::sum(1, size, device),
            DrawnWork::Rows(RowOp::Max, size) => reduce::max(1, size, device),
            DrawnWork::Gpt(size, precision) => gpt::train(size, precision, device),
            DrawnWork::Cnn(size, precision) => images::train(size, precision, device),
        }
    }

    fn name(&self) -> String {
        let precision = |precision: Precision| if precision == Precision::Single { "f32" } else { "mixed" };
        match *self {
            DrawnWork::Product(size) => {
                let matmul::ProductSize { batch, rows, inner, columns, transposed, is_f16 } = size;
                let [a, b] = transposed.map(|turned| if turned { 't' } else { 'n' });
                let kind = if is_f16 { "f16" } else { "f32" };
                format!("matmul_{a}{b}_{batch}x{rows}x{inner}x{columns}_{kind}")
            }
            DrawnWork::Convolution(size, both) => {
                let convolution::ConvolutionSize { batch, inputs, outputs, side, window, stride, groups } =
                    size;
                let pass = if both { "fwdbwd" } else { "fwd" };
                format!(
                    "conv_{window}x{window}s{stride}g{groups}_{batch}x{inputs}x{outputs}x{side}_{pass}_f32"
                )
            }
            DrawnWork::Rows(op, [rows, width]) => format!("{}_{rows}x{width}_f32", op.name()),
            DrawnWork::Gpt(size, kind) => {
                let gpt::GptSize { layers, heads, width, time, batch, vocabulary } = size;
                format!("gpt_{layers}x{heads}x{width}_{batch}x{time}_v{vocabulary}_{}", precision(kind))
            }
            DrawnWork::Cnn(images::ImagesSize { batch, channels: [a, b] }, kind) => {
                format!("cnn_{batch}x{a}x{b}_{}", precision(kind))
            }
        }
    }

    /// Everything about it, for other programs that time the same.
    fn json(&self) -> Value {
        match *self {
            DrawnWork::Product(size) => json!({
                "family": "matmul", "batch": size.batch, "rows": size.rows, "inner": size.inner,
                "columns": size.columns, "transposed": size.transposed, "f16": size.is_f16,
            }),
            DrawnWork::Convolution(size, both) => json!({
                "family": "conv", "batch": size.batch, "inputs": size.inputs, "outputs": size.outputs,
                "side": size.side, "window": size.window, "stride": size.stride, "groups": size.groups,
                "backward": both,
            }),
            DrawnWork::Rows(op, [rows, width]) => {
                json!({ "family": "rows", "op": op.name(), "rows": rows, "width": width })
            }
            DrawnWork::Gpt(size, precision) => json!({
                "family": "gpt", "layers": size.layers, "heads": size.heads, "width": size.width,
                "time": size.time, "batch": size.batch, "vocabulary": size.vocabulary,
                "mixed": precision != Precision::Single,
            }),
            DrawnWork::Cnn(size, precision) => json!({
                "family": "cnn", "batch": size.batch, "channels": size.channels,
                "mixed": precision != Precision::Single,
            }),
        }
    }
}

/// The cases as JSON, an object per line.
pub fn list(cases: &[&BenchCase]) -> String {
    let line = |case: &&BenchCase| match case.kind {
        TimedAs::Operation(Prepare::Drawn(shape)) | TimedAs::Training(Prepare::Drawn(shape)) => {
            let mut value = shape.json();
            value["case"] = json!(case.name);
            format!("{value}\n")
        }
        _ => String::new(),
    };
    cases.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(count: usize, seed: u64, small: bool) -> Vec<String> {
        draw(count, seed, small).iter().map(|case| case.name.to_string()).collect()
    }

    #[test]
    fn shapes_depend_on_seed_and_place_alone() {
        assert_eq!(names(40, 3, false), names(40, 3, false));
        assert_eq!(names(40, 3, false)[..7], names(7, 3, false));
        assert_ne!(names(20, 3, false), names(20, 4, false));
        assert_ne!(names(20, 3, false), names(20, 3, true));
    }

    #[test]
    fn every_family_has_its_share() {
        let of = |count: usize, small: bool, part: &str| {
            names(count, 1, small).iter().filter(|name| name.contains(part)).count()
        };
        assert_eq!(of(200, false, "_f16"), 50);
        assert_eq!(of(200, false, "matmul"), 100);
        assert_eq!(of(200, false, "conv"), 50);
        assert_eq!((of(200, false, "gpt"), of(200, false, "cnn")), (10, 10));
        assert_eq!(of(200, false, "_mixed"), 10);
        assert_eq!((of(200, true, "_f16"), of(200, true, "_mixed")), (0, 0));
    }

    #[test]
    fn shapes_are_right_on_the_processor() {
        let device = Device::cpu();
        for case in draw(40, 2, true) {
            let (TimedAs::Operation(prepare) | TimedAs::Training(prepare)) = case.kind else { continue };
            let error = (prepare.workload(&device).unwrap().error)().unwrap();
            assert!(error <= case.tolerance, "{}: {error}", case.name);
        }
    }

    #[test]
    fn a_list_says_everything() {
        let cases = draw(20, 1, false);
        let text = list(&cases.iter().collect::<Vec<_>>());
        let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(lines.len(), 20);
        assert!(lines.iter().zip(&cases).all(|(line, case)| line["case"] == *case.name));
    }
}

//! Random loops with pointwise bodies: as one kernel they must give the same as a host loop over the same body.

use farad::{Device, Result, Tensor, scan_along};
use farad_ir::{DType, Shape};

use crate::case::{Input, float, half, int, truth};
use crate::sample::NumberStream;

/// Most positions.
const MOST_POSITIONS: usize = 6;
/// Most ops of a body.
const MOST_OPS: usize = 14;

/// Carries and one slice of every sequence, each of a dtype of the table.
struct FuzzLoop {
    seed: u64,
    shape: Shape,
    steps: usize,
    reverse: bool,
    carries: Vec<DType>,
    sequences: Vec<DType>,
}

const DTYPES: [DType; 4] = [DType::F32, DType::F16, DType::I32, DType::Bool];

impl FuzzLoop {
    fn grow(seed: u64) -> FuzzLoop {
        let mut sample = NumberStream::new(seed.wrapping_mul(0x9E37_79B9) ^ 0x100b5);
        let sizes: &[&[usize]] = &[&[], &[1], &[7], &[64], &[3, 5], &[2, 1, 9], &[1300]];
        let dtypes = |sample: &mut NumberStream, most: usize| {
            let count = 1 + sample.below(most);
            (0..count).map(|_| sample.pick(&DTYPES)).collect()
        };
        FuzzLoop {
            seed,
            shape: Shape::new(sizes[sample.below(sizes.len())]),
            steps: 1 + sample.below(MOST_POSITIONS),
            reverse: sample.once_in(2),
            carries: dtypes(&mut sample, 4),
            sequences: dtypes(&mut sample, 2),
        }
    }

    /// Elements of a tensor of this dtype.
    fn tensor(
        &self,
        dtype: DType,
        shape: Shape,
        sample: &mut NumberStream,
        device: &Device,
    ) -> Result<Tensor> {
        let input: Input = match dtype {
            DType::F16 => half(shape, (-2.0, 2.0)),
            DType::I32 => int(shape, -20, 20),
            DType::Bool => truth(shape),
            _ => float(shape, (-2.0, 2.0)),
        };
        input.tensor(&input.elements(sample), device)
    }

    /// The body: the same ops for the same seed, whatever its inputs.
    fn body(&self, given: &[Tensor], constant: &Tensor) -> (Vec<Tensor>, Vec<Tensor>) {
        let mut sample = NumberStream::new(self.seed ^ 0xb0d7);
        let mut values = given.to_vec();
        // Values made only of constants would be computed, and rounded, before the loop.
        values.extend(given.iter().rfind(|v| v.dtype() == DType::F32).map(|v| v * constant));
        for _ in 0..2 + sample.below(MOST_OPS) {
            let made = op(&values, &mut sample);
            values.extend(made);
        }
        let mut latest = |dtype: DType| {
            let fitting: Vec<&Tensor> = values.iter().rev().filter(|v| v.dtype() == dtype).take(4).collect();
            fitting[sample.below(fitting.len())].clone()
        };
        let next: Vec<Tensor> = self.carries.iter().map(|&dtype| latest(dtype)).collect();
        let results = vec![latest(self.carries[0]), latest(self.sequences[0])];
        (next, results)
    }
}

/// A value made of earlier ones; floats stay small, and nothing is discontinuous where they are rounded
/// differently.
fn op(values: &[Tensor], sample: &mut NumberStream) -> Option<Tensor> {
    let a = values[sample.below(values.len())].clone();
    let alike: Vec<&Tensor> = values.iter().filter(|v| v.dtype() == a.dtype()).collect();
    let b = alike[sample.below(alike.len())];
    let masks: Vec<&Tensor> = values.iter().filter(|v| v.dtype() == DType::Bool).collect();
    if !masks.is_empty() && sample.once_in(4) {
        return Some(masks[sample.below(masks.len())].select(&a, b));
    }
    Some(match (a.dtype(), sample.below(8)) {
        (DType::Bool, 0..3) => a.xor(b),
        (DType::Bool, 3..6) => a.and(b),
        (DType::Bool, _) => a.cast(sample.pick(&[DType::F32, DType::I32, DType::F16])),
        (DType::I32, 0) => &a * b,
        (DType::I32, 1) => a.maximum(b),
        (DType::I32, 2) => a.less(b),
        (DType::I32, 3) => (a.cast(DType::F32) * 1e-3).sin(),
        (DType::I32, _) => &a + b,
        (_, 0) => a.tanh(),
        (_, 1) => a.sin(),
        (_, 2) => (&a * b).tanh(),
        (_, 3) => a.maximum(b),
        (_, 4) => a.minimum(b),
        (_, 5) => (&a * b - a).sin(),
        (DType::F32, 6) => a.cast(DType::F16),
        (DType::F16, 6) => a.cast(DType::F32),
        _ => (&a - b).sin(),
    })
}

/// Fails unless the loop of a seed, in one kernel, gives the same as a host loop over its body: the same
/// integers, and floats within what fused multiply-adds explain, which are chosen kernel by kernel.
pub fn check_loops(seed: u64, device: &Device) -> std::result::Result<(), String> {
    let of = FuzzLoop::grow(seed);
    let (found, wanted) = both(&of, device).map_err(|error| format!("loop of seed {seed}: {error}\n"))?;
    let has_f16 = of.carries.iter().chain(&of.sequences).any(|&dtype| dtype == DType::F16);
    let allowed = if has_f16 { 0.05 } else { 1e-4 };
    for (n, (found, wanted)) in found.iter().zip(&wanted).enumerate() {
        let allowed = if found.1 { allowed } else { 0.0 };
        let differs = |(a, b): (&f64, &f64)| (a - b).abs() > allowed || a.is_nan() != b.is_nan();
        if let Some(at) = found.0.iter().zip(&wanted.0).position(differs) {
            return Err(format!(
                "loop of seed {seed}: {} positions of {}, carries {:?}: result {n} at {at}: {} is not {}\n",
                of.steps, of.shape, of.carries, found.0[at], wanted.0[at]
            ));
        }
    }
    Ok(())
}

/// Elements of a tensor, and whether they are floats.
type LoopElements = (Vec<f64>, bool);

/// The results of the loop and of the host loop: last carries, then results.
fn both(of: &FuzzLoop, device: &Device) -> Result<(Vec<LoopElements>, Vec<LoopElements>)> {
    let mut sample = NumberStream::new(of.seed ^ 0x5eed);
    let whole = Shape::new(&std::iter::once(of.steps).chain(of.shape.iter().copied()).collect::<Vec<_>>());
    let mut make = |dtypes: &[DType], shape: Shape| {
        dtypes.iter().map(|&d| of.tensor(d, shape, &mut sample, device)).collect::<Result<Vec<Tensor>>>()
    };
    let (starts, sequences) = (make(&of.carries, of.shape)?, make(&of.sequences, whole)?);
    let constant = make(&[DType::F32], of.shape)?.remove(0);
    let body = |carries: &[Tensor], slices: &[Tensor]| of.body(&[carries, slices].concat(), &constant);
    let (last, results) = scan_along(
        &starts.iter().collect::<Vec<_>>(),
        &sequences.iter().collect::<Vec<_>>(),
        of.reverse,
        body,
    );
    let found = last.iter().chain(&results).map(read).collect::<Result<_>>()?;
    let mut carries = starts;
    let mut slices = vec![vec![]; of.steps];
    for trip in 0..of.steps {
        let position = if of.reverse { of.steps - 1 - trip } else { trip };
        let slice = |s: &Tensor| s.narrow(0, position, 1).reshape(of.shape).detach();
        let now = sequences.iter().map(slice).collect::<Result<Vec<_>>>()?;
        let (next, results) = body(&carries, &now);
        Tensor::compute_all(&next.iter().chain(&results).collect::<Vec<_>>())?;
        carries = next.iter().map(Tensor::detach).collect::<Result<_>>()?;
        slices[position] = results.iter().map(read).collect::<Result<Vec<_>>>()?;
    }
    let mut wanted = carries.iter().map(read).collect::<Result<Vec<_>>>()?;
    wanted.extend((0..2).map(|n| {
        let elements = slices.iter().flat_map(|slice| slice[n].0.clone()).collect();
        (elements, slices[0][n].1)
    }));
    Ok((found, wanted))
}

/// All elements, and whether they are floats.
fn read(tensor: &Tensor) -> Result<LoopElements> {
    if tensor.dtype().is_float() {
        return Ok((tensor.cast(DType::F32).to_vec::<f32>()?.into_iter().map(f64::from).collect(), true));
    }
    Ok((tensor.cast(DType::I32).to_vec::<i32>()?.into_iter().map(f64::from).collect(), false))
}

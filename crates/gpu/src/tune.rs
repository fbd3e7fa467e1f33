//! Times all tiles for the products that a device has run, and finds the fastest.
//!
//! Invariant: a tile is refused, however fast, if its error exceeds 1.5 times the error of the rule's tile plus
//! 1e-7. Start at [`GpuDevice::tune`].

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use farad_compile::program::{
    BufferId, Code, Instr, Kernel, Level, Place, Product, ProductOperand, Program, ProgramBuffer,
    ProgramOutput, ProgramStep, Reg, Spec, Store, View,
};
use farad_ir::DType;
use farad_runtime::{Memory, ProductShape, Tuned, Tuning, Variant};
use half::f16;

use crate::device::GpuDevice;
use crate::error::Error;
use crate::executable::GpuExecutable;
use crate::read::MemoryRange;
use crate::render::product::ProductTile;
use crate::tuning::tiles;

/// Number of timed runs; their median counts.
const RUNS: usize = 9;
/// Minimum seconds of runs before that, and how many are in flight: a GPU raises its clocks only under load.
const WARM: (f64, usize) = (0.15, 16);
/// Seconds before a shape's first tile, because the GPU was idle while the host made the data.
const WARM_FIRST: f64 = 0.6;
/// More shapes than this are many, and each is warmed up for this share of the time.
const MANY: usize = 30;
const SOONER: f64 = 0.15;
/// Elements of the result that are compared with f64.
const SAMPLES: usize = 64;
/// A tile must take at most this fraction of the rule's time to get into the table.
const GAIN: f64 = 0.97;
/// The error that a tile may have: a factor on the rule's error, and an addition to it.
const WORSE: (f64, f64) = (1.5, 1e-7);

/// Chooses among the variants of a shape; the first is the rule's.
fn choose(shape: ProductShape, variants: Vec<Variant>) -> Option<Tuned> {
    let rule = variants.first()?.clone();
    let quicker = |v: &&Variant| (v.nanoseconds as f64) < GAIN * rule.nanoseconds as f64;
    let accurate = |v: &Variant| v.error <= WORSE.0 * rule.error + WORSE.1;
    let (good, refused): (Vec<&Variant>, Vec<&Variant>) =
        variants.iter().filter(quicker).partition(|v| accurate(v));
    let best = good.into_iter().min_by_key(|v| v.nanoseconds).unwrap_or(&rule).clone();
    let refused: Vec<Variant> = refused.into_iter().cloned().collect();
    Some(Tuned { shape, rule, best, refused, variants })
}

impl GpuDevice {
    /// Times every tile that can compute products of these shapes, on random data. Calls `progress` with the
    /// index of each shape before it starts. Shapes that do not fit in one binding are skipped.
    pub fn tune(
        &self,
        shapes: &[ProductShape],
        mut progress: impl FnMut(usize),
    ) -> Result<Vec<Tuned>, Error> {
        let limit = self.info().limits.binding_bytes as usize;
        let fits = |s: &&ProductShape| {
            let bytes = s.batch * [s.m * s.k, s.k * s.n, s.m * s.n].into_iter().max().unwrap_or(0) * 4;
            bytes > 0 && bytes <= limit
        };
        let mut all = Vec::new();
        for (number, shape) in shapes.iter().filter(fits).enumerate() {
            progress(number);
            let trial = TuningTrial::new(self, *shape)?;
            let capabilities = self.capabilities();
            let rule = ProductTile::of(
                &trial.product(),
                shape.is_f16 && capabilities.cooperative > 0,
                capabilities.processors,
            );
            let others = tiles(shape.is_f16, &capabilities).filter(|tile| *tile != rule);
            // With many shapes the device is warm anyway, and a long table would take minutes.
            let many = if shapes.len() > MANY { SOONER } else { 1.0 };
            let warm = std::iter::once(WARM_FIRST * many).chain(std::iter::repeat(WARM.0 * many));
            let all_tiles = std::iter::once(rule).chain(others).zip(warm);
            let variants = all_tiles.map(|(tile, warm)| trial.time(tile, warm));
            all.extend(choose(*shape, variants.collect::<Result<_, _>>()?));
        }
        Ok(all)
    }

    /// The table of what [`GpuDevice::tune`] found on this device.
    pub fn tuning_of(&self, tuned: &[Tuned]) -> Tuning {
        let better = tuned.iter().filter(|t| t.best.name != t.rule.name);
        let products: BTreeMap<_, _> = better.map(|t| (t.shape, t.best.name.clone())).collect();
        Tuning { adapter: self.adapter_name(), products }
    }

    /// Adapter and driver, as written in tuning tables.
    pub fn adapter_name(&self) -> String {
        let info = self.info();
        format!("{}, {}, {}", info.name, info.backend, info.driver)
    }
}

/// A product of random numbers on a device.
struct TuningTrial<'d> {
    device: &'d GpuDevice,
    shape: ProductShape,
    /// The operands in their memory layout, on the host and on the device.
    host: [Vec<f32>; 2],
    operands: [Memory; 2],
    result: Memory,
}

impl<'d> TuningTrial<'d> {
    fn new(device: &'d GpuDevice, shape: ProductShape) -> Result<TuningTrial<'d>, Error> {
        let ProductShape { batch, m, k, n, is_f16, .. } = shape;
        let size = if is_f16 { 2 } else { 4 };
        let host = [numbers(batch * m * k, 1, is_f16), numbers(batch * k * n, 2, is_f16)];
        let place = |values: &[f32]| -> Result<Memory, Error> {
            let bytes: Vec<u8> = match is_f16 {
                true => values.iter().flat_map(|&x| f16::from_f32(x).to_le_bytes()).collect(),
                false => bytemuck::cast_slice(values).to_vec(),
            };
            let memory = device.allocate(bytes.len())?;
            device.write(&memory, 0, &bytes)?;
            Ok(memory)
        };
        let operands = [place(&host[0])?, place(&host[1])?];
        let result = device.allocate((batch * m * n * size).next_multiple_of(4))?;
        Ok(TuningTrial { device, shape, host, operands, result })
    }

    fn product(&self) -> Product {
        let ProductShape { batch, m, k, n, is_f16, turned } = self.shape;
        let dtype = if is_f16 { DType::F16 } else { DType::F32 };
        let operand = |buffer: u32, rows: usize, columns: usize, turned: bool| {
            let steps = if turned { [1, rows] } else { [columns, 1] };
            let strides = vec![(rows * columns) as i64, steps[0] as i64, steps[1] as i64];
            let view = View { offset: 0, strides, guards: vec![] };
            let code = Code::Load(BufferId(buffer), view);
            let tape = vec![Instr { code, dtype: DType::F32, level: Level::Full }];
            ProductOperand { tape, value: Reg(0) }
        };
        let accumulator = Instr { code: Code::Accumulator, dtype: DType::F32, level: Level::Full };
        let rounded = Instr { code: Code::Cast(Reg(0), dtype), dtype: DType::F32, level: Level::Full };
        let store = Store { buffer: BufferId(2), value: Reg(1), view: View::contiguous(&[batch, m, n]) };
        Product {
            batch: vec![batch],
            m: vec![m],
            n: vec![n],
            k: vec![k],
            lhs: operand(0, m, k, turned[0]),
            rhs: operand(1, k, n, turned[1]),
            epilogue: vec![accumulator, rounded],
            stores: vec![store],
        }
    }

    fn program(&self) -> Program {
        let ProductShape { batch, m, k, n, is_f16, .. } = self.shape;
        let dtype = if is_f16 { DType::F16 } else { DType::F32 };
        let lens = [batch * m * k, batch * k * n, batch * m * n];
        let places = [Place::Input(0), Place::Input(1), Place::Output(0)];
        let buffers = places.into_iter().zip(lens);
        let spec = |len: usize| Spec { dtype, len };
        Program {
            inputs: lens[..2].iter().map(|&len| spec(len)).collect(),
            outputs: vec![ProgramOutput { spec: spec(lens[2]), donor: None }],
            buffers: buffers.map(|(place, len)| ProgramBuffer { place, offset: 0, dtype, len }).collect(),
            steps: vec![ProgramStep {
                wave: 0,
                label: "product".into(),
                kernel: Kernel::Product(self.product()),
            }],
            ..Program::default()
        }
    }

    /// Times a tile after `warm` seconds of runs.
    fn time(&self, tile: ProductTile, warm: f64) -> Result<Variant, Error> {
        let products = BTreeMap::from([(self.shape, tile.name())]);
        let tuning = Tuning { adapter: String::new(), products };
        let executable = self.device.load_tuned(Arc::new(self.program()), &tuning)?;
        let run = || self.run(&executable);
        let start = Instant::now();
        while start.elapsed().as_secs_f64() < warm {
            let first = Instant::now();
            run()?;
            self.device.wait()?;
            // A slow product is enough load by itself.
            if first.elapsed().as_secs_f64() < WARM.0 / WARM.1 as f64 {
                (1..WARM.1).try_for_each(|_| run())?;
                self.device.wait()?;
            }
        }
        let mut times = if self.device.time_passes(true)? {
            (0..RUNS).try_for_each(|_| run())?;
            self.device.pass_nanoseconds()?
        } else {
            let clocked = |_| {
                let start = Instant::now();
                run()?;
                self.device.wait()?;
                Ok(start.elapsed().as_nanos() as u64)
            };
            (0..RUNS).map(clocked).collect::<Result<Vec<u64>, Error>>()?
        };
        self.device.time_passes(false)?;
        times.sort();
        let nanoseconds = times.get(times.len() / 2).copied().unwrap_or(u64::MAX);
        Ok(Variant { name: tile.name(), nanoseconds, error: self.error()? })
    }

    fn run(&self, executable: &GpuExecutable) -> Result<(), Error> {
        let [a, b] = &self.operands;
        executable.run(&[(a, 0), (b, 0)], &[], &[&self.result])
    }

    /// The norm-wise relative error of a sample against f64.
    fn error(&self) -> Result<f64, Error> {
        let ProductShape { batch, m, k, n, is_f16, turned } = self.shape;
        let size = if is_f16 { 2 } else { 4 };
        let places: Vec<usize> = (0..SAMPLES).map(|s| (s * 7_919 + 13) * 104_729 % (batch * m * n)).collect();
        // Reads must be of whole words.
        let spans = places.iter().map(|place| MemoryRange::new(self.result.clone(), place * size / 4 * 4, 4));
        let words = self.device.read_blocking(&spans.collect::<Vec<_>>())?;
        let (mut wrong, mut right) = (0.0, 0.0);
        for (place, word) in places.iter().zip(words) {
            let got = if is_f16 {
                let at = place % 2 * 2;
                f16::from_le_bytes([word[at], word[at + 1]]).to_f64()
            } else {
                f32::from_le_bytes(word[..4].try_into().expect("four bytes")) as f64
            };
            let (b, row, column) = (place / (m * n), place / n % m, place % n);
            let left = |t: usize| self.host[0][b * m * k + if turned[0] { t * m + row } else { row * k + t }];
            let right_at = |t: usize| if turned[1] { column * k + t } else { t * n + column };
            let term = |t: usize| left(t) as f64 * self.host[1][b * k * n + right_at(t)] as f64;
            let exact: f64 = (0..k).map(term).sum();
            (wrong, right) = (wrong + (got - exact).powi(2), right + exact * exact);
        }
        Ok(if right > 0.0 { (wrong / right).sqrt() } else { wrong.sqrt() })
    }
}

/// Numbers in -1..1 that look random, rounded to f16 if asked.
fn numbers(count: usize, seed: u64, is_f16: bool) -> Vec<f32> {
    let mut state = seed;
    let next = |_| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let x = (state >> 40) as f32 / (1u64 << 23) as f32 - 1.0;
        if is_f16 { f16::from_f32(x).to_f32() } else { x }
    };
    (0..count).map(next).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHAPE: ProductShape =
        ProductShape { batch: 2, m: 70, k: 36, n: 50, is_f16: false, turned: [false, true] };

    fn variant(name: &str, nanoseconds: u64, error: f64) -> Variant {
        Variant { name: name.into(), nanoseconds, error }
    }

    #[test]
    fn less_accurate_tiles_are_refused_however_quick() {
        let variants =
            vec![variant("rule", 100, 1e-6), variant("wrong", 10, 1e-4), variant("good", 50, 1.2e-6)];
        let tuned = choose(SHAPE, variants).unwrap();
        assert_eq!((tuned.best.name.as_str(), tuned.refused.len()), ("good", 1));
        assert_eq!(tuned.refused[0].name, "wrong");
    }

    #[test]
    fn the_rule_stands_unless_another_tile_is_clearly_quicker() {
        let variants = vec![variant("rule", 100, 1e-6), variant("same", 98, 1e-6)];
        assert_eq!(choose(SHAPE, variants).unwrap().best.name, "rule");
    }

    #[test]
    fn every_tile_is_timed_and_right() {
        let Ok(device) = GpuDevice::open(0, crate::Options::default()) else {
            use std::io::Write;
            let _ = writeln!(std::io::stderr(), "skipped: no GPU adapter");
            return;
        };
        let is_f16 = ProductShape { is_f16: true, turned: [true, false], ..SHAPE };
        let mut seen = 0;
        let tuned = device.tune(&[SHAPE, is_f16], |_| seen += 1).unwrap();
        assert_eq!((tuned.len(), seen), (2, 2));
        for (one, bound) in tuned.iter().zip([1e-6, 1e-3]) {
            assert!(one.rule.error < bound && one.best.error < bound, "{one:?}");
            assert!(one.rule.nanoseconds > 0 && one.best.nanoseconds <= one.rule.nanoseconds, "{one:?}");
        }
        let tuning = device.tuning_of(&tuned);
        let text = serde_json::to_string(&tuning).unwrap();
        assert_eq!(serde_json::from_str::<Tuning>(&text).unwrap(), tuning);
        assert_eq!(tuning.name(), tuning.clone().name());
    }

    #[test]
    fn a_table_decides_the_tile_and_unknown_names_do_not() {
        let Ok(device) = GpuDevice::open(0, crate::Options { noop: true, ..Default::default() }) else {
            return;
        };
        let trial = TuningTrial::new(&device, SHAPE).unwrap();
        let text = |name: &str| {
            let products = BTreeMap::from([(SHAPE, name.to_string())]);
            device.set_tuning(Tuning { adapter: String::new(), products });
            device.shaders(&trial.program())[0].1.clone()
        };
        let (rule, large, small) = (text("no such tile"), text("128x128x16"), text("16x16x64 in 16 parts"));
        device.set_tuning(Tuning::default());
        assert_eq!(rule, device.shaders(&trial.program())[0].1);
        assert_ne!(large, small);
    }
}

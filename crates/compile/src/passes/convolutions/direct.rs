//! Convolutions with few channels, without a product: depthwise ones, and groups of a few channels. The columns of a
//! product would be mostly empty there.
//!
//! A thread has a tile of results in registers and reads each element of the image about once. Gradients at the
//! windows are sums over all tiles, first per thread, then per workgroup, then over the workgroups. Invariant: the
//! order of every sum is fixed.

use std::sync::Arc;

use farad_ir::{
    CustomKernel, CustomLimits, CustomOp, DType, Graph, NodeId, Op, OpError, Reduce, Shape, WgslText, Words,
};

use super::views::{INDICES, TileLines, TileView};
use super::windows::{RESULT, WINDOW, Windows};
use crate::passes::limits;
use crate::passes::tiles::{moving, multiplying, product};
use crate::program::Target;

const DIRECT: &str = include_str!("direct.wgsl");
const SUMS: &str = include_str!("sums.wgsl");
/// Threads of a workgroup.
const THREADS: usize = 64;
/// Results of a tile, along an axis.
const OUTPUTS: usize = 4;
/// The largest window: its elements, and the part of the image under a tile, stay in registers.
const LARGEST: usize = 7;

/// Rewrites the graph for the target; returns the new graph and outputs. `None` if no convolution gains by it.
pub fn direct(graph: &Graph, outputs: &[NodeId], target: &Target) -> Option<(Graph, Vec<NodeId>)> {
    let found = |id: NodeId| DirectConvolution::of(graph, id, target);
    super::rewritten(graph, outputs, found, |op, new, operands, shape| op.clone().write(new, operands, shape))
}

/// Image and windows -> results, or image and results -> windows.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct DirectConvolution {
    /// Which operand is the image.
    image: usize,
    /// Whether the windows are computed.
    gradient: bool,
    /// Elements of a window, along an axis.
    taps: usize,
    /// Groups, outputs and inputs of each, images.
    groups: usize,
    outputs: usize,
    inputs: usize,
    images: usize,
    /// Phases, along an axis, of what is computed, and phases that are summed over.
    own: usize,
    shared: usize,
    /// Tiles along both axes.
    tiles: [usize; 2],
    /// Parts of a sum over tiles; 1 unless the windows are computed.
    parts: usize,
    /// Image, windows and results over group, output, two phases, input, image, and the tile's place.
    views: [TileView; 3],
    /// The shape of what is computed, without parts.
    shape: Shape,
}

impl DirectConvolution {
    /// The convolution of a node, if it should be done directly.
    fn of(graph: &Graph, id: NodeId, target: &Target) -> Option<DirectConvolution> {
        let windows = super::found(graph, id, target)?;
        let [first, second] = &windows.spatial;
        if first.taps > LARGEST {
            return None;
        }
        let phases = if first.in_results || windows.gradient { [first.phases, 1] } else { [1, first.phases] };
        let mut found = DirectConvolution {
            image: windows.image,
            gradient: windows.gradient,
            taps: first.taps,
            groups: windows.group.size,
            outputs: windows.outputs.size,
            inputs: windows.inputs.size,
            images: windows.batch.size,
            own: phases[0],
            shared: phases[1],
            tiles: [first.places.div_ceil(OUTPUTS), second.places.div_ceil(OUTPUTS)],
            parts: 1,
            views: [0, 1, 2].map(|array| view(&windows, array)),
            shape: graph.shape(id),
        };
        if found.gradient {
            let wanted = target.parallel.div_ceil(found.results());
            found.parts = wanted.min(found.all_tiles() / (limits::DIRECT_TILES * THREADS)).max(1);
        }
        found.gains(&windows, target).then_some(found)
    }

    /// What is computed by itself: tiles of results, or windows in parts, each by the threads of a workgroup.
    fn results(&self) -> usize {
        let channels = self.groups * self.outputs * self.own.pow(2);
        match self.gradient {
            true => channels * self.inputs * self.parts * THREADS,
            false => channels * self.all_tiles(),
        }
    }

    /// Tiles of all images.
    fn all_tiles(&self) -> usize {
        self.images * self.tiles[0] * self.tiles[1]
    }

    /// Multiplications, those of results beyond the last included.
    fn multiplications(&self) -> usize {
        let channels = self.groups * self.outputs * self.inputs * (self.own * self.shared).pow(2);
        channels * self.all_tiles() * (OUTPUTS * self.taps).pow(2)
    }

    /// Whether it should be faster than a product. Nobody shares what is read for several outputs.
    fn gains(&self, windows: &Windows, target: &Target) -> bool {
        let idle = (target.parallel / limits::DIRECT_BUSY) as f64 / self.results() as f64;
        let parts = self.multiplications() / (OUTPUTS * self.taps).pow(2);
        let loads = (parts * (OUTPUTS + self.taps - 1).pow(2)) as f64 * limits::DIRECT_LOAD;
        let work = loads.max(self.multiplications() as f64 * limits::DIRECT_SLOWER);
        let other = if self.gradient { parts } else { parts / self.inputs / self.shared.pow(2) };
        let direct = multiplying(work as usize, false) * idle.max(1.0)
            + moving((parts + other) * OUTPUTS.pow(2), usize::from(self.parts > 1));
        direct < limits::WORTH_DIRECT * limits::WINDOWED * product(windows.product())
    }

    /// Writes the convolution to a graph.
    fn write(mut self, graph: &mut Graph, operands: [NodeId; 2], shape: Shape) -> NodeId {
        self.shape = shape;
        let operands = [operands[self.image], operands[1 - self.image]];
        let parts = self.parts;
        let result = self.result();
        let node = graph.push(Op::Custom(Arc::new(self)), &operands);
        let computed = graph.push(Op::Pick(0, result, DType::F32), &[node]);
        if parts == 1 {
            return computed;
        }
        let whole = graph.reduce(Reduce::Sum, computed, &[0]);
        graph.reshape(whole, shape)
    }

    /// The shape of the op's result; with parts, they are its first axis.
    fn result(&self) -> Shape {
        if self.parts == 1 { self.shape } else { Shape::new(&[self.parts, self.shape.numel()]) }
    }

    /// Calls `add` with the places in image, windows and results of every product, and the part of the sum.
    fn each(&self, mut add: impl FnMut([usize; 3], usize)) {
        let counts = [
            self.groups,
            self.outputs,
            self.own,
            self.own,
            self.inputs,
            self.images,
            self.tiles[0],
            self.tiles[1],
            self.shared,
            self.shared,
        ];
        for number in 0..counts.iter().product::<usize>() {
            let mut rest = number;
            let mut at = [0; 10];
            for axis in (0..10).rev() {
                (at[axis], rest) = (rest % counts[axis], rest / counts[axis]);
            }
            let own: [i64; INDICES] = std::array::from_fn(|axis| at[axis] as i64);
            let mut read = own;
            if self.shared > 1 {
                (read[2], read[3]) = (at[8] as i64, at[9] as i64);
            }
            let tile = (at[5] * self.tiles[0] + at[6]) * self.tiles[1] + at[7];
            self.tile(&own, &read, |places| add(places, tile / THREADS % self.parts));
        }
    }

    /// The places of the products of a tile.
    fn tile(&self, own: &[i64; INDICES], read: &[i64; INDICES], mut add: impl FnMut([usize; 3])) {
        let [image, windows, results] = &self.views;
        let (taps, outputs) = (self.taps, OUTPUTS);
        for at in 0..(taps * outputs).pow(2) {
            let (i, j) = (at % outputs, at / outputs % outputs);
            let (k, l) = (at / outputs.pow(2) % taps, at / outputs.pow(2) / taps);
            let places =
                [image.place(read, i + k, j + l), windows.place(read, k, l), results.place(own, i, j)];
            if let [Some(x), Some(w), Some(y)] = places {
                add([x, w, y]);
            }
        }
    }

    fn value(&self, image: &[f64], other: &[f64]) -> Vec<f64> {
        let mut found = vec![0.0; self.result().numel()];
        let whole = self.shape.numel();
        self.each(|[x, w, y], part| match self.gradient {
            true => found[part * whole + w] += image[x] * other[y],
            false => found[y] += image[x] * other[w],
        });
        found
    }

    fn words(&self) -> Vec<u32> {
        let first = match self.gradient {
            true => [self.all_tiles(), self.outputs, self.own, self.images, self.inputs, self.parts],
            false => [self.results(), self.outputs, self.own, self.images, self.inputs, self.shared],
        };
        let sizes = first.iter().chain(&self.tiles).map(|&size| size as i64);
        let views = self.views.iter().flat_map(TileView::words);
        let last =
            if self.gradient { vec![self.results() / THREADS, self.shape.numel(), 0, 0] } else { vec![] };
        sizes
            .chain(views)
            .chain(last.into_iter().map(|word| word as i64))
            .map(|word| word as i32 as u32)
            .collect()
    }

    fn text(&self) -> WgslText {
        let part = OUTPUTS + self.taps - 1;
        let text = WgslText::new(if self.gradient { SUMS } else { DIRECT }).sizes(&[
            ("THREADS", THREADS),
            ("OUT", OUTPUTS),
            ("TAPS", self.taps),
            ("IN", part),
            ("RESULTS", OUTPUTS.pow(2)),
            ("WINDOW", self.taps.pow(2)),
            ("PART", part.pow(2)),
        ]);
        match self.gradient {
            true => text.constant("SUMS", self.taps.pow(2) * THREADS),
            false if self.views[RESULT].in_fours() => {
                text.region("result", RESULT_FOUR).region("write", WRITE_FOUR)
            }
            false => text,
        }
        .unrolled()
    }
}

/// Results as groups of four.
const RESULT_FOUR: &str = "@group(0) @binding(3) var<storage, read_write> result: array<vec4<f32>>;";

/// Writes a row of four at once.
const WRITE_FOUR: &str = "
        if u32(row) < u32(lines.z) && u32(places.x) < u32(places.z) {
            let four = vec4<f32>(y[i * OUT], y[i * OUT + 1u], y[i * OUT + 2u], y[i * OUT + 3u]);
            result[(start + places.x) >> 2u] = four;
        }
";

/// How tiles lie in an array.
fn view(windows: &Windows, array: usize) -> TileView {
    let mut strides = [0; INDICES];
    let channels = [(0, &windows.group), (1, &windows.outputs), (4, &windows.inputs), (5, &windows.batch)];
    channels.iter().for_each(|(index, channel)| strides[*index] = channel.strides[array]);
    let lines = [0, 1].map(|n: usize| {
        let line = windows.spatial[n].lines[array];
        let mut coefficients = [0; INDICES];
        coefficients[2 + n] = line.phase;
        if array != WINDOW {
            coefficients[6 + n] = line.step * OUTPUTS as i64;
        }
        let (offset, step, size, stride) = (line.offset, line.step, line.size, line.stride);
        TileLines { coefficients, offset, step, size, stride }
    });
    debug_assert!(array != RESULT || strides[4] == 0, "results have no inputs");
    TileView { strides, lines }
}

impl CustomOp for DirectConvolution {
    fn name(&self) -> &str {
        if self.gradient { "window_gradient" } else { "convolution" }
    }

    fn infer(&self, operands: &[(Shape, DType)]) -> Result<Vec<(Shape, DType)>, OpError> {
        match operands {
            [(_, DType::F32), (_, DType::F32)] => Ok(vec![(self.result(), DType::F32)]),
            _ => Err(OpError::Arity { op: "convolution", got: operands.len(), least: 2 }),
        }
    }

    fn reference(&self, operands: &[Vec<f64>], _: &[Shape]) -> Vec<Vec<f64>> {
        vec![self.value(&operands[0], &operands[1])]
    }

    fn cpu(&self, operands: &[&[u32]], _: &[Shape], results: &mut [Words]) {
        let wide = |words: &[u32]| -> Vec<f64> {
            words.iter().map(|&bits| f64::from(f32::from_bits(bits))).collect()
        };
        let value = self.value(&wide(operands[0]), &wide(operands[1]));
        results[0].iter_mut().zip(value).for_each(|(to, value)| *to = (value as f32).to_bits());
    }

    fn wgsl(&self, _: &[Shape], limits: &CustomLimits) -> Vec<CustomKernel> {
        let groups = self.results().div_ceil(THREADS);
        let across = groups.min(limits.workgroups as usize).max(1);
        let workgroups = [across as u32, groups.div_ceil(across) as u32, 1];
        let wgsl: Arc<str> = self.text().into();
        vec![CustomKernel::new(wgsl, "main", workgroups).parameters(&self.words())]
    }

    fn costs(&self, shapes: &[Shape]) -> Option<(u64, u64)> {
        let bytes = 4 * (shapes.iter().map(Shape::numel).sum::<usize>() + self.result().numel()) as u64;
        Some((bytes, 2 * self.multiplications() as u64))
    }
}

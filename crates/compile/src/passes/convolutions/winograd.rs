//! Convolutions with fewer multiplications, by Winograd's method: image and windows are transformed tile by tile,
//! products of channels follow, one per element of a tile, and their results are transformed back.
//!
//! A tile of 4×4 results under windows of 3×3 takes 36 products instead of 144. The price is memory: transformed
//! tiles overlap. So a convolution is rewritten only where a model of the device says that it gains. Gradients at
//! the image and at the windows are convolutions of the same kind. A stride makes a convolution of each of its
//! phases ([`super::windows`]).
//!
//! Invariant: the products are contractions of matrices, which later passes split and tile as any other.

use std::sync::Arc;

use farad_ir::{Contraction, DType, Graph, IndexMap, NodeId, Op, Reduce, Shape};

use super::matrices::{Stage, TileForm};
use super::transform::TileTransform;
use super::views::{INDICES, NUMBER, TileLines, TileView};
use super::windows::{IMAGE, Line, RESULT, WINDOW, Windows};
use crate::passes::limits;
use crate::passes::tiles::{ProductSizes, moving, product};
use crate::program::Target;

/// Rewrites the graph for the target; returns the new graph and outputs. `None` if no convolution gains by it.
pub fn winograd(graph: &Graph, outputs: &[NodeId], target: &Target) -> Option<(Graph, Vec<NodeId>)> {
    let found = |id: NodeId| TiledConvolution::of(graph, id, target);
    super::rewritten(graph, outputs, found, |tiled, new, operands, shape| tiled.write(new, operands, shape))
}

/// A convolution and its tiles.
struct TiledConvolution {
    windows: Windows,
    form: TileForm,
    /// Tiles along both axes.
    counts: [usize; 2],
    /// Tiles of all images, filled up so that the products have whole pieces.
    tiles: usize,
    /// Parts of the sums. Errors of transformed sums grow with their length.
    parts: usize,
}

/// Matrices of one size, one after the other: `[products, rows, columns]`, where rows and columns stand for several
/// indices each.
#[derive(Clone, Copy)]
struct Stack {
    groups: usize,
    rows: usize,
    columns: usize,
}

impl TiledConvolution {
    /// The convolution of a node, if it should be done in tiles.
    fn of(graph: &Graph, id: NodeId, target: &Target) -> Option<TiledConvolution> {
        let windows = super::found(graph, id, target)?;
        let form = TileForm::of(windows.spatial[0].taps)?;
        let counts = [0, 1].map(|n: usize| windows.spatial[n].places.div_ceil(form.outputs));
        let tiles = windows.batch.size * counts[0] * counts[1];
        let mut tiled = TiledConvolution { windows, form, counts, tiles, parts: 1 };
        let most = if form.side() > 6 { limits::TERMS_OF_EIGHT } else { limits::TERMS_OF_SIX };
        if tiled.windows.gradient {
            tiled.parts = tiles.div_ceil(most);
            tiled.tiles = tiles.next_multiple_of(limits::TILE_TERMS * tiled.parts);
        } else {
            let least = tiled.inputs().div_ceil(most);
            tiled.parts = (least..=2 * least).find(|parts| tiled.inputs().is_multiple_of(*parts))?;
            tiled.tiles = tiles.next_multiple_of(4);
        }
        (tiled.fits(target) && tiled.gains(target)).then_some(tiled)
    }

    /// Channels per group that the image has, one per phase.
    fn inputs(&self) -> usize {
        let phases = if self.windows.spatial[0].in_results { 1 } else { self.phases() };
        self.windows.inputs.size * phases
    }

    /// Channels per group that the results have, one per phase.
    fn outputs(&self) -> usize {
        let phases = if self.windows.spatial[0].in_results { self.phases() } else { 1 };
        self.windows.outputs.size * phases
    }

    /// Phases along both axes.
    fn phases(&self) -> usize {
        self.windows.spatial[0].phases.pow(2)
    }

    fn stack(&self, rows: usize, columns: usize) -> Stack {
        Stack { groups: self.windows.group.size, rows, columns }
    }

    /// The transformed image, the transformed windows or results, and their products.
    fn stacks(&self) -> [Stack; 3] {
        let (inputs, outputs) = (self.inputs(), self.outputs());
        let image = self.stack(inputs, self.tiles);
        if self.windows.gradient {
            return [image, self.stack(outputs, self.tiles), self.stack(outputs, inputs)];
        }
        let outputs = outputs.next_multiple_of(4);
        [image, self.stack(inputs, outputs), self.stack(outputs, self.tiles)]
    }

    /// Whether the transformed arrays fit into bindings.
    fn fits(&self, target: &Target) -> bool {
        let products = self.form.side().pow(2);
        let most = target.binding_bytes.min(limits::LARGEST_STACK);
        let [image, other, result] = self.stacks().map(|stack| 4 * products * stack.len());
        image <= most && other <= most && result * self.parts <= most
    }

    /// Whether tiles should be faster. On small devices they are; for large ones a model decides.
    fn gains(&self, target: &Target) -> bool {
        if target.parallel < limits::LARGE_DEVICE {
            return true;
        }
        let plain = self.windows.product();
        if plain.batches * plain.rows * plain.columns * plain.terms < limits::TILED_WORK {
            return false;
        }
        let products = self.form.side().pow(2);
        let [image, other, result] = self.stacks();
        let (rows, columns, terms) = match self.windows.gradient {
            true => (other.rows, image.rows, self.tiles),
            false => (other.columns, self.tiles, image.rows),
        };
        let batches = products * self.windows.group.size * self.parts;
        let tiled = product(ProductSizes { batches, rows, columns, terms: terms / self.parts });
        let adding = if self.parts > 1 { (self.parts + 1) * result.len() } else { 0 };
        let moved = products * (2 * (image.len() + other.len() + result.len()) + adding);
        let tiled = tiled + moving(moved, 3 + usize::from(self.parts > 1));
        tiled < limits::WORTH_TILING * limits::WINDOWED * product(plain)
    }

    /// Writes the convolution to a graph.
    fn write(&self, graph: &mut Graph, operands: [NodeId; 2], shape: Shape) -> NodeId {
        let (x, other) = (operands[self.windows.image], operands[1 - self.windows.image]);
        let [image, second, products] = self.stacks();
        let image_tiles = self.transform(graph, Stage::Image, x, IMAGE, image, None);
        let (stage, array) = match self.windows.gradient {
            true => (Stage::Upstream, RESULT),
            false => (Stage::Window, WINDOW),
        };
        let other_tiles = self.transform(graph, stage, other, array, second, None);
        let product = self.multiply(graph, other_tiles, image_tiles);
        let (stage, array) = match self.windows.gradient {
            true => (Stage::WindowGradient, WINDOW),
            false => (Stage::Result, RESULT),
        };
        self.transform(graph, stage, product, array, products, Some(shape))
    }

    /// The products of all elements of a tile: `[n, terms, rows] × [n, terms, columns]`, or for gradients of windows
    /// `[n, rows, terms] × [n, columns, terms]`.
    fn multiply(&self, graph: &mut Graph, other: NodeId, image: NodeId) -> NodeId {
        let axis = 1 + usize::from(self.windows.gradient);
        let sizes = [other, image].map(|id| graph.shape(id));
        let own = 3 - axis;
        let (batch, terms) = (sizes[0][0], sizes[0][axis]);
        let maps = |free: usize| match (axis, self.parts) {
            (1, 1) => vec![0, 3, free],
            (_, 1) => vec![0, free, 3],
            (1, _) => vec![0, 4, 3, free],
            _ => vec![0, free, 4, 3],
        };
        let axes = |free: usize| maps(free).into_iter().map(IndexMap::axis).collect();
        let mut contraction = Contraction {
            sizes: vec![batch, sizes[0][own], sizes[1][own], terms / self.parts],
            out: vec![0, 1, 2],
            lhs: axes(1),
            rhs: axes(2),
            high: false,
        };
        if self.parts == 1 {
            return graph.contract(contraction, other, image);
        }
        contraction.sizes.push(self.parts);
        contraction.out.insert(0, 4);
        let cut = [other, image].map(|id| {
            let mut sizes = graph.shape(id).to_vec();
            sizes.splice(axis..=axis, [self.parts, terms / self.parts]);
            graph.reshape(id, Shape::new(&sizes))
        });
        let parts = graph.contract(contraction, cut[0], cut[1]);
        graph.reduce(Reduce::Sum, parts, &[0])
    }

    /// A transform between an array and a stack: into a stack, or out of it to an array of this shape.
    fn transform(
        &self,
        graph: &mut Graph,
        stage: Stage,
        x: NodeId,
        array: usize,
        stack: Stack,
        shape: Option<Shape>,
    ) -> NodeId {
        let side = self.form.side();
        let (indices, in_array) = self.layout(array);
        let in_stack = self.stacked(&indices, stack);
        let (source, target) = match shape {
            Some(_) => (in_stack, in_array),
            None => (in_array, in_stack),
        };
        let transform = TileTransform {
            form: self.form,
            stage,
            outer: indices.outer,
            inner: indices.inner,
            tiles: stack.columns,
            source,
            target,
            result: shape
                .unwrap_or_else(|| Shape::new(&[side * side * stack.groups, stack.rows, stack.columns])),
        };
        let node = graph.push(Op::Custom(Arc::new(transform)), &[x]);
        graph.push(Op::Pick(0, graph.shape(node), DType::F32), &[node])
    }

    /// How tiles lie in a stack: elements of a tile are a matrix apart, outer indices are its rows.
    fn stacked(&self, indices: &Indices, stack: Stack) -> TileView {
        let mut strides = [0; INDICES];
        let mut stride = stack.columns as i64;
        for axis in (1..4).rev() {
            strides[axis] = stride;
            stride *= indices.outer[axis] as i64;
        }
        // Rows may be filled up.
        strides[0] = (stack.rows * stack.columns) as i64;
        strides[NUMBER] = 1;
        let (side, plane) = (self.form.side(), stack.len() as i64);
        let line = |stride| TileLines { coefficients: [0; INDICES], offset: 0, step: 1, size: side, stride };
        TileView { strides, lines: [line(plane * side as i64), line(plane)] }
    }

    /// The indices of an array's tiles, and how they lie in it.
    fn layout(&self, array: usize) -> (Indices, TileView) {
        let Windows { group, batch, inputs, outputs, spatial, gradient, .. } = &self.windows;
        let in_results = spatial[0].in_results;
        let phases = |has: bool| if has { spatial[0].phases } else { 1 };
        let places = [batch.size, self.counts[0], self.counts[1]];
        let per_phase = |size: usize, has: bool| [size, phases(has), phases(has)];
        let (first, last, own, inner) = match (array, gradient) {
            (IMAGE, _) => (inputs, batch, phases(!in_results), places),
            (RESULT, _) => (outputs, batch, phases(in_results), places),
            (_, false) => (inputs, outputs, phases(!in_results), per_phase(outputs.size, in_results)),
            // Products have the outputs as rows.
            (_, true) => (outputs, inputs, 1, per_phase(inputs.size, !in_results)),
        };
        let mut strides = [0; INDICES];
        for (index, channel) in [(0, group), (1, first), (5, last)] {
            strides[index] = channel.strides[array];
        }
        let lines = [0, 1].map(|n: usize| self.lines(&spatial[n].lines[array], n, array != WINDOW, own > 1));
        (Indices { outer: [group.size, first.size, own, own], inner }, TileView { strides, lines })
    }

    /// Rows or columns of tiles in an array.
    fn lines(&self, line: &Line, n: usize, tiled: bool, outer_phases: bool) -> TileLines {
        let mut coefficients = [0; INDICES];
        if tiled {
            coefficients[6 + n] = line.step * self.form.outputs as i64;
        }
        let phase = if tiled || outer_phases { 2 + n } else { 6 + n };
        coefficients[phase] += line.phase;
        let Line { offset, step, size, stride, .. } = *line;
        TileLines { coefficients, offset, step, size, stride }
    }
}

impl Stack {
    /// Elements per element of a tile.
    fn len(&self) -> usize {
        self.groups * self.rows * self.columns
    }
}

/// Sizes of the indices of tiles.
struct Indices {
    outer: [usize; 4],
    inner: [usize; 3],
}

//! Matrix products: register tiles over operands in workgroup memory. f16 products run on tensor cores where
//! the adapter has them (`cooperative`), all others here.
//!
//! A workgroup of 256 threads computes a tile of the result. Tiles smaller than 128×128 split the terms of the
//! sum among groups of threads, whose sums are added at the end. The next pieces of the operands are read into
//! registers while the present ones are multiplied. Which tile a product uses is a fixed rule on its sizes, so
//! that runs are bit-identical. The rule uses the cost model of `farad_compile`'s `tiles`, which also decides
//! into how many parts the compiler splits the terms. Only a table made by `farad tune` overrides it
//! ([`crate::tuning`]).

use farad_compile::program::{Code, Product, Reg};
use farad_compile::tiles::{self, ProductSizes, TileCost};

use super::access::store;
use super::cooperative;
use super::layout::OperandLayout;
use super::module::{ModuleLaunch, WgslModule, line};
use super::operand::{Side, TileStart};
use super::point::{EvaluationPoint, LaneText, ragged};
use super::pointwise::decode;
use super::tape::{RegisterTexts, evaluate};
use crate::dispatch::Capabilities;
use crate::heuristics::products::{BAND, THREADS};

/// Size of workgroup memory in `vec4`s: 16 KiB, which every adapter has.
const SHARED: usize = 1024;

/// How a workgroup computes a tile of the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ProductTile {
    /// Rows and columns of the tile.
    pub m: usize,
    pub n: usize,
    /// Terms per step.
    pub k: usize,
    /// Rows and columns per thread (multiples of 4) or per subgroup (multiples of 16).
    pub rows: usize,
    pub columns: usize,
    /// Groups of threads that divide the terms.
    pub split: usize,
    /// How it multiplies.
    pub form: ProductForm,
}

/// How a tile multiplies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ProductForm {
    /// Each thread multiplies scalars, in `f32`.
    Scalar,
    /// Subgroups multiply f16 matrices and accumulate in `f32`.
    Cooperative,
}

/// A tile and its cost model.
pub(crate) struct Choice {
    pub tile: ProductTile,
    cost: TileCost,
}

/// The `number`-th tile of the model, with rows and columns per thread or subgroup, and the number of groups
/// that divide the terms.
const fn choice(number: usize, rows: usize, columns: usize, split: usize) -> Choice {
    let cost = tiles::TILES[number];
    let form = if cost.is_f16 { ProductForm::Cooperative } else { ProductForm::Scalar };
    Choice { tile: ProductTile { m: cost.m, n: cost.n, k: cost.k, rows, columns, split, form }, cost }
}

pub(crate) const TILES: [Choice; 8] = [
    choice(0, 8, 8, 1),
    choice(1, 8, 4, 1),
    choice(2, 4, 4, 1),
    choice(3, 4, 4, 4),
    choice(4, 4, 4, 16),
    choice(5, 64, 64, 1),
    choice(6, 32, 32, 1),
    choice(7, 32, 32, 1),
];

impl Choice {
    /// The predicted cost of a product, in the model's unit.
    fn cost(&self, product: &Product, processors: usize) -> f64 {
        let (batches, rows, columns) = (product.batches(), product.rows(), product.columns());
        self.cost.of(ProductSizes { batches, rows, columns, terms: product.terms() }, processors)
    }
}

impl ProductTile {
    /// The tile with the least predicted cost, by a fixed rule on the product's sizes; `half` is whether f16
    /// tiles are available, and `processors` share the work.
    pub fn of(product: &Product, half: bool, processors: usize) -> ProductTile {
        let usable = TILES.iter().filter(|choice| half || choice.tile.form == ProductForm::Scalar);
        let best = usable.min_by(|a, b| a.cost(product, processors).total_cmp(&b.cost(product, processors)));
        best.map_or(TILES[0].tile, |choice| choice.tile)
    }

    /// Its name in tuning tables.
    pub fn name(&self) -> String {
        let ProductTile { m, n, k, split, form, .. } = self;
        match (form, split) {
            (ProductForm::Scalar, 1) => format!("{m}x{n}x{k}"),
            (ProductForm::Scalar, _) => format!("{m}x{n}x{k} in {split} parts"),
            (ProductForm::Cooperative, _) => format!("{m}x{n}x{k} by subgroups"),
        }
    }

    /// Threads of a workgroup.
    pub fn threads(&self, capabilities: &Capabilities) -> usize {
        match self.form {
            ProductForm::Scalar => THREADS,
            ProductForm::Cooperative => self.group().0 * capabilities.cooperative as usize,
        }
    }

    /// Threads (or subgroups) per group, and how many lie along a row.
    pub fn group(&self) -> (usize, usize) {
        ((self.m / self.rows) * (self.n / self.columns), self.n / self.columns)
    }
}

/// Writes the product in these tiles; its batch axes are canonical.
pub(super) fn write(module: &mut WgslModule, product: &Product, tile: ProductTile) -> ModuleLaunch {
    let (rows, columns) = (product.rows().div_ceil(tile.m), product.columns().div_ceil(tile.n));
    let operands = [OperandLayout::of(product, true), OperandLayout::of(product, false)];
    let mut sizes: Vec<String> = product.batch.iter().map(|&size| module.size(size)).collect();
    let counts = [module.size(rows), module.size(columns)];
    let (row, column, batch) = if tile.form == ProductForm::Cooperative {
        sizes.push(module.size(rows * columns));
        let mut batch = decode(module, "w", &sizes);
        let number = batch.pop().unwrap_or_default();
        let (row, column) = banded(module, &number, &counts);
        (row, column, batch)
    } else {
        sizes.extend(counts);
        let mut batch = decode(module, "w", &sizes);
        let column = batch.pop().unwrap_or_default();
        (batch.pop().unwrap_or_default(), column, batch)
    };
    let row = module.bind("m", &format!("{row} * {}u", tile.m));
    let column = module.bind("n", &format!("{column} * {}u", tile.n));
    write_finish(module, product, tile);
    match tile.form {
        ProductForm::Scalar => scalar(module, &operands, product.terms(), tile, &batch, (&row, &column)),
        ProductForm::Cooperative => {
            cooperative::write(module, &operands, product.terms(), tile, &batch, (&row, &column));
        }
    }
    let threads = tile.threads(module.capabilities) as u32;
    ModuleLaunch { threads, workgroups: product.batches() * rows * columns }
}

/// Row and column of a tile, by its number: down a band of a few rows, then on to the next column, so that
/// workgroups that run at the same time share more of what they read.
fn banded(module: &mut WgslModule, number: &str, [rows, columns]: &[String; 2]) -> (String, String) {
    let band = module.bind("e", &format!("{number} / ({columns} * {BAND}u) * {BAND}u"));
    let inside = module.bind("e", &format!("{number} % ({columns} * {BAND}u)"));
    let height = module.bind("e", &format!("min({rows} - {band}, {BAND}u)"));
    let row = module.bind("e", &format!("{band} + {inside} % {height}"));
    (row, module.bind("e", &format!("{inside} / {height}")))
}

fn scalar(
    module: &mut WgslModule,
    operands: &[OperandLayout; 2],
    terms: usize,
    tile: ProductTile,
    batch: &[String],
    at: (&str, &str),
) {
    module.global(&format!("var<workgroup> tile: array<vec4<f32>, {SHARED}>;"));
    multiply(module, operands, terms, tile, batch, at);
    match tile.split {
        1 => finish_whole(module, tile, batch, at),
        _ => finish_split(module, tile, batch, at),
    }
}

/// The loop over the terms. Leaves the thread's sums in `c{row}_{quarter}`.
fn multiply(
    module: &mut WgslModule,
    operands: &[OperandLayout; 2],
    terms: usize,
    tile: ProductTile,
    batch: &[String],
    at: (&str, &str),
) {
    let (group, across) = tile.group();
    line!(module, "let u = t % {group}u;");
    line!(module, "let s = t / {group}u;");
    line!(module, "let ux = u % {across}u;");
    line!(module, "let uy = u / {across}u;");
    for (row, quarter) in sums(tile) {
        line!(module, "var c{row}_{quarter} = vec4<f32>();");
    }
    let terms = module.size(terms);
    let start = |first| TileStart { batch, first, terms: &terms };
    let mut left = Side::new(module, &operands[0], tile, start(at.0));
    let mut right = Side::new(module, &operands[1], tile, start(at.1));
    left.declare(module, "uy");
    right.declare(module, "ux");
    line!(module, "if ({terms} > 0u) {{");
    left.first(module);
    right.first(module);
    module.line("}");
    line!(module, "for (var k0 = 0u; k0 < {terms}; k0 += {}u) {{", tile.k);
    left.put(module);
    right.put(module);
    module.line("workgroupBarrier();");
    line!(module, "let k1 = k0 + {}u;", tile.k);
    let divides = left.divides_terms() && right.divides_terms();
    if !divides {
        // Only the last step has terms that do not exist.
        line!(module, "if (k1 + {}u <= {terms}) {{", tile.k);
        left.fetch(module, "k1", true);
        right.fetch(module, "k1", true);
        line!(module, "}} else if (k1 < {terms}) {{");
    } else {
        line!(module, "if (k1 < {terms}) {{");
    }
    left.fetch(module, "k1", divides);
    right.fetch(module, "k1", divides);
    module.line("}");
    for step in 0..tile.k / tile.split {
        let a = left.take(module, step, tile.m / tile.rows, tile.rows);
        let b = right.take(module, step, tile.n / tile.columns, tile.columns);
        for (row, quarter) in sums(tile) {
            let factor = format!("{}.{}", a[row / 4], ["x", "y", "z", "w"][row % 4]);
            line!(module, "c{row}_{quarter} = fma(vec4<f32>({factor}), {}, c{row}_{quarter});", b[quarter]);
        }
    }
    module.line("workgroupBarrier();");
    module.line("}");
}

/// The thread's sums: for each row, quarters of four columns.
fn sums(tile: ProductTile) -> impl Iterator<Item = (usize, usize)> {
    (0..tile.rows).flat_map(move |row| (0..tile.columns / 4).map(move |quarter| (row, quarter)))
}

/// The function that passes four adjacent results through the epilogue to memory.
fn write_finish(module: &mut WgslModule, product: &Product, tile: ProductTile) {
    let batch: Vec<String> = (0..product.batch.len()).map(|axis| format!("j{axis}")).collect();
    let mut parameters: Vec<String> = batch.iter().map(|name| format!("{name}: u32")).collect();
    parameters.extend(["row: u32", "column: u32", "value: vec4<f32>"].map(String::from));
    let (m, n) = (module.size(product.rows()), module.size(product.columns()));
    let even = product.rows().is_multiple_of(tile.m) && product.columns().is_multiple_of(tile.n);
    module.function(&format!("fn finish({})", parameters.join(", ")), |module| {
        if !even {
            line!(module, "if (row >= {m} || column >= {n}) {{");
            module.line("return;");
            module.line("}");
        }
        let mut before = batch;
        before.extend(axes(module, "row", &product.m));
        let inner = product.n.last().copied().unwrap_or(1);
        if product.n.len() == 1 || inner.is_multiple_of(4) {
            let index = [before, axes(module, "column", &product.n)].concat();
            let axis = index.len() - 1;
            let point = ragged(module, index, axis, inner, 4, None);
            return finish_point(module, product, &point, (0..4).collect());
        }
        // The results are not adjacent in memory.
        for lane in 0..4 {
            let column = module.bind("n", &format!("column + {lane}u"));
            line!(module, "if ({column} < {n}) {{");
            let index = [before.clone(), axes(module, &column, &product.n)].concat();
            finish_point(module, product, &EvaluationPoint::single(index), vec![lane]);
            module.line("}");
        }
    });
}

/// The index of each axis, from the linear index over all of them.
fn axes(module: &mut WgslModule, flat: &str, axes: &[usize]) -> Vec<String> {
    let sizes: Vec<String> = match axes.len() {
        1 => vec![String::new()],
        _ => axes.iter().map(|&size| module.size(size)).collect(),
    };
    decode(module, flat, &sizes)
}

/// Passes these lanes of the value through the epilogue.
fn finish_point(module: &mut WgslModule, product: &Product, point: &EvaluationPoint, lanes: Vec<usize>) {
    let mut scope = RegisterTexts::new();
    let lanes: Vec<String> =
        lanes.iter().map(|&lane| format!("value.{}", ["x", "y", "z", "w"][lane])).collect();
    for (at, instr) in product.epilogue.iter().enumerate() {
        if matches!(instr.code, Code::Accumulator) {
            scope.insert(Reg(at as u32), LaneText(lanes.clone()));
        }
    }
    let wanted: Vec<Reg> = product.stores.iter().map(|store| store.value).collect();
    evaluate(module, &product.epilogue, &wanted, point, &mut scope);
    for stored in &product.stores {
        store(module, stored.buffer, &stored.view, &scope[&stored.value], point);
    }
}

/// Finishes four adjacent results.
pub(super) fn call(module: &mut WgslModule, batch: &[String], row: &str, column: &str, value: &str) {
    let mut arguments = batch.to_vec();
    arguments.extend([row, column, value].map(String::from));
    line!(module, "finish({});", arguments.join(", "));
}

fn finish_whole(module: &mut WgslModule, tile: ProductTile, batch: &[String], at: (&str, &str)) {
    for (row, quarter) in sums(tile) {
        let (down, right) =
            ((row / 4) * (tile.m / tile.rows) * 4 + row % 4, quarter * (tile.n / tile.columns) * 4);
        let (row_at, column_at) =
            (format!("{} + uy * 4u + {down}u", at.0), format!("{} + ux * 4u + {right}u", at.1));
        call(module, batch, &row_at, &column_at, &format!("c{row}_{quarter}"));
    }
}

/// Groups of threads leave their sums in workgroup memory, as many at once as fit; then each thread adds up and
/// finishes some.
fn finish_split(module: &mut WgslModule, tile: ProductTile, batch: &[String], at: (&str, &str)) {
    let (group, across) = tile.group();
    let quarters = tile.columns / 4;
    let each = tile.rows * quarters;
    let rounds = (tile.split * group * each).div_ceil(SHARED);
    let part = each / rounds;
    let list: Vec<(usize, usize)> = sums(tile).collect();
    for round in 0..rounds {
        if round > 0 {
            module.line("workgroupBarrier();");
        }
        for (number, (row, quarter)) in list[round * part..(round + 1) * part].iter().enumerate() {
            line!(module, "tile[(s * {part}u + {number}u) * {group}u + u] = c{row}_{quarter};");
        }
        module.line("workgroupBarrier();");
        line!(module, "for (var e = t; e < {}u; e += {THREADS}u) {{", part * group);
        line!(module, "var sum = tile[e];");
        line!(module, "for (var g = 1u; g < {}u; g++) {{", tile.split);
        line!(module, "sum += tile[g * {}u + e];", part * group);
        module.line("}");
        line!(module, "let number = e / {group}u + {}u;", round * part);
        line!(module, "let row = number / {quarters}u;");
        line!(
            module,
            "let down = (row / 4u) * {}u + (e % {group}u) / {across}u * 4u + row % 4u;",
            tile.m / tile.rows * 4
        );
        line!(
            module,
            "let right = (number % {quarters}u) * {}u + e % {across}u * 4u;",
            tile.n / tile.columns * 4
        );
        call(module, batch, &format!("{} + down", at.0), &format!("{} + right", at.1), "sum");
        module.line("}");
    }
}

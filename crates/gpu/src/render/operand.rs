//! An operand of a product on its way from memory into registers: read in pieces along the axis
//! where it is contiguous, laid into workgroup memory with the terms as rows, and taken from there
//! in `vec4`s.

use farad_compile::program::{Code, Operand, Product};

use super::access::{Point, Value};
use super::module::{Module, line};
use super::product::{THREADS, Tile};
use super::space::reach;
use super::tape::{Scope, evaluate};

/// One operand of a tiled product: its tile is `[terms, width]` in workgroup memory.
pub(super) struct Side<'p> {
    operand: &'p Operand,
    /// `a` or `b`: what the names of its registers start with.
    stem: &'static str,
    /// Indices of the batch axes.
    batch: Vec<String>,
    /// The first row or column of the tile.
    first: String,
    /// Where the tile starts in workgroup memory, in `vec4`s.
    base: usize,
    /// Rows of the left or columns of the right operand in a tile, and terms.
    width: usize,
    depth: usize,
    split: usize,
    /// Sizes as texts, and whether tiles divide them.
    limit: String,
    terms: String,
    even: (bool, bool),
    sizes: (usize, usize),
    /// Lanes lie along the terms, not along the width.
    along_terms: bool,
    lanes: usize,
    /// The axes of its views are `[batch.., width, terms]`, not `[batch.., terms, width]`.
    width_first: bool,
}

impl<'p> Side<'p> {
    /// The left operand.
    pub fn left(module: &mut Module, product: &'p Product, tile: Tile, batch: &[String], first: &str, terms: &str) -> Side<'p> {
        Side::new(module, &product.lhs, product, tile, (batch, first, terms), true)
    }

    /// The right operand.
    pub fn right(module: &mut Module, product: &'p Product, tile: Tile, batch: &[String], first: &str, terms: &str) -> Side<'p> {
        Side::new(module, &product.rhs, product, tile, (batch, first, terms), false)
    }

    fn new(module: &mut Module, operand: &'p Operand, product: &Product, tile: Tile, at: (&[String], &str, &str), left: bool) -> Side<'p> {
        let (size, width) = if left { (product.m, tile.m) } else { (product.n, tile.n) };
        let rank = product.batch.len() + 2;
        let (width_axis, terms_axis) = if left { (rank - 2, rank - 1) } else { (rank - 1, rank - 2) };
        let mut axes = product.batch.clone();
        axes.extend(if left { [product.m, product.k] } else { [product.k, product.n] });
        let contiguous = |axis: usize| -> usize {
            let loads = operand.tape.iter().map(|instr| match &instr.code {
                Code::Load(_, view) if view.strides[axis].abs() == 1 => reach(view, &axes),
                _ => 0,
            });
            loads.sum()
        };
        let along_terms = contiguous(terms_axis) > contiguous(width_axis);
        let lanes_size = if along_terms { product.k } else { size };
        Side {
            operand,
            stem: if left { "a" } else { "b" },
            batch: at.0.to_vec(),
            first: at.1.into(),
            base: if left { 0 } else { tile.m * tile.k / 4 },
            width,
            depth: tile.k,
            split: tile.split,
            limit: module.size(size),
            terms: at.2.into(),
            even: (size.is_multiple_of(width), product.k.is_multiple_of(tile.k)),
            sizes: (size, product.k),
            along_terms,
            lanes: if lanes_size.is_multiple_of(4) && lanes_size > 0 { 4 } else { 1 },
            width_first: left,
        }
    }

    /// Groups of lanes that a thread reads of every tile.
    fn count(&self) -> usize {
        self.width * self.depth / (self.lanes * THREADS)
    }

    /// Declares the registers that hold the next piece.
    pub fn declare(&self, module: &mut Module) {
        let zero = if self.lanes == 4 { "vec4<f32>()" } else { "0f" };
        for number in 0..self.count() {
            line!(module, "var {}f{number} = {zero};", self.stem);
        }
    }

    /// The group's place in the tile: along the width and among the terms (texts).
    fn place(&self, module: &mut Module, number: usize) -> (String, String) {
        let item = module.bind("e", &format!("t + {}u", number * THREADS));
        let row = if self.along_terms { self.depth } else { self.width } / self.lanes;
        let near = module.bind("e", &format!("{item} % {row}u * {}u", self.lanes));
        let far = module.bind("e", &format!("{item} / {row}u"));
        if self.along_terms { (far, near) } else { (near, far) }
    }

    /// Reads the piece whose terms start at `start` into registers.
    pub fn fetch(&self, module: &mut Module, start: &str) {
        for number in 0..self.count() {
            let (across, deep) = self.place(module, number);
            let mut x = module.bind("x", &format!("{} + {across}", self.first));
            let mut k = module.bind("k", &format!("{start} + {deep}"));
            let step = |along: bool| if along { self.lanes } else { 1 };
            if !self.even.0 {
                x = module.bind("x", &format!("min({x}, {} - {}u)", self.limit, step(!self.along_terms)));
            }
            let exists = (!self.even.1).then(|| format!("{k} < {}", self.terms));
            if !self.even.1 {
                k = module.bind("k", &format!("min({k}, {} - {}u)", self.terms, step(self.along_terms)));
            }
            let mut index = self.batch.clone();
            index.extend(if self.width_first { [x, k] } else { [k, x] });
            let axis = index.len() - if self.width_first == self.along_terms { 1 } else { 2 };
            let size = if self.along_terms { self.sizes.1 } else { self.sizes.0 };
            let point = Point::along(index, axis, size, self.lanes);
            let mut scope = Scope::new();
            evaluate(module, &self.operand.tape, &[self.operand.value], &point, &mut scope);
            let text = self.piece(&scope[&self.operand.value]);
            let zero = if self.lanes == 4 { "vec4<f32>()" } else { "0f" };
            let text = exists.map_or(text.clone(), |exists| format!("select({zero}, {text}, {exists})"));
            line!(module, "{}f{number} = {text};", self.stem);
        }
    }

    fn piece(&self, value: &Value) -> String {
        let lanes: Vec<&str> = (0..self.lanes).map(|lane| value.lane(lane)).collect();
        if self.lanes == 4 { format!("vec4<f32>({})", lanes.join(", ")) } else { lanes[0].into() }
    }

    /// What the place of a `vec4` in its row is mixed with at these terms, so that threads that lay
    /// down neighbouring terms meet different banks.
    fn mix(&self, fours: &str) -> Option<String> {
        self.along_terms.then(|| format!("({fours} * 2u & {}u)", (self.width / 4).min(8) - 1))
    }

    /// Lays the registers' piece into workgroup memory.
    pub fn put(&self, module: &mut Module) {
        let (stem, row) = (self.stem, self.width / 4);
        for number in 0..self.count() {
            let (across, deep) = self.place(module, number);
            if self.lanes == 4 && !self.along_terms {
                line!(module, "tile[{}u + {deep} * {row}u + {across} / 4u] = {stem}f{number};", self.base);
                continue;
            }
            let column = match self.mix(&format!("({deep} / 4u)")) {
                Some(mix) => module.bind("e", &format!("{}u + (({across} / 4u) ^ {mix})", self.base)),
                None => module.bind("e", &format!("{}u + {across} / 4u", self.base)),
            };
            for lane in 0..self.lanes {
                let value = if self.lanes == 4 { format!("{stem}f{number}[{lane}]") } else { format!("{stem}f{number}") };
                line!(module, "tile[{column} + ({deep} + {lane}u) * {row}u][{across} % 4u] = {value};");
            }
        }
    }

    /// Names the `vec4`s of a step's terms that a thread multiplies: `held` elements, of which
    /// every four lie `apart` `vec4`s from the last four.
    pub fn take(&self, module: &mut Module, step: usize, thread: &str, apart: usize, held: usize) -> Vec<String> {
        let (row, steps) = (self.width / 4, self.depth / self.split);
        let mut names = Vec::new();
        for part in 0..held / 4 {
            let group = format!("{thread} + {}u", part * apart);
            let column = match self.mix(&format!("(s * {}u + {}u)", steps / 4, step / 4)) {
                Some(_) if self.split == 1 => {
                    let fixed = (step / 4 * 2) & ((self.width / 4).min(8) - 1);
                    format!("(({group}) ^ {fixed}u)")
                }
                Some(mix) => format!("(({group}) ^ {mix})"),
                None => group,
            };
            let start = self.base + step * row;
            let text = match self.split {
                1 => format!("tile[{start}u + {column}]"),
                _ => format!("tile[{start}u + s * {}u + {column}]", steps * row),
            };
            names.push(module.bind(self.stem, &text));
        }
        names
    }
}

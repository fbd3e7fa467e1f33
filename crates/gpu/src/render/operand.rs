//! An operand of a product on its way from memory into registers: read in pieces along the axis
//! where it is contiguous, laid into workgroup memory with the terms as rows, and taken from there
//! in `vec4`s.

use farad_compile::program::{Code, Operand, Product};

use super::module::{Module, line};
use super::point::{Point, Value};
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
    /// What the thread reads of every piece.
    parts: Vec<Part>,
    /// Places of `vec4`s that a thread takes from a row, by four terms (and then over again).
    columns: Vec<String>,
}

/// A group of lanes of a piece (texts).
struct Part {
    /// The place in the tile: along the width and among the terms.
    across: String,
    deep: String,
    /// The index along the width, inside the operand.
    x: String,
    /// The `vec4` of the tile's first row that it goes to.
    column: String,
}

impl<'p> Side<'p> {
    /// The left operand.
    pub fn left(
        module: &mut Module,
        product: &'p Product,
        tile: Tile,
        at: (&[String], &str, &str),
    ) -> Side<'p> {
        Side::new(module, &product.lhs, product, tile, at, true)
    }

    /// The right operand.
    pub fn right(
        module: &mut Module,
        product: &'p Product,
        tile: Tile,
        at: (&[String], &str, &str),
    ) -> Side<'p> {
        Side::new(module, &product.rhs, product, tile, at, false)
    }

    fn new(
        module: &mut Module,
        operand: &'p Operand,
        product: &Product,
        tile: Tile,
        at: (&[String], &str, &str),
        left: bool,
    ) -> Side<'p> {
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
            parts: vec![],
            columns: vec![],
        }
    }

    /// Groups of lanes that a thread reads of every tile.
    fn count(&self) -> usize {
        self.width * self.depth / (self.lanes * THREADS)
    }

    /// Declares the registers that hold the next piece, and names what stays the same all along.
    /// `thread` is the thread's place along the width.
    pub fn declare(&mut self, module: &mut Module, thread: &str) {
        let zero = if self.lanes == 4 { "vec4<f32>()" } else { "0f" };
        for number in 0..self.count() {
            line!(module, "var {}f{number} = {zero};", self.stem);
            let part = self.part(module, number);
            self.parts.push(part);
        }
        let steps = self.depth / self.split;
        for fours in 0..steps.div_ceil(4) {
            let text = match (self.mix(&format!("(s * {}u + {fours}u)", steps / 4)), self.split) {
                (Some(_), 1) => format!("{thread} ^ {}u", (fours * 2) & self.mask()),
                (Some(mix), _) => format!("{thread} ^ {mix}"),
                (None, _) => thread.into(),
            };
            let text =
                if self.split == 1 { text } else { format!("({text}) + s * {}u", steps * self.width / 4) };
            self.columns.push(module.bind("e", &text));
        }
    }

    /// Names the place of a group of lanes.
    fn part(&self, module: &mut Module, number: usize) -> Part {
        let item = module.bind("e", &format!("t + {}u", number * THREADS));
        let row = if self.along_terms { self.depth } else { self.width } / self.lanes;
        let near = module.bind("e", &format!("{item} % {row}u * {}u", self.lanes));
        let far = module.bind("e", &format!("{item} / {row}u"));
        let (across, deep) = if self.along_terms { (far, near) } else { (near, far) };
        let mut x = module.bind("x", &format!("{} + {across}", self.first));
        if !self.even.0 {
            let step = if self.along_terms { 1 } else { self.lanes };
            x = module.bind("x", &format!("min({x}, {} - {step}u)", self.limit));
        }
        let column = match self.mix(&format!("({deep} / 4u)")) {
            Some(mix) => format!("{}u + {deep} * {}u + (({across} / 4u) ^ {mix})", self.base, self.width / 4),
            None => format!("{}u + {deep} * {}u + {across} / 4u", self.base, self.width / 4),
        };
        let column = module.bind("e", &column);
        Part { across, deep, x, column }
    }

    /// Reads the piece whose terms start at `start` into registers.
    pub fn fetch(&self, module: &mut Module, start: &str) {
        for (number, part) in self.parts.iter().enumerate() {
            let mut k = module.bind("k", &format!("{start} + {}", part.deep));
            let exists = (!self.even.1).then(|| format!("{k} < {}", self.terms));
            if !self.even.1 {
                let step = if self.along_terms { self.lanes } else { 1 };
                k = module.bind("k", &format!("min({k}, {} - {step}u)", self.terms));
            }
            let mut index = self.batch.clone();
            index.extend(if self.width_first { [part.x.clone(), k] } else { [k, part.x.clone()] });
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
        self.along_terms.then(|| format!("({fours} * 2u & {}u)", self.mask()))
    }

    fn mask(&self) -> usize {
        (self.width / 4).min(8) - 1
    }

    /// Lays the registers' piece into workgroup memory.
    pub fn put(&self, module: &mut Module) {
        let stem = self.stem;
        for (number, Part { across, column, .. }) in self.parts.iter().enumerate() {
            if self.lanes == 4 && !self.along_terms {
                line!(module, "tile[{column}] = {stem}f{number};");
                continue;
            }
            for lane in 0..self.lanes {
                let value = if self.lanes == 4 {
                    format!("{stem}f{number}[{lane}]")
                } else {
                    format!("{stem}f{number}")
                };
                line!(module, "tile[{column} + {}u][{across} % 4u] = {value};", lane * self.width / 4);
            }
        }
    }

    /// Names the `vec4`s of a step's terms that a thread multiplies: `held` elements, of which
    /// every four lie `apart` `vec4`s from the last four.
    pub fn take(&self, module: &mut Module, step: usize, apart: usize, held: usize) -> Vec<String> {
        let start = self.base + step * self.width / 4;
        let column = &self.columns[step / 4];
        let place = |part: usize| format!("tile[{column} + {}u]", start + part * apart);
        (0..held / 4).map(|part| module.bind(self.stem, &place(part))).collect()
    }
}

//! An operand of a product on its way from memory to registers. It is read in pieces along the axis where it is
//! contiguous and stored to workgroup memory. Scalar tiles have the terms as rows there, and threads read them
//! in `vec4`s. f16 tiles keep their layout in memory, and subgroups read them as matrices.

use farad_compile::program::{Code, Instr};
use farad_ir::DType;

use super::access::wide_place;
use super::layout::OperandLayout;
use super::module::{WgslModule, line};
use super::point::{EvaluationPoint, LaneText};
use super::pointwise::decode;
use super::product::{ProductForm, ProductTile};
use super::tape::{RegisterTexts, evaluate};
use crate::heuristics::products::{GAP, LARGEST_WINDOW};

/// Bytes of workgroup memory that are accessed at once, one per bank.
const BANKS: usize = 128;

/// One operand of a tiled product: its tile is `[terms, width]` in workgroup memory.
pub(super) struct Side<'p> {
    layout: &'p OperandLayout,
    /// `a` or `b`: the prefix of its registers' names.
    stem: &'static str,
    /// Indices of the batch axes.
    batch: Vec<String>,
    /// The first row or column of the tile.
    first: String,
    /// The offset of the tile in workgroup memory, in `vec4`s.
    base: usize,
    /// Rows of the left or columns of the right operand in a tile, and terms.
    width: usize,
    depth: usize,
    split: usize,
    threads: usize,
    /// Whether the tile holds f16.
    half: bool,
    /// Sizes as text, and whether tiles divide them.
    limit: String,
    terms: String,
    even: (bool, bool),
    sizes: (usize, usize),
    /// Whether lanes lie along the terms, not along the width.
    along_terms: bool,
    lanes: usize,
    /// Whether rows end within a group of lanes; the group is read whole.
    ragged: bool,
    /// The groups of lanes that the thread reads of every piece.
    parts: Vec<LaneGroup>,
    /// Offsets of the `vec4`s that a thread reads from a row, for four consecutive terms (then they repeat).
    columns: Vec<String>,
}

/// A group of lanes of a piece (as text).
struct LaneGroup {
    /// Its position in the tile: along the width and among the terms.
    across: String,
    deep: String,
    /// The index along the width, clamped to the operand, and the same per axis.
    x: String,
    index: Vec<String>,
    /// The `vec4` of the tile's first row that it is stored to.
    column: String,
}

/// Where a tile starts, as text.
pub(super) struct TileStart<'a> {
    /// The indices of batch axes.
    pub batch: &'a [String],
    /// The first row or column.
    pub first: &'a str,
    /// The number of terms.
    pub terms: &'a str,
}

impl<'p> Side<'p> {
    /// The operand of a tile.
    pub fn new(
        module: &mut WgslModule,
        layout: &'p OperandLayout,
        tile: ProductTile,
        at: TileStart,
    ) -> Side<'p> {
        let left = layout.width_first;
        let width = if left { tile.m } else { tile.n };
        let [size, terms] = [&layout.width, &layout.terms].map(|axes| axes.iter().product::<usize>());
        let along_terms = layout.along_terms();
        let near = if along_terms { &layout.terms } else { &layout.width };
        let lanes_size = near.last().copied().unwrap_or(1);
        let fours = lanes_size.is_multiple_of(4) && lanes_size > 0;
        let ragged = !fours && size > 0 && terms > 0 && rows_in_fours(module, layout, along_terms);
        Side {
            layout,
            stem: if left { "a" } else { "b" },
            batch: at.batch.to_vec(),
            first: at.first.into(),
            base: if left { 0 } else { tile.m * tile.k / 4 },
            width,
            depth: tile.k,
            split: tile.split,
            threads: tile.threads(module.capabilities),
            half: tile.form == ProductForm::Cooperative,
            limit: module.size(size),
            terms: at.terms.into(),
            even: (size.is_multiple_of(width), terms.is_multiple_of(tile.k)),
            sizes: (size, terms),
            along_terms,
            lanes: if fours || ragged { 4 } else { 1 },
            ragged,
            parts: vec![],
            columns: vec![],
        }
    }

    /// Groups of lanes per thread and tile.
    fn count(&self) -> usize {
        self.width * self.depth / (self.lanes * self.threads)
    }

    /// Declares the registers for the next piece, and names what does not change. `thread` is the thread's
    /// position along the width. f16 registers are loaded with their first piece at once: loading them under a
    /// condition made products a third slower. Scalar tiles are faster with one condition for both operands
    /// ([`Side::first`]).
    pub fn declare(&mut self, module: &mut WgslModule, thread: &str) {
        let (stem, zero, at_once) = (self.stem, self.zero(), self.half && self.sizes.1 > 0);
        for number in 0..self.count() {
            if !at_once {
                line!(module, "var {stem}f{number} = {zero};");
            }
            let part = self.part(module, number);
            self.parts.push(part);
        }
        if self.half {
            if at_once {
                let whole = self.even.1 || self.sizes.1 > self.depth;
                self.read(module, "0u", "var ", whole);
            }
            return;
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

    /// Declares the tile in workgroup memory, and the registers with their first piece.
    pub fn declare_f16(&mut self, module: &mut WgslModule) {
        module.global(&format!("var<workgroup> halves_{}: array<f16, {}>;", self.stem, self.f16_count()));
        self.declare(module, "");
    }

    /// The value of registers before the first piece.
    fn zero(&self) -> &'static str {
        match (self.lanes, self.half) {
            (4, false) => "vec4<f32>()",
            (4, true) => "vec4<f16>()",
            (_, false) => "0f",
            (_, true) => "0h",
        }
    }

    /// Row stride of an f16 tile, in elements.
    pub fn stride(&self) -> usize {
        GAP + if self.along_terms { self.depth } else { self.width }
    }

    /// Elements of an f16 tile.
    pub fn f16_count(&self) -> usize {
        self.stride() * if self.along_terms { self.width } else { self.depth }
    }

    /// Names the 16×16 matrix at these terms and at `first` (a name) plus `along` along the width.
    pub fn matrix(&self, module: &mut WgslModule, terms: usize, first: &str, along: usize) -> String {
        let (stride, stem) = (self.stride(), self.stem);
        let place = if self.along_terms {
            format!("({first} + {along}u) * {stride}u + {terms}u")
        } else {
            format!("{first} + {}u", terms * stride + along)
        };
        let how = if self.layout.width_first == self.along_terms { "coopLoadT" } else { "coopLoad" };
        let role = if self.layout.width_first { "A" } else { "B" };
        let text = format!("{how}<coop_mat16x16<f16, {role}>>(&halves_{stem}[{place}], {stride}u)");
        module.bind(stem, &text)
    }

    /// Names the position of a group of lanes.
    fn part(&self, module: &mut WgslModule, number: usize) -> LaneGroup {
        let row = if self.along_terms { self.depth } else { self.width } / self.lanes;
        // All positions of a thread share one index if whole rows of threads fit.
        let shared = self.layout.is_composed() && self.threads.is_multiple_of(row);
        let (near, far) = match self.parts.first().filter(|_| shared) {
            Some(first) => {
                let (near, far) = if self.along_terms {
                    (&first.deep, &first.across)
                } else {
                    (&first.across, &first.deep)
                };
                (near.clone(), module.bind("e", &format!("{far} + {}u", number * self.threads / row)))
            }
            None => {
                let item = module.bind("e", &format!("t + {}u", number * self.threads));
                let near = module.bind("e", &format!("{item} % {row}u * {}u", self.lanes));
                let far = module.bind("e", &format!("{item} / {row}u"));
                (near, if self.half { self.apart(module, far, row) } else { far })
            }
        };
        let (across, deep) = if self.along_terms { (far, near) } else { (near, far) };
        if let Some(first) = self.parts.first().filter(|first| first.across == across) {
            let (x, index) = (first.x.clone(), first.index.clone());
            let column = self.column(module, &across, &deep);
            return LaneGroup { across, deep, x, index, column };
        }
        let mut x = module.bind("x", &format!("{} + {across}", self.first));
        if !self.even.0 {
            let last = self.last(&self.limit, !self.along_terms);
            x = module.bind("x", &format!("min({x}, {last})"));
        }
        let column = self.column(module, &across, &deep);
        let index = self.axes(module, &x, false);
        LaneGroup { across, deep, x, index, column }
    }

    /// The row of a group of lanes. Consecutive threads would access rows that use only half of the banks;
    /// instead, neighbors take rows four apart, which use the other banks.
    fn apart(&self, module: &mut WgslModule, far: String, row: usize) -> String {
        if row * self.lanes * 2 != BANKS / 2 || self.lanes != 4 {
            return far;
        }
        module.bind("e", &format!("({far} & ~7u) + ({far} & 1u) * 4u + ({far} & 7u) / 2u"))
    }

    /// Names the offset in workgroup memory that a group of lanes is stored to.
    fn column(&self, module: &mut WgslModule, across: &str, deep: &str) -> String {
        if self.half {
            let (far, near) = if self.along_terms { (across, deep) } else { (deep, across) };
            return module.bind("e", &format!("{far} * {}u + {near}", self.stride()));
        }
        let column = match self.mix(&format!("({deep} / 4u)")) {
            Some(mix) => format!("{}u + {deep} * {}u + (({across} / 4u) ^ {mix})", self.base, self.width / 4),
            None => format!("{}u + {deep} * {}u + {across} / 4u", self.base, self.width / 4),
        };
        module.bind("e", &column)
    }

    /// The index of each axis of the width or the terms, from the index along all of them.
    fn axes(&self, module: &mut WgslModule, flat: &str, of_terms: bool) -> Vec<String> {
        let axes = if of_terms { &self.layout.terms } else { &self.layout.width };
        // Windows are small, and division by constants is faster; other sizes are not in the text.
        let size = |module: &mut WgslModule, &size: &usize| match size {
            0..=LARGEST_WINDOW => format!("{size}u"),
            _ => module.size(size),
        };
        let sizes: Vec<String> = match axes.len() {
            1 => vec![String::new()],
            _ => axes.iter().map(|axis| size(module, axis)).collect(),
        };
        decode(module, flat, &sizes)
    }

    /// Reads the first piece into registers.
    pub fn first(&self, module: &mut WgslModule) {
        let whole = self.even.1 || self.sizes.1 > self.depth;
        self.read(module, "0u", "", whole);
    }

    /// Whether tiles divide the terms.
    pub fn divides_terms(&self) -> bool {
        self.even.1
    }

    /// Reads the piece whose terms start at `start` into registers; `whole` if all its terms exist.
    pub fn fetch(&self, module: &mut WgslModule, start: &str, whole: bool) {
        self.read(module, start, "", whole);
    }

    /// Reads a piece; `var` precedes the registers' names.
    fn read(&self, module: &mut WgslModule, start: &str, var: &str, whole: bool) {
        let mut last: Option<(&str, Option<String>, Vec<String>)> = None;
        for (number, part) in self.parts.iter().enumerate() {
            let (exists, terms) = match &last {
                Some((deep, exists, terms)) if *deep == part.deep => (exists.clone(), terms.clone()),
                _ => self.terms_at(module, start, &part.deep, whole),
            };
            last = Some((&part.deep, exists.clone(), terms.clone()));
            let both = [&part.index, &terms];
            let [first, second] = if self.layout.width_first { both } else { [both[1], both[0]] };
            let index = [&self.batch[..], first, second].concat();
            let near = if self.along_terms { &self.layout.terms } else { &self.layout.width };
            let size = near.last().copied().unwrap_or(1);
            let point =
                EvaluationPoint::along(index, self.layout.innermost(self.along_terms), size, self.lanes);
            let text = self.value(module, &point);
            let zero = self.zero();
            let text = exists.map_or(text.clone(), |exists| format!("select({zero}, {text}, {exists})"));
            line!(module, "{var}{}f{number} = {text};", self.stem);
        }
    }

    /// Whether the terms of a group of lanes exist, and the index of each of their axes.
    fn terms_at(
        &self,
        module: &mut WgslModule,
        start: &str,
        deep: &str,
        whole: bool,
    ) -> (Option<String>, Vec<String>) {
        let mut k = module.bind("k", &format!("{start} + {deep}"));
        let exists = (!whole).then(|| match self.ragged && self.along_terms {
            // The last group has terms that do not exist.
            true => {
                let lanes = (0..self.lanes).map(|lane| format!("{k} + {lane}u < {}", self.terms));
                format!("vec4<bool>({})", lanes.collect::<Vec<_>>().join(", "))
            }
            false => format!("{k} < {}", self.terms),
        });
        if !whole {
            let last = self.last(&self.terms, self.along_terms);
            k = module.bind("k", &format!("min({k}, {last})"));
        }
        (exists, self.axes(module, &k, true))
    }

    /// The last position along an axis, or the position of the last group if lanes lie along it.
    fn last(&self, size: &str, in_groups: bool) -> String {
        match (in_groups, self.ragged) {
            (true, true) => format!("(({size} - 1u) & ~{}u)", self.lanes - 1),
            (true, false) => format!("{size} - {}u", self.lanes),
            (false, _) => format!("{size} - 1u"),
        }
    }

    /// The operand at a point, as registers hold it.
    fn value(&self, module: &mut WgslModule, point: &EvaluationPoint) -> String {
        let operand = &self.layout.operand;
        // f16 in groups of four needs no conversion.
        if let (true, [Instr { code: Code::Load(buffer, view), .. }]) =
            (self.half && self.layout.alone && self.layout.is_composed(), &operand.tape[..])
            && module.program.buffers[buffer.0 as usize].dtype == DType::F16
            && let Some((place, condition)) = wide_place(module, *buffer, view, point)
        {
            let bound = module.bound(*buffer);
            module.take_halves(bound);
            let text = format!("{}[{place}]", module.at(bound).name);
            return condition.map_or(text.clone(), |ok| format!("select(vec4<f16>(), {text}, {ok})"));
        }
        let mut scope = RegisterTexts::new();
        evaluate(module, &operand.tape, &[operand.value], point, &mut scope);
        self.piece(&scope[&operand.value])
    }

    fn piece(&self, value: &LaneText) -> String {
        let lanes: Vec<&str> = (0..self.lanes).map(|lane| value.lane(lane)).collect();
        let text = if self.lanes == 4 { format!("vec4<f32>({})", lanes.join(", ")) } else { lanes[0].into() };
        match (self.half, self.lanes) {
            (false, _) => text,
            (true, 4) => format!("vec4<f16>({text})"),
            (true, _) => format!("f16({text})"),
        }
    }

    /// What the offset of a `vec4` in its row is XORed with at these terms, so that threads that store
    /// neighboring terms use different banks.
    fn mix(&self, fours: &str) -> Option<String> {
        self.along_terms.then(|| format!("({fours} * 2u & {}u)", self.mask()))
    }

    fn mask(&self) -> usize {
        (self.width / 4).min(8) - 1
    }

    /// Stores the registers' piece to workgroup memory.
    pub fn put(&self, module: &mut WgslModule) {
        let stem = self.stem;
        for (number, LaneGroup { across, column, .. }) in self.parts.iter().enumerate() {
            if self.half {
                for lane in 0..self.lanes {
                    let value = if self.lanes == 4 { format!("[{lane}]") } else { String::new() };
                    line!(module, "halves_{stem}[{column} + {lane}u] = {stem}f{number}{value};");
                }
                continue;
            }
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

    /// Names the `vec4`s of a step's terms that a thread multiplies: `held` elements in groups of four, each
    /// group `apart` `vec4`s after the last.
    pub fn take(&self, module: &mut WgslModule, step: usize, apart: usize, held: usize) -> Vec<String> {
        let start = self.base + step * self.width / 4;
        let column = &self.columns[step / 4];
        let place = |part: usize| format!("tile[{column} + {}u]", start + part * apart);
        (0..held / 4).map(|part| module.bind(self.stem, &place(part))).collect()
    }
}

/// Whether rows of an operand in memory start at multiples of four elements, so that a group that begins in a row can
/// be read whole.
fn rows_in_fours(module: &WgslModule, layout: &OperandLayout, along_terms: bool) -> bool {
    let mut loads = layout.operand.tape.iter().filter_map(|instr| match &instr.code {
        Code::Load(buffer, view) => Some((*buffer, view)),
        _ => None,
    });
    let (Some((buffer, view)), None) = (loads.next(), loads.next()) else { return false };
    let near = layout.innermost(along_terms);
    let strides = view.strides.iter().enumerate();
    view.guards.is_empty()
        && !layout.is_composed()
        && view.offset % 4 == 0
        && module.program.buffers[buffer.0 as usize].len.is_multiple_of(4)
        && module.slot(buffer).is_none_or(|stride| stride.is_multiple_of(4))
        && { strides }.all(|(axis, &stride)| if axis == near { stride == 1 } else { stride % 4 == 0 })
}

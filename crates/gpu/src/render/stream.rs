//! An f16 operand that goes from memory to workgroup memory as it is, four elements at a time.
//!
//! Rows must start at multiples of four elements in memory; their length need not be one. Groups beyond the
//! last row are read again from an earlier place, and their results are dropped. Terms beyond the last are
//! zero; only the last step of a sum asks for this ([`Stream::fetch`]).
//!
//! Groups of eight would be quicker (docs/lab/f16-products.md), but WGSL cannot load matrices from memory that holds
//! anything but f16.
//!
//! Invariant: every group that is read lies inside the buffer, which has whole groups.

use farad_compile::program::{BufferId, Code, View};
use farad_ir::DType;

use super::layout::OperandLayout;
use super::module::{WgslModule, line};
use super::operand::TileStart;
use super::product::ProductTile;
use crate::dispatch::Word;
use crate::heuristics::products::GAP;

/// f16 elements of a group: what a thread reads at once.
const GROUP: usize = 4;
/// Bytes of workgroup memory that are accessed at once, one per bank.
const BANKS: usize = 128;

/// One streamed operand of a tile.
pub(super) struct Stream<'p> {
    layout: &'p OperandLayout,
    view: &'p View,
    buffer: BufferId,
    /// `a` or `b`: the prefix of its registers' names.
    stem: &'static str,
    /// Indices of the batch axes.
    batch: Vec<String>,
    /// The first row or column of the tile.
    first: String,
    /// Rows of the left or columns of the right operand in a tile, and terms.
    width: usize,
    depth: usize,
    threads: usize,
    /// Rows (or columns) and terms of the operand, and the number of terms as text.
    sizes: (usize, usize),
    terms: String,
    /// Whether groups lie along the terms, not along the width.
    along_terms: bool,
    /// Where each group of the thread lies in the tile: its place in workgroup memory, and its first term.
    groups: Vec<Place>,
    /// How far places advance with every tile.
    step: String,
}

/// A group that a thread moves, as text.
struct Place {
    /// Its number in the buffer: a variable, and what is added to it.
    from: String,
    apart: Option<String>,
    /// Its number in workgroup memory.
    to: String,
    /// Its first term in the tile.
    deep: String,
}

impl<'p> Stream<'p> {
    /// The operand as a stream; `None` if it has to be computed, or its rows start anywhere.
    pub fn new(
        module: &mut WgslModule,
        layout: &'p OperandLayout,
        tile: ProductTile,
        at: &TileStart,
    ) -> Option<Stream<'p>> {
        let along_terms = layout.along_terms();
        let (buffer, view) = in_groups(module, layout, along_terms)?;
        let left = layout.width_first;
        let (width, depth) = (if left { tile.m } else { tile.n }, tile.k);
        let threads = tile.threads(module.capabilities);
        let row = if along_terms { depth } else { width } / GROUP;
        let whole = threads.is_multiple_of(row) && (width * depth).is_multiple_of(GROUP * threads);
        let sizes = (layout.width[0], layout.terms[0]);
        (whole && sizes.0 > 0 && sizes.1 > 0).then(|| Stream {
            layout,
            view,
            buffer,
            stem: if left { "a" } else { "b" },
            batch: at.batch.to_vec(),
            first: at.first.into(),
            width,
            depth,
            threads,
            sizes,
            terms: at.terms.into(),
            along_terms,
            groups: vec![],
            step: String::new(),
        })
    }

    /// Row stride of the tile in workgroup memory, in elements.
    pub fn stride(&self) -> usize {
        GAP + if self.along_terms { self.depth } else { self.width }
    }

    /// Elements of the tile in workgroup memory.
    pub fn f16_count(&self) -> usize {
        self.stride() * if self.along_terms { self.width } else { self.depth }
    }

    /// Declares the registers, names what does not change, and reads the first piece.
    pub fn declare(&mut self, module: &mut WgslModule) {
        let bound = module.bound(self.buffer);
        module.take_halves(bound);
        module.global(&format!("var<workgroup> halves_{}: array<f16, {}>;", self.stem, self.f16_count()));
        let base = self.base(module);
        let [across, deep] = [false, true].map(|terms| {
            let axis = self.layout.innermost(terms);
            module.number(&self.view.strides[axis])
        });
        let row = if self.along_terms { self.depth } else { self.width } / GROUP;
        let near = module.bind("e", &format!("t % {row}u * {GROUP}u"));
        let far = module.bind("e", &format!("t / {row}u"));
        let far = self.spread(module, far, row);
        let rows = self.threads / row;
        let count = self.width * self.depth / (GROUP * self.threads);
        // All groups of a thread are equally far apart, unless some are clamped to the last row.
        let even = !self.along_terms || self.sizes.0.is_multiple_of(self.width);
        for number in 0..count {
            let far = match number {
                0 => far.clone(),
                _ => module.bind("e", &format!("{far} + {}u", number * rows)),
            };
            let (x, k) = if self.along_terms { (&far, &near) } else { (&near, &far) };
            let to = module.bind("e", &format!("{far} * {}u + {near}", self.stride()));
            let (from, apart) = match self.groups.first() {
                Some(first) if even => {
                    let stride = if self.along_terms { &across } else { &deep };
                    let apart = module.bind("e", &format!("{stride} * {}u / {GROUP}u", number * rows));
                    (first.from.clone(), Some(apart))
                }
                _ => {
                    let x = self.clamped(module, x);
                    let place = format!("({base} + {across} * {x} + {deep} * {k}) / {GROUP}u");
                    (module.variable(self.stem, &place), None)
                }
            };
            self.groups.push(Place { from, apart, to, deep: k.clone() });
        }
        self.step = module.bind("e", &format!("{deep} * {}u / {GROUP}u", self.depth));
        let whole = self.divides_terms() || self.sizes.1 > self.depth;
        let left = (!whole).then(|| self.terms.clone());
        self.read(module, left.as_deref(), "var ");
    }

    /// Whether tiles divide the terms.
    pub fn divides_terms(&self) -> bool {
        self.sizes.1.is_multiple_of(self.depth)
    }

    /// The element at which the operand starts.
    fn base(&self, module: &mut WgslModule) -> String {
        let mut base = vec![module.number(&self.view.offset)];
        for (axis, index) in self.batch.iter().enumerate() {
            base.push(format!("{} * {index}", module.number(&self.view.strides[axis])));
        }
        if module.slot(self.buffer).is_some() {
            base.push(module.word(Word::Slot(self.buffer)));
        }
        module.bind("e", &base.join(" + "))
    }

    /// The row of a thread's group. Consecutive threads would store rows that use only half of the banks; instead,
    /// neighbors take rows four apart, which use the other banks.
    fn spread(&self, module: &mut WgslModule, far: String, row: usize) -> String {
        if row * GROUP * 2 != BANKS / 2 {
            return far;
        }
        module.bind("e", &format!("({far} & ~7u) + ({far} & 1u) * 4u + ({far} & 7u) / 2u"))
    }

    /// A position along the width in the operand, at most the last one (or the last group).
    fn clamped(&self, module: &mut WgslModule, x: &str) -> String {
        let x = module.bind("x", &format!("{} + {x}", self.first));
        let size = self.sizes.0;
        if size.is_multiple_of(self.width) {
            return x;
        }
        let limit = module.size(size);
        match self.along_terms {
            true => module.bind("x", &format!("min({x}, {limit} - 1u)")),
            false => module.bind("x", &format!("min({x}, ({limit} - 1u) & ~{}u)", GROUP - 1)),
        }
    }

    /// Reads the piece whose terms start at `start` into registers; `whole` if all its terms exist.
    pub fn fetch(&self, module: &mut WgslModule, start: &str, whole: bool) {
        let mut moved: Vec<&str> = self.groups.iter().map(|group| &group.from[..]).collect();
        moved.dedup();
        moved.iter().for_each(|from| line!(module, "{from} += {};", self.step));
        let left = (!whole).then(|| module.bind("k", &format!("{} - {start}", self.terms)));
        self.read(module, left.as_deref(), "");
    }

    /// Reads a piece. `left` is how many terms there are from its first on, if not all of them exist.
    fn read(&self, module: &mut WgslModule, left: Option<&str>, var: &str) {
        let name = module.at(module.bound(self.buffer)).name.clone();
        for (number, Place { from, apart, deep, .. }) in self.groups.iter().enumerate() {
            let place = apart.as_ref().map_or(from.clone(), |apart| format!("{from} + {apart}"));
            let text = match left {
                None => format!("{name}[{place}]"),
                Some(left) => {
                    let group = format!("{name}[select(0u, {place}, {deep} < {left})]");
                    let lanes = (0..GROUP).map(|lane| format!("{deep} + {lane}u < {left}"));
                    let exists = match self.along_terms {
                        true => format!("vec4<bool>({})", lanes.collect::<Vec<_>>().join(", ")),
                        false => format!("{deep} < {left}"),
                    };
                    format!("select(vec4<f16>(), {group}, {exists})")
                }
            };
            line!(module, "{var}{}f{number} = {text};", self.stem);
        }
    }

    /// Stores the registers' piece to workgroup memory.
    pub fn put(&self, module: &mut WgslModule) {
        let stem = self.stem;
        for (number, place) in self.groups.iter().enumerate() {
            for lane in 0..GROUP {
                line!(module, "halves_{stem}[{} + {lane}u] = {stem}f{number}[{lane}];", place.to);
            }
        }
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
        module.bind(stem, &format!("{how}<coop_mat16x16<f16, {role}>>(&halves_{stem}[{place}], {stride}u)"))
    }
}

/// The buffer and the view of an operand that is f16 in memory, whose rows start at whole groups.
fn in_groups<'p>(
    module: &WgslModule,
    layout: &'p OperandLayout,
    along_terms: bool,
) -> Option<(BufferId, &'p View)> {
    let [load] = &layout.operand.tape[..] else { return None };
    let Code::Load(buffer, view) = &load.code else { return None };
    let spec = module.program.buffers[buffer.0 as usize];
    let near = layout.innermost(along_terms);
    let step = GROUP as i64;
    let rows = view
        .strides
        .iter()
        .enumerate()
        .all(|(axis, stride)| if axis == near { *stride == 1 } else { stride % step == 0 });
    let fits = spec.dtype == DType::F16
        && spec.len.is_multiple_of(GROUP)
        && view.guards.is_empty()
        && view.offset % step == 0
        && module.slot(*buffer).is_none_or(|stride| stride.is_multiple_of(GROUP));
    (rows && fits && layout.alone && layout.width.len() == 1 && layout.terms.len() == 1)
        .then_some((*buffer, view))
}

//! How tiles read an operand of a product, slice by slice: in place, or copied to scratch memory.
//!
//! In either case, an element's address is linear in its axes, with strides that are the same for every slice.
//! Copies deal with padding. A *window* copies every element that a slice reads once, with zeros around it;
//! overlapping reads (those of a convolution) then have overlapping strides. A *spread* copies every element as
//! often as it is read. Where tiles run along every second or third position (strided convolutions), a window
//! is *split*: the positions with the same remainder are adjacent. One axis, that of the kernel's columns, then
//! has a table of offsets instead of a stride ([`SliceOperand::offsets`]).

use farad_compile::program::{self, BufferId, Code, Fused, Guard, Instr, Level, Store, View};
use farad_ir::DType;

use crate::error::Error;
use crate::heuristics::products::ZEROED_TOGETHER;
use crate::interpreter::nest::{Nest, Spec};
use crate::interpreter::tile_machine::KernelContext;
use crate::memory::element_runs::{self, Binding};
use crate::memory::view_access::{self, DomainRange, ViewAccess};
use split_window::{PositionStep, ResidueSplit, RowPlaces, Stretch, StretchSource};

mod split_window;

/// A part of an operand's axes.
#[derive(Clone, Copy, Debug)]
pub struct Slice<'a> {
    /// Its first position, per axis.
    pub origin: &'a [usize],
    /// Its size, per axis.
    pub extent: &'a [usize],
}

/// A planned operand.
#[derive(Debug)]
pub struct SliceOperand {
    buffer: usize,
    source: OperandSource,
    /// Elements between neighbors, per axis.
    pub strides: Vec<i64>,
    /// Floats of scratch memory that a slice takes.
    pub floats: usize,
    /// Floats of the copy that tiles read, at the start of that memory.
    copied: usize,
    /// Pointwise work on the copy, and the buffer number that the copy has in it.
    finish: Option<(usize, Nest)>,
}

#[derive(Debug)]
enum OperandSource {
    Nothing,
    Memory(View),
    Window(Window),
    /// Copied from a window that follows it in scratch memory, if there is one.
    Spread(Spread, Option<Window>),
}

/// A load, and pointwise work on its values.
pub struct Load<'a> {
    pub buffer: BufferId,
    pub view: &'a View,
    tape: Option<&'a program::ProductOperand>,
}

impl<'a> Load<'a> {
    /// The operand as one load; `None` if it consists of more.
    pub fn of(operand: &'a program::ProductOperand) -> Option<Load<'a>> {
        let mut loads = operand.tape.iter().filter_map(|instr| match &instr.code {
            Code::Load(buffer, view) => Some((*buffer, view, instr.dtype)),
            _ => None,
        });
        let (buffer, view, dtype) = loads.next()?;
        let placed = |i: &Instr| matches!(i.code, Code::Position(_) | Code::Random(..) | Code::Take { .. });
        if loads.next().is_some() || dtype != DType::F32 || operand.tape.iter().any(placed) {
            return None;
        }
        let plain = matches!(operand.tape[operand.value.0 as usize].code, Code::Load(..));
        Some(Load { buffer, view, tape: (!plain).then_some(operand) })
    }

    /// Whether the operand is in memory without any work on it.
    pub fn is_plain(&self, specs: &[Spec]) -> bool {
        let float = specs[self.buffer.0 as usize].dtype == DType::F32;
        self.tape.is_none() && float && self.view.guards.is_empty()
    }

    /// Whether tiles may read the memory itself, along `vector`.
    fn is_direct(&self, axes: &[usize], vector: usize, specs: &[Spec]) -> bool {
        self.is_plain(specs) && (axes[vector] == 1 || self.view.strides[vector] == 1)
    }
}

/// What slices are read of, and along which axes.
pub struct SliceRead<'a> {
    /// What is read.
    pub load: &'a Load<'a>,
    /// The sizes of its axes.
    pub axes: &'a [usize],
    /// The axes of a spread copy; tiles run along the last one.
    pub order: &'a [usize],
    /// Axes that are read by [`SliceOperand::offsets`] alone, so that they need no strides.
    pub tables: AxisRange,
}

impl SliceRead<'_> {
    /// The axis along which tiles run.
    pub fn vector(&self) -> usize {
        *self.order.last().expect("an axis")
    }

    /// Whether tiles may read the memory itself.
    pub fn is_direct(&self, specs: &[Spec]) -> bool {
        self.load.is_direct(self.axes, self.vector(), specs)
    }

    /// The window of slices of at most `extent`; `None` if there is none.
    pub fn window(&self, extent: &[usize]) -> Option<Window> {
        Window::new(self, extent)
    }
}

/// How an operand is to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// Not at all: the sum has no terms.
    Nothing,
    Memory,
    Window,
    Spread,
}

impl SliceOperand {
    /// Plans to read a load over `axes`, in slices of at most `extent`. `order` lists the axes of a spread
    /// copy; tiles run along the last one. Axes in `tables` are read only through [`SliceOperand::offsets`].
    /// `scratch` is the buffer number of the copy.
    pub fn new(
        read: &SliceRead,
        way: Way,
        extent: &[usize],
        specs: &mut [Spec],
        scratch: BufferId,
        label: &str,
    ) -> Result<SliceOperand, Error> {
        let SliceRead { load, axes, order, .. } = *read;
        let spec = specs[load.buffer.0 as usize];
        let (source, strides, copied) = match way {
            Way::Nothing => {
                let spread = Spread::new(load.view, axes, extent, order);
                (OperandSource::Nothing, spread.strides, 0)
            }
            Way::Memory => {
                view_access::check(load.view, axes, spec.len, label)?;
                (OperandSource::Memory(load.view.clone()), load.view.strides.clone(), 0)
            }
            Way::Window => {
                let window = read.window(extent).expect("only asked for where there is one");
                let (strides, floats) = (window.strides(axes.len()), window.floats());
                (OperandSource::Window(window), strides, floats)
            }
            Way::Spread => {
                let spread = Spread::new(load.view, axes, extent, order);
                let strides = spread.strides.clone();
                let floats = order.iter().map(|&axis| extent[axis]).product();
                (OperandSource::Spread(spread, read.window(extent)), strides, floats)
            }
        };
        let floats = match &source {
            OperandSource::Spread(_, Some(window)) => copied + window.floats(),
            _ => copied,
        };
        specs[scratch.0 as usize].len = copied;
        let finish = load
            .tape
            .filter(|_| copied > 0)
            .map(|operand| finish(operand, scratch, copied, specs, label))
            .transpose()?;
        let finish = finish.map(|nest| (scratch.0 as usize, nest));
        Ok(SliceOperand { buffer: load.buffer.0 as usize, source, strides, floats, copied, finish })
    }

    /// The offsets of all positions of some axes, in order: the axes starting at `first`, which have these
    /// sizes.
    pub fn offsets(&self, first: usize, sizes: &[usize]) -> Vec<isize> {
        let mut all = vec![0];
        for (axis, &size) in (first..).zip(sizes) {
            let place = |i: usize| match &self.source {
                OperandSource::Window(window) => window.place(axis, self.strides[axis], i),
                _ => self.strides[axis] as isize * i as isize,
            };
            all = all.iter().flat_map(|&at| (0..size).map(move |i| at + place(i))).collect();
        }
        all
    }

    /// Makes a slice readable and returns the address of its first element.
    ///
    /// # Safety
    /// `scratch` must have room for [`SliceOperand::floats`] floats that nothing else uses.
    pub unsafe fn read(&self, slice: Slice, context: KernelContext, scratch: *mut f32) -> *const f32 {
        let binding = context.bindings[self.buffer];
        let at = match &self.source {
            OperandSource::Nothing => return scratch,
            OperandSource::Memory(view) => {
                let index = view.offset + dot(&view.strides, slice.origin);
                // SAFETY: the view was checked when the program was loaded.
                return unsafe { binding.start.cast::<f32>().offset(index as isize) };
            }
            OperandSource::Window(window) => {
                // SAFETY: promised by the caller.
                let out = unsafe { std::slice::from_raw_parts_mut(scratch.cast::<u32>(), self.floats) };
                window.copy(slice, binding, out)
            }
            OperandSource::Spread(spread, window) => {
                // SAFETY: promised by the caller.
                let out = unsafe { std::slice::from_raw_parts_mut(scratch.cast::<u32>(), self.floats) };
                let (out, behind) = out.split_at_mut(self.copied);
                match window {
                    Some(window) => {
                        let first = window.copy(slice, binding, behind);
                        spread.gather(slice, window, behind, first, out);
                    }
                    None => spread.copy(slice, binding, out),
                }
                0
            }
        };
        if let Some((id, nest)) = &self.finish {
            let mut bindings = context.bindings.to_vec();
            bindings[*id] = Binding { start: scratch.cast(), len: self.copied, dtype: DType::F32 };
            nest.run_alone(KernelContext { bindings: &bindings, ..context });
        }
        // SAFETY: the slice's first element is in the copy.
        unsafe { scratch.add(at) }
    }
}

fn dot(strides: &[i64], coordinates: &[usize]) -> i64 {
    strides.iter().zip(coordinates).map(|(&stride, &c)| stride * c as i64).sum()
}

/// The pointwise work on a load's values, applied to a copy of them.
fn finish(
    operand: &program::ProductOperand,
    scratch: BufferId,
    floats: usize,
    specs: &[Spec],
    label: &str,
) -> Result<Nest, Error> {
    let view = View::contiguous(&[floats]);
    let replace = |instr: &Instr| match instr.code {
        Code::Load(..) => {
            Instr { code: Code::Load(scratch, view.clone()), dtype: DType::F32, level: Level::Full }
        }
        _ => instr.clone(),
    };
    let tape = operand.tape.iter().map(replace).collect();
    let stores = vec![Store { buffer: scratch, value: operand.value, view: view.clone() }];
    Nest::new(&Fused { axes: vec![floats], outer: 1, tape, stores }, specs, label)
}

/// Some axes of an operand.
pub type AxisRange = std::ops::Range<usize>;

/// A copy of everything that a slice reads, with zeros where there is nothing to read.
#[derive(Debug)]
pub struct Window {
    /// The element at coordinate 0 of all axes and guards.
    offset: i64,
    /// Elements between neighbors of axes without guards.
    free: Vec<i64>,
    guards: Vec<Guard>,
    dims: Vec<Dim>,
    /// How the innermost dimension is split, if tiles read it with a stride.
    split: Option<ResidueSplit>,
}

/// An axis of a window.
#[derive(Clone, Debug)]
struct Dim {
    what: What,
    /// Elements between neighbors in memory.
    unit: i64,
    /// Its size in the largest slice.
    span: usize,
    /// Floats between neighbors in the copy.
    pitch: usize,
}

#[derive(Clone, Copy, Debug)]
enum What {
    /// An axis of the operand.
    Axis(usize),
    /// The position of a guard.
    Guard(usize),
}

impl Window {
    /// The window of slices of at most `extent`, along whose last axis of the order elements are to be neighbors; `None` if
    /// there is none.
    fn new(read: &SliceRead, extent: &[usize]) -> Option<Window> {
        let (axes, vector) = (read.axes, read.vector());
        let view = &split_window::guarded(read.load.view, axes, vector);
        let real = |axis: usize| axes[axis] > 1;
        let mut offset = view.offset;
        let mut free = view.strides.clone();
        let mut dims = Vec::new();
        for (number, guard) in view.guards.iter().enumerate() {
            let mut unit = None;
            for axis in (0..axes.len()).filter(|&axis| real(axis) && guard.coefficients[axis] != 0) {
                let coefficient = guard.coefficients[axis];
                let known = *unit.get_or_insert(view.strides[axis] / coefficient);
                let alone =
                    view.guards.iter().enumerate().all(|(n, g)| n == number || g.coefficients[axis] == 0);
                if !alone || known * coefficient != view.strides[axis] {
                    return None;
                }
                free[axis] = 0;
            }
            let unit = unit.filter(|&unit| unit > 0 && guard.divisor == 1 && guard.stride == 0)?;
            offset -= unit * guard.offset;
            dims.push(Dim { what: What::Guard(number), unit, span: span(guard, extent), pitch: 0 });
        }
        for axis in (0..axes.len()).filter(|&axis| extent[axis] > 1 && free[axis] != 0) {
            dims.push(Dim { what: What::Axis(axis), unit: free[axis], span: extent[axis], pitch: 0 });
        }
        let runs = |dim: &Dim| match dim.what {
            What::Axis(axis) => axis == vector,
            What::Guard(guard) => view.guards[guard].coefficients[vector] > 0,
        };
        dims.sort_by_key(|dim| (runs(dim), std::cmp::Reverse(dim.unit.abs())));
        let last = dims.last_mut().filter(|dim| runs(dim) && dim.unit == 1)?;
        let mut split = None;
        if let What::Guard(number) = last.what
            && view.guards[number].coefficients[vector] > 1
        {
            let found = ResidueSplit::new(&view.guards[number], read, extent, last.span)?;
            last.span = found.floats();
            split = Some(found);
        }
        let mut pitch = 1;
        for dim in dims.iter_mut().rev() {
            dim.pitch = pitch;
            pitch *= dim.span;
        }
        Some(Window { offset, free, guards: view.guards.clone(), dims, split })
    }

    /// Floats of the copy of the largest slice.
    pub fn floats(&self) -> usize {
        self.dims.iter().map(|dim| dim.span).product()
    }

    fn strides(&self, axes: usize) -> Vec<i64> {
        let mut strides = vec![0; axes];
        for dim in &self.dims {
            match dim.what {
                What::Axis(axis) => strides[axis] = dim.pitch as i64,
                What::Guard(guard) => {
                    let by = self.split.as_ref().filter(|_| dim.pitch == 1).map_or(1, |split| split.by);
                    for (stride, coefficient) in strides.iter_mut().zip(&self.guards[guard].coefficients) {
                        *stride += coefficient / by * dim.pitch as i64;
                    }
                }
            }
        }
        strides
    }

    /// The offset of position `i` of an axis from its first position; neighbors on the axis are `stride` apart.
    fn place(&self, axis: usize, stride: i64, i: usize) -> isize {
        match &self.split {
            Some(split) if split.table == Some(axis) => split.place(i),
            _ => stride as isize * i as isize,
        }
    }

    /// Copies a slice and returns the offset of its first element.
    fn copy(&self, slice: Slice, binding: Binding, out: &mut [u32]) -> usize {
        let mut first = 0;
        let places: Vec<RowPlaces> = self
            .dims
            .iter()
            .map(|dim| match dim.what {
                What::Axis(axis) => RowPlaces { count: slice.extent[axis], low: 0, size: i64::MAX },
                What::Guard(number) => {
                    let guard = &self.guards[number];
                    let back: i64 = (guard.coefficients.iter().zip(slice.extent))
                        .map(|(&c, &extent)| (-c).max(0) * (extent as i64 - 1))
                        .sum();
                    first += back as usize * dim.pitch;
                    let low = guard.offset + dot(&guard.coefficients, slice.origin) - back;
                    RowPlaces { count: span(guard, slice.extent), low, size: guard.size }
                }
            })
            .collect();
        let start = self.offset + dot(&self.free, slice.origin);
        let row = *places.last().expect("an innermost dimension");
        let stretches = match &self.split {
            Some(split) => split.stretches(row),
            None => vec![Stretch::new(0, PositionStep { by: 1, remainder: 0 }, row)],
        };
        // Many short rows are sooner zeroed together.
        let misses = |p: &RowPlaces| p.low < 0 || p.low + p.count as i64 > p.size;
        let zeroed = row.count <= ZEROED_TOGETHER && places.iter().any(misses);
        if zeroed {
            out.fill(0);
        }
        let source = StretchSource { binding, words: binding.dtype.size() == 4, zeroed };
        self.fill(0, Some(start), &places, &source, &stretches, out);
        first
    }

    /// Fills the part of a copy that starts at element `index` (if that exists), from dimension `depth` on.
    fn fill(
        &self,
        depth: usize,
        index: Option<i64>,
        places: &[RowPlaces],
        source: &StretchSource,
        stretches: &[Stretch],
        out: &mut [u32],
    ) {
        if index.is_none() && source.zeroed {
            return;
        }
        let (dim, RowPlaces { count, low, size }) = (&self.dims[depth], places[depth]);
        if depth + 1 == self.dims.len() {
            return stretches.iter().for_each(|stretch| stretch.fill(index, source, out));
        }
        for (place, out) in out.chunks_mut(dim.pitch).take(count).enumerate() {
            let position = low + place as i64;
            let index = index.filter(|_| (0..size).contains(&position));
            let index = index.map(|index| index + dim.unit * position);
            self.fill(depth + 1, index, places, source, stretches, out);
        }
    }
}

/// The number of positions that a guard takes over a slice.
fn span(guard: &Guard, extent: &[usize]) -> usize {
    let reach = |(c, &extent): (&i64, &usize)| c.unsigned_abs() as usize * (extent - 1);
    guard.coefficients.iter().zip(extent).map(reach).sum::<usize>() + 1
}

/// A copy with one element per position of a slice.
#[derive(Debug)]
struct Spread {
    /// The axes of the copy.
    order: Vec<usize>,
    /// Floats between neighbors in the copy, per axis.
    strides: Vec<i64>,
    /// Along the last of the axes, with the others fixed.
    access: ViewAccess,
}

impl Spread {
    fn new(view: &View, axes: &[usize], extent: &[usize], order: &[usize]) -> Spread {
        let mut strides = vec![0; axes.len()];
        let mut stride = 1;
        for &axis in order.iter().rev() {
            strides[axis] = stride;
            stride *= extent[axis] as i64;
        }
        let vector = order[order.len() - 1];
        let held: Vec<usize> = (0..axes.len()).filter(|&axis| axis != vector).collect();
        Spread { order: order.to_vec(), strides, access: ViewAccess::new(view, axes, &[vector], &held) }
    }

    /// Copies a slice out of its window, whose first element lies at a place of a copy.
    fn gather(&self, slice: Slice, window: &Window, from: &[u32], first: usize, out: &mut [u32]) {
        let strides = window.strides(slice.extent.len());
        let (&vector, outer) = self.order.split_last().expect("an axis");
        let table = |&axis: &usize| {
            let place = |i: usize| window.place(axis, strides[axis], i);
            let both = |i: usize| (place(i), self.strides[axis] as isize * i as isize);
            (0..slice.extent[axis]).map(both).collect::<Vec<_>>()
        };
        let tables: Vec<Vec<(isize, isize)>> = outer.iter().map(table).collect();
        copy_rows(&tables, slice.extent[vector], RowAt { source: first as isize, target: 0 }, from, out);
    }

    fn copy(&self, slice: Slice, binding: Binding, out: &mut [u32]) {
        let vector = self.order[self.order.len() - 1];
        let outer = &self.order[..self.order.len() - 1];
        let held = |axis: usize| if axis > vector { axis - 1 } else { axis };
        let mut fixed: Vec<usize> = slice.origin.to_vec();
        fixed.remove(vector);
        let count = slice.extent[vector];
        let mut local = vec![0; outer.len()];
        let rows: usize = outer.iter().map(|&axis| slice.extent[axis]).product();
        let mut at = 0;
        for _ in 0..rows {
            let range = DomainRange { start: slice.origin[vector], count, fixed: &fixed };
            // SAFETY: the program says that this kernel may read the buffer; runs are checked.
            unsafe { element_runs::load(&self.access, range, 0, binding, &mut out[at..at + count]) };
            for (place, &axis) in local.iter_mut().zip(outer).rev() {
                *place += 1;
                fixed[held(axis)] += 1;
                at += self.strides[axis] as usize;
                if *place < slice.extent[axis] {
                    break;
                }
                at -= self.strides[axis] as usize * *place;
                fixed[held(axis)] = slice.origin[axis];
                *place = 0;
            }
        }
    }
}

/// Where a row begins, in what is copied and in the copy.
#[derive(Clone, Copy)]
struct RowAt {
    source: isize,
    target: isize,
}

/// Copies rows of `count` words from and to where the tables of the axes outside them say.
fn copy_rows(tables: &[Vec<(isize, isize)>], count: usize, at: RowAt, from: &[u32], to: &mut [u32]) {
    match tables {
        [] => copy_each(&[(0, 0)], count, at, from, to),
        [table] => copy_each(table, count, at, from, to),
        [table, inner @ ..] => {
            for (s, t) in table {
                let at = RowAt { source: at.source + s, target: at.target + t };
                copy_rows(inner, count, at, from, to);
            }
        }
    }
}

/// As [`copy_rows`] for one table. Rows of small images are shorter than the call of a copy is worth.
fn copy_each(table: &[(isize, isize)], count: usize, at: RowAt, from: &[u32], to: &mut [u32]) {
    match count {
        1 => copy_short::<1>(table, at, from, to),
        2 => copy_short::<2>(table, at, from, to),
        3 => copy_short::<3>(table, at, from, to),
        4 => copy_short::<4>(table, at, from, to),
        5 => copy_short::<5>(table, at, from, to),
        6 => copy_short::<6>(table, at, from, to),
        7 => copy_short::<7>(table, at, from, to),
        8 => copy_short::<8>(table, at, from, to),
        _ => {
            for (s, t) in table {
                let row = &from[(at.source + s) as usize..][..count];
                to[(at.target + t) as usize..][..count].copy_from_slice(row);
            }
        }
    }
}

/// Rows of a length that is known at compile time, so that a few instructions copy each.
fn copy_short<const COUNT: usize>(table: &[(isize, isize)], at: RowAt, from: &[u32], to: &mut [u32]) {
    for (s, t) in table {
        let row: [u32; COUNT] = from[(at.source + s) as usize..][..COUNT].try_into().expect("so many words");
        to[(at.target + t) as usize..][..COUNT].copy_from_slice(&row);
    }
}

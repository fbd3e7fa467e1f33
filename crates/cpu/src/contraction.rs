//! Fused kernels that are contractions: a sum of products of two loads, as convolutions and their gradients are.
//!
//! Their operands are copied to matrices (which is where padding and strides are dealt with), so that the sum is a
//! matrix product. What becomes too large is done slice by slice along one axis.

use farad_compile::program::{BufferId, Code, Fused, Instr, Level, Reg, Store, View};
use farad_ir::{Binary, DType, Reduce};

use crate::error::Error;
use crate::machine::Context;
use crate::nest::Nest;
use crate::product::{Matrix, Plan, Temporaries};
use crate::view::{self, Access};

/// Multiplications from which a matrix product pays for the copies.
const WORTH: usize = 1 << 13;
/// Rows of a result that are enough to leave an axis to the batch.
const ROWS: usize = 256;
/// Elements of a copied operand that are not exceeded without need.
const COPIED: usize = 1 << 24;

/// A contraction along slices of one axis: bindings move by these elements from slice to slice.
#[derive(Debug)]
pub struct Sliced {
    /// How many slices.
    pub trips: usize,
    /// Which buffers move, and how far.
    pub slots: Vec<(usize, usize)>,
    /// What is done for each.
    pub plan: Plan,
}

impl Sliced {
    /// Runs every slice.
    pub fn run(&self, context: Context) {
        if self.trips == 1 {
            return self.plan.run(context);
        }
        for trip in 0..self.trips {
            let mut bindings = context.bindings.to_vec();
            for &(buffer, stride) in &self.slots {
                bindings[buffer] = bindings[buffer].moved(stride * trip);
            }
            self.plan.run(Context { bindings: &bindings, ..context });
        }
    }
}

/// The parts of a kernel that is a contraction.
struct Parts<'a> {
    lhs: &'a Instr,
    rhs: &'a Instr,
    /// The reduction's place on the tape.
    sum: usize,
}

/// Axes by what they are to the product.
#[derive(Default, Debug)]
struct Roles {
    batch: Vec<usize>,
    m: Vec<usize>,
    n: Vec<usize>,
    k: Vec<usize>,
}

/// Plans a kernel as a contraction; `None` if it is none, or better done directly.
pub fn plan(fused: &Fused, temporaries: &mut Temporaries, label: &str) -> Result<Option<Sliced>, Error> {
    plan_within(fused, temporaries, label, COPIED)
}

/// As `plan`, slicing what would copy more than `most` elements.
fn plan_within(
    fused: &Fused,
    temporaries: &mut Temporaries,
    label: &str,
    most: usize,
) -> Result<Option<Sliced>, Error> {
    let Some(parts) = parts(fused) else { return Ok(None) };
    for store in &fused.stores {
        view::check(&store.view, &fused.axes, temporaries.specs[store.buffer.0 as usize].len, label)?;
    }
    let Some(roles) = roles(fused, &parts) else { return Ok(None) };
    let copied = |axes: [&[usize]; 3]| axes.concat().iter().map(|&a| fused.axes[a]).product::<usize>();
    let large = copied([&roles.batch, &roles.m, &roles.k]).max(copied([&roles.batch, &roles.k, &roles.n]));
    if large > most {
        for axis in (0..fused.outer).filter(|&axis| fused.axes[axis] > 1) {
            let mut one = fused.clone();
            let trips = std::mem::replace(&mut one.axes[axis], 1);
            let Some(slots) = slots(fused, axis) else { continue };
            // A slice has to be worth a product too.
            if let Some(inner) = plan_within(&one, temporaries, label, usize::MAX)? {
                return Ok(Some(Sliced { trips, slots, plan: inner.plan }));
            }
        }
    }
    let plan = Planner { fused, parts, roles, temporaries, label }.plan()?;
    Ok(Some(Sliced { trips: 1, slots: vec![], plan }))
}

/// Finds the sum of products, if that is all the kernel does at full level.
fn parts(fused: &Fused) -> Option<Parts<'_>> {
    let is_sum = |instr: &Instr| matches!(instr.code, Code::Reduce(..));
    let sum = fused.tape.iter().position(is_sum)?;
    let at = |r: Reg| &fused.tape[r.0 as usize];
    let Code::Reduce(Reduce::Sum, product) = fused.tape[sum].code else { return None };
    let Code::Binary(Binary::Mul, a, b) = at(product).code else { return None };
    let (lhs, rhs) = (at(a), at(b));
    let loads = [lhs, rhs].iter().all(|i| matches!(i.code, Code::Load(..)) && i.dtype == DType::F32);
    let outer = |instr: &Instr| instr.level == Level::Outer;
    let full = fused.tape.iter().filter(|i| !outer(i)).count();
    let sums = fused.tape.iter().filter(|i| is_sum(i)).count();
    let stores = fused.stores.iter().all(|s| outer(at(s.value)));
    let alone = full == 3 - (outer(lhs) as usize + outer(rhs) as usize);
    (loads && a != b && sums == 1 && stores && alone).then_some(Parts { lhs, rhs, sum })
}

fn load_of(instr: &Instr) -> (BufferId, &View) {
    let Code::Load(buffer, view) = &instr.code else { unreachable!("parts are loads") };
    (*buffer, view)
}

fn moves(view: &View, axis: usize) -> bool {
    view.strides[axis] != 0 || view.guards.iter().any(|g| g.coefficients[axis] != 0)
}

/// What every axis is to the product; `None` if it is no product or too thin to be worth one.
fn roles(fused: &Fused, parts: &Parts) -> Option<Roles> {
    let (lhs, rhs) = (load_of(parts.lhs).1, load_of(parts.rhs).1);
    let mut roles = Roles::default();
    for axis in (0..fused.axes.len()).filter(|&axis| fused.axes[axis] != 1) {
        let list = match (axis < fused.outer, moves(lhs, axis), moves(rhs, axis)) {
            (true, true, true) => &mut roles.batch,
            (true, true, false) => &mut roles.m,
            (true, false, true) => &mut roles.n,
            (false, true, true) => &mut roles.k,
            _ => return None,
        };
        list.push(axis);
    }
    let len = |axes: &[usize]| axes.iter().map(|&axis| fused.axes[axis]).product::<usize>();
    let (m, n, k) = (len(&roles.m), len(&roles.n), len(&roles.k));
    (m >= 4 && n >= 4 && k >= 2 && m * n * k >= WORTH).then_some(roles)
}

/// By how much every buffer moves from slice to slice of an axis; `None` if slices cannot be had by moving buffers.
fn slots(fused: &Fused, axis: usize) -> Option<Vec<(usize, usize)>> {
    let mut slots: Vec<(usize, usize)> = Vec::new();
    let loads = fused.tape.iter().filter_map(|instr| match &instr.code {
        Code::Load(buffer, view) => Some(Some((*buffer, view))),
        Code::Take { .. } | Code::Position(_) | Code::Random(..) => Some(None),
        _ => None,
    });
    for touch in loads.chain(fused.stores.iter().map(|s| Some((s.buffer, &s.view)))) {
        let (buffer, view) = touch?;
        if view.strides[axis] < 0 || view.guards.iter().any(|g| g.coefficients[axis] != 0) {
            return None;
        }
        let slot = (buffer.0 as usize, view.strides[axis] as usize);
        match slots.iter().find(|known| known.0 == slot.0) {
            Some(known) if *known != slot => return None,
            Some(_) => {}
            None => slots.push(slot),
        }
    }
    Some(slots)
}

struct Planner<'a, 'b, 'c> {
    fused: &'a Fused,
    parts: Parts<'a>,
    roles: Roles,
    temporaries: &'b mut Temporaries<'c>,
    label: &'a str,
}

impl Planner<'_, '_, '_> {
    fn len(&self, axes: &[usize]) -> usize {
        axes.iter().map(|&axis| self.fused.axes[axis]).product()
    }

    fn plan(mut self) -> Result<Plan, Error> {
        let target = self.target();
        let roles = &self.roles;
        let (batch, m, n, k) = (roles.batch.clone(), roles.m.clone(), roles.n.clone(), roles.k.clone());
        let mut prepare = Vec::new();
        let lhs = self.operand(load_of(self.parts.lhs), &batch, &m, &k, &mut prepare)?;
        let rhs = self.operand(load_of(self.parts.rhs), &batch, &k, &n, &mut prepare)?;
        let (out, epilogue) = match target {
            Some(out) => (out, None),
            None => self.epilogue(&batch, &m, &n)?,
        };
        let sizes = batch.iter().map(|&axis| self.fused.axes[axis]).collect();
        Ok(Plan::with(prepare, sizes, (self.len(&m), self.len(&n), self.len(&k)), (lhs, rhs, out), epilogue))
    }

    /// Where the sums may go at once. Rows that do not follow each other there are left to the batch, if that leaves
    /// enough of them.
    fn target(&mut self) -> Option<Matrix> {
        let [store] = &self.fused.stores[..] else { return None };
        let spec = self.temporaries.specs[store.buffer.0 as usize];
        if store.value.0 as usize != self.parts.sum || spec.dtype != DType::F32 {
            return None;
        }
        let mut kept = self.roles.m.clone();
        while self.merged(&store.view, &kept).is_none() {
            kept.remove(0);
        }
        if kept.len() < self.roles.m.len() && self.len(&kept) < ROWS {
            return None;
        }
        let (row, column) = (self.merged(&store.view, &kept)?, self.merged(&store.view, &self.roles.n)?);
        if row != 1 && column != 1 {
            return None;
        }
        let left = self.roles.m.len() - kept.len();
        self.roles.batch.extend_from_slice(&self.roles.m[..left]);
        self.roles.m = kept;
        let batch = self.roles.batch.iter().map(|&axis| store.view.strides[axis]).collect();
        Some(Matrix { buffer: store.buffer.0 as usize, offset: store.view.offset, batch, row, column })
    }

    /// The stride of some axes taken as one, if they follow each other.
    fn merged(&self, view: &View, axes: &[usize]) -> Option<i64> {
        let access = Access::new(view, &self.fused.axes, axes, &[]);
        (access.dims.len() == 1 && access.conditions.is_empty()).then_some(access.dims[0].1)
    }

    /// An operand over `[batch, rows, columns]`: as it lies in memory, or copied in the order that reads it best.
    fn operand(
        &mut self,
        (buffer, view): (BufferId, &View),
        batch: &[usize],
        rows: &[usize],
        columns: &[usize],
        prepare: &mut Vec<Nest>,
    ) -> Result<Matrix, Error> {
        // Axes that were left to the batch do not all move every operand.
        let moving: Vec<usize> = batch.iter().copied().filter(|&axis| moves(view, axis)).collect();
        let plain = self.temporaries.specs[buffer.0 as usize].dtype == DType::F32 && view.guards.is_empty();
        if let (true, Some(row), Some(column)) = (plain, self.merged(view, rows), self.merged(view, columns))
            && (row == 1 || column == 1)
        {
            view::check(view, &self.fused.axes, self.temporaries.specs[buffer.0 as usize].len, self.label)?;
            let batch = batch.iter().map(|&axis| view.strides[axis]).collect();
            return Ok(Matrix { buffer: buffer.0 as usize, offset: view.offset, batch, row, column });
        }
        let cost = |order: [&[usize]; 3]| {
            let access = Access::new(view, &self.fused.axes, &order.concat(), &[]);
            let (size, stride) = access.dims[access.dims.len() - 1];
            (if matches!(stride, 0 | 1) { 0.3 } else { 1.5 }) + 12.0 / size as f64
        };
        let turned = cost([&moving, columns, rows]) < cost([&moving, rows, columns]);
        let order = if turned { [&moving, columns, rows] } else { [&moving, rows, columns] }.concat();
        let sizes: Vec<usize> = order.iter().map(|&axis| self.fused.axes[axis]).collect();
        let temporary = self.temporaries.add(sizes.iter().product());
        let pick = |values: &[i64]| order.iter().map(|&axis| values[axis]).collect::<Vec<i64>>();
        let mut read = View { strides: pick(&view.strides), ..view.clone() };
        read.guards.iter_mut().for_each(|g| g.coefficients = pick(&g.coefficients));
        let code = Code::Load(buffer, read);
        let tape = vec![Instr { code, dtype: DType::F32, level: Level::Full }];
        let packed = View::contiguous(&sizes);
        let store = Store { buffer: temporary, value: Reg(0), view: packed.clone() };
        let copy = Fused { outer: sizes.len(), axes: sizes, tape, stores: vec![store] };
        prepare.push(Nest::new(&copy, self.temporaries.specs, self.label)?);
        let stride_of = |axis: usize| order.iter().position(|&a| a == axis).map_or(0, |i| packed.strides[i]);
        let batch = batch.iter().map(|&axis| stride_of(axis)).collect();
        let unit = |axes: &[usize]| axes.last().map_or(0, |&axis| stride_of(axis));
        Ok(Matrix { buffer: temporary.0 as usize, offset: 0, batch, row: unit(rows), column: unit(columns) })
    }

    /// Sums into a temporary, and the kernel's outer instructions over it.
    fn epilogue(
        &mut self,
        batch: &[usize],
        m: &[usize],
        n: &[usize],
    ) -> Result<(Matrix, Option<Nest>), Error> {
        let order = [batch, m, n].concat();
        let sizes: Vec<usize> = order.iter().map(|&axis| self.fused.axes[axis]).collect();
        let sums = self.temporaries.add(sizes.iter().product());
        let packed = View::contiguous(&sizes);
        let outer = self.fused.outer;
        let mut view = View { offset: 0, strides: vec![0; outer], guards: vec![] };
        order.iter().zip(&packed.strides).for_each(|(&axis, &stride)| view.strides[axis] = stride);
        let batch = batch.iter().map(|&axis| view.strides[axis]).collect();
        let matrix = Matrix { buffer: sums.0 as usize, offset: 0, batch, row: self.len(n) as i64, column: 1 };
        let tape = self
            .fused
            .tape
            .iter()
            .enumerate()
            .map(|(i, instr)| self.at_outer(i, instr, sums, &view))
            .collect();
        let stores = self
            .fused
            .stores
            .iter()
            .map(|s| Store { view: outer_view(&s.view, outer), ..s.clone() })
            .collect();
        let fused = Fused { axes: self.fused.axes[..outer].to_vec(), outer, tape, stores };
        Ok((matrix, Some(Nest::new(&fused, self.temporaries.specs, self.label)?)))
    }

    /// An instruction of the epilogue: over outer axes alone, the sum being a load.
    fn at_outer(&self, i: usize, instr: &Instr, sums: BufferId, view: &View) -> Instr {
        let outer = self.fused.outer;
        let code = match &instr.code {
            Code::Reduce(..) if i == self.parts.sum => Code::Load(sums, view.clone()),
            // What the product is made of is not needed any more.
            _ if instr.level == Level::Full => Code::Constant(farad_ir::Scalar::of(instr.dtype, 0.0)),
            Code::Load(buffer, view) => Code::Load(*buffer, outer_view(view, outer)),
            Code::Position(view) => Code::Position(outer_view(view, outer)),
            Code::Random(key, view) => Code::Random(*key, outer_view(view, outer)),
            Code::Take { buffer, view, position, stride, size, site } => Code::Take {
                buffer: *buffer,
                view: outer_view(view, outer),
                position: *position,
                stride: *stride,
                size: *size,
                site: *site,
            },
            other => other.clone(),
        };
        Instr { code, dtype: instr.dtype, level: Level::Full }
    }
}

/// A view without its reduced axes, along which it does not move.
fn outer_view(view: &View, outer: usize) -> View {
    let mut view = view.clone();
    view.strides.truncate(outer);
    view.guards.iter_mut().for_each(|g| g.coefficients.truncate(outer));
    view
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::Faults;
    use crate::nest::Spec;
    use crate::storage::Binding;

    /// `y[b, n, m] = Σ_k x[b, k, m] · w[n, k]`
    fn kernel() -> Fused {
        let view = |strides: [i64; 4]| View { offset: 0, strides: strides.to_vec(), guards: vec![] };
        let full = |code| Instr { code, dtype: DType::F32, level: Level::Full };
        let tape = vec![
            full(Code::Load(BufferId(0), view([300, 0, 1, 20]))),
            full(Code::Load(BufferId(1), view([0, 15, 0, 1]))),
            full(Code::Binary(Binary::Mul, Reg(0), Reg(1))),
            Instr { code: Code::Reduce(Reduce::Sum, Reg(2)), dtype: DType::F32, level: Level::Outer },
        ];
        let stores = vec![Store { buffer: BufferId(2), value: Reg(3), view: view([800, 20, 1, 0]) }];
        Fused { axes: vec![3, 40, 20, 15], outer: 3, tape, stores }
    }

    fn run(most: usize) -> (usize, Vec<f32>) {
        let lens = [900, 600, 2400];
        let mut specs: Vec<Spec> = lens.iter().map(|&len| Spec { dtype: DType::F32, len }).collect();
        let mut offsets = Vec::new();
        let mut temporaries = Temporaries { specs: &mut specs, offsets: &mut offsets, bytes: 0 };
        let sliced = plan_within(&kernel(), &mut temporaries, "test", most).unwrap().expect("a contraction");
        let mut workspace = vec![0f32; temporaries.bytes / 4];
        let mut data =
            lens.map(|len| (0..len).map(|i| (i * 37 % 101) as f32 / 50.0 - 1.0).collect::<Vec<f32>>());
        let starts = data.each_mut().map(|d| d.as_mut_ptr().cast::<u8>());
        let temporaries = offsets.iter().map(|&offset| workspace[offset / 4..].as_mut_ptr().cast());
        let starts = starts.into_iter().chain(temporaries);
        let bindings: Vec<Binding> = starts
            .zip(&specs)
            .map(|(start, spec)| Binding { start, len: spec.len, dtype: spec.dtype })
            .collect();
        sliced.run(Context { bindings: &bindings, parameters: &[], faults: &Faults::new(0) });
        (sliced.trips, data[2].clone())
    }

    #[test]
    fn slices_give_the_same_sums() {
        let (whole, sums) = run(usize::MAX);
        let (trips, sliced) = run(500);
        assert_eq!((whole, trips), (1, 3));
        let worst = sums.iter().zip(&sliced).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
        assert!(worst < 1e-5, "{worst}");
        let x = |b: usize, k: usize, m: usize| ((b * 300 + k * 20 + m) * 37 % 101) as f64 / 50.0 - 1.0;
        let w = |n: usize, k: usize| ((n * 15 + k) * 37 % 101) as f64 / 50.0 - 1.0;
        let want: f64 = (0..15).map(|k| x(2, k, 7) * w(33, k)).sum();
        assert!((sliced[2 * 800 + 33 * 20 + 7] as f64 - want).abs() < 1e-5);
    }
}

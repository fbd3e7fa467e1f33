//! Checks that views stay inside their buffers. First by interval arithmetic; where that proves nothing,
//! positions are sampled, and only a sampled position out of bounds is an error.

use std::collections::HashMap;

use super::{KernelPlace, ProgramError, each_kernel};
use crate::program::{BufferId, Code, Guard, Instr, Kernel, Level, Loop, Program, Store, View};

/// Positions that are sampled where nothing is proved. A smaller space is tried completely.
const TRIED: usize = 1 << 12;
/// How many rounds of narrowing the axes by the guards.
const ROUNDS: usize = 2;

pub(super) fn check(program: &Program) -> Result<(), ProgramError> {
    each_kernel(program, |place, kernel, body| Bounds { program, place, body }.kernel(kernel))
}

/// The kernel under check, and its enclosing loop.
struct Bounds<'a> {
    program: &'a Program,
    place: &'a KernelPlace,
    body: Option<&'a Loop>,
}

impl Bounds<'_> {
    /// Elements of a buffer that a kernel may access; for a slot, what is left of it at the last position.
    fn len(&self, id: BufferId) -> i64 {
        let len = self.program.buffers[id.0 as usize].len as i64;
        let slot = self.body.and_then(|body| Some((body, body.slots.iter().find(|slot| slot.0 == id)?)));
        slot.map_or(len, |(body, slot)| len - (slot.1 * body.trips.saturating_sub(1)) as i64)
    }

    fn kernel(&self, kernel: &Kernel) -> Result<(), ProgramError> {
        match kernel {
            Kernel::Fused(k) => {
                self.tape(&k.tape, &k.axes)?;
                let kept = |store: &Store| match k.tape[store.value.0 as usize].level {
                    Level::Full => k.axes.len(),
                    Level::Outer => k.outer,
                };
                k.stores
                    .iter()
                    .try_for_each(|store| self.store(store.buffer, &store.view, &k.axes, kept(store)))
            }
            Kernel::Product(k) => {
                let [lhs, rhs, out] = k.axes();
                self.tape(&k.lhs.tape, &lhs)?;
                self.tape(&k.rhs.tape, &rhs)?;
                self.tape(&k.epilogue, &out)?;
                k.stores.iter().try_for_each(|store| self.store(store.buffer, &store.view, &out, out.len()))
            }
            Kernel::Recurrence(k) => {
                self.tape(&k.tape, &k.axes)?;
                let count = k.axes.len();
                k.stores
                    .iter()
                    .try_for_each(|store| self.store(store.buffer, &store.view, &k.axes, count))?;
                let last = k.carries.iter().filter_map(|carry| carry.last.as_ref());
                last.into_iter().try_for_each(|(id, view)| self.store(*id, view, &k.axes, count - 1))
            }
            Kernel::Scatter(k) => {
                self.view(k.source.0, &k.source.1, &k.axes, 0)?;
                self.view(k.index.0, &k.index.1, &k.axes, 0)?;
                let rest = k.axes.iter().enumerate().filter(|(axis, _)| *axis != k.axis);
                self.reach(k.target, rest.map(|(_, size)| size).product::<usize>() * k.size)
            }
            Kernel::Sums(k) => k.segments.iter().try_for_each(|segment| {
                self.reach(k.source, segment.from + segment.parts * segment.results)?;
                self.reach(k.target, segment.to + segment.results)
            }),
            Kernel::Sort(k) => {
                self.reach(k.operand, k.rows * k.len)?;
                self.reach(k.order, k.rows * k.taken)?;
                k.scratch.iter().zip(k.scratch_words()).try_for_each(|(id, words)| self.reach(*id, words))
            }
            Kernel::Custom(k) => {
                k.operands.iter().zip(&k.shapes).try_for_each(|(id, shape)| self.reach(*id, shape.numel()))
            }
            Kernel::Loop(_) => Ok(()),
        }
    }

    /// Checks that a buffer has at least `end` elements.
    fn reach(&self, buffer: BufferId, end: usize) -> Result<(), ProgramError> {
        let len = self.len(buffer);
        if end as i64 <= len {
            return Ok(());
        }
        self.fail(buffer, vec![], end as i64 - 1)
    }

    fn fail(&self, buffer: BufferId, position: Vec<usize>, element: i64) -> Result<(), ProgramError> {
        let len = self.len(buffer).max(0) as usize;
        Err(ProgramError::Bounds { kernel: self.place.clone(), buffer, position, element, len })
    }

    fn tape(&self, tape: &[Instr], axes: &[usize]) -> Result<(), ProgramError> {
        tape.iter().try_for_each(|instr| match &instr.code {
            Code::Load(buffer, view) => self.view(*buffer, view, axes, 0),
            Code::Take { buffer, view, stride, size, .. } => {
                self.view(*buffer, view, axes, stride * (*size as i64 - 1).max(0))
            }
            _ => Ok(()),
        })
    }

    /// Checks a view over axes; `further` is how many elements beyond the view's may be read.
    fn view(&self, buffer: BufferId, view: &View, axes: &[usize], further: i64) -> Result<(), ProgramError> {
        let len = self.len(buffer);
        let Some(space) = Space::of(view, axes) else { return Ok(()) };
        let (least, most) = space.reach(view);
        if least + further.min(0) >= 0 && most + further.max(0) < len {
            return Ok(());
        }
        let beyond = |position: &[usize]| {
            let element = view.element(position)?;
            let ends = [element + further.min(0), element + further.max(0)];
            ends.into_iter().find(|end| !(0..len).contains(end))
        };
        let found = space.positions().find_map(|position| Some((beyond(&position)?, position)));
        found.map_or(Ok(()), |(element, position)| self.fail(buffer, position, element))
    }

    /// Checks a view that is written over the first `kept` axes: in bounds, and no element written twice.
    fn store(&self, buffer: BufferId, view: &View, axes: &[usize], kept: usize) -> Result<(), ProgramError> {
        self.view(buffer, view, axes, 0)?;
        let axes = &axes[..kept];
        let mut steps: Vec<(i64, i64)> = view
            .strides
            .iter()
            .zip(axes)
            .filter(|(_, n)| **n > 1)
            .map(|(s, n)| (s.abs(), *n as i64))
            .collect();
        steps.sort_unstable();
        let mut reach = 0;
        let apart = steps.iter().all(|(stride, size)| {
            let apart = *stride > reach;
            reach += stride * (size - 1);
            apart
        });
        if apart || axes.contains(&0) {
            return Ok(());
        }
        let space = Space { axes: axes.iter().map(|&n| (0, n as i64 - 1)).collect() };
        let mut seen: HashMap<i64, Vec<usize>> = HashMap::new();
        for position in space.positions() {
            let index = position.iter().zip(&view.strides).map(|(i, s)| *i as i64 * s).sum();
            if let Some(earlier) = seen.insert(index, position.clone()).filter(|earlier| *earlier != position)
            {
                return Err(ProgramError::Twice { kernel: self.place.clone(), buffer, position, earlier });
            }
        }
        Ok(())
    }
}

impl View {
    /// The element at a position; `None` where a guard fails.
    fn element(&self, position: &[usize]) -> Option<i64> {
        let sum = |list: &[i64]| list.iter().zip(position).map(|(c, i)| c * *i as i64).sum::<i64>();
        let mut element = self.offset + sum(&self.strides);
        for guard in &self.guards {
            let at = guard.offset + sum(&guard.coefficients);
            let inside = at % guard.divisor == 0 && (0..guard.size).contains(&(at / guard.divisor));
            element += if inside { guard.stride * (at / guard.divisor) } else { return None };
        }
        Some(element)
    }
}

/// The positions at which guards may hold: bounds of every axis.
struct Space {
    axes: Vec<(i64, i64)>,
}

impl Space {
    /// The axes as narrowed by the guards; `None` if no position is left.
    fn of(view: &View, axes: &[usize]) -> Option<Space> {
        let mut space = Space { axes: axes.iter().map(|&n| (0, n as i64 - 1)).collect() };
        (0..ROUNDS).for_each(|_| view.guards.iter().for_each(|guard| space.narrow(guard)));
        space.axes.iter().all(|(least, most)| least <= most).then_some(space)
    }

    /// The minimum and the maximum of a sum over the axes.
    fn range(&self, offset: i64, coefficients: &[i64]) -> (i64, i64) {
        let ends = self.axes.iter().zip(coefficients).map(|((a, b), c)| (a * c, b * c));
        ends.fold((offset, offset), |(least, most), (a, b)| (least + a.min(b), most + a.max(b)))
    }

    /// Narrows every axis to what a guard allows, whatever the other axes are.
    fn narrow(&mut self, guard: &Guard) {
        let top = guard.divisor * (guard.size - 1);
        let (least, most) = self.range(guard.offset, &guard.coefficients);
        for (axis, &c) in guard.coefficients.iter().enumerate().filter(|(_, c)| **c != 0) {
            let (a, b) = self.axes[axis];
            // Bounds on `c` times this axis, given the range of the other terms.
            let (low, high) = (least - (a * c).min(b * c), most - (a * c).max(b * c));
            let (from, to) = (-high, top - low);
            let (from, to) = if c > 0 {
                (from.div_euclid(c) + i64::from(from.rem_euclid(c) != 0), to.div_euclid(c))
            } else {
                let c = -c;
                ((-to).div_euclid(c) + i64::from((-to).rem_euclid(c) != 0), (-from).div_euclid(c))
            };
            self.axes[axis] = (a.max(from), b.min(to));
        }
    }

    /// The minimum and maximum index of a view. Where the index contains a multiple of a guard's sum, the guard
    /// bounds it.
    fn reach(&self, view: &View) -> (i64, i64) {
        let (mut offset, mut strides) = (view.offset, view.strides.clone());
        let (mut least, mut most) = (0, 0);
        for guard in &view.guards {
            let top = guard.stride * (guard.size - 1);
            (least, most) = (least + top.min(0), most + top.max(0));
            if guard.divisor != 1 {
                continue;
            }
            let width = |strides: &[i64]| {
                let (a, b) = self.range(0, strides);
                b - a
            };
            let without = |times: i64| -> Vec<i64> {
                strides.iter().zip(&guard.coefficients).map(|(s, c)| s - times * c).collect()
            };
            let times = strides.iter().zip(&guard.coefficients).filter(|(_, c)| **c != 0);
            let times = times.filter(|(s, c)| *s % *c == 0).map(|(s, c)| s / c);
            let cost = |times: i64| width(&without(times)) + (times * (guard.size - 1)).abs();
            let best = times.min_by_key(|&times| cost(times)).filter(|&times| cost(times) < width(&strides));
            if let Some(times) = best {
                strides = without(times);
                offset -= times * guard.offset;
                let top = times * (guard.size - 1);
                (least, most) = (least + top.min(0), most + top.max(0));
            }
        }
        let (a, b) = self.range(offset, &strides);
        (a + least, b + most)
    }

    /// All positions if they are few, otherwise the corners and some random ones.
    fn positions(&self) -> impl Iterator<Item = Vec<usize>> + '_ {
        let size = |&(a, b): &(i64, i64)| (b - a + 1) as u64;
        let count = self.axes.iter().map(size).fold(1, u64::saturating_mul);
        let all = count <= TRIED as u64;
        let corners = 1usize << self.axes.len().min(10);
        // The generator is seeded with a constant, so the samples are reproducible.
        let mut state = 0x9e37_79b9_7f4a_7c15_u64;
        (0..if all { count as usize } else { corners + TRIED }).map(move |n| {
            let mut rest = n as u64;
            let place = self.axes.iter().enumerate().map(|(axis, range)| {
                let span = size(range);
                let step = if all {
                    let step = rest % span;
                    rest /= span;
                    step
                } else if n < corners {
                    if n >> axis & 1 == 1 { span - 1 } else { 0 }
                } else {
                    state =
                        state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                    (state >> 33) % span
                };
                (range.0 + step as i64) as usize
            });
            place.collect()
        })
    }
}

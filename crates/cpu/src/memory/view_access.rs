//! Views prepared for reading: collapsed axes, known bounds, guards as intervals.
//!
//! A tile covers a range of linear positions of a *domain* (some axes in some order); the other axes are fixed.
//! An [`ViewAccess`] is a view over that domain. Neighboring axes are merged wherever the strides allow, so most
//! accesses are a single run.

use farad_compile::program::View;

use crate::error::Error;
use guard_condition::{Condition, dot, interval};

mod guard_condition;

/// Most axes of a kernel after collapsing.
pub const MAX_AXES: usize = 16;

/// A view over a domain.
#[derive(Clone, Debug)]
pub struct ViewAccess {
    /// The index of the first element.
    pub offset: i64,
    /// Size and stride per merged axis, outermost first; at least one.
    pub dims: Vec<(usize, i64)>,
    /// Strides of the axes that are held fixed.
    pub fixed: Vec<i64>,
    /// When elements exist.
    pub conditions: Vec<Condition>,
    /// What is added to the index and to the sums of the first conditions when a run ends and the axis with the
    /// same index advances.
    jumps: Vec<ViewSums>,
}

/// The index, then the sums of conditions.
type ViewSums = [i64; 4];

/// A range of a domain, with the coordinates of the fixed axes.
#[derive(Clone, Copy, Debug)]
pub struct DomainRange<'a> {
    /// The first linear position.
    pub start: usize,
    /// How many.
    pub count: usize,
    /// Where the fixed axes stand.
    pub fixed: &'a [usize],
}

/// A run of equally spaced elements.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StridedRun {
    /// The position in the tile.
    pub at: usize,
    /// How many.
    pub len: usize,
    /// The first element's index in the buffer.
    pub index: i64,
    /// Elements between neighbors.
    pub stride: i64,
}

impl ViewAccess {
    /// The view over `domain` (axes outermost first), with the axes of `fixed` held.
    pub fn new(view: &View, sizes: &[usize], domain: &[usize], fixed: &[usize]) -> ViewAccess {
        let pick =
            |values: &[i64], axes: &[usize]| axes.iter().map(|&axis| values[axis]).collect::<Vec<i64>>();
        let mut dims: Vec<(usize, i64)> =
            domain.iter().map(|&axis| (sizes[axis], view.strides[axis])).collect();
        let mut conditions: Vec<Condition> =
            view.guards.iter().map(|g| Condition::new(g, domain, fixed, &pick)).collect();
        let mut axis = 1;
        while axis < dims.len() {
            let (size, stride) = dims[axis];
            let merges = |outer: i64, inner: i64| outer == inner * size as i64;
            let fits = merges(dims[axis - 1].1, stride)
                && conditions.iter().all(|c| merges(c.dims[axis - 1], c.dims[axis]));
            let unit = dims[axis - 1].0 == 1;
            if fits || unit {
                dims[axis] = (dims[axis - 1].0 * size, stride);
                dims.remove(axis - 1);
                for condition in &mut conditions {
                    condition.dims.remove(axis - 1);
                }
            } else {
                axis += 1;
            }
        }
        if dims.is_empty() {
            dims.push((1, 0));
            conditions.iter_mut().for_each(|c| c.dims.push(0));
        }
        let mut access = ViewAccess {
            offset: view.offset,
            dims,
            fixed: pick(&view.strides, fixed),
            conditions,
            jumps: vec![],
        };
        access.jumps = access.jumps();
        access
    }

    /// `len` elements from the first on.
    pub fn contiguous(len: usize) -> ViewAccess {
        ViewAccess { offset: 0, dims: vec![(len, 1)], fixed: vec![], conditions: vec![], jumps: vec![[0; 4]] }
    }

    /// Every `stride`-th element, starting at the first; `len` elements in total.
    pub fn strided(len: usize, stride: i64) -> ViewAccess {
        let dims = vec![(len.div_ceil(stride as usize), stride)];
        ViewAccess { offset: 0, dims, fixed: vec![], conditions: vec![], jumps: vec![[0; 4]] }
    }

    fn jumps(&self) -> Vec<ViewSums> {
        let last = self.dims.len() - 1;
        let mut jumps = vec![[0; 4]; last + 1];
        for axis in (1..=last).rev() {
            let size = self.dims[axis].0 as i64;
            let mut jump = jumps[axis];
            jump[0] += self.dims[axis - 1].1 - self.dims[axis].1 * size;
            for (sum, condition) in jump[1..].iter_mut().zip(&self.conditions) {
                *sum += condition.dims[axis - 1] - condition.dims[axis] * size;
            }
            jumps[axis - 1] = jump;
        }
        jumps
    }

    /// Whether a range is always one run of neighbors.
    pub fn is_run(&self) -> bool {
        self.conditions.is_empty() && self.dims.len() == 1 && (self.dims[0].1 == 1 || self.dims[0].0 == 1)
    }

    /// The index of a range's first element, for accesses that are one run.
    pub fn first(&self, range: DomainRange) -> i64 {
        self.offset + self.dims[0].1 * range.start as i64 + dot(&self.fixed, range.fixed)
    }

    /// The index at a position, for accesses without conditions and without fixed axes.
    pub fn index(&self, position: usize) -> i64 {
        let (mut rest, mut index) = (position, self.offset);
        for &(size, stride) in self.dims[1..].iter().rev() {
            index += stride * (rest % size) as i64;
            rest /= size;
        }
        index + self.dims[0].1 * rest as i64
    }

    /// The period after which contents repeat, if the outermost axis has stride 0.
    pub fn period(&self) -> Option<usize> {
        let repeats =
            self.dims.len() > 1 && self.dims[0].1 == 0 && self.conditions.iter().all(|c| c.dims[0] == 0);
        repeats.then(|| self.dims[1..].iter().map(|d| d.0).product())
    }

    /// Calls `f` with every run of the range, in order.
    #[inline(always)]
    pub fn runs(&self, range: DomainRange, mut f: impl FnMut(StridedRun)) {
        self.walk(range, |run, _, _| f(run));
    }

    /// Calls `f` with every run of the range, the sums at its start, and its coordinates per merged axis.
    #[inline(always)]
    fn walk(&self, range: DomainRange, mut f: impl FnMut(StridedRun, &ViewSums, &[usize])) {
        let last = self.dims.len() - 1;
        let mut coordinates = [0usize; MAX_AXES];
        let mut rest = range.start;
        for axis in (1..=last).rev() {
            coordinates[axis] = rest % self.dims[axis].0;
            rest /= self.dims[axis].0;
        }
        coordinates[0] = rest;
        let mut sums = [0; 4];
        sums[0] = self.offset + dot(&self.fixed, range.fixed);
        for (dim, &c) in self.dims.iter().zip(&coordinates) {
            sums[0] += dim.1 * c as i64;
        }
        for (sum, condition) in sums[1..].iter_mut().zip(&self.conditions) {
            *sum = condition.at(&coordinates[..=last], range.fixed);
        }
        let (size, stride) = self.dims[last];
        if last == 0 {
            return f(
                StridedRun { at: 0, len: range.count, index: sums[0], stride },
                &sums,
                &coordinates[..1],
            );
        }
        let mut at = 0;
        while at < range.count {
            let len = (size - coordinates[last]).min(range.count - at);
            f(StridedRun { at, len, index: sums[0], stride }, &sums, &coordinates[..=last]);
            at += len;
            // Only the last run may be cut short, and none follows it.
            let moved = len as i64;
            sums[0] += stride * moved;
            for (sum, condition) in sums[1..].iter_mut().zip(&self.conditions) {
                *sum += condition.dims[last] * moved;
            }
            let mut axis = last - 1;
            coordinates[last] = 0;
            coordinates[axis] += 1;
            while axis > 0 && coordinates[axis] == self.dims[axis].0 {
                coordinates[axis] = 0;
                axis -= 1;
                coordinates[axis] += 1;
            }
            for (sum, jump) in sums.iter_mut().zip(&self.jumps[axis]) {
                *sum += jump;
            }
        }
    }

    /// Calls `f` with every run of elements that exist; `gap` with the tile positions of the others.
    #[inline(always)]
    pub fn existing(
        &self,
        range: DomainRange,
        mut f: impl FnMut(StridedRun),
        mut gap: impl FnMut(usize, usize),
    ) {
        if self.conditions.is_empty() {
            return self.runs(range, f);
        }
        if self.conditions.iter().any(|condition| self.fails_throughout(condition, range)) {
            return gap(0, range.count);
        }
        self.walk(range, |run, sums, coordinates| {
            let (mut low, mut high, mut index) = (0, run.len as i64, run.index);
            let mut scattered = false;
            for (i, condition) in self.conditions.iter().enumerate() {
                let c = sums.get(i + 1).copied().unwrap_or_else(|| condition.at(coordinates, range.fixed));
                let step = condition.step();
                if condition.divisor == 1 {
                    let (l, h) = interval(c, step, condition.size);
                    (low, high) = (low.max(l), high.min(h));
                } else if step == 0 {
                    match condition.position(c) {
                        Some(position) => index += condition.stride * position,
                        None => high = 0,
                    }
                } else {
                    scattered = true;
                }
            }
            let high = high.max(low);
            if low > 0 {
                gap(run.at, low.min(run.len as i64) as usize);
            }
            if high < run.len as i64 && low < run.len as i64 {
                gap(run.at + high as usize, run.len - high as usize);
            }
            if high <= low {
                return;
            }
            let at = run.at + low as usize;
            let part = StridedRun {
                at,
                len: (high - low) as usize,
                index: index + run.stride * low,
                stride: run.stride,
            };
            if !scattered {
                return f(part);
            }
            self.scattered(part, low, coordinates, range.fixed, &mut f, &mut gap);
        });
    }

    /// Whether no element of a range exists, because a condition that is constant over the range fails.
    fn fails_throughout(&self, condition: &Condition, range: DomainRange) -> bool {
        let inner = condition.dims.iter().rev().take_while(|&&c| c == 0).count();
        let block: usize = self.dims[self.dims.len() - inner..].iter().map(|dim| dim.0).product();
        if inner == 0 || range.start / block != (range.start + range.count.max(1) - 1) / block {
            return false;
        }
        let (mut rest, mut sum) = (range.start, condition.offset + dot(&condition.fixed, range.fixed));
        for (dim, &coefficient) in self.dims.iter().zip(&condition.dims).skip(1).rev() {
            sum += coefficient * (rest % dim.0) as i64;
            rest /= dim.0;
        }
        condition.position(sum + condition.dims[0] * rest as i64).is_none()
    }

    /// A run along which a condition divides, element by element.
    #[inline(never)]
    fn scattered(
        &self,
        run: StridedRun,
        skipped: i64,
        coordinates: &[usize],
        fixed: &[usize],
        f: &mut impl FnMut(StridedRun),
        gap: &mut impl FnMut(usize, usize),
    ) {
        for i in 0..run.len {
            let mut index = Some(run.index + run.stride * i as i64);
            for condition in self.conditions.iter().filter(|c| c.divisor > 1) {
                let step = condition.step();
                if step != 0 {
                    let c = condition.at(coordinates, fixed);
                    let position = condition.position(c + step * (skipped + i as i64));
                    index = index.zip(position).map(|(index, p)| index + condition.stride * p);
                }
            }
            match index {
                Some(index) => f(StridedRun { at: run.at + i, len: 1, index, stride: 0 }),
                None => gap(run.at + i, 1),
            }
        }
    }
}

/// Drops axes of size 1 and merges neighboring axes of the same role that every view walks as one; returns the
/// new sizes and how many of them are outer.
pub fn collapse(sizes: &[usize], outer: usize, views: &mut [&mut View]) -> (Vec<usize>, usize) {
    let mut sizes = sizes.to_vec();
    let mut outer = outer;
    let mut axis = 0;
    while axis < sizes.len() {
        let last_of_role = axis + 1 == outer || axis + 1 == sizes.len();
        let merges = |values: &[i64]| values[axis] == values[axis + 1] * sizes[axis + 1] as i64;
        let fits = |view: &View| merges(&view.strides) && view.guards.iter().all(|g| merges(&g.coefficients));
        if sizes[axis] == 1 || (!last_of_role && views.iter().all(|view| fits(view))) {
            if sizes[axis] != 1 {
                sizes[axis + 1] *= sizes[axis];
            }
            sizes.remove(axis);
            outer -= (axis < outer) as usize;
            for view in views.iter_mut() {
                view.strides.remove(axis);
                for guard in &mut view.guards {
                    guard.coefficients.remove(axis);
                }
            }
        } else {
            axis += 1;
        }
    }
    (sizes, outer)
}

/// Rejects a view without guards that goes beyond its buffer; views with guards are checked run by run.
pub fn check(view: &View, sizes: &[usize], len: usize, label: &str) -> Result<(), Error> {
    if !view.guards.is_empty() || sizes.contains(&0) {
        return Ok(());
    }
    let reach = |(&size, &stride): (&usize, &i64)| stride * (size as i64 - 1);
    let low = view.offset + sizes.iter().zip(&view.strides).map(|axis| reach(axis).min(0)).sum::<i64>();
    let high = view.offset + sizes.iter().zip(&view.strides).map(|axis| reach(axis).max(0)).sum::<i64>();
    if low < 0 || high >= len as i64 {
        return Err(Error::View { label: label.into(), index: if low < 0 { low } else { high }, len });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use farad_compile::program::Guard;

    use super::*;

    fn indices(access: &ViewAccess, start: usize, count: usize, fixed: &[usize]) -> Vec<Option<i64>> {
        let mut out = vec![Some(i64::MIN); count];
        let shared = std::cell::RefCell::new(&mut out);
        access.existing(
            DomainRange { start, count, fixed },
            |run| {
                (0..run.len)
                    .for_each(|i| shared.borrow_mut()[run.at + i] = Some(run.index + run.stride * i as i64))
            },
            |at, len| (at..at + len).for_each(|i| shared.borrow_mut()[i] = None),
        );
        out
    }

    fn expected(view: &View, sizes: &[usize], linear: usize) -> Option<i64> {
        let (mut rest, mut i) = (linear, vec![0i64; sizes.len()]);
        for axis in (0..sizes.len()).rev() {
            i[axis] = (rest % sizes[axis]) as i64;
            rest /= sizes[axis];
        }
        let sum = |values: &[i64]| values.iter().zip(&i).map(|(v, c)| v * c).sum::<i64>();
        let mut index = view.offset + sum(&view.strides);
        for guard in &view.guards {
            let c = guard.offset + sum(&guard.coefficients);
            if c % guard.divisor != 0 || !(0..guard.size).contains(&(c / guard.divisor)) {
                return None;
            }
            index += guard.stride * (c / guard.divisor);
        }
        Some(index)
    }

    fn guard(coefficients: &[i64], offset: i64, divisor: i64, size: i64, stride: i64) -> Guard {
        Guard { coefficients: coefficients.to_vec(), offset, divisor, size, stride }
    }

    #[test]
    fn every_element_is_where_the_view_says() {
        let sizes = [3, 4, 5];
        let cases = [
            (vec![20, 5, 1], vec![]),
            (vec![0, 5, 1], vec![]),
            (vec![1, 3, 12], vec![]),
            (vec![-20, 5, -1], vec![]),
            (vec![0, 0, 0], vec![]),
            (vec![20, 5, 1], vec![guard(&[0, 0, 1], -2, 1, 2, 0)]),
            (vec![20, 5, 1], vec![guard(&[0, 2, -1], 1, 1, 3, 0), guard(&[1, 0, 0], -1, 1, 9, 0)]),
            (vec![20, 5, 1], vec![guard(&[1, 0, 0], -1, 1, 1, 0)]),
            (vec![20, 5, 1], vec![guard(&[0, 1, 0], 0, 2, 9, 0), guard(&[1, 0, 0], 0, 1, 2, 0)]),
            (vec![6, 0, 0], vec![guard(&[0, 1, 1], -1, 2, 3, 7)]),
            (vec![6, 1, 0], vec![guard(&[1, 0, 0], 0, 2, 9, 7), guard(&[0, 0, -3], 9, 3, 3, 2)]),
        ];
        for (strides, guards) in cases {
            let view = View { offset: 7, strides, guards };
            let access = ViewAccess::new(&view, &sizes, &[0, 1, 2], &[]);
            for (start, count) in [(0, 60), (3, 17), (59, 1), (21, 30)] {
                let want: Vec<_> = (start..start + count).map(|p| expected(&view, &sizes, p)).collect();
                assert_eq!(indices(&access, start, count, &[]), want, "{view:?}");
            }
            // Axes 1 and 2 fixed, axis 0 iterated over.
            let access = ViewAccess::new(&view, &sizes, &[0], &[1, 2]);
            let want: Vec<_> = (0..3).map(|p| expected(&view, &sizes, p * 20 + 2 * 5 + 3)).collect();
            assert_eq!(indices(&access, 0, 3, &[2, 3]), want, "{view:?}");
        }
    }

    #[test]
    fn axes_collapse_where_all_views_agree() {
        let mut a = View::contiguous(&[2, 1, 3, 4]);
        let mut b = View { offset: 0, strides: vec![0, 0, 4, 1], guards: vec![] };
        let (sizes, outer) = collapse(&[2, 1, 3, 4], 3, &mut [&mut a]);
        assert_eq!((sizes, outer, a.strides.clone()), (vec![6, 4], 1, vec![4, 1]));
        let mut a = View::contiguous(&[2, 1, 3, 4]);
        let (sizes, outer) = collapse(&[2, 1, 3, 4], 4, &mut [&mut a, &mut b]);
        assert_eq!((sizes, outer, a.strides, b.strides), (vec![2, 12], 2, vec![12, 1], vec![0, 1]));
    }

    #[test]
    fn periods_are_found() {
        let bias =
            ViewAccess::new(&View { offset: 0, strides: vec![0, 1], guards: vec![] }, &[8, 10], &[0, 1], &[]);
        assert_eq!(bias.period(), Some(10));
        assert!(ViewAccess::new(&View::contiguous(&[8, 10]), &[8, 10], &[0, 1], &[]).is_run());
    }
}

//! Scatter-add without float atomics: every target element sums its sources in order, so that runs are
//! bit-identical.
//!
//! If whole rows are scattered (the index does not depend on the axes after the scattered one), there are two
//! forms. With few sources and rows, a workgroup holds a few target rows and scans the index once for all of
//! them. With many, the index is sorted first, and a thread finds its sources by binary search. The choice is a
//! fixed rule on both numbers (`farad_compile`'s `planning.rs`). Both forms add the sources in their order, so
//! both give the same bits. If the index does depend on those axes, a thread scans the index for its own
//! elements. Sources with distinct targets are simply written ([`clear`], [`write_distinct`]).

use farad_compile::program::{BufferId, Scatter, View};
use farad_ir::DType;

use super::access::{load, store};
use super::code::identity;
use super::module::{ModuleLaunch, WgslModule, line};
use super::point::{EvaluationPoint, LaneText, Mask};
use super::pointwise::decode;
use super::space::simplify;
use crate::heuristics::scatters::{ROWS, SCANNED, SHORT, THREADS, UNROLLED};

/// Words per row of the bitmap in which a scan marks hits; the row's summary has one bit per word.
const WORDS: usize = SCANNED / 32;

/// The scatter over as few axes as possible.
fn simplified(scatter: &Scatter) -> Scatter {
    let mut scatter = scatter.clone();
    let (axis, rank) = (scatter.axis, scatter.axes.len());
    let mut views = [&mut scatter.source.1, &mut scatter.index.1];
    simplify(&mut scatter.axes, axis + 1, rank, &mut views);
    scatter.axis = simplify(&mut scatter.axes, 0, axis, &mut views);
    scatter
}

/// Writes the kernel.
pub(super) fn write(module: &mut WgslModule, scatter: &Scatter) -> ModuleLaunch {
    let scatter = simplified(scatter);
    if let Some(order) = scatter.order {
        return write_sorted(module, &scatter, order);
    }
    let whole_rows = scatter.index.1.strides[scatter.axis + 1..].iter().all(|&stride| stride == 0);
    if whole_rows && scatter.axes[scatter.axis] > SHORT {
        write_rows(module, &scatter)
    } else {
        write_elements(module, &scatter)
    }
}

/// Fills the target with zeros, before sources with distinct targets are written.
pub(super) fn clear(module: &mut WgslModule, scatter: &Scatter) -> ModuleLaunch {
    let scatter = simplified(scatter);
    let axes = target_axes(&scatter);
    let last = axes.len() - 1;
    let lanes = if axes[last].is_multiple_of(4) { 4 } else { 1 };
    let TargetPlaces { index, launch, .. } = TargetPlaces::of(module, &scatter, &axes, lanes);
    let held = sums(module, &scatter, lanes);
    let target = EvaluationPoint::along(index, last, axes[last], lanes);
    store(module, scatter.target, &View::contiguous(&axes), &LaneText(held), &target);
    launch
}

/// Writes every source to its target, which no other source has.
pub(super) fn write_distinct(module: &mut WgslModule, scatter: &Scatter) -> ModuleLaunch {
    let scatter = simplified(scatter);
    let TargetPlaces { mut index, launch, .. } = TargetPlaces::of(module, &scatter, &scatter.axes, 1);
    let point = EvaluationPoint::single(index.clone());
    let value = load(module, scatter.source.0, &scatter.source.1, &point, None);
    let place = index_bits(module, &scatter, &point);
    index[scatter.axis] = place.lane(0).into();
    store(
        module,
        scatter.target,
        &View::contiguous(&target_axes(&scatter)),
        &value,
        &EvaluationPoint::single(index),
    );
    launch
}

fn target_axes(scatter: &Scatter) -> Vec<usize> {
    let mut axes = scatter.axes.clone();
    axes[scatter.axis] = scatter.size;
    axes
}

/// The index's bits at a point (negative ones are huge), per lane or once.
fn index_bits(module: &mut WgslModule, scatter: &Scatter, point: &EvaluationPoint) -> LaneText {
    let (buffer, view) = &scatter.index;
    let LaneText(texts) = load(module, *buffer, view, point, None);
    let signed = is_signed(module, scatter);
    let bits = |text: &String| if signed { format!("bitcast<u32>({text})") } else { text.clone() };
    let texts: Vec<String> = texts.iter().map(bits).collect();
    LaneText(texts.iter().map(|text| module.bind("q", text)).collect())
}

/// Whether indices may be negative.
fn is_signed(module: &WgslModule, scatter: &Scatter) -> bool {
    module.at(module.bound(scatter.index.0)).dtype == DType::I32
}

/// The type that sums are held in.
fn register(module: &WgslModule, scatter: &Scatter) -> DType {
    module.at(module.bound(scatter.target)).dtype.register()
}

/// Declares a sum per lane.
fn sums(module: &mut WgslModule, scatter: &Scatter, lanes: usize) -> Vec<String> {
    let dtype = register(module, scatter);
    let zero = identity(module, farad_ir::Reduce::Sum, dtype);
    (0..lanes).map(|_| module.variable("r", &zero)).collect()
}

/// A thread's position in the target, or that of its first lane, with what both ways of summing need.
struct TargetPlaces {
    index: Vec<String>,
    /// Target positions and sources on the scattered axis, as text.
    size: String,
    sources: String,
    launch: ModuleLaunch,
}

impl TargetPlaces {
    /// Names the position of every thread; threads beyond the last return.
    fn of(module: &mut WgslModule, scatter: &Scatter, axes: &[usize], lanes: usize) -> TargetPlaces {
        let last = axes.len() - 1;
        let per: Vec<usize> =
            axes.iter().enumerate().map(|(a, &n)| if a == last { n / lanes } else { n }).collect();
        let count: usize = per.iter().product();
        let (limit, size, sources) =
            (module.size(count), module.size(scatter.size), module.size(scatter.axes[scatter.axis]));
        let sizes: Vec<String> = per.iter().map(|&n| module.size(n)).collect();
        let group = module.bind("g", &format!("w * {THREADS}u + t"));
        line!(module, "if ({group} >= {limit}) {{");
        module.line("return;");
        module.line("}");
        let mut index = decode(module, &group, &sizes);
        if lanes > 1 {
            index[last] = module.bind("a", &format!("{} * {lanes}u", index[last]));
        }
        let launch = ModuleLaunch { threads: THREADS as u32, workgroups: count.div_ceil(THREADS) };
        TargetPlaces { index, size, sources, launch }
    }
}

fn write_elements(module: &mut WgslModule, scatter: &Scatter) -> ModuleLaunch {
    let axes = target_axes(scatter);
    let (axis, last) = (scatter.axis, axes.len() - 1);
    let lanes = if axes[last].is_multiple_of(4) { 4 } else { 1 };
    let TargetPlaces { mut index, size, sources, launch } = TargetPlaces::of(module, scatter, &axes, lanes);
    let target = EvaluationPoint::along(index.clone(), last, axes[last], lanes);
    let own = index[axis].clone();
    let held = sums(module, scatter, lanes);
    line!(module, "for (var j = 0u; j < {sources}; j++) {{");
    index[axis] = "j".into();
    // Lanes along the scattered axis share their source.
    let point = if last == axis {
        EvaluationPoint::single(index)
    } else {
        EvaluationPoint::along(index, last, axes[last], lanes)
    };
    let places = index_bits(module, scatter, &point);
    for place in &places.0 {
        let bits = (place.as_str(), is_signed(module, scatter));
        module.report(&format!("{own} == 0u && {place} >= {size}"), scatter.site, bits);
    }
    let value = load(module, scatter.source.0, &scatter.source.1, &point, None);
    for (lane, sum) in held.iter().enumerate() {
        let wanted = if last == axis { format!("{own} + {lane}u") } else { own.clone() };
        line!(module, "if ({} == {wanted}) {{", places.lane(lane));
        line!(module, "{sum} += {};", value.lane(lane));
        module.line("}");
    }
    module.line("}");
    store(module, scatter.target, &View::contiguous(&axes), &LaneText(held), &target);
    launch
}

/// A thread finds the range of its target in the sorted order, and adds the sources in it.
fn write_sorted(module: &mut WgslModule, scatter: &Scatter, order: BufferId) -> ModuleLaunch {
    let axes = target_axes(scatter);
    let (axis, last) = (scatter.axis, axes.len() - 1);
    let lanes = if last > axis && axes[last].is_multiple_of(4) { 4 } else { 1 };
    let TargetPlaces { index, size, sources, launch } = TargetPlaces::of(module, scatter, &axes, lanes);
    let own = index[axis].clone();
    let at = |place: &str| [&index[..axis], &[place.to_string()], &index[axis + 1..]].concat();
    let sorted = Sorted { scatter, order, lanes, at: &at };
    sorted.report(module, &index, (&size, &sources));
    let (first, end) = sorted.find(module, &own, &sources);
    let held = sums(module, scatter, lanes);
    let next = module.variable("j", &first);
    for count in [UNROLLED, 1] {
        line!(module, "while ({next} + {count}u <= {end}) {{");
        sorted.add(module, &next, count, &held);
        line!(module, "{next} += {count}u;");
        module.line("}");
    }
    let target = sorted.point(&index);
    store(module, scatter.target, &View::contiguous(&axes), &LaneText(held), &target);
    launch
}

/// A scatter with a sorted index; the order has the index's layout.
struct Sorted<'s> {
    scatter: &'s Scatter,
    order: BufferId,
    lanes: usize,
    /// The coordinates of a source (or target row), for this thread.
    at: &'s dyn Fn(&str) -> Vec<String>,
}

impl Sorted<'_> {
    fn point(&self, index: &[String]) -> EvaluationPoint {
        let last = index.len() - 1;
        match self.lanes {
            4 => EvaluationPoint::along(index.to_vec(), last, self.scatter.axes[last], 4),
            _ => EvaluationPoint::single(index.to_vec()),
        }
    }

    /// The source at a position of the order.
    fn source(&self, module: &mut WgslModule, position: &str) -> String {
        let point = EvaluationPoint::single((self.at)(position));
        let value = load(module, self.order, &self.scatter.index.1, &point, None);
        module.bind("j", &format!("bitcast<u32>({})", value.lane(0)))
    }

    /// The target of the source at a position of the order.
    fn place(&self, module: &mut WgslModule, position: &str) -> String {
        let source = self.source(module, position);
        let point = EvaluationPoint::single((self.at)(&source));
        index_bits(module, self.scatter, &point).lane(0).to_string()
    }

    /// Reports indices out of range, all of which are at the end of the order.
    fn report(&self, module: &mut WgslModule, index: &[String], (size, sources): (&str, &str)) {
        let zero = index[self.scatter.axis..].iter().map(|at| format!("{at} == 0u"));
        line!(module, "if ({}) {{", zero.collect::<Vec<_>>().join(" && "));
        line!(module, "for (var j = {sources}; j > 0u; j--) {{");
        let place = self.place(module, "(j - 1u)");
        line!(module, "if ({place} < {size}) {{");
        module.line("break;");
        module.line("}");
        let bits = (place.as_str(), is_signed(module, self.scatter));
        module.report("true", self.scatter.site, bits);
        module.line("}");
        module.line("}");
    }

    /// The first position of the order whose source goes to `own`, and the position after the last.
    fn find(&self, module: &mut WgslModule, own: &str, sources: &str) -> (String, String) {
        let first = self.search(module, &format!("< {own}"), "0u", sources);
        let end = self.search(module, &format!("<= {own}"), &first, sources);
        (first, end)
    }

    /// The first position between `low` and `high` whose target does not satisfy `compares`.
    fn search(&self, module: &mut WgslModule, compares: &str, low: &str, high: &str) -> String {
        let (low, high) = (module.variable("l", low), module.variable("h", high));
        line!(module, "while ({low} < {high}) {{");
        let middle = module.bind("m", &format!("({low} + {high}) / 2u"));
        let place = self.place(module, &middle);
        line!(module, "if ({place} {compares}) {{");
        line!(module, "{low} = {middle} + 1u;");
        module.line("} else {");
        line!(module, "{high} = {middle};");
        module.line("}");
        module.line("}");
        low
    }

    /// Adds the sources at `count` positions starting at `next`; they are loaded together and added in order.
    fn add(&self, module: &mut WgslModule, next: &str, count: usize, sums: &[String]) {
        let sources: Vec<String> =
            (0..count).map(|n| self.source(module, &format!("({next} + {n}u)"))).collect();
        let source = &self.scatter.source;
        let values: Vec<LaneText> = sources
            .iter()
            .map(|at| load(module, source.0, &source.1, &self.point(&(self.at)(at)), None))
            .collect();
        for value in values {
            for (lane, sum) in sums.iter().enumerate() {
                line!(module, "{sum} += {};", value.lane(lane));
            }
        }
    }
}

fn write_rows(module: &mut WgslModule, scatter: &Scatter) -> ModuleLaunch {
    let axes = target_axes(scatter);
    let axis = scatter.axis;
    let inner = &axes[axis + 1..];
    let lanes = if inner.last().is_some_and(|size| size.is_multiple_of(4)) { 4 } else { 1 };
    let mut per: Vec<usize> = inner.to_vec();
    per.iter_mut().next_back().into_iter().for_each(|size| *size /= lanes);
    let groups: usize = per.iter().product();
    let across = groups.next_power_of_two().min(THREADS);
    let teams = (THREADS / across).min(ROWS);
    let held = (ROWS / teams).min(8);
    let rows = teams * held;
    let (tiles, chunks) = (scatter.size.div_ceil(rows), groups.div_ceil(across));
    module.global(&format!("var<workgroup> hits: array<atomic<u32>, {}>;", rows * WORDS));
    module.global(&format!("var<workgroup> summary: array<atomic<u32>, {rows}>;"));

    let mut sizes: Vec<String> = axes[..axis].iter().map(|&n| module.size(n)).collect();
    sizes.extend([module.size(tiles), module.size(chunks)]);
    let mut outer = decode(module, "w", &sizes);
    let chunk = outer.pop().unwrap_or_default();
    let tile = outer.pop().unwrap_or_default();
    let first = module.bind("a", &format!("{tile} * {rows}u"));
    let own = module.bind("y", &format!("t / {across}u"));
    let (size, count) = (module.size(scatter.size), module.size(groups));
    let group = module.bind("g", &format!("{chunk} * {across}u + t % {across}u"));
    let inside = module.bind("g", &format!("min({group}, {count} - 1u)"));
    let sizes: Vec<String> = per.iter().map(|&n| module.size(n)).collect();
    let mut tail = if per.is_empty() { vec![] } else { decode(module, &inside, &sizes) };
    if lanes > 1 {
        let last = tail.len() - 1;
        tail[last] = module.bind("a", &format!("{} * {lanes}u", tail[last]));
    }
    let sums: Vec<Vec<String>> = (0..held).map(|_| sums(module, scatter, lanes)).collect();
    let at = |place: &str| [&outer[..], &[place.to_string()], &tail[..]].concat();
    let scan = IndexScan { scatter, rows, teams, lanes, at: &at };
    let reports = format!("{tile} == 0u && {chunk} == 0u");
    scan.write(module, &first, &own, &sums, (&reports, &size));
    let view = View::contiguous(&axes);
    for (number, sums) in sums.into_iter().enumerate() {
        let local = module.bind("a", &format!("{own} + {}u", number * teams));
        let row = module.bind("a", &format!("{first} + {local}"));
        let mut point = scan.point(&at(&row));
        point.mask = Mask::Group(format!("{local} < {rows}u && {row} < {size} && {group} < {count}"));
        store(module, scatter.target, &view, &LaneText(sums), &point);
    }
    ModuleLaunch {
        threads: THREADS as u32,
        workgroups: axes[..axis].iter().product::<usize>() * tiles * chunks,
    }
}

/// The loop over the index: marks the hits of every row, then adds each row's sources in order.
struct IndexScan<'s> {
    scatter: &'s Scatter,
    rows: usize,
    teams: usize,
    lanes: usize,
    /// The coordinates of a source (or target row), for this thread.
    at: &'s dyn Fn(&str) -> Vec<String>,
}

impl IndexScan<'_> {
    fn point(&self, index: &[String]) -> EvaluationPoint {
        let last = index.len() - 1;
        match self.lanes {
            4 => EvaluationPoint::along(index.to_vec(), last, self.scatter.axes[last], 4),
            _ => EvaluationPoint::single(index.to_vec()),
        }
    }

    /// Computes `sums` for the rows `own`, `own + teams`, … after `first`.
    fn write(
        &self,
        module: &mut WgslModule,
        first: &str,
        own: &str,
        sums: &[Vec<String>],
        reports: (&str, &str),
    ) {
        let rows = self.rows;
        let sources = module.size(self.scatter.axes[self.scatter.axis]);
        line!(module, "for (var j0 = 0u; j0 < {sources}; j0 += {SCANNED}u) {{");
        line!(module, "for (var h = t; h < {}u; h += {THREADS}u) {{", rows * WORDS);
        module.line("atomicStore(&hits[h], 0u);");
        module.line("}");
        line!(module, "for (var h = t; h < {rows}u; h += {THREADS}u) {{");
        module.line("atomicStore(&summary[h], 0u);");
        module.line("}");
        module.line("workgroupBarrier();");
        for part in 0..SCANNED / THREADS {
            self.mark(module, part, first, &sources, reports);
        }
        module.line("workgroupBarrier();");
        for (number, sums) in sums.iter().enumerate() {
            self.add(module, &format!("{own} + {}u", number * self.teams), sums);
        }
        module.line("workgroupBarrier();");
        module.line("}");
    }

    /// Marks the target of one source per thread.
    fn mark(&self, module: &mut WgslModule, part: usize, first: &str, sources: &str, reports: (&str, &str)) {
        let offset = module.bind("j", &format!("t + {}u", part * THREADS));
        let source = module.bind("j", &format!("j0 + {offset}"));
        line!(module, "if ({source} < {sources}) {{");
        let place = index_bits(module, self.scatter, &EvaluationPoint::single((self.at)(&source)));
        let place = place.lane(0);
        let bits = (place, is_signed(module, self.scatter));
        module.report(&format!("{} && {place} >= {}", reports.0, reports.1), self.scatter.site, bits);
        line!(module, "let local = {place} - {first};");
        line!(module, "if (local < {}u) {{", self.rows);
        line!(module, "atomicOr(&hits[local * {WORDS}u + {offset} / 32u], 1u << ({offset} % 32u));");
        line!(module, "atomicOr(&summary[local], 1u << ({offset} / 32u));");
        module.line("}");
        module.line("}");
    }

    /// Adds the marked sources of a row.
    fn add(&self, module: &mut WgslModule, row: &str, sums: &[String]) {
        let row = module.bind("h", &format!("min({row}, {}u)", self.rows - 1));
        let words = module.variable("m", &format!("atomicLoad(&summary[{row}])"));
        line!(module, "while ({words} != 0u) {{");
        line!(module, "let word = firstTrailingBit({words});");
        line!(module, "{words} &= {words} - 1u;");
        line!(module, "var bits = atomicLoad(&hits[{row} * {WORDS}u + word]);");
        module.line("while (bits != 0u) {");
        module.line("let source = j0 + word * 32u + firstTrailingBit(bits);");
        module.line("bits &= bits - 1u;");
        let point = self.point(&(self.at)("source"));
        let value = load(module, self.scatter.source.0, &self.scatter.source.1, &point, None);
        for (lane, sum) in sums.iter().enumerate() {
            line!(module, "{sum} += {};", value.lane(lane));
        }
        module.line("}");
        module.line("}");
    }
}

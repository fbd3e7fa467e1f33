//! Scattered additions without atomics on floats: every target element collects its sources, in
//! order, so that results repeat bit for bit.
//!
//! Where whole rows go to one place (the index does not depend on the axes behind the scattered
//! one), a workgroup holds a few target rows and scans the index once for all of them; otherwise a
//! thread scans for its own elements.

use farad_compile::program::{Scatter, View};
use farad_ir::DType;

use super::access::{Mask, Point, Value, load, ragged, store};
use super::code::identity;
use super::module::{Launch, Module, line};
use super::pointwise::decode;
use super::space::simplify;

/// Threads a workgroup, and positions of the index scanned at once.
const THREADS: usize = 256;
/// Words of bits that a scan marks hits in, a row.
const WORDS: usize = THREADS / 32;
/// Sources up to which a thread scans for its own elements.
const SHORT: usize = 16;

/// Writes the kernel.
pub(super) fn write(module: &mut Module, scatter: &Scatter) -> Launch {
    let mut scatter = scatter.clone();
    let (axis, rank) = (scatter.axis, scatter.axes.len());
    let mut views = [&mut scatter.source.1, &mut scatter.index.1];
    simplify(&mut scatter.axes, axis + 1, rank, &mut views);
    scatter.axis = simplify(&mut scatter.axes, 0, axis, &mut views);
    let whole_rows = scatter.index.1.strides[scatter.axis + 1..].iter().all(|&stride| stride == 0);
    if whole_rows && scatter.axes[scatter.axis] > SHORT { write_rows(module, &scatter) } else { write_elements(module, &scatter) }
}

fn target_axes(scatter: &Scatter) -> Vec<usize> {
    let mut axes = scatter.axes.clone();
    axes[scatter.axis] = scatter.size;
    axes
}

/// The index's bits at a point (negative ones are huge), per lane or once.
fn index_bits(module: &mut Module, scatter: &Scatter, point: &Point) -> Value {
    let (buffer, view) = &scatter.index;
    let Value(texts) = load(module, *buffer, view, point, None);
    let signed = module.at(module.bound(*buffer)).dtype == DType::I32;
    let bits = |text: &String| if signed { format!("bitcast<u32>({text})") } else { text.clone() };
    let texts: Vec<String> = texts.iter().map(bits).collect();
    Value(texts.iter().map(|text| module.bind("q", text)).collect())
}

/// The type that sums are held in.
fn register(module: &Module, scatter: &Scatter) -> DType {
    module.at(module.bound(scatter.source.0)).dtype.register()
}

/// Declares a sum a lane.
fn sums(module: &mut Module, scatter: &Scatter, lanes: usize) -> Vec<String> {
    let zero = identity(farad_ir::Reduce::Sum, register(module, scatter));
    (0..lanes).map(|_| module.variable("r", &zero)).collect()
}

fn write_elements(module: &mut Module, scatter: &Scatter) -> Launch {
    let axes = target_axes(scatter);
    let (axis, last) = (scatter.axis, axes.len() - 1);
    let lanes = if axes[last].is_multiple_of(4) { 4 } else { 1 };
    let per: Vec<usize> = axes.iter().enumerate().map(|(a, &n)| if a == last { n / lanes } else { n }).collect();
    let count: usize = per.iter().product();
    let (limit, size, sources) = (module.size(count), module.size(scatter.size), module.size(scatter.axes[axis]));
    let sizes: Vec<String> = per.iter().map(|&n| module.size(n)).collect();
    let group = module.bind("g", &format!("w * {THREADS}u + t"));
    line!(module, "if ({group} >= {limit}) {{");
    module.line("return;");
    module.line("}");
    let mut index = decode(module, &group, &sizes);
    if lanes > 1 {
        index[last] = module.bind("a", &format!("{} * {lanes}u", index[last]));
    }
    let target = Point::along(index.clone(), last, axes[last], lanes);
    let own = index[axis].clone();
    let held = sums(module, scatter, lanes);
    line!(module, "for (var j = 0u; j < {sources}; j++) {{");
    index[axis] = "j".into();
    // Lanes along the scattered axis share their source.
    let point = if last == axis { Point::single(index) } else { Point::along(index, last, axes[last], lanes) };
    let places = index_bits(module, scatter, &point);
    for place in &places.0 {
        module.report(&format!("{own} == 0u && {place} >= {size}"), scatter.site, place);
    }
    let value = load(module, scatter.source.0, &scatter.source.1, &point, None);
    for (lane, sum) in held.iter().enumerate() {
        let wanted = if last == axis { format!("{own} + {lane}u") } else { own.clone() };
        line!(module, "if ({} == {wanted}) {{", places.lane(lane));
        line!(module, "{sum} += {};", value.lane(lane));
        module.line("}");
    }
    module.line("}");
    store(module, scatter.target, &View::contiguous(&axes), &Value(held), &target);
    Launch { threads: THREADS as u32, workgroups: count.div_ceil(THREADS) }
}

fn write_rows(module: &mut Module, scatter: &Scatter) -> Launch {
    let axes = target_axes(scatter);
    let axis = scatter.axis;
    let inner = &axes[axis + 1..];
    let lanes = if inner.last().is_some_and(|size| size.is_multiple_of(4)) { 4 } else { 1 };
    let mut per: Vec<usize> = inner.to_vec();
    per.iter_mut().next_back().into_iter().for_each(|size| *size /= lanes);
    let groups: usize = per.iter().product();
    let across = groups.next_power_of_two().min(THREADS);
    let rows = THREADS / across;
    let (tiles, chunks) = (scatter.size.div_ceil(rows), groups.div_ceil(across));
    module.global(&format!("var<workgroup> hits: array<atomic<u32>, {}>;", rows * WORDS));

    let mut sizes: Vec<String> = axes[..axis].iter().map(|&n| module.size(n)).collect();
    sizes.extend([module.size(tiles), module.size(chunks)]);
    let mut outer = decode(module, "w", &sizes);
    let chunk = outer.pop().unwrap_or_default();
    let tile = outer.pop().unwrap_or_default();
    let first = module.bind("a", &format!("{tile} * {rows}u"));
    let own = module.bind("y", &format!("t / {across}u"));
    let (size, count) = (module.size(scatter.size), module.size(groups));
    let group = module.bind("g", &format!("{chunk} * {across}u + t % {across}u"));
    let row = module.bind("a", &format!("{first} + {own}"));
    let inside = module.bind("g", &format!("min({group}, {count} - 1u)"));
    let sizes: Vec<String> = per.iter().map(|&n| module.size(n)).collect();
    let mut tail = if per.is_empty() { vec![] } else { decode(module, &inside, &sizes) };
    if lanes > 1 {
        let last = tail.len() - 1;
        tail[last] = module.bind("a", &format!("{} * {lanes}u", tail[last]));
    }
    let held = sums(module, scatter, lanes);
    let reports = format!("{tile} == 0u && {chunk} == 0u");
    let at = |place: &str| [&outer[..], &[place.to_string()], &tail[..]].concat();
    scan(module, scatter, rows, (&first, &own), &at, (&reports, &size), (&held, lanes));
    let exists = format!("{row} < {size} && {group} < {count}");
    let index = at(&row);
    let mut point = match lanes {
        4 => ragged(module, index, axes.len() - 1, axes[axes.len() - 1], 4, None),
        _ => Point::single(index),
    };
    point.mask = Mask::Group(exists);
    store(module, scatter.target, &View::contiguous(&axes), &Value(held), &point);
    Launch { threads: THREADS as u32, workgroups: axes[..axis].iter().product::<usize>() * tiles * chunks }
}

/// The loop over the index, a workgroup's width at once: mark the hits of every row, then add each
/// row's in order.
fn scan(
    module: &mut Module,
    scatter: &Scatter,
    rows: usize,
    (first, own): (&str, &str),
    at: &dyn Fn(&str) -> Vec<String>,
    (reports, size): (&str, &str),
    (held, lanes): (&[String], usize),
) {
    let sources = module.size(scatter.axes[scatter.axis]);
    line!(module, "for (var j0 = 0u; j0 < {sources}; j0 += {THREADS}u) {{");
    line!(module, "for (var h = t; h < {}u; h += {THREADS}u) {{", rows * WORDS);
    module.line("atomicStore(&hits[h], 0u);");
    module.line("}");
    module.line("workgroupBarrier();");
    module.line("let j = j0 + t;");
    line!(module, "if (j < {sources}) {{");
    let place = index_bits(module, scatter, &Point::single(at("j")));
    let place = place.lane(0);
    module.report(&format!("{reports} && {place} >= {size}"), scatter.site, place);
    line!(module, "let local = {place} - {first};");
    line!(module, "if (local < {rows}u) {{");
    line!(module, "atomicOr(&hits[local * {WORDS}u + t / 32u], 1u << (t % 32u));");
    module.line("}");
    module.line("}");
    module.line("workgroupBarrier();");
    line!(module, "for (var word = 0u; word < {WORDS}u; word++) {{");
    line!(module, "var bits = atomicLoad(&hits[{own} * {WORDS}u + word]);");
    module.line("while (bits != 0u) {");
    module.line("let source = j0 + word * 32u + firstTrailingBit(bits);");
    module.line("bits &= bits - 1u;");
    let index = at("source");
    let last = scatter.axes.len() - 1;
    let point = if lanes == 4 { Point::along(index, last, scatter.axes[last], 4) } else { Point::single(index) };
    let value = load(module, scatter.source.0, &scatter.source.1, &point, None);
    for (lane, sum) in held.iter().enumerate() {
        line!(module, "{sum} += {};", value.lane(lane));
    }
    module.line("}");
    module.line("}");
    module.line("workgroupBarrier();");
    module.line("}");
}

//! Pointwise kernels: a few adjacent elements per thread, or tiles transposed through workgroup memory if an
//! operand is contiguous along another axis than the result.

use farad_compile::program::{Code, Fused, Reg};
use farad_ir::DType;

use super::access::{load, store};
use super::code::type_name;
use super::module::{ModuleLaunch, WgslModule, line};
use super::point::{EvaluationPoint, LaneText, ragged};
use super::tape::{RegisterTexts, evaluate};
use crate::heuristics::pointwise::{FOUR_APART, SIDE, THREADS, TWO_GROUPS};

/// Row stride of a tile in workgroup memory: one more than the side, so that neither rows nor columns collide
/// in a bank.
const PITCH: usize = SIDE + 1;
/// Threads that a tile's row of `vec4`s takes.
const ROW: usize = SIDE / 4;

/// Splits a linear index into indices of axes with these sizes (as text), innermost last.
pub(super) fn decode(module: &mut WgslModule, linear: &str, sizes: &[String]) -> Vec<String> {
    let mut index = vec![String::new(); sizes.len()];
    let mut rest = linear.to_string();
    for axis in (0..sizes.len()).rev() {
        if axis == 0 {
            index[axis] = rest.clone();
        } else {
            index[axis] = module.bind("a", &format!("{rest} % {}", sizes[axis]));
            rest = module.bind("a", &format!("{rest} / {}", sizes[axis]));
        }
    }
    index
}

/// Writes the kernel; its axes are canonical and none is reduced.
pub(super) fn write(module: &mut WgslModule, kernel: &Fused) -> ModuleLaunch {
    match transposed(module, kernel) {
        Some((axis, staged)) => write_tiles(module, kernel, axis, &staged),
        None => write_groups(module, kernel),
    }
}

/// Lanes per group and groups per thread.
fn grouping(module: &WgslModule, kernel: &Fused) -> (usize, usize) {
    let inner = kernel.axes[kernel.axes.len() - 1];
    let total: usize = kernel.axes.iter().product();
    let is_half = kernel.stores.iter().any(|store| module.at(module.bound(store.buffer)).dtype.is_half());
    let random = kernel.tape.iter().any(|instr| matches!(instr.code, Code::Random(..)));
    match () {
        // With two groups in flight, the arithmetic of one hides the memory latency of the other; four are
        // slower again.
        _ if inner.is_multiple_of(4) && total >= TWO_GROUPS => (4, 2),
        // Windows of two side by side: two f16 values are a word.
        _ if inner == 2 && is_half => (2, 1),
        _ if inner.is_multiple_of(4) || ((is_half || random) && inner > 1) => (4, 1),
        _ if total >= FOUR_APART => (1, 4),
        _ => (1, 1),
    }
}

fn write_groups(module: &mut WgslModule, kernel: &Fused) -> ModuleLaunch {
    let (lanes, unroll) = grouping(module, kernel);
    let last = kernel.axes.len() - 1;
    let per_axis: Vec<usize> =
        kernel.axes.iter().enumerate().map(|(a, &n)| if a == last { n.div_ceil(lanes) } else { n }).collect();
    let groups: usize = per_axis.iter().product();
    let count = module.size(groups);
    let sizes: Vec<String> = per_axis.iter().map(|&n| module.size(n)).collect();
    let mut points = Vec::new();
    for part in 0..unroll {
        let group = module.bind("g", &format!("w * {}u + {}u + t", unroll * THREADS, part * THREADS));
        let exists = format!("{group} < {count}");
        let linear = if unroll == 1 {
            line!(module, "if ({group} >= {count}) {{");
            module.line("return;");
            module.line("}");
            group.clone()
        } else {
            module.bind("g", &format!("min({group}, {count} - 1u)"))
        };
        let mut index = decode(module, &linear, &sizes);
        if lanes > 1 {
            index[last] = module.bind("a", &format!("{} * {lanes}u", index[last]));
        }
        let mask = (unroll > 1).then_some(exists);
        points.push(ragged(module, index, last, kernel.axes[last], lanes, mask));
    }
    finish(module, kernel, points.into_iter().map(|point| (point, RegisterTexts::new())).collect());
    ModuleLaunch { threads: THREADS as u32, workgroups: groups.div_ceil(THREADS * unroll) }
}

/// Evaluates the tape at every point, then stores; the loads of all points come before the first store.
fn finish(module: &mut WgslModule, kernel: &Fused, mut points: Vec<(EvaluationPoint, RegisterTexts)>) {
    let wanted: Vec<Reg> = kernel.stores.iter().map(|store| store.value).collect();
    for (point, scope) in &mut points {
        evaluate(module, &kernel.tape, &wanted, point, scope);
    }
    for (point, scope) in &points {
        for stored in &kernel.stores {
            store(module, stored.buffer, &stored.view, &scope[&stored.value], point);
        }
    }
}

/// The axis other than the last along which operands are contiguous, and the loads that are.
fn transposed(module: &WgslModule, kernel: &Fused) -> Option<(usize, Vec<Reg>)> {
    let last = kernel.axes.len() - 1;
    if kernel.axes[last] < SIDE / 2 {
        return None;
    }
    let across = |instr: &Code| match instr {
        Code::Load(buffer, view) if module.at(module.bound(*buffer)).dtype != DType::Bool => {
            let axis = (0..last).find(|&axis| view.strides[axis] == 1 && kernel.axes[axis] >= SIDE / 2)?;
            (view.strides[last].unsigned_abs() > 1).then_some(axis)
        }
        _ => None,
    };
    let axis = kernel.tape.iter().find_map(|instr| across(&instr.code))?;
    let room = module.capabilities.workgroup_memory as usize / (SIDE * PITCH * 4);
    let staged = (0..kernel.tape.len()).filter(|&at| across(&kernel.tape[at].code) == Some(axis));
    Some((axis, staged.map(|at| Reg(at as u32)).take(room.min(4)).collect()))
}

/// A point of a tile, and its position there along the axis of its lanes and across.
struct TilePoint {
    point: EvaluationPoint,
    near: String,
    far: String,
}

/// The points of a tile that a thread holds, with their positions in the tile: four lanes along one of its axes
/// (`along`) if that axis allows, otherwise four points.
fn tile_points(
    module: &mut WgslModule,
    kernel: &Fused,
    base: &[String],
    along: usize,
    across: usize,
) -> Vec<TilePoint> {
    let lanes = if kernel.axes[along].is_multiple_of(4) { 4 } else { 1 };
    let (ends, limits) = ([along, across].map(|axis| module.size(kernel.axes[axis])), [lanes, 1]);
    let mut points = Vec::new();
    for part in 0..4 / lanes {
        let item = module.bind("e", &format!("t + {}u", part * THREADS));
        let row = if lanes == 4 { ROW } else { SIDE };
        let near = module.bind("e", &format!("({item} % {row}u) * {lanes}u"));
        let far = module.bind("e", &format!("{item} / {row}u"));
        let mut index = base.to_vec();
        let mut exists = Vec::new();
        for (place, (axis, local)) in [(along, &near), (across, &far)].into_iter().enumerate() {
            let at = module.bind("a", &format!("{} + {local}", base[axis]));
            exists.push(format!("{at} < {}", ends[place]));
            index[axis] = module.bind("a", &format!("min({at}, {} - {}u)", ends[place], limits[place]));
        }
        let point = ragged(module, index, along, kernel.axes[along], lanes, Some(exists.join(" && ")));
        points.push(TilePoint { point, near, far });
    }
    points
}

fn write_tiles(module: &mut WgslModule, kernel: &Fused, axis: usize, staged: &[Reg]) -> ModuleLaunch {
    let last = kernel.axes.len() - 1;
    let tiles: Vec<usize> = kernel
        .axes
        .iter()
        .enumerate()
        .map(|(a, &n)| if a == axis || a == last { n.div_ceil(SIDE) } else { n })
        .collect();
    let sizes: Vec<String> = tiles.iter().map(|&n| module.size(n)).collect();
    let mut base = decode(module, "w", &sizes);
    for tiled in [axis, last] {
        base[tiled] = module.bind("a", &format!("{} * {SIDE}u", base[tiled]));
    }
    for (number, register) in staged.iter().enumerate() {
        let dtype = kernel.tape[register.0 as usize].dtype;
        module.global(&format!("var<workgroup> s{number}: array<{}, {}>;", type_name(dtype), SIDE * PITCH));
    }
    for TilePoint { point, near, far } in tile_points(module, kernel, &base, axis, last) {
        for (number, register) in staged.iter().enumerate() {
            let Code::Load(buffer, view) = &kernel.tape[register.0 as usize].code else { continue };
            let value = load(module, *buffer, view, &point, None);
            for lane in 0..point.lanes {
                line!(module, "s{number}[{far} * {PITCH}u + {near} + {lane}u] = {};", value.lane(lane));
            }
        }
    }
    module.line("workgroupBarrier();");
    let mut points = Vec::new();
    for TilePoint { point, near, far } in tile_points(module, kernel, &base, last, axis) {
        let mut scope = RegisterTexts::new();
        for (number, register) in staged.iter().enumerate() {
            let lanes = (0..point.lanes)
                .map(|lane| module.bind("v", &format!("s{number}[({near} + {lane}u) * {PITCH}u + {far}]")))
                .collect();
            scope.insert(*register, LaneText(lanes));
        }
        points.push((point, scope));
    }
    finish(module, kernel, points);
    ModuleLaunch { threads: THREADS as u32, workgroups: tiles.iter().product() }
}

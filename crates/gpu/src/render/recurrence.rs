//! Recurrences: a `for` loop over all positions, with a variable for each carry.
//!
//! A thread computes one element. It computes four adjacent ones if they share random blocks and there are at
//! least 2¹⁵ elements, or without random blocks from 2²⁰ elements on.

use farad_compile::program::{Code, Level, Recurrence, Reg};

use super::access::store;
use super::module::{ModuleLaunch, WgslModule, line};
use super::point::{EvaluationPoint, LaneText, ragged};
use super::pointwise::decode;
use super::tape::{RegisterTexts, evaluate};
use crate::heuristics::recurrences::{FEW_CARRIES, MANY, MANY_RANDOM, THREADS};

/// Adjacent elements that a thread computes together.
fn lanes(module: &WgslModule, kernel: &Recurrence) -> usize {
    let elements = &kernel.axes[..kernel.axes.len() - 1];
    let (inner, total) = (elements[elements.len() - 1], kernel.elements());
    let is_half = kernel.stores.iter().any(|store| module.at(module.bound(store.buffer)).dtype.is_half());
    let random = kernel.tape.iter().any(|instr| matches!(instr.code, Code::Random(..)));
    match () {
        _ if inner == 1 || kernel.carries.len() > FEW_CARRIES => 1,
        // Two f16 values are a word.
        _ if is_half || (random && total >= MANY_RANDOM) => 4,
        _ if inner.is_multiple_of(4) && total >= MANY => 4,
        _ => 1,
    }
}

/// Writes the kernel; its axes are canonical.
pub(super) fn write(module: &mut WgslModule, kernel: &Recurrence) -> ModuleLaunch {
    let lanes = lanes(module, kernel);
    let elements = &kernel.axes[..kernel.axes.len() - 1];
    let last = elements.len() - 1;
    let per_axis: Vec<usize> =
        elements.iter().enumerate().map(|(a, &n)| if a == last { n.div_ceil(lanes) } else { n }).collect();
    let groups: usize = per_axis.iter().product();
    let count = module.size(groups);
    let sizes: Vec<String> = per_axis.iter().map(|&n| module.size(n)).collect();
    let group = module.bind("g", &format!("w * {THREADS}u + t"));
    line!(module, "if ({group} >= {count}) {{");
    module.line("return;");
    module.line("}");
    let mut index = decode(module, &group, &sizes);
    if lanes > 1 {
        index[last] = module.bind("a", &format!("{} * {lanes}u", index[last]));
    }
    let position = module.name("k");
    index.push(position.clone());
    let point = ragged(module, index, last, elements[last], lanes, None);
    let mut scope = RegisterTexts::new();
    evaluate(module, &kernel.tape, &steady(kernel), &point, &mut scope);
    let carries = begin(module, kernel, &point, &mut scope);
    let trips = module.size(kernel.trips());
    line!(module, "for (var {position} = 0u; {position} < {trips}; {position}++) {{");
    trip(module, kernel, &point, scope, &carries);
    module.line("}");
    for (carry, value) in kernel.carries.iter().zip(&carries) {
        if let Some((buffer, view)) = &carry.last {
            store(module, *buffer, view, value, &point);
        }
    }
    ModuleLaunch { threads: THREADS as u32, workgroups: groups.div_ceil(THREADS) }
}

/// Values that are computed once, before the loop.
fn steady(kernel: &Recurrence) -> Vec<Reg> {
    let mut needed = vec![false; kernel.tape.len()];
    kernel.wanted().iter().for_each(|reg| needed[reg.0 as usize] = true);
    for at in (0..kernel.tape.len()).rev().filter(|&at| kernel.tape[at].level == Level::Full) {
        if needed[at] {
            kernel.tape[at].code.operands().iter().for_each(|reg| needed[reg.0 as usize] = true);
        }
    }
    let outer = |at: &usize| needed[*at] && kernel.tape[*at].level == Level::Outer;
    (0..kernel.tape.len()).filter(outer).map(|at| Reg(at as u32)).collect()
}

/// Declares the carries and adds them to the scope.
fn begin(
    module: &mut WgslModule,
    kernel: &Recurrence,
    point: &EvaluationPoint,
    scope: &mut RegisterTexts,
) -> Vec<LaneText> {
    let mut carries = Vec::with_capacity(kernel.carries.len());
    for carry in &kernel.carries {
        let start = scope[&carry.start].clone();
        let lanes = (0..point.lanes).map(|lane| module.variable("c", start.lane(lane)));
        carries.push(LaneText(lanes.collect()));
    }
    for (at, instr) in kernel.tape.iter().enumerate() {
        if let Code::Carry(n) = instr.code {
            scope.insert(Reg(at as u32), carries[n].clone());
        }
    }
    carries
}

/// One position: writes results and updates the carries.
fn trip(
    module: &mut WgslModule,
    kernel: &Recurrence,
    point: &EvaluationPoint,
    mut scope: RegisterTexts,
    carries: &[LaneText],
) {
    let wanted: Vec<Reg> =
        kernel.stores.iter().map(|s| s.value).chain(kernel.carries.iter().map(|c| c.next)).collect();
    evaluate(module, &kernel.tape, &wanted, point, &mut scope);
    for stored in &kernel.stores {
        store(module, stored.buffer, &stored.view, &scope[&stored.value], point);
    }
    let mut changes = Vec::new();
    for (carry, value) in kernel.carries.iter().zip(carries) {
        for lane in 0..point.lanes {
            let (next, own) = (scope[&carry.next].lane(lane), value.lane(lane));
            if next == own {
                continue;
            }
            // Copies another carry's value before that carry changes.
            let held = carries.iter().any(|other| other.0.iter().any(|name| name == next));
            let next = if held { module.bind("n", next) } else { next.to_string() };
            changes.push(format!("{own} = {next};"));
        }
    }
    changes.iter().for_each(|change| module.line(change));
}

//! A loop in one kernel: a workgroup takes its places of the shared axis through all trips.
//!
//! Sizes are numbers of the text here, not words of the uniform: a body has thousands of them.

use farad_compile::program::Reg;

use super::access::store;
use super::module::{ModuleLaunch, WgslModule, line};
use super::point::EvaluationPoint;
use super::pointwise::decode;
use super::tape::{RegisterTexts, evaluate};
use crate::dispatch::Word;
use crate::group_loop::{GroupLoop, Phase};

/// The words of the uniform that hold the first trip of a launch, and their number.
pub(crate) const FIRST_TRIP: usize = 2;

/// Writes the kernel.
pub(super) fn write(module: &mut WgslModule, plan: &GroupLoop) -> ModuleLaunch {
    let [first, count] = [0, plan.trips as u32].map(|word| module.word(Word::Fixed(word)));
    module.use_numbers();
    let base = module.bind("a", &format!("w * {}u", plan.group));
    let none = "0u".to_string();
    plan.begin.iter().for_each(|phase| write_phase(module, plan, phase, &base, &none));
    module.line("workgroupBarrier();");
    let trip = module.name("k");
    line!(module, "for (var {trip} = {first}; {trip} < {first} + {count}; {trip}++) {{");
    let position =
        if plan.reverse { module.bind("k", &format!("{}u - {trip}", plan.trips - 1)) } else { trip.clone() };
    plan.body.iter().for_each(|phase| write_phase(module, plan, phase, &base, &position));
    module.line("workgroupBarrier();");
    module.line("}");
    plan.end.iter().for_each(|phase| write_phase(module, plan, phase, &base, &none));
    ModuleLaunch { threads: plan.threads as u32, workgroups: plan.places.div_ceil(plan.group) }
}

/// One kernel of the body, over the workgroup's places.
fn write_phase(module: &mut WgslModule, plan: &GroupLoop, phase: &Phase, base: &str, position: &str) {
    let GroupLoop { group, threads, places, .. } = plan;
    if phase.waits {
        module.line("workgroupBarrier();");
    }
    let kernel = &phase.kernel;
    let count = kernel.axes.iter().product::<usize>() * group;
    let item = module.name("e");
    line!(module, "for (var {item} = t; {item} < {count}u; {item} += {threads}u) {{");
    let place = module.bind("g", &format!("{item} % {group}u"));
    let row = module.bind("g", &format!("{item} / {group}u"));
    // Places beyond the last one repeat it.
    let whole = places.is_multiple_of(*group);
    let at = format!("{base} + {place}");
    let world = module.bind("a", &if whole { at } else { format!("min({at}, {}u)", places - 1) });
    let sizes: Vec<String> = kernel.axes.iter().map(|size| format!("{size}u")).collect();
    let mut index = decode(module, &row, &sizes);
    index.extend([world, place, position.to_string()]);
    let point = EvaluationPoint::single(index);
    let wanted: Vec<Reg> = kernel.stores.iter().map(|store| store.value).collect();
    let mut scope = RegisterTexts::new();
    evaluate(module, &kernel.tape, &wanted, &point, &mut scope);
    for stored in &kernel.stores {
        store(module, stored.buffer, &stored.view, &scope[&stored.value], &point);
    }
    module.line("}");
}

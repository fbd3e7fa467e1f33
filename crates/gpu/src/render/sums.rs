//! Small sums over the rows of several matrices: a workgroup takes some columns of one matrix, and its threads
//! divide the rows.

use farad_compile::program::Sums;

use super::module::{ModuleLaunch, WgslModule, line};
use crate::heuristics::part_sums::{COLUMNS, SHARERS};

/// Writes the kernel.
pub(super) fn write(module: &mut WgslModule, sums: &Sums) -> ModuleLaunch {
    let [source, target] = [sums.source, sums.target].map(|id| module.at(module.bound(id)).name.clone());
    module.global(&format!("var<workgroup> shares: array<f32, {}>;", COLUMNS * SHARERS));
    let names = ["first", "start", "place", "parts", "results"];
    names.iter().for_each(|name| line!(module, "var {name} = 0u;"));
    let mut workgroups = 0;
    for (number, segment) in sums.segments.iter().enumerate() {
        let values = [workgroups, segment.from, segment.to, segment.parts, segment.results];
        let words = values.map(|value| module.size(value));
        if number > 0 {
            line!(module, "if (w >= {}) {{", words[0]);
        }
        names.iter().zip(&words).for_each(|(name, word)| line!(module, "{name} = {word};"));
        if number > 0 {
            module.line("}");
        }
        workgroups += segment.results.div_ceil(COLUMNS);
    }
    line!(module, "let column = (w - first) * {COLUMNS}u + t % {COLUMNS}u;");
    module.line("let inside = start + min(column, results - 1u);");
    module.line("var sum = 0f;");
    line!(module, "for (var row = t / {COLUMNS}u; row < parts; row += {SHARERS}u) {{");
    line!(module, "sum += {source}[inside + row * results];");
    module.line("}");
    module.line("shares[t] = sum;");
    module.line("workgroupBarrier();");
    line!(module, "if (t < {COLUMNS}u && column < results) {{");
    module.line("var total = 0f;");
    line!(module, "for (var share = 0u; share < {SHARERS}u; share++) {{");
    line!(module, "total += shares[share * {COLUMNS}u + t];");
    module.line("}");
    line!(module, "{target}[place + column] = total;");
    module.line("}");
    ModuleLaunch { threads: (COLUMNS * SHARERS) as u32, workgroups }
}

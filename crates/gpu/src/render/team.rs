//! Combines the partial results of a team's threads in a fixed order, so that all of them have the result.

use farad_ir::{DType, Reduce};

use super::code::{beats, combine, from_word, identity, subgroup, to_word};
use super::module::{WgslModule, line};
use super::plan::ReducePlan;

/// A position that no element has.
pub(super) const NOWHERE: &str = "0xffffffffu";

/// A thread's partial result of a reduction: one text per lane.
pub(super) struct PartialText {
    pub op: Reduce,
    pub dtype: DType,
    pub values: Vec<String>,
    /// The positions of the values, for `argmax` and `argmin`.
    pub positions: Option<Vec<String>>,
}

/// Text that keeps the better of two (value, position) pairs in the variables `best` and `at`. Without elements
/// the position is [`NOWHERE`]; among equals the first wins.
fn keep_better(
    module: &mut WgslModule,
    (op, dtype): (Reduce, DType),
    [best, at]: [&str; 2],
    [value, place]: [&str; 2],
) {
    let (wins, loses) = (beats(op, dtype, value, best), beats(op, dtype, best, value));
    let better = module.bind(
        "c",
        &format!(
            "({place} != {NOWHERE}) & (({at} == {NOWHERE}) | ({wins}) | (!({loses}) & ({place} < {at})))"
        ),
    );
    line!(module, "{best} = select({best}, {value}, {better});");
    line!(module, "{at} = select({at}, {place}, {better});");
}

/// Where the partial results of a team are in workgroup memory.
struct TeamSpan {
    /// The first, as a text.
    start: String,
    /// The distance between them.
    apart: usize,
    /// How many there are.
    count: usize,
}

/// How the teams of a plan combine their results.
pub(super) struct Meeting {
    plan: ReducePlan,
    /// Whether two sets of arrays fit, so that rounds need not wait for each other.
    double: bool,
    /// Rounds so far.
    round: usize,
    declared: Vec<String>,
}

impl Meeting {
    /// `words` is the most words that a thread contributes to one round.
    pub fn new(module: &WgslModule, plan: ReducePlan, words: usize) -> Meeting {
        let bytes = 2 * words * plan.threads() * 4;
        Meeting {
            plan,
            double: bytes <= module.capabilities.workgroup_memory as usize,
            round: 0,
            declared: vec![],
        }
    }

    /// Combines a round of partial results; returns the texts of the results per lane (positions for `argmax`
    /// and `argmin`).
    pub fn combine(&mut self, module: &mut WgslModule, partials: &[PartialText]) -> Vec<Vec<String>> {
        if self.plan.team == 1 {
            return partials
                .iter()
                .map(|p| p.positions.clone().unwrap_or_else(|| p.values.clone()))
                .collect();
        }
        if self.double {
            self.round += 1;
            let first = (self.round % 2) * 1000;
            return self.round(module, partials, first);
        }
        let mut results = Vec::new();
        for partial in partials.chunks(1) {
            if self.round > 0 {
                module.line("workgroupBarrier();");
            }
            self.round += 1;
            results.extend(self.round(module, partial, 0));
        }
        results
    }

    /// The workgroup array with this number. It holds words, so that it works for every type.
    fn array(&mut self, module: &mut WgslModule, number: usize) -> String {
        let name = format!("s{number}");
        if !self.declared.contains(&name) {
            module.global(&format!("var<workgroup> {name}: array<u32, {}>;", self.plan.threads()));
            self.declared.push(name.clone());
        }
        name
    }

    fn round(&mut self, module: &mut WgslModule, partials: &[PartialText], first: usize) -> Vec<Vec<String>> {
        let mut arrays = Vec::new();
        let mut number = first;
        let subgroups = module.capabilities.subgroups && self.plan.teams == 1 && !self.plan.columns;
        if subgroups {
            module.use_subgroups();
        }
        for partial in partials {
            let by_subgroup = subgroups && partial.positions.is_none();
            let mut names = Vec::new();
            for lane in 0..partial.values.len() {
                let value = self.array(module, number);
                match by_subgroup {
                    true => {
                        let part =
                            module.bind("v", &subgroup(partial.op, partial.dtype, &partial.values[lane]));
                        module.line("if (lane == 0u) {");
                        line!(module, "{value}[subgroup] = {};", to_word(partial.dtype, &part));
                        module.line("}");
                    }
                    false => line!(module, "{value}[t] = {};", to_word(partial.dtype, &partial.values[lane])),
                }
                let mut place = None;
                if let Some(positions) = &partial.positions {
                    let array = self.array(module, number + 1);
                    line!(module, "{array}[t] = {};", positions[lane]);
                    place = Some(array);
                }
                number += 2;
                names.push((value, place));
            }
            arrays.push((by_subgroup, names));
        }
        module.line("workgroupBarrier();");
        let deep = self.plan.team > 32;
        if deep && arrays.iter().any(|(by_subgroup, _)| !by_subgroup) {
            self.gather(module, partials, &arrays);
        }
        let mut results = Vec::new();
        for (partial, (by_subgroup, names)) in partials.iter().zip(&arrays) {
            let lanes = names.iter().map(|(value, place)| match (by_subgroup, place) {
                (true, _) => across_subgroups(module, partial, value),
                (false, None) => self.read(module, partial, value, deep),
                (false, Some(place)) => self.read_position(module, partial, value, place, deep),
            });
            results.push(lanes.collect());
        }
        results
    }

    /// The first level of a large team: sixteen threads combine the partial results of all.
    fn gather(
        &self,
        module: &mut WgslModule,
        partials: &[PartialText],
        arrays: &[(bool, Vec<(String, Option<String>)>)],
    ) {
        module.line("if (t < 16u) {");
        for (partial, (by_subgroup, names)) in partials.iter().zip(arrays) {
            for (value, place) in names.iter().filter(|_| !by_subgroup) {
                let sum = module.variable("r", &from_word(partial.dtype, &format!("{value}[t]")));
                let at = place.as_ref().map(|place| module.variable("r", &format!("{place}[t]")));
                line!(module, "for (var k = 16u; k < {}u; k += 16u) {{", self.plan.team);
                self.step(
                    module,
                    partial,
                    [&sum, at.as_deref().unwrap_or("")],
                    value,
                    place.as_deref(),
                    "t + k",
                );
                module.line("}");
                line!(module, "{value}[t] = {};", to_word(partial.dtype, &sum));
                if let (Some(place), Some(at)) = (place, at) {
                    line!(module, "{place}[t] = {at};");
                }
            }
        }
        module.line("}");
        module.line("workgroupBarrier();");
    }

    /// Combines another thread's partial result into the variables.
    fn step(
        &self,
        module: &mut WgslModule,
        partial: &PartialText,
        [sum, at]: [&str; 2],
        value: &str,
        place: Option<&str>,
        from: &str,
    ) {
        let other = from_word(partial.dtype, &format!("{value}[{from}]"));
        match place {
            None => line!(module, "{sum} = {};", combine(partial.op, partial.dtype, sum, &other)),
            Some(place) => {
                let other = module.bind("v", &other);
                let position = module.bind("v", &format!("{place}[{from}]"));
                keep_better(module, (partial.op, partial.dtype), [sum, at], [&other, &position]);
            }
        }
    }

    /// Where the team's partial results are.
    fn span(&self, deep: bool) -> TeamSpan {
        let ReducePlan { team, teams, .. } = self.plan;
        match (self.plan.columns, deep) {
            (true, _) => TeamSpan { start: format!("t % {teams}u"), apart: teams, count: team },
            (false, true) => TeamSpan { start: "0u".into(), apart: 1, count: 16 },
            (false, false) => TeamSpan { start: format!("t - t % {team}u"), apart: 1, count: team },
        }
    }

    fn read(&self, module: &mut WgslModule, partial: &PartialText, value: &str, deep: bool) -> String {
        let TeamSpan { start, apart, count } = self.span(deep);
        let start = module.bind("k", &start);
        let sum = module.variable("r", &from_word(partial.dtype, &format!("{value}[{start}]")));
        line!(module, "for (var k = 1u; k < {count}u; k++) {{");
        self.step(module, partial, [&sum, ""], value, None, &format!("{start} + k * {apart}u"));
        module.line("}");
        module.bind("v", &sum)
    }

    fn read_position(
        &self,
        module: &mut WgslModule,
        partial: &PartialText,
        value: &str,
        place: &str,
        deep: bool,
    ) -> String {
        let TeamSpan { start, apart, count } = self.span(deep);
        let start = module.bind("k", &start);
        let best = module.variable("r", &from_word(partial.dtype, &format!("{value}[{start}]")));
        let at = module.variable("r", &format!("{place}[{start}]"));
        line!(module, "for (var k = 1u; k < {count}u; k++) {{");
        self.step(module, partial, [&best, &at], value, Some(place), &format!("{start} + k * {apart}u"));
        module.line("}");
        module.bind("v", &at)
    }
}

/// Combines the results of all subgroups, whatever their number and size.
fn across_subgroups(module: &mut WgslModule, partial: &PartialText, value: &str) -> String {
    let none = identity(module, partial.op, partial.dtype);
    let sum = module.variable("r", &none);
    module.line("for (var k = 0u; k < subgroups; k += width) {");
    let part = from_word(partial.dtype, &format!("{value}[min(k + lane, subgroups - 1u)]"));
    line!(module, "let part = select({none}, {part}, k + lane < subgroups);");
    line!(module, "{sum} = {};", combine(partial.op, partial.dtype, &sum, "part"));
    module.line("}");
    module.bind("v", &subgroup(partial.op, partial.dtype, &sum))
}

/// Combines an element into the variables `best` and `at` of an `argmax` or `argmin`.
pub(super) fn take_element(
    module: &mut WgslModule,
    (op, dtype): (Reduce, DType),
    pair: [&str; 2],
    value: &str,
    position: &str,
) {
    let [best, at] = pair;
    let wins = beats(op, dtype, value, best);
    let better = module.bind("c", &format!("({position} != {NOWHERE}) & (({at} == {NOWHERE}) | ({wins}))"));
    line!(module, "{best} = select({best}, {value}, {better});");
    line!(module, "{at} = select({at}, {position}, {better});");
}

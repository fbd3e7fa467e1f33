//! Kernels with reductions: passes over the reduced positions, after each of which the team combines its
//! results.

use farad_compile::program::{Code, Fused, Level, Reg};
use farad_ir::Reduce;

use super::access::store;
use super::code::{combine, identity};
use super::module::{ModuleLaunch, WgslModule, line};
use super::plan::{Passes, ReducePlan, read};
use super::point::{EvaluationPoint, LaneText, Mask};
use super::pointwise::decode;
use super::tape::{RegisterTexts, evaluate};
use super::team::{Meeting, NOWHERE, PartialText, take_element};

/// A kernel with reductions being written.
struct ReduceWriter<'k> {
    kernel: &'k Fused,
    plan: ReducePlan,
    passes: Passes,
    /// Values at outer level.
    outer: RegisterTexts,
    outer_point: EvaluationPoint,
    /// Sizes of the reduced axes in groups of lanes (as text), and their product.
    reduced: Vec<String>,
    groups: String,
    /// The thread's index in its team, and whether its outer position exists.
    place: String,
    exists: Option<String>,
    /// Whether all kept groups exist.
    exact: bool,
    /// Kept groups.
    kept: Vec<GroupPoint>,
}

/// A group of lanes: its point, the values there, and its index as text.
struct GroupPoint {
    point: EvaluationPoint,
    scope: RegisterTexts,
    group: String,
}

/// The accumulators of one reduction: `[copy][lane]` variables, and positions for `argmax` and `argmin`.
struct ReduceVariables {
    at: usize,
    op: Reduce,
    operand: Reg,
    /// The identity element.
    none: String,
    values: Vec<Vec<String>>,
    positions: Vec<String>,
}

/// Writes the kernel; its axes are canonical, and some are reduced.
pub(super) fn write(module: &mut WgslModule, kernel: &Fused) -> ModuleLaunch {
    let plan = ReducePlan::of(kernel, module.capabilities);
    let (mut writer, workgroups) = ReduceWriter::start(module, kernel, plan);
    let words = writer.passes.reduces.iter().map(|reduces| {
        let words = |&at: &usize| match kernel.tape[at].code {
            Code::Reduce(op, _) if op.is_index() => 2,
            _ => 1,
        };
        reduces.iter().map(words).sum::<usize>() * if plan.columns { plan.lanes } else { 1 }
    });
    let mut meeting = Meeting::new(module, plan, words.max().unwrap_or(0));
    writer.outer_values(module, 0);
    for pass in 0..writer.passes.reduces.len() {
        writer.pass(module, pass, &mut meeting);
        writer.outer_values(module, pass + 1);
    }
    writer.outer_stores(module);
    ModuleLaunch { threads: plan.threads() as u32, workgroups }
}

impl<'k> ReduceWriter<'k> {
    /// Writes the thread's position, and its kept groups.
    fn start(module: &mut WgslModule, kernel: &'k Fused, plan: ReducePlan) -> (ReduceWriter<'k>, usize) {
        let (rank, outer) = (kernel.axes.len(), kernel.outer);
        let per = |axis: usize, split: bool| kernel.axes[axis] / if split { plan.lanes } else { 1 };
        let outer_sizes: Vec<usize> = (0..outer).map(|a| per(a, plan.columns && a + 1 == outer)).collect();
        let reduced_sizes: Vec<usize> =
            (outer..rank).map(|a| per(a, !plan.columns && a + 1 == rank)).collect();
        let (teams, groups) =
            (outer_sizes.iter().product::<usize>(), reduced_sizes.iter().product::<usize>());
        let (place, team) = match plan.columns {
            true => (format!("t / {}u", plan.teams), format!("w * {0}u + t % {0}u", plan.teams)),
            false => (format!("t % {}u", plan.team), format!("w * {}u + t / {}u", plan.teams, plan.team)),
        };
        let (place, mut team) = (module.bind("y", &place), module.bind("o", &team));
        let mut exists = None;
        if plan.teams > 1 {
            let count = module.size(teams);
            exists = Some(format!("{team} < {count}"));
            team = module.bind("o", &format!("min({team}, {count} - 1u)"));
        }
        let sizes: Vec<String> = outer_sizes.iter().map(|&size| module.size(size)).collect();
        let mut index = decode(module, &team, &sizes);
        if plan.columns && plan.lanes > 1 {
            index[outer - 1] = module.bind("a", &format!("{} * {}u", index[outer - 1], plan.lanes));
        }
        index.resize(rank, "0u".into());
        let outer_point = match plan.columns {
            true => EvaluationPoint::along(index, outer - 1, kernel.axes[outer - 1], plan.lanes),
            false => EvaluationPoint::single(index),
        };
        let reduced = reduced_sizes.iter().map(|&size| module.size(size)).collect();
        let mut writer = ReduceWriter {
            kernel,
            plan,
            passes: Passes::of(kernel),
            outer: RegisterTexts::new(),
            outer_point,
            reduced,
            groups: module.size(groups),
            place,
            exists,
            exact: plan.kept.is_some_and(|each| each * plan.team == groups),
            kept: vec![],
        };
        for number in 0..plan.kept.unwrap_or(0) {
            let group = module.bind("g", &format!("{} + {}u", writer.place, number * plan.team));
            let point = writer.point(module, &group, !writer.exact);
            writer.kept.push(GroupPoint { point, scope: RegisterTexts::new(), group });
        }
        (writer, teams.div_ceil(plan.teams))
    }

    /// The full-level point of a group of reduced positions.
    fn point(&self, module: &mut WgslModule, group: &str, clamp: bool) -> EvaluationPoint {
        let mut exists: Vec<String> = self.exists.iter().cloned().collect();
        let mut inside = group.to_string();
        if clamp {
            exists.push(format!("{group} < {}", self.groups));
            inside = module.bind("g", &format!("min({group}, {} - 1u)", self.groups));
        }
        let mut tail = decode(module, &inside, &self.reduced);
        let (rank, outer, lanes) = (self.kernel.axes.len(), self.kernel.outer, self.plan.lanes);
        if !self.plan.columns && lanes > 1 {
            let last = tail.len() - 1;
            tail[last] = module.bind("a", &format!("{} * {lanes}u", tail[last]));
        }
        let mut index = self.outer_point.index[..outer].to_vec();
        index.extend(tail);
        let axis = if self.plan.columns { outer - 1 } else { rank - 1 };
        let mut point = EvaluationPoint::along(index, axis, self.kernel.axes[axis], lanes);
        if !exists.is_empty() {
            point.mask = Mask::Group(exists.join(" && "));
        }
        point
    }

    /// Writes the outer-level instructions that become possible at a stage.
    fn outer_values(&mut self, module: &mut WgslModule, stage: usize) {
        let tape = &self.kernel.tape;
        let here = |&at: &usize| {
            let instr = &tape[at];
            let plain = instr.level == Level::Outer && !matches!(instr.code, Code::Reduce(..));
            plain && self.passes.needed[at] && self.passes.stages[at] == stage
        };
        let wanted: Vec<Reg> = (0..tape.len()).filter(here).map(|at| Reg(at as u32)).collect();
        evaluate(module, tape, &wanted, &self.outer_point, &mut self.outer);
        for GroupPoint { scope, .. } in &mut self.kept {
            self.outer.iter().for_each(|(register, value)| drop(scope.insert(*register, value.clone())));
        }
    }

    /// The accumulators of a pass, with `copies` of each, so that long sums become several shorter ones.
    fn accumulators(&self, module: &mut WgslModule, pass: usize, copies: usize) -> Vec<ReduceVariables> {
        let mut list = Vec::new();
        for &at in &self.passes.reduces[pass] {
            let Code::Reduce(op, operand) = self.kernel.tape[at].code else { continue };
            let none = identity(module, op, self.kernel.tape[operand.0 as usize].dtype);
            let lanes = if op.is_index() && !self.plan.columns { 1 } else { self.plan.lanes };
            let copies = if op.is_index() { 1 } else { copies };
            let mut variables = |stem: &str, text: &str| -> Vec<String> {
                (0..lanes).map(|_| module.variable(stem, text)).collect()
            };
            let values = (0..copies).map(|_| variables("r", &none)).collect();
            let positions = if op.is_index() { variables("r", NOWHERE) } else { vec![] };
            list.push(ReduceVariables { at, op, operand, none, values, positions });
        }
        list
    }

    /// Combines a point's values into the accumulators.
    fn accumulate(
        &self,
        module: &mut WgslModule,
        list: &[ReduceVariables],
        copy: usize,
        at: &GroupPoint,
        masked: bool,
    ) {
        let GroupPoint { point, scope, group } = at;
        for accumulator in list {
            let dtype = self.kernel.tape[accumulator.operand.0 as usize].dtype;
            let value = &scope[&accumulator.operand];
            let none = &accumulator.none;
            let mask = if masked { point.exists(0) } else { None };
            for lane in 0..self.plan.lanes {
                let text = value.lane(lane);
                if accumulator.op.is_index() {
                    let own = if self.plan.columns { lane } else { 0 };
                    let position = match self.plan.columns {
                        true => group.to_string(),
                        false => format!("({group} * {}u + {lane}u)", self.plan.lanes),
                    };
                    let position = mask
                        .map_or(position.clone(), |mask| format!("select({NOWHERE}, {position}, {mask})"));
                    let pair = [accumulator.values[0][own].as_str(), accumulator.positions[own].as_str()];
                    take_element(module, (accumulator.op, dtype), pair, text, &position);
                    continue;
                }
                let text = mask.map_or(text.to_string(), |mask| format!("select({none}, {text}, {mask})"));
                let variable = &accumulator.values[copy % accumulator.values.len()][lane];
                line!(module, "{variable} = {};", combine(accumulator.op, dtype, variable, &text));
            }
        }
    }

    /// One pass over the reduced positions, and the combination of its results.
    fn pass(&mut self, module: &mut WgslModule, pass: usize, meeting: &mut Meeting) {
        let stores = self.passes.stores == Some(pass);
        let reduces = &self.passes.reduces[pass];
        if reduces.is_empty() && !stores {
            return;
        }
        let mut wanted: Vec<Reg> = Vec::new();
        for &at in reduces {
            let Code::Reduce(_, operand) = self.kernel.tape[at].code else { continue };
            wanted.push(operand);
        }
        if stores {
            wanted.extend(self.full_stores().map(|store| store.value));
        }
        let kept = self.plan.kept.is_some();
        let copies = if kept { 1 } else { self.plan.unroll };
        let list = self.accumulators(module, pass, copies);
        if kept {
            let mut groups = std::mem::take(&mut self.kept);
            for GroupPoint { point, scope, .. } in &mut groups {
                evaluate(module, &self.kernel.tape, &wanted, point, scope);
            }
            for group in &groups {
                self.accumulate(module, &list, 0, group, !self.exact);
            }
            if stores {
                groups.iter().for_each(|group| self.write_full(module, &group.point, &group.scope));
            }
            self.kept = groups;
        } else {
            self.loops(module, &wanted, &list, stores);
        }
        if !list.is_empty() {
            self.meet(module, &list, meeting);
        }
    }

    fn full_stores(&self) -> impl Iterator<Item = &'k farad_compile::program::Store> + use<'k> {
        let kernel = self.kernel;
        kernel.stores.iter().filter(|store| kernel.tape[store.value.0 as usize].level == Level::Full)
    }

    fn write_full(&self, module: &mut WgslModule, point: &EvaluationPoint, scope: &RegisterTexts) {
        for stored in self.full_stores() {
            store(module, stored.buffer, &stored.view, &scope[&stored.value], point);
        }
    }

    /// A loop over several groups at once while all exist, then a loop over single groups.
    fn loops(&self, module: &mut WgslModule, wanted: &[Reg], list: &[ReduceVariables], stores: bool) {
        let (team, unroll) = (self.plan.team, self.plan.unroll);
        let next = module.variable("q", &self.place);
        for copies in if unroll > 1 { vec![unroll, 1] } else { vec![1] } {
            line!(
                module,
                "for (; {next} + {}u < {}; {next} += {}u) {{",
                (copies - 1) * team,
                self.groups,
                copies * team
            );
            let mut points = Vec::new();
            for copy in 0..copies {
                let group = module.bind("g", &format!("{next} + {}u", copy * team));
                let point = self.point(module, &group, false);
                let mut scope = self.outer.clone();
                evaluate(module, &self.kernel.tape, wanted, &point, &mut scope);
                points.push(GroupPoint { point, scope, group });
            }
            for (copy, group) in points.iter().enumerate() {
                self.accumulate(module, list, copy, group, false);
                if stores {
                    self.write_full(module, &group.point, &group.scope);
                }
            }
            module.line("}");
        }
    }

    /// Combines the accumulators of the team and adds the results to the scope.
    fn meet(&mut self, module: &mut WgslModule, list: &[ReduceVariables], meeting: &mut Meeting) {
        let mut partials = Vec::new();
        for accumulator in list {
            let op = accumulator.op;
            let dtype = self.kernel.tape[accumulator.operand.0 as usize].dtype.register();
            let mut values = accumulator.values[0].clone();
            for copy in &accumulator.values[1..] {
                values = values
                    .iter()
                    .zip(copy)
                    .map(|(a, b)| module.bind("v", &combine(op, dtype, a, b)))
                    .collect();
            }
            if !self.plan.columns && !op.is_index() {
                while values.len() > 1 {
                    values = values
                        .chunks(2)
                        .map(|pair| module.bind("v", &combine(op, dtype, &pair[0], &pair[1])))
                        .collect();
                }
            }
            let positions = op.is_index().then(|| accumulator.positions.clone());
            partials.push(PartialText { op, dtype, values, positions });
        }
        let results = meeting.combine(module, &partials);
        for (accumulator, mut texts) in list.iter().zip(results) {
            if accumulator.op.is_index() {
                texts = texts.iter().map(|text| module.bind("v", &format!("bitcast<i32>({text})"))).collect();
            }
            let register = Reg(accumulator.at as u32);
            self.outer.insert(register, LaneText(texts.clone()));
        }
    }

    /// Writes outer-level values, once per team.
    fn outer_stores(&self, module: &mut WgslModule) {
        let kernel = self.kernel;
        let outer =
            kernel.stores.iter().filter(|store| kernel.tape[store.value.0 as usize].level == Level::Outer);
        let outer: Vec<_> = outer.collect();
        let reads = |code: &Code| read(code).is_some_and(|id| outer.iter().any(|store| store.buffer == id));
        if self.plan.team > 1 && kernel.tape.iter().any(|instr| reads(&instr.code)) {
            // Every thread of the team must have read the old value before one writes the new.
            module.line("storageBarrier();");
            module.line("workgroupBarrier();");
        }
        let mut point = self.outer_point.clone();
        let mut exists: Vec<String> = self.exists.iter().cloned().collect();
        if self.plan.team > 1 {
            exists.push(format!("{} == 0u", self.place));
        }
        if !exists.is_empty() {
            point.mask = Mask::Group(exists.join(" && "));
        }
        for stored in outer {
            store(module, stored.buffer, &stored.view, &self.outer[&stored.value], &point);
        }
    }
}

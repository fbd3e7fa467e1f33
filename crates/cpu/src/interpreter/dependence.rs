//! What the values of a tape depend on: how often they change, and which reductions they need.

use farad_compile::program::{Code as TapeCode, Fused, Guard, View};

/// How often a value changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Dependence {
    /// Never during a run.
    Uniform,
    /// With the outer position.
    Outer,
    /// At every position.
    Full,
}

/// Registers that an instruction reads.
pub fn operands(code: &TapeCode) -> Vec<usize> {
    code.operands().iter().map(|register| register.0 as usize).collect()
}

/// Which values depend on axes that `moves` detects in a view, directly or through operands (not through
/// reductions).
pub fn dependence(fused: &Fused, moves: impl Fn(&View) -> bool) -> Vec<bool> {
    let mut depends: Vec<bool> = Vec::with_capacity(fused.tape.len());
    for instr in &fused.tape {
        let own = instr.code.view().is_some_and(&moves) || matches!(instr.code, TapeCode::Carry(_));
        let inherited = operands(&instr.code).iter().any(|&o| depends[o]);
        depends.push(own || (inherited && !matches!(instr.code, TapeCode::Reduce(..))));
    }
    depends
}

fn moves_along(view: &View, axes: std::ops::Range<usize>) -> bool {
    let moves = |values: &[i64]| values[axes.clone()].iter().any(|&v| v != 0);
    moves(&view.strides) || view.guards.iter().any(|g: &Guard| moves(&g.coefficients))
}

/// Levels, depths and uses of all values.
pub struct Analysis {
    /// How often each changes.
    pub levels: Vec<Dependence>,
    /// How many reductions each value depends on in sequence.
    pub depths: Vec<usize>,
    /// How many instructions and stores read it.
    pub uses: Vec<usize>,
}

impl Analysis {
    /// Analyses a tape over axes of which the first `outer` are outer.
    pub fn new(fused: &Fused, outer: usize) -> Analysis {
        let all = fused.axes.len();
        let full = dependence(fused, |view| moves_along(view, outer..all));
        let moving = dependence(fused, |view| moves_along(view, 0..all));
        let mut levels: Vec<Dependence> = Vec::with_capacity(fused.tape.len());
        let mut depths: Vec<usize> = Vec::with_capacity(fused.tape.len());
        let mut uses = vec![0; fused.tape.len()];
        for (i, instr) in fused.tape.iter().enumerate() {
            let reduction = matches!(instr.code, TapeCode::Reduce(..));
            let inherited =
                operands(&instr.code).iter().map(|&o| levels[o]).max().unwrap_or(Dependence::Uniform);
            let own = match (full[i], moving[i]) {
                (true, _) => Dependence::Full,
                (false, true) => Dependence::Outer,
                _ => Dependence::Uniform,
            };
            levels.push(if reduction { Dependence::Outer } else { own.max(inherited) });
            let depth = operands(&instr.code).iter().map(|&o| depths[o]).max().unwrap_or(0);
            depths.push(depth + reduction as usize);
            operands(&instr.code).iter().for_each(|&o| uses[o] += 1);
        }
        fused.stores.iter().for_each(|store| uses[store.value.0 as usize] += 1);
        Analysis { levels, depths, uses }
    }
}

/// Which values stores need.
pub fn reachable(fused: &Fused) -> Vec<bool> {
    let mut reachable = vec![false; fused.tape.len()];
    fused.stores.iter().for_each(|s| reachable[s.value.0 as usize] = true);
    for i in (0..reachable.len()).rev() {
        if reachable[i] {
            operands(&fused.tape[i].code).into_iter().for_each(|o| reachable[o] = true);
        }
    }
    reachable
}

//! A reduced netlist: constants, copies and negations are folded, and every gate is one of four functions of
//! two different values. Negations move into readers and roots. Start at [`Folded::new`].

use crate::gate::Gate;
use crate::netlist::{GateNode, Netlist, Wire};

/// The remaining functions; the other gates are these with operands swapped or the result negated, which the
/// readers of the result take into account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Function {
    And,
    AndNot,
    Or,
    Xor,
}

/// What a wire is, up to negation: a constant, a source or a kept gate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum FoldedValue {
    Constant(bool),
    Of { definition: u32, negated: bool },
}

impl FoldedValue {
    fn negated_if(self, negate: bool) -> FoldedValue {
        match self {
            FoldedValue::Constant(value) => FoldedValue::Constant(value ^ negate),
            FoldedValue::Of { definition, negated } => {
                FoldedValue::Of { definition, negated: negated ^ negate }
            }
        }
    }

    /// The value if it is a function `f` of one other, given as `f(0)` and `f(1)`.
    fn chosen(of: FoldedValue, low: bool, high: bool) -> FoldedValue {
        if low == high { FoldedValue::Constant(low) } else { of.negated_if(low) }
    }
}

/// A folded netlist. Definitions are numbered: the sources first, then the gates.
#[derive(Debug)]
pub(super) struct Folded {
    /// How many sources there are.
    pub sources: usize,
    /// The gates, each over earlier definitions.
    pub gates: Vec<(Function, u32, u32)>,
    /// The netlist gate that each one came from.
    pub origins: Vec<u32>,
    /// The values of the roots.
    pub roots: Vec<FoldedValue>,
}

impl Folded {
    /// Folds a netlist; keeps gates that no root needs.
    pub(super) fn new(netlist: &Netlist, roots: &[Wire]) -> Folded {
        let first = netlist.sources();
        let (mut gates, mut origins) = (vec![], vec![]);
        let mut values: Vec<FoldedValue> =
            (0..first as u32).map(|definition| FoldedValue::Of { definition, negated: false }).collect();
        values.reserve(netlist.gates.len());
        for (n, &GateNode { gate, a, b }) in netlist.gates.iter().enumerate() {
            let operand = |read: bool, wire: Wire| {
                if read { values[wire.index()] } else { FoldedValue::Constant(false) }
            };
            let (a, b) = (operand(gate.reads_a(), a), operand(gate.reads_b(), b));
            values.push(match (a, b) {
                (FoldedValue::Constant(a), _) => {
                    FoldedValue::chosen(b, gate.output(a, false), gate.output(a, true))
                }
                (_, FoldedValue::Constant(b)) => {
                    FoldedValue::chosen(a, gate.output(false, b), gate.output(true, b))
                }
                (
                    FoldedValue::Of { definition: x, negated: p },
                    FoldedValue::Of { definition: y, negated: q },
                ) => {
                    let gate = if p { gate.with_negated_a() } else { gate };
                    let gate = if q { gate.with_negated_b() } else { gate };
                    if x == y {
                        let of = FoldedValue::Of { definition: x, negated: false };
                        FoldedValue::chosen(of, gate.output(false, false), gate.output(true, true))
                    } else {
                        let (function, swapped, negated) = normal_form(gate);
                        origins.push(n as u32);
                        gates.push(if swapped { (function, y, x) } else { (function, x, y) });
                        FoldedValue::Of { definition: (first + gates.len() - 1) as u32, negated }
                    }
                }
            });
        }
        Folded {
            sources: first,
            gates,
            origins,
            roots: roots.iter().map(|root| values[root.index()]).collect(),
        }
    }
}

/// The function, whether its operands are swapped, and whether its result is negated.
fn normal_form(gate: Gate) -> (Function, bool, bool) {
    match gate {
        Gate::AND => (Function::And, false, false),
        Gate::NAND => (Function::And, false, true),
        Gate::A_AND_NOT_B => (Function::AndNot, false, false),
        Gate::NOT_A_OR_B => (Function::AndNot, false, true),
        Gate::NOT_A_AND_B => (Function::AndNot, true, false),
        Gate::A_OR_NOT_B => (Function::AndNot, true, true),
        Gate::OR => (Function::Or, false, false),
        Gate::NOR => (Function::Or, false, true),
        Gate::XOR => (Function::Xor, false, false),
        Gate::XNOR => (Function::Xor, false, true),
        one_sided => unreachable!("tape: {one_sided:?} does not read both operands"),
    }
}

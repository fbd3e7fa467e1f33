//! A netlist boiled down: constants, copies and negations are folded away, and every gate is one of four
//! functions of two different values. Negations move into readers and roots. Start at [`Folded::new`].

use crate::gate::Gate;
use crate::netlist::{Netlist, Node, Wire};

/// The functions that are left; the other gates are these with operands exchanged or the result negated,
/// which the readers of the result see to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Function {
    And,
    AndNot,
    Or,
    Xor,
}

/// What a wire is, up to negation: a constant, or a source or kept gate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Value {
    Constant(bool),
    Of { definition: u32, negated: bool },
}

impl Value {
    fn negated_if(self, negate: bool) -> Value {
        match self {
            Value::Constant(value) => Value::Constant(value ^ negate),
            Value::Of { definition, negated } => Value::Of { definition, negated: negated ^ negate },
        }
    }

    /// The value if it is a function `f` of one other: `f(0)`, `f(1)`.
    fn chosen(of: Value, low: bool, high: bool) -> Value {
        if low == high { Value::Constant(low) } else { of.negated_if(low) }
    }
}

/// A folded netlist. Definitions are numbered: the sources first, then the gates.
#[derive(Debug)]
pub(super) struct Folded {
    /// How many sources there are.
    pub sources: usize,
    /// The gates, each over definitions before its own.
    pub gates: Vec<(Function, u32, u32)>,
    /// Which gate of the netlist each one was.
    pub origins: Vec<u32>,
    /// What the roots show.
    pub roots: Vec<Value>,
}

impl Folded {
    /// Folds a netlist; gates that no root needs are still in it.
    pub(super) fn new(netlist: &Netlist, roots: &[Wire]) -> Folded {
        let first = netlist.sources();
        let (mut gates, mut origins) = (vec![], vec![]);
        let mut values: Vec<Value> =
            (0..first as u32).map(|definition| Value::Of { definition, negated: false }).collect();
        values.reserve(netlist.gates.len());
        for (n, &Node { gate, a, b }) in netlist.gates.iter().enumerate() {
            let operand =
                |read: bool, wire: Wire| if read { values[wire.index()] } else { Value::Constant(false) };
            let (a, b) = (operand(gate.reads_a(), a), operand(gate.reads_b(), b));
            values.push(match (a, b) {
                (Value::Constant(a), _) => Value::chosen(b, gate.output(a, false), gate.output(a, true)),
                (_, Value::Constant(b)) => Value::chosen(a, gate.output(false, b), gate.output(true, b)),
                (Value::Of { definition: x, negated: p }, Value::Of { definition: y, negated: q }) => {
                    let gate = if p { gate.with_negated_a() } else { gate };
                    let gate = if q { gate.with_negated_b() } else { gate };
                    if x == y {
                        let of = Value::Of { definition: x, negated: false };
                        Value::chosen(of, gate.output(false, false), gate.output(true, true))
                    } else {
                        let (function, swapped, negated) = normal_form(gate);
                        origins.push(n as u32);
                        gates.push(if swapped { (function, y, x) } else { (function, x, y) });
                        Value::Of { definition: (first + gates.len() - 1) as u32, negated }
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

/// The function, whether its operands are exchanged, and whether its result is negated.
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

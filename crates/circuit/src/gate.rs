//! The sixteen functions of two bits: the project's only table of gates.

/// A function of two bits. Its number is its truth table: the output for `(a, b)` is bit
/// `3 - 2a - b`, so bit 3 is the output for (0, 0) and bit 0 the output for (1, 1).
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Gate(u8);

/// A row of the table.
struct GateRow {
    name: &'static str,
    /// `c0 + ca·a + cb·b + cab·a·b` is the function on bits, and its relaxation to values between 0 and 1.
    coefficients: [i8; 4],
}

const fn row(name: &'static str, coefficients: [i8; 4]) -> GateRow {
    GateRow { name, coefficients }
}

const TABLE: [GateRow; 16] = [
    row("false", [0, 0, 0, 0]),
    row("and", [0, 0, 0, 1]),
    row("a_and_not_b", [0, 1, 0, -1]),
    row("a", [0, 1, 0, 0]),
    row("not_a_and_b", [0, 0, 1, -1]),
    row("b", [0, 0, 1, 0]),
    row("xor", [0, 1, 1, -2]),
    row("or", [0, 1, 1, -1]),
    row("nor", [1, -1, -1, 1]),
    row("xnor", [1, -1, -1, 2]),
    row("not_b", [1, 0, -1, 0]),
    row("a_or_not_b", [1, 0, -1, 1]),
    row("not_a", [1, -1, 0, 0]),
    row("not_a_or_b", [1, -1, 0, 1]),
    row("nand", [1, 0, 0, -1]),
    row("true", [1, 0, 0, 0]),
];

#[allow(missing_docs)]
impl Gate {
    pub const FALSE: Gate = Gate(0);
    pub const AND: Gate = Gate(1);
    pub const A_AND_NOT_B: Gate = Gate(2);
    pub const A: Gate = Gate(3);
    pub const NOT_A_AND_B: Gate = Gate(4);
    pub const B: Gate = Gate(5);
    pub const XOR: Gate = Gate(6);
    pub const OR: Gate = Gate(7);
    pub const NOR: Gate = Gate(8);
    pub const XNOR: Gate = Gate(9);
    pub const NOT_B: Gate = Gate(10);
    pub const A_OR_NOT_B: Gate = Gate(11);
    pub const NOT_A: Gate = Gate(12);
    pub const NOT_A_OR_B: Gate = Gate(13);
    pub const NAND: Gate = Gate(14);
    pub const TRUE: Gate = Gate(15);
}

impl Gate {
    /// All sixteen, by number.
    pub const ALL: [Gate; 16] = {
        let mut all = [Gate(0); 16];
        let mut number = 0;
        while number < 16 {
            all[number] = Gate(number as u8);
            number += 1;
        }
        all
    };

    /// The gate with this truth table; `None` if the number is 16 or more.
    pub const fn new(number: u8) -> Option<Gate> {
        if number < 16 { Some(Gate(number)) } else { None }
    }

    /// Its number, which is its truth table.
    pub const fn number(self) -> u8 {
        self.0
    }

    /// Its name in files and statistics.
    pub const fn name(self) -> &'static str {
        TABLE[self.0 as usize].name
    }

    /// The gate of this name.
    pub fn named(name: &str) -> Option<Gate> {
        Gate::ALL.into_iter().find(|gate| gate.name() == name)
    }

    /// `[c0, ca, cb, cab]`: the function is `c0 + ca·a + cb·b + cab·a·b`.
    pub const fn coefficients(self) -> [i8; 4] {
        TABLE[self.0 as usize].coefficients
    }

    /// The output for two bits.
    pub const fn output(self, a: bool, b: bool) -> bool {
        (self.0 >> (3 - 2 * a as u8 - b as u8)) & 1 == 1
    }

    /// The outputs for 64 pairs of bits.
    pub const fn word(self, a: u64, b: u64) -> u64 {
        match self.0 {
            0 => 0,
            1 => a & b,
            2 => a & !b,
            3 => a,
            4 => !a & b,
            5 => b,
            6 => a ^ b,
            7 => a | b,
            8 => !(a | b),
            9 => !(a ^ b),
            10 => !b,
            11 => a | !b,
            12 => !a,
            13 => !a | b,
            14 => !(a & b),
            _ => !0,
        }
    }

    /// Whether the output depends on `a`.
    pub const fn reads_a(self) -> bool {
        (self.0 >> 2) != (self.0 & 3)
    }

    /// Whether the output depends on `b`.
    pub const fn reads_b(self) -> bool {
        ((self.0 >> 1) & 5) != (self.0 & 5)
    }

    /// Whether it computes something: neither a constant nor a copy of an operand. (A negation does.)
    pub const fn is_active(self) -> bool {
        !matches!(self.0, 0 | 3 | 5 | 15)
    }

    /// The gate with its operands swapped.
    pub const fn swapped(self) -> Gate {
        Gate((self.0 & 9) | ((self.0 & 2) << 1) | ((self.0 & 4) >> 1))
    }

    /// The gate with the output negated.
    pub const fn negated(self) -> Gate {
        Gate(self.0 ^ 15)
    }

    /// The gate that computes for `!a` what this one computes for `a`.
    pub const fn with_negated_a(self) -> Gate {
        Gate(((self.0 & 3) << 2) | (self.0 >> 2))
    }

    /// The gate that computes for `!b` what this one computes for `b`.
    pub const fn with_negated_b(self) -> Gate {
        Gate(((self.0 & 5) << 1) | ((self.0 >> 1) & 5))
    }
}

impl std::fmt::Debug for Gate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAIRS: [(bool, bool); 4] = [(false, false), (false, true), (true, false), (true, true)];

    #[test]
    fn every_form_of_a_gate_is_the_same_function() {
        for gate in Gate::ALL {
            let [c0, ca, cb, cab] = gate.coefficients();
            for (a, b) in PAIRS {
                let output = gate.output(a, b);
                let (x, y) = (a as i8, b as i8);
                assert_eq!(c0 + ca * x + cb * y + cab * x * y, output as i8, "{gate:?}");
                let spread = |bit: bool| if bit { !0u64 } else { 0 };
                assert_eq!(gate.word(spread(a), spread(b)), spread(output), "{gate:?}");
                assert_eq!(gate.swapped().output(b, a), output, "{gate:?}");
                assert_eq!(gate.negated().output(a, b), !output, "{gate:?}");
                assert_eq!(gate.with_negated_a().output(!a, b), output, "{gate:?}");
                assert_eq!(gate.with_negated_b().output(a, !b), output, "{gate:?}");
            }
            let reads = |f: &dyn Fn(bool, bool) -> (bool, bool)| {
                PAIRS.iter().any(|&(a, b)| {
                    let (c, d) = f(a, b);
                    gate.output(a, b) != gate.output(c, d)
                })
            };
            assert_eq!(gate.reads_a(), reads(&|a, b| (!a, b)), "{gate:?}");
            assert_eq!(gate.reads_b(), reads(&|a, b| (a, !b)), "{gate:?}");
            assert_eq!(Gate::named(gate.name()), Some(gate));
        }
        assert_eq!(Gate::new(16), None);
    }
}

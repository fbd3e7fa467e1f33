//! Writes `src/simplify/library.txt`: circuits with the fewest gates for every function of four bits.
//!
//! Functions that differ only by order or negation of inputs or by negation of the output are in one class; 220
//! classes need at least one gate. All chains of gates are enumerated, shortest first, so the first one to
//! reach a class has the fewest possible gates. Takes about a minute:
//! `cargo run --release -p farad-circuit --example four_input_library > library.txt`

use farad_circuit::Gate;

/// The four inputs as truth tables.
const INPUTS: [u16; 4] = [0xAAAA, 0xCCCC, 0xF0F0, 0xFF00];
/// Different circuits kept per class.
const VARIANTS: usize = 8;
/// Classes that need this many gates get only one circuit, because finding all takes hours.
const LONGEST: usize = 7;
/// Gates that are false when both operands are. With negations at inputs and output, these are enough.
const NORMAL: [Gate; 5] = [Gate::AND, Gate::A_AND_NOT_B, Gate::NOT_A_AND_B, Gate::XOR, Gate::OR];

type Step = (Gate, usize, usize);

/// Classes of functions, with the results for each.
struct Classes {
    /// The class of each function.
    of: Vec<usize>,
    /// The smallest member that is false where all inputs are false.
    representatives: Vec<u16>,
    /// Fewest gates, once known.
    gates: Vec<Option<usize>>,
    circuits: Vec<Vec<Vec<Step>>>,
    /// Circuits found so far, for a uniform choice among all.
    met: Vec<u64>,
    random: u64,
}

/// The purpose of a search.
#[derive(Clone, Copy, PartialEq)]
enum Purpose {
    /// Classes not reached so far.
    Reach,
    /// Circuits of representatives with the fewest gates.
    Collect,
}

fn main() {
    let mut classes = Classes::new();
    for gates in 1..=LONGEST {
        classes.search(&mut INPUTS.to_vec(), &mut vec![], gates, Purpose::Reach);
    }
    for gates in 1..LONGEST {
        classes.search(&mut INPUTS.to_vec(), &mut vec![], gates, Purpose::Collect);
    }
    println!("0000 a\naaaa a");
    for class in 0..classes.representatives.len() {
        if classes.gates[class].is_some_and(|gates| gates > 0) {
            let circuits: Vec<String> = classes.circuits[class].iter().map(|circuit| text(circuit)).collect();
            println!("{:04x} {}", table(&classes.circuits[class][0]), circuits.join(" "));
        }
    }
}

fn text(circuit: &[Step]) -> String {
    let letter = |operand: usize| (b'a' + operand as u8) as char;
    circuit.iter().map(|&(gate, a, b)| format!("{}{}{}", gate.number(), letter(a), letter(b))).collect()
}

fn apply(gate: Gate, a: u16, b: u16) -> u16 {
    gate.word(a as u64, b as u64) as u16
}

fn table(circuit: &[Step]) -> u16 {
    let mut values = INPUTS.to_vec();
    circuit.iter().for_each(|&(gate, a, b)| values.push(apply(gate, values[a], values[b])));
    *values.last().expect("inputs at least")
}

/// A function with inputs permuted and negated and the output negated, in every way.
fn relatives(function: u16) -> Vec<u16> {
    let mut relatives = vec![];
    for code in 0..256usize {
        let order: [usize; 4] = std::array::from_fn(|k| code >> (2 * k) & 3);
        if (0..4).any(|k| !order.contains(&k)) {
            continue;
        }
        for negations in 0..16usize {
            let place = |i: usize| (0..4).fold(0, |j, k| j | ((i >> k ^ negations >> k) & 1) << order[k]);
            let relative = (0..16).fold(0u16, |relative, i| relative | (function >> place(i) & 1) << i);
            relatives.extend([relative, !relative]);
        }
    }
    relatives
}

impl Classes {
    fn new() -> Classes {
        let (mut of, mut representatives) = (vec![usize::MAX; 1 << 16], vec![]);
        for function in 0..=u16::MAX {
            if of[function as usize] == usize::MAX {
                let members = relatives(function);
                members.iter().for_each(|&member| of[member as usize] = representatives.len());
                let normal = members.into_iter().filter(|member| member & 1 == 0).min();
                representatives.push(normal.expect("a function or its negation is false there"));
            }
        }
        let count = representatives.len();
        let mut gates = vec![None; count];
        gates[of[0]] = Some(0);
        gates[of[INPUTS[0] as usize]] = Some(0);
        Classes { of, representatives, gates, circuits: vec![vec![]; count], met: vec![0; count], random: 1 }
    }

    /// Enumerates all chains of `gates` more gates, in an order in which no set of gates occurs twice.
    fn search(&mut self, values: &mut Vec<u16>, steps: &mut Vec<Step>, gates: usize, purpose: Purpose) {
        for b in 1..values.len() {
            for a in 0..b {
                for gate in NORMAL {
                    let earlier = steps.last().is_some_and(|&(g, c, d)| (b, a, gate) <= (d, c, g));
                    // Any two inputs can be the first two, and negations make the other gates from these.
                    let alike = purpose == Purpose::Reach
                        && steps.is_empty()
                        && (b != 1 || !matches!(gate, Gate::AND | Gate::XOR));
                    let value = apply(gate, values[a], values[b]);
                    if earlier || alike || value == 0 || values.contains(&value) {
                        continue;
                    }
                    steps.push((gate, a, b));
                    if gates == 1 {
                        self.meet(value, steps, purpose);
                    } else if purpose == Purpose::Collect || self.gates.contains(&None) {
                        values.push(value);
                        self.search(values, steps, gates - 1, purpose);
                        values.pop();
                    }
                    steps.pop();
                }
            }
        }
    }

    fn meet(&mut self, value: u16, steps: &[Step], purpose: Purpose) {
        let class = self.of[value as usize];
        match purpose {
            Purpose::Reach if self.gates[class].is_none() => {
                self.gates[class] = Some(steps.len());
                if steps.len() == LONGEST {
                    self.circuits[class].push(steps.to_vec());
                }
            }
            Purpose::Collect
                if self.representatives[class] == value && self.gates[class] == Some(steps.len()) =>
            {
                self.met[class] += 1;
                self.random = self.random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                let chosen = (self.random >> 33) % self.met[class];
                if self.circuits[class].len() < VARIANTS {
                    self.circuits[class].push(steps.to_vec());
                } else if chosen < VARIANTS as u64 {
                    self.circuits[class][chosen as usize] = steps.to_vec();
                }
            }
            _ => {}
        }
    }
}

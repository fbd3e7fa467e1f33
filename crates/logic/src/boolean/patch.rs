//! Terms that correct wrong rows.
//!
//! A term is a product of inputs or their negations. It starts as one wrong row and loses literals as long as
//! it matches no right row; the output is flipped where a term is true. So the circuit ends exact on its rows,
//! whatever it had learned; the better it had learned, the fewer terms are needed.

use farad_circuit::{Gate, Netlist, Simulator, Wire};

use super::table::BitRows;
use crate::error::Result;

/// A product of literals: inputs, and their required values.
type Term = Vec<(usize, bool)>;

/// The circuit with terms for its wrong rows, and the number of terms. Rows have one input for each of the
/// circuit's.
pub fn patch(netlist: &Netlist, rows: &BitRows) -> Result<(Netlist, usize)> {
    let seen = Simulator::new(netlist)?.run(&rows.slices());
    let mut patched = netlist.clone();
    let mut count = 0;
    for (output, seen) in seen.iter().enumerate() {
        let words = 0..rows.count.div_ceil(64);
        let wrong = words.map(|word| (seen[word] ^ rows.outputs[output][word]) & rows.mask(word)).collect();
        let terms = terms(rows, wrong);
        count += terms.len();
        let terms: Vec<Wire> = terms.iter().map(|term| product(&mut patched, term)).collect();
        if let Some(any) = tree(&mut patched, Gate::OR, terms) {
            let old = patched.outputs[output].wire;
            patched.outputs[output].wire = patched.gate(Gate::XOR, old, any);
        }
    }
    Ok((patched, count))
}

/// Terms that cover the wrong rows, each some of them, and no other rows.
fn terms(rows: &BitRows, wrong: Vec<u64>) -> Vec<Term> {
    let right: Vec<u64> = wrong.iter().enumerate().map(|(word, wrong)| !wrong & rows.mask(word)).collect();
    let mut left = wrong;
    let mut terms = Vec::new();
    while let Some(row) = first(&left) {
        let term = widest(rows, row, &right);
        let held = holds(rows, &term);
        left.iter_mut().zip(&held).for_each(|(left, held)| *left &= !held);
        terms.push(term);
    }
    terms
}

fn first(rows: &[u64]) -> Option<usize> {
    rows.iter().position(|&word| word != 0).map(|word| word * 64 + rows[word].trailing_zeros() as usize)
}

/// The term of a row, without literals that are not needed to exclude `others`.
fn widest(rows: &BitRows, row: usize, others: &[u64]) -> Term {
    let value = |plane: &[u64]| plane[row / 64] >> (row % 64) & 1 == 1;
    let mut term: Term = rows.inputs.iter().map(|plane| value(plane)).enumerate().collect();
    for input in 0..rows.inputs.len() {
        let shorter: Term = term.iter().copied().filter(|(n, _)| *n != input).collect();
        if holds(rows, &shorter).iter().zip(others).all(|(holds, other)| holds & other == 0) {
            term = shorter;
        }
    }
    term
}

/// The rows that match a term.
fn holds(rows: &BitRows, term: &Term) -> Vec<u64> {
    let all = (0..rows.count.div_ceil(64)).map(|word| rows.mask(word)).collect::<Vec<u64>>();
    term.iter().fold(all, |held, &(input, value)| {
        let plane = &rows.inputs[input];
        held.iter().zip(plane).map(|(held, bits)| held & if value { *bits } else { !bits }).collect()
    })
}

/// The gates of a term. A term without literals is always true.
fn product(netlist: &mut Netlist, term: &Term) -> Wire {
    let pairs: Vec<Wire> = term.chunks(2).map(|pair| literals(netlist, pair)).collect();
    tree(netlist, Gate::AND, pairs).unwrap_or_else(|| netlist.gate(Gate::TRUE, Wire(0), Wire(0)))
}

/// One or two literals.
fn literals(netlist: &mut Netlist, pair: &[(usize, bool)]) -> Wire {
    let wire = |input: usize| Wire(input as u32);
    match *pair {
        [(a, true), (b, true)] => netlist.gate(Gate::AND, wire(a), wire(b)),
        [(a, true), (b, false)] => netlist.gate(Gate::A_AND_NOT_B, wire(a), wire(b)),
        [(a, false), (b, true)] => netlist.gate(Gate::NOT_A_AND_B, wire(a), wire(b)),
        [(a, false), (b, false)] => netlist.gate(Gate::NOR, wire(a), wire(b)),
        [(a, true)] => wire(a),
        [(a, false)] => netlist.gate(Gate::NOT_A, wire(a), wire(a)),
        _ => unreachable!("pairs and a last one"),
    }
}

/// All wires combined by a gate, as a balanced tree; `None` if there are no wires.
fn tree(netlist: &mut Netlist, gate: Gate, mut wires: Vec<Wire>) -> Option<Wire> {
    while wires.len() > 1 {
        let join = |pair: &[Wire]| match *pair {
            [a, b] => netlist.gate(gate, a, b),
            _ => pair[0],
        };
        wires = wires.chunks(2).map(join).collect();
    }
    wires.first().copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use farad::data::Random;

    /// Any function on any rows: the circuit is exact afterwards, whatever it was.
    #[test]
    fn circuits_end_exact_on_their_rows() {
        let mut random = Random::at(5, 1, 0);
        for (inputs, count) in [(1usize, 2usize), (3, 7), (6, 64), (9, 200), (40, 130)] {
            let mut netlist = Netlist::new("any");
            let wires: Vec<Wire> = (0..inputs).map(|n| netlist.input(format!("x{n}"))).collect();
            let last = *wires.last().unwrap();
            let gate = netlist.gate(Gate::OR, wires[0], last);
            netlist.output("y", gate);
            netlist.output("z", last);
            // All rows differ: they begin with their index.
            let row = |n: usize| (0..inputs).map(|bit| n >> bit & 1 == 1).collect::<Vec<bool>>();
            let planes = |bit: &mut dyn FnMut(usize) -> bool| {
                let mut words = vec![0u64; count.div_ceil(64)];
                (0..count).for_each(|n| words[n / 64] |= u64::from(bit(n)) << (n % 64));
                words
            };
            let rows = BitRows {
                count,
                inputs: (0..inputs).map(|bit| planes(&mut |n| row(n)[bit])).collect(),
                outputs: (0..2).map(|_| planes(&mut |_| random.below(2) == 1)).collect(),
            };
            let (patched, _) = patch(&netlist, &rows).unwrap();
            patched.check().unwrap();
            let seen = Simulator::new(&patched).unwrap().run(&rows.slices());
            assert_eq!(rows.wrong(&seen), (0, 0), "{inputs} inputs, {count} rows");
            assert_eq!(patch(&patched, &rows).unwrap().1, 0, "what is exact stays as it is");
        }
    }
}

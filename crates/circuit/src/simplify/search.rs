//! Expressing a function by a few others: given where it must be true and where it must be false, finds gates
//! over divisors.
//!
//! A function is requested by two sets of patterns, `on` and `off`; on all other patterns it is free. The
//! answers are right only on these patterns. Start at [`Divisors::express`].

use crate::gate::Gate;
use crate::graph::Signal;

/// Literals tried as one operand of the outermost gate.
const OUTER: usize = 12;
/// Literals paired with each other.
const PAIRED: usize = 80;
/// Words that are hashed to find a partner.
const HASHED: usize = 3;

/// A function over divisors, as inputs and steps of a [`SmallCircuit`](super::proposal::SmallCircuit).
#[derive(Clone, Debug, Default)]
pub(super) struct Expression {
    pub(super) inputs: Vec<Signal>,
    pub(super) steps: Vec<(Gate, u8, u8)>,
}

impl Expression {
    fn literal(signal: Signal) -> Expression {
        Expression { inputs: vec![signal], steps: vec![] }
    }

    fn pair(gate: Gate, a: Signal, b: Signal) -> Expression {
        Expression { inputs: vec![a, b], steps: vec![(gate, 0, 1)] }
    }

    /// `gate(signal, self)`.
    fn under(mut self, gate: Gate, signal: Signal) -> Expression {
        let inputs = self.inputs.len() as u8;
        for (_, a, b) in &mut self.steps {
            // The new input is added after the old ones, so steps shift by one.
            *a += (*a >= inputs) as u8;
            *b += (*b >= inputs) as u8;
        }
        self.inputs.push(signal);
        let inner = if self.steps.is_empty() { 0 } else { inputs + self.steps.len() as u8 };
        self.steps.push((gate, inputs, inner));
        self
    }
}

/// Functions that may be used, with their words concatenated.
pub(super) struct Divisors {
    pub(super) nodes: Vec<u32>,
    words: usize,
    values: Vec<u64>,
}

/// The requested function.
#[derive(Clone)]
pub(super) struct SearchTarget {
    pub(super) on: Vec<u64>,
    pub(super) off: Vec<u64>,
}

impl SearchTarget {
    fn is_constant(&self) -> Option<bool> {
        match () {
            () if self.on.iter().all(|&word| word == 0) => Some(false),
            () if self.off.iter().all(|&word| word == 0) => Some(true),
            () => None,
        }
    }
}

/// A divisor or its negation, and how many patterns of the other side it leaves.
#[derive(Clone, Copy)]
struct DivisorLiteral {
    divisor: usize,
    negated: bool,
    left: u32,
}

impl Divisors {
    pub(super) fn new(words: usize) -> Divisors {
        Divisors { nodes: vec![], words, values: vec![] }
    }

    pub(super) fn push(&mut self, node: u32, words: &[u64]) {
        self.nodes.push(node);
        self.values.extend_from_slice(words);
    }

    fn of(&self, divisor: usize) -> &[u64] {
        &self.values[divisor * self.words..][..self.words]
    }

    fn signal(&self, literal: DivisorLiteral) -> Signal {
        Signal::new(self.nodes[literal.divisor], literal.negated)
    }

    fn word(&self, literal: DivisorLiteral, word: usize) -> u64 {
        self.of(literal.divisor)[word] ^ if literal.negated { !0 } else { 0 }
    }

    /// A hash of everything that decides a search.
    pub(super) fn fingerprint(&self, target: &SearchTarget, least_gain: usize, gates: usize) -> u64 {
        let numbers = [least_gain as u64, gates as u64, self.nodes.len() as u64];
        let words = target.on.iter().chain(&target.off).chain(&self.values).chain(&numbers);
        words.fold(0u64, |key, word| (key.rotate_left(29) ^ word).wrapping_mul(0x9E37_79B9_7F4A_7C15))
    }

    /// Expressions of at most `gates` gates, fewest gates first; `accept` decides which one is taken.
    pub(super) fn express(
        &self,
        target: &SearchTarget,
        gates: usize,
        accept: &mut dyn FnMut(&Expression) -> bool,
    ) -> Option<Expression> {
        let mut taken = None;
        let mut offer = |expression: Expression| {
            let is_taken = accept(&expression);
            if is_taken {
                taken = Some(expression);
            }
            is_taken
        };
        if let Some(value) = target.is_constant() {
            offer(Expression::literal(Signal::FALSE.negated_if(value)));
            return taken;
        }
        if self.single(target, &mut offer) {
            return taken;
        }
        for exact in 1..=gates {
            if self.exactly(target, exact, &mut offer) {
                break;
            }
        }
        taken
    }

    fn single(&self, target: &SearchTarget, offer: &mut dyn FnMut(Expression) -> bool) -> bool {
        for divisor in 0..self.nodes.len() {
            for negated in [false, true] {
                let literal = DivisorLiteral { divisor, negated, left: 0 };
                let fits = (0..self.words).all(|word| {
                    let value = self.word(literal, word);
                    target.on[word] & !value == 0 && target.off[word] & value == 0
                });
                if fits && offer(Expression::literal(self.signal(literal))) {
                    return true;
                }
            }
        }
        false
    }

    /// Offers expressions with this many gates, at least one.
    fn exactly(
        &self,
        target: &SearchTarget,
        gates: usize,
        offer: &mut dyn FnMut(Expression) -> bool,
    ) -> bool {
        let covering = self.covering(&target.on, &target.off);
        let inside = self.covering(&target.off, &target.on);
        if gates == 1 {
            return self.and_pairs(target, &covering, offer)
                || self.or_pairs(target, &inside, offer)
                || self.xor_pairs(target, offer);
        }
        for &literal in covering.iter().take(OUTER) {
            let rest = self.map(target, literal, |on, off, value| (on, off & value));
            if self.inner(&rest, gates, Gate::AND, self.signal(literal), offer) {
                return true;
            }
        }
        for &literal in inside.iter().take(OUTER) {
            // `inside` lists literals that are false wherever the target must be: used as literals of its
            // negation.
            let literal = DivisorLiteral { negated: !literal.negated, ..literal };
            let rest = self.map(target, literal, |on, off, value| (on & !value, off));
            if self.inner(&rest, gates, Gate::OR, self.signal(literal), offer) {
                return true;
            }
        }
        for divisor in 0..self.nodes.len().min(2 * OUTER) {
            let literal = DivisorLiteral { divisor, negated: false, left: 0 };
            let flip = |on: u64, off: u64, value: u64| {
                ((on & !value) | (off & value), (off & !value) | (on & value))
            };
            let rest = self.map(target, literal, flip);
            if self.inner(&rest, gates, Gate::XOR, self.signal(literal), offer) {
                return true;
            }
        }
        false
    }

    fn inner(
        &self,
        rest: &SearchTarget,
        gates: usize,
        gate: Gate,
        signal: Signal,
        offer: &mut dyn FnMut(Expression) -> bool,
    ) -> bool {
        if rest.is_constant().is_some() {
            return false;
        }
        self.exactly(rest, gates - 1, &mut |expression| offer(expression.under(gate, signal)))
    }

    fn map(
        &self,
        target: &SearchTarget,
        literal: DivisorLiteral,
        rest: impl Fn(u64, u64, u64) -> (u64, u64),
    ) -> SearchTarget {
        let word = |word: usize| rest(target.on[word], target.off[word], self.word(literal, word));
        let (on, off) = (0..self.words).map(word).unzip();
        SearchTarget { on, off }
    }

    /// Literals that are true on all of `all` and not on all of `other`, those that leave the fewest of `other`
    /// first.
    fn covering(&self, all: &[u64], other: &[u64]) -> Vec<DivisorLiteral> {
        let total: u32 = other.iter().map(|word| word.count_ones()).sum();
        let (all_words, other_words) = (densest(all), densest(other));
        let mut literals = vec![];
        for divisor in 0..self.nodes.len() {
            for negated in [false, true] {
                let mut literal = DivisorLiteral { divisor, negated, left: 0 };
                if all_words.iter().all(|&word| all[word] & !self.word(literal, word) == 0) {
                    let left = |&word: &usize| (other[word] & self.word(literal, word)).count_ones();
                    literal.left = other_words.iter().map(left).sum();
                    if literal.left < total {
                        literals.push(literal);
                    }
                }
            }
        }
        literals.sort_by_key(|literal| literal.left);
        literals.truncate(PAIRED);
        literals
    }

    fn and_pairs(
        &self,
        target: &SearchTarget,
        covering: &[DivisorLiteral],
        offer: &mut dyn FnMut(Expression) -> bool,
    ) -> bool {
        self.pairs(&target.off, covering, &mut |a, b| offer(Expression::pair(Gate::AND, a, b)))
    }

    fn or_pairs(
        &self,
        target: &SearchTarget,
        inside: &[DivisorLiteral],
        offer: &mut dyn FnMut(Expression) -> bool,
    ) -> bool {
        self.pairs(&target.on, inside, &mut |a, b| offer(Expression::pair(Gate::NAND, a, b)))
    }

    /// Pairs that are never both true in `other`.
    fn pairs(
        &self,
        other: &[u64],
        literals: &[DivisorLiteral],
        offer: &mut dyn FnMut(Signal, Signal) -> bool,
    ) -> bool {
        let words = densest(other);
        let total: u32 = other.iter().map(|word| word.count_ones()).sum();
        for (n, &a) in literals.iter().enumerate() {
            // Beyond these, both together are true more often than there are patterns.
            for &b in literals[..n].iter().take_while(|b| a.left + b.left <= total) {
                let disjoint = |word: usize| other[word] & self.word(a, word) & self.word(b, word) == 0;
                if words.iter().all(|&word| disjoint(word)) && offer(self.signal(a), self.signal(b)) {
                    return true;
                }
            }
        }
        false
    }

    /// Pairs whose exclusive or is the target, found by a hash of the words with the most requested patterns.
    fn xor_pairs(&self, target: &SearchTarget, offer: &mut dyn FnMut(Expression) -> bool) -> bool {
        let care: Vec<u64> = target.on.iter().zip(&target.off).map(|(on, off)| on | off).collect();
        let words = densest(&care);
        let hashed = &words[..words.len().min(HASHED)];
        let key = |divisor: usize, flip: u64, wanted: bool| {
            let value = self.of(divisor);
            hashed.iter().fold(0u64, |key, &word| {
                let word = ((value[word] ^ flip) & care[word]) ^ if wanted { target.on[word] } else { 0 };
                (key.rotate_left(29) ^ word).wrapping_mul(0x9E37_79B9_7F4A_7C15)
            })
        };
        let is_xor = |a: usize, b: usize, flip: u64| {
            let (a, b) = (self.of(a), self.of(b));
            words.iter().all(|&word| (a[word] ^ b[word] ^ flip) & care[word] == target.on[word])
        };
        let mut known: Vec<(u64, usize)> =
            (0..self.nodes.len()).map(|divisor| (key(divisor, 0, false), divisor)).collect();
        known.sort_unstable();
        for divisor in 0..self.nodes.len() {
            for flip in [0, !0] {
                let wanted = key(divisor, flip, true);
                let first = known.partition_point(|&(key, _)| key < wanted);
                for &(_, other) in known[first..].iter().take_while(|(key, _)| *key == wanted) {
                    if other < divisor && is_xor(divisor, other, flip) {
                        let a = Signal::new(self.nodes[divisor], flip != 0);
                        if offer(Expression::pair(Gate::XOR, a, Signal::new(self.nodes[other], false))) {
                            return true;
                        }
                    }
                }
            }
        }
        false
    }
}

/// The nonzero words, those with the most bits first: there a wrong guess fails soonest.
fn densest(words: &[u64]) -> Vec<usize> {
    let mut places: Vec<usize> = (0..words.len()).filter(|&word| words[word] != 0).collect();
    if places.len() > 16 {
        places.sort_by_key(|&word| std::cmp::Reverse(words[word].count_ones()));
    }
    places
}

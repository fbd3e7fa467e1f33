//! A circuit under optimization: gates can be replaced, and are hashed so that equal ones are shared.
//!
//! Nodes are in *normal form*: a node is false when all sources are false, and a gate is false when both
//! operands are. So a function and its negation are the same node, negations occur only at the roots
//! ([`Signal`]), and only five of the sixteen gates remain: and, the two and-nots, or, xor. Node 0 is the
//! constant, then come the sources, then the gates. Invariant: no two living gates have the same function and
//! operands, and there are no cycles. Start at [`LogicGraph::gate`] and [`LogicGraph::replace`].

mod convert;
mod normal;
mod order;
mod replace;
mod simulation;
mod solver;
mod sweep;

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use crate::gate::Gate;

pub(crate) use normal::{NormalForm, normal_form};
pub(crate) use simulation::{Simulation, exhaustive_word};
pub(crate) use solver::{Prover, SolverAnswer};
pub(crate) use sweep::SweepEffort;

/// A node or its negation.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub(crate) struct Signal(u32);

impl Signal {
    pub(crate) const FALSE: Signal = Signal(0);

    pub(crate) const fn new(node: u32, negated: bool) -> Signal {
        Signal(node << 1 | negated as u32)
    }

    pub(crate) const fn node(self) -> u32 {
        self.0 >> 1
    }

    pub(crate) const fn is_negated(self) -> bool {
        self.0 & 1 == 1
    }

    pub(crate) const fn negated_if(self, condition: bool) -> Signal {
        Signal(self.0 ^ condition as u32)
    }
}

/// A gate in normal form: five functions, operands in ascending order.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Vertex {
    pub(crate) gate: Gate,
    pub(crate) a: u32,
    pub(crate) b: u32,
}

impl Vertex {
    const SOURCE: Vertex = Vertex { gate: Gate::A, a: u32::MAX, b: u32::MAX };
    const DEAD: Vertex = Vertex { gate: Gate::FALSE, a: u32::MAX, b: u32::MAX };
}

/// A multiplicative hash: keys are small tuples, and the iteration order of a map is never used.
#[derive(Default)]
pub(crate) struct QuickHasher(u64);

impl Hasher for QuickHasher {
    fn finish(&self) -> u64 {
        self.0 ^ (self.0 >> 32)
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u64(byte as u64);
        }
    }

    fn write_u8(&mut self, value: u8) {
        self.write_u64(value as u64);
    }

    fn write_u32(&mut self, value: u32) {
        self.write_u64(value as u64);
    }

    fn write_u64(&mut self, value: u64) {
        self.0 = (self.0.rotate_left(23) ^ value).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    }
}

/// A map with a fast hash that is the same in every run.
pub(crate) type QuickMap<K, V> = HashMap<K, V, BuildHasherDefault<QuickHasher>>;

/// The circuit. See the module.
#[derive(Clone)]
pub(crate) struct LogicGraph {
    sources: usize,
    vertices: Vec<Vertex>,
    /// Readers and roots of each node. [`LogicGraph::release`] counts down and back up.
    references: Vec<u32>,
    readers: Vec<Vec<u32>>,
    index: QuickMap<(u8, u32, u32), u32>,
    roots: Vec<Signal>,
    roots_of: QuickMap<u32, Vec<u32>>,
    living: usize,
}

impl LogicGraph {
    pub(crate) fn new(sources: usize) -> LogicGraph {
        LogicGraph {
            sources,
            vertices: vec![Vertex::SOURCE; sources + 1],
            references: vec![0; sources + 1],
            readers: vec![vec![]; sources + 1],
            index: QuickMap::default(),
            roots: vec![],
            roots_of: QuickMap::default(),
            living: 0,
        }
    }

    /// How many sources there are; source `n` is node `n + 1`.
    pub(crate) fn sources(&self) -> usize {
        self.sources
    }

    pub(crate) fn source(&self, source: usize) -> Signal {
        debug_assert!(source < self.sources);
        Signal::new(source as u32 + 1, false)
    }

    /// One past the largest node index, including dead ones.
    pub(crate) fn limit(&self) -> usize {
        self.vertices.len()
    }

    /// Living gates.
    pub(crate) fn gates(&self) -> usize {
        self.living
    }

    pub(crate) fn is_gate(&self, node: u32) -> bool {
        let vertex = &self.vertices[node as usize];
        vertex.gate != Gate::A && vertex.gate != Gate::FALSE
    }

    /// Whether the node may be read: a source, the constant or a living gate.
    #[cfg(test)]
    pub(crate) fn is_alive(&self, node: u32) -> bool {
        self.vertices[node as usize].gate != Gate::FALSE
    }

    /// The gate of a node that [is one](LogicGraph::is_gate).
    pub(crate) fn vertex(&self, node: u32) -> Vertex {
        debug_assert!(self.is_gate(node));
        self.vertices[node as usize]
    }

    pub(crate) fn readers(&self, node: u32) -> &[u32] {
        &self.readers[node as usize]
    }

    pub(crate) fn references(&self, node: u32) -> u32 {
        self.references[node as usize]
    }

    pub(crate) fn is_root(&self, node: u32) -> bool {
        self.roots_of.get(&node).is_some_and(|roots| !roots.is_empty())
    }

    pub(crate) fn roots(&self) -> &[Signal] {
        &self.roots
    }

    pub(crate) fn add_root(&mut self, signal: Signal) {
        self.references[signal.node() as usize] += 1;
        self.roots_of.entry(signal.node()).or_default().push(self.roots.len() as u32);
        self.roots.push(signal);
    }

    /// What [`LogicGraph::gate`] would return, if that needs no new gate.
    pub(crate) fn find(&self, gate: Gate, a: Signal, b: Signal) -> Option<Signal> {
        match normal_form(gate, a, b) {
            NormalForm::Signal(signal) => Some(signal),
            NormalForm::Gate(vertex, negated) => {
                let node = self.index.get(&key(vertex))?;
                Some(Signal::new(*node, negated))
            }
        }
    }

    /// The signal that is this gate of two signals; reuses an existing one.
    pub(crate) fn gate(&mut self, gate: Gate, a: Signal, b: Signal) -> Signal {
        match normal_form(gate, a, b) {
            NormalForm::Signal(signal) => signal,
            NormalForm::Gate(vertex, negated) => {
                let node = match self.index.get(&key(vertex)) {
                    Some(&node) => node,
                    None => self.push(vertex),
                };
                Signal::new(node, negated)
            }
        }
    }

    fn push(&mut self, vertex: Vertex) -> u32 {
        let node = self.vertices.len() as u32;
        self.vertices.push(vertex);
        self.references.push(0);
        self.readers.push(vec![]);
        self.index.insert(key(vertex), node);
        self.living += 1;
        for operand in [vertex.a, vertex.b] {
            self.references[operand as usize] += 1;
            self.readers[operand as usize].push(node);
        }
        node
    }

    /// Removes a gate that nobody reads, and everything that only it read.
    pub(crate) fn remove_if_unread(&mut self, node: u32) {
        let mut doubtful = vec![node];
        while let Some(node) = doubtful.pop() {
            if self.references[node as usize] > 0 || !self.is_gate(node) {
                continue;
            }
            let vertex = self.vertices[node as usize];
            self.forget(node, vertex);
            for operand in [vertex.a, vertex.b] {
                self.detach(operand, node);
                doubtful.push(operand);
            }
            self.vertices[node as usize] = Vertex::DEAD;
            self.living -= 1;
        }
    }

    /// Protects a node that nobody reads yet from removal, until [`LogicGraph::let_go`].
    pub(crate) fn hold(&mut self, node: u32) {
        self.references[node as usize] += 1;
    }

    /// Undoes [`LogicGraph::hold`]; removes nothing.
    pub(crate) fn let_go(&mut self, node: u32) {
        self.references[node as usize] -= 1;
    }

    /// Frees the indices of dead nodes at the end.
    pub(crate) fn trim(&mut self) {
        while self.vertices.last() == Some(&Vertex::DEAD) {
            self.vertices.pop();
            self.references.pop();
            self.readers.pop();
        }
    }

    /// Counts a gate as removed, with everything that only it reads; returns how many gates that frees.
    /// [`LogicGraph::retain`] must follow before anything is changed.
    pub(crate) fn release(&mut self, node: u32) -> usize {
        let mut freed = 0;
        let mut pending = vec![node];
        while let Some(node) = pending.pop() {
            freed += 1;
            let Vertex { a, b, .. } = self.vertex(node);
            for operand in [a, b] {
                self.references[operand as usize] -= 1;
                if self.references[operand as usize] == 0 && self.is_gate(operand) {
                    pending.push(operand);
                }
            }
        }
        freed
    }

    /// Undoes [`LogicGraph::release`].
    pub(crate) fn retain(&mut self, node: u32) -> usize {
        let mut kept = 0;
        let mut pending = vec![node];
        while let Some(node) = pending.pop() {
            kept += 1;
            let Vertex { a, b, .. } = self.vertex(node);
            for operand in [a, b] {
                self.references[operand as usize] += 1;
                if self.references[operand as usize] == 1 && self.is_gate(operand) {
                    pending.push(operand);
                }
            }
        }
        kept
    }

    /// Adds a reader to a node while some gate is [released](LogicGraph::release); returns how many freed gates that
    /// brings back.
    pub(crate) fn refer(&mut self, node: u32) -> usize {
        self.references[node as usize] += 1;
        if self.references[node as usize] == 1 && self.is_gate(node) { self.retain(node) } else { 0 }
    }

    /// Undoes [`LogicGraph::refer`].
    pub(crate) fn unrefer(&mut self, node: u32) {
        self.references[node as usize] -= 1;
        if self.references[node as usize] == 0 && self.is_gate(node) {
            self.release(node);
        }
    }

    fn forget(&mut self, node: u32, vertex: Vertex) {
        if self.index.get(&key(vertex)) == Some(&node) {
            self.index.remove(&key(vertex));
        }
    }

    fn detach(&mut self, operand: u32, reader: u32) {
        let readers = &mut self.readers[operand as usize];
        let place = readers.iter().position(|&node| node == reader).expect("a reader is in the list");
        readers.swap_remove(place);
        self.references[operand as usize] -= 1;
    }
}

fn key(vertex: Vertex) -> (u8, u32, u32) {
    (vertex.gate.number(), vertex.a, vertex.b)
}

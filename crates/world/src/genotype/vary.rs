//! Random genotypes, mutation and crossover. All of it is a pure function of genotypes and a stream of draws.
//!
//! Invariant: what comes out passes [`Genotype::check`]; whether it grows is another question. Numbers are
//! rounded, so that files are short and say exactly what ran.

use super::check::{
    ALONG, ANGLE, BEATS, CLOCK, DENSITY, GeneRange, LEAN, LENGTH, RADIUS, SCALE, STRENGTH, SWING, WEIGHT,
};
use super::{
    Draws, GENOTYPE_VERSION, GeneEdge, GeneJoint, GeneNetwork, GeneNode, Genotype, MOST_EDGES, MOST_NODES,
    PART_AXES, PART_INPUTS, PART_NEURONS,
};

/// Tries of [`Genotype::random`] and [`Genotype::child`] until a body grows.
const TRIES: usize = 64;

/// What may vary.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum VariedGenes {
    /// Bodies and networks.
    #[default]
    All,
    /// Bodies only.
    Body,
    /// Networks and clocks only.
    Network,
}

impl VariedGenes {
    fn body(self) -> bool {
        self != VariedGenes::Network
    }

    fn network(self) -> bool {
        self != VariedGenes::Body
    }
}

/// How much genotypes vary.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Variation {
    /// What may vary.
    pub genes: VariedGenes,
    /// The probability that a number of a body changes.
    pub rate: f64,
    /// The probability that a weight changes.
    pub weight_rate: f64,
    /// The deviation of a change, relative to a number's range; of a weight, absolute.
    pub step: f64,
    /// The probability that a part or an edge is added, copied or removed.
    pub structure: f64,
    /// The probability that a child has two parents.
    pub crossover: f64,
}

impl Default for Variation {
    fn default() -> Variation {
        Variation {
            genes: VariedGenes::All,
            rate: 0.1,
            weight_rate: 0.15,
            step: 0.1,
            structure: 0.2,
            crossover: 0.2,
        }
    }
}

fn rounded(value: f64) -> f64 {
    (value * 1e4).round() / 1e4
}

fn drawn(range: &GeneRange, draws: &mut Draws) -> f64 {
    rounded(draws.between(range.low, range.high))
}

/// Perhaps another number, near the old one.
fn nudge(value: &mut f64, range: &GeneRange, variation: &Variation, draws: &mut Draws) {
    if draws.chance(variation.rate) {
        let step = variation.step * (range.high - range.low) * draws.normal();
        *value = rounded(range.kept(*value + step));
    }
}

fn flip(value: &mut bool, variation: &Variation, draws: &mut Draws) {
    if draws.chance(variation.rate / 2.0) {
        *value = !*value;
    }
}

impl GeneNetwork {
    fn random(draws: &mut Draws) -> GeneNetwork {
        let mut rows = |count: usize, width: usize, deviation: f64| -> Vec<Vec<f64>> {
            let mut row = || (0..width).map(|_| rounded(WEIGHT.kept(deviation * draws.normal()))).collect();
            (0..count).map(|_| row()).collect()
        };
        let neurons = rows(PART_NEURONS, PART_INPUTS.len(), 0.7);
        GeneNetwork { neurons, outputs: rows(PART_AXES, PART_NEURONS, 0.7) }
    }

    fn vary(&mut self, variation: &Variation, draws: &mut Draws) {
        for weight in self.neurons.iter_mut().chain(&mut self.outputs).flatten() {
            if draws.chance(variation.weight_rate) {
                *weight = rounded(WEIGHT.kept(*weight + 4.0 * variation.step * draws.normal()));
            }
        }
    }
}

impl GeneNode {
    fn random(name: String, draws: &mut Draws) -> GeneNode {
        GeneNode {
            name,
            length: rounded(draws.between(0.1, 0.6)),
            radius: rounded(draws.between(0.04, 0.12)),
            density: 500.0,
            repeats: if draws.chance(0.4) { 1 + draws.below(3) } else { 0 },
            joint: GeneJoint {
                axes: 1 + draws.below(PART_AXES),
                swing: rounded(draws.between(0.3, 1.2)),
                strength: rounded(draws.between(0.3, 1.5)),
            },
            network: GeneNetwork::random(draws),
        }
    }

    fn vary(&mut self, variation: &Variation, draws: &mut Draws) {
        if variation.genes.network() {
            self.network.vary(variation, draws);
        }
        if variation.genes.body() {
            nudge(&mut self.length, &LENGTH, variation, draws);
            nudge(&mut self.radius, &RADIUS, variation, draws);
            nudge(&mut self.density, &DENSITY, variation, draws);
            nudge(&mut self.joint.swing, &SWING, variation, draws);
            nudge(&mut self.joint.strength, &STRENGTH, variation, draws);
            if draws.chance(variation.rate / 2.0) {
                self.repeats = draws.below(5);
            }
            if draws.chance(variation.rate / 2.0) {
                self.joint.axes = 1 + draws.below(PART_AXES);
            }
        }
    }
}

impl GeneEdge {
    fn random(from: &str, to: &str, draws: &mut Draws) -> GeneEdge {
        GeneEdge {
            from: from.into(),
            to: to.into(),
            along: drawn(&ALONG, draws),
            around: drawn(&ANGLE, draws),
            lean: drawn(&LEAN, draws),
            twist: drawn(&ANGLE, draws),
            scale: rounded(draws.between(0.7, 1.1)),
            mirror: draws.chance(0.5),
            last: draws.chance(0.2),
            phase: rounded(draws.between(-0.5, 0.5)),
            opposite: if draws.chance(0.5) { 0.5 } else { 0.0 },
        }
    }

    fn vary(&mut self, variation: &Variation, draws: &mut Draws) {
        if variation.genes.network() {
            nudge(&mut self.phase, &BEATS, variation, draws);
            nudge(&mut self.opposite, &BEATS, variation, draws);
        }
        if variation.genes.body() {
            nudge(&mut self.along, &ALONG, variation, draws);
            nudge(&mut self.around, &ANGLE, variation, draws);
            nudge(&mut self.lean, &LEAN, variation, draws);
            nudge(&mut self.twist, &ANGLE, variation, draws);
            nudge(&mut self.scale, &SCALE, variation, draws);
            flip(&mut self.mirror, variation, draws);
            flip(&mut self.last, variation, draws);
        }
    }
}

impl Genotype {
    /// A random genotype whose body grows.
    pub fn random(seed: u64) -> Genotype {
        Genotype::drawn(&mut Draws::new(seed, 0))
    }

    /// A random genotype whose body grows, from a stream.
    pub fn drawn(draws: &mut Draws) -> Genotype {
        loop {
            let found = Genotype::any(draws);
            if found.grown().is_ok() {
                return found;
            }
        }
    }

    fn any(draws: &mut Draws) -> Genotype {
        let count = 1 + draws.below(3);
        let nodes: Vec<GeneNode> = (0..count).map(|n| GeneNode::random(format!("n{n}"), draws)).collect();
        let mut edges: Vec<GeneEdge> = vec![];
        // Every node but the first is carried by one before it; a few more edges join any two.
        for n in 1..count {
            edges.push(GeneEdge::random(&nodes[draws.below(n)].name, &nodes[n].name, draws));
        }
        for _ in 0..1 + draws.below(2) {
            let (from, to) = (draws.below(count), draws.below(count));
            edges.push(GeneEdge::random(&nodes[from].name, &nodes[to].name, draws));
        }
        Genotype {
            version: GENOTYPE_VERSION,
            name: "creature".into(),
            root: nodes[0].name.clone(),
            clock: rounded(draws.between(0.6, 2.5)),
            nodes,
            edges,
        }
    }

    /// A child that grows, of one parent or two; and how many before it did not grow. If none of many does, it is
    /// the parent itself.
    pub fn child(&self, other: &Genotype, variation: &Variation, draws: &mut Draws) -> (Genotype, usize) {
        for refused in 0..TRIES {
            let crossed = variation.genes.body() && draws.chance(variation.crossover);
            let parent = if crossed { self.crossed(other, draws) } else { self.clone() };
            let child = parent.mutated(variation, draws);
            if child.grown().is_ok() {
                return (child, refused);
            }
        }
        (self.clone(), TRIES)
    }

    /// The same with a few changes.
    pub fn mutated(&self, variation: &Variation, draws: &mut Draws) -> Genotype {
        let mut new = self.clone();
        if variation.genes.network() {
            nudge(&mut new.clock, &CLOCK, variation, draws);
        }
        if variation.genes.body() && draws.chance(variation.structure) {
            new.restructure(draws);
        }
        new.nodes.iter_mut().for_each(|node| node.vary(variation, draws));
        new.edges.iter_mut().for_each(|edge| edge.vary(variation, draws));
        new.tidy();
        new
    }

    /// One node or edge more, or one edge less or elsewhere.
    fn restructure(&mut self, draws: &mut Draws) {
        let name = |genotype: &Genotype, draws: &mut Draws| {
            genotype.nodes[draws.below(genotype.nodes.len())].name.clone()
        };
        match draws.below(4) {
            0 if self.nodes.len() < MOST_NODES && self.edges.len() < MOST_EDGES => {
                let free = (0..).map(|n| format!("n{n}")).find(|name| self.node(name).is_none());
                let free = free.expect("there are enough numbers");
                // A copy of another node, or a new one.
                let node = match draws.chance(0.5) {
                    true => {
                        GeneNode { name: free.clone(), ..self.nodes[draws.below(self.nodes.len())].clone() }
                    }
                    false => GeneNode::random(free.clone(), draws),
                };
                let from = name(self, draws);
                self.edges.push(GeneEdge::random(&from, &free, draws));
                self.nodes.push(node);
            }
            1 if self.edges.len() < MOST_EDGES => {
                let (from, to) = (name(self, draws), name(self, draws));
                self.edges.push(GeneEdge::random(&from, &to, draws));
            }
            2 if self.edges.len() > 1 => {
                self.edges.remove(draws.below(self.edges.len()));
            }
            _ if !self.edges.is_empty() => {
                let (to, edge) = (name(self, draws), draws.below(self.edges.len()));
                self.edges[edge].to = to;
            }
            _ => {}
        }
    }

    /// A part of another genotype grafted onto this one, or its first nodes with the last of the other.
    pub fn crossed(&self, other: &Genotype, draws: &mut Draws) -> Genotype {
        let mut new = self.clone();
        if draws.chance(0.5) {
            // Nodes keep their places, so edges still find a node of that place.
            let cut = draws.below(self.nodes.len().min(other.nodes.len()) + 1);
            for (place, node) in other.nodes.iter().enumerate().skip(cut) {
                match new.nodes.get_mut(place) {
                    Some(own) => *own = GeneNode { name: own.name.clone(), ..node.clone() },
                    None => break,
                }
            }
        } else {
            let onto = new.nodes[draws.below(new.nodes.len())].name.clone();
            new.graft(other, other.nodes[draws.below(other.nodes.len())].name.clone(), &onto, draws);
        }
        new.tidy();
        new
    }

    /// Takes a node of another genotype with all that it carries, as far as there is room.
    fn graft(&mut self, other: &Genotype, first: String, onto: &str, draws: &mut Draws) {
        let mut names: Vec<(String, String)> = vec![];
        let mut wanted = vec![first];
        while let Some(old) = wanted.pop() {
            if names.iter().any(|(known, _)| *known == old) || self.nodes.len() == MOST_NODES {
                continue;
            }
            let free = (0..).map(|n| format!("n{n}")).find(|name| self.node(name).is_none());
            let free = free.expect("there are enough numbers");
            let node = &other.nodes[other.node(&old).expect("checked")];
            self.nodes.push(GeneNode { name: free.clone(), ..node.clone() });
            wanted.extend(other.edges.iter().filter(|edge| edge.from == old).map(|edge| edge.to.clone()));
            names.push((old, free));
        }
        let Some((_, top)) = names.first() else { return };
        let renamed = |name: &str| names.iter().find(|(old, _)| old == name).map(|(_, new)| new.clone());
        self.edges.push(GeneEdge::random(onto, top, draws));
        for edge in &other.edges {
            if let (Some(from), Some(to)) = (renamed(&edge.from), renamed(&edge.to)) {
                self.edges.push(GeneEdge { from, to, ..edge.clone() });
            }
        }
        self.edges.truncate(MOST_EDGES);
    }

    /// Drops nodes that nothing leads to, and their edges.
    fn tidy(&mut self) {
        let mut live = vec![self.root.clone()];
        let mut next = 0;
        while let Some(name) = live.get(next).cloned() {
            for edge in self.edges.iter().filter(|edge| edge.from == name) {
                if !live.contains(&edge.to) {
                    live.push(edge.to.clone());
                }
            }
            next += 1;
        }
        self.nodes.retain(|node| live.contains(&node.name));
        self.edges.retain(|edge| live.contains(&edge.from) && live.contains(&edge.to));
    }
}

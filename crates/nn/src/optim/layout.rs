//! Where every trained parameter lies in an optimizer's array.
//!
//! Invariant: the parameters of a group, which have the same settings, lie side by side. So an element finds
//! its group's numbers by comparing its position with a few ends, and one kernel updates all groups.

use std::hash::{Hash, Hasher};

use farad_ir::{Binary, DType, Graph, NodeId, Op, Scalar, Shape};

use super::rule::AnyRule;

/// Slots start at multiples of this many elements: 256 bytes.
const SLOT: usize = 64;

/// What a parameter's numbers depend on, apart from its shape.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub(super) struct Member {
    /// Which group of the optimizer it belongs to.
    pub group: usize,
    /// How many steps the optimizer had taken when the parameter came in: its own steps count from there.
    pub born: u64,
}

/// The place of one parameter.
#[derive(Clone, Copy, Hash, Debug)]
pub struct Slot {
    /// Which parameter of the optimizer it is.
    pub parameter: usize,
    /// Its first element.
    pub offset: usize,
    /// The parameter's sizes.
    pub shape: Shape,
    /// What the rule calls parameters of this shape ([`UpdateRule::class`](super::UpdateRule::class)).
    pub class: usize,
}

/// Parameters side by side that have the same numbers.
#[derive(Clone, Copy, Debug)]
pub(super) struct NumberSegment {
    pub member: Member,
    pub class: usize,
    pub end: usize,
}

impl Hash for NumberSegment {
    /// Whose numbers they are is no part of the program.
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.class, self.end).hash(state);
    }
}

/// The places of all parameters that are trained.
#[derive(Clone, Hash, Debug, Default)]
pub(super) struct ParameterLayout {
    pub slots: Vec<Slot>,
    pub segments: Vec<NumberSegment>,
    pub len: usize,
    /// Which parameters of the optimizer have a slot.
    pub trained: Vec<bool>,
}

impl ParameterLayout {
    /// Places for the parameters that are trained, by class, then by group, then in order. In classes above
    /// the lowest, those of equal shape come together.
    pub fn new(
        shapes: &[Shape],
        members: &[Member],
        trained: Vec<bool>,
        rule: &dyn AnyRule,
    ) -> ParameterLayout {
        let mut order: Vec<(usize, Member, &[usize], usize)> = (0..shapes.len())
            .filter(|&n| trained[n])
            .map(|n| match rule.class(shapes[n]) {
                0 => (0, members[n], &[][..], n),
                class => (class, members[n], &shapes[n][..], n),
            })
            .collect();
        order.sort();
        let mut layout = ParameterLayout { trained, ..ParameterLayout::default() };
        for (class, member, _, parameter) in order {
            let shape = shapes[parameter];
            layout.slots.push(Slot { parameter, offset: layout.len, shape, class });
            layout.len += shape.numel().next_multiple_of(SLOT);
            match layout.segments.last_mut() {
                Some(last) if last.class == class && last.member == member => last.end = layout.len,
                _ => layout.segments.push(NumberSegment { member, class, end: layout.len }),
            }
        }
        layout
    }

    pub fn offsets(&self) -> Vec<usize> {
        self.slots.iter().map(|slot| slot.offset).collect()
    }

    /// How long the array of a moment is: to the end of the last class that keeps it.
    pub fn state_len(&self, rule: &dyn AnyRule, state: usize) -> usize {
        let kept = self.segments.iter().filter(|segment| rule.keeps(state, segment.class));
        kept.map(|segment| segment.end).max().unwrap_or(0)
    }

    /// The numbers of every segment, repeated over its elements: one node of the array's length per number.
    pub fn spread(&self, graph: &mut Graph, numbers: &[NodeId]) -> Vec<NodeId> {
        let shape = Shape::new(&[self.len]);
        let count = numbers.len() / self.segments.len().max(1);
        let inner = &self.segments[..self.segments.len().saturating_sub(1)];
        let before = inner.iter().map(|segment| before(graph, self.len, segment.end)).collect::<Vec<_>>();
        let mut all = Vec::with_capacity(count);
        for n in 0..count {
            let mut of = numbers.iter().skip(n).step_by(count).rev();
            let mut value = graph.spread(*of.next().expect("a number of the last segment"), shape);
            for (&number, &before) in of.zip(before.iter().rev()) {
                let number = graph.spread(number, shape);
                value = graph.select(before, number, value);
            }
            all.push(value);
        }
        all
    }
}

/// Which elements of an array come before a position.
pub(super) fn before(graph: &mut Graph, len: usize, end: usize) -> NodeId {
    let position = graph.push(Op::Iota(len), &[]);
    let end = graph.fill(Scalar::int(DType::I32, end as i64), Shape::new(&[len]));
    graph.binary(Binary::Less, position, end)
}

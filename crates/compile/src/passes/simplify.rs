//! Removes redundant work: constants, identities, movement ops that undo each other, common subexpressions,
//! dead nodes.
//!
//! Invariant: values change at most by rounding. `0 · x`, `x - x` and `x / x` stay, because `x` may be infinite
//! or NaN. So does `x + 0` on floats, because it turns -0 into 0.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use farad_ir::{Binary, DType, Graph, Node, NodeId, Op, Reduce, Scalar, Scan, Shape, Span, Unary};

use crate::fusion::product::Roles;

/// The graph with only what `outputs` need, and the new outputs.
pub fn simplify(graph: &Graph, outputs: &[NodeId]) -> (Graph, Vec<NodeId>) {
    let needed = graph.reachable(outputs);
    let mut pass =
        Simplify { graph: Graph::new(), seen: HashMap::new(), flat: HashSet::new(), cut: HashSet::new() };
    let mut readers = vec![Vec::new(); graph.nodes.len()];
    for id in graph.ids().filter(|id| needed[id.index()]) {
        graph.node(id).operands.iter().for_each(|o| readers[o.index()].push(id));
    }
    let mut users: Vec<usize> = readers.iter().map(Vec::len).collect();
    outputs.iter().for_each(|o| users[o.index()] += 1);
    let wider = wider_scans(graph, &needed);
    let map = graph.rewrite(graph.needed(outputs), |id, mut node| {
        let old = &graph.node(id).operands;
        if let Op::Permute(order) = &node.op
            && used_once(graph, old[0], &users)
            && let Some(product) = pass.permuted_product(order, node.operands[0])
        {
            return product;
        }
        if let Some(scan) = wider.get(&id) {
            node.op = Op::Scan(Arc::clone(scan));
        }
        let sliced = matches!(node.op, Op::Slice(_));
        let new = pass.add(Node { region: None, ..node });
        if sliced && cut_up(graph, old[0], &readers) {
            pass.cut.insert(new);
        }
        new
    });
    prune(&pass.graph, &map.all(outputs))
}

/// Whether a node is read only in slices that together cover it and are all cast to the same half-precision
/// dtype. Then the whole is cast once, and the slices are views.
fn cut_up(graph: &Graph, whole: NodeId, readers: &[Vec<NodeId>]) -> bool {
    let slices = &readers[whole.index()];
    let size: usize = slices.iter().map(|&id| graph.shape(id).numel()).sum();
    let is_f16 =
        |&id: &NodeId| matches!(graph.node(id).op, Op::Slice(_)) && becomes_halves(graph, id, readers);
    size == graph.shape(whole).numel() && slices.iter().all(is_f16)
}

/// Whether a node only goes through movement ops and then a cast to half precision.
fn becomes_halves(graph: &Graph, id: NodeId, readers: &[Vec<NodeId>]) -> bool {
    let mut at = id;
    while let [reader] = readers[at.index()][..] {
        match graph.node(reader).op {
            Op::Cast(to) => return to == DType::F16,
            Op::Permute(_) | Op::Reshape(_) => at = reader,
            _ => return false,
        }
    }
    false
}

/// Whether a node has one user and, if it is a cast, its operand has one as well.
fn used_once(graph: &Graph, id: NodeId, users: &[usize]) -> bool {
    let mut at = id;
    while users[at.index()] == 1 {
        if !matches!(graph.node(at).op, Op::Cast(_)) {
            return true;
        }
        at = graph.node(at).operands[0];
    }
    false
}

/// Drops nodes that the outputs do not need.
fn prune(graph: &Graph, outputs: &[NodeId]) -> (Graph, Vec<NodeId>) {
    let mut kept = Graph::new();
    let map = graph.rewrite(graph.needed(outputs), |_, node| kept.append(node));
    let outputs = map.all(outputs);
    (kept, outputs)
}

/// Scans whose results another scan over the same operands also gives (a gradient asks for the carries too).
/// Each is replaced by the wider scan, and equal nodes are merged.
fn wider_scans(graph: &Graph, needed: &[bool]) -> HashMap<NodeId, Arc<Scan>> {
    let scans: Vec<(NodeId, &Arc<Scan>)> = graph
        .ids()
        .filter(|id| needed[id.index()])
        .filter_map(|id| match &graph.node(id).op {
            Op::Scan(scan) => Some((id, scan)),
            _ => None,
        })
        .collect();
    let mut wider = HashMap::new();
    for (i, (narrow, n)) in scans.iter().enumerate() {
        for (wide, w) in &scans[i + 1..] {
            let same = graph.node(*wide).operands == graph.node(*narrow).operands;
            let prefix = w.outputs.starts_with(&n.outputs) && w.body.nodes.starts_with(&n.body.nodes);
            if same && prefix && (w.carries, w.steps, w.reverse) == (n.carries, n.steps, n.reverse) {
                wider.insert(*narrow, Arc::clone(w));
            }
        }
    }
    wider
}

struct Simplify {
    graph: Graph,
    seen: HashMap<Node, NodeId>,
    /// Pointwise nodes that were moved to the shape of the contraction that they follow.
    flat: HashSet<NodeId>,
    /// Slices of nodes that are cast as a whole.
    cut: HashSet<NodeId>,
}

impl Simplify {
    fn add(&mut self, node: Node) -> NodeId {
        if let Some(id) = self.rewrite(&node) {
            return id;
        }
        let mut node = node;
        if matches!(node.op, Op::Binary(b) if b.commutes()) {
            node.operands.sort();
        }
        if let Some(&id) = self.seen.get(&node) {
            return id;
        }
        let id = self.graph.append(node.clone());
        self.seen.insert(node, id);
        id
    }

    fn push(&mut self, op: Op, operands: &[NodeId]) -> NodeId {
        let of: Vec<(Shape, DType)> =
            operands.iter().map(|&o| (self.graph.shape(o), self.graph.dtype(o))).collect();
        let (shape, dtype) =
            op.infer(&of).unwrap_or_else(|error| panic!("simplify built an invalid op: {error}"));
        self.add(Node { op, operands: operands.to_vec(), shape, dtype, location: None, region: None })
    }

    fn fill(&mut self, scalar: Scalar, shape: Shape) -> NodeId {
        let constant = self.push(Op::Constant(scalar), &[]);
        self.spread(constant, shape)
    }

    /// One number expanded to a shape.
    fn spread(&mut self, number: NodeId, shape: Shape) -> NodeId {
        if shape.rank() == 0 {
            return number;
        }
        let ones = self.push(Op::Reshape(Shape::new(&vec![1; shape.rank()])), &[number]);
        self.push(Op::Expand(shape), &[ones])
    }

    /// If the result of a contraction is only used permuted, or cast and permuted, the contraction writes it in
    /// that order.
    fn permuted_product(&mut self, order: &[usize], x: NodeId) -> Option<NodeId> {
        let (mut casts, mut at) = (Vec::new(), x);
        while let Op::Cast(to) = self.graph.node(at).op {
            casts.push(to);
            at = self.graph.node(at).operands[0];
        }
        let inner = self.graph.node(at).clone();
        let Op::Contract(contraction) = &inner.op else { return None };
        let mut permuted = (**contraction).clone();
        permuted.out = order.iter().map(|&axis| contraction.out[axis]).collect();
        // Batch axes come first in a matrix product. Do not permute if the result would no longer run as a
        // product.
        if Roles::of(contraction).is_some() && Roles::of(&permuted).is_none() {
            return None;
        }
        let product = self.push(Op::Contract(permuted.into()), &inner.operands);
        Some(casts.into_iter().rev().fold(product, |x, to| self.push(Op::Cast(to), &[x])))
    }

    /// The value of every element of a node, if it is constant, as its dtype holds it.
    fn constant(&self, id: NodeId) -> Option<Scalar> {
        let mut at = id;
        loop {
            let node = self.graph.node(at);
            match &node.op {
                Op::Constant(scalar) if scalar.dtype == DType::F32 => {
                    return Some(Scalar::f32(scalar.as_f64() as f32));
                }
                Op::Constant(scalar) => return Some(*scalar),
                Op::Reshape(_) | Op::Expand(_) | Op::Permute(_) | Op::Slice(_) | Op::Flip(_) => {
                    at = node.operands[0];
                }
                _ => return None,
            }
        }
    }

    /// The scalar node that gives the value of every element: a constant, a parameter, or a product of these.
    fn number(&self, id: NodeId) -> Option<NodeId> {
        let mut at = id;
        while self.graph.node(at).op.is_movement() {
            if matches!(self.graph.node(at).op, Op::Pad(_)) {
                return None;
            }
            at = self.graph.node(at).operands[0];
        }
        let node = self.graph.node(at);
        let is_number = |id: &NodeId| matches!(self.graph.node(*id).op, Op::Constant(_) | Op::Parameter(_));
        let product = || matches!(node.op, Op::Binary(Binary::Mul)) && node.operands.iter().all(is_number);
        (node.shape.rank() == 0 && (is_number(&at) || product())).then_some(at)
    }

    fn is(&self, id: NodeId, value: f64) -> bool {
        self.constant(id).is_some_and(|s| s.as_f64() == value)
    }

    /// Whether adding a constant changes nothing: zero beside integers, -0 beside floats, since -0 + 0 is 0.
    fn adds_nothing(&self, id: NodeId) -> bool {
        let negative = |s: Scalar| !s.dtype.is_float() || s.as_f64().is_sign_negative();
        self.constant(id).is_some_and(|s| s.as_f64() == 0.0 && negative(s))
    }

    /// Whether subtracting a constant changes nothing: zero, but not -0 beside floats.
    fn takes_nothing(&self, id: NodeId) -> bool {
        self.is(id, 0.0) && self.constant(id).is_some_and(|s| !s.as_f64().is_sign_negative())
    }

    fn rewrite(&mut self, node: &Node) -> Option<NodeId> {
        let x = *node.operands.first()?;
        let (from, inner) = (self.graph.shape(x), self.graph.node(x).clone());
        if self.is_nothing(node) {
            let value = match &node.op {
                Op::Reduce(reduce, _) if reduce.takes_nothing() => reduce.identity(node.dtype).as_f64(),
                _ => 0.0,
            };
            return Some(self.fill(Scalar::of(node.dtype, value), node.shape));
        }
        if node.op.is_pointwise()
            && !matches!(node.op, Op::StopGradient)
            && let Some(id) = self.follow_contraction(node)
        {
            return Some(id);
        }
        match &node.op {
            Op::StopGradient => Some(x),
            Op::Cast(to) if *to == inner.dtype => Some(x),
            Op::Cast(to) => match self.constant(x) {
                Some(s) => Some(self.fill(s.cast(*to), node.shape)),
                None => self.narrowed(*to, x, &inner),
            },
            Op::Unary(unary) => self.unary(*unary, x, &inner, node),
            Op::Binary(binary) => self.binary(*binary, x, node.operands[1], node),
            Op::Select => match self.constant(x) {
                Some(s) => Some(node.operands[if s.as_i64() != 0 { 1 } else { 2 }]),
                None => (node.operands[1] == node.operands[2]).then(|| node.operands[1]),
            },
            Op::Reduce(reduce, axes) => self.reduce(*reduce, axes, x, node),
            op if op.is_movement() => self.movement(op, x, from, &inner, node.shape),
            _ => None,
        }
    }

    /// Moves a cast to fewer bytes before the movement op below it, so that all views of a tensor share one
    /// cast.
    fn narrowed(&mut self, to: DType, id: NodeId, moved: &Node) -> Option<NodeId> {
        let (mut moves, mut at) = (Vec::new(), id);
        loop {
            let node = self.graph.node(at);
            match node.op {
                Op::Permute(_) | Op::Reshape(_) | Op::Expand(_) => {}
                Op::Slice(_) if self.cut.contains(&at) => {}
                _ => break,
            }
            moves.push(node.op.clone());
            at = node.operands[0];
        }
        if moves.is_empty() || to.size() >= moved.dtype.size() {
            return None;
        }
        let cast = self.push(Op::Cast(to), &[at]);
        Some(moves.into_iter().rev().fold(cast, |x, op| self.push(op, &[x])))
    }

    /// Pointwise work on a reshaped product (a batch of rows folded into one axis) moves to the product's own
    /// shape, so that the product's kernel can do it.
    fn follow_contraction(&mut self, node: &Node) -> Option<NodeId> {
        let source = |pass: &Simplify, id: NodeId| match &pass.graph.node(id).op {
            Op::Reshape(_) => Some(pass.graph.node(id).operands[0]),
            _ => None,
        };
        let follows = |pass: &Simplify, id: NodeId| {
            source(pass, id)
                .filter(|&x| matches!(pass.graph.node(x).op, Op::Contract(_)) || pass.flat.contains(&x))
        };
        let flat = node.operands.iter().find_map(|&o| follows(self, o))?;
        let shape = self.graph.shape(flat);
        if shape.rank() >= node.shape.rank() {
            return None;
        }
        let operands: Vec<NodeId> =
            node.operands.iter().map(|&o| self.push(Op::Reshape(shape), &[o])).collect();
        let inner = self.add(Node { op: node.op.clone(), operands, shape, ..node.clone() });
        self.flat.insert(inner);
        Some(self.push(Op::Reshape(node.shape), &[inner]))
    }

    /// A reshape that only merges axes of an expand becomes an expand of a reshape, if each merged group is
    /// either all expanded or not at all.
    fn merged_expand(&mut self, source: NodeId, from: Shape, to: Shape) -> Option<NodeId> {
        let before = self.graph.shape(source);
        let (mut sizes, mut axis) = (Vec::new(), 0);
        for &size in to.iter() {
            let first = axis;
            let mut product = 1;
            while axis < from.rank() && (product < size || (product == size && from[axis] == 1)) {
                product *= from[axis];
                axis += 1;
            }
            let group = first..axis;
            let once = group.clone().all(|a| before[a] == 1);
            let whole = group.clone().all(|a| before[a] == from[a]);
            if product != size || !(once || whole) {
                return None;
            }
            sizes.push(if whole { size } else { 1 });
        }
        if axis != from.rank() {
            return None;
        }
        let source = self.push(Op::Reshape(Shape::new(&sizes)), &[source]);
        Some(self.push(Op::Expand(to), &[source]))
    }

    /// Whether a node has no elements, or is reduced from none and so is zero. Nothing is computed for it, and
    /// kernels never see an empty operand.
    fn is_nothing(&self, node: &Node) -> bool {
        let empty = |id: &NodeId| self.graph.shape(*id).numel() == 0;
        let filled = node.op.is_movement() && self.constant(node.operands[0]).is_some();
        match &node.op {
            Op::Scan(_) | Op::Custom(_) | Op::Pick(..) | Op::Pack(..) => false,
            Op::Contract(contraction) => contraction.sizes.contains(&0) || node.operands.iter().any(empty),
            Op::Reduce(..) | Op::Pad(_) | Op::ScatterAdd(..) => {
                empty(&node.operands[0]) || node.shape.numel() == 0
            }
            _ => node.shape.numel() == 0 && !filled,
        }
    }

    fn unary(&mut self, unary: Unary, x: NodeId, inner: &Node, node: &Node) -> Option<NodeId> {
        match self.constant(x) {
            Some(s) if s.dtype == DType::F32 => {
                return Some(self.fill(Scalar::f32((unary.row().value)(s.as_f64()) as f32), node.shape));
            }
            Some(s) if s.dtype == DType::F64 => {
                return Some(
                    self.fill(Scalar::float(DType::F64, (unary.row().value)(s.as_f64())), node.shape),
                );
            }
            _ => {}
        }
        (unary == Unary::Neg && matches!(inner.op, Op::Unary(Unary::Neg))).then(|| inner.operands[0])
    }

    fn binary(&mut self, binary: Binary, a: NodeId, b: NodeId, node: &Node) -> Option<NodeId> {
        if let (Some(p), Some(q)) = (self.constant(a), self.constant(b)) {
            if p.dtype == DType::F32 {
                let value = (binary.row().value)(p.as_f64(), q.as_f64());
                let value = if binary.compares() { value } else { value as f32 as f64 };
                return Some(self.fill(Scalar::of(node.dtype, value), node.shape));
            }
            if p.dtype == DType::F64 {
                let value = (binary.row().value)(p.as_f64(), q.as_f64());
                return Some(self.fill(Scalar::of(node.dtype, value), node.shape));
            }
            let whole = binary.whole(p.dtype, p.as_i64(), q.as_i64()).filter(|_| !p.dtype.is_float());
            if let Some(y) = whole {
                return Some(self.fill(Scalar::int(node.dtype, y), node.shape));
            }
        }
        match binary {
            Binary::Add if self.adds_nothing(b) => Some(a),
            Binary::Add if self.adds_nothing(a) => Some(b),
            Binary::Sub if self.takes_nothing(b) => Some(a),
            Binary::Sub if self.adds_nothing(a) && node.dtype.is_float() => {
                Some(self.push(Op::Unary(Unary::Neg), &[b]))
            }
            Binary::Mul | Binary::Div if self.is(b, 1.0) => Some(a),
            Binary::Mul if self.is(a, 1.0) => Some(b),
            Binary::Mul if self.is(b, -1.0) && node.dtype.is_float() => {
                Some(self.push(Op::Unary(Unary::Neg), &[a]))
            }
            Binary::Pow if self.is(b, 1.0) => Some(a),
            Binary::Pow if self.is(b, 2.0) => Some(self.push(Op::Binary(Binary::Mul), &[a, a])),
            Binary::Pow if self.is(b, 0.5) => Some(self.push(Op::Unary(Unary::Sqrt), &[a])),
            Binary::Pow if self.is(b, -1.0) => Some(self.push(Op::Unary(Unary::Recip), &[a])),
            Binary::Mul => self.scaled(a, b).or_else(|| self.scaled(b, a)),
            Binary::Div => self.by_repeated(a, b),
            _ => None,
        }
    }

    /// A division by a value that is repeated many times, such as a row's sum, becomes a product with its
    /// reciprocal. Not for scalars, where exact quotients are expected.
    fn by_repeated(&mut self, a: NodeId, b: NodeId) -> Option<NodeId> {
        let inner = self.graph.node(b).clone();
        let Op::Expand(_) = inner.op else { return None };
        let source = inner.operands[0];
        let rare = self.graph.shape(source).numel() * 4 <= inner.shape.numel();
        if !rare || inner.dtype != DType::F32 || self.number(b).is_some() {
            return None;
        }
        let reciprocal = self.push(Op::Unary(Unary::Recip), &[source]);
        let repeated = self.push(inner.op.clone(), &[reciprocal]);
        Some(self.push(Op::Binary(Binary::Mul), &[a, repeated]))
    }

    /// `(x · c) · d` as `x · (c·d)`, for float constants and parameters alike. So it changes no bit whether a
    /// number is a constant or a parameter.
    fn scaled(&mut self, x: NodeId, by: NodeId) -> Option<NodeId> {
        let d = self.number(by).filter(|&d| self.graph.dtype(d) == DType::F32)?;
        let inner = self.graph.node(x).clone();
        if !matches!(inner.op, Op::Binary(Binary::Mul)) {
            return None;
        }
        let (p, q) = (inner.operands[0], inner.operands[1]);
        let (y, c) = match (self.number(p), self.number(q)) {
            (None, Some(c)) => (p, c),
            (Some(c), None) => (q, c),
            _ => return None,
        };
        // If the product of the constants overflows or underflows, it would differ from multiplying one after
        // the other.
        if let (Some(c), Some(d)) = (self.constant(c), self.constant(d))
            && !((c.as_f64() * d.as_f64()) as f32).is_normal()
        {
            return None;
        }
        let product = self.push(Op::Binary(Binary::Mul), &[c, d]);
        let factor = self.spread(product, inner.shape);
        Some(self.push(Op::Binary(Binary::Mul), &[y, factor]))
    }

    fn reduce(&mut self, reduce: Reduce, axes: &[usize], x: NodeId, node: &Node) -> Option<NodeId> {
        let from = self.graph.shape(x);
        if axes.iter().all(|&a| from[a] == 1) && !reduce.is_index() {
            return Some(self.push(Op::Reshape(node.shape), &[x]));
        }
        if axes.iter().any(|&a| from[a] == 1) && !reduce.is_index() {
            let ones: Vec<usize> = axes.iter().copied().filter(|&a| from[a] == 1).collect();
            let renumber = |a: usize| a - ones.iter().filter(|&&o| o < a).count();
            let rest = axes.iter().filter(|&&a| from[a] != 1).map(|&a| renumber(a)).collect();
            let squeezed = self.push(Op::Reshape(from.without(&ones)), &[x]);
            return Some(self.push(Op::Reduce(reduce, rest), &[squeezed]));
        }
        if let (Some(s), false) = (self.constant(x), reduce.is_index())
            && s.dtype == DType::F32
        {
            let count: usize = axes.iter().map(|&a| from[a]).product();
            let value = match reduce {
                Reduce::Sum => s.as_f64() * count as f64,
                Reduce::Prod => s.as_f64().powf(count as f64),
                _ => s.as_f64(),
            };
            return Some(self.fill(Scalar::f32(value as f32), node.shape));
        }
        self.sum_of_repeats(reduce, axes, x)
    }

    /// A sum over an expanded axis is a product with its size.
    fn sum_of_repeats(&mut self, reduce: Reduce, axes: &[usize], x: NodeId) -> Option<NodeId> {
        let inner = self.graph.node(x).clone();
        let Op::Expand(to) = &inner.op else { return None };
        let source = inner.operands[0];
        let before = self.graph.shape(source);
        let repeated: Vec<usize> = axes.iter().copied().filter(|&a| before[a] == 1 && to[a] != 1).collect();
        if reduce != Reduce::Sum || repeated.is_empty() || inner.dtype != DType::F32 {
            return None;
        }
        let count: usize = repeated.iter().map(|&a| to[a]).product();
        let kept = self.push(Op::Expand(to.ones_at(&repeated)), &[source]);
        let summed = self.push(Op::Reduce(reduce, axes.to_vec()), &[kept]);
        let factor = self.fill(Scalar::f32(count as f32), self.graph.shape(summed));
        Some(self.push(Op::Binary(Binary::Mul), &[summed, factor]))
    }

    fn movement(&mut self, op: &Op, x: NodeId, from: Shape, inner: &Node, to: Shape) -> Option<NodeId> {
        let y = inner.operands.first().copied();
        match op {
            Op::Reshape(_) | Op::Expand(_) if from == to => Some(x),
            Op::Permute(order) if order.iter().enumerate().all(|(i, &a)| i == a) => Some(x),
            Op::Pad(widths) if widths.iter().all(|&w| w == (0, 0)) => Some(x),
            Op::Slice(spans)
                if spans.iter().enumerate().all(|(a, s)| *s == Span { start: 0, len: from[a], step: 1 }) =>
            {
                Some(x)
            }
            Op::Flip(axes) if axes.iter().all(|&a| from[a] <= 1) => Some(x),
            Op::Reshape(_) if matches!(inner.op, Op::Reshape(_)) => Some(self.push(op.clone(), &[y?])),
            Op::Reshape(_) if matches!(inner.op, Op::Expand(_)) && to.rank() < from.rank() => {
                self.merged_expand(y?, from, to)
            }
            Op::Expand(_) if matches!(inner.op, Op::Expand(_)) => Some(self.push(op.clone(), &[y?])),
            Op::Permute(order) => match &inner.op {
                Op::Permute(first) => {
                    let both = order.iter().map(|&a| first[a]).collect();
                    Some(self.push(Op::Permute(both), &[y?]))
                }
                // Permuting axes of size 1 is a reshape.
                _ => {
                    let real: Vec<usize> = order.iter().copied().filter(|&a| from[a] != 1).collect();
                    real.is_sorted().then(|| self.push(Op::Reshape(to), &[x]))
                }
            },
            _ => None,
        }
    }
}

//! The sizes of one attention, and what follows from them for the operands.

use farad_ir::{DType, OpError, Shape};

/// Sizes with all leading axes folded into one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AttentionExtent {
    /// Heads of queries, over the whole batch.
    pub heads: usize,
    /// Heads of queries that share a head of keys.
    pub sharing: usize,
    /// Rows of the mask, if there is one.
    pub masks: usize,
    /// Matrices of numbers that are added to the scores, if there are any.
    pub biases: usize,
    pub queries: usize,
    pub keys: usize,
    pub width: usize,
}

impl AttentionExtent {
    /// From the shapes of queries `[heads, queries, width]`, keys `[key heads, keys, width]`, a mask `[masks, keys]`
    /// and what is added, `[biases, queries, keys]`.
    pub fn of(q: &Shape, k: &Shape, mask: Option<&Shape>, bias: Option<&Shape>) -> AttentionExtent {
        AttentionExtent {
            heads: q[0],
            sharing: q[0] / k[0].max(1),
            masks: mask.map_or(1, |mask| mask[0]),
            biases: bias.map_or(1, |bias| bias[0]),
            queries: q[1],
            keys: k[1],
            width: q[2],
        }
    }

    pub fn q(&self) -> Shape {
        Shape::new(&[self.heads, self.queries, self.width])
    }

    pub fn k(&self) -> Shape {
        Shape::new(&[self.key_heads(), self.keys, self.width])
    }

    pub fn mask(&self) -> Shape {
        Shape::new(&[self.masks, self.keys])
    }

    /// What is added to the scores.
    pub fn bias(&self) -> Shape {
        Shape::new(&[self.biases, self.queries, self.keys])
    }

    /// One number a query.
    pub fn rows(&self) -> Shape {
        Shape::new(&[self.heads, self.queries])
    }

    /// Gradients at keys and values.
    pub fn both(&self) -> Shape {
        Shape::new(&[2, self.key_heads(), self.keys, self.width])
    }

    pub fn key_heads(&self) -> usize {
        self.heads / self.sharing.max(1)
    }

    /// Heads of queries that share a row of the mask.
    pub fn mask_heads(&self) -> usize {
        self.heads / self.masks.max(1)
    }

    /// Says what is wrong with queries, keys and values of this dtype, a mask and what is added.
    pub fn check(
        operands: &[(Shape, DType)],
        wanted: DType,
        [mask, bias]: [Option<Shape>; 2],
    ) -> Result<AttentionExtent, OpError> {
        let [q, k, v, ..] = operands else {
            return Err(OpError::Arity { op: "attention", got: operands.len(), least: 3 });
        };
        for &(shape, dtype) in [q, k, v] {
            if shape.rank() != 3 {
                return Err(OpError::RankTooLow { op: "attention", shape, rank: shape.rank(), least: 3 });
            }
            if dtype != wanted {
                return Err(OpError::DTypes { op: "attention", lhs: dtype, rhs: wanted });
            }
        }
        let extent = AttentionExtent::of(&q.0, &k.0, mask.as_ref(), bias.as_ref());
        let more = [mask.map(|mask| (mask, extent.mask())), bias.map(|bias| (bias, extent.bias()))];
        let wanted = [(q.0, extent.q()), (k.0, extent.k()), (v.0, extent.k())];
        let mut all = wanted.into_iter().chain(more.into_iter().flatten());
        match all.find(|(shape, wanted)| shape != wanted) {
            Some((lhs, rhs)) => {
                let mut sizes = lhs.iter().zip(rhs.iter()).filter(|(a, b)| a != b);
                let (&a, &b) = sizes.next().unwrap_or((&lhs[0], &rhs[0]));
                Err(OpError::Shapes { op: "attention", lhs, rhs, a, b })
            }
            None => Ok(extent),
        }
    }
}

/// What a head sees: how far queries look ahead, and which keys are hidden from all of them.
#[derive(Clone, Copy, Debug)]
pub struct Sight<'a> {
    pub extent: AttentionExtent,
    /// How many keys beyond its own place a query sees.
    pub ahead: usize,
    /// `[masks, keys]`: zero where a key is hidden.
    pub mask: Option<&'a [u32]>,
}

impl<'a> Sight<'a> {
    /// How many keys a query sees, from the first.
    pub fn limit(&self, query: usize) -> usize {
        (query + 1).saturating_add(self.ahead).min(self.extent.keys)
    }

    /// The row of the mask for a head of queries.
    pub fn row(&self, head: usize) -> Option<&'a [u32]> {
        let AttentionExtent { keys, .. } = self.extent;
        self.mask.map(|mask| &mask[head / self.extent.mask_heads() * keys..][..keys])
    }
}

//! From bodies to the rows of constraints and back: constant gathers, and sums in a fixed order.
//!
//! There are two layouts. Small worlds have every body and every constraint by itself (one row each): the whole step is
//! arithmetic on `[worlds]`, and a roll-out is one kernel. Larger worlds have them side by side: `[worlds, bodies, 1]`,
//! rows are gathered, and every body adds up what its rows give it, in order. Invariant: both compute the same sums.

use farad_tensor::{Device, Tensor};

use crate::assembly::BodyRow;
use crate::quantity::{Quantity, ZERO};
use crate::vector::{Symmetric, Turned, Vector};

/// Components that are put together at once: what one kernel writes.
const MOST_PACKED: usize = 8;

/// How bodies and constraints lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arrangement {
    /// Every one by itself.
    Apart,
    /// All side by side.
    Together,
}

impl Arrangement {
    /// Lists of rows that are computed at once.
    pub fn groups<T: Clone>(self, rows: &[T]) -> Vec<Vec<T>> {
        match self {
            Arrangement::Apart => rows.iter().map(|row| vec![row.clone()]).collect(),
            Arrangement::Together if rows.is_empty() => vec![],
            Arrangement::Together => vec![rows.to_vec()],
        }
    }
}

/// The body of every row.
#[derive(Clone)]
pub(crate) struct RowIndex {
    list: Vec<usize>,
    /// The bodies of rows, `[rows]`; for every body its rows, `[bodies · most]`; and which of these there are.
    tables: Option<(Tensor, Tensor, Tensor)>,
    bodies: usize,
}

impl RowIndex {
    pub fn new(list: Vec<usize>, bodies: usize, arrangement: Arrangement, device: &Device) -> RowIndex {
        let tables = (arrangement == Arrangement::Together).then(|| {
            let mut own: Vec<Vec<usize>> = vec![vec![]; bodies];
            list.iter().enumerate().for_each(|(row, &body)| own[body].push(row));
            let most = own.iter().map(Vec::len).max().unwrap_or(0).max(1);
            let place = |n: usize| own[n / most].get(n % most).copied();
            let back: Vec<i32> = (0..bodies * most).map(|n| place(n).unwrap_or(0) as i32).collect();
            let mask: Vec<f32> =
                (0..bodies * most).map(|n| f32::from(u8::from(place(n).is_some()))).collect();
            let rows: Vec<i32> = list.iter().map(|&body| body as i32).collect();
            (
                Tensor::from_vec(rows, [list.len()], device),
                Tensor::from_vec(back, [bodies * most], device),
                Tensor::from_vec(mask, [bodies, most, 1], device),
            )
        });
        RowIndex { list, tables, bodies }
    }

    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// A number of every row's body.
    pub fn column(&self, bodies: &[BodyRow], of: impl Fn(&BodyRow) -> f64, device: &Device) -> Quantity {
        let rows: Vec<f64> = self.list.iter().map(|&body| of(&bodies[body])).collect();
        Quantity::column(&rows, device)
    }

    /// What the bodies of the rows have, from what all bodies have.
    pub fn take(&self, slots: &[Vec<Quantity>]) -> Vec<Quantity> {
        let Some((rows, ..)) = &self.tables else { return slots[self.list[0]].clone() };
        packed(&slots[0], self.bodies, |pack| pack.index_select(1, rows))
    }

    /// Adds what the rows give to what the bodies have.
    pub fn give(&self, given: &[Quantity], slots: &mut [Vec<Quantity>]) {
        let (slot, sums) = match &self.tables {
            None => (self.list[0], given.to_vec()),
            Some((_, back, mask)) => {
                let most = mask.shape()[1];
                // A number that all rows give counts once per row.
                let known = |part: &Quantity| match part {
                    Quantity::Known(value) if *value != 0.0 => (mask.sum_axes([1]) * *value).into(),
                    part => part.clone(),
                };
                let sums = packed(given, self.len(), |pack| {
                    let (worlds, width) = (pack.shape()[0], pack.shape()[2]);
                    let rows = pack.index_select(1, back).reshape([worlds, self.bodies, most, width]);
                    (rows * mask).sum_axes([2])
                });
                (0, sums.iter().map(known).collect())
            }
        };
        for (sum, own) in sums.iter().zip(&mut slots[slot]) {
            *own = &*own + sum;
        }
    }
}

/// Moves the components that are tensors, a few at a time side by side. What is known stays known.
fn packed(parts: &[Quantity], rows: usize, rule: impl Fn(&Tensor) -> Tensor) -> Vec<Quantity> {
    let mut moved: Vec<Quantity> = parts.to_vec();
    let worlds = |t: &Tensor| if t.rank() == 3 { t.shape()[0] } else { 1 };
    let open: Vec<(usize, &Tensor)> = parts
        .iter()
        .enumerate()
        .filter_map(|(n, part)| match part {
            Quantity::Known(_) => None,
            Quantity::Tensor(tensor) => Some((n, tensor)),
        })
        .collect();
    let most = open.iter().map(|(_, tensor)| worlds(tensor)).max().unwrap_or(1);
    for chunk in open.chunks(MOST_PACKED) {
        let whole: Vec<Tensor> = chunk.iter().map(|(_, t)| t.broadcast_to([most, rows, 1])).collect();
        let pack = rule(&Tensor::concat(&whole.iter().collect::<Vec<_>>(), 2));
        for (k, (n, _)) in chunk.iter().enumerate() {
            moved[*n] = pack.narrow(2, k, 1).into();
        }
    }
    moved
}

/// What a constraint sees of a body.
#[derive(Clone)]
pub(crate) struct Side {
    pub at: Vector,
    pub axes: Turned,
    /// The inverse inertia in world axes.
    pub inertia: Symmetric,
    /// The inverse mass.
    pub mass: Quantity,
    /// Among how many constraints the mass is split.
    pub split: Quantity,
}

impl Side {
    /// What does not move: places in it are places in the world.
    pub fn world() -> Side {
        let axes = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
        Side {
            at: Vector::zero(),
            axes: Turned(axes.map(Vector::known)),
            inertia: Symmetric::diagonal(&Vector::zero()),
            mass: ZERO,
            split: ZERO,
        }
    }

    /// How the body gives way at an arm to a push.
    pub fn give_way(&self, arm: &Vector) -> Symmetric {
        let mass = Vector::new(self.mass.clone(), self.mass.clone(), self.mass.clone());
        Symmetric::diagonal(&mass).plus(&self.inertia.at_arm(arm))
    }
}

/// Velocity and spin.
#[derive(Clone)]
pub(crate) struct Moving {
    pub velocity: Vector,
    pub spin: Vector,
}

impl Moving {
    pub fn still() -> Moving {
        Moving { velocity: Vector::zero(), spin: Vector::zero() }
    }

    /// The velocity of a point of the body at an arm from its center.
    pub fn at(&self, arm: &Vector) -> Vector {
        &self.velocity + self.spin.cross(arm)
    }

    pub fn parts(&self) -> Vec<Quantity> {
        [&self.velocity, &self.spin].into_iter().flat_map(|v| v.parts()).cloned().collect()
    }

    pub fn of(parts: &[Quantity]) -> Moving {
        let vector = |n: usize| Vector::new(parts[n].clone(), parts[n + 1].clone(), parts[n + 2].clone());
        Moving { velocity: vector(0), spin: vector(3) }
    }
}

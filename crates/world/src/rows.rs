//! Gathers body quantities for the rows of constraints, and sums row quantities into bodies, in a fixed order.
//!
//! There are two layouts. Small worlds have separate tensors for every body and every constraint (one row
//! each). The whole step is then arithmetic on `[worlds]`, and a roll-out is one kernel. Larger worlds have all
//! bodies in one tensor, `[worlds, bodies, 1]`. Rows are gathered from it, and every body sums the
//! contributions of its rows, in order. Invariant: both compute the same sums.

use farad_tensor::{Device, Tensor};

use crate::assembly::BodyRow;
use crate::quantity::{Quantity, ZERO};
use crate::vector::{BodyAxes, Symmetric, Vector3};

/// Components that are concatenated at once, so that one kernel writes them.
const MOST_PACKED: usize = 8;

/// The layout of bodies and constraints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arrangement {
    /// A separate tensor for each.
    Apart,
    /// All in one tensor.
    Together,
}

impl Arrangement {
    /// Rows grouped into those that are computed together.
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
    /// The bodies of rows, `[rows]`; for every body its rows, `[bodies · most]`; and which of these exist.
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

    /// A number of every row's body, as a column.
    pub fn column(&self, bodies: &[BodyRow], of: impl Fn(&BodyRow) -> f64, device: &Device) -> Quantity {
        let rows: Vec<f64> = self.list.iter().map(|&body| of(&bodies[body])).collect();
        Quantity::column(&rows, device)
    }

    /// Gathers the quantities of the rows' bodies from those of all bodies.
    pub fn take(&self, slots: &[Vec<Quantity>]) -> Vec<Quantity> {
        let Some((rows, ..)) = &self.tables else { return slots[self.list[0]].clone() };
        packed(&slots[0], self.bodies, |pack| pack.index_select(1, rows))
    }

    /// Adds the rows' contributions to the bodies' quantities.
    pub fn give(&self, given: &[Quantity], slots: &mut [Vec<Quantity>]) {
        let (slot, sums) = match &self.tables {
            None => (self.list[0], given.to_vec()),
            Some((_, back, mask)) => {
                let most = mask.shape()[1];
                // A known number counts once per row.
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

/// Applies `rule` to the components that are tensors, a few concatenated at a time. Known numbers stay known.
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

/// What a constraint reads of one of its bodies.
#[derive(Clone)]
pub(crate) struct ConstraintSide {
    pub at: Vector3,
    pub axes: BodyAxes,
    /// The inverse inertia in world axes.
    pub inertia: Symmetric,
    /// The inverse mass.
    pub mass: Quantity,
    /// The number of constraints that the mass is split among.
    pub split: Quantity,
}

impl ConstraintSide {
    /// The fixed world: points in it have world coordinates.
    pub fn world() -> ConstraintSide {
        let axes = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
        ConstraintSide {
            at: Vector3::zero(),
            axes: BodyAxes(axes.map(Vector3::known)),
            inertia: Symmetric::diagonal(&Vector3::zero()),
            mass: ZERO,
            split: ZERO,
        }
    }

    /// The inverse effective mass of the body at an arm.
    pub fn give_way(&self, arm: &Vector3) -> Symmetric {
        let mass = Vector3::new(self.mass.clone(), self.mass.clone(), self.mass.clone());
        Symmetric::diagonal(&mass).plus(&self.inertia.at_arm(arm))
    }
}

/// Velocity and angular velocity.
#[derive(Clone)]
pub(crate) struct Moving {
    pub velocity: Vector3,
    pub spin: Vector3,
}

impl Moving {
    pub fn still() -> Moving {
        Moving { velocity: Vector3::zero(), spin: Vector3::zero() }
    }

    /// The velocity of a point of the body at an arm from its center.
    pub fn at(&self, arm: &Vector3) -> Vector3 {
        &self.velocity + self.spin.cross(arm)
    }

    pub fn parts(&self) -> Vec<Quantity> {
        [&self.velocity, &self.spin].into_iter().flat_map(|v| v.parts()).cloned().collect()
    }

    pub fn of(parts: &[Quantity]) -> Moving {
        let vector = |n: usize| Vector3::new(parts[n].clone(), parts[n + 1].clone(), parts[n + 2].clone());
        Moving { velocity: vector(0), spin: vector(3) }
    }
}

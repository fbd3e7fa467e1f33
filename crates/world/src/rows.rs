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

/// Rows of a body up to which each is added by itself, in the kernel that wants the sum.
const FEW_OWN_ROWS: usize = 8;

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

    /// Components `[worlds, rows, components]` as quantities have them.
    pub fn inside(self, tensor: &Tensor) -> Tensor {
        match self {
            Arrangement::Apart => tensor.clone(),
            Arrangement::Together => tensor.permute(&[2, 1, 0]),
        }
    }

    /// One of these components.
    pub fn component(self, inside: &Tensor, n: usize) -> Quantity {
        let axis = if self == Arrangement::Apart { 2 } else { 0 };
        inside.narrow(axis, n, 1).into()
    }

    /// Quantities of `rows` rows side by side, `[worlds, rows, components]`.
    pub fn outside(self, parts: &[Quantity], worlds: usize, rows: usize, device: &Device) -> Tensor {
        let (shape, axis) = match self {
            Arrangement::Apart => ([worlds, rows, 1], 2),
            Arrangement::Together => ([1, rows, worlds], 0),
        };
        let whole: Vec<Tensor> = parts.iter().map(|part| part.filled(shape, device)).collect();
        let whole = Tensor::concat(&whole.iter().collect::<Vec<_>>(), axis);
        if self == Arrangement::Apart { whole } else { whole.permute(&[2, 1, 0]) }
    }

    /// The sum over all rows of a world, `[worlds]`.
    pub fn summed(self, rows: &Tensor) -> Tensor {
        match self {
            Arrangement::Apart => rows.sum_axes([1, 2]),
            Arrangement::Together => rows.sum_axes([0, 1]),
        }
    }
}

/// The body of every row.
#[derive(Clone)]
pub(crate) struct RowIndex {
    list: Vec<usize>,
    tables: Option<RowTables>,
    bodies: usize,
}

/// Places for gathers.
#[derive(Clone)]
struct RowTables {
    /// The bodies of rows, `[rows]`.
    rows: Tensor,
    /// The first row of every body, its second, and so on: `[bodies]` each.
    back: Vec<Tensor>,
    /// Which of these there are, `[bodies, 1]`; none if all of them are.
    there: Vec<Option<Tensor>>,
}

impl RowIndex {
    pub fn new(list: Vec<usize>, bodies: usize, arrangement: Arrangement, device: &Device) -> RowIndex {
        let tables = (arrangement == Arrangement::Together).then(|| {
            let mut own: Vec<Vec<usize>> = vec![vec![]; bodies];
            list.iter().enumerate().for_each(|(row, &body)| own[body].push(row));
            let most = own.iter().map(Vec::len).max().unwrap_or(0).max(1);
            let index = |list: Vec<i32>| {
                let count = list.len();
                Tensor::from_vec(list, [count], device)
            };
            let back =
                |n: usize| index(own.iter().map(|rows| rows.get(n).map_or(0, |&row| row as i32)).collect());
            let there = |n: usize| {
                let mask: Vec<f32> = own.iter().map(|rows| f32::from(u8::from(rows.len() > n))).collect();
                mask.contains(&0.0).then(|| Tensor::from_vec(mask, [bodies, 1], device))
            };
            RowTables {
                rows: index(list.iter().map(|&body| body as i32).collect()),
                back: (0..most).map(back).collect(),
                there: (0..most).map(there).collect(),
            }
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
        let Some(tables) = &self.tables else { return slots[self.list[0]].clone() };
        moved(&slots[0], self.bodies, |pack| pack.index_select(1, &tables.rows))
    }

    /// Adds the rows' contributions to the bodies' quantities.
    pub fn give(&self, given: &[Quantity], slots: &mut [Vec<Quantity>]) {
        let (slot, sums) = match &self.tables {
            None => (self.list[0], given.to_vec()),
            Some(tables) => {
                // A number that all rows give counts once per row.
                let known = |part: &Quantity| match part {
                    Quantity::Known(value) if *value != 0.0 => tables.counts(*value),
                    part => part.clone(),
                };
                let sums = moved(given, self.len(), |pack| tables.sum(pack));
                (0, sums.iter().map(known).collect())
            }
        };
        for (sum, own) in sums.iter().zip(&mut slots[slot]) {
            *own = &*own + sum;
        }
    }
}

impl RowTables {
    /// What all rows of every body give, `[components, rows, worlds]` to `[components, bodies, worlds]`.
    fn sum(&self, given: &Tensor) -> Tensor {
        let row = |(back, there): (&Tensor, &Option<Tensor>)| {
            let rows = given.index_select(1, back);
            there.as_ref().map_or(rows.clone(), |there| rows * there)
        };
        let rows: Vec<Tensor> = self.back.iter().zip(&self.there).map(row).collect();
        match rows.len() {
            0..=FEW_OWN_ROWS => rows.into_iter().reduce(|a, b| a + b).expect("there is at least one"),
            _ => Tensor::stack(&rows.iter().collect::<Vec<_>>(), 2).sum_axes([2]),
        }
    }

    /// A number once per row of every body.
    fn counts(&self, value: f64) -> Quantity {
        let count =
            |there: &Option<Tensor>| there.as_ref().map_or(Quantity::Known(1.0), |t| t.clone().into());
        self.there.iter().map(count).fold(ZERO, |sum, one| sum + one) * value
    }
}

/// Moves the components that are tensors, each by itself: put side by side, every one would be computed as often as
/// there are others. What is known stays known.
fn moved(parts: &[Quantity], rows: usize, rule: impl Fn(&Tensor) -> Tensor) -> Vec<Quantity> {
    let worlds = |t: &Tensor| if t.rank() == 3 { t.shape()[2] } else { 1 };
    let one = |part: &Quantity| match part {
        Quantity::Known(_) => part.clone(),
        Quantity::Tensor(tensor) => rule(&tensor.broadcast_to([1, rows, worlds(tensor)])).into(),
    };
    parts.iter().map(one).collect()
}

/// Keeps what rows compute, so that it is computed once.
///
/// A sub-step is far longer than a kernel, and what several kernels want they would each compute again. A gather reads
/// from memory, so rows that are gathered in the order in which they stand are stored, and read from there.
#[derive(Clone)]
pub(crate) struct RowStore(Option<Tensor>);

impl RowStore {
    pub fn new(rows: usize, arrangement: Arrangement, device: &Device) -> RowStore {
        let order = || Tensor::from_vec((0..rows as i32).collect(), [rows], device);
        RowStore((arrangement == Arrangement::Together).then(order))
    }

    /// The same number, stored.
    pub fn keep(&self, quantity: &Quantity) -> Quantity {
        match (&self.0, quantity) {
            (Some(order), Quantity::Tensor(tensor)) if tensor.rank() == 3 => {
                tensor.index_select(1, order).into()
            }
            _ => quantity.clone(),
        }
    }

    pub fn keep_vector(&self, v: &Vector3) -> Vector3 {
        let [x, y, z] = v.parts().map(|part| self.keep(part));
        Vector3::new(x, y, z)
    }

    pub fn keep_symmetric(&self, m: &Symmetric) -> Symmetric {
        let [xx, yy, zz, xy, xz, yz] = m.parts().map(|part| self.keep(part));
        Symmetric { xx, yy, zz, xy, xz, yz }
    }

    pub fn keep_axes(&self, axes: &BodyAxes) -> BodyAxes {
        BodyAxes(axes.0.each_ref().map(|axis| self.keep_vector(axis)))
    }
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

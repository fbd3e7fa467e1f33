//! Gathers body quantities for the rows of constraints, and sums row quantities into bodies, in a fixed order.
//!
//! There are three layouts. Small worlds have separate tensors for every body and every constraint (one row
//! each). The whole step is then arithmetic on `[worlds]`, and a roll-out is one kernel. Larger worlds have all
//! bodies in one tensor, `[worlds, bodies, 1]`. Rows are gathered from it, and every body sums the
//! contributions of its rows, in order. In a herd the worlds have the same number of bodies and constraints, and
//! each has its own numbers in them, `[rows, worlds]`. Invariant: all compute the same sums.

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
    /// All in one tensor, with other numbers in every world. Lists of rows then have, for each row, one entry per
    /// world and one of a pattern. What differs in the pattern is never taken for a known constant, so that the
    /// graph does not depend on the worlds.
    Herd {
        /// How many worlds.
        worlds: usize,
    },
}

impl Arrangement {
    /// Rows grouped into those that are computed together.
    pub fn groups<T: Clone>(self, rows: &[T]) -> Vec<Vec<T>> {
        match self {
            Arrangement::Apart => rows.iter().map(|row| vec![row.clone()]).collect(),
            _ if rows.is_empty() => vec![],
            _ => vec![rows.to_vec()],
        }
    }

    /// Entries of a list per row.
    pub fn entries(self) -> usize {
        if let Arrangement::Herd { worlds } = self { worlds + 1 } else { 1 }
    }

    /// Of a list with entries for every world, those of the pattern; without worlds of their own, all.
    pub fn pattern<T: Copy>(self, list: &[T]) -> Vec<T> {
        list.iter().skip(self.entries() - 1).step_by(self.entries()).copied().collect()
    }

    /// One number per entry, as a column; a known constant if all are equal.
    pub fn column(self, entries: &[f64], device: &Device) -> Quantity {
        let Arrangement::Herd { worlds } = self else { return Quantity::column(entries, device) };
        match entries {
            [first, rest @ ..] if rest.iter().any(|value| value != first) => {
                let own = entries.chunks(worlds + 1).flat_map(|row| &row[..worlds]);
                let own: Vec<f32> = own.map(|&value| value as f32).collect();
                Tensor::from_vec(own, [entries.len() / (worlds + 1), worlds], device).into()
            }
            _ => Quantity::column(entries, device),
        }
    }

    /// Components `[worlds, rows, components]` as quantities have them.
    pub fn inside(self, tensor: &Tensor) -> Tensor {
        match self {
            Arrangement::Apart => tensor.clone(),
            _ => tensor.permute(&[2, 1, 0]),
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
            _ => ([1, rows, worlds], 0),
        };
        let whole: Vec<Tensor> = parts.iter().map(|part| part.filled(shape, device)).collect();
        let whole = Tensor::concat(&whole.iter().collect::<Vec<_>>(), axis);
        if self == Arrangement::Apart { whole } else { whole.permute(&[2, 1, 0]) }
    }

    /// The sum over all rows of a world, `[worlds]`.
    pub fn summed(self, rows: &Tensor) -> Tensor {
        match self {
            Arrangement::Apart => rows.sum_axes([1, 2]),
            _ => rows.sum_axes([0, 1]),
        }
    }
}

/// The body of every row.
#[derive(Clone)]
pub(crate) struct RowIndex {
    list: Vec<usize>,
    arrangement: Arrangement,
    tables: Option<RowTables>,
    bodies: usize,
}

/// Places that are gathered.
#[derive(Clone)]
enum Places {
    /// The same in all worlds, `[rows]`.
    Shared(Tensor),
    /// Of every world, `[1, rows, worlds]`.
    Own(Tensor),
}

impl Places {
    /// Of a list of places, or of one per world; then the last is the pattern's and not gathered.
    fn new(lists: &[Vec<i32>], device: &Device) -> Places {
        let count = lists[0].len();
        if let [list] = lists {
            return Places::Shared(Tensor::from_vec(list.clone(), [count], device));
        }
        let worlds = lists.len() - 1;
        let own = (0..count).flat_map(|row| lists[..worlds].iter().map(move |list| list[row]));
        Places::Own(Tensor::from_vec(own.collect(), [1, count, worlds], device))
    }

    /// Rows of components `[1, rows, worlds]`.
    fn of(&self, pack: &Tensor) -> Tensor {
        match self {
            Places::Shared(places) => pack.index_select(1, places),
            Places::Own(places) => {
                let whole = [1, pack.shape()[1], places.shape()[2]];
                pack.broadcast_to(whole).gather(1, places)
            }
        }
    }
}

/// Places for gathers.
#[derive(Clone)]
struct RowTables {
    /// The bodies of rows.
    rows: Places,
    /// The first row of every body, its second, and so on.
    back: Vec<Places>,
    /// Which of these there are, `[bodies, 1 or worlds]`; none if all of them are.
    there: Vec<Option<Tensor>>,
}

impl RowTables {
    /// Of the bodies of all rows, one list per world.
    fn new(lists: &[Vec<usize>], bodies: usize, arrangement: Arrangement, device: &Device) -> RowTables {
        let own = |list: &Vec<usize>| {
            let mut own: Vec<Vec<usize>> = vec![vec![]; bodies];
            list.iter().enumerate().for_each(|(row, &body)| own[body].push(row));
            own
        };
        let shared = lists.iter().all(|list| *list == lists[0]);
        let lists = if shared { &lists[..1] } else { lists };
        let own: Vec<_> = lists.iter().map(own).collect();
        let most = own.iter().flatten().map(Vec::len).max().unwrap_or(0).max(1);
        let back = |n: usize| {
            let of = |own: &Vec<Vec<usize>>| {
                own.iter().map(|rows| rows.get(n).map_or(0, |&row| row as i32)).collect()
            };
            Places::new(&own.iter().map(of).collect::<Vec<_>>(), device)
        };
        let there = |n: usize| {
            let of = |body: usize| own.iter().map(move |own| f64::from(u8::from(own[body].len() > n)));
            let mask: Vec<f64> = (0..bodies).flat_map(of).collect();
            match shared {
                true if !mask.contains(&0.0) => None,
                true => {
                    let mask: Vec<f32> = mask.iter().map(|&there| there as f32).collect();
                    Some(Tensor::from_vec(mask, [bodies, 1], device))
                }
                false => match arrangement.column(&mask, device) {
                    Quantity::Tensor(mask) => Some(mask),
                    Quantity::Known(there) => Some(Tensor::full(there, [bodies, 1], device)),
                },
            }
        };
        RowTables {
            rows: Places::new(
                &lists.iter().map(|list| list.iter().map(|&body| body as i32).collect()).collect::<Vec<_>>(),
                device,
            ),
            back: (0..most).map(back).collect(),
            there: (0..most).map(there).collect(),
        }
    }
}

impl RowIndex {
    /// Of the bodies of all entries, where there are so many entries of bodies.
    pub fn new(list: Vec<usize>, bodies: usize, arrangement: Arrangement, device: &Device) -> RowIndex {
        let entries = arrangement.entries();
        let bodies = bodies / entries;
        let tables = (arrangement != Arrangement::Apart).then(|| {
            let of = |world: usize| list.iter().skip(world).step_by(entries).copied().collect();
            let lists: Vec<Vec<usize>> = (0..entries).map(of).collect();
            RowTables::new(&lists, bodies, arrangement, device)
        });
        RowIndex { list, arrangement, tables, bodies }
    }

    /// How many rows.
    pub fn len(&self) -> usize {
        self.list.len() / self.arrangement.entries()
    }

    /// A number of every row's body, as a column.
    pub fn column(&self, bodies: &[BodyRow], of: impl Fn(&BodyRow) -> f64, device: &Device) -> Quantity {
        let entries = self.arrangement.entries();
        let place = |(n, body): (usize, &usize)| body * entries + n % entries;
        let rows: Vec<f64> = self.list.iter().enumerate().map(|own| of(&bodies[place(own)])).collect();
        self.arrangement.column(&rows, device)
    }

    /// Gathers the quantities of the rows' bodies from those of all bodies.
    pub fn take(&self, slots: &[Vec<Quantity>]) -> Vec<Quantity> {
        let Some(tables) = &self.tables else { return slots[self.list[0]].clone() };
        moved(&slots[0], self.bodies, |pack| tables.rows.of(pack))
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
        let row = |(back, there): (&Places, &Option<Tensor>)| {
            let rows = back.of(given);
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
    let worlds = |t: &Tensor| if t.rank() >= 2 { t.shape()[t.rank() - 1] } else { 1 };
    let one = |part: &Quantity| match part {
        Quantity::Known(_) => part.clone(),
        Quantity::Tensor(tensor) => rule(&tensor.broadcast_to([1, rows, worlds(tensor)])).into(),
    };
    parts.iter().map(one).collect()
}

/// Keeps what rows compute, so that it is computed once.
///
/// A sub-step is far longer than a kernel, and what several kernels want they would each compute again.
#[derive(Clone, Copy)]
pub(crate) struct RowStore(Arrangement);

impl RowStore {
    pub fn new(arrangement: Arrangement) -> RowStore {
        RowStore(arrangement)
    }

    /// The same number, stored.
    pub fn keep(&self, quantity: &Quantity) -> Quantity {
        match quantity {
            Quantity::Tensor(tensor) if self.0 != Arrangement::Apart && tensor.rank() == 3 => {
                tensor.computed_once().into()
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

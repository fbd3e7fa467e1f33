//! The state of all bodies within a step: unpacked from tensors, moved, packed again.
//!
//! Invariant: in the plane, components that cannot move are known zeros.

use farad_tensor::{Device, Tensor};

use crate::quantity::{Quantity, ZERO};
use crate::rows::{Arrangement, ConstraintSide, Moving, RowIndex};
use crate::state::WorldState;
use crate::vector::{BodyAxes, Rotation, Symmetric, Vector3};

/// One body, or all of them as rows of one tensor.
#[derive(Clone)]
pub(crate) struct BodySlot {
    pub at: Vector3,
    pub turn: Rotation,
    pub moving: Moving,
}

/// The position of bodies, and quantities that follow from their rotation.
#[derive(Clone)]
pub(crate) struct Posed {
    pub at: Vector3,
    pub axes: BodyAxes,
    /// The inverse inertia in world axes.
    pub inertia: Symmetric,
}

impl Posed {
    fn parts(&self) -> Vec<Quantity> {
        let [a, b, c] = &self.axes.0;
        let vectors = [&self.at, a, b, c].into_iter().flat_map(|v| v.parts());
        vectors.chain(self.inertia.parts()).cloned().collect()
    }

    fn of(parts: &[Quantity]) -> Posed {
        let part = |n: usize| parts[n].clone();
        let vector = |n: usize| Vector3::new(part(n), part(n + 1), part(n + 2));
        Posed {
            at: vector(0),
            axes: BodyAxes([vector(3), vector(6), vector(9)]),
            inertia: Symmetric {
                xx: part(12),
                yy: part(13),
                zz: part(14),
                xy: part(15),
                xz: part(16),
                yz: part(17),
            },
        }
    }
}

/// The body quantities that the constraints of a sub-step read.
pub(crate) struct PosedBodies(Vec<Vec<Quantity>>);

impl PosedBodies {
    pub fn new(posed: &[Posed]) -> PosedBodies {
        PosedBodies(posed.iter().map(Posed::parts).collect())
    }

    /// What rows read of their bodies; the fixed world if they have none.
    pub fn side(&self, index: Option<&RowIndex>, mass: &Quantity, split: &Quantity) -> ConstraintSide {
        let Some(index) = index else { return ConstraintSide::world() };
        let Posed { at, axes, inertia } = Posed::of(&index.take(&self.0));
        ConstraintSide { at, axes, inertia, mass: mass.clone(), split: split.clone() }
    }
}

/// Velocities of bodies, or changes to them, component by component.
#[derive(Clone)]
pub(crate) struct Velocities(pub Vec<Vec<Quantity>>);

impl Velocities {
    pub fn new(slots: &[Moving]) -> Velocities {
        Velocities(slots.iter().map(Moving::parts).collect())
    }

    /// Zeros for as many slots.
    pub fn none(slots: usize) -> Velocities {
        Velocities(vec![vec![ZERO; 6]; slots])
    }

    pub fn side(&self, index: Option<&RowIndex>) -> Moving {
        index.map_or_else(Moving::still, |index| Moving::of(&index.take(&self.0)))
    }

    /// Adds every row's impulse and torque impulse to its body.
    pub fn add(&mut self, index: Option<&RowIndex>, push: &Vector3, torque: &Vector3) {
        let Some(index) = index else { return };
        let given: Vec<Quantity> = [push, torque].into_iter().flat_map(|v| v.parts()).cloned().collect();
        index.give(&given, &mut self.0);
    }

    pub fn slot(&self, n: usize) -> Moving {
        Moving::of(&self.0[n])
    }
}

/// Reads a state into slots.
pub(crate) fn unpack(state: &WorldState, arrangement: Arrangement) -> Vec<BodySlot> {
    let bodies = state.position.shape()[1];
    let slots = match arrangement {
        Arrangement::Apart => (0..bodies).map(|n| (n, 1)).collect(),
        _ => vec![(0, bodies)],
    };
    let plane = state.position.shape()[2] == 2;
    let slot = |(first, count): (usize, usize)| {
        let own = |t: &Tensor| if count == bodies { t.clone() } else { t.narrow(1, first, count) };
        let part = |t: &Tensor, n: usize| arrangement.component(&arrangement.inside(&own(t)), n);
        let vector = |t: &Tensor| Vector3::new(part(t, 0), part(t, 1), if plane { ZERO } else { part(t, 2) });
        let (turn, spin) = match plane {
            true => (
                Vector3::new(ZERO, ZERO, part(&state.rotation, 1)),
                Vector3::new(ZERO, ZERO, part(&state.spin, 0)),
            ),
            false => {
                let [x, y, z] = [1, 2, 3].map(|n| part(&state.rotation, n));
                (Vector3::new(x, y, z), vector(&state.spin))
            }
        };
        BodySlot {
            at: vector(&state.position),
            turn: Rotation { w: part(&state.rotation, 0), v: turn },
            moving: Moving { velocity: vector(&state.velocity), spin },
        }
    };
    slots.into_iter().map(slot).collect()
}

/// Writes slots as a state.
pub(crate) fn pack(
    slots: &[BodySlot],
    arrangement: Arrangement,
    worlds: usize,
    bodies: usize,
    plane: bool,
    device: &Device,
) -> WorldState {
    let rows = if arrangement == Arrangement::Apart { 1 } else { bodies };
    let join = |parts: fn(&BodySlot, bool) -> Vec<Quantity>| {
        let whole = slots.iter().map(|slot| arrangement.outside(&parts(slot, plane), worlds, rows, device));
        let whole: Vec<Tensor> = whole.collect();
        Tensor::concat(&whole.iter().collect::<Vec<_>>(), 1)
    };
    WorldState {
        position: join(|slot, plane| along(&slot.at, plane)),
        rotation: join(|slot, plane| {
            let w = slot.turn.w.clone();
            [vec![w], about(&slot.turn.v, plane)].concat()
        }),
        velocity: join(|slot, plane| along(&slot.moving.velocity, plane)),
        spin: join(|slot, plane| about(&slot.moving.spin, plane)),
    }
}

/// The components along which bodies move.
pub(crate) fn along(v: &Vector3, plane: bool) -> Vec<Quantity> {
    v.parts()[..if plane { 2 } else { 3 }].iter().map(|&part| part.clone()).collect()
}

/// The components about which bodies rotate.
pub(crate) fn about(v: &Vector3, plane: bool) -> Vec<Quantity> {
    v.parts()[if plane { 2 } else { 0 }..].iter().map(|&part| part.clone()).collect()
}

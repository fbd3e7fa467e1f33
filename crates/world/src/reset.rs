//! Initial states: the described one, with random joint angles and velocities in every world.
//!
//! Invariant: in joints that form a tree, anchors coincide at the start, whatever the noise.

use farad_tensor::Tensor;

use crate::bodies::BodySlot;
use crate::geometry::{Point3, Quaternion};
use crate::quantity::Quantity;
use crate::rows::Moving;
use crate::state::WorldState;
use crate::vector::{Rotation, Vector3};
use crate::world::World;

/// A rotation and a translation in the world.
#[derive(Clone)]
struct StartShift {
    turn: Rotation,
    by: Vector3,
}

/// The initial states made from these uniform numbers.
#[track_caller]
pub(crate) fn started(world: &World, noise: &Tensor) -> WorldState {
    let wanted = world.noise();
    assert!(
        noise.rank() == 2 && noise.shape()[1] == wanted,
        "world reset: noise is [worlds, {wanted}]: {:?}",
        &noise.shape()[..],
    );
    let worlds = noise.shape()[0];
    let draw = |place: usize, most: f64| -> Quantity {
        if most == 0.0 {
            return 0.0.into();
        }
        Quantity::from((noise.narrow(1, place, 1).unsqueeze(2) * 2.0 - 1.0) * most)
    };
    let shifts = shifts(world, &draw);
    let each = if world.solver.plane { 3 } else { 6 };
    let amounts = &world.description.start;
    let slots: Vec<BodySlot> = world
        .assembly
        .bodies
        .iter()
        .enumerate()
        .map(|(n, body)| {
            let first = world.assembly.joints.len() + n * each;
            let shift = &shifts[n];
            let turn = shift.turn.after(&Rotation::known(body.rotation.0));
            let at = shift.turn.axes().out(&Vector3::known(body.position.0)) + &shift.by;
            let (along, about) = (each / 2 + each % 2, each / 2);
            let [x, y] = [0, 1].map(|k| draw(first + k, amounts.velocity));
            let z = if world.solver.plane { 0.0.into() } else { draw(first + 2, amounts.velocity) };
            let turns = |k: usize| draw(first + along + k, amounts.spin);
            let spin = match about {
                1 => Vector3::new(0.0.into(), 0.0.into(), turns(0)),
                _ => Vector3::new(turns(0), turns(1), turns(2)),
            };
            let velocity = Vector3::known(body.velocity.0) + Vector3::new(x, y, z);
            let moving = Moving { velocity, spin: Vector3::known(body.spin.0) + spin };
            BodySlot { at, turn, moving }
        })
        .collect();
    let slots: Vec<BodySlot> = slots.into_iter().collect();
    world.packed(&slots, worlds)
}

/// How the noise of its ancestor joints rotates and shifts every body.
fn shifts(world: &World, draw: &dyn Fn(usize, f64) -> Quantity) -> Vec<StartShift> {
    let none = StartShift { turn: Rotation::known(Quaternion::NONE.0), by: Vector3::zero() };
    let amounts = &world.description.start;
    let (bodies, joints) = (&world.assembly.bodies, &world.assembly.joints);
    let mut found: Vec<Option<StartShift>> = vec![None; bodies.len()];
    let is_child = |body: usize| joints.iter().any(|joint| joint.child == body);
    (0..bodies.len()).filter(|&body| !is_child(body)).for_each(|body| found[body] = Some(none.clone()));
    // From parents to children, as often as the longest chain may need.
    for _ in 0..joints.len() {
        for (n, joint) in joints.iter().enumerate() {
            let parent = match joint.parent {
                None => Some(none.clone()),
                Some(parent) => found[parent].clone(),
            };
            let (None, Some(parent)) = (&found[joint.child], parent) else { continue };
            let body = &bodies[joint.child];
            let out = |p: Point3| body.rotation.turn(p);
            let anchor = body.position.plus(out(joint.anchors[1]));
            let axis = out(joint.axes[1][0]);
            let own = match (joint.slide, joint.lock) {
                (true, _) => {
                    let by = Vector3::known(axis.0).scaled(&draw(n, amounts.slide));
                    StartShift { by, ..none.clone() }
                }
                (false, crate::assembly::TurnLock::None) => none.clone(),
                _ => about(anchor, axis, &draw(n, amounts.angle)),
            };
            let axes = parent.turn.axes();
            let turn = parent.turn.after(&own.turn);
            found[joint.child] = Some(StartShift { turn, by: axes.out(&own.by) + parent.by });
        }
    }
    found.into_iter().map(|shift| shift.unwrap_or_else(|| none.clone())).collect()
}

/// A rotation about an axis through a point.
fn about(point: Point3, axis: Point3, angle: &Quantity) -> StartShift {
    let (cosine, sine) = match angle {
        Quantity::Known(angle) => ((angle / 2.0).cos().into(), (angle / 2.0).sin().into()),
        Quantity::Tensor(angle) => {
            let half = angle * 0.5;
            (Quantity::from(half.cos()), Quantity::from(half.sin()))
        }
    };
    let turn = Rotation { w: cosine, v: Vector3::known(axis.0).scaled(&sine) };
    let point = Vector3::known(point.0);
    let by = &point - turn.axes().out(&point);
    StartShift { turn, by }
}

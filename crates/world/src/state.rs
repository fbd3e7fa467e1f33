//! The state of many worlds: four tensors.

use farad_tensor::{Error, Tensor};

/// Positions and velocities of all bodies of all worlds. In the plane, vectors have two components, rotations
/// are `[cos a/2, sin a/2]` and spins (angular velocities) are one number. In space, vectors have three
/// components, rotations are quaternions `[w, x, y, z]` and spins have three components.
///
/// Positions and velocities are those of centers of mass.
#[derive(Clone)]
pub struct WorldState {
    /// `[worlds, bodies, 2 or 3]`.
    pub position: Tensor,
    /// `[worlds, bodies, 2 or 4]`.
    pub rotation: Tensor,
    /// `[worlds, bodies, 2 or 3]`.
    pub velocity: Tensor,
    /// `[worlds, bodies, 1 or 3]`.
    pub spin: Tensor,
}

impl WorldState {
    /// How many tensors a state consists of.
    pub const TENSORS: usize = 4;

    /// The state as a list, for the carries of a loop: position, rotation, velocity, spin.
    pub fn tensors(&self) -> [&Tensor; 4] {
        [&self.position, &self.rotation, &self.velocity, &self.spin]
    }

    /// The state from such a list.
    ///
    /// # Panics
    /// If there are not four tensors.
    #[track_caller]
    pub fn from_tensors(tensors: &[Tensor]) -> WorldState {
        let [position, rotation, velocity, spin] = tensors else {
            panic!("world state: a state is four tensors ({} vs 4)", tensors.len())
        };
        WorldState {
            position: position.clone(),
            rotation: rotation.clone(),
            velocity: velocity.clone(),
            spin: spin.clone(),
        }
    }

    /// How many worlds.
    pub fn worlds(&self) -> usize {
        self.position.shape()[0]
    }

    /// How many bodies a world has.
    pub fn bodies(&self) -> usize {
        self.position.shape()[1]
    }

    fn map(&self, rule: impl Fn(&Tensor) -> Tensor) -> WorldState {
        let [position, rotation, velocity, spin] = self.tensors().map(rule);
        WorldState { position, rotation, velocity, spin }
    }

    /// The worlds of `other` where the mask `[worlds]` is set, otherwise those of this state. This is how
    /// worlds restart.
    #[track_caller]
    pub fn replaced(&self, mask: &Tensor, other: &WorldState) -> WorldState {
        let [a, b, c, d] = self.tensors();
        let [e, f, g, h] = other.tensors();
        let pick = |own: &Tensor, new: &Tensor| {
            let mask = mask.reshape([self.worlds(), 1, 1]).broadcast_to(own.shape());
            mask.select(new, own)
        };
        WorldState { position: pick(a, e), rotation: pick(b, f), velocity: pick(c, g), spin: pick(d, h) }
    }

    /// The same state, without gradients.
    pub fn stop_gradient(&self) -> WorldState {
        self.map(Tensor::stop_gradient)
    }

    /// The same state, computed as one program and without history.
    pub fn detached(&self) -> Result<WorldState, Error> {
        Tensor::compute_all(&self.tensors())?;
        let [a, b, c, d] = self.tensors().map(Tensor::detach);
        Ok(WorldState { position: a?, rotation: b?, velocity: c?, spin: d? })
    }

    /// One world of a state; it keeps the worlds axis.
    #[track_caller]
    pub fn world(&self, n: usize) -> WorldState {
        self.map(|tensor| tensor.narrow(0, n, 1))
    }
}

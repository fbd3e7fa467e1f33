//! A world that runs: reset, step, observe, and its conserved quantities.
//!
//! Invariant: everything here records graphs and runs nothing. Worlds are the first axis of every tensor.

use farad_tensor::{Device, Tensor};

use crate::assembly::Assembly;
use crate::bodies::{self, PosedBodies, pack, unpack};
use crate::description::{Description, Integrator};
use crate::error::{WorldError, WorldResult};
use crate::quantity::Quantity;
use crate::reset::started;
use crate::rows::Arrangement;
use crate::sensors::{Readings, SENSORS, WiredSensor};
use crate::solver::Solver;
use crate::state::WorldState;
use crate::vector::Vector3;

/// Many copies of a described world, on a device.
///
/// ```
/// use farad_tensor::{Device, Tensor};
/// use farad_world::{World, WorldState};
/// let device = Device::cpu();
/// let world = World::named("pendulum", &device)?;
/// let mut state = world.reset(4, 7);
/// for _ in 0..10 {
///     state = world.step(&state, &Tensor::zeros([4, world.motors()], &device));
/// }
/// assert_eq!(world.observe(&state).shape()[..], [4, world.observations()]);
/// # Ok::<(), farad_world::WorldError>(())
/// ```
pub struct World {
    pub(crate) description: Description,
    pub(crate) assembly: Assembly,
    pub(crate) solver: Solver,
    sensors: Vec<WiredSensor>,
    /// For every rigid joint: its group and its row there.
    pub(crate) joint_places: Vec<(usize, usize)>,
    device: Device,
}

impl World {
    /// A world as described. Checks the description first.
    pub fn new(description: &Description, device: &Device) -> WorldResult<World> {
        description.check()?;
        let assembly = Assembly::new(description)?;
        let solver = Solver::new(description, &assembly, device);
        let mut joint_places = vec![(0, 0); assembly.joints.len()];
        for (g, group) in solver.joints.iter().enumerate() {
            group.members.iter().enumerate().for_each(|(row, &joint)| joint_places[joint] = (g, row));
        }
        let wire = |sensor: &crate::Sensor| WiredSensor {
            row: SENSORS.iter().find(|row| row.name == sensor.kind).expect("checked"),
            of: match (&sensor.body, &sensor.joint) {
                (Some(body), _) => description.body(body).expect("checked"),
                (_, Some(joint)) => {
                    description.joint(joint).and_then(|joint| assembly.rigid[joint]).expect("checked")
                }
                _ => 0,
            },
            axis: sensor.axis,
            scale: sensor.scale,
        };
        let sensors = description.sensors.iter().map(wire).collect();
        Ok(World {
            description: description.clone(),
            sensors,
            assembly,
            solver,
            joint_places,
            device: device.clone(),
        })
    }

    /// A built-in world, from [`WORLDS`](crate::WORLDS).
    pub fn named(name: &str, device: &Device) -> WorldResult<World> {
        World::new(&crate::table::described(name)?, device)
    }

    /// Its description.
    pub fn description(&self) -> &Description {
        &self.description
    }

    /// Where it runs.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// How many bodies a world has.
    pub fn bodies(&self) -> usize {
        self.description.bodies.len()
    }

    /// How many motors, and so actions, a world has.
    pub fn motors(&self) -> usize {
        self.description.motors.len()
    }

    /// The lowest and highest value of every action.
    pub fn ranges(&self) -> Vec<[f64; 2]> {
        self.description.motors.iter().map(|motor| motor.range).collect()
    }

    /// How many numbers are observed of each world.
    pub fn observations(&self) -> usize {
        let plane = usize::from(!self.solver.plane);
        self.sensors.iter().map(|sensor| sensor.row.widths[plane]).sum()
    }

    /// The length of a step, in seconds.
    pub fn time_step(&self) -> f64 {
        self.description.time_step
    }

    /// The index of a body.
    pub fn body(&self, name: &str) -> Option<usize> {
        self.description.body(name)
    }

    /// The number of possible contacts of a world; each is computed in every sub-step.
    pub fn contacts(&self) -> usize {
        self.assembly.contacts.len()
    }

    /// Initial states of this many worlds. The same seed gives the same states on every device.
    #[track_caller]
    pub fn reset(&self, worlds: usize, seed: u64) -> WorldState {
        let noise = Tensor::rand_at(seed, 0, [worlds, self.noise()], &self.device);
        self.reset_with(&noise)
    }

    /// How many uniform numbers an initial state needs.
    pub fn noise(&self) -> usize {
        let each = if self.solver.plane { 3 } else { 6 };
        self.assembly.joints.len() + self.bodies() * each
    }

    /// Initial states from uniform numbers in 0..1, `[worlds, noise]`, for resets inside of loops.
    #[track_caller]
    pub fn reset_with(&self, noise: &Tensor) -> WorldState {
        started(self, noise)
    }

    /// The next state. Actions are `[worlds, motors]`.
    #[track_caller]
    pub fn step(&self, state: &WorldState, actions: &Tensor) -> WorldState {
        self.advanced(state, actions, None, self.description.substeps)
    }

    /// As [`World::step`], with a force on the center of every body, `[worlds, bodies, 2 or 3]`.
    #[track_caller]
    pub fn step_with(&self, state: &WorldState, actions: &Tensor, forces: &Tensor) -> WorldState {
        self.advanced(state, actions, Some(forces), self.description.substeps)
    }

    /// One of the sub-steps of a step: the loop body of long roll-outs.
    #[track_caller]
    pub fn substep(&self, state: &WorldState, actions: &Tensor) -> WorldState {
        self.advanced(state, actions, None, 1)
    }

    #[track_caller]
    fn advanced(
        &self,
        state: &WorldState,
        actions: &Tensor,
        forces: Option<&Tensor>,
        substeps: usize,
    ) -> WorldState {
        let worlds = state.worlds();
        let wanted = [worlds, self.motors()];
        assert!(
            actions.shape()[..] == wanted,
            "world step: actions are [worlds, motors]: {} ({:?} vs {wanted:?})",
            self.description.name,
            &actions.shape()[..],
        );
        let forces: Option<Vec<Vector3>> = forces.map(|forces| {
            let still =
                WorldState { position: state.position.clone(), velocity: forces.clone(), ..state.clone() };
            unpack(&still, self.solver.arrangement).into_iter().map(|slot| slot.moving.velocity).collect()
        });
        let time = self.description.time_step / self.description.substeps as f64;
        let actions = (self.motors() > 0).then_some(actions);
        let mut slots = unpack(state, self.solver.arrangement);
        for _ in 0..substeps {
            slots = match self.description.integrator {
                Integrator::SemiImplicit => self.solver.substep(&slots, actions, forces.as_deref(), time),
                Integrator::RungeKutta => self.solver.smooth_substep(&slots, forces.as_deref(), time),
            };
        }
        pack(&slots, self.solver.arrangement, worlds, self.bodies(), self.solver.plane, &self.device)
    }

    /// The readings of all sensors, concatenated: `[worlds, observations]`.
    #[track_caller]
    pub fn observe(&self, state: &WorldState) -> Tensor {
        let readings = Readings::new(self, state);
        let all: Vec<Tensor> = self.sensors.iter().map(|sensor| readings.read(sensor)).collect();
        match all[..] {
            [] => Tensor::zeros([state.worlds(), 0], &self.device),
            _ => Tensor::concat(&all.iter().collect::<Vec<_>>(), 1),
        }
    }

    /// The energy of every world, `[worlds]`: kinetic energy, potential energy of gravity, and springs between
    /// bodies.
    pub fn energy(&self, state: &WorldState) -> Tensor {
        let slots = unpack(state, self.solver.arrangement);
        let posed = self.solver.posed(&slots);
        let gravity = Vector3::known(self.solver.gravity.0);
        let mut rows = vec![];
        for ((slot, posed), columns) in slots.iter().zip(&posed).zip(&self.solver.columns) {
            let spin = posed.axes.own(&slot.moving.spin);
            let turning = spin.dot(&columns.inertia.times(&spin)) * 0.5;
            let moving = (slot.moving.velocity.square() * 0.5 - gravity.dot(&slot.at)) * &columns.mass;
            rows.push(moving + turning);
        }
        let shown = PosedBodies::new(&posed);
        rows.extend(self.solver.springs.iter().map(|group| group.energy(&shown)));
        self.summed(state.worlds(), rows)
    }

    fn summed(&self, worlds: usize, rows: Vec<Quantity>) -> Tensor {
        let sums = rows.into_iter().map(|row| match row {
            Quantity::Known(value) => Tensor::full(value, [worlds], &self.device),
            Quantity::Tensor(row) => self.solver.arrangement.summed(&row),
        });
        sums.reduce(|a, b| a + b).unwrap_or_else(|| Tensor::zeros([worlds], &self.device))
    }

    /// The momentum of every world, `[worlds, 2 or 3]`.
    pub fn momentum(&self, state: &WorldState) -> Tensor {
        let masses: Vec<f32> = self.assembly.bodies.iter().map(|body| body.mass as f32).collect();
        let masses = Tensor::from_vec(masses, [self.bodies(), 1], &self.device);
        (&state.velocity * masses).sum_axes([1])
    }

    /// The angular momentum of every world about the origin, `[worlds, 1 or 3]`.
    pub fn angular_momentum(&self, state: &WorldState) -> Tensor {
        let slots = unpack(state, self.solver.arrangement);
        let posed = self.solver.posed(&slots);
        let mut sums = [vec![], vec![], vec![]];
        for ((slot, posed), columns) in slots.iter().zip(&posed).zip(&self.solver.columns) {
            let spin = posed.axes.own(&slot.moving.spin);
            let own = posed.axes.out(&columns.inertia.times(&spin));
            let around = slot.at.cross(&slot.moving.velocity).scaled(&columns.mass);
            let whole = own + around;
            sums.iter_mut().zip(whole.parts()).for_each(|(sum, part)| sum.push(part.clone()));
        }
        let first = if self.solver.plane { 2 } else { 0 };
        let parts: Vec<Tensor> =
            sums.into_iter().skip(first).map(|rows| self.summed(state.worlds(), rows)).collect();
        Tensor::stack(&parts.iter().collect::<Vec<_>>(), 1)
    }

    /// The distance between the anchors of every rigid joint, in meters: `[worlds, joints]`, without springs.
    pub fn gaps(&self, state: &WorldState) -> Tensor {
        let slots = unpack(state, self.solver.arrangement);
        let shown = PosedBodies::new(&self.solver.posed(&slots));
        let groups = self.solver.joints.iter().map(|group| {
            let rows = group.members.len();
            let gap = group.prepare(&shown, 1.0).gap();
            self.solver.arrangement.outside(&[gap], state.worlds(), rows, &self.device).squeeze(2)
        });
        let groups: Vec<Tensor> = groups.collect();
        if groups.is_empty() {
            return Tensor::zeros([state.worlds(), 0], &self.device);
        }
        // Groups order the joints differently.
        let first = |group: usize| self.solver.joints[..group].iter().map(|g| g.members.len()).sum::<usize>();
        let order = self.joint_places.iter().map(|&(group, row)| (first(group) + row) as i32).collect();
        let order = Tensor::from_vec(order, [self.joint_places.len()], &self.device);
        Tensor::concat(&groups.iter().collect::<Vec<_>>(), 1).index_select(1, &order)
    }

    /// The largest anchor distance over the joints of every world, in meters, `[worlds]`.
    pub fn drift(&self, state: &WorldState) -> Tensor {
        let gaps = self.gaps(state);
        if gaps.shape()[1] == 0 { Tensor::zeros([state.worlds()], &self.device) } else { gaps.max_axes([1]) }
    }

    /// Which bodies are in no state that a body can be in, booleans `[worlds, bodies]`: a number of it is not finite, or
    /// above 10,000.
    pub fn wild(&self, state: &WorldState) -> Tensor {
        let wild = |t: &Tensor| t.abs().max_axes([2]).less(1e4).not();
        state.tensors().map(wild).into_iter().reduce(|a, b| a | b).expect("four tensors")
    }

    /// An error that names the first body with a position that is not finite or a speed above 10 km/s, if there
    /// is one. Reads the state.
    pub fn check(&self, state: &WorldState) -> Result<(), farad_tensor::Error> {
        self.check_from(state, 0)
    }

    pub(crate) fn check_from(&self, state: &WorldState, step: usize) -> Result<(), farad_tensor::Error> {
        let wild = self.wild(state);
        if !wild.any().to_vec::<bool>()?[0] {
            return Ok(());
        }
        let place = wild.to_vec::<bool>()?.iter().position(|&wild| wild).unwrap_or(0);
        let (world, body) = (place / self.bodies(), place % self.bodies());
        let own = |t: &Tensor| t.narrow(0, world, 1).narrow(1, body, 1).to_vec::<f32>();
        let what = format!("position {:?}, velocity {:?}", own(&state.position)?, own(&state.velocity)?);
        let body = self.description.bodies[body].name.clone();
        Err(WorldError::Exploded { step, world, body, what }.into())
    }

    /// A state of slots of one body each.
    pub(crate) fn packed(&self, slots: &[bodies::BodySlot], worlds: usize) -> WorldState {
        pack(slots, Arrangement::Apart, worlds, self.bodies(), self.solver.plane, &self.device)
    }
}

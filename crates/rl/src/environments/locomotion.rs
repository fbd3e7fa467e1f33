//! Locomotion: any world of `crates/world` as an environment in which a body should move forward.
//!
//! The reward of a step is how far a body moved along the first axis, in meters, plus a bonus for staying up,
//! minus a cost for effort. So the return of an episode is about the distance.

use std::f64::consts::TAU;

use farad::run::{Picture, Value};
use farad::train::settings::{NumberRange, Takes};
use farad::{Device, Result, Tensor};
use farad_world::{Description, World, WorldCamera, WorldState};

use crate::environment::{Actions, Environment, PortNames, Transition};
use crate::error::RlError;

/// Width and height of pictures.
const SIZE: (usize, usize) = (240, 160);

farad::train::settings! {
    /// The rewards of an agent in a world of bodies, and its time steps.
    pub struct LocomotionTask {
        body: String = String::new(), Takes::Text, "The body that should move forward; the first if empty.";
        seconds: f64 = 10.0, Takes::Number(NumberRange::above(0.0)), "Seconds of an episode in a world of bodies.";
        alive: f64 = 0.0, Takes::Number(NumberRange::ANY), "Reward per second for staying up.";
        effort: f64 = 0.05, Takes::Number(NumberRange::from(0.0)), "Cost per second with all motors at full strength.";
        lowest: Vec<f64> = vec![], Takes::Numbers, "The episode ends when the body is lower than this, in meters; without it, never.";
        time_step: f64 = 0.0, Takes::Number(NumberRange::from(0.0)), "Seconds per step; 0 means as described.";
        substeps: usize = 0, Takes::Whole(0, 1 << 10), "Sub-steps per step; 0 means as described.";
        #[later] clock: f64 = 0.0, Takes::Number(NumberRange::from(0.0)), "Beats per second of a clock whose sine and cosine agents see; 0: none.";
    }
}

/// Meters that nothing moves within a step, whatever drives it.
const FARTHEST: f64 = 1.0;

/// The names of what is seen of a clock.
const CLOCK: [&str; 2] = ["clock sine", "clock cosine"];

/// A world of bodies with a task. With a clock, a state has one tensor more: the beats since the start, `[worlds, 1]`.
pub struct Locomotion {
    world: World,
    task: LocomotionTask,
    body: usize,
    /// The center of every motor's range, and half of its width: `[1, motors]`.
    middle: Tensor,
    half: Tensor,
}

impl Locomotion {
    /// From a description, on a device.
    pub fn new(description: &Description, task: LocomotionTask, device: &Device) -> Result<Locomotion> {
        let mut description = description.clone();
        if task.time_step > 0.0 {
            description.time_step = task.time_step;
        }
        if task.substeps > 0 {
            description.substeps = task.substeps;
        }
        let world = World::new(&description, device)?;
        let body = if task.body.is_empty() { Some(0) } else { world.body(&task.body) };
        let body = body.ok_or_else(|| RlError::NoBody { name: task.body.clone() })?;
        let ranges = world.ranges();
        let column = |of: fn(&[f64; 2]) -> f64| {
            let numbers: Vec<f32> = ranges.iter().map(|range| of(range) as f32).collect();
            Tensor::from_vec(numbers, [1, ranges.len()], device)
        };
        let middle = column(|range| (range[0] + range[1]) / 2.0);
        let half = column(|range| (range[1] - range[0]) / 2.0);
        Ok(Locomotion { world, task, body, middle, half })
    }

    /// The world.
    pub fn world(&self) -> &World {
        &self.world
    }

    /// Bodies of a state, which may have a clock beside them.
    fn bodies_of(state: &[Tensor]) -> WorldState {
        WorldState::from_tensors(&state[..WorldState::TENSORS])
    }

    /// One coordinate of the rewarded body, `[worlds]`.
    fn coordinate(&self, state: &WorldState, axis: usize) -> Tensor {
        state.position.narrow(1, self.body, 1).narrow(2, axis, 1).squeeze(2).squeeze(1)
    }

    /// For worlds that exploded within a step one more than the number of the fastest body, for others 0: `[worlds]`.
    fn worst(&self, before: &WorldState, after: &WorldState) -> Tensor {
        let moved = self.coordinate(after, 0) - self.coordinate(before, 0);
        let wild = self.world.wild(after).any_axes([1]) | moved.abs().less(FARTHEST).not();
        // The first NaN, if there is one, is taken for the largest.
        let worst = after.velocity.square().sum_axes([2]).argmax(1) + 1;
        wild.select(&worst, &worst.full_like(0.0))
    }
}

impl Environment for Locomotion {
    fn observations(&self) -> usize {
        self.world.observations() + self.clocks()
    }

    fn clocks(&self) -> usize {
        if self.task.clock > 0.0 { CLOCK.len() } else { 0 }
    }

    fn actions(&self) -> Actions {
        Actions::Continuous(self.world.motors())
    }

    fn longest(&self) -> usize {
        (self.task.seconds / self.world.time_step()).round() as usize
    }

    fn begin(&self, worlds: usize, device: &Device) -> Vec<Tensor> {
        let noise = Tensor::rand([worlds, self.world.noise()], device);
        let mut state = self.world.reset_with(&noise).tensors().map(Tensor::clone).to_vec();
        if self.task.clock > 0.0 {
            state.push(Tensor::zeros([worlds, 1], device));
        }
        state
    }

    fn observe(&self, state: &[Tensor]) -> Tensor {
        let seen = self.world.observe(&Locomotion::bodies_of(state));
        let Some(beats) = state.get(WorldState::TENSORS) else { return seen };
        let angle = beats * TAU;
        Tensor::concat(&[&seen, &angle.sin(), &angle.cos()], 1)
    }

    fn step(&self, state: &[Tensor], action: &Tensor) -> Transition {
        let before = Locomotion::bodies_of(state);
        let driven = action * &self.half + &self.middle;
        let after = self.world.step(&before, &driven);
        let time = self.world.time_step();
        let ahead = self.coordinate(&after, 0) - self.coordinate(&before, 0);
        let effort = action.square().mean_axes([1]) * (self.task.effort * time);
        let reward = ahead + self.task.alive * time - effort;
        // A world that exploded has ended, and gets no reward.
        let fine = self.worst(&before, &after).equal(0);
        let up = self.world.description().dimensions - 1;
        let fell = self.task.lowest.first().map(|&lowest| self.coordinate(&after, up).less(lowest));
        let ended = fell.map_or(fine.not(), |fell| fine.not() | fell);
        let reward = fine.select(&reward, &reward.full_like(0.0));
        let beats = state.get(WorldState::TENSORS).map(|beats| beats + self.task.clock * time);
        Transition { state: after.tensors().into_iter().cloned().chain(beats).collect(), reward, ended }
    }

    fn ahead(&self, state: &[Tensor]) -> Option<Tensor> {
        let place = self.coordinate(&Locomotion::bodies_of(state), 0);
        Some(place * (1.0 / self.world.length(self.body)))
    }

    fn starts_slowly(&self) -> bool {
        true
    }

    fn broken(&self, before: &[Tensor], after: &[Tensor]) -> Option<Tensor> {
        Some(self.worst(&Locomotion::bodies_of(before), &Locomotion::bodies_of(after)))
    }

    fn part(&self, number: usize) -> String {
        let body = self.world.description().bodies.get(number);
        body.map_or_else(|| format!("body {number}"), |body| format!("body \"{}\"", body.name))
    }

    fn draw(&self, state: &[f32]) -> Option<Picture> {
        let (bodies, plane) = (self.world.bodies(), self.world.description().dimensions == 2);
        let (along, turn) = if plane { (2, 2) } else { (3, 4) };
        let (places, rest) = state.split_at_checked(bodies * along)?;
        let turns = rest.get(..bodies * turn)?;
        // One step of one world.
        let part = |numbers: &[f32], width: usize| {
            Tensor::from_vec(numbers.to_vec(), [1, 1, bodies, width], &Device::cpu())
        };
        let (position, rotation) = (part(places, along), part(turns, turn));
        let state = WorldState { velocity: position.clone(), spin: rotation.clone(), position, rotation };
        let camera = WorldCamera::for_world(&self.world).sized(SIZE.0, SIZE.1).follow(self.body);
        self.world.film(&state, 0, 1, &camera).ok()?.pop()
    }

    fn scene(&self) -> Option<Value> {
        let mut scene = self.world.scene();
        scene["drawer"] = "bodies".into();
        scene["seconds"] = self.world.time_step().into();
        scene["follow"] = self.body.into();
        Some(scene)
    }

    fn names(&self) -> PortNames {
        let motors = self.world.description().motors.iter();
        let mut seen = self.world.observed();
        if self.task.clock > 0.0 {
            seen.extend(CLOCK.map(String::from));
        }
        PortNames { seen, done: motors.map(|motor| motor.name.clone()).collect() }
    }
}

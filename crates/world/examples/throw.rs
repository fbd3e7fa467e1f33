//! Throws a ball into a goal by gradient descent through its flight, including a bounce.
//!
//! `cargo run --release -p farad-world --example throw`

use farad_tensor::{Device, Error, Tensor};
use farad_world::{Description, RolloutOptions, World, WorldState};

/// Where the ball should be after the flight.
const GOAL: [f32; 2] = [4.0, 1.0];
/// Steps of a hundredth of a second.
const STEPS: usize = 120;
/// Number of gradient steps.
const UPDATES: usize = 60;
/// The learning rate.
const RATE: f64 = 0.25;
/// The first throw.
const FIRST: [f32; 2] = [2.0, 1.0];

const BALL: &str = r#"{
  "version": 1, "name": "throw", "dimensions": 2, "time_step": 0.01, "substeps": 4,
  "planes": [{"restitution": 0.7, "friction": 0.3}],
  "bodies": [{"name": "ball", "position": [0, 1], "drag": {"quadratic": [0.02, 0.02]},
    "solids": [{"shape": "sphere", "radius": 0.1, "mass": 0.5, "restitution": 0.7, "friction": 0.3}]}]
}"#;

fn main() -> Result<(), Error> {
    let name = std::env::args().nth(1).unwrap_or("best".into());
    let device = Device::named(&name)?;
    let world = World::new(&Description::from_json(BALL)?, &device)?;
    let start = world.reset(1, 0);
    let actions = Tensor::zeros([STEPS, 1, world.motors()], &device);
    let goal = Tensor::from_vec(GOAL.to_vec(), [2], &device);
    let mut throw = Tensor::from_vec(FIRST.to_vec(), [1, 1, 2], &device);
    let mut distance = f32::INFINITY;
    for _ in 0..UPDATES {
        let begin = WorldState { velocity: throw.clone(), ..start.clone() };
        let end = world.rollout(&begin, &actions, &RolloutOptions::default()).last;
        let miss = (end.position.reshape([2]) - &goal).square().sum();
        let slope = miss.gradient(&throw)?;
        distance = miss.sqrt().item()?;
        throw = (&throw - slope * RATE).detach()?;
    }
    println!("throw {:?}: {distance:.4} m beside the goal", throw.to_vec::<f32>()?);
    assert!(distance < 0.02, "the ball misses by {distance} m");
    Ok(())
}

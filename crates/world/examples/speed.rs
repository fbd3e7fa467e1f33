//! Steps of many worlds per second, with random actions: `cargo run --release -p farad-world --example speed crawler 512`.
//!
//! Arguments: a world of the table or a JSON file, how many worlds, how many steps, the device.

use std::time::Instant;

use farad_tensor::{Device, Error, ProfileMode, ProfileOptions, Tensor};
use farad_world::{Description, RolloutOptions, World};

fn main() -> Result<(), Error> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let text = |n: usize, usual: &str| arguments.get(n).cloned().unwrap_or(usual.into());
    let number = |n: usize, usual: usize| arguments.get(n).and_then(|t| t.parse().ok()).unwrap_or(usual);
    let (name, worlds, steps) = (text(0, "crawler"), number(1, 512), number(2, 100));
    let device = Device::named(&text(3, "cpu"))?;
    let world = match std::fs::read_to_string(&name) {
        Ok(json) => World::new(&Description::from_json(&json)?, &device)?,
        Err(_) => World::named(&name, &device)?,
    };
    let actions = (Tensor::rand_at(1, 0, [steps, worlds, world.motors()], &device) * 2.0 - 1.0).detach()?;
    let start = world.reset(worlds, 0);
    let options = RolloutOptions::default();
    let begun = Instant::now();
    world.check_rollout(&world.rollout(&start, &actions, &options))?;
    println!("first roll-out, compiled: {:.2} s", begun.elapsed().as_secs_f64());
    let profile = arguments.iter().any(|argument| argument == "--profile");
    let open =
        profile.then(|| device.open_profile(ProfileOptions { mode: ProfileMode::Kernels, peaks: false }));
    let begun = Instant::now();
    world.check_rollout(&world.rollout(&start, &actions, &options))?;
    let seconds = begun.elapsed().as_secs_f64();
    if let Some(open) = open {
        println!("{}", open.finish());
    }
    println!(
        "{:.0} steps per second ({worlds} worlds, {steps} steps, {seconds:.2} s)",
        (worlds * steps) as f64 / seconds
    );
    Ok(())
}

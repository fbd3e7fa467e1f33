//! How far joints come apart: `cargo run --release -p farad-world --example drift humanoid 256`.
//!
//! Arguments: a world of the table or a JSON file, how many worlds, how many steps, what drives them (`idle` or `random`), the device, the seed of starts.

use farad_tensor::{Device, Error, Tensor};
use farad_world::{Description, RolloutOptions, World};

/// Steps between two looks.
const EVERY: usize = 50;

fn main() -> Result<(), Error> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let text = |n: usize, usual: &str| arguments.get(n).cloned().unwrap_or(usual.into());
    let number = |n: usize, usual: usize| arguments.get(n).and_then(|t| t.parse().ok()).unwrap_or(usual);
    let (name, worlds, steps) = (text(0, "humanoid"), number(1, 256), number(2, 1000));
    let (driven, device) = (text(3, "idle") == "random", Device::named(&text(4, "cpu"))?);
    let seed = number(5, 0) as u64;
    let world = match std::fs::read_to_string(&name) {
        Ok(json) => World::new(&Description::from_json(&json)?, &device)?,
        Err(_) => World::named(&name, &device)?,
    };
    let joints: Vec<&str> = world.description().joints.iter().map(|joint| joint.name.as_str()).collect();
    let mut state = world.reset(worlds, seed).detached()?;
    let mut widest = vec![0f32; worlds];
    let mut found = (0f32, 0, 0, 0);
    for part in 0..steps / EVERY {
        let shape = [EVERY, worlds, world.motors()];
        let actions = match driven {
            true => (Tensor::rand_at(1, part as u64, shape, &device) * 2.0 - 1.0).detach()?,
            false => Tensor::zeros(shape, &device).detach()?,
        };
        state = world.rollout(&state, &actions, &RolloutOptions::default()).last.detached()?;
        world.check(&state)?;
        let gaps = world.gaps(&state).to_vec::<f32>()?;
        for (place, &gap) in gaps.iter().enumerate() {
            let own = place * worlds / gaps.len();
            widest[own] = widest[own].max(gap);
            if gap > found.0 {
                found = (gap, (part + 1) * EVERY, own, place % (gaps.len() / worlds));
            }
        }
    }
    widest.sort_by(f32::total_cmp);
    let share = |share: f64| widest[((worlds - 1) as f64 * share) as usize] * 1e3;
    let (gap, step, at, joint) = found;
    println!(
        "{name}, {worlds} worlds: widest gap {:.3} mm at joint {} of world {at} after {step} steps; of worlds, median {:.3}, 90 % {:.3}, 99 % {:.3}",
        gap * 1e3,
        joints.get(joint).unwrap_or(&"?"),
        share(0.5),
        share(0.9),
        share(0.99)
    );
    Ok(())
}

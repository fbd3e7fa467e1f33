//! Cart-pole by PPO: `cargo run --release -p farad-rl --example cart_pole`.

use std::sync::Arc;
use std::time::Instant;

use farad::prelude::*;
use farad_rl::{CartPole, Ppo, PpoSettings, returns};

/// Agents that train side by side, each from its own numbers.
const SEEDS: usize = 2;
/// Updates of 64 worlds for 32 steps.
const UPDATES: u64 = 100;

fn main() -> farad::Result<()> {
    let device = Device::best();
    farad::seed(1);
    device.seed(1);
    let mut ppo = Ppo::new(Arc::new(CartPole), PpoSettings::default(), SEEDS, UPDATES, &device)?;
    let started = Instant::now();
    for update in 0..UPDATES {
        let course = ppo.update()?;
        if (update + 1) % 20 == 0 {
            let returns = course.narrow(1, 1, 1).to_vec::<f32>()?;
            println!("update {:3}: returns {returns:.0?}", update + 1);
        }
    }
    let [totals, _] = returns(&CartPole, &ppo.agents(), 100, &device);
    let means = totals.mean_axes([1]).to_vec::<f32>()?;
    println!("{:.1} s; mean returns of 100 episodes: {means:.1?}", started.elapsed().as_secs_f64());
    assert!(means.iter().any(|&mean| mean >= 475.0), "no agent holds the pole");
    Ok(())
}

//! Two agents learn in parallel, by PPO, to balance the pole of a cart.
//!
//!     cargo run --release --example cart_pole -p farad-rl [device] [short]

use std::sync::Arc;

use farad::prelude::*;
use farad_rl::{CartPole, Ppo, PpoSettings, returns};

/// Agents, each with its own worlds, weights and sample order.
const AGENTS: usize = 2;
/// Updates of 64 worlds for 32 steps; in a short run, 16 worlds.
const UPDATES: u64 = 100;
const SHORT: u64 = 6;
/// Episodes that the agents are judged on.
const EPISODES: usize = 100;
/// The return that the better agent must reach; 500 is the maximum. In a short run it only has to improve.
const THRESHOLD: f32 = 475.0;

fn main() -> farad::Result<()> {
    let name = std::env::args().nth(1).unwrap_or("best".into());
    let short = std::env::args().nth(2).is_some_and(|word| word == "short");
    let device = Device::named(&name)?;
    farad::seed(1);
    device.seed(1);

    let (updates, worlds) = if short { (SHORT, 16) } else { (UPDATES, 64) };
    let settings = PpoSettings { worlds, minibatches: 4, ..PpoSettings::default() };
    let mut ppo = Ppo::new(Arc::new(CartPole), settings, AGENTS, updates, &device)?;
    let mut first = None;
    for update in 1..=updates {
        // Loss, return, entropy and divergence of every agent.
        let course = ppo.update()?;
        if update == 1 || update % 20 == 0 || update == updates {
            let now = course.narrow(1, 1, 1).to_vec::<f32>()?;
            println!("update {update}: returns {now:.0?}");
            first.get_or_insert(now);
        }
    }

    let episodes = if short { 4 } else { EPISODES };
    let [totals, _] = returns(&CartPole, &ppo.agents(), episodes, &device);
    let means = totals.mean_axes([1]).to_vec::<f32>()?;
    println!("mean returns of {episodes} episodes: {means:.1?}");
    let best = means.iter().copied().fold(0.0, f32::max);
    let wanted = if short { first.map_or(0.0, |first| first[0].max(first[1])) } else { THRESHOLD };
    assert!(best > wanted, "no agent holds the pole: {best}, not {wanted}");
    Ok(())
}

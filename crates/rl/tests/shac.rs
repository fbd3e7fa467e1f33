//! SHAC: swings the pendulum up, continues with the same bits after a restore, refuses what it cannot train.

use std::sync::Arc;

use farad::prelude::*;
use farad_rl::{CartPole, Pendulum, PpoSettings, Shac, ShacSettings, returns};

/// Tests of one process share the random numbers that weights are drawn from.
static ONE: std::sync::Mutex<()> = std::sync::Mutex::new(());

fn shared() -> PpoSettings {
    PpoSettings {
        worlds: 16,
        horizon: 16,
        epochs: 2,
        minibatches: 4,
        discount: 0.97,
        learning_rate: 1e-2,
        gradient_norm: 1.0,
        normalize: true,
        ..PpoSettings::default()
    }
}

fn settings() -> ShacSettings {
    ShacSettings { critic_rate: 5e-3, slow_critic: 0.2, reward_gain: 0.1, ..ShacSettings::default() }
}

#[test]
fn shac_swings_the_pendulum_up() -> farad::Result<()> {
    let _one = ONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let device = Device::cpu_with(Default::default());
    farad::seed(3);
    device.seed(3);
    let mut shac = Shac::new(Arc::new(Pendulum), settings(), shared(), 1, 800, &device)?;
    let mean = |shac: &Shac| returns(&Pendulum, &shac.agents(), 50, &device)[0].mean().item();
    let before = mean(&shac)?;
    assert!(before < -800.0, "{before}");
    let mut best = before;
    for update in 0..800 {
        let counters = device.counters();
        shac.update()?;
        let done = device.counters().since(&counters);
        if update > 3 && update % 50 != 0 {
            // One program, replayed; nothing is read back.
            assert_eq!((done.runs, done.plans_compiled, done.reads), (1, 0, 0), "update {update}");
        }
        if update % 50 == 49 {
            best = best.max(mean(&shac)?);
            if best > -200.0 {
                break;
            }
        }
    }
    assert!(best > -200.0, "{best}");
    Ok(())
}

#[test]
fn shac_continues_with_the_same_bits() -> farad::Result<()> {
    let _one = ONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let device = Device::cpu_with(Default::default());
    let shared = PpoSettings { worlds: 4, horizon: 8, hidden: vec![8], ..shared() };
    let new = || {
        farad::seed(7);
        device.seed(7);
        Shac::new(Arc::new(Pendulum), settings(), shared.clone(), 2, 10, &device)
    };
    let mut whole = new()?;
    for _ in 0..3 {
        whole.update()?;
    }
    let (kept, random) = (whole.tensors(), device.random_state());
    let course = whole.update()?.to_vec::<f32>()?;
    assert!(course.iter().all(|number| number.is_finite()), "{course:?}");
    let mut again = new()?;
    again.restore(&kept, 3)?;
    device.set_random_state(random);
    assert_eq!(again.update()?.to_vec::<f32>()?, course);
    for ((name, a), (_, b)) in whole.tensors().iter().zip(again.tensors()) {
        assert_eq!(a.to_vec::<f32>()?, b.to_vec::<f32>()?, "{name}");
    }
    Ok(())
}

#[test]
fn what_shac_cannot_train_is_refused() {
    let device = Device::cpu();
    let refused = |environment: Arc<dyn farad_rl::Environment>, shared: PpoSettings| {
        let made = Shac::new(environment, settings(), shared, 1, 10, &device);
        made.err().expect("it is refused").to_string()
    };
    let found = refused(Arc::new(CartPole), shared());
    assert!(
        found.starts_with("shac: actions are choices, not numbers\nhelp: use ppo, dreamer, es or cma"),
        "{found}"
    );
    let found = refused(Arc::new(Pendulum), PpoSettings { minibatches: 7, ..shared() });
    assert!(found.starts_with("shac: samples do not split into minibatches"), "{found}");
}

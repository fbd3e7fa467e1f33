//! SAC: swings the pendulum up, continues with the same bits after a restore, refuses what it cannot train.

use std::sync::Arc;

use farad::prelude::*;
use farad_rl::{CartPole, Pendulum, PpoSettings, Sac, SacSettings, returns};

/// Tests of one process share the random numbers that weights are drawn from.
static ONE: std::sync::Mutex<()> = std::sync::Mutex::new(());

fn shared() -> PpoSettings {
    PpoSettings { worlds: 8, horizon: 8, learning_rate: 2e-3, discount: 0.98, ..PpoSettings::default() }
}

fn settings() -> SacSettings {
    SacSettings { reward_scale: 0.1, ..SacSettings::default() }
}

#[test]
fn sac_swings_the_pendulum_up() -> farad::Result<()> {
    let _one = ONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let device = Device::cpu_with(Default::default());
    farad::seed(3);
    device.seed(3);
    let mut sac = Sac::new(Arc::new(Pendulum), settings(), shared(), 1, &device)?;
    let mean = |sac: &Sac| returns(&Pendulum, &sac.agents(), 50, &device)[0].mean().item();
    let before = mean(&sac)?;
    assert!(before < -800.0, "{before}");
    let mut best = before;
    for update in 0..300 {
        let counters = device.counters();
        sac.update()?;
        let done = device.counters().since(&counters);
        if update > 40 && update % 50 != 0 {
            // One program, replayed, also across the end of the warm-up; nothing is read back.
            assert_eq!((done.runs, done.plans_compiled, done.reads), (1, 0, 0), "update {update}");
        }
        if update % 50 == 49 {
            best = best.max(mean(&sac)?);
            if best > -200.0 {
                break;
            }
        }
    }
    assert!(best > -200.0, "{best}");
    Ok(())
}

#[test]
fn sac_continues_with_the_same_bits() -> farad::Result<()> {
    let _one = ONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let device = Device::cpu_with(Default::default());
    let small = SacSettings { replay: 100, batch: 8, gradients: 3, warm_up_samples: 32, ..settings() };
    let shared = PpoSettings { worlds: 4, horizon: 4, hidden: vec![8], ..shared() };
    let new = || {
        farad::seed(7);
        device.seed(7);
        Sac::new(Arc::new(Pendulum), small.clone(), shared.clone(), 2, &device)
    };
    let mut whole = new()?;
    for _ in 0..5 {
        whole.update()?;
    }
    let (kept, random) = (whole.tensors(), device.random_state());
    let course = whole.update()?.to_vec::<f32>()?;
    let mut again = new()?;
    again.restore(&kept, 5)?;
    device.set_random_state(random);
    assert_eq!(again.update()?.to_vec::<f32>()?, course);
    for ((name, a), (_, b)) in whole.tensors().iter().zip(again.tensors()) {
        assert_eq!(a.to_vec::<f32>()?, b.to_vec::<f32>()?, "{name}");
    }
    // Samples are counted per seed, at most as many as are remembered.
    assert_eq!((course[3], course[7]), (96.0, 96.0));
    Ok(())
}

#[test]
fn what_sac_cannot_train_is_refused() {
    let device = Device::cpu();
    let refused = |environment: Arc<dyn farad_rl::Environment>, settings: SacSettings| {
        Sac::new(environment, settings, shared(), 1, &device).err().expect("it is refused").to_string()
    };
    let found = refused(Arc::new(CartPole), settings());
    assert!(found.starts_with("sac: actions are choices, not numbers"), "{found}");
    let found = refused(Arc::new(Pendulum), SacSettings { replay: 63, ..settings() });
    assert!(found.contains("an update has more samples than are remembered (64 vs 63)"), "{found}");
}

//! Dreamer: its model learns a world and its agents act better, it continues with the same bits after a restore, it refuses
//! what it cannot remember.

use std::sync::Arc;

use farad::prelude::*;
use farad_rl::{
    Actions, CartPole, CartPoleSwingUp, DREAMER_COURSE, Dreamer, DreamerSettings, Environment, Pendulum,
    PpoSettings, SacSettings, Transition, returns,
};

/// Tests of one process share the random numbers that weights are drawn from.
static ONE: std::sync::Mutex<()> = std::sync::Mutex::new(());

fn shared() -> PpoSettings {
    PpoSettings {
        worlds: 4,
        horizon: 16,
        learning_rate: 1e-3,
        discount: 0.98,
        entropy: 3e-4,
        ..PpoSettings::default()
    }
}

fn settings() -> DreamerSettings {
    DreamerSettings {
        size: "debug".into(),
        sequence: 16,
        imagination: 10,
        imagine_last: 0,
        train_ratio: 16.0,
        rate_warm_up: 20,
    }
}

fn replays() -> SacSettings {
    SacSettings { replay: 1 << 14, batch: 8, warm_up_samples: 512, ..SacSettings::default() }
}

/// The place of a column.
fn column(name: &str) -> usize {
    DREAMER_COURSE.iter().position(|column| *column == name).expect("it is there")
}

/// A sled on a line that is pushed, and should be at the middle. Its speed is not seen, so it must be remembered.
struct Sled;

impl Environment for Sled {
    fn observations(&self) -> usize {
        1
    }

    fn actions(&self) -> Actions {
        Actions::Continuous(1)
    }

    fn longest(&self) -> usize {
        30
    }

    fn begin(&self, worlds: usize, device: &Device) -> Vec<Tensor> {
        vec![Tensor::rand([worlds], device) * 2.0 - 1.0, Tensor::zeros([worlds], device)]
    }

    fn observe(&self, state: &[Tensor]) -> Tensor {
        state[0].unsqueeze(1)
    }

    fn step(&self, state: &[Tensor], action: &Tensor) -> Transition {
        let speed = &state[1] * 0.7 + action.squeeze(1) * 0.1;
        let place = (&state[0] + &speed).clamp(-1.5, 1.5);
        Transition { reward: 1.0 - place.abs(), ended: place.is_nan(), state: vec![place, speed] }
    }
}

#[test]
fn dreamer_learns_a_world_and_to_act_in_it() -> farad::Result<()> {
    let _one = ONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let device = Device::cpu_with(Default::default());
    farad::seed(3);
    device.seed(3);
    let shared = PpoSettings { discount: 0.9, ..shared() };
    let mut dreamer = Dreamer::new(Arc::new(Sled), settings(), replays(), shared, 1, &device)?;
    let mean = |dreamer: &Dreamer| returns(&Sled, &dreamer.agents(), 50, &device)[0].mean().item();
    let before = mean(&dreamer)?;
    let mut losses = vec![];
    for update in 0..70 {
        let counters = device.counters();
        let course = dreamer.update()?;
        let done = device.counters().since(&counters);
        if update > 15 && update % 10 != 0 {
            // Programs that are replayed; nothing is read back.
            assert_eq!((done.plans_compiled, done.reads), (0, 0), "update {update}");
        }
        if update % 10 == 9 {
            let told = course.to_vec::<f32>()?;
            losses.push([told[column("reconstruction_loss")], told[column("reward_loss")]]);
        }
    }
    let after = mean(&dreamer)?;
    println!("{before} before, {after} after, reconstruction and rewards {losses:?}");
    assert!(losses[6][0] < 0.4 * losses[0][0] && losses[6][1] < 0.5 * losses[0][1], "{losses:?}");
    assert!(after > before + 5.0, "{before} before, {after} after");
    Ok(())
}

#[test]
fn dreamer_continues_with_the_same_bits() -> farad::Result<()> {
    let _one = ONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let seer = CartPoleSwingUp { images: true };
    for environment in [Arc::new(Pendulum) as Arc<dyn Environment>, Arc::new(CartPole), Arc::new(seer)] {
        let device = Device::cpu_with(Default::default());
        let new = || {
            farad::seed(7);
            device.seed(7);
            let small = DreamerSettings { sequence: 4, imagination: 3, train_ratio: 2.0, ..settings() };
            let replays = SacSettings { replay: 40, batch: 3, warm_up_samples: 8, ..replays() };
            let shared = PpoSettings { worlds: 2, horizon: 4, ..shared() };
            Dreamer::new(environment.clone(), small, replays, shared, 2, &device)
        };
        let mut whole = new()?;
        for _ in 0..5 {
            whole.update()?;
        }
        let (kept, random) = (whole.tensors(), device.random_state());
        let course = whole.update()?.to_vec::<f32>()?;
        assert!(course.iter().all(|x| x.is_finite()), "{course:?}");
        let mut again = new()?;
        again.restore(&kept, 5)?;
        device.set_random_state(random);
        assert_eq!(again.update()?.to_vec::<f32>()?, course);
        let mut moved = 0;
        for ((name, a), (_, b)) in whole.tensors().iter().zip(again.tensors()) {
            assert_eq!(a.to_vec::<f32>()?, b.to_vec::<f32>()?, "{name}");
            let old = &kept.iter().find(|(other, _)| other == name).expect("it is there").1;
            moved += usize::from(old.to_vec::<f32>()? != a.to_vec::<f32>()?);
        }
        // A gradient step was made: nearly everything moved.
        assert!(moved >= 10, "{moved}");
        // Samples are counted per seed, at most as many as are remembered.
        let samples = column("samples");
        assert_eq!((course[samples], course[DREAMER_COURSE.len() + samples]), (40.0, 40.0));
    }
    Ok(())
}

/// Swing-up from pictures, beginning anywhere with any angle, so that no picture is like another.
struct Anywhere(CartPoleSwingUp);

impl Environment for Anywhere {
    fn observations(&self) -> usize {
        self.0.observations()
    }

    fn actions(&self) -> Actions {
        self.0.actions()
    }

    fn longest(&self) -> usize {
        20
    }

    fn begin(&self, worlds: usize, device: &Device) -> Vec<Tensor> {
        let most = Tensor::from_vec(vec![2.0f32, 1.0, 3.1, 3.0], [4], device);
        vec![(Tensor::rand([worlds, 4], device) * 2.0 - 1.0) * most]
    }

    fn observe(&self, state: &[Tensor]) -> Tensor {
        self.0.observe(state)
    }

    fn image(&self) -> Option<[usize; 3]> {
        self.0.image()
    }

    fn step(&self, state: &[Tensor], action: &Tensor) -> Transition {
        self.0.step(state, action)
    }
}

#[test]
fn dreamer_learns_what_pictures_show() -> farad::Result<()> {
    let _one = ONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let device = Device::cpu_with(Default::default());
    farad::seed(5);
    device.seed(5);
    let small = DreamerSettings { sequence: 8, imagination: 2, train_ratio: 8.0, ..settings() };
    let replays = SacSettings { batch: 8, warm_up_samples: 128, ..replays() };
    let seer = CartPoleSwingUp { images: true };
    let shared = PpoSettings { learning_rate: 2e-3, ..shared() };
    let mut dreamer = Dreamer::new(Arc::new(Anywhere(seer)), small, replays, shared, 1, &device)?;
    const UPDATES: usize = 45;
    let mut losses = vec![];
    for _ in 0..UPDATES {
        losses.push(dreamer.update()?.to_vec::<f32>()?[column("reconstruction_loss")]);
    }
    // What a model would lose that always tells the mean of all remembered pictures.
    let replay = dreamer.tensors().into_iter().find(|(name, _)| name == "replay").expect("it is there").1;
    let states = replay
        .narrow(2, replay.shape()[2] - UPDATES * 16, UPDATES * 16)
        .narrow(3, 0, 4)
        .reshape([4 * UPDATES * 16, 4]);
    let pictures = seer.observe(&[states]);
    let constant = pictures.variance([0], 0).sum().item()?;
    let last = losses[UPDATES - 5..].iter().sum::<f32>() / 5.0;
    println!("{constant} by the mean, {last} now, {losses:?}");
    assert!(losses[1] > 100.0 && last < 0.8 * constant, "{constant} by the mean, {losses:?}");
    Ok(())
}

#[test]
fn what_dreamer_cannot_remember_is_refused() {
    let replays = SacSettings { replay: 63, ..replays() };
    let refused = Dreamer::new(Arc::new(Pendulum), settings(), replays, shared(), 1, &Device::cpu());
    let found = refused.err().expect("it is refused").to_string();
    assert!(
        found.starts_with("dreamer: worlds do not remember a sequence or an update (63 vs 64 or more)"),
        "{found}"
    );
}

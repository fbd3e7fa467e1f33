//! Several ranks against one: the same worlds, the same updates, up to the rounding of sums over ranks.

use std::sync::{Arc, Mutex};

use farad::group::Group;
use farad::prelude::*;
use farad_rl::{CartPole, Cma, Environment, Es, EvolutionSettings, Pendulum, Ppo, PpoSettings};

/// Weights are drawn from the CPU's numbers, which all threads share.
static DRAWING: Mutex<()> = Mutex::new(());

/// All ranks of a group, each in its thread with a device of its own.
fn ranks<T: Send>(size: usize, of: impl Fn(&Group, &Device) -> T + Sync) -> Vec<T> {
    std::thread::scope(|scope| {
        let threads: Vec<_> = Group::threads(size)
            .expect("ranks")
            .into_iter()
            .map(|group| {
                let of = &of;
                scope.spawn(move || of(&group, &Device::cpu_with(Default::default())))
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().expect("no panic")).collect()
    })
}

type Stored = Vec<(String, Tensor)>;

fn numbers(tensors: &[(String, Tensor)]) -> Vec<f32> {
    let own = tensors.iter().filter(|(_, tensor)| tensor.dtype() == DType::F32);
    own.flat_map(|(_, tensor)| tensor.to_vec::<f32>().expect("numbers")).collect()
}

fn distance(a: &[f32], b: &[f32]) -> f64 {
    assert_eq!(a.len(), b.len());
    let norm = |all: &mut dyn Iterator<Item = f64>| all.map(|x| x * x).sum::<f64>().sqrt();
    let apart = norm(&mut a.iter().zip(b).map(|(a, b)| f64::from(a - b)));
    apart / norm(&mut b.iter().map(|&b| f64::from(b))).max(1e-12)
}

fn ppo(environment: &Arc<dyn Environment>, group: &Group, device: &Device) -> Ppo {
    let normal = environment.actions().outputs() == 1;
    let settings = PpoSettings {
        worlds: 8,
        horizon: 16,
        epochs: 2,
        minibatches: 4,
        hidden: vec![16],
        normalize: normal,
        normalize_rewards: normal,
        bootstrap: normal,
        ..PpoSettings::default()
    };
    let _drawing = DRAWING.lock().expect("nobody panicked");
    farad::seed(5);
    device.seed(5);
    let ppo = Ppo::new(environment.clone(), settings, 2, 10, device).expect("it begins");
    ppo.distributed(group).expect("enough worlds")
}

/// What updates give, and the state after them.
fn updated(mut ppo: Ppo, updates: usize) -> (Vec<f32>, Stored) {
    let mut course = vec![];
    for _ in 0..updates {
        course.extend(ppo.update().expect("an update").to_vec::<f32>().expect("numbers"));
    }
    ppo.gather().expect("all ranks gather");
    (course, ppo.tensors())
}

#[test]
fn ppo_of_several_ranks_begins_as_that_of_one() {
    let all: [Arc<dyn Environment>; 2] = [Arc::new(CartPole), Arc::new(Pendulum)];
    for environment in &all {
        let (course, whole) =
            updated(ppo(environment, &Group::alone(), &Device::cpu_with(Default::default())), 1);
        for size in [2, 3] {
            let found = ranks(size, |group, device| updated(ppo(environment, group, device), 1));
            for (said, state) in &found {
                assert_eq!(numbers(state), numbers(&found[0].1), "ranks differ");
                for ((name, tensor), (_, wanted)) in state.iter().zip(&whole) {
                    let (tensor, wanted) = (tensor.to_vec::<f32>().unwrap(), wanted.to_vec::<f32>().unwrap());
                    let apart = distance(&tensor, &wanted);
                    assert!(apart < 1e-4, "{name} of {size} ranks is {apart:e} apart");
                }
                assert!(distance(said, &course) < 1e-4, "{said:?} vs {course:?}");
            }
        }
    }
}

/// What two ranks have stored, one goes on with.
#[test]
fn worlds_of_ranks_are_stored_whole() {
    let environment: Arc<dyn Environment> = Arc::new(Pendulum);
    let stored = ranks(2, |group, device| {
        let (_, state) = updated(ppo(&environment, group, device), 1);
        (state, device.random_state())
    });
    let go_on = |group: &Group, device: &Device| {
        let mut ppo = ppo(&environment, group, device);
        let (state, random) = &stored[0];
        ppo.restore(state, 1).expect("it fits");
        device.set_random_state(*random);
        numbers(&updated(ppo, 1).1)
    };
    let alone = go_on(&Group::alone(), &Device::cpu_with(Default::default()));
    for found in ranks(2, go_on) {
        let apart = distance(&found, &alone);
        assert!(apart < 1e-4, "{apart:e} apart");
    }
}

#[test]
fn evolution_of_several_ranks_is_that_of_one() {
    let settings = |scale| EvolutionSettings {
        population: 10,
        trials: 2,
        policy: vec![],
        scale,
        ..EvolutionSettings::default()
    };
    let environment = || Arc::new(CartPole);
    let begin = |device: &Device| {
        farad::seed(5);
        device.seed(5);
    };
    let evolved = |group: &Group, device: &Device| {
        let drawing = DRAWING.lock().expect("nobody panicked");
        begin(device);
        let cma = Cma::new(environment(), settings(false), 2, 3, device).expect("it begins");
        let es = [false, true]
            .map(|scale| Es::new(environment(), settings(scale), 2, 100, device).expect("it begins"));
        drop(drawing);
        let mut cma = cma.distributed(group).expect("enough policies");
        let mut all: Vec<u32> = vec![];
        for es in es {
            let mut es = es.distributed(group).expect("enough policies");
            (0..3).for_each(|_| drop(es.update().expect("a generation")));
            all.extend(numbers(&es.tensors()).iter().map(|number| number.to_bits()));
        }
        (0..3).for_each(|_| drop(cma.update().expect("a generation")));
        all.extend(cma.tensors().iter().flat_map(|(_, words)| words.to_vec::<u32>().expect("words")));
        all
    };
    let alone = evolved(&Group::alone(), &Device::cpu_with(Default::default()));
    for size in [2, 3] {
        for found in ranks(size, evolved) {
            assert_eq!(found, alone, "{size} ranks");
        }
    }
}

#[test]
fn more_ranks_than_policies_are_refused() {
    let settings =
        EvolutionSettings { population: 2, trials: 1, policy: vec![], ..EvolutionSettings::default() };
    let found = ranks(3, |group, device| {
        let _drawing = DRAWING.lock().expect("nobody panicked");
        let es = Es::new(Arc::new(CartPole), settings.clone(), 1, 100, device).expect("it begins");
        es.distributed(group).map(drop).expect_err("too few").to_string()
    });
    assert!(found[0].contains("worlds or policies (2 vs 3)"), "{}", found[0]);
}

//! Every method to close the gap between soft and hard that the settings offer: CPU and GPU agree, an update
//! stays one submission without reads, seeds learn the same alone and among others, and the published recipe
//! does not change.

mod automata;
mod devices;
mod numbers;

use automata::small_checkerboard;
use devices::turn;
use farad::optim::{Clip, Optimizer};
use farad::prelude::*;
use farad::train::settings::SettingsTable as _;
use farad_logic::train::AutomatonTrainer;
use farad_logic::{AutomatonSettings, GateTable, Recipe, RollOut, Wiring, initial_logits};
use numbers::distance;

/// The keys of each method, and the most launches of an update.
const METHODS: [(&str, usize); 15] = [
    ("lab.forward=hard", 120),
    ("lab.forward=gumbel lab.temperature=0.7", 120),
    ("lab.forward=noisy lab.gate_noise=0.5", 120),
    ("lab.adaptive=2", 120),
    ("lab.adaptive=-0.5 lab.forward=hard", 120),
    ("freeze_from=0 freeze_until=0 freeze_most=0.5", 120),
    ("freeze_from=0 freeze_until=0 freeze_most=0.5 freeze_order=anew", 120),
    ("freeze_from=0 freeze_until=0 freeze_most=0.5 freeze_order=confidence", 150),
    ("gates=four", 120),
    ("gates=four lab.forward=gumbel", 120),
    ("rounding=nearest lab.forward=hard", 120),
    ("lab.entropy=0.01 lab.margin=0.01", 120),
    ("gates=four lab.entropy=0.01 lab.margin=0.01 lab.noise=0.1", 120),
    ("lab.states=rounded lab.round_every=3", 300),
    ("lab.states=sampled lab.round_every=2 lab.final_rate=0.1 lab.sharpness=2", 300),
];

fn trainer(keys: &str, seeds: &[u64], device: &Device) -> AutomatonTrainer {
    let mut settings: AutomatonSettings = small_checkerboard().reference.clone();
    (settings.height, settings.width, settings.steps, settings.updates) = (4, 5, 9, 10);
    settings.initial_logit = 4.0;
    keys.split_whitespace().for_each(|assignment| settings.set(assignment).unwrap());
    AutomatonTrainer::new(small_checkerboard(), settings, seeds, device)
}

fn bits(trainer: &AutomatonTrainer) -> Vec<u32> {
    trainer.logits().to_vec::<f32>().unwrap().into_iter().map(f32::to_bits).collect()
}

#[test]
fn the_published_recipe_is_softmax_roll_out_squares_and_adam() {
    let device = Device::cpu();
    let recipe = Recipe::named("life").unwrap();
    let settings = recipe.reference.clone();
    let mut trainer = AutomatonTrainer::new(recipe.clone(), settings, &[5], &device);
    let topology = recipe.topology.clone();
    let wiring = Wiring::new(&topology, &[topology.wire(5)], &device);
    let logits = Parameter::new(initial_logits(&[1, topology.gates()], 10.0, &device));
    let mut adam = AdamW::new(vec![logits.clone()])
        .learning_rate(0.05)
        .betas(0.9, 0.99)
        .weight_decay(0.01)
        .clip(Clip::Value(100.0));
    let (before, after) = farad_logic::recipe::Rule::life().boards();
    let boards = |bits: &[bool], numbers: &[usize]| {
        let rows = numbers.iter().flat_map(|&n| &bits[9 * n..9 * n + 9]);
        Tensor::from_vec(rows.map(|&bit| f32::from(bit)).collect(), [1, 20, 3, 3, 1], &device)
    };
    for update in 0..3u64 {
        // Uniform numbers of the training stream: see `Starts`.
        let drawn = Tensor::rand_at(5, update * 16 + (1 << 32), [20], &device).to_vec::<f32>().unwrap();
        let numbers: Vec<usize> = drawn.iter().map(|u| (u * 512.0) as usize).collect();
        let coefficients = GateTable::on(&device).soft(&logits.value());
        let op = RollOut::new(topology.clone(), 1);
        let last = op.run(&coefficients, &wiring, &boards(&before, &numbers), None);
        let loss = (last - boards(&after, &numbers)).square().sum();
        adam.step(&loss).unwrap();
        trainer.update().unwrap();
    }
    let plain: Vec<u32> = logits.value().to_vec::<f32>().unwrap().into_iter().map(f32::to_bits).collect();
    assert!(plain == bits(&trainer), "the published recipe has changed");
}

#[test]
fn every_method_is_the_same_on_all_devices() {
    let _turn = turn();
    let devices: Vec<Device> = devices::all().into_iter().take(2).collect();
    for (keys, _) in METHODS {
        let found = devices.iter().map(|device| {
            let trainer = trainer(keys, &[7, 8], device);
            let losses = trainer.loss();
            let slope = losses.sum().gradient(&trainer.logits()).unwrap();
            (device.name().to_string(), losses.to_vec::<f32>().unwrap(), slope.to_vec::<f32>().unwrap())
        });
        let found: Vec<_> = found.collect();
        let plain = trainer("", &[7, 8], &Device::cpu()).loss().to_vec::<f32>().unwrap();
        let penalties_only = keys.starts_with("lab.entropy");
        assert!((found[0].1 == plain) == penalties_only || keys.starts_with("gates"), "{keys}: does nothing");
        for (name, losses, slope) in &found[1..] {
            let double = |numbers: &[f32]| numbers.iter().map(|&x| f64::from(x)).collect::<Vec<_>>();
            let (value, gradient) =
                (distance(losses, &double(&found[0].1)), distance(slope, &double(&found[0].2)));
            assert!(slope.iter().any(|&g| g != 0.0), "{keys}: no gradient");
            assert!(value < 1e-4 && gradient < 1e-3, "{keys} on {name}: {value:e}, {gradient:e}");
        }
    }
}

#[test]
fn every_method_is_one_submission_of_few_dispatches_and_reads_nothing() {
    let _turn = turn();
    let Some(device) = devices::gpus().into_iter().next() else { return };
    for (keys, most) in METHODS {
        let mut trainer = trainer(keys, &[7, 8], &device);
        (0..3).for_each(|_| drop(trainer.update().unwrap()));
        device.wait().unwrap();
        let before = device.counters();
        let updates = 3;
        (0..updates).for_each(|_| drop(trainer.update().unwrap()));
        let reads = device.counters().reads;
        device.wait().unwrap();
        let after = device.counters();
        let dispatches = (after.dispatches - before.dispatches) / updates;
        assert!(dispatches <= most, "{keys}: {dispatches} dispatches per update");
        assert!(
            after.submissions - before.submissions <= updates + 1,
            "{keys}: more than a submission per update"
        );
        assert_eq!(reads, before.reads, "{keys}: an update reads something back");
        assert_eq!(after.plans_compiled, before.plans_compiled, "{keys}: an update compiles something");
    }
}

#[test]
fn a_seed_learns_the_same_alone_among_others_and_resumed() {
    let _turn = turn();
    let device = Device::cpu();
    for (keys, _) in METHODS {
        let mut alone = trainer(keys, &[8], &device);
        let mut together = trainer(keys, &[7, 8], &device);
        for _ in 0..2 {
            alone.update().unwrap();
            together.update().unwrap();
        }
        let (one, two) = (bits(&alone), bits(&together));
        assert!(one[..] == two[one.len()..], "{keys}: another seed beside it makes a difference");
        let mut resumed = trainer(keys, &[8], &device);
        let (logits, state) = (alone.logits().detach().unwrap(), alone.optimizer().state().unwrap());
        resumed.restore(logits, &state, alone.updates()).unwrap();
        alone.update().unwrap();
        resumed.update().unwrap();
        assert!(bits(&alone) == bits(&resumed), "{keys}: a resumed run goes another way");
    }
}

/// If gates are practically hard, it must not matter how they are rounded, sampled or rolled out.
#[test]
fn decided_gates_are_the_same_by_every_forward_pass() {
    let device = Device::cpu();
    let loss = |keys: &str| {
        let keys = format!("{keys} initial_logit=60");
        trainer(&keys, &[7], &device).loss().item().unwrap()
    };
    let wanted = loss("");
    for keys in [
        "lab.forward=hard",
        "lab.forward=gumbel",
        "gates=four",
        "lab.states=rounded",
        "lab.states=sampled",
        "lab.adaptive=3",
    ] {
        assert_eq!(loss(keys), wanted, "{keys}");
    }
}

#[test]
fn the_kept_circuit_is_the_evaluated_one() {
    let _turn = turn();
    for device in devices::all() {
        for keys in ["gates=four", "rounding=nearest"] {
            let mut trainer = trainer(keys, &[7], &device);
            (0..4).for_each(|_| drop(trainer.update().unwrap()));
            let gates = trainer.hard_gates().unwrap();
            assert_eq!(gates[0].len(), small_checkerboard().topology.gates());
            let (losses, wrong) = trainer.hard_losses(1, 4).unwrap();
            assert!(losses[0] > 0.0 && wrong[0] == wrong[0].round(), "{keys}: bits are wrong or right");
        }
    }
}

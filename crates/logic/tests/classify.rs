//! What a step of a logic network costs a device; that batches contain the set's samples; and that resumed
//! training has the same bits.

mod devices;

use std::sync::{Mutex, MutexGuard};

use farad::group::Group;
use farad::nn::Module;
use farad::run::Checkpoint;
use farad::train::settings::SettingsTable as _;
use farad::{DType, Device, Tensor};
use farad_logic::classify::{
    Augment, ClassifierData, ClassifierSettings, ClassifierTrainer, DeviceSamples, HostSamples, Levels,
    Margin, PRESETS, TaskKind,
};
use farad_logic::network::NetworkBlock;

/// Tests take turns, because they read counters of one device.
fn turn() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// Two classes of small pictures: bright above or bright below.
fn pictures(count: usize) -> HostSamples {
    let mut random = farad::data::Random::at(5, 1, count as u64);
    let mut bytes = vec![];
    let labels: Vec<i32> = (0..count).map(|n| (n % 2) as i32).collect();
    for &label in &labels {
        for row in 0..6 {
            let bright = (row < 3) == (label == 0);
            let level =
                |random: &mut farad::data::Random| random.below(100) as u8 + if bright { 120 } else { 0 };
            bytes.extend((0..5).map(|_| level(&mut random)));
        }
    }
    HostSamples { levels: Levels::Bytes(bytes), labels, shape: [1, 6, 5] }
}

fn settings(keys: &[&str]) -> ClassifierSettings {
    let mut settings = ClassifierSettings::new(TaskKind::Mnist, "small").unwrap();
    let small =
        ["layers=60,40", "candidates=4", "batch=32", "updates=40", "shift=1", "mirror=true", "seed=3"];
    small.iter().chain(keys).for_each(|key| settings.set(key).unwrap());
    settings
}

fn trainer(keys: &[&str], device: &Device) -> ClassifierTrainer {
    let (train, validation, test) = (pictures(200), pictures(70), pictures(10));
    let data = ClassifierData {
        train,
        validation,
        test,
        classes: vec!["above".into(), "below".into()],
        columns: vec![],
        target: String::new(),
    };
    ClassifierTrainer::new(&settings(keys), &data, device).unwrap()
}

#[test]
fn a_step_is_one_submission_of_few_dispatches_and_reads_nothing() {
    let _turn = turn();
    for device in devices::gpus() {
        for (keys, most) in [
            (&["encoding=learned"][..], 45),
            (&["wiring=random", "forward=soft"], 30),
            (&["kernels=3", "wiring=random"], 60),
            (&["wiring=resampled", "kernels=3,4", "strides=2,1", "windows=3", "forward=soft"], 45),
        ] {
            let mut trainer = trainer(keys, &device);
            (0..3).for_each(|_| drop(trainer.step().unwrap()));
            device.wait().unwrap();
            let (before, steps) = (device.counters(), 2);
            (0..steps).for_each(|_| drop(trainer.step().unwrap()));
            // Waiting reads the device's error words.
            let reads = device.counters().reads;
            device.wait().unwrap();
            let after = device.counters();
            let dispatches = (after.dispatches - before.dispatches) / steps;
            assert!(dispatches <= most, "{keys:?}: {dispatches} dispatches per step");
            assert!(after.submissions - before.submissions <= steps + 1, "more than a submission per step");
            assert_eq!(reads, before.reads, "a step reads something back");
            let uploads = after.uploads - before.uploads;
            assert!(uploads <= steps, "{uploads} uploads: more than the numbers of a step");
            assert_eq!(after.plans_compiled, before.plans_compiled, "a step compiles something");
        }
    }
}

#[test]
fn batches_are_what_the_set_holds() {
    let _turn = turn();
    let part = pictures(9);
    let Levels::Bytes(bytes) = &part.levels else { panic!("pictures are bytes") };
    for device in devices::all() {
        let samples = DeviceSamples::new(&part, 2, &device).unwrap();
        let rows = Tensor::from_vec(vec![7u32, 0, 7], [3], &device);
        let (x, labels) = samples.batch(&rows, Augment::default());
        assert_eq!(labels.to_vec::<i32>().unwrap(), [1, 0, 1]);
        let x = x.to_vec::<f32>().unwrap();
        for (column, row) in [7, 0, 7].into_iter().enumerate() {
            let stored: Vec<f32> = bytes[row * 30..][..30].iter().map(|&byte| f32::from(byte)).collect();
            let found: Vec<f32> = x[column..].iter().step_by(3).copied().collect();
            assert_eq!(found, stored, "sample {row} on {device}");
        }
        // Shifted and mirrored pictures have the same pixels, except for those that the edge cut off.
        let augment = Augment { seed: (1, 2), shift: 2, mirror: true };
        let many = Tensor::from_vec(vec![4u32; 600], [600], &device);
        let shifted = samples.batch(&many, augment).0.to_vec::<f32>().unwrap();
        let columns: Vec<Vec<u32>> =
            (0..600).map(|n| shifted[n..].iter().step_by(600).map(|&level| level as u32).collect()).collect();
        let mut different = columns.clone();
        different.sort();
        different.dedup();
        assert_eq!(different.len(), 50, "25 shifts, mirrored or not, on {device}");
        let own: Vec<u32> = bytes[4 * 30..][..30].iter().map(|&byte| u32::from(byte)).collect();
        assert!(different.contains(&own));
        assert!(different.iter().flatten().all(|level| *level == 0 || own.contains(level)));
        // With repeated edges, no pixel is dark that was not dark before.
        let margin = Margin { pixels: 2, edge: true };
        let edged = DeviceSamples::new(&part, margin, &device).unwrap();
        let levels = edged.batch(&many, augment).0.to_vec::<f32>().unwrap();
        assert!(levels.iter().all(|&level| own.contains(&(level as u32))), "on {device}");
        assert_eq!(samples.count(), 9);
        assert_eq!(many.dtype(), DType::U32);
    }
}

#[test]
fn training_learns_and_goes_on_with_the_same_bits() {
    let _turn = turn();
    let resampled =
        ["wiring=resampled", "layers=80,40", "resample_patience=4", "freeze_layers=true", "clip=10"];
    let copied = ["copies=3", "rotate=8", "elastic_alpha=3", "elastic_sigma=2", "edge=true"];
    let rows = [&["encoding=learned"][..], &resampled, &copied];
    for (keys, device) in rows.iter().flat_map(|keys| devices::all().into_iter().map(move |d| (*keys, d))) {
        let mut whole = trainer(keys, &device);
        (0..30).for_each(|_| drop(whole.step().unwrap()));
        let mut checkpoint = Checkpoint::new("logic", 30);
        whole.put(&mut checkpoint).unwrap();
        let path = std::env::temp_dir().join(format!("farad-classify-{}.safetensors", std::process::id()));
        checkpoint.write(&path).unwrap();
        let mut second = trainer(keys, &device);
        second.restore(&Checkpoint::read(&path, "logic").unwrap()).unwrap();
        std::fs::remove_file(&path).unwrap();
        // Past the end of an epoch of six steps, too.
        for step in 0..8 {
            let (a, b) = (whole.step().unwrap(), second.step().unwrap());
            assert_eq!(
                a.to_vec::<f32>().unwrap(),
                b.to_vec::<f32>().unwrap(),
                "{keys:?}: step {step} on {device}"
            );
        }
        let accuracy = whole.validate().unwrap();
        assert!(accuracy > 0.8 && accuracy == second.validate().unwrap(), "{keys:?}: {accuracy} on {device}");
    }
}

#[test]
fn the_last_layer_learns_to_the_end() {
    let _turn = turn();
    // Nothing changes at this learning rate, so every layer is constant at once.
    let keys = [
        "wiring=resampled",
        "layers=80,40",
        "resample_patience=4",
        "resample_until=0",
        "freeze_layers=true",
        "learning_rate=0",
    ];
    let mut trainer = trainer(&keys, &Device::cpu());
    (0..40).for_each(|_| drop(trainer.step().unwrap()));
    let compact =
        |block: &NetworkBlock| matches!(block, NetworkBlock::Compact(layer) if layer.is_frozen().unwrap());
    let frozen: Vec<bool> = trainer.network().layers().iter().map(compact).collect();
    assert_eq!(frozen, [true, false]);
}

#[test]
fn presets_are_the_published_networks() {
    let sizes = |model: &str, task: TaskKind| {
        let settings = ClassifierSettings::new(task, model).unwrap();
        (settings.kernels.clone(), settings.layers.clone(), settings.tau, settings.batch)
    };
    let (mnist, cifar) = (TaskKind::Mnist, TaskKind::Cifar10);
    assert_eq!(sizes("tree-s", mnist), (vec![16, 48, 144], vec![20480, 10240, 5120], 6.5, 512));
    assert_eq!(sizes("tree-m", mnist), (vec![64, 192, 576], vec![81920, 40960, 20480], 28.0, 256));
    assert_eq!(sizes("tree-s", cifar), (vec![32, 128, 512, 1024], vec![40960, 20480, 10240], 20.0, 128));
    assert_eq!(sizes("compact-s", cifar), (vec![128, 128, 512, 512], vec![80000, 80000], 40.0, 128));
    for (preset, task) in PRESETS.iter().flat_map(|preset| TaskKind::ALL.map(|task| (preset, task))) {
        let settings = ClassifierSettings::new(task, preset.name).unwrap();
        assert_eq!((settings.model.as_str(), settings.task_kind()), (preset.name, task));
        assert!(!preset.about.is_empty());
    }
    // The published input sizes of dense layers: 81 k and 128 k bits.
    for (task, shape, k, bits) in [(mnist, [1, 28, 28], 16, 81), (cifar, [3, 32, 32], 32, 128)] {
        let mut settings = ClassifierSettings::new(task, "tree-s").unwrap();
        settings.set("layers=100").unwrap();
        let network = farad_logic::classify::build(&settings, shape, 10, None, &Device::cpu()).unwrap();
        assert_eq!(network.layers().last().unwrap().inputs(), bits * k);
    }
}

#[test]
fn settings_of_earlier_versions_mean_what_they_meant() {
    // The `config.toml` of such a run: all keys except those that were added later.
    let mut old = ClassifierSettings::new(TaskKind::Mnist, "wired").unwrap();
    (old.thresholds, old.candidates) = (3, 16);
    let later: Vec<&str> =
        ClassifierSettings::rows().iter().filter(|row| row.later).map(|row| row.key).collect();
    assert!(
        ["levels", "copies", "tree_padding", "edge", "clip", "strides"].iter().all(|key| later.contains(key))
    );
    let mut config = old.table();
    config.retain(|key, _| !later.contains(&key));
    let mut read = ClassifierSettings::default();
    read.take_config(&config).unwrap();
    assert_eq!((read.bits(), read.copies, read.tree_padding.as_slice()), (3, 0, &[1][..]));
}

/// What is rejected as too large would not have fit: a step needs at least the estimated memory.
#[test]
fn a_step_takes_at_least_what_is_reckoned() {
    let _turn = turn();
    for keys in [
        &["layers=60,40"][..],
        &["layers=2000,1000", "candidates=8"],
        &["layers=400,200", "wiring=random"],
        &["kernels=4", "windows=3", "layers=100,60", "wiring=random"],
    ] {
        let device = Device::cpu_with(Default::default());
        let mut trainer = trainer(keys, &device);
        for _ in 0..2 {
            trainer.step().unwrap().item().unwrap();
        }
        let need = farad_logic::classify::need(&settings(keys), [1, 6, 5], 200).bytes() as f64;
        let peak = device.counters().bytes_peak as f64;
        assert!(need <= peak, "{keys:?}: {need} reckoned, {peak} taken");
        assert!(need > peak / 20.0, "{keys:?}: {need} reckoned, {peak} taken: too little");
    }
}

/// Two ranks make the first update of one, up to the rounding of sums over a batch.
#[test]
fn two_ranks_make_the_first_update_of_one() {
    let _turn = turn();
    let drawing = Mutex::new(());
    let updated = |group: &Group| {
        let begin = || {
            let _drawing = drawing.lock().expect("nobody panicked");
            trainer(&["mirror=false", "shift=0", "optimizer=sgd"], &Device::cpu_with(Default::default()))
                .in_group(group)
                .unwrap()
        };
        let mut trainer = begin();
        trainer.synchronize().unwrap();
        let numbers = |trainer: &ClassifierTrainer| {
            let values = trainer.network().parameters().into_iter();
            values.flat_map(|parameter| parameter.value().to_vec::<f32>().unwrap()).collect::<Vec<f32>>()
        };
        let before = numbers(&trainer);
        drop(trainer.step().unwrap());
        let after = numbers(&trainer).into_iter();
        after.zip(before).map(|(after, before)| after - before).collect::<Vec<f32>>()
    };
    let alone = updated(&Group::alone());
    let ranks: Vec<Vec<f32>> = std::thread::scope(|scope| {
        let updated = &updated;
        let ranks = Group::threads(2).unwrap().into_iter();
        let ranks: Vec<_> = ranks.map(|group| scope.spawn(move || updated(&group))).collect();
        ranks.into_iter().map(|rank| rank.join().expect("no panic")).collect()
    });
    assert_eq!(ranks[0], ranks[1], "ranks differ");
    let norm = |all: &mut dyn Iterator<Item = f32>| all.map(|x| f64::from(x).powi(2)).sum::<f64>().sqrt();
    let size = norm(&mut alone.iter().copied());
    let apart = norm(&mut ranks[0].iter().zip(&alone).map(|(a, b)| a - b));
    assert!(size > 0.0 && apart < 1e-4 * size, "the update is {apart:e} of {size:e} apart");
}

//! Training: an update is one submission that reads nothing, scores are those of counting by hand, text is learned.

#[path = "../../farad/tests/devices/mod.rs"]
mod devices;

use std::cell::RefCell;
use std::path::PathBuf;

use devices::{devices, turn};
use farad::Device;
use farad::nn::Module;
use farad::optim::Clip;
use farad::optim::schedule::Schedule;
use farad::prelude::*;
use farad::run::{Run, Stop};
use farad::train::settings::SettingsTable as _;
use farad::train::{LoopSettings, Prepared as _, Progress, Training, Watcher};
use farad_lm::data::{TokenFile, Tokens, Windows};
use farad_lm::train::{KIND, LanguageSetup, LmSettings, TextScore, TokenParts, Tokenized, Trainer};
use farad_lm::{ModelOptions, Transformer};

/// A folder with a text, removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("farad-lm-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).expect("makes");
        std::fs::write(
            path.join("text.txt"),
            "one two three four five six seven eight nine ten. ".repeat(60),
        )
        .expect("writes");
        Folder(path)
    }

    fn settings(&self) -> LmSettings {
        let model =
            ModelOptions { layers: 2, heads: 2, width: 16, context: 8, vocabulary: 0, ..Default::default() };
        let data = self.0.join("text.txt").display().to_string();
        LmSettings {
            data,
            model,
            batch: 4,
            updates: 100,
            learning_rate: 1e-2,
            warm_up: 10,
            ..LmSettings::new()
        }
    }

    fn run(&self, name: &str, settings: &mut LmSettings) -> Run {
        let tokenized = Tokenized::new(settings).expect("sound");
        let run = Run::create(self.0.join(name), KIND, settings.table()).expect("new");
        tokenized.write(&run).expect("writes");
        run
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn a_steady_update_is_one_run_that_reads_and_makes_nothing() {
    let _turn = turn();
    let folder = Folder::new("counted");
    for (n, device) in devices().into_iter().enumerate() {
        let mut settings = folder.settings();
        let run = folder.run(&format!("run-{n}"), &mut settings);
        let parts = TokenParts::open(&run, &device).expect("made");
        let mut trainer = Trainer::new(&settings, &parts, &device).expect("sound");
        for _ in 0..30 {
            trainer.update().expect("an update");
        }
        let before = device.counters();
        for _ in 0..20 {
            trainer.update().expect("an update");
        }
        let done = device.counters().since(&before);
        assert_eq!((done.runs, done.reads, done.plans_compiled), (20, 0, 0), "{device}: {done:?}");
        // On a GPU the numbers of a run are an upload.
        assert!(done.uploads <= if device.is_gpu() { 20 } else { 0 }, "{device}: {done:?}");
        assert_eq!((done.bind_groups, done.allocations), (0, 0), "{device}: {done:?}");
        assert!(done.submissions <= 20, "{device}: {done:?}");
    }
}

#[test]
fn accumulated_batches_are_as_one_large_batch() {
    let _turn = turn();
    let folder = Folder::new("accumulated");
    let device = Device::cpu_with(Default::default());
    let mut settings = LmSettings { accumulate: 3, ..folder.settings() };
    let run = folder.run("run", &mut settings);
    let parts = TokenParts::open(&run, &device).expect("made");
    let mut trainer = Trainer::new(&settings, &parts, &device).expect("sound");
    let losses: Vec<f32> =
        (0..2).map(|_| trainer.update().expect("an update").item().expect("reads")).collect();
    // The same by the mean loss of three batches in one graph.
    farad::seed(settings.seed);
    let model = Transformer::new(&settings.model).expect("sound").to_device(&device);
    let decay = settings.weight_decay as f32;
    let mut adam = model.optimizer(0.0, decay).clip(Clip::Norm(settings.clip as f32));
    let mut windows = Windows::new(&parts.train, "text", 4, 8, settings.seed).expect("long enough");
    for (update, accumulated) in losses.iter().enumerate() {
        adam.set_learning_rate(settings.schedule(settings.updates).rate(update as u64));
        let mut sum = Tensor::zeros([], &device);
        for batch in 0..3 {
            let (x, y) = windows.batch(3 * update as u64 + batch).expect("a batch");
            sum = sum + model.loss(&x, &y);
        }
        let loss = sum * (1.0 / 3.0);
        adam.step(&loss).expect("a step");
        assert!((loss.item().expect("reads") - accumulated).abs() < 1e-5);
    }
    for ((name, ours), (_, wanted)) in trainer.model().state().iter().zip(model.state()) {
        let (ours, wanted) = (ours.to_vec::<f32>().expect("reads"), wanted.to_vec::<f32>().expect("reads"));
        let most = ours.iter().zip(&wanted).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
        assert!(most < 1e-4, "{name}: {most}");
    }
}

#[test]
fn a_score_is_the_mean_over_every_token() {
    let _turn = turn();
    farad::seed(3);
    let options =
        ModelOptions { layers: 1, heads: 2, width: 8, context: 5, vocabulary: 11, ..Default::default() };
    for device in devices() {
        let model = Transformer::new(&options).expect("sound").to_device(&device);
        let numbers: Vec<u32> = (0..24).map(|n| (n * n + 3 * n) % 11).collect();
        let tokens = Tokens::new(TokenFile::in_memory(&numbers, 11), &device).expect("fits");
        let score = TextScore::of(&model, Precision::Single, (&tokens, "text"), usize::MAX, |_, _| {})
            .expect("a score");
        let mut total = 0.0;
        model.eval();
        for start in (0..23).step_by(5) {
            let end = (start + 5).min(23);
            let part = |from: usize| -> Vec<i32> {
                numbers[from..from + end - start].iter().map(|&n| n as i32).collect()
            };
            let x = Tensor::from_vec(part(start), [1, end - start], &device);
            let y = Tensor::from_vec(part(start + 1), [1, end - start], &device);
            total += f64::from(model.loss(&x, &y).item().expect("reads")) * (end - start) as f64;
        }
        assert_eq!(score.tokens, 23);
        assert!((score.loss - total / 23.0).abs() < 1e-5, "{device}: {} vs {}", score.loss, total / 23.0);
        assert!((score.perplexity() - score.loss.exp()).abs() < 1e-9);
    }
}

/// The losses that a training tells of.
#[derive(Default)]
struct Seen(RefCell<Vec<f32>>);

impl Watcher for Seen {
    fn trained(&self, progress: &Progress) {
        self.0.borrow_mut().extend(&progress.losses);
    }
}

#[test]
fn a_text_is_learned_on_every_device_in_both_precisions() {
    let _turn = turn();
    let folder = Folder::new("learned");
    for (n, device) in devices().into_iter().enumerate() {
        // A software GPU takes its time, and single precision is what the other tests use.
        for mixed in if device.is_gpu() { vec![true] } else { vec![false, true] } {
            let mut settings = LmSettings { mixed, ..folder.settings() };
            settings.course = LoopSettings { log_every: 10, evaluate_every: 50, ..settings.course };
            settings.model.layers = 1;
            let setup = LanguageSetup::new(settings, || Ok(device.clone())).expect("sound");
            let run = Run::create(folder.0.join(format!("run-{n}-{mixed}")), KIND, setup.config());
            let run = run.expect("new");
            let model = setup.model(&run).expect("sound");
            let mut training = Training::open(run, Box::new(model)).expect("sound");
            let seen = Seen::default();
            let summary = training.train(&Stop::new(), &seen).expect("trains");
            assert_eq!((summary.steps, summary.interrupted), (100, false));
            let model = training.trainee();
            assert!(model.speed().tokens_per_second().is_some() && model.breakdown().is_some());
            let seen = seen.0.into_inner();
            let (first, last) = (seen[0], seen[seen.len() - 1]);
            // Sixteen letters begin near 2.7; the words go round in a circle. The last is a mean over ten steps.
            assert!(first > 2.3 && last < 1.6, "{device}, mixed {mixed}: {first} to {last}");
        }
    }
}

/// What is refused as too large would not have fitted: training takes at least what is reckoned.
#[test]
fn training_takes_at_least_what_is_reckoned() {
    let _turn = turn();
    let folder = Folder::new("need");
    for (layers, width, batch, mixed) in
        [(2, 16, 4, false), (3, 64, 8, false), (1, 128, 2, false), (2, 64, 16, true)]
    {
        let mut settings = LmSettings { batch, mixed, ..folder.settings() };
        (settings.model.layers, settings.model.width) = (layers, width);
        let run = folder.run(&format!("run-{layers}-{width}-{mixed}"), &mut settings);
        let device = Device::cpu_with(Default::default());
        let parts = TokenParts::open(&run, &device).unwrap();
        let mut trainer = Trainer::new(&settings, &parts, &device).unwrap();
        for _ in 0..2 {
            trainer.update().unwrap().item().unwrap();
        }
        let need = settings.model.need(batch, mixed, 2).bytes();
        let (need, peak) = (need as f64, device.counters().bytes_peak as f64);
        assert!(need <= peak, "{layers} layers of {width}: {need} reckoned, {peak} taken");
        assert!(need > peak / 8.0, "{layers} layers of {width}: {need} reckoned, {peak} taken: too little");
    }
}

//! Training: an update is one submission that reads nothing, scores are those of counting by hand, text is learned.

mod devices;

use std::path::PathBuf;

use devices::{devices, turn};
use farad::Device;
use farad::nn::Module;
use farad::prelude::*;
use farad::run::{Run, Stop};
use farad_lm::data::{TokenFile, Tokens};
use farad_lm::train::{KIND, Parts, Prepared, Score, Settings, Trainer, Training};
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

    fn settings(&self) -> Settings {
        let model =
            ModelOptions { layers: 2, heads: 2, width: 16, context: 8, vocabulary: 0, ..Default::default() };
        let data = self.0.join("text.txt").display().to_string();
        Settings {
            data,
            model,
            batch: 4,
            updates: 100,
            learning_rate: 1e-2,
            warm_up: 10,
            ..Settings::default()
        }
    }

    fn run(&self, name: &str, settings: &mut Settings) -> Run {
        let prepared = Prepared::new(settings).expect("sound");
        let run = Run::create(self.0.join(name), KIND, settings.table()).expect("new");
        prepared.write(&run).expect("writes");
        run
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn an_update_is_one_run_that_reads_and_uploads_nothing() {
    let _turn = turn();
    let folder = Folder::new("counted");
    for (n, device) in devices().into_iter().enumerate() {
        let mut settings = folder.settings();
        let run = folder.run(&format!("run-{n}"), &mut settings);
        let parts = Parts::open(&run, &device).expect("made");
        let mut trainer = Trainer::new(&settings, &parts, &device).expect("sound");
        for _ in 0..3 {
            trainer.update().expect("an update");
        }
        let before = device.counters();
        for _ in 0..20 {
            trainer.update().expect("an update");
        }
        let done = device.counters().since(&before);
        assert_eq!(
            (done.runs, done.reads, done.uploads, done.plans_compiled),
            (20, 0, 0, 0),
            "{device}: {done:?}"
        );
        assert!(done.submissions <= 20, "{device}: {done:?}");
    }
}

#[test]
fn accumulated_batches_are_as_one_large_batch() {
    let _turn = turn();
    let folder = Folder::new("accumulated");
    let device = Device::cpu_with(Default::default());
    let mut weights = vec![];
    for (name, accumulate) in [("one", 1), ("four", 4)] {
        let mut settings = Settings { accumulate, ..folder.settings() };
        let run = folder.run(name, &mut settings);
        let parts = Parts::open(&run, &device).expect("made");
        let mut trainer = Trainer::new(&settings, &parts, &device).expect("sound");
        let loss = trainer.update().expect("an update").item().expect("reads");
        // New models guess evenly.
        let even = (settings.model.vocabulary as f32).ln();
        assert!((loss / even - 1.0).abs() < 0.05, "{name}: {loss} vs {even}");
        weights.push(trainer.model().wte.weight.value().to_vec::<f32>().expect("reads"));
    }
    // Signs of Adam's first update are those of the mean gradient, so most agree.
    let agree = weights[0].iter().zip(&weights[1]).filter(|(a, b)| (*a - *b).abs() < 2e-3).count();
    assert!(agree * 10 > weights[0].len() * 6, "{agree} of {}", weights[0].len());
    assert_ne!(weights[0], weights[1]);
}

#[test]
fn a_score_is_the_mean_over_every_token() {
    let _turn = turn();
    Device::cpu().seed(3);
    let options =
        ModelOptions { layers: 1, heads: 2, width: 8, context: 5, vocabulary: 11, ..Default::default() };
    for device in devices() {
        let model = Transformer::new(&options).expect("sound").to_device(&device);
        let numbers: Vec<u32> = (0..24).map(|n| (n * n + 3 * n) % 11).collect();
        let tokens = Tokens::new(TokenFile::in_memory(&numbers, 11), &device).expect("fits");
        let score =
            Score::of(&model, Precision::Single, (&tokens, "text"), usize::MAX, |_, _| {}).expect("a score");
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

#[test]
fn a_text_is_learned_on_every_device_in_both_precisions() {
    let _turn = turn();
    let folder = Folder::new("learned");
    for (n, device) in devices().into_iter().enumerate() {
        for mixed in [false, true] {
            let mut settings = Settings { mixed, log_every: 10, evaluate_every: 50, ..folder.settings() };
            let run = folder.run(&format!("run-{n}-{mixed}"), &mut settings);
            let mut training = Training::open(run, &device).expect("sound");
            let mut seen = vec![];
            let summary = training.train(&Stop::new(), |progress| seen.push(progress.loss)).expect("trains");
            assert_eq!((summary.updates, summary.interrupted), (100, false));
            assert!(summary.speed.tokens_per_second().is_some() && summary.breakdown.is_some());
            let (first, last) = (seen[1], seen[seen.len() - 1]);
            // Sixteen letters begin near 2.7; the words go round in a circle.
            assert!(first > 2.3 && last < 1.5, "{device}, mixed {mixed}: {first} to {last}");
        }
    }
}

//! Supervised training in a run folder: it learns, is judged, and goes on in mid-epoch with the same bits.

mod devices;
mod folder;

use devices::{devices, turn};
use farad::data::{Flatten, TensorSet, digits, moons, split};
use farad::fit::{Confusion, Fit, KIND, Pace, SupervisedSummary, Task, Training, report};
use farad::optim::schedule::Cosine;
use farad::prelude::*;
use farad::run::{Run, Stop, Table};
use folder::Folder;

const PACE: Pace = Pace { epochs: 3, log_every: 2, checkpoint_every: 3 };

/// A network with random numbers in training, so that their place in the stream matters.
#[derive(Module)]
struct Noisy {
    layers: Sequential,
    mode: Mode,
}

impl Layer for Noisy {
    fn forward(&self, x: &Tensor) -> Tensor {
        let x = if self.mode.is_training() { x.dropout(0.1) } else { x.clone() };
        self.layers.forward(&x)
    }
}

fn training(run: Run, device: &Device, epochs: u64) -> Training {
    farad::seed(4);
    device.seed(5);
    let layers = Sequential::new((Linear::new(784, 24), Relu, Linear::new(24, 10)));
    let model = Noisy { layers, mode: Mode::new() }.to_device(device);
    let optimizer = AdamW::new(model.parameters()).learning_rate(5e-3);
    let fit = Fit::new(model, optimizer, Task::Classify).schedule(Cosine::new(5e-3, 300));
    let load = |set: TensorSet| DataLoader::new(set, 50).transform(Flatten).device(device).workers(2);
    let validation = load(digits(100, 2)).workers(0);
    Training::new(run, fit, load(digits(360, 1)).shuffle(9), Some(validation), Pace { epochs, ..PACE })
        .unwrap()
}

fn bytes(folder: &Folder, run: &str, file: &str) -> Vec<u8> {
    std::fs::read(folder.at(run).join(file)).unwrap()
}

#[test]
fn a_run_broken_off_in_mid_epoch_ends_with_the_same_bits() {
    let _turn = turn();
    for (number, device) in devices().into_iter().enumerate() {
        let folder = Folder::new(&format!("fit-{number}"));
        let create = |name: &str| Run::create(folder.at(name), KIND, Table::new()).unwrap();
        let mut whole = training(create("whole"), &device, 3);
        assert_eq!(whole.steps_in_all(), 24);
        let summary = whole.train(&Stop::new(), |_| ()).unwrap();
        assert_eq!(summary, SupervisedSummary { steps: 24, epochs: 3, interrupted: false });
        drop(whole);

        // Stopped at 4 and at 13 of 8 batches per epoch, once killed in between: the checkpoint is older than the log.
        let mut steps = vec![];
        for until in [4, 13, u64::MAX] {
            let run = if until == 4 { create("broken") } else { Run::resume(folder.at("broken")).unwrap() };
            let mut broken = training(run, &device, 3);
            let stop = Stop::new();
            let summary = broken.train(&stop, |progress| {
                assert_eq!((progress.steps, progress.epochs), (24, 3));
                if progress.step >= until {
                    stop.set();
                }
            });
            steps.push(summary.unwrap().steps);
            if until == 13 {
                drop(broken);
                let mut killed = training(Run::resume(folder.at("broken")).unwrap(), &device, 3);
                let before = bytes(&folder, "broken", "checkpoint.safetensors");
                let stop = Stop::new();
                killed
                    .train(&stop, |progress| {
                        if progress.step >= 18 {
                            stop.set()
                        }
                    })
                    .unwrap();
                drop(killed);
                std::fs::write(folder.at("broken").join("checkpoint.safetensors"), before).unwrap();
            }
        }
        assert_eq!(steps, [4, 14, 24]);
        for file in ["log.csv", "checkpoint.safetensors"] {
            assert!(
                bytes(&folder, "whole", file) == bytes(&folder, "broken", file),
                "{file} differs on {device}"
            );
        }
        let log = String::from_utf8(bytes(&folder, "whole", "log.csv")).unwrap();
        assert!(
            log.starts_with("step,epoch,loss,learning_rate,validation_loss,validation_goodness\n1,1,"),
            "{log}"
        );
        assert_eq!(log.lines().filter(|line| !line.ends_with(",,")).count(), 1 + 3, "{log}");
    }
}

#[test]
fn digits_are_learned_judged_and_reported() {
    let _turn = turn();
    let device = Device::cpu_with(Default::default());
    let folder = Folder::new("fit-report");
    let run = Run::create(folder.at("run"), KIND, Table::new()).unwrap();
    let mut training = training(run, &device, 25);
    training.train(&Stop::new(), |_| ()).unwrap();
    let (run, fit) = training.into_parts();
    let test = digits(200, 3);
    let mut loader = DataLoader::new(test.clone(), 64).transform(Flatten).device(&device);
    let score = fit.score(&mut loader).unwrap();
    assert!(score.accuracy.unwrap() > 0.8, "{score:?}");
    assert_eq!((score.samples, score.predictions.len()), (200, 200));
    let right = score.predictions.iter().zip(&score.labels).filter(|(seen, label)| seen == label).count();
    assert_eq!(right as f64 / 200.0, score.accuracy.unwrap());
    assert!(
        score.confidences.len() == 200 && score.confidences.iter().all(|sure| (0.1..=1.0).contains(sure))
    );
    assert_eq!(fit.score(&mut loader).unwrap(), score, "in use, nothing is left to chance");
    let outcome = report::SupervisedReportInputs {
        title: "digits".into(),
        facts: vec![("model".into(), "mlp".into())],
        judged_on: "test",
        score: &score,
        dataset: &test,
        task: Task::Classify,
        steps: fit.steps(),
        next: "nothing".into(),
        state: fit.model().state(),
        shape: &[1, 28, 28],
        target: String::new(),
    };
    report::write(&run, &outcome).unwrap();
    let page = std::fs::read_to_string(run.report_path()).unwrap();
    for text in [
        "# digits\n\n**Test accuracy ",
        "| mlp ",
        "| is \\ seen as | 0 | 1 |",
        "(plots/samples.svg)",
        "Next: `nothing`",
    ] {
        assert!(page.contains(text), "{text} is not in {page}");
    }
    for file in ["loss.svg", "goodness.svg", "confusion.svg", "samples.svg", "filters.svg"] {
        assert!(run.plots_path().join(file).exists(), "{file}");
    }
    let samples = std::fs::read_to_string(run.plots_path().join("samples.svg")).unwrap();
    let mistakes = 200 - right;
    assert_eq!(samples.matches(">is ").count(), mistakes.min(18), "{mistakes} mistakes, by words");
    assert_eq!(samples.matches("data:image/png;base64,").count(), mistakes.min(18) + 18);
    // A model of another shape is told from this one.
    let checkpoint = run.checkpoint().unwrap().unwrap();
    let other = Sequential::new((Linear::new(784, 10),));
    let optimizer = Sgd::new(other.parameters());
    let error = Fit::new(other, optimizer, Task::Classify).restore(&checkpoint).unwrap_err().to_string();
    assert!(error.starts_with("state: does not fit the module: 0 of 2 tensors fit"), "{error}");
}

#[test]
fn numbers_are_learned_too() {
    let _turn = turn();
    let cpu = Device::cpu_with(Default::default());
    cpu.seed(1);
    farad::seed(1);
    let x = Tensor::rand([400, 3], &cpu);
    let y = x.sum_axes(kept([1])) * 2.0 - 1.0;
    let (train, rest) = split(TensorSet::new(&x, &y).unwrap(), 0.8, 1);
    let model = Sequential::new((Linear::new(3, 1),)).to_device(&cpu);
    let optimizer = AdamW::new(model.parameters()).learning_rate(0.05).weight_decay(0.0);
    let mut fit = Fit::new(model, optimizer, Task::Regress);
    let mut loader = DataLoader::new(train, 64).shuffle(1).device(&cpu);
    let mut rest = DataLoader::new(rest, 64).device(&cpu);
    let before = fit.score(&mut rest).unwrap();
    for _ in 0..120 {
        for batch in &mut loader {
            let (x, y) = batch.unwrap();
            fit.step(&x, &y).unwrap();
        }
    }
    let after = fit.score(&mut rest).unwrap();
    assert!(after.explained.unwrap() > 0.999 && after.loss < before.loss / 100.0, "{before:?} {after:?}");
    assert_eq!((after.accuracy, after.confusion), (None, None));
}

#[test]
fn classes_beyond_those_that_the_set_names_are_errors() {
    let _turn = turn();
    let cpu = Device::cpu_with(Default::default());
    let model = Sequential::new((Linear::new(2, 5),)).to_device(&cpu);
    model.parameters()[1].set(Tensor::from_vec(vec![0.0f32, 0.0, 0.0, 0.0, 99.0], [5], &cpu));
    let optimizer = Sgd::new(model.parameters());
    let fit = Fit::new(model, optimizer, Task::Classify);
    let error = fit.score(&mut DataLoader::new(moons(10, 0.1, 1), 5).device(&cpu)).unwrap_err().to_string();
    assert_eq!(error, "classes: target outside: sample 0 (4 vs below 2)");
    let mut confusion = Confusion::new(2);
    for (actual, seen) in [(0, 0), (0, 1), (1, 1), (1, 1)] {
        confusion.add(actual, seen);
    }
    assert_eq!((confusion.recall(0), confusion.precision(1), confusion.accuracy()), (0.5, 2.0 / 3.0, 0.75));
    let names = ["a".to_string(), "b|c".to_string()];
    assert!(confusion.table(&names).ends_with(
        "| a | 1 | 1 | 50.0 % | 100.0 % | 66.7 % |\n| b/c | 0 | 2 | 100.0 % | 66.7 % | 80.0 % |\n"
    ));
}

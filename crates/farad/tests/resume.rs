//! Training goes on bit for bit after it was stopped or killed, and checkpoints are always whole.

mod devices;
mod folder;

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use devices::{devices, turn};
use farad::optim::schedule::{Cosine, Warmup};
use farad::optim::{Clip, GradientNoise};
use farad::prelude::*;
use farad::run::{Checkpoint, Run, Stop, Table};
use folder::Folder;

/// A small training with everything that a resumed run must have again: weights, moments, random
/// numbers, a schedule.
struct Training {
    device: Device,
    model: Sequential,
    optimizer: Box<dyn Optimizer>,
    x: Tensor,
    labels: Tensor,
}

impl Training {
    fn new(device: &Device, kind: &str) -> Training {
        farad::seed(5);
        device.seed(11);
        let model =
            Sequential::new((Linear::new(9, 17), farad::nn::Gelu, Linear::new(17, 5))).to_device(device);
        let parameters = model.parameters();
        let optimizer: Box<dyn Optimizer> = match kind {
            "adamw" => Box::new(AdamW::new(parameters).clip(Clip::Norm(0.5))),
            "momentum" => Box::new(Sgd::new(parameters).momentum(0.9).dampening(0.1).nesterov()),
            "adam" => Box::new(Adam::new(parameters).amsgrad().weight_decay(0.01)),
            "rmsprop" => Box::new(RmsProp::new(parameters).momentum(0.5).centered()),
            "adagrad" => Box::new(Adagrad::new(parameters).rate_decay(0.1).initial_accumulator(0.1)),
            "lion" => Box::new(Lion::new(parameters).weight_decay(0.1)),
            "muon" => Box::new(Muon::new(parameters)),
            "groups" => Box::new(groups(parameters)),
            _ => Box::new(Sgd::new(parameters)),
        };
        let x: Vec<f32> = (0..13 * 9).map(|i| ((i * 37 % 101) as f32 / 50.0) - 1.0).collect();
        let labels: Vec<i32> = (0..13).map(|i| i % 5).collect();
        let (x, labels) = (Tensor::from_vec(x, [13, 9], device), Tensor::from_vec(labels, [13], device));
        Training { device: device.clone(), model, optimizer, x, labels }
    }

    fn step(&mut self, step: u64) -> f32 {
        self.optimizer.set_learning_rate(0.05 / (step as f32).sqrt());
        let loss = self.model.forward(&self.x.dropout(0.2)).cross_entropy(&self.labels);
        self.optimizer.step(&loss).unwrap();
        loss.item().unwrap()
    }

    fn checkpoint(&self, step: u64) -> Checkpoint {
        let mut checkpoint = Checkpoint::new("example", step);
        checkpoint.put_parameters("model", &self.model.named_parameters());
        checkpoint.put_all("optimizer", self.optimizer.state().unwrap());
        checkpoint.set_value(self.device.random_state());
        checkpoint
    }

    fn restore(&mut self, checkpoint: &Checkpoint) {
        checkpoint.restore_parameters("model", &self.model.named_parameters()).unwrap();
        self.optimizer.restore(&checkpoint.tensors("optimizer", &self.device).unwrap()).unwrap();
        self.device.set_random_state(checkpoint.value().unwrap());
    }
}

/// Groups, noise and a schedule that overrules the rates that the training sets.
fn groups(parameters: Vec<Parameter>) -> AdamW {
    let adam = AdamW::new(parameters[1..].to_vec()).noise(GradientNoise::default());
    let adam = adam.group(parameters[..1].to_vec()).learning_rate(0.1).weight_decay(0.0);
    adam.schedule(Warmup::new(4, Cosine::new(0.05, 12)))
}

/// Makes or resumes a run and trains to a number of steps, saving every few and at the end.
fn train(path: &Path, device: &Device, kind: &str, steps: u64, every: u64, stop: &Stop) -> u64 {
    let run = match Run::open(path) {
        Ok(_) => Run::resume(path).unwrap(),
        Err(_) => Run::create(path, "example", Table::new()).unwrap(),
    };
    let mut training = Training::new(device, kind);
    let checkpoint = run.checkpoint().unwrap();
    let mut log = run.resume_log(&["loss"], checkpoint.as_ref().map(Checkpoint::step)).unwrap();
    let mut done = 0;
    if let Some(checkpoint) = checkpoint {
        training.restore(&checkpoint);
        done = checkpoint.step();
    }
    while done < steps && !stop.is_set() {
        done += 1;
        log.row(done, &[training.step(done).into()]).unwrap();
        if done.is_multiple_of(every) || done == steps {
            run.save(&training.checkpoint(done), &mut log).unwrap();
        }
    }
    done
}

fn outcome(path: &Path) -> (Vec<u8>, String) {
    let run = Run::open(path).unwrap();
    (std::fs::read(run.checkpoint_path()).unwrap(), std::fs::read_to_string(run.log_path()).unwrap())
}

#[test]
fn a_resumed_run_has_the_same_bits() {
    let _turn = turn();
    let folder = Folder::new("resumed");
    for device in devices() {
        for kind in ["adamw", "momentum", "plain", "adam", "rmsprop", "adagrad", "lion", "muon", "groups"] {
            let (whole, broken) = (folder.at("whole"), folder.at("broken"));
            assert_eq!(train(&whole, &device, kind, 20, 5, &Stop::new()), 20);
            // Stopped off the beat: steps 6 to 8 are in the log and not in the checkpoint.
            assert_eq!(train(&broken, &device, kind, 5, 5, &Stop::new()), 5);
            let run = Run::resume(&broken).unwrap();
            let mut log = run.resume_log(&["loss"], Some(5)).unwrap();
            (6..=8).for_each(|step| log.row(step, &[0.5f32.into()]).unwrap());
            drop((log, run));
            let fresh = if device.is_gpu() { device.clone() } else { Device::cpu_with(Default::default()) };
            for steps in [6, 13, 20] {
                train(&broken, &fresh, kind, steps, 5, &Stop::new());
            }
            assert!(outcome(&whole) == outcome(&broken), "{kind} on {device}");
            let stop = Stop::new();
            stop.set();
            assert_eq!(train(&broken, &fresh, kind, 30, 5, &stop), 20);
            std::fs::remove_dir_all(&whole).unwrap();
            std::fs::remove_dir_all(&broken).unwrap();
        }
    }
}

#[test]
fn random_numbers_go_on() {
    let _turn = turn();
    for device in devices() {
        device.seed(3);
        let draw = || Tensor::rand([5], &device).to_vec::<f32>().unwrap();
        draw();
        let state = device.random_state();
        assert_eq!((state.seed, state.counter), (3, 1));
        let next = [draw(), draw()];
        device.seed(4);
        device.set_random_state(state);
        assert_eq!([draw(), draw()], next);
    }
}

/// Where the processes that are killed do their work; the parent says.
const CHILD: &str = "FARAD_TEST_RUN";

/// This program once more, doing one of the tests below in `path`.
fn child(test: &str, path: &Path) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test])
        .env(CHILD, path)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// Numbers without a pattern, the same in every run of the tests.
fn scattered(seed: u64) -> u64 {
    (seed + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(23) ^ seed
}

/// Writes checkpoints, each with its step in every element. Alone: a few. For the test below: until killed.
#[test]
fn writes_checkpoints() {
    let own;
    let (path, most) = match std::env::var(CHILD) {
        Ok(path) => (PathBuf::from(path), u64::MAX),
        Err(_) => {
            own = Folder::new("writes");
            (own.at("checkpoint.safetensors"), 3)
        }
    };
    let mut step = Checkpoint::read(&path, "example").map_or(0, |checkpoint| checkpoint.step());
    while step < most {
        step += 1;
        let mut checkpoint = Checkpoint::new("example", step);
        for name in ["a", "b", "c"] {
            checkpoint.put(name, &Tensor::full(step as f32, [300_000], &Device::cpu()));
        }
        checkpoint.write(&path).unwrap();
    }
    assert_eq!(whole_step(&path), 3);
}

/// The step of a checkpoint whose every element agrees with it.
fn whole_step(path: &Path) -> u64 {
    let checkpoint = Checkpoint::read(path, "example").unwrap();
    for name in ["a", "b", "c"] {
        let values = checkpoint.tensor(name, [300_000], &Device::cpu()).unwrap().to_vec::<f32>().unwrap();
        assert!(values.iter().all(|&v| v == checkpoint.step() as f32));
    }
    checkpoint.step()
}

#[test]
fn a_killed_writer_leaves_a_whole_checkpoint() {
    let folder = Folder::new("killed");
    let path = folder.at("checkpoint.safetensors");
    let names = || {
        let entries = std::fs::read_dir(&folder.0).unwrap();
        entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect::<Vec<_>>()
    };
    let (mut last, mut torn) = (0, 0);
    for round in 0..25 {
        let mut child = child("writes_checkpoints", &path);
        let started = std::time::Instant::now();
        while !path.exists() || Checkpoint::read(&path, "example").unwrap().step() <= last {
            assert!(started.elapsed() < Duration::from_secs(60), "the writer does not write");
            std::thread::sleep(Duration::from_millis(1));
        }
        std::thread::sleep(Duration::from_micros(scattered(round) % 20_000));
        child.kill().unwrap();
        child.wait().unwrap();
        let step = whole_step(&path);
        assert!(step > last, "round {round}: {step} after {last}");
        last = step;
        torn += names().iter().any(|name| name.ends_with(".tmp")) as usize;
    }
    assert!(torn > 0, "no kill came while a checkpoint was being written");
    let mut checkpoint = Checkpoint::new("example", last + 1);
    checkpoint.put("a", &Tensor::ones([1], &Device::cpu()));
    checkpoint.write(&path).unwrap();
    assert_eq!(names(), ["checkpoint.safetensors"], "what killed writers left is gone");
}

/// Trains a run to its end. Alone: a short one. For the test below: the run that it names.
#[test]
fn trains_a_run() {
    let _turn = turn();
    let own;
    let (path, steps) = match std::env::var(CHILD) {
        Ok(path) => (PathBuf::from(path), KILLED_STEPS),
        Err(_) => {
            own = Folder::new("trains");
            (own.at("run"), 4)
        }
    };
    let device = Device::cpu_with(Default::default());
    assert_eq!(train(&path, &device, "adamw", steps, KILLED_EVERY, &Stop::new()), steps);
    assert_eq!(Run::open(&path).unwrap().checkpoint().unwrap().unwrap().step(), steps);
}

/// Steps of the run that is killed, and those between checkpoints.
const KILLED_STEPS: u64 = 6000;
const KILLED_EVERY: u64 = 29;

#[test]
fn a_run_killed_ten_times_ends_with_the_same_bits() {
    let folder = Folder::new("ten");
    let (whole, killed) = (folder.at("whole"), folder.at("killed"));
    let started = std::time::Instant::now();
    assert!(child("trains_a_run", &whole).wait().unwrap().success());
    // Where disks are quick the whole run is, and ten pauses must stay well within it.
    let pause = (started.elapsed().as_micros() as u64 / 40).clamp(1, 25_000);
    let step = || match Run::open(&killed) {
        Ok(run) => run.checkpoint().unwrap().map_or(0, |checkpoint| checkpoint.step()),
        Err(_) => 0,
    };
    let mut last = 0;
    for round in 0..10 {
        let mut child = child("trains_a_run", &killed);
        let started = std::time::Instant::now();
        // The first rounds come early: while the folder is made, before the first checkpoint.
        while round > 2 && step() <= last {
            assert!(started.elapsed() < Duration::from_secs(60), "the run does not go on");
            std::thread::sleep(Duration::from_millis(1));
        }
        std::thread::sleep(Duration::from_micros(scattered(round) % pause));
        child.kill().unwrap();
        let ended = child.wait().unwrap();
        assert!(ended.code().is_none(), "round {round} was over before it was killed: {ended}");
        last = step();
    }
    assert!(last < KILLED_STEPS);
    assert!(child("trains_a_run", &killed).wait().unwrap().success());
    assert!(outcome(&whole) == outcome(&killed));
}

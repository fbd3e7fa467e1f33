//! Every kind of training, killed at random moments and resumed, ends as one that nobody touched.
//!
//! Invariant: a kill loses no checkpoint that was reported, and no result depends on how often it happened. Without
//! a wish, two kinds are killed a few times; `scripts/kills` asks for all kinds and twenty times
//! (`FARAD_KILLS`, `FARAD_KILLS_TIMES`, `FARAD_KILLS_SEED`). Start at [`KINDS`].

#[path = "../folder/mod.rs"]
mod folder;

mod same;

use std::path::{Path, PathBuf};
use std::process::Child;
use std::time::{Duration, Instant};

use farad::run::{LogTable, Run};
use folder::{Folder, events};
use same::assert_same;

/// A kind of training: its name, and how it is started. All take seconds.
const KINDS: [(&str, &str); 14] = [
    (
        "checkerboard",
        "train checkerboard --device cpu --updates 70 --set height=8 --set width=8 --set steps=6 \
         --set evaluate_every=10 --set checkpoint_every=2 --set log_every=3",
    ),
    (
        "async",
        "train checkerboard-async --device cpu --updates 70 --seeds 2 --set height=8 --set width=8 --set steps=6 \
         --set evaluate_every=10 --set checkpoint_every=2 --set log_every=3 --no-repair",
    ),
    (
        "life",
        "train life --device cpu --updates 300 --set evaluate_every=20 --set checkpoint_every=6 --no-repair",
    ),
    (
        "logic-mnist",
        "train logic-mnist --data synthetic --device cpu --updates 90 --set layers=300,200 --set checkpoint_every=2 \
         --set evaluate_every=30 --set simplify_seconds=0 --set candidates=4",
    ),
    (
        "mnist",
        "train mnist --model mlp --data synthetic --device cpu --epochs 2 --batch 150 --set sizes=32 \
         --set checkpoint_every=2 --set log_every=5",
    ),
    (
        "csv",
        "train csv --data table.csv --device cpu --epochs 60 --batch 20 --set sizes=16 --set dropout=0.1 \
         --set checkpoint_every=3 --set log_every=5",
    ),
    (
        "lm",
        "train lm --data text.txt --device cpu --layers 1 --heads 2 --width 32 --context 16 --batch 8 --updates 70 \
         --learning-rate 0.01 --warm-up 5 --dropout 0.1 --accumulate 2 --set evaluate_every=20 \
         --set checkpoint_every=2 --set log_every=7 --set sample=40",
    ),
    (
        "ppo",
        "train pendulum --device cpu --updates 60 --seeds 2 --set worlds=8 --set horizon=16 --set hidden=16 \
         --set minibatches=4 --set evaluate_every=10 --set validation=4 --set episodes=4 --set checkpoint_every=2",
    ),
    (
        "cma",
        "train cartpole --algorithm cma --device cpu --updates 40 --seeds 2 --set policy=4 --set population=8 \
         --set trials=2 --set goal= --set evaluate_every=10 --set validation=4 --set episodes=4 --set checkpoint_every=2",
    ),
    (
        "cartpole-circuit",
        "train cartpole-circuit --device cpu --updates 60 --set layers=24,12,6 --set repair=500 --set search=300 \
         --set episodes=50 --set evaluate_every=20 --set checkpoint_every=2",
    ),
    (
        "sac",
        "train pendulum --algorithm sac --device cpu --updates 40 --seeds 2 --set worlds=4 --set horizon=4 --set hidden=8 \
         --set batch=8 --set gradients=2 --set warm_up_samples=64 --set replay=256 --set goal= --set evaluate_every=10 \
         --set validation=4 --set episodes=4 --set checkpoint_every=2",
    ),
    (
        "dreamer",
        "train pendulum --algorithm dreamer --device cpu --updates 40 --seeds 2 --set size=debug --set worlds=2 \
         --set horizon=8 --set sequence=8 --set batch=4 --set imagination=4 --set train_ratio=4 --set replay=256 \
         --set warm_up_samples=32 --set evaluate_every=10 --set validation=2 --set episodes=2 --set checkpoint_every=2",
    ),
    (
        "evolve",
        "train evolve --device cpu --updates 24 --set population=6 --set settle=0.1 --set seconds=0.4 --set bins=6,6 \
         --set search=novelty --set neighbors=4 --set films=2 --set checkpoint_every=2",
    ),
    (
        "mnist-gpu",
        "train mnist --model mlp --data synthetic --device gpu --epochs 1 --batch 100 --set sizes=32 \
         --set checkpoint_every=2 --set log_every=5",
    ),
];

/// What is killed where nothing else is asked for.
const SHORT: &str = "csv lm";

/// When a process is killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Moment {
    /// Within so many milliseconds of its start, most likely before anything is saved.
    Start(u64),
    /// As soon as a file is being written.
    Writing,
    /// So many milliseconds after so many more checkpoints.
    Training(usize, u64),
    /// So many milliseconds after the last update: while circuits, pictures and the report are made.
    Closing(u64),
}

#[test]
fn a_training_that_is_killed_ends_as_an_unbroken_one() {
    let asked = std::env::var("FARAD_KILLS").unwrap_or(SHORT.into());
    let times = number("FARAD_KILLS_TIMES").unwrap_or(4);
    let seed = number("FARAD_KILLS_SEED").unwrap_or(1);
    for name in asked.split_whitespace() {
        let kind = KINDS.iter().find(|(known, _)| *known == name);
        let (_, start) = kind.unwrap_or_else(|| panic!("kills: no such kind: {name} (see KINDS)"));
        let began = Instant::now();
        let told = kill_often(name, start, times, seed);
        println!("{name}: {told}: the same bits, {:.0} s", began.elapsed().as_secs_f64());
    }
}

fn number(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name}: not a whole number: {text}")))
}

/// Makes an unbroken run and one that is killed so many times, and compares them. What was done, in words.
fn kill_often(name: &str, start: &str, times: u64, seed: u64) -> String {
    let folder = Folder::new(&format!("kills-{name}"));
    std::fs::write(folder.path("text.txt"), text()).unwrap();
    std::fs::write(folder.path("table.csv"), table()).unwrap();
    let began = Instant::now();
    folder.succeed(&format!("{start} --quiet --out whole"));
    let whole = began.elapsed().as_millis() as u64;
    let mut broken = Broken { folder: &folder, start, run: folder.path("broken"), saved: None };
    let mut moments = moments(times, seed, whole);
    let (mut counts, mut late) = ([0; 4], 0);
    while let Some(moment) = moments.pop() {
        match broken.kill(moment) {
            true => counts[place(moment)] += 1,
            // The run was over before its moment came: the closing is what is left to kill.
            false if late < 2 * times => {
                late += 1;
                moments.push(Moment::Closing(late % 4));
            }
            false => panic!("{name}: seed {seed}: the run is always over before it is killed"),
        }
    }
    folder.succeed("train --resume broken --quiet");
    assert_same(&folder.path("whole"), &broken.run);
    let [at_start, writing, training, closing] = counts;
    format!(
        "{} kills (seed {seed}: {at_start} at the start, {writing} while writing, {training} between, {closing} in the closing)",
        counts.iter().sum::<u64>()
    )
}

fn place(moment: Moment) -> usize {
    match moment {
        Moment::Start(_) => 0,
        Moment::Writing => 1,
        Moment::Training(..) => 2,
        Moment::Closing(_) => 3,
    }
}

/// The moments of a run that takes so many milliseconds, last first: every kind of them, and two starts in a row.
fn moments(times: u64, seed: u64, whole: u64) -> Vec<Moment> {
    let mut state = seed;
    // A quick machine is done before a pause that suits a slow one.
    let mut below = |most: u64, part: u64| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) % most.min(whole / part).max(1)
    };
    let closing = (times / 4).max(1);
    let mut all = Vec::new();
    for n in 0..times - closing {
        all.push(match n % 8 {
            0 | 4 | 5 => Moment::Start(below(400, 2)),
            1 | 6 => Moment::Writing,
            _ => Moment::Training(1 + below(2, 1) as usize, below(60, 20)),
        });
    }
    all.extend((0..closing).map(|_| Moment::Closing(below(400, 10))));
    all.reverse();
    all
}

/// A run that is killed again and again.
struct Broken<'a> {
    folder: &'a Folder,
    start: &'a str,
    run: PathBuf,
    /// The step of the checkpoint after the last kill.
    saved: Option<u64>,
}

impl Broken<'_> {
    /// Goes on and kills at the moment, then looks at what is left; whether the moment came before the end.
    fn kill(&mut self, moment: Moment) -> bool {
        let command = match self.run.join("config.toml").is_file() {
            true => "train --resume broken --quiet".to_string(),
            false => format!("{} --quiet --out broken", self.start),
        };
        let before = count(&self.run, "checkpoint");
        let ended = count(&self.run, "end");
        let mut child = self.folder.command(&command).spawn().unwrap();
        let (in_time, pause) = match moment {
            Moment::Start(pause) => (true, pause),
            Moment::Writing => (wait(&mut child, || is_writing(&self.run)), 0),
            Moment::Training(more, pause) => {
                (wait(&mut child, || count(&self.run, "checkpoint") >= before + more), pause)
            }
            Moment::Closing(pause) => (wait(&mut child, || count(&self.run, "end") > ended), pause),
        };
        if in_time {
            std::thread::sleep(Duration::from_millis(pause));
        }
        // Kills with SIGKILL; an error means that the process is gone already.
        let _ = child.kill();
        let killed = child.wait().unwrap().code().is_none();
        self.examine(moment);
        killed
    }

    /// What must hold after every kill: a checkpoint is there if one was reported, it is whole and never older than
    /// before, and the log has every step once.
    fn examine(&mut self, moment: Moment) {
        if !self.run.join("config.toml").is_file() {
            return;
        }
        let run = Run::open(&self.run).unwrap();
        let saved = run.checkpoint().unwrap_or_else(|error| panic!("{moment:?}: {error}"));
        let saved = saved.map(|checkpoint| checkpoint.step());
        let reported = events(&self.run).iter().rfind(|e| e["event"] == "checkpoint").cloned();
        let reported = reported.map(|event| event["step"].as_u64().unwrap());
        assert!(saved >= self.saved && saved >= reported, "{moment:?}: {saved:?} after {:?}", self.saved);
        self.saved = saved;
        if run.log_path().is_file() {
            let steps = LogTable::read(run.log_path()).unwrap().steps();
            assert!(steps.is_sorted_by(|a, b| a < b), "{moment:?}: steps of the log: {steps:?}");
        }
    }
}

/// Waits for a moment; whether it came before the process was done.
fn wait(child: &mut Child, mut is_now: impl FnMut() -> bool) -> bool {
    let patience = Instant::now() + Duration::from_secs(300);
    while !is_now() {
        assert!(Instant::now() < patience, "kills: nothing happens");
        if child.try_wait().unwrap().is_some() {
            return false;
        }
        std::thread::sleep(Duration::from_micros(300));
    }
    true
}

fn count(run: &Path, event: &str) -> usize {
    events(run).iter().filter(|e| e["event"] == event).count()
}

/// Whether a file of the run is being written by a process that lives: what killed ones left is older.
fn is_writing(run: &Path) -> bool {
    let entries = std::fs::read_dir(run).into_iter().flatten().flatten();
    let unfinished = entries.filter(|entry| entry.file_name().to_string_lossy().ends_with(".tmp"));
    let mut ages = unfinished.filter_map(|entry| entry.metadata().ok()?.modified().ok()?.elapsed().ok());
    ages.any(|age| age < Duration::from_millis(20))
}

/// A text of a few words in an order that can be learned.
fn text() -> String {
    (0..500).map(|n| format!("the cat {} sees the dog {} .\n", n % 17, n * 7 % 13)).collect()
}

/// A table with a class that depends on two columns.
fn table() -> String {
    let row = |n: u64| {
        let [a, b, c] = [n * 37 % 101, n * 53 % 97, n * 11 % 7];
        format!("{a},{b},{c},{}\n", if a + b > 90 { "large" } else { "small" })
    };
    std::iter::once("a,b,c,size\n".to_string()).chain((0..400).map(row)).collect()
}

//! A kind of training in one file: an agent that learns which of several arms pays best. It shows what a new kind has to
//! write, and that the loop does the rest: log, validation, the best, patience, checkpoints, going on, weights of other runs.

use std::cell::RefCell;
use std::path::{Path, PathBuf};

use farad_nn::layers::Parameter;
use farad_tensor::{Device, Tensor};
use farad_train::run::{Checkpoint, LogCell, LogTable, Run, Stop, Table, Value, json};
use farad_train::settings::{NumberRange, Setting, SettingsTable, Takes};
use farad_train::{
    AnyOptimizer, Asked, Kinds, LoopSettings, OptimizerOptions, Outcome, Prepared, Progress, Result, Subject,
    TrainError, Trainee, Training, TrainingKind, TrainingSummary, Validation, Watcher, optimizer,
};

farad_train::settings! {
    /// What a bandit is trained with.
    pub struct BanditSettings {
        seed: u64 = 1, Takes::from(0), "The seed of what the arms pay.";
        arms: usize = 5, Takes::Whole(2, 1000), "Arms to choose from.";
        updates: u64 = 40, Takes::from(1), "Updates in all.";
        learning_rate ["step_size"]: f64 = 0.1, Takes::Number(NumberRange::from(0.0)), "The learning rate.";
        optimizer: String = "adam".into(), Takes::one_of(farad::optim::OptimizerRow::names()), "What updates the preferences.";
        ..course: LoopSettings, "When the loop logs, validates, saves and ends.";
    }
}

struct Bandits;

const KINDS: Kinds = Kinds(&[&Bandits]);

impl TrainingKind for Bandits {
    fn name(&self) -> &'static str {
        "bandit"
    }

    fn title(&self) -> &'static str {
        "bandits"
    }

    fn subjects(&self) -> Vec<Subject> {
        vec![Subject { name: "bandit", former: &["one-armed"], about: "which arm pays best" }]
    }

    fn settings(&self) -> Vec<Setting> {
        BanditSettings::rows()
    }

    fn defaults(&self, _: &str) -> Result<Vec<(&'static str, Table)>> {
        Ok(vec![("default", BanditSettings::default().table())])
    }

    fn prepare(&self, asked: &Asked) -> Result<Box<dyn Prepared>> {
        let mut settings = BanditSettings::default();
        settings.course.evaluate_every = 5;
        asked.fill(&mut settings)?;
        Ok(Box::new(settings))
    }

    fn resume(&self, run: &Run, asked: &Asked) -> Result<Box<dyn Prepared>> {
        let mut settings = BanditSettings::default();
        settings.take_config(run.config())?;
        asked.fill(&mut settings)?;
        Ok(Box::new(settings))
    }

    fn judge(&self, run: &Run, _: &Asked, _: &Device) -> Result<Outcome> {
        let learned = run.learned()?.ok_or_else(|| TrainError::NothingLearned { path: run.path().into() })?;
        Ok(Outcome::new(json!({ "after": learned.step() }), "a bandit"))
    }

    fn inspect(&self, run: &Run) -> Result<Value> {
        Ok(json!({ "kind": run.kind() }))
    }

    fn instead(&self) -> &'static str {
        "--set"
    }

    fn learns(&self, _: &Table) -> String {
        "bandit".into()
    }
}

impl Prepared for BanditSettings {
    fn config(&self) -> Table {
        self.table()
    }

    fn seed(&self) -> u64 {
        self.seed
    }

    fn begin(self: Box<Self>, _: &Run) -> Result<Box<dyn Trainee>> {
        let device = Device::cpu();
        let preferences = Parameter::new(Tensor::zeros([self.arms], &device));
        let pays: Vec<f32> = (0..self.arms).map(|arm| ((self.seed + arm as u64 * 7) % 11) as f32).collect();
        let pays = Tensor::from_vec(pays, [self.arms], &device);
        let groups = vec![(vec![preferences.clone()], 0.0)];
        let optimizer = optimizer(&self.optimizer, groups, OptimizerOptions::default());
        Ok(Box::new(Bandit { settings: *self, device, preferences, pays, optimizer }))
    }
}

struct Bandit {
    settings: BanditSettings,
    device: Device,
    preferences: Parameter,
    pays: Tensor,
    optimizer: Box<dyn AnyOptimizer>,
}

impl Bandit {
    fn loss(&self) -> Tensor {
        -(self.preferences.value().softmax(0) * &self.pays).sum()
    }
}

impl Trainee for Bandit {
    fn title(&self) -> String {
        format!("a bandit of {} arms", self.settings.arms)
    }

    fn device(&self) -> &Device {
        &self.device
    }

    fn pace(&self) -> &LoopSettings {
        &self.settings.course
    }

    fn unit(&self) -> &'static str {
        "update"
    }

    fn steps_in_all(&self) -> u64 {
        self.settings.updates
    }

    fn step(&mut self) -> Result<Tensor> {
        self.optimizer.set_learning_rate(self.settings.learning_rate as f32);
        let loss = self.loss();
        self.optimizer.step(&loss)?;
        Ok(loss)
    }

    fn columns(&self) -> Vec<String> {
        vec!["loss".into(), "payment".into()]
    }

    fn row(&self, _: u64, losses: Option<&[f32]>, validation: Option<&Validation>) -> Vec<LogCell> {
        let loss = losses.map(|losses| losses[0]);
        vec![loss.into(), validation.map_or(LogCell::default(), |validation| validation.cells[0].clone())]
    }

    fn validate(&mut self) -> Result<Option<Validation>> {
        let goodness = -f64::from(self.loss().item()?);
        Ok(Some(Validation { goodness, later_wins: false, cells: vec![goodness.into()] }))
    }

    fn keep(&mut self) -> Result<Option<Checkpoint>> {
        let mut best = Checkpoint::new("bandit", 0);
        best.put("preferences", &self.preferences.value());
        Ok(Some(best))
    }

    fn save(&self, checkpoint: &mut Checkpoint) -> Result<()> {
        checkpoint.put("preferences", &self.preferences.value());
        checkpoint.put_all("optimizer", self.optimizer.state()?);
        Ok(())
    }

    fn restore(&mut self, checkpoint: &Checkpoint) -> Result<()> {
        self.take_weights(checkpoint)?;
        self.optimizer.restore(&checkpoint.tensors("optimizer", &self.device)?)
    }

    fn take_weights(&mut self, weights: &Checkpoint) -> Result<()> {
        self.preferences.set(weights.tensor("preferences", [self.settings.arms], &self.device)?);
        Ok(())
    }

    fn logs_means(&self) -> bool {
        true
    }

    fn words(&self, losses: &[f32]) -> String {
        format!("loss {}", losses[0])
    }

    fn concluding(&self) -> String {
        "now counting".into()
    }

    fn conclude(&mut self, _: &Run, summary: &TrainingSummary, _: &dyn Watcher) -> Result<Outcome> {
        Ok(Outcome::new(json!({ "updates": summary.steps }), "done"))
    }
}

/// A folder that goes when the test ends.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("farad-bandit-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        Folder(path)
    }

    fn at(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn start(folder: &Path, set: &[&str]) -> Result<Training> {
    let set: Vec<String> = set.iter().map(|text| text.to_string()).collect();
    let (kind, subject) = KINDS.learning("one-armed").expect("its former name");
    let prepared = kind.prepare(&Asked { set: &set, ..Asked::new(subject.name) })?;
    let run = Run::create(folder, kind.name(), prepared.config())?;
    let trainee = prepared.begin(&run)?;
    Training::open(run, trainee)
}

fn go_on(folder: &Path) -> Training {
    let run = Run::resume(folder).unwrap();
    let kind = KINDS.of(&run).unwrap();
    let trainee = kind.resume(&run, &Asked::new("")).unwrap().begin(&run).unwrap();
    Training::open(run, trainee).unwrap()
}

fn events(folder: &Path, name: &str) -> usize {
    let events = farad_train::run::Events::read(folder.join("events.jsonl")).unwrap();
    events.iter().filter(|event| event["event"] == name).count()
}

/// Stops when training has come so far.
struct Until<'a>(u64, &'a Stop, RefCell<Vec<String>>);

impl Watcher for Until<'_> {
    fn trained(&self, progress: &Progress) {
        self.2.borrow_mut().push(progress.words.clone());
        if progress.step >= self.0 {
            self.1.set();
        }
    }
}

#[test]
fn a_bandit_learns_and_goes_on_with_the_same_bits() {
    let folder = Folder::new("whole");
    let set = ["log_every=3", "checkpoint_every=4", "keep_best=true"];
    let summary = start(&folder.at("whole"), &set).unwrap().train(&Stop::new(), &()).unwrap();
    assert_eq!(summary, TrainingSummary { steps: 40, interrupted: false, early: None });
    let stop = Stop::new();
    let until = Until(14, &stop, RefCell::default());
    let broken = start(&folder.at("broken"), &set).unwrap().train(&stop, &until).unwrap();
    assert!(
        broken.interrupted && broken.steps == 15 && until.2.borrow()[0].starts_with("loss "),
        "{broken:?}"
    );
    go_on(&folder.at("broken")).train(&Stop::new(), &()).unwrap();
    for file in ["log.csv", "checkpoint.safetensors", "best.safetensors", "config.toml"] {
        let bytes = |run: &str| std::fs::read(folder.at(run).join(file)).unwrap();
        assert!(bytes("whole") == bytes("broken"), "{file} differs");
    }
    let payments = LogTable::read(folder.at("whole").join("log.csv")).unwrap().series("payment");
    assert_eq!(
        payments.iter().map(|(step, _)| *step as u64).collect::<Vec<_>>(),
        [5, 10, 15, 20, 25, 30, 35, 40]
    );
    assert!(payments.windows(2).all(|pair| pair[0].1 < pair[1].1), "{payments:?}");
}

/// A row of the log has the mean since the last regular one, whatever rows came in between and wherever a run was stopped.
#[test]
fn rows_have_the_mean_of_their_interval() {
    let folder = Folder::new("means");
    let losses = |name: &str, set: &[&str]| {
        start(&folder.at(name), set).unwrap().train(&Stop::new(), &()).unwrap();
        LogTable::read(folder.at(name).join("log.csv")).unwrap().series("loss")
    };
    let single = losses("single", &["log_every=1", "evaluate_every=40"]);
    assert_eq!(single.len(), 40);
    let mean = |from: usize, to: usize| {
        single[from - 1..to].iter().map(|(_, loss)| *loss as f32 as f64).sum::<f64>() / (to + 1 - from) as f64
    };
    // Validations after every seven updates have rows, too, and begin no interval.
    let rows = losses("means", &["log_every=10", "evaluate_every=7", "checkpoint_every=3"]);
    let steps: Vec<usize> = rows.iter().map(|(step, _)| *step as usize).collect();
    assert_eq!(steps, [1, 2, 4, 7, 8, 10, 14, 20, 21, 28, 30, 35, 40]);
    let regular = [0, 1, 2, 4, 8, 10, 20, 30];
    for (step, (_, loss)) in steps.iter().zip(&rows) {
        let since = regular.iter().rev().find(|before| *before < step).unwrap();
        assert!((loss - mean(since + 1, *step)).abs() < 1e-6, "{step}: {loss} vs {}", mean(since + 1, *step));
    }
    // A short run has a curve, and one that goes on has the rows of one that never stopped.
    let short = losses("short", &["log_every=10", "evaluate_every=7", "updates=9"]);
    assert_eq!(short.len(), 6);
    let mut run = Run::resume(folder.at("short")).unwrap();
    let mut config = run.config().clone();
    config.insert("updates".into(), 40.into());
    run.set_config(config).unwrap();
    drop(run);
    go_on(&folder.at("short")).train(&Stop::new(), &()).unwrap();
    let longer = LogTable::read(folder.at("short").join("log.csv")).unwrap().series("loss");
    assert_eq!(longer.into_iter().filter(|(step, _)| *step != 9.0).collect::<Vec<_>>(), rows);
}

#[test]
fn patience_ends_what_does_not_get_better() {
    let folder = Folder::new("patience");
    let set = ["learning_rate=0", "patience=3", "optimizer=sgd"];
    let mut training = start(&folder.at("run"), &set).unwrap();
    let summary = training.train(&Stop::new(), &()).unwrap();
    // The first validation is the best; three more are not better.
    assert_eq!(summary.steps, 20);
    assert_eq!(summary.early.as_deref(), Some("as 3 validations in a row did not get better"));
    drop(training);
    // It stays over when it goes on.
    assert_eq!(go_on(&folder.at("run")).train(&Stop::new(), &()).unwrap().steps, 20);
}

#[test]
fn training_starts_from_the_weights_of_another_run() {
    let folder = Folder::new("from");
    start(&folder.at("first"), &[]).unwrap().train(&Stop::new(), &()).unwrap();
    let from = format!("from={}", folder.at("first").display());
    let mut second = start(&folder.at("second"), &[&from, "updates=1", "learning_rate=0"]).unwrap();
    // They are saved before the first step, so that nobody needs the other run any more.
    std::fs::remove_dir_all(folder.at("first")).unwrap();
    assert_eq!(second.run().checkpoint().unwrap().unwrap().step(), 0);
    second.train(&Stop::new(), &()).unwrap();
    let learned = |run: &str| {
        let checkpoint = Run::open(folder.at(run)).unwrap().learned().unwrap().unwrap();
        checkpoint.tensor("preferences", [5], &Device::cpu()).unwrap().to_vec::<f32>().unwrap()
    };
    assert!(learned("second").iter().any(|&preference| preference != 0.0));
    let refused = start(&folder.at("third"), &["from=nowhere"]).err().unwrap().to_string();
    assert!(refused.starts_with("run: not a run: nowhere"), "{refused}");
    let other = Run::create(folder.at("other"), "fit", Table::new()).unwrap();
    let refused = start(&folder.at("fourth"), &[&format!("from={}", other.path().display())]).err().unwrap();
    assert!(refused.to_string().contains("weights are of another kind of training"), "{refused}");
}

#[test]
fn a_loss_that_is_not_finite_ends_it() {
    let folder = Folder::new("finite");
    let set = ["learning_rate=1e38", "optimizer=sgd", "log_every=1", "arms=2"];
    let mut training = start(&folder.at("run"), &set).unwrap();
    let ended = training.train(&Stop::new(), &());
    let text = ended.err().map_or_else(String::new, |error| error.to_string());
    assert!(text.starts_with("bandit: the loss is not finite: update "), "{text}");
}

#[test]
fn checkpoints_are_written_by_time_and_change_nothing_else() {
    let folder = Folder::new("time");
    let train = |name: &str, set: &[&str], wait: bool| {
        struct Slow(bool);
        impl Watcher for Slow {
            fn trained(&self, _: &Progress) {
                if self.0 {
                    std::thread::sleep(std::time::Duration::from_millis(600));
                }
            }
        }
        start(&folder.at(name), set).unwrap().train(&Stop::new(), &Slow(wait)).unwrap();
        events(&folder.at(name), "checkpoint")
    };
    assert_eq!(train("never", &["updates=8", "log_every=2", "checkpoint_seconds=0"], true), 0);
    assert!(train("often", &["updates=8", "log_every=2", "checkpoint_seconds=1"], true) >= 1);
    for file in ["log.csv", "checkpoint.safetensors"] {
        let bytes = |run: &str| std::fs::read(folder.at(run).join(file)).unwrap();
        assert!(bytes("never") == bytes("often"), "{file} differs");
    }
}

#[test]
fn settings_say_what_is_wrong_with_them() {
    let mut settings = BanditSettings::default();
    for (assignment, text) in [
        ("arms", "settings: `arms` is not key=value\nhelp: such as --set batch=64"),
        ("arms=1", "settings: arms takes a whole number from 2 on, not `1`"),
        ("arms=1001", "settings: arms takes a whole number up to 1000, not `1001`"),
        ("arms=many", "settings: arms takes a whole number, not `many`"),
        ("learning_rate=nan", "settings: learning_rate takes a number from 0 on, not `NaN`"),
        ("keep_best=perhaps", "settings: keep_best takes true or false, not `perhaps`"),
    ] {
        assert_eq!(settings.set(assignment).unwrap_err().to_string(), text);
    }
    let refused = |assignment: &str| BanditSettings::default().set(assignment).unwrap_err().to_string();
    assert!(refused("optimizer=adamx").starts_with(
        "settings: there is no optimizer `adamx`; did you mean `adam`?\nhelp: there are adamw, adam"
    ));
    assert!(
        refused("patienc=1").starts_with("settings: there is no key `patienc`; did you mean `patience`?")
    );
    let table: Table = "step_size = 1\narms = 3".parse().unwrap();
    settings.take(&table).unwrap();
    assert_eq!((settings.learning_rate, settings.arms), (1.0, 3));
    let table: Table = "arms = \"three\"".parse().unwrap();
    assert_eq!(
        settings.take(&table).unwrap_err().to_string(),
        "settings: arms takes a whole number, not `\"three\"`"
    );
    assert!(BanditSettings::rows().iter().all(|row| row.help.ends_with('.')));
    // A run's file has every key but those that came later.
    let mut table = BanditSettings::default().table();
    table.remove("patience");
    settings.take_config(&table).unwrap();
    table.remove("arms");
    let text = settings.take_config(&table).unwrap_err().to_string();
    assert_eq!(text, "settings: config.toml: it has no `arms`");
}

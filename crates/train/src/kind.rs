//! A kind of training: what all of them can do, whatever they train.
//!
//! A [`TrainingKind`] is a row of the command's table: it knows names, settings and run folders. It makes a [`Prepared`] training,
//! which can be refused without a trace; with a run's folder that becomes a [`Trainee`], which the loop
//! ([`Training`](crate::Training)) drives. A new kind implements these three and gets a row in the table of kinds.
//!
//! Invariant: nothing here prints, and nothing looks at a clock: what a trainee does depends on its settings, its data and the
//! number of the step.

use farad_tensor::{Device, Tensor};
use serde_json::{Value, json};
use toml::Table;

use crate::asked::{Asked, run_device};
use crate::error::{Result, TrainError};
use crate::outcome::Outcome;
use crate::predict::Predictor;
use crate::run::{Checkpoint, LogCell, Run, shell_word};
use crate::settings::Setting;
use crate::training::{LoopSettings, Standing, TrainingSummary};
use crate::watcher::{Glimpse, Watcher};

/// Something that can be learned, by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Subject {
    /// What the command calls it.
    pub name: &'static str,
    /// What earlier versions called it.
    pub former: &'static [&'static str],
    /// What it is, in a line.
    pub about: &'static str,
}

impl Subject {
    /// A name and what it is.
    pub fn new(name: &'static str, about: &'static str) -> Subject {
        Subject { name, former: &[], about }
    }

    /// Whether this is its name, or was.
    pub fn is_called(&self, name: &str) -> bool {
        self.name == name || self.former.contains(&name)
    }
}

/// A column of the log that says how good a run is before it was judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Measure {
    /// The column; runs of several seeds have one for each, with `_SEED`.
    pub column: &'static str,
    /// What it is, e.g. `validation accuracy`.
    pub name: &'static str,
    /// How its number is shown.
    pub unit: Unit,
}

/// How a number is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// As it is.
    Number,
    /// A share of one, in percent.
    Share,
    /// A count of wrong bits; none is exact.
    Wrong,
}

/// A kind of training.
pub trait TrainingKind: Sync {
    /// What its run folders and checkpoints call it.
    fn name(&self) -> &'static str;

    /// What lists call its subjects, e.g. `data sets`.
    fn title(&self) -> &'static str;

    /// What can be learned.
    fn subjects(&self) -> Vec<Subject>;

    /// The rows of its settings.
    fn settings(&self) -> Vec<Setting>;

    /// The settings that a subject starts from, by the names of their variants; the first is the default.
    fn defaults(&self, subject: &str) -> Result<Vec<(&'static str, Table)>>;

    /// Looks at what is asked for: whatever can be wrong with it is found here, before there is a folder.
    fn prepare(&self, asked: &Asked) -> Result<Box<dyn Prepared>>;

    /// The same for a run that goes on, perhaps for longer or elsewhere.
    fn resume(&self, run: &Run, asked: &Asked) -> Result<Box<dyn Prepared>>;

    /// Judges what a run has learned, on a device.
    fn judge(&self, run: &Run, asked: &Asked, device: &Device) -> Result<Outcome>;

    /// What a run has learned, in use on a device. Needs no data where the run has all that is needed, which runs of earlier
    /// versions may not.
    fn predictor(&self, run: &Run, _: &Device) -> Result<Box<dyn Predictor>> {
        let (path, kind, help) = (run.path().into(), run.kind().into(), self.use_instead(run));
        Err(TrainError::NoPredictor { path, kind, help }.into())
    }

    /// Whether several ranks can train together. If so, a trainee takes its part of the data by
    /// [`Asked::group`], and its optimizer reduces gradients.
    fn is_parallel(&self) -> bool {
        false
    }

    /// What a run that predicts nothing is used by.
    fn use_instead(&self, run: &Run) -> String {
        format!("`farad inspect {}` says what it is", shell_word(run.path()))
    }

    /// What a run is made of. Needs neither its data nor its device.
    fn inspect(&self, run: &Run) -> Result<Value>;

    /// The device that a run is judged on if none is asked for.
    fn judges_on(&self, run: &Run) -> Result<Device> {
        run_device(run)
    }

    /// What a message calls a training of a subject.
    fn called(&self, subject: &str) -> String {
        subject.into()
    }

    /// What to use instead of a flag that it does not take.
    fn instead(&self) -> &'static str;

    /// What a run learns, by its configuration, in a word.
    fn learns(&self, config: &Table) -> String;

    /// The columns of the log that say how good a run is, the best first.
    fn measures(&self, _config: &Table) -> Vec<Measure> {
        vec![Measure { column: "loss", name: "training loss", unit: Unit::Number }]
    }

    /// Steps at the end, where the configuration says it.
    fn planned(&self, config: &Table) -> Option<u64> {
        let updates = config.get("updates").and_then(|updates| updates.as_integer());
        updates.and_then(|updates| u64::try_from(updates).ok()).filter(|&updates| updates > 0)
    }
}

/// A training that was looked at and has no folder of its own yet, or has not been opened again.
pub trait Prepared {
    /// What the run's folder should say: everything needed to train again.
    fn config(&self) -> Table;

    /// The seed, for the folder's name.
    fn seed(&self) -> u64;

    /// What the data are, in a line that differs where they do; ranks compare it. It says nothing by default.
    fn data(&self) -> String {
        String::new()
    }

    /// Ready for the first step. Files that it needs beside the configuration are written into the run.
    fn begin(self: Box<Self>, run: &Run) -> Result<Box<dyn Trainee>>;
}

/// How a validation went.
#[derive(Clone, Debug, PartialEq)]
pub struct Validation {
    /// How good the model is: more is better. A kind that measures a loss gives its negative.
    pub goodness: f64,
    /// Whether an equally good model that comes later is taken for better: it has learned more.
    pub later_wins: bool,
    /// What the log has of it; the trainee knows which columns these are.
    pub cells: Vec<LogCell>,
}

/// A model in training, and what is known of it. The loop calls [`Trainee::step`] and asks for whatever is due.
pub trait Trainee {
    /// What is trained by what, in a line, e.g. `mnist by cnn: 12 parameters learn from 60 samples`.
    fn title(&self) -> String;

    /// The device that everything runs on.
    fn device(&self) -> &Device;

    /// When the loop logs, validates and saves.
    fn pace(&self) -> &LoopSettings;

    /// What a step is called in messages.
    fn unit(&self) -> &'static str {
        "step"
    }

    /// Steps at the end.
    fn steps_in_all(&self) -> u64;

    /// Steps of an epoch: `evaluate_every = 0` validates at its end.
    fn epoch(&self) -> u64 {
        self.steps_in_all()
    }

    /// Whether the end of every epoch has a checkpoint.
    fn saves_epochs(&self) -> bool {
        false
    }

    /// One step: the losses before it, one for each model, not waited for.
    fn step(&mut self) -> Result<Tensor>;

    /// Whether every rank has models of its own, whose losses are put side by side in the order of ranks. Otherwise all ranks have
    /// the same models, and losses are their means.
    fn is_spread(&self) -> bool {
        false
    }

    /// Whether the losses are the same on all ranks already, and need not be put together.
    fn is_same(&self) -> bool {
        false
    }

    /// Gives all ranks that train together the weights of the first. All of them are asked before the first step of a
    /// process.
    fn synchronize(&mut self) -> Result<()> {
        Ok(())
    }

    /// The columns of the log, beside `step`.
    fn columns(&self) -> Vec<String>;

    /// The row of a step: its losses if they are due, its validation if there was one.
    fn row(&self, step: u64, losses: Option<&[f32]>, validation: Option<&Validation>) -> Vec<LogCell>;

    /// Looks at losses before they are logged; an error ends training. Losses that are not finite are refused by the loop itself, this
    /// is for who can say more.
    fn check(&self, _losses: &[f32]) -> Result<()> {
        Ok(())
    }

    /// Looks at the model on what it does not learn from; none if there is nothing.
    fn validate(&mut self) -> Result<Option<Validation>>;

    /// The model was never as good: what `best.safetensors` should have. None if it is kept elsewhere, or not at all.
    fn keep(&mut self) -> Result<Option<Checkpoint>> {
        Ok(None)
    }

    /// Brings what only other ranks have, and a checkpoint needs, to the first one. All of them are asked before it saves.
    fn gather(&mut self) -> Result<()> {
        Ok(())
    }

    /// Puts everything that training goes on with into a checkpoint. Of several ranks only the first is asked.
    fn save(&self, checkpoint: &mut Checkpoint) -> Result<()>;

    /// Goes on from a checkpoint.
    fn restore(&mut self, checkpoint: &Checkpoint) -> Result<()>;

    /// How training stood, by a checkpoint of an earlier version, which holds no [`Standing`].
    fn former_standing(&self, _checkpoint: &Checkpoint) -> Result<Standing> {
        Ok(Standing::default())
    }

    /// Starts from the weights of another run of this kind, and from nothing else of it.
    fn take_weights(&mut self, weights: &Checkpoint) -> Result<()>;

    /// Why training may end before its last step, if it may, e.g. `as every circuit was right`.
    fn is_done(&self) -> Option<String> {
        None
    }

    /// Whether a row of the log has the mean of the losses since the last one, and not those of its own step. Numbers that are no
    /// losses are better as they are.
    fn logs_means(&self) -> bool {
        false
    }

    /// What the model makes at present, for those who watch: nothing of the training depends on whether somebody asks.
    fn glimpse(&mut self) -> Result<Option<Glimpse>> {
        Ok(None)
    }

    /// Whether a single loss that is not finite is ignored: f16 may overflow once, and then the step is skipped.
    fn may_overflow(&self) -> bool {
        false
    }

    /// Whether the loop waits for a loss that it logs. If not, the loss is looked at when the next one is due, and a
    /// validation between two rows has a row without one.
    fn waits(&self) -> bool {
        true
    }

    /// The device has nothing left to do; something else is done now: a validation, a checkpoint.
    fn pauses(&mut self) {}

    /// Training goes on after a pause.
    fn goes_on(&mut self) {}

    /// How training stands, in a few words.
    fn words(&self, losses: &[f32]) -> String;

    /// Fields of the event that begins a process; the device is there already.
    fn about(&self) -> Value {
        json!({})
    }

    /// Fields of the events `checkpoint`, `interrupted` and `end`, the last of which say more; the time is there already.
    fn noted(&self, _ends: bool) -> Value {
        json!({})
    }

    /// What comes after the last step, e.g. `now judging on the test set`.
    fn concluding(&self) -> String;

    /// What is left to do between the last step and judging, for all ranks. The checkpoint is written, and all of them can read it.
    fn finish(&mut self, _run: &Run, _watcher: &dyn Watcher) -> Result<()> {
        Ok(())
    }

    /// Judges what was learned and writes it down: report, pictures, `result.json`. Of several ranks only the first does.
    fn conclude(&mut self, run: &Run, summary: &TrainingSummary, watcher: &dyn Watcher) -> Result<Outcome>;
}

/// The kinds that a program knows.
#[derive(Clone, Copy)]
pub struct Kinds(pub &'static [&'static dyn TrainingKind]);

impl Kinds {
    /// All of them.
    pub fn all(self) -> impl Iterator<Item = &'static dyn TrainingKind> {
        self.0.iter().copied()
    }

    /// The kind of a run; an error if no kind is called so.
    pub fn of(self, run: &Run) -> Result<&'static dyn TrainingKind> {
        self.named(run.kind()).ok_or_else(|| {
            let why = format!("its kind is `{}`, which this farad does not train", run.kind());
            TrainError::NotRun { path: run.path().into(), why }.into()
        })
    }

    /// The kind that run folders call so.
    pub fn named(self, name: &str) -> Option<&'static dyn TrainingKind> {
        self.all().find(|kind| kind.name() == name)
    }

    /// The kind that learns a subject, and the subject by its present name.
    pub fn learning(self, subject: &str) -> Option<(&'static dyn TrainingKind, Subject)> {
        let subjects = self.all().flat_map(|kind| kind.subjects().into_iter().map(move |s| (kind, s)));
        subjects.into_iter().find(|(_, known)| known.is_called(subject))
    }
}

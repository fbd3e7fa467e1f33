//! A Boolean function in training: its network, a step, checkpoints, and the learned circuit of a run.

use farad::nn::Module;
use farad::run::{Checkpoint, LogCell, Run, Value, counted, json};
use farad::train::{
    AnyOptimizer, LoopSettings, OptimizerOptions, Outcome, TrainError, Trainee, TrainingSummary, Validation,
    Watcher, optimizer,
};
use farad::{DType, Device, Tensor};
use farad_circuit::Netlist;
use serde::{Deserialize, Serialize};

use super::report;
use super::settings::BooleanSettings;
use super::table::{BitRows, TruthTable};
use crate::error::{Error, Result};
use crate::layer::{GateLayer, GateNetwork, Pass};
use crate::network::WiringKind;

/// The kind of run folder, in `config.toml` and checkpoints.
pub const KIND: &str = "boolean";

/// Rows that are evaluated together.
const LOOK: usize = 1 << 16;
/// Offset of the steps' random numbers in the seed's stream, after those of wirings.
const STEPS: u64 = 1 << 33;

/// What a checkpoint contains besides tensors.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct StoredBoolean {
    inputs: Vec<String>,
    outputs: Vec<String>,
    /// Rows that are learned.
    rows: usize,
    /// The fraction of bits that the kept network gets right, and when it was kept.
    best: Option<f64>,
    best_step: u64,
}

/// A network for a table.
pub fn network(settings: &BooleanSettings, inputs: usize, outputs: usize) -> Result<GateNetwork> {
    let widths = settings.widths(inputs, outputs);
    let layer = |(n, pair): (usize, &[usize])| {
        let (from, to) = (pair[0], pair[1]);
        let fits = 2 * to >= from && to <= from * (from - 1) / 2;
        let kind = if fits { WiringKind::Unique } else { WiringKind::Random };
        let wires = kind.draw(from, to, settings.seed, n as u64)?;
        Ok(GateLayer::new(wires).passing(settings.initial_logit as f32))
    };
    Ok(GateNetwork::of(widths.windows(2).enumerate().map(layer).collect::<Result<_>>()?))
}

/// Rows as numbers on a device, features by samples.
struct DeviceRows {
    inputs: Tensor,
    outputs: Tensor,
    count: usize,
}

impl DeviceRows {
    fn new(rows: &BitRows, device: &Device) -> DeviceRows {
        let numbers = |planes: &[Vec<u64>]| {
            let bits = planes.iter().flat_map(|plane| BitRows::bits(plane, rows.count)).map(f32::from);
            Tensor::from_vec(bits.collect::<Vec<f32>>(), [planes.len(), rows.count], device)
        };
        DeviceRows { inputs: numbers(&rows.inputs), outputs: numbers(&rows.outputs), count: rows.count }
    }
}

/// A Boolean function in training.
pub struct Learner {
    settings: BooleanSettings,
    network: GateNetwork,
    optimizer: Box<dyn AnyOptimizer>,
    rows: DeviceRows,
    device: Device,
    steps: u64,
    stored: StoredBoolean,
    /// The parameters of the kept network.
    kept: Vec<(String, Tensor)>,
    /// The fraction of bits that were right at the last check.
    seen: Option<f64>,
}

impl Learner {
    /// The state before the first step.
    pub fn new(settings: BooleanSettings, table: &TruthTable, device: &Device) -> Result<Learner> {
        let network = network(&settings, table.inputs.len(), table.outputs.len())?.to_device(device);
        let (learned, _) = table.parts(settings.test, settings.seed);
        let groups = vec![(network.parameters(), 0.0)];
        let optimizer = optimizer(&settings.optimizer, groups, OptimizerOptions::default());
        let (inputs, outputs) = (table.inputs.clone(), table.outputs.clone());
        let stored = StoredBoolean { inputs, outputs, rows: learned.count, best: None, best_step: 0 };
        let (rows, kept) = (DeviceRows::new(&learned, device), state(&network)?);
        Ok(Learner {
            settings,
            network,
            optimizer,
            rows,
            device: device.clone(),
            steps: 0,
            stored,
            kept,
            seen: None,
        })
    }

    fn features(&self, x: &Tensor, pass: Pass) -> Tensor {
        self.network.layers().iter().fold(x.clone(), |x, layer| layer.features(&x, pass))
    }

    /// The squared differences of a random batch of rows, summed per row.
    fn loss(&self) -> Tensor {
        let batch = self.settings.batch.min(self.rows.count);
        let draws = Tensor::rand_at(self.settings.seed, STEPS + self.steps, [batch], &self.device);
        let last = (self.rows.count - 1) as f64;
        let places = (draws * self.rows.count as f64).floor().minimum(last).cast(DType::I32);
        let part = |rows: &Tensor| rows.index_select(1, &places);
        let seen = self.features(&part(&self.rows.inputs), Pass::Straight);
        (seen - part(&self.rows.outputs)).square().sum() * (1.0 / batch as f64)
    }

    /// The fraction of all bits that the hard network gets right.
    fn right(&self) -> Result<f64> {
        let mut wrong = 0.0;
        for start in (0..self.rows.count).step_by(LOOK) {
            let count = LOOK.min(self.rows.count - start);
            let part = |rows: &Tensor| rows.narrow(1, start, count);
            let seen = self.features(&part(&self.rows.inputs), Pass::Hard);
            wrong += f64::from((seen - part(&self.rows.outputs)).abs().sum().item()?);
        }
        Ok(1.0 - wrong / (self.rows.count * self.stored.outputs.len()) as f64)
    }

    fn keep_now(&mut self) -> Result<()> {
        (self.stored.best, self.stored.best_step) = (self.seen, self.steps);
        self.kept = state(&self.network)?;
        Ok(())
    }
}

/// The current parameters, on the CPU.
fn state(network: &GateNetwork) -> Result<Vec<(String, Tensor)>> {
    let cpu = Device::cpu();
    let state = network.state().into_iter();
    state.map(|(name, tensor)| Ok((name, tensor.detach()?.to_device(&cpu)?))).collect()
}

impl Trainee for Learner {
    fn title(&self) -> String {
        let StoredBoolean { inputs, outputs, rows, .. } = &self.stored;
        let (inputs, outputs) = (counted(inputs.len(), "input"), counted(outputs.len(), "output"));
        format!("table: a Boolean function of {inputs} and {outputs} from {}", counted(*rows, "row"))
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

    fn step(&mut self) -> farad::Result<Tensor> {
        self.optimizer.set_learning_rate(self.settings.learning_rate as f32);
        let loss = self.loss();
        self.optimizer.step(&loss)?;
        self.steps += 1;
        Ok(loss)
    }

    fn columns(&self) -> Vec<String> {
        ["loss", "right"].map(str::to_string).to_vec()
    }

    fn row(&self, _: u64, losses: Option<&[f32]>, validation: Option<&Validation>) -> Vec<LogCell> {
        let mut row = vec![losses.and_then(|losses| losses.first().copied()).into()];
        row.extend(validation.map_or(vec![LogCell::default()], |validation| validation.cells.clone()));
        row
    }

    fn validate(&mut self) -> farad::Result<Option<Validation>> {
        let right = self.right()?;
        self.seen = Some(right);
        if !self.settings.course.keep_best {
            self.keep_now()?;
        }
        Ok(Some(Validation { goodness: right, later_wins: false, cells: vec![right.into()] }))
    }

    fn keep(&mut self) -> farad::Result<Option<Checkpoint>> {
        self.keep_now()?;
        Ok(None)
    }

    fn save(&self, checkpoint: &mut Checkpoint) -> farad::Result<()> {
        checkpoint.put_module("model", &self.network);
        checkpoint.put_all("optimizer", self.optimizer.state()?);
        checkpoint.put_all("best", self.kept.clone());
        checkpoint.set_value(&self.stored);
        Ok(())
    }

    fn restore(&mut self, checkpoint: &Checkpoint) -> farad::Result<()> {
        let before: StoredBoolean = checkpoint.value()?;
        let alike = |s: &StoredBoolean| (s.inputs.clone(), s.outputs.clone(), s.rows);
        if alike(&before) != alike(&self.stored) {
            let what = format!("the table has changed: {} rows, now {}", before.rows, self.stored.rows);
            return Err(Error::Mismatch { what }.into());
        }
        checkpoint.restore_module("model", &self.network)?;
        self.optimizer.restore(&checkpoint.tensors("optimizer", &self.device)?)?;
        self.kept = checkpoint.tensors("best", &Device::cpu())?;
        (self.steps, self.stored) = (checkpoint.step(), before);
        Ok(())
    }

    fn take_weights(&mut self, weights: &Checkpoint) -> farad::Result<()> {
        weights.restore_module("best", &self.network)?;
        self.kept = state(&self.network)?;
        Ok(())
    }

    fn is_done(&self) -> Option<String> {
        (self.seen == Some(1.0)).then(|| "as every row was right".into())
    }

    fn logs_means(&self) -> bool {
        true
    }

    fn words(&self, losses: &[f32]) -> String {
        let right = self.seen.map_or("–".to_string(), |share| format!("{:.3} %", 100.0 * share));
        let loss = losses.first().copied().unwrap_or(f32::NAN);
        format!("loss {loss:.4}  bits of hard gates that are right {right}")
    }

    fn noted(&self, _: bool) -> Value {
        json!({ "best": self.stored.best })
    }

    fn concluding(&self) -> String {
        "now simplifying and proving the circuit".into()
    }

    fn conclude(&mut self, run: &Run, _: &TrainingSummary, watcher: &dyn Watcher) -> farad::Result<Outcome> {
        let verdict = report::conclude(run, watcher)?;
        Ok(Outcome::new(verdict.json(), verdict.sentence())
            .next("export RUN --format verilog --out RUN/verilog", "use the circuit elsewhere")
            .next("inspect RUN", "what it is made of"))
    }
}

/// What a run has learned.
pub struct LearnedFunction {
    /// What it was trained with.
    pub settings: BooleanSettings,
    /// Updates made.
    pub steps: u64,
    /// The update after which the network was kept.
    pub kept_after: u64,
    /// The circuit of the kept network, with the names of the columns.
    pub netlist: Netlist,
}

impl LearnedFunction {
    /// Reads a run's checkpoint. Needs neither its data nor its device.
    pub fn of(run: &Run) -> Result<LearnedFunction> {
        let settings = BooleanSettings::of(run)?;
        let nothing = || TrainError::NothingLearned { path: run.path().into() };
        let checkpoint = run.checkpoint()?.ok_or_else(nothing)?;
        let stored: StoredBoolean = checkpoint.value()?;
        let network = network(&settings, stored.inputs.len(), stored.outputs.len())?;
        checkpoint.restore_module("best", &network)?;
        let mut netlist = network.to_netlist("table")?;
        netlist.inputs = stored.inputs;
        netlist.outputs.iter_mut().zip(stored.outputs).for_each(|(output, name)| output.name = name);
        Ok(LearnedFunction { settings, steps: checkpoint.step(), kept_after: stored.best_step, netlist })
    }
}

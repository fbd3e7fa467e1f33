//! A controller in training: soft gates that learn the teacher's actions.

use farad::nn::Module;
use farad::run::{Checkpoint, LogCell, Run, counted};
use farad::train::{
    AnyOptimizer, LoopSettings, OptimizerOptions, Outcome, Trainee, TrainingSummary, Validation, Watcher,
    optimizer,
};
use farad::{DType, Device, Result, Tensor};
use farad_circuit::{Gate, Netlist, Wire};
use farad_logic::{GateLayer, GateNetwork, Pass};

use super::finish;
use super::kind::outcome;
use super::observation_code::ObservationCode;
use super::settings::ControllerSettings;
use super::task::ControlTask;
use super::teacher::Lessons;

/// The initial logit of the gate "pass operand a through".
const PASSING: f32 = 3.0;
/// Offset of the updates' random numbers in the seed's stream.
const STEPS: u64 = 1 << 34;

/// The training data: bits per sample, and the teacher's action as output bits, the first one lowest.
pub(super) struct CodedLessons {
    pub code: ObservationCode,
    pub bits: Vec<Vec<bool>>,
    pub wanted: Vec<u32>,
}

impl CodedLessons {
    /// Recomputes everything from the seed.
    pub fn new(settings: &ControllerSettings) -> Result<CodedLessons> {
        Ok(CodedLessons::of(&(settings.task().lessons)(settings)?, settings.thresholds))
    }

    /// With this many thresholds per number.
    pub fn of(lessons: &Lessons, thresholds: usize) -> CodedLessons {
        let code = ObservationCode::quantiles(&lessons.seen, thresholds);
        let bits = lessons.seen.iter().map(|row| code.bits(row)).collect();
        CodedLessons { bits, code, wanted: lessons.wanted.clone() }
    }
}

/// The network before its first update.
pub(super) fn network(settings: &ControllerSettings, inputs: usize) -> GateNetwork {
    let widths = settings.layers.iter().map(|&gates| gates as usize).chain([settings.task().outputs.len()]);
    let mut from = inputs;
    let layer = |(n, to): (usize, usize)| {
        let layer = GateLayer::random(from, to, settings.seed.wrapping_mul(1000) + n as u64).passing(PASSING);
        from = to;
        layer
    };
    GateNetwork::of(widths.enumerate().map(layer).collect())
}

/// A circuit with the inputs and outputs of a task; nothing is set.
pub(super) fn blank(task: &ControlTask, code: &ObservationCode) -> Netlist {
    let mut netlist = Netlist { inputs: code.names(task.numbers), ..Netlist::new(task.name) };
    let nothing =
        Gate::ALL.iter().find(|gate| !gate.output(true, true) && !gate.reads_a() && !gate.reads_b());
    let nothing = netlist.gate(*nothing.expect("there is a gate for every table"), Wire(0), Wire(0));
    task.outputs.iter().for_each(|name| netlist.output(name.to_string(), nothing));
    code.put(&mut netlist);
    task.put(&mut netlist);
    netlist
}

/// The circuit of a network, with the names and thresholds of its inputs.
pub(super) fn circuit(task: &ControlTask, network: &GateNetwork, code: &ObservationCode) -> Result<Netlist> {
    let mut netlist = network.to_netlist(task.name)?;
    netlist.inputs = code.names(task.numbers);
    let outputs = netlist.outputs.iter_mut().zip(task.outputs);
    outputs.for_each(|(output, name)| output.name = name.to_string());
    code.put(&mut netlist);
    task.put(&mut netlist);
    Ok(netlist)
}

/// A controller in training.
pub(super) struct ControllerInTraining {
    settings: ControllerSettings,
    network: GateNetwork,
    optimizer: Box<dyn AnyOptimizer>,
    device: Device,
    code: ObservationCode,
    /// Features by samples, and the teacher's actions: output bits by samples.
    bits: Tensor,
    wanted: Tensor,
    steps: u64,
    /// The fraction of output bits of samples that hard gates got right at the last check.
    seen: Option<f64>,
}

impl ControllerInTraining {
    pub fn new(settings: ControllerSettings, device: &Device) -> Result<ControllerInTraining> {
        let CodedLessons { code, bits, wanted } = CodedLessons::new(&settings)?;
        let (inputs, count, outputs) = (code.all().count(), bits.len(), settings.task().outputs.len());
        let planes = (0..inputs).flat_map(|n| bits.iter().map(move |row| f32::from(u8::from(row[n]))));
        let bits = Tensor::from_vec(planes.collect::<Vec<f32>>(), [inputs, count], device);
        let planes = (0..outputs).flat_map(|n| wanted.iter().map(move |bits| (bits >> n & 1) as f32));
        let wanted = Tensor::from_vec(planes.collect::<Vec<f32>>(), [outputs, count], device);
        let network = network(&settings, inputs).to_device(device);
        let optimizer = optimizer("adam", vec![(network.parameters(), 0.0)], OptimizerOptions::default());
        let device = device.clone();
        Ok(ControllerInTraining {
            settings,
            network,
            optimizer,
            device,
            code,
            bits,
            wanted,
            steps: 0,
            seen: None,
        })
    }

    fn said(&self, bits: &Tensor, pass: Pass) -> Tensor {
        self.network.layers().iter().fold(bits.clone(), |x, layer| layer.features(&x, pass))
    }

    fn loss(&self) -> Tensor {
        let count = self.wanted.shape()[1];
        let draws =
            Tensor::rand_at(self.settings.seed, STEPS + self.steps, [self.settings.samples], &self.device);
        let places = (draws * count as f64).floor().minimum((count - 1) as f64).cast(DType::I32);
        let part = |rows: &Tensor| rows.index_select(1, &places);
        (self.said(&part(&self.bits), Pass::Straight) - part(&self.wanted)).square().mean()
    }
}

impl Trainee for ControllerInTraining {
    fn title(&self) -> String {
        let (bits, count) = (self.bits.shape()[0], self.wanted.shape()[1]);
        let gates: usize = self.network.layers().iter().map(GateLayer::outputs).sum();
        let (bits, gates) = (counted(bits, "bit"), counted(gates, "gate"));
        let subject = self.settings.task().subject;
        format!("{subject}: {gates} on {bits} learn from {}", counted(count, "sample"))
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

    fn validate(&mut self) -> Result<Option<Validation>> {
        let wrong = (self.said(&self.bits, Pass::Hard) - &self.wanted).abs().mean().item()?;
        let right = 1.0 - f64::from(wrong);
        self.seen = Some(right);
        Ok(Some(Validation { goodness: right, later_wins: true, cells: vec![right.into()] }))
    }

    fn save(&self, checkpoint: &mut Checkpoint) -> Result<()> {
        checkpoint.put_module("model", &self.network);
        checkpoint.put_all("optimizer", self.optimizer.state()?);
        checkpoint.set_value(&self.code);
        Ok(())
    }

    fn restore(&mut self, checkpoint: &Checkpoint) -> Result<()> {
        checkpoint.restore_module("model", &self.network)?;
        self.optimizer.restore(&checkpoint.tensors("optimizer", &self.device)?)?;
        self.steps = checkpoint.step();
        Ok(())
    }

    fn take_weights(&mut self, weights: &Checkpoint) -> Result<()> {
        weights.restore_module("model", &self.network)
    }

    fn logs_means(&self) -> bool {
        true
    }

    fn words(&self, losses: &[f32]) -> String {
        let right = self.seen.map_or("–".to_string(), |share| format!("{:.2} %", 100.0 * share));
        let loss = losses.first().copied().unwrap_or(f32::NAN);
        format!("loss {loss:.4}  samples that hard gates have right {right}")
    }

    fn concluding(&self) -> String {
        "now repairing the circuit, in closed loop too, and proving what is simplified".into()
    }

    fn conclude(&mut self, run: &Run, _: &TrainingSummary, watcher: &dyn Watcher) -> Result<Outcome> {
        let verdict = finish::conclude(run, watcher)?;
        Ok(outcome(&verdict)
            .next("watch RUN", "watch it act")
            .next("export RUN --format verilog --out RUN/verilog", "use the circuit elsewhere")
            .next("inspect RUN", "what it is made of"))
    }
}

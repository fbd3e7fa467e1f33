//! Training steps: a network with one hidden layer on a batch that stays the same.

use std::cell::RefCell;
use std::rc::Rc;

use farad::nn::Tanh;
use farad::prelude::*;

use super::case::{CaseWork, Workload, uniform};
use super::network::{BenchAdam, BenchBatch, HostActivation, HostGoal, HostNetwork};
use super::reference::NormDifference;

/// Samples of a batch of the MLP.
const BATCH: usize = 64;
/// Inputs, hidden units and classes of the MLP.
const MLP: [usize; 3] = [784, 128, 10];
/// Its optimizer.
const MLP_ADAM: BenchAdam = BenchAdam { rate: 3e-4, decay: 0.01 };
/// Steps that are compared with f64.
const MLP_STEPS: usize = 5;

/// Inputs, hidden units and outputs of exclusive or.
const XOR: [usize; 3] = [2, 8, 1];
/// Its optimizer.
const XOR_ADAM: BenchAdam = BenchAdam { rate: 0.05, decay: 0.0 };
/// Passes over the four rows that make one iteration.
const XOR_EPOCHS: usize = 200;

/// A model, its optimizer and its batch.
pub struct BenchTraining {
    model: Sequential,
    optimizer: AdamW,
    x: Tensor,
    y: Tensor,
    loss: fn(&Tensor, &Tensor) -> Tensor,
    precision: Precision,
    reference: TrainReference,
}

/// The same in f64.
struct TrainReference {
    network: HostNetwork,
    batch: BenchBatch,
    adam: BenchAdam,
}

/// Steps of 784-128-10 with AdamW and cross-entropy, 64 samples.
pub fn mlp(device: &Device) -> farad::Result<Workload> {
    let mut training = BenchTraining::mlp(device)?;
    let work = CaseWork { items: BATCH as f64, ..CaseWork::default() };
    let iterate = Box::new(move || training.step());
    let device = device.clone();
    Ok(Workload { iterate, error: Box::new(move || BenchTraining::mlp(&device)?.error(MLP_STEPS)), work })
}

/// A single step, which is compared.
pub fn first(device: &Device) -> farad::Result<Workload> {
    let training = Rc::new(RefCell::new(BenchTraining::mlp(device)?));
    let same = training.clone();
    Ok(Workload {
        iterate: Box::new(move || training.borrow_mut().step()),
        error: Box::new(move || same.borrow_mut().change_error(1)),
        work: CaseWork::default(),
    })
}

/// The same steps in mixed precision.
pub fn mlp_mixed(device: &Device) -> farad::Result<Workload> {
    let mixed = |device: &Device| -> farad::Result<BenchTraining> {
        Ok(BenchTraining { precision: Precision::Mixed, ..BenchTraining::mlp(device)? })
    };
    let mut training = mixed(device)?;
    let work = CaseWork { items: BATCH as f64, ..CaseWork::default() };
    let iterate = Box::new(move || training.step());
    let device = device.clone();
    Ok(Workload { iterate, error: Box::new(move || mixed(&device)?.error(MLP_STEPS)), work })
}

/// 200 steps of 2-8-1 on the four rows of exclusive or.
pub fn xor(device: &Device) -> farad::Result<Workload> {
    let mut training = BenchTraining::xor(device)?;
    let work = CaseWork { items: (4 * XOR_EPOCHS) as f64, ..CaseWork::default() };
    let iterate = Box::new(move || (0..XOR_EPOCHS).try_for_each(|_| training.step()));
    let device = device.clone();
    Ok(Workload { iterate, error: Box::new(move || BenchTraining::xor(&device)?.error(XOR_EPOCHS)), work })
}

impl BenchTraining {
    /// 784-128-10 on random images and classes.
    pub fn mlp(device: &Device) -> farad::Result<BenchTraining> {
        let [inputs, hidden, classes] = MLP;
        let model = Sequential::new((Linear::new(inputs, hidden), Relu, Linear::new(hidden, classes)));
        let model = model.try_to_device(device)?;
        let x = uniform(&[BATCH, inputs], device)?;
        let labels: Vec<i32> = (0..BATCH).map(|n| (n * 7 % 64 % classes) as i32).collect();
        let goal = HostGoal::Classes(labels.iter().map(|&label| label as usize).collect());
        let y = Tensor::from_vec(labels, [BATCH], device);
        let loss = |logits: &Tensor, labels: &Tensor| logits.cross_entropy(labels);
        BenchTraining::new(model, x, y, loss, (MLP, HostActivation::Relu, goal, MLP_ADAM))
    }

    /// 2-8-1 on exclusive or.
    fn xor(device: &Device) -> farad::Result<BenchTraining> {
        let [inputs, hidden, outputs] = XOR;
        let model = Sequential::new((Linear::new(inputs, hidden), Tanh, Linear::new(hidden, outputs)));
        let model = model.try_to_device(device)?;
        let x = Tensor::from_vec(vec![0.0f32, 0.0, 0.0, 1.0, 1.0, 0.0, 1.0, 1.0], [4, inputs], device);
        let y = Tensor::from_vec(vec![0.0f32, 1.0, 1.0, 0.0], [4, outputs], device);
        let goal = HostGoal::Values(vec![0.0, 1.0, 1.0, 0.0]);
        let loss = |y: &Tensor, wanted: &Tensor| y.mean_squared_error(wanted);
        BenchTraining::new(model, x, y, loss, (XOR, HostActivation::Tanh, goal, XOR_ADAM))
    }

    fn new(
        model: Sequential,
        x: Tensor,
        y: Tensor,
        loss: fn(&Tensor, &Tensor) -> Tensor,
        (sizes, activation, goal, adam): ([usize; 3], HostActivation, HostGoal, BenchAdam),
    ) -> farad::Result<BenchTraining> {
        let parameters = double(&model)?;
        let batch = BenchBatch { x: x.to_vec::<f32>()?.into_iter().map(f64::from).collect(), goal };
        let reference =
            TrainReference { network: HostNetwork::new(sizes, activation, parameters), batch, adam };
        let optimizer =
            AdamW::new(model.parameters()).learning_rate(adam.rate as f32).weight_decay(adam.decay as f32);
        Ok(BenchTraining { model, optimizer, x, y, loss, precision: Precision::Single, reference })
    }

    /// One step, not waited for.
    pub fn step(&mut self) -> farad::Result<()> {
        let loss = self.precision.scope(|| (self.loss)(&self.model.forward(&self.x), &self.y));
        self.optimizer.step(&loss)
    }

    /// Makes steps here and in f64; the relative error of how the parameters changed.
    pub fn error(&mut self, steps: usize) -> farad::Result<f64> {
        (0..steps).try_for_each(|_| self.step())?;
        self.change_error(steps)
    }

    /// The relative error of how the parameters changed in the steps made so far.
    pub fn change_error(&mut self, steps: usize) -> farad::Result<f64> {
        let TrainReference { network, batch, adam } = &mut self.reference;
        let before = network.parameters.clone();
        (0..steps).for_each(|_| {
            network.step(batch, *adam);
        });
        let mut difference = NormDifference::default();
        for ((got, wanted), before) in double(&self.model)?.iter().zip(&network.parameters).zip(&before) {
            for ((got, wanted), before) in got.iter().zip(wanted).zip(before) {
                difference.add((got - before) as f32, wanted - before);
            }
        }
        Ok(difference.relative())
    }
}

/// The parameters of a network with two layers, in f64.
fn double(model: &Sequential) -> farad::Result<[Vec<f64>; 4]> {
    let mut all: [Vec<f64>; 4] = Default::default();
    for (values, parameter) in all.iter_mut().zip(model.parameters()) {
        *values = parameter.value().to_vec::<f32>()?.into_iter().map(f64::from).collect();
    }
    Ok(all)
}

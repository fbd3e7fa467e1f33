//! Moving averages of weights.
//!
//! Invariant: averages lie as the parameters lie. After the first update the average of an optimizer's array is an
//! array of the same layout, so an update is one kernel; nothing is copied to swap the two.

use std::collections::HashMap;
use std::panic::Location;
use std::sync::Arc;

use farad_ir::{DType, NodeId, Op, Shape};

use crate::error::{NnError, Result};
use crate::layers::Parameter;
use farad_runtime::Memory;
use farad_tensor::Device;
use farad_tensor::Tensor;
use farad_tensor::engine::Recording;
use farad_tensor::engine::Request;
use farad_tensor::engine::Value;
use farad_tensor::engine::key;

/// An exponential moving average of parameters: `a ← decay · a + (1 - decay) · p` after every step. Often better
/// than the weights themselves; for evaluation they change places.
///
/// ```
/// use farad::optim::WeightAverage;
/// use farad::prelude::*;
/// let weight = Parameter::new(Tensor::zeros([2], &Device::cpu()));
/// let mut average = WeightAverage::new(vec![weight.clone()], 0.75);
/// weight.set(Tensor::full(4.0, [2], &Device::cpu()));
/// average.update()?;
/// let inside = average.swapped(|| weight.value().to_vec::<f32>());
/// assert_eq!(inside?, [1.0, 1.0]);
/// assert_eq!(weight.value().to_vec::<f32>()?, [4.0, 4.0]);
/// # Ok::<(), farad::Error>(())
/// ```
pub struct WeightAverage {
    parameters: Vec<Parameter>,
    averages: Vec<Tensor>,
    decay: f64,
    warm: bool,
    updates: u64,
    /// The weights, while the averages are in their place.
    held: Option<Vec<Tensor>>,
}

/// Parameters that lie in one piece of memory, and where.
struct Array {
    memory: Memory,
    len: usize,
    /// Parameter and offset.
    members: Vec<(usize, usize)>,
}

impl WeightAverage {
    /// Of these parameters, beginning with their values as they are now.
    #[track_caller]
    pub fn new(parameters: Vec<Parameter>, decay: f64) -> WeightAverage {
        assert!((0.0..=1.0).contains(&decay), "average: decay is no share: ({decay} vs 0 to 1)");
        let averages = parameters.iter().map(Parameter::value).collect();
        WeightAverage { parameters, averages, decay, warm: false, updates: 0, held: None }
    }

    /// Decays of the first updates are smaller, `(1 + n) / (10 + n)`, so that the start is soon forgotten.
    pub fn warmup(mut self) -> WeightAverage {
        self.warm = true;
        self
    }

    /// Takes the parameters as they are now into the average: one program, no waiting. Call it after a step.
    #[track_caller]
    pub fn update(&mut self) -> Result<()> {
        assert!(self.held.is_none(), "average: the averages are in the weights' place: swap them back first");
        let location = Location::caller();
        let Some(first) = self.parameters.first() else { return Err(NnError::NoParameters.into()) };
        let device = first.value().device().clone();
        let values: Vec<Tensor> = self.parameters.iter().map(Parameter::value).collect();
        Tensor::compute_all(&values.iter().chain(&self.averages).collect::<Vec<_>>())?;
        let arrays = self.arrays(&values)?;
        let decay = match self.warm {
            true => self.decay.min((1 + self.updates) as f64 / (10 + self.updates) as f64),
            false => self.decay,
        };
        drop(values);
        if !arrays.is_empty() {
            self.run(&device, &arrays, decay, location)?;
        }
        self.updates += 1;
        Ok(())
    }

    /// Where the parameters lie that are not their averages themselves.
    fn arrays(&self, values: &[Tensor]) -> Result<Vec<Array>> {
        let mut arrays: Vec<Array> = Vec::new();
        let mut known: HashMap<u64, usize> = HashMap::new();
        for (n, value) in values.iter().enumerate() {
            if value.dtype() != DType::F32 {
                let help = "\nhelp: parameters are f32";
                return Err(farad_ir::OpError::DType { op: "average", dtype: value.dtype(), help }.into());
            }
            let Some(Value::Memory { memory, offset, whole }) = value.node.value() else { continue };
            if matches!(self.place(n), Some((own, at, _)) if own.identity() == memory.identity() && at == offset)
            {
                continue;
            }
            let at = *known.entry(memory.identity()).or_insert_with(|| {
                arrays.push(Array { memory, len: whole, members: Vec::new() });
                arrays.len() - 1
            });
            arrays[at].members.push((n, offset));
        }
        Ok(arrays)
    }

    /// Where an average lies: memory, offset, and the length of the whole.
    fn place(&self, n: usize) -> Option<(Memory, usize, usize)> {
        match self.averages[n].node.value() {
            Some(Value::Memory { memory, offset, whole }) => Some((memory, offset, whole)),
            _ => None,
        }
    }

    fn run(
        &mut self,
        device: &Device,
        arrays: &[Array],
        decay: f64,
        location: &'static Location<'static>,
    ) -> Result<()> {
        let mut recording = Recording::default();
        let [keep, rest] = [decay, 1.0 - decay].map(|number| recording.number(number as f32));
        let (mut outputs, mut donations) = (Vec::new(), Vec::new());
        for array in arrays {
            let shape = Shape::new(&[array.len]);
            let values = recording.input(&array.memory, array.len, DType::F32);
            let old = match self.alike(array) {
                Some(memory) => {
                    let input = recording.input(&memory, array.len, DType::F32);
                    if self.is_sole(array, &memory) {
                        donations.push((outputs.len(), recording.inputs.len() - 1));
                    }
                    input
                }
                None => self.packed(&mut recording, array),
            };
            let graph = &mut recording.graph;
            let (keep, rest) = (graph.spread(keep, shape), graph.spread(rest, shape));
            let (old, values) = (graph.mul(keep, old), graph.mul(rest, values));
            let new = graph.add(old, values);
            graph.nodes[new.index()].location = Some(location);
            outputs.push(new);
        }
        let plan_key = key(&("average", &recording.graph, &outputs, &donations));
        let build = || Ok(Request { graph: recording.graph.clone(), outputs, donations });
        let plan = device.plan(plan_key, &recording.graph, build)?;
        let made = device.run(&plan, &recording.inputs, &recording.words)?;
        for (array, memory) in arrays.iter().zip(made) {
            for &(n, offset) in &array.members {
                let value = Value::Memory { memory: memory.clone(), offset, whole: array.len };
                let shape = self.averages[n].shape();
                self.averages[n] = Tensor::leaf(value, shape, DType::F32, device, location);
            }
        }
        Ok(())
    }

    /// The memory of the averages, if they lie as their parameters do.
    fn alike(&self, array: &Array) -> Option<Memory> {
        let (memory, ..) = self.place(array.members[0].0)?;
        let same = |&(n, at): &(usize, usize)| {
            let (own, offset, whole) = self.place(n)?;
            (own.identity() == memory.identity() && offset == at && whole == array.len).then_some(())
        };
        array.members.iter().all(|member| same(member).is_some()).then_some(memory)
    }

    /// Whether nobody else can read these averages: they are held by their tensors, the recording and the caller.
    fn is_sole(&self, array: &Array, memory: &Memory) -> bool {
        let alone = |&(n, _): &(usize, usize)| Arc::strong_count(&self.averages[n].node) == 1;
        array.members.iter().all(alone) && memory.handles() == array.members.len() + 2
    }

    /// Averages laid out as their parameters are.
    fn packed(&self, recording: &mut Recording, array: &Array) -> NodeId {
        let parts: Vec<NodeId> = array
            .members
            .iter()
            .map(|&(n, _)| {
                let average = &self.averages[n];
                let value = average.node.value().expect("averages were computed");
                recording.leaf(&value, average.shape(), DType::F32)
            })
            .collect();
        let offsets = array.members.iter().map(|&(_, offset)| offset).collect();
        recording.graph.push(Op::Pack(offsets, array.len), &parts)
    }

    /// Puts the averages in the weights' place, for evaluation. What becomes of the parameters until
    /// [`WeightAverage::swap_out`] is forgotten then.
    #[track_caller]
    pub fn swap_in(&mut self) {
        assert!(self.held.is_none(), "average: the averages are in the weights' place already");
        self.held = Some(self.parameters.iter().map(Parameter::value).collect());
        self.parameters.iter().zip(&self.averages).for_each(|(p, average)| p.set(average.clone()));
    }

    /// Puts the weights back.
    #[track_caller]
    pub fn swap_out(&mut self) {
        let Some(held) = self.held.take() else { panic!("average: the weights are in their place already") };
        self.parameters.iter().zip(held).for_each(|(p, weight)| p.set(weight));
    }

    /// Does something with the averages in the weights' place.
    #[track_caller]
    pub fn swapped<T>(&mut self, work: impl FnOnce() -> T) -> T {
        self.swap_in();
        let result = work();
        self.swap_out();
        result
    }

    /// The averages, one a parameter.
    pub fn values(&self) -> &[Tensor] {
        &self.averages
    }

    /// The averages and how many updates they had, as named tensors: for checkpoints.
    pub fn state(&self) -> Result<Vec<(String, Tensor)>> {
        let updates = [self.updates as u32, (self.updates >> 32) as u32];
        let mut state = vec![("updates".to_string(), Tensor::try_from_vec(&updates, [2], &Device::cpu())?)];
        for (n, average) in self.averages.iter().enumerate() {
            let bytes = average.read()?.wait()?;
            let copy = Tensor::from_bytes(&bytes, average.shape(), average.dtype(), &Device::cpu())?;
            state.push((format!("average.{n}"), copy));
        }
        Ok(state)
    }

    /// Takes over what [`WeightAverage::state`] gave, for the same parameters in the same order. Nothing changes if
    /// it does not fit.
    pub fn restore(&mut self, state: &[(String, Tensor)]) -> Result<()> {
        let named: HashMap<&str, &Tensor> = state.iter().map(|(name, t)| (name.as_str(), t)).collect();
        let find =
            |name: &str, shape, dtype| super::state::find("the average's state", &named, name, shape, dtype);
        let updates = find("updates", Shape::new(&[2]), DType::U32)?.to_vec::<u32>()?;
        let mut averages = Vec::with_capacity(self.averages.len());
        for (n, (old, parameter)) in self.averages.iter().zip(&self.parameters).enumerate() {
            let stored = find(&format!("average.{n}"), old.shape(), old.dtype())?;
            averages.push(stored.to_device(parameter.value().device())?);
        }
        if state.len() > averages.len() + 1 {
            let known =
                |name: &str| name == "updates" || (0..averages.len()).any(|n| name == format!("average.{n}"));
            let name =
                state.iter().map(|(name, _)| name).find(|name| !known(name)).cloned().unwrap_or_default();
            return Err(NnError::StateLeftOver { name, got: state.len(), wanted: averages.len() + 1 }.into());
        }
        (self.averages, self.updates) = (averages, updates[0] as u64 | (updates[1] as u64) << 32);
        Ok(())
    }
}

//! Moving averages of weights.
//!
//! Invariant: averages lie as the parameters lie. After the first update the average of an optimizer's array is an
//! array of the same layout, so an update is one kernel; nothing is copied to swap the two.

use std::collections::HashMap;
use std::panic::Location;

use farad_ir::{DType, Graph, NodeId, Op, Scalar, Shape};

use crate::error::{NnError, Result};
use crate::layers::Parameter;
use farad_tensor::engine::{ArrayPlace, DeviceArray, EngineStep, StepOutput};
use farad_tensor::{Device, Tensor};

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
    /// The arrays that averages are parts of.
    arrays: Vec<(AverageGroup, DeviceArray)>,
    decay: f64,
    warm: bool,
    updates: u64,
    /// The weights, while the averages are in their place.
    held: Option<Vec<Tensor>>,
}

/// Where parameters lie: the length of the whole, what it is of, and who is in it.
#[derive(PartialEq, Hash)]
struct AverageGroup {
    len: usize,
    /// `f32` or `f64`.
    dtype: DType,
    /// Parameter and offset.
    members: Vec<(usize, usize)>,
}

impl AverageGroup {
    /// Whether averages lie in an array as the group does.
    fn is_in(&self, array: &DeviceArray, averages: &[Tensor]) -> bool {
        self.members.iter().all(|&(n, offset)| array.holds(&averages[n], offset))
    }
}

impl WeightAverage {
    /// Of these parameters, beginning with their values as they are now.
    #[track_caller]
    pub fn new(parameters: Vec<Parameter>, decay: f64) -> WeightAverage {
        assert!((0.0..=1.0).contains(&decay), "average: decay is no share: ({decay} vs 0 to 1)");
        let averages = parameters.iter().map(Parameter::value).collect();
        WeightAverage { parameters, averages, arrays: vec![], decay, warm: false, updates: 0, held: None }
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
        let groups = self.groups(&values)?;
        let decay = match self.warm {
            true => self.decay.min((1 + self.updates) as f64 / (10 + self.updates) as f64),
            false => self.decay,
        };
        if !groups.is_empty() {
            device.recording(|| self.run(&device, groups, &values, decay, location))?;
        }
        self.updates += 1;
        Ok(())
    }

    /// Where the parameters lie that are not their averages themselves.
    fn groups(&self, values: &[Tensor]) -> Result<Vec<AverageGroup>> {
        let mut groups: Vec<AverageGroup> = Vec::new();
        let mut known: HashMap<u64, usize> = HashMap::new();
        for (n, value) in values.iter().enumerate() {
            if !matches!(value.dtype(), DType::F32 | DType::F64) {
                let help = "\nhelp: parameters are f32 or f64";
                return Err(farad_ir::OpError::DType { op: "average", dtype: value.dtype(), help }.into());
            }
            let Some(place) =
                ArrayPlace::of(value).filter(|_| ArrayPlace::of(value) != ArrayPlace::of(&self.averages[n]))
            else {
                continue;
            };
            let at = *known.entry(place.memory).or_insert_with(|| {
                groups.push(AverageGroup { len: place.len, dtype: value.dtype(), members: Vec::new() });
                groups.len() - 1
            });
            groups[at].members.push((n, place.offset));
        }
        Ok(groups)
    }

    /// One program for all groups. Averages that lie as their parameters do are overwritten, others are put into a new
    /// array that does.
    fn run(
        &mut self,
        device: &Device,
        groups: Vec<AverageGroup>,
        values: &[Tensor],
        decay: f64,
        location: &'static Location<'static>,
    ) -> Result<()> {
        let WeightAverage { averages, arrays, .. } = self;
        let mut step = EngineStep::new(device, location);
        let rest = 1.0 - decay;
        let [keep, rest, fraction] =
            [decay, rest, rest - f64::from(rest as f32)].map(|number| step.number(number as f32));
        let home = |group: &AverageGroup| {
            arrays.iter().position(|(of, array)| of == group && of.is_in(array, averages))
        };
        let homes: Vec<Option<usize>> = groups.iter().map(home).collect();
        let mut alike: Vec<Option<&mut DeviceArray>> = groups.iter().map(|_| None).collect();
        for (n, (_, array)) in arrays.iter_mut().enumerate() {
            if let Some(group) = homes.iter().position(|home| *home == Some(n)) {
                alike[group] = Some(array);
            }
        }
        let (mut weights, mut old) = (Vec::new(), Vec::new());
        for (group, array) in groups.iter().zip(alike) {
            let members = || group.members.iter().map(|&(n, _)| &averages[n]);
            weights.extend(step.whole(&values[group.members[0].0]));
            old.push(match array {
                Some(array) => Old::Array(step.overwrite(array, members().cloned().collect())),
                None => Old::Parts(members().map(|average| step.leaf(average)).collect::<Result<_>>()?),
            });
        }
        let program = AverageProgram { keep, rest, fraction, weights, old, groups: &groups };
        let new = step.run(&program, |writer| Ok(program.write(&mut writer.graph)))?;
        self.take(groups, &homes, new, location);
        Ok(())
    }

    /// Makes the averages parts of their arrays: those at home in one, and the others of new ones.
    fn take(
        &mut self,
        groups: Vec<AverageGroup>,
        homes: &[Option<usize>],
        new: Vec<DeviceArray>,
        location: &'static Location<'static>,
    ) {
        let mut new = new.into_iter();
        let mut old: Vec<Option<(AverageGroup, DeviceArray)>> =
            std::mem::take(&mut self.arrays).into_iter().map(Some).collect();
        for (group, home) in groups.into_iter().zip(homes) {
            let array = match home {
                Some(n) => old[*n].take().map(|(_, array)| array),
                None => new.next(),
            };
            let Some(array) = array else { continue };
            for &(n, offset) in &group.members {
                self.averages[n] = array.part(offset, self.averages[n].shape(), location);
            }
            self.arrays.push((group, array));
        }
        // Parameters that are averages themselves are in no group: theirs stay.
        let averages = &self.averages;
        let is_used = |(group, array): &(AverageGroup, DeviceArray)| {
            group.members.iter().any(|&(n, offset)| array.holds(&averages[n], offset))
        };
        self.arrays.extend(old.into_iter().flatten().filter(is_used));
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

    /// The averages, one per parameter.
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

    /// Restores what [`WeightAverage::state`] gave, for the same parameters in the same order. Nothing changes if
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
        self.arrays.clear();
        (self.averages, self.updates) = (averages, updates[0] as u64 | (updates[1] as u64) << 32);
        Ok(())
    }
}

/// Averages before an update.
#[derive(Hash)]
enum Old {
    /// They lie as their parameters do.
    Array(NodeId),
    /// They lie elsewhere, each by itself.
    Parts(Vec<NodeId>),
}

/// The program of an update, and all that decides it.
#[derive(Hash)]
struct AverageProgram<'a> {
    /// What is kept of the averages.
    keep: NodeId,
    /// What is taken of the weights.
    rest: NodeId,
    /// What `f32` cannot hold of that.
    fraction: NodeId,
    /// The arrays of the weights, group by group.
    weights: Vec<NodeId>,
    old: Vec<Old>,
    groups: &'a [AverageGroup],
}

impl AverageProgram<'_> {
    /// What is kept and what is taken. In `f64` they add up to one, so that the average of equal weights is those weights.
    fn shares(&self, graph: &mut Graph, dtype: DType) -> [NodeId; 2] {
        if dtype == DType::F32 {
            return [self.keep, self.rest];
        }
        let [rest, fraction] =
            [self.rest, self.fraction].map(|number| graph.push(Op::Cast(dtype), &[number]));
        let rest = graph.add(rest, fraction);
        let one = graph.fill(Scalar::of(dtype, 1.0), Shape::scalar());
        [graph.sub(one, rest), rest]
    }

    /// `keep · average + rest · weight`, group by group.
    fn write(&self, graph: &mut Graph) -> Vec<StepOutput> {
        let mut outputs = Vec::with_capacity(self.groups.len());
        for ((group, &weights), old) in self.groups.iter().zip(&self.weights).zip(&self.old) {
            let shape = Shape::new(&[group.len]);
            let (old, replaces) = match old {
                Old::Array(array) => (*array, Some(*array)),
                Old::Parts(parts) => {
                    let offsets = group.members.iter().map(|&(_, offset)| offset).collect();
                    (graph.push(Op::Pack(offsets, group.len), parts), None)
                }
            };
            let [keep, rest] = self.shares(graph, group.dtype).map(|number| graph.spread(number, shape));
            let (old, new) = (graph.mul(keep, old), graph.mul(rest, weights));
            outputs.push(StepOutput { node: graph.add(old, new), replaces });
        }
        outputs
    }
}

//! What an optimizer remembers, out and in.
//!
//! Invariant: after `restore` the next step runs the same program on the same bits as it would have
//! where the state came from. So the parameters go back into one array if they were in one.

use std::collections::{HashMap, HashSet};
use std::panic::Location;

use farad_ir::{DType, Shape};

use super::array::starting;
use super::flat::Flat;
use super::layout::{Member, ParameterLayout};
use super::rule::AnyRule;
use super::scale::{WORDS, written};
use crate::error::{Error, NnError, Result};
use crate::layers::Parameter;
use farad_tensor::engine::DeviceArray;
use farad_tensor::{Device, Tensor};

/// What errors call it.
const PLACE: &str = "the optimizer's state";
/// Steps taken, low word and high word, and whether the parameters lay in one array.
const PROGRESS: &str = "progress";
/// After how many steps each parameter came in, if not all were there from the start: low words, high words.
const BORN: &str = "born";
/// The loss scale's words, if it is in use.
const SCALE: &str = "scale";

impl Flat {
    /// Steps and moments, on the CPU: `progress`, then `moment.0.3` for moment 0 of parameter 3.
    pub(super) fn state(&self, rule: &dyn AnyRule) -> Result<Vec<(String, Tensor)>> {
        let cpu = Device::cpu();
        let packed = self.is_packed(&self.values());
        let progress = vec![self.step as u32, (self.step >> 32) as u32, packed as u32];
        let mut state = vec![(PROGRESS.to_string(), Tensor::try_from_vec(&progress, [3], &cpu)?)];
        let (dtype, size) = (self.dtype()?, self.dtype()?.size());
        for (number, bytes) in self.whole_moments()?.iter().enumerate() {
            let mut moments = Vec::with_capacity(self.layout.slots.len());
            for slot in self.layout.slots.iter().filter(|slot| rule.keeps(number, slot.class)) {
                let part = &bytes[slot.offset * size..][..slot.shape.numel() * size];
                moments.push((slot.parameter, Tensor::from_bytes(part, slot.shape, dtype, &cpu)?));
            }
            moments.sort_by_key(|(parameter, _)| *parameter);
            state.extend(moments.into_iter().map(|(n, moment)| (moment_name(number, n), moment)));
        }
        if self.members.iter().any(|member| member.born > 0) {
            let born = self.members.iter().map(|member| member.born);
            let words: Vec<u32> =
                born.clone().map(|b| b as u32).chain(born.map(|b| (b >> 32) as u32)).collect();
            state.push((BORN.to_string(), Tensor::try_from_vec(&words, [2, self.members.len()], &cpu)?));
        }
        if self.scaling.words.is_some() {
            let words = self.scaling.read()?;
            state.push((SCALE.to_string(), Tensor::try_from_vec(&words, [WORDS], &cpu)?));
        }
        Ok(state)
    }

    /// Takes a state over.
    pub(super) fn restore(
        &mut self,
        rule: &dyn AnyRule,
        state: &[(String, Tensor)],
        location: &'static Location<'static>,
    ) -> Result<()> {
        let (device, dtype) = (self.device()?, self.dtype()?);
        let size = dtype.size();
        let named: HashMap<&str, &Tensor> = state.iter().map(|(name, t)| (name.as_str(), t)).collect();
        let progress = find(PLACE, &named, PROGRESS, Shape::new(&[3]), DType::U32)?.to_vec::<u32>()?;
        let step = progress[0] as u64 | (progress[1] as u64) << 32;
        let mut taken = HashSet::from([PROGRESS.to_string()]);
        let members = self.members_of(&named, &mut taken)?;
        let values: Vec<Tensor> = self.parameters.iter().map(Parameter::value).collect();
        let shapes: Vec<Shape> = values.iter().map(Tensor::shape).collect();
        let layout = ParameterLayout::new(&shapes, &members, self.trained(), rule);
        let moments = if step == 0 { 0 } else { rule.states() };
        let mut states = Vec::with_capacity(moments);
        for number in 0..moments {
            let mut bytes = starting(rule, number, dtype).repeat(layout.state_len(rule, number));
            for slot in layout.slots.iter().filter(|slot| rule.keeps(number, slot.class)) {
                let name = moment_name(number, slot.parameter);
                let moment = find(PLACE, &named, &name, slot.shape, dtype)?;
                let moment = moment.read()?.wait()?;
                bytes[slot.offset * size..][..slot.shape.numel() * size].copy_from_slice(&moment);
                taken.insert(name);
            }
            states.push(bytes);
        }
        let scale = match named.contains_key(SCALE) {
            true => Some(find(PLACE, &named, SCALE, Shape::new(&[WORDS]), DType::F32)?.to_vec::<f32>()?),
            false => None,
        };
        taken.extend(scale.is_some().then(|| SCALE.to_string()));
        refuse_left_over(state, &taken)?;
        let scale = match scale {
            Some(words) => Some(written(&device, &words, location)?),
            None => None,
        };
        let array = match progress[2] != 0 {
            true => {
                let mut bytes = vec![0; layout.len * size];
                for slot in &layout.slots {
                    let part = values[slot.parameter].read()?.wait()?;
                    bytes[slot.offset * size..][..part.len()].copy_from_slice(&part);
                }
                Some(DeviceArray::from_bytes(&device, dtype, &bytes, "restored", location)?)
            }
            false => None,
        };
        drop(values);
        self.step = step;
        (self.states, self.array) = (self.keep(states, &device, "restored", location)?, array);
        (self.members, self.layout, self.scaling.words) = (members, layout, scale);
        self.adopt(location);
        Ok(())
    }

    /// The parameters' groups, with the steps after which they came in according to a state.
    fn members_of(&self, named: &HashMap<&str, &Tensor>, taken: &mut HashSet<String>) -> Result<Vec<Member>> {
        let count = self.members.len();
        let mut born = vec![0u32; 2 * count];
        if named.contains_key(BORN) {
            born = find(PLACE, named, BORN, Shape::new(&[2, count]), DType::U32)?.to_vec::<u32>()?;
            taken.insert(BORN.to_string());
        }
        let of = |n: usize| born[n] as u64 | (born[count + n] as u64) << 32;
        Ok(self.members.iter().enumerate().map(|(n, member)| Member { born: of(n), ..*member }).collect())
    }
}

fn moment_name(number: usize, index: usize) -> String {
    format!("moment.{number}.{index}")
}

pub(super) fn find<'a>(
    place: &str,
    state: &HashMap<&str, &'a Tensor>,
    name: &str,
    shape: Shape,
    dtype: DType,
) -> Result<&'a Tensor> {
    let no = || Error::NoTensor { op: "restore", name: name.into(), place: place.into() };
    let tensor = *state.get(name).ok_or_else(no)?;
    if tensor.shape() != shape {
        let found = tensor.shape();
        return Err(Error::TensorShape { op: "restore", name: name.into(), found, wanted: shape });
    }
    if tensor.dtype() != dtype {
        let found = tensor.dtype();
        return Err(Error::TensorType { op: "restore", name: name.into(), found, wanted: dtype });
    }
    Ok(tensor)
}

/// A state with more in it than the rule keeps belongs to another optimizer.
fn refuse_left_over(state: &[(String, Tensor)], taken: &HashSet<String>) -> Result<()> {
    match state.iter().map(|(name, _)| name).find(|name| !taken.contains(*name)) {
        Some(name) => {
            Err(NnError::StateLeftOver { name: name.clone(), got: state.len(), wanted: taken.len() }.into())
        }
        None => Ok(()),
    }
}

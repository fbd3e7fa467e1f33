//! What an optimiser remembers, out and in.
//!
//! Invariant: after `restore` the next step runs the same program on the same bits as it would have
//! where the state came from. So the parameters go back into one array if they were in one.

use std::collections::HashMap;
use std::panic::Location;

use farad_ir::{DType, Shape};

use super::Flat;
use super::scale::{WORDS, written};
use crate::backend::Memory;
use crate::device::Device;
use crate::error::{Error, Result};
use crate::nn::Parameter;
use crate::tensor::Tensor;

/// Steps taken, low word and high word, and whether the parameters lay in one array.
const PROGRESS: &str = "progress";
/// The loss scale's words, if it is in use.
const SCALE: &str = "scale";

impl Flat {
    /// Steps and moments, on the CPU: `progress`, then `moment.0.3` for moment 0 of parameter 3.
    pub fn state(&self) -> Result<Vec<(String, Tensor)>> {
        let device = self.device()?;
        let cpu = Device::cpu();
        let values: Vec<Tensor> = self.parameters.iter().map(Parameter::value).collect();
        let progress = vec![self.step as u32, (self.step >> 32) as u32, self.is_packed(&values) as u32];
        let mut state = vec![(PROGRESS.to_string(), Tensor::try_from_vec(&progress, [3], &cpu)?)];
        for (number, memory) in self.states.iter().enumerate() {
            let bytes = match self.len {
                0 => vec![],
                len => device.0.backend.read(memory, 0, len * 4).wait()?,
            };
            for (index, (value, &offset)) in values.iter().zip(&self.offsets).enumerate() {
                let part = &bytes[offset * 4..][..value.numel() * 4];
                let moment = Tensor::from_bytes(part, value.shape(), DType::F32, &cpu)?;
                state.push((moment_name(number, index), moment));
            }
        }
        if self.scaling.memory.is_some() {
            let words = self.scaling.read(&device)?;
            state.push((SCALE.to_string(), Tensor::try_from_vec(&words, [WORDS], &cpu)?));
        }
        Ok(state)
    }

    /// Takes a state over; `moments` is how many the rule keeps for every parameter.
    #[track_caller]
    pub fn restore(&mut self, moments: usize, state: &[(String, Tensor)]) -> Result<()> {
        let (device, location) = (self.device()?, Location::caller());
        let named: HashMap<&str, &Tensor> = state.iter().map(|(name, t)| (name.as_str(), t)).collect();
        let progress = find(&named, PROGRESS, Shape::new(&[3]), DType::U32)?.to_vec::<u32>()?;
        let step = progress[0] as u64 | (progress[1] as u64) << 32;
        let moments = if step == 0 { 0 } else { moments };
        let values: Vec<Tensor> = self.parameters.iter().map(Parameter::value).collect();
        let mut states = Vec::with_capacity(moments);
        for number in 0..moments {
            let parts = (values.iter().enumerate())
                .map(|(index, v)| find(&named, &moment_name(number, index), v.shape(), DType::F32))
                .collect::<Result<Vec<&Tensor>>>()?;
            states.push(self.laid_out(&device, &parts, location)?);
        }
        let scale = match named.contains_key(SCALE) {
            true => Some(find(&named, SCALE, Shape::new(&[WORDS]), DType::F32)?.to_vec::<f32>()?),
            false => None,
        };
        refuse_left_over(state, moments, values.len(), scale.is_some())?;
        let scale = match scale {
            Some(words) => Some(written(&device, [words[0], words[1], words[2]])?),
            None => None,
        };
        let array = match progress[2] != 0 {
            true => Some(self.laid_out(&device, &values.iter().collect::<Vec<_>>(), location)?),
            false => None,
        };
        drop(values);
        (self.step, self.states, self.array) = (step, states, None);
        self.scaling.memory = scale;
        if let Some(array) = array {
            self.adopt(&device, array, location);
        }
        Ok(())
    }

    /// New memory with one tensor in every slot and zeros between.
    fn laid_out(
        &self,
        device: &Device,
        parts: &[&Tensor],
        location: &'static Location<'static>,
    ) -> Result<Memory> {
        let mut bytes = vec![0; self.len * 4];
        for (part, &offset) in parts.iter().zip(&self.offsets) {
            bytes[offset * 4..][..part.numel() * 4].copy_from_slice(&part.read()?.wait()?);
        }
        let memory = device.allocate(bytes.len().max(4))?;
        device.hold(&memory, self.origin("restored", location));
        if !bytes.is_empty() {
            device.0.backend.write(&memory, &bytes)?;
        }
        Ok(memory)
    }
}

fn moment_name(number: usize, index: usize) -> String {
    format!("moment.{number}.{index}")
}

fn find<'a>(state: &HashMap<&str, &'a Tensor>, name: &str, shape: Shape, dtype: DType) -> Result<&'a Tensor> {
    let place = || "the optimiser's state".to_string();
    let no = || Error::NoTensor { op: "restore", name: name.into(), place: place() };
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

/// A state with more in it than the rule keeps belongs to another optimiser.
fn refuse_left_over(
    state: &[(String, Tensor)],
    moments: usize,
    parameters: usize,
    scaled: bool,
) -> Result<()> {
    let wanted = 1 + moments * parameters + scaled as usize;
    if state.len() <= wanted {
        return Ok(());
    }
    let moment = |name: &str| (0..moments).any(|m| (0..parameters).any(|p| name == moment_name(m, p)));
    let known = |name: &str| name == PROGRESS || name == SCALE || moment(name);
    let foreign = state.iter().map(|(name, _)| name).find(|name| !known(name));
    let name = foreign.unwrap_or(&state[wanted].0).clone();
    Err(Error::StateLeftOver { name, got: state.len(), wanted })
}

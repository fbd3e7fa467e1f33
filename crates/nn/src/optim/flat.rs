//! A step of an optimizer from end to end: all parameters in one array, so that their update is one kernel.
//!
//! The array has a slot for every parameter, aligned so that a slot can be read in vectors; moments
//! have arrays of the same layout. A step's program reads parameters as parts of the array, writes
//! gradients into a third one, and updates in place. If somebody still holds an old weight, the
//! array is copied first and the old one stays as it is.

use std::panic::Location;

use farad_ir::{DType, NodeId, Shape};

use super::distributed::Distributed;
use super::layout::{Member, ParameterLayout};
use super::program::{Seeds, StepParts, StepProgram};
use super::rule::AnyRule;
use super::scale::Scaling;
use super::{Clip, GradientNoise};
use crate::error::{NnError, Result};
use crate::layers::Parameter;
use farad_tensor::engine::{DeviceArray, EngineStep, RecordDepth};
use farad_tensor::{Device, Tensor};

/// Parameters in one array, with their moments.
#[derive(Default)]
pub(super) struct Flat {
    pub parameters: Vec<Parameter>,
    pub members: Vec<Member>,
    pub layout: ParameterLayout,
    pub array: Option<DeviceArray>,
    pub states: Vec<DeviceArray>,
    pub step: u64,
    /// What happens to gradients before the update.
    pub clip: Clip,
    pub noise: Option<GradientNoise>,
    pub scaling: Scaling,
    /// The ranks that gradients are reduced with.
    pub distributed: Option<Distributed>,
}

/// What a step starts from.
pub(super) enum StepSource<'a> {
    Loss(&'a Tensor),
    Gradients(&'a [Tensor]),
    /// Gradients of all ranks, in the layout of the parameters; those of the scaled loss, or as they are.
    Reduced {
        gradients: &'a DeviceArray,
        scaled: bool,
    },
}

impl Flat {
    /// Adds parameters to a group, each once; nothing is moved until the next step.
    pub fn add(&mut self, parameters: Vec<Parameter>, group: usize) {
        for parameter in parameters {
            if !self.parameters.iter().any(|p| p.is(&parameter)) {
                self.parameters.push(parameter);
                self.members.push(Member { group, born: self.step });
            }
        }
    }

    /// The loss scale as a tensor of no axes.
    #[track_caller]
    pub fn scale(&mut self) -> Result<Tensor> {
        let device = self.device()?;
        let location = Location::caller();
        Ok(self.scaling.words(&device, location)?.part(0, Shape::scalar(), location))
    }

    /// A step; `rules` are those of the groups.
    pub fn run(
        &mut self,
        rules: &[&dyn AnyRule],
        source: StepSource,
        location: &'static Location<'static>,
    ) -> Result<()> {
        let device = self.device()?;
        device.recording(|| {
            self.check(&source)?;
            self.arrange(rules[0], &device, location)?;
            let values = self.values();
            Tensor::compute_all(&values.iter().collect::<Vec<_>>())?;
            match self.distributed.is_some() {
                true => self.update_together(rules, &source, values, &device, location)?,
                false => self.update(rules, &source, values, &device, location)?,
            }
            self.adopt(location);
            self.step += 1;
            Ok(())
        })
    }

    /// Records, runs the step's program and keeps what it writes.
    pub(super) fn update(
        &mut self,
        rules: &[&dyn AnyRule],
        source: &StepSource,
        values: Vec<Tensor>,
        device: &Device,
        location: &'static Location<'static>,
    ) -> Result<()> {
        let mut step = self.record(device, source, location)?;
        let (seeds, ids) = self.nodes(&mut step, &values, source)?;
        self.make_states(rules[0], device, location)?;
        let (packed, numbers) = (self.is_packed(&values), self.numbers(&self.layout, rules));
        let Flat { array, states, layout, clip, scaling, .. } = self;
        let array = array.as_mut().filter(|_| packed).map(|array| step.overwrite(array, values));
        let states = states.iter_mut().map(|state| step.overwrite(state, vec![])).collect();
        let numbers = numbers.into_iter().map(|number| step.number(number)).collect();
        let limits = clip.numbers().into_iter().map(|number| step.number(number)).collect();
        let noise = self.noise.map(|noise| noise.record(&mut step, self.step));
        let has_f16 = step.spend(&ids);
        let (scale, skipped) = match layout.len {
            0 => (None, None),
            _ => scaling.record(&mut step, has_f16, *clip != Clip::None, location)?,
        };
        let parts =
            StepParts { seeds, ids, array, states, numbers, limits, noise, scale, skipped, norm: None };
        let program = StepProgram { parts, layout, clip: *clip, rule: rules[0] };
        let mut new = step.run(&program, |writer| program.write(writer))?.into_iter();
        for (home, is_new) in [
            (&mut self.array, !packed),
            (&mut self.scaling.words, scale.is_some()),
            (&mut self.scaling.skipped, skipped.is_some()),
        ] {
            if is_new {
                *home = new.next();
            }
        }
        Ok(())
    }

    /// The numbers of the rules for this step, segment by segment.
    pub(super) fn numbers(&self, layout: &ParameterLayout, rules: &[&dyn AnyRule]) -> Vec<f32> {
        let segments = layout.segments.iter();
        segments.flat_map(|s| rules[s.member.group].numbers(self.step + 1 - s.member.born, s.class)).collect()
    }

    pub fn device(&self) -> Result<Device> {
        self.parameters.first().map(|p| p.value().device().clone()).ok_or(NnError::NoParameters.into())
    }

    /// What all parameters are: `f32` or `f64`.
    pub fn dtype(&self) -> Result<DType> {
        let dtype = self.parameters.first().map_or(DType::F32, |p| p.value().dtype());
        match dtype {
            DType::F32 | DType::F64 => Ok(dtype),
            _ => {
                let help = "\nhelp: parameters are f32, or f64 on the CPU";
                Err(farad_ir::OpError::DType { op: "step", dtype, help }.into())
            }
        }
    }

    /// The current tensors of the parameters that have a slot, in the order of slots.
    pub fn values(&self) -> Vec<Tensor> {
        self.layout.slots.iter().map(|slot| self.parameters[slot.parameter].value()).collect()
    }

    /// What a wrong program would trip over: panics at no line of the user's, so it is an error.
    fn check(&self, source: &StepSource) -> Result<()> {
        let values = || self.parameters.iter().map(Parameter::value);
        let dtype = self.dtype()?;
        if let Some(value) = values().find(|value| value.dtype() != dtype) {
            return Err(farad_ir::OpError::DTypes { op: "step", lhs: dtype, rhs: value.dtype() }.into());
        }
        let StepSource::Gradients(gradients) = source else { return Ok(()) };
        if gradients.len() != self.parameters.len() {
            return Err(NnError::Gradients { got: gradients.len(), wanted: self.parameters.len() }.into());
        }
        let mut pairs = gradients.iter().map(Tensor::shape).zip(values().map(|value| value.shape()));
        match pairs.find(|(rhs, lhs)| rhs != lhs) {
            Some((rhs, lhs)) => {
                let (a, b) = (lhs.numel(), rhs.numel());
                Err(farad_ir::OpError::Shapes { op: "apply", lhs, rhs, a, b }.into())
            }
            None => Ok(()),
        }
    }

    pub(super) fn record<'a>(
        &self,
        device: &Device,
        source: &StepSource,
        location: &'static Location<'static>,
    ) -> Result<EngineStep<'a>> {
        match source {
            StepSource::Loss(loss) => EngineStep::of(device, &[*loss], RecordDepth::Whole, location),
            StepSource::Gradients(gradients) => {
                let slots = self.layout.slots.iter();
                let roots: Vec<&Tensor> = slots.map(|slot| &gradients[slot.parameter]).collect();
                EngineStep::of(device, &roots, RecordDepth::ToValues, location)
            }
            StepSource::Reduced { .. } => Ok(EngineStep::new(device, location)),
        }
    }

    /// The nodes of the loss, or of the gradients in the order of slots; and those of the parameters, which may be some
    /// that the gradients do not need.
    pub(super) fn nodes(
        &self,
        step: &mut EngineStep,
        values: &[Tensor],
        source: &StepSource,
    ) -> Result<(Seeds, Vec<NodeId>)> {
        let slots = &self.layout.slots;
        match source {
            StepSource::Loss(loss) => {
                let seed = step.id(loss).expect("recorded");
                let targets = slots.iter().map(|slot| slot.parameter).zip(values);
                Ok((Seeds::Loss(seed), step.targets(seed, targets)?))
            }
            StepSource::Gradients(gradients) => {
                let seeds = slots.iter().map(|slot| step.id(&gradients[slot.parameter]).expect("recorded"));
                let seeds = Seeds::Gradients(seeds.collect());
                let of = |value: &Tensor| step.id(value).map_or_else(|| step.leaf(value), Ok);
                Ok((seeds, values.iter().map(of).collect::<Result<_>>()?))
            }
            StepSource::Reduced { gradients, scaled } => {
                let array = step.input(gradients);
                let ids = values.iter().map(|value| step.leaf(value)).collect::<Result<_>>()?;
                Ok((Seeds::Packed { array, scaled: *scaled }, ids))
            }
        }
    }
}

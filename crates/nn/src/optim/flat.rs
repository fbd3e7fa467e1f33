//! A step of an optimizer from end to end: all parameters in one array, so that their update is one kernel.
//!
//! The array has a slot for every parameter, aligned so that a slot can be read in vectors; moments
//! have arrays of the same layout. A step's program reads parameters as parts of the array, writes
//! gradients into a third one, and updates in place. If somebody still holds an old weight, the
//! array is copied first and the old one stays as it is.

use std::panic::Location;
use std::sync::Arc;

use farad_ir::{DType, NodeId, Shape};
use farad_runtime::profile::Phase;

use super::layout::{Layout, Member};
use super::program::{Parts, Structure, input_number, users};
use super::scale::{Scale, Scaling, WORDS};
use super::{Clip, GradientNoise, Rule};
use crate::error::{NnError, Result};
use crate::layers::Parameter;
use farad_runtime::Memory;
use farad_tensor::Device;
use farad_tensor::Tensor;
use farad_tensor::engine::Node;
use farad_tensor::engine::Recording;
use farad_tensor::engine::has_halves;
use farad_tensor::engine::key;
use farad_tensor::engine::refuse_spent;

/// Parameters in one array, with their moments.
#[derive(Default)]
pub(super) struct Flat {
    pub parameters: Vec<Parameter>,
    pub members: Vec<Member>,
    pub layout: Layout,
    pub array: Option<Memory>,
    pub states: Vec<Memory>,
    pub step: u64,
    /// What happens to gradients before the update.
    pub clip: Clip,
    pub noise: Option<GradientNoise>,
    pub scaling: Scaling,
}

/// What a step starts from.
pub(super) enum Source<'a> {
    Loss(&'a Tensor),
    Gradients(&'a [Tensor]),
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
        let memory = self.scaling.memory(&device)?.clone();
        let value = farad_tensor::engine::Value::Memory { memory, offset: 0, whole: WORDS };
        Ok(Tensor::leaf(value, Shape::scalar(), DType::F32, &device, Location::caller()))
    }

    /// A step; `rules` are those of the groups.
    pub fn run(
        &mut self,
        rules: &[&dyn Rule],
        source: Source,
        location: &'static Location<'static>,
    ) -> Result<()> {
        let device = self.device()?;
        let _phase = device.profiler().enter(Phase::Recording);
        self.check(&source)?;
        self.arrange(rules[0], &device, location)?;
        let values = self.values();
        Tensor::compute_all(&values.iter().collect::<Vec<_>>())?;
        let mut recording = self.record(&source)?;
        let kept = device.0.unfinished.beside(&recording);
        recording.extend(&kept, false)?;
        recording.refuse_placeholders()?;
        let seeds = self.seeds(&recording, &source);
        let ids = self.parameter_nodes(&mut recording, &values, &source)?;
        if let Source::Loss(_) = source {
            refuse_spent(&recording, seeds[0], &ids)?;
        }
        let packed = self.is_packed(&values);
        let array = self.array.as_ref().filter(|_| packed);
        let array = array.map(|memory| recording.input(memory, self.layout.len, DType::F32));
        self.make_states(rules[0], &device, location)?;
        let states: Vec<NodeId> = (self.states.iter().enumerate())
            .map(|(n, memory)| recording.input(memory, self.layout.state_len(rules[0], n), DType::F32))
            .collect();
        let numbers = self.numbers(&mut recording, rules);
        let limits: Vec<NodeId> = self.clip.numbers().into_iter().map(|n| recording.number(n)).collect();
        let noise = self.noise.map(|noise| noise.record(&mut recording, &device, self.step));
        let depends = users(&recording.graph, &ids);
        let halves = has_halves(&recording.graph, &depends);
        let scale = self.scale_nodes(&mut recording, halves, &device)?;
        let skipped = match self.clip {
            Clip::None => None,
            _ if scale.is_some() || self.layout.len == 0 => None,
            _ => Some(recording.input(self.scaling.skipped(&device)?, 1, DType::F32)),
        };
        let live = recording.live();
        let live_ids: Vec<NodeId> = live.iter().map(|(_, id)| *id).collect();
        let parts = Parts {
            from_loss: matches!(source, Source::Loss(_)),
            seeds: &seeds,
            ids: &ids,
            array,
            states: &states,
            numbers: &numbers,
            limits: &limits,
            noise,
            scale,
            skipped,
            live: &live_ids,
        };
        let (kind, clip) = (&rules[0].kind()[..], &self.clip.kind()[..]);
        let (known, layout) = (&std::mem::take(&mut recording.known)[..], &self.layout);
        let plan_key =
            device.key(&mut recording, |graph| key(&Structure { graph, parts, known, layout, kind, clip }));
        let build = || self.build(rules[0], (recording.graph.clone(), known), parts, location);
        if device.finds_not_finite() {
            device.find_not_finite(&build()?, &recording.inputs, &recording.words)?;
        }
        let plan = device.plan(plan_key, &recording.graph, build)?;
        let (mut inputs, words) =
            (std::mem::take(&mut recording.inputs), std::mem::take(&mut recording.words));
        let at = array.map(|id| input_number(&recording.graph, id));
        // From here on the recorded graph is gone: what it computed from the parameters are leaves,
        // and whatever still refers to the old parameters is somebody else's.
        // What buffers keep is a value and nothing else, whatever it was computed from.
        kept.iter().for_each(|node| node.cut(false));
        live.iter().filter(|(_, id)| depends[id.index()]).for_each(|(node, _)| node.cut(true));
        drop(recording);
        drop(values);
        if let Some(at) = at {
            self.protect(&device, &mut inputs, at, location)?;
        }
        let outputs = device.run(&plan, &inputs, &words)?;
        self.take(
            &device,
            live.iter().map(|(node, _)| node),
            outputs,
            [scale.is_some(), skipped.is_some()],
            location,
        );
        Ok(())
    }

    /// The numbers of the rules for this step, segment by segment.
    fn numbers(&self, recording: &mut Recording, rules: &[&dyn Rule]) -> Vec<NodeId> {
        let segments = self.layout.segments.iter();
        segments
            .flat_map(|s| rules[s.member.group].numbers(self.step + 1 - s.member.born, s.class))
            .map(|number| recording.number(number))
            .collect()
    }

    /// The loss scale, if there are halves or were some before.
    fn scale_nodes(
        &mut self,
        recording: &mut Recording,
        halves: bool,
        device: &Device,
    ) -> Result<Option<Scale>> {
        if self.layout.len == 0 || !(halves || self.scaling.memory.is_some()) {
            return Ok(None);
        }
        let words = recording.input(self.scaling.memory(device)?, WORDS, DType::F32);
        Ok(Some(Scale { words, growth: recording.number(self.scaling.settings.growth as f32) }))
    }

    pub fn device(&self) -> Result<Device> {
        self.parameters.first().map(|p| p.value().device().clone()).ok_or(NnError::NoParameters.into())
    }

    /// The current tensors of the parameters that have a slot, in the order of slots.
    pub fn values(&self) -> Vec<Tensor> {
        self.layout.slots.iter().map(|slot| self.parameters[slot.parameter].value()).collect()
    }

    /// What a wrong program would trip over: panics at no line of the user's, so it is an error.
    fn check(&self, source: &Source) -> Result<()> {
        let values = || self.parameters.iter().map(Parameter::value);
        if let Some(value) = values().find(|value| value.dtype() != DType::F32) {
            let help = "\nhelp: parameters are f32";
            return Err(farad_ir::OpError::DType { op: "step", dtype: value.dtype(), help }.into());
        }
        let Source::Gradients(gradients) = source else { return Ok(()) };
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

    fn record(&self, source: &Source) -> Result<Recording> {
        match source {
            Source::Loss(loss) => Recording::of(std::slice::from_ref(&loss.node), true),
            Source::Gradients(gradients) => {
                let slots = self.layout.slots.iter();
                let nodes: Vec<Arc<Node>> =
                    slots.map(|slot| gradients[slot.parameter].node.clone()).collect();
                Recording::of(&nodes, false)
            }
        }
    }

    /// The nodes of the loss, or of the gradients in the order of slots.
    fn seeds(&self, recording: &Recording, source: &Source) -> Vec<NodeId> {
        let id = |t: &Tensor| recording.ids[&Arc::as_ptr(&t.node)];
        match source {
            Source::Loss(loss) => vec![id(loss)],
            Source::Gradients(gradients) => {
                self.layout.slots.iter().map(|slot| id(&gradients[slot.parameter])).collect()
            }
        }
    }

    /// The parameters' nodes; from gradients they may be some that those do not need.
    fn parameter_nodes(
        &self,
        recording: &mut Recording,
        values: &[Tensor],
        source: &Source,
    ) -> Result<Vec<NodeId>> {
        let mut ids = Vec::with_capacity(values.len());
        for (value, slot) in values.iter().zip(&self.layout.slots) {
            let id = match (recording.ids.get(&Arc::as_ptr(&value.node)).copied(), source) {
                (Some(id), _) => id,
                (None, Source::Loss(_)) => {
                    let (index, shape) = (slot.parameter, value.shape());
                    return Err(farad_ir::OpError::NoPath { index, shape }.into());
                }
                (None, Source::Gradients(_)) => {
                    let known = value.node.value().expect("parameters were computed");
                    recording.leaf(&known, value.shape(), value.dtype())
                }
            };
            ids.push(id);
        }
        Ok(ids)
    }
}

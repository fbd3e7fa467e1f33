//! All parameters of an optimiser in one array, so that their update is one kernel.
//!
//! The array has a slot for every parameter, aligned so that a slot can be read in vectors; moments
//! have arrays of the same layout. A step's program reads parameters as parts of the array, writes
//! gradients into a third one, and updates in place. If somebody still holds an old weight, the
//! array is copied first and the old one stays as it is.

use std::hash::Hash;
use std::panic::Location;
use std::sync::Arc;

use farad_compile::profile::Phase;
use farad_ir::{DType, Graph, NodeId, Op, Shape};

use super::Clip;
use super::scale::{Scale, Scaling, WORDS, all_finite};
use crate::backend::Memory;
use crate::device::Device;
use crate::error::{Error, Result};
use crate::gradient::refuse_spent;
use crate::hashing::key;
use crate::live::{Maker, Origin};
use crate::nn::Parameter;
use crate::node::{Node, Value};
use crate::plan::Request;
use crate::precision::has_halves;
use crate::recording::Recording;
use crate::tensor::Tensor;

/// Slots start at multiples of this many elements: 256 bytes.
const SLOT: usize = 64;

/// How an optimiser turns parameters and gradients into new parameters.
pub trait Rule {
    /// Everything about the rule that changes its program; numbers that may change do not.
    fn kind(&self) -> String;
    /// The learning rate from the next step on.
    fn set_rate(&mut self, rate: f32);
    /// How many moments it keeps for every parameter.
    fn states(&self) -> usize;
    /// The numbers of step `step` (counted from 1), given with every run.
    fn numbers(&self, step: u64) -> Vec<f32>;
    /// New parameters and moments, all of one axis, from the old ones, the gradients and the
    /// numbers (already repeated to that axis).
    fn update(
        &self,
        graph: &mut Graph,
        p: NodeId,
        g: NodeId,
        states: &[NodeId],
        numbers: &[NodeId],
    ) -> (NodeId, Vec<NodeId>);
}

/// Parameters in one array, with their moments.
pub struct Flat {
    pub(super) parameters: Vec<Parameter>,
    pub(super) offsets: Vec<usize>,
    pub(super) len: usize,
    pub(super) array: Option<Memory>,
    pub(super) states: Vec<Memory>,
    pub(super) step: u64,
    /// What happens to gradients before the update.
    pub clip: Clip,
    pub(super) scaling: Scaling,
}

enum Source<'a> {
    Loss(&'a Tensor),
    Gradients(&'a [Tensor]),
}

impl Flat {
    /// Lays parameters out; nothing is moved until the first step.
    pub fn new(parameters: Vec<Parameter>) -> Flat {
        let mut unique: Vec<Parameter> = Vec::new();
        for parameter in parameters {
            if !unique.iter().any(|p| p.is(&parameter)) {
                unique.push(parameter);
            }
        }
        let (mut offsets, mut len) = (Vec::new(), 0usize);
        for parameter in &unique {
            offsets.push(len);
            len += parameter.value().numel().next_multiple_of(SLOT);
        }
        let (clip, scaling) = (Clip::None, Scaling::default());
        Flat { parameters: unique, offsets, len, array: None, states: Vec::new(), step: 0, clip, scaling }
    }

    /// The parameters, each once.
    pub fn parameters(&self) -> &[Parameter] {
        &self.parameters
    }

    /// Steps taken so far.
    pub fn steps(&self) -> u64 {
        self.step
    }

    /// The loss scale as a tensor of no axes.
    #[track_caller]
    pub(super) fn scale(&mut self) -> Result<Tensor> {
        let device = self.device()?;
        let memory = self.scaling.memory(&device)?.clone();
        let value = Value::Memory { memory, offset: 0, whole: WORDS };
        Ok(Tensor::leaf(value, Shape::scalar(), DType::F32, &device, Location::caller()))
    }

    /// A step from a loss.
    #[track_caller]
    pub fn step(&mut self, rule: &dyn Rule, loss: &Tensor) -> Result<()> {
        self.run(rule, Source::Loss(loss), Location::caller())
    }

    /// A step from gradients.
    #[track_caller]
    pub fn apply(&mut self, rule: &dyn Rule, gradients: &[Tensor]) -> Result<()> {
        self.run(rule, Source::Gradients(gradients), Location::caller())
    }

    fn run(&mut self, rule: &dyn Rule, source: Source, location: &'static Location<'static>) -> Result<()> {
        let device = self.device()?;
        let _phase = device.profiler().enter(Phase::Recording);
        let values: Vec<Tensor> = self.parameters.iter().map(Parameter::value).collect();
        Tensor::compute_all(&values.iter().collect::<Vec<_>>())?;
        self.check(&values, &source)?;
        let mut recording = self.record(&source)?;
        let kept = device.0.unfinished.beside(&recording);
        recording.extend(&kept, false)?;
        recording.refuse_placeholders()?;
        let seeds = roots(&recording, &source);
        let ids = values
            .iter()
            .enumerate()
            .map(|(index, v)| self.parameter_node(&mut recording, v, index, &source))
            .collect::<Result<Vec<NodeId>>>()?;
        if let Source::Loss(_) = source {
            refuse_spent(&recording, seeds[0], &ids)?;
        }
        let packed = self.is_packed(&values);
        let array = self
            .array
            .as_ref()
            .filter(|_| packed)
            .map(|memory| recording.input(memory, self.len, DType::F32));
        if self.states.is_empty() {
            // All of them or none: a step after one that found too little memory starts afresh.
            let fresh = || device.with_room(|| device.0.backend.allocate_zeroed(self.len * 4));
            let states: Vec<_> = (0..rule.states()).map(|_| fresh()).collect::<Result<_>>()?;
            states.iter().for_each(|memory| device.hold(memory, self.origin("optimiser state", location)));
            self.states = states;
        }
        let states: Vec<NodeId> =
            self.states.iter().map(|memory| recording.input(memory, self.len, DType::F32)).collect();
        let numbers: Vec<NodeId> = rule
            .numbers(self.step + 1)
            .into_iter()
            .chain(self.clip.numbers())
            .map(|number| recording.number(number))
            .collect();
        let depends = users(&recording.graph, &ids);
        let scale = match has_halves(&recording.graph, &depends) || self.scaling.memory.is_some() {
            true if self.len > 0 => {
                let words = recording.input(self.scaling.memory(&device)?, WORDS, DType::F32);
                Some(Scale { words, growth: recording.number(self.scaling.settings.growth as f32) })
            }
            _ => None,
        };
        let live = recording.live();
        let live_ids: Vec<NodeId> = live.iter().map(|(_, id)| *id).collect();
        let from_loss = matches!(source, Source::Loss(_));
        let (states, numbers, live_ids) = (&states, &numbers, &live_ids);
        let parts = Parts { seeds: &seeds, ids: &ids, array, states, numbers, scale, live: live_ids };
        let lookup = device.profiler().enter(Phase::Lookup);
        let plan_key = key(&Structure {
            graph: &recording.graph,
            parts,
            known: &recording.known,
            kind: rule.kind(),
            clip: self.clip.kind(),
            from_loss,
        });
        drop(lookup);
        let build =
            || self.build(rule, (recording.graph.clone(), &recording.known), parts, from_loss, location);
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
        self.take(&device, live.iter().map(|(node, _)| node), outputs, scale.is_some(), location);
        Ok(())
    }

    pub(super) fn device(&self) -> Result<Device> {
        self.parameters.first().map(|p| p.value().device().clone()).ok_or(Error::NoParameters)
    }

    /// What a wrong program would trip over: panics at no line of the user's, so it is an error.
    fn check(&self, values: &[Tensor], source: &Source) -> Result<()> {
        for value in values {
            if value.dtype() != DType::F32 {
                return Err(farad_ir::OpError::DType {
                    op: "step",
                    dtype: value.dtype(),
                    help: "\nhelp: parameters are f32",
                }
                .into());
            }
        }
        if let Source::Gradients(gradients) = source {
            if gradients.len() != values.len() {
                return Err(Error::Gradients { got: gradients.len(), wanted: values.len() });
            }
            for (g, value) in gradients.iter().zip(values) {
                if g.shape() != value.shape() {
                    let (lhs, rhs) = (value.shape(), g.shape());
                    return Err(farad_ir::OpError::Shapes {
                        op: "apply",
                        lhs,
                        rhs,
                        a: lhs.numel(),
                        b: rhs.numel(),
                    }
                    .into());
                }
            }
        }
        Ok(())
    }

    fn record(&self, source: &Source) -> Result<Recording> {
        match source {
            Source::Loss(loss) => Recording::of(std::slice::from_ref(&loss.node), true),
            Source::Gradients(gradients) => {
                let nodes: Vec<Arc<Node>> = gradients.iter().map(|g| g.node.clone()).collect();
                Recording::of(&nodes, false)
            }
        }
    }

    /// A parameter's node; from gradients it may be one that they do not need.
    fn parameter_node(
        &self,
        recording: &mut Recording,
        value: &Tensor,
        index: usize,
        source: &Source,
    ) -> Result<NodeId> {
        match (recording.ids.get(&Arc::as_ptr(&value.node)).copied(), source) {
            (Some(id), _) => Ok(id),
            (None, Source::Loss(_)) => Err(farad_ir::OpError::NoPath { index, shape: value.shape() }.into()),
            (None, Source::Gradients(_)) => {
                let known = value.node.value().expect("parameters were computed");
                Ok(recording.leaf(&known, value.shape(), value.dtype()))
            }
        }
    }

    /// Whether all parameters lie in the array, each in its slot.
    pub(super) fn is_packed(&self, values: &[Tensor]) -> bool {
        let Some(array) = &self.array else { return false };
        values.iter().zip(&self.offsets).all(|(value, slot)| match value.node.value() {
            Some(Value::Memory { memory, offset, whole }) => {
                memory.identity() == array.identity() && offset == *slot && whole == self.len
            }
            _ => false,
        })
    }

    fn build(
        &self,
        rule: &dyn Rule,
        (mut graph, known): (Graph, &[(NodeId, NodeId)]),
        parts: Parts,
        from_loss: bool,
        location: &'static Location<'static>,
    ) -> Result<Request> {
        let scale = parts.scale;
        let gradients = match from_loss {
            true => {
                let loss = scale.map_or(parts.seeds[0], |s| s.multiply(&mut graph, parts.seeds[0]));
                farad_ir::gradient(&mut graph, loss, parts.ids)?
            }
            false => parts.seeds.to_vec(),
        };
        Recording::substitute(&mut graph, known);
        let gradients: Vec<NodeId> = gradients.into_iter().map(|g| graph.cast(g, DType::F32)).collect();
        let g = graph.push(Op::Pack(self.offsets.clone(), self.len), &gradients);
        let fine = scale.map(|_| all_finite(&mut graph, g));
        let g = match scale.filter(|_| from_loss) {
            Some(scale) => scale.divide(&mut graph, g),
            None => g,
        };
        let shape = Shape::new(&[self.len]);
        let count = rule.numbers(1).len();
        let g = self.clip.apply(&mut graph, g, &parts.numbers[count..]);
        let p = match parts.array {
            Some(array) => array,
            None => graph.push(Op::Pack(self.offsets.clone(), self.len), parts.ids),
        };
        let numbers: Vec<NodeId> = parts.numbers[..count].iter().map(|&n| graph.spread(n, shape)).collect();
        let (mut new, mut states) = rule.update(&mut graph, p, g, parts.states, &numbers);
        if let Some(fine) = fine {
            let fine = graph.spread(fine, shape);
            new = graph.select(fine, new, p);
            for (state, &old) in states.iter_mut().zip(parts.states) {
                *state = graph.select(fine, *state, old);
            }
        }
        let mut outputs = parts.live.to_vec();
        let mut donations = Vec::new();
        for (output, from) in std::iter::once((new, parts.array))
            .chain(states.into_iter().zip(parts.states.iter().map(|s| Some(*s))))
        {
            if let Some(from) = from {
                donations.push((outputs.len(), input_number(&graph, from)));
            }
            // What has no line of its own is made by the step's.
            graph.nodes[output.index()].location.get_or_insert(location);
            outputs.push(output);
        }
        if let (Some(scale), Some(fine)) = (scale, fine) {
            outputs.push(scale.next(&mut graph, fine));
        }
        Ok(Request { graph, outputs, donations })
    }

    /// Copies the array if anybody but the parameters themselves could still read it.
    fn protect(
        &self,
        device: &Device,
        inputs: &mut [Memory],
        at: usize,
        location: &'static Location<'static>,
    ) -> Result<()> {
        let sole = self.parameters.iter().all(|p| p.holders() == 1);
        // Held by every parameter's value, by this optimiser and by the list of inputs.
        if sole && inputs[at].handles() == self.parameters.len() + 2 {
            return Ok(());
        }
        let copy = device.allocate(self.len * 4)?;
        device.hold(&copy, self.origin("parameters", location));
        device.0.backend.copy(&inputs[at], &copy, self.len * 4)?;
        inputs[at] = copy;
        Ok(())
    }

    /// Who made an array of this optimiser.
    pub(super) fn origin(&self, what: &'static str, location: &'static Location<'static>) -> Origin {
        Maker::named(what, Shape::new(&[self.len]), DType::F32, Some(location))
    }

    /// Gives every result its new home.
    fn take<'a>(
        &mut self,
        device: &Device,
        live: impl Iterator<Item = &'a Arc<Node>>,
        mut outputs: Vec<Memory>,
        scaled: bool,
        location: &'static Location<'static>,
    ) {
        if scaled {
            self.scaling.memory = outputs.pop();
        }
        let mut outputs = outputs.into_iter();
        for node in live {
            let memory = outputs.next().expect("one output a live tensor");
            node.set_value(Value::Memory { memory, offset: 0, whole: node.shape.numel() });
            node.prune();
        }
        let array = outputs.next().expect("the parameters' array");
        self.adopt(device, array, location);
        self.states = outputs.collect();
        self.step += 1;
    }

    /// Makes the parameters parts of the array.
    pub(super) fn adopt(&mut self, device: &Device, array: Memory, location: &'static Location<'static>) {
        for (parameter, &offset) in self.parameters.iter().zip(&self.offsets) {
            let shape = parameter.value().shape();
            let value = Value::Memory { memory: array.clone(), offset, whole: self.len };
            parameter.set(Tensor::leaf(value, shape, DType::F32, device, location));
        }
        self.array = Some(array);
    }
}

/// What decides a step's program.
#[derive(Hash)]
struct Structure<'a> {
    graph: &'a Graph,
    parts: Parts<'a>,
    known: &'a [(NodeId, NodeId)],
    kind: String,
    clip: String,
    from_loss: bool,
}

/// The nodes that a step's graph starts from.
#[derive(Clone, Copy, Hash)]
struct Parts<'a> {
    seeds: &'a [NodeId],
    ids: &'a [NodeId],
    array: Option<NodeId>,
    states: &'a [NodeId],
    numbers: &'a [NodeId],
    scale: Option<Scale>,
    live: &'a [NodeId],
}

fn roots(recording: &Recording, source: &Source) -> Vec<NodeId> {
    let id = |t: &Tensor| recording.ids[&Arc::as_ptr(&t.node)];
    match source {
        Source::Loss(loss) => vec![id(loss)],
        Source::Gradients(gradients) => gradients.iter().map(id).collect(),
    }
}

/// Which nodes are computed from the given ones.
fn users(graph: &Graph, from: &[NodeId]) -> Vec<bool> {
    let mut depends = vec![false; graph.nodes.len()];
    from.iter().for_each(|id| depends[id.index()] = true);
    for id in graph.ids() {
        depends[id.index()] |= graph.node(id).operands.iter().any(|o| depends[o.index()]);
    }
    depends
}

fn input_number(graph: &Graph, id: NodeId) -> usize {
    match graph.node(id).op {
        Op::Input(n) => n,
        ref other => unreachable!("{} is no input", other.name()),
    }
}

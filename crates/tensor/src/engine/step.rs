//! A step of the engine, from end to end: record, look up, compile if it is new, run, settle.
//!
//! Invariant: this is the one way to run a program. A read, an optimizer or an average says what is recorded, what may be
//! overwritten and which program is written on top of it; everything between is here. Start at [`EngineStep::run`].

use std::hash::Hash;
use std::panic::Location;
use std::sync::Arc;

use farad_ir::{DType, Graph, NodeId, Op};

use super::array::DeviceArray;
use super::write::{StepOutput, StepWriter};
use crate::device::Device;
use crate::error::{Error, Result};
use crate::hashing::key;
use crate::node::{KnownValue, RecordedNode};
use crate::plan::{Plan, Request};
use crate::recording::Recording;
use crate::tensor::Tensor;
use farad_runtime::{Memory, Read};

/// How far back a step records.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RecordDepth {
    /// Up to the first values, as reads need it.
    ToValues,
    /// Wherever there is history, as gradients need it.
    Whole,
}

/// One run of the engine.
///
/// Made of the tensors that it is about, it is told what its program is given (numbers, arrays) and is then
/// [run](EngineStep::run). Tensors in hand that the program computes anyway are values afterwards.
pub struct EngineStep<'a> {
    device: Device,
    recording: Recording,
    /// What is computed and kept as the values of nodes.
    wanted: Vec<(Arc<RecordedNode>, NodeId)>,
    /// What buffers hold: a value and nothing else afterwards.
    buffers: Vec<Arc<RecordedNode>>,
    overwritten: Vec<Overwritten<'a>>,
    /// Which nodes lose their history, in steps that train.
    spent: Option<Vec<bool>>,
    location: &'static Location<'static>,
}

/// An array that the program writes to.
struct Overwritten<'a> {
    array: &'a mut DeviceArray,
    /// The tensors that lie in it and that the owner replaces.
    parts: Vec<Tensor>,
    input: usize,
}

impl<'a> EngineStep<'a> {
    /// A step that records nothing: its program is made of what it is given.
    pub fn new(device: &Device, location: &'static Location<'static>) -> EngineStep<'a> {
        let recording = Recording::default();
        let (wanted, buffers, overwritten) = (vec![], vec![], vec![]);
        EngineStep { device: device.clone(), recording, wanted, buffers, overwritten, spent: None, location }
    }

    /// A step that trains: of everything that these tensors need, and of what buffers hold that uses some of it.
    pub fn of(
        device: &Device,
        roots: &[&Tensor],
        history: RecordDepth,
        location: &'static Location<'static>,
    ) -> Result<EngineStep<'a>> {
        let roots: Vec<Arc<RecordedNode>> = roots.iter().map(|root| root.node.clone()).collect();
        let mut step = EngineStep::new(device, location);
        step.recording = Recording::of(&roots, history == RecordDepth::Whole)?;
        step.buffers = device.0.unfinished.beside(&step.recording);
        step.recording.extend(&step.buffers, false)?;
        step.recording.refuse_placeholders()?;
        Ok(step)
    }

    /// A step that computes these nodes and nothing else; they keep their history.
    pub(crate) fn reading(device: &Device, nodes: Vec<Arc<RecordedNode>>) -> Result<EngineStep<'a>> {
        let mut step = EngineStep::new(device, Location::caller());
        step.recording = Recording::of(&nodes, false)?;
        step.recording.refuse_placeholders()?;
        let id = |node: &Arc<RecordedNode>| step.recording.ids[&Arc::as_ptr(node)];
        step.wanted = nodes.iter().map(|node| (node.clone(), id(node))).collect();
        Ok(step)
    }

    /// Where it runs.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// The node of a recorded tensor.
    pub fn id(&self, tensor: &Tensor) -> Option<NodeId> {
        self.recording.ids.get(&Arc::as_ptr(&tensor.node)).copied()
    }

    /// The nodes of tensors that `loss` is to be differentiated at. Fails if there is no path to one of them, which
    /// errors call by its number, or if a step took some of the history away.
    pub fn targets<'t>(
        &self,
        loss: NodeId,
        tensors: impl IntoIterator<Item = (usize, &'t Tensor)>,
    ) -> Result<Vec<NodeId>> {
        self.recording.targets(loss, tensors)
    }

    /// A tensor's known value as a node of its own.
    pub fn leaf(&mut self, tensor: &Tensor) -> Result<NodeId> {
        let Some(value) = tensor.node.value() else {
            let (shape, at) = (tensor.shape(), tensor.node.location);
            return Err(Error::Failed { shape, location: format!("{}:{}", at.file(), at.line()) });
        };
        Ok(self.recording.leaf(&value, tensor.shape(), tensor.dtype()))
    }

    /// All numbers of the memory that a tensor lies in, as one axis; none if it has no [`ArrayPlace`](super::ArrayPlace).
    pub fn whole(&mut self, tensor: &Tensor) -> Option<NodeId> {
        match tensor.node.value() {
            Some(KnownValue::Memory { memory, whole, .. }) => {
                Some(self.recording.input(&memory, whole, tensor.dtype()))
            }
            _ => None,
        }
    }

    /// An array that the program reads.
    pub fn input(&mut self, array: &DeviceArray) -> NodeId {
        self.recording.input(&array.memory, array.len(), array.dtype())
    }

    /// An array that the program reads and that a [`StepOutput`] of it replaces, in place where that is safe. `parts` are
    /// all tensors of its owner that lie in it and that the owner replaces after the step; if anybody else has them, or
    /// other parts, or recorded with them, the array is copied and theirs stays as it is. On an error it stays as it is.
    pub fn overwrite(&mut self, array: &'a mut DeviceArray, parts: Vec<Tensor>) -> NodeId {
        let id = self.input(array);
        let input = input_number(&self.recording.graph, id);
        self.overwritten.push(Overwritten { array, parts, input });
        id
    }

    /// The order in which a backward pass comes to the gradients of `loss` at nodes: for each of them a number that grows.
    /// Nothing is kept of it.
    pub fn backward_order(&self, loss: NodeId, at: &[NodeId]) -> Result<Vec<usize>> {
        let mut graph = self.recording.graph.clone();
        let gradients = farad_ir::gradient(&mut graph, loss, at)?;
        Ok(gradients.into_iter().map(NodeId::index).collect())
    }

    /// Whether something recorded is a custom op of this name.
    pub fn has_custom(&self, name: &str) -> bool {
        self.recording.graph.nodes.iter().any(|node| matches!(&node.op, Op::Custom(op) if op.name() == name))
    }

    /// A number given with the run.
    pub fn number(&mut self, number: f32) -> NodeId {
        self.recording.word(number.to_bits(), DType::F32)
    }

    /// Seed and counter of the device's next random numbers, given with the run: the operands of `Op::Random`.
    pub fn draw(&mut self) -> [NodeId; 4] {
        self.device.draw().map(|word| self.recording.word(word, DType::U32))
    }

    /// Says that the program changes what these nodes stand for: tensors in hand that were computed from them are
    /// leaves afterwards. Returns whether any f16 value is computed from them.
    pub fn spend(&mut self, changed: &[NodeId]) -> bool {
        let depends = users(&self.recording.graph, changed);
        let has_f16 = crate::precision::has_f16(&self.recording.graph, &depends);
        self.spent = Some(depends);
        has_f16
    }

    /// Runs the step's program: what was recorded, and what `write` adds to it. `write` is called for a program that is
    /// new; `identity` is everything beside the recording that decides what it writes. The results that replace no
    /// array come back, in order.
    pub fn run(
        self,
        identity: &impl Hash,
        write: impl Fn(&mut StepWriter) -> Result<Vec<StepOutput>>,
    ) -> Result<Vec<DeviceArray>> {
        self.run_watched(identity, write, None)
    }

    /// The same. `read` is given the bytes of the results that replace no array, in order, each as soon as what computes it is
    /// requested; the rest of the program runs beside the read.
    pub fn run_reading(
        self,
        identity: &impl Hash,
        write: impl Fn(&mut StepWriter) -> Result<Vec<StepOutput>>,
        mut read: impl FnMut(Read),
    ) -> Result<()> {
        self.run_watched(identity, write, Some(&mut read)).map(drop)
    }

    fn run_watched(
        mut self,
        identity: &impl Hash,
        write: impl Fn(&mut StepWriter) -> Result<Vec<StepOutput>>,
        read: Option<&mut dyn FnMut(Read)>,
    ) -> Result<Vec<DeviceArray>> {
        if self.spent.is_some() {
            self.wanted = self.recording.live();
        }
        let plan = self.plan(identity, write)?;
        let (mut inputs, words) = self.let_go();
        for Overwritten { array, parts, input } in &mut self.overwritten {
            if plan.takes_over(*input) {
                array.protect(&mut inputs[*input], parts, self.location)?;
            }
            parts.clear();
        }
        let outputs = match read {
            None => self.device.run(&plan, &inputs, &words)?,
            Some(read) => self.run_in_parts(&plan, &inputs, &words, read)?,
        };
        drop(inputs);
        Ok(self.settle(&plan, outputs))
    }

    /// Runs the plan, and reads what it writes for nobody else on the way.
    fn run_in_parts(
        &self,
        plan: &Plan,
        inputs: &[Memory],
        words: &[u32],
        read: &mut dyn FnMut(Read),
    ) -> Result<Vec<Memory>> {
        let is_new = |&n: &usize| plan.replaced(n).is_none();
        let watched: Vec<usize> = (self.wanted.len()..plan.program.outputs.len()).filter(is_new).collect();
        self.device.run_in_parts(plan, inputs, words, &watched, &mut |n, memory| {
            let spec = plan.program.outputs[n].spec;
            read(match spec.len {
                0 => Read::Done(vec![]),
                len => self.device.0.backend.read(memory, 0, len * spec.dtype.size()),
            });
        })
    }

    /// The plan of the program, compiled if there is none.
    fn plan(
        &mut self,
        identity: &impl Hash,
        write: impl Fn(&mut StepWriter) -> Result<Vec<StepOutput>>,
    ) -> Result<Arc<Plan>> {
        let wanted: Vec<NodeId> = self.wanted.iter().map(|(_, id)| *id).collect();
        let known = std::mem::take(&mut self.recording.known);
        let plan_key = self.device.key(&mut self.recording, |graph| key(&(graph, &wanted, &known, identity)));
        let EngineStep { device, recording, location, .. } = self;
        let request = || {
            let mut writer = StepWriter { graph: recording.graph.clone(), known: &known };
            let outputs = write(&mut writer)?;
            Ok(request(writer.graph, wanted.clone(), &outputs, location))
        };
        if device.finds_not_finite() {
            device.find_not_finite(&request()?, &recording.inputs, &recording.words)?;
        }
        device.plan(plan_key, &recording.graph, request)
    }

    /// The recorded graph goes, and what was computed from what changes become leaves: whatever still refers to the old
    /// values then is somebody else's. Returns the memory and the numbers that the program is given.
    fn let_go(&mut self) -> (Vec<Memory>, Vec<u32>) {
        self.buffers.drain(..).for_each(|node| node.cut(false));
        if let Some(spent) = &self.spent {
            self.wanted.iter().filter(|(_, id)| spent[id.index()]).for_each(|(node, _)| node.cut(true));
        }
        let recording = std::mem::take(&mut self.recording);
        (recording.inputs, recording.words)
    }

    /// Gives every result its home.
    fn settle(self, plan: &Plan, outputs: Vec<Memory>) -> Vec<DeviceArray> {
        let mut outputs = outputs.into_iter().enumerate();
        for ((node, _), (_, memory)) in self.wanted.iter().zip(outputs.by_ref()) {
            node.set_value(KnownValue::Memory { memory, offset: 0, whole: node.shape.numel() });
            if self.spent.is_some() {
                node.prune();
            }
        }
        let mut overwritten = self.overwritten;
        let mut new = Vec::new();
        for (n, memory) in outputs {
            let replaced = plan.replaced(n);
            match overwritten.iter_mut().find(|o| Some(o.input) == replaced) {
                Some(Overwritten { array, .. }) => array.memory = memory,
                None => {
                    let spec = plan.program.outputs[n].spec;
                    new.push(DeviceArray::written(&self.device, memory, spec.dtype, spec.len));
                }
            }
        }
        new
    }
}

/// What is compiled: the wanted nodes, then the outputs.
fn request(
    mut graph: Graph,
    wanted: Vec<NodeId>,
    written: &[StepOutput],
    location: &'static Location<'static>,
) -> Request {
    let (mut outputs, mut donations) = (wanted, Vec::new());
    for &StepOutput { node, replaces } in written {
        if let Some(from) = replaces {
            donations.push((outputs.len(), input_number(&graph, from)));
        }
        // What has no line of its own is made by the step's.
        graph.nodes[node.index()].location.get_or_insert(location);
        outputs.push(node);
    }
    Request { graph, outputs, donations }
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

//! The search for the first value that is not finite: what `FARAD_DEBUG=nan` runs before every run.
//!
//! Every float tensor of a request is computed separately, in order, so the first one found made the value;
//! tensors and numbers that came in with it are looked at before.

use std::sync::atomic::Ordering;

use farad_compile::program::Target;
use farad_ir::{DType, Graph, NodeId, Op, Scalar};
use half::f16;

use crate::device::Device;
use crate::error::{Error, Result};
use crate::plan::Request;
use farad_runtime::Memory;

impl Device {
    /// Switches the search for values that are not finite on or off: while on, every run computes
    /// each op apart and stops with the op and the line that made the first bad value. Slow; what
    /// `FARAD_DEBUG=nan` does.
    pub fn find_first_not_finite(&self, on: bool) {
        self.0.finite.store(on, Ordering::Relaxed);
    }

    pub(crate) fn finds_not_finite(&self) -> bool {
        self.0.finite.load(Ordering::Relaxed) || crate::environment::ENVIRONMENT.nan
    }

    /// Names the op that made the first value that is not finite although its operands were, or the
    /// input that came with one.
    pub(crate) fn find_not_finite(&self, request: &Request, inputs: &[Memory], words: &[u32]) -> Result<()> {
        let graph = &request.graph;
        let needed = graph.reachable(&request.outputs);
        for id in graph.ids().filter(|id| needed[id.index()]) {
            self.check_given(graph, id, inputs, words)?;
        }
        let outputs: Vec<NodeId> =
            graph.ids().filter(|id| needed[id.index()] && computes_floats(graph, *id)).collect();
        let target = Target { fuse: false, ..self.0.target };
        let request = Request { graph: graph.clone(), outputs: outputs.clone(), donations: vec![] };
        let memories = self.run(&self.compile(request, &target)?, inputs, words)?;
        for (id, memory) in outputs.iter().zip(&memories) {
            if self.first_bad(memory, graph, *id)?.is_some() {
                let node = graph.node(*id);
                // A result of a scan or a custom op is blamed on the op.
                let maker = if let Op::Pick(..) = node.op { graph.node(node.operands[0]) } else { node };
                return Err(Error::NotFinite { op: maker.op.name(), location: place(graph, *id) });
            }
        }
        Ok(())
    }

    /// Fails if a tensor or number that the request is given holds a value that is not finite.
    fn check_given(&self, graph: &Graph, id: NodeId, inputs: &[Memory], words: &[u32]) -> Result<()> {
        let node = graph.node(id);
        let element = match node.op {
            Op::Input(n) if is_checked(node.dtype) && node.shape.numel() > 0 => {
                self.first_bad(&inputs[n], graph, id)?
            }
            Op::Parameter(n) if is_checked(node.dtype) => {
                (!Scalar::from_words(node.dtype, words, n).as_f64().is_finite()).then_some(0)
            }
            _ => None,
        };
        match element {
            Some(element) => {
                let len = node.shape.numel();
                Err(Error::NotFiniteInput { location: place(graph, id), element, len })
            }
            None => Ok(()),
        }
    }

    /// The first element of a node's memory that is not finite.
    fn first_bad(&self, memory: &Memory, graph: &Graph, id: NodeId) -> Result<Option<usize>> {
        let (dtype, len) = (graph.dtype(id), graph.shape(id).numel());
        let bytes = self.0.backend.read(memory, 0, len * dtype.size()).wait()?;
        Ok(match dtype {
            DType::F16 => bytes.chunks_exact(2).position(|b| !f16::from_le_bytes([b[0], b[1]]).is_finite()),
            DType::F64 => bytemuck::pod_collect_to_vec::<u8, f64>(&bytes).iter().position(|x| !x.is_finite()),
            _ => {
                let finite = |b: &[u8]| f32::from_le_bytes([b[0], b[1], b[2], b[3]]).is_finite();
                bytes.chunks_exact(4).position(|b| !finite(b))
            }
        })
    }
}

fn is_checked(dtype: DType) -> bool {
    matches!(dtype, DType::F32 | DType::F16 | DType::F64)
}

/// Whether a node makes floats that were not there before.
fn computes_floats(graph: &Graph, id: NodeId) -> bool {
    let node = graph.node(id);
    let given = matches!(node.op, Op::Input(_) | Op::Parameter(_) | Op::Constant(_));
    // Of a scan or custom op the results are looked at.
    let whole = matches!(node.op, Op::Scan(_) | Op::Custom(_));
    is_checked(node.dtype) && !given && !whole && !node.op.is_movement() && node.shape.numel() > 0
}

fn place(graph: &Graph, id: NodeId) -> String {
    graph.node(id).location.map_or(String::new(), |l| format!(" at {}:{}", l.file(), l.line()))
}

//! Custom ops of users: a Rust type with its own CPU function, WGSL kernels and gradient.

use std::fmt::Debug;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use crate::dtype::DType;
use crate::error::OpError;
use crate::identity::OpIdentity;
use crate::shape::Shape;
use crate::var::Var;

/// One operand or result of a custom op in host memory, as 32-bit registers (an `f32` as its bits).
pub type Words = Vec<u32>;

/// One launch of a WGSL kernel of a custom op.
///
/// Bindings of `@group(0)`: one storage array per operand, then one per result, then one per scratch buffer,
/// starting at binding 0; or only those that [`CustomKernel::arguments`] names, in its order. With
/// [`CustomKernel::parameters`], binding 0 is a uniform `array<vec4<u32>, N>` that holds them (padded to whole
/// `vec4`s), and storage starts at binding 1. Launches of equal text and entry share one pipeline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CustomKernel {
    /// The whole WGSL module.
    pub wgsl: Arc<str>,
    /// Its entry point.
    pub entry: String,
    /// Workgroups to dispatch.
    pub workgroups: [u32; 3],
    /// Words that this launch reads from its uniform; if empty, there is no uniform.
    pub parameters: Vec<u32>,
    /// The arrays that it binds, as indices into operands, results and scratch together; `None` for all.
    pub arguments: Option<Vec<usize>>,
    /// The least bytes that it moves and floating-point operations that it does, for profiles; `None` for the
    /// bytes of what it binds.
    pub costs: Option<(u64, u64)>,
}

impl CustomKernel {
    /// A launch that binds everything and has no parameters.
    pub fn new(wgsl: impl Into<Arc<str>>, entry: impl Into<String>, workgroups: [u32; 3]) -> CustomKernel {
        let (wgsl, entry) = (wgsl.into(), entry.into());
        CustomKernel { wgsl, entry, workgroups, parameters: vec![], arguments: None, costs: None }
    }

    /// Sets the least bytes that it moves and operations that it does.
    pub fn costs(mut self, bytes: u64, flops: u64) -> CustomKernel {
        self.costs = Some((bytes, flops));
        self
    }

    /// Sets the words of its uniform.
    pub fn parameters(mut self, words: &[u32]) -> CustomKernel {
        self.parameters = words.to_vec();
        self
    }

    /// Binds only these of operands, results and scratch, in this order.
    pub fn arguments(mut self, numbers: &[usize]) -> CustomKernel {
        self.arguments = Some(numbers.to_vec());
        self
    }
}

/// What a custom op's kernels may use on an adapter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CustomLimits {
    /// Invocations that a workgroup may have.
    pub invocations: u32,
    /// Bytes of workgroup memory.
    pub workgroup_memory: u32,
    /// Workgroups per dimension of a dispatch.
    pub workgroups: u32,
    /// Whether subgroup operations work in compute shaders.
    pub subgroups: bool,
    /// Lanes of a subgroup, if subgroups multiply 16×16 matrices of f16 and sum in `f32`
    /// (`enable wgpu_cooperative_matrix`); else 0.
    pub matrices: u32,
}

/// An op from outside the table. The graph stores it behind an `Arc`.
///
/// Its type and all its fields are its identity: two ops with equal type and fields are the same computation,
/// and replay the same program. So the type must derive `Hash`. Store a float field as an
/// [`Exact`](crate::Exact).
pub trait CustomOp: OpIdentity + Debug + Send + Sync {
    /// The name in errors, plans and profiles.
    fn name(&self) -> &str;

    /// The shapes and dtypes of its results.
    fn infer(&self, operands: &[(Shape, DType)]) -> Result<Vec<(Shape, DType)>, OpError>;

    /// The value in double precision, which defines the op.
    fn reference(&self, operands: &[Vec<f64>], shapes: &[Shape]) -> Vec<Vec<f64>>;

    /// The value on the CPU. `results` are zeroed and of the right length.
    fn cpu(&self, operands: &[&[u32]], shapes: &[Shape], results: &mut [Words]);

    /// The value on the CPU from memory as it lies: bytes of every operand and result in its own dtype, so that
    /// small floats and integers are not widened first. `false`: there is no such form, and [`CustomOp::cpu`] is
    /// called. Results hold anything at first; those that [`CustomOp::in_place`] names hold their operand, whose own
    /// bytes are then empty.
    fn host(&self, _operands: &[&[u8]], _shapes: &[Shape], _results: &mut [&mut [u8]]) -> bool {
        false
    }

    /// Results that are an operand with a few elements changed, as pairs of operand and result of one shape and
    /// dtype. Both are the same memory where nobody needs the operand any more, and the result begins as a copy of it
    /// where somebody does. Kernels then bind the result ([`CustomKernel::arguments`]) and never the operand, and the
    /// CPU needs [`CustomOp::host`].
    fn in_place(&self) -> &[(usize, usize)] {
        &[]
    }

    /// The kernels that compute it on a GPU, run in order.
    fn wgsl(&self, shapes: &[Shape], limits: &CustomLimits) -> Vec<CustomKernel>;

    /// The least bytes that it moves and floating-point operations that it does, for profiles; `None` for the
    /// bytes of its operands and results. GPU launches may state their costs separately
    /// ([`CustomKernel::costs`]).
    fn costs(&self, _shapes: &[Shape]) -> Option<(u64, u64)> {
        None
    }

    /// Scratch buffers that its kernels share, in 32-bit words.
    fn scratch(&self, _shapes: &[Shape]) -> Vec<usize> {
        Vec::new()
    }

    /// Gradients with respect to the operands, from the gradients at the results; `None` for an operand without
    /// one. Write them as formulas: `Ok(vec![Some(upstream[0] * results[0])])`. By default there is no
    /// gradient, and asking for one is an error.
    fn gradient<'g>(
        &self,
        _operands: &[Var<'g>],
        _results: &[Var<'g>],
        _upstream: &[Var<'g>],
    ) -> Result<Vec<Option<Var<'g>>>, OpError> {
        Err(OpError::NoGradient {
            op: self.name().to_string(),
            help: "\nhelp: implement `CustomOp::gradient`".into(),
        })
    }
}

// By a separate hash, so that comparing graphs does not rely on the hash that finds plans.
impl PartialEq for dyn CustomOp {
    fn eq(&self, other: &dyn CustomOp) -> bool {
        let hash = |op: &dyn CustomOp| {
            let mut hasher = DefaultHasher::new();
            op.identify(&mut hasher);
            hasher.finish()
        };
        self.name() == other.name() && hash(self) == hash(other)
    }
}

impl Eq for dyn CustomOp {}

impl Hash for dyn CustomOp {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.identify(state);
    }
}

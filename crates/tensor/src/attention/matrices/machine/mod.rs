//! A machine for tests that runs WGSL with cooperative matrices, for there is no software GPU that has them.
//!
//! It takes a module that naga has validated and runs whole workgroups, all threads in step. It panics on what a GPU
//! may do wrongly without a word: two threads that meet in workgroup memory without a barrier, barriers and matrices
//! that not all threads of their group reach, matrices at places that differ within a subgroup or are not aligned.
//! It knows no more of WGSL than the kernels need.

mod evaluate;
mod flow;
mod memory;

use std::rc::Rc;

use naga::proc::Layouter;
use naga::valid::{Capabilities, FunctionInfo, ModuleInfo};
use naga::valid::{ShaderStages, SubgroupOperationSet, ValidationFlags, Validator};
use naga::{BuiltIn, Expression, Handle, Module, TypeInner};

use memory::MachineMemory;

/// Threads of a subgroup.
pub const LANES: usize = 32;

/// What a thread has of a value.
#[derive(Clone, Debug)]
enum Value {
    /// A scalar or a vector, as bits; f16 in the lower half.
    Bits([u32; 4]),
    /// A byte of a global variable.
    Global(usize, usize),
    /// A byte of a local variable.
    Local(usize, usize),
    /// The matrix of a subgroup, row by row.
    Matrix(Rc<[f32; 256]>),
    /// Of a thread that is elsewhere.
    Nothing,
}

impl Value {
    fn bits(&self) -> [u32; 4] {
        match self {
            Value::Bits(bits) => *bits,
            Value::Nothing => [0; 4],
            other => panic!("no numbers: {other:?}"),
        }
    }
}

/// A value of all threads.
type Values = Rc<Vec<Value>>;

/// Where a thread is going.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Flow {
    Here,
    Broken,
    Continued,
    /// It has returned, or another branch is running.
    Away,
}

/// One call of a function by all threads.
struct Frame<'a> {
    function: &'a naga::Function,
    info: &'a FunctionInfo,
    known: Vec<Option<Values>>,
    locals: Vec<Vec<Value>>,
    arguments: Vec<Values>,
    flow: Vec<Flow>,
    result: Vec<Value>,
}

impl Frame<'_> {
    fn here(&self, thread: usize) -> bool {
        self.flow[thread] == Flow::Here
    }

    /// Whether a subgroup is here as a whole; it must not come in part.
    fn whole(&self, subgroup: usize) -> bool {
        let count = (0..LANES).filter(|lane| self.here(subgroup * LANES + lane)).count();
        assert!(count == 0 || count == LANES, "{count} threads of subgroup {subgroup} are here");
        count > 0
    }
}

/// A workgroup at work.
struct Machine<'a> {
    module: &'a Module,
    info: &'a ModuleInfo,
    memory: MachineMemory,
    threads: usize,
}

/// Fails unless the text is valid on an adapter with cooperative matrices.
pub fn validate(text: &str) -> (Module, ModuleInfo) {
    let module = naga::front::wgsl::parse_str(text).unwrap_or_else(|e| panic!("{}", e.emit_to_string(text)));
    let capabilities = Capabilities::SHADER_FLOAT16
        | Capabilities::COOPERATIVE_MATRIX
        | Capabilities::SUBGROUP
        | Capabilities::SUBGROUP_BARRIER;
    let mut validator = Validator::new(ValidationFlags::all(), capabilities);
    validator.subgroup_operations(SubgroupOperationSet::all());
    validator.subgroup_stages(ShaderStages::COMPUTE);
    let info = validator.validate(&module).unwrap_or_else(|e| panic!("{}", e.emit_to_string(text)));
    (module, info)
}

/// Runs an entry point of a text for all workgroups; `buffers` are bound in their order.
pub fn run(text: &str, entry: &str, buffers: &mut [Vec<u8>], groups: [u32; 3]) {
    let (module, info) = validate(text);
    let mut layouter = Layouter::default();
    layouter.update(module.to_ctx()).expect("a valid module");
    let found = module.entry_points.iter().position(|point| point.name == entry).expect("an entry point");
    let entry = &module.entry_points[found];
    let threads = entry.workgroup_size[0] as usize;
    let memory = MachineMemory::new(&module, &layouter, buffers, threads / LANES);
    let mut machine = Machine { module: &module, info: &info, memory, threads };
    for [x, y, z] in all(groups) {
        machine.memory.forget();
        let builtin = |argument: &naga::FunctionArgument| {
            let Some(naga::Binding::BuiltIn(builtin)) = argument.binding else { panic!("no built-in value") };
            let value = |thread: usize| match builtin {
                BuiltIn::WorkGroupId => [x, y, z, 0],
                BuiltIn::NumWorkGroups => [groups[0], groups[1], groups[2], 0],
                BuiltIn::LocalInvocationIndex => [thread as u32, 0, 0, 0],
                BuiltIn::SubgroupId => [(thread / LANES) as u32, 0, 0, 0],
                BuiltIn::SubgroupInvocationId => [(thread % LANES) as u32, 0, 0, 0],
                other => panic!("{other:?}"),
            };
            Rc::new((0..threads).map(|thread| Value::Bits(value(thread))).collect())
        };
        let arguments = entry.function.arguments.iter().map(builtin).collect();
        machine.call(&entry.function, info.get_entry_point(found), arguments, vec![Flow::Here; threads]);
    }
    machine.memory.give_back(buffers);
}

fn all([x, y, z]: [u32; 3]) -> impl Iterator<Item = [u32; 3]> {
    (0..z).flat_map(move |c| (0..y).flat_map(move |b| (0..x).map(move |a| [a, b, c])))
}

impl<'a> Machine<'a> {
    fn call(
        &mut self,
        function: &'a naga::Function,
        info: &'a FunctionInfo,
        arguments: Vec<Values>,
        flow: Vec<Flow>,
    ) -> Vec<Value> {
        let known = vec![None; function.expressions.len()];
        let result = vec![Value::Nothing; self.threads];
        let mut frame = Frame { function, info, known, locals: vec![], arguments, flow, result };
        for (_, local) in function.local_variables.iter() {
            let start = match local.init {
                Some(init) => self.value(&mut frame, init).to_vec(),
                None => vec![self.zero(local.ty); self.threads],
            };
            frame.locals.push(start);
        }
        self.block(&mut frame, &function.body);
        frame.result
    }

    fn zero(&self, ty: Handle<naga::Type>) -> Value {
        match self.module.types[ty].inner {
            TypeInner::CooperativeMatrix { .. } => Value::Matrix(Rc::new([0.0; 256])),
            _ => Value::Bits([0; 4]),
        }
    }

    fn type_of(&self, frame: &Frame<'a>, expression: Handle<Expression>) -> &'a TypeInner {
        let info: &'a FunctionInfo = frame.info;
        let module: &'a Module = self.module;
        info[expression].ty.inner_with(&module.types)
    }

    /// One value per subgroup that is here, for all of its threads.
    fn per_subgroup(
        &mut self,
        frame: &Frame<'a>,
        mut make: impl FnMut(&mut Self, usize) -> Value,
    ) -> Vec<Value> {
        let mut values = vec![Value::Nothing; self.threads];
        for subgroup in 0..self.threads / LANES {
            if frame.whole(subgroup) {
                let value = make(self, subgroup);
                values[subgroup * LANES..][..LANES].fill(value);
            }
        }
        values
    }
}

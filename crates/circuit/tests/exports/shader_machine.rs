//! Interprets the kind of shader that exports make, one invocation at a time, on naga's representation.

use std::collections::HashMap;
use std::rc::Rc;

use naga::{
    BinaryOperator, Block, Expression, Function, Handle, Literal, Module, ScalarKind, Statement,
    UnaryOperator,
};

/// A value of an expression.
#[derive(Clone, Copy, Debug)]
enum Value {
    Word(u32),
    Integer(i32),
    Truth(bool),
    Position([u32; 3]),
    Pointer(Pointer),
}

/// A memory location: a global or local variable, and the index of a word in it.
#[derive(Clone, Copy, Debug)]
enum Pointer {
    Global(Handle<naga::GlobalVariable>, usize),
    Local(Handle<naga::LocalVariable>),
}

/// A shader and its memory.
pub struct Machine {
    module: Rc<Module>,
    memory: HashMap<Handle<naga::GlobalVariable>, Vec<u32>>,
}

/// What a function call has computed so far.
struct Frame<'a> {
    function: &'a Function,
    arguments: Vec<Value>,
    values: HashMap<Handle<Expression>, Value>,
    locals: HashMap<Handle<naga::LocalVariable>, Value>,
}

impl Machine {
    /// Parses and validates a shader.
    pub fn new(text: &str) -> Machine {
        let module = naga::front::wgsl::parse_str(text)
            .unwrap_or_else(|error| panic!("{}", error.emit_to_string(text)));
        let (flags, capabilities) = (naga::valid::ValidationFlags::all(), naga::valid::Capabilities::empty());
        naga::valid::Validator::new(flags, capabilities)
            .validate(&module)
            .unwrap_or_else(|error| panic!("{error:?}"));
        let words = |variable: &naga::GlobalVariable| match module.types[variable.ty].inner {
            naga::TypeInner::Array { size: naga::ArraySize::Constant(size), .. } => size.get() as usize,
            _ => 1,
        };
        let memory = module
            .global_variables
            .iter()
            .map(|(handle, variable)| (handle, vec![0; words(variable)]))
            .collect();
        Machine { memory, module: Rc::new(module) }
    }

    fn global(&self, name: &str) -> Handle<naga::GlobalVariable> {
        let mut globals = self.module.global_variables.iter();
        globals
            .find(|(_, variable)| variable.name.as_deref() == Some(name))
            .expect("a variable of this name")
            .0
    }

    /// Sets the words of a variable.
    pub fn bind(&mut self, name: &str, words: Vec<u32>) {
        self.memory.insert(self.global(name), words);
    }

    /// The words of a variable.
    pub fn memory(&self, name: &str) -> &[u32] {
        &self.memory[&self.global(name)]
    }

    /// Runs the entry point at a position.
    pub fn invoke(&mut self, position: [u32; 3]) {
        let module = self.module.clone();
        self.call(&module, &module.entry_points[0].function, vec![Value::Position(position)]);
    }

    fn call(&mut self, module: &Module, function: &Function, arguments: Vec<Value>) -> Option<Value> {
        let mut frame = Frame { function, arguments, values: HashMap::new(), locals: HashMap::new() };
        for (handle, local) in function.local_variables.iter() {
            let value = local.init.map_or(Value::Word(0), |init| self.value(module, &mut frame, init));
            frame.locals.insert(handle, value);
        }
        self.block(module, &mut frame, &function.body).flatten()
    }

    /// Runs statements; returns a value once the function returns.
    fn block(&mut self, module: &Module, frame: &mut Frame<'_>, block: &Block) -> Option<Option<Value>> {
        for statement in block.iter() {
            match statement {
                Statement::Emit(range) => {
                    for handle in range.clone() {
                        let value = self.compute(module, frame, handle);
                        frame.values.insert(handle, value);
                    }
                }
                Statement::Block(block) => {
                    if let Some(returned) = self.block(module, frame, block) {
                        return Some(returned);
                    }
                }
                Statement::If { condition, accept, reject } => {
                    let Value::Truth(truth) = self.value(module, frame, *condition) else {
                        panic!("no condition")
                    };
                    if let Some(returned) = self.block(module, frame, if truth { accept } else { reject }) {
                        return Some(returned);
                    }
                }
                Statement::Return { value } => {
                    return Some(value.map(|value| self.value(module, frame, value)));
                }
                Statement::Store { pointer, value } => {
                    let (pointer, value) =
                        (self.value(module, frame, *pointer), self.value(module, frame, *value));
                    self.store(frame, pointer, value);
                }
                Statement::Call { function, arguments, result } => {
                    let arguments = arguments.iter().map(|&value| self.value(module, frame, value)).collect();
                    let returned = self.call(module, &module.functions[*function], arguments);
                    if let Some(result) = result {
                        frame.values.insert(*result, returned.expect("a result"));
                    }
                }
                other => panic!("a statement that exports do not make: {other:?}"),
            }
        }
        None
    }

    fn store(&mut self, frame: &mut Frame<'_>, pointer: Value, value: Value) {
        match (pointer, value) {
            (Value::Pointer(Pointer::Global(global, word)), Value::Word(value)) => {
                self.memory.get_mut(&global).expect("memory")[word] = value;
            }
            (Value::Pointer(Pointer::Local(local)), value) => {
                frame.locals.insert(local, value);
            }
            other => panic!("a store that exports do not make: {other:?}"),
        }
    }

    fn value(&mut self, module: &Module, frame: &mut Frame<'_>, handle: Handle<Expression>) -> Value {
        match frame.values.get(&handle) {
            Some(&value) => value,
            None => self.compute(module, frame, handle),
        }
    }

    fn compute(&mut self, module: &Module, frame: &mut Frame<'_>, handle: Handle<Expression>) -> Value {
        match frame.function.expressions[handle] {
            Expression::Literal(Literal::U32(value)) => Value::Word(value),
            Expression::Literal(Literal::I32(value)) => Value::Integer(value),
            Expression::Literal(Literal::Bool(value)) => Value::Truth(value),
            Expression::FunctionArgument(n) => frame.arguments[n as usize],
            Expression::GlobalVariable(global) => Value::Pointer(Pointer::Global(global, 0)),
            Expression::LocalVariable(local) => Value::Pointer(Pointer::Local(local)),
            Expression::AccessIndex { base, index } => match self.value(module, frame, base) {
                Value::Position(position) => Value::Word(position[index as usize]),
                Value::Pointer(Pointer::Global(global, 0)) => {
                    Value::Pointer(Pointer::Global(global, index as usize))
                }
                other => panic!("an access that exports do not make: {other:?}"),
            },
            Expression::Access { base, index } => {
                match (self.value(module, frame, base), self.value(module, frame, index)) {
                    (Value::Pointer(Pointer::Global(global, 0)), Value::Word(word)) => {
                        Value::Pointer(Pointer::Global(global, word as usize))
                    }
                    other => panic!("an access that exports do not make: {other:?}"),
                }
            }
            Expression::Load { pointer } => match self.value(module, frame, pointer) {
                Value::Pointer(Pointer::Global(global, word)) => Value::Word(self.memory[&global][word]),
                Value::Pointer(Pointer::Local(local)) => frame.locals[&local],
                other => panic!("a load that exports do not make: {other:?}"),
            },
            Expression::ArrayLength(base) => match self.value(module, frame, base) {
                Value::Pointer(Pointer::Global(global, 0)) => Value::Word(self.memory[&global].len() as u32),
                other => panic!("a length of {other:?}"),
            },
            Expression::As { expr, kind, .. } => match (self.value(module, frame, expr), kind) {
                (Value::Word(value), ScalarKind::Sint) => Value::Integer(value as i32),
                (Value::Integer(value), ScalarKind::Uint) => Value::Word(value as u32),
                (value, _) => value,
            },
            Expression::Unary { op, expr } => match (op, self.value(module, frame, expr)) {
                (UnaryOperator::BitwiseNot, Value::Word(value)) => Value::Word(!value),
                (UnaryOperator::LogicalNot, Value::Truth(value)) => Value::Truth(!value),
                other => panic!("an operation that exports do not make: {other:?}"),
            },
            Expression::Binary { op, left, right } => {
                let (left, right) = (self.value(module, frame, left), self.value(module, frame, right));
                binary(op, left, right)
            }
            ref other => panic!("an expression that exports do not make: {other:?}"),
        }
    }
}

fn binary(op: BinaryOperator, left: Value, right: Value) -> Value {
    match (left, right) {
        (Value::Word(a), Value::Word(b)) => match op {
            BinaryOperator::And => Value::Word(a & b),
            BinaryOperator::InclusiveOr => Value::Word(a | b),
            BinaryOperator::ExclusiveOr => Value::Word(a ^ b),
            BinaryOperator::Add => Value::Word(a.wrapping_add(b)),
            BinaryOperator::Subtract => Value::Word(a.wrapping_sub(b)),
            BinaryOperator::Multiply => Value::Word(a.wrapping_mul(b)),
            BinaryOperator::Divide => Value::Word(a / b),
            BinaryOperator::Modulo => Value::Word(a % b),
            BinaryOperator::ShiftLeft => Value::Word(a << b),
            BinaryOperator::ShiftRight => Value::Word(a >> b),
            other => Value::Truth(compare(other, a, b)),
        },
        (Value::Integer(a), Value::Integer(b)) => match op {
            BinaryOperator::Add => Value::Integer(a.wrapping_add(b)),
            BinaryOperator::Subtract => Value::Integer(a.wrapping_sub(b)),
            other => Value::Truth(compare(other, a, b)),
        },
        (Value::Truth(a), Value::Truth(b)) => match op {
            BinaryOperator::And | BinaryOperator::LogicalAnd => Value::Truth(a && b),
            BinaryOperator::InclusiveOr | BinaryOperator::LogicalOr => Value::Truth(a || b),
            other => panic!("an operation that exports do not make: {other:?}"),
        },
        other => panic!("operands that exports do not make: {other:?}"),
    }
}

fn compare<T: PartialOrd>(op: BinaryOperator, a: T, b: T) -> bool {
    match op {
        BinaryOperator::Equal => a == b,
        BinaryOperator::NotEqual => a != b,
        BinaryOperator::Less => a < b,
        BinaryOperator::LessEqual => a <= b,
        BinaryOperator::Greater => a > b,
        BinaryOperator::GreaterEqual => a >= b,
        other => panic!("a comparison that exports do not make: {other:?}"),
    }
}

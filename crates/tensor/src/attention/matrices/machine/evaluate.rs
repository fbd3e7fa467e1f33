//! Expressions of the machine.

use std::rc::Rc;

use half::f16;
use naga::{BinaryOperator, Expression, Handle, Literal, MathFunction, ScalarKind, TypeInner, UnaryOperator};

use super::{Frame, LANES, Machine, Value, Values};

fn float(bits: u32) -> f32 {
    f32::from_bits(bits)
}

impl<'a> Machine<'a> {
    /// A value that was computed before, or that needs no computation.
    pub(super) fn value(&mut self, frame: &mut Frame<'a>, handle: Handle<Expression>) -> Values {
        if frame.known[handle.index()].is_none() {
            let values = self.evaluate(frame, handle);
            frame.known[handle.index()] = Some(Rc::new(values));
        }
        frame.known[handle.index()].clone().expect("just found")
    }

    /// Kind, bytes and number of a scalar's or vector's components.
    fn numbers(&self, frame: &Frame<'a>, handle: Handle<Expression>) -> (ScalarKind, usize, usize) {
        match self.type_of(frame, handle) {
            TypeInner::Scalar(scalar) => (scalar.kind, scalar.width as usize, 1),
            TypeInner::Vector { size, scalar } => (scalar.kind, scalar.width as usize, *size as usize),
            other => panic!("no numbers: {other:?}"),
        }
    }

    /// Bytes of an element of what a pointer points to, and of a scalar in it.
    fn steps(&self, frame: &Frame<'a>, pointer: Handle<Expression>) -> [usize; 2] {
        match self.type_of(frame, pointer) {
            TypeInner::Pointer { base, .. } => match self.module.types[*base].inner {
                TypeInner::Array { stride, .. } => [stride as usize; 2],
                TypeInner::Scalar(scalar) => [scalar.width as usize; 2],
                TypeInner::Vector { size, scalar } => {
                    [size as usize * scalar.width as usize, scalar.width as usize]
                }
                ref other => panic!("{other:?}"),
            },
            TypeInner::ValuePointer { size, scalar, .. } => {
                [size.map_or(1, |size| size as usize) * scalar.width as usize, scalar.width as usize]
            }
            other => panic!("no pointer: {other:?}"),
        }
    }

    pub(super) fn evaluate(&mut self, frame: &mut Frame<'a>, handle: Handle<Expression>) -> Vec<Value> {
        let threads = self.threads;
        let same = |bits: u32| vec![Value::Bits([bits; 4]); threads];
        match &frame.function.expressions[handle] {
            Expression::Literal(literal) => same(bits_of(literal)),
            Expression::Constant(constant) => {
                let init = self.module.constants[*constant].init;
                let Expression::Literal(literal) = &self.module.global_expressions[init] else {
                    panic!("no literal")
                };
                same(bits_of(literal))
            }
            Expression::ZeroValue(ty) => vec![self.zero(*ty); threads],
            Expression::GlobalVariable(global) => vec![Value::Global(global.index(), 0); threads],
            Expression::LocalVariable(local) => vec![Value::Local(local.index(), 0); threads],
            Expression::FunctionArgument(n) => frame.arguments[*n as usize].to_vec(),
            Expression::Access { base, index } => {
                let index = self.value(frame, *index);
                self.access(frame, *base, |thread| index[thread].bits()[0] as usize)
            }
            Expression::AccessIndex { base, index } => self.access(frame, *base, |_| *index as usize),
            Expression::Load { pointer } => self.load(frame, handle, *pointer),
            Expression::Compose { components, .. } => {
                let mut parts = Vec::new();
                for &component in components {
                    let values = self.value(frame, component);
                    let count = self.numbers(frame, component).2;
                    parts.extend((0..count).map(|n| (values.clone(), n)));
                }
                let component = |thread: usize, n: usize| {
                    parts.get(n).map_or(0, |(values, at): &(Values, usize)| values[thread].bits()[*at])
                };
                let value = |thread| Value::Bits(std::array::from_fn(|n| component(thread, n)));
                (0..threads).map(value).collect()
            }
            Expression::Splat { value, .. } => self.each(frame, [*value], |[x]| [x[0]; 4]),
            Expression::Swizzle { vector, pattern, .. } => {
                self.each(frame, [*vector], |[x]| std::array::from_fn(|n| x[pattern[n] as usize]))
            }
            Expression::Unary { op, expr } => {
                let is_float = self.numbers(frame, *expr).0 == ScalarKind::Float;
                self.each(frame, [*expr], |[x]| x.map(|x| unary(*op, is_float, x)))
            }
            Expression::Binary { op, left, right } => self.binary(frame, *op, *left, *right),
            Expression::Select { condition, accept, reject } => {
                let one = self.numbers(frame, *condition).2 == 1;
                self.each(frame, [*condition, *accept, *reject], |[c, a, b]| {
                    std::array::from_fn(|n| if c[if one { 0 } else { n }] != 0 { a[n] } else { b[n] })
                })
            }
            Expression::Math { fun, arg, arg1, arg2, .. } => {
                let kind = self.numbers(frame, *arg).0;
                let others = [*arg, arg1.unwrap_or(*arg), arg2.unwrap_or(*arg)];
                self.each(frame, others, |[x, y, z]| {
                    std::array::from_fn(|n| math(*fun, kind, [x[n], y[n], z[n]]))
                })
            }
            Expression::As { expr, kind, convert } => {
                let (from, width, _) = self.numbers(frame, *expr);
                let to = (*kind, convert.map(usize::from));
                self.each(frame, [*expr], |[x]| x.map(|x| cast((from, width), to, x)))
            }
            Expression::CooperativeLoad { data, .. } => self.load_matrix(frame, data),
            Expression::CooperativeMultiplyAdd { a, b, c } => {
                let operands = [*a, *b, *c].map(|operand| self.value(frame, operand));
                self.per_subgroup(frame, |_, subgroup| {
                    multiply(operands.each_ref().map(|x| &x[subgroup * LANES]))
                })
            }
            other => panic!("{other:?}"),
        }
    }

    /// A value per thread from those of operands.
    fn each<const N: usize>(
        &mut self,
        frame: &mut Frame<'a>,
        operands: [Handle<Expression>; N],
        make: impl Fn([[u32; 4]; N]) -> [u32; 4],
    ) -> Vec<Value> {
        let operands = operands.map(|operand| self.value(frame, operand));
        let value = |thread: usize| Value::Bits(make(operands.each_ref().map(|x| x[thread].bits())));
        (0..self.threads).map(value).collect()
    }

    fn access(
        &mut self,
        frame: &mut Frame<'a>,
        base: Handle<Expression>,
        index: impl Fn(usize) -> usize,
    ) -> Vec<Value> {
        let values = self.value(frame, base);
        let step = match self.type_of(frame, base) {
            TypeInner::Vector { .. } => 0,
            _ => self.steps(frame, base)[1],
        };
        let at = |thread: usize| match &values[thread] {
            Value::Nothing => Value::Nothing,
            Value::Bits(bits) => Value::Bits([bits[index(thread) % 4]; 4]),
            Value::Global(global, at) => Value::Global(*global, at + step * index(thread)),
            Value::Local(local, at) => Value::Local(*local, at + step * index(thread)),
            other => panic!("{other:?}"),
        };
        (0..self.threads).map(at).collect()
    }

    fn load(
        &mut self,
        frame: &mut Frame<'a>,
        handle: Handle<Expression>,
        pointer: Handle<Expression>,
    ) -> Vec<Value> {
        let pointers = self.value(frame, pointer);
        let here = |thread: &usize| frame.here(*thread);
        let mut values = vec![Value::Nothing; self.threads];
        for thread in (0..self.threads).filter(here) {
            values[thread] = match pointers[thread] {
                Value::Local(local, at) => match &frame.locals[local][thread] {
                    Value::Bits(bits) => Value::Bits(std::array::from_fn(|n| bits[(at / 4 + n) % 4])),
                    whole => whole.clone(),
                },
                Value::Global(global, at) => {
                    let (_, width, count) = self.numbers(frame, handle);
                    Value::Bits(self.memory.load(global, at, [width, count], thread))
                }
                ref other => panic!("{other:?}"),
            };
        }
        values
    }

    pub(super) fn store(
        &mut self,
        frame: &mut Frame<'a>,
        pointer: Handle<Expression>,
        value: Handle<Expression>,
    ) {
        let (pointers, values) = (self.value(frame, pointer), self.value(frame, value));
        for thread in 0..self.threads {
            if !frame.here(thread) {
                continue;
            }
            match pointers[thread] {
                Value::Local(local, 0) => frame.locals[local][thread] = values[thread].clone(),
                Value::Global(global, at) => {
                    let (_, width, count) = self.numbers(frame, value);
                    self.memory.store(global, at, [width, count], thread, values[thread].bits());
                }
                ref other => panic!("{other:?}"),
            }
        }
    }

    fn binary(
        &mut self,
        frame: &mut Frame<'a>,
        op: BinaryOperator,
        left: Handle<Expression>,
        right: Handle<Expression>,
    ) -> Vec<Value> {
        if let TypeInner::CooperativeMatrix { .. } = self.type_of(frame, left) {
            assert_eq!(op, BinaryOperator::Add, "of matrices");
            let operands = [left, right].map(|operand| self.value(frame, operand));
            return self.per_subgroup(frame, |_, subgroup| {
                let [Value::Matrix(a), Value::Matrix(b)] = operands.each_ref().map(|x| &x[subgroup * LANES])
                else {
                    panic!("no matrices")
                };
                Value::Matrix(Rc::new(std::array::from_fn(|n| a[n] + b[n])))
            });
        }
        let ((kind, width, m), (_, _, n)) = (self.numbers(frame, left), self.numbers(frame, right));
        assert!(kind != ScalarKind::Float || width == 4, "the kernels do not compute in f16");
        self.each(frame, [left, right], |[x, y]| {
            std::array::from_fn(|at| {
                let (x, y) = (x[if m == 1 { 0 } else { at }], y[if n == 1 { 0 } else { at }]);
                match kind {
                    ScalarKind::Float => of_floats(op, float(x), float(y)),
                    ScalarKind::Sint => of_integers(op, x as i32, y as i32),
                    _ => of_words(op, x, y),
                }
            })
        })
    }

    fn load_matrix(&mut self, frame: &mut Frame<'a>, data: &naga::CooperativeData) -> Vec<Value> {
        let (pointers, strides) = (self.value(frame, data.pointer), self.value(frame, data.stride));
        let [step, width] = self.steps(frame, data.pointer);
        let row_major = data.row_major;
        self.per_subgroup(frame, |machine, subgroup| {
            let (global, at) = place(&pointers, subgroup);
            let stride = strides[subgroup * LANES].bits()[0] as usize * step;
            let found = machine.memory.load_matrix(global, at, stride, width, subgroup);
            let turned = |n: usize| if row_major { n } else { n % 16 * 16 + n / 16 };
            Value::Matrix(Rc::new(std::array::from_fn(|n| found[turned(n)])))
        })
    }

    pub(super) fn store_matrix(
        &mut self,
        frame: &mut Frame<'a>,
        target: Handle<Expression>,
        data: &naga::CooperativeData,
    ) {
        assert!(data.row_major);
        let matrices = self.value(frame, target);
        let (pointers, strides) = (self.value(frame, data.pointer), self.value(frame, data.stride));
        let [step, _] = self.steps(frame, data.pointer);
        for subgroup in (0..self.threads / LANES).filter(|&subgroup| frame.whole(subgroup)) {
            let (global, at) = place(&pointers, subgroup);
            let stride = strides[subgroup * LANES].bits()[0] as usize * step;
            let Value::Matrix(matrix) = &matrices[subgroup * LANES] else { panic!("no matrix") };
            self.memory.store_matrix(global, at, stride, subgroup, matrix);
        }
    }
}

/// Where all lanes of a subgroup point.
fn place(pointers: &[Value], subgroup: usize) -> (usize, usize) {
    let lanes = &pointers[subgroup * LANES..][..LANES];
    let at = |value: &Value| match value {
        Value::Global(global, at) => (*global, *at),
        other => panic!("{other:?}"),
    };
    assert!(
        lanes.iter().all(|lane| at(lane) == at(&lanes[0])),
        "the lanes of a subgroup point to several places"
    );
    at(&lanes[0])
}

fn multiply([a, b, c]: [&Value; 3]) -> Value {
    let [Value::Matrix(a), Value::Matrix(b), Value::Matrix(c)] = [a, b, c] else { panic!("no matrices") };
    let mut sums = **c;
    for (row, sums) in sums.chunks_mut(16).enumerate() {
        for k in 0..16 {
            let from = b[16 * k..].iter();
            sums.iter_mut().zip(from).for_each(|(sum, b)| *sum += a[16 * row + k] * b);
        }
    }
    Value::Matrix(Rc::new(sums))
}

fn bits_of(literal: &Literal) -> u32 {
    match *literal {
        Literal::F32(x) => x.to_bits(),
        Literal::U32(x) => x,
        Literal::I32(x) => x as u32,
        Literal::Bool(x) => x as u32,
        other => panic!("{other:?}"),
    }
}

fn unary(op: UnaryOperator, is_float: bool, x: u32) -> u32 {
    match op {
        UnaryOperator::Negate if is_float => (-float(x)).to_bits(),
        UnaryOperator::Negate => x.wrapping_neg(),
        UnaryOperator::LogicalNot => (x == 0) as u32,
        UnaryOperator::BitwiseNot => !x,
    }
}

fn of_floats(op: BinaryOperator, x: f32, y: f32) -> u32 {
    match op {
        BinaryOperator::Add => (x + y).to_bits(),
        BinaryOperator::Subtract => (x - y).to_bits(),
        BinaryOperator::Multiply => (x * y).to_bits(),
        BinaryOperator::Divide => (x / y).to_bits(),
        BinaryOperator::Less => (x < y) as u32,
        BinaryOperator::LessEqual => (x <= y) as u32,
        BinaryOperator::Greater => (x > y) as u32,
        BinaryOperator::GreaterEqual => (x >= y) as u32,
        other => panic!("{other:?}"),
    }
}

fn of_integers(op: BinaryOperator, x: i32, y: i32) -> u32 {
    match op {
        BinaryOperator::Less => (x < y) as u32,
        BinaryOperator::LessEqual => (x <= y) as u32,
        BinaryOperator::Greater => (x > y) as u32,
        BinaryOperator::GreaterEqual => (x >= y) as u32,
        other => of_words(other, x as u32, y as u32),
    }
}

fn of_words(op: BinaryOperator, x: u32, y: u32) -> u32 {
    match op {
        BinaryOperator::Add => x.wrapping_add(y),
        BinaryOperator::Subtract => x.wrapping_sub(y),
        BinaryOperator::Multiply => x.wrapping_mul(y),
        BinaryOperator::Divide => x / y.max(1),
        BinaryOperator::Modulo => x % y.max(1),
        BinaryOperator::Less => (x < y) as u32,
        BinaryOperator::LessEqual => (x <= y) as u32,
        BinaryOperator::Greater => (x > y) as u32,
        BinaryOperator::GreaterEqual => (x >= y) as u32,
        BinaryOperator::Equal => (x == y) as u32,
        BinaryOperator::NotEqual => (x != y) as u32,
        BinaryOperator::And | BinaryOperator::LogicalAnd => x & y,
        BinaryOperator::InclusiveOr | BinaryOperator::LogicalOr => x | y,
        BinaryOperator::ExclusiveOr => x ^ y,
        BinaryOperator::ShiftLeft => x << (y % 32),
        BinaryOperator::ShiftRight => x >> (y % 32),
    }
}

fn math(of: MathFunction, kind: ScalarKind, [x, y, z]: [u32; 3]) -> u32 {
    let is_float = kind == ScalarKind::Float;
    match (of, kind) {
        (MathFunction::Exp2, _) => float(x).exp2().to_bits(),
        (MathFunction::Log2, _) => float(x).log2().to_bits(),
        (MathFunction::Max, _) if is_float => float(x).max(float(y)).to_bits(),
        (MathFunction::Min, _) if is_float => float(x).min(float(y)).to_bits(),
        (MathFunction::Max, ScalarKind::Sint) => (x as i32).max(y as i32) as u32,
        (MathFunction::Min, ScalarKind::Sint) => (x as i32).min(y as i32) as u32,
        (MathFunction::Max, _) => x.max(y),
        (MathFunction::Min, _) => x.min(y),
        (MathFunction::Clamp, ScalarKind::Sint) => (x as i32).max(y as i32).min(z as i32) as u32,
        other => panic!("{other:?}"),
    }
}

/// From a kind and its bytes to another; without bytes the bits stay.
fn cast(from: (ScalarKind, usize), to: (ScalarKind, Option<usize>), x: u32) -> u32 {
    use ScalarKind::{Bool, Float, Sint, Uint};
    match (from, to) {
        ((_, 4), (_, None)) => x,
        ((Float, 4), (Float, Some(2))) => f16::from_f32(float(x)).to_bits() as u32,
        ((Float, 2), (Float, Some(4))) => f16::from_bits(x as u16).to_f32().to_bits(),
        ((Sint | Uint | Bool, _), (Sint | Uint, _)) => x,
        ((a, m), (b, Some(n))) if a == b && m == n => x,
        other => panic!("{other:?}"),
    }
}

//! Writes the instructions of a tape at a point, one text per lane; what all lanes share is computed once.

use std::collections::HashMap;

use farad_compile::program::{Code, Instr, Reg};
use farad_ir::{Binary, DType, Unary};

use super::access::{condition, index, load};
use super::code;
use super::module::WgslModule;
use super::point::{EvaluationPoint, LaneText};
use crate::dispatch::Word;

/// The texts of registers at a point.
pub(super) type RegisterTexts = HashMap<Reg, LaneText>;

/// Writes the instructions that `wanted` depends on and `scope` lacks, in tape order.
pub(super) fn evaluate(
    module: &mut WgslModule,
    tape: &[Instr],
    wanted: &[Reg],
    point: &EvaluationPoint,
    scope: &mut RegisterTexts,
) {
    let mut needed = vec![false; tape.len()];
    let mut pending = wanted.to_vec();
    while let Some(register) = pending.pop() {
        let at = register.0 as usize;
        if !needed[at] && !scope.contains_key(&register) {
            needed[at] = true;
            pending.extend(tape[at].code.operands());
        }
    }
    for at in (0..tape.len()).filter(|&at| needed[at]) {
        let value = instruction(module, tape, at, point, scope);
        scope.insert(Reg(at as u32), value);
    }
}

/// Writes one instruction whose operands are in scope.
fn instruction(
    module: &mut WgslModule,
    tape: &[Instr],
    at: usize,
    point: &EvaluationPoint,
    scope: &RegisterTexts,
) -> LaneText {
    let Instr { code: instr, dtype, .. } = &tape[at];
    let typed = |register: &Reg| tape[register.0 as usize].dtype.register();
    match instr {
        Code::Constant(scalar) => match code::literal(*scalar) {
            Some(text) => LaneText::one(text),
            None => {
                let word = module.word(Word::Fixed(scalar.word()));
                LaneText::one(code::from_word(*dtype, &word))
            }
        },
        Code::Parameter(number) => {
            let word = module.word(Word::Parameter(*number));
            LaneText::one(code::from_word(*dtype, &word))
        }
        Code::Load(buffer, view) => load(module, *buffer, view, point, None),
        Code::Take { .. } => take(module, instr, typed, point, scope),
        Code::Position(view) => {
            let LaneText(texts) = index(module, view, point);
            LaneText(texts.iter().map(|text| module.bind("v", &format!("bitcast<i32>({text})"))).collect())
        }
        Code::Random(registers, stream, view) => {
            let keys: Vec<&LaneText> =
                registers.iter().chain(stream).map(|register| &scope[register]).collect();
            random(module, &keys, view, point)
        }
        Code::Unary(op, x) => {
            let dtype = typed(x);
            lanes(module, tape, scope, &[*x], |texts| code::unary(*op, dtype, texts[0]))
        }
        Code::Binary(op, a, b) if typed(a) == DType::F32 => float_binary(module, tape, scope, *op, [*a, *b]),
        Code::Binary(op, a, b) => {
            let dtype = typed(a);
            lanes(module, tape, scope, &[*a, *b], |texts| code::binary(*op, dtype, texts[0], texts[1]))
        }
        Code::Select(c, a, b) => {
            lanes(module, tape, scope, &[*c, *a, *b], |t| format!("select({}, {}, {})", t[2], t[1], t[0]))
        }
        Code::Cast(x, to) => {
            let from = typed(x);
            if from == to.register() && !to.is_narrow() {
                return scope[x].clone();
            }
            lanes(module, tape, scope, &[*x], |texts| code::cast(from, *to, texts[0]))
        }
        Code::Reduce(..) | Code::Accumulator | Code::Carry(_) => {
            unreachable!("the kernel's form puts these into scope")
        }
    }
}

/// A binary op on floats, written so that drivers cannot assume away NaN, infinities and the sign of zero.
fn float_binary(
    module: &mut WgslModule,
    tape: &[Instr],
    scope: &RegisterTexts,
    op: Binary,
    [a, b]: [Reg; 2],
) -> LaneText {
    let code = |register: Reg| &tape[register.0 as usize].code;
    let negates = |one: Reg, other: Reg| matches!(code(one), Code::Unary(Unary::Neg, x) if *x == other);
    let (op, b) = match op {
        Binary::Add if negates(b, a) => (Binary::Sub, a),
        Binary::Add if negates(a, b) => return float_binary(module, tape, scope, Binary::Sub, [b, b]),
        _ => (op, b),
    };
    if a == b && code::beside_itself(op, "").is_some() {
        return lanes(module, tape, scope, &[a], |texts| {
            code::beside_itself(op, texts[0]).expect("there was one just now")
        });
    }
    let zero = |register: Reg| matches!(code(register), Code::Constant(scalar) if scalar.word() == 0);
    if matches!(op, Binary::Add | Binary::Sub | Binary::Mul) && (zero(a) || zero(b)) {
        let word = code::from_word(DType::F32, &module.word(Word::Fixed(0)));
        let values = [a, b].map(|x| if zero(x) { LaneText::one(word.clone()) } else { scope[&x].clone() });
        return each_lane(module, &values, |texts| code::binary(op, DType::F32, texts[0], texts[1]));
    }
    lanes(module, tape, scope, &[a, b], |texts| code::binary(op, DType::F32, texts[0], texts[1]))
}

/// Names an expression of registers in every lane, or once if no operand differs between lanes.
fn lanes(
    module: &mut WgslModule,
    tape: &[Instr],
    scope: &RegisterTexts,
    operands: &[Reg],
    text: impl Fn(&[&str]) -> String,
) -> LaneText {
    // WGSL rejects constant expressions that overflow; a named value is not a constant expression.
    let constant =
        operands.iter().all(|register| matches!(tape[register.0 as usize].code, Code::Constant(_)));
    let values: Vec<LaneText> = operands
        .iter()
        .map(|register| match constant {
            true => LaneText::one(module.bind("v", scope[register].lane(0))),
            false => scope[register].clone(),
        })
        .collect();
    each_lane(module, &values, text)
}

/// Names an expression of values in every lane, or once if none differs between lanes.
fn each_lane(module: &mut WgslModule, values: &[LaneText], text: impl Fn(&[&str]) -> String) -> LaneText {
    let count = values.iter().map(|value| value.0.len()).max().unwrap_or(1);
    let texts = (0..count).map(|lane| {
        let operands: Vec<&str> = values.iter().map(|value| value.lane(lane)).collect();
        module.bind("v", &text(&operands))
    });
    LaneText(texts.collect())
}

/// An element at a position that is known only at run time; positions out of range are clamped and reported.
fn take(
    module: &mut WgslModule,
    instr: &Code,
    typed: impl Fn(&Reg) -> DType,
    point: &EvaluationPoint,
    scope: &RegisterTexts,
) -> LaneText {
    let Code::Take { buffer, view, position, stride, size, site } = instr else {
        unreachable!("only called for takes")
    };
    let positions = &scope[position];
    let (limit, step) = (module.size(*size), module.number(stride));
    let exists = condition(module, view, point);
    let signed = typed(position) == DType::I32;
    let count = positions.0.len().max(exists.as_ref().map_or(1, |exists| exists.0.len()));
    let mut extra = Vec::new();
    for lane in 0..count {
        let text = positions.lane(lane);
        let raw = module.bind("q", &if signed { format!("bitcast<u32>({text})") } else { text.into() });
        // A negative position is a huge unsigned one; it is clamped to the first element.
        let nearest = match signed {
            true => format!("select({limit} - 1u, 0u, {raw} >= 0x80000000u)"),
            false => format!("{limit} - 1u"),
        };
        let outside = match &exists {
            Some(exists) => format!("{raw} >= {limit} && {}", exists.lane(lane)),
            None => format!("{raw} >= {limit}"),
        };
        module.report(&outside, *site, (&raw, signed));
        let inside = module.bind("q", &format!("select({raw}, {nearest}, {raw} >= {limit})"));
        extra.push(format!("{step} * {inside}"));
    }
    load(module, *buffer, view, point, Some((LaneText(extra), *stride)))
}

/// Philox bits; one block serves four aligned lanes.
fn random(
    module: &mut WgslModule,
    keys: &[&LaneText],
    view: &farad_compile::program::View,
    point: &EvaluationPoint,
) -> LaneText {
    let block = point.lanes == 4
        && point.aligned
        && keys.iter().all(|key| key.is_one())
        && view.strides[point.axis] == 1
        && view.offset % 4 == 0
        && view.strides.iter().enumerate().all(|(axis, stride)| axis == point.axis || stride % 4 == 0);
    let elements = index(module, view, point);
    let key = |lane: usize| {
        let texts: Vec<&str> = keys.iter().map(|key| key.lane(lane)).collect();
        let stream = texts.get(4).map_or(String::new(), |stream| format!("{stream}, "));
        format!("{stream}vec2<u32>({}, {}), vec2<u32>({}, {})", texts[2], texts[3], texts[0], texts[1])
    };
    let within = if keys.len() > 4 { "_within" } else { "" };
    if block {
        let words =
            module.bind("v", &format!("farad_philox{within}({} >> 2u, {})", elements.lane(0), key(0)));
        return LaneText(["x", "y", "z", "w"].iter().map(|lane| format!("{words}.{lane}")).collect());
    }
    let one = elements.is_one() && keys.iter().all(|key| key.is_one());
    let lanes = if one { 1 } else { point.lanes };
    LaneText(
        (0..lanes)
            .map(|lane| {
                let text = format!("farad_random{within}({}, {})", elements.lane(lane), key(lane));
                module.bind("v", &text)
            })
            .collect(),
    )
}

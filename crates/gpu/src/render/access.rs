//! Reading and writing elements: their addresses, whether four can be accessed at once, and conversion between
//! storage and registers.

use farad_compile::program::{BufferId, Guard, View};
use farad_ir::DType;

use super::code::type_name;
use super::module::{WgslModule, line};
use super::point::{EvaluationPoint, LaneText, Mask};

/// The terms of a sum, joined.
fn sum(terms: Vec<String>) -> String {
    if terms.is_empty() { "0u".into() } else { terms.join(" + ") }
}

/// `offset + Σ factors · index` for the first lane.
fn affine(module: &mut WgslModule, offset: &i64, factors: &[i64], point: &EvaluationPoint) -> Vec<String> {
    let mut terms = Vec::new();
    if *offset != 0 {
        terms.push(module.number(offset));
    }
    for (axis, factor) in factors.iter().enumerate().filter(|(_, factor)| **factor != 0) {
        match factor {
            1 => terms.push(point.index[axis].clone()),
            _ => terms.push(format!("{} * {}", module.number(factor), point.index[axis])),
        }
    }
    terms
}

/// `base` advanced to a lane along an axis with this factor.
fn moved(module: &mut WgslModule, base: &str, factor: &i64, point: &EvaluationPoint, lane: usize) -> String {
    match (*factor, lane) {
        (0, _) | (_, 0) => base.into(),
        (1, _) => format!("{base} + {}", point.steps[lane]),
        _ => format!("{base} + {} * {}", module.number(factor), point.steps[lane]),
    }
}

/// The index of a view in every lane (or once), without guards.
pub(super) fn index(module: &mut WgslModule, view: &View, point: &EvaluationPoint) -> LaneText {
    let terms = affine(module, &view.offset, &view.strides, point);
    let base = module.bind("i", &sum(terms));
    let factor = point.factor(&view.strides);
    if *factor == 0 {
        return LaneText::one(base);
    }
    LaneText((0..point.lanes).map(|lane| moved(module, &base, factor, point, lane)).collect())
}

/// Whether a guard holds either for all lanes of an even point or for none.
fn is_shared(guard: &Guard, point: &EvaluationPoint) -> bool {
    let fours = |list: &[i64]| list.iter().enumerate().all(|(axis, c)| axis == point.axis || c % 4 == 0);
    match *point.factor(&guard.coefficients) {
        0 => true,
        1 => {
            point.is_even()
                && point.lanes == 4
                && (guard.divisor, guard.offset % 4, guard.size % 4) == (1, 0, 0)
                && fours(&guard.coefficients)
        }
        _ => false,
    }
}

/// Whether four lanes are one aligned `vec4` of the buffer.
fn is_wide(module: &WgslModule, buffer: BufferId, view: &View, point: &EvaluationPoint) -> bool {
    point.lanes == 4
        && point.is_even()
        && module.at(module.bound(buffer)).wide
        && is_multiple(module, buffer, view, point, 4)
        && view.guards.iter().all(|guard| guard.stride % 4 == 0 && is_shared(guard, point))
}

/// Whether lanes are adjacent in memory, and the first lies at a multiple of `step` wherever its index along
/// the lanes' axis is one.
fn is_multiple(
    module: &WgslModule,
    buffer: BufferId,
    view: &View,
    point: &EvaluationPoint,
    step: i64,
) -> bool {
    view.strides[point.axis] == 1
        && view.offset % step == 0
        && view.strides.iter().enumerate().all(|(axis, stride)| axis == point.axis || stride % step == 0)
        && module.slot(buffer).is_none_or(|stride| stride as i64 % step == 0)
}

/// The conditions and the additions to the index that guards cause, per lane (or once).
fn guards(
    module: &mut WgslModule,
    view: &View,
    point: &EvaluationPoint,
) -> (Option<LaneText>, Vec<LaneText>) {
    let (mut conditions, mut additions) = (Vec::new(), Vec::new());
    for guard in &view.guards {
        let factor = point.factor(&guard.coefficients);
        let terms = affine(module, &guard.offset, &guard.coefficients, point);
        let base = module.bind("c", &sum(terms));
        let lanes = if is_shared(guard, point) { 1 } else { point.lanes };
        let size = module.number(&guard.size);
        let (mut holds, mut adds) = (Vec::new(), Vec::new());
        for lane in 0..lanes {
            let at = moved(module, &base, factor, point, lane);
            if guard.divisor == 1 {
                holds.push(format!("({at}) < {size}"));
                continue;
            }
            let (c, divisor) = (module.bind("c", &at), module.number(&guard.divisor));
            let position = module.bind("c", &format!("{c} / {divisor}"));
            // A negative sum is a huge unsigned one, which the sign test rejects.
            holds.push(format!("{c} < 0x80000000u && {position} < {size} && {position} * {divisor} == {c}"));
            adds.push(format!("{} * {position}", module.number(&guard.stride)));
        }
        conditions.push(LaneText(holds));
        if guard.stride != 0 {
            additions.push(LaneText(adds));
        }
    }
    if conditions.is_empty() {
        return (None, additions);
    }
    let lanes = conditions.iter().map(|condition| condition.0.len()).max().unwrap_or(1);
    let all = (0..lanes).map(|lane| {
        let parts: Vec<&str> = conditions.iter().map(|condition| condition.lane(lane)).collect();
        parts.join(" && ")
    });
    let all: Vec<String> = all.collect();
    let names = all.iter().map(|text| module.bind("ok", text)).collect();
    (Some(LaneText(names)), additions)
}

/// The condition under which a view's element exists, per lane (or once), if it has guards.
pub(super) fn condition(module: &mut WgslModule, view: &View, point: &EvaluationPoint) -> Option<LaneText> {
    guards(module, view, point).0
}

/// Whether four elements fit in a 32-bit word.
fn is_byte(dtype: DType) -> bool {
    matches!(dtype, DType::U8 | DType::I8)
}

/// The byte of a word that starts at this bit, as a register.
fn byte(dtype: DType, word: &str, shift: &str) -> String {
    match dtype {
        DType::I8 => format!("extractBits(bitcast<i32>({word}), {shift}, 8u)"),
        _ => format!("extractBits({word}, {shift}, 8u)"),
    }
}

/// A register's low byte in a word.
fn low_byte(dtype: DType, value: &str) -> String {
    match dtype {
        DType::I8 => format!("(bitcast<u32>({value}) & 255u)"),
        _ => format!("({value} & 255u)"),
    }
}

/// The WGSL that reads one element as a register; `at` is a name.
fn element(module: &WgslModule, bound: usize, at: &str) -> String {
    let bound = module.at(bound);
    let name = &bound.name;
    if is_byte(bound.dtype) {
        let word = if bound.atomic {
            format!("atomicLoad(&{name}[{at} >> 2u])")
        } else {
            format!("{name}[{at} >> 2u]")
        };
        return byte(bound.dtype, &word, &format!("({at} & 3u) << 3u"));
    }
    let word = match (bound.atomic, bound.wide) {
        (true, _) => format!("atomicLoad(&{name}[{at} >> 1u])"),
        (_, true) => format!("{name}[{at} >> 2u][({at} >> 1u) & 1u]"),
        _ => format!("{name}[{at} >> 1u]"),
    };
    match (bound.dtype, bound.wide) {
        (DType::F16, _) => format!("unpack2x16float({word})[{at} & 1u]"),
        (DType::BF16, _) => format!("farad_unpack_brain({word}, {at} & 1u)"),
        (DType::Bool, true) => format!("({name}[{at} >> 2u][{at} & 3u] != 0u)"),
        (DType::Bool, false) => format!("({name}[{at}] != 0u)"),
        (_, true) => format!("{name}[{at} >> 2u][{at} & 3u]"),
        (_, false) => format!("{name}[{at}]"),
    }
}

/// The zero of a register type, used where guards fail.
fn zero(dtype: DType) -> &'static str {
    match dtype.register() {
        DType::F32 => "0f",
        DType::I32 => "0i",
        DType::Bool => "false",
        _ => "0u",
    }
}

/// Reads a view's elements; `extra` is added to the index (per lane or once), and comes with a number that
/// divides it.
pub(super) fn load(
    module: &mut WgslModule,
    buffer: BufferId,
    view: &View,
    point: &EvaluationPoint,
    extra: Option<(LaneText, i64)>,
) -> LaneText {
    let bound = module.bound(buffer);
    let dtype = module.at(bound).dtype;
    let (condition, additions) = guards(module, view, point);
    let mut terms = affine(module, &view.offset, &view.strides, point);
    if module.slot(buffer).is_some() {
        terms.push(module.word(crate::dispatch::Word::Slot(buffer)));
    }
    let mut parts = additions;
    let multiple = extra.as_ref().map_or(0, |(_, multiple)| *multiple);
    parts.extend(extra.map(|(value, _)| value));
    parts.retain(|part| {
        if part.is_one() {
            terms.push(part.0[0].clone());
            false
        } else {
            true
        }
    });
    let base = module.bind("i", &sum(terms));
    let one = parts.is_empty() && condition.as_ref().is_none_or(LaneText::is_one);
    if one && multiple % 4 == 0 && is_wide(module, buffer, view, point) {
        return load_wide(module, bound, &base, condition.as_ref());
    }
    let factor = point.factor(&view.strides);
    let lanes = if one && *factor == 0 { 1 } else { point.lanes };
    let mut values = Vec::new();
    for lane in 0..lanes {
        let mut at = moved(module, &base, factor, point, lane);
        parts.iter().for_each(|part| at = format!("{at} + {}", part.lane(lane)));
        let name = match &condition {
            Some(ok) => module.bind("i", &format!("select(0u, {at}, {})", ok.lane(lane))),
            None if lane == 0 && at == base => base.clone(),
            None => module.bind("i", &at),
        };
        let text = element(module, bound, &name);
        let text = match &condition {
            Some(ok) => format!("select({}, {text}, {})", zero(dtype), ok.lane(lane)),
            None => text,
        };
        values.push(module.bind("v", &text));
    }
    LaneText(values)
}

/// The index of the `vec4` that a point's lanes form, and the condition under which it exists, if any; `None`
/// if the lanes do not form one `vec4`.
pub(super) fn wide_place(
    module: &mut WgslModule,
    buffer: BufferId,
    view: &View,
    point: &EvaluationPoint,
) -> Option<(String, Option<String>)> {
    if !is_wide(module, buffer, view, point) {
        return None;
    }
    let (condition, additions) = guards(module, view, point);
    let mut terms = affine(module, &view.offset, &view.strides, point);
    if module.slot(buffer).is_some() {
        terms.push(module.word(crate::dispatch::Word::Slot(buffer)));
    }
    terms.extend(additions.into_iter().map(|addition| addition.lane(0).to_string()));
    let base = module.bind("i", &sum(terms));
    let condition = condition.map(|ok| ok.lane(0).to_string());
    let at = condition.as_ref().map_or(base.clone(), |ok| format!("select(0u, {base}, {ok})"));
    Some((format!("({at}) >> 2u"), condition))
}

/// Reads one `vec4` at an aligned index.
fn load_wide(module: &mut WgslModule, bound: usize, base: &str, condition: Option<&LaneText>) -> LaneText {
    module.take_wide(bound);
    let (name, dtype) = (module.at(bound).name.clone(), module.at(bound).dtype);
    let at = match condition {
        Some(ok) => format!("select(0u, {base}, {})", ok.lane(0)),
        None => base.into(),
    };
    let mut text = format!("{name}[({at}) >> 2u]");
    match dtype {
        DType::F16 => {
            let words = module.bind("h", &text);
            text = format!("vec4<f32>(unpack2x16float({words}.x), unpack2x16float({words}.y))");
        }
        DType::BF16 => {
            let words = module.bind("h", &text);
            let parts = ["x << 16u", "x & 0xffff0000u", "y << 16u", "y & 0xffff0000u"];
            let parts = parts.map(|part| format!("{words}.{part}")).join(", ");
            text = format!("bitcast<vec4<f32>>(vec4<u32>({parts}))");
        }
        DType::U8 | DType::I8 => {
            let word = module.bind("h", &text);
            let parts = ["0u", "8u", "16u", "24u"].map(|shift| byte(dtype, &word, shift)).join(", ");
            text = format!("vec4<{}>({parts})", type_name(dtype));
        }
        DType::Bool => text = format!("{text} != vec4<u32>()"),
        _ => {}
    }
    if let Some(ok) = condition {
        text = format!("select(vec4<{}>(), {text}, {})", type_name(dtype), ok.lane(0));
    }
    let vector = module.bind("v", &text);
    LaneText(["x", "y", "z", "w"].iter().map(|lane| format!("{vector}.{lane}")).collect())
}

/// Writes a value to a view's elements, in the lanes that exist.
pub(super) fn store(
    module: &mut WgslModule,
    buffer: BufferId,
    view: &View,
    value: &LaneText,
    point: &EvaluationPoint,
) {
    let bound = module.bound(buffer);
    let dtype = module.at(bound).dtype;
    let mut terms = affine(module, &view.offset, &view.strides, point);
    if module.slot(buffer).is_some() {
        terms.push(module.word(crate::dispatch::Word::Slot(buffer)));
    }
    let base = module.bind("i", &sum(terms));
    if is_wide(module, buffer, view, point) {
        return store_wide(module, bound, &base, value, point);
    }
    if dtype.is_half() && store_words(module, buffer, view, &base, value, point) {
        return;
    }
    let factor = point.factor(&view.strides);
    let group = if let Mask::Group(condition) = &point.mask { Some(condition.clone()) } else { None };
    group.iter().for_each(|condition| line!(module, "if ({condition}) {{"));
    for lane in 0..point.lanes {
        let at = moved(module, &base, factor, point, lane);
        if let Mask::Each(conditions) = &point.mask {
            line!(module, "if ({}) {{", conditions[lane]);
        }
        store_element(module, bound, &at, value.lane(lane));
        if let Mask::Each(_) = &point.mask {
            module.line("}");
        }
    }
    group.iter().for_each(|_| module.line("}"));
}

/// The word that packs two 16-bit floats.
fn pair(dtype: DType, low: &str, high: &str) -> String {
    let function = if dtype == DType::BF16 { "farad_brains" } else { "farad_halves" };
    format!("{function}({low}, {high})")
}

fn store_element(module: &mut WgslModule, bound: usize, at: &str, value: &str) {
    let (name, dtype, wide) = (module.at(bound).name.clone(), module.at(bound).dtype, module.at(bound).wide);
    if dtype.is_half() {
        // Two threads may own the two halves of a word: each clears and sets only its own.
        module.share_words(bound);
        let at = module.bind("i", at);
        let shift = module.bind("h", &format!("({at} & 1u) << 4u"));
        if module.at(bound).atomic {
            line!(module, "atomicAnd(&{name}[{at} >> 1u], 0xffff0000u >> {shift});");
            let word = pair(dtype, value, "0f");
            line!(module, "atomicOr(&{name}[{at} >> 1u], {word} << {shift});");
        }
        return;
    }
    if is_byte(dtype) {
        // Four threads may own the bytes of a word, as two own its halves.
        module.share_words(bound);
        let at = module.bind("i", at);
        let shift = module.bind("h", &format!("({at} & 3u) << 3u"));
        if module.at(bound).atomic {
            line!(module, "atomicAnd(&{name}[{at} >> 2u], ~(255u << {shift}));");
            line!(module, "atomicOr(&{name}[{at} >> 2u], {} << {shift});", low_byte(dtype, value));
        }
        return;
    }
    let value = if dtype == DType::Bool { format!("u32({value})") } else { value.into() };
    if wide {
        let at = module.bind("i", at);
        line!(module, "{name}[{at} >> 2u][{at} & 3u] = {value};");
    } else {
        line!(module, "{name}[{at}] = {value};");
    }
}

fn store_wide(module: &mut WgslModule, bound: usize, base: &str, value: &LaneText, point: &EvaluationPoint) {
    module.take_wide(bound);
    let (name, dtype) = (module.at(bound).name.clone(), module.at(bound).dtype);
    let lanes: Vec<&str> = (0..4).map(|lane| value.lane(lane)).collect();
    let text = match dtype {
        DType::F16 | DType::BF16 => {
            format!("vec2<u32>({}, {})", pair(dtype, lanes[0], lanes[1]), pair(dtype, lanes[2], lanes[3]))
        }
        DType::U8 | DType::I8 => {
            let bytes = lanes.iter().zip(["0u", "8u", "16u", "24u"]);
            let bytes = bytes.map(|(lane, shift)| format!("({} << {shift})", low_byte(dtype, lane)));
            bytes.collect::<Vec<_>>().join(" | ")
        }
        DType::Bool => format!("vec4<u32>(vec4<bool>({}))", lanes.join(", ")),
        _ => format!("vec4<{}>({})", type_name(dtype), lanes.join(", ")),
    };
    match point.exists(0) {
        Some(condition) => {
            line!(module, "if ({condition}) {{");
            line!(module, "{name}[({base}) >> 2u] = {text};");
            module.line("}");
        }
        None => line!(module, "{name}[({base}) >> 2u] = {text};"),
    }
}

/// Writes 16-bit floats as whole words if no word is shared with another thread; returns whether it could.
fn store_words(
    module: &mut WgslModule,
    buffer: BufferId,
    view: &View,
    base: &str,
    value: &LaneText,
    point: &EvaluationPoint,
) -> bool {
    let bound = module.bound(buffer);
    let len = module.program.buffers[buffer.0 as usize].len;
    // An odd last element shares its word only with padding, but only at the buffer's end.
    let end =
        view.strides.len() == 1 && view.offset as usize + point.size == len && module.slot(buffer).is_none();
    let whole = !matches!(point.mask, Mask::Each(_)) || point.size.is_multiple_of(2) || end;
    let pairs = point.lanes.is_multiple_of(2) && point.aligned && is_multiple(module, buffer, view, point, 2);
    if !pairs || !whole || module.at(bound).atomic {
        return false;
    }
    let (name, dtype) = (module.at(bound).name.clone(), module.at(bound).dtype);
    for pair in (0..point.lanes).step_by(2) {
        let text = self::pair(dtype, value.lane(pair), value.lane(pair + 1));
        let at = if pair == 0 { base.to_string() } else { format!("{base} + {pair}u") };
        match point.exists(pair) {
            Some(condition) => {
                line!(module, "if ({condition}) {{");
                line!(module, "{name}[({at}) >> 1u] = {text};");
                module.line("}");
            }
            None => line!(module, "{name}[({at}) >> 1u] = {text};"),
        }
    }
    true
}

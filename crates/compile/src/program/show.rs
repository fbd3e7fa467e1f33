//! Programs as text, for golden tests and for `FARAD_DEBUG=plan`.

use std::fmt;

use crate::program::{
    BufferId, Code, Fused, Instr, Kernel, Level, Place, Product, Program, ProgramStep, Recurrence, Store,
    View,
};

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, spec) in self.inputs.iter().enumerate() {
            writeln!(f, "input {n}: {}[{}]", spec.dtype, spec.len)?;
        }
        for (n, output) in self.outputs.iter().enumerate() {
            let donor = output.donor.map_or(String::new(), |d| format!(" in place of input {d}"));
            writeln!(f, "output {n}: {}[{}]{donor}", output.spec.dtype, output.spec.len)?;
        }
        writeln!(f, "blocks: {:?}", self.blocks)?;
        for (n, b) in self.buffers.iter().enumerate() {
            writeln!(f, "buffer b{n}: {}[{}] in {} at {}", b.dtype, b.len, b.place, b.offset)?;
        }
        self.steps.iter().try_for_each(|step| show_step(f, step, ""))
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Input(n) => write!(f, "input {n}"),
            Place::Output(n) => write!(f, "output {n}"),
            Place::Block(n) => write!(f, "block {n}"),
        }
    }
}

impl fmt::Display for BufferId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "b{}", self.0)
    }
}

fn show_step(f: &mut fmt::Formatter<'_>, step: &ProgramStep, indent: &str) -> fmt::Result {
    write!(f, "{indent}wave {} {}: ", step.wave, step.label)?;
    match &step.kernel {
        Kernel::Fused(k) => show_fused(f, k, indent),
        Kernel::Product(k) => show_product(f, k, indent),
        Kernel::Scatter(k) => writeln!(
            f,
            "scatter {:?} axis {} size {} b{} by b{}{} -> b{}",
            k.axes,
            k.axis,
            k.size,
            k.source.0.0,
            k.index.0.0,
            match k.order {
                Some(order) => format!(" in order b{}", order.0),
                None => (if k.distinct { " distinct" } else { "" }).into(),
            },
            k.target.0
        ),
        Kernel::Sums(k) => {
            writeln!(f, "sums b{} -> b{}", k.source.0, k.target.0)?;
            k.segments.iter().try_for_each(|s| {
                writeln!(f, "{indent}    {}+[{}, {}] -> {}", s.from, s.parts, s.results, s.to)
            })
        }
        Kernel::Sort(k) => writeln!(
            f,
            "{} {} rows of {} {:?} b{} -> b{} scratch {:?}",
            if k.taken < k.len { format!("first {} of", k.taken) } else { "sort".into() },
            k.rows,
            k.len,
            k.keys,
            k.operand.0,
            k.order.0,
            k.scratch.iter().map(|b| b.0).collect::<Vec<_>>()
        ),
        Kernel::Custom(k) => {
            writeln!(f, "custom {} -> {:?}", k.op.name(), k.results.iter().map(|b| b.0).collect::<Vec<_>>())
        }
        Kernel::Loop(k) => {
            writeln!(
                f,
                "loop {}{} slots {:?} swaps {:?}",
                k.trips,
                if k.reverse { " reversed" } else { "" },
                k.slots,
                k.swaps
            )?;
            k.steps.iter().try_for_each(|s| show_step(f, s, "  "))
        }
        Kernel::Recurrence(k) => show_recurrence(f, k, indent),
    }
}

fn show_fused(f: &mut fmt::Formatter<'_>, k: &Fused, indent: &str) -> fmt::Result {
    writeln!(f, "fused {:?} reduced {:?}", &k.axes[..k.outer], &k.axes[k.outer..])?;
    show_tape(f, &k.tape, indent, !k.axes[k.outer..].is_empty())?;
    show_stores(f, &k.stores, indent)
}

fn show_recurrence(f: &mut fmt::Formatter<'_>, k: &Recurrence, indent: &str) -> fmt::Result {
    writeln!(f, "recurrence {:?} positions {}", &k.axes[..k.axes.len() - 1], k.trips())?;
    show_tape(f, &k.tape, indent, true)?;
    for (n, carry) in k.carries.iter().enumerate() {
        let last = carry.last.as_ref();
        let last = last.map_or(String::new(), |(b, view)| format!(", at last b{}{}", b.0, show_view(view)));
        writeln!(f, "{indent}    carry {n}: first r{}, then r{}{last}", carry.start.0, carry.next.0)?;
    }
    show_stores(f, &k.stores, indent)
}

fn show_product(f: &mut fmt::Formatter<'_>, k: &Product, indent: &str) -> fmt::Result {
    let [m, n, terms] = [&k.m, &k.n, &k.k].map(|axes| match axes[..] {
        [size] => size.to_string(),
        _ => format!("{axes:?}"),
    });
    writeln!(f, "product batch {:?} m {m} n {n} k {terms}", k.batch)?;
    writeln!(f, "{indent}  lhs r{}", k.lhs.value.0)?;
    show_tape(f, &k.lhs.tape, indent, false)?;
    writeln!(f, "{indent}  rhs r{}", k.rhs.value.0)?;
    show_tape(f, &k.rhs.tape, indent, false)?;
    writeln!(f, "{indent}  epilogue")?;
    show_tape(f, &k.epilogue, indent, false)?;
    show_stores(f, &k.stores, indent)
}

fn show_tape(f: &mut fmt::Formatter<'_>, tape: &[Instr], indent: &str, levels: bool) -> fmt::Result {
    for (n, instr) in tape.iter().enumerate() {
        let level = if levels && instr.level == Level::Outer { " (outer)" } else { "" };
        writeln!(f, "{indent}    r{n}: {} = {}{level}", instr.dtype, show_code(&instr.code))?;
    }
    Ok(())
}

fn show_stores(f: &mut fmt::Formatter<'_>, stores: &[Store], indent: &str) -> fmt::Result {
    stores
        .iter()
        .try_for_each(|s| writeln!(f, "{indent}    b{}{} <- r{}", s.buffer.0, show_view(&s.view), s.value.0))
}

fn show_code(code: &Code) -> String {
    match code {
        Code::Constant(s) => format!("{s}"),
        Code::Parameter(n) => format!("parameter {n}"),
        Code::Load(b, view) => format!("b{}{}", b.0, show_view(view)),
        Code::Take { buffer, view, position, stride, size, .. } => {
            format!("b{}{} at r{} of {size} by {stride}", buffer.0, show_view(view), position.0)
        }
        Code::Position(view) => format!("position {}", show_view(view)),
        Code::Random(key, stream, view) => {
            let stream = stream.map_or(String::new(), |r| format!("stream r{} ", r.0));
            format!("random {:?} {stream}{}", key.map(|r| r.0), show_view(view))
        }
        Code::Unary(op, x) => format!("{} r{}", op.row().name, x.0),
        Code::Binary(op, a, b) => format!("{} r{} r{}", op.row().name, a.0, b.0),
        Code::Select(c, a, b) => format!("select r{} r{} r{}", c.0, a.0, b.0),
        Code::Cast(x, to) => format!("cast r{} {to}", x.0),
        Code::Reduce(op, x) => format!("reduce {} r{}", op.row().name, x.0),
        Code::Accumulator => "accumulator".into(),
        Code::Carry(n) => format!("carry {n}"),
    }
}

fn show_view(view: &View) -> String {
    let guards: String = view
        .guards
        .iter()
        .map(|g| format!(" if 0 <= ({:?} + {}) / {} < {}", g.coefficients, g.offset, g.divisor, g.size))
        .collect();
    let offset = if view.offset == 0 { String::new() } else { format!("{}+", view.offset) };
    format!("[{offset}{:?}{guards}]", view.strides)
}

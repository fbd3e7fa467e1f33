//! Kernels as functions, one function here per form.
//!
//! Invariant: a function's parameters are the buffers that its kernel names, in the order in which they come up. So
//! kernels that differ in their buffers alone have one text.

use std::collections::BTreeSet;

use farad_compile::program::{
    BufferId, Code, Fused, Instr, Kernel, Level, Product, Recurrence, Reg, Scatter, Store,
};
use farad_ir::{DType, Reduce};

use crate::error::ScriptError;
use crate::tape::TapeText;
use crate::view::{Axes, axes, index};

/// The text of a kernel.
#[derive(Default)]
pub struct KernelText {
    /// The buffers that its parameters stand for.
    pub buffers: Vec<BufferId>,
    /// The function's body.
    pub body: String,
    /// Counters of the random numbers that it draws.
    pub counters: BTreeSet<u64>,
    label: String,
    open: usize,
}

impl KernelText {
    /// Of a kernel that is no loop.
    pub fn of(kernel: &Kernel, label: &str) -> Result<KernelText, ScriptError> {
        let mut text = KernelText { label: label.into(), ..KernelText::default() };
        match kernel {
            Kernel::Fused(fused) => text.fused(fused)?,
            Kernel::Product(product) => text.product(product)?,
            Kernel::Scatter(scatter) => text.scatter(scatter),
            Kernel::Sums(sums) => sums.apart().iter().try_for_each(|sum| text.fused(sum))?,
            Kernel::Recurrence(recurrence) => text.recurrence(recurrence)?,
            Kernel::Sort(_) => return Err(text.refused("a sort")),
            Kernel::Custom(_) => return Err(text.refused("a custom op")),
            Kernel::Loop(_) => return Err(text.refused("a loop in a loop")),
        }
        Ok(text)
    }

    /// The error of what cannot be written.
    pub fn refused(&self, what: &'static str) -> ScriptError {
        ScriptError::Form { what, label: self.label.clone() }
    }

    /// The parameter that stands for a buffer.
    pub fn buffer(&mut self, id: BufferId) -> String {
        let known = self.buffers.iter().position(|&other| other == id);
        let at = known.unwrap_or_else(|| {
            self.buffers.push(id);
            self.buffers.len() - 1
        });
        format!("b{at}")
    }

    /// Adds a line.
    pub fn line(&mut self, text: &str) {
        self.body.push_str(text);
        self.body.push('\n');
    }

    /// Opens a loop per axis that has more than one position.
    fn open(&mut self, names: &Axes, sizes: &[usize]) {
        // A block of its own keeps the names of kernels that share a function apart.
        self.line("{");
        self.open += 1;
        for (name, size) in names.iter().zip(sizes) {
            if let Some(name) = name {
                self.line(&format!("for(let {name}=0;{name}<{size};{name}++){{"));
                self.open += 1;
            }
        }
    }

    /// Closes what was opened since there were so many.
    fn close(&mut self, until: usize) {
        while self.open > until {
            self.line("}");
            self.open -= 1;
        }
    }

    fn store(&mut self, store: &Store, value: &str, axes: &Axes) {
        let (buffer, at) = (self.buffer(store.buffer), index(&store.view, axes).0);
        self.line(&format!("{buffer}[{at}]={value};"));
    }

    /// A pass over the reduced axes per level of reductions, then one that stores.
    fn fused(&mut self, fused: &Fused) -> Result<(), ScriptError> {
        let (names, tape) = (axes("i", &fused.axes), TapeText::new(&fused.tape, "r"));
        let depths = depths(&fused.tape);
        let before = self.open;
        self.open(&names[..fused.outer], &fused.axes[..fused.outer]);
        let inner = (&names[fused.outer..], &fused.axes[fused.outer..]);
        for depth in 0..=depths.iter().copied().max().unwrap_or(0) {
            tape.some(self, &names, |n| {
                let instr = &fused.tape[n];
                depths[n] == depth && instr.level == Level::Outer && !matches!(instr.code, Code::Reduce(..))
            })?;
            let reductions: Vec<usize> = (0..fused.tape.len())
                .filter(|&n| depths[n] == depth + 1 && matches!(fused.tape[n].code, Code::Reduce(..)))
                .collect();
            if !reductions.is_empty() {
                self.reductions(fused, &tape, &reductions, inner, &names)?;
            }
        }
        let at_level = |level: Level| {
            fused.stores.iter().filter(move |store| fused.tape[store.value.0 as usize].level == level)
        };
        let needed = tape.needed(at_level(Level::Full).map(|store| store.value));
        let outside = self.open;
        if at_level(Level::Full).next().is_some() {
            self.open(inner.0, inner.1);
            tape.some(self, &names, |n| needed.contains(&n))?;
            at_level(Level::Full).for_each(|store| self.store(store, tape.name(store.value), &names));
            self.close(outside);
        }
        at_level(Level::Outer).for_each(|store| self.store(store, tape.name(store.value), &names));
        self.close(before);
        Ok(())
    }

    /// One pass over the reduced axes for these reductions.
    fn reductions(
        &mut self,
        fused: &Fused,
        tape: &TapeText,
        reductions: &[usize],
        inner: (&Axes, &[usize]),
        names: &Axes,
    ) -> Result<(), ScriptError> {
        let parts: Vec<(usize, Reduce, Reg)> = reductions
            .iter()
            .filter_map(|&n| match fused.tape[n].code {
                Code::Reduce(op, x) => Some((n, op, x)),
                _ => None,
            })
            .collect();
        let needed: BTreeSet<usize> = tape.needed(parts.iter().map(|(_, _, x)| *x));
        for (n, op, _) in &parts {
            self.line(&format!("let s{n}={};", start(*op)));
            if matches!(op, Reduce::ArgMax | Reduce::ArgMin) {
                self.line(&format!("let at{n}=-1,k{n}=0;"));
            }
        }
        let outside = self.open;
        self.open(inner.0, inner.1);
        tape.some(self, names, |n| needed.contains(&n))?;
        for (n, op, x) in &parts {
            let floats = fused.tape[x.0 as usize].dtype.register() == DType::F32;
            self.line(&combined(*op, *n, tape.name(*x), floats));
        }
        self.close(outside);
        for (n, op, x) in &parts {
            let floats = fused.tape[x.0 as usize].dtype.register() == DType::F32;
            let value = match op {
                Reduce::ArgMax | Reduce::ArgMin => format!("at{n}"),
                Reduce::Sum if floats => format!("f(s{n})"),
                _ => format!("s{n}"),
            };
            self.line(&format!("const {}={value};", tape.name(Reg(*n as u32))));
        }
        Ok(())
    }

    fn product(&mut self, product: &Product) -> Result<(), ScriptError> {
        let [batch, m, n, k] =
            [("b_", &product.batch), ("m", &product.m), ("n", &product.n), ("k", &product.k)]
                .map(|(letter, sizes)| axes(letter, sizes));
        let (left, right, result) =
            ([&batch[..], &m, &k].concat(), [&batch[..], &k, &n].concat(), [&batch[..], &m, &n].concat());
        let before = self.open;
        self.open(&result, &product.axes()[2]);
        self.line("let total=0;");
        let outside = self.open;
        self.open(&k, &product.k);
        let (lhs, rhs) = (TapeText::new(&product.lhs.tape, "l"), TapeText::new(&product.rhs.tape, "r"));
        lhs.all(self, &left)?;
        rhs.all(self, &right)?;
        self.line(&format!("total+={}*{};", lhs.name(product.lhs.value), rhs.name(product.rhs.value)));
        self.close(outside);
        self.line("const product=f(total);");
        let epilogue = TapeText::new(&product.epilogue, "e");
        epilogue.all(self, &result)?;
        product.stores.iter().for_each(|store| self.store(store, epilogue.name(store.value), &result));
        self.close(before);
        Ok(())
    }

    fn scatter(&mut self, scatter: &Scatter) {
        let names = axes("i", &scatter.axes);
        let mut sizes = scatter.axes.clone();
        sizes[scatter.axis] = scatter.size;
        let [target, source, places] =
            [scatter.target, scatter.source.0, scatter.index.0].map(|id| self.buffer(id));
        self.line(&format!("{target}.fill(0,0,{});", sizes.iter().product::<usize>()));
        let before = self.open;
        self.open(&names, &scatter.axes);
        let guarded = |buffer: &str, (at, when): (String, Option<String>)| {
            when.map_or(format!("{buffer}[{at}]"), |when| format!("({when}?{buffer}[{at}]:0)"))
        };
        self.line(&format!("const at={};", guarded(&places, index(&scatter.index.1, &names))));
        let mut stride = 1;
        let mut terms = vec![];
        for (axis, size) in sizes.iter().enumerate().rev() {
            let name = if axis == scatter.axis { Some("at") } else { names[axis].as_deref() };
            terms.extend(name.map(|name| format!("{stride}*{name}")));
            stride *= size;
        }
        let (sum, value) = (terms.join("+"), guarded(&source, index(&scatter.source.1, &names)));
        self.line(&format!("if(at>=0&&at<{}){target}[{sum}]+={value};", scatter.size));
        self.close(before);
    }

    fn recurrence(&mut self, of: &Recurrence) -> Result<(), ScriptError> {
        let (names, tape) = (axes("i", &of.axes), TapeText::new(&of.tape, "r"));
        let last = of.axes.len() - 1;
        let before = self.open;
        self.open(&names[..last], &of.axes[..last]);
        tape.some(self, &names, |n| of.tape[n].level == Level::Outer)?;
        for (n, carry) in of.carries.iter().enumerate() {
            self.line(&format!("let carry{n}={};", tape.name(carry.start)));
        }
        let outside = self.open;
        self.open(&names[last..], &of.axes[last..]);
        tape.some(self, &names, |n| of.tape[n].level == Level::Full)?;
        of.stores.iter().for_each(|store| self.store(store, tape.name(store.value), &names));
        for (n, carry) in of.carries.iter().enumerate() {
            self.line(&format!("carry{n}={};", tape.name(carry.next)));
        }
        self.close(outside);
        for (n, carry) in of.carries.iter().enumerate() {
            let Some((buffer, view)) = &carry.last else { continue };
            let (buffer, at) = (self.buffer(*buffer), index(view, &names).0);
            self.line(&format!("{buffer}[{at}]=carry{n};"));
        }
        self.close(before);
        Ok(())
    }
}

/// How many reductions follow each other up to every register.
fn depths(tape: &[Instr]) -> Vec<usize> {
    let mut depths: Vec<usize> = Vec::with_capacity(tape.len());
    for instr in tape {
        let below = instr.code.operands().iter().map(|x| depths[x.0 as usize]).max().unwrap_or(0);
        depths.push(below + usize::from(matches!(instr.code, Code::Reduce(..))));
    }
    depths
}

/// What a reduction starts from.
fn start(op: Reduce) -> &'static str {
    match op {
        Reduce::Sum => "0",
        Reduce::Prod => "1",
        Reduce::Max => "-Infinity",
        Reduce::Min => "Infinity",
        Reduce::ArgMax | Reduce::ArgMin => "NaN",
    }
}

/// A reduction with one more value. NaN wins over all numbers.
fn combined(op: Reduce, n: usize, x: &str, floats: bool) -> String {
    let best = |sign: &str| {
        format!("if(at{n}<0||{x}{sign}s{n}||({x}!=={x}&&s{n}===s{n})){{s{n}={x};at{n}=k{n};}}k{n}++;")
    };
    match op {
        Reduce::Sum if floats => format!("s{n}+={x};"),
        Reduce::Sum => format!("s{n}=(s{n}+{x})|0;"),
        Reduce::Prod if floats => format!("s{n}=f(s{n}*{x});"),
        Reduce::Prod => format!("s{n}=Math.imul(s{n},{x});"),
        Reduce::Max => format!("s{n}=Math.max(s{n},{x});"),
        Reduce::Min => format!("s{n}=Math.min(s{n},{x});"),
        Reduce::ArgMax => best(">"),
        Reduce::ArgMin => best("<"),
    }
}

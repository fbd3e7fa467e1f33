//! Programs: memory, a function per kernel, and the calls of a run.

use std::collections::{BTreeSet, HashMap};
use std::fmt::Write;

use farad_compile::program::{BufferId, Kernel, Loop, Place, Program, ProgramStep};
use farad_ir::DType;

use crate::error::ScriptError;
use crate::expression::{PRELUDE, RANDOM, is_written};
use crate::kernel::KernelText;

/// The names of a program's ends.
pub struct Ports {
    /// Of the first inputs; the rest are constants.
    pub inputs: Vec<String>,
    /// Of all outputs.
    pub outputs: Vec<String>,
}

/// What an input holds, as text.
pub struct Constant(String);

impl Constant {
    /// From texts of all elements.
    pub fn of(elements: impl Iterator<Item = String>) -> Constant {
        Constant(elements.collect::<Vec<_>>().join(","))
    }
}

/// A program as an expression.
pub fn write(program: &Program, ports: &Ports, constants: &[Constant]) -> Result<String, ScriptError> {
    if let Some(dtype) = program.buffers.iter().map(|buffer| buffer.dtype).find(|&dtype| !is_written(dtype)) {
        return Err(ScriptError::DType { dtype });
    }
    let mut writer = Writer::new(program);
    let mut calls = String::new();
    for step in &program.steps {
        calls.push_str(&writer.step(step)?);
    }
    let functions = std::mem::take(&mut writer.text);
    let memory = writer.memory(ports, constants);
    let named = |names: &[String], of: fn(usize) -> String| {
        let all: Vec<String> =
            names.iter().enumerate().map(|(n, name)| format!("{name}:{}", of(n))).collect();
        all.join(",")
    };
    let inputs = named(&ports.inputs, |n| format!("x{n}"));
    let outputs = named(&ports.outputs, |n| format!("y{n}"));
    let (random, counted) = writer.random();
    Ok(format!(
        "(()=>{{\n\"use strict\";\n{PRELUDE}{random}{memory}{functions}const script={{inputs:{{{inputs}}},outputs:{{{outputs}}},\
         runs:0,run(){{\n{counted}script.runs++;\n{calls}}}}};\nreturn script;\n}})()"
    ))
}

struct Writer<'a> {
    program: &'a Program,
    /// The numbers of functions by their texts.
    functions: HashMap<String, usize>,
    /// The functions.
    text: String,
    /// Buffers that calls name.
    used: Vec<BufferId>,
    /// Counters of the random numbers that a run draws.
    counters: BTreeSet<u64>,
}

impl<'a> Writer<'a> {
    fn new(program: &'a Program) -> Writer<'a> {
        let (functions, counters) = (HashMap::new(), BTreeSet::new());
        Writer { program, functions, text: String::new(), used: vec![], counters }
    }

    /// What a script with random numbers has more, and what a run of it begins with.
    fn random(&self) -> (&'static str, String) {
        if self.counters.is_empty() {
            return ("", String::new());
        }
        // Those of the device; the others do not move on.
        let mut own = self.counters.iter().filter(|counter| **counter >> 63 == 1);
        let draws = own.next().map_or(0, |first| own.next_back().unwrap_or(first) - first + 1);
        (RANDOM, format!("ahead={draws}*script.runs;\nkey[0]=-1;\n"))
    }

    /// The calls of a step.
    fn step(&mut self, step: &ProgramStep) -> Result<String, ScriptError> {
        if let Kernel::Loop(of) = &step.kernel {
            return self.repeated(of);
        }
        let (function, buffers) = self.function(step)?;
        let names: Vec<String> = buffers.iter().map(|id| self.name(*id)).collect();
        Ok(format!("k{function}({});\n", names.join(",")))
    }

    /// The function of a kernel, and the buffers that it is called with.
    fn function(&mut self, step: &ProgramStep) -> Result<(usize, Vec<BufferId>), ScriptError> {
        let kernel = KernelText::of(&step.kernel, &step.label)?;
        let next = self.functions.len();
        let parameters: Vec<String> = (0..kernel.buffers.len()).map(|n| format!("b{n}")).collect();
        let text = format!("({}){{\n{}}}\n", parameters.join(","), kernel.body);
        let number = *self.functions.entry(text).or_insert_with_key(|text| {
            let _ = write!(self.text, "function k{next}{text}");
            next
        });
        self.counters.extend(kernel.counters);
        Ok((number, kernel.buffers))
    }

    /// A loop. In every trip, buffers of sequences are seen from their slice on, and pairs are swapped.
    fn repeated(&mut self, of: &Loop) -> Result<String, ScriptError> {
        let mut body = String::new();
        let mut inside: Vec<BufferId> = vec![];
        for step in &of.steps {
            let (function, buffers) = self.function(step)?;
            let names: Vec<String> = buffers.iter().map(|id| format!("c{}", id.0)).collect();
            let _ = writeln!(body, "k{function}({});", names.join(","));
            inside.extend(buffers);
        }
        inside.extend(of.swaps.iter().flat_map(|(a, b)| [*a, *b]));
        inside.sort();
        inside.dedup();
        let position = if of.reverse { format!("{}-t", of.trips - 1) } else { "t".into() };
        let mut text = format!("for(let t=0;t<{};t++){{const p={position};\n", of.trips);
        for id in inside {
            let slot = of.slots.iter().find(|(slot, _)| *slot == id);
            let shift = slot.map_or(String::new(), |(_, stride)| format!(".subarray(p*{stride})"));
            let _ = writeln!(text, "let c{}={}{shift};", id.0, self.name(id));
        }
        for (a, b) in &of.swaps {
            let (a, b) = (a.0, b.0);
            let _ = writeln!(text, "if(t&1)[c{a},c{b}]=[c{b},c{a}];");
        }
        Ok(format!("{text}{body}}}\n"))
    }

    /// What a buffer is called.
    fn name(&mut self, id: BufferId) -> String {
        if !self.used.contains(&id) {
            self.used.push(id);
        }
        format!("m{}", id.0)
    }

    /// The declarations of all memory.
    fn memory(&self, ports: &Ports, constants: &[Constant]) -> String {
        let program = self.program;
        let mut text = String::new();
        let mut declare = |place: Place, bytes: usize| {
            let _ =
                writeln!(text, "const {}=new ArrayBuffer({});", allocation(place), bytes.next_multiple_of(4));
        };
        program.inputs.iter().enumerate().for_each(|(n, spec)| declare(Place::Input(n), 4 * spec.len));
        program.blocks.iter().enumerate().for_each(|(n, bytes)| declare(Place::Block(n), *bytes));
        for (n, output) in program.outputs.iter().enumerate().filter(|(_, output)| output.donor.is_none()) {
            declare(Place::Output(n), 4 * output.spec.len);
        }
        for (n, spec) in program.inputs.iter().enumerate() {
            let _ = writeln!(text, "const x{n}={};", array(spec.dtype, Place::Input(n), 0, spec.len));
            let _ = writeln!(text, "x{n}.set([{}]);", constants[n].0);
        }
        for (n, output) in program.outputs.iter().enumerate().take(ports.outputs.len()) {
            let place = output.donor.map_or(Place::Output(n), Place::Input);
            let _ = writeln!(text, "const y{n}={};", array(output.spec.dtype, place, 0, output.spec.len));
        }
        for id in &self.used {
            let buffer = program.buffers[id.0 as usize];
            let of = array(buffer.dtype, buffer.place, buffer.offset, buffer.len);
            let _ = writeln!(text, "const m{}={of};", id.0);
        }
        text
    }
}

fn allocation(place: Place) -> String {
    match place {
        Place::Input(n) => format!("given{n}"),
        Place::Output(n) => format!("result{n}"),
        Place::Block(n) => format!("block{n}"),
    }
}

fn array(dtype: DType, place: Place, offset: usize, len: usize) -> String {
    let name = match dtype {
        DType::F32 => "Float32Array",
        DType::I32 => "Int32Array",
        _ => "Uint32Array",
    };
    format!("new {name}({},{offset},{len})", allocation(place))
}

//! One WGSL module under construction: its bindings, the words of its uniform, its text.
//!
//! A binding's element type depends on how the text uses it. So a module is written twice, the second time with
//! what the first showed ([`build`]): `vec4` arrays only if some access takes four elements, atomic words only
//! if two threads share one.

use std::collections::HashMap;
use std::fmt::Write;
use std::sync::Arc;

use farad_compile::program::{BufferId, Program};
use farad_ir::DType;

use super::{RenderContext, prelude};
use crate::dispatch::{Capabilities, Dispatch, ERROR_WORDS, SIGNED, StorageBinding, UNSIGNED, Word};

/// A storage array of the module, `b0`, `b1`, …
pub(super) struct BoundArray {
    pub buffer: BufferId,
    pub dtype: DType,
    pub name: String,
    write: bool,
    /// Elements are `vec4` (`vec2<u32>` for four f16).
    pub wide: bool,
    /// Elements are atomic words.
    pub atomic: bool,
    /// It lies in workgroup memory and is no binding.
    local: bool,
    /// Elements are `vec4<f16>` where they would be `vec2<u32>`.
    is_f16: bool,
    uses_wide: bool,
    needs_atomic: bool,
}

/// How a module is launched.
pub(super) struct ModuleLaunch {
    /// Invocations per workgroup.
    pub threads: u32,
    /// Workgroups in all.
    pub workgroups: usize,
}

/// A module being written. Names: `t` is the invocation's index in its workgroup, `w` the index of the
/// workgroup, `p` the uniform's words.
pub(super) struct WgslModule<'a> {
    pub program: &'a Program,
    pub capabilities: &'a Capabilities,
    slots: &'a [(BufferId, usize)],
    bounds: Vec<BoundArray>,
    words: Vec<Word>,
    numbers: HashMap<usize, String>,
    globals: String,
    text: String,
    depth: usize,
    fresh: usize,
    reports: bool,
    subgroups: bool,
    cooperative: bool,
    /// Sizes and numbers are written into the text.
    plain_numbers: bool,
}

/// Writes a line of the module's text, formatted.
macro_rules! line {
    ($module:expr, $($text:tt)*) => { $module.line(&format!($($text)*)) };
}
pub(super) use line;

/// Builds the dispatch whose text `write` writes.
pub(super) fn build<'a>(
    touches: (Vec<BufferId>, Vec<BufferId>),
    context: RenderContext<'a>,
    write: impl Fn(&mut WgslModule<'a>) -> ModuleLaunch,
) -> Dispatch {
    let RenderContext { program, slots, capabilities, locals } = context;
    let (reads, writes) = touches;
    let order = reads.iter().chain(writes.iter().filter(|id| !reads.contains(id))).chain(locals);
    let mut bounds: Vec<BoundArray> = order
        .enumerate()
        .map(|(at, &buffer)| {
            let spec = program.buffers[buffer.0 as usize];
            let (name, write) = (format!("b{at}"), writes.contains(&buffer));
            let local = locals.contains(&buffer);
            let wide = spec.len % 4 == 0 && spec.len > 0 && !local;
            BoundArray {
                buffer,
                dtype: spec.dtype,
                name,
                write,
                wide,
                atomic: false,
                local,
                is_f16: false,
                uses_wide: false,
                needs_atomic: false,
            }
        })
        .collect();
    loop {
        let mut module = WgslModule {
            program,
            capabilities,
            slots,
            bounds,
            // The grid's width and size.
            words: vec![Word::Fixed(0); 2],
            numbers: HashMap::new(),
            globals: String::new(),
            text: String::new(),
            depth: 1,
            fresh: 0,
            reports: false,
            subgroups: false,
            cooperative: false,
            plain_numbers: false,
        };
        let launch = write(&mut module);
        if module.settled() {
            return module.finish(launch);
        }
        bounds = module.bounds;
        for bound in &mut bounds {
            bound.atomic = bound.needs_atomic;
            bound.wide = bound.uses_wide && !bound.atomic;
            (bound.uses_wide, bound.needs_atomic, bound.is_f16) = (false, bound.atomic, false);
        }
    }
}

/// The grid for a number of workgroups, folded if one dimension is not enough.
pub(super) fn fold(workgroups: usize, limit: u32) -> [u32; 3] {
    let limit = limit as usize;
    let height = workgroups.div_ceil(limit).max(1);
    [workgroups.div_ceil(height).max(1) as u32, height as u32, 1]
}

impl WgslModule<'_> {
    fn settled(&self) -> bool {
        self.bounds.iter().all(|bound| bound.wide == bound.uses_wide && bound.atomic == bound.needs_atomic)
    }

    /// The index of a buffer among the bindings.
    pub fn bound(&self, buffer: BufferId) -> usize {
        self.bounds
            .iter()
            .position(|bound| bound.buffer == buffer)
            .expect("every buffer of a kernel is bound")
    }

    /// The binding with this index.
    pub fn at(&self, bound: usize) -> &BoundArray {
        &self.bounds[bound]
    }

    /// Records that the text accesses whole `vec4`s of a binding.
    pub fn take_wide(&mut self, bound: usize) {
        self.bounds[bound].uses_wide = true;
    }

    /// Records that threads share words of a binding.
    pub fn share_words(&mut self, bound: usize) {
        self.bounds[bound].needs_atomic = true;
    }

    /// The elements per slice, if the surrounding loop advances the buffer.
    pub fn slot(&self, buffer: BufferId) -> Option<usize> {
        self.slots.iter().find(|(id, _)| *id == buffer).map(|(_, stride)| *stride)
    }

    /// A new word of the uniform; equal run-time words share one.
    pub fn word(&mut self, word: Word) -> String {
        let known = match word {
            Word::Fixed(_) => None,
            _ => self.words.iter().position(|&other| other == word),
        };
        let at = known.unwrap_or_else(|| {
            self.words.push(word);
            self.words.len() - 1
        });
        format!("p[{}].{}", at / 4, ["x", "y", "z", "w"][at % 4])
    }

    /// A new word that holds a size.
    pub fn size(&mut self, size: usize) -> String {
        if self.plain_numbers {
            return format!("{}u", size as u32);
        }
        self.word(Word::Fixed(size as u32))
    }

    /// The word that holds a number of the kernel, modulo 2^32. Each number has one word, however often the
    /// text names it. Numbers are identified by address, not by value, because texts must not depend on values.
    pub fn number(&mut self, number: &i64) -> String {
        if self.plain_numbers {
            return format!("{}u", *number as u32);
        }
        let place = std::ptr::from_ref(number) as usize;
        if let Some(text) = self.numbers.get(&place) {
            return text.clone();
        }
        let text = self.word(Word::Fixed(*number as u32));
        self.numbers.insert(place, text.clone());
        text
    }

    /// From now on, the text itself has sizes and numbers. For texts that are long and made for one size.
    pub fn use_numbers(&mut self) {
        self.plain_numbers = true;
    }

    /// A name that is not used in the text yet.
    pub fn name(&mut self, stem: &str) -> String {
        self.fresh += 1;
        format!("{stem}_{}", self.fresh)
    }

    /// Adds a declaration at module level.
    pub fn global(&mut self, text: &str) {
        writeln!(self.globals, "{text}").expect("writing to a string never fails");
    }

    /// Adds a line to the text. A line that ends in `{` indents the following ones, up to `}`.
    pub fn line(&mut self, text: &str) {
        if text.starts_with('}') {
            self.depth -= 1;
        }
        writeln!(self.text, "{}{text}", "    ".repeat(self.depth)).expect("writing to a string never fails");
        if text.ends_with('{') {
            self.depth += 1;
        }
    }

    /// Names an expression.
    pub fn bind(&mut self, stem: &str, expression: &str) -> String {
        let name = self.name(stem);
        line!(self, "let {name} = {expression};");
        name
    }

    /// Declares a variable.
    pub fn variable(&mut self, stem: &str, expression: &str) -> String {
        let name = self.name(stem);
        line!(self, "var {name} = {expression};");
        name
    }

    /// Moves the text that `write` writes into a function of the module.
    pub fn function(&mut self, signature: &str, write: impl FnOnce(&mut Self)) {
        let outside = (std::mem::take(&mut self.text), std::mem::replace(&mut self.depth, 1));
        write(self);
        let body = std::mem::replace(&mut self.text, outside.0);
        self.depth = outside.1;
        self.global(&format!("{signature} {{\n{body}}}"));
    }

    /// Adds code that reports an index out of range, given by its bits.
    pub fn report(&mut self, condition: &str, site: usize, (index, signed): (&str, bool)) {
        self.reports = true;
        let first = self.size(ERROR_WORDS * site);
        let kind = if signed { SIGNED } else { UNSIGNED };
        line!(self, "if ({condition}) {{");
        line!(self, "atomicMax(&errors[{first}], {kind}u);");
        line!(self, "atomicMax(&errors[{first} + 1u], {index});");
        self.line("}");
    }

    /// Adds the subgroup's built-in values to the entry point.
    pub fn use_subgroups(&mut self) {
        self.subgroups = true;
    }

    /// Enables matrix products by subgroups.
    pub fn use_cooperative(&mut self) {
        self.subgroups = true;
        self.cooperative = true;
    }

    /// Makes the elements of a binding `vec4<f16>`, for f16 data that the text only accesses in groups of four.
    pub fn take_halves(&mut self, bound: usize) {
        self.bounds[bound].is_f16 = true;
        self.take_wide(bound);
    }

    fn finish(mut self, launch: ModuleLaunch) -> Dispatch {
        let grid = fold(launch.workgroups, self.capabilities.workgroups);
        self.words[0] = Word::Fixed(grid[0]);
        self.words[1] = Word::Fixed(launch.workgroups as u32);
        let enables = if self.cooperative { "enable f16;\nenable wgpu_cooperative_matrix;\n" } else { "" };
        let mut text = format!(
            "{enables}@group(0) @binding(0) var<uniform> p: array<vec4<u32>, {}>;\n",
            self.words.len().div_ceil(4)
        );
        for bound in self.bounds.iter().filter(|bound| bound.local) {
            let len = self.program.buffers[bound.buffer.0 as usize].len;
            writeln!(text, "var<workgroup> {}: array<{}, {len}>;", bound.name, bound.element())
                .expect("writing to a string never fails");
        }
        // Local arrays are the last.
        self.bounds.retain(|bound| !bound.local);
        for (at, bound) in self.bounds.iter().enumerate() {
            let access = if bound.write { "read_write" } else { "read" };
            let (name, element) = (&bound.name, bound.element());
            writeln!(text, "@group(0) @binding({}) var<storage, {access}> {name}: array<{element}>;", at + 1)
                .expect("writing to a string never fails");
        }
        if self.reports {
            let at = self.bounds.len() + 1;
            writeln!(text, "@group(0) @binding({at}) var<storage, read_write> errors: array<atomic<u32>>;")
                .expect("writing to a string never fails");
        }
        let body = format!("{}{}", self.globals, self.text);
        text.push_str(&prelude::used(&body, self.capabilities.rounds_f16));
        text.push_str(&self.globals);
        write!(text, "@compute @workgroup_size({})\nfn main(", launch.threads)
            .expect("writing to a string never fails");
        text.push_str("@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(local_invocation_index) t: u32");
        if self.subgroups {
            text.push_str(", @builtin(subgroup_id) subgroup: u32, @builtin(num_subgroups) subgroups: u32");
            text.push_str(", @builtin(subgroup_invocation_id) lane: u32, @builtin(subgroup_size) width: u32");
        }
        text.push_str(") {\n    let w = workgroup.y * p[0].x + workgroup.x;\n");
        text.push_str("    if (w >= p[0].y) {\n        return;\n    }\n");
        text.push_str(&self.text);
        text.push_str("}\n");
        let bindings = self
            .bounds
            .iter()
            .map(|bound| StorageBinding { buffer: bound.buffer, write: bound.write })
            .collect();
        Dispatch {
            wgsl: Arc::from(text),
            entry: "main",
            bindings,
            parameters: self.words,
            reports: self.reports,
            workgroups: grid,
            costs: Default::default(),
        }
    }
}

impl BoundArray {
    fn element(&self) -> &'static str {
        match (self.dtype, self.wide, self.atomic) {
            (_, _, true) => "atomic<u32>",
            (DType::F16, true, _) if self.is_f16 => "vec4<f16>",
            (DType::F32, true, _) => "vec4<f32>",
            (DType::F32, false, _) => "f32",
            (DType::I32, true, _) => "vec4<i32>",
            (DType::I32, false, _) => "i32",
            (DType::F16 | DType::BF16, true, _) => "vec2<u32>",
            // Four bytes are one word.
            (DType::U8 | DType::I8, true, _) => "u32",
            (_, true, _) => "vec4<u32>",
            (_, false, _) => "u32",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::fold;

    #[test]
    fn grids_fold_below_the_limit() {
        assert_eq!(fold(0, 65_535), [1, 1, 1]);
        assert_eq!(fold(65_535, 65_535), [65_535, 1, 1]);
        assert_eq!(fold(65_536, 65_535), [32_768, 2, 1]);
        let [x, y, _] = fold(1_000_000, 65_535);
        assert!(x * y >= 1_000_000 && x <= 65_535);
    }
}

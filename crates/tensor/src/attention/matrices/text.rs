//! Writes the lines of a kernel: bindings, workgroup memory, and the frame around the products.

use super::form::{MatrixForm, MatrixKernel};

/// Adds a line to the text.
macro_rules! line {
    ($writer:expr, $($argument:tt)*) => {
        $writer.line(&format!($($argument)*))
    };
}
pub(super) use line;

/// A kernel that is being written.
pub(super) struct MatrixWriter {
    text: String,
    pub form: MatrixForm,
}

/// A kernel's text.
pub fn text(form: MatrixForm) -> String {
    let mut writer = MatrixWriter { text: String::new(), form };
    writer.bindings();
    writer.memory();
    writer.functions();
    writer.main();
    writer.text
}

impl MatrixWriter {
    pub fn line(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
    }

    pub fn is(&self, kernel: MatrixKernel) -> bool {
        self.form.kernel == kernel
    }

    /// The type of four neighbors in storage.
    pub fn element(&self) -> &'static str {
        if self.form.is_f16 { "vec4<f16>" } else { "vec4<f32>" }
    }

    /// The names of an operand's parts end so.
    pub fn tails(&self) -> &'static [&'static str] {
        &["", "_tail"][..self.form.parts()]
    }

    /// The arrays in the order of [`super::arguments`].
    fn bindings(&mut self) {
        let (element, extras) = (self.element(), self.form.extras);
        let forward = self.is(MatrixKernel::Forward);
        self.line("enable f16;\nenable wgpu_cooperative_matrix;");
        self.line("@group(0) @binding(0) var<uniform> parameters: array<vec4<u32>, 3>;");
        let read = ["q", "k", "v"].map(|name| (name, "read", element));
        let rest = if forward {
            vec![("y", "read_write", element), ("sums", "read_write", "f32")]
        } else {
            let given = [("g", "read", element), ("sums", "read", "f32"), ("shares", "read", "f32")];
            given.into_iter().chain([("result", "read_write", element)]).collect()
        };
        let more = [
            (extras.mask, ("mask", "read", "u32")),
            (extras.bias, ("bias", "read", "f32")),
            (extras.dropout, ("seed", "read", "u32")),
            (!self.form.is_f16, ("largest", "read", "u32")),
        ];
        let more = more.into_iter().filter(|(is, _)| *is).map(|(_, array)| array);
        for (n, (name, access, element)) in read.into_iter().chain(rest).chain(more).enumerate() {
            line!(self, "@group(0) @binding({}) var<storage, {access}> {name}: array<{element}>;", n + 1);
        }
    }

    fn memory(&mut self) {
        let form = self.form;
        for tail in self.tails() {
            for n in 0..2 {
                let size = form.chunk * form.stride();
                line!(self, "var<workgroup> stream{n}{tail}: array<vec4<f16>, {}>;", size / 4);
            }
            let weights = form.subgroups * form.groups * form.room() / 4;
            line!(self, "var<workgroup> weights{tail}: array<vec4<f16>, {weights}>;");
        }
        line!(self, "var<workgroup> scores: array<vec4<f32>, {}>;", form.subgroups * form.room() / 4);
        if self.is(MatrixKernel::Keys) {
            line!(self, "var<workgroup> column_sums: array<vec4<f32>, {}>;", form.chunk / 4);
            line!(self, "var<workgroup> column_shares: array<vec4<f32>, {}>;", form.chunk / 4);
            if form.extras.dropout {
                line!(self, "var<workgroup> column_words: array<vec2<u32>, {}>;", form.chunk);
            }
        }
    }

    fn functions(&mut self) {
        let extras = self.form.extras;
        self.line(SHARED);
        self.line(if self.form.is_f16 { HALVES } else { SPLIT });
        if !self.form.is_f16 {
            line!(self, "const ROOT = {:?};", (4.0 * self.form.vectors as f32).sqrt());
        }
        for (is, lines) in [(extras.mask, MASK), (extras.bias, BIAS), (extras.dropout, DROPOUT)] {
            if is {
                self.line(lines);
            }
        }
    }

    fn main(&mut self) {
        let threads = self.form.threads();
        line!(self, "@compute @workgroup_size({threads})\nfn main(");
        self.line("@builtin(workgroup_id) group: vec3<u32>,\n@builtin(num_workgroups) groups: vec3<u32>,");
        self.line("@builtin(local_invocation_index) t: u32,\n@builtin(subgroup_id) subgroup: u32,");
        self.line("@builtin(subgroup_invocation_id) lane: u32,\n) {");
        self.sizes();
        self.own();
        self.rows();
        self.stream();
        self.finish();
        self.line("}");
    }

    /// What the text calls its parameters, and where the workgroup and the lane are.
    fn sizes(&mut self) {
        let form = self.form;
        self.line(
            "let queries = parameters[0].y;\nlet keys = parameters[0].z;\nlet sharing = parameters[0].w;",
        );
        self.line("let before = bitcast<i32>(parameters[1].x);");
        let mut factors = "";
        if !form.is_f16 {
            let forward = self.is(MatrixKernel::Forward);
            for (n, name) in ["q", "k", "v", "g"].iter().enumerate().take(if forward { 3 } else { 4 }) {
                line!(self, "let lift_{name} = lift(bitcast<f32>(largest[{}]));", super::PARTIAL * 4 + n);
            }
            factors = " * unlift(lift_q) * unlift(lift_k)";
        }
        line!(self, "let factor = bitcast<f32>(parameters[1].y){factors};");
        self.line("let scale = bitcast<f32>(parameters[1].z);");
        self.line("let row = lane / 2u;\nlet side = lane % 2u;");
        line!(self, "let room = subgroup * {}u;", form.room() / 4);
        line!(self, "let weight_room = subgroup * {}u;", form.groups * form.room() / 4);
        if self.is(MatrixKernel::Keys) {
            self.line("let key_head = group.x + group.z * groups.x;");
            self.line("if key_head * sharing >= parameters[0].x {\n    return;\n}");
            self.line("// The first keys are seen most: they start first.");
            line!(self, "let first = group.y * {}u;", form.own());
        } else {
            self.line("let head = group.x + group.z * groups.x;");
            self.line("if head >= parameters[0].x {\n    return;\n}\nlet key_head = head / sharing;");
            self.line("// The last queries see most: they start first.");
            line!(self, "let first = (groups.y - 1u - group.y) * {}u;", form.own());
        }
        line!(self, "let own_row = first + subgroup * {}u;", form.rows());
    }

    /// What lanes know about their rows. Two neighbors share a row.
    fn rows(&mut self) {
        let form = self.form;
        for (m, _) in form.kernel.totals().iter().enumerate() {
            for (r, c) in pairs(form.groups, form.steps()) {
                line!(self, "var total{m}_{r}_{c} = coop_mat16x16<f32, C>();");
            }
        }
        for (r, n) in pairs(form.groups, form.blocks()) {
            line!(self, "var s{r}_{n} = coop_mat16x16<f32, C>();");
        }
        for r in 0..form.groups {
            line!(self, "let at{r} = own_row + row + {}u;", super::form::SIDE * r);
            if self.is(MatrixKernel::Keys) {
                self.key_row(r);
            } else {
                self.query_row(r);
            }
        }
    }

    fn query_row(&mut self, r: usize) {
        line!(self, "let sees{r} = select(0u, limit(at{r}), at{r} < queries);");
        line!(self, "let query{r} = head * queries + min(at{r}, queries - 1u);");
        if self.form.extras.bias {
            line!(self, "let bias{r} = bias_row(head, min(at{r}, queries - 1u));");
        }
        if self.form.extras.dropout {
            line!(self, "let words{r} = row_words(query{r});");
        }
        if self.is(MatrixKernel::Forward) {
            line!(self, "var top{r} = FLOOR;\nvar sum{r} = 0.0;");
        } else {
            line!(self, "let sum{r} = max(sums[query{r}] * LOG2_E, FLOOR) - BIAS;");
            let lifted = if self.form.is_f16 { "" } else { " * lift_g * lift_v" };
            line!(self, "let share{r} = shares[query{r}]{lifted};");
        }
    }

    fn key_row(&mut self, r: usize) {
        line!(self, "let from{r} = u32(max(i32(at{r}) - before, 0));");
        let there = if self.form.extras.mask {
            format!("at{r} < keys && seen(key_head * sharing, min(at{r}, keys - 1u))")
        } else {
            format!("at{r} < keys")
        };
        line!(self, "let span{r} = select(0u, queries - min(from{r}, queries), {there});");
    }

    /// The loop over what passes by.
    fn stream(&mut self) {
        let form = self.form;
        let (chunk, stream) = (form.chunk, form.stream);
        self.declare("load0_", chunk);
        self.declare("load1_", chunk);
        if self.is(MatrixKernel::Keys) {
            self.line("var stat0 = 0.0;\nvar stat1 = 0.0;");
            line!(self, "let begin = u32(max(i32(first) - before, 0)) / {stream}u * {stream}u;");
            self.line("let stop = queries;");
            self.line("for (var head = key_head * sharing; head < (key_head + 1u) * sharing; head++) {");
        } else {
            self.line("let begin = 0u;");
            line!(self, "let stop = limit(min(first + {}u, queries) - 1u);", form.own());
        }
        line!(self, "for (var base = begin; base < stop; base += {chunk}u) {{");
        self.fetch_both("base");
        self.line("workgroupBarrier();");
        self.put_both();
        self.line("workgroupBarrier();");
        line!(self, "let end = min(stop - base, {chunk}u);");
        line!(self, "for (var past = 0u; past < end; past += {stream}u) {{");
        line!(self, "let start = base + past;\nlet passed = past * {}u;", form.stride() / 4);
        self.block();
        self.line("}\n}");
        if self.is(MatrixKernel::Keys) {
            self.line("}");
        }
    }
}

/// All pairs of numbers below two bounds.
pub(super) fn pairs(rows: usize, columns: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..rows).flat_map(move |row| (0..columns).map(move |column| (row, column)))
}

/// The address of a matrix in an array of `vec4`s, for the functions that load and store: `at` elements behind `base`,
/// which counts `vec4`s.
pub(super) fn address(array: &str, base: &str, at: usize, stride: usize) -> String {
    format!("&{array}[{base} + {}u], {}u", at / 4, stride / 4)
}

const SHARED: &str = "// A score that is not there, and where a row's largest score starts.
const HIDDEN = -1e30;
const FLOOR = -1e29;
const LOG2_E = 1.4426950408889634;
const LN_2 = 0.6931471805599453;
// How many keys a query sees.
fn limit(query: u32) -> u32 {
    return u32(clamp(i32(query) + 1 + bitcast<i32>(parameters[1].x), 0, i32(parameters[0].z)));
}";

/// Weights are powers of two up to `BIAS`, and `SLACK` more forward.
const HALVES: &str = "const BIAS = 0.0;\nconst SLACK = 8.0;";

/// With two parts, small weights need room below: a part of an f16 number ends at 2^-24.
const SPLIT: &str = "const BIAS = 13.0;
const UNBIAS = 1.220703125e-4;
const SLACK = 2.0;
// 2^-29: from a weight times a product of lifted operands to a number below 2^15.
const DOWN = 1.862645149230957e-9;
// The power of two that brings rows of such numbers below 2^15, in length.
fn lift(largest: f32) -> f32 {
    let exponent = i32((bitcast<u32>(largest * ROOT) >> 23u) & 255u);
    return bitcast<f32>(u32(select(clamp(268 - exponent, 1, 253), 127, exponent == 255)) << 23u);
}
// Rounded to the 11 bits of an f16 number. By bits: a compiler may take a conversion there and back for nothing.
fn upper(x: vec4<f32>) -> vec4<f32> {
    return bitcast<vec4<f32>>((bitcast<vec4<u32>>(x) + vec4<u32>(0x1000u)) & vec4<u32>(0xffffe000u));
}
fn unlift(power: f32) -> f32 {
    return bitcast<f32>((254u << 23u) - bitcast<u32>(power));
}";

const MASK: &str = "fn seen(head: u32, key: u32) -> bool {
    return mask[head / parameters[1].w * parameters[0].z + key] != 0u;
}";

/// Where the numbers of a query start.
const BIAS: &str = "fn bias_row(head: u32, query: u32) -> u32 {
    return (head / parameters[2].x % parameters[2].y * parameters[0].y + query) * parameters[0].z;
}";

/// Random words of a query and a key, from four of a seed.
const DROPOUT: &str = "fn mix(x: vec4<u32>) -> vec4<u32> {
    let a = (x ^ (x >> vec4<u32>(16u))) * 0x21f0aaadu;
    let b = (a ^ (a >> vec4<u32>(15u))) * 0x735a2d97u;
    return b ^ (b >> vec4<u32>(15u));
}
fn row_words(query: u32) -> vec2<u32> {
    let a = mix(vec4<u32>(query) + vec4<u32>(seed[0], seed[1], 0u, 0u));
    let b = mix(a ^ vec4<u32>(seed[2], seed[3], 0u, 0u));
    return vec2<u32>(b.x, b.y | 1u);
}
fn kept(words: vec4<u32>) -> vec4<bool> {
    return mix(words) >= vec4<u32>(parameters[2].z);
}";

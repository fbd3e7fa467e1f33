//! Between the products: scores become weights. Matrices cannot be indexed, so both pass through workgroup memory, in
//! a room of each subgroup's own. Two neighboring lanes share a row, and take every other `vec4` of it.

use super::form::{MatrixKernel, SIDE};
use super::text::{MatrixWriter, address, line};

impl MatrixWriter {
    /// What a block adds to the totals.
    pub fn block(&mut self) {
        self.products(0);
        if self.is(MatrixKernel::Forward) {
            for r in 0..self.form.groups {
                self.line("{");
                self.powers(r);
                self.line("}");
            }
            self.line("subgroupBarrier();");
            return self.gather(0);
        }
        let keys = self.is(MatrixKernel::Keys);
        for r in 0..self.form.groups {
            self.probabilities(r);
        }
        self.products(1);
        if keys {
            self.line("subgroupBarrier();");
            self.gather(1);
        }
        for r in 0..self.form.groups {
            self.slopes(r);
        }
        self.line("subgroupBarrier();");
        self.gather(0);
    }

    /// `vec4`s of a row that a lane has.
    fn quarters(&self) -> usize {
        self.form.stream / 8
    }

    /// Lets lanes see matrices, `SIDE` columns each, in the subgroup's room.
    pub fn show(&mut self, matrices: &[String]) {
        self.line("subgroupBarrier();");
        for (n, matrix) in matrices.iter().enumerate() {
            let to = address("scores", "room", n * SIDE, self.form.room_stride());
            line!(self, "coopStoreT({matrix}, {to});");
        }
        self.line("subgroupBarrier();");
    }

    fn show_scores(&mut self, r: usize) {
        let matrices: Vec<String> = (0..self.form.blocks()).map(|n| format!("s{r}_{n}")).collect();
        self.show(&matrices);
    }

    /// A lane's `vec4` number `i` of its row.
    fn shown(&self, i: usize) -> String {
        format!("scores[room + row * {}u + side + {}u]", self.form.room_stride() / 4, 2 * i)
    }

    fn weigh(&mut self, r: usize, i: usize, value: &str) {
        let form = self.form;
        let row = form.room_stride() / 4;
        let at = format!("weight_room + row * {row}u + side + {}u", r * form.room() / 4 + 2 * i);
        line!(self, "{{\nlet value = {value};");
        if form.is_f16 {
            self.line("let part = vec4<f16>(value);");
        } else {
            self.line("let upper = upper(value);\nlet part = vec4<f16>(upper);");
            self.line("let part_tail = vec4<f16>(value - upper);");
        }
        for tail in self.tails() {
            line!(self, "weights{tail}[{at}] = part{tail};");
        }
        self.line("}");
    }

    /// Scores in powers of two, as `x{i}`; what is out of sight is `HIDDEN`.
    fn scaled(&mut self, r: usize, i: usize) {
        let extras = self.form.extras;
        let keys = self.is(MatrixKernel::Keys);
        line!(self, "var x{i} = {} * factor;", self.shown(i));
        let from = format!("start + side * 4u + {}u", 8 * i);
        line!(self, "let column{i} = vec4<u32>({from}) + vec4<u32>(0u, 1u, 2u, 3u);");
        if extras.bias {
            let at = |component: &str| {
                if keys {
                    let query = format!("bias_row(head, min(column{i}.{component}, queries - 1u))");
                    format!("bias[{query} + min(at{r}, keys - 1u)]")
                } else {
                    format!("bias[bias{r} + min(column{i}.{component}, keys - 1u)]")
                }
            };
            line!(self, "let added{i} = vec4<f32>({});", ["x", "y", "z", "w"].map(at).join(", "));
            line!(
                self,
                "x{i} = select(vec4<f32>(HIDDEN), x{i} + added{i} * LOG2_E, added{i} > vec4<f32>(HIDDEN));"
            );
        }
        if extras.mask && !keys {
            let at = |component: &str| format!("seen(head, min(column{i}.{component}, keys - 1u))");
            let seen = ["x", "y", "z", "w"].map(at).join(", ");
            line!(self, "x{i} = select(vec4<f32>(HIDDEN), x{i}, vec4<bool>({seen}));");
        }
        let within = if keys {
            format!("column{i} - vec4<u32>(from{r}) < vec4<u32>(span{r})")
        } else {
            format!("column{i} < vec4<u32>(sees{r})")
        };
        line!(self, "x{i} = select(vec4<f32>(HIDDEN), x{i}, {within});");
    }

    /// Which weights stay, as a `vec4<bool>`.
    fn kept(&self, r: usize, i: usize) -> String {
        if !self.is(MatrixKernel::Keys) {
            return format!("kept(column{i} * words{r}.y + words{r}.x)");
        }
        let at = |j: usize| format!("column_words[past + side * 4u + {}u]", 8 * i + j);
        let part = |name: &str| [0, 1, 2, 3].map(|j| format!("{}.{name}", at(j))).join(", ");
        format!("kept(at{r} * vec4<u32>({}) + vec4<u32>({}))", part("y"), part("x"))
    }

    /// Forward: powers of the scores, relative to the row's largest so far.
    fn powers(&mut self, r: usize) {
        self.show_scores(r);
        for i in 0..self.quarters() {
            self.scaled(r, i);
        }
        self.line("var most = x0;");
        for i in 1..self.quarters() {
            line!(self, "most = max(most, x{i});");
        }
        self.line("var best = max(max(most.x, most.y), max(most.z, most.w));");
        self.line("best = max(best, subgroupShuffleXor(best, 1u));");
        self.raise(r);
        self.line("var part = vec4<f32>();");
        for i in 0..self.quarters() {
            line!(self, "x{i} = exp2(x{i} - (top{r} - BIAS));\npart += x{i};");
            let weight = match self.form.extras.dropout {
                true => format!("select(vec4<f32>(), x{i}, {})", self.kept(r, i)),
                false => format!("x{i}"),
            };
            self.weigh(r, i, &weight);
        }
        line!(self, "sum{r} += (part.x + part.y) + (part.z + part.w);");
    }

    /// Scales what was summed, if a score is far above all before. A little above is no harm: weights are powers of
    /// two that have room. So this is rare after the first block.
    fn raise(&mut self, r: usize) {
        let form = self.form;
        line!(self, "for (var far = subgroupAny(best > top{r} + SLACK); far; far = false) {{");
        line!(self, "let next = max(top{r}, best);\nlet keep = exp2(max(top{r} - next, -200.0));");
        line!(self, "sum{r} *= keep;\ntop{r} = next;");
        self.line("for (var later = start > 0u; later; later = false) {");
        for from in (0..form.steps()).step_by(form.blocks()) {
            let to = (from + form.blocks()).min(form.steps());
            let matrices: Vec<String> = (from..to).map(|c| format!("total0_{r}_{c}")).collect();
            self.show(&matrices);
            for i in 0..2 * matrices.len() {
                line!(self, "{} *= keep;", self.shown(i));
            }
            self.line("subgroupBarrier();");
            for (n, matrix) in matrices.iter().enumerate() {
                let at = address("scores", "room", n * SIDE, form.room_stride());
                line!(self, "{matrix} = coopLoadT<coop_mat16x16<f32, C>>({at});");
            }
        }
        self.line("}\n}");
    }

    /// Backward: probabilities again, from the logarithms of the sums, as `p{r}_{i}`. For keys they are weights.
    fn probabilities(&mut self, r: usize) {
        let keys = self.is(MatrixKernel::Keys);
        for i in 0..self.quarters() {
            line!(self, "var p{r}_{i}: vec4<f32>;");
        }
        if self.form.extras.dropout {
            line!(self, "var stay{r} = 0u;");
        }
        self.line("{");
        self.show_scores(r);
        for i in 0..self.quarters() {
            self.scaled(r, i);
            let sum =
                if keys { format!("column_sums[past / 4u + side + {}u]", 2 * i) } else { format!("sum{r}") };
            line!(self, "p{r}_{i} = exp2(x{i} - {sum});");
            let mut weight = format!("p{r}_{i}");
            if self.form.extras.dropout {
                line!(self, "let kept{i} = {};", self.kept(r, i));
                line!(self, "let bits{i} = select(vec4<u32>(), vec4<u32>(1u, 2u, 4u, 8u), kept{i});");
                line!(self, "stay{r} |= (bits{i}.x | bits{i}.y | bits{i}.z | bits{i}.w) << {}u;", 4 * i);
                weight = format!("select(vec4<f32>(), {weight}, kept{i})");
            }
            if keys {
                self.weigh(r, i, &weight);
            }
        }
        self.line("}");
    }

    /// Backward: the gradients at the scores, as weights.
    fn slopes(&mut self, r: usize) {
        let (keys, dropout) = (self.is(MatrixKernel::Keys), self.form.extras.dropout);
        let down = if self.form.is_f16 { "" } else { " * DOWN" };
        self.show_scores(r);
        for i in 0..self.quarters() {
            let share = if keys {
                format!("column_shares[past / 4u + side + {}u]", 2 * i)
            } else {
                format!("share{r}")
            };
            let mut slope = self.shown(i);
            if dropout {
                let stays = format!("(vec4<u32>(stay{r} >> {}u) & vec4<u32>(1u, 2u, 4u, 8u))", 4 * i);
                let kept = format!("{stays} != vec4<u32>()");
                slope = format!("select(vec4<f32>(), {slope} * bitcast<f32>(parameters[2].w), {kept})");
            }
            self.weigh(r, i, &format!("p{r}_{i} * ({slope} - {share}){down}"));
        }
    }
}

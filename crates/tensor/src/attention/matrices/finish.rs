//! What a workgroup leaves in storage: its totals, and forward the logarithms of the sums.

use super::form::{MatrixKernel, SIDE};
use super::text::{MatrixWriter, line};

impl MatrixWriter {
    pub fn finish(&mut self) {
        let form = self.form;
        if self.is(MatrixKernel::Forward) {
            for r in 0..form.groups {
                self.sum(r);
            }
        }
        for m in 0..form.kernel.totals().len() {
            for r in 0..form.groups {
                for from in (0..form.steps()).step_by(form.blocks()) {
                    self.total(m, r, from, (from + form.blocks()).min(form.steps()));
                }
            }
        }
    }

    /// A query that sees nothing has zeros.
    fn sum(&mut self, r: usize) {
        line!(self, "sum{r} += subgroupShuffleXor(sum{r}, 1u);");
        line!(self, "let empty{r} = sum{r} <= 0.0;\nlet divisor{r} = select(sum{r}, 1.0, empty{r});");
        let more = if self.form.extras.dropout { " * bitcast<f32>(parameters[2].w)" } else { "" };
        line!(self, "let inverse{r} = select(1.0 / divisor{r}{more}, 0.0, empty{r});");
        line!(self, "if side == 0u && at{r} < queries {{");
        line!(self, "let logarithm = (top{r} - BIAS + log2(divisor{r})) * LN_2;");
        line!(self, "sums[query{r}] = select(logarithm, HIDDEN, empty{r});\n}}");
    }

    /// Columns of a total, in whole matrices, for 16 rows. Neighboring lanes write neighboring `vec4`s.
    fn total(&mut self, m: usize, r: usize, from: usize, to: usize) {
        let form = self.form;
        let matrices: Vec<String> = (from..to).map(|c| format!("total{m}_{r}_{c}")).collect();
        self.show(&matrices);
        let across = (to - from) * SIDE / 4;
        let (array, base, end) = match (form.kernel, m) {
            (MatrixKernel::Forward, _) => ("y", "head * queries", "queries"),
            (MatrixKernel::Queries, _) => ("result", "head * queries", "queries"),
            (MatrixKernel::Keys, 0) => ("result", "key_head * keys", "keys"),
            (MatrixKernel::Keys, _) => ("result", "(parameters[0].x / sharing + key_head) * keys", "keys"),
        };
        let (factors, element, vectors) = (self.factors(m, r), self.element(), form.vectors);
        for i in 0..(SIDE * across).div_ceil(form.lanes) {
            line!(self, "{{\nlet e = lane + {}u;", i * form.lanes);
            line!(self, "let down = e / {across}u;\nlet right = e % {across}u;");
            line!(self, "let found = scores[room + down * {}u + right];", form.room_stride() / 4);
            line!(self, "let value = {element}(found{factors});");
            line!(
                self,
                "let at = own_row + {}u + down;\nlet column = right + {}u;",
                r * SIDE,
                from * SIDE / 4
            );
            line!(self, "if at < {end} && column < {vectors}u {{");
            line!(self, "{array}[({base} + at) * {vectors}u + column] = value;\n}}\n}}");
        }
    }

    /// What a total is multiplied with, one after the other: powers of two may be large and small.
    fn factors(&self, m: usize, r: usize) -> String {
        let dropout = self.form.extras.dropout;
        let unlift = |names: &[&str]| -> String {
            let names = if self.form.is_f16 { &[] } else { names };
            names.iter().map(|name| format!(" * unlift(lift_{name})")).collect()
        };
        let of_scores = if self.form.is_f16 { " * scale" } else { " * (scale * 65536.0)" };
        match (self.form.kernel, m) {
            (MatrixKernel::Forward, _) => {
                format!("{} * subgroupShuffle(inverse{r}, 2u * down)", unlift(&["v"]))
            }
            (MatrixKernel::Queries, _) => unlift(&["g", "v", "k"]) + of_scores,
            (MatrixKernel::Keys, 0) => unlift(&["g", "v", "q"]) + of_scores,
            (MatrixKernel::Keys, _) => {
                // Weights have a factor of two to the power of BIAS.
                let power = if self.form.is_f16 { "" } else { " * UNBIAS" };
                let kept = if dropout { " * bitcast<f32>(parameters[2].w)" } else { "" };
                unlift(&["g"]) + power + kept
            }
        }
    }
}

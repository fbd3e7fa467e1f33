//! From storage to workgroup memory and on to the left operands. Columns that are not there become zeros. Rows that are
//! not there repeat the last one: nobody sees them.

use super::form::{MatrixKernel, SIDE};
use super::text::{MatrixWriter, address, line, pairs};

impl MatrixWriter {
    /// `vec4`s that an invocation brings for so many rows.
    fn loads(&self, rows: usize) -> usize {
        (rows * self.form.width() / 4).div_ceil(self.form.threads())
    }

    /// Registers for rows on their way.
    pub fn declare(&mut self, register: &str, rows: usize) {
        for i in 0..self.loads(rows) {
            line!(self, "var {register}{i}: {};", self.element());
        }
    }

    /// Reads rows of a head from `first` on; `base` is the head's first row, `end` the number of its rows.
    fn fetch(&mut self, register: &str, array: &str, [base, first, end]: [&str; 3], rows: usize) {
        let (across, vectors, element) = (self.form.width() / 4, self.form.vectors, self.element());
        for i in 0..self.loads(rows) {
            line!(self, "{{\nlet e = t + {}u;", i * self.form.threads());
            line!(self, "let at = {first} + e / {across}u;\nlet column = e % {across}u;");
            let from = format!("({base} + min(at, {end} - 1u)) * {vectors}u");
            if across == vectors {
                line!(self, "{register}{i} = {array}[{from} + column];\n}}");
            } else {
                line!(self, "let found = {array}[{from} + min(column, {}u)];", vectors - 1);
                line!(self, "{register}{i} = select({element}(), found, column < {vectors}u);\n}}");
            }
        }
    }

    /// Puts rows into workgroup memory. Operands of two parts are scaled by a power of two before they are split.
    fn put(&mut self, register: &str, array: &str, name: &str, rows: usize) {
        let (across, threads) = (self.form.width() / 4, self.form.threads());
        for i in 0..self.loads(rows) {
            line!(self, "{{\nlet e = t + {}u;", i * threads);
            let ragged = (i + 1) * threads > rows * across;
            if ragged {
                line!(self, "if e < {}u {{", rows * across);
            }
            line!(self, "let o = e / {across}u * {}u + e % {across}u;", self.form.stride() / 4);
            if self.form.is_f16 {
                line!(self, "let part = {register}{i};");
            } else {
                line!(self, "let lifted = {register}{i} * lift_{name};\nlet upper = upper(lifted);");
                self.line("let part = vec4<f16>(upper);\nlet part_tail = vec4<f16>(lifted - upper);");
            }
            for tail in self.tails() {
                line!(self, "{array}{tail}[o] = part{tail};");
            }
            self.line(if ragged { "}\n}" } else { "}" });
        }
    }

    /// A head's first row and number of rows, of what passes by or of the workgroup's own.
    fn place(&self, own: bool) -> [&'static str; 2] {
        if own == self.is(MatrixKernel::Keys) {
            ["key_head * keys", "keys"]
        } else {
            ["head * queries", "queries"]
        }
    }

    /// Reads a block of both streams, and what columns need to know.
    pub fn fetch_both(&mut self, at: &str) {
        let ([base, end], chunk) = (self.place(false), self.form.chunk);
        for (n, name) in self.form.kernel.streams().into_iter().enumerate() {
            self.fetch(&format!("load{n}_"), name, [base, at, end], chunk);
        }
        if self.is(MatrixKernel::Keys) {
            line!(self, "if t < {chunk}u {{\nlet query = head * queries + min({at} + t, queries - 1u);");
            let lifted = if self.form.is_f16 { "" } else { " * lift_g * lift_v" };
            line!(
                self,
                "stat0 = max(sums[query] * LOG2_E, FLOOR) - BIAS;\nstat1 = shares[query]{lifted};\n}}"
            );
        }
    }

    /// Puts a block of both streams into workgroup memory.
    pub fn put_both(&mut self) {
        let chunk = self.form.chunk;
        for (n, name) in self.form.kernel.streams().into_iter().enumerate() {
            self.put(&format!("load{n}_"), &format!("stream{n}"), name, chunk);
        }
        if self.is(MatrixKernel::Keys) {
            line!(self, "if t < {chunk}u {{\ncolumn_sums[t / 4u][t % 4u] = stat0;");
            self.line("column_shares[t / 4u][t % 4u] = stat1;");
            if self.form.extras.dropout {
                self.line("column_words[t] = row_words(head * queries + min(base + t, queries - 1u));");
            }
            self.line("}");
        }
    }

    /// The workgroup's own rows: through the memory of the streams into registers.
    pub fn own(&mut self) {
        let ([base, end], own) = (self.place(true), self.form.own());
        let names = self.form.kernel.own();
        for n in 0..names.len() {
            for (r, k) in pairs(self.form.groups, self.form.steps()) {
                for tail in self.tails() {
                    line!(self, "var own{n}_{r}_{k}{tail}: coop_mat16x16<f16, A>;");
                }
            }
        }
        for piece in 0..own.div_ceil(self.form.chunk) {
            self.own_piece(piece, [base, end]);
        }
    }

    /// As many of the own rows as fit into the memory of a stream.
    fn own_piece(&mut self, piece: usize, [base, end]: [&str; 2]) {
        let form = self.form;
        let (names, start) = (form.kernel.own(), piece * form.chunk);
        let rows = form.chunk.min(form.own() - start);
        self.line(if piece > 0 { "{\nworkgroupBarrier();" } else { "{" });
        for (n, name) in names.iter().enumerate() {
            let register = format!("piece{n}_");
            self.declare(&register, rows);
            self.fetch(&register, name, [base, &format!("(first + {start}u)"), end], rows);
            self.put(&register, &format!("stream{n}"), name, rows);
        }
        self.line("workgroupBarrier();");
        for r in 0..form.groups {
            // A loop of one turn instead of a condition: a validator cannot follow that subgroups go through it as a
            // whole, and refuses matrices there.
            let number = format!("subgroup * {}u + {r}u", form.groups);
            let blocks = form.chunk / SIDE;
            line!(self, "for (var mine = ({number}) / {blocks}u == {piece}u; mine; mine = false) {{");
            line!(self, "let own_at = (({number}) % {blocks}u) * {}u;", SIDE * form.stride() / 4);
            for (n, k) in pairs(names.len(), form.steps()) {
                for tail in self.tails() {
                    let from = address(&format!("stream{n}{tail}"), "own_at", k * SIDE, form.stride());
                    line!(self, "own{n}_{r}_{k}{tail} = coopLoadT<coop_mat16x16<f16, A>>({from});");
                }
            }
            self.line("}");
        }
        self.line("}");
    }
}

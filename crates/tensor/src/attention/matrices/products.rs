//! The two kinds of products: own rows by passing rows make scores, weights by passing rows make totals.
//!
//! Tensor cores round sums toward zero. Over a few dozen terms that is below the rounding of `f32`; over thousands it
//! is not. So operands of two parts are summed per block, and blocks are added to totals by ordinary additions.

use super::form::SIDE;
use super::text::{MatrixWriter, address, line, pairs};

/// Parts whose products make up a product, the small ones first; that of two tails is below rounding.
const PAIRS: [(&str, &str); 3] = [("_tail", ""), ("", "_tail"), ("", "")];

impl MatrixWriter {
    /// `s{r}_{n}`: own rows number `which` times the rows of that stream.
    pub fn products(&mut self, which: usize) {
        let form = self.form;
        for (r, n) in pairs(form.groups, form.blocks()) {
            line!(self, "s{r}_{n} = coop_mat16x16<f32, C>();");
        }
        self.line("{");
        if form.is_f16 {
            for (k, n) in pairs(form.steps(), form.blocks()) {
                self.passing(which, n, k);
                for r in 0..form.groups {
                    line!(self, "s{r}_{n} = coopMultiplyAdd(own{which}_{r}_{k}, b{n}_{k}, s{r}_{n});");
                }
            }
        } else {
            for n in 0..form.blocks() {
                (0..form.steps()).for_each(|k| self.passing(which, n, k));
                for (a, b) in PAIRS {
                    for (k, r) in pairs(form.steps(), form.groups) {
                        let product = format!("own{which}_{r}_{k}{a}, b{n}_{k}{b}");
                        line!(self, "s{r}_{n} = coopMultiplyAdd({product}, s{r}_{n});");
                    }
                }
            }
        }
        self.line("}");
    }

    /// Rows of a stream as columns of a right operand, `b{n}_{k}`.
    fn passing(&mut self, which: usize, n: usize, k: usize) {
        let stride = self.form.stride();
        for tail in self.tails() {
            let at = (n * stride + k) * SIDE;
            let from = address(&format!("stream{which}{tail}"), "passed", at, stride);
            line!(self, "let b{n}_{k}{tail} = coopLoad<coop_mat16x16<f16, B>>({from});");
        }
    }

    /// `total{m}_{r}_{c}`: adds weights times the rows of the stream.
    pub fn gather(&mut self, m: usize) {
        let form = self.form;
        let stream = form.kernel.totals()[m];
        self.line("{");
        for (r, n) in pairs(form.groups, form.blocks()) {
            for tail in self.tails() {
                let at = r * form.room() + n * SIDE;
                let from = address(&format!("weights{tail}"), "weight_room", at, form.room_stride());
                line!(self, "let w{r}_{n}{tail} = coopLoadT<coop_mat16x16<f16, A>>({from});");
            }
        }
        if form.is_f16 {
            for (n, c) in pairs(form.blocks(), form.steps()) {
                self.weighted(stream, n, c);
                for r in 0..form.groups {
                    line!(self, "total{m}_{r}_{c} = coopMultiplyAdd(w{r}_{n}, v{n}_{c}, total{m}_{r}_{c});");
                }
            }
        } else {
            (0..form.steps()).for_each(|c| self.gather_parts(m, c));
        }
        self.line("}");
    }

    /// Rows of a stream as rows of a right operand, `v{n}_{c}`.
    fn weighted(&mut self, stream: usize, n: usize, c: usize) {
        let stride = self.form.stride();
        for tail in self.tails() {
            let at = (n * stride + c) * SIDE;
            let from = address(&format!("stream{stream}{tail}"), "passed", at, stride);
            line!(self, "let v{n}_{c}{tail} = coopLoadT<coop_mat16x16<f16, B>>({from});");
        }
    }

    /// Some columns of a total, from operands of two parts.
    fn gather_parts(&mut self, m: usize, c: usize) {
        let form = self.form;
        (0..form.blocks()).for_each(|n| self.weighted(form.kernel.totals()[m], n, c));
        for r in 0..form.groups {
            line!(self, "var part{r}_{c} = coop_mat16x16<f32, C>();");
        }
        for (a, b) in PAIRS {
            for (n, r) in pairs(form.blocks(), form.groups) {
                let product = format!("w{r}_{n}{a}, v{n}_{c}{b}");
                line!(self, "part{r}_{c} = coopMultiplyAdd({product}, part{r}_{c});");
            }
        }
        for r in 0..form.groups {
            line!(self, "total{m}_{r}_{c} = total{m}_{r}_{c} + part{r}_{c};");
        }
    }
}

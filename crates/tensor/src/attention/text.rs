//! The WGSL of the kernels: `shared.wgsl` has what they share. Sizes and the mask are replaced in the text,
//! and the marked loops over register tiles are unrolled.
//!
//! Invariant: texts depend on the width, the tile and whether there is a mask, never on the number of heads,
//! queries and keys. An unrolled loop computes what the loop did.

use std::fmt::Write;

/// How a workgroup and its invocations share the work of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AttentionTile {
    /// Rows that a workgroup has, and rows that pass by at once.
    pub own: usize,
    pub stream: usize,
    /// Rows of an invocation, and invocations that share them.
    pub rows: usize,
    pub lanes: usize,
    /// `vec4`s of a row.
    pub width: usize,
    /// Turns of a hot loop that are written out: 1, 2 or 4.
    pub steps: usize,
}

impl AttentionTile {
    /// Invocations of a workgroup.
    pub fn threads(&self) -> usize {
        self.own / self.rows * self.lanes
    }

    /// `vec4`s of a row that an invocation has.
    pub fn columns(&self) -> usize {
        self.width.div_ceil(self.lanes)
    }

    /// `vec4`s that a row takes in workgroup memory.
    pub fn stride(&self) -> usize {
        (self.columns() * self.lanes) | 1
    }

    /// `vec4`s that a row of scores takes in workgroup memory.
    pub fn scores(&self) -> usize {
        (self.stream / 4) | 1
    }

    /// `vec4`s that an invocation brings into workgroup memory for so many rows.
    fn loads(&self, rows: usize) -> usize {
        (rows * self.columns() * self.lanes).div_ceil(self.threads())
    }

    fn constants(&self) -> [(&'static str, usize); 12] {
        [
            ("OWN", self.own),
            ("STREAM", self.stream),
            ("ROWS", self.rows),
            ("LANES", self.lanes),
            ("WIDTH", self.width),
            ("COLUMNS", self.columns()),
            ("KEYS", self.stream / self.lanes),
            ("QUARTERS", self.stream / 4),
            ("OWN_LOADS", self.loads(self.own)),
            ("STREAM_LOADS", self.loads(self.stream)),
            ("STEPS", self.steps),
            ("PARTS", self.steps.min(self.stream / 4)),
        ]
    }
}

/// A text for this tile.
pub fn specialize(file: &str, tile: &AttentionTile, masked: bool) -> String {
    let mut sizes = String::new();
    for (name, size) in tile.constants() {
        writeln!(sizes, "const {name} = {size}u;").expect("a string takes everything");
    }
    let mut text = swap(file, "sizes", &sizes);
    if !masked {
        text = swap(&text, "mask", "fn seen(head: u32, key: u32) -> bool {\n    return true;\n}\n");
    }
    let lines: Vec<&str> = text.lines().collect();
    let mut unrolled = String::with_capacity(8 * text.len());
    unroll(&lines, &tile.constants(), &mut unrolled);
    unrolled
}

/// Swaps the lines between `//{ name` and `//}`.
///
/// # Panics
/// If the text has no such region: a mistake in this module.
fn swap(text: &str, name: &str, lines: &str) -> String {
    let mark = format!("//{{ {name}\n");
    let from = text.find(&mark).unwrap_or_else(|| panic!("no region {name}")) + mark.len();
    let to = from + text[from..].find("//}").expect("a region ends");
    format!("{}{lines}{}", &text[..from], &text[to..])
}

/// Repeats the bodies of `for (var name = 0u; name < COUNT; name++) { // unroll`, with numbers for the name.
fn unroll(lines: &[&str], constants: &[(&str, usize)], out: &mut String) {
    let mut at = 0;
    while at < lines.len() {
        let line = lines[at];
        at += 1;
        let Some((name, count)) = header(line, constants) else {
            out.push_str(line);
            out.push('\n');
            continue;
        };
        let indent = &line[..line.len() - line.trim_start().len()];
        let end = format!("{indent}}}");
        let len = lines[at..].iter().position(|line| **line == end).expect("a loop ends at its own depth");
        for n in 0..count {
            let body: Vec<String> =
                lines[at..at + len].iter().map(|line| replace_word(line, name, &format!("{n}u"))).collect();
            let body: Vec<&str> = body.iter().map(String::as_str).collect();
            out.push_str(indent);
            out.push_str("{\n");
            unroll(&body, constants, out);
            out.push_str(&end);
            out.push('\n');
        }
        at += len + 1;
    }
}

/// The name and count of a loop that is to be unrolled.
fn header<'a>(line: &'a str, constants: &[(&str, usize)]) -> Option<(&'a str, usize)> {
    let inner = line.trim().strip_suffix("++) { // unroll")?.strip_prefix("for (var ")?;
    let (name, rest) = inner.split_once(" = 0u; ")?;
    let count = rest.strip_prefix(name)?.strip_prefix(" < ")?.split_once(';')?.0;
    let known = constants.iter().find(|(name, _)| *name == count).map(|(_, size)| *size);
    Some((name, known.or_else(|| count.strip_suffix('u')?.parse().ok())?))
}

fn replace_word(line: &str, word: &str, with: &str) -> String {
    let part = |c: char| c.is_alphanumeric() || c == '_';
    let mut out = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(at) = rest.find(word) {
        let (before, after) = (&rest[..at], &rest[at + word.len()..]);
        let inside = before.ends_with(part) || after.starts_with(part);
        // A name after a dot is a component.
        let own = inside || before.ends_with('.');
        out.push_str(before);
        out.push_str(if own { word } else { with });
        rest = after;
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marked_loops_are_repeated() {
        let text = "a\n    for (var r = 0u; r < ROWS; r++) { // unroll\n        x[r].r = row + r;\n    }\nb";
        let lines: Vec<&str> = text.lines().collect();
        let mut out = String::new();
        unroll(&lines, &[("ROWS", 2)], &mut out);
        let body = |n| format!("    {{\n        x[{n}u].r = row + {n}u;\n    }}\n");
        assert_eq!(out, format!("a\n{}{}b\n", body(0), body(1)));
    }

    #[test]
    fn loops_inside_loops_are_repeated() {
        let text = "for (var i = 0u; i < 2u; i++) { // unroll\n  for (var j = 0u; j < 3u; j++) { // unroll\n    f(i, j);\n  }\n}";
        let lines: Vec<&str> = text.lines().collect();
        let mut out = String::new();
        unroll(&lines, &[], &mut out);
        assert_eq!(out.matches("f(").count(), 6);
        assert!(out.contains("f(1u, 2u);") && !out.contains("for"), "{out}");
    }

    #[test]
    fn sizes_replace_those_of_the_file() {
        let tile = AttentionTile { own: 8, stream: 4, rows: 2, lanes: 4, width: 3, steps: 4 };
        let text = specialize("//{ sizes\nconst OWN = 1u;\n//}\n//{ mask\nold\n//}\n", &tile, true);
        assert!(text.contains("const OWN = 8u;\n") && text.contains("const COLUMNS = 1u;\n"), "{text}");
        assert!(text.contains("old"));
    }
}

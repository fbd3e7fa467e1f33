//! Unrolls loops in the text: the compilers of large GPUs do not, and arrays stay in registers only with
//! constant indices.
//!
//! Invariant: an unrolled loop computes the same as the loop.

/// Repeats the bodies of `for (var name = 0u; name < COUNT; name++) { // unroll`, with numbers for the name.
/// `COUNT` is a number or a constant that the text declares as a number.
pub(super) fn unroll(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let mut unrolled = String::with_capacity(8 * text.len());
    repeat(&lines, &sizes(&lines), &mut unrolled);
    unrolled
}

/// The sizes that lines declare.
fn sizes<'a>(lines: &[&'a str]) -> Vec<(&'a str, usize)> {
    let size = |line: &&'a str| {
        let (name, value) = line.strip_prefix("const ")?.strip_suffix("u;")?.split_once(" = ")?;
        Some((name, value.parse().ok()?))
    };
    lines.iter().filter_map(size).collect()
}

fn repeat(lines: &[&str], sizes: &[(&str, usize)], out: &mut String) {
    let mut at = 0;
    while at < lines.len() {
        let line = lines[at];
        at += 1;
        let Some((name, count)) = header(line, sizes) else {
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
            repeat(&body, sizes, out);
            out.push_str(&end);
            out.push('\n');
        }
        at += len + 1;
    }
}

/// The name and count of a loop that is marked for unrolling.
fn header<'a>(line: &'a str, sizes: &[(&str, usize)]) -> Option<(&'a str, usize)> {
    let inner = line.trim().strip_suffix("++) { // unroll")?.strip_prefix("for (var ")?;
    let (name, rest) = inner.split_once(" = 0u; ")?;
    let count = rest.strip_prefix(name)?.strip_prefix(" < ")?.split_once(';')?.0;
    let known = sizes.iter().find(|(name, _)| *name == count).map(|(_, size)| *size);
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
        let body = |n| format!("    {{\n        x[{n}u].r = row + {n}u;\n    }}\n");
        let text = "const ROWS = 2u;\n    for (var r = 0u; r < ROWS; r++) { // unroll\n        x[r].r = row + r;\n    }\nb";
        assert_eq!(unroll(text), format!("const ROWS = 2u;\n{}{}b\n", body(0), body(1)));
    }

    #[test]
    fn loops_inside_loops_are_repeated() {
        let text = "for (var i = 0u; i < 2u; i++) { // unroll\n  for (var j = 0u; j < 3u; j++) { // unroll\n    f(i, j);\n  }\n}";
        let out = unroll(text);
        assert_eq!(out.matches("f(").count(), 6);
        assert!(out.contains("f(1u, 2u);") && !out.contains("for"), "{out}");
    }
}

//! Where in a JSON text something is: the path to a line and a column, such as `bodies[2].solids[0].radius`.
//!
//! Invariant: it takes any text, whole or damaged, and never fails; what makes no sense is passed over.

/// Characters of a key that are shown.
const LONGEST_KEY: usize = 64;

/// A list with the number of its entry, or an object with the key of its field.
enum OpenPart {
    List(usize),
    Object(String),
}

/// The error of a parser with its path in front, instead of line and column alone.
pub fn placed(text: &str, error: &serde_json::Error) -> (String, String) {
    let message = error.to_string();
    // A field that is missing is noticed at the end of its object.
    let is_missing = message.starts_with("missing field");
    let before = bytes_before(text, error.line(), error.column());
    (path(&text.as_bytes()[..before], is_missing), message)
}

/// How many bytes stand before a line and a column, which count from one; columns count bytes.
fn bytes_before(text: &str, line: usize, column: usize) -> usize {
    let lines = text.split_inclusive('\n').take(line.saturating_sub(1));
    let start: usize = lines.map(str::len).sum();
    (start + column.saturating_sub(1)).min(text.len())
}

/// The path that a text leads to; without the last field, if the object itself is meant.
fn path(text: &[u8], of_object: bool) -> String {
    let mut inside = open_at_end(text);
    let mut last = String::new();
    if of_object && let Some(OpenPart::Object(_)) = inside.last() {
        inside.pop();
    }
    for one in &inside {
        match one {
            OpenPart::List(n) => last += &format!("[{n}]"),
            OpenPart::Object(key) if key.is_empty() => {}
            OpenPart::Object(key) if last.is_empty() => last += key,
            OpenPart::Object(key) => last += &format!(".{key}"),
        }
    }
    last
}

/// The lists and objects that are open at the end of a text, outer ones first.
fn open_at_end(text: &[u8]) -> Vec<OpenPart> {
    let mut inside: Vec<OpenPart> = vec![];
    // The next string is a key.
    let mut expects_key = false;
    let mut at = 0;
    while let Some(&byte) = text.get(at) {
        at += 1;
        match byte {
            b'{' | b'[' => {
                expects_key = byte == b'{';
                inside.push(if expects_key { OpenPart::Object(String::new()) } else { OpenPart::List(0) });
            }
            b'}' | b']' => {
                inside.pop();
                expects_key = false;
            }
            b',' => match inside.last_mut() {
                Some(OpenPart::List(n)) => *n += 1,
                Some(OpenPart::Object(_)) => expects_key = true,
                None => {}
            },
            b'"' => {
                let end = string_end(text, at);
                if expects_key && let Some(OpenPart::Object(key)) = inside.last_mut() {
                    *key = shown(&text[at..end]);
                    expects_key = false;
                }
                at = end + 1;
            }
            _ => {}
        }
    }
    inside
}

/// A key as errors show it: not endless, and without anything that a terminal would obey.
fn shown(key: &[u8]) -> String {
    String::from_utf8_lossy(key).chars().take(LONGEST_KEY).flat_map(char::escape_debug).collect()
}

/// Where a string ends that begins here: at its quote, or at the end of the text.
fn string_end(text: &[u8], mut at: usize) -> usize {
    while let Some(&byte) = text.get(at) {
        match byte {
            b'"' => return at,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_lead_to_the_end_of_a_text() {
        let rows = [
            ("", ""),
            ("{", ""),
            (r#"{"a": "#, "a"),
            (r#"{"a": 1, "b": [1, 2, "#, "b[2]"),
            (r#"{"a": {"c": [[1], {"d}\"{[": 2, "e": 1"#, "a.c[1].e"),
            (r#"{"a": [{"x": "y,{"}, {"x"#, "a[1].x"),
            (r#"]]}"a,"#, ""),
            ("[[1,2],[3", "[1][0]"),
            ("{\"a\u{1b}[2J\": ", "a\\u{1b}[2J"),
        ];
        for (text, wanted) in rows {
            assert_eq!(path(text.as_bytes(), false), wanted, "{text}");
        }
        assert_eq!(path(br#"{"a": [{"x": 1"#, true), "a[0]");
    }
}

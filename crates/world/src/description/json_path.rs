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
    (path(&text.as_bytes()[..before], is_missing), plainly(&message))
}

/// A parser's message in the words of somebody who wrote the file. What has other words stays as it is.
fn plainly(message: &str) -> String {
    // The path says where.
    let words = message.rsplit_once(" at line ").map_or(message, |(words, _)| words);
    let quoted = |text: &str| text.split('`').skip(1).step_by(2).map(String::from).collect::<Vec<String>>();
    if let Some((found, known)) = words.split_once(", expected ").filter(|_| words.starts_with("unknown ")) {
        let (found, known) = (quoted(found).concat(), quoted(known));
        let nearest = farad_tensor::nearest(&found, known.iter().map(String::as_str));
        let nearest = nearest.map_or(String::new(), |name| format!("; did you mean `{name}`?"));
        let (what, help) = match words.starts_with("unknown field") {
            true => ("there is no such key".to_string(), "the keys here are"),
            false => (format!("there is no `{found}`"), "it is one of"),
        };
        return format!("{what}{nearest}\nhelp: {help} {}", known.join(", "));
    }
    if let Some((found, wanted)) =
        words.strip_prefix("invalid type: ").and_then(|words| words.split_once(", expected "))
    {
        return format!("it is {}, not {}", kind(wanted), kind(found));
    }
    if let Some(name) = words.strip_prefix("missing field ") {
        return format!("{name} is missing");
    }
    match words.starts_with("EOF while parsing") {
        true => "the file ends too early".into(),
        false => words.into(),
    }
}

/// What a parser's word for a kind of value means.
fn kind(word: &str) -> String {
    match word {
        "a sequence" | "sequence" => "a list".into(),
        "a map" | "map" => "an object".into(),
        "f64" | "f32" => "a number".into(),
        "usize" | "u64" | "u32" | "u16" | "u8" => "a whole number from 0 on".into(),
        "a string" => "a text".into(),
        "a boolean" => "true or false".into(),
        word if word.starts_with("struct ") => "an object".into(),
        word => match word.split_once(' ') {
            Some(("integer" | "boolean" | "string", value)) => value.trim_matches('`').into(),
            Some(("floating", value)) => value.trim_start_matches("point ").trim_matches('`').into(),
            _ => word.into(),
        },
    }
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
    fn messages_have_the_words_of_the_file() {
        for (message, wanted) in [
            (
                "unknown field `bodys`, expected one of `version`, `bodies` at line 1 column 35",
                "there is no such key; did you mean `bodies`?\nhelp: the keys here are version, bodies",
            ),
            (
                "unknown variant `cone`, expected `sphere` or `box` at line 1 column 9",
                "there is no `cone`\nhelp: it is one of sphere, box",
            ),
            ("invalid type: integer `7`, expected a sequence at line 1 column 39", "it is a list, not 7"),
            (
                "invalid type: string \"high\", expected f64 at line 1 column 78",
                "it is a number, not \"high\"",
            ),
            ("invalid type: null, expected struct Body at line 2 column 1", "it is an object, not null"),
            ("missing field `name` at line 1 column 14", "`name` is missing"),
            ("EOF while parsing a value at line 1 column 0", "the file ends too early"),
            ("expected value at line 1 column 5", "expected value"),
        ] {
            assert_eq!(plainly(message), wanted);
        }
    }

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

//! Colors of code: comments, texts, numbers, the words of a language.
//!
//! Invariant: without its tags, what comes out is the code.

use super::escaped;

/// How a language looks: its names, what begins a comment, the marks of its texts, its words.
type Language = (&'static [&'static str], &'static str, &'static str, &'static str);

const LANGUAGES: [Language; 6] = [
    (
        &["rust"],
        "//",
        "\"",
        "as async await break const continue crate dyn else enum false fn for if impl in let loop match mod move mut pub ref \
         return self Self static struct super trait true type unsafe use where while",
    ),
    (
        &["python"],
        "#",
        "\"'",
        "and as assert async await break class continue def del elif else except False finally for from global if import in is \
         lambda None nonlocal not or pass raise return True try while with yield",
    ),
    (&["sh"], "#", "\"'", "cargo cd curl export farad for mpirun pip python python3 sudo"),
    (&["toml"], "#", "\"'", "true false"),
    (&["json"], "\0", "\"", "true false null"),
    (&["wgsl"], "//", "\"", "array bool const f32 fn for if i32 let return struct u32 var vec2 vec3 vec4"),
];

/// Code as HTML, in colors if the language is known.
pub(super) fn highlighted(language: &str, code: &str) -> String {
    match LANGUAGES.iter().find(|(names, ..)| names.contains(&language)) {
        Some(language) => colored(language, code),
        None => escaped(code),
    }
}

fn colored((names, comment, quotes, words): &Language, code: &str) -> String {
    let mut html = String::new();
    let mut rest = code;
    let mut before = '\n';
    while let Some(first) = rest.chars().next() {
        // In shells, `a#b` is a word.
        let is_comment = rest.starts_with(comment) && (*comment == "//" || before.is_whitespace());
        // Neither is `1` of `run-1` a number, nor `farad` of `farad.bash` a command.
        let is_inside = before.is_alphanumeric() || (*comment == "#" && "-./_".contains(before));
        let (length, class) = if is_comment {
            (rest.find('\n').unwrap_or(rest.len()), "c")
        } else if quotes.contains(first) {
            (text_length(rest, first), "s")
        } else if first.is_ascii_digit() && !is_inside {
            (run_length(rest, |c| c.is_alphanumeric() || c == '.' || c == '_'), "n")
        } else if first.is_alphanumeric() || first == '_' {
            let length = run_length(rest, |c| c.is_alphanumeric() || c == '_');
            let is_word = words.split_whitespace().any(|word| word == &rest[..length]);
            let ends = *names != ["sh"] || rest[length..].starts_with(char::is_whitespace);
            (length, if is_word && ends && !is_inside { "k" } else { "" })
        } else {
            (first.len_utf8(), "")
        };
        let (piece, after) = rest.split_at(length);
        match class {
            "" => html.push_str(&escaped(piece)),
            class => html.push_str(&format!("<span class=\"{class}\">{}</span>", escaped(piece))),
        }
        before = piece.chars().last().unwrap_or(before);
        rest = after;
    }
    html
}

/// The length of what starts a text and goes on while something holds.
fn run_length(text: &str, goes_on: impl Fn(char) -> bool) -> usize {
    text.find(|c| !goes_on(c)).unwrap_or(text.len())
}

/// The length of a text in quotes; only the quote where the text does not end in its line.
fn text_length(text: &str, quote: char) -> usize {
    let mut is_escaped = false;
    for (place, letter) in text.char_indices().skip(1) {
        match letter {
            '\n' => break,
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            _ if letter == quote => return place + 1,
            _ => {}
        }
    }
    1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_has_colors_and_stays_itself() {
        let sh = "farad serve 'a & b' # it's \"on\"\n";
        assert_eq!(
            highlighted("sh", sh),
            "<span class=\"k\">farad</span> serve <span class=\"s\">'a &amp; b'</span> <span class=\"c\"># it's &quot;on&quot;</span>\n"
        );
        let rust = "let x: &'a str = \"a\\\"<b>\"; // 2.0\nf(1.5f32, x2)";
        let html = highlighted("rust", rust);
        assert!(html.contains("<span class=\"n\">1.5f32</span>, x2"), "{html}");
        let mut plain = html;
        while let Some((before, (_, after))) =
            plain.split_once('<').map(|(b, a)| (b, a.split_once('>').unwrap()))
        {
            plain = format!("{before}{after}");
        }
        assert_eq!(plain, escaped(rust));
        assert_eq!(highlighted("text", "1 < 2"), "1 &lt; 2");
        assert_eq!(highlighted("sh", "ls runs/run-1 farad.bash x#y"), "ls runs/run-1 farad.bash x#y");
    }
}

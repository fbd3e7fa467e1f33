//! The hand-written functions of `wgsl/prelude.wgsl`, of which a module includes what it calls.

use std::sync::OnceLock;

const TEXT: &str = include_str!("../wgsl/prelude.wgsl");

/// The prelude's functions that `text` calls, directly or through each other, in file order.
pub(super) fn used(text: &str) -> String {
    static FUNCTIONS: OnceLock<Vec<(&str, &str)>> = OnceLock::new();
    let functions = FUNCTIONS.get_or_init(functions);
    let mut needed = vec![false; functions.len()];
    let mut pending = vec![text];
    while let Some(text) = pending.pop() {
        for (at, (name, body)) in functions.iter().enumerate() {
            if !needed[at] && calls(text, name) {
                needed[at] = true;
                pending.push(body);
            }
        }
    }
    let chosen = functions.iter().zip(needed).filter(|(_, needed)| *needed);
    chosen.map(|((_, body), _)| format!("{body}\n")).collect()
}

/// Name and text of every function.
fn functions() -> Vec<(&'static str, &'static str)> {
    let mut found = Vec::new();
    let mut rest = TEXT;
    while let Some(start) = rest.find("\nfn ") {
        let body = &rest[start + 1..];
        let end = body.find("\n}\n").map_or(body.len(), |end| end + 3);
        let name = &body[3..body.find('(').unwrap_or(3)];
        found.push((name, &body[..end]));
        rest = &body[end - 1..];
    }
    found
}

/// Whether `text` calls `name` (and not a function whose name ends so).
fn calls(text: &str, name: &str) -> bool {
    let call = format!("{name}(");
    text.match_indices(&call).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        !before.is_some_and(|c| c.is_alphanumeric() || c == '_') && !text[..at].ends_with("fn ")
    })
}

#[cfg(test)]
mod tests {
    use super::{functions, used};

    #[test]
    fn only_what_is_called_is_included() {
        let text = used("let y = farad_sin(x);");
        assert!(text.contains("fn farad_sin(") && text.contains("fn farad_quadrant("));
        assert!(!text.contains("fn farad_cos(") && !text.contains("fn farad_philox("));
        assert_eq!(used("let y = my_farad_sin(x);"), "");
        assert_eq!(functions().len(), super::TEXT.matches("\nfn ").count());
    }

    #[test]
    fn the_file_is_valid_as_it_lies() {
        naga::front::wgsl::parse_str(super::TEXT).expect("the prelude parses");
    }
}

//! The hand-written functions of `wgsl/prelude.wgsl`. A module includes those that it calls.

use std::sync::OnceLock;

use farad_ir::WgslText;

const TEXT: &str = include_str!("../wgsl/prelude.wgsl");

/// `farad_half` for adapters that round correctly when they pack f16.
const ROUNDED_BY_THE_ADAPTER: &str = "fn farad_half(x: f32) -> f32 {\n    return x;\n}\n";

/// The prelude's functions that `text` calls, directly or through each other, in file order;
/// `rounds_f16`: whether the adapter rounds to f16 as it should.
pub(super) fn used(text: &str, rounds_f16: bool) -> String {
    static TEXTS: [OnceLock<WgslText>; 2] = [OnceLock::new(), OnceLock::new()];
    static FUNCTIONS: [OnceLock<Vec<(&str, &str)>>; 2] = [OnceLock::new(), OnceLock::new()];
    let which = usize::from(rounds_f16);
    let functions = FUNCTIONS[which].get_or_init(|| {
        let text = WgslText::new(TEXT);
        let text = if rounds_f16 { text.region("half", ROUNDED_BY_THE_ADAPTER) } else { text };
        functions(TEXTS[which].get_or_init(|| text).as_ref())
    });
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
fn functions(text: &str) -> Vec<(&str, &str)> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(start) = rest.find("\nfn ") {
        let body = &rest[start + 1..];
        let end = body.find("\n}\n").map_or(body.len(), |end| end + 3);
        let name = &body[3..body.find('(').unwrap_or(3)];
        found.push((name, &body[..end]));
        rest = &body[end - 1..];
    }
    found
}

/// Whether `text` calls `name` (and not a function whose name ends with it).
fn calls(text: &str, name: &str) -> bool {
    let call = format!("{name}(");
    text.match_indices(&call).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        !before.is_some_and(|c| c.is_alphanumeric() || c == '_') && !text[..at].ends_with("fn ")
    })
}

#[cfg(test)]
mod tests {
    use super::{TEXT, functions, used};

    #[test]
    fn only_what_is_called_is_included() {
        let text = used("let y = farad_sin(x);", false);
        assert!(text.contains("fn farad_sin(") && text.contains("fn farad_quadrant("));
        assert!(!text.contains("fn farad_cos(") && !text.contains("fn farad_philox("));
        assert_eq!(used("let y = my_farad_sin(x);", false), "");
        assert_eq!(functions(TEXT).len(), TEXT.matches("\nfn ").count());
    }

    #[test]
    fn halves_are_rounded_by_hand_unless_the_adapter_does() {
        let texts = [false, true].map(|rounds| used("let y = farad_halves(x, x);", rounds));
        assert!(texts.iter().all(|text| text.contains("pack2x16float(vec2<f32>(farad_half(low)")));
        assert!(texts[0].contains("0x477ff000u") && !texts[1].contains("0x477ff000u"));
        texts.iter().for_each(|text| assert!(naga::front::wgsl::parse_str(text).is_ok(), "{text}"));
    }
}

//! Text cut into pieces that byte pairs are merged in, never across.
//!
//! A piece is a run of letters, digits, signs or spaces; one space before another run belongs to that run. Bytes that
//! are not ASCII are letters, so any bytes can be cut.

/// A longer run is cut, so that no text takes quadratic time.
const LONGEST: usize = 128;

#[derive(Clone, Copy, PartialEq, Eq)]
enum CharacterClass {
    Letter,
    Digit,
    Space,
    Sign,
}

fn class(byte: u8) -> CharacterClass {
    match byte {
        b'a'..=b'z' | b'A'..=b'Z' | 128.. => CharacterClass::Letter,
        b'0'..=b'9' => CharacterClass::Digit,
        b' ' | b'\t'..=b'\r' => CharacterClass::Space,
        _ => CharacterClass::Sign,
    }
}

/// The pieces, in order; together they are the text.
pub(super) fn pieces(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let (piece, after) = rest.split_at(first(rest));
        rest = after;
        (!piece.is_empty()).then_some(piece)
    })
}

/// How long the first piece is.
fn first(text: &[u8]) -> usize {
    let run = |from: usize| {
        let Some(&start) = text.get(from) else { return 0 };
        let alike = |byte: &&u8| class(**byte) == class(start);
        text[from..].iter().take(LONGEST).take_while(alike).count()
    };
    let own = run(0);
    if text.first().map(|&byte| class(byte)) != Some(CharacterClass::Space) || own == text.len() {
        return own;
    }
    // The last space of a run goes with what follows it.
    match (text[own - 1], own) {
        (b' ', 1) => 1 + run(1),
        (b' ', _) if own < LONGEST => own - 1,
        _ => own,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_take_one_space_with_them() {
        let cut = |text: &str| {
            let found: Vec<&str> =
                pieces(text.as_bytes()).map(|p| std::str::from_utf8(p).expect("text")).collect();
            assert_eq!(found.concat(), text);
            found.join("|")
        };
        assert_eq!(cut("The cat's 12 paws.\n\n  Yes"), "The| cat|'|s| 12| paws|.|\n\n | Yes");
        assert_eq!(cut("naïve  "), "naïve|  ");
        assert_eq!(cut(" "), " ");
        assert_eq!(cut(""), "");
        let long = "a".repeat(300);
        assert_eq!(pieces(long.as_bytes()).map(<[u8]>::len).collect::<Vec<_>>(), [128, 128, 44]);
        let spaces = " ".repeat(300) + "b";
        assert_eq!(pieces(spaces.as_bytes()).map(<[u8]>::len).sum::<usize>(), 301);
    }
}

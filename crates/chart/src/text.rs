//! Estimates the width of texts, without a font.

/// A letter's width relative to the font size; slightly more than in the narrowest of the fonts.
fn letter(letter: char) -> f64 {
    match letter {
        'i' | 'j' | 'l' | '.' | ',' | ':' | ';' | '\'' | '|' | '!' | ' ' | 'I' => 0.33,
        'f' | 't' | 'r' | '(' | ')' | '/' | '-' | '^' => 0.41,
        'm' | 'w' | 'M' | 'W' | '%' | '@' | '…' | '→' => 0.95,
        letter if letter.is_ascii_uppercase() => 0.74,
        letter if letter.is_ascii() || letter.is_alphabetic() && (letter as u32) < 0x2000 => 0.62,
        _ => 1.0,
    }
}

/// The approximate width of a text, rather too large than too small.
pub fn text_width(text: &str, size: f64) -> f64 {
    text.chars().map(letter).sum::<f64>() * size
}

/// A text truncated to a width, with an ellipsis if it was cut.
pub fn fitted(text: &str, size: f64, width: f64) -> String {
    if text_width(text, size) <= width {
        return text.into();
    }
    let mut left = width - letter('…') * size;
    let fits = |&next: &char| {
        left -= letter(next) * size;
        left >= 0.0
    };
    let kept: String = text.chars().take_while(fits).collect();
    kept.trim_end().to_string() + "…"
}

/// A text in lines of at most this width, broken between words.
pub(crate) fn wrapped(text: &str, size: f64, width: f64) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if text_width(line, size) + text_width(word, size) + size <= width => {
                line.push(' ');
                *line += word;
            }
            _ => lines.push(fitted(word, size, width)),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_names_are_cut() {
        assert_eq!(fitted("short", 10.0, 100.0), "short");
        let cut = fitted(&"long ".repeat(40), 10.0, 100.0);
        assert!(cut.ends_with('…') && text_width(&cut, 10.0) <= 100.0, "{cut}");
        assert_eq!(wrapped("one two three", 10.0, 50.0), ["one two", "three"]);
    }
}

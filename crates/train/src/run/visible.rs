//! Text by somebody else where it may end in a terminal: what a terminal would obey is shown instead.

use std::borrow::Cow;

/// Text with its control characters written out, as `\\x1b`; lines and tabs stay. A model that makes bytes, or a file that
/// is damaged, may otherwise ring, move the cursor, or change what was shown before.
///
/// ```
/// use farad::run::visible;
/// assert_eq!(visible("red \u{1b}[31m\u{7}\tand\na line"), "red \\x1b[31m\\x07\tand\na line");
/// assert_eq!(visible("plain, and überall"), "plain, and überall");
/// ```
pub fn visible(text: &str) -> Cow<'_, str> {
    let commands = |letter: char| letter.is_control() && !matches!(letter, '\n' | '\t');
    if !text.contains(commands) {
        return text.into();
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for letter in text.chars() {
        match commands(letter) {
            // All of them are below 256.
            true => shown += &format!("\\x{:02x}", u32::from(letter)),
            false => shown.push(letter),
        }
    }
    shown.into()
}

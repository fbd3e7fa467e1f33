//! Paths in commands that a user may type.

use std::path::Path;

/// A path as a word of a shell: as it is if it has only plain characters, else in single quotes.
///
/// ```
/// use farad::run::shell_word;
/// assert_eq!(shell_word("runs/life-5"), "runs/life-5");
/// assert_eq!(shell_word("my runs/it's"), r"'my runs/it'\''s'");
/// ```
pub fn shell_word(path: impl AsRef<Path>) -> String {
    let text = path.as_ref().display().to_string();
    let plain = |c: char| c.is_alphanumeric() || "/._-+:,@%=".contains(c);
    match !text.is_empty() && text.chars().all(plain) {
        true => text,
        false => format!("'{}'", text.replace('\'', r"'\''")),
    }
}

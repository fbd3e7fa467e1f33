//! How a WGSL file becomes the text of a kernel: constants get values, regions are replaced, and marked loops
//! are unrolled. There is no other mechanism.
//!
//! Invariant: a file is valid WGSL as it is on disk. It declares sample values, so ordinary tools can read,
//! check and edit it. Where a file uses declarations of another, a region holds placeholders, which the other
//! file replaces. Sizes are `const` and not `override`, because arrays in functions cannot be sized by an
//! override, and because compilers unroll only loops over constants. Start at [`WgslText`].

mod unroll;

use std::fmt::{self, Display};
use std::sync::Arc;

/// A WGSL file prepared for a launch.
///
/// - `const NAME = 4u;` gets another value by [`WgslText::constant`].
/// - The lines between `//{ name` and `//}` are replaced by [`WgslText::region`].
/// - `for (var i = 0u; i < NAME; i++) { // unroll` is unrolled by [`WgslText::unrolled`].
///
/// ```
/// use farad_ir::WgslText;
///
/// let file = "const ROWS = 4u;\n//{ value\nalias Value = f32;\n//}\n";
/// let text = WgslText::new(file).constant("ROWS", 8).region("value", "alias Value = vec4<f32>;");
/// assert_eq!(text.as_ref(), "const ROWS = 8u;\n//{ value\nalias Value = vec4<f32>;\n//}\n");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WgslText(String);

/// A value of a `const` in a WGSL file.
pub trait WgslValue {
    /// The value as a WGSL literal.
    fn literal(&self) -> String;
}

impl WgslValue for usize {
    fn literal(&self) -> String {
        format!("{self}u")
    }
}

impl WgslValue for bool {
    fn literal(&self) -> String {
        self.to_string()
    }
}

impl WgslText {
    /// A file as it is on disk.
    pub fn new(file: &str) -> WgslText {
        WgslText(file.to_string())
    }

    /// Sets the value of `const name`.
    ///
    /// # Panics
    /// If the file declares no such constant.
    #[track_caller]
    pub fn constant(mut self, name: &str, value: impl WgslValue) -> WgslText {
        let head = format!("const {name} = ");
        let starts = self.0.match_indices(&head).map(|(at, _)| at);
        let mut starts = starts.filter(|&at| at == 0 || self.0[..at].ends_with('\n'));
        let from = starts.next().unwrap_or_else(|| panic!("the text has no constant {name}")) + head.len();
        let len = self.0[from..].find(';').expect("a declaration ends");
        self.0.replace_range(from..from + len, &value.literal());
        self
    }

    /// Sets the values of several sizes.
    ///
    /// # Panics
    /// If the file does not declare them all.
    #[track_caller]
    pub fn sizes(self, sizes: &[(&str, usize)]) -> WgslText {
        sizes.iter().fold(self, |text, &(name, size)| text.constant(name, size))
    }

    /// Replaces the lines of a region. Its markers stay, so that the text shows what was replaced.
    ///
    /// # Panics
    /// If the file has no such region.
    #[track_caller]
    pub fn region(mut self, name: &str, lines: impl AsRef<str>) -> WgslText {
        let (from, to) = self.inside(name).unwrap_or_else(|| panic!("the text has no region {name}"));
        let lines = lines.as_ref();
        let end = if lines.is_empty() || lines.ends_with('\n') { "" } else { "\n" };
        self.0.replace_range(from..to, &[lines, end].concat());
        self
    }

    /// Unrolls the marked loops.
    pub fn unrolled(self) -> WgslText {
        WgslText(unroll::unroll(&self.0))
    }

    /// The start and end of a region's lines; regions may be nested.
    fn inside(&self, name: &str) -> Option<(usize, usize)> {
        let (mut at, mut depth, mut from) = (0, 0, None);
        for line in self.0.split_inclusive('\n') {
            let mark = line.trim();
            match (mark.strip_prefix("//{ "), from) {
                (Some(found), None) if found == name => from = Some(at + line.len()),
                (Some(_), Some(_)) => depth += 1,
                (None, Some(from)) if mark == "//}" && depth == 0 => return Some((from, at)),
                (None, Some(_)) if mark == "//}" => depth -= 1,
                _ => {}
            }
            at += line.len();
        }
        None
    }
}

impl AsRef<str> for WgslText {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl Display for WgslText {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        out.write_str(&self.0)
    }
}

impl From<WgslText> for Arc<str> {
    fn from(text: WgslText) -> Arc<str> {
        text.0.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str =
        "const SIDE = 2u;\nfn f() {\n    //{ body\n    let x = SIDE;\n    //}\n}\n//{ end\n//}\n";

    #[test]
    fn constants_get_values() {
        let text = WgslText::new("const A_B = 1u;\nconst B = 2u;\nconst C = true;\n").constant("B", 3);
        let text = text.constant("C", false);
        assert_eq!(text.as_ref(), "const A_B = 1u;\nconst B = 3u;\nconst C = false;\n");
    }

    #[test]
    fn regions_become_other_lines() {
        let text = WgslText::new(FILE).region("body", "let y = 1u;").region("end", "const Z = 1u;\n");
        let wanted = "const SIDE = 2u;\nfn f() {\n    //{ body\nlet y = 1u;\n    //}\n}\n//{ end\nconst Z = 1u;\n//}\n";
        assert_eq!(text.as_ref(), wanted);
        assert_eq!(WgslText::new("//{ a\nx\n//}\n").region("a", "").as_ref(), "//{ a\n//}\n");
    }

    #[test]
    fn a_region_that_has_regions_is_swapped_whole() {
        let text = WgslText::new("//{ part\nold\n//}\nrest\n").region("part", FILE);
        assert_eq!(text.clone().region("part", "new").as_ref(), "//{ part\nnew\n//}\nrest\n");
        assert!(text.region("body", "inner").as_ref().contains("inner\n    //}\n}\n"));
    }

    #[test]
    #[should_panic(expected = "the text has no region bodies")]
    fn a_region_that_is_not_there_is_an_error() {
        let _ = WgslText::new(FILE).region("bodies", "");
    }

    #[test]
    #[should_panic(expected = "the text has no constant IDE")]
    fn a_constant_that_is_not_there_is_an_error() {
        let _ = WgslText::new(FILE).constant("IDE", 1);
    }
}

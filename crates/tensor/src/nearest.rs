//! The name that somebody probably meant.

/// Names less alike than this are no suggestion.
const ALIKE: f64 = 0.8;

/// The candidate most like `name`, for "did you mean"; none if nothing is near. Case, and whether
/// words are joined by `-`, `_` or a space, make no difference.
///
/// ```
/// use farad::nearest;
/// let recipes = ["life", "checkerboard", "checkerboard-async"];
/// assert_eq!(nearest("chekerboard", recipes), Some("checkerboard"));
/// assert_eq!(nearest("Checkerboard_Async", recipes), Some("checkerboard-async"));
/// assert_eq!(nearest("sudoku", recipes), None);
/// ```
pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let name = plain(name);
    let mut best: Option<(f64, &str)> = None;
    for candidate in candidates {
        let alike = strsim::jaro_winkler(&name, &plain(candidate));
        // The first of equals, so that the answer does not depend on chance.
        if alike >= ALIKE && best.is_none_or(|(most, _)| alike > most) {
            best = Some((alike, candidate));
        }
    }
    best.map(|(_, candidate)| candidate)
}

fn plain(name: &str) -> String {
    name.chars().map(|c| if c == '_' || c == ' ' { '-' } else { c.to_ascii_lowercase() }).collect()
}

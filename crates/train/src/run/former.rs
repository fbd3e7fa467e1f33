//! Names that earlier versions wrote or took, and what they are called now.
//!
//! Invariant: what was written under a former name is read under the current one. Nothing writes a former name.

/// Former and current name.
const FORMER: [(&str, &str); 4] = [
    ("optimiser", "optimizer"),
    ("tokeniser", "tokenizer"),
    ("coloured-g", "colored-g"),
    ("centre", "center"),
];

/// What a key, a recipe or a part of a file is called now.
///
/// ```
/// assert_eq!(farad::run::current_name("optimiser"), "optimizer");
/// assert_eq!(farad::run::current_name("batch"), "batch");
/// ```
pub fn current_name(name: &str) -> &str {
    FORMER.iter().find(|(former, _)| *former == name).map_or(name, |(_, current)| current)
}
